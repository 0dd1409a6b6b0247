// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! What you write for a controller: a reconciler.

use std::fmt::Debug;

use kube::{
    Resource,
    runtime::{controller::Action, reflector::ObjectRef},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{rbac::Rule, scope::Scope};

/// What a controller does for the objects of one kind.
pub trait Reconciler: Send + Sync + 'static {
    /// The kind.
    type Object: Resource<DynamicType = (), Scope: Scope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;

    /// Why a reconcile failed.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Names the controller in logs, in events and as the manager of the fields that it writes.
    const NAME: &'static str;

    /// Everything that the controller may do in the cluster; `make manifests` writes it to
    /// config/rbac/role.yaml.
    const RULES: &'static [Rule];

    /// Whether each object waits for [`cleanup`](Self::cleanup) before it is deleted. The finalizer
    /// that makes it wait is called `<NAME>/finalizer`, and needs the verb `Patch` on the objects.
    /// An object that has it cannot go without the operator: keep this true until none has it.
    const FINALIZER: bool = false;

    /// Whether to reconcile after every change of an object, even if only its status changed.
    const EVERY_CHANGE: bool = false;

    /// Brings the cluster to what `object` asks for. Called after each start and each change, so
    /// with nothing left to do it must do nothing. Not called for an object that is being
    /// deleted.
    fn reconcile(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// Removes what would be left behind by `object`, which is about to be deleted: only with a
    /// `FINALIZER`. Tried again until it succeeds, and the object stays until then.
    fn cleanup(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = object;
        async { Ok(()) }
    }

    /// Hears that an object is gone, perhaps more than once; another one of the same name may be
    /// there already. Deletions while the operator is not running are never heard: what must be
    /// cleaned up needs `FINALIZER`, or an owner reference.
    fn gone(&self, object: &ObjectRef<Self::Object>) -> impl Future<Output = ()> + Send {
        let _ = object;
        async {}
    }
}
