// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Namespace, which is yours to edit. After a change of `RULES`, run
//! `make manifests`.

use kube::{
    ResourceExt,
    api::ObjectMeta,
    runtime::{controller::Action, reflector::ObjectRef},
};
use kube_manager::{
    Children, Reconciler, children,
    rbac::{Rule, Verb},
};

// Kinds that this controller works with.
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::core::v1::ServiceAccount;

/// Makes what belongs to each Namespace.
pub struct Controller {
    // One field for each kind that it owns.
    service_accounts: Children<ServiceAccount>,
    // End of the kinds.
}

impl Reconciler for Controller {
    type Object = Namespace;
    type Error = children::Error;

    const NAME: &'static str = "namespace.core.owner.example.com";

    const RULES: &'static [Rule] = &[
        // What a watch needs.
        Rule::of::<Namespace>(&[Verb::List, Verb::Watch]),
        // What it owns: read, made, corrected and removed.
        Rule::of::<ServiceAccount>(children::VERBS),
        // End of what it owns.
    ];

    // Others write the status of these objects, and a new status calls for a reconcile.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &Namespace) -> Result<Action, Self::Error> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        self.apply(object).await?;
        Ok(Action::await_change())
    }

    async fn gone(&self, object: &ObjectRef<Namespace>) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares what the controller works with.
    pub fn new(builder: &mut kube_manager::Builder<Namespace>) -> Self {
        Self {
            // One field for each kind that it owns.
            service_accounts: builder.owns(),
            // End of the kinds.
        }
    }

    /// Makes what `object` owns as the functions below say.
    async fn apply(&self, object: &Namespace) -> Result<(), children::Error> {
        // For each kind, all objects that are wanted: others that were made before are deleted.
        let all = [service_account(object)];
        self.service_accounts.apply(object, all).await?;
        // End of the kinds.
        Ok(())
    }
}

/// The ServiceAccount that `object` asks for. `apply` makes `object` its owner.
fn service_account(object: &Namespace) -> ServiceAccount {
    ServiceAccount {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner has no namespace to give.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..ServiceAccount::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Namespace {
        Namespace {
            metadata: ObjectMeta {
                name: Some("sample".to_owned()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        }
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = service_account(&object);
        assert_eq!(owned.metadata.name, *name);
    }
}
