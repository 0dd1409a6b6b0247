// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group library.

use kube_manager::Manager;

// One module for each kind.
pub mod book;
// End of the kinds.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_defaulter(|_| book::Defaulter);
    manager.add_validator(|_| book::Validator);
    // End of the webhooks.
}
