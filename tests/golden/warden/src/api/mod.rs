// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The types of the API: a module for each group, in it one for each version.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    CustomResourceExt,
    core::crd::{MergeError, merge_crds},
};

// One module for each group.
pub mod press;
pub mod webapp;
// End of the groups.

/// The CustomResourceDefinition of each kind, with all of its versions.
///
/// # Errors
///
/// When the versions of a kind disagree on its scope or on its names.
pub fn crds() -> Result<Vec<CustomResourceDefinition>, MergeError> {
    Ok(vec![
        // One entry for each kind.
        merge_crds(
            vec![
                // Its versions, oldest first.
                press::v1::Guestbook::crd(),
            ],
            "v1", // the version to store
        )?,
        merge_crds(
            vec![
                // Its versions, oldest first.
                webapp::v1::Guestbook::crd(),
            ],
            "v1", // the version to store
        )?,
        // End of the kinds.
    ])
}
