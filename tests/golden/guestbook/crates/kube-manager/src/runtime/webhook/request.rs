//! What a webhook is asked.

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

/// Who asks for what, besides the object. The default is a creation by nobody in no namespace, for tests:
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
    /// What is done with the object. A patch is a creation or an update, as the case may be.
    pub operation: Operation,
    /// Who does it.
    pub user: UserInfo,
    /// Whether the API server stores nothing: a webhook with effects of its own must not have them.
    pub dry_run: bool,
    /// The namespace of the object; none for a cluster-scoped one.
    pub namespace: Option<String>,
    /// The name of the object; none if the API server makes one later, for `generateName`.
    pub name: Option<String>,
    /// The subresource that is asked for, such as `status` or `scale`.
    pub subresource: Option<String>,
    /// The options of the operation, such as a `DeleteOptions` of `meta.k8s.io/v1`.
    pub options: Option<Value>,
    /// The kind as the client sent it, always there but in tests. Its version can be another one than that
    /// of the webhook's type: the API server converts the object before.
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
    /// The object as it is to be stored; none if it is deleted.
    pub fn after(&self) -> Option<&'a K> {
        match self {
            Self::Create(new) | Self::Update { new, .. } => Some(new),
            Self::Delete(_) => None,
        }
    }

    /// The object as it is stored; none if it is created.
    pub fn before(&self) -> Option<&'a K> {
        match self {
            Self::Update { old, .. } | Self::Delete(old) => Some(old),
            Self::Create(_) => None,
        }
    }
}

/// What an answer tells of the request: which object is meant.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub kind: GroupVersionKind,
    pub name: String,
}
