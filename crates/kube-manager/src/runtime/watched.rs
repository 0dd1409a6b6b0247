//! Kinds that a controller watches besides its own kind and the kinds that it owns. A change of their objects requeues
//! objects of the controller.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    marker::PhantomData,
    mem,
    sync::Arc,
};

use kube::{
    Resource,
    api::ApiResource,
    runtime::{Predicate, reflector::ObjectRef, watcher::Event},
};
use parking_lot::Mutex;

use super::{
    closures::{Closures, Filter},
    informer::{Follow, Informers, Take, some_or_all},
    object::{AnyObject, Guarded, typed, typed_ref},
    owned::refers_to,
    reference::{key_from, key_in_call},
    scope::{Kind, Scope, Watchable},
    tie::controlled_by,
    watch::{Key, Selector, Shown, State, Watcher, is_in, key},
};

/// Starts to observe the controller's own kind in a namespace, or in all namespaces. The returned observer is called
/// with each event.
pub(super) type Observe = Box<dyn Fn(Option<&str>) -> Observer + Send>;
pub(super) type Observer = Box<dyn FnMut(&Event<Guarded>) + Send>;

/// The watches that a controller has declared.
pub(super) struct Declared {
    pub closures: Closures,
    pub follows: Vec<Follow>,
    pub observers: Vec<Observe>,
}

impl Declared {
    /// No watches yet. `closures` calls the functions that the controller passes with a watch.
    pub fn new(closures: Closures) -> Self {
        Self {
            closures,
            follows: Vec::new(),
            observers: Vec::new(),
        }
    }

    /// Calls the returned observer with each event, for the references that `to` finds in an object.
    fn refer(&mut self, index: &Arc<Mutex<References>>, to: Refer) {
        let index = index.clone();
        self.observers.push(Box::new(move |namespace| {
            let (index, to) = (index.clone(), to.clone());
            let namespace = namespace.map(str::to_owned);
            let mut listed = HashSet::new();
            Box::new(move |event| match event {
                Event::Init => listed.clear(),
                Event::InitApply(object) => {
                    let key = key(object.metadata());
                    listed.insert(key.clone());
                    index.lock().set(key, to(object));
                }
                Event::InitDone => {
                    index
                        .lock()
                        .retain(namespace.as_ref(), &mem::take(&mut listed));
                }
                Event::Apply(object) => index.lock().set(key(object.metadata()), to(object)),
                Event::Delete(object) => {
                    index.lock().set(key(object.metadata()), HashSet::new());
                }
            })
        }));
    }

    /// Follows a watch of other objects, and requeues the objects that `woken` names for a changed object. `states`
    /// gets the states of the watches.
    fn follow(&mut self, watch: Watch, cache: Cache, states: States, woken: Woken) {
        let Watch {
            kind,
            watcher,
            selector,
            namespaces: own,
            filter,
        } = watch;
        let woken = Arc::new(woken);
        let (kept, named) = (cache.clone(), woken.clone());
        let take: Take = Arc::new(move |shown: Shown, namespace: Option<&String>| {
            let changed = cache.take(shown, namespace, filter.as_ref());
            let keys: HashSet<Key> = changed.iter().flat_map(&named.by_change).collect();
            Vec::from_iter(keys)
        });
        self.follows.push(Box::new(
            move |informers: &mut Informers, namespaces, wake| {
                let of_controller = own.is_none();
                let own = own.map_or_else(|| namespaces.to_vec(), some_or_all);
                let mut synced = informers.follow(watcher, &kind, (&own, &selector), &take, wake);
                for watch in &mut synced {
                    if !of_controller {
                        // The namespaces of this watch may differ from those of the controller, so all objects wait for
                        // it.
                        watch.namespace = None;
                    }
                    states.lock().push(watch.state.clone());
                    if watcher.is_optional {
                        let (kept, woken, wake) = (kept.clone(), woken.clone(), wake.clone());
                        watch.state.when_available(Box::new(move || {
                            woken.all(&kept).into_iter().for_each(|key| wake(key));
                        }));
                    }
                }
                synced
            },
        ));
    }
}

