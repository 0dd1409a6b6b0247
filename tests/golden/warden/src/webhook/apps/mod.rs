// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group apps.

use kube_manager::Manager;

// One module for each kind.
pub mod deployment;
// End of the kinds.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_validator(|_| deployment::Validator);
    // End of the webhooks.
}
