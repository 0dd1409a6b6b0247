// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator does about its objects: a module for each group, in it one for each
//! controller.

use kube_manager::Manager;

// One module for each group.
pub mod cache;
// End of the groups.

/// Hands each controller to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(cache::busybox::Controller::new);
    manager.add(cache::memcached::Controller::new);
    manager.add(cache::pool::Controller::new);
    manager.add(cache::front_end::Controller::new);
    // End of the controllers.
}
