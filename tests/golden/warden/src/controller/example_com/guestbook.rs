// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Guestbook: write your code here. After a change of `RULES`, run
//! `make manifests`.

use k8s_openapi::api::events;
use kube::runtime::events::EventType;
use kube_manager::{
    Action, Context, Reconciler, condition,
    rbac::{Rule, Verb},
};

use crate::api::example_com::v1beta1::guestbook::*;

/// Brings the cluster to the desired state of each Guestbook.
pub struct Controller;

/// Why a reconcile failed. It is logged, and retried with an increasing backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write the status")]
    WriteStatus(#[source] kube::Error),
}

impl Reconciler for Controller {
    type Object = Guestbook;
    type Error = Error;

    const NAME: &'static str = "guestbook.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Guestbook>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Guestbook>("status", &[Verb::Update]),
        // For the finalizer.
        Rule::of::<Guestbook>(&[Verb::Patch]),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    const FINALIZER: bool = true;

    async fn reconcile(&self, object: &Guestbook, context: &Context) -> Result<Action, Error> {
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

    async fn cleanup(
        &self,
        object: &Guestbook,
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
    pub fn new(_: &mut kube_manager::Builder<Guestbook>) -> Self {
        Self
    }
}

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(object: &Guestbook) -> GuestbookStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    let ready = condition::new_true(object, "Ready", "Reconciled", "Desired state reached");
    condition::set(&mut status.conditions, ready);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Guestbook {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/v1beta1_guestbook.yaml"
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
