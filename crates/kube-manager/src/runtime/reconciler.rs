//! The trait that a controller implements.

use kube::{Resource, runtime::reflector::ObjectRef};
use serde::Serialize;

use super::{
    action::{Action, Cleanup},
    context::Context,
    rbac::Rule,
    scope::{Scope, Watchable},
};

/// The implementation of a controller for the objects of one kind.
pub trait Reconciler: Send + Sync + 'static {
    /// The kind that the controller reconciles.
    type Object: Watchable + Resource<DynamicType = (), Scope: Scope> + Serialize;

    /// Why a reconcile failed.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The name of the controller in logs, metrics and events, and in its finalizer and labels. It is unique in the
    /// operator, and consists of lower-case letters, digits, `-` and `.`: see [`Manager::add`](crate::Manager::add).
    const NAME: &'static str;

    /// The field manager of the controller's server-side apply, with at most 128 characters. A controller that replaces
    /// another one uses the same name: then the API server removes each field that only the replaced controller
    /// applied.
    const FIELD_MANAGER: &'static str = Self::NAME;

    /// The permissions of the controller; `make manifests` writes them to config/rbac/role.yaml.
    const RULES: &'static [Rule];

    /// Whether an object has a finalizer, so that [`cleanup`](Self::cleanup) runs before it is deleted.
    /// The finalizer needs the verb `Patch` on the objects. An object that has it cannot be deleted without the
    /// operator: keep this `true` until no object has it.
    #[doc(alias = "AddFinalizer")]
    const FINALIZER: bool = false;

    /// The name of the finalizer, if it is not `<NAME>/finalizer`. A controller that replaces another one uses the same
    /// finalizer, because objects already have it.
    const FINALIZER_NAME: Option<&'static str> = None;

    /// Whether every change of an object requeues it, including a change of only its status. This is always so for a
    /// kind of Kubernetes, such as a Pod, unless the controller has a [predicate](crate::Builder::predicate).
    const EVERY_CHANGE: bool = false;

    /// Brings the cluster to the desired state of `object`. It runs after each start and each change,
    /// so it must be idempotent. It does not run for an object that is being deleted. After an error, it runs again with
    /// growing delays, until it succeeds; after [`children::Error::Immutable`](crate::children::Error::Immutable), each
    /// delay is about the longest one.
    fn reconcile(
        &self,
        object: &Self::Object,
        context: &Context,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// Removes things that would remain after the deletion of `object`, such as cloud resources. It runs only with
    /// `FINALIZER`, and is retried until it succeeds. The object stays until it returns [`Cleanup::Done`].
    fn cleanup(
        &self,
        object: &Self::Object,
        context: &Context,
    ) -> impl Future<Output = Result<Cleanup, Self::Error>> + Send {
        let _ = (object, context);
        async { Ok(Cleanup::Done) }
    }

    /// Runs after the deletion of an object, whose uid is in `object.extra`. Another object with the same name may exist
    /// already; `reconcile` does not run for that object at the same time. This method does not run for deletions while
    /// the operator is down: cleanup that must happen needs `FINALIZER`, or an owner reference.
    ///
    /// With [`Builder::labels`](crate::Builder::labels) or [`Builder::fields`](crate::Builder::fields), it also runs when
    /// the selector no longer selects the object, which may still exist.
    fn deleted(
        &self,
        object: &ObjectRef<Self::Object>,
        context: &Context,
    ) -> impl Future<Output = ()> + Send {
        let _ = (object, context);
        async {}
    }
}
