//! The objects that a controller has written and that its watch has not delivered yet. A reconcile of
//! the older version would write the same status again, and get a conflict.

use std::{any::TypeId, collections::HashMap, sync::Arc};

use kube::core::ObjectMeta;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    object::{AnyObject, Object, typed},
    objects::Stores,
    requests::PATIENCE,
    watch::{Key, key, version},
};

/// How often an object counts as changed by a late write. Without a limit, two controllers that write the same status
/// would reconcile each other's writes all the time.
const MOST_LATE: u8 = 3;

/// Each object with its version.
type Versions = HashMap<Key, (u64, AnyObject)>;

/// A write without an answer. If it is dropped, by a failure or a timeout, the API server may have stored it, or may
/// store it later.
pub struct Unanswered<'a> {
    written: &'a Written,
    /// The object and the version that the write is for; `None` if there is nothing to doubt.
    doubt: Option<(Key, u64)>,
}

impl Unanswered<'_> {
    /// The API server has answered.
    pub fn answered(mut self) {
        self.doubt = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.written.doubts.lock().extend(self.doubt.take());
    }
}

/// The objects of one kind that the API server has returned in a newer version than the watch has delivered.
#[derive(Clone)]
pub struct Written {
    kind: TypeId,
    versions: Arc<Mutex<Versions>>,
    /// The version that the last write was for, of each object whose last write has failed, or was given up.
    doubts: Arc<Mutex<HashMap<Key, u64>>>,
    /// When this process has begun to lead.
    begun: Instant,
    /// How often each object has counted as changed by a late write.
    late: Arc<Mutex<HashMap<Key, u8>>>,
    /// An object outside of the watch would stay in `versions`, because the watch never delivers it.
    watched: Stores,
}

impl Written {
    /// No objects of the type `kind` yet. `watched` has the objects that the watch has delivered.
    pub fn new(kind: TypeId, watched: Stores) -> Self {
        Self {
            kind,
            versions: Arc::default(),
            doubts: Arc::default(),
            begun: Instant::now(),
            late: Arc::default(),
            watched,
        }
    }

    /// Whether the objects are of the type `kind`.
    pub fn is_about(&self, kind: TypeId) -> bool {
        kind == self.kind
    }

    /// Adds an object that the API server returned. Objects of other kinds, and objects that are not watched, are
    /// ignored.
    pub fn add(&self, object: AnyObject) {
        let (metadata, type_) = (object.metadata(), (*object).type_id());
        let key = key(metadata);
        // Locked first: if the watch removes the object after the check, `shown` waits and then removes this version.
        let mut versions = self.versions.lock();
        if let Some(version) = version(metadata)
            && self.is_about(type_)
            && self.watched.has(&key)
        {
            versions.insert(key, (version, object));
        }
    }

    /// Begins a write for this version of an object of the type `kind`.
    pub fn begin(&self, kind: TypeId, key: Key, version: u64) -> Unanswered<'_> {
        Unanswered {
            written: self,
            doubt: self.is_about(kind).then_some((key, version)),
        }
    }

    /// Whether `shown`, which the watch has delivered, may come from a write that has failed. A reconcile that has begun
    /// before may have been content with the version before.
    pub fn ends_doubt(&self, shown: &ObjectMeta) -> bool {
        let (key, shown_version) = (key(shown), version(shown));
        let mut doubts = self.doubts.lock();
        let is_newer = doubts
            .get(&key)
            .is_some_and(|before| shown_version > Some(*before));
        if is_newer {
            doubts.remove(&key);
        }
        is_newer
    }

    /// Whether `shown`, which the watch has delivered after its first list, may come from a write of the former leader
    /// that has arrived late, and that has changed the status. A reconcile of this process may have been content with the
    /// version before, and has then written nothing that would refuse the late write.
    pub fn may_be_late(
        &self,
        shown: &ObjectMeta,
        has_changed_status: impl FnOnce() -> bool,
    ) -> bool {
        if self.begun.elapsed() >= PATIENCE {
            self.late.lock().clear();
            return false;
        }
        let key = key(shown);
        let own = self.versions.lock().get(&key).map(|(own, _)| *own);
        if own >= version(shown) || !has_changed_status() {
            return false;
        }
        let mut late = self.late.lock();
        let times = late.entry(key).or_default();
        *times += 1;
        *times <= MOST_LATE
    }

    /// The version of `shown` that the controller has written, if it is newer than `shown`, which the watch has
    /// delivered.
    pub fn newer<K: Object>(&self, shown: &K) -> Option<Arc<K>> {
        typed(self.newer_than(shown.metadata())?)
    }

    /// Like [`newer`](Self::newer), for an object with this metadata.
    pub fn newer_than(&self, shown: &ObjectMeta) -> Option<AnyObject> {
        let (newer, object) = self.versions.lock().get(&key(shown))?.clone();
        (newer > version(shown)?).then_some(object)
    }

    /// Removes an object once the watch has delivered this version, a newer one, or its deletion.
    pub fn shown(&self, key: &Key, shown: Option<&ObjectMeta>) {
        let shown_version = shown.and_then(version).unwrap_or(u64::MAX);
        if shown.is_none() {
            self.doubts.lock().remove(key);
        }
        let mut versions = self.versions.lock();
        if versions
            .get(key)
            .is_some_and(|(newer, _)| shown_version >= *newer)
        {
            versions.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::{super::object::Guarded, super::objects::Store, *};

    fn pod(name: &str, version: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.resource_version = Some(version.to_owned());
        pod
    }

    /// For a watch that has delivered the Pod `a`.
    fn written() -> Written {
        let (store, stores) = (Store::default(), Stores::default());
        store.put(Guarded(Ok(Arc::new(pod("a", "9")))));
        stores.add(store);
        Written::new(TypeId::of::<Pod>(), stores)
    }

    #[test]
    fn a_version_counts_until_the_watch_shows_it() {
        fn newer(written: &Written, version: &str) -> bool {
            written.newer(&pod("a", version)).is_some()
        }

        let written = written();
        written.add(Arc::new(pod("a", "10")));
        assert!(newer(&written, "9"));
        assert!(!newer(&written, "10") && !newer(&written, "11"));

        let key = key(&pod("a", "9").metadata);
        written.shown(&key, Some(&pod("a", "9").metadata));
        assert!(newer(&written, "9"));
        written.shown(&key, Some(&pod("a", "10").metadata));
        assert!(!newer(&written, "9"));
    }

    #[test]
    fn an_object_that_the_watch_does_not_have_is_not_kept() {
        let written = written();
        written.add(Arc::new(pod("a", "10")));
        written.shown(&key(&pod("a", "10").metadata), None);
        written.add(Arc::new(pod("elsewhere", "10")));
        assert!(written.versions.lock().is_empty());
    }

    #[test]
    fn other_kinds_are_not_kept() {
        let written = written();
        written.add(Arc::new(ConfigMap {
            metadata: pod("a", "10").metadata,
            ..ConfigMap::default()
        }));
        assert!(written.versions.lock().is_empty());
    }
}
