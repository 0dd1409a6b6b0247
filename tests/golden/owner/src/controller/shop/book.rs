// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Book: write your code here. After a change of `RULES`, run
//! `make manifests`.

use std::collections::BTreeMap;

use k8s_openapi::api::events;
use kube::{
    ResourceExt,
    api::ObjectMeta,
    runtime::{events::EventType, reflector::ObjectRef},
};
use kube_manager::{
    Action, Children, Context, Reconciler, children, condition,
    rbac::{Rule, Verb},
};

use crate::api::shop::v1::book::*;

// The kinds that this controller uses.
use crate::api::press::v1::Page as PressPage;
use crate::api::shop::v1::Page as ShopPage;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::core::v1::Service;

/// Brings the cluster to the desired state of each Book.
pub struct Controller {
    // One field for each kind that it owns.
    deployments: Children<Deployment, Book>,
    shop_pages: Children<ShopPage, Book>,
    config_maps: Children<ConfigMap, Book>,
    services: Children<Service, Book>,
    // End of the kinds.
    // One field for each kind that its objects refer to.
    press_pages: kube_manager::Watched<PressPage>,
    secrets: kube_manager::Watched<Secret>,
    // End of these kinds.
}

/// Why a reconcile failed. It is logged, and retried with an increasing backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Children(#[from] children::Error),
    #[error("cannot write the status")]
    WriteStatus(#[source] kube::Error),
}

impl Reconciler for Controller {
    type Object = Book;
    type Error = Error;

    const NAME: &'static str = "book.shop.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Book>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Book>("status", &[Verb::Update]),
        // Each controller of the kind applies its own part of the status.
        Rule::sub::<Book>("status", &[Verb::Patch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<Deployment>(children::VERBS),
        Rule::of::<ShopPage>(children::VERBS),
        Rule::of::<ConfigMap>(children::VERBS),
        Rule::of::<Service>(children::VERBS),
        // For the objects that are referred to: read.
        Rule::of::<PressPage>(&[Verb::List, Verb::Watch]),
        Rule::of::<Secret>(&[Verb::List, Verb::Watch]),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    async fn reconcile(&self, object: &Book, context: &Context) -> Result<Action, Error> {
        // Your work goes here: compare the cluster with `object.spec` and change what differs. It
        // must be safe to do again, because this runs after each start and each change.
        let names = referenced_press_pages(object);
        let found = self.press_pages.get_all(&names);
        tracing::debug!(
            kind = "Page",
            count = found.len(),
            "found the objects that it refers to"
        );
        let names = referenced_secrets(object);
        let found = self.secrets.get_all(&names);
        tracing::debug!(
            kind = "Secret",
            count = found.len(),
            "found the objects that it refers to"
        );

        let applied = self.apply(object).await;
        let status = observe(object, &applied);
        let written = context.write_status(object, &status).await;
        let ready = matches!(applied, Ok(kube_manager::Readiness::Ready));
        if written.map_err(Error::WriteStatus)?.is_some() && ready {
            let note = "Desired state reached";
            context.event(object, EventType::Normal, "Reconciled", note);
        }
        applied?;
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<Book>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Book>) -> Self {
        Self {
            // One field for each kind that it owns.
            deployments: builder.owns(),
            shop_pages: builder.owns(),
            config_maps: builder.owns(),
            services: builder.owns(),
            // End of the kinds.
            // One field for each kind that its objects refer to.
            press_pages: builder.refers_to(referenced_press_pages),
            secrets: builder.refers_to(referenced_secrets),
            // End of these kinds.
        }
    }

    /// Applies the objects that the functions below return. Returns whether all of them are ready.
    async fn apply(
        &self,
        // The owner of these objects.
        object: &Book,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [deployment(object)];
        let all = self.deployments.apply(object, all).await?;
        readiness.include(&all);
        let all = [shop_page(object)];
        let all = self.shop_pages.apply(object, all).await?;
        readiness.include(&all);
        let all = [config_map(object)];
        let all = self.config_maps.apply(object, all).await?;
        readiness.include(&all);
        let all = [service(object)];
        let all = self.services.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The desired Deployment of `object`. `apply` sets `object` as its owner.
fn deployment(object: &Book) -> Deployment {
    use k8s_openapi::api::apps::v1::DeploymentSpec;
    use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    Deployment {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            selector: LabelSelector {
                match_labels: Some(labels(object)),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels(object)),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "main".to_owned(),
                        // The image that does the work goes here.
                        image: Some("registry.k8s.io/pause:3.10".to_owned()),
                        security_context: Some(restricted_container()),
                        ..Container::default()
                    }],
                    security_context: Some(restricted_pod()),
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    }
}

/// The desired Page of `object`. `apply` sets `object` as its owner.
fn shop_page(object: &Book) -> ShopPage {
    ShopPage {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // Set the fields of `spec` here: the API server may refuse the default values.
        ..ShopPage::default()
    }
}

/// The desired ConfigMap of `object`. `apply` sets `object` as its owner.
fn config_map(object: &Book) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..ConfigMap::default()
    }
}

