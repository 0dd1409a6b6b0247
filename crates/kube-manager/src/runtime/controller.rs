//! Runs a reconciler for each changed object, and again after a failure. Several objects are reconciled at once, but
//! never the same object twice at once. A failure affects one object only.

use std::{
    collections::HashSet,
    error, mem,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    Api, Client, Resource,
    api::{ListParams, Patch, PatchParams},
    core::ObjectMeta,
    runtime::{events::EventType, reflector::ObjectRef, watcher::Event},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    access::Access,
    action::{Action, Cleanup},
    backoff::Backoff,
    builder::{Builder, Property, Settings},
    changes::{Change, Changes, Fingerprint, any, desired, desired_content},
    children::{self, any::AnyChildren},
    closures::{Closures, message},
    condition,
    context::Context,
    diagnosis,
    difference::is_built_in,
    failure,
    informer::{Handler, Informers, Synced, Wake, some_or_all},
    leader::Leadership,
    metrics::{Metrics, QueueMetrics},
    object::{AnyObject, Guarded, Object, Raw, Write, identity, typed_ref, write},
    objects::{Objects, Store, Stores},
    queue::{Priority, Queue, Turn},
    reads,
    reconciler::Reconciler,
    reference,
    scope::Kind,
    services::Services,
    status_in_object,
    watch::{Extent, Key, Selector, Watcher, key},
    watched::Observer,
    written::Written,
};

/// From this number of conflicts in a row on, a conflict is an error: something else changes the object all the time.
const REPEATED: u32 = 3;

/// The reason of the event and of the condition when the finalizer cannot be changed.
const FINALIZER_FAILED: &str = "FinalizerFailed";

/// Why a reconcile did not succeed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{0}")]
    Reconciler(#[source] AnyError),
    #[error("cannot {change}")]
    Metadata {
        /// The change of the metadata, such as `remove the finalizer a/b`.
        change: String,
        source: kube::Error,
    },
    #[error("cannot read the object, which the selector no longer selects")]
    Read(#[source] kube::Error),
    #[error("cannot delete what the cleanup needed")]
    Release(#[source] children::Error),
    #[error("took longer than {0:?}, the limit of `Builder::timeout`")]
    Timeout(Duration),
    #[error("panicked: {0}")]
    Panic(String),
    #[error("a child has changed since it was read")]
    Stale,
}

type AnyError = Box<dyn error::Error + Send + Sync>;

/// A [`Reconciler`] of any kind.
trait AnyReconciler: Send + Sync {
    fn reconcile<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Action>;

    fn clean_up<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Cleanup>;

    fn report_deleted<'a>(&'a self, object: &ObjectMeta, context: &'a Context)
    -> BoxFuture<'a, ()>;
}

/// A call of a reconciler.
type Call<'a, T> = BoxFuture<'a, Result<T, AnyError>>;

// This and `start` are all code of this file that is compiled for each kind.
impl<R: Reconciler> AnyReconciler for R {
    fn reconcile<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Action> {
        let call = async move {
            let Some(typed) = typed_ref(object) else {
                return Ok(Action::await_change());
            };
            Ok(Reconciler::reconcile(self, typed, context).await?)
        };
        call.boxed()
    }

    fn clean_up<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Cleanup> {
        let call = async move {
            let Some(typed) = typed_ref(object) else {
                return Ok(Cleanup::Done);
            };
            Ok(self.cleanup(typed, context).await?)
        };
        call.boxed()
    }

    fn report_deleted<'a>(
        &'a self,
        object: &ObjectMeta,
        context: &'a Context,
    ) -> BoxFuture<'a, ()> {
        let (namespace, name) = key(object);
        let mut reference = ObjectRef::new(&name);
        reference.namespace = namespace;
        let extra = &mut reference.extra;
        extra.uid.clone_from(&object.uid);
        extra.resource_version.clone_from(&object.resource_version);
        async move { self.deleted(&reference, context).await }.boxed()
    }
}

