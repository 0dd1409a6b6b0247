//! Runs a reconciler for each changed object, and again after a failure. Several objects are reconciled at once, but
//! never the same object twice at once. A failure affects one object only.

use std::{
    any::TypeId, collections::HashSet, mem, panic::AssertUnwindSafe, sync::Arc, time::Instant,
};

use anyhow::Context as _;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::PartialObjectMeta,
    runtime::{
        events::EventType,
        reflector::{self, ObjectRef, Store},
        watcher::Event,
    },
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, SetOnce},
    task::{JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    action::Action,
    backoff::Backoff,
    builder::{Builder, Fingerprint},
    changes::{Change, Changes, any, desired},
    children,
    cleanup::{self, Release},
    closures::{Closures, message},
    condition,
    context::Context,
    diagnosis, failure,
    guarded::Guarded,
    informer::{Handler, Informers, Synced, Wake, some_or_all},
    leader::Leadership,
    metrics::{Metrics, QueueMetrics},
    objects::Objects,
    queue::{Priority, Queue, Turn},
    reads,
    reconciler::Reconciler,
    scope::{Kind, Watchable},
    services::Services,
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
enum Error<E: std::error::Error + 'static> {
    #[error("{0}")]
    Reconciler(#[source] E),
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
    #[error("panicked: {0}")]
    Panic(String),
    #[error("a child has changed since it was read")]
    Stale,
}

/// The state that the reconciles of a controller share.
struct Worker<R: Reconciler> {
    reconciler: R,
    context: Context,
    client: Client,
    metrics: Metrics,
    /// The metrics of the work queue.
    queue: QueueMetrics,
    backoff: Backoff<Key>,
    /// Shared by all watched namespaces.
    slots: Arc<Semaphore>,
    /// Limits how many calls of `gone` run at once. These calls take no slot: a reconcile does not wait for objects
    /// that no longer exist.
    gone_slots: Arc<Semaphore>,
    written: Written,
    /// The children that are deleted after a cleanup.
    releases: Vec<Box<dyn Release<R::Object>>>,
    /// The uids of the objects whose cleanup has ended, until the watch shows their deletion. A second cleanup would
    /// not find the children that are deleted by then.
    cleaned_up: Mutex<HashSet<String>>,
    leadership: Leadership,
    stop: CancellationToken,
    /// Whether the watch delivers only some objects of the kind.
    selects: bool,
}

type Object<K> = ObjectRef<Guarded<K>>;

/// The objects of one watched namespace, or of all.
struct Part<R: Reconciler> {
    worker: Arc<Worker<R>>,
    store: Store<Guarded<R::Object>>,
    queue: Arc<Queue<Object<R::Object>>>,
    /// Done after all watches have begun. Before that, a reconcile would not see all objects; and without the
    /// permission to watch, it would never see a change.
    synced: Shared<BoxFuture<'static, ()>>,
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
    };
    let objects = Objects::default();
    let written = Written::new::<R::Object>(objects.clone());
    let context = Context::new(services, watcher, written.clone());
    let kinds = services.kinds.iter();
    if kinds
        .filter(|kind| **kind == TypeId::of::<R::Object>())
        .count()
        > 1
    {
        context.share_status();
    }
    let mut builder = Builder::new(context.clone(), objects.clone(), services);
    let reconciler = new(&mut builder);
    let checked = builder.check();
    checked.with_context(|| format!("cannot start the controller `{}`", R::NAME))?;
    let own = Watcher {
        keeps_status_fields: context.shares_status(),
        ..watcher
    };
    let concurrency = usize::from(builder.concurrency);
    assert!(
        R::FINALIZER || builder.releases.is_empty(),
        "`{}` owns objects until a cleanup, so it needs `const FINALIZER: bool = true`",
        R::NAME
    );
    let worker = Arc::new(Worker {
        reconciler,
        context,
        client: services.client.clone(),
        metrics: services.metrics.clone(),
        queue: services.metrics.queue(R::NAME),
        backoff: Backoff::new(builder.pauses.clone()),
        slots: Arc::new(Semaphore::new(concurrency)),
        gone_slots: Arc::new(Semaphore::new(concurrency)),
        written,
        releases: mem::take(&mut builder.releases),
        cleaned_up: Mutex::default(),
        leadership: services.leadership.clone(),
        stop: services.host.stop.clone(),
        selects: builder.selector != Selector::default(),
    });
    let limit = worker.metrics.limit.with_label_values(&[R::NAME]);
    limit.set(i64::from(builder.concurrency));
    for result in ["success", "error"] {
        // Prometheus sees the first increase only if the counter was 0 before.
        let reconciles = &worker.metrics.reconciles;
        reconciles.with_label_values(&[R::NAME, result]);
    }

    let kind = Kind::of::<R::Object>();
    let namespaces = some_or_all(if kind.namespaced {
        builder.namespaces.clone()
    } else {
        Vec::new()
    });
    let predicate = builder.fingerprint.take().map(Arc::new);
    let (mut queues, mut synced) = (Vec::new(), Vec::new());
    for namespace in &namespaces {
        let (store, writer) = reflector::store();
        let queue = Arc::new(Queue::new(worker.queue.clone()));
        let observe = builder.declared.observers.iter();
        let fingerprint = fingerprint::<R>(predicate.clone(), builder.declared.closures.clone());
        let handler = handler(
            &worker,
            observe
                .map(|observe| observe(namespace.as_deref()))
                .collect(),
            Changes::new(writer, fingerprint),
            queue.clone(),
        );
        let extent = Extent {
            namespace: namespace.clone(),
            selector: builder.selector.clone(),
        };
        synced.push(Synced {
            namespace: namespace.clone(),
            begun: informers.add::<R::Object>(own, &kind, extent, handler),
        });
        if R::FINALIZER && worker.selects {
            let all = Extent {
                namespace: namespace.clone(),
                selector: Selector::default(),
            };
            let handler = handler_of_unselected::<R>(store.clone(), queue.clone());
            informers.add::<PartialObjectMeta<R::Object>>(watcher, &kind, all, handler);
        }
        objects.add(store.clone());
        queues.push((store, queue));
    }
    let wake = wake(queues.clone(), kind.namespaced);
    for follow in builder.declared.follows {
        synced.extend(follow(informers, &namespaces, &wake));
    }

    for (namespace, (store, queue)) in namespaces.iter().zip(queues) {
        let synced = synced
            .iter()
            .filter(|synced| synced.namespace.is_none() || synced.namespace == *namespace)
            .map(|synced| synced.begun.clone());
        let part = Part {
            worker: worker.clone(),
            synced: all_set(synced.collect()).boxed().shared(),
            store,
            queue,
        };
        tasks.spawn(run(Arc::new(part)));
    }
    Ok(())
}

