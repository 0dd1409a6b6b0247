//! Which events of a watch requeue an object: by default a new generation, changed labels, annotations or
//! finalizers, and a deletion. A status that the controller writes does not requeue the object.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    mem,
};

use kube::{core::ObjectMeta, runtime::watcher::Event};
use serde_json::Value;

use super::{
    object::Guarded,
    objects::Store,
    watch::{Key, key},
};

/// Computes a number that changes when an object has to be reconciled. An object without a number is left alone until
/// its deletion begins.
pub type Fingerprint = Box<dyn Fn(&Guarded) -> Option<u64> + Send>;

/// Updates the store of a watch, and finds out what each event means for the work queue.
pub struct Changes {
    store: Store,
    /// A list that is not complete yet.
    list: Vec<Guarded>,
    fingerprint: Fingerprint,
    /// The last known state of each object, by the hash of the object's key, which needs less memory than the key.
    seen: HashMap<u64, u64>,
}

/// What an event means for the objects of one name.
pub enum Change {
    /// The object has to be reconciled.
    Changed(Key),
    /// The object is deleted. Another object with its name may exist already, and is then in a `Changed` of its own.
    Deleted(Guarded),
}

impl Changes {
    /// `store` gets the objects of the watch.
    pub fn new(store: Store, fingerprint: Fingerprint) -> Self {
        Self {
            store,
            list: Vec::new(),
            fingerprint,
            seen: HashMap::new(),
        }
    }

    /// Puts `event` into the store, and returns what has changed.
    pub fn take(&mut self, event: &Event<Guarded>) -> Vec<Change> {
        let (before, shown) = match event {
            // A list follows, at the start or after an interrupted watch. The store has the listed objects only at the
            // end of the list, so an earlier reconcile would not find a new object.
            Event::Init => {
                self.list.clear();
                return Vec::new();
            }
            Event::InitApply(object) => {
                self.list.push(object.clone());
                return Vec::new();
            }
            Event::InitDone => {
                let list = mem::take(&mut self.list);
                (self.store.replace(list.clone()), list)
            }
            Event::Apply(object) => {
                let before = self.store.put(object.clone());
                (Vec::from_iter(before), vec![object.clone()])
            }
            Event::Delete(object) => {
                let before = self.store.remove(&key(object.metadata()));
                (vec![before.unwrap_or_else(|| object.clone())], Vec::new())
            }
        };
        let mut changes = Vec::new();
        for object in before {
            let key = key(object.metadata());
            // An object that was deleted and made again has another uid. The watch may report only the new object.
            let now = self.store.get(&key);
            if now.is_none_or(|now| now.metadata().uid != object.metadata().uid) {
                self.seen.remove(&hash(key));
                changes.push(Change::Deleted(object));
            }
        }
        for object in shown {
            if self.is_new(&object) {
                changes.push(Change::Changed(key(object.metadata())));
            }
        }
        changes
    }

    /// Whether `object` is new, or its fingerprint, uid, finalizers or deletion state have changed. Remembers the new
    /// state.
    fn is_new(&mut self, object: &Guarded) -> bool {
        let metadata = object.metadata();
        let is_deleting = metadata.deletion_timestamp.is_some();
        let fingerprint = (self.fingerprint)(object);
        if fingerprint.is_none() && !is_deleting {
            return false;
        }
        let life = (&metadata.uid, &metadata.finalizers, is_deleting);
        let state = hash((fingerprint, life));
        let last = self.seen.insert(hash(key(metadata)), state);
        last != Some(state)
    }
}

/// Changes with the desired state of a custom resource. The API server increases its generation with each change of its
/// content, except the status.
///
/// For a kind of Kubernetes, each change counts: a controller of such a kind reacts to the state that other controllers
/// report, and the generation does not show a change of that state.
pub fn desired(object: &ObjectMeta, is_built_in: bool) -> u64 {
    match object.generation {
        Some(generation) if !is_built_in => hash((generation, &object.labels, &object.annotations)),
        _ => any(object),
    }
}

/// Like [`desired`], for a kind that has its status in the object, so that the generation also changes with the status.
/// `content` is what the object says about the desired state.
pub fn desired_content(object: &ObjectMeta, content: &Value) -> u64 {
    hash((content, &object.labels, &object.annotations))
}

