//! When an object is reconciled again.

use std::time::Duration;

/// The result of a reconcile: when the object is reconciled again if nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    pub(super) requeue_after: Option<Duration>,
}

impl Action {
    /// Reconciles the object again after `delay`, or earlier if it changes. For example, to look at an external system
    /// from time to time.
    pub const fn requeue(delay: Duration) -> Self {
        Self {
            requeue_after: Some(delay),
        }
    }

    /// Reconciles the object again only if it changes, or if an object that the controller watches changes.
    pub const fn await_change() -> Self {
        Self {
            requeue_after: None,
        }
    }
}
