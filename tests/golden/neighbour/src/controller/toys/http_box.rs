// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of HTTPBox: write your code here. After a change of `RULES`, run
//! `make manifests`.

use kube::{ResourceExt, api::ObjectMeta, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Children, Context, Reconciler, children,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use k8s_openapi::api::core::v1::ConfigMap;
use widgets::v1::Widget;
use widgets::v1alpha1::HttpBox as HTTPBox;

/// Creates the objects that each HTTPBox owns.
pub struct Controller {
    // One field for each kind that it owns.
    widgets: Children<Widget, HTTPBox>,
    config_maps: Children<ConfigMap, HTTPBox>,
    // End of the kinds.
}

impl Reconciler for Controller {
    type Object = HTTPBox;
    type Error = children::Error;

    const NAME: &'static str = "httpbox.toys.neighbour.example.com";

    const RULES: &'static [Rule] = &[
        // For the watch.
        Rule::of::<HTTPBox>(&[Verb::List, Verb::Watch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<Widget>(children::VERBS),
        Rule::of::<ConfigMap>(children::VERBS),
        // End of what it owns.
    ];

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &HTTPBox, _context: &Context) -> Result<Action, Self::Error> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        self.apply(object).await?;
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<HTTPBox>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<HTTPBox>) -> Self {
        Self {
            // One field for each kind that it owns.
            widgets: builder.owns(),
            config_maps: builder.owns(),
            // End of the kinds.
        }
    }

    /// Applies the objects that the functions below return.
    async fn apply(&self, object: &HTTPBox) -> Result<(), children::Error> {
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [widget(object)];
        self.widgets.apply(object, all).await?;
        let all = [config_map(object)];
        self.config_maps.apply(object, all).await?;
        // End of the kinds.
        Ok(())
    }
}

/// The desired Widget of `object`. `apply` sets `object` as its owner.
fn widget(object: &HTTPBox) -> Widget {
    Widget {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner is cluster-scoped, so choose a namespace here.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // Set the fields of `spec` here: the API server may refuse the default values.
        ..Widget::default()
    }
}

/// The desired ConfigMap of `object`. `apply` sets `object` as its owner.
fn config_map(object: &HTTPBox) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner is cluster-scoped, so choose a namespace here.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..ConfigMap::default()
    }
}
