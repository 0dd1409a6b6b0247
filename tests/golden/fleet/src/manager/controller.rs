// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Runs a reconciler: watches its objects and calls it for each one that changed, for many at once
//! but never twice for the same, again after a failure, and in a way that one bad object harms no
//! other.

use std::{
    any::Any,
    fmt::Debug,
    ops::Range,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt, StreamExt};
use kube::{
    Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt,
        controller::{self, Action, Config},
        finalizer::{self, finalizer},
        reflector::{self, ObjectRef},
        watcher::{self, ExponentialBackoff, watcher},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::task::JoinSet;

use super::{
    Runtime,
    backoff::{Backoff, growing},
    changes::changes,
    rbac::Rule,
    scope::Scope,
};

/// How long to wait before a watch that failed is tried again: at first, and at most.
const WATCH_PAUSE: Range<Duration> = Duration::from_millis(500)..Duration::from_secs(10);

/// What a controller does for the objects of one kind.
pub trait Reconciler: Send + Sync + 'static {
    /// The kind.
    type Object: Resource<DynamicType = (), Scope: Scope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;

    /// Why a reconcile failed.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Names the controller in logs, in events and as the manager of the fields that it writes.
    const NAME: &'static str;

    /// Everything that the controller may do in the cluster; `make manifests` writes it to
    /// config/rbac/role.yaml.
    const RULES: &'static [Rule];

    /// Whether each object waits for [`cleanup`](Self::cleanup) before it is deleted. The finalizer
    /// that makes it wait is called `<NAME>/finalizer`, and needs the verb `Patch` on the objects.
    /// An object that has it cannot go without the operator: keep this true until none has it.
    const FINALIZER: bool = false;

    /// Whether to reconcile after every change of an object, even if only its status changed.
    const EVERY_CHANGE: bool = false;

    /// Brings the cluster to what `object` asks for. Called after each start and each change, so
    /// with nothing left to do it must do nothing. Not called for an object that is being
    /// deleted.
    fn reconcile(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// Removes what would be left behind by `object`, which is about to be deleted: only with a
    /// `FINALIZER`. Tried again until it succeeds, and the object stays until then.
    fn cleanup(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = object;
        async { Ok(()) }
    }

    /// Hears that an object is gone; another one of the same name may be there already. Deletions
    /// while the operator is not running are never heard: what must be cleaned up needs `FINALIZER`,
    /// or an owner reference.
    fn gone(&self, object: &ObjectRef<Self::Object>) -> impl Future<Output = ()> + Send {
        let _ = object;
        async {}
    }
}

/// Why there was no successful reconcile.
#[derive(Debug, thiserror::Error)]
enum Error<E: std::error::Error + 'static> {
    #[error(transparent)]
    Reconciler(E),
    #[error(transparent)]
    Finalizer(Box<finalizer::Error<E>>),
    #[error("panicked: {0}")]
    Panic(String),
}

/// An object as it was read. If it does not fit its type, it is known by its metadata alone.
type Guarded<K> = DeserializeGuard<K>;

/// Everything that a reconcile needs.
struct Worker<R: Reconciler> {
    reconciler: Arc<R>,
    client: kube::Client,
    backoff: Backoff<ObjectRef<Guarded<R::Object>>>,
}

/// Starts `reconciler` as tasks: one for each namespace to watch, or one for all.
pub(super) fn start<R: Reconciler>(reconciler: R, runtime: &Runtime, tasks: &mut JoinSet<()>) {
    let reconciler = Arc::new(reconciler);
    let mut namespaces: Vec<_> = runtime.namespaces.iter().cloned().map(Some).collect();
    if namespaces.is_empty() || !<R::Object as Resource>::Scope::NAMESPACED {
        namespaces = vec![None];
    }
    for namespace in namespaces {
        tasks.spawn(run(reconciler.clone(), runtime.clone(), namespace));
    }
}

