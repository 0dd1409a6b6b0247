//! Kinds that a controller watches besides its own kind and the kinds that it owns. A change of their objects requeues
//! objects of the controller.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    marker::PhantomData,
    sync::Arc,
};

use kube::{
    Resource,
    api::ApiResource,
    core::ObjectMeta,
    runtime::{Predicate, reflector::ObjectRef},
};
use parking_lot::Mutex;

use super::{
    closures::{Closures, Filter},
    informer::{Follow, Index, States, Wake},
    object::{AnyObject, Guarded, typed, typed_ref},
    owned::refers_to,
    reference::{key_from, key_in_call},
    scope::{Kind, Scope, Watchable},
    tie::controlled_by,
    watch::{Key, Selector, Shown, Watcher, is_in, key},
};

/// What a controller has declared besides its own kind.
pub(super) struct Declared {
    /// Calls the functions that the controller passes with a watch.
    pub closures: Closures,
    pub follows: Vec<Follow>,
    pub references: Vec<Arc<References>>,
    /// The triggers, each with the controllers that it wakes.
    pub triggers: Vec<Arc<Mutex<Vec<Wake>>>>,
}

impl Declared {
    pub fn new(closures: Closures) -> Self {
        Self {
            closures,
            follows: Vec::new(),
            references: Vec::new(),
            triggers: Vec::new(),
        }
    }
}

/// A watch of the kind `S` for a controller of `K`. One of the methods must be called to choose the objects that a
/// change requeues.
#[must_use]
pub struct Watches<'a, K, S> {
    declared: &'a mut Declared,
    kind: Kind,
    watcher: Watcher,
    selector: Selector,
    /// `None` for the namespaces of the controller.
    namespaces: Option<Vec<String>>,
    filter: Option<Filter>,
    types: PhantomData<fn(&K, &S)>,
}

impl<'a, K, S> Watches<'a, K, S>
where
    K: Resource<DynamicType = (), Scope: Scope> + Send + Sync + 'static,
    S: Watchable,
{
    pub(super) fn new(declared: &'a mut Declared, kind: Kind, watcher: Watcher) -> Self {
        Self {
            declared,
            kind,
            watcher,
            selector: Selector::default(),
            namespaces: None,
            filter: None,
            types: PhantomData,
        }
    }

    /// Limits the watch to objects with these labels, such as `app=shop`.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.selector.labels = selector.into();
        self
    }

    /// Limits the watch to objects with these fields, such as `type=kubernetes.io/tls`.
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.selector.fields = selector.into();
        self
    }

    /// Requeues objects only for those changes of an object that affect the value of `predicate`, for its creation, its
    /// deletion and the beginning of its deletion. Without a predicate, each change counts. kube has
    /// [predicates](kube::runtime::predicates), which combine. The objects that [`Watched`] returns are the newest ones
    /// in any case.
    pub fn predicate(mut self, predicate: impl Predicate<S> + Send + Sync + 'static) -> Self {
        self.filter = Some(Filter::new(self.declared.closures.clone(), predicate));
        self
    }

    /// Reconciles objects although the kind, or the permission to watch it, is missing: for example, a kind of another
    /// project that is not always installed. [`Watched::is_available`] says whether the watch works. Once it begins, the
    /// objects that refer to the kind are requeued. Without this setting, no object is reconciled before the watch has
    /// begun.
    ///
    /// Nothing is requeued when the kind or the permission disappears, and nothing for a watch with
    /// [`reads`](Self::reads): there, use [`Action::requeue`](crate::Action::requeue).
    ///
    /// The first reconcile waits until the API server has answered, so it does not take an installed kind for missing.
    pub fn optional(mut self) -> Self {
        self.watcher.is_optional = true;
        self
    }

    /// Requeues the objects of the controller that refer to a changed object. `references` returns the references of an
    /// object of the controller. A reference without a namespace means the namespace of that object. The other object need
    /// not exist yet: its creation and its deletion also requeue the objects that refer to it.
    pub fn referenced_by(
        self,
        references: impl Fn(&K) -> Vec<ObjectRef<S>> + Send + Sync + 'static,
    ) -> Watched<S> {
        let (closures, is_namespaced) = (self.declared.closures.clone(), self.kind.namespaced);
        let referring = Arc::new(References {
            find: Box::new(move |object| {
                // An object that does not fit its type refers to nothing.
                let Some(object) = object.0.as_deref().ok().and_then(typed_ref::<K>) else {
                    return HashSet::new();
                };
                let named = closures.call("references", &key(object.meta()), || references(object));
                keys(named, object.meta(), is_namespaced).collect()
            }),
            links: Mutex::default(),
        });
        self.declared.references.push(referring.clone());
        self.follow(Woken::Referring(referring))
    }

    /// Requeues the objects that `map` names for a changed object, which may have been deleted. `map` is called for the
    /// object before and after the change, so an object that is no longer named is requeued, too. A reference without a
    /// namespace means the namespace of the changed object.
    #[doc(alias = "EnqueueRequestsFromMapFunc")]
    pub fn requeues(
        self,
        map: impl Fn(&S) -> Vec<ObjectRef<K>> + Send + Sync + 'static,
    ) -> Watched<S> {
        let closures = self.declared.closures.clone();
        self.follow(Woken::Named(Box::new(move |object| {
            let Some(object) = typed_ref::<S>(&**object) else {
                return Vec::new();
            };
            let named = closures.call("map", &key(object.meta()), || map(object));
            keys(named, object.meta(), K::Scope::NAMESPACED).collect()
        })))
    }

    /// Requeues the owner of a changed object: the object of the controller to which the controller owner reference
    /// points, before and after the change. [`Builder::owns`](super::Builder::owns) also creates and corrects the owned
    /// objects. Use this method for objects that another program creates, or if their metadata is enough.
    #[doc(alias = "EnqueueRequestForOwner")]
    pub fn requeues_owner(self) -> Watched<S> {
        let kind = ApiResource::erase::<K>(&());
        self.follow(Woken::Named(Box::new(move |object| {
            let metadata = object.metadata();
            let owner = controlled_by(metadata).filter(|owner| refers_to(owner, &kind));
            Vec::from_iter(owner.map(|owner| (metadata.namespace.clone(), owner.name)))
        })))
    }

    /// Limits the watch to these namespaces, instead of the namespaces of the controller; an empty list means all
    /// namespaces. Ignored for a cluster-scoped kind. The operator's role must have the permissions there.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let unique: BTreeSet<_> = namespaces.into_iter().map(Into::into).collect();
        self.namespaces = Some(Vec::from_iter(unique));
        self
    }

    /// Requeues nothing. The objects are only read.
    pub fn reads(self) -> Watched<S> {
        self.follow(Woken::Named(Box::new(|_| Vec::new())))
    }

    fn follow(self, woken: Woken) -> Watched<S> {
        let watched = Watched {
            cache: Cache::default(),
            states: States::default(),
            is_namespaced: self.kind.namespaced,
            kind: PhantomData,
        };
        self.declared.follows.push(Follow {
            watcher: self.watcher,
            kind: self.kind,
            selector: self.selector,
            namespaces: self.namespaces,
            index: Arc::new(Related {
                cache: watched.cache.clone(),
                filter: self.filter,
                woken,
            }),
            states: watched.states.clone(),
        });
        watched
    }
}