/// Finds the objects to which an object refers.
type Refer = Arc<dyn Fn(&Guarded) -> HashSet<Key> + Send + Sync>;

/// Names the objects to requeue for a changed object.
type ByChange = Box<dyn Fn(&AnyObject) -> Vec<Key> + Send + Sync>;

/// The objects to requeue.
struct Woken {
    by_change: ByChange,
    /// The references of the objects of the controller, if they have some.
    references: Option<Arc<Mutex<References>>>,
}

impl Woken {
    /// The objects to requeue for a change of any object in `cache`, and those that refer to an object that may not exist.
    fn all(&self, cache: &Cache) -> HashSet<Key> {
        let mut keys = HashSet::new();
        for object in cache.all() {
            keys.extend((self.by_change)(&object));
        }
        if let Some(references) = &self.references {
            keys.extend(references.lock().from.keys().cloned());
        }
        keys
    }
}

/// The states of the watches of a kind: one for each namespace.
type States = Arc<Mutex<Vec<Arc<State>>>>;

/// A watch of other objects.
struct Watch {
    kind: Kind,
    watcher: Watcher,
    selector: Selector,
    /// `None` for the namespaces of the controller.
    namespaces: Option<Vec<String>>,
    /// Tells which changes requeue objects; without it, all do.
    filter: Option<Filter>,
}

