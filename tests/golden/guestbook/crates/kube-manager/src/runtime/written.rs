//! The objects that a controller has written and that its watch has not delivered yet. A reconcile of
//! the older version would write the same status again, and get a conflict.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
};

use kube::Resource;
use parking_lot::Mutex;

use super::watch::{Key, key};

/// Each object with its version.
type Objects = HashMap<Key, (u64, Arc<dyn Any + Send + Sync>)>;

/// The objects of one kind that the API server has returned in a newer version than the watch has delivered.
#[derive(Clone)]
pub struct Written {
    kind: TypeId,
    objects: Arc<Mutex<Objects>>,
}

impl Written {
    /// No objects, for the kind `K`.
    pub fn new<K: 'static>() -> Self {
        Self {
            kind: TypeId::of::<K>(),
            objects: Arc::default(),
        }
    }

    /// Whether the objects are of kind `K`.
    pub fn is_about<K: 'static>(&self) -> bool {
        TypeId::of::<K>() == self.kind
    }

    /// Adds an object that the API server returned. Objects of other kinds are ignored.
    pub fn add<K: Resource + Send + Sync + 'static>(&self, object: K) {
        if let Some(version) = version(&object).filter(|_| self.is_about::<K>()) {
            self.objects
                .lock()
                .insert(key(&object), (version, Arc::new(object)));
        }
    }

    /// The version of `shown` that the controller has written, if it is newer than `shown`, which the watch has
    /// delivered.
    pub fn newer<K: Resource + Send + Sync + 'static>(&self, shown: &K) -> Option<Arc<K>> {
        let (newer, object) = self.objects.lock().get(&key(shown))?.clone();
        let object = object.downcast().ok()?;
        (newer > version(shown)?).then_some(object)
    }

    /// Removes an object once the watch has delivered this version, a newer one, or its deletion.
    pub fn shown<K: Resource>(&self, key: &Key, shown: Option<&K>) {
        let shown = shown.and_then(version).unwrap_or(u64::MAX);
        let mut objects = self.objects.lock();
        if objects.get(key).is_some_and(|(newer, _)| shown >= *newer) {
            objects.remove(key);
        }
    }
}

/// Versions are numbers that increase.
fn version<K: Resource>(object: &K) -> Option<u64> {
    object.meta().resource_version.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::*;

    fn pod(version: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some("a".to_owned());
        pod.metadata.resource_version = Some(version.to_owned());
        pod
    }

    #[test]
    fn a_version_counts_until_the_watch_shows_it() {
        let written = Written::new::<Pod>();
        written.add(pod("10"));
        let newer = |version| written.newer(&pod(version)).is_some();
        assert!(newer("9") && !newer("10") && !newer("11"));

        written.shown(&(None, "a".to_owned()), Some(&pod("9")));
        assert!(newer("9"));
        written.shown(&(None, "a".to_owned()), Some(&pod("10")));
        assert!(!newer("9"));
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let written = Written::new::<Pod>();
        written.add(pod("10"));
        written.shown::<Pod>(&(None, "a".to_owned()), None);
        assert!(written.newer(&pod("9")).is_none());
    }

    #[test]
    fn other_kinds_are_not_kept() {
        let written = Written::new::<ConfigMap>();
        written.add(pod("10"));
        assert!(written.newer(&pod("9")).is_none());
    }
}
