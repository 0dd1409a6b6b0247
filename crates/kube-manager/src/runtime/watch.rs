//! Watches a kind: first the list of all objects, then each change. A watch that fails is retried until
//! it succeeds. An object that does not fit its type does not end the watch.

use std::{
    fmt::Debug,
    future::ready,
    hash::{BuildHasher, RandomState},
    mem,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt, stream};
use kube::{
    Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt,
        reflector::{Lookup, ObjectRef},
        utils::{Backoff, ResetTimerBackoff},
        watcher::{self, Event, ExponentialBackoff, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::SetOnce;

use super::{Runtime, backoff::growing, failure, rbac::Rule, requests::watching, scope::Scope};

/// The shortest and the longest delay before a failed watch is retried.
const PAUSE: Range<Duration> = Duration::from_millis(500)..Duration::from_secs(10);

/// How long a watch lasts, in seconds; the next one goes on where it ended. A connection that no longer
/// works is silent, so the length limits how late that is noticed: kube ends a watch that was silent for
/// 5 s longer.
const LENGTH: Range<u32> = 30..36;

/// An object, or only its metadata if it does not fit its type.
pub type Guarded<K> = DeserializeGuard<K>;

/// Namespace and name of an object.
pub type Key = (Option<String>, String);

/// The key of `object`.
pub fn key<K: ResourceExt>(object: &K) -> Key {
    (object.namespace(), object.name_any())
}

/// The key of the object that `reference` names.
pub fn key_of<K: Lookup>(reference: &ObjectRef<K>) -> Key {
    (reference.namespace.clone(), reference.name.clone())
}

/// What a watch has shown.
pub enum Shown<K> {
    /// All objects: at the start, and after an interruption.
    All(Vec<K>),
    /// A new or changed object.
    Put(K),
    /// A deleted object.
    Gone(K),
}

/// Hands what a watch shows to `take`, and yields what that returns: the objects to requeue. The first
/// list requeues none, because each object is reconciled after the start anyway. Sets `synced` after it:
/// reconciles have to wait for it.
pub fn follow<K, T>(
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    synced: Arc<SetOnce<()>>,
    mut take: impl FnMut(Shown<K>) -> Vec<T>,
) -> impl Stream<Item = T> {
    let mut list = Vec::new();
    events.flat_map(move |event| {
        let woken = match event {
            Ok(Event::Init) => {
                list = Vec::new();
                Vec::new()
            }
            Ok(Event::InitApply(object)) => {
                list.push(object);
                Vec::new()
            }
            Ok(Event::InitDone) => {
                let woken = take(Shown::All(mem::take(&mut list)));
                synced.set(()).map_or(woken, |()| Vec::new())
            }
            Ok(Event::Apply(object)) => take(Shown::Put(object)),
            Ok(Event::Delete(object)) => take(Shown::Gone(object)),
            Err(_) => Vec::new(),
        };
        stream::iter(woken)
    })
}

/// Whether an object is in `namespace`, or in any if that is `None`.
pub fn is_in(key: &Key, namespace: Option<&String>) -> bool {
    namespace.is_none() || key.0.as_ref() == namespace
}

/// The controller that watches, for logs and metrics.
#[derive(Clone, Copy)]
pub struct Watcher {
    pub controller: &'static str,
    pub rules: &'static [Rule],
}

/// Which objects of a kind are watched; empty for all.
#[derive(Clone, Default)]
pub struct Selector {
    /// By their labels.
    pub labels: String,
    /// By their fields.
    pub fields: String,
}

impl Watcher {
    /// The events of all `K` in `namespace` that `selector` selects, until the manager stops. Sets `in_sync`
    /// once the watch has begun, after the first list.
    pub fn watch<K>(
        self,
        runtime: &Runtime,
        namespace: Option<&str>,
        selector: &Selector,
        in_sync: Arc<SetOnce<()>>,
    ) -> impl Stream<Item = watcher::Result<Event<Guarded<K>>>> + use<K>
    where
        K: Resource<DynamicType = (), Scope: Scope> + Clone + Debug + DeserializeOwned,
        K: Send + 'static,
    {
        let Self { controller, rules } = self;
        let (plural, group) = (K::plural(&()), K::group(&()));
        let resource = format!("{plural}.{group}");
        let resource = resource.trim_end_matches('.').to_owned();
        let check = match namespace {
            Some(namespace) => format!("{controller} on {resource} in {namespace}"),
            None => format!("{controller} on {resource}"),
        };
        let (health, metrics) = (runtime.health.clone(), runtime.metrics.clone());
        health.waits(&check, "waits for the list");

        let namespace = namespace.map(str::to_owned);
        // The first list is not enough: without the right to watch, no change would arrive.
        let is_in_sync = Arc::new(AtomicBool::new(false));
        let begun = {
            let (health, check, is_in_sync) = (health.clone(), check.clone(), is_in_sync.clone());
            let (resource, namespace) = (resource.clone(), namespace.clone());
            move || {
                health.ready(&check, "in sync");
                let _ = in_sync.set(());
                if !is_in_sync.swap(true, Ordering::Relaxed) {
                    tracing::info!(controller, resource, namespace, "in sync");
                }
            }
        };
        let client = watching(runtime.client.clone(), begun);
        let api = K::Scope::api::<Guarded<K>>(client, namespace.as_deref());
        let mut config = watcher::Config::default().timeout(length());
        // An empty selector is not the same as none.
        if !selector.labels.is_empty() {
            config = config.labels(&selector.labels);
        }
        if !selector.fields.is_empty() {
            config = config.fields(&selector.fields);
        }
        watcher(api, config)
            // A CRD or a right may be missing now and there later.
            .backoff(Pauses::default())
            // managedFields are half of an object's memory, and no code here reads them.
            .modify(|object| object.meta_mut().managed_fields = None)
            .inspect(move |event| {
                if let Err(error) = event {
                    is_in_sync.store(false, Ordering::Relaxed);
                    let reason = failure::reason(error);
                    let errors = metrics
                        .watch_errors
                        .with_label_values(&[controller, reason]);
                    errors.inc();
                    let hint = failure::hint(error, rules);
                    if !is_interruption(error) {
                        let says = hint.clone().unwrap_or_else(|| failure::says(error));
                        health.waits(&check, says);
                    }
                    let error = failure::says(error);
                    let says = "cannot watch, trying again";
                    tracing::warn!(controller, resource, namespace, %error, hint, "{says}");
                }
            })
            .filter(|event| ready(event.is_ok()))
            .take_until(runtime.stop.clone().cancelled_owned())
    }
}

/// A length within [`LENGTH`], so that watches that began together do not all end together.
fn length() -> u32 {
    let random = RandomState::new().hash_one(());
    let spread = u64::from(LENGTH.end - LENGTH.start);
    LENGTH.start + u32::try_from(random % spread).unwrap_or_default()
}

/// Whether a watch that had begun has ended. That is normal, for example when it expires; whether the
/// next one begins shows how things are.
fn is_interruption(error: &watcher::Error) -> bool {
    use watcher::Error::{WatchError, WatchFailed};
    matches!(error, WatchError(_) | WatchFailed(_))
}

/// Delays that grow as long as retries fail.
struct Pauses(ResetTimerBackoff<ExponentialBackoff>);

impl Default for Pauses {
    fn default() -> Self {
        let growing = ExponentialBackoff::from(growing(PAUSE));
        Self(ResetTimerBackoff::new(growing, 3 * PAUSE.end))
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next()
    }
}

impl Backoff for Pauses {
    /// Does nothing: each retry begins with an event, also one that fails. Only time shows that a watch
    /// has recovered.
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{
        super::{
            READ_TIMEOUT,
            requests::{PATIENCE, UNUSED},
        },
        *,
    };

    #[test]
    fn watches_end_soon_and_not_together() {
        let lengths: HashSet<_> = (0..100).map(|_| length()).collect();
        assert!(lengths.len() > 1, "{lengths:?}");
        assert!(lengths.iter().all(|length| LENGTH.contains(length)));
        let shortest = Duration::from_secs(LENGTH.start.into());
        assert!(UNUSED < shortest && PATIENCE < READ_TIMEOUT);
    }

    #[test]
    fn pauses_grow_although_each_try_begins_with_an_event() {
        let mut pauses = Pauses::default();
        let mut next = || {
            pauses.reset();
            pauses.next().expect("no end of tries")
        };
        assert!(next() < 3 * PAUSE.start);
        let last = (0..10).map(|_| next()).last();
        assert!(last >= Some(PAUSE.end / 2), "{last:?}");
    }
}
