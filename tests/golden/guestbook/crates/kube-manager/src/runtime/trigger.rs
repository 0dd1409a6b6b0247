//! Events from outside of the cluster: a webhook of another service, a message queue, a timer.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kube::{Resource, runtime::reflector::ObjectRef};

use super::{
    informer::{Follow, Wake},
    watch::key_of,
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
    controllers: Arc<Mutex<Vec<Wake>>>,
    kind: PhantomData<fn(&K)>,
}

impl<K> Clone for Trigger<K> {
    fn clone(&self) -> Self {
        Self {
            controllers: self.controllers.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> Default for Trigger<K> {
    fn default() -> Self {
        Self {
            controllers: Arc::default(),
            kind: PhantomData,
        }
    }
}

impl<K: Resource<DynamicType = ()> + 'static> Trigger<K> {
    /// Requeues an object. An object that does not exist is ignored.
    pub fn reconcile(&self, object: &ObjectRef<K>) {
        let controllers = self.lock();
        controllers.iter().for_each(|wake| wake(key_of(object)));
    }

    pub(super) fn follow(&self) -> Follow {
        let trigger = self.clone();
        Box::new(move |_, _, wake| {
            trigger.lock().push(wake.clone());
            Vec::new()
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Wake>> {
        let controllers = self.controllers.lock();
        controllers.unwrap_or_else(PoisonError::into_inner)
    }
}
