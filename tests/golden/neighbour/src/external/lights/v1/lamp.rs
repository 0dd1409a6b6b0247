// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The types of Lamp, which another project defines. They were made from its
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

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How the lamp is to shine.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "lights.example.org",
    version = "v1",
    kind = "Lamp",
    plural = "lamps",
    namespaced,
    // The schema is in the project that defines the kind.
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    status = "LampStatus",
    doc = "Lamp is what gives light."
)]
#[serde(rename_all = "camelCase")]
pub struct LampSpec {
    /// Percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brightness: Option<i32>,

    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bulbs: Vec<LampBulb>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_on: Option<bool>,

    /// When it shines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<LampMode>,

    /// Where it stands.
    pub place: String,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<LampType>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// One of its bulbs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct LampBulb {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<LampColor>,

    pub name: String,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum LampColor {
    Cold,
    Warm,
    /// A value that was not in the schema.
    #[serde(untagged)]
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum LampMode {
    Always,
    Dusk,
    #[serde(rename = "motion-sensor")]
    MotionSensor,
    /// A value that was not in the schema.
    #[serde(untagged)]
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum LampType {
    #[serde(rename = "LED")]
    Led,
    Other,
    /// A value that was not in the schema.
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LampStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<LampStatusCondition>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<LampStatusPhase>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LampStatusCondition {
    pub last_transition_time: Time,

    pub type_: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum LampStatusPhase {
    Burning,
    Dark,
    /// A value that was not in the schema.
    #[serde(untagged)]
    Other(String),
}