/// The state that the reconciles of a controller share.
struct Worker {
    reconciler: Box<dyn AnyReconciler>,
    kind: Kind,
    write: Write,
    /// The name of the finalizer, if the controller has one.
    finalizer: Option<String>,
    access: Access,
    client: Client,
    metrics: Metrics,
    /// The metrics of the work queue.
    queue: QueueMetrics,
    backoff: Backoff<Key>,
    /// How long a call of the reconciler may take.
    limit: Option<Duration>,
    /// Shared by all watched namespaces.
    slots: Arc<Semaphore>,
    /// Limits how many calls of `deleted` run at once. These calls take no slot: a reconcile does not wait for objects
    /// that no longer exist.
    deleted_slots: Arc<Semaphore>,
    written: Written,
    /// The children that are deleted after a cleanup.
    releases: Vec<AnyChildren>,
    /// The uids of the objects whose cleanup has ended, until the watch shows their deletion. A second cleanup would
    /// not find the children that are deleted by then.
    cleaned_up: Mutex<HashSet<String>>,
    leadership: Leadership,
    stop: CancellationToken,
    /// Whether the watch delivers only some objects of the kind.
    selects: bool,
}

/// The objects of one watched namespace, or of all.
struct Part {
    worker: Arc<Worker>,
    store: Store,
    queue: Arc<Queue<Guarded>>,
    /// Done after all watches have begun. Before that, a reconcile would not see all objects; and without the
    /// permission to watch, it would never see a change.
    synced: Shared<BoxFuture<'static, ()>>,
}

/// What a controller of any kind does.
struct Controller {
    reconciler: Box<dyn AnyReconciler>,
    kind: Kind,
    write: Write,
    finalizer: Option<String>,
    counts: Counts,
    access: Access,
    written: Written,
    stores: Stores,
    settings: Settings,
}

/// Which changes of an object requeue it.
enum Counts {
    Desired,
    /// Those of the desired state, for a kind that has its status in the object.
    Content(Write),
    Every,
    /// Those of the value of a predicate.
    Property(Property<dyn Object>),
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
    let access = Access::new(services, watcher, written.clone());
    let mut builder = Builder::new(access.clone(), Objects::new(stores.clone()), services);
    let reconciler = Box::new(new(&mut builder));
    let counts = match builder.predicate {
        Some(predicate) => Counts::Property(Box::new(move |object| predicate(typed_ref(object)?))),
        None if R::EVERY_CHANGE => Counts::Every,
        None if services.in_object.has(&kind.resource) => Counts::Content(write::<R::Object>),
        None => Counts::Desired,
    };
    let controller = Controller {
        reconciler,
        kind,
        write: write::<R::Object>,
        finalizer: R::FINALIZER.then(|| finalizer_name(R::NAME, R::FINALIZER_NAME)),
        counts,
        access,
        written,
        stores,
        settings: builder.settings,
    };
    controller.start(services, informers, tasks)
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
            stores,
            ..
        } = self;
        let name = access.name();
        let checked = settings.check();
        checked.with_context(|| format!("cannot start the controller `{name}`"))?;
        assert!(
            finalizer.is_some() || settings.releases.is_empty(),
            "`{name}` owns objects until a cleanup, so it needs `const FINALIZER: bool = true`",
        );
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
        let concurrency = usize::from(settings.concurrency);
        let worker = Arc::new(Worker {
            reconciler: self.reconciler,
            kind: kind.clone(),
            write: self.write,
            finalizer: finalizer.clone(),
            access,
            client: services.client.clone(),
            metrics: services.metrics.clone(),
            queue: services.metrics.queue(name),
            backoff: Backoff::new(settings.pauses),
            limit: settings.timeout,
            slots: Arc::new(Semaphore::new(concurrency)),
            deleted_slots: Arc::new(Semaphore::new(concurrency)),
            written: self.written,
            releases: settings.releases,
            cleaned_up: Mutex::default(),
            leadership: services.leadership.clone(),
            stop: services.host.stop.clone(),
            selects: settings.selector != Selector::default(),
        });
        let limit = worker.metrics.limit.with_label_values(&[name]);
        limit.set(i64::from(settings.concurrency));
        for result in ["success", "error"] {
            // Prometheus sees the first increase only if the counter was 0 before.
            let reconciles = &worker.metrics.reconciles;
            reconciles.with_label_values(&[name, result]);
        }

        let namespaces = some_or_all(if kind.namespaced {
            settings.namespaces
        } else {
            Vec::new()
        });
        let (declared, counts) = (settings.declared, Arc::new(self.counts));
        let is_built_in = is_built_in(&kind.resource.group);
        let (mut queues, mut synced) = (Vec::new(), Vec::new());
        for namespace in &namespaces {
            let store = Store::default();
            let queue = Arc::new(Queue::new(worker.queue.clone()));
            let observe = declared.observers.iter();
            let fingerprint = fingerprint(counts.clone(), is_built_in, declared.closures.clone());
            let handler = handler(
                &worker,
                observe
                    .map(|observe| observe(namespace.as_deref()))
                    .collect(),
                Changes::new(store.clone(), fingerprint),
                queue.clone(),
            );
            let extent = Extent {
                namespace: namespace.clone(),
                selector: settings.selector.clone(),
            };
            synced.push(Synced {
                namespace: namespace.clone(),
                state: informers.add(own, &kind, extent, handler),
                is_optional: false,
            });
            if worker.selects
                && let Some(finalizer) = &finalizer
            {
                let all = Extent {
                    namespace: namespace.clone(),
                    selector: Selector::default(),
                };
                let handler =
                    handler_of_unselected(finalizer.clone(), store.clone(), queue.clone());
                informers.add(watcher, &kind.metadata(), all, handler);
            }
            stores.add(store.clone());
            queues.push((store, queue));
        }
        let wake = wake(queues.clone(), kind.namespaced);
        for follow in declared.follows {
            synced.extend(follow(informers, &namespaces, &wake));
        }

        for (namespace, (store, queue)) in namespaces.iter().zip(queues) {
            let synced = synced
                .iter()
                .filter(|synced| synced.namespace.is_none() || synced.namespace == *namespace)
                .cloned();
            let part = Part {
                worker: worker.clone(),
                synced: all_begun(synced.collect()).boxed().shared(),
                store,
                queue,
            };
            tasks.spawn(run(Arc::new(part)));
        }
        Ok(())
    }
}

