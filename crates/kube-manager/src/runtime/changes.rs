//! Which events of a watch requeue an object: by default a new generation, changed labels, annotations or
//! finalizers, and a deletion. A status that the controller writes does not requeue the object.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash},
    sync::Arc,
};

use super::{
    closures::{Closures, Property},
    difference::is_built_in,
    object::{Guarded, Write},
    objects::Store,
    status_in_object,
    watch::{Key, Shown, key},
};

/// Which changes of an object requeue it.
pub enum Counts {
    /// Those of the desired state. The API server increases the generation of a custom resource with each change of its
    /// content, except the status.
    Desired,
    /// Those of the desired state, for a kind that has its status in the object, so that the generation also changes with
    /// the status.
    Content(Write),
    Every,
    /// Those of the value of a predicate.
    Property(Property),
}

impl Counts {
    /// The changes that requeue an object of a kind in `group`, if the controller has no predicate.
    ///
    /// For a kind of Kubernetes, each change counts: a controller of such a kind reacts to the state that other
    /// controllers report, and the generation does not show a change of that state.
    pub fn by_default(group: &str) -> Self {
        if is_built_in(group) {
            Self::Every
        } else {
            Self::Desired
        }
    }
}

/// Updates the store of a watch, and finds out what each event means for the work queue.
pub struct Changes {
    store: Store,
    counts: Arc<Counts>,
    closures: Closures,
    /// The last known state of each object, by the hash of the object's key, which needs less memory than the key.
    seen: HashMap<u64, u64>,
}

impl Changes {
    /// `store` gets the objects of the watch.
    pub fn new(store: Store, counts: Arc<Counts>, closures: Closures) -> Self {
        Self {
            store,
            counts,
            closures,
            seen: HashMap::new(),
        }
    }

    /// The object that the watch has shown last.
    pub fn get(&self, key: &Key) -> Option<Guarded> {
        self.store.get(key)
    }

    /// Puts what the watch has shown into the store. Returns the objects to reconcile. Calls `deleted` for each deleted
    /// object while the store has no object of its name, so a reconcile of a later object cannot begin before.
    pub fn take(&mut self, shown: &Shown, deleted: impl Fn(&Guarded)) -> Vec<Key> {
        // An object that was deleted and made again has another uid. The watch may report only the new object.
        let uids: HashMap<_, _> = shown
            .objects()
            .iter()
            .map(|object| (key(object.metadata()), &object.metadata().uid))
            .collect();
        let mut gone = match shown {
            Shown::All(_) => self.store.all(),
            Shown::Put(object) => Vec::from_iter(self.store.get(&key(object.metadata()))),
            Shown::Gone(object) => {
                let before = self.store.get(&key(object.metadata()));
                vec![before.unwrap_or_else(|| object.clone())]
            }
        };
        gone.retain(|object| uids.get(&key(object.metadata())) != Some(&&object.metadata().uid));
        for object in gone {
            let key = key(object.metadata());
            self.store.remove(&key);
            self.seen.remove(&hash(key));
            deleted(&object);
        }
        for object in shown.objects() {
            self.store.put(object.clone());
        }
        let new = shown.objects().iter().filter(|object| self.is_new(object));
        new.map(|object| key(object.metadata())).collect()
    }

    /// Whether `object` is new, or its fingerprint, uid, finalizers or deletion state have changed. Remembers the new
    /// state.
    fn is_new(&mut self, object: &Guarded) -> bool {
        let metadata = object.metadata();
        let is_deleting = metadata.deletion_timestamp.is_some();
        let fingerprint = self.fingerprint(object);
        if fingerprint.is_none() && !is_deleting {
            return false;
        }
        let life = (&metadata.uid, &metadata.finalizers, is_deleting);
        let state = hash((fingerprint, life));
        let last = self.seen.insert(hash(key(metadata)), state);
        last != Some(state)
    }

    /// A number that changes when an object has to be reconciled. An object for which the predicate panics has none: it
    /// is left alone until its deletion begins.
    fn fingerprint(&self, object: &Guarded) -> Option<u64> {
        let metadata = object.metadata();
        let number = match (&object.0, &*self.counts) {
            // Any change may make an object fit its type.
            (Err(_), _) | (_, Counts::Every) => None,
            (Ok(_), Counts::Desired) => metadata
                .generation
                .map(|generation| hash((generation, &metadata.labels, &metadata.annotations))),
            (Ok(object), Counts::Content(write)) => {
                let content = status_in_object::desired(write(&**object));
                Some(hash((content, &metadata.labels, &metadata.annotations)))
            }
            (Ok(object), Counts::Property(property)) => {
                let closures = &self.closures;
                closures.call("predicate", &key(metadata), || property(&**object))?
            }
        };
        Some(number.unwrap_or_else(|| hash(&metadata.resource_version)))
    }
}

