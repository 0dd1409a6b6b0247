//! What a user implements: defaulters and validators.

use std::fmt::Debug;

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    hook::Hook,
    request::{Change, Request},
    verdict::Verdict,
};
use crate::runtime::rbac::Rule;

/// A type of objects that a webhook can handle.
pub trait Object:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static
{
}

/// Sets defaults for fields that objects of a kind leave out.
pub trait Defaulter: Send + Sync + 'static {
    /// The type of the objects.
    type Object: Object;

    /// When and how the API server calls the defaulter.
    const HOOK: Hook = Hook::new();

    /// The permissions of the defaulter, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Changes `object` before it is stored. The API server may call it several times for one request, so a second call
    /// must change nothing.
    ///
    /// Fields that the type does not have stay unchanged. An object that does not fit its type is refused before this
    /// call.
    ///
    /// # Errors
    ///
    /// When the defaulter cannot decide. Then the [`FailurePolicy`](super::FailurePolicy) decides.
    fn default(
        &self,
        object: &mut Self::Object,
        request: &Request,
    ) -> impl Future<Output = anyhow::Result<Verdict>> + Send;
}

/// Decides which objects of a kind may be stored or deleted.
pub trait Validator: Send + Sync + 'static {
    /// The type of the objects.
    type Object: Object;

    /// When and how the API server calls the validator.
    const HOOK: Hook = Hook::new();

    /// The permissions of the validator, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Returns the errors and warnings for `change`.
    ///
    /// An object that does not fit its type is refused before this call. If such an object is stored already, it can be
    /// deleted and its metadata can change, so that it can lose its finalizers.
    ///
    /// # Errors
    ///
    /// When the validator cannot decide. Then the [`FailurePolicy`](super::FailurePolicy) decides.
    fn validate(
        &self,
        change: Change<'_, Self::Object>,
        request: &Request,
    ) -> impl Future<Output = anyhow::Result<Verdict>> + Send;
}
