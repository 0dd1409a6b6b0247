// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks that the API server calls: a module for each group.

use kube_manager::Manager;

// One module for each group.
pub mod apps;
pub mod core;
pub mod example_com;
pub mod press;
pub mod webapp;
// End of the groups.

/// Registers each webhook with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each group.
    apps::register(manager);
    core::register(manager);
    example_com::register(manager);
    press::register(manager);
    webapp::register(manager);
    // End of the calls.
}
