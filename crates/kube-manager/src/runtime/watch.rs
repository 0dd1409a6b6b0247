//! Watches a kind: delivers first the list of all objects, then each change. A failed watch is retried until it
//! succeeds. An object that does not fit its type does not end the watch.

use std::{
    future::ready,
    hash::{BuildHasher, RandomState},
    io,
    ops::Range,
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Client,
    api::ApiResource,
    core::ObjectMeta,
    runtime::{
        WatchStreamExt,
        utils::{Backoff, ResetTimerBackoff},
        watcher::{self, Event, ExponentialBackoff, watcher},
    },
};
use parking_lot::Mutex;
use tokio::sync::watch::Sender;

use super::{
    backoff::growing,
    diagnosis, failure,
    health::Health,
    metrics::Metrics,
    object::{Guarded, Raw},
    rbac::Rule,
    requests::watching,
    scope::Kind,
    services::Services,
    status,
};

/// The shortest and the longest delay before a failed watch is retried.
const PAUSE: Range<Duration> = Duration::from_millis(500)..Duration::from_secs(10);

/// How long a watch lasts, in seconds, as in client-go; the next watch continues where it ended. Dead connections are
/// noticed earlier: see [`READ_TIMEOUT`](super::requests::READ_TIMEOUT).
const LENGTH: Range<u32> = 300..601;

/// Namespace and name of an object.
pub type Key = (Option<String>, String);

/// The resourceVersion of an object. Versions are numbers that increase.
pub fn version(object: &ObjectMeta) -> Option<u64> {
    object.resource_version.as_ref()?.parse().ok()
}

/// The key of an object with this metadata.
pub fn key(object: &ObjectMeta) -> Key {
    let name = object.name.as_ref().or(object.generate_name.as_ref());
    (object.namespace.clone(), name.cloned().unwrap_or_default())
}

/// An event of a watch, with a whole list as one event.
pub enum Shown {
    /// All objects: at the start, and after an interruption.
    All(Vec<Guarded>),
    /// A new or changed object.
    Put(Guarded),
    /// A deleted object.
    Gone(Guarded),
}

impl Shown {
    /// The objects that are there.
    pub fn objects(&self) -> &[Guarded] {
        match self {
            Self::All(objects) => objects,
            Self::Put(object) => slice::from_ref(object),
            Self::Gone(_) => &[],
        }
    }
}

/// Whether an object is in `namespace`; always true if `namespace` is `None`.
pub fn is_in(key: &Key, namespace: Option<&String>) -> bool {
    namespace.is_none() || key.0.as_ref() == namespace
}

/// The controller that watches, for logs, metrics and its requests.
#[derive(Clone, Copy)]
pub struct Watcher {
    pub controller: &'static str,
    pub field_manager: &'static str,
    pub rules: &'static [Rule],
    /// Whether the controller needs to know which status fields it owns.
    pub keeps_status_fields: bool,
    /// Whether the controller also works without the watch.
    pub is_optional: bool,
}

impl Watcher {
    /// The field manager of the controller's requests: at most 128 characters.
    pub fn field_manager(&self) -> String {
        self.field_manager.chars().take(128).collect()
    }
}

/// The state of a watch.
#[derive(Default)]
pub struct State {
    phase: Sender<Phase>,
    /// Called each time the watch begins after the kind or the permission was missing.
    hooks: Mutex<Vec<Hook>>,
}

type Hook = Box<dyn Fn() + Send + Sync>;

/// How far a watch is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// The API server has not answered.
    #[default]
    Starts,
    /// The watch has begun.
    Begun,
    /// The kind or the permission is missing, or the API server cannot serve the kind since the start.
    Missing,
}

impl State {
    /// Waits until a reconcile of a controller can begin: until the watch has begun, or, for an optional watch, until the
    /// API server has answered.
    pub async fn wait(&self, is_optional: bool) {
        let mut phases = self.phase.subscribe();
        // This cannot fail: the sender lives as long as this state.
        let _ = phases
            .wait_for(|phase| *phase == Phase::Begun || is_optional && *phase == Phase::Missing)
            .await;
    }

