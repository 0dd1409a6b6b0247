//! The calls of a reconciler: each with the finalizer, a time limit, a log line and metrics, and again after a failure.

use std::{
    collections::HashSet,
    error,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    Api, Resource,
    api::{ListParams, Patch, PatchParams},
    core::ObjectMeta,
    runtime::{events::EventType, reflector::ObjectRef},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::timeout};
use tracing::Instrument;

use crate::runtime::{
    access::Access,
    action::{Action, Cleanup},
    backoff::Backoff,
    children::{self, any::AnyChildren},
    closures::message,
    condition,
    context::Context,
    diagnosis, failure,
    metrics::QueueMetrics,
    object::{AnyObject, Guarded, Object, Raw, Write, identity, typed_ref},
    reads,
    reconciler::Reconciler,
    reference,
    scope::Kind,
    services::Services,
    watch::{Key, key},
};

/// From this number of conflicts in a row on, a conflict is an error: something else changes the object all the time.
const REPEATED: u32 = 3;

/// The reason of the event and of the condition when the finalizer cannot be changed.
const FINALIZER_FAILED: &str = "FinalizerFailed";

/// The reason of the event when a cleanup fails.
const CLEANUP_FAILED: &str = "CleanupFailed";

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
    /// The reconciler has ignored the error, or has hidden it in an error of its own.
    #[error("a child has changed since it was read")]
    Stale(#[source] Option<AnyError>),
}

type AnyError = Box<dyn error::Error + Send + Sync>;

impl Error {
    /// The reason in one word, for metrics.
    fn reason(&self) -> &'static str {
        match self {
            Self::Panic(_) => "panic",
            Self::Timeout(_) => "timeout",
            Self::Stale(_) => "conflict",
            error => diagnosis::reason(error),
        }
    }
}

/// A [`Reconciler`] of any kind.
pub trait AnyReconciler: Send + Sync {
    fn reconcile<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Action>;

    fn clean_up<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Cleanup>;

    fn report_deleted<'a>(&'a self, object: &ObjectMeta, context: &'a Context)
    -> BoxFuture<'a, ()>;
}

/// A call of a reconciler.
type Call<'a, T> = BoxFuture<'a, Result<T, AnyError>>;

// This and `controller::start` are all code of controllers that is compiled for each kind.
impl<R: Reconciler> AnyReconciler for R {
    fn reconcile<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Action> {
        Box::pin(async move {
            match typed_ref(object) {
                Some(typed) => Ok(Reconciler::reconcile(self, typed, context).await?),
                None => Ok(Action::await_change()),
            }
        })
    }

    fn clean_up<'a>(&'a self, object: &'a dyn Object, context: &'a Context) -> Call<'a, Cleanup> {
        Box::pin(async move {
            match typed_ref(object) {
                Some(typed) => Ok(self.cleanup(typed, context).await?),
                None => Ok(Cleanup::Done),
            }
        })
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
        Box::pin(async move { self.deleted(&reference, context).await })
    }
}

/// Calls the reconciler of a controller.
pub struct Worker {
    pub reconciler: Box<dyn AnyReconciler>,
    pub kind: Kind,
    pub write: Write,
    /// The name of the finalizer, if the controller has one.
    pub finalizer: Option<String>,
    pub access: Access,
    pub services: Services,
    /// The metrics of the work queue.
    pub queue: QueueMetrics,
    pub backoff: Backoff<Key>,
    /// How long a call of the reconciler may take.
    pub limit: Option<Duration>,
    /// Shared by all watched namespaces.
    pub slots: Arc<Semaphore>,
    /// Limits how many calls of `deleted` run at once. These calls take no slot: a reconcile does not wait for objects
    /// that no longer exist.
    pub deleted_slots: Arc<Semaphore>,
    /// The children that are deleted after a cleanup.
    pub releases: Vec<AnyChildren>,
    /// The namespaces that the controller watches; `None` is all of them.
    pub namespaces: Vec<Option<String>>,
    /// The uids of the objects whose cleanup has ended, until the watch shows their deletion. A second cleanup would
    /// not find the children that are deleted by then.
    pub cleaned_up: Mutex<HashSet<String>>,
    /// Whether the watch delivers only some objects of the kind.
    pub selects: bool,
}

