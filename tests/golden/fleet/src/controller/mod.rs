// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
pub mod air_traffic_control;
pub mod on;
pub mod sea;
// End of the groups.

/// Registers each controller with the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(air_traffic_control::http_route::Controller::new);
    manager.add(air_traffic_control::policy::Controller::new);
    manager.add(air_traffic_control::ship::Controller::new);
    manager.add(on::yes::Controller::new);
    manager.add(sea::person::Controller::new);
    manager.add(sea::ship::Controller::new);
    manager.add(sea::type_::Controller::new);
    // End of the controllers.
}