    /// Whether the watch has begun, and the kind and the permission have not been missing since then.
    pub fn is_available(&self) -> bool {
        *self.phase.borrow() == Phase::Begun
    }

    /// Calls `hook` each time the kind becomes available.
    pub fn when_available(&self, hook: Hook) {
        self.hooks.lock().push(hook);
    }

    fn begin(&self) {
        if self.phase.send_replace(Phase::Begun) != Phase::Begun {
            self.hooks.lock().iter().for_each(|hook| hook());
        }
    }

    /// The API server has answered the first request with an error.
    fn refuse(&self) {
        self.phase.send_if_modified(|phase| {
            let is_first = *phase == Phase::Starts;
            if is_first {
                *phase = Phase::Missing;
            }
            is_first
        });
    }

    /// The kind or the permission is missing. Returns whether that is new.
    fn miss(&self) -> bool {
        self.phase.send_replace(Phase::Missing) != Phase::Missing
    }
}

/// Selects the objects of a kind to watch; empty for all objects.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// The label selector.
    pub labels: String,
    /// The field selector.
    pub fields: String,
}

impl Selector {
    /// Whether an object can cease to be selected. Its name and its namespace never change.
    pub fn can_change(&self) -> bool {
        let fixed = ["metadata.name=", "metadata.namespace="];
        let fields = self.fields.split(',').map(str::trim);
        let mut others = fields.filter(|field| {
            !field.is_empty() && !fixed.iter().any(|start| field.starts_with(start))
        });
        !self.labels.is_empty() || others.next().is_some()
    }
}

/// The namespaces and objects that a watch covers.
#[derive(Clone, PartialEq, Eq)]
pub struct Extent {
    /// `None` for all namespaces.
    pub namespace: Option<String>,
    pub selector: Selector,
}

/// A description for people: `secrets in shop`, or `metadata of secrets with labels app=shop`.
fn describe(kind: &Kind, extent: &Extent) -> String {
    let of = if kind.is_metadata { "metadata of " } else { "" };
    let mut text = format!("{of}{}", resource(&kind.resource));
    let Selector { labels, fields } = &extent.selector;
    let namespace = extent.namespace.as_deref().unwrap_or_default();
    for (word, value) in [
        ("with labels", labels.as_str()),
        ("with fields", fields),
        ("in", namespace),
    ] {
        if !value.is_empty() {
            text = format!("{text} {word} {value}");
        }
    }
    text
}

/// Plural and group of a kind: `deployments.apps`.
pub fn resource(kind: &ApiResource) -> String {
    let resource = format!("{}.{}", kind.plural, kind.group);
    resource.trim_end_matches('.').to_owned()
}

/// Reports how far a watch is to the controllers that share it.
struct Report {
    watchers: Vec<Watcher>,
    state: Arc<State>,
    /// The first list is not enough: without the permission to watch, no change would arrive.
    is_in_sync: AtomicBool,
    health: Health,
    metrics: Metrics,
    resource: String,
    namespace: Option<String>,
    /// The watch, as [`describe`] names it.
    what: String,
}

impl Report {
    /// The name of the check of a controller.
    fn check(&self, watcher: &Watcher) -> String {
        format!("{} on {}", watcher.controller, self.what)
    }

    /// The watch has begun.
    fn begin(&self) {
        let was_in_sync = self.is_in_sync.swap(true, Ordering::Relaxed);
        let (resource, namespace) = (&self.resource, &self.namespace);
        for watcher in &self.watchers {
            if !watcher.is_optional {
                self.health.ready(&self.check(watcher), "in sync");
            }
            if !was_in_sync {
                let controller = watcher.controller;
                tracing::info!(controller, resource, namespace, "in sync");
            }
        }
        self.state.begin();
    }

