// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controller of Yes: write your code here. After a change of `RULES`, run
//! `make manifests`.

use k8s_openapi::api::events;
use kube::runtime::{events::EventType, reflector::ObjectRef};
use kube_manager::{
    Action, Context, Reconciler, condition,
    rbac::{Rule, Verb},
};

use crate::api::on::v1::yes::*;

/// Brings the cluster to the desired state of each Yes.
pub struct Controller;

/// Why a reconcile failed. It is logged, and retried with an increasing backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write the status")]
    WriteStatus(#[source] kube::Error),
}

impl Reconciler for Controller {
    type Object = Yes;
    type Error = Error;

    const NAME: &'static str = "yes.on.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Yes>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Yes>("status", &[Verb::Update]),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    async fn reconcile(&self, object: &Yes, context: &Context) -> Result<Action, Error> {
        // Your work goes here: compare the cluster with `object.spec` and change what differs. It
        // must be safe to do again, because this runs after each start and each change.

        let status = observe(object);
        let written = context.write_status(object, &status).await;
        if written.map_err(Error::WriteStatus)?.is_some() {
            let note = "Desired state reached";
            context.event(object, EventType::Normal, "Reconciled", note);
        }
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<Yes>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(_: &mut kube_manager::Builder<Yes>) -> Self {
        Self
    }
}

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(object: &Yes) -> YesStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    let ready = condition::new_true(object, "Ready", "Reconciled", "Desired state reached");
    condition::set(&mut status.conditions, ready);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Yes {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/on_v1_yes.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn an_object_becomes_ready_in_its_generation() {
        let mut object = sample();
        object.metadata.generation = Some(3);
        let status = observe(&object);
        assert_eq!(status.observed_generation, Some(3));
        assert_eq!(status.conditions[0].type_, "Ready");
        assert_eq!(status.conditions[0].status, "True");
        assert_eq!(status.conditions[0].observed_generation, Some(3));
    }

    #[test]
    fn with_nothing_new_the_status_stays_as_it_is() {
        let mut object = sample();
        object.status = Some(observe(&object));
        assert_eq!(object.status, Some(observe(&object)));
    }
}
