// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Lamp: write your code here. After a change of `RULES`, run
//! `make manifests`.

use kube::{ResourceExt, api::ObjectMeta, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Children, Context, Reconciler, children,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use crate::external::lights::v1::Lamp;
use k8s_openapi::api::core::v1::ConfigMap;

/// Creates the objects that each Lamp owns.
pub struct Controller {
    // One field for each kind that it owns.
    config_maps: Children<ConfigMap, Lamp>,
    // End of the kinds.
}

impl Reconciler for Controller {
    type Object = Lamp;
    type Error = children::Error;

    const NAME: &'static str = "lamp.lights.neighbour.example.com";

    const RULES: &'static [Rule] = &[
        // For the watch.
        Rule::of::<Lamp>(&[Verb::List, Verb::Watch]),
        // For the finalizer.
        Rule::of::<Lamp>(&[Verb::Patch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<ConfigMap>(children::VERBS),
        // End of what it owns.
    ];

    // Each Lamp that the operator watches gets the finalizer, and cannot be deleted while no operator runs.
    // `builder.labels(..)` in `new` limits the controller to some objects.
    const FINALIZER: bool = true;

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &Lamp, _context: &Context) -> Result<Action, Self::Error> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        self.apply(object).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(
        &self,
        object: &Lamp,
        _context: &Context,
    ) -> Result<kube_manager::Cleanup, Self::Error> {
        // Remove here what `object` would leave behind. Like the work above, it may be done again.
        tracing::info!(
            name = object.name_any(),
            namespace = object.namespace(),
            "is being deleted"
        );
        Ok(kube_manager::Cleanup::Done)
    }

    async fn deleted(&self, object: &ObjectRef<Lamp>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Lamp>) -> Self {
        Self {
            // One field for each kind that it owns.
            config_maps: builder.owns(),
            // End of the kinds.
        }
    }

    /// Applies the objects that the functions below return.
    async fn apply(&self, object: &Lamp) -> Result<(), children::Error> {
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [config_map(object)];
        self.config_maps.apply(object, all).await?;
        // End of the kinds.
        Ok(())
    }
}

/// The desired ConfigMap of `object`. `apply` sets `object` as its owner.
fn config_map(object: &Lamp) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..ConfigMap::default()
    }
}