    /// The list or the watch has failed, and is tried again.
    fn fail(&self, error: &watcher::Error) {
        let (resource, namespace) = (&self.resource, &self.namespace);
        if is_silence(error) {
            tracing::debug!(resource, namespace, %error, "the watch was silent, starting it again");
            return;
        }
        self.is_in_sync.store(false, Ordering::Relaxed);
        let (reason, message) = (diagnosis::reason(error), failure::message(error));
        let is_missing = !is_interruption(error) && matches!(reason, "forbidden" | "not_found");
        let is_news = is_missing && self.state.miss();
        if failure::answer(error).is_some() {
            // Such as a conversion webhook that is down: nobody waits for an optional kind.
            self.state.refuse();
        }
        for watcher in &self.watchers {
            let controller = watcher.controller;
            if watcher.is_optional && is_missing {
                if is_news {
                    let says = "cannot watch this optional kind, waiting for it";
                    tracing::info!(controller, resource, namespace, error = %message, "{says}");
                }
                continue;
            }
            let errors = &self.metrics.watch_errors;
            errors.with_label_values(&[controller, reason]).inc();
            let hint = diagnosis::hint(error, watcher.rules);
            if !is_interruption(error) && !watcher.is_optional {
                let says = hint.as_ref().unwrap_or(&message);
                self.health.waits(&self.check(watcher), says);
            }
            let says = "cannot watch, trying again";
            tracing::warn!(controller, resource, namespace, error = %message, hint, "{says}");
        }
    }
}

/// The events of all objects of `kind` in `extent`, until the manager stops. Sets `state` after the first list, once
/// the watch has begun. Errors and readiness are reported for each of `watchers`.
pub fn watch(
    services: &Services,
    kind: &Kind,
    extent: &Extent,
    watchers: Vec<Watcher>,
    state: Arc<State>,
) -> impl Stream<Item = Event<Guarded>> + use<> {
    let report = Arc::new(Report {
        watchers,
        state,
        is_in_sync: AtomicBool::new(false),
        health: services.health.clone(),
        metrics: services.metrics.clone(),
        resource: resource(&kind.resource),
        namespace: extent.namespace.clone(),
        what: describe(kind, extent),
    });
    let mut keep = Vec::new();
    for watcher in &report.watchers {
        if !watcher.is_optional {
            report
                .health
                .waits(&report.check(watcher), "waits for the list");
        }
        if watcher.keeps_status_fields {
            keep.push(watcher.field_manager());
        }
    }
    let begun = report.clone();
    let client = watching(services.client.clone(), move || begun.begin());
    let mut config = watcher::Config::default().timeout(length());
    // Set only if not empty: kube would send an empty selector, too.
    if !extent.selector.labels.is_empty() {
        config = config.labels(&extent.selector.labels);
    }
    if !extent.selector.fields.is_empty() {
        config = config.fields(&extent.selector.fields);
    }
    let (kind, namespace, state) = (kind.clone(), extent.namespace.clone(), report.state.clone());
    let start = move || {
        let place = (client.clone(), namespace.as_deref());
        if kind.is_metadata {
            events::<true>(&kind, place, config.clone(), keep.clone())
        } else {
            events::<false>(&kind, place, config.clone(), keep.clone())
        }
    };
    listing_again(start, state)
        // A missing CRD or permission may be added later.
        .backoff(Pauses::default())
        .inspect_err(move |error| report.fail(error))
        .filter_map(|event| ready(event.ok()))
        .take_until(services.host.stop.clone().cancelled_owned())
}

/// What kube does next.
enum Next {
    Event,
    /// It starts the watch again.
    Start,
    /// It must list the objects first.
    List,
}

type Events = BoxStream<'static, watcher::Result<Event<Guarded>>>;

