// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The types of Shelf. Edit them: `make manifests` writes their CRD. The schema of each Rust type:
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
    version = "v1",
    kind = "Shelf",
    plural = "shelves",
    derive = "PartialEq",
    derive = "Default",
    no_spec,
    doc = ""
)]
pub struct ShelfSpec {
    #[schemars(range(min = 1))]
    pub width: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Shelf {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../../config/samples/library_v1_shelf.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn the_sample_fits_the_types() {
        assert!(sample().metadata.name.is_some());
    }
}
