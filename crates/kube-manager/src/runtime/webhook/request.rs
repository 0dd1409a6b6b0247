//! The request for a webhook.

use k8s_openapi::api::authentication::v1::UserInfo;
use kube::core::GroupVersionKind;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// The operation of a client on an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is created.
    #[default]
    Create,
    /// The object is changed, by an update or a patch.
    Update,
    /// The object is deleted.
    Delete,
    /// The client connects to the object, as `kubectl exec` does with a Pod.
    Connect,
}

impl Operation {
    /// The name in a webhook configuration, such as `CREATE`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// The request without the object: its user, operation and other attributes. The default, for tests, is a creation
/// without user and namespace:
///
/// ```
/// use kube_manager::webhook::{Operation, Request};
///
/// let mut request = Request::default();
/// request.operation = Operation::Update;
/// request.user.username = Some("alice".to_owned());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Request {
    /// The operation on the object. A patch is a creation or an update.
    pub operation: Operation,
    /// The user who sends the request.
    pub user: UserInfo,
    /// Whether this is a dry run: the API server stores nothing, and a webhook must have no effects either.
    pub dry_run: bool,
    /// The namespace of the object; `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name of the object; `None` if the API server generates it later, for `generateName`.
    pub name: Option<String>,
    /// The subresource of the request, such as `status` or `scale`.
    pub subresource: Option<String>,
    /// The options of the operation, such as a `DeleteOptions` of `meta.k8s.io/v1`.
    pub options: Option<Value>,
    /// The kind as the client sent it, `None` only in tests. Its version can differ from the version of the webhook's
    /// type, because the API server converts the object first.
    pub kind: Option<GroupVersionKind>,
    /// The object before the change. It stays JSON text until the webhook reads it.
    pub(super) old: Option<Box<RawValue>>,
}

impl Request {
    /// The object before the change, for a defaulter, which gets only the new object. `None` if the object is created, or
    /// if the old object does not fit its type.
    pub fn old_object<K: DeserializeOwned>(&self) -> Option<K> {
        serde_json::from_str(self.old.as_ref()?.get()).ok()
    }

    /// Sets the object before the change, for tests.
    ///
    /// # Panics
    ///
    /// When the object cannot be JSON.
    pub fn set_old_object<K: Serialize>(&mut self, object: &K) {
        self.old = Some(to_raw_value(object).expect("an object is JSON"));
    }
}

/// A change of an object that is about to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a, K> {
    /// The object is created. For [`Connect`](Operation::Connect), this contains the options of the request.
    Create(&'a K),
    /// The object is changed. If the old object does not fit its type, the change counts as [`Create`](Self::Create).
    Update {
        /// The object before.
        old: &'a K,
        /// The object after.
        new: &'a K,
    },
    /// The object is deleted.
    Delete(&'a K),
}

impl<'a, K> Change<'a, K> {
    /// The object to store; `None` if it is deleted.
    pub fn after(&self) -> Option<&'a K> {
        match self {
            Self::Create(new) | Self::Update { new, .. } => Some(new),
            Self::Delete(_) => None,
        }
    }

    /// The stored object; `None` if it is created.
    pub fn before(&self) -> Option<&'a K> {
        match self {
            Self::Update { old, .. } | Self::Delete(old) => Some(old),
            Self::Create(_) => None,
        }
    }
}

/// The part of the request that identifies the object, for an answer.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub kind: GroupVersionKind,
    pub name: String,
}