/// The events of the watch that `start` starts. kube lists the objects, and then starts a watch at the version of the list.
/// If the start fails, kube tries again at this version, however old it is. The API server answers with 200, so reconciles
/// begin with old objects, and only then says that the version is too old. So while a watch has never begun, or its kind is
/// missing, a new list follows a failed start. It also follows the code 410, with which a proxy or an aggregated API server
/// may say that the version is too old.
fn listing_again(
    start: impl Fn() -> Events + Send + 'static,
    state: Arc<State>,
) -> impl Stream<Item = watcher::Result<Event<Guarded>>> + Send {
    let first = start();
    stream::unfold((first, Next::Event), move |(watch, next)| {
        let mut events = match next {
            Next::List => start(),
            Next::Start if !state.is_available() => start(),
            Next::Start | Next::Event => watch,
        };
        async move {
            let event = events.next().await?;
            let next = match &event {
                Err(watcher::Error::WatchStartFailed(kube::Error::Api(status)))
                    if status.code == 410 =>
                {
                    Next::List
                }
                Err(watcher::Error::WatchStartFailed(_)) => Next::Start,
                _ => Next::Event,
            };
            Some((event, (events, next)))
        }
    })
}

/// The events of a watch. The objects keep the `managedFields` of the field managers in `keep` for the status.
fn events<const METADATA: bool>(
    kind: &Kind,
    (client, namespace): (Client, Option<&str>),
    config: watcher::Config,
    keep: Vec<String>,
) -> Events {
    let api = kind.api::<METADATA>(client, namespace);
    let kind = kind.clone();
    watcher(api, config)
        .map_ok(move |event| match event {
            Event::Init => Event::Init,
            Event::InitApply(object) => Event::InitApply(guarded(&kind, &object, &keep)),
            Event::InitDone => Event::InitDone,
            Event::Apply(object) => Event::Apply(guarded(&kind, &object, &keep)),
            Event::Delete(object) => Event::Delete(guarded(&kind, &object, &keep)),
        })
        .boxed()
}

fn guarded<const METADATA: bool>(kind: &Kind, shown: &Raw<METADATA>, keep: &[String]) -> Guarded {
    let mut object = kind.guarded(shown);
    // managedFields take half of an object's memory.
    if let Some(metadata) = object.metadata_mut() {
        let mut fields = metadata.managed_fields.take().unwrap_or_default();
        fields.retain(|entry| keep.iter().any(|manager| status::is_of(entry, manager)));
        fields.shrink_to_fit();
        metadata.managed_fields = Some(fields).filter(|fields| !fields.is_empty());
    }
    object
}

/// A random length within [`LENGTH`], so that watches that started together do not all end together.
pub fn length() -> u32 {
    let random = RandomState::new().hash_one(());
    let spread = u64::from(LENGTH.end - LENGTH.start);
    // This cannot fail: the spread fits.
    LENGTH.start + u32::try_from(random % spread).unwrap_or(0)
}

/// Whether a running watch has ended. This is normal, for example when the watch expires. Only a failure of the next
/// watch is a problem.
pub fn is_interruption(error: &watcher::Error) -> bool {
    use watcher::Error::{WatchError, WatchFailed};
    matches!(error, WatchError(_) | WatchFailed(_))
}

/// Whether a running watch ended because nothing arrived for too long. Either the connection is dead, or the API server
/// sends no bookmarks for this kind.
fn is_silence(error: &watcher::Error) -> bool {
    let is_timeout = failure::chain(error).any(|cause| {
        let io_error = cause.downcast_ref::<io::Error>();
        io_error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
    });
    is_timeout && matches!(error, watcher::Error::WatchFailed(_))
}

/// Delays that grow while retries fail.
pub struct Pauses(ResetTimerBackoff<ExponentialBackoff>);

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
    /// Does nothing: each retry begins with an event, even a retry that fails. A watch has recovered only when it has
    /// lasted for some time.
    fn reset(&mut self) {}
}