/// A watch of the kind `S` for a controller of `K`. One of the methods must be called to choose the objects that a
/// change requeues.
#[must_use]
pub struct Watches<'a, K, S> {
    declared: &'a mut Declared,
    watch: Watch,
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
            watch: Watch {
                kind,
                watcher,
                selector: Selector::default(),
                namespaces: None,
                filter: None,
            },
            types: PhantomData,
        }
    }

    /// Limits the watch to objects with these labels, such as `app=shop`.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.watch.selector.labels = selector.into();
        self
    }

    /// Limits the watch to objects with these fields, such as `type=kubernetes.io/tls`.
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.watch.selector.fields = selector.into();
        self
    }

    /// Requeues objects only for those changes of an object that affect the value of `predicate`, for its creation, its
    /// deletion and the beginning of its deletion. Without a predicate, each change counts. kube has
    /// [predicates](kube::runtime::predicates), which combine. The objects that [`Watched`] returns are the newest ones
    /// in any case.
    pub fn predicate(mut self, predicate: impl Predicate<S> + Send + Sync + 'static) -> Self {
        self.watch.filter = Some(Filter::new(self.declared.closures.clone(), predicate));
        self
    }

    /// Reconciles objects although the kind, or the permission to watch it, is missing: for example, a kind of another
    /// project that is not always installed. [`Watched::is_available`] says whether the watch works. Once it begins, the
    /// objects that refer to the kind are requeued. Without this setting, no object is reconciled before the watch has
    /// begun.
    ///
    /// The first reconcile waits until the API server has answered, so it does not take an installed kind for missing.
    pub fn optional(mut self) -> Self {
        self.watch.watcher.is_optional = true;
        self
    }

    /// Requeues the objects of the controller that refer to a changed object. `references` returns the references of an
    /// object of the controller. A reference without a namespace means the namespace of that object. The other object need
    /// not exist yet: its creation and its deletion also requeue the objects that refer to it.
    pub fn referenced_by(
        self,
        references: impl Fn(&K) -> Vec<ObjectRef<S>> + Send + Sync + 'static,
    ) -> Watched<S> {
        let index = Arc::new(Mutex::new(References::default()));
        let (closures, is_namespaced) =
            (self.declared.closures.clone(), self.watch.kind.namespaced);
        let to: Refer = Arc::new(move |object: &Guarded| {
            // An object that does not fit its type refers to nothing.
            let Some(object) = object.0.as_deref().ok().and_then(typed_ref::<K>) else {
                return HashSet::new();
            };
            let named = closures.call("references", &key(object.meta()), || references(object));
            let namespace = object.meta().namespace.as_ref();
            let named = named.iter().flatten();
            named
                .filter_map(|reference| key_from(namespace, reference, is_namespaced))
                .collect()
        });
        self.declared.refer(&index, to);
        let referring = index.clone();
        self.follow(Woken {
            by_change: Box::new(move |to| referring.lock().to(&key(to.metadata()))),
            references: Some(index),
        })
    }

    /// Requeues the objects that `map` names for a changed object, which may have been deleted. `map` is called for the
    /// object before and after the change, so an object that is no longer named is requeued, too. A reference without a
    /// namespace means the namespace of the changed object.
    pub fn requeues(
        self,
        map: impl Fn(&S) -> Vec<ObjectRef<K>> + Send + Sync + 'static,
    ) -> Watched<S> {
        let closures = self.declared.closures.clone();
        self.follow_changes(Box::new(move |object| {
            let Some(object) = typed_ref::<S>(&**object) else {
                return Vec::new();
            };
            let named = closures.call("map", &key(object.meta()), || map(object));
            let namespace = object.meta().namespace.as_ref();
            let named = named.iter().flatten();
            named
                .filter_map(|reference| key_from(namespace, reference, K::Scope::NAMESPACED))
                .collect()
        }))
    }

    /// Requeues the owner of a changed object: the object of the controller to which the controller owner reference
    /// points, before and after the change. [`Builder::owns`](super::Builder::owns) also creates and corrects the owned objects. Use this method for objects that another
    /// program creates, or if their metadata is enough.
    pub fn requeues_owner(self) -> Watched<S> {
        let kind = ApiResource::erase::<K>(&());
        self.follow_changes(Box::new(move |object| {
            let metadata = object.metadata();
            let owner = controlled_by(metadata).filter(|owner| refers_to(owner, &kind));
            Vec::from_iter(owner.map(|owner| (metadata.namespace.clone(), owner.name)))
        }))
    }

    /// Limits the watch to these namespaces, instead of the namespaces of the controller; an empty list means all
    /// namespaces. Ignored for a cluster-scoped kind. The operator's role must have the permissions there.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let unique: BTreeSet<_> = namespaces.into_iter().map(Into::into).collect();
        self.watch.namespaces = Some(Vec::from_iter(unique));
        self
    }

    /// Requeues nothing. The objects are only read.
    pub fn reads(self) -> Watched<S> {
        self.follow_changes(Box::new(|_| Vec::new()))
    }

    fn follow_changes(self, by_change: ByChange) -> Watched<S> {
        let references = None;
        self.follow(Woken {
            by_change,
            references,
        })
    }

    fn follow(self, woken: Woken) -> Watched<S> {
        let watched = Watched {
            cache: Cache::default(),
            states: States::default(),
            is_namespaced: self.watch.kind.namespaced,
            kind: PhantomData,
        };
        let (cache, states) = (watched.cache.clone(), watched.states.clone());
        self.declared.follow(self.watch, cache, states, woken);
        watched
    }
}

/// The objects of a watched kind, as the watch has delivered them. Reading them sends no request.
///
/// The first reconcile waits until the watch has begun, unless the watch is [optional](Watches::optional).
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
        let found = self.cache.0.lock().get(&key).cloned();
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
        let all = self.cache.0.lock();
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
#[derive(Clone, Default)]
struct Cache(Arc<Mutex<HashMap<Key, AnyObject>>>);

impl Cache {
    /// All objects.
    fn all(&self) -> Vec<AnyObject> {
        self.0.lock().values().cloned().collect()
    }

    /// Applies what a watch of `namespace`, or of all namespaces, has shown. Returns each object that changed, before and
    /// after the change, unless the change does not count for `filter`.
    fn take(
        &self,
        shown: Shown,
        namespace: Option<&String>,
        filter: Option<&Filter>,
    ) -> Vec<AnyObject> {
        match shown {
            Shown::All(objects) => self.replace(objects, namespace, filter),
            Shown::Put(object) => self.put(object, filter),
            Shown::Gone(object) => Vec::from_iter(self.0.lock().remove(&key(object.metadata()))),
        }
    }

