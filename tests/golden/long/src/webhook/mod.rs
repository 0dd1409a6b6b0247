// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks that the API server calls: a module for each group.

use kube_manager::Manager;

// One module for each group.
pub mod a_group_of_26_characters_it;
// End of the groups.

/// Registers each webhook with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each group.
    a_group_of_26_characters_it::register(manager);
    // End of the calls.
}
