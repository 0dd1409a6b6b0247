// SPDX-FileCopyrightText: The versions authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group webapp.

use kube_manager::Manager;

// One module for each kind that is converted.
mod guestbook_conversion;
// End of the conversions.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_conversion(guestbook_conversion::hub());
    // End of the webhooks.
}
