//! A kind with its group: kinds of several groups may have the same name.

use super::file::GoResource;
use crate::crd::Crd;

/// A kind with its full group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKind {
    pub kind: String,
    pub group: String,
}

impl GroupKind {
    pub fn of(crd: &Crd) -> Self {
        Self {
            kind: crd.kind.clone(),
            group: crd.group.clone(),
        }
    }

    /// The kind of an entry of PROJECT. `domain` is that of the project.
    pub fn of_entry(entry: &GoResource, domain: Option<&str>) -> Self {
        Self {
            kind: entry.kind.clone(),
            group: entry.full_group(domain),
        }
    }
}