/// The keys of the objects that `referrer` names; none if the closure that names them has panicked.
fn keys<K: Resource>(
    named: Option<Vec<ObjectRef<K>>>,
    referrer: &ObjectMeta,
    is_namespaced: bool,
) -> impl Iterator<Item = Key> {
    let references = named.into_iter().flatten();
    references.filter_map(move |to| key_from(referrer.namespace.as_ref(), &to, is_namespaced))
}

/// The objects of a watched kind, as the watch has delivered them. Reading them sends no request.
///
/// The first reconcile waits until the watch has begun, unless the watch is [optional](Watches::optional). In a controller
/// of several namespaces, it waits only for the watch of its own namespace.
///
/// A reference without a namespace means the namespace of the object of the current [call](crate::Reconciler). Outside of
/// a call, and for a cluster-scoped object, it is an error in the log, unless `S` is cluster-scoped.
#[derive(Clone)]
pub struct Watched<S> {
    cache: Cache,
    states: States,
    is_namespaced: bool,
    kind: PhantomData<fn() -> S>,
}

impl<S: Watchable> Watched<S> {
    /// The object of this name, if it exists and matches the selector of the watch.
    pub fn get(&self, object: &ObjectRef<S>) -> Option<Arc<S>> {
        let key = key_in_call(object, self.is_namespaced)?;
        let found = self.cache.lock().get(&key).cloned();
        typed(found?)
    }

    /// The objects that `objects` names, as far as they exist and match the selector of the watch.
    pub fn get_all(&self, objects: &[ObjectRef<S>]) -> Vec<Arc<S>> {
        objects
            .iter()
            .filter_map(|object| self.get(object))
            .collect()
    }

    /// All objects, in no particular order.
    pub fn all(&self) -> Vec<Arc<S>> {
        let all = self.cache.lock();
        all.values().cloned().filter_map(typed).collect()
    }

