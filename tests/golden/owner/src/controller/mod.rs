// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
pub mod apps;
pub mod core;
pub mod shop;
// End of the groups.

/// Registers each controller with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(apps::deployment::Controller::new);
    manager.add(core::namespace::Controller::new);
    manager.add(shop::book::Controller::new);
    manager.add(shop::nightly_index::Controller::new);
    manager.add(shop::event::Controller::new);
    manager.add(shop::shelf::Controller::new);
    // End of the controllers.
}
