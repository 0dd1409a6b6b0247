// SPDX-FileCopyrightText: The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The types of the API: a module for each group, with a module for each version.

use kube::core::crd::MergeError;
use kube_manager::schema::{Crd, TypedCrd};

// One module for each group.
pub mod webapp;
// End of the groups.

/// The CustomResourceDefinitions of all kinds, each with all of its versions.
///
/// # Errors
///
/// When the versions of a kind disagree on its scope or on its names.
pub fn crds() -> Result<Vec<Crd>, MergeError> {
    Ok(vec![
        // One entry for each kind.
        Crd::merge(
            vec![
                // Its versions, oldest first.
                webapp::v1::Guestbook::typed_crd(),
            ],
            "v1", // the version to store
        )?,
        // End of the kinds.
    ])
}

#[cfg(test)]
#[test]
fn an_api_server_takes_the_crds() -> Result<(), kube_manager::schema::Faults> {
    let crds = kube_manager::schema::collect(crds)?;
    kube_manager::schema::check(&crds)?;
    Ok(())
}
