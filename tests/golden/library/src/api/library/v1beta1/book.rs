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

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "library.example.com",
    version = "v1beta1",
    deprecated = "use v1",
    kind = "Book",
    plural = "books",
    shortname = "bk",
    namespaced,
    // No webhook converts between the versions: a write through one version loses the fields that only other versions have.
    annotation("kube-manager/conversion", "lossy"),
    derive = "PartialEq",
    derive = "Default",
    category = "all",
    status = "BookStatus",
    doc = ""
)]
pub struct BookSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub title: Option<String>,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Book {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../../config/samples/library_v1beta1_book.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn the_sample_fits_the_types() {
        assert!(sample().metadata.name.is_some());
    }
}
