//! Informers: each informer watches a kind once, for all controllers of the process that need the same watch.

use std::{mem, pin::pin, sync::Arc};

use futures::StreamExt;
use kube::runtime::watcher::Event;
use tokio::task::JoinSet;

use super::{
    object::Guarded,
    scope::Kind,
    services::Services,
    watch::{Extent, Key, Selector, Shown, State, Watcher, watch},
};

/// Handles the events of a watch in their order. It must not block, because all controllers that share the watch wait
/// for it.
pub type Handler = Box<dyn FnMut(&Event<Guarded>) + Send>;

/// Takes an event of the watch of a namespace, or of all. Returns the keys of the objects to requeue.
pub type Take = Arc<dyn Fn(Shown, Option<&String>) -> Vec<Key> + Send + Sync>;

/// Requeues the object with this key, if the controller has it.
pub type Wake = Arc<dyn Fn(Key) + Send + Sync>;

/// Adds events for a controller, in addition to the changes of its own kind: registers handlers for the controller's
/// namespaces that call the [`Wake`] function. The controller's reconciles wait for the returned watches.
pub type Follow = Box<dyn FnOnce(&mut Informers, &[Option<String>], &Wake) -> Vec<Synced> + Send>;

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
    handlers: Vec<Handler>,
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
        handler: Handler,
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

    /// Adds a handler for each of `namespaces`. It passes each event of the watch to `take`, and the returned keys to
    /// `wake`.
    pub fn follow(
        &mut self,
        watcher: Watcher,
        kind: &Kind,
        (namespaces, selector): (&[Option<String>], &Selector),
        take: &Take,
        wake: &Wake,
    ) -> Vec<Synced> {
        let everywhere = [None];
        let namespaces = if kind.namespaced {
            namespaces
        } else {
            &everywhere
        };
        let mut synced = Vec::new();
        for namespace in namespaces {
            let extent = Extent {
                namespace: namespace.clone(),
                selector: selector.clone(),
            };
            let (take, wake, within) = (take.clone(), wake.clone(), namespace.clone());
            let handler = follow(
                move |shown| take(shown, within.as_ref()),
                move |key| wake(key),
            );
            synced.push(Synced {
                namespace: namespace.clone(),
                state: self.add(watcher, kind, extent, handler),
                is_optional: watcher.is_optional,
            });
        }
        synced
    }

    /// Spawns all informers in `tasks`. They end when the manager stops.
    pub fn start(self, services: &Services, tasks: &mut JoinSet<()>) {
        for informer in self.0 {
            informer.start(services, tasks);
        }
    }
}

impl Informer {
    fn add(&mut self, watcher: Watcher, handler: Handler) -> Arc<State> {
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

    fn start(self, services: &Services, tasks: &mut JoinSet<()>) {
        let Self {
            kind,
            extent,
            watchers,
            mut handlers,
            state,
        } = self;
        let events = watch(services, &kind, &extent, watchers, state);
        tasks.spawn(async move {
            let mut events = pin!(events);
            while let Some(event) = events.next().await {
                handlers.iter_mut().for_each(|handler| handler(&event));
            }
        });
    }
}

/// The namespaces to watch: each of `namespaces`, or all namespaces if the list is empty.
pub fn some_or_all(namespaces: Vec<String>) -> Vec<Option<String>> {
    if namespaces.is_empty() {
        return vec![None];
    }
    namespaces.into_iter().map(Some).collect()
}

/// A handler that passes each event of a watch to `take`, and the returned keys of objects to `wake`. The first list
/// requeues no objects, because each object is reconciled after the start anyway.
fn follow(
    take: impl Fn(Shown) -> Vec<Key> + Send + 'static,
    wake: impl Fn(Key) + Send + 'static,
) -> Handler {
    let (mut list, mut is_first) = (Vec::new(), true);
    Box::new(move |event| {
        let shown = match event {
            Event::Init => return list = Vec::new(),
            Event::InitApply(object) => return list.push(object.clone()),
            Event::InitDone => Shown::All(mem::take(&mut list)),
            Event::Apply(object) => Shown::Put(object.clone()),
            Event::Delete(object) => Shown::Gone(object.clone()),
        };
        let is_list = matches!(shown, Shown::All(_));
        let woken = take(shown);
        if is_list && mem::take(&mut is_first) {
            return;
        }
        woken.into_iter().for_each(&wake);
    })
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
    use kube::{Resource, core::PartialObjectMeta};

    use super::{
        super::{
            scope::{Scope, Watchable},
            watch::key,
        },
        *,
    };

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
        informers.add(watcher(controller), &kind, extent, Box::new(|_| {}));
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
        let kind = Kind::of::<Node>();
        let namespaces = [Some("one".to_owned()), Some("two".to_owned())];
        let wake: Wake = Arc::new(|_| {});
        let take: Take = Arc::new(|_, _| Vec::new());
        let selected = (namespaces.as_slice(), &Selector::default());
        let synced = informers.follow(watcher("a"), &kind, selected, &take, &wake);
        assert_eq!((synced.len(), informers.0.len()), (1, 1));
        assert_eq!(synced[0].namespace, None);
    }

    #[test]
    fn the_first_list_requeues_nothing() {
        fn names(shown: Shown) -> Vec<Key> {
            match shown {
                Shown::All(objects) => {
                    let keys = objects.iter().map(|object| key(object.metadata()));
                    keys.collect()
                }
                Shown::Put(object) | Shown::Gone(object) => vec![key(object.metadata())],
            }
        }
        fn secret(name: &str) -> Guarded {
            let mut secret = Secret::default();
            secret.metadata.name = Some(name.to_owned());
            Guarded(Ok(Arc::new(secret)))
        }

        let woken = Arc::new(Mutex::new(Vec::new()));
        let wakes = woken.clone();
        let mut handler = follow(names, move |(_, name)| {
            let mut woken = wakes.lock();
            woken.push(name);
        });
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
            handler(&event);
        }
        assert_eq!(*woken.lock(), ["second", "third", "third"]);
    }
}
