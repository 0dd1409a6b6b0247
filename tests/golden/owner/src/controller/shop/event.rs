// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Event: write your code here. After a change of `RULES`, run
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

use crate::api::shop::v1::event::*;

// The kinds that this controller uses.
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Event as CoreEvent;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::events::v1::Event as EventsEvent;
use k8s_openapi::api::networking::v1::NetworkPolicy;

/// Brings the cluster to the desired state of each Event.
pub struct Controller {
    // One field for each kind that it owns.
    daemon_sets: Children<DaemonSet, Event>,
    stateful_sets: Children<StatefulSet, Event>,
    jobs: Children<Job, Event>,
    events_events: Children<EventsEvent, Event>,
    network_policies: Children<NetworkPolicy, Event>,
    core_events: Children<CoreEvent, Event>,
    persistent_volume_claims: Children<PersistentVolumeClaim, Event>,
    pods: Children<Pod, Event>,
    service_accounts: Children<ServiceAccount, Event>,
    // End of the kinds.
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
    type Object = Event;
    type Error = Error;

    const NAME: &'static str = "event.shop.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Event>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Event>("status", &[Verb::Update]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<DaemonSet>(children::VERBS),
        Rule::of::<StatefulSet>(children::VERBS),
        Rule::of::<Job>(children::VERBS),
        Rule::of::<EventsEvent>(children::VERBS),
        Rule::of::<NetworkPolicy>(children::VERBS),
        Rule::of::<CoreEvent>(children::VERBS),
        Rule::of::<PersistentVolumeClaim>(children::VERBS),
        Rule::of::<Pod>(children::VERBS),
        Rule::of::<ServiceAccount>(children::VERBS),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    async fn reconcile(&self, object: &Event, context: &Context) -> Result<Action, Error> {
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

    async fn deleted(&self, object: &ObjectRef<Event>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Event>) -> Self {
        Self {
            // One field for each kind that it owns.
            daemon_sets: builder.owns(),
            stateful_sets: builder.owns(),
            jobs: builder.owns(),
            events_events: builder.owns(),
            network_policies: builder.owns(),
            core_events: builder.owns(),
            persistent_volume_claims: builder.owns(),
            pods: builder.owns(),
            service_accounts: builder.owns(),
            // End of the kinds.
        }
    }

    /// Applies the objects that the functions below return. Returns whether all of them are ready.
    async fn apply(
        &self,
        // The owner of these objects.
        object: &Event,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [daemon_set(object)];
        let all = self.daemon_sets.apply(object, all).await?;
        readiness.include(&all);
        let all = [stateful_set(object)];
        let all = self.stateful_sets.apply(object, all).await?;
        readiness.include(&all);
        let all = [job(object)];
        let all = self.jobs.apply(object, all).await?;
        readiness.include(&all);
        let all = [events_event(object)];
        let all = self.events_events.apply(object, all).await?;
        readiness.include(&all);
        let all = [network_policy(object)];
        let all = self.network_policies.apply(object, all).await?;
        readiness.include(&all);
        let all = [core_event(object)];
        let all = self.core_events.apply(object, all).await?;
        readiness.include(&all);
        let all = [persistent_volume_claim(object)];
        let all = self.persistent_volume_claims.apply(object, all).await?;
        readiness.include(&all);
        let all = [pod(object)];
        let all = self.pods.apply(object, all).await?;
        readiness.include(&all);
        let all = [service_account(object)];
        let all = self.service_accounts.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The desired DaemonSet of `object`. `apply` sets `object` as its owner.
fn daemon_set(object: &Event) -> DaemonSet {
    use k8s_openapi::api::apps::v1::DaemonSetSpec;
    use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    DaemonSet {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: DaemonSetSpec {
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
            ..DaemonSetSpec::default()
        },
        ..DaemonSet::default()
    }
}

/// The desired StatefulSet of `object`. `apply` sets `object` as its owner.
fn stateful_set(object: &Event) -> StatefulSet {
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

/// The desired Job of `object`. `apply` sets `object` as its owner.
fn job(object: &Event) -> Job {
    use k8s_openapi::api::batch::v1::JobSpec;
    use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};

    // The Job runs once for each object. The finished Job stays: if `ttl_seconds_after_finished`
    // deleted it, the next reconcile would create it again, and it would run again. Its template
    // cannot change, so a changed Job needs another name. For a Job that runs before `object` is
    // deleted, see `Builder::owns_until_cleanup`.
    Job {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            template: PodTemplateSpec {
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "main".to_owned(),
                        // The image that does the work goes here.
                        image: Some("registry.k8s.io/pause:3.10".to_owned()),
                        // With this argument it ends at once.
                        args: Some(vec!["-v".to_owned()]),
                        security_context: Some(restricted_container()),
                        ..Container::default()
                    }],
                    restart_policy: Some("Never".to_owned()),
                    security_context: Some(restricted_pod()),
                    ..PodSpec::default()
                }),
                ..PodTemplateSpec::default()
            },
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

/// The desired Event of `object`. `apply` sets `object` as its owner.
fn events_event(object: &Event) -> EventsEvent {
    EventsEvent {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..EventsEvent::default()
    }
}

/// The desired NetworkPolicy of `object`. `apply` sets `object` as its owner.
fn network_policy(object: &Event) -> NetworkPolicy {
    NetworkPolicy {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..NetworkPolicy::default()
    }
}

/// The desired Event of `object`. `apply` sets `object` as its owner.
fn core_event(object: &Event) -> CoreEvent {
    CoreEvent {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..CoreEvent::default()
    }
}

/// The desired PersistentVolumeClaim of `object`. `apply` sets `object` as its owner.
fn persistent_volume_claim(object: &Event) -> PersistentVolumeClaim {
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

/// The desired Pod of `object`. `apply` sets `object` as its owner.
fn pod(object: &Event) -> Pod {
    use k8s_openapi::api::core::v1::{Container, PodSpec};

    Pod {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            labels: Some(labels(object)),
            ..ObjectMeta::default()
        },
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
        ..Pod::default()
    }
}

/// The desired ServiceAccount of `object`. `apply` sets `object` as its owner.
fn service_account(object: &Event) -> ServiceAccount {
    ServiceAccount {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..ServiceAccount::default()
    }
}

/// The labels of the Pods of `object`: other objects select the Pods by them. The value of a label has at most 63
/// characters, and the name of a StatefulSet at most 52. A CEL rule of the kind can limit `self.metadata.name`.
fn labels(object: &Event) -> BTreeMap<String, String> {
    let name = "event".to_owned();
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
    object: &Event,
    // Whether all owned objects have the desired state and are ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> EventStatus {
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

    fn sample() -> Event {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/shop_v1_event.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = daemon_set(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = stateful_set(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = job(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = events_event(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = network_policy(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = core_event(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = persistent_volume_claim(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = pod(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = service_account(&object);
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
        let kind = "DaemonSet".to_owned();
        let error = children::Error::NotOwned(kind);
        let status = observe(&sample(), &Err(error));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "NotOwned");
    }
}
