//! Events from outside of the cluster: a webhook of another service, a message queue, a timer.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{
    StreamExt,
    channel::mpsc::{UnboundedSender, unbounded},
};
use kube::{Resource, runtime::reflector::ObjectRef};

use super::{
    context::Follow,
    watch::{Key, key_of},
};

/// Requeues objects of kind `K` from any code of the program.
///
/// Clones requeue the same objects. Before the controller starts, a trigger does nothing, because the
/// controller reconciles all objects when it starts.
///
/// ```
/// # use std::time::Duration;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kube::runtime::reflector::ObjectRef;
/// # use kube_manager::{Builder, Trigger};
/// fn declare(builder: &mut Builder<ConfigMap>, trigger: &Trigger<ConfigMap>) {
///     builder.listens(trigger);
/// }
///
/// async fn every_hour(trigger: Trigger<ConfigMap>) {
///     loop {
///         tokio::time::sleep(Duration::from_secs(3600)).await;
///         trigger.reconcile(&ObjectRef::new("settings").within("default"));
///     }
/// }
/// ```
pub struct Trigger<K> {
    senders: Arc<Mutex<Vec<UnboundedSender<Key>>>>,
    kind: PhantomData<fn(&K)>,
}

impl<K> Clone for Trigger<K> {
    fn clone(&self) -> Self {
        Self {
            senders: self.senders.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> Default for Trigger<K> {
    fn default() -> Self {
        Self {
            senders: Arc::default(),
            kind: PhantomData,
        }
    }
}

impl<K: Resource<DynamicType = ()>> Trigger<K> {
    /// Requeues an object. An object that does not exist is ignored.
    pub fn reconcile(&self, object: &ObjectRef<K>) {
        let key = key_of(object);
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.retain(|sender| sender.unbounded_send(key.clone()).is_ok());
    }

    /// The objects to requeue, for each watched namespace.
    pub(super) fn follow(&self) -> Follow {
        let senders = self.senders.clone();
        Box::new(move |_, _, synced| {
            let (sender, requests) = unbounded();
            let mut senders = senders.lock().unwrap_or_else(PoisonError::into_inner);
            senders.push(sender);
            let _ = synced.set(());
            requests.boxed()
        })
    }
}
