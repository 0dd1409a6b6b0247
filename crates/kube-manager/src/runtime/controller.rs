//! Runs a reconciler for each changed object, and again after a failure. Several objects are reconciled at once, but
//! never the same object twice at once. A failure affects one object only.

use std::{collections::HashSet, mem, panic, sync::Arc};

use anyhow::Context as _;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinSet},
};

use super::{
    access::Access,
    backoff::Backoff,
    builder::{Builder, Settings},
    changes::{Changes, Counts},
    informer::{Handler, Informers, Synced, Wake, some_or_all},
    object::{Guarded, Write, write},
    objects::{Objects, Store, Stores},
    queue::{Priority, Queue, WorkItem},
    reconciler::Reconciler,
    scope::Kind,
    services::Services,
    tie::Tie,
    watch::{Extent, Selector, Shown, Watcher, key},
    watched::References,
    written::Written,
};

mod worker;

use worker::{AnyReconciler, Worker, finalizers};

/// The objects of one watched namespace, or of all.
struct Shard {
    worker: Arc<Worker>,
    store: Store,
    queue: Arc<Queue>,
}

/// What a controller of any kind does.
struct Controller {
    reconciler: Box<dyn AnyReconciler>,
    kind: Kind,
    write: Write,
    finalizer: Option<String>,
    every_change: bool,
    access: Access,
    stores: Stores,
    settings: Settings,
}