#[cfg(test)]
impl Watcher {
    pub fn for_test() -> Self {
        Self {
            controller: "test",
            field_manager: "test",
            rules: &[],
            keeps_status_fields: false,
            is_optional: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        io::{Read, Write},
        net::TcpListener,
        pin::pin,
        sync::atomic::AtomicUsize,
        thread,
    };

    use futures::FutureExt;
    use http::{Request, Response};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{Api, Config, api::WatchParams, client::Body};
    use tower::{BoxError, service_fn};

    use super::{
        super::requests::{self, PATIENCE, READ_TIMEOUT, UNUSED},
        *,
    };

    #[test]
    fn watches_last_as_long_as_those_of_client_go_and_do_not_end_together() {
        let lengths: HashSet<_> = (0..100).map(|_| length()).collect();
        assert!(lengths.len() > 50, "{lengths:?}");
        let minutes = 5 * 60..=10 * 60;
        assert!(lengths.iter().all(|length| minutes.contains(length)));
    }

    #[test]
    fn names_and_namespaces_never_change() {
        for (labels, fields, can_change) in [
            ("", "", false),
            ("", "metadata.name=a", false),
            ("", "metadata.name=a, metadata.namespace=b", false),
            ("", "metadata.name!=a", true),
            ("", "metadata.name=a,spec.nodeName=b", true),
            ("app=a", "metadata.name=a", true),
        ] {
            let [labels, fields] = [labels, fields].map(str::to_owned);
            let selector = Selector { labels, fields };
            assert_eq!(selector.can_change(), can_change, "{}", selector.fields);
        }
    }

    /// Lists once for each start: first the watch cannot begin, then it is refused after it has begun.
    #[tokio::test]
    async fn a_watch_that_could_not_begin_begins_with_a_new_list() {
        for (has_begun, starts) in [(false, 2), (true, 1)] {
            let state = Arc::new(State::default());
            let count = Arc::new(AtomicUsize::new(0));
            let counted = count.clone();
            let start = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                let forbidden = kube::core::Status::failure("no", "Forbidden").with_code(403);
                let refused = kube::Error::Api(forbidden.boxed());
                let events = [
                    Ok(Event::Init),
                    Ok(Event::InitDone),
                    Err(watcher::Error::WatchStartFailed(refused)),
                    Ok(Event::Init),
                ];
                stream::iter(events).boxed()
            };
            if has_begun {
                state.begin();
            }
            let events: Vec<_> = listing_again(start, state).take(4).collect().await;
            assert!(matches!(events[3], Ok(Event::Init)));
            assert_eq!(count.load(Ordering::Relaxed), starts);
        }
    }

    #[test]
    fn many_watches_start_seldom() {
        let watches = 100 * 20;
        let starts: f64 = (0..watches).map(|_| 1.0 / f64::from(length())).sum();
        assert!(starts < 5.0, "{starts} a second");
    }

    /// The API server sends a bookmark each minute, within two seconds.
    #[test]
    fn a_watch_with_bookmarks_is_never_silent_for_too_long() {
        let bookmarks = Duration::from_secs(60 + 2);
        assert!(bookmarks + Duration::from_secs(10) < READ_TIMEOUT);
        assert!(PATIENCE < READ_TIMEOUT && UNUSED < READ_TIMEOUT);
    }

