//! Kinds in the form that requests need: namespaced or cluster-scoped, known at compile time or only at run time.

use std::{fmt::Debug, hash::Hash};

use kube::{
    Api, Client, Resource,
    api::ApiResource,
    core::{ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope},
    discovery,
};
use serde::de::DeserializeOwned;

/// The scope of a kind, in generic code.
pub trait Scope {
    /// Whether objects of the kind are in a namespace. For a kind that is known only at run time: whether they may be.
    const NAMESPACED: bool;

    /// The objects of `api` that are in `namespace`. A cluster-scoped kind ignores `namespace`.
    fn within<K>(api: Api<K>, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = Self>;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;

    fn within<K>(api: Api<K>, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = Self>,
    {
        api.constrain(namespace)
    }
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;

    fn within<K>(api: Api<K>, _: &str) -> Api<K>
    where
        K: Resource<Scope = Self>,
    {
        api
    }
}

impl Scope for DynamicResourceScope {
    const NAMESPACED: bool = true;

    fn within<K>(api: Api<K>, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = Self>,
    {
        api.constrain(namespace)
    }
}

/// A scope whose objects may own objects of the scope `Child`. The garbage collector deletes a cluster-scoped object
/// whose owner is in a namespace.
#[diagnostic::on_unimplemented(
    message = "an object in a namespace cannot own a cluster-scoped object",
    label = "the kind of the owner is namespaced, and the kind of the child is cluster-scoped",
    note = "the garbage collector would delete the child, and a change of the child would not reconcile its owner"
)]
pub trait MayOwn<Child>: Scope {}

impl MayOwn<NamespaceResourceScope> for NamespaceResourceScope {}
impl MayOwn<NamespaceResourceScope> for ClusterResourceScope {}
impl MayOwn<ClusterResourceScope> for ClusterResourceScope {}

/// A kind that can be watched, for generic code. All types of kinds implement it, including types of kinds that are
/// known only at run time.
pub trait Watchable:
    Resource<DynamicType: Clone + Debug + Eq + Hash + Send + Sync + 'static, Scope: Scope>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Watchable for K
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Clone + Debug + Eq + Hash + Send + Sync + 'static,
    K::Scope: Scope,
{
}

/// The kind of the objects of type `K`, whose `DynamicType` is `T`.
#[derive(Clone, PartialEq, Eq)]
pub struct Kind<T> {
    /// The part of the kind that is known only at run time.
    pub dyntype: T,
    /// Whether objects of the kind are in a namespace.
    pub namespaced: bool,
}

impl Kind<()> {
    /// The kind of the type `K`.
    pub fn of<K: Resource<DynamicType = (), Scope: Scope>>() -> Self {
        Self {
            dyntype: (),
            namespaced: K::Scope::NAMESPACED,
        }
    }
}

impl Kind<ApiResource> {
    /// A kind that is known only at run time.
    pub fn dynamic(dyntype: ApiResource, scope: discovery::Scope) -> Self {
        Self {
            dyntype,
            namespaced: scope == discovery::Scope::Namespaced,
        }
    }
}

impl<T> Kind<T> {
    /// The objects in `namespace`, or in all namespaces. A cluster-scoped kind ignores `namespace`.
    pub fn api<K>(&self, client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = T, Scope: Scope>,
    {
        let api = Api::all_with(client, &self.dyntype);
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => K::Scope::within(api, namespace),
            None => api,
        }
    }
}
