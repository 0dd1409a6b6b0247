// Shapes of Rust types that authors of kinds write. Tests of an API server include this file, too.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::{
    api::resource::Quantity, apis::meta::v1::Time, util::intstr::IntOrString,
};
use kube::core::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What no variant of another enum needs to know.
#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Source {
    /// A repository.
    Git {
        /// Its address.
        url: String,
        #[serde(default = "main_branch")]
        branch: String,
    },
    /// A text.
    Inline {
        /// The address of the text.
        url: String,
        text: String,
    },
    Newtype(Settings),
    Nothing,
}

fn main_branch() -> String {
    "main".to_owned()
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Settings {
    #[serde(rename = "in")]
    pub r#in: String,
    #[serde(rename = "a-b")]
    pub a_b: Option<u32>,
    #[serde(rename = "namespace")]
    pub namespace: Option<String>,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type", content = "value")]
pub enum Adjacent {
    First { a: u8, shared: bool },
    Second { b: Option<String>, shared: bool },
    Third(Settings),
    Nothing,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "the-kind", content = "c")]
pub enum AdjacentScalar {
    #[serde(rename = "a'b")]
    First(u64),
    Second(u64),
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Port {
    Number(u16),
    Name(String),
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Amount {
    Number(i32),
    Name(String),
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Untagged {
    /// By address.
    Address {
        /// The address.
        url: String,
        /// How long.
        timeout: Option<u32>,
    },
    /// By name.
    Name {
        name: String,
        /// How long to wait.
        #[serde(default)]
        timeout: Option<u32>,
        #[serde(default = "main_branch")]
        branch: String,
    },
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum External {
    /// A repository.
    Git {
        url: String,
    },
    Inline(Settings),
    Nothing {},
}

#[derive(
    JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize,
)]
pub enum Level {
    /// Little.
    Low,
    High,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Flattened {
    pub name: String,
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub external: External,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FlattenedOptional {
    pub name: String,
    #[serde(flatten)]
    pub source: Option<Source>,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FlattenedTwice {
    #[serde(flatten)]
    pub source: Option<Source>,
    #[serde(flatten)]
    pub adjacent: Option<Adjacent>,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FlattenedExternal {
    #[serde(flatten)]
    pub external: Option<External>,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FlattenedBoth {
    #[serde(flatten)]
    pub external: Option<External>,
    #[serde(flatten)]
    pub untagged: Option<Untagged>,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "outer")]
pub enum Nested {
    Inner(Source),
    List { items: Vec<Source> },
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FlattenedStruct {
    pub name: String,
    #[serde(flatten)]
    pub settings: Settings,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FlattenedMap {
    pub name: String,
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Percent(pub u8);

/// The fields of [`Shapes`] of which a schema says less than serde checks: it cannot say what an address or a duration is,
/// and schemars forgets the keys of a map if they have comments.
pub const CHECKED_BY_SERDE_ALONE: [&str; 4] = ["address", "by_level", "duration", "time"];

/// One field for each shape.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Shapes {
    pub tagged: Option<Source>,
    pub list: Vec<Source>,
    pub map: BTreeMap<String, Source>,
    pub adjacent: Option<Adjacent>,
    pub scalar: Option<AdjacentScalar>,
    pub port: Option<Port>,
    pub ports: Vec<Port>,
    pub amount: Option<Amount>,
    pub untagged: Option<Untagged>,
    pub external: Option<External>,
    pub flattened: Option<Flattened>,
    pub flattened_optional: Option<FlattenedOptional>,
    pub flattened_twice: Option<FlattenedTwice>,
    pub flattened_external: Option<FlattenedExternal>,
    pub flattened_both: Option<FlattenedBoth>,
    pub nested: Option<Nested>,
    // The API server refuses null for a field with an enum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    pub levels: BTreeSet<Level>,
    pub by_level: BTreeMap<Level, String>,
    pub by_number: BTreeMap<u32, String>,
    pub by_signed: BTreeMap<i64, Source>,
    pub small: u8,
    pub middle: Option<u32>,
    pub large: u64,
    pub signed: i8,
    pub size: usize,
    pub float: f32,
    pub character: Option<char>,
    pub address: Option<std::net::IpAddr>,
    pub array: Option<[u8; 3]>,
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub open: Option<serde_json::Value>,
    pub flattened_struct: Option<FlattenedStruct>,
    pub flattened_map: Option<FlattenedMap>,
    #[allow(clippy::option_option, reason = "users write it, too")]
    pub twice: Option<Option<u8>>,
    pub quantity: Option<Quantity>,
    pub number_or_text: Option<IntOrString>,
    pub time: Option<Time>,
    pub duration: Option<Duration>,
    pub percent: Percent,
    pub number32: i32,
    pub number64: i64,
    pub number16: u16,
    pub number128: u128,
    pub enabled: bool,
    pub double: f64,
}
