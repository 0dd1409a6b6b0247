//! Why a child is not in its desired state.

use crate::runtime::failure;

/// Why a child is not in its desired state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An object with this name exists, and the reconciled object is not its owner.
    #[error("{0} exists already, and this object does not own it")]
    NotOwned(String),
    /// The garbage collector deletes an object whose owner is in another namespace.
    #[error("{0} is in another namespace than this object, so this object cannot own it")]
    OtherNamespace(String),
    /// The garbage collector deletes a cluster-scoped object whose owner is in a namespace.
    #[error("{0} is cluster-scoped, and this object is in a namespace, so it cannot own {0}")]
    ClusterScoped(String),
    /// The owner is cluster-scoped, so the child must name its namespace.
    #[error("{0} needs a namespace, because its owner has none")]
    NoNamespace(String),
    /// With `generateName`, each reconcile would create another child.
    #[error(
        "{0} needs a fixed name: with `generateName`, each reconcile would create another object"
    )]
    Unnamed(String),
    /// The controller watches only the names that [`Builder::owns_named`](crate::Builder::owns_named) has got.
    #[error("{0} has none of the names that this controller owns: add the name to `owns_named`")]
    OtherName(String),
    /// Two desired children have the same name.
    #[error("{0} is desired twice: each child of a kind needs its own name")]
    Twice(String),
    /// The path of a kept field leads to something other than a field of an object.
    #[error("the field `{field}` of {child} cannot be kept: the path must lead to a field")]
    CannotKeep {
        /// Kind and name of the child.
        child: String,
        /// The path, with dots.
        field: String,
    },
    /// The child has changed since the reconciler read its children, or it exists and the reconciler did not know it.
    /// So the desired child was computed from an older state, and was not written. The runtime reconciles the object
    /// again with the newer child, and writes no status before.
    #[error("{0} has changed since it was read, so this object is reconciled again")]
    Stale(String),
    /// The object with the name of the child is being deleted, and no watch shows the end of the deletion. So the runtime
    /// looks again, and then creates the child.
    #[error("{0} is being deleted, and is created again once it is gone")]
    Terminating(String),
    /// The API server refuses the change of a field. It probably refuses the same change again, so the runtime waits for
    /// the longest pause before it tries again.
    #[error("{child} cannot be changed in `{field}`: {text}{}", way_out(delete.as_deref()))]
    Immutable {
        /// Kind and name of the child.
        child: String,
        /// The path of the field, such as `.spec.volumeClaimTemplates`.
        field: String,
        /// What the API server says.
        text: String,
        /// The command that deletes the child and keeps what the child owns. `None` for a child that holds data, such
        /// as a PersistentVolumeClaim.
        delete: Option<String>,
    },
    /// A request failed.
    #[error("cannot {verb} {child}: {}", failure::message(source))]
    Request {
        /// The action of the request, such as `create`.
        verb: &'static str,
        /// Kind and name of the child.
        child: String,
        /// The error of the request.
        source: kube::Error,
    },
}

impl Error {
    /// The reason for a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotOwned(_) => "NotOwned",
            Self::OtherNamespace(_) => "OtherNamespace",
            Self::ClusterScoped(_) => "ClusterScoped",
            Self::NoNamespace(_) => "NoNamespace",
            Self::Unnamed(_) => "Unnamed",
            Self::OtherName(_) => "OtherName",
            Self::Twice(_) => "DesiredTwice",
            Self::CannotKeep { .. } => "CannotKeep",
            Self::Stale(_) => "Stale",
            Self::Terminating(_) => "Terminating",
            Self::Immutable { .. } => "ImmutableField",
            Self::Request { .. } => "ChildFailed",
        }
    }

    /// Whether the desired child was computed from an older state. This is normal: the next reconcile knows the newer
    /// child.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale(_))
    }

    /// Whether the namespace of the child is being deleted. Nothing can be created there, so a cleanup that needs a new
    /// child cannot end.
    pub fn is_namespace_terminating(&self) -> bool {
        let Self::Request {
            source: kube::Error::Api(status),
            ..
        } = self
        else {
            return false;
        };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        causes.any(|cause| cause.reason == "NamespaceTerminating")
    }

    /// Whether the API server probably refuses the same change again, until the object, the child or the cluster changes.
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Immutable { .. })
    }
}

/// What helps when a field of a child cannot change, if the command `delete` loses no data.
fn way_out(delete: Option<&str>) -> String {
    delete.map_or_else(String::new, |delete| {
        format!(". Delete it with `{delete}`, or declare it with `Child::recreate`")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_namespace_that_is_deleted_takes_no_new_child() {
        for (reason, is_terminating) in
            [("NamespaceTerminating", true), ("FieldValueInvalid", false)]
        {
            let status = json!({
                "code": 403, "reason": "Forbidden", "message": "it is being terminated",
                "details": {"causes": [{"reason": reason, "message": "", "field": "metadata.namespace"}]},
            });
            let error = Error::Request {
                verb: "create",
                child: "Job backup".to_owned(),
                source: kube::Error::Api(serde_json::from_value(status).expect("a status")),
            };
            assert_eq!(error.is_namespace_terminating(), is_terminating, "{reason}");
        }
    }
}
