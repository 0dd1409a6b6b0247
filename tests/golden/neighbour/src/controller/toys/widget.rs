// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Widget: write your code here. After a change of `RULES`, run
//! `make manifests`.

use std::convert::Infallible;

use kube::{ResourceExt, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Context, Reconciler,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use widgets::v1::Widget;

/// Watches every Widget.
pub struct Controller;

impl Reconciler for Controller {
    type Object = Widget;
    type Error = Infallible;

    const NAME: &'static str = "widget.toys.neighbour.example.com";

    const RULES: &'static [Rule] = &[
        // For the watch.
        Rule::of::<Widget>(&[Verb::List, Verb::Watch]),
        // For the finalizer.
        Rule::of::<Widget>(&[Verb::Patch]),
    ];

    // Each Widget that the operator watches gets the finalizer, and cannot be deleted while no operator runs.
    // `builder.labels(..)` in `new` limits the controller to some objects.
    const FINALIZER: bool = true;

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &Widget, _context: &Context) -> Result<Action, Infallible> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        tracing::info!(
            name = object.name_any(),
            namespace = object.namespace(),
            "has changed"
        );
        Ok(Action::await_change())
    }

    async fn cleanup(
        &self,
        object: &Widget,
        _context: &Context,
    ) -> Result<kube_manager::Cleanup, Infallible> {
        // Remove here what `object` would leave behind. Like the work above, it may be done again.
        tracing::info!(
            name = object.name_any(),
            namespace = object.namespace(),
            "is being deleted"
        );
        Ok(kube_manager::Cleanup::Done)
    }

    async fn deleted(&self, object: &ObjectRef<Widget>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(_: &mut kube_manager::Builder<Widget>) -> Self {
        Self
    }
}
