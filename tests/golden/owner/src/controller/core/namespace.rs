// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Namespace: write your code here. After a change of `RULES`, run
//! `make manifests`.

use kube::{ResourceExt, api::ObjectMeta, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Children, Context, Reconciler, children,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::core::v1::ServiceAccount;

/// Creates the objects that each Namespace owns.
pub struct Controller {
    // One field for each kind that it owns.
    service_accounts: Children<ServiceAccount, Namespace>,
    // End of the kinds.
}

impl Reconciler for Controller {
    type Object = Namespace;
    type Error = children::Error;

    const NAME: &'static str = "namespace.core.owner.example.com";

    const RULES: &'static [Rule] = &[
        // For the watch.
        Rule::of::<Namespace>(&[Verb::List, Verb::Watch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<ServiceAccount>(children::VERBS),
        // End of what it owns.
    ];

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(
        &self,
        object: &Namespace,
        _context: &Context,
    ) -> Result<Action, Self::Error> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        self.apply(object).await?;
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<Namespace>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Namespace>) -> Self {
        Self {
            // One field for each kind that it owns.
            service_accounts: builder.owns(),
            // End of the kinds.
        }
    }

    /// Applies the objects that the functions below return.
    async fn apply(&self, object: &Namespace) -> Result<(), children::Error> {
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [service_account(object)];
        self.service_accounts.apply(object, all).await?;
        // End of the kinds.
        Ok(())
    }
}

/// The desired ServiceAccount of `object`. `apply` sets `object` as its owner.
fn service_account(object: &Namespace) -> ServiceAccount {
    ServiceAccount {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner is cluster-scoped, so choose a namespace here.
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