/// Starts the reconciler that `new` creates as tasks: one task for each watched namespace, or one for all namespaces.
///
/// # Errors
///
/// When `new` has chosen a setting that cannot work.
pub(super) fn start<R: Reconciler>(
    new: impl FnOnce(&mut Builder<R::Object>) -> R,
    services: &Services,
    informers: &mut Informers,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<()> {
    let watcher = Watcher {
        controller: R::NAME,
        field_manager: R::FIELD_MANAGER,
        rules: R::RULES,
        keeps_status_fields: false,
        is_optional: false,
    };
    let (kind, stores) = (Kind::of::<R::Object>(), Stores::default());
    let written = Written::new(kind.type_id, stores.clone());
    let access = Access::new(services, watcher, written);
    let mut builder = Builder::new(access.clone(), Objects::new(stores.clone()), services);
    let controller = Controller {
        reconciler: Box::new(new(&mut builder)),
        kind,
        write: write::<R::Object>,
        finalizer: R::FINALIZER.then(|| finalizer_name(R::NAME, R::FINALIZER_NAME)),
        every_change: R::EVERY_CHANGE,
        access,
        stores,
        settings: builder.settings,
    };
    controller.start(services, informers, tasks)
}

/// The name of the finalizer of the controller `controller`.
fn finalizer_name(controller: &str, chosen: Option<&str>) -> String {
    match chosen {
        Some(name) => name.to_owned(),
        None => format!("{controller}/finalizer"),
    }
}

impl Controller {
    /// See [`start`].
    fn start(
        self,
        services: &Services,
        informers: &mut Informers,
        tasks: &mut JoinSet<()>,
    ) -> anyhow::Result<()> {
        let Self {
            kind,
            access,
            finalizer,
            settings,
            ..
        } = self;
        let name = access.name();
        let checked = settings.check(finalizer.is_some());
        checked.with_context(|| format!("cannot start the controller `{name}`"))?;
        let mut releases = settings.owned;
        releases.retain(|children| children.tie() == Tie::Annotation);
        let same_kind = services
            .kinds
            .iter()
            .filter(|other| **other == kind.type_id);
        if same_kind.count() > 1 {
            access.share_status();
        }
        let watcher = access.watcher();
        let own = Watcher {
            keeps_status_fields: access.shares_status(),
            ..watcher
        };
        let metrics = &services.metrics;
        let limit = metrics.limit.with_label_values(&[name]);
        limit.set(i64::from(settings.concurrency));
        for result in ["success", "error"] {
            // Prometheus sees the first increase only if the counter was 0 before.
            metrics.reconciles.with_label_values(&[name, result]);
        }
        let counts = Arc::new(match settings.predicate {
            Some(predicate) => Counts::Property(predicate),
            None if self.every_change => Counts::Every,
            None if services.in_object.has(&kind.resource) => Counts::Content(self.write),
            None => Counts::by_default(&kind.resource.group),
        });
        let concurrency = usize::from(settings.concurrency);
        let watched_namespaces = some_or_all(settings.namespaces);
        let worker = Arc::new(Worker {
            reconciler: self.reconciler,
            kind: kind.clone(),
            write: self.write,
            finalizer: finalizer.clone(),
            access,
            services: services.clone(),
            queue: metrics.queue(name),
            backoff: Backoff::new(settings.pauses),
            limit: settings.timeout,
            slots: Arc::new(Semaphore::new(concurrency)),
            deleted_slots: Arc::new(Semaphore::new(concurrency)),
            releases,
            namespaces: watched_namespaces.clone(),
            cleaned_up: Mutex::default(),
            selects: settings.selector != Selector::default(),
        });

        let declared = settings.declared;
        let namespaces = if kind.namespaced {
            watched_namespaces.clone()
        } else {
            vec![None]
        };
        let (mut shards, mut synced) = (Vec::new(), Vec::new());
        for namespace in &namespaces {
            let shard = Shard {
                worker: worker.clone(),
                store: Store::default(),
                queue: Arc::new(Queue::new(worker.queue.clone())),
            };
            let (store, closures) = (shard.store.clone(), declared.closures.clone());
            self.stores.add(store.clone());
            let handler = Own {
                worker: worker.clone(),
                references: declared.references.clone(),
                namespace: namespace.clone(),
                changes: Changes::new(store.clone(), counts.clone(), closures),
                queue: shard.queue.clone(),
                is_first: true,
            };
            let extent = Extent {
                namespace: namespace.clone(),
                selector: settings.selector.clone(),
            };
            synced.push(Synced {
                namespace: namespace.clone(),
                state: informers.add(own, &kind, extent, Box::new(handler)),
                is_optional: false,
            });
            if settings.selector.can_change()
                && let Some(finalizer) = &finalizer
            {
                let all = Extent {
                    namespace: namespace.clone(),
                    selector: Selector::default(),
                };
                let handler = Unselected {
                    finalizer: finalizer.clone(),
                    store,
                    queue: shard.queue.clone(),
                };
                informers.add(watcher, &kind.metadata(), all, Box::new(handler));
            }
            shards.push(Arc::new(shard));
        }
        let wake = wake(shards.clone(), kind.namespaced);
        for trigger in declared.triggers {
            trigger.lock().push(wake.clone());
        }
        for follow in declared.follows {
            synced.extend(informers.follow(follow, &watched_namespaces, &wake));
        }
        for (namespace, shard) in namespaces.iter().zip(shards) {
            let mut watches = synced.clone();
            // A cluster-scoped object may have children in all namespaces.
            watches.retain(|watch| {
                namespace.is_none() || watch.namespace.is_none() || watch.namespace == *namespace
            });
            tasks.spawn(run(shard, all_begun(watches)));
        }
        Ok(())
    }
}

/// Queues the object with this key in those shards of the controller that have the object.
fn wake(shards: Vec<Arc<Shard>>, is_namespaced: bool) -> Wake {
    Arc::new(move |(namespace, name)| {
        let key = (namespace.filter(|_| is_namespaced), name);
        for shard in &shards {
            // The cleanup of an object that is no longer selected may run, or wait to continue.
            if shard.store.has(&key) || shard.queue.is_unfinished(&key) {
                shard.queue.push(key.clone(), Priority::Normal);
            }
        }
    })
}

/// Waits until reconciles need not wait for `watches`.
async fn all_begun(watches: Vec<Synced>) {
    for watch in watches {
        watch.wait().await;
    }
}

/// Handles the events of the watch of the controller's own kind: first updates what reconciles read, then adds the
/// changed objects to the queue.
struct Own {
    worker: Arc<Worker>,
    references: Vec<Arc<References>>,
    namespace: Option<String>,
    changes: Changes,
    queue: Arc<Queue>,
    is_first: bool,
}

impl Handler for Own {
    fn handle(&mut self, shown: &Shown) {
        let (worker, queue) = (&self.worker, &self.queue);
        let before = match shown {
            Shown::Put(object) => self.changes.get(&key(object.metadata())),
            Shown::All(_) | Shown::Gone(_) => None,
        };
        let changed = self.changes.take(shown, |deleted| {
            let (metadata, key) = (deleted.metadata(), key(deleted.metadata()));
            worker.forget(&key, metadata);
            queue.delete(&key, metadata);
            if worker.may_have_lost(metadata) {
                queue.push(key, Priority::Normal);
            }
        });
        if let Shown::Put(object) = shown {
            let (metadata, key) = (object.metadata(), key(object.metadata()));
            // A running reconcile may write its older object again. Its end removes the version.
            if !self.queue.is_running(&key) {
                if let Some(before) = &before
                    && !changed.contains(&key)
                    && worker.may_have_late_status(before, object)
                {
                    self.queue.push(key.clone(), Priority::Normal);
                }
                worker.access.written.shown(&key, Some(metadata));
            }
        }
        for object in shown.objects() {
            let metadata = object.metadata();
            if self.worker.access.written.ends_doubt(metadata) {
                self.queue.push(key(metadata), Priority::Normal);
            }
        }
        let references = self.references.iter();
        let mut gaining: HashSet<_> = references
            .flat_map(|references| references.take(shown, self.namespace.as_ref()))
            .collect();
        let priority = match shown {
            Shown::All(_) if mem::take(&mut self.is_first) => Priority::Low,
            _ => Priority::Normal,
        };
        for key in changed {
            gaining.remove(&key);
            self.queue.push(key, priority);
        }
        for key in gaining {
            self.queue.push(key, priority);
        }
    }
}

/// Handles the events of a watch of all objects of the kind: queues an object that the selector of the controller no
/// longer selects when its deletion begins, if it still has the finalizer of the controller.
struct Unselected {
    finalizer: String,
    store: Store,
    queue: Arc<Queue>,
}

impl Handler for Unselected {
    fn handle(&mut self, shown: &Shown) {
        for object in shown.objects() {
            let (metadata, key) = (object.metadata(), key(object.metadata()));
            if metadata.deletion_timestamp.is_some()
                && finalizers(metadata).contains(&self.finalizer)
                && !self.store.has(&key)
            {
                self.queue.push(key, Priority::Normal);
            }
        }
    }
}

/// Reconciles the objects from the queue, until the process stops. Begins after `synced`: before, a reconcile would not
/// see all objects; and without the permission to watch, it would never see a change.
async fn run(shard: Arc<Shard>, synced: impl Future<Output = ()>) {
    let stop = &shard.worker.services.host.stop;
    if stop.run_until_cancelled(synced).await.is_some() {
        tokio::join!(reconcile_changed(&shard), report_deleted(&shard));
    }
}

/// Reconciles each changed object, several at once.
async fn reconcile_changed(shard: &Arc<Shard>) {
    let worker = &shard.worker;
    let mut reconciles = JoinSet::new();
    let begin = async {
        loop {
            tokio::select! {
                () = shard.queue.waits() => {}
                Some(ended) = reconciles.join_next() => {
                    propagate_panic(ended);
                    continue;
                }
            }
            // The slot comes first, so that it is for the object that is the most urgent one then.
            let slot = slot(&worker.slots).await;
            if let Some(item) = shard.queue.begin() {
                let reconciling = shard.clone();
                reconciles.spawn(async move { reconciling.reconcile(item, slot).await });
            }
        }
    };
    worker.services.host.stop.run_until_cancelled(begin).await;
    while let Some(ended) = reconciles.join_next().await {
        propagate_panic(ended);
    }
}

/// Calls `deleted` for each deleted object, several at once.
async fn report_deleted(shard: &Arc<Shard>) {
    let worker = &shard.worker;
    let mut calls = JoinSet::new();
    let begin = async {
        loop {
            let (item, deleted) = tokio::select! {
                gone = shard.queue.next_gone() => gone,
                Some(ended) = calls.join_next() => {
                    propagate_panic(ended);
                    continue;
                }
            };
            let slot = slot(&worker.deleted_slots).await;
            let called = worker.clone();
            calls.spawn(async move {
                let _slot = slot;
                for object in deleted {
                    called.report_deleted(&object).await;
                }
                drop(item);
            });
        }
    };
    worker.services.host.stop.run_until_cancelled(begin).await;
    while let Some(ended) = calls.join_next().await {
        propagate_panic(ended);
    }
}

/// Waits for one of `slots`, which are never closed.
async fn slot(slots: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    slots.clone().acquire_owned().await.ok()
}

/// Panics of user code are caught earlier, so a panic here is a fault of this crate, which ends the process.
fn propagate_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        panic::resume_unwind(error.into_panic());
    }
}

