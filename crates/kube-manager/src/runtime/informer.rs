//! Informers: each informer watches a kind once, for all controllers of the process that need the same watch.

use std::{collections::HashSet, mem, pin::pin, sync::Arc};

use futures::StreamExt;
use kube::runtime::watcher::Event;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::{
    object::Guarded,
    scope::Kind,
    services::Services,
    watch::{Extent, Key, Selector, Shown, State, Watcher, is_in, watch},
};

/// Handles the events of a watch in their order.
pub trait Handler: Send {
    /// Handles an event. This must not block, because all controllers that share the watch wait for it.
    fn handle(&mut self, shown: &Shown);
}

/// The objects of other kinds that a controller knows, and the objects of the controller that their changes requeue.
pub trait Index: Send + Sync {
    /// Takes an event of the watch of `namespace`, or of all namespaces. Returns the keys of the objects to requeue.
    fn take(&self, shown: &Shown, namespace: Option<&String>) -> Vec<Key>;

    /// The keys of the objects to requeue when the watch begins after its kind or the permission was missing.
    fn all(&self) -> HashSet<Key> {
        HashSet::new()
    }
}

/// Requeues the object with this key, if the controller has it.
pub type Wake = Arc<dyn Fn(Key) + Send + Sync>;

/// The states of the watches of a kind: one for each namespace.
pub type States = Arc<Mutex<Vec<Arc<State>>>>;

/// The watch of another kind than the controller's own.
pub struct Follow {
    pub watcher: Watcher,
    pub kind: Kind,
    pub selector: Selector,
    /// `None` for the namespaces of the controller.
    pub namespaces: Option<Vec<String>>,
    pub index: Arc<dyn Index>,
    /// Gets the states of the watches.
    pub states: States,
}

/// A watch for which reconciles wait.
#[derive(Clone)]
pub struct Synced {
    /// The namespace of the objects that wait; `None` for all objects.
    pub namespace: Option<String>,
    pub state: Arc<State>,
    pub is_optional: bool,
}

impl Synced {
    /// Waits until reconciles can begin.
    pub async fn wait(&self) {
        self.state.wait(self.is_optional).await;
    }
}

/// The informers of a process. They are all registered before they start, so that each handler gets the first list.
#[derive(Default)]
pub struct Informers(Vec<Informer>);

struct Informer {
    kind: Kind,
    extent: Extent,
    /// Each controller is listed once.
    watchers: Vec<Watcher>,
    handlers: Vec<Box<dyn Handler>>,
    state: Arc<State>,
}

impl Informers {
    /// Adds a handler for the objects in `extent`, for the controller `watcher`. Returns the state of the watch,
    /// which begins after the handler has received the first list.
    pub fn add(
        &mut self,
        watcher: Watcher,
        kind: &Kind,
        extent: Extent,
        handler: Box<dyn Handler>,
    ) -> Arc<State> {
        let mut started = self.0.iter_mut();
        let same = started.find(|informer| informer.kind == *kind && informer.extent == extent);
        if let Some(informer) = same {
            return informer.add(watcher, handler);
        }
        let mut informer = Informer {
            kind: kind.clone(),
            extent,
            watchers: Vec::new(),
            handlers: Vec::new(),
            state: Arc::default(),
        };
        let state = informer.add(watcher, handler);
        self.0.push(informer);
        state
    }

    /// Starts to follow a kind for a controller with these `namespaces`. The controller's reconciles wait for the returned
    /// watches.
    pub fn follow(
        &mut self,
        follow: Follow,
        namespaces: &[Option<String>],
        wake: &Wake,
    ) -> Vec<Synced> {
        let Follow {
            watcher,
            kind,
            index,
            ..
        } = follow;
        let is_of_controller = follow.namespaces.is_none();
        let namespaces = match follow.namespaces {
            _ if !kind.namespaced => vec![None],
            Some(namespaces) => some_or_all(namespaces),
            None => namespaces.to_vec(),
        };
        let mut synced = Vec::new();
        for namespace in namespaces {
            let extent = Extent {
                namespace: namespace.clone(),
                selector: follow.selector.clone(),
            };
            // All objects wait for a watch whose namespaces may differ from those of the controller.
            let waiting = namespace.clone().filter(|_| is_of_controller);
            let handler = Follower {
                index: index.clone(),
                namespace: namespace.clone(),
                waiting: waiting.clone(),
                wake: wake.clone(),
                is_first: true,
            };
            let state = self.add(watcher, &kind, extent, Box::new(handler));
            follow.states.lock().push(state.clone());
            if watcher.is_optional {
                let (index, wake) = (index.clone(), wake.clone());
                state.when_available(Box::new(move || {
                    index.all().into_iter().for_each(|key| wake(key));
                }));
            }
            synced.push(Synced {
                namespace: waiting,
                state,
                is_optional: watcher.is_optional,
            });
        }
        synced
    }

