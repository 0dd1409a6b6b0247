// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Switch: write your code here. After a change of `RULES`, run
//! `make manifests`.

use std::convert::Infallible;

use kube::{ResourceExt, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Context, Reconciler,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use crate::external::lights::v1::Switch;

/// Watches every Switch.
pub struct Controller;

impl Reconciler for Controller {
    type Object = Switch;
    type Error = Infallible;

    const NAME: &'static str = "switch.lights.neighbour.example.com";

    const RULES: &'static [Rule] = &[
        // For the watch.
        Rule::of::<Switch>(&[Verb::List, Verb::Watch]),
    ];

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &Switch, _context: &Context) -> Result<Action, Infallible> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        tracing::info!(
            name = object.name_any(),
            namespace = object.namespace(),
            "has changed"
        );
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<Switch>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(_: &mut kube_manager::Builder<Switch>) -> Self {
        Self
    }
}