impl Shard {
    /// Reconciles the object of this item, if it still exists.
    async fn reconcile(&self, item: WorkItem, _slot: Option<OwnedSemaphorePermit>) {
        let worker = &self.worker;
        // A process that was paused must not work with outdated objects from its memory.
        if !worker.services.leadership.holds() {
            return;
        }
        let key = item.key();
        let before = self.store.get(key);
        let action = match &before {
            Some(object) => worker.reconcile(object, key).await,
            None if worker.finalizer.is_some() && worker.selects => {
                worker.reconcile_unselected(key).await
            }
            None => {
                worker.backoff.forget(key);
                return;
            }
        };
        if self.store.get(key).is_none() && !worker.selects {
            worker.backoff.forget(key);
        } else if let Some(delay) = action.requeue_after {
            item.repeat(worker.services.observer.pace(delay));
        }
        let key = key.clone();
        drop(item);
        // The watch may have delivered the object during the reconcile, or before the answer to its write has arrived.
        let shown = self.store.get(&key);
        let metadata = shown.as_ref().map(Guarded::metadata);
        if let (Some(before), Some(shown)) = (&before, &shown)
            && worker.may_have_late_status(before, shown)
        {
            self.queue.push(key.clone(), Priority::Normal);
        }
        worker.access.written.shown(&key, metadata);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        any::TypeId, collections::HashMap, convert::Infallible, future::ready, time::Duration,
    };

    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use kube::{ResourceExt, core::ObjectMeta, runtime::reflector::ObjectRef};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tokio::{sync::Notify, time::advance};