    /// Whether the watch works: the API server has the kind, and the operator has the permission. This can be false only
    /// for an [optional](Watches::optional) watch, and after the kind or the permission was removed.
    pub fn is_available(&self) -> bool {
        let states = self.states.lock();
        !states.is_empty() && states.iter().all(|state| state.is_available())
    }
}

/// The objects of a watch that fit their type.
type Cache = Arc<Mutex<HashMap<Key, AnyObject>>>;

/// The index of a watched kind.
struct Related {
    cache: Cache,
    /// Tells which changes requeue objects; without it, all do.
    filter: Option<Filter>,
    woken: Woken,
}

/// The objects that a change requeues.
enum Woken {
    /// Those that refer to the changed object.
    Referring(Arc<References>),
    /// Those that a function names.
    Named(Named),
}

/// Names the objects to requeue for a changed object.
type Named = Box<dyn Fn(&AnyObject) -> Vec<Key> + Send + Sync>;

impl Index for Related {
    fn take(&self, shown: &Shown, namespace: Option<&String>) -> Vec<Key> {
        Vec::from_iter(self.woken.by(&self.changed(shown, namespace)))
    }

    fn all(&self) -> HashSet<Key> {
        match &self.woken {
            // Also those that refer to an object that does not exist.
            Woken::Referring(references) => references.links.lock().from.keys().cloned().collect(),
            Woken::Named(_) => {
                let objects: Vec<_> = self.cache.lock().values().cloned().collect();
                self.woken.by(&objects)
            }
        }
    }
}

impl Woken {
    /// The objects that changes of `changed` requeue.
    fn by(&self, changed: &[AnyObject]) -> HashSet<Key> {
        let mut keys = HashSet::new();
        for object in changed {
            keys.extend(match self {
                Self::Referring(references) => references.to(&key(object.metadata())),
                Self::Named(named) => named(object),
            });
        }
        keys
    }
}

impl Related {
    /// Applies what a watch of `namespace`, or of all namespaces, has shown. Returns each object that changed, before and
    /// after the change, unless the change does not count.
    fn changed(&self, shown: &Shown, namespace: Option<&String>) -> Vec<AnyObject> {
        match shown {
            Shown::All(objects) => self.replace(objects, namespace),
            Shown::Put(object) => self.put(object),
            Shown::Gone(object) => {
                Vec::from_iter(self.cache.lock().remove(&key(object.metadata())))
            }
        }
    }

    /// Replaces the objects in `namespace`, or in all namespaces, with the objects of a new list.
    fn replace(&self, list: &[Guarded], namespace: Option<&String>) -> Vec<AnyObject> {
        let listed: HashSet<_> = list.iter().map(|object| key(object.metadata())).collect();
        let mut changed = Vec::new();
        self.cache.lock().retain(|key, object| {
            let is_gone = is_in(key, namespace) && !listed.contains(key);
            changed.extend(is_gone.then(|| object.clone()));
            !is_gone
        });
        for object in list {
            let metadata = object.metadata();
            let known = self.cache.lock().get(&key(metadata)).cloned();
            if known
                .is_none_or(|known| known.metadata().resource_version != metadata.resource_version)
            {
                changed.extend(self.put(object));
            }
        }
        changed
    }

    /// Adds a new or changed object. An object that does not fit its type counts as deleted.
    fn put(&self, object: &Guarded) -> Vec<AnyObject> {
        let key = key(object.metadata());
        let now = object.0.as_ref().ok().cloned();
        let before = match &now {
            Some(object) => self.cache.lock().insert(key, object.clone()),
            None => self.cache.lock().remove(&key),
        };
        if let (Some(filter), Some(before), Some(now)) = (&self.filter, &before, &now)
            && !filter.counts(&**before, &**now)
        {
            return Vec::new();
        }
        before.into_iter().chain(now).collect()
    }
}

/// The references of the objects of a controller to objects of another kind.
pub(super) struct References {
    find: Find,
    links: Mutex<Links>,
}

/// Finds the objects to which an object refers.
type Find = Box<dyn Fn(&Guarded) -> HashSet<Key> + Send + Sync>;

impl References {
    /// Takes an event of the watch of the controller's own kind in `namespace`, or in all namespaces. Returns the objects
    /// that refer to something new. It may have changed before the index knew the reference.
    pub fn take(&self, shown: &Shown, namespace: Option<&String>) -> Vec<Key> {
        match shown {
            Shown::All(objects) => {
                let listed: HashMap<_, _> = objects
                    .iter()
                    .map(|object| (key(object.metadata()), (self.find)(object)))
                    .collect();
                self.links.lock().replace(namespace, listed)
            }
            Shown::Put(object) => {
                let (from, to) = (key(object.metadata()), (self.find)(object));
                let gains = self.links.lock().set(&from, to);
                Vec::from_iter(gains.then_some(from))
            }
            Shown::Gone(object) => {
                let from = key(object.metadata());
                self.links.lock().set(&from, HashSet::new());
                Vec::new()
            }
        }
    }