/// Runs until the manager stops, or until something panics that is not a reconcile.
async fn run<R: Reconciler>(reconciler: Arc<R>, runtime: Runtime, namespace: Option<String>) {
    let api = <R::Object as Resource>::Scope::api::<Guarded<R::Object>>(
        runtime.watch_client,
        namespace.as_deref(),
    );
    let (store, writer) = reflector::store();
    let events = watcher(api, watcher::Config::default())
        // Nobody here reads managedFields, and they are half of what an object takes in memory.
        .modify(|object| object.managed_fields_mut().clear())
        .reflect(writer);
    let worker = Arc::new(Worker {
        reconciler: reconciler.clone(),
        client: runtime.client,
        backoff: Backoff::default(),
    });

    // Of an object that does not fit its type, any change may be the one that mends it.
    let every_change = |object: &Guarded<R::Object>| R::EVERY_CHANGE || object.0.is_err();
    let limit = usize::from(runtime.concurrency);
    kube::runtime::Controller::for_stream(changes(events, store.clone(), every_change), store)
        .with_config(Config::default().concurrency(runtime.concurrency))
        // What cannot be watched, for want of a CRD or of a permission, may be watchable soon.
        .trigger_backoff(ExponentialBackoff::from(growing(WATCH_PAUSE)))
        .graceful_shutdown_on(runtime.stop.cancelled_owned())
        .run(reconcile, retry, worker.clone())
        .for_each_concurrent(limit, async |result| match result {
            Ok(_) | Err(controller::Error::ReconcilerFailed(..)) => {} // logged where it happened
            Err(controller::Error::ObjectNotFound(object)) => {
                let object = object.into_kind_unchecked(());
                worker.backoff.forget(&object);
                let object = object.into_kind_unchecked(());
                let gone = AssertUnwindSafe(reconciler.gone(&object)).catch_unwind();
                if let Err(panic) = gone.await {
                    let panic = message(panic.as_ref());
                    tracing::error!(controller = R::NAME, %object, panic, "cannot tell it is gone");
                }
            }
            Err(controller::Error::QueueError(error)) => {
                let hint = hint(&error);
                tracing::warn!(controller = R::NAME, %error, hint, "cannot watch, trying again");
            }
            Err(controller::Error::RunnerError(error)) => {
                tracing::error!(controller = R::NAME, %error, "cannot run");
            }
        })
        .await;
}

/// What helps against a watch that fails, where that is known.
fn hint(error: &watcher::Error) -> Option<&'static str> {
    let (watcher::Error::InitialListFailed(kube::Error::Api(status))
    | watcher::Error::WatchStartFailed(kube::Error::Api(status))) = error
    else {
        return None;
    };
    match status.code {
        403 => Some("`RULES` need List and Watch, and the cluster the role that follows from them"),
        404 => Some("the cluster does not have this kind: `make install` installs the CRDs"),
        _ => None,
    }
}

/// One reconcile: whatever happens in it, it is logged, and nothing but this object suffers.
async fn reconcile<R: Reconciler>(
    object: Arc<Guarded<R::Object>>,
    worker: Arc<Worker<R>>,
) -> Result<Action, Error<R::Error>> {
    let object = match &object.0 {
        Ok(object) => object,
        Err(invalid) => {
            // Trying again would not help: a change of the object will bring it back here.
            worker.backoff.forget(&ObjectRef::from_obj(&*object));
            tracing::warn!(
                controller = R::NAME,
                error = %invalid,
                "does not fit its type, left alone until it changes"
            );
            return Ok(Action::await_change());
        }
    };
    let start = Instant::now();
    let result = AssertUnwindSafe(worker.attempt(object))
        .catch_unwind()
        .await;
    let result = result.unwrap_or_else(|panic| Err(Error::Panic(message(panic.as_ref()))));
    match &result {
        Ok(_) => {
            worker
                .backoff
                .forget(&ObjectRef::from_obj(object).into_kind_unchecked(()));
            tracing::info!(controller = R::NAME, duration = ?start.elapsed(), "reconciled");
        }
        Err(error) => {
            let duration = start.elapsed();
            tracing::error!(controller = R::NAME, ?duration, %error, "cannot reconcile");
        }
    }
    result
}

/// When to try an object again that failed.
fn retry<R: Reconciler>(
    object: Arc<Guarded<R::Object>>,
    _: &Error<R::Error>,
    worker: Arc<Worker<R>>,
) -> Action {
    Action::requeue(worker.backoff.failed(ObjectRef::from_obj(&*object)))
}

impl<R: Reconciler> Worker<R> {
    /// Calls the reconciler in the way that its finalizer, or the lack of one, asks for.
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
        let name = format!("{}/finalizer", R::NAME);
        let namespace = object.meta().namespace.as_deref();
        let api = <R::Object as Resource>::Scope::api::<R::Object>(self.client.clone(), namespace);
        finalizer(&api, &name, Arc::new(object.clone()), |event| async {
            match event {
                finalizer::Event::Apply(object) => self.reconciler.reconcile(&object).await,
                finalizer::Event::Cleanup(object) => self
                    .reconciler
                    .cleanup(&object)
                    .await
                    .map(|()| Action::await_change()),
            }
        })
        .await
        .map_err(|error| Error::Finalizer(Box::new(error)))
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}
