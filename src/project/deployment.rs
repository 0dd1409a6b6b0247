//! The Deployment of the operator, as far as it differs from the default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::{LabelKey, LabelValue};

/// Labels with their values.
pub type Labels = BTreeMap<LabelKey, LabelValue>;

/// The settings of the Deployment of the operator.
// The fields are in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "the fields of a Deployment"
)]
pub struct Deployment {
    /// The labels of the Deployment besides the default ones.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The labels of its Pods besides the default ones.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub pod_labels: Labels,
    /// The labels by which it selects its Pods, if they are not the default. The selector of an existing Deployment
    /// cannot be changed.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub selector: Labels,
}

impl Deployment {
    /// Whether nothing differs from the default.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
