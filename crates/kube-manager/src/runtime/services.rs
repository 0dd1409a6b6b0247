//! The services of a manager that its controllers share.

use std::any::TypeId;

use kube::Client;

use super::{
    events::EventQueue, health::Health, host::Host, leader::Leadership, metrics::Metrics,
    status_in_object::InObject,
};

/// What a manager gives to each of its controllers and tasks.
#[derive(Clone)]
pub struct Services {
    pub host: Host,
    /// Sends requests while this replica leads.
    pub client: Client,
    /// The kind of each controller.
    pub kinds: Vec<TypeId>,
    pub in_object: InObject,
    pub concurrency: u16,
    pub leadership: Leadership,
    pub health: Health,
    pub metrics: Metrics,
    pub events: EventQueue,
}
