//! Which events of a watch requeue an object: by default a new generation, changed labels, annotations or
//! finalizers, and a deletion. A status that the controller writes does not requeue the object.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube::{
    Resource,
    runtime::{
        reflector::{ObjectRef, Store},
        watcher::{self, Event},
    },
};

use super::watch::key;

/// The objects to requeue, in the order of their events. A deleted object is one of them.
///
/// `events` must be in `store` before they arrive here. An object is requeued when its `fingerprint` has
/// changed, and by each change if it has none.
pub fn changes<K>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>>,
    store: Store<K>,
    fingerprint: impl Fn(&K) -> Option<u64>,
) -> impl Stream<Item = Result<K, watcher::Error>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let mut seen = Seen {
        fingerprints: HashMap::new(),
        fingerprint,
    };
    let mut before = Vec::new();
    events
        .map_ok(move |event| match event {
            // A list, at the start or after an interrupted watch. The store has its objects only at
            // the end of the list, so a reconcile before that would not find a new object.
            Event::Init => {
                before = store.state();
                Vec::new()
            }
            Event::InitApply(_) => Vec::new(),
            Event::InitDone => {
                let mut objects = store.state();
                objects.retain(|object| seen.is_new(object));
                before.retain(|object| store.get(&ObjectRef::from_obj(&**object)).is_none());
                before.iter().for_each(|object| seen.forget(&**object));
                objects.append(&mut before);
                objects
            }
            Event::Apply(object) if seen.is_new(&object) => vec![Arc::new(object)],
            Event::Apply(_) => Vec::new(),
            Event::Delete(object) => {
                seen.forget(&object);
                vec![Arc::new(object)]
            }
        })
        .map_ok(|objects| stream::iter(objects).map(|object| Ok(Arc::unwrap_or_clone(object))))
        .try_flatten()
}

/// A number for the desired state of `object`. Kinds without a generation, such as ConfigMaps, do not
/// separate desired and observed state, so any change of them counts.
pub fn desired<K: Resource>(object: &K) -> Option<u64> {
    let meta = object.meta();
    let asked = (meta.generation?, &meta.labels, &meta.annotations);
    Some(hash(asked))
}

/// The last known state of each object.
struct Seen<F> {
    /// By the hash of the object's key, which takes a fraction of the key's memory.
    fingerprints: HashMap<u64, u64>,
    fingerprint: F,
}

impl<F> Seen<F> {
    /// Whether `object` is new, has another fingerprint, or is at another point of its life.
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
    use kube::{ResourceExt, api::ObjectMeta, runtime::WatchStreamExt, runtime::reflector};

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

    /// The names of the objects that call for a reconcile.
    async fn woken(events: Vec<Event<Deployment>>, every: bool) -> String {
        let (store, writer) = reflector::store();
        let events = stream::iter(events.into_iter().map(Ok)).reflect(writer);
        let objects: Vec<_> = changes(events, store, |object| desired(object).filter(|_| !every))
            .try_collect()
            .await
            .expect("no watch error");
        objects
            .iter()
            .map(ResourceExt::name_any)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[tokio::test]
    async fn a_change_of_the_status_alone_wakes_nobody() {
        let mut events = list([&object("a", 1)]);
        events.extend([Event::Apply(object("a", 1)), Event::Apply(object("a", 2))]);
        assert_eq!(woken(events.clone(), false).await, "a a");
        assert_eq!(woken(events, true).await, "a a a");
    }

    #[tokio::test]
    async fn a_deletion_is_heard() {
        let mut events = list([&object("a", 1)]);
        events.push(Event::Delete(object("a", 1)));
        assert_eq!(woken(events, false).await, "a a");
    }

    #[tokio::test]
    async fn a_second_list_wakes_what_changed_meanwhile_and_what_is_gone() {
        let mut events = list([
            &object("same", 1),
            &object("changed", 1),
            &object("gone", 1),
        ]);
        events.extend(list([&object("same", 1), &object("changed", 2)]));
        let woken = woken(events, false).await;
        let (first, second) = woken.split_at(woken.len() - " changed gone".len());
        assert_eq!(second, " changed gone");
        assert_eq!(first.split(' ').count(), 3);
    }

    #[tokio::test]
    async fn an_object_made_anew_under_the_same_name_is_another_one() {
        let mut again = object("a", 1);
        again.metadata.uid = Some("2".to_owned());
        let mut events = list([&object("a", 1)]);
        events.extend(list([&again]));
        assert_eq!(woken(events, false).await, "a a");
    }
}
