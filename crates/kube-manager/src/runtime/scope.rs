//! Kinds in the form that requests need: namespaced or cluster-scoped, known at compile time or only at run time.

use std::{any::TypeId, fmt::Debug};

use kube::{
    Api, Client, Resource,
    api::ApiResource,
    core::{
        ClusterResourceScope, DynamicObject, DynamicResourceScope, NamespaceResourceScope,
        ObjectMeta, PartialObjectMeta,
    },
    discovery,
};
use serde::de::DeserializeOwned;

use super::object::{AnyObject, Guarded, Raw, Read, read};

/// The scope of a kind, in generic code.
pub trait Scope {
    /// Whether objects of the kind are in a namespace. For a kind that is known only at run time: whether they may be.
    const NAMESPACED: bool;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

impl Scope for DynamicResourceScope {
    const NAMESPACED: bool = true;
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
    Resource<Scope: Scope> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Watchable for K where
    K: Resource<Scope: Scope> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

/// A kind in the form that requests need, with the type of its objects.
#[derive(Clone)]
pub struct Kind {
    pub resource: ApiResource,
    /// Whether objects of the kind are in a namespace.
    pub namespaced: bool,
    /// Whether the type has only metadata, so that the API server sends no more.
    pub is_metadata: bool,
    pub type_id: TypeId,
    read: Read,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.type_id == other.type_id
            && self.resource == other.resource
            && self.namespaced == other.namespaced
    }
}

impl Kind {
    /// The kind of the type `K`.
    pub fn of<K: Watchable + Resource<DynamicType = (), Scope: Scope>>() -> Self {
        Self::new::<K>(ApiResource::erase::<K>(&()), K::Scope::NAMESPACED)
    }

    /// A kind that is known only at run time.
    pub fn dynamic<K: Watchable>(resource: ApiResource, scope: &discovery::Scope) -> Self {
        Self::new::<K>(resource, *scope == discovery::Scope::Namespaced)
    }

    fn new<K: Watchable>(resource: ApiResource, namespaced: bool) -> Self {
        Self {
            resource,
            namespaced,
            is_metadata: K::metadata_api(),
            type_id: TypeId::of::<K>(),
            read: read::<K>,
        }
    }

    /// The same kind, of which the API server sends only the metadata of objects.
    pub fn metadata(&self) -> Self {
        Self::new::<PartialObjectMeta<DynamicObject>>(self.resource.clone(), self.namespaced)
    }

    /// The objects in `namespace`, or in all namespaces. A cluster-scoped kind ignores `namespace`.
    pub fn api<const METADATA: bool>(
        &self,
        client: Client,
        namespace: Option<&str>,
    ) -> Api<Raw<METADATA>> {
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }

    /// Kind and name of an object, for people.
    pub fn describe(&self, object: &ObjectMeta) -> String {
        let name = object.name.as_deref().unwrap_or_default();
        format!("{} {name}", self.resource.kind)
    }

    /// Reads an object from JSON.
    pub fn parse(&self, text: &str) -> serde_json::Result<AnyObject> {
        (self.read)(text)
    }

    /// The object that an answer of the API server contains.
    pub fn object(&self, answer: kube::Result<Raw>) -> kube::Result<AnyObject> {
        self.parse(answer?.text()).map_err(kube::Error::SerdeError)
    }

    /// An object of a watch.
    pub fn guarded<const METADATA: bool>(&self, shown: &Raw<METADATA>) -> Guarded {
        Guarded::new(shown, self.read)
    }
}