/// Fails after a conflict with a child: then the child that should be deleted may still be there.
fn unless_outdated() -> Result<(), Error> {
    if reads::is_outdated() {
        return Err(Error::Stale(None));
    }
    Ok(())
}

pub fn finalizers(object: &ObjectMeta) -> &[String] {
    object.finalizers.as_deref().unwrap_or_default()
}

impl Worker {
    pub fn controller(&self) -> &'static str {
        self.access.name()
    }

    fn count_error(&self, reason: &str) {
        let errors = &self.services.metrics.errors;
        errors.with_label_values(&[self.controller(), reason]).inc();
    }

    fn api(&self, namespace: Option<&str>) -> Api<Raw> {
        self.kind.api(self.services.client.clone(), namespace)
    }

    /// Runs the cleanup of an object that the selector no longer selects.
    pub async fn reconcile_unselected(&self, key: &Key) -> Action {
        let (namespace, name) = key;
        let start = Instant::now();
        // A list, because a controller needs no permission to get its objects.
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let list = match self.api(namespace.as_deref()).list(&params).await {
            Ok(list) => list,
            Err(error) => return self.failed("cannot reconcile", &Error::Read(error), key, start),
        };
        let found = list.items.first().map(|object| self.kind.guarded(object));
        let Some(object) = found.filter(|found| found.metadata().deletion_timestamp.is_some())
        else {
            self.backoff.forget(key);
            return Action::await_change();
        };
        let action = self.reconcile(&object, key).await;
        if action == Action::await_change() {
            // The watch does not show its deletion.
            self.forget_cleanup(object.metadata());
        }
        action
    }

    /// The object with this key is deleted.
    pub fn forget(&self, key: &Key, object: &ObjectMeta) {
        self.backoff.forget(key);
        self.access.written.shown(key, None);
        self.forget_cleanup(object);
    }

    /// Whether an object that the watch no longer shows may still exist, and wait for its cleanup: the selector may not
    /// select it any more.
    pub fn may_have_lost(&self, object: &ObjectMeta) -> bool {
        self.selects && self.has_finalizer(object)
    }

    /// Whether a late write of the former leader may have changed the status between these two versions of an object.
    pub fn may_have_late_status(&self, before: &Guarded, shown: &Guarded) -> bool {
        let status = |object: &Guarded| {
            let object = object.0.as_ref().ok()?;
            Some((self.write)(&**object)["status"].take())
        };
        let is_same = before.metadata().resource_version == shown.metadata().resource_version;
        let written = &self.access.written;
        !is_same && written.may_be_late(shown.metadata(), || status(before) != status(shown))
    }

    /// Whether an object has the finalizer of this controller.
    fn has_finalizer(&self, object: &ObjectMeta) -> bool {
        let finalizer = self.finalizer.as_ref();
        finalizer.is_some_and(|finalizer| finalizers(object).contains(finalizer))
    }

    fn forget_cleanup(&self, object: &ObjectMeta) {
        if let Some(uid) = &object.uid {
            self.cleaned_up.lock().remove(uid);
        }
    }

    /// Calls the reconciler, and returns when to requeue the object. A failure or panic is logged and counted.
    pub async fn reconcile(&self, object: &Guarded, key: &Key) -> Action {
        let (controller, kind) = (self.controller(), &self.kind.resource.kind);
        let (namespace, name) = key;
        let object = match &object.0 {
            Ok(object) => object,
            Err(invalid) => {
                // A retry would not help: only a change of the object does, which requeues it.
                self.backoff.forget(key);
                self.count_error("unreadable");
                let says = "does not fit its type, left alone until it changes";
                tracing::warn!(controller, %kind, namespace, name, error = %invalid, "{says}");
                let metadata = &invalid.metadata;
                if metadata.deletion_timestamp.is_none() || !self.has_finalizer(metadata) {
                    return Action::await_change();
                }
                // Somebody waits for the end of the deletion. The API server deletes old events, so the event is repeated.
                let note = format!("the object {says}: {invalid}");
                self.record(metadata, CLEANUP_FAILED, note);
                return Action::requeue(self.backoff.longest());
            }
        };
        let newer = self.access.written.newer_than(object.metadata());
        let object = newer.as_ref().unwrap_or(object);
        // The span adds its fields to each line that the reconciler logs.
        let span = tracing::info_span!("reconcile", %kind, namespace, object = name);
        let metrics = &self.services.metrics;
        let active = metrics.active.with_label_values(&[controller]);
        active.inc();
        let start = Instant::now();
        let context = self.context(key);
        let attempt = reads::during(self.attempt(&**object, &context));
        let attempt = reference::during(namespace.clone(), attempt).instrument(span);
        let result = match AssertUnwindSafe(attempt).catch_unwind().await {
            Ok((Ok(_), true)) => Err(Error::Stale(None)),
            Ok((Err(Error::Reconciler(error)), true)) if !diagnosis::is_of_request(&*error) => {
                Err(Error::Stale(Some(error)))
            }
            Ok((result, _)) => result,
            Err(panic) => Err(Error::Panic(message(panic.as_ref()))),
        };
        let duration = start.elapsed();
        active.dec();
        let seconds = metrics.seconds.with_label_values(&[controller]);
        seconds.observe(duration.as_secs_f64());
        let outcome = if result.is_ok() { "success" } else { "error" };
        let reconciles = &metrics.reconciles;
        reconciles.with_label_values(&[controller, outcome]).inc();
        match result {
            Ok(action) => {
                self.backoff.forget(key);
                tracing::info!(controller, %kind, namespace, name, ?duration, "reconciled");
                action
            }
            Err(error) => {
                let metadata = object.metadata();
                let is_deleted = metadata.deletion_timestamp.is_some();
                let says = if is_deleted {
                    "cannot clean up"
                } else {
                    "cannot reconcile"
                };
                let action = self.failed(says, &error, key, start);
                if error.reason() == "conflict" && self.backoff.failures(key) < REPEATED {
                    return action;
                }
                if matches!(error, Error::Metadata { .. }) {
                    self.record(metadata, FINALIZER_FAILED, failure::message(&error));
                    self.report_refusal(&**object, &error).await;
                } else if is_deleted {
                    // The condition `Ready` is that of the last reconcile.
                    self.record(metadata, CLEANUP_FAILED, failure::message(&error));
                }
                action
            }
        }
    }

    /// Records a failure in an event about an object.
    fn record(&self, object: &ObjectMeta, reason: &'static str, note: String) {
        let regarding = identity(object).object_ref(&self.kind.resource);
        let event = (EventType::Warning, reason, note);
        self.access.record(regarding, event);
    }

    /// Logs what `says` of a failure, and counts the failure. Returns when to try again.
    fn failed(&self, says: &str, error: &Error, key: &Key, start: Instant) -> Action {
        let (controller, kind) = (self.controller(), &self.kind.resource.kind);
        let (namespace, name) = key;
        let duration = start.elapsed();
        let reason = error.reason();
        self.count_error(reason);
        let hint = diagnosis::hint(error, self.access.watcher().rules);
        let (count, growing) = self.backoff.failed(key.clone());
        let pause = if diagnosis::is_permanent(error) {
            // A change of the object or of a child requeues it earlier. No watch shows other changes of the cluster.
            self.backoff.longest()
        } else {
            growing
        };
        let error = failure::message(error);
        let line = format!("{says} {name}: {error}");
        self.services.observer.failed(line);
        self.queue.retries.inc();
        let retry_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        if reason == "conflict" && count < REPEATED {
            // The next reconcile gets the new version.
            let says = "was changed meanwhile, trying again";
            tracing::info!(controller, %kind, namespace, name, ?duration, %error, retry_ms, "{says}");
        } else {
            tracing::error!(
                controller, %kind, namespace, name, ?duration, reason, %error, hint, retry_ms, "{says}"
            );
        }
        Action::requeue(pause)
    }

    /// The context of a call for the object with this key.
    pub fn context(&self, key: &Key) -> Context {
        let attempt = self.backoff.failures(key);
        let (stop, leadership) = (
            self.services.host.stop.clone(),
            self.services.leadership.clone(),
        );
        Context::new(self.access.clone(), attempt, stop, leadership)
    }

    /// Calls the reconciler's `deleted` for a deleted object.
    pub async fn report_deleted(&self, object: &ObjectMeta) {
        if self.services.leadership.holds() {
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
        // A copy of the object, made from a backup, has another uid and needs a cleanup of its own.
        let is_recorded = annotations.is_some_and(|all| all.get(&annotation) == Some(&uid));
        if !is_recorded && !self.cleaned_up.lock().contains(&uid) {
            let call = self.reconciler.clean_up(object, context);
            if let Cleanup::AgainIn(delay) = self.within_limit(call).await? {
                return Ok(Action::requeue(delay));
            }
            unless_outdated()?;
            self.cleaned_up.lock().insert(uid.clone());
        }
        let mut recorded = None;
        if !self.releases.is_empty() && !is_recorded {
            // If the process ends before the finalizer is removed, the next one does not find the children.
            let change = "record the end of the cleanup".to_owned();
            let annotations = json!({"annotations": {annotation: uid}});
            recorded = self.patch_metadata(metadata, change, annotations).await?;
            if recorded.is_none() {
                return Ok(Action::await_change());
            }
        }
        let metadata = recorded
            .as_ref()
            .map_or(metadata, |object| object.metadata());
        for children in &self.releases {
            let deleted = children.delete_all(metadata, &self.namespaces).await;
            deleted.map_err(Error::Release)?;
        }
        unless_outdated()?;
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
        let params = PatchParams::apply(&self.access.field_manager());
        let api = self.api(object.namespace.as_deref());
        let answer = api.patch(&key(object).1, &params, &patch).await;
        match self.kind.object(answer) {
            Ok(patched) => {
                self.access.written.add(patched.clone());
                Ok(Some(patched))
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(source) => Err(Error::Metadata { change, source }),
        }
    }

    /// Says why the metadata of `object` cannot be changed in the condition `Ready`, if the object has it.
    async fn report_refusal(&self, object: &dyn Object, error: &Error) {
        let note = failure::message(error);
        let (access, metadata) = (&self.access, object.metadata());
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
    use k8s_openapi::{
        api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp,
    };
    use kube::{Client, client::Body, core::error_boundary::InvalidObject};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::runtime::{
        events, metrics::Metrics, object::write, objects::Stores, rbac::Rule, watch::Watcher,
        written::Written,
    };

    impl Worker {
        /// A worker without an API server. The watch has delivered the objects in `stores`.
        pub fn for_test<R: Reconciler<Object = ConfigMap>>(reconciler: R, stores: Stores) -> Self {
            let unreachable = tower::service_fn(async |_: http::Request<Body>| {
                Err::<http::Response<Body>, _>("the reconciler sends nothing")
            });
            let client = Client::new(unreachable, "default");
            let kind = Kind::of::<ConfigMap>();
            let written = Written::new(kind.type_id, stores);
            Self {
                reconciler: Box::new(reconciler),
                kind,
                write: write::<ConfigMap>,
                finalizer: None,
                access: Access::for_test(client.clone(), Watcher::for_test(), written),
                services: Services::for_test(client),
                queue: Metrics::for_test().queue("test"),
                backoff: Backoff::new(Duration::from_millis(1)..Duration::from_secs(1)),
                limit: None,
                slots: Arc::new(Semaphore::new(1)),
                deleted_slots: Arc::new(Semaphore::new(1)),
                releases: Vec::new(),
                namespaces: vec![None],
                cleaned_up: Mutex::default(),
                selects: false,
            }
        }
    }

    /// The API server refuses to change a field of a child.
    struct Refused;

    impl Reconciler for Refused {
        type Object = ConfigMap;
        type Error = children::Error;

        const NAME: &'static str = "test";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(&self, _: &ConfigMap, _: &Context) -> Result<Action, children::Error> {
            Err(children::Error::Immutable {
                child: "Secret a".to_owned(),
                field: ".data".to_owned(),
                text: "field is immutable".to_owned(),
                delete: None,
            })
        }
    }

    #[tokio::test]
    async fn a_refused_change_is_tried_again_after_about_the_longest_pause() {
        let longest = Duration::from_secs(60);
        let worker = Worker {
            backoff: Backoff::new(Duration::from_millis(1)..longest),
            ..Worker::for_test(Refused, Stores::default())
        };
        let object = Guarded(Ok(Arc::new(ConfigMap::default())));
        for failures in 1..3 {
            let key = key(object.metadata());
            let action = worker.reconcile(&object, &key).await;
            let pause = action.requeue_after.expect("a retry");
            assert!(pause >= longest / 2 && pause <= longest, "{pause:?}");
            assert_eq!(worker.backoff.failures(&key), failures);
        }
    }

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("cannot do it")]
        Words,
        #[error("cannot read it")]
        Request(#[source] kube::Error),
    }

    /// A child has changed since it was read, and then something fails.
    struct Conflicted(fn() -> Failure);

    impl Reconciler for Conflicted {
        type Object = ConfigMap;
        type Error = Failure;

        const NAME: &'static str = "test";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(&self, _: &ConfigMap, _: &Context) -> Result<Action, Failure> {
            let (index, owner) = (0, String::new());
            reads::outdated(reads::Lookup { index, owner });
            Err((self.0)())
        }
    }

    #[tokio::test]
    async fn a_conflict_does_not_hide_another_failure() {
        fn refusal() -> Failure {
            let status = kube::core::Status::failure("", "Forbidden").with_code(403);
            Failure::Request(kube::Error::Api(status.boxed()))
        }
        fn words() -> Failure {
            Failure::Words
        }
        for (failure, reason) in [
            (refusal as fn() -> Failure, "forbidden"),
            (words, "conflict"),
        ] {
            let worker = Worker::for_test(Conflicted(failure), Stores::default());
            let object = Guarded(Ok(Arc::new(ConfigMap::default())));
            worker.reconcile(&object, &key(object.metadata())).await;
            let errors = &worker.services.metrics.errors;
            let count = errors.with_label_values(&["test", reason]).get();
            assert_eq!(count, 1, "{reason}");
        }
    }

    /// The cleanup fails.
    struct Stuck;

    impl Reconciler for Stuck {
        type Object = ConfigMap;
        type Error = Failure;

        const NAME: &'static str = "test";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(&self, _: &ConfigMap, _: &Context) -> Result<Action, Failure> {
            Ok(Action::await_change())
        }

        async fn cleanup(&self, _: &ConfigMap, _: &Context) -> Result<Cleanup, Failure> {
            Err(Failure::Words)
        }
    }

    /// The events about `object`, whose deletion has begun, after two reconciles of it.
    async fn events_of_deletion(object: impl FnOnce(ObjectMeta) -> Guarded) -> Vec<Value> {
        let requests: &Mutex<Vec<Value>> = Box::leak(Box::default());
        let api_server = tower::service_fn(async |request: http::Request<Body>| {
            let bytes = request.into_body().collect_bytes().await?;
            requests.lock().push(serde_json::from_slice(&bytes)?);
            let answer = json!({"metadata": {}, "eventTime": null}).to_string();
            anyhow::Ok(http::Response::new(Body::from(answer.into_bytes())))
        });
        let client = Client::new(api_server, "default");
        let (queue, sender) = events::queue(client, &Metrics::for_test());
        let mut worker = Worker {
            finalizer: Some("test/finalizer".to_owned()),
            ..Worker::for_test(Stuck, Stores::default())
        };
        worker.access.record_in(queue);
        let metadata = ObjectMeta {
            finalizers: worker.finalizer.clone().map(|finalizer| vec![finalizer]),
            deletion_timestamp: Some(Time(Timestamp::UNIX_EPOCH)),
            ..ObjectMeta::default()
        };
        let object = object(metadata);
        for _ in 0..2 {
            let action = worker.reconcile(&object, &key(object.metadata())).await;
            assert!(action.requeue_after.is_some());
        }
        let end = CancellationToken::new();
        end.cancel();
        sender.run(end).await;
        requests.lock().clone()
    }

    #[tokio::test]
    async fn a_cleanup_that_cannot_end_is_an_event_that_repeats() {
        let failing = |metadata| {
            Guarded(Ok(Arc::new(ConfigMap {
                metadata,
                ..ConfigMap::default()
            })))
        };
        let unreadable = |metadata| {
            let error = "missing field `a`".to_owned();
            Guarded(Err(Arc::new(InvalidObject { error, metadata })))
        };
        for (requests, note) in [
            (events_of_deletion(failing).await, "cannot do it"),
            (
                events_of_deletion(unreadable).await,
                "the object does not fit its type, left alone until it changes: missing field `a`",
            ),
        ] {
            let [event, repeated] = &requests[..] else {
                panic!("{requests:?}");
            };
            assert_eq!(event["type"], "Warning");
            assert_eq!(event["reason"], "CleanupFailed");
            assert_eq!(event["note"], note);
            assert_eq!(repeated["series"]["count"], 2);
        }
    }
}
