//! How a manager gets its webhooks.

use kube::Client;

use super::Manager;
use crate::runtime::webhook::{Defaulter, Hub, Validator, Versioned};

impl Manager {
    /// Adds a defaulting webhook. `new` is called with a client that also sends requests while this replica does not
    /// lead.
    pub fn add_defaulter<D: Defaulter>(&mut self, new: impl FnOnce(&Client) -> D + Send + 'static) {
        self.webhooks.add_defaulter(new);
    }

    /// Adds a validating webhook. `new` is called with a client that also sends requests while this replica does not
    /// lead.
    pub fn add_validator<V: Validator>(&mut self, new: impl FnOnce(&Client) -> V + Send + 'static) {
        self.webhooks.add_validator(new);
    }

    /// Adds the conversion between the versions of a kind.
    pub fn add_conversion<H: Versioned>(&mut self, hub: Hub<H>) {
        self.webhooks.add_conversion(hub);
    }
}
