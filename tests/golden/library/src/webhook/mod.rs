// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server asks the operator: a module for each group.

use kube_manager::Manager;

// One module for each group.
pub mod library;
// End of the groups.

/// Hands each webhook to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each group.
    library::register(manager);
    // End of the calls.
}
