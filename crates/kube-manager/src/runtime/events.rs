//! Records events, which `kubectl describe` shows. A recorder adds events to a queue, and a task in the background sends
//! them, so no reconcile waits for an event. The queue and the number of events about each object are bounded.
//!
//! If an event repeats within minutes, the count of the first event increases. kube's recorder does not compare the
//! notes, so it would also count events with other notes.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash},
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    runtime::events::EventType,
};
use parking_lot::Mutex;
use prometheus::IntCounterVec;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{diagnosis, failure, metrics::Metrics, rbac::Rule};

/// How long after its last repetition an event is still counted instead of recorded again.
const SERIES: Duration = Duration::from_secs(6 * 60);

/// The most bytes of a note, and of an event's name.
const NOTE: usize = 1024;
const NAME: usize = 253;

/// The most events that wait.
const WAITING: usize = 4000;

/// The most events about one object at once, and the time after which one more may follow, as in client-go.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(5 * 60);

/// Type, reason and note of an event.
pub type Event = (EventType, &'static str, String);

/// The events of all controllers that wait.
#[derive(Clone)]
pub struct EventQueue {
    sender: mpsc::Sender<Waiting>,
    limits: Arc<Mutex<Limits>>,
    dropped: IntCounterVec,
}

/// Sends the events of an [`EventQueue`], one after the other, as client-go does.
pub struct EventSender {
    client: Client,
    waiting: mpsc::Receiver<Waiting>,
    recorded: Recorded,
}

/// An event that waits to be sent.
struct Waiting {
    reporter: Arc<Reporter>,
    regarding: ObjectReference,
    event: Event,
    time: MicroTime,
}

/// A controller that records events.
struct Reporter {
    controller: &'static str,
    rules: &'static [Rule],
    /// The name of the controller in events.
    name: String,
    dropped: IntCounterVec,
}

/// A queue of events, and what sends them with `client`.
pub fn queue(client: Client, metrics: &Metrics) -> (EventQueue, EventSender) {
    let (sender, waiting) = mpsc::channel(WAITING);
    let queue = EventQueue {
        sender,
        limits: Arc::default(),
        dropped: metrics.events_dropped.clone(),
    };
    let recorded = Recorded::default();
    let sender = EventSender {
        client,
        waiting,
        recorded,
    };
    (queue, sender)
}

/// Records the events of one controller.
#[derive(Clone)]
pub struct Recorder {
    queue: EventQueue,
    reporter: Arc<Reporter>,
}

impl Recorder {
    /// The recorder of a controller with these rules, whose events are those of `reporter`.
    pub fn new(
        queue: EventQueue,
        controller: &'static str,
        rules: &'static [Rule],
        reporter: String,
    ) -> Self {
        let dropped = queue.dropped.clone();
        for reason in [LIMITED, FULL, FAILED] {
            // Prometheus sees the first increase only if the counter was 0 before.
            dropped.with_label_values(&[controller, reason]);
        }
        let reporter = Arc::new(Reporter {
            controller,
            rules,
            name: reporter,
            dropped,
        });
        Self { queue, reporter }
    }

    /// Adds an event to the queue, unless there are too many events.
    pub fn record(&self, regarding: ObjectReference, event: Event) {
        let (kind, namespace, name) = (&regarding.kind, &regarding.namespace, &regarding.name);
        let controller = self.reporter.controller;
        let object = hash((controller, kind, namespace, name, &regarding.uid));
        let is_allowed = self.queue.limits.lock().allow(object, Instant::now());
        if !is_allowed {
            self.reporter.drop_event(LIMITED, &event);
            return;
        }
        let waiting = Waiting {
            reporter: self.reporter.clone(),
            regarding,
            event,
            time: MicroTime(Timestamp::now()),
        };
        if let Err(error) = self.queue.sender.try_send(waiting) {
            self.reporter.drop_event(FULL, &error.into_inner().event);
        }
    }
}

impl Reporter {
    fn drop_event(&self, why: &str, (_, reason, note): &Event) {
        let controller = self.controller;
        self.dropped.with_label_values(&[controller, why]).inc();
        tracing::debug!(controller, reason, note, why, "an event is not sent");
    }
}

/// Why an event was not sent, for the metric: there are too many events about the object, or in the queue; or a request
/// failed.
const LIMITED: &str = "rate_limit";
const FULL: &str = "queue_full";
const FAILED: &str = "request_failed";

/// How many events about each object are allowed: by the hash of the object, the time at which all [`BURST`] events will
/// be allowed again.
#[derive(Default)]
struct Limits {
    full: HashMap<u64, Instant>,
    /// When the objects without limits were last removed.
    swept: Option<Instant>,
}

impl Limits {
    /// Whether one more event about `object` is allowed.
    fn allow(&mut self, object: u64, now: Instant) -> bool {
        if is_due(&mut self.swept, now) {
            self.full.retain(|_, full| *full > now);
        }
        let full = self.full.entry(object).or_insert(now);
        let next = now.max(*full) + REFILL;
        let is_allowed = next.saturating_duration_since(now) <= BURST * REFILL;
        if is_allowed {
            *full = next;
        }
        is_allowed
    }
}

/// Whether expired entries should be removed now, which takes a while: once in [`SERIES`]. `last` is the last time.
fn is_due(last: &mut Option<Instant>, now: Instant) -> bool {
    let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= SERIES);
    if is_due {
        *last = Some(now);
    }
    is_due
}

