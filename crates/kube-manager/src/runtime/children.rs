//! The children of a controller's objects, as their Rust types.

use std::{marker::PhantomData, sync::Arc};

use kube::{Resource, api::ApiResource, runtime::Predicate};
use serde::Serialize;
use serde_json::Value;

use super::{
    access::Access,
    child::Child,
    object::{typed, write},
    rbac::Verb,
    scope::{Kind, Watchable},
    tie::Tie,
};

pub(super) mod any;
pub(super) mod error;
mod field_owners;
mod mark;
mod wanted;

use any::AnyChildren;
pub use error::Error;

/// The verbs that a controller needs for its children.
pub const VERBS: &[Verb] = &[
    Verb::Create,
    Verb::Delete,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Watch,
];

/// Creates, corrects and deletes the objects of kind `C` that the objects of kind `K` own.
///
/// For a kind that is known only at run time, use [`DynamicObject`](kube::api::DynamicObject). A child then needs
/// `types`, which [`DynamicObject::new`](kube::api::DynamicObject::new) sets.
///
/// # Values that must not change
///
/// A reconciler often makes a value once and keeps it, such as a password. There are three ways:
///
/// - [`Child::keep`]: a field keeps the value that it has in the cluster.
/// - [`Child::create_only`]: the whole object is created once, and never changed.
/// - Look for the value with [`of`](Self::of), and make a new one only if there is none. The runtime writes a child only
///   if the live object is in the state that `of` has returned. Otherwise, the error is [`Error::Stale`], and the object
///   is reconciled again with the live object.
///
/// A value stays although the operator restarts, the watch is late, or somebody removes the labels of the child.
///
/// # Restored objects
///
/// A child is recognized by a label that contains a hash of its desired state, but no uid. So a child that was restored
/// from a backup together with its owner gets the new owner's reference, without another change, if
///
/// - it has no controller, or
/// - its controller was an object with the owner's kind and name that no longer exists, and the child equals the
///   desired one, is [created only once](Child::create_only), has [kept fields](Child::keep), or holds data: a
///   PersistentVolumeClaim, a PersistentVolume, a Namespace, a CustomResourceDefinition, or a StatefulSet whose deletion
///   deletes its claims.
///
/// The next reconcile corrects it. If the same fields are desired as before the backup, the controller also becomes the
/// owner of these fields, so a field is removed once it is no longer desired.
///
/// Any other child of a deleted object with the owner's name is deleted and created again. An object without the label
/// is taken over only if its controller reference names the owner.
pub struct Children<C, K> {
    any: AnyChildren,
    types: PhantomData<fn(&K) -> C>,
}

impl<C, K> Children<C, K>
where
    C: Watchable + Serialize,
    K: Resource<DynamicType = ()>,
{
    /// `names` is empty for all names.
    pub(super) fn new(access: Access, kind: Kind, names: Vec<String>, tie: Tie) -> Self {
        let owner = ApiResource::erase::<K>(&());
        Self {
            any: AnyChildren::new(access, kind, owner, write::<C>, names, tie),
            types: PhantomData,
        }
    }

    /// The same children, without their types.
    pub(super) fn any(&self) -> AnyChildren {
        self.any.clone()
    }

    /// Requeues the owner of a changed child only if the change affects the value of `predicate`, or is a creation, a
    /// deletion or the beginning of a deletion. Without a predicate, each change of a child requeues its owner. A write by
    /// the controller always requeues the owner once: it may hide a change by another program. Call this where the
    /// controller declares the children. kube has [predicates](kube::runtime::predicates), which combine.
    ///
    /// Children are corrected only in a reconcile of their owner. So the value should depend on all fields that the
    /// controller sets, as the generation does for most kinds.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use kube::runtime::predicates;
    /// # use kube_manager::{Builder, Children};
    /// fn declare(builder: &mut Builder<ConfigMap>) -> Children<Deployment, ConfigMap> {
    ///     builder.owns().predicate(predicates::generation)
    /// }
    /// ```
    pub fn predicate(self, predicate: impl Predicate<C> + Send + Sync + 'static) -> Self {
        self.any.filter(predicate);
        self
    }

    /// The children of `owner`, in the order of their names.
    pub fn of(&self, owner: &K) -> Vec<Arc<C>> {
        let children = self.any.of(owner.meta());
        children.into_iter().filter_map(typed).collect()
    }

    /// Brings the children of `owner` to their `desired` state: creates missing children, corrects children that
    /// differ, and deletes children that this controller has created, corrected or taken over and that are not in
    /// `desired`. Sets owner reference, namespace and labels. Returns the children as the API server has them.
    ///
    /// A desired child is an object or a [`Child`], which says more. Pass all children of the kind in one call. If the
    /// next step depends on the observed children, use [`apply_one`](Self::apply_one), [`patch_spec`](Self::patch_spec)
    /// and [`delete`](Self::delete) for single children. Fields that are not set are left to other field managers, such
    /// as the replicas to an autoscaler. The status is left to the controller of the child.
    ///
    /// A value that the API server stores in another form, such as `1` for `1000m`, or drops, such as an empty map, is no
    /// difference. If the API server stores another value, such as that of a mutating webhook, a warning says it once, and
    /// the child is sent again only after one of the two values has changed, or in the first reconcile after ten minutes.
    ///
    /// A child that is being deleted is left alone until it is gone, and then created again.
    ///
    /// # Errors
    ///
    /// When two desired children have the same name, when another object has the name of a child, when a child has no name
    /// or a namespace that its owner cannot have children in, when the live child is newer than what the reconciler knew,
    /// when a field is immutable, when a child is being deleted and lacks its owner reference or its label, or when a
    /// request fails. The children after that child are not changed.
    #[doc(alias("CreateOrUpdate", "SetControllerReference"))]
    pub async fn apply(
        &self,
        owner: &K,
        desired: impl IntoIterator<Item = impl Into<Child<C>>>,
    ) -> Result<Vec<Arc<C>>, Error> {
        let desired = desired.into_iter().map(|child| child.into().any());
        let applied = self.any.apply(owner.meta(), desired.collect()).await?;
        Ok(applied.into_iter().filter_map(typed).collect())
    }

    /// Creates or corrects one child of `owner`, like [`apply`](Self::apply), and does not touch the other children.
    ///
    /// # Errors
    ///
    /// See [`apply`](Self::apply).
    pub async fn apply_one(&self, owner: &K, child: impl Into<Child<C>>) -> Result<Arc<C>, Error> {
        let child = child.into().any();
        let applied = self.any.apply_one(owner.meta(), child).await?;
        let name = self.any.describe(applied.metadata());
        // All objects of this kind have the type `C`.
        typed(applied).ok_or(Error::Stale(name))
    }

    /// Merges `patch` into the `spec` of a child. Returns `false` and changes nothing if the child has changed since it
    /// was read. The watch then delivers the change and requeues the owner.
    ///
    /// The patch has its own field manager, which ends in `-patch`, so its values stay when [`apply`](Self::apply) does
    /// not set them.
    ///
    /// # Errors
    ///
    /// When the request fails for another reason.
    pub async fn patch_spec(&self, child: &C, patch: Value) -> Result<bool, Error> {
        self.any.patch_spec(child.meta(), patch).await
    }

    /// Deletes a child. Returns `false` if the child is deleted already, or if another object has its name.
    ///
    /// # Errors
    ///
    /// When the request fails for another reason.
    pub async fn delete(&self, child: &C) -> Result<bool, Error> {
        self.any.delete(child.meta()).await
    }
}
