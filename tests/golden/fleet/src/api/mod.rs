// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The types of the API: a module for each group, with a module for each version.

use kube::core::crd::MergeError;
use kube_manager::schema::{Crd, TypedCrd};

// One module for each group.
pub mod air_traffic_control;
pub mod on;
pub mod sea;
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
                air_traffic_control::v9::HTTPRoute::typed_crd(),
            ],
            "v9", // the version to store
        )?,
        Crd::merge(
            vec![
                // Its versions, oldest first.
                air_traffic_control::v10::Policy::typed_crd(),
            ],
            "v10", // the version to store
        )?,
        Crd::merge(
            vec![
                // Its versions, oldest first.
                air_traffic_control::v1alpha1::Ship::typed_crd(),
            ],
            "v1alpha1", // the version to store
        )?,
        Crd::merge(
            vec![
                // Its versions, oldest first.
                on::v1::Yes::typed_crd(),
            ],
            "v1", // the version to store
        )?,
        Crd::merge(
            vec![
                // Its versions, oldest first.
                sea::v1alpha1::Person::typed_crd(),
                sea::v1::Person::typed_crd(),
            ],
            "v1", // the version to store
        )?,
        Crd::merge(
            vec![
                // Its versions, oldest first.
                sea::v1beta1::Ship::typed_crd(),
                sea::v1::Ship::typed_crd(),
                sea::v2::Ship::typed_crd(),
            ],
            "v1beta1", // the version to store
        )?,
        Crd::merge(
            vec![
                // Its versions, oldest first.
                sea::v1alpha1::Type::typed_crd(),
                sea::v1beta1::Type::typed_crd(),
                sea::v1::Type::typed_crd(),
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
