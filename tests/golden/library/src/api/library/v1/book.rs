// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The types of Book. Edit them: `make manifests` writes their CRD. The schema of each Rust type:
//! <https://github.com/rscaffold/rscaffold/blob/main/docs/types.md>

// Descriptions, names and numbers are copied from the CustomResourceDefinition.
#![allow(
    clippy::approx_constant,
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items,
    clippy::enum_variant_names,
    clippy::too_long_first_doc_paragraph,
    rustdoc::all
)]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is wanted of the book.
///
/// See <https://example.com/[books]> and foo<bar>.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "library.example.com",
    version = "v1",
    kind = "Book",
    plural = "books",
    shortname = "bk",
    namespaced,
    // No webhook converts between the versions: a write through one version loses the fields that only other versions have.
    annotation("kube-manager/conversion", "lossy"),
    derive = "PartialEq",
    category = "all",
    status = "BookStatus",
    doc = "Book is one of the library.",
    printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"),
    printcolumn(
        name = "Copies",
        type_ = "integer",
        json_path = ".status.replicas",
        description = "How many copies there are, which a wide output shows.",
        priority = 1
    ),
    selectable = ".spec.title",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.pages.size() > 0 || self.title != ''").message("A book has pages or a title"))]
pub struct BookSpec {
    #[serde(rename = "$ref", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub ref_: Option<String>,

    #[serde(rename = "-dash", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "integer")]
    pub dash: Option<i64>,

    #[serde(default = "default_9lives")]
    pub _9lives: bool,

    #[serde(
        rename = "UPPER_CASE",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "number", range(min = 0.5))]
    pub upper_case: Option<f64>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub anything: Option<Value>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BookCover")]
    #[schemars(extend("default" = {}))]
    pub cover: Option<BookCover>,

    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("additionalProperties" = {"maxLength": 63, "type": "string"}))]
    pub labels: BTreeMap<String, String>,

    #[schemars(extend("description" = "The pages, such as:\n\n    pages: []"))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["number".into()]))]
    pub pages: Vec<BookPage>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub published: Option<Time>,

    #[serde(default = "default_replicas")]
    #[schemars(range(min = 0))]
    pub replicas: i32,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "int_or_string")]
    #[schemars(extend("nullable" = false))]
    pub self_: Option<IntOrString>,

    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    #[schemars(extend("items" = {"minLength": 1, "type": "string"}))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub tags: Vec<String>,

    /// The title.
    #[schemars(length(min = 1, max = 80), regex(pattern = r"^\S.*$"))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("a title stays").reason(Reason::FieldValueForbidden))]
    pub title: String,

    /// The sort of book.
    #[serde(default = "default_type")]
    pub type_: BookType,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[schemars(extend("minProperties" = 0))]
pub struct BookCover {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub color: Option<String>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub picture: Option<String>,
}

/// Page of a book.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[schemars(extend("oneOf" = [{"required": ["text"]}, {"required": ["note"]}]))]
pub struct BookPage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BookNote")]
    #[schemars(extend("nullable" = true))]
    pub note: Option<BookNote>,

    pub number: i64,

    #[serde(default)]
    pub text: String,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookNote {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub by: Option<String>,

    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum BookType {
    Novel,
    #[serde(rename = "short-story")]
    ShortStory,
    #[serde(rename = "")]
    Empty,
    #[serde(rename = "*")]
    Any,
}

/// What the book is.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub replicas: Option<i32>,

    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("items" = {"items": {"type": "integer"}, "type": "array"}))]
    pub seen: Vec<Vec<i64>>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub selector: Option<String>,
}

fn default_9lives() -> bool {
    true
}

fn default_replicas() -> i32 {
    1
}

fn default_type() -> BookType {
    BookType::Novel
}

/// A point in time.
fn date_time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time"})
}

/// An integer or a text.
fn int_or_string(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"x-kubernetes-int-or-string": true})
}

/// An integer of any size.
fn integer(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "integer"})
}

/// A number of any precision.
fn number(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "number"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Book {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../../config/samples/library_v1_book.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn the_sample_fits_the_types() {
        assert!(sample().metadata.name.is_some());
    }
}