    /// Spawns all informers in `tasks`. They end when the manager stops.
    pub fn start(self, services: &Services, tasks: &mut JoinSet<()>) {
        for informer in self.0 {
            let (kind, extent, mut handlers) = (informer.kind, informer.extent, informer.handlers);
            let events = watch(services, &kind, &extent, informer.watchers, informer.state);
            tasks.spawn(async move {
                let (mut events, mut list) = (pin!(events), Vec::new());
                while let Some(event) = events.next().await {
                    if let Some(shown) = shown(event, &mut list) {
                        handlers
                            .iter_mut()
                            .for_each(|handler| handler.handle(&shown));
                    }
                }
            });
        }
    }
}

impl Informer {
    fn add(&mut self, watcher: Watcher, handler: Box<dyn Handler>) -> Arc<State> {
        let mut same = self.watchers.iter_mut();
        match same.find(|known| known.controller == watcher.controller) {
            Some(same) => {
                same.keeps_status_fields |= watcher.keeps_status_fields;
                same.is_optional &= watcher.is_optional;
            }
            None => self.watchers.push(watcher),
        }
        self.handlers.push(handler);
        self.state.clone()
    }
}

/// What an event shows. Adds an object of a list to `list`, which is shown at its end.
fn shown(event: Event<Guarded>, list: &mut Vec<Guarded>) -> Option<Shown> {
    match event {
        Event::Init => {
            list.clear();
            None
        }
        Event::InitApply(object) => {
            list.push(object);
            None
        }
        Event::InitDone => Some(Shown::All(mem::take(list))),
        Event::Apply(object) => Some(Shown::Put(object)),
        Event::Delete(object) => Some(Shown::Gone(object)),
    }
}

/// The namespaces to watch: each of `namespaces`, or all namespaces if the list is empty.
pub fn some_or_all(namespaces: Vec<String>) -> Vec<Option<String>> {
    if namespaces.is_empty() {
        return vec![None];
    }
    namespaces.into_iter().map(Some).collect()
}

/// Passes the events of a watch to an index, and wakes the objects that the index returns.
struct Follower {
    index: Arc<dyn Index>,
    namespace: Option<String>,
    /// See [`Synced::namespace`].
    waiting: Option<String>,
    wake: Wake,
    is_first: bool,
}