impl EventSender {
    /// Sends events until `end`, and then those that still wait.
    pub async fn run(mut self, end: CancellationToken) {
        while let Some(Some(waiting)) = end.run_until_cancelled(self.waiting.recv()).await {
            self.send(&waiting).await;
        }
        self.waiting.close();
        while let Some(waiting) = self.waiting.recv().await {
            self.send(&waiting).await;
        }
    }

    /// Sends an event. A failure is only logged and counted.
    async fn send(&mut self, waiting: &Waiting) {
        if let Err(error) = self.try_send(waiting).await {
            let (reporter, reason) = (&waiting.reporter, waiting.event.1);
            let controller = reporter.controller;
            reporter
                .dropped
                .with_label_values(&[controller, FAILED])
                .inc();
            let hint = diagnosis::hint(&error, reporter.rules);
            let error = failure::message(&error);
            tracing::warn!(controller, %error, reason, hint, "cannot record an event");
        }
    }

    /// Creates an event, or counts it if it repeats.
    async fn try_send(&mut self, waiting: &Waiting) -> kube::Result<()> {
        let (reporter, regarding) = (&waiting.reporter.name, &waiting.regarding);
        let ((type_, reason, note), time) = (&waiting.event, &waiting.time);
        let note = start(note, NOTE);
        let object = (&regarding.uid, &regarding.name);
        let key = hash((reporter, object, type_, reason, note));
        let namespace = regarding.namespace.as_deref().unwrap_or("default");
        let events = Api::<v1::Event>::namespaced(self.client.clone(), namespace);
        if let Some((name, count)) = self.recorded.repeats(key, Instant::now()) {
            let series = json!({"series": {"count": count, "lastObservedTime": time}});
            let patch = Patch::Merge(series);
            match events.patch(&name, &PatchParams::default(), &patch).await {
                // The event may have expired: by default, the API server keeps events for an hour.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                patched => return patched.map(drop),
            }
        }
        let name = name(regarding.name.as_deref().unwrap_or_default(), time);
        // In a Pod, this is the name of the Pod.
        let instance = std::env::var("HOSTNAME").unwrap_or_else(|_| reporter.clone());
        let event = v1::Event {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            event_time: Some(time.clone()),
            note: Some(note.to_owned()),
            reason: Some((*reason).to_owned()),
            regarding: Some(regarding.clone()),
            reporting_controller: Some(reporter.clone()),
            reporting_instance: Some(instance),
            type_: Some(format!("{type_:?}")),
            ..v1::Event::default()
        };
        events.create(&PostParams::default(), &event).await?;
        self.recorded.add(key, name, Instant::now());
        Ok(())
    }
}

