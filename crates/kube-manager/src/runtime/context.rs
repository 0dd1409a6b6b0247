//! What a call of a reconciler works with: the client, the status and events of objects, and the circumstances of the
//! call.

use std::{fmt::Debug, sync::Arc};

use kube::{
    Client, CustomResourceExt, Resource, core::object::HasStatus, runtime::events::EventType,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use super::{access::Access, leader::Leadership, scope::Scope};

/// The context of one call of a [`Reconciler`](crate::Reconciler).
///
/// There is no last attempt: the runtime tries again until the call succeeds, with growing delays. After
/// [`children::Error::Immutable`](crate::children::Error::Immutable), each delay is about the longest one.
#[derive(Clone)]
pub struct Context {
    /// Sends requests while this replica leads. A connection that is silent for 75 s ends: to follow a log, read it again
    /// then, or use a [`Client`] of your own.
    pub client: Client,
    access: Access,
    attempt: u32,
    stop: CancellationToken,
    leadership: Leadership,
}

impl Context {
    pub(super) fn new(
        access: Access,
        attempt: u32,
        stop: CancellationToken,
        leadership: Leadership,
    ) -> Self {
        Self {
            client: access.client.clone(),
            access,
            attempt,
            stop,
            leadership,
        }
    }

    /// How many calls for this object have failed in a row before this call: 0 for the first attempt.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the operator is stopping, or this replica no longer leads. A call that takes long should then end. The
    /// flag `--graceful-shutdown-timeout` says how long the operator waits for it.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled() || !self.leadership.holds()
    }

    /// Waits until the operator stops, which it also does after the loss of the lease.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Writes the status of `object`, and returns the object as the API server has stored it. Returns `None` if nothing was
    /// written: `object` has that status already, which needs no request, or is deleted, or a child has changed since this
    /// reconcile has read it. In the last case, the object is reconciled again.
    ///
    /// A reconcile can write the status several times, with the same `object` or with the returned one. An object of
    /// another kind than the controller's own changes with each write, so pass the returned one then.
    ///
    /// By default, the status is written as a whole. If several controllers of the operator reconcile the kind, or with
    /// [`Builder::shares_status`](super::Builder::shares_status), each controller applies only its part: the values
    /// that differ from the status of `object`, and the values that the controller has written before. Applying a part
    /// needs the verb `Patch` instead of `Update`, and a CRD whose list of conditions is a map, by
    /// `#[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]`. Without such a list, the status is written as
    /// a whole. It is also written as a whole to remove a field that another program has written, or that this
    /// controller has written before it shared the status.
    ///
    /// If the CRD of the operator's own kind has no subresource `status`, the object itself is patched, which needs the verb
    /// `Patch` on the kind. This raises the generation: an `observedGeneration` with the current one gets the next one.
    ///
    /// # Errors
    ///
    /// When the request fails; and when the status is written as a whole and `object` has changed since it
    /// was read.
    pub async fn write_status<K>(
        &self,
        object: &K,
        status: &K::Status,
    ) -> kube::Result<Option<Arc<K>>>
    where
        K: Resource<DynamicType = (), Scope: Scope> + CustomResourceExt,
        K: HasStatus<Status: PartialEq + Clone + Serialize>,
        K: Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        self.access.write_status(object, status).await
    }

    /// Records an event about `object`, which `kubectl describe` shows. This sends nothing and does not wait: a task in
    /// the background sends the event, at the latest when the operator stops.
    ///
    /// If the same event with the same note repeats within minutes, the count of the first event increases. As in
    /// client-go, a controller can record 25 events about an object at once, and then one in five minutes. The metric
    /// `events_dropped_total` counts events that were not sent.
    #[doc(alias = "EventRecorder")]
    pub fn event<K>(
        &self,
        object: &K,
        type_: EventType,
        reason: &'static str,
        note: impl Into<String>,
    ) where
        K: Resource<DynamicType = ()>,
    {
        let event = (type_, reason, note.into());
        self.access.record(object.object_ref(&()), event);
    }
}
