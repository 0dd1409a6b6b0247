// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
pub mod example_com;
pub mod webapp;
// End of the groups.

/// Registers each controller with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(example_com::guestbook::Controller::new);
    manager.add(webapp::guestbook::Controller::new);
    // End of the controllers.
}
