// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! Which versions of Guestbook are converted. The code of each conversion is beside the types of the spoke, in a
//! file with the same name.

use kube_manager::webhook::Hub;

use crate::api::example_com as api;

/// The hub, and each version that is converted to it and back.
pub fn hub() -> Hub<api::v1beta1::Guestbook> {
    Hub::new()
        // One line for each spoke.
        .spoke::<api::v1::Guestbook>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_is_lost() {
        // Converts arbitrary objects of each version to other versions and back.
        super::hub().assert_lossless();
    }
}
