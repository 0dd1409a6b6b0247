//! Records events, which `kubectl describe` shows. If an event repeats within minutes, the count of the first event
//! increases. kube's recorder does not compare the notes, so it would also count events with other notes.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    runtime::events::EventType,
};
use parking_lot::Mutex;
use serde_json::json;

/// How long after its last repetition an event is still counted instead of recorded again.
const SERIES: Duration = Duration::from_secs(6 * 60);

/// The most bytes of a note, and of an event's name.
const NOTE: usize = 1024;
const NAME: usize = 253;

/// Records the events of one controller.
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    controller: String,
    instance: String,
    recorded: Arc<Mutex<Recorded>>,
}

impl Recorder {
    /// The recorder of a controller.
    pub fn new(client: Client, controller: String) -> Self {
        Self {
            client,
            // In a Pod, this is the name of the Pod.
            instance: std::env::var("HOSTNAME").unwrap_or_else(|_| controller.clone()),
            controller,
            recorded: Arc::default(),
        }
    }

    /// Records an event, or counts it if it repeats.
    pub async fn publish(
        &self,
        regarding: ObjectReference,
        type_: EventType,
        reason: &str,
        note: &str,
    ) -> kube::Result<()> {
        let note = start(note, NOTE);
        let key = hash((&regarding.uid, &regarding.name, type_, reason, note));
        let now = MicroTime(Timestamp::now());
        let namespace = regarding.namespace.as_deref().unwrap_or("default");
        let events = Api::<Event>::namespaced(self.client.clone(), namespace);
        let repeats = self.recorded.lock().repeats(key, Instant::now());
        if let Some((name, count)) = repeats {
            let series = json!({"series": {"count": count, "lastObservedTime": now}});
            let patch = Patch::Merge(series);
            match events.patch(&name, &PatchParams::default(), &patch).await {
                // The event may have expired: by default, the API server keeps events for an hour.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                patched => return patched.map(drop),
            }
        }
        let name = name(regarding.name.as_deref().unwrap_or_default(), &now);
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            event_time: Some(now),
            note: Some(note.to_owned()),
            reason: Some(reason.to_owned()),
            regarding: Some(regarding),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(format!("{type_:?}")),
            ..Event::default()
        };
        events.create(&PostParams::default(), &event).await?;
        self.recorded.lock().add(key, name, Instant::now());
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
        let was_swept_recently = self
            .swept
            .is_some_and(|swept| now.saturating_duration_since(swept) < SERIES);
        if !was_swept_recently {
            self.series.retain(|_, series| !series.is_over(now));
            self.swept = Some(now);
        }
        let (count, last) = (1, now);
        self.series.insert(key, Series { name, count, last });
    }
}

/// A new name for an event about `object`. Some names of objects are not valid for events, so characters are replaced.
fn name(object: &str, now: &MicroTime) -> String {
    let end = format!(".{:x}", now.0.as_nanosecond());
    let valid = object.replace(
        |char: char| !matches!(char, 'a'..='z' | '0'..='9' | '.'),
        "-",
    );
    let start = start(&valid, NAME - end.len()).trim_matches(['-', '.']);
    format!("{start}{end}")
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
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::Value;
    use tower::service_fn;

    use super::*;

    /// The requests for events about one object with these notes.
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
        let recorder = Recorder::new(Client::new(client, "default"), "test".to_owned());
        for note in notes {
            let regarding = ObjectReference::default();
            let published = recorder.publish(regarding, EventType::Normal, "Tested", note);
            published.await.expect("an event");
        }
        requests.lock().clone()
    }

    #[tokio::test]
    async fn only_an_event_that_says_the_same_counts_as_the_same() {
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
        assert_eq!(name(&"a".repeat(300), &now).len(), NAME);
        let cut = format!("a{}", "a-".repeat(200));
        assert!(name(&cut, &now).ends_with("a.0"));
        assert_eq!(start("aé", 2), "a");
        assert_eq!(start("aé", 3), "aé");
    }
}
