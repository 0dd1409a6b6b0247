//! The controllers: a module for each group, with a module for each controller.

use kube_manager::Manager;

// One module for each group.
// End of the groups.

/// Registers each controller with the manager.
pub fn register(_manager: &mut Manager) {
    // One line for each controller.
    // End of the controllers.
}
