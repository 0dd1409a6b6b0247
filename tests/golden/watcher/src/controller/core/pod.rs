// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: Apache-2.0

//! The controller of Pod: write your code here. After a change of `RULES`, run
//! `make manifests`.

use std::convert::Infallible;

use kube::{ResourceExt, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Context, Reconciler,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::core::v1::Pod;

/// Watches every Pod.
pub struct Controller {
    // One field for each kind that its objects refer to.
    config_maps: kube_manager::Watched<ConfigMap>,
    nodes: kube_manager::Watched<Node>,
    // End of these kinds.
}

impl Reconciler for Controller {
    type Object = Pod;
    type Error = Infallible;

    const NAME: &'static str = "pod.core.watcher.example.com";

    const RULES: &'static [Rule] = &[
        // For the watch.
        Rule::of::<Pod>(&[Verb::List, Verb::Watch]),
        // For the objects that are referred to: read.
        Rule::of::<ConfigMap>(&[Verb::List, Verb::Watch]),
        Rule::of::<Node>(&[Verb::List, Verb::Watch]),
    ];

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &Pod, _context: &Context) -> Result<Action, Infallible> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        let names = referenced_config_maps(object);
        let found = self.config_maps.get_all(&names);
        tracing::debug!(
            kind = "ConfigMap",
            count = found.len(),
            "found the objects that it refers to"
        );
        let names = referenced_nodes(object);
        let found = self.nodes.get_all(&names);
        tracing::debug!(
            kind = "Node",
            count = found.len(),
            "found the objects that it refers to"
        );
        tracing::info!(
            name = object.name_any(),
            namespace = object.namespace(),
            "has changed"
        );
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<Pod>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Pod>) -> Self {
        Self {
            // One field for each kind that its objects refer to.
            config_maps: builder.refers_to(referenced_config_maps),
            nodes: builder.refers_to(referenced_nodes),
            // End of these kinds.
        }
    }
}

/// The objects of the kind ConfigMap that `object` refers to. A change of one of them reconciles `object`.
fn referenced_config_maps(
    // The object that refers.
    object: &Pod,
) -> Vec<ObjectRef<ConfigMap>> {
    // An example, which refers to the ConfigMap with the name of `object`: return the names in the spec instead.
    // Without `within`, a name is in the namespace of `object`.
    let config_map = ObjectRef::new(&object.name_any());
    vec![config_map]
}

/// The objects of the kind Node that `object` refers to. A change of one of them reconciles `object`.
fn referenced_nodes(
    // The object that refers.
    object: &Pod,
) -> Vec<ObjectRef<Node>> {
    // An example, which refers to the Node with the name of `object`: return the names in the spec instead.
    let node = ObjectRef::new(&object.name_any());
    vec![node]
}