    /// The API server begins to answer a watch, and then vanishes.
    #[tokio::test]
    async fn a_silent_watch_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("an address");
        let silent = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request");
                request.extend(byte);
            }
            let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(answer).expect("an answer");
            // Waits until the client has ended the connection.
            let _ = io::copy(&mut stream, &mut io::sink());
        });
        let mut config = Config::new(format!("http://{server}").parse().expect("a URL"));
        config.read_timeout = Some(Duration::from_millis(200));
        let client = requests::connect(&config).expect("a client");
        let api = Api::<ConfigMap>::default_namespaced(client);
        let mut watch = pin!(
            api.watch(&WatchParams::default(), "0")
                .await
                .expect("a watch")
        );
        let error = watch.next().await.expect("an end").expect_err("silence");
        assert!(is_silence(&watcher::Error::WatchFailed(error)));
        silent.join().expect("no panic");
    }

    #[test]
    fn a_watch_that_ends_in_another_way_was_not_silent() {
        for error in [
            watcher::Error::NoResourceVersion,
            watcher::Error::WatchFailed(kube::Error::ReadEvents(io::Error::other("broken"))),
            watcher::Error::WatchStartFailed(kube::Error::ReadEvents(
                io::ErrorKind::TimedOut.into(),
            )),
        ] {
            assert!(!is_silence(&error), "{error}");
        }
    }

    #[test]
    fn pauses_grow_although_each_try_begins_with_an_event() {
        fn next(pauses: &mut Pauses) -> Duration {
            pauses.reset();
            pauses.next().expect("no end of tries")
        }

        let mut pauses = Pauses::default();
        assert!(next(&mut pauses) < 3 * PAUSE.start);
        let last = (0..10).map(|_| next(&mut pauses)).last();
        assert!(last >= Some(PAUSE.end / 2), "{last:?}");
    }

    #[tokio::test]
    async fn an_optional_watch_is_waited_for_until_the_api_server_has_answered() {
        let (state, begun) = (State::default(), Arc::<AtomicUsize>::default());
        let counted = begun.clone();
        state.when_available(Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        assert!(state.wait(true).now_or_never().is_none());
        assert!(state.miss() && !state.miss());
        state.wait(true).await;
        assert!(state.wait(false).now_or_never().is_none());

        state.begin();
        state.begin();
        state.wait(false).await;
        assert!(state.is_available());
        assert_eq!(begun.load(Ordering::Relaxed), 1);

        assert!(state.miss() && !state.is_available());
        state.begin();
        assert_eq!(begun.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn nobody_waits_for_an_optional_kind_that_the_api_server_cannot_serve() {
        let state = State::default();
        state.refuse();
        state.wait(true).await;
        assert!(!state.is_available() && state.wait(false).now_or_never().is_none());

        // Later, the kind is there, although a list fails.
        state.begin();
        state.refuse();
        assert!(state.is_available());
    }

    /// kube-apiserver begins such a watch, and then says that it has expired.
    #[tokio::test(start_paused = true)]
    async fn a_list_follows_a_watch_that_is_refused_as_expired() {
        let requests = Arc::new(Mutex::new(String::new()));
        let sent = requests.clone();
        let server = service_fn(move |request: Request<Body>| {
            let is_watch = requests::is_watch(&request);
            sent.lock().push(if is_watch { 'w' } else { 'l' });
            let begins = sent.lock().matches('w').count() == 1;
            let (code, answer) = match is_watch {
                true if begins => (200, ""),
                true => (
                    410,
                    r#"{"kind": "Status", "code": 410, "reason": "Expired"}"#,
                ),
                false => (
                    200,
                    r#"{"metadata": {"resourceVersion": "5"}, "items": []}"#,
                ),
            };
            let body = Body::from(answer.as_bytes().to_vec());
            let response = Response::builder().status(code).body(body);
            async move { response.map_err(BoxError::from) }
        });
        let services = Services::for_test(Client::new(server, "default"));
        let extent = Extent {
            namespace: None,
            selector: Selector::default(),
        };
        let kind = Kind::of::<ConfigMap>();
        let watchers = vec![Watcher::for_test()];
        let events = watch(&services, &kind, &extent, watchers, Arc::default());
        let lists = || requests.lock().matches('l').count();
        let listed = events.take_while(|_| ready(lists() < 3)).count();
        let waited = tokio::time::timeout(Duration::from_secs(3600), listed).await;
        assert!(waited.is_ok(), "{}", requests.lock());
    }
}
