// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks that the API server calls: a module for each group.

use kube_manager::Manager;

// One module for each group.
pub mod cache;
// End of the groups.

/// Registers each webhook with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each group.
    cache::register(manager);
    // End of the calls.
}
