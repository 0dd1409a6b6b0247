//! The types of the API: a module for each group, with a module for each version.

use kube::core::crd::MergeError;
use kube_manager::schema::Crd;

// One module for each group.
// End of the groups.

/// The CustomResourceDefinitions of all kinds, each with all of its versions.
///
/// # Errors
///
/// When the versions of a kind disagree on its scope or on its names.
pub fn crds() -> Result<Vec<Crd>, MergeError> {
    Ok(vec![
        // One entry for each kind.
        // End of the kinds.
    ])
}
