//! The request for a webhook.

use k8s_openapi::api::authentication::v1::UserInfo;
use kube::core::GroupVersionKind;
use serde::Deserialize;
use serde_json::Value;

/// What a client does with an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// Creates it.
    #[default]
    Create,
    /// Changes it: an update, or a patch.
    Update,
    /// Deletes it.
    Delete,
    /// Connects to it, as `kubectl exec` does with a Pod.
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

/// The request without the object: who asks for what. The default, for tests, is a creation without user and namespace:
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
    /// Who does it.
    pub user: UserInfo,
    /// Whether this is a dry run: the API server stores nothing, and a webhook must have no effects either.
    pub dry_run: bool,
    /// The namespace of the object; `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name of the object; `None` if the API server generates it later, for `generateName`.
    pub name: Option<String>,
    /// The subresource that is asked for, such as `status` or `scale`.
    pub subresource: Option<String>,
    /// The options of the operation, such as a `DeleteOptions` of `meta.k8s.io/v1`.
    pub options: Option<Value>,
    /// The kind as the client sent it, `None` only in tests. Its version can differ from the version of the webhook's
    /// type, because the API server converts the object first.
    pub kind: Option<GroupVersionKind>,
}

/// A change of an object, as it is to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a, K> {
    /// The object is created. Of a [`Connect`](Operation::Connect), this has the options.
    Create(&'a K),
    /// The object is changed. If the old one does not fit its type, it counts as [`Create`](Self::Create).
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