/// Reconciles the objects from the queue, until the process stops.
async fn run(part: Arc<Part>) {
    let stop = &part.worker.stop;
    if stop
        .run_until_cancelled(part.synced.clone())
        .await
        .is_some()
    {
        tokio::join!(reconcile_changed(&part), report_deleted(&part));
    }
}

/// Reconciles each changed object, several at once.
async fn reconcile_changed(part: &Arc<Part>) {
    let worker = &part.worker;
    let mut reconciles = JoinSet::new();
    let begin = async {
        loop {
            part.queue.waits().await;
            // The slot comes first, so that it is for the object that is the most urgent one then.
            let slot = slot(&worker.slots).await;
            if let Some(turn) = part.queue.begin() {
                let reconciling = part.clone();
                reconciles.spawn(async move { reconciling.reconcile(&turn, slot).await });
            }
            while let Some(ended) = reconciles.try_join_next() {
                propagate_panic(ended);
            }
        }
    };
    worker.stop.run_until_cancelled(begin).await;
    while let Some(ended) = reconciles.join_next().await {
        propagate_panic(ended);
    }
}

/// Calls `deleted` for each deleted object, several at once.
async fn report_deleted(part: &Arc<Part>) {
    let worker = &part.worker;
    let mut calls = JoinSet::new();
    let begin = async {
        loop {
            let (turn, deleted) = part.queue.next_gone().await;
            let slot = slot(&worker.deleted_slots).await;
            let called = worker.clone();
            let call = async move {
                let _slot = slot;
                for object in deleted {
                    called.report_deleted(object.metadata()).await;
                }
                drop(turn);
            };
            calls.spawn(call);
            while let Some(ended) = calls.try_join_next() {
                propagate_panic(ended);
            }
        }
    };
    worker.stop.run_until_cancelled(begin).await;
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
        std::panic::resume_unwind(error.into_panic());
    }
}

/// Handles the events of the watch of the controller's own kind: first updates the stores that reconciles read, then
/// adds the changed objects to `queue`.
fn handler(
    worker: &Arc<Worker>,
    mut observers: Vec<Observer>,
    mut changes: Changes,
    queue: Arc<Queue<Guarded>>,
) -> Handler {
    let (worker, mut is_first) = (worker.clone(), true);
    Box::new(move |event| {
        let changed = changes.take(event);
        if let Event::Apply(object) = event {
            let metadata = object.metadata();
            worker.written.shown(&key(metadata), Some(metadata));
        }
        observers.iter_mut().for_each(|observer| observer(event));
        let is_first = matches!(event, Event::InitDone) && mem::take(&mut is_first);
        let priority = if is_first {
            Priority::Low
        } else {
            Priority::Normal
        };
        for change in changed {
            match change {
                Change::Changed(key) => queue.push(key, priority),
                Change::Deleted(object) => {
                    let key = key(object.metadata());
                    worker.backoff.forget(&key);
                    worker.written.shown(&key, None);
                    if let Some(uid) = &object.metadata().uid {
                        worker.cleaned_up.lock().remove(uid);
                    }
                    queue.delete(&key, object);
                }
            }
        }
    })
}

