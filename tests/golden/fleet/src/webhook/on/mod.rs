// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The webhooks of group on.

use kube_manager::Manager;

// One module for each kind.
pub mod option;
// End of the kinds.

/// Hands each webhook of the group to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_defaulter(|_| option::Defaulter);
    // End of the webhooks.
}