    use super::*;
    use crate::runtime::{
        action::Action,
        children::Children,
        closures::Closures,
        context::Context,
        metrics::Metrics,
        object::{Object, typed_ref},
        rbac::Rule,
        requests::PATIENCE,
    };

    /// Records the calls for each object: the uid of a reconciled object, a minus sign and the uid of a deleted one.
    #[derive(Default)]
    struct Recorder {
        calls: Mutex<HashMap<String, Vec<String>>>,
        called: Notify,
        /// What the context of each reconcile says about earlier attempts.
        attempts: Mutex<Vec<u32>>,
    }

    impl Recorder {
        fn record(&self, name: &str, call: String) {
            let mut calls = self.calls.lock();
            calls.entry(name.to_owned()).or_default().push(call);
            self.called.notify_one();
        }

        fn calls(&self, name: &str) -> Vec<String> {
            self.calls.lock().get(name).cloned().unwrap_or_default()
        }

        /// Waits until the calls for the object `name` are `expected`.
        async fn until(&self, name: &str, is_expected: impl Fn(&[String]) -> bool) {
            let wait = async {
                while !is_expected(&self.calls(name)) {
                    self.called.notified().await;
                }
            };
            let in_time = tokio::time::timeout(Duration::from_secs(10), wait).await;
            in_time.unwrap_or_else(|_| panic!("{name}: {:?}", self.calls(name)));
        }
    }

    struct Recording(Arc<Recorder>);

    impl Reconciler for Recording {
        type Object = ConfigMap;
        type Error = Infallible;

