// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The webhooks that the API server calls: a module for each group.

use kube_manager::Manager;

// One module for each group.
pub mod sea;
// End of the groups.

/// Registers each webhook with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each group.
    sea::register(manager);
    // End of the calls.
}
