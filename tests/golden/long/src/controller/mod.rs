// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
pub mod a_group_of_26_characters_it;
// End of the groups.

/// Registers each controller with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(a_group_of_26_characters_it::averylongkindofthirtyoneletters::Controller::new);
    // End of the controllers.
}
