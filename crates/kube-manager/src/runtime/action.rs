//! The results of a reconciler: when an object is reconciled again, and when it can be deleted.

use std::time::Duration;

/// The result of a reconcile: when the object is reconciled again if nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    pub(super) requeue_after: Option<Duration>,
}

impl Action {
    /// Reconciles the object again after `delay`, or earlier if it changes. For example, to look at an external system
    /// from time to time.
    #[doc(alias = "RequeueAfter")]
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

/// The result of a cleanup: whether the object can be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Cleanup {
    /// Nothing is left to clean up. The runtime removes the finalizer, so the object is deleted.
    Done,
    /// Something is still going on, such as the deletion of a cloud resource, which is not an error. The cleanup runs
    /// again after this time, or earlier if the object or a child changes. Until then, the object stays.
    AgainIn(Duration),
}
