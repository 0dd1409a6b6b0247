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
        reflector::{ObjectRef, store::Writer},
        watcher::Event,
    },
};

use super::{difference::is_built_in, watch::key};

/// Updates the store of a watch, and finds out what each event means for the work queue.
pub struct Changes<K, F>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store: Writer<K>,
    before: Vec<Arc<K>>,
    seen: Seen<F>,
}

/// What an event means for the objects of one name.
#[derive(Debug, PartialEq)]
pub enum Change<K: Resource<DynamicType = ()>> {
    /// The object has to be reconciled.
    Changed(ObjectRef<K>),
    /// The object is deleted. Another object with its name may exist already, and is then in a `Changed` of its own.
    Deleted(ObjectRef<K>),
}

impl<K, F> Changes<K, F>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
    F: Fn(&K) -> Option<u64>,
{
    /// An object is requeued when its `fingerprint` has changed. An object without a fingerprint is left alone until its
    /// deletion begins. `store` gets the objects of the watch.
    pub fn new(store: Writer<K>, fingerprint: F) -> Self {
        Self {
            store,
            before: Vec::new(),
            seen: Seen {
                fingerprints: HashMap::new(),
                fingerprint,
            },
        }
    }

    /// Puts `event` into the store, and returns what has changed.
    pub fn take(&mut self, event: &Event<K>) -> Vec<Change<K>> {
        let store = self.store.as_reader();
        let known = |object: &K| store.get(&ObjectRef::from_obj(object));
        let before = match event {
            // A list follows, at the start or after an interrupted watch. The store has the listed objects only at the
            // end of the list, so an earlier reconcile would not find a new object.
            Event::Init => {
                self.before = store.state();
                Vec::new()
            }
            Event::InitApply(_) => Vec::new(),
            Event::InitDone => mem::take(&mut self.before),
            Event::Apply(object) => Vec::from_iter(known(object)),
            Event::Delete(object) => {
                vec![known(object).unwrap_or_else(|| Arc::new(object.clone()))]
            }
        };
        self.store.apply_watcher_event(event);

        // An object that was deleted and made again has another uid. The watch may report only the new object.
        let is_alive =
            |object: &K| known(object).is_some_and(|now| now.meta().uid == object.meta().uid);
        let mut changes = Vec::new();
        for object in before {
            if !is_alive(&object) {
                self.seen.forget(&*object);
                changes.push(Change::Deleted(ObjectRef::from_obj(&*object)));
            }
        }
        let shown = match event {
            Event::Apply(object) => vec![Arc::new(object.clone())],
            Event::InitDone => store.state(),
            Event::Init | Event::InitApply(_) | Event::Delete(_) => Vec::new(),
        };
        for object in shown {
            if self.seen.is_new(&*object) {
                changes.push(Change::Changed(ObjectRef::from_obj(&*object)));
            }
        }
        changes
    }
}

/// Changes with the desired state of a custom resource. The API server increases its generation with each change of its
/// content, except the status.
///
/// For a kind of Kubernetes, each change counts: a controller of such a kind reacts to the state that other controllers
/// report, and the generation does not show a change of that state.
pub fn desired<K: Resource<DynamicType = ()>>(object: &K) -> u64 {
    let meta = object.meta();
    match meta.generation {
        Some(generation) if !is_built_in(&K::group(&())) => {
            hash((generation, &meta.labels, &meta.annotations))
        }
        _ => any(object),
    }
}