        const NAME: &'static str = "test";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(
            &self,
            object: &ConfigMap,
            context: &Context,
        ) -> Result<Action, Infallible> {
            let name = object.name_any();
            self.0.attempts.lock().push(context.attempt());
            assert_ne!(name, "panics");
            if name == "hangs" {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            self.0.record(&name, object.uid().unwrap_or_default());
            Ok(Action::await_change())
        }

        async fn deleted(&self, object: &ObjectRef<ConfigMap>, _: &Context) {
            let uid = object.extra.uid.clone().unwrap_or_default();
            self.0.record(&object.name, format!("-{uid}"));
        }
    }

    /// A controller without an API server, and the handler of its watch.
    fn shard(concurrency: usize) -> (Shard, Own, Arc<Recorder>) {
        shard_with(concurrency, None, None)
    }

    /// The same, with a limit for each call of the reconciler, and with a finalizer and a selector.
    fn shard_with(
        concurrency: usize,
        limit: Option<Duration>,
        finalizer: Option<&str>,
    ) -> (Shard, Own, Arc<Recorder>) {
        let metrics = Metrics::for_test();
        let (store, stores) = (Store::default(), Stores::default());
        stores.add(store.clone());
        let recorder = Arc::<Recorder>::default();
        let worker = Arc::new(Worker {
            finalizer: finalizer.map(str::to_owned),
            limit,
            slots: Arc::new(Semaphore::new(concurrency)),
            deleted_slots: Arc::new(Semaphore::new(concurrency)),
            selects: finalizer.is_some(),
            write: with_data_as_status,
            ..Worker::for_test(Recording(recorder.clone()), stores)
        });
        let queue = Arc::new(Queue::new(metrics.queue("test")));
        let closures = Closures::new("test", &metrics);
        let handler = Own {
            worker: worker.clone(),
            references: Vec::new(),
            namespace: None,
            changes: Changes::new(store.clone(), Arc::new(Counts::Every), closures),
            queue: queue.clone(),
            is_first: true,
        };
        let shard = Shard {
            worker,
            store,
            queue,
        };
        (shard, handler, recorder)
    }

    fn object(name: &str, uid: u32, version: usize) -> Guarded {
        Guarded(Ok(Arc::new(ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                uid: Some(uid.to_string()),
                resource_version: Some(version.to_string()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        })))
    }

    fn with_data_as_status(object: &dyn Object) -> Value {
        json!({"status": typed_ref::<ConfigMap>(object).and_then(|object| object.data.clone())})
    }

    /// An object whose status changes with each version.
    fn status_of(version: u64) -> Guarded {
        let mut object = ConfigMap {
            data: Some([("version".to_owned(), version.to_string())].into()),
            ..ConfigMap::default()
        };
        object.metadata.name = Some("a".to_owned());
        object.metadata.generation = Some(1);
        object.metadata.resource_version = Some(version.to_string());
        Guarded(Ok(Arc::new(object)))
    }