/// The events of the last minutes.
#[derive(Default)]
struct Recorded {
    /// By the hash of object, type, reason and note.
    series: HashMap<u64, Series>,
    /// When the expired events were last removed.
    swept: Option<Instant>,
}

/// An event and its repetitions.
struct Series {
    name: String,
    count: i32,
    last: Instant,
}

impl Series {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) > SERIES
    }
}

impl Recorded {
    /// Counts the repetition of a recorded event. Returns the event's name and the count.
    fn repeats(&mut self, key: u64, now: Instant) -> Option<(String, i32)> {
        let series = self.series.get_mut(&key)?;
        if series.is_over(now) {
            return None;
        }
        series.count = series.count.saturating_add(1);
        series.last = now;
        Some((series.name.clone(), series.count))
    }

    fn add(&mut self, key: u64, name: String, now: Instant) {
        if is_due(&mut self.swept, now) {
            self.series.retain(|_, series| !series.is_over(now));
        }
        let (count, last) = (1, now);
        self.series.insert(key, Series { name, count, last });
    }
}

/// A new name for an event about `object`. Some names of objects are not valid for events, so characters are replaced.
fn name(object: &str, now: &MicroTime) -> String {
    let end = format!(".{:x}", now.0.as_nanosecond());
    let replaced = object.replace(
        |char: char| !matches!(char, 'a'..='z' | '0'..='9' | '.'),
        "-",
    );
    let labels = replaced.split('.').map(|label| label.trim_matches('-'));
    let valid: Vec<_> = labels.filter(|label| !label.is_empty()).collect();
    let valid = valid.join(".");
    match start(&valid, NAME - end.len()).trim_end_matches(['-', '.']) {
        "" => format!("event{end}"),
        start => format!("{start}{end}"),
    }
}

