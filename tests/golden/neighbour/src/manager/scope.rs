// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Namespaced or cluster-scoped: what a kind's scope means for its `Api`.

use kube::{
    Api, Client, Resource,
    core::{ClusterResourceScope, NamespaceResourceScope},
};

/// Makes the `Api` of a kind, so that generic code need not know the kind's scope.
pub trait Scope {
    /// Whether objects are in a namespace.
    const NAMESPACED: bool;

    /// The objects in `namespace`, or all of them. A cluster-scoped kind is in no namespace.
    fn api<K>(client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<Scope = Self, DynamicType = ()>;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;

    fn api<K>(client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<Scope = Self, DynamicType = ()>,
    {
        match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        }
    }
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;

    fn api<K>(client: Client, _: Option<&str>) -> Api<K>
    where
        K: Resource<Scope = Self, DynamicType = ()>,
    {
        Api::all(client)
    }
}
