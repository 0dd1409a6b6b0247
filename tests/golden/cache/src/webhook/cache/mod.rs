// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group cache.

use kube_manager::Manager;

// One module for each kind.
pub mod memcached;
// End of the kinds.

// One module for each kind that is converted.
mod memcached_conversion;
// End of the conversions.

/// Registers each webhook of the group with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each webhook.
    manager.add_defaulter(|_| memcached::Defaulter);
    manager.add_validator(|_| memcached::Validator);
    manager.add_conversion(memcached_conversion::hub());
    // End of the webhooks.
}