    /// A shard whose controller reconciles no status, and the handler of its events.
    fn shard_without_statuses() -> (Shard, Own) {
        let (shard, mut handler, _) = shard(1);
        let closures = Closures::new("test", &Metrics::for_test());
        handler.changes = Changes::new(shard.store.clone(), Arc::new(Counts::Desired), closures);
        (shard, handler)
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_that_a_former_leader_wrote_late_is_reconciled() {
        let (shard, mut handler) = shard_without_statuses();
        let written = shard.worker.access.written.clone();
        let mut handle = |shown: Shown| handler.handle(&shown);
        let is_reconciled = || shard.queue.begin().is_some();
        handle(Shown::All(vec![status_of(1)]));
        assert!(is_reconciled());
        handle(Shown::Put(status_of(2)));
        assert!(is_reconciled());
        let mut labelled = status_of(2);
        let metadata = labelled.metadata_mut().expect("the only reference");
        metadata.resource_version = Some("3".to_owned());
        handle(Shown::Put(labelled));
        assert!(!is_reconciled(), "the status is the same");

        // An own write is no late one.
        written.add(status_of(4).0.expect("an object"));
        handle(Shown::Put(status_of(4)));
        assert!(!is_reconciled());

        // A reconcile that runs has read the version before.
        let again = || {
            shard.queue.push((None, "a".to_owned()), Priority::Normal);
            shard.queue.begin().expect("an item")
        };
        let arrives = async { handle(Shown::Put(status_of(5))) };
        tokio::join!(shard.reconcile(again(), None), arrives);
        assert!(is_reconciled());
        shard.reconcile(again(), None).await;
        assert!(!is_reconciled());

        for version in 6..9 {
            handle(Shown::Put(status_of(version)));
            assert_eq!(is_reconciled(), version == 6, "three times at most");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_counts_as_a_late_one_only_at_first() {
        let (shard, mut handler) = shard_without_statuses();
        handler.handle(&Shown::All(vec![status_of(1)]));
        assert!(shard.queue.begin().is_some());
        advance(PATIENCE).await;
        handler.handle(&Shown::Put(status_of(2)));
        assert!(shard.queue.begin().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_failed_write_may_have_stored_is_reconciled() {
        let (shard, mut handler) = shard_without_statuses();
        // No write of a former leader arrives so late.
        advance(PATIENCE).await;
        let written = shard.worker.access.written.clone();
        let fails = |version| {
            let key = (None, "a".to_owned());
            drop(written.begin(TypeId::of::<ConfigMap>(), key, version));
        };
        let mut is_reconciled = |shown: Shown| {
            handler.handle(&shown);
            shard.queue.begin().is_some()
        };
        assert!(is_reconciled(Shown::All(vec![status_of(1)])));
        assert!(!is_reconciled(Shown::Put(status_of(2))));
        fails(2);
        assert!(!is_reconciled(Shown::Put(status_of(2))));
        assert!(is_reconciled(Shown::Put(status_of(3))));
        assert!(!is_reconciled(Shown::Put(status_of(4))));
        fails(4);
        assert!(is_reconciled(Shown::All(vec![status_of(5)])));
    }

    #[tokio::test]
    async fn an_object_that_refers_to_something_new_is_reconciled() {
        fn referring_to(secret: &str) -> Guarded {
            let mut object = ConfigMap::default();
            object.metadata.name = Some("a".to_owned());
            object.metadata.generation = Some(1);
            object.data = Some([("secret".to_owned(), secret.to_owned())].into());
            Guarded(Ok(Arc::new(object)))
        }

        let (shard, mut handler, _) = shard(1);
        let closures = Closures::new("test", &Metrics::for_test());
        handler.changes = Changes::new(shard.store.clone(), Arc::new(Counts::Desired), closures);
        let references = References::for_test(|object| {
            let object = object.0.as_deref().expect("an object");
            let object: &ConfigMap = typed_ref(object).expect("a ConfigMap");
            let names = object.data.iter().flat_map(|data| data.values());
            names.map(|name| (None, name.clone())).collect()
        });
        handler.references = vec![Arc::new(references)];
        let mut is_reconciled = |shown: Shown| {
            handler.handle(&shown);
            shard.queue.begin().is_some()
        };
        assert!(is_reconciled(Shown::All(vec![referring_to("one")])));
        for (name, expected) in [("one", false), ("two", true), ("two", false), ("one", true)] {
            assert_eq!(is_reconciled(Shown::Put(referring_to(name))), expected);
            assert!(!is_reconciled(Shown::All(vec![referring_to(name)])));
        }
        assert!(is_reconciled(Shown::All(vec![referring_to("two")])));
        assert!(!is_reconciled(Shown::Gone(referring_to("two"))));
    }

    struct OfNodes {
        _maps: Children<ConfigMap, Node>,
    }

    impl Reconciler for OfNodes {
        type Object = Node;
        type Error = Infallible;

        const NAME: &'static str = "nodes";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(&self, _: &Node, _: &Context) -> Result<Action, Infallible> {
            Ok(Action::await_change())
        }
    }

    #[tokio::test]
    async fn a_cluster_scoped_object_has_children_in_the_namespaces_of_its_controller() {
        let (shard, ..) = shard(1);
        let (mut informers, mut tasks) = (Informers::default(), JoinSet::new());
        let new = |builder: &mut Builder<Node>| {
            builder.namespaces(["shop"]);
            OfNodes {
                _maps: builder.owns(),
            }
        };
        let started = start(new, &shard.worker.services, &mut informers, &mut tasks);
        started.expect("settings that can work");
        assert_eq!(informers.namespaces(&Kind::of::<Node>()), [None]);
        let shop = Some("shop".to_owned());
        assert_eq!(informers.namespaces(&Kind::of::<ConfigMap>()), [shop]);
    }

    /// Otherwise, the second write of a status in one reconcile would compare with an object from before the first write.
    #[tokio::test]
    async fn what_a_reconcile_has_written_counts_until_its_end() {
        let (shard, mut own, _) = shard(1);
        let (old, new) = (object("a", 1, 1), object("a", 1, 2));
        own.handle(&Shown::All(vec![old.clone()]));
        let item = shard.queue.begin().expect("a changed object");
        let written = &shard.worker.access.written;
        written.add(new.0.clone().expect("an object"));
        own.handle(&Shown::Put(new));
        assert!(written.newer_than(old.metadata()).is_some());
        shard.reconcile(item, None).await;
        assert!(written.newer_than(old.metadata()).is_none());
    }

    #[tokio::test]
    async fn an_object_that_the_selector_no_longer_selects_may_wait_for_its_cleanup() {
        for (finalizers, is_queued) in
            [(vec!["own"], true), (vec!["other"], false), (vec![], false)]
        {
            let (shard, mut own, _) = shard_with(1, None, Some("own"));
            let object = Guarded(Ok(Arc::new(ConfigMap {
                metadata: ObjectMeta {
                    finalizers: Some(finalizers.iter().map(ToString::to_string).collect()),
                    ..object("a", 1, 1).metadata().clone()
                },
                ..ConfigMap::default()
            })));
            own.handle(&Shown::All(vec![object.clone()]));
            drop(shard.queue.begin());
            own.handle(&Shown::Gone(object));
            let (item, _) = shard.queue.next_gone().await;
            drop(item);
            assert_eq!(shard.queue.begin().is_some(), is_queued, "{finalizers:?}");
        }
    }

    #[tokio::test]
    async fn a_retry_is_counted_for_each_failure() {
        let (shard, ..) = shard(1);
        for (name, retries) in [("fine", 0), ("panics", 1), ("panics", 2), ("fine", 2)] {
            let object = object(name, 1, 1);
            shard
                .worker
                .reconcile(&object, &key(object.metadata()))
                .await;
            assert_eq!(shard.worker.queue.retries.get(), retries, "{name}");
        }
    }

    #[tokio::test]
    async fn a_reconcile_that_takes_too_long_fails_with_a_reason_of_its_own() {
        let (shard, _, recorder) = shard_with(1, Some(Duration::from_millis(10)), None);
        let object = object("hangs", 1, 1);
        let action = shard
            .worker
            .reconcile(&object, &key(object.metadata()))
            .await;
        assert!(action.requeue_after.is_some());
        let errors = &shard.worker.services.metrics.errors;
        assert_eq!(errors.with_label_values(&["test", "timeout"]).get(), 1);
        assert_eq!(recorder.calls("hangs"), [""; 0]);
    }

    #[tokio::test]
    async fn the_context_says_how_many_attempts_have_failed() {
        let (shard, _, recorder) = shard(1);
        for name in ["panics", "panics", "panics", "fine"] {
            let object = object(name, 1, 1);
            shard
                .worker
                .reconcile(&object, &key(object.metadata()))
                .await;
        }
        assert_eq!(*recorder.attempts.lock(), [0, 1, 2, 0]);
    }

    #[tokio::test]
    async fn the_context_says_that_the_operator_stops() {
        let (shard, ..) = shard(1);
        let context = shard.worker.context(&(None, "a".to_owned()));
        assert!(!context.is_stopping());
        shard.worker.services.host.stop.cancel();
        assert!(context.is_stopping());
        context.stopped().await;
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_before_its_reconcile_is_reported_and_not_reconciled() {
        let (shard, mut own, recorder) = shard(1);
        let begins = Arc::new(Notify::new());
        let gate = begins.clone();
        let worker = shard.worker.clone();
        let synced = async move { gate.notified().await };
        let running = tokio::spawn(run(Arc::new(shard), synced));
        own.handle(&Shown::All(Vec::new()));
        own.handle(&Shown::Put(object("a", 1, 1)));
        own.handle(&Shown::Gone(object("a", 1, 1)));
        begins.notify_one();
        recorder.until("a", |calls| calls == ["-1"]).await;
        worker.services.host.stop.cancel();
        running.await.expect("no panic");
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_and_made_again_is_reconciled() {
        for pauses in 0..40 {
            let (shard, mut own, recorder) = shard(1);
            let worker = shard.worker.clone();
            let running = tokio::spawn(run(Arc::new(shard), ready(())));
            own.handle(&Shown::All(Vec::new()));
            own.handle(&Shown::Put(object("a", 1, 1)));
            recorder.until("a", |calls| calls == ["1"]).await;
            own.handle(&Shown::Gone(object("a", 1, 1)));
            for _ in 0..pauses {
                tokio::task::yield_now().await;
            }
            own.handle(&Shown::Put(object("a", 2, 2)));
            recorder.until("a", |calls| calls == ["1", "-1", "2"]).await;
            worker.services.host.stop.cancel();
            running.await.expect("no panic");
        }
    }

    /// What happens to one of a few objects.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Apply,
        Delete,
        /// A deletion and a creation, of which the watch delivers only the new object.
        Replace,
        /// A new list of all objects.
        List,
        /// Other tasks run.
        Yield,
    }

    fn steps() -> impl Strategy<Value = Vec<(Step, usize)>> {
        let step = prop_oneof![
            Just(Step::Apply),
            Just(Step::Delete),
            Just(Step::Replace),
            Just(Step::List),
            Just(Step::Yield),
        ];
        proptest::collection::vec((step, 0..3_usize), 0..40)
    }

    proptest! {
        /// After any events, the last state of each object is reconciled, and the reconciler hears of the deletion of
        /// each object that it has seen, before it sees a later object with the same name.
        #[test]
        fn no_event_is_lost(steps in steps(), concurrency in 1..4_usize) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(check(steps, concurrency));
        }
    }

    async fn check(steps: Vec<(Step, usize)>, concurrency: usize) {
        let names = ["a", "b", "c"];
        let (shard, mut own, recorder) = shard(concurrency);
        let worker = shard.worker.clone();
        let running = tokio::spawn(run(Arc::new(shard), ready(())));
        own.handle(&Shown::All(Vec::new()));
        let mut uids = [0_u32; 3];
        let mut alive = [false; 3];
        for (version, (step, index)) in steps.into_iter().enumerate() {
            match step {
                Step::Apply => {
                    if !alive[index] {
                        uids[index] += 1;
                    }
                    alive[index] = true;
                    own.handle(&Shown::Put(object(names[index], uids[index], version)));
                }
                Step::Delete if alive[index] => {
                    alive[index] = false;
                    own.handle(&Shown::Gone(object(names[index], uids[index], version)));
                }
                Step::Replace => {
                    uids[index] += 1;
                    alive[index] = true;
                    own.handle(&Shown::Put(object(names[index], uids[index], version)));
                }
                Step::List => {
                    let listed = (0..3).filter(|listed| alive[*listed]);
                    let objects = listed.map(|index| object(names[index], uids[index], version));
                    own.handle(&Shown::All(objects.collect()));
                }
                Step::Delete | Step::Yield => tokio::task::yield_now().await,
            }
        }
        for (index, name) in names.into_iter().enumerate() {
            let uid = uids[index].to_string();
            let last = if alive[index] { uid } else { format!("-{uid}") };
            if uids[index] > 0 {
                recorder
                    .until(name, |calls| calls.last() == Some(&last))
                    .await;
            }
            let mut latest = 0;
            for call in recorder.calls(name) {
                let number: i64 = call.parse().expect("a uid");
                assert!(number.abs() >= latest, "{name}: {call} after {latest}");
                // After the report of a deletion, only later objects follow.
                latest = if number < 0 { 1 - number } else { number };
            }
        }
        worker.services.host.stop.cancel();
        running.await.expect("no panic");
    }
}
