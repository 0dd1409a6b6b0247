//! Runs a reconciler for each changed object, and again after a failure. Several objects are reconciled at once, but
//! never the same object twice at once. A failure affects one object only.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    convert::Infallible,
    mem,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Arc,
    time::Instant,
};

use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, Shared},
    stream,
};
use kube::{
    Client, Resource,
    runtime::{
        Controller,
        controller::{self, Action, Config},
        finalizer::{self, finalizer},
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher::Event,
    },
};
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SetOnce},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    Runtime,
    backoff::Backoff,
    builder::{Builder, Fingerprint, Observer},
    changes::{Changes, desired},
    context::Context,
    failure,
    guarded::Guarded,
    informer::{Handler, Informers, Synced, Wake, some_or_all},
    leader::Leadership,
    metrics::{Metrics, QueueMetrics},
    queue::{Priority, Queue},
    reconciler::Reconciler,
    scope::{Kind, Watchable},
    watch::{Extent, Key, Watcher, key, key_of},
    written::Written,
};

/// How many objects the queue hands out for each concurrent reconcile. kube's scheduler keeps an object for a
/// millisecond or two, so with fewer objects, quick reconciles would have to wait for more.
const AHEAD: usize = 8;

/// Why a reconcile did not succeed.
#[derive(Debug, thiserror::Error)]
enum Error<E: std::error::Error + 'static> {
    #[error(transparent)]
    Reconciler(E),
    #[error(transparent)]
    Finalizer(Box<finalizer::Error<Undone<E>>>),
    #[error("panicked: {0}")]
    Panic(String),
}

/// Why the finalizer stays on the object.
#[derive(Debug, thiserror::Error)]
enum Undone<E: std::error::Error + 'static> {
    #[error(transparent)]
    Reconciler(E),
    #[error("the cleanup goes on")]
    Cleanup(Action),
}

impl<E: std::error::Error + 'static> Error<E> {
    /// Whether the object has changed since it was read. This is normal: the next reconcile gets the new version.
    fn is_conflict(&self) -> bool {
        match failure::reason(self) {
            "conflict" => true,
            // The finalizers have changed since they were read, or the object is deleted.
            "invalid" | "not_found" => matches!(
                self,
                Self::Finalizer(error) if matches!(
                    **error,
                    finalizer::Error::AddFinalizer(_) | finalizer::Error::RemoveFinalizer(_)
                )
            ),
            _ => false,
        }
    }
}

