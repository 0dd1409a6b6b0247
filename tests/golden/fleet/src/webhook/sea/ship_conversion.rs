// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Which versions of Ship are converted. The code of each conversion is beside the types of the spoke, in a
//! file with the same name.

use kube_manager::webhook::Hub;

use crate::api::sea as api;

/// The hub, and each version that is converted to it and back.
pub fn hub() -> Hub<api::v1::Ship> {
    Hub::new()
        // One line for each spoke.
        .spoke::<api::v1beta1::Ship>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_is_lost() {
        // Converts arbitrary objects of each version to other versions and back.
        super::hub().assert_lossless();
    }
}