impl Handler for Follower {
    fn handle(&mut self, shown: &Shown) {
        let mut woken = self.index.take(shown, self.namespace.as_ref());
        if matches!(shown, Shown::All(_)) && mem::take(&mut self.is_first) {
            // An object that waits for this watch is reconciled after the start anyway. An object of another namespace
            // may have been reconciled already.
            woken.retain(|key| !is_in(key, self.waiting.as_ref()));
        }
        woken.into_iter().for_each(|key| (self.wake)(key));
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
    use kube::{Resource, core::PartialObjectMeta};

    use super::{
        super::{
            scope::{Scope, Watchable},
            watch::key,
        },
        *,
    };

    impl Informers {
        /// Returns the namespaces in which `kind` is watched.
        pub fn namespaces(&self, kind: &Kind) -> Vec<Option<String>> {
            let of_kind = self.0.iter().filter(|informer| informer.kind == *kind);
            let namespaces = of_kind.map(|informer| informer.extent.namespace.clone());
            namespaces.collect()
        }
    }

    /// Wakes each object that it is shown.
    struct Names;

    impl Index for Names {
        fn take(&self, shown: &Shown, _: Option<&String>) -> Vec<Key> {
            let objects = match shown {
                Shown::Gone(object) => slice::from_ref(object),
                _ => shown.objects(),
            };
            objects
                .iter()
                .map(|object| key(object.metadata()))
                .collect()
        }
    }

    struct Nothing;

    impl Handler for Nothing {
        fn handle(&mut self, _: &Shown) {}
    }

    fn watcher(controller: &'static str) -> Watcher {
        Watcher {
            controller,
            field_manager: controller,
            rules: &[],
            keeps_status_fields: false,
            is_optional: false,
        }
    }

    fn extent(namespace: &str, labels: &str) -> Extent {
        let (labels, fields) = (labels.to_owned(), String::new());
        Extent {
            namespace: Some(namespace.to_owned()),
            selector: Selector { labels, fields },
        }
    }

    /// How many watches there are after `K` is watched by one more controller.
    fn add<K>(informers: &mut Informers, controller: &'static str, extent: Extent) -> usize
    where
        K: Watchable + Resource<DynamicType = (), Scope: Scope>,
    {
        let kind = Kind::of::<K>();
        informers.add(watcher(controller), &kind, extent, Box::new(Nothing));
        informers.0.len()
    }

    #[test]
    fn only_the_same_watch_is_shared() {
        let mut informers = Informers::default();
        assert_eq!(add::<Secret>(&mut informers, "a", extent("one", "")), 1);
        assert_eq!(add::<Secret>(&mut informers, "b", extent("one", "")), 1);
        assert_eq!(add::<ConfigMap>(&mut informers, "b", extent("one", "")), 2);
        assert_eq!(add::<Secret>(&mut informers, "b", extent("two", "")), 3);
        assert_eq!(add::<Secret>(&mut informers, "b", extent("one", "a=b")), 4);
        let metadata = add::<PartialObjectMeta<Secret>>;
        assert_eq!(metadata(&mut informers, "a", extent("one", "")), 5);
        assert_eq!(metadata(&mut informers, "b", extent("one", "")), 5);
    }

    #[test]
    fn a_kind_without_namespaces_is_watched_once() {
        let mut informers = Informers::default();
        let namespaces = [Some("one".to_owned()), Some("two".to_owned())];
        let wake: Wake = Arc::new(|_| {});
        let follow = Follow {
            watcher: watcher("a"),
            kind: Kind::of::<Node>(),
            selector: Selector::default(),
            namespaces: None,
            index: Arc::new(Names),
            states: States::default(),
        };
        let synced = informers.follow(follow, &namespaces, &wake);
        assert_eq!((synced.len(), informers.0.len()), (1, 1));
        assert_eq!(synced[0].namespace, None);
    }

    fn secret(name: &str) -> Guarded {
        let mut secret = Secret::default();
        secret.metadata.name = Some(name.to_owned());
        Guarded(Ok(Arc::new(secret)))
    }

    /// A handler of the watch of `namespace`, and the names that it wakes.
    fn follower(namespace: Option<&str>) -> (Follower, Arc<Mutex<Vec<String>>>) {
        let woken = Arc::new(Mutex::new(Vec::new()));
        let wakes = woken.clone();
        let handler = Follower {
            index: Arc::new(Names),
            namespace: namespace.map(str::to_owned),
            waiting: namespace.map(str::to_owned),
            wake: Arc::new(move |(_, name)| wakes.lock().push(name)),
            is_first: true,
        };
        (handler, woken)
    }

    #[test]
    fn the_first_list_wakes_objects_of_other_namespaces() {
        let (mut handler, woken) = follower(Some("b"));
        let list = [("a", "refers"), ("b", "waits")].map(|(namespace, name)| {
            let mut secret = Secret::default();
            secret.metadata.namespace = Some(namespace.to_owned());
            secret.metadata.name = Some(name.to_owned());
            Guarded(Ok(Arc::new(secret)))
        });
        handler.handle(&Shown::All(list.to_vec()));
        assert_eq!(*woken.lock(), ["refers"]);
        handler.handle(&Shown::All(list.to_vec()));
        assert_eq!(*woken.lock(), ["refers", "refers", "waits"]);
    }

    #[test]
    fn the_first_list_requeues_nothing() {
        let (mut handler, woken) = follower(None);
        let mut list = Vec::new();
        let first = [
            Event::Init,
            Event::InitApply(secret("first")),
            Event::InitDone,
        ];
        // The second list is interrupted and starts again.
        let again = [Event::Init, Event::InitApply(secret("half")), Event::Init];
        let second = [Event::InitApply(secret("second")), Event::InitDone];
        let change = [
            Event::Apply(secret("third")),
            Event::Delete(secret("third")),
        ];
        for event in first.into_iter().chain(again).chain(second).chain(change) {
            if let Some(shown) = shown(event, &mut list) {
                handler.handle(&shown);
            }
        }
        assert_eq!(*woken.lock(), ["second", "third", "third"]);
    }
}
