//! The services of a manager that its controllers share.

use std::{any::TypeId, time::Duration};

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
    /// The longest delay before an object that fails is retried. A controller can have a shorter one.
    pub longest_pause: Duration,
    pub concurrency: u16,
    pub leadership: Leadership,
    pub health: Health,
    pub metrics: Metrics,
    pub events: EventQueue,
}

#[cfg(test)]
impl Services {
    /// The services of an operator without a manager, which sends its requests with `client`.
    pub fn for_test(client: Client) -> Self {
        let metrics = Metrics::for_test();
        let (events, _) = events::queue(client.clone(), &metrics);
        Self {
            metrics,
            events,
            client: client.clone(),
            host: Host {
                operator: Operator::new("test", "example.com"),
                client,
                server: Uri::default(),
                namespaces: Vec::new(),
                registry: Registry::new(),
                stop: CancellationToken::new(),
            },
            kinds: Vec::new(),
            in_object: InObject::default(),
            longest_pause: Duration::MAX,
            concurrency: 1,
            leadership: Leadership::always(),
            health: Health::default(),
        }
    }
}

#[cfg(test)]
use {
    super::{events, operator::Operator},
    http::Uri,
    prometheus::Registry,
    tokio_util::sync::CancellationToken,
};
