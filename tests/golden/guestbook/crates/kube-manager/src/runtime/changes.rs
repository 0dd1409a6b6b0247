//! Which events of a watch requeue an object: by default a new generation, changed labels, annotations or
//! finalizers, and a deletion. A status that the controller writes does not requeue the object.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    mem,
    sync::Arc,
};

use kube::{
    Resource,
    runtime::{
        reflector::{ObjectRef, Store},
        watcher::Event,
    },
};

use super::watch::key;

/// Finds the objects to requeue in the events of a watch.
pub struct Changes<K, F>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store: Store<K>,
    before: Vec<Arc<K>>,
    seen: Seen<F>,
}

impl<K, F> Changes<K, F>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
    F: Fn(&K) -> Option<u64>,
{
    /// An object is requeued when its `fingerprint` has changed. An object without a fingerprint is requeued by each
    /// change. `store` has the objects of the watch.
    pub fn new(store: Store<K>, fingerprint: F) -> Self {
        Self {
            store,
            before: Vec::new(),
            seen: Seen {
                fingerprints: HashMap::new(),
                fingerprint,
            },
        }
    }

    /// The objects to requeue after `event`, including a deleted object. The store must have processed `event` already.
    pub fn take(&mut self, event: &Event<K>) -> Vec<ObjectRef<K>> {
        match event {
            // A list follows, at the start or after an interrupted watch. The store has the listed objects only at the
            // end of the list, so an earlier reconcile would not find a new object.
            Event::Init => self.before = self.store.state(),
            Event::InitApply(_) => {}
            Event::InitDone => {
                let mut objects = self.store.state();
                objects.retain(|object| self.seen.is_new(&**object));
                let mut gone = mem::take(&mut self.before);
                gone.retain(|object| self.store.get(&ObjectRef::from_obj(&**object)).is_none());
                gone.iter().for_each(|object| self.seen.forget(&**object));
                let all = objects.iter().chain(&gone);
                return all.map(|object| ObjectRef::from_obj(&**object)).collect();
            }
            Event::Apply(object) => {
                if self.seen.is_new(object) {
                    return vec![ObjectRef::from_obj(object)];
                }
            }
            Event::Delete(object) => {
                self.seen.forget(object);
                return vec![ObjectRef::from_obj(object)];
            }
        }
        Vec::new()
    }
}

/// A hash of the desired state of `object`. Kinds without a generation, such as ConfigMaps, do not separate desired and
/// observed state, so any change counts.
pub fn desired<K: Resource>(object: &K) -> Option<u64> {
    let meta = object.meta();
    let asked = (meta.generation?, &meta.labels, &meta.annotations);
    Some(hash(asked))
}

/// The last known state of each object.
struct Seen<F> {
    /// By the hash of the object's key, which needs less memory than the key.
    fingerprints: HashMap<u64, u64>,
    fingerprint: F,
}

impl<F> Seen<F> {
    /// Whether `object` is new, or its fingerprint, uid, finalizers or deletion state have changed. Remembers the new
    /// state.
    fn is_new<K: Resource>(&mut self, object: &K) -> bool
    where
        F: Fn(&K) -> Option<u64>,
    {
        let Some(fingerprint) = (self.fingerprint)(object) else {
            self.forget(object);
            return true;
        };
        let meta = object.meta();
        let life = (
            &meta.uid,
            &meta.finalizers,
            meta.deletion_timestamp.is_some(),
        );
        let fingerprint = hash((fingerprint, life));
        let last = self.fingerprints.insert(hash(key(object)), fingerprint);
        last != Some(fingerprint)
    }

    fn forget<K: Resource>(&mut self, object: &K) {
        self.fingerprints.remove(&hash(key(object)));
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::{api::ObjectMeta, runtime::reflector};

    use super::*;

    fn object(name: &str, generation: i64) -> Deployment {
        Deployment {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                generation: Some(generation),
                ..ObjectMeta::default()
            },
            ..Deployment::default()
        }
    }

    fn list<'a>(objects: impl IntoIterator<Item = &'a Deployment>) -> Vec<Event<Deployment>> {
        let objects = objects.into_iter().cloned().map(Event::InitApply);
        [Event::Init]
            .into_iter()
            .chain(objects)
            .chain([Event::InitDone])
            .collect()
    }

    /// The names of the objects to reconcile.
    fn woken(events: Vec<Event<Deployment>>, every: bool) -> String {
        let (store, mut writer) = reflector::store();
        let mut changes = Changes::new(store, |object| desired(object).filter(|_| !every));
        let mut names = Vec::new();
        for event in events {
            writer.apply_watcher_event(&event);
            names.extend(changes.take(&event).into_iter().map(|object| object.name));
        }
        names.join(" ")
    }

    #[test]
    fn a_change_of_the_status_alone_wakes_nobody() {
        let mut events = list([&object("a", 1)]);
        events.extend([Event::Apply(object("a", 1)), Event::Apply(object("a", 2))]);
        assert_eq!(woken(events.clone(), false), "a a");
        assert_eq!(woken(events, true), "a a a");
    }

    #[test]
    fn a_deletion_is_heard() {
        let mut events = list([&object("a", 1)]);
        events.push(Event::Delete(object("a", 1)));
        assert_eq!(woken(events, false), "a a");
    }

    #[test]
    fn a_second_list_wakes_what_changed_meanwhile_and_what_is_gone() {
        let mut events = list([
            &object("same", 1),
            &object("changed", 1),
            &object("gone", 1),
        ]);
        events.extend(list([&object("same", 1), &object("changed", 2)]));
        let woken = woken(events, false);
        let (first, second) = woken.split_at(woken.len() - " changed gone".len());
        assert_eq!(second, " changed gone");
        assert_eq!(first.split(' ').count(), 3);
    }

    #[test]
    fn an_object_made_anew_under_the_same_name_is_another_one() {
        let mut again = object("a", 1);
        again.metadata.uid = Some("2".to_owned());
        let mut events = list([&object("a", 1)]);
        events.extend(list([&again]));
        assert_eq!(woken(events, false), "a a");
    }
}
