// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The webhooks of group sea.

use kube_manager::Manager;

// One module for each kind.
pub mod ship;
// End of the kinds.

// One module for each kind that is converted.
mod ship_conversion;
// End of the conversions.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_defaulter(|_| ship::Defaulter);
    manager.add_validator(|_| ship::Validator);
    manager.add_conversion(ship_conversion::hub());
    // End of the webhooks.
}
