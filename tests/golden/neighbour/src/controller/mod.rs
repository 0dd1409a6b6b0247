// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
pub mod lights;
pub mod shop;
pub mod toys;
// End of the groups.

/// Registers each controller with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(lights::lamp::Controller::new);
    manager.add(lights::switch::Controller::new);
    manager.add(shop::lantern::Controller::new);
    manager.add(shop::order::Controller::new);
    manager.add(toys::http_box::Controller::new);
    manager.add(toys::widget::Controller::new);
    manager.add(toys::paint::Controller::new);
    // End of the controllers.
}
