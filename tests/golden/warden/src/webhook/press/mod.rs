// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group press.

use kube_manager::Manager;

// One module for each kind.
pub mod guestbook;
// End of the kinds.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_validator(|_| guestbook::Validator);
    // End of the webhooks.
}
