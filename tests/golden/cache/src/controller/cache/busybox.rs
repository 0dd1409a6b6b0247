// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Busybox: write your code here. After a change of `RULES`, run
//! `make manifests`.

use std::collections::BTreeMap;

use k8s_openapi::api::events;
use kube::{ResourceExt, api::ObjectMeta, runtime::events::EventType};
use kube_manager::{
    Action, Children, Context, Reconciler, children, condition,
    rbac::{Rule, Verb},
};

use crate::api::cache::v1::busybox::*;

// The kinds that this controller uses.
use k8s_openapi::api::apps::v1::Deployment;

/// The image of the Pods, unless the environment variable sets another one.
const IMAGE: &str =
    // A tag or a digest pins the version.
    "busybox:1.36.1";
const IMAGE_VARIABLE: &str = "BUSYBOX_IMAGE";

/// Brings the cluster to the desired state of each Busybox.
pub struct Controller {
    // One field for each kind that it owns.
    deployments: Children<Deployment, Busybox>,
    // End of the kinds.
    image: String,
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
    type Object = Busybox;
    type Error = Error;

    const NAME: &'static str = "busybox.cache.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Busybox>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Busybox>("status", &[Verb::Update]),
        // For the finalizer.
        Rule::of::<Busybox>(&[Verb::Patch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<Deployment>(children::VERBS),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    const FINALIZER: bool = true;

    async fn reconcile(&self, object: &Busybox, context: &Context) -> Result<Action, Error> {
        // Your work goes here: compare the cluster with `object.spec` and change what differs. It
        // must be safe to do again, because this runs after each start and each change.

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

    async fn cleanup(
        &self,
        object: &Busybox,
        context: &Context,
    ) -> Result<kube_manager::Cleanup, Error> {
        // Remove here what `object` would leave behind outside of the cluster. Like the work above,
        // it may be done again.
        let note = "Nothing is left behind";
        context.event(object, EventType::Normal, "CleanedUp", note);
        Ok(kube_manager::Cleanup::Done)
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Busybox>) -> Self {
        Self {
            // One field for each kind that it owns.
            deployments: builder.owns(),
            // End of the kinds.
            // In a cluster, the manifest of the operator sets the image.
            image: std::env::var(IMAGE_VARIABLE).unwrap_or_else(|_| IMAGE.to_owned()),
        }
    }

    /// Applies the objects that the functions below return. Returns whether all of them are ready.
    async fn apply(
        &self,
        // The owner of these objects.
        object: &Busybox,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [deployment(object, &self.image)];
        let all = self.deployments.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The desired Deployment of `object`. `apply` sets `object` as its owner.
fn deployment(
    object: &Busybox,
    // The container of its Pods.
    image: &str,
) -> Deployment {
    use k8s_openapi::api::apps::v1::DeploymentSpec;
    use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    Deployment {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: Some(object.spec.size),
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
                        image: Some(image.to_owned()),
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

/// The labels of the Pods of `object`: other objects select the Pods by them. The value of a label has at most 63
/// characters, and the name of a StatefulSet at most 52. A CEL rule of the kind can limit `self.metadata.name`.
fn labels(object: &Busybox) -> BTreeMap<String, String> {
    let name = "busybox".to_owned();
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

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(
    object: &Busybox,
    // Whether all owned objects have the desired state and are ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> BusyboxStatus {
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

    fn sample() -> Busybox {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/cache_v1_busybox.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = deployment(&object, IMAGE);
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
