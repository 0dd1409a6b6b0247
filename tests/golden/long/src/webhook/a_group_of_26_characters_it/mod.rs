// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group a-group-of-26-characters-it.

use kube_manager::Manager;

// One module for each kind.
pub mod averylongkindofthirtyoneletters;
// End of the kinds.

// One module for each kind that is converted.
mod averylongkindofthirtyoneletters_conversion;
// End of the conversions.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_defaulter(|_| averylongkindofthirtyoneletters::Defaulter);
    manager.add_validator(|_| averylongkindofthirtyoneletters::Validator);
    manager.add_conversion(averylongkindofthirtyoneletters_conversion::hub());
    // End of the webhooks.
}
