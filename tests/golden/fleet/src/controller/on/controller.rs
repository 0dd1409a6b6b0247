// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controller of Controller, which is yours to edit. After a change of `RULES`, run
//! `make manifests`.

use k8s_openapi::api::events;
use kube::{
    ResourceExt,
    api::ObjectMeta,
    runtime::{controller::Action, events::EventType},
};
use kube_manager::{
    Children, Context, Reconciler, children, condition,
    rbac::{Rule, Verb},
};

use crate::api::on::v1::*;

/// Brings the cluster to what each Controller asks for.
pub struct Controller {
    // One field for each kind that it owns.
    options: Children<OnOption>,
    // End of the kinds.
    context: Context,
}

/// Why a reconcile failed. It is logged, and tried again after a pause that grows each time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Children(#[from] children::Error),
    #[error("cannot write the status: {0}")]
    WriteStatus(#[source] kube::Error),
}

impl Reconciler for Controller {
    type Object = OnController;
    type Error = Error;

    const NAME: &'static str = "controller.on.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<OnController>(&[Verb::List, Verb::Watch]),
        Rule::sub::<OnController>("status", &[Verb::Update]),
        // Adds and removes the finalizer.
        Rule::of::<OnController>(&[Verb::Patch]),
        // What it owns: read, made, corrected and removed.
        Rule::of::<OnOption>(children::VERBS),
        // An event that repeats is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    const FINALIZER: bool = true;

    async fn reconcile(&self, object: &OnController) -> Result<Action, Error> {
        // Your work goes here: compare the cluster with `object.spec` and change what differs. It
        // must be safe to do again, because this runs after each start and each change.

        let applied = self.apply(object).await;
        let status = observe(object, &applied);
        let written = self.context.write_status(object, &status).await;
        let ready = matches!(applied, Ok(kube_manager::Readiness::Ready));
        if written.map_err(Error::WriteStatus)? && ready {
            let note = "Desired state reached";
            self.context
                .event(object, EventType::Normal, "Reconciled", note)
                .await;
        }
        applied?;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, object: &OnController) -> Result<Action, Error> {
        // Remove here what `object` would leave behind outside of the cluster. Like the work above,
        // it may be done again.
        let note = "Nothing is left behind";
        self.context
            .event(object, EventType::Normal, "CleanedUp", note)
            .await;
        Ok(Action::await_change())
    }
}

impl Controller {
    /// Declares what the controller works with.
    pub fn new(builder: &mut kube_manager::Builder<OnController>) -> Self {
        Self {
            // One field for each kind that it owns.
            options: builder.owns(),
            // End of the kinds.
            context: builder.context(),
        }
    }

    /// Makes what `object` owns as the functions below say. Tells whether all of it is ready.
    async fn apply(
        &self,
        // Their owner.
        object: &OnController,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all objects that are wanted: others that were made before are deleted.
        let all = [option(object)];
        let all = self.options.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The Option that `object` asks for. `apply` makes `object` its owner.
fn option(object: &OnController) -> OnOption {
    OnOption {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // What its `spec` asks for goes here: the API server may refuse an empty one.
        ..OnOption::default()
    }
}

/// The status that follows from what was seen. It sends no request, so that it can be tested
/// without a cluster.
fn observe(
    object: &OnController,
    // Whether all that `object` owns is as it should be, and ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> ControllerStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    let ready = match applied {
        Ok(kube_manager::Readiness::Ready) => {
            condition::new_true(object, "Ready", "Reconciled", "Desired state reached")
        }
        Ok(waits) => condition::new_false(object, "Ready", waits.reason(), waits.message()),
        Err(error) => condition::new_false(object, "Ready", error.reason(), error.to_string()),
    };
    condition::set(&mut status.conditions, ready);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> OnController {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/on_v1_controller.yaml"
        );
        serde_saphyr::from_str(text).expect("the sample fits the type")
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = option(&object);
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
        let error = children::Error::NotOwned("Option".to_owned());
        let status = observe(&sample(), &Err(error));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "NotOwned");
    }
}
