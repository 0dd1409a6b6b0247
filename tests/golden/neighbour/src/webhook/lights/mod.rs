// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group lights.

use kube_manager::Manager;

// One module for each kind.
pub mod lamp;
// End of the kinds.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_validator(|_| lamp::Validator);
    // End of the webhooks.
}
