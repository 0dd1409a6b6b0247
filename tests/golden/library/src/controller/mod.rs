// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator does about its objects: a module for each group, in it one for each
//! controller.

use kube_manager::Manager;

// One module for each group.
pub mod library;
// End of the groups.

/// Hands each controller to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(library::book::Controller::new);
    manager.add(library::shelf::Controller::new);
    // End of the controllers.
}
