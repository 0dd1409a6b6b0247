// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The types of Switch, which another project defines. They were made from its
//! CustomResourceDefinition. Edit them: you can delete fields that you do not use. Change objects by a patch, because
//! `Api::replace` removes the fields that these types lack.

// Descriptions, names and numbers are copied from the CustomResourceDefinition.
#![allow(
    clippy::approx_constant,
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items,
    clippy::enum_variant_names,
    clippy::too_long_first_doc_paragraph,
    rustdoc::all
)]

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "lights.example.org",
    version = "v1",
    kind = "Switch",
    plural = "switches",
    // The schema is in the project that defines the kind.
    schema = "disabled",
    derive = "PartialEq",
    no_spec,
    doc = ""
)]
pub struct SwitchSpec {
    /// Which of the positions it has.
    pub position: SwitchPosition,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum SwitchPosition {
    On,
    Off,
    /// A value that was not in the schema.
    #[serde(untagged)]
    Other(String),
}