/// The state that the reconciles of a controller share.
struct Worker<R: Reconciler> {
    reconciler: R,
    client: Client,
    metrics: Metrics,
    /// The metrics of the work queue.
    queue: QueueMetrics,
    backoff: Backoff<Key>,
    /// Shared by all watched namespaces.
    slots: Semaphore,
    /// Limits how many calls of `gone` run at once. These calls take no slot: a reconcile does not wait for objects
    /// that no longer exist.
    gone_slots: Semaphore,
    /// The last call of `gone` for each object, until the call ends.
    gone: Mutex<HashMap<Key, CancellationToken>>,
    written: Written,
    leadership: Leadership,
    stop: CancellationToken,
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
pub(super) fn start<R: Reconciler>(
    new: impl FnOnce(&mut Builder<R::Object>) -> R,
    runtime: &Runtime,
    informers: &mut Informers,
    tasks: &mut JoinSet<()>,
) {
    let watcher = Watcher {
        controller: R::NAME,
        field_manager: R::FIELD_MANAGER,
        rules: R::RULES,
        keeps_status_fields: false,
    };
    let written = Written::new::<R::Object>();
    let context = Context::new(runtime, watcher, written.clone());
    let kinds = runtime.kinds.iter();
    if kinds
        .filter(|kind| **kind == TypeId::of::<R::Object>())
        .count()
        > 1
    {
        context.share_status();
    }
    let mut builder = Builder::new(context, runtime);
    let reconciler = new(&mut builder);
    let own = Watcher {
        keeps_status_fields: builder.context().shares_status(),
        ..watcher
    };
    let concurrency = builder.concurrency;
    let worker = Arc::new(Worker {
        reconciler,
        client: runtime.client.clone(),
        metrics: runtime.metrics.clone(),
        queue: runtime.metrics.queue(R::NAME),
        backoff: Backoff::new(builder.pauses.clone()),
        slots: Semaphore::new(usize::from(concurrency)),
        gone_slots: Semaphore::new(usize::from(concurrency)),
        gone: Mutex::default(),
        written,
        leadership: runtime.leadership.clone(),
        stop: runtime.stop.clone(),
    });
    let limit = worker.metrics.limit.with_label_values(&[R::NAME]);
    limit.set(i64::from(concurrency));
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
    let (objects, predicate) = (builder.objects(), builder.fingerprint.take().map(Arc::new));
    let (mut queues, mut synced) = (Vec::new(), Vec::new());
    for namespace in &namespaces {
        let (store, writer) = reflector::store();
        let ahead = usize::from(concurrency).saturating_mul(AHEAD);
        let queue = Arc::new(Queue::new(ahead, worker.queue.clone()));
        let observe = builder.observers.iter();
        let handler = handler(
            &worker,
            writer,
            observe
                .map(|observe| observe(namespace.as_deref()))
                .collect(),
            Changes::new(store.clone(), fingerprint::<R>(predicate.clone())),
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
        objects.add(store.clone());
        queues.push((store, queue));
    }
    let wake = wake(queues.clone(), kind.namespaced);
    for follow in builder.follows {
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
        tasks.spawn(run(Arc::new(part), concurrency));
    }
}

/// Reconciles the objects from the queue, until the process stops.
async fn run<R: Reconciler>(part: Arc<Part<R>>, concurrency: u16) {
    let stop = part.worker.stop.clone();
    let objects = part.queue.clone().objects();
    let mut results = pin!(
        Controller::for_stream(stream::empty(), part.store.clone())
            .reconcile_on(objects.take_until(stop.cancelled_owned()))
            .with_config(Config::default().concurrency(concurrency))
            // `reconcile` returns when to retry, so there is no error.
            .run(reconcile, |_, never, _| match *never {}, part.clone())
    );
    let mut gone = JoinSet::new();
    // Polling the results runs the reconciles, so nothing in this loop may wait.
    while let Some(result) = results.next().await {
        // Other errors are logged where they happen.
        if let Err(controller::Error::ObjectNotFound(object)) = result {
            let object = object.into_kind_unchecked(());
            part.queue.forget(&object);
            gone.spawn(part.worker.clone().gone(object.into_kind_unchecked(())));
        }
        while gone.try_join_next().is_some() {}
    }
    while gone.join_next().await.is_some() {}
}

/// Handles the events of the watch of the controller's own kind: first updates the stores that reconciles read, then
/// adds the changed objects to `queue`.
fn handler<R: Reconciler>(
    worker: &Arc<Worker<R>>,
    mut store: Writer<Guarded<R::Object>>,
    mut observers: Vec<Observer<R::Object>>,
    mut changes: Changes<
        Guarded<R::Object>,
        impl Fn(&Guarded<R::Object>) -> Option<u64> + Send + 'static,
    >,
    queue: Arc<Queue<Object<R::Object>>>,
) -> Handler<R::Object> {
    let (written, mut is_first) = (worker.written.clone(), true);
    Box::new(move |event| {
        store.apply_watcher_event(event);
        match event {
            Event::Apply(object) => written.shown(&key(object), Some(object)),
            Event::Delete(object) => written.shown::<R::Object>(&key(object), None),
            Event::Init | Event::InitApply(_) | Event::InitDone => {}
        }
        observers.iter_mut().for_each(|observer| observer(event));
        let changed = changes.take(event);
        let is_first = matches!(event, Event::InitDone) && mem::take(&mut is_first);
        let priority = if is_first {
            Priority::Low
        } else {
            Priority::Normal
        };
        for object in changed {
            queue.push(object, priority);
        }
    })
}

/// The fingerprint of an object: the object is reconciled when the fingerprint changes. `None` means by each change.
fn fingerprint<R: Reconciler>(
    predicate: Option<Arc<Fingerprint<R::Object>>>,
) -> impl Fn(&Guarded<R::Object>) -> Option<u64> {
    move |object| match (&object.0, &predicate) {
        // Any change may make an object fit its type.
        (Err(_), _) => None,
        (Ok(object), Some(predicate)) => predicate(object),
        (Ok(object), None) => desired(&**object).filter(|_| !R::EVERY_CHANGE),
    }
}

/// The objects of one watched namespace, or of all, and the queue of objects that wait for a reconcile.
type Queued<K> = (Store<Guarded<K>>, Arc<Queue<Object<K>>>);

/// Queues the object with the given key in those parts of the controller that have the object.
fn wake<K: Watchable + Resource<DynamicType = ()>>(
    parts: Vec<Queued<K>>,
    is_namespaced: bool,
) -> Wake {
    Arc::new(move |(namespace, name)| {
        let mut object = ObjectRef::new(&name);
        object.namespace = namespace.filter(|_| is_namespaced);
        for (store, queue) in &parts {
            if store.get(&object).is_some() {
                queue.push(object.clone(), Priority::Normal);
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

/// Reconciles one object. A failure or panic is logged, counted, and affects this object only.
async fn reconcile<R: Reconciler>(
    object: Arc<Guarded<R::Object>>,
    part: Arc<Part<R>>,
) -> Result<Action, Infallible> {
    let worker = &part.worker;
    let key = key(&*object);
    let _slot = tokio::select! {
        biased;
        () = worker.stop.cancelled() => return Ok(Action::await_change()),
        slot = async {
            part.synced.clone().await;
            worker.told_gone(&key).await;
            worker.slots.acquire().await
        } => slot,
    };
    // A process that was paused must not work with outdated objects from its memory.
    if !worker.leadership.holds() {
        return Ok(Action::await_change());
    }
    let newest = ObjectRef::from_obj(&*object);
    // From here on, a change needs another reconcile.
    let _running = part.queue.begin(newest.clone());
    // The object may have changed while it was in the queue.
    let Some(object) = part.store.get(&newest) else {
        // The queue ignored the deletion if it came just before this reconcile began. The next reconcile ends with a
        // call of `gone`, because the store no longer has the object.
        part.queue.push(newest, Priority::Normal);
        return Ok(Action::await_change());
    };
    let action = worker.reconcile(&object, &key).await;
    // The watch may have delivered the object before the answer to its write has arrived.
    let shown = part.store.get(&newest);
    worker.written.shown(&key, shown.as_deref());
    Ok(action)
}

impl<R: Reconciler> Worker<R> {
    /// Calls the reconciler, and returns when to requeue the object.
    async fn reconcile(&self, object: &Guarded<R::Object>, key: &Key) -> Action {
        let (controller, kind) = (R::NAME, R::Object::kind(&()));
        let (namespace, name) = key;
        let errors = |reason| {
            self.metrics
                .errors
                .with_label_values(&[controller, reason])
                .inc()
        };
        let object = match &object.0 {
            Ok(object) => object,
            Err(error) => {
                // A retry would not help: only a change of the object does, which requeues it.
                self.backoff.forget(key);
                errors("unreadable");
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
        let attempt = AssertUnwindSafe(self.attempt(object).instrument(span));
        let result = attempt.catch_unwind().await;
        let result = result.unwrap_or_else(|panic| Err(Error::Panic(message(panic.as_ref()))));
        let duration = start.elapsed();
        active.dec();
        let seconds = self.metrics.seconds.with_label_values(&[controller]);
        seconds.observe(duration.as_secs_f64());

        let outcome = if result.is_ok() { "success" } else { "error" };
        let reconciles = &self.metrics.reconciles;
        reconciles.with_label_values(&[controller, outcome]).inc();
        let error = match result {
            Ok(action) => {
                self.backoff.forget(key);
                tracing::info!(controller, %kind, namespace, name, ?duration, "reconciled");
                return action;
            }
            Err(error) => error,
        };
        let pause = self.backoff.failed(key.clone());
        self.queue.retries.inc();
        let retry_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        if error.is_conflict() {
            errors("conflict");
            let says = "was changed meanwhile, trying again";
            tracing::info!(controller, %kind, namespace, name, ?duration, retry_ms, "{says}");
        } else {
            let reason = match &error {
                Error::Panic(_) => "panic",
                error => failure::reason(error),
            };
            errors(reason);
            let hint = failure::hint(&error, R::RULES);
            let error = failure::says(&error);
            let says = "cannot reconcile";
            tracing::error!(
                controller, %kind, namespace, name, ?duration, reason, %error, hint, retry_ms, "{says}"
            );
        }
        Action::requeue(pause)
    }

    /// Calls the reconciler's `gone` for a deleted object. From this call on, [`told_gone`](Self::told_gone) waits
    /// until the returned future ends.
    fn gone(
        self: Arc<Self>,
        object: ObjectRef<R::Object>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let key = key_of(&object);
        self.backoff.forget(&key);
        self.written.shown::<R::Object>(&key, None);
        let told = CancellationToken::new();
        let before = self.gone.lock().insert(key.clone(), told.clone());
        async move {
            if let Some(before) = before {
                before.cancelled().await;
            }
            let _slot = self.gone_slots.acquire().await;
            if self.leadership.holds() {
                let gone = AssertUnwindSafe(self.reconciler.gone(&object)).catch_unwind();
                if let Err(panic) = gone.await {
                    let panic = message(panic.as_ref());
                    tracing::error!(controller = R::NAME, %object, panic, "cannot tell it is gone");
                }
            }
            told.cancel();
            // A later call for an object with the same name stays in the map.
            let mut gone = self.gone.lock();
            if gone.get(&key).is_some_and(CancellationToken::is_cancelled) {
                gone.remove(&key);
            }
        }
    }

    /// Waits until `gone` has run for all earlier objects with this name.
    async fn told_gone(&self, key: &Key) {
        let told = self.gone.lock().get(key).cloned();
        if let Some(told) = told {
            told.cancelled().await;
        }
    }

    /// Calls the reconciler, with the finalizer if it has one.
    async fn attempt(&self, object: &R::Object) -> Result<Action, Error<R::Error>> {
        if !R::FINALIZER {
            return match object.meta().deletion_timestamp {
                Some(_) => Ok(Action::await_change()),
                None => self
                    .reconciler
                    .reconcile(object)
                    .await
                    .map_err(Error::Reconciler),
            };
        }
        let usual = || format!("{}/finalizer", R::NAME);
        let name = R::FINALIZER_NAME.map_or_else(usual, str::to_owned);
        let namespace = object.meta().namespace.as_deref();
        let api = Kind::of::<R::Object>().api::<R::Object>(self.client.clone(), namespace);
        let result = finalizer(&api, &name, Arc::new(object.clone()), |event| async {
            match event {
                finalizer::Event::Apply(object) => self.reconciler.reconcile(&object).await,
                finalizer::Event::Cleanup(object) => match self.reconciler.cleanup(&object).await {
                    // Success would remove the finalizer.
                    Ok(action) if action != Action::await_change() => {
                        return Err(Undone::Cleanup(action));
                    }
                    result => result,
                },
            }
            .map_err(Undone::Reconciler)
        });
        match result.await {
            Err(finalizer::Error::CleanupFailed(Undone::Cleanup(action))) => Ok(action),
            result => result.map_err(|error| Error::Finalizer(Box::new(error))),
        }
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{api::ObjectMeta, client::Body};
    use prometheus::Registry;
    use tokio::sync::Notify;

    use super::*;
    use crate::runtime::{Operator, Rule};

    /// Records the deleted objects.
    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl Reconciler for Recorder {
        type Object = ConfigMap;
        type Error = Infallible;

        const NAME: &'static str = "test";
        const RULES: &'static [Rule] = &[];
        const EVERY_CHANGE: bool = true;

        async fn reconcile(&self, object: &ConfigMap) -> Result<Action, Infallible> {
            assert_ne!(object.metadata.name.as_deref(), Some("panics"));
            Ok(Action::await_change())
        }

        async fn gone(&self, object: &ObjectRef<ConfigMap>) {
            self.0.lock().push(object.name.clone());
        }
    }

    fn part(concurrency: u16) -> (Part<Recorder>, Writer<Guarded<ConfigMap>>) {
        let forbidden = tower::service_fn(async |_: http::Request<Body>| {
            Err::<http::Response<Body>, _>("the reconciler sends nothing")
        });
        let operator = Operator::new("test", "example.com");
        let metrics = Metrics::new(&operator, Registry::new()).expect("different names");
        let slots = usize::from(concurrency);
        let queue = Arc::new(Queue::new(slots, metrics.queue("test")));
        let (store, writer) = reflector::store();
        let worker = Worker {
            reconciler: Recorder::default(),
            client: Client::new(forbidden, "default"),
            queue: metrics.queue("test"),
            metrics,
            backoff: Backoff::new(Duration::from_millis(1)..Duration::from_secs(1)),
            slots: Semaphore::new(slots),
            gone_slots: Semaphore::new(slots),
            gone: Mutex::default(),
            written: Written::new::<ConfigMap>(),
            leadership: Leadership::always(),
            stop: CancellationToken::new(),
        };
        let part = Part {
            worker: Arc::new(worker),
            synced: all_set(Vec::new()).boxed().shared(),
            store,
            queue,
        };
        (part, writer)
    }

    fn object(name: &str) -> Guarded<ConfigMap> {
        Guarded(Ok(Arc::new(ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        })))
    }

    #[tokio::test]
    async fn a_retry_is_counted_for_each_failure() {
        let (part, _writer) = part(1);
        for (name, retries) in [("fine", 0), ("panics", 1), ("panics", 2), ("fine", 2)] {
            let object = object(name);
            part.worker.reconcile(&object, &key(&object)).await;
            assert_eq!(part.worker.queue.retries.get(), retries, "{name}");
        }
    }

    #[tokio::test]
    async fn a_deletion_just_before_the_reconcile_begins_reaches_the_reconciler() {
        let (mut part, writer) = part(1);
        let (reached, begins) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let gate = (reached.clone(), begins.clone());
        part.synced = async move {
            gate.0.notify_one();
            gate.1.notified().await;
        }
        .boxed()
        .shared();
        let worker = part.worker.clone();
        let changes = Changes::new(part.store.clone(), fingerprint::<Recorder>(None));
        let mut handle = handler(&worker, writer, Vec::new(), changes, part.queue.clone());
        let running = tokio::spawn(run(Arc::new(part), 1));

        for event in [Event::Init, Event::InitDone, Event::Apply(object("a"))] {
            handle(&event);
        }
        reached.notified().await;
        handle(&Event::Delete(object("a")));
        begins.notify_one();
        let gone = async {
            while worker.reconciler.0.lock().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(10), gone).await;
        assert_eq!(in_time, Ok(()));
        worker.stop.cancel();
        running.await.expect("no panic");
    }
}
