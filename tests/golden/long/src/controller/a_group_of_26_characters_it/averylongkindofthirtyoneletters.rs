// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Averylongkindofthirtyoneletters: write your code here. After a change of `RULES`, run
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

use crate::api::a_group_of_26_characters_it::v1alpha1::averylongkindofthirtyoneletters::*;

// The kinds that this controller uses.
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;

/// Brings the cluster to the desired state of each Averylongkindofthirtyoneletters.
pub struct Controller {
    // One field for each kind that it owns.
    stateful_sets: Children<StatefulSet, Averylongkindofthirtyoneletters>,
    persistent_volume_claims: Children<PersistentVolumeClaim, Averylongkindofthirtyoneletters>,
    // End of the kinds.
    // One field for each kind that its objects refer to.
    horizontal_pod_autoscalers: kube_manager::Watched<HorizontalPodAutoscaler>,
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
    type Object = Averylongkindofthirtyoneletters;
    type Error = Error;

    const NAME: &'static str = "averylongkindofthirtyoneletters.a-group-of-26-characters-it.a-rather-long-domain.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Averylongkindofthirtyoneletters>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Averylongkindofthirtyoneletters>("status", &[Verb::Update]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<StatefulSet>(children::VERBS),
        Rule::of::<PersistentVolumeClaim>(children::VERBS),
        // For the objects that are referred to: read.
        Rule::of::<HorizontalPodAutoscaler>(&[Verb::List, Verb::Watch]),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    async fn reconcile(
        &self,
        object: &Averylongkindofthirtyoneletters,
        context: &Context,
    ) -> Result<Action, Error> {
        // Your work goes here: compare the cluster with `object.spec` and change what differs. It
        // must be safe to do again, because this runs after each start and each change.
        let names = referenced_horizontal_pod_autoscalers(object);
        let found = self.horizontal_pod_autoscalers.get_all(&names);
        tracing::debug!(
            kind = "HorizontalPodAutoscaler",
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

    async fn deleted(
        &self,
        object: &ObjectRef<Averylongkindofthirtyoneletters>,
        _context: &Context,
    ) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Averylongkindofthirtyoneletters>) -> Self {
        Self {
            // One field for each kind that it owns.
            stateful_sets: builder.owns(),
            persistent_volume_claims: builder.owns(),
            // End of the kinds.
            // One field for each kind that its objects refer to.
            horizontal_pod_autoscalers: builder.refers_to(referenced_horizontal_pod_autoscalers),
            // End of these kinds.
        }
    }

    /// Applies the objects that the functions below return. Returns whether all of them are ready.
    async fn apply(
        &self,
        // The owner of these objects.
        object: &Averylongkindofthirtyoneletters,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [stateful_set(object)];
        let all = self.stateful_sets.apply(object, all).await?;
        readiness.include(&all);
        let all = [persistent_volume_claim(object)];
        let all = self.persistent_volume_claims.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The desired StatefulSet of `object`. `apply` sets `object` as its owner.
fn stateful_set(object: &Averylongkindofthirtyoneletters) -> StatefulSet {
    use k8s_openapi::api::apps::v1::StatefulSetSpec;
    use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    StatefulSet {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: StatefulSetSpec {
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
            ..StatefulSetSpec::default()
        },
        ..StatefulSet::default()
    }
}

/// The desired PersistentVolumeClaim of `object`. `apply` sets `object` as its owner.
fn persistent_volume_claim(object: &Averylongkindofthirtyoneletters) -> PersistentVolumeClaim {
    use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, VolumeResourceRequirements};
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    // Kubernetes deletes the claim with its data when `object` is deleted.
    let storage = Quantity("1Gi".to_owned());
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), storage)].into()),
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}

/// The labels of the Pods of `object`: other objects select the Pods by them. The value of a label has at most 63
/// characters, and the name of a StatefulSet at most 52. A CEL rule of the kind can limit `self.metadata.name`.
fn labels(object: &Averylongkindofthirtyoneletters) -> BTreeMap<String, String> {
    let name = "averylongkindofthirtyoneletters".to_owned();
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

/// The objects of the kind HorizontalPodAutoscaler that `object` refers to. A change of one of them reconciles `object`.
fn referenced_horizontal_pod_autoscalers(
    // The object that refers.
    object: &Averylongkindofthirtyoneletters,
) -> Vec<ObjectRef<HorizontalPodAutoscaler>> {
    // An example, which refers to the HorizontalPodAutoscaler with the name of `object`: return the names in the spec instead.
    // Without `within`, a name is in the namespace of `object`.
    let horizontal_pod_autoscaler = ObjectRef::new(&object.name_any());
    vec![horizontal_pod_autoscaler]
}

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(
    object: &Averylongkindofthirtyoneletters,
    // Whether all owned objects have the desired state and are ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> AverylongkindofthirtyonelettersStatus {
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

    fn sample() -> Averylongkindofthirtyoneletters {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/a-group-of-26-characters-it_v1alpha1_averylongkindofthirtyoneletters.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = stateful_set(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = persistent_volume_claim(&object);
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
        let kind = "StatefulSet".to_owned();
        let error = children::Error::NotOwned(kind);
        let status = observe(&sample(), &Err(error));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "NotOwned");
    }
}