/// Changes with each change of the object.
pub fn any<K: Resource>(object: &K) -> u64 {
    hash(&object.meta().resource_version)
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
        let meta = object.meta();
        let is_deleting = meta.deletion_timestamp.is_some();
        let fingerprint = (self.fingerprint)(object);
        if fingerprint.is_none() && !is_deleting {
            return false;
        }
        let life = (&meta.uid, &meta.finalizers, is_deleting);
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
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
    use kube::{api::ObjectMeta, runtime::reflector};

    use super::*;

    /// A custom resource: a Deployment in another group.
    #[derive(Clone, Debug)]
    struct Custom(Deployment);

    impl Resource for Custom {
        type DynamicType = ();
        type Scope = kube::core::NamespaceResourceScope;

        fn kind(_: &()) -> std::borrow::Cow<'_, str> {
            "Custom".into()
        }

        fn group(_: &()) -> std::borrow::Cow<'_, str> {
            "example.com".into()
        }

        fn version(_: &()) -> std::borrow::Cow<'_, str> {
            "v1".into()
        }

        fn plural(_: &()) -> std::borrow::Cow<'_, str> {
            "customs".into()
        }

        fn meta(&self) -> &ObjectMeta {
            &self.0.metadata
        }

        fn meta_mut(&mut self) -> &mut ObjectMeta {
            &mut self.0.metadata
        }
    }

    fn object(name: &str, generation: i64) -> Custom {
        Custom(Deployment {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                generation: Some(generation),
                uid: Some("1".to_owned()),
                ..ObjectMeta::default()
            },
            ..Deployment::default()
        })
    }

    fn by_desired(object: &Custom) -> Option<u64> {
        Some(desired(object))
    }

    fn with_uid(mut object: Custom, uid: &str) -> Custom {
        object.meta_mut().uid = Some(uid.to_owned());
        object
    }

    fn list<'a>(objects: impl IntoIterator<Item = &'a Custom>) -> Vec<Event<Custom>> {
        let listed = objects.into_iter().cloned().map(Event::InitApply);
        [Event::Init]
            .into_iter()
            .chain(listed)
            .chain([Event::InitDone])
            .collect()
    }

    /// The changes: the name of an object to reconcile; a minus sign, the name and the uid of a deleted object.
    fn changes<K>(events: Vec<Event<K>>, fingerprint: fn(&K) -> Option<u64>) -> String
    where
        K: Resource<DynamicType = ()> + Clone + 'static,
    {
        let (_, writer) = reflector::store();
        let mut changes = Changes::new(writer, fingerprint);
        let mut all = Vec::new();
        for event in events {
            all.extend(changes.take(&event).into_iter().map(|change| match change {
                Change::Changed(object) => object.name,
                Change::Deleted(object) => {
                    format!("-{}{}", object.name, object.extra.uid.unwrap_or_default())
                }
            }));
        }
        all.join(" ")
    }

    #[test]
    fn a_change_of_the_status_alone_requeues_no_custom_resource() {
        fn version(version: &str) -> Event<Custom> {
            let mut object = object("a", 1);
            object.meta_mut().resource_version = Some(version.to_owned());
            Event::Apply(object)
        }

        let mut events = list([&object("a", 1)]);
        events.extend([Event::Apply(object("a", 1)), Event::Apply(object("a", 2))]);
        assert_eq!(changes(events, by_desired), "a a");
        let events = vec![version("1"), version("2"), version("2")];
        assert_eq!(changes(events.clone(), by_desired), "a");
        assert_eq!(changes(events, |object| Some(any(object))), "a a");
    }

    #[test]
    fn a_change_of_the_status_requeues_an_object_of_a_kind_of_kubernetes() {
        fn pod(version: &str) -> Event<Pod> {
            let mut pod = Pod::default();
            pod.metadata.name = Some("a".to_owned());
            pod.metadata.generation = Some(1);
            pod.metadata.resource_version = Some(version.to_owned());
            Event::Apply(pod)
        }

        let events = vec![pod("1"), pod("2")];
        assert_eq!(changes(events, |pod| Some(desired(pod))), "a a");
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
        events.push(Event::Delete(object("a", 1)));
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
        watched.push(Event::Apply(again));
        assert_eq!(changes(watched, by_desired), "a -a1 a");
    }

    #[test]
    fn an_object_without_a_fingerprint_is_left_alone_until_it_is_deleted() {
        let mut deleted = object("a", 2);
        deleted.meta_mut().deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
            ));
        let events = vec![Event::Apply(object("a", 1)), Event::Apply(object("a", 2))];
        assert_eq!(changes(events, |_| None), "");
        let events = vec![Event::Apply(object("a", 1)), Event::Apply(deleted)];
        assert_eq!(changes(events, |_| None), "a");
    }
}