    /// Replaces the objects in `namespace`, or in all namespaces, with the objects of a new list.
    fn replace(
        &self,
        list: Vec<Guarded>,
        namespace: Option<&String>,
        filter: Option<&Filter>,
    ) -> Vec<AnyObject> {
        let listed: HashSet<_> = list.iter().map(|object| key(object.metadata())).collect();
        let mut changed = Vec::new();
        self.0.lock().retain(|key, object| {
            let is_gone = is_in(key, namespace) && !listed.contains(key);
            changed.extend(is_gone.then(|| object.clone()));
            !is_gone
        });
        for object in list {
            let metadata = object.metadata();
            let known = self.0.lock().get(&key(metadata)).cloned();
            if known
                .is_none_or(|known| known.metadata().resource_version != metadata.resource_version)
            {
                changed.extend(self.put(object, filter));
            }
        }
        changed
    }

    /// Adds a new or changed object. An object that does not fit its type counts as deleted.
    fn put(&self, object: Guarded, filter: Option<&Filter>) -> Vec<AnyObject> {
        let key = key(object.metadata());
        let now = object.0.ok();
        let before = match &now {
            Some(object) => self.0.lock().insert(key, object.clone()),
            None => self.0.lock().remove(&key),
        };
        if let (Some(filter), Some(before), Some(now)) = (filter, &before, &now)
            && !filter.counts(&**before, &**now)
        {
            return Vec::new();
        }
        before.into_iter().chain(now).collect()
    }
}

/// The references between objects, in both directions.
#[derive(Default)]
struct References {
    from: HashMap<Key, HashSet<Key>>,
    to: HashMap<Key, HashSet<Key>>,
}

impl References {
    /// Sets the objects that the object `from` refers to.
    fn set(&mut self, from: Key, to: HashSet<Key>) {
        for old in self.from.remove(&from).unwrap_or_default() {
            if let Some(referring) = self.to.get_mut(&old) {
                referring.remove(&from);
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
            self.from.insert(from, to);
        }
    }

    /// Forgets the objects in `namespace`, or in all namespaces, that are not `listed`.
    fn retain(&mut self, namespace: Option<&String>, listed: &HashSet<Key>) {
        let gone: Vec<_> = self
            .from
            .keys()
            .filter(|key| is_in(key, namespace) && !listed.contains(*key))
            .cloned()
            .collect();
        for from in gone {
            self.set(from, HashSet::new());
        }
    }

    /// The objects that refer to `to`.
    fn to(&self, to: &Key) -> Vec<Key> {
        self.to.get(to).into_iter().flatten().cloned().collect()
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

    #[test]
    fn a_change_returns_the_object_before_and_after_it() {
        let changes = [
            Shown::Put(secret("2", "b")),
            Shown::All(vec![secret("3", "b")]),
        ];
        for change in changes {
            let watched = Cache::default();
            watched.take(Shown::All(vec![secret("1", "a")]), None, None);
            let changed = watched.take(change, None, None);
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
        let watched = Cache::default();
        watched.take(Shown::All(vec![secret("1", "a")]), None, Some(&filter));
        for (shown, changed) in [
            (Shown::Put(secret("2", "a")), 0),
            (Shown::All(vec![secret("3", "a")]), 0),
            (Shown::Put(secret("4", "b")), 2),
            (Shown::Gone(secret("5", "b")), 1),
        ] {
            assert_eq!(watched.take(shown, None, Some(&filter)).len(), changed);
        }
    }

    #[test]
    fn an_object_that_is_listed_again_has_not_changed() {
        let watched = Cache::default();
        watched.take(Shown::All(vec![secret("1", "a")]), None, None);
        assert!(
            watched
                .take(Shown::All(vec![secret("1", "a")]), None, None)
                .is_empty()
        );
        let gone = watched.take(Shown::All(Vec::new()), None, None);
        assert_eq!(gone.len(), 1);
    }
}