/// The start of `text`: as many whole characters as fit into `bytes`.
fn start(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn hash(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::Value;
    use tower::service_fn;

    use super::*;

    fn recorder(queue: &EventQueue) -> Recorder {
        Recorder::new(queue.clone(), "test", &[], "test".to_owned())
    }

    fn record(recorder: &Recorder, name: &str, note: &str) {
        let regarding = ObjectReference {
            name: Some(name.to_owned()),
            ..ObjectReference::default()
        };
        recorder.record(regarding, (EventType::Normal, "Tested", note.to_owned()));
    }

    /// The value of the metric for events that are dropped because of `why`.
    fn dropped(queue: &EventQueue, why: &str) -> u64 {
        queue.dropped.with_label_values(&["test", why]).get()
    }

    fn unused_client() -> Client {
        let unused =
            service_fn(async |_: Request<Body>| Err::<Response<Body>, _>("nothing is sent"));
        Client::new(unused, "default")
    }

    /// The requests for events about one object with these notes, which are recorded before the end.
    async fn requests(notes: &[&str]) -> Vec<(String, Value)> {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = requests.clone();
        let client = service_fn(move |request: Request<Body>| {
            let requests = received.clone();
            async move {
                let method = request.method().to_string();
                let bytes = request.into_body().collect_bytes().await?;
                let body: Value = serde_json::from_slice(&bytes)?;
                requests.lock().push((method, body));
                let answer = json!({"metadata": {}, "eventTime": null}).to_string();
                anyhow::Ok(Response::new(Body::from(answer.into_bytes())))
            }
        });
        let (queue, sender) = queue(Client::new(client, "default"), &Metrics::for_test());
        for note in notes {
            record(&recorder(&queue), "a", note);
        }
        let end = CancellationToken::new();
        end.cancel();
        sender.run(end).await;
        requests.lock().clone()
    }

    #[tokio::test]
    async fn an_object_has_25_events_at_once_and_then_one_in_five_minutes() {
        let (queue, _sender) = queue(unused_client(), &Metrics::for_test());
        let recorder = recorder(&queue);
        for number in 0..30 {
            record(&recorder, "busy", &format!("number {number}"));
        }
        assert_eq!(dropped(&queue, LIMITED), 5);
        record(&recorder, "other", "another object has its own limit");
        assert_eq!(dropped(&queue, LIMITED), 5);

        let (mut limits, start) = (Limits::default(), Instant::now());
        let allowed = (0..30).filter(|_| limits.allow(1, start)).count();
        assert_eq!(allowed, 25);
        let later = start + REFILL;
        assert!(limits.allow(1, later) && !limits.allow(1, later));
        // After a long time, nothing is remembered.
        assert!(limits.allow(2, start + 60 * REFILL));
        assert_eq!(limits.full.len(), 1);
    }

    #[tokio::test]
    async fn a_full_queue_drops_events_and_counts_them() {
        let (queue, sender) = queue(unused_client(), &Metrics::for_test());
        let recorder = recorder(&queue);
        let room = u64::try_from(WAITING).expect("a number");
        for object in 0..2 * room {
            record(&recorder, &format!("object-{object}"), "recorded");
        }
        assert_eq!(dropped(&queue, FULL), room);
        drop(sender);
        record(&recorder, "late", "after the end");
        assert_eq!(dropped(&queue, FULL), room + 1);
    }

    #[tokio::test]
    async fn an_event_that_cannot_be_sent_is_counted() {
        let (queue, sender) = queue(unused_client(), &Metrics::for_test());
        record(&recorder(&queue), "a", "recorded");
        let end = CancellationToken::new();
        end.cancel();
        sender.run(end).await;
        assert_eq!(dropped(&queue, FAILED), 1);
    }

    #[tokio::test]
    async fn waiting_events_are_sent_at_the_end_and_equal_ones_are_counted() {
        let requests = requests(&["one", "one", "two", "one"]).await;
        let methods: Vec<_> = requests.iter().map(|(method, _)| &**method).collect();
        assert_eq!(methods, ["POST", "PATCH", "POST", "PATCH"]);
        assert_eq!(requests[0].1["action"], "Reconcile");
        assert_eq!(requests[0].1["type"], "Normal");
        assert_eq!(requests[1].1["series"]["count"], 2);
        assert_eq!(requests[2].1["note"], "two");
        assert_eq!(requests[3].1["series"]["count"], 3);
    }

    #[test]
    fn an_event_is_counted_for_minutes() {
        let mut recorded = Recorded::default();
        let start = Instant::now();
        assert_eq!(recorded.repeats(1, start), None);
        recorded.add(1, "a".to_owned(), start);
        let later = start + SERIES;
        assert_eq!(recorded.repeats(1, later), Some(("a".to_owned(), 2)));
        let over = later + SERIES + Duration::from_secs(1);
        assert_eq!(recorded.repeats(1, over), None);
        recorded.add(2, "b".to_owned(), over);
        assert_eq!(recorded.series.len(), 1);
    }

    #[test]
    fn texts_are_as_long_as_they_may_be() {
        let now = MicroTime(Timestamp::UNIX_EPOCH);
        assert_eq!(name("a.b", &now), "a.b.0");
        assert_eq!(name("system:node", &now), "system-node.0");
        assert_eq!(name("John.Smith", &now), "ohn.mith.0");
        assert_eq!(name("ADMIN", &now), "event.0");
        assert_eq!(name(":a.:b..c", &now), "a.b.c.0");
        assert_eq!(name(&"a".repeat(300), &now).len(), NAME);
        let cut = format!("a{}", "a-".repeat(200));
        assert!(name(&cut, &now).ends_with("a.0"));
        assert_eq!(start("aé", 2), "a");
        assert_eq!(start("aé", 3), "aé");
    }
}
