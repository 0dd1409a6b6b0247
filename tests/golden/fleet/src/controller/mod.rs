// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! What the operator does about its objects: a module for each group, in it one for each
//! controller.

use kube_manager::Manager;

// One module for each group.
pub mod air_traffic_control;
pub mod on;
pub mod sea;
// End of the groups.

/// Hands each controller to the manager.
pub fn register(manager: &mut Manager) {
    // One line for each controller.
    manager.add(air_traffic_control::http_route::Controller::new);
    manager.add(air_traffic_control::policy::Controller::new);
    manager.add(air_traffic_control::ship::Controller::new);
    manager.add(on::controller::Controller::new);
    manager.add(on::yes::Controller::new);
    manager.add(sea::person::Controller::new);
    manager.add(sea::ship::Controller::new);
    manager.add(sea::type_::Controller::new);
    // End of the controllers.
}
