// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
pub mod library;
// End of the groups.

/// Registers each controller with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(library::book::Controller::new);
    manager.add(library::shelf::Controller::new);
    // End of the controllers.
}