/// Reconciles the objects from the queue, until the process stops.
async fn run<R: Reconciler>(part: Arc<Part<R>>) {
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
async fn reconcile_changed<R: Reconciler>(part: &Arc<Part<R>>) {
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

/// Calls `gone` for each deleted object, several at once.
async fn report_deleted<R: Reconciler>(part: &Arc<Part<R>>) {
    let worker = &part.worker;
    let mut calls = JoinSet::new();
    let begin = async {
        loop {
            let (turn, deleted) = part.queue.next_gone().await;
            let slot = slot(&worker.gone_slots).await;
            let called = worker.clone();
            let call = async move {
                let _slot = slot;
                for object in deleted {
                    called.gone(object.into_kind_unchecked(())).await;
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
fn handler<R: Reconciler>(
    worker: &Arc<Worker<R>>,
    mut observers: Vec<Observer<R::Object>>,
    mut changes: Changes<
        Guarded<R::Object>,
        impl Fn(&Guarded<R::Object>) -> Option<u64> + Send + 'static,
    >,
    queue: Arc<Queue<Object<R::Object>>>,
) -> Handler<R::Object> {
    let (worker, mut is_first) = (worker.clone(), true);
    Box::new(move |event| {
        let changed = changes.take(event);
        if let Event::Apply(object) = event {
            worker.written.shown(&key(object), Some(object));
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
                Change::Changed(object) => queue.push((object.namespace, object.name), priority),
                Change::Deleted(object) => {
                    let key = (object.namespace.clone(), object.name.clone());
                    worker.backoff.forget(&key);
                    worker.written.shown::<R::Object>(&key, None);
                    if let Some(uid) = &object.extra.uid {
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
fn handler_of_unselected<R: Reconciler>(
    store: Store<Guarded<R::Object>>,
    queue: Arc<Queue<Object<R::Object>>>,
) -> Handler<PartialObjectMeta<R::Object>> {
    let finalizer = finalizer_name::<R>();
    Box::new(move |event| {
        let (Event::Apply(object) | Event::InitApply(object)) = event else {
            return;
        };
        let (namespace, name) = key(object);
        let mut selected = ObjectRef::new(&name);
        selected.namespace.clone_from(&namespace);
        if object.meta().deletion_timestamp.is_some()
            && object.finalizers().contains(&finalizer)
            && store.get(&selected).is_none()
        {
            queue.push((namespace, name), Priority::Normal);
        }
    })
}

/// The fingerprint of an object: the object is reconciled when the fingerprint changes. An object for which the
/// predicate panics has none.
fn fingerprint<R: Reconciler>(
    predicate: Option<Arc<Fingerprint<R::Object>>>,
    closures: Closures,
) -> impl Fn(&Guarded<R::Object>) -> Option<u64> {
    move |object| match (&object.0, &predicate) {
        // Any change may make an object fit its type.
        (Err(_), _) => Some(any(object)),
        (Ok(typed), Some(predicate)) => {
            let fingerprint = closures.call("predicate", &key(object), || predicate(typed))?;
            Some(fingerprint.unwrap_or_else(|| any(object)))
        }
        (Ok(_), None) if R::EVERY_CHANGE => Some(any(object)),
        (Ok(_), None) => Some(desired(object)),
    }
}

/// The objects of one watched namespace, or of all, and the queue of objects that wait for a reconcile.
type Queued<K> = (Store<Guarded<K>>, Arc<Queue<Object<K>>>);

/// Queues the object with this key in those parts of the controller that have the object.
fn wake<K: Watchable + Resource<DynamicType = ()>>(
    parts: Vec<Queued<K>>,
    is_namespaced: bool,
) -> Wake {
    Arc::new(move |(namespace, name)| {
        let mut object = ObjectRef::new(&name);
        object.namespace = namespace.filter(|_| is_namespaced);
        for (store, queue) in &parts {
            if store.get(&object).is_some() {
                let key = (object.namespace.clone(), object.name.clone());
                queue.push(key, Priority::Normal);
            }
        }
    })
}

/// Waits until all of `steps` are done.
async fn all_set(steps: Vec<Arc<SetOnce<()>>>) {
    for step in steps {
        step.wait().await;
    }
}

impl<R: Reconciler> Part<R> {
    /// Reconciles the object of this turn, if it still exists.
    async fn reconcile(&self, turn: &Turn<Object<R::Object>>, _slot: Option<OwnedSemaphorePermit>) {
        let worker = &self.worker;
        // A process that was paused must not work with outdated objects from its memory.
        if !worker.leadership.holds() {
            return;
        }
        let key = turn.key();
        let mut reference = ObjectRef::new(&key.1);
        reference.namespace.clone_from(&key.0);
        let action = match self.store.get(&reference) {
            Some(object) => worker.reconcile(&object, key).await,
            None if R::FINALIZER && worker.selects => worker.reconcile_unselected(key).await,
            None => return,
        };
        let shown = self.store.get(&reference);
        // The watch may have delivered the object before the answer to its write has arrived.
        worker.written.shown(key, shown.as_deref());
        if shown.is_none() && !worker.selects {
            worker.backoff.forget(key);
        } else if let Some(delay) = action.requeue_after {
            turn.repeat(delay);
        }
    }
}

/// The name of the controller's finalizer.
fn finalizer_name<R: Reconciler>() -> String {
    match R::FINALIZER_NAME {
        Some(name) => name.to_owned(),
        None => format!("{}/finalizer", R::NAME),
    }
}

impl<R: Reconciler> Worker<R> {
    fn count_error(&self, reason: &str) {
        let errors = &self.metrics.errors;
        errors.with_label_values(&[R::NAME, reason]).inc();
    }

    fn api(&self, namespace: Option<&str>) -> Api<R::Object> {
        Kind::of::<R::Object>().api(self.client.clone(), namespace)
    }

    /// Runs the cleanup of an object that the selector no longer selects.
    async fn reconcile_unselected(&self, key: &Key) -> Action {
        let (namespace, name) = key;
        let start = Instant::now();
        // A list, because a controller needs no permission to get its objects.
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        match self.api(namespace.as_deref()).list(&params).await {
            Ok(list) => match list.items.into_iter().next() {
                Some(object) if object.meta().deletion_timestamp.is_some() => {
                    let uid = object.uid().unwrap_or_default();
                    let action = self.reconcile(&Guarded(Ok(Arc::new(object))), key).await;
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
    async fn reconcile(&self, object: &Guarded<R::Object>, key: &Key) -> Action {
        let (controller, kind) = (R::NAME, R::Object::kind(&()));
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
        let newer = self.written.newer(&**object);
        let object = newer.as_ref().unwrap_or(object);
        // The span adds its fields to each line that the reconciler logs.
        let span = tracing::info_span!("reconcile", %kind, namespace, object = name);
        let active = self.metrics.active.with_label_values(&[controller]);
        active.inc();
        let start = Instant::now();
        // The future of a reconciler may be large, and would be copied to the stack several times.
        let attempt = reads::during(Box::pin(self.attempt(object))).instrument(span);
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
                    self.report_refusal(object, &error).await;
                }
                action
            }
        }
    }

    /// Logs and counts a failure. Returns when to try again.
    async fn failed(&self, error: &Error<R::Error>, key: &Key, start: Instant) -> Action {
        let (controller, kind) = (R::NAME, R::Object::kind(&()));
        let (namespace, name) = key;
        let duration = start.elapsed();
        let reason = match error {
            Error::Panic(_) => "panic",
            Error::Stale => "conflict",
            error => diagnosis::reason(error),
        };
        self.count_error(reason);
        let (hint, is_permanent) = (
            diagnosis::hint(error, R::RULES),
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

    /// Calls the reconciler's `gone` for a deleted object.
    async fn gone(&self, object: ObjectRef<R::Object>) {
        if self.leadership.holds() {
            let gone = AssertUnwindSafe(self.reconciler.gone(&object)).catch_unwind();
            if let Err(panic) = gone.await {
                let panic = message(panic.as_ref());
                tracing::error!(controller = R::NAME, %object, panic, "cannot report a deletion");
            }
        }
    }

    /// Calls the reconciler. If the controller has a finalizer, adds the finalizer before the first reconcile, and
    /// removes it after the cleanup.
    async fn attempt(&self, object: &R::Object) -> Result<Action, Error<R::Error>> {
        let name = finalizer_name::<R>();
        let has_finalizer = object.finalizers().contains(&name);
        let is_deleted = object.meta().deletion_timestamp.is_some();
        if !R::FINALIZER || has_finalizer {
            if !is_deleted {
                let reconciled = self.reconciler.reconcile(object).await;
                return reconciled.map_err(Error::Reconciler);
            }
            if !R::FINALIZER {
                return Ok(Action::await_change());
            }
            return self.clean_up(object, &name).await;
        }
        if !is_deleted {
            let mut all = object.finalizers().to_vec();
            all.push(name.clone());
            // The change of the finalizers requeues the object.
            let change = format!("add the finalizer `{name}`");
            let metadata = json!({"finalizers": all});
            self.patch_metadata(object, change, metadata).await?;
        }
        Ok(Action::await_change())
    }

    /// Calls the reconciler's cleanup until it has ended, then deletes the children that it needed, and then removes
    /// the finalizer.
    async fn clean_up(
        &self,
        object: &R::Object,
        finalizer: &str,
    ) -> Result<Action, Error<R::Error>> {
        let uid = object.uid().unwrap_or_default();
        let annotation = format!("{}/cleaned-up", R::NAME);
        let is_recorded = object.annotations().contains_key(&annotation);
        if !is_recorded && !self.cleaned_up.lock().contains(&uid) {
            let cleaned_up = self.reconciler.cleanup(object).await;
            let action = cleaned_up.map_err(Error::Reconciler)?;
            if action != Action::await_change() {
                return Ok(action);
            }
            self.cleaned_up.lock().insert(uid);
        }
        let mut recorded = None;
        if !self.releases.is_empty() && !is_recorded {
            // If the process ends before the finalizer is removed, the next one does not find the children.
            let change = "record the end of the cleanup".to_owned();
            let metadata = json!({"annotations": {annotation: "true"}});
            recorded = self.patch_metadata(object, change, metadata).await?;
            if recorded.is_none() {
                return Ok(Action::await_change());
            }
        }
        let object = recorded.as_ref().unwrap_or(object);
        let released = cleanup::release_all(&self.releases, object).await;
        released.map_err(Error::Release)?;
        let mut others = object.finalizers().to_vec();
        others.retain(|other| other != finalizer);
        let change = format!("remove the finalizer `{finalizer}`");
        self.patch_metadata(object, change, json!({"finalizers": others}))
            .await?;
        Ok(Action::await_change())
    }

    /// Merges `metadata` into that of `object`, if the object has not changed since it was read. Returns `None` if the
    /// object is deleted.
    async fn patch_metadata(
        &self,
        object: &R::Object,
        change: String,
        mut metadata: Value,
    ) -> Result<Option<R::Object>, Error<R::Error>> {
        // With the resourceVersion, only a real conflict has the code 409: a refusal by a webhook, a policy or the
        // schema has another one, and a retry does not help against these.
        metadata["resourceVersion"] = json!(object.resource_version());
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let params = PatchParams {
            field_manager: Some(self.context.field_manager()),
            ..PatchParams::default()
        };
        let api = self.api(object.meta().namespace.as_deref());
        match api.patch(&object.name_any(), &params, &patch).await {
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
    async fn report_refusal(&self, object: &R::Object, error: &Error<R::Error>) {
        if diagnosis::reason(error) == "conflict" {
            return;
        }
        let note = failure::message(error);
        let context = &self.context;
        context
            .event(object, EventType::Warning, FINALIZER_FAILED, &note)
            .await;
        let mut content = json!(object);
        let Some(conditions) = content.pointer_mut("/status/conditions") else {
            return;
        };
        let Some(changed) = not_ready(object, conditions, &note) else {
            return;
        };
        *conditions = changed;
        let resource = ApiResource::erase::<R::Object>(&());
        let kind = Kind {
            dyntype: resource,
            namespaced: object.meta().namespace.is_some(),
        };
        let namespace = object.meta().namespace.as_deref();
        let api: Api<DynamicObject> = kind.api(self.client.clone(), namespace);
        let params = PostParams {
            field_manager: Some(context.field_manager()),
            ..PostParams::default()
        };
        let name = object.name_any();
        let written = match serde_json::from_value(content) {
            Ok(content) => api.replace_status(&name, &params, &content).await,
            Err(error) => Err(kube::Error::SerdeError(error)),
        };
        if let Err(error) = written {
            let error = failure::message(&error);
            tracing::warn!(
                controller = R::NAME,
                name,
                error,
                "cannot write the condition"
            );
        }
    }
}

/// `conditions` with the condition `Ready` set to false because of `note`; `None` if there is no such condition, or if
/// nothing would change.
fn not_ready<K: Resource>(object: &K, conditions: &Value, note: &str) -> Option<Value> {
    let before: Vec<Condition> = serde_json::from_value(conditions.clone()).ok()?;
    before.iter().find(|condition| condition.type_ == "Ready")?;
    let mut after = before.clone();
    let ready = condition::new_false(object, "Ready", FINALIZER_FAILED, note);
    condition::set(&mut after, ready);
    (after != before).then(|| json!(after))
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, convert::Infallible, time::Duration};

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{api::ObjectMeta, client::Body};
    use prometheus::Registry;
    use proptest::prelude::*;
    use tokio::sync::Notify;

    use super::*;
    use crate::runtime::{operator::Operator, rbac::Rule};

    /// Records the calls for each object: the uid of a reconciled object, a minus sign and the uid of a deleted one.
    #[derive(Default)]
    struct Recorder {
        calls: Mutex<HashMap<String, Vec<String>>>,
        called: Notify,
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

    impl Reconciler for Recorder {
        type Object = ConfigMap;
        type Error = Infallible;

        const NAME: &'static str = "test";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(&self, object: &ConfigMap) -> Result<Action, Infallible> {
            let name = object.name_any();
            assert_ne!(name, "panics");
            tokio::task::yield_now().await;
            self.record(&name, object.uid().unwrap_or_default());
            Ok(Action::await_change())
        }

        async fn gone(&self, object: &ObjectRef<ConfigMap>) {
            let uid = object.extra.uid.clone().unwrap_or_default();
            self.record(&object.name, format!("-{uid}"));
        }
    }

    /// A controller without an API server, and the handler of its watch.
    fn part(concurrency: usize) -> (Part<Recorder>, Handler<ConfigMap>) {
        let forbidden = tower::service_fn(async |_: http::Request<Body>| {
            Err::<http::Response<Body>, _>("the reconciler sends nothing")
        });
        let operator = Operator::new("test", "example.com");
        let metrics = Metrics::new(&operator, Registry::new()).expect("different names");
        let client = Client::new(forbidden, "default");
        let (store, writer) = reflector::store();
        let objects = Objects::default();
        objects.add(store.clone());
        let written = Written::new(objects);
        let watcher = Watcher {
            controller: "test",
            field_manager: "test",
            rules: &[],
            keeps_status_fields: false,
        };
        let worker = Arc::new(Worker {
            reconciler: Recorder::default(),
            context: Context::for_test(client.clone(), watcher, written.clone()),
            client,
            queue: metrics.queue("test"),
            backoff: Backoff::new(Duration::from_millis(1)..Duration::from_secs(1)),
            slots: Arc::new(Semaphore::new(concurrency)),
            gone_slots: Arc::new(Semaphore::new(concurrency)),
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
        let changes = Changes::new(writer, fingerprint::<Recorder>(None, closures));
        let handler = handler(&worker, Vec::new(), changes, queue.clone());
        let part = Part {
            worker,
            synced: all_set(Vec::new()).boxed().shared(),
            store,
            queue,
        };
        (part, handler)
    }

    fn object(name: &str, uid: u32, version: usize) -> Guarded<ConfigMap> {
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
        let (part, _) = part(1);
        for (name, retries) in [("fine", 0), ("panics", 1), ("panics", 2), ("fine", 2)] {
            let object = object(name, 1, 1);
            part.worker.reconcile(&object, &key(&object)).await;
            assert_eq!(part.worker.queue.retries.get(), retries, "{name}");
        }
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_before_its_reconcile_is_reported_and_not_reconciled() {
        let (mut part, mut handle) = part(1);
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
        worker.reconciler.until("a", |calls| calls == ["-1"]).await;
        worker.stop.cancel();
        running.await.expect("no panic");
    }

    #[tokio::test]
    async fn an_object_that_is_deleted_and_made_again_is_reconciled() {
        for pauses in 0..40 {
            let (part, mut handle) = part(1);
            let worker = part.worker.clone();
            let running = tokio::spawn(run(Arc::new(part)));
            for event in [
                Event::Init,
                Event::InitDone,
                Event::Apply(object("a", 1, 1)),
            ] {
                handle(&event);
            }
            worker.reconciler.until("a", |calls| calls == ["1"]).await;
            handle(&Event::Delete(object("a", 1, 1)));
            for _ in 0..pauses {
                tokio::task::yield_now().await;
            }
            handle(&Event::Apply(object("a", 2, 2)));
            worker
                .reconciler
                .until("a", |calls| calls == ["1", "-1", "2"])
                .await;
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
        let (part, mut handle) = part(concurrency);
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
                let reconciler = &worker.reconciler;
                reconciler
                    .until(name, |calls| calls.last() == Some(&last))
                    .await;
            }
            let mut latest = 0;
            for call in worker.reconciler.calls(name) {
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