/// Handles the events of a watch of all objects of the kind: queues an object that the selector of the controller no
/// longer selects when its deletion begins, if it still has the finalizer of the controller.
fn handler_of_unselected(finalizer: String, store: Store, queue: Arc<Queue<Guarded>>) -> Handler {
    Box::new(move |event| {
        let (Event::Apply(object) | Event::InitApply(object)) = event else {
            return;
        };
        let (metadata, key) = (object.metadata(), key(object.metadata()));
        if metadata.deletion_timestamp.is_some()
            && finalizers(metadata).contains(&finalizer)
            && !store.has(&key)
        {
            queue.push(key, Priority::Normal);
        }
    })
}

/// The fingerprint of an object: the object is reconciled when the fingerprint changes. An object for which the
/// predicate panics has none.
fn fingerprint(counts: Arc<Counts>, is_built_in: bool, closures: Closures) -> Fingerprint {
    Box::new(move |object| {
        let metadata = object.metadata();
        match (&object.0, &*counts) {
            // Any change may make an object fit its type.
            (Err(_), _) | (_, Counts::Every) => Some(any(metadata)),
            (Ok(_), Counts::Desired) => Some(desired(metadata, is_built_in)),
            (Ok(object), Counts::Content(write)) => {
                let content = status_in_object::desired(write(&**object));
                Some(desired_content(metadata, &content))
            }
            (Ok(object), Counts::Property(predicate)) => {
                let number = || predicate(&**object);
                let number = closures.call("predicate", &key(metadata), number)?;
                Some(number.unwrap_or_else(|| any(metadata)))
            }
        }
    })
}

/// The objects of one watched namespace, or of all, and the queue of objects that wait for a reconcile.
type Queued = (Store, Arc<Queue<Guarded>>);

