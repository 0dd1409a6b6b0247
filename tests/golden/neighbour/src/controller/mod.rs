// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator does about its objects: a module for each group, in it one for each
//! controller.

use kube_manager::Manager;

// One module for each group.
pub mod lights;
pub mod shop;
pub mod toys;
// End of the groups.

/// Hands each controller to the manager.
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
