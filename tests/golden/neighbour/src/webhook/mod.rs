// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server asks the operator: a module for each group.

use kube_manager::Manager;

// One module for each group.
pub mod lights;
pub mod toys;
// End of the groups.

/// Hands each webhook to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each group.
    lights::register(manager);
    toys::register(manager);
    // End of the calls.
}
