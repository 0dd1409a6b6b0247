// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group toys.

use kube_manager::Manager;

// One module for each kind.
pub mod lid;
pub mod widget;
// End of the kinds.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_validator(|_| lid::Validator);
    manager.add_defaulter(|_| widget::Defaulter);
    // End of the webhooks.
}