/// The desired Service of `object`. `apply` sets `object` as its owner.
fn service(object: &Book) -> Service {
    use k8s_openapi::api::core::v1::{ServicePort, ServiceSpec};

    Service {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            selector: Some(labels(object)),
            ports: Some(vec![ServicePort {
                port: 80,
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// The labels of the Pods of `object`: other objects select the Pods by them. The value of a label has at most 63
/// characters, and the name of a StatefulSet at most 52. A CEL rule of the kind can limit `self.metadata.name`.
fn labels(object: &Book) -> BTreeMap<String, String> {
    let name = "book".to_owned();
    BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), name),
        ("app.kubernetes.io/instance".to_owned(), object.name_any()),
    ])
}

/// The settings that the Pod Security level `restricted` requires of a Pod: the image must have a
/// user that is not root.
fn restricted_pod() -> k8s_openapi::api::core::v1::PodSecurityContext {
    use k8s_openapi::api::core::v1::{PodSecurityContext, SeccompProfile};

    PodSecurityContext {
        run_as_non_root: Some(true),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

/// The settings that the same level requires of each container.
fn restricted_container() -> k8s_openapi::api::core::v1::SecurityContext {
    use k8s_openapi::api::core::v1::{Capabilities, SecurityContext};

    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            ..Capabilities::default()
        }),
        ..SecurityContext::default()
    }
}

/// The objects of the kind Page that `object` refers to. A change of one of them reconciles `object`.
fn referenced_press_pages(
    // The object that refers.
    object: &Book,
) -> Vec<ObjectRef<PressPage>> {
    // An example, which refers to the Page with the name of `object`: return the names in the spec instead.
    // Without `within`, a name is in the namespace of `object`.
    let press_page = ObjectRef::new(&object.name_any());
    vec![press_page]
}

/// The objects of the kind Secret that `object` refers to. A change of one of them reconciles `object`.
fn referenced_secrets(
    // The object that refers.
    object: &Book,
) -> Vec<ObjectRef<Secret>> {
    // An example, which refers to the Secret with the name of `object`: return the names in the spec instead.
    // Without `within`, a name is in the namespace of `object`.
    let secret = ObjectRef::new(&object.name_any());
    vec![secret]
}

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(
    object: &Book,
    // Whether all owned objects have the desired state and are ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> BookStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    let ready = match applied {
        Ok(kube_manager::Readiness::Ready) => {
            condition::new_true(object, "Ready", "Reconciled", "Desired state reached")
        }
        Ok(waits) => condition::new_false(object, "Ready", waits.reason(), waits.message()),
        Err(error) => {
            let message = kube_manager::message(error);
            condition::new_false(object, "Ready", error.reason(), message)
        }
    };
    condition::set(&mut status.conditions, ready);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Book {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/shop_v1_book.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = deployment(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = shop_page(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = config_map(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = service(&object);
        assert_eq!(owned.metadata.name, *name);
    }

    #[test]
    fn an_object_becomes_ready_in_its_generation() {
        let mut object = sample();
        object.metadata.generation = Some(3);
        let applied = Ok(kube_manager::Readiness::Ready);
        let status = observe(&object, &applied);
        assert_eq!(status.observed_generation, Some(3));
        assert_eq!(status.conditions[0].type_, "Ready");
        assert_eq!(status.conditions[0].status, "True");
        assert_eq!(status.conditions[0].observed_generation, Some(3));
    }

    #[test]
    fn with_nothing_new_the_status_stays_as_it_is() {
        let mut object = sample();
        let applied = Ok(kube_manager::Readiness::Ready);
        object.status = Some(observe(&object, &applied));
        assert_eq!(object.status, Some(observe(&object, &applied)));
    }

    #[test]
    fn an_object_is_not_ready_before_what_it_owns() {
        let waits = kube_manager::Readiness::Progressing("has no Pods".to_owned());
        let status = observe(&sample(), &Ok(waits));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "Progressing");
    }

    #[test]
    fn an_object_is_not_ready_without_what_it_owns() {
        let kind = "Deployment".to_owned();
        let error = children::Error::NotOwned(kind);
        let status = observe(&sample(), &Err(error));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "NotOwned");
    }
}
