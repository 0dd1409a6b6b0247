//! The services of a manager that its controllers share.

use std::{any::TypeId, sync::Arc, time::Duration};

use kube::Client;

use super::{
    events::EventQueue, health::Health, host::Host, leader::Leadership, metrics::Metrics,
    status_in_object::InObject,
};

/// What tests of faults learn from the controllers. In an operator, `()` stands for it.
pub trait Observer: Send + Sync {
    /// Returns how long an object really waits that is to be reconciled again after this delay.
    fn pace(&self, delay: Duration) -> Duration;

    /// A reconcile or a cleanup has failed, as `line` says.
    fn failed(&self, line: String);
}

impl Observer for () {
    fn pace(&self, delay: Duration) -> Duration {
        delay
    }

    fn failed(&self, _: String) {}
}

/// What a manager gives to each of its controllers and tasks.
#[derive(Clone)]
pub struct Services {
    pub host: Host,
    /// Sends requests while this replica leads.
    pub client: Client,
    /// The kind of each controller.
    pub kinds: Vec<TypeId>,
    pub in_object: InObject,
    pub observer: Arc<dyn Observer>,
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
            observer: Arc::new(()),
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