/// Queues the object with this key in those parts of the controller that have the object.
fn wake(parts: Vec<Queued>, is_namespaced: bool) -> Wake {
    Arc::new(move |(namespace, name)| {
        let key = (namespace.filter(|_| is_namespaced), name);
        for (store, queue) in &parts {
            if store.has(&key) {
                queue.push(key.clone(), Priority::Normal);
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

impl Part {
    /// Reconciles the object of this turn, if it still exists.
    async fn reconcile(&self, turn: &Turn<Guarded>, _slot: Option<OwnedSemaphorePermit>) {
        let worker = &self.worker;
        // A process that was paused must not work with outdated objects from its memory.
        if !worker.leadership.holds() {
            return;
        }
        let key = turn.key();
        let action = match self.store.get(key) {
            Some(object) => worker.reconcile(&object, key).await,
            None if worker.finalizer.is_some() && worker.selects => {
                worker.reconcile_unselected(key).await
            }
            None => return,
        };
        let shown = self.store.get(key);
        // The watch may have delivered the object before the answer to its write has arrived.
        worker
            .written
            .shown(key, shown.as_ref().map(Guarded::metadata));
        if shown.is_none() && !worker.selects {
            worker.backoff.forget(key);
        } else if let Some(delay) = action.requeue_after {
            turn.repeat(delay);
        }
    }
}

/// The name of the finalizer of the controller `controller`.
fn finalizer_name(controller: &str, chosen: Option<&str>) -> String {
    match chosen {
        Some(name) => name.to_owned(),
        None => format!("{controller}/finalizer"),
    }
}

fn finalizers(object: &ObjectMeta) -> &[String] {
    object.finalizers.as_deref().unwrap_or_default()
}

impl Worker {
    fn controller(&self) -> &'static str {
        self.access.name()
    }

    fn count_error(&self, reason: &str) {
        let errors = &self.metrics.errors;
        errors.with_label_values(&[self.controller(), reason]).inc();
    }

    fn api(&self, namespace: Option<&str>) -> Api<Raw> {
        self.kind.api(self.client.clone(), namespace)
    }

    /// Runs the cleanup of an object that the selector no longer selects.
    async fn reconcile_unselected(&self, key: &Key) -> Action {
        let (namespace, name) = key;
        let start = Instant::now();
        // A list, because a controller needs no permission to get its objects.
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        match self.api(namespace.as_deref()).list(&params).await {
            Ok(list) => match list.items.first().map(|object| self.kind.guarded(object)) {
                Some(object) if object.metadata().deletion_timestamp.is_some() => {
                    let uid = object.metadata().uid.clone().unwrap_or_default();
                    let action = self.reconcile(&object, key).await;
                    if action == Action::await_change() {
                        // The watch does not show its deletion.
                        self.cleaned_up.lock().remove(&uid);
                    }
                    action
                }
                _ => {
                    self.backoff.forget(key);
                    Action::await_change()
                }
            },
            Err(error) => self.failed(&Error::Read(error), key, start).await,
        }
    }

    /// Calls the reconciler, and returns when to requeue the object. A failure or panic is logged and counted.
    async fn reconcile(&self, object: &Guarded, key: &Key) -> Action {
        let (controller, kind) = (self.controller(), &self.kind.resource.kind);
        let (namespace, name) = key;
        let object = match &object.0 {
            Ok(object) => object,
            Err(error) => {
                // A retry would not help: only a change of the object does, which requeues it.
                self.backoff.forget(key);
                self.count_error("unreadable");
                let says = "does not fit its type, left alone until it changes";
                tracing::warn!(controller, %kind, namespace, name, %error, "{says}");
                return Action::await_change();
            }
        };
        let newer = self.written.newer_than(object.metadata());
        let object = newer.as_ref().unwrap_or(object);
        // The span adds its fields to each line that the reconciler logs.
        let span = tracing::info_span!("reconcile", %kind, namespace, object = name);
        let active = self.metrics.active.with_label_values(&[controller]);
        active.inc();
        let start = Instant::now();
        let context = self.context(key);
        let attempt = reads::during(self.attempt(&**object, &context));
        let attempt = reference::during(namespace.clone(), attempt).instrument(span);
        let result = match AssertUnwindSafe(attempt).catch_unwind().await {
            // The reconciler may have ignored the error, or have hidden it in an error of its own.
            Ok((_, true)) => Err(Error::Stale),
            Ok((result, _)) => result,
            Err(panic) => Err(Error::Panic(message(panic.as_ref()))),
        };
        let duration = start.elapsed();
        active.dec();
        let seconds = self.metrics.seconds.with_label_values(&[controller]);
        seconds.observe(duration.as_secs_f64());

        let outcome = if result.is_ok() { "success" } else { "error" };
        let reconciles = &self.metrics.reconciles;
        reconciles.with_label_values(&[controller, outcome]).inc();
        match result {
            Ok(action) => {
                self.backoff.forget(key);
                tracing::info!(controller, %kind, namespace, name, ?duration, "reconciled");
                action
            }
            Err(error) => {
                let action = self.failed(&error, key, start).await;
                if matches!(error, Error::Metadata { .. }) {
                    self.report_refusal(&**object, &error).await;
                }
                action
            }
        }
    }

    /// Logs and counts a failure. Returns when to try again.
    async fn failed(&self, error: &Error, key: &Key, start: Instant) -> Action {
        let (controller, kind) = (self.controller(), &self.kind.resource.kind);
        let (namespace, name) = key;
        let duration = start.elapsed();
        let reason = match error {
            Error::Panic(_) => "panic",
            Error::Timeout(_) => "timeout",
            Error::Stale => "conflict",
            error => diagnosis::reason(error),
        };
        self.count_error(reason);
        let (hint, is_permanent) = (
            diagnosis::hint(error, self.access.watcher().rules),
            diagnosis::is_permanent(error),
        );
        let error = failure::message(error);
        if is_permanent {
            // A change of the object or of a child requeues it.
            self.backoff.forget(key);
            let says = "cannot reconcile, left alone until something changes";
            tracing::error!(controller, %kind, namespace, name, ?duration, reason, %error, "{says}");
            return Action::await_change();
        }
        let (count, pause) = self.backoff.failed(key.clone());
        self.queue.retries.inc();
        let retry_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        if reason == "conflict" && count < REPEATED {
            // The next reconcile gets the new version.
            let says = "was changed meanwhile, trying again";
            tracing::info!(controller, %kind, namespace, name, ?duration, %error, retry_ms, "{says}");
        } else {
            let says = "cannot reconcile";
            tracing::error!(
                controller, %kind, namespace, name, ?duration, reason, %error, hint, retry_ms, "{says}"
            );
        }
        Action::requeue(pause)
    }

    /// The context of a call for the object with this key.
    fn context(&self, key: &Key) -> Context {
        let attempt = self.backoff.failures(key);
        let (stop, leadership) = (self.stop.clone(), self.leadership.clone());
        Context::new(self.access.clone(), attempt, stop, leadership)
    }

    /// Calls the reconciler's `deleted` for a deleted object.
    async fn report_deleted(&self, object: &ObjectMeta) {
        if self.leadership.holds() {
            let context = self.context(&key(object));
            let call = self.reconciler.report_deleted(object, &context);
            let call = reference::during(object.namespace.clone(), call);
            if let Err(panic) = AssertUnwindSafe(call).catch_unwind().await {
                let (controller, panic) = (self.controller(), message(panic.as_ref()));
                let (namespace, name) = key(object);
                let says = "cannot report a deletion";
                tracing::error!(controller, namespace, name, panic, "{says}");
            }
        }
    }

    /// Calls the reconciler. If the controller has a finalizer, adds the finalizer before the first reconcile, and
    /// removes it after the cleanup.
    async fn attempt(&self, object: &dyn Object, context: &Context) -> Result<Action, Error> {
        let metadata = object.metadata();
        let finalizers = finalizers(metadata);
        let missing = (self.finalizer.as_ref()).filter(|name| !finalizers.contains(name));
        let is_deleted = metadata.deletion_timestamp.is_some();
        match (missing, &self.finalizer) {
            (Some(name), _) if !is_deleted => {
                let mut all = finalizers.to_vec();
                all.push(name.clone());
                // The change of the finalizers requeues the object.
                let change = format!("add the finalizer `{name}`");
                let finalizers = json!({"finalizers": all});
                self.patch_metadata(metadata, change, finalizers).await?;
                Ok(Action::await_change())
            }
            (None, _) if !is_deleted => {
                self.within_limit(self.reconciler.reconcile(object, context))
                    .await
            }
            (None, Some(name)) => self.clean_up(object, name, context).await,
            _ => Ok(Action::await_change()),
        }
    }

    /// Waits for a call of the reconciler, for as long as it may take.
    async fn within_limit<T>(&self, call: Call<'_, T>) -> Result<T, Error> {
        let called = match self.limit {
            Some(limit) => timeout(limit, call)
                .await
                .map_err(|_| Error::Timeout(limit))?,
            None => call.await,
        };
        called.map_err(Error::Reconciler)
    }

    /// Calls the reconciler's cleanup until it has ended, then deletes the children that it needed, and then removes
    /// the finalizer.
    async fn clean_up(
        &self,
        object: &dyn Object,
        finalizer: &str,
        context: &Context,
    ) -> Result<Action, Error> {
        let metadata = object.metadata();
        let uid = metadata.uid.clone().unwrap_or_default();
        let annotation = format!("{}/cleaned-up", self.controller());
        let annotations = metadata.annotations.as_ref();
        let is_recorded = annotations.is_some_and(|all| all.contains_key(&annotation));
        if !is_recorded && !self.cleaned_up.lock().contains(&uid) {
            let call = self.reconciler.clean_up(object, context);
            if let Cleanup::AgainIn(delay) = self.within_limit(call).await? {
                return Ok(Action::requeue(delay));
            }
            self.cleaned_up.lock().insert(uid);
        }
        let mut recorded = None;
        if !self.releases.is_empty() && !is_recorded {
            // If the process ends before the finalizer is removed, the next one does not find the children.
            let change = "record the end of the cleanup".to_owned();
            let annotations = json!({"annotations": {annotation: "true"}});
            recorded = self.patch_metadata(metadata, change, annotations).await?;
            if recorded.is_none() {
                return Ok(Action::await_change());
            }
        }
        let metadata = recorded
            .as_ref()
            .map_or(metadata, |object| object.metadata());
        for children in &self.releases {
            let deleted = children.delete_all(metadata).await;
            deleted.map_err(Error::Release)?;
        }
        let mut others = finalizers(metadata).to_vec();
        others.retain(|other| other != finalizer);
        let change = format!("remove the finalizer `{finalizer}`");
        self.patch_metadata(metadata, change, json!({"finalizers": others}))
            .await?;
        Ok(Action::await_change())
    }

    /// Merges `metadata` into that of `object`, if the object has not changed since it was read. Returns `None` if the
    /// object is deleted.
    async fn patch_metadata(
        &self,
        object: &ObjectMeta,
        change: String,
        mut metadata: Value,
    ) -> Result<Option<AnyObject>, Error> {
        // With the resourceVersion, only a real conflict has the code 409: a refusal by a webhook, a policy or the
        // schema has another one, and a retry does not help against these.
        metadata["resourceVersion"] = json!(object.resource_version);
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let params = PatchParams {
            field_manager: Some(self.access.field_manager()),
            ..PatchParams::default()
        };
        let api = self.api(object.namespace.as_deref());
        let answer = api.patch(&key(object).1, &params, &patch).await;
        match self.kind.object(answer) {
            Ok(patched) => {
                self.written.add(patched.clone());
                Ok(Some(patched))
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(source) => Err(Error::Metadata { change, source }),
        }
    }

    /// Shows users why the metadata of `object` cannot be changed: in an event, and in the condition `Ready`, if the
    /// object has it.
    async fn report_refusal(&self, object: &dyn Object, error: &Error) {
        if diagnosis::reason(error) == "conflict" {
            return;
        }
        let note = failure::message(error);
        let (access, metadata) = (&self.access, object.metadata());
        let regarding = identity(metadata).object_ref(&self.kind.resource);
        let event = (EventType::Warning, FINALIZER_FAILED, note.clone());
        access.record(regarding, event);
        let content = (self.write)(object);
        let Some(conditions) = content.pointer("/status/conditions") else {
            return;
        };
        let Some(changed) = not_ready(metadata, conditions, &note) else {
            return;
        };
        let mut status = content["status"].clone();
        status["conditions"] = changed;
        let Some(status) = access.next_status(&self.kind, &content, &content, status) else {
            return;
        };
        if let Err(error) = access.replace_status(&self.kind, content, status).await {
            let (name, controller) = (key(metadata).1, self.controller());
            let error = failure::message(&error);
            tracing::warn!(controller, name, error, "cannot write the condition");
        }
    }
}

/// `conditions` with the condition `Ready` set to false because of `note`; `None` if there is no such condition, or if
/// nothing would change.
fn not_ready(object: &ObjectMeta, conditions: &Value, note: &str) -> Option<Value> {
    let before: Vec<Condition> = serde_json::from_value(conditions.clone()).ok()?;
    before.iter().find(|condition| condition.type_ == "Ready")?;
    let mut after = before.clone();
    let ready = condition::condition(object, "Ready", "False", FINALIZER_FAILED, note.to_owned());
    condition::set(&mut after, ready);
    (after != before).then(|| json!(after))
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, convert::Infallible};

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{ResourceExt, client::Body};
    use proptest::prelude::*;
    use tokio::sync::Notify;

    use super::*;
    use crate::runtime::rbac::Rule;

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
    fn part(concurrency: usize) -> (Part, Handler, Arc<Recorder>) {
        limited_part(concurrency, None)
    }

    /// The same, with a limit for each call of the reconciler.
    fn limited_part(concurrency: usize, limit: Option<Duration>) -> (Part, Handler, Arc<Recorder>) {
        let forbidden = tower::service_fn(async |_: http::Request<Body>| {
            Err::<http::Response<Body>, _>("the reconciler sends nothing")
        });
        let metrics = Metrics::for_test();
        let client = Client::new(forbidden, "default");
        let (store, stores) = (Store::default(), Stores::default());
        stores.add(store.clone());
        let kind = Kind::of::<ConfigMap>();
        let written = Written::new(kind.type_id, stores);
        let recorder = Arc::<Recorder>::default();
        let watcher = Watcher {
            controller: "test",
            field_manager: "test",
            rules: &[],
            keeps_status_fields: false,
            is_optional: false,
        };
        let worker = Arc::new(Worker {
            reconciler: Box::new(Recording(recorder.clone())),
            kind,
            write: write::<ConfigMap>,
            finalizer: None,
            access: Access::for_test(client.clone(), watcher, written.clone()),
            client,
            queue: metrics.queue("test"),
            backoff: Backoff::new(Duration::from_millis(1)..Duration::from_secs(1)),
            limit,
            slots: Arc::new(Semaphore::new(concurrency)),
            deleted_slots: Arc::new(Semaphore::new(concurrency)),
            written,
            releases: Vec::new(),
            cleaned_up: Mutex::default(),
            leadership: Leadership::always(),
            stop: CancellationToken::new(),
            selects: false,
            metrics: metrics.clone(),
        });
        let queue = Arc::new(Queue::new(metrics.queue("test")));
        let closures = Closures::new("test", &metrics);
        let fingerprint = fingerprint(Arc::new(Counts::Desired), true, closures);
        let changes = Changes::new(store.clone(), fingerprint);
        let handler = handler(&worker, Vec::new(), changes, queue.clone());
        let part = Part {
            worker,
            synced: all_begun(Vec::new()).boxed().shared(),
            store,
            queue,
        };
        (part, handler, recorder)
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

    #[tokio::test]
    async fn a_retry_is_counted_for_each_failure() {
        let (part, ..) = part(1);
        for (name, retries) in [("fine", 0), ("panics", 1), ("panics", 2), ("fine", 2)] {
            let object = object(name, 1, 1);
            part.worker
                .reconcile(&object, &key(object.metadata()))
                .await;
            assert_eq!(part.worker.queue.retries.get(), retries, "{name}");
        }
    }

    #[tokio::test]
    async fn a_reconcile_that_takes_too_long_fails_with_a_reason_of_its_own() {
        let (part, _, recorder) = limited_part(1, Some(Duration::from_millis(10)));
        let object = object("hangs", 1, 1);
        let action = part
            .worker
            .reconcile(&object, &key(object.metadata()))
            .await;
        assert!(action.requeue_after.is_some());
        let errors = &part.worker.metrics.errors;
        assert_eq!(errors.with_label_values(&["test", "timeout"]).get(), 1);
        assert_eq!(recorder.calls("hangs"), [""; 0]);
    }

    #[tokio::test]
    async fn the_context_says_how_many_attempts_have_failed() {
        let (part, _, recorder) = part(1);
        for name in ["panics", "panics", "panics", "fine"] {
            let object = object(name, 1, 1);
            part.worker
                .reconcile(&object, &key(object.metadata()))
                .await;
        }
        assert_eq!(*recorder.attempts.lock(), [0, 1, 2, 0]);
    }

    #[tokio::test]
    async fn the_context_says_that_the_operator_stops() {
        let (part, ..) = part(1);
        let context = part.worker.context(&(None, "a".to_owned()));
        assert!(!context.is_stopping());
        part.worker.stop.cancel();
        assert!(context.is_stopping());
        context.stopped().await;
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_before_its_reconcile_is_reported_and_not_reconciled() {
        let (mut part, mut handle, recorder) = part(1);
        let begins = Arc::new(Notify::new());
        let gate = begins.clone();
        part.synced = async move { gate.notified().await }.boxed().shared();
        let worker = part.worker.clone();
        let running = tokio::spawn(run(Arc::new(part)));
        handle(&Event::Init);
        handle(&Event::InitDone);
        handle(&Event::Apply(object("a", 1, 1)));
        handle(&Event::Delete(object("a", 1, 1)));
        begins.notify_one();
        recorder.until("a", |calls| calls == ["-1"]).await;
        worker.stop.cancel();
        running.await.expect("no panic");
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_and_made_again_is_reconciled() {
        for pauses in 0..40 {
            let (part, mut handle, recorder) = part(1);
            let worker = part.worker.clone();
            let running = tokio::spawn(run(Arc::new(part)));
            for event in [
                Event::Init,
                Event::InitDone,
                Event::Apply(object("a", 1, 1)),
            ] {
                handle(&event);
            }
            recorder.until("a", |calls| calls == ["1"]).await;
            handle(&Event::Delete(object("a", 1, 1)));
            for _ in 0..pauses {
                tokio::task::yield_now().await;
            }
            handle(&Event::Apply(object("a", 2, 2)));
            recorder.until("a", |calls| calls == ["1", "-1", "2"]).await;
            worker.stop.cancel();
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
        let (part, mut handle, recorder) = part(concurrency);
        let worker = part.worker.clone();
        let running = tokio::spawn(run(Arc::new(part)));
        handle(&Event::Init);
        handle(&Event::InitDone);
        let mut uids = [0_u32; 3];
        let mut alive = [false; 3];
        for (version, (step, index)) in steps.into_iter().enumerate() {
            let now = |uids: &[u32; 3], index: usize| object(names[index], uids[index], version);
            match step {
                Step::Apply => {
                    if !alive[index] {
                        uids[index] += 1;
                    }
                    alive[index] = true;
                    handle(&Event::Apply(now(&uids, index)));
                }
                Step::Delete if alive[index] => {
                    alive[index] = false;
                    handle(&Event::Delete(now(&uids, index)));
                }
                Step::Replace => {
                    uids[index] += 1;
                    alive[index] = true;
                    handle(&Event::Apply(now(&uids, index)));
                }
                Step::List => {
                    handle(&Event::Init);
                    for listed in (0..3).filter(|listed| alive[*listed]) {
                        handle(&Event::InitApply(now(&uids, listed)));
                    }
                    handle(&Event::InitDone);
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
        worker.stop.cancel();
        running.await.expect("no panic");
    }
}
