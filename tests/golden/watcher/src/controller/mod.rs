// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: Apache-2.0

//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
pub mod apps;
pub mod core;
// End of the groups.

/// Registers each controller with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(apps::deployment::Controller::new);
    manager.add(core::node::Controller::new);
    manager.add(core::match_::Controller::new);
    manager.add(core::pod::Controller::new);
    // End of the controllers.
}