/// Changes with each change of the object.
pub fn any(object: &ObjectMeta) -> u64 {
    hash(&object.resource_version)
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::Pod;

    use super::*;
    use crate::runtime::difference::is_built_in;

    fn object(name: &str, generation: i64) -> Pod {
        Pod {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                generation: Some(generation),
                uid: Some("1".to_owned()),
                ..ObjectMeta::default()
            },
            ..Pod::default()
        }
    }

    fn guarded(object: Pod) -> Guarded {
        Guarded(Ok(Arc::new(object)))
    }

    fn applied(name: &str, generation: i64) -> Event<Guarded> {
        Event::Apply(guarded(object(name, generation)))
    }

    fn version(version: &str) -> Event<Guarded> {
        let mut object = object("a", 1);
        object.metadata.resource_version = Some(version.to_owned());
        Event::Apply(guarded(object))
    }

    fn by_desired(object: &Guarded) -> Option<u64> {
        Some(desired(object.metadata(), false))
    }

    fn with_uid(mut object: Pod, uid: &str) -> Pod {
        object.metadata.uid = Some(uid.to_owned());
        object
    }

    fn list<'a>(objects: impl IntoIterator<Item = &'a Pod>) -> Vec<Event<Guarded>> {
        let objects = objects.into_iter().cloned();
        let listed = objects.map(|object| Event::InitApply(guarded(object)));
        [Event::Init]
            .into_iter()
            .chain(listed)
            .chain([Event::InitDone])
            .collect()
    }

    /// The changes: the name of an object to reconcile; a minus sign, the name and the uid of a deleted object.
    fn changes(events: Vec<Event<Guarded>>, fingerprint: fn(&Guarded) -> Option<u64>) -> String {
        let mut changes = Changes::new(Store::default(), Box::new(fingerprint));
        let mut all = Vec::new();
        for event in events {
            all.extend(changes.take(&event).into_iter().map(|change| match change {
                Change::Changed((_, name)) => name,
                Change::Deleted(object) => {
                    let uid = object.metadata().uid.clone().unwrap_or_default();
                    format!("-{}{uid}", key(object.metadata()).1)
                }
            }));
        }
        all.join(" ")
    }

    #[test]
    fn a_change_of_the_status_alone_requeues_no_custom_resource() {
        let mut events = list([&object("a", 1)]);
        events.extend([applied("a", 1), applied("a", 2)]);
        assert_eq!(changes(events, by_desired), "a a");
        let events = vec![version("1"), version("2"), version("2")];
        assert_eq!(changes(events.clone(), by_desired), "a");
        let by_any = |object: &Guarded| Some(any(object.metadata()));
        assert_eq!(changes(events, by_any), "a a");
    }

    #[test]
    fn a_change_of_the_status_requeues_an_object_of_a_kind_of_kubernetes() {
        let events = vec![version("1"), version("2")];
        let by_built_in = |object: &Guarded| Some(desired(object.metadata(), true));
        assert_eq!(changes(events, by_built_in), "a a");
    }

    #[test]
    fn every_group_of_kubernetes_is_known() {
        use k8s_openapi::{Resource, api};

        let groups = [
            api::admissionregistration::v1::ValidatingWebhookConfiguration::GROUP,
            api::apps::v1::Deployment::GROUP,
            api::certificates::v1::CertificateSigningRequest::GROUP,
            api::coordination::v1::Lease::GROUP,
            api::core::v1::Pod::GROUP,
            api::discovery::v1::EndpointSlice::GROUP,
            api::events::v1::Event::GROUP,
            api::flowcontrol::v1::FlowSchema::GROUP,
            api::networking::v1::Ingress::GROUP,
            api::node::v1::RuntimeClass::GROUP,
            api::rbac::v1::Role::GROUP,
            api::resource::v1::ResourceClaim::GROUP,
            api::scheduling::v1::PriorityClass::GROUP,
            api::storage::v1::StorageClass::GROUP,
        ];
        for group in groups {
            assert!(is_built_in(group), "{group}");
        }
        for group in ["example.com", "gateway.networking.k8s.io"] {
            assert!(!is_built_in(group), "{group}");
        }
    }

    #[test]
    fn a_deletion_is_reported_once() {
        let mut events = list([&object("a", 1)]);
        events.push(Event::Delete(guarded(object("a", 1))));
        assert_eq!(changes(events, by_desired), "a -a1");
    }

    #[test]
    fn a_second_list_reports_what_changed_meanwhile_and_what_is_gone() {
        let mut events = list([
            &object("same", 1),
            &object("changed", 1),
            &object("gone", 1),
        ]);
        events.extend(list([&object("same", 1), &object("changed", 2)]));
        let changes = changes(events, by_desired);
        let (first, second) = changes.split_at(changes.len() - " -gone1 changed".len());
        assert_eq!(second, " -gone1 changed");
        assert_eq!(first.split(' ').count(), 3);
    }

    #[test]
    fn an_object_that_is_made_again_under_the_same_name_is_another_one() {
        let again = with_uid(object("a", 1), "2");
        let mut listed = list([&object("a", 1)]);
        listed.extend(list([&again]));
        assert_eq!(changes(listed, by_desired), "a -a1 a");
        // The watch may end between the deletion and the creation, and begin again after both.
        let mut watched = list([&object("a", 1)]);
        watched.push(Event::Apply(guarded(again)));
        assert_eq!(changes(watched, by_desired), "a -a1 a");
    }

    #[test]
    fn an_object_without_a_fingerprint_is_left_alone_until_it_is_deleted() {
        let mut deleted = object("a", 2);
        deleted.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
            ));
        let events = vec![applied("a", 1), applied("a", 2)];
        assert_eq!(changes(events, |_| None), "");
        let events = vec![applied("a", 1), Event::Apply(guarded(deleted))];
        assert_eq!(changes(events, |_| None), "a");
    }
}
