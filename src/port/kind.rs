//! A kind of the Go project, and what the Go code says about its controllers.

use std::collections::{BTreeMap, BTreeSet};

use super::{config::GoWebhook, go::Value, go_file::Place};
use crate::{crd::Crd, names::GroupVersionKind};

/// A kind that was taken over from the Go project.
#[derive(Debug)]
pub(super) struct GoKind {
    /// The version with the controllers.
    pub id: GroupVersionKind,
    /// Its CRD, if the Go project has one.
    pub crd: Option<Crd>,
    /// What the Go code says about its controllers.
    pub code: Code,
    /// Its webhooks, the defaulting one and the validating one at most.
    pub webhooks: Vec<GoWebhook>,
}

/// What the Go code says about the controllers of a kind.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// The files that set a controller up.
    pub files: BTreeSet<String>,
    /// The finalizers, each with the first place that sets it.
    pub finalizers: BTreeMap<Value, Place>,
    pub field_managers: BTreeSet<Value>,
    pub event_reporters: BTreeSet<Value>,
    /// The kinds that the controllers own, each with the name of its package.
    pub owns: BTreeSet<(String, String)>,
    /// The same for watched kinds. At last, only kinds that the project does not watch.
    pub watches: BTreeSet<(String, String)>,
    /// The owned kinds by their names in the project. Empty if one of them has no name there.
    pub owned: Vec<GroupVersionKind>,
}
