// SPDX-FileCopyrightText: The types authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator does about its objects: a module for each group, in it one for each
//! controller.

use kube_manager::Manager;

// One module for each group.
// End of the groups.

/// Hands each controller to the manager.
pub fn register(_manager: &mut Manager) {
    // One line for each controller.
    // End of the controllers.
}
