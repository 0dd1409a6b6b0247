//! The objects that a controller has written and that its watch has not delivered yet. A reconcile of
//! the older version would write the same status again, and get a conflict.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
};

use kube::Resource;
use parking_lot::Mutex;

use super::{
    objects::Objects,
    watch::{Key, key},
};

/// Each object with its version.
type Versions = HashMap<Key, (u64, Arc<dyn Any + Send + Sync>)>;

/// The objects of one kind that the API server has returned in a newer version than the watch has delivered.
#[derive(Clone)]
pub struct Written {
    kind: TypeId,
    versions: Arc<Mutex<Versions>>,
    /// Whether the watch has an object. Without this check, an object outside of the watch would stay here, because the
    /// watch never delivers it.
    is_watched: Arc<dyn Fn(&Key) -> bool + Send + Sync>,
}

impl Written {
    /// No objects yet. `watched` has the objects that the watch has delivered.
    pub fn new<K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static>(
        watched: Objects<K>,
    ) -> Self {
        Self {
            kind: TypeId::of::<K>(),
            versions: Arc::default(),
            is_watched: Arc::new(move |key| watched.has(key)),
        }
    }

    /// Whether the objects are of kind `K`.
    pub fn is_about<K: 'static>(&self) -> bool {
        TypeId::of::<K>() == self.kind
    }

    /// Adds an object that the API server returned. Objects of other kinds, and objects that are not watched, are
    /// ignored.
    pub fn add<K: Resource + Send + Sync + 'static>(&self, object: K) {
        let key = key(&object);
        // Locked first: if the watch removes the object after the check, `shown` waits and then removes this version.
        let mut versions = self.versions.lock();
        if let Some(version) = version(&object)
            && self.is_about::<K>()
            && (self.is_watched)(&key)
        {
            versions.insert(key, (version, Arc::new(object)));
        }
    }

    /// The version of `shown` that the controller has written, if it is newer than `shown`, which the watch has
    /// delivered.
    pub fn newer<K: Resource + Send + Sync + 'static>(&self, shown: &K) -> Option<Arc<K>> {
        let (newer, written) = self.versions.lock().get(&key(shown))?.clone();
        let object = written.downcast().ok()?;
        (newer > version(shown)?).then_some(object)
    }

    /// Removes an object once the watch has delivered this version, a newer one, or its deletion.
    pub fn shown<K: Resource>(&self, key: &Key, shown: Option<&K>) {
        let shown_version = shown.and_then(version).unwrap_or(u64::MAX);
        let mut versions = self.versions.lock();
        if versions
            .get(key)
            .is_some_and(|(newer, _)| shown_version >= *newer)
        {
            versions.remove(key);
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
    use kube::runtime::{reflector, watcher::Event};

    use super::{super::guarded::Guarded, *};

    fn pod(name: &str, version: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.resource_version = Some(version.to_owned());
        pod
    }

    /// For a watch that has delivered the Pod `a`.
    fn written() -> Written {
        let (store, mut writer) = reflector::store();
        let watched = Guarded(Ok(Arc::new(pod("a", "9"))));
        writer.apply_watcher_event(&Event::Apply(watched));
        let objects = Objects::default();
        objects.add(store);
        Written::new(objects)
    }

    #[test]
    fn a_version_counts_until_the_watch_shows_it() {
        let written = written();
        written.add(pod("a", "10"));
        let newer = |version| written.newer(&pod("a", version)).is_some();
        assert!(newer("9") && !newer("10") && !newer("11"));

        let key = key(&pod("a", "9"));
        written.shown(&key, Some(&pod("a", "9")));
        assert!(newer("9"));
        written.shown(&key, Some(&pod("a", "10")));
        assert!(!newer("9"));
    }

    #[test]
    fn an_object_that_the_watch_does_not_have_is_not_kept() {
        let written = written();
        written.add(pod("a", "10"));
        written.shown::<Pod>(&key(&pod("a", "10")), None);
        written.add(pod("elsewhere", "10"));
        assert!(written.versions.lock().is_empty());
    }

    #[test]
    fn other_kinds_are_not_kept() {
        let written = written();
        written.add(ConfigMap {
            metadata: pod("a", "10").metadata,
            ..ConfigMap::default()
        });
        assert!(written.versions.lock().is_empty());
    }
}
