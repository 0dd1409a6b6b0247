// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Lantern: write your code here. After a change of `RULES`, run
//! `make manifests`.

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

use crate::api::shop::v1::lantern::*;

// The kinds that this controller uses.
use crate::external::lights::v1::Lamp;
use crate::external::lights::v1::Switch;

/// Brings the cluster to the desired state of each Lantern.
pub struct Controller {
    // One field for each kind that it owns.
    lamps: Children<Lamp, Lantern>,
    // End of the kinds.
    // One field for each kind that its objects refer to.
    switches: kube_manager::Watched<Switch>,
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
    type Object = Lantern;
    type Error = Error;

    const NAME: &'static str = "lantern.shop.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Lantern>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Lantern>("status", &[Verb::Update]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<Lamp>(children::VERBS),
        // For the objects that are referred to: read.
        Rule::of::<Switch>(&[Verb::List, Verb::Watch]),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    async fn reconcile(&self, object: &Lantern, context: &Context) -> Result<Action, Error> {
        // Your work goes here: compare the cluster with `object.spec` and change what differs. It
        // must be safe to do again, because this runs after each start and each change.
        let names = referenced_switches(object);
        let found = self.switches.get_all(&names);
        tracing::debug!(
            kind = "Switch",
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

    async fn deleted(&self, object: &ObjectRef<Lantern>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Lantern>) -> Self {
        Self {
            // One field for each kind that it owns.
            lamps: builder.owns(),
            // End of the kinds.
            // One field for each kind that its objects refer to.
            switches: builder.refers_to(referenced_switches),
            // End of these kinds.
        }
    }

    /// Applies the objects that the functions below return. Returns whether all of them are ready.
    async fn apply(
        &self,
        // The owner of these objects.
        object: &Lantern,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [lamp(object)];
        let all = self.lamps.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The desired Lamp of `object`. `apply` sets `object` as its owner.
fn lamp(object: &Lantern) -> Lamp {
    Lamp {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // Set the fields of `spec` here: the API server may refuse the default values.
        ..Lamp::default()
    }
}

/// The objects of the kind Switch that `object` refers to. A change of one of them reconciles `object`.
fn referenced_switches(
    // The object that refers.
    object: &Lantern,
) -> Vec<ObjectRef<Switch>> {
    // An example, which refers to the Switch with the name of `object`: return the names in the spec instead.
    let switch = ObjectRef::new(&object.name_any());
    vec![switch]
}

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(
    object: &Lantern,
    // Whether all owned objects have the desired state and are ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> LanternStatus {
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

    fn sample() -> Lantern {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/shop_v1_lantern.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = lamp(&object);
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
        let kind = "Lamp".to_owned();
        let error = children::Error::NotOwned(kind);
        let status = observe(&sample(), &Err(error));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "NotOwned");
    }
}