fn hash(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use k8s_openapi::api::core::v1::Pod;
    use kube::core::ObjectMeta;

    use super::*;
    use crate::runtime::metrics::Metrics;

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

    fn applied(name: &str, generation: i64) -> Shown {
        Shown::Put(guarded(object(name, generation)))
    }

    fn version(version: &str) -> Shown {
        let mut object = object("a", 1);
        object.metadata.resource_version = Some(version.to_owned());
        Shown::Put(guarded(object))
    }

    fn with_uid(mut object: Pod, uid: &str) -> Pod {
        object.metadata.uid = Some(uid.to_owned());
        object
    }

    fn list<'a>(objects: impl IntoIterator<Item = &'a Pod>) -> Shown {
        let objects = objects.into_iter().cloned();
        Shown::All(objects.map(guarded).collect())
    }

    /// The changes: the name of an object to reconcile; a minus sign, the name and the uid of a deleted object.
    fn changes(events: &[Shown], counts: Counts) -> String {
        let closures = Closures::new("test", &Metrics::for_test());
        let mut changes = Changes::new(Store::default(), Arc::new(counts), closures);
        let (all, store) = (RefCell::new(Vec::new()), changes.store.clone());
        for event in events {
            let changed = changes.take(event, |object| {
                let key = key(object.metadata());
                assert!(!store.has(&key), "a later object is reconciled first");
                let uid = object.metadata().uid.clone().unwrap_or_default();
                all.borrow_mut().push(format!("-{}{uid}", key.1));
            });
            let names = changed.into_iter().map(|(_, name)| name);
            all.borrow_mut().extend(names);
        }
        all.take().join(" ")
    }

    #[test]
    fn a_change_of_the_status_alone_requeues_no_custom_resource() {
        let events = [list([&object("a", 1)]), applied("a", 1), applied("a", 2)];
        assert_eq!(changes(&events, Counts::Desired), "a a");
        let events = [version("1"), version("2"), version("2")];
        assert_eq!(changes(&events, Counts::by_default("example.com")), "a");
        assert_eq!(changes(&events, Counts::Every), "a a");
    }

    #[test]
    fn a_change_of_the_status_requeues_an_object_of_a_kind_of_kubernetes() {
        let events = [version("1"), version("2")];
        assert_eq!(changes(&events, Counts::by_default("apps")), "a a");
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
        let gone = Shown::Gone(guarded(object("a", 1)));
        let events = [list([&object("a", 1)]), gone];
        assert_eq!(changes(&events, Counts::Desired), "a -a1");
    }

    #[test]
    fn a_second_list_reports_what_changed_meanwhile_and_what_is_gone() {
        let first = [
            &object("same", 1),
            &object("changed", 1),
            &object("gone", 1),
        ];
        let second = [&object("same", 1), &object("changed", 2)];
        let changes = changes(&[list(first), list(second)], Counts::Desired);
        let (first, second) = changes.split_at(changes.len() - " -gone1 changed".len());
        assert_eq!(second, " -gone1 changed");
        assert_eq!(first.split(' ').count(), 3);
    }

    #[test]
    fn an_object_that_is_made_again_under_the_same_name_is_another_one() {
        let again = with_uid(object("a", 1), "2");
        let listed = [list([&object("a", 1)]), list([&again])];
        assert_eq!(changes(&listed, Counts::Desired), "a -a1 a");
        // The watch may end between the deletion and the creation, and begin again after both.
        let watched = [list([&object("a", 1)]), Shown::Put(guarded(again))];
        assert_eq!(changes(&watched, Counts::Desired), "a -a1 a");
    }

    #[test]
    fn an_object_without_a_fingerprint_is_left_alone_until_it_is_deleted() {
        fn panics() -> Counts {
            Counts::Property(Box::new(|_| {
                panic!("the predicate does not know this object")
            }))
        }

        let mut deleted = object("a", 2);
        deleted.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
            ));
        let events = [applied("a", 1), applied("a", 2)];
        assert_eq!(changes(&events, panics()), "");
        let events = [applied("a", 1), Shown::Put(guarded(deleted))];
        assert_eq!(changes(&events, panics()), "a");
    }
}