    /// The objects that refer to `to`.
    fn to(&self, to: &Key) -> Vec<Key> {
        let links = self.links.lock();
        links.to.get(to).into_iter().flatten().cloned().collect()
    }
}

/// References in both directions.
#[derive(Default)]
struct Links {
    from: HashMap<Key, HashSet<Key>>,
    to: HashMap<Key, HashSet<Key>>,
}

impl Links {
    /// Sets the objects that the object `from` refers to. Returns whether it did not refer to all of them before.
    fn set(&mut self, from: &Key, to: HashSet<Key>) -> bool {
        let before = self.from.remove(from).unwrap_or_default();
        let gains = !to.is_subset(&before);
        for old in before {
            if let Some(referring) = self.to.get_mut(&old) {
                referring.remove(from);
                if referring.is_empty() {
                    self.to.remove(&old);
                }
            }
        }
        for new in &to {
            let referring = self.to.entry(new.clone()).or_default();
            referring.insert(from.clone());
        }
        if !to.is_empty() {
            self.from.insert(from.clone(), to);
        }
        gains
    }

    /// Replaces the references of the objects in `namespace`, or in all namespaces. Returns the objects that refer to
    /// something new.
    fn replace(
        &mut self,
        namespace: Option<&String>,
        mut listed: HashMap<Key, HashSet<Key>>,
    ) -> Vec<Key> {
        let known: Vec<_> = self.from.keys().cloned().collect();
        for from in known {
            if is_in(&from, namespace) {
                listed.entry(from).or_default();
            }
        }
        let mut gaining = Vec::new();
        for (from, to) in listed {
            if self.set(&from, to) {
                gaining.push(from);
            }
        }
        gaining
    }
}

#[cfg(test)]
impl References {
    pub fn for_test(find: impl Fn(&Guarded) -> HashSet<Key> + Send + Sync + 'static) -> Self {
        Self {
            find: Box::new(find),
            links: Mutex::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::runtime::predicates;

    use super::{super::metrics::Metrics, *};

    fn secret(version: &str, of: &str) -> Guarded {
        let mut secret = Secret::default();
        secret.metadata.name = Some("s".to_owned());
        secret.metadata.resource_version = Some(version.to_owned());
        secret.metadata.labels = Some([("for".to_owned(), of.to_owned())].into());
        Guarded(Ok(Arc::new(secret)))
    }

    fn related(filter: Option<Filter>) -> Related {
        Related {
            cache: Cache::default(),
            filter,
            woken: Woken::Named(Box::new(|_| Vec::new())),
        }
    }

    #[test]
    fn a_change_returns_the_object_before_and_after_it() {
        let changes = [
            Shown::Put(secret("2", "b")),
            Shown::All(vec![secret("3", "b")]),
        ];
        for change in changes {
            let watched = related(None);
            watched.changed(&Shown::All(vec![secret("1", "a")]), None);
            let changed = watched.changed(&change, None);
            let named: Vec<_> = changed
                .iter()
                .map(|secret| secret.metadata().labels.as_ref().expect("labels")["for"].as_str())
                .collect();
            assert_eq!(named, ["a", "b"]);
        }
    }

    #[test]
    fn a_change_that_does_not_count_is_known_and_requeues_nothing() {
        let closures = Closures::new("test", &Metrics::for_test());
        let filter = Filter::new(closures, predicates::labels::<Secret>);
        let watched = related(Some(filter));
        watched.changed(&Shown::All(vec![secret("1", "a")]), None);
        for (shown, changed) in [
            (Shown::Put(secret("2", "a")), 0),
            (Shown::All(vec![secret("3", "a")]), 0),
            (Shown::Put(secret("4", "b")), 2),
            (Shown::Gone(secret("5", "b")), 1),
        ] {
            assert_eq!(watched.changed(&shown, None).len(), changed);
        }
    }

    #[test]
    fn an_object_that_is_listed_again_has_not_changed() {
        let watched = related(None);
        watched.changed(&Shown::All(vec![secret("1", "a")]), None);
        let again = watched.changed(&Shown::All(vec![secret("1", "a")]), None);
        assert!(again.is_empty());
        let gone = watched.changed(&Shown::All(Vec::new()), None);
        assert_eq!(gone.len(), 1);
    }
}
