// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! What the API server asks the operator: a module for each group.

use kube_manager::Manager;

// One module for each group.
pub mod on;
pub mod sea;
// End of the groups.

/// Hands each webhook to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each group.
    on::register(manager);
    sea::register(manager);
    // End of the calls.
}
