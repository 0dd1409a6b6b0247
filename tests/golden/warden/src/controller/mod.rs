// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator does about its objects: a module for each group, in it one for each
//! controller.

use kube_manager::Manager;

// One module for each group.
pub mod example_com;
pub mod webapp;
// End of the groups.

/// Hands each controller to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(example_com::guestbook::Controller::new);
    manager.add(webapp::guestbook::Controller::new);
    // End of the controllers.
}
