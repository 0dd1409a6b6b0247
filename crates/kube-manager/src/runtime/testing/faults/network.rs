//! What happens between an operator and the API server in a run: its requests, events and faults.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{Method, Request, Response, StatusCode};
use kube::{Client, Error, Result, client::Body};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{sync::Notify, time::sleep};

use super::{
    call::{Call, Collection},
    fault::{EventFault, Fault, ListFault},
    state::{path_of, text},
};
use crate::runtime::services::Observer;

/// How long an operator sends no request before it counts as quiet.
pub const QUIET: Duration = Duration::from_millis(400);

/// The longest delay before an operator reconciles an object again, so that a test need not wait for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The time between two looks at a condition.
pub const PAUSE: Duration = Duration::from_millis(30);

/// The answers to a write that the API server will never take.
const REFUSALS: [StatusCode; 3] = [
    StatusCode::BAD_REQUEST,
    StatusCode::FORBIDDEN,
    StatusCode::UNPROCESSABLE_ENTITY,
];

/// The network of one run.
#[derive(Clone)]
pub struct Network(Arc<Shared>);

struct Shared {
    /// The namespace of the run.
    namespace: String,
    /// Sends requests to the API server without faults, also after the end of an operator.
    direct: Client,
    state: Mutex<State>,
    crashed: Notify,
}

#[derive(Default)]
struct State {
    /// The faults that have not happened.
    faults: Vec<Fault>,
    /// The requests, events, steps and failures, as lines for people, and how often each line came in a row.
    log: Vec<(String, usize)>,
    /// How many requests, events and steps there were.
    activity: usize,
    /// The writes of the operator, and how often each was sent before.
    writes: Vec<(Call, usize)>,
    counts: HashMap<Call, usize>,
    events: HashMap<Collection, usize>,
    /// The collections that the operator uses.
    collections: BTreeSet<Collection>,
    /// How often the operator was started. Requests of an earlier start are never answered.
    start: usize,
    /// The requests without an answer.
    active: usize,
    /// The watches whose events are delayed.
    delays: usize,
    last_request: Option<Instant>,
    last_write: Option<Instant>,
    /// When the last reconcile begins that is scheduled.
    scheduled: Option<Instant>,
    /// How many writes, events and steps there were.
    changes: usize,
    /// How the next list of a collection fails, and the resource version before the fault.
    lists: HashMap<Collection, (ListFault, String)>,
    /// The faults at the next event of a collection's watch.
    next_event: HashMap<Collection, EventFault>,
    /// The write that arrives after the work of the next leader.
    late: Option<Request<Body>>,
    /// The writes whose content the API server has refused the last time, and why.
    refused: HashMap<Call, String>,
    /// The paths of the objects that the operator has created. A generated name ends after its prefix.
    created: HashSet<String>,
}

impl State {
    /// An operator starts or is killed: what earlier ones have sent is never answered.
    fn end_earlier_starts(&mut self) {
        self.start += 1;
        self.active = 0;
        self.scheduled = None;
    }

    fn note_change(&mut self, line: String) {
        self.changes += 1;
        self.activity += 1;
        self.note(line);
    }

    fn note(&mut self, line: String) {
        match self.log.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => self.log.push((line, 1)),
        }
    }
}

/// The writes and events of a run, and the collections that it used.
#[derive(Clone, Default)]
pub struct Traffic {
    pub writes: Vec<(Call, usize)>,
    pub events: HashMap<Collection, usize>,
    pub collections: BTreeSet<Collection>,
}

impl Network {
    /// A network in which `faults` happen.
    pub fn new(namespace: &str, direct: Client, faults: Vec<Fault>) -> Self {
        let state = State {
            faults,
            ..State::default()
        };
        Self(Arc::new(Shared {
            namespace: namespace.to_owned(),
            direct,
            state: Mutex::new(state),
            crashed: Notify::new(),
        }))
    }

    /// The operator starts: requests with earlier clients are never answered.
    pub fn start(&self) {
        let mut state = self.0.state.lock();
        state.end_earlier_starts();
        // An operator that has not begun to work is not quiet.
        state.last_request = None;
    }

    /// Waits until the operator is killed.
    pub async fn crashed(&self) {
        self.0.crashed.notified().await;
    }

    pub fn traffic(&self) -> Traffic {
        let state = self.0.state.lock();
        Traffic {
            writes: state.writes.clone(),
            events: state.events.clone(),
            collections: state.collections.clone(),
        }
    }

    /// The collections that the operator uses.
    pub fn collections(&self) -> BTreeSet<Collection> {
        self.0.state.lock().collections.clone()
    }

    pub fn write_count(&self) -> usize {
        self.0.state.lock().writes.len()
    }

    /// The last lines of the log.
    pub fn log(&self, lines: usize) -> String {
        let state = self.0.state.lock();
        let first = state.log.len().saturating_sub(lines);
        let last = state.log[first..].iter().map(|(line, count)| match count {
            1 => line.clone(),
            count => format!("{line} (×{count})"),
        });
        last.collect::<Vec<_>>().join("\n")
    }

    /// Whether the operator has created an object of a snapshot.
    pub fn has_created(&self, object: &Value) -> bool {
        let state = self.0.state.lock();
        let (folder, _) = path_of(object).rsplit_once('/').unwrap_or_default();
        let names = ["/metadata/name", "/metadata/generateName"];
        let paths = names.map(|pointer| format!("{folder}/{}", text(object, pointer)));
        paths.iter().any(|path| state.created.contains(path))
    }

    /// Whether the operator has sent a write to the object at `path`.
    pub fn has_written(&self, path: &str) -> bool {
        self.wrote(path, None)
    }

    /// Whether the operator has deleted an object at `path`.
    pub fn has_deleted(&self, path: &str) -> bool {
        self.wrote(path, Some(&Method::DELETE))
    }

    fn wrote(&self, path: &str, method: Option<&Method>) -> bool {
        let state = self.0.state.lock();
        state.writes.iter().any(|(call, _)| {
            let is_asked = method.is_none_or(|method| call.method == *method);
            is_asked && call.path(&self.0.namespace) == path
        })
    }

    pub fn note(&self, line: String) {
        self.0.state.lock().note_change(line);
    }

    /// The time until all scheduled reconciles have begun; `None` if none is scheduled.
    pub fn scheduled(&self) -> Option<Duration> {
        let scheduled = self.0.state.lock().scheduled?;
        scheduled.checked_duration_since(Instant::now())
    }

    /// How long the operator has sent no request.
    pub fn silence(&self) -> Duration {
        let state = self.0.state.lock();
        match state.last_request {
            _ if state.active > 0 => Duration::ZERO,
            Some(last) => last.elapsed(),
            None => Duration::ZERO,
        }
    }

    /// Waits until the operator has sent no request for [`QUIET`], from now on.
    pub async fn quiet(&self) {
        sleep(QUIET).await;
        while self.silence() < QUIET {
            sleep(PAUSE).await;
        }
    }

    /// Waits until the operator is quiet, and no event is delayed.
    pub async fn at_rest(&self) {
        self.quiet().await;
        while self.0.state.lock().delays > 0 {
            self.quiet().await;
        }
    }

    /// A number that changes with each request and event.
    pub fn activity(&self) -> usize {
        self.0.state.lock().activity
    }

    /// A number that changes with each write and event.
    pub fn changes(&self) -> usize {
        self.0.state.lock().changes
    }

    /// The events of a watch are delayed until the returned value is dropped.
    pub fn delay(&self) -> Delay {
        self.0.state.lock().delays += 1;
        Delay(self.clone())
    }

    /// A write whose content the API server has refused since the last call, and has not taken since, and the reason. A
    /// refusal that lasts comes again after the next step: the operator tries again what it still wants.
    pub fn take_refused(&self) -> Option<String> {
        let refused = mem::take(&mut self.0.state.lock().refused);
        let (call, reason) = refused.into_iter().next()?;
        Some(format!("{call}: {reason}"))
    }

    /// Whether all faults have happened.
    pub fn is_done(&self) -> bool {
        self.0.state.lock().faults.is_empty()
    }

    /// How long the operator has sent no write.
    pub fn write_silence(&self) -> Duration {
        let last = self.0.state.lock().last_write;
        last.map_or(Duration::MAX, |last| last.elapsed())
    }

    /// Sends the write that is late, if there is one. Returns whether there was one.
    pub async fn deliver_late(&self) -> bool {
        let Some(request) = self.0.state.lock().late.take() else {
            return false;
        };
        let line = format!("late: {} {}", request.method(), request.uri().path());
        let answer = self.0.direct.send(request).await;
        self.note(format!("{line} -> {}", outcome(&answer)));
        true
    }

    /// The fault at the next event of a watch of `collection`, which counts as one more event.
    pub fn event(&self, collection: &Collection, line: &str) -> Option<EventFault> {
        let mut state = self.0.state.lock();
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "BOOKMARK" {
            return None;
        }
        let metadata = &event["object"]["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let count = state.events.entry(collection.clone()).or_default();
        *count += 1;
        let now = *count;
        state.note_change(format!("event {kind} {collection}/{name}"));
        if let Some(how) = state.next_event.remove(collection) {
            return Some(how);
        }
        let planned = state.faults.iter().position(|fault| {
            matches!(fault, Fault::Event { collection: at, nth, .. } if at == collection && *nth == now)
        })?;
        match state.faults.remove(planned) {
            Fault::Event { how, .. } => Some(how),
            Fault::Write { .. } | Fault::List { .. } => None,
        }
    }

    /// Whether the operator that started as the `start`th one still lives.
    pub fn lives(&self, start: usize) -> bool {
        self.0.state.lock().start == start
    }

    /// A request begins, and lasts until the returned value is dropped.
    pub fn begin(&self, call: &Call) -> Active {
        let mut state = self.0.state.lock();
        state.active += 1;
        state.last_request = Some(Instant::now());
        state.collections.insert(call.collection.clone());
        Active {
            network: self.clone(),
            start: state.start,
        }
    }

    /// Kills the operator.
    pub fn crash(&self, line: String) {
        {
            let mut state = self.0.state.lock();
            state.end_earlier_starts();
            state.note_change(line);
        }
        self.0.crashed.notify_one();
    }

    /// The write that is sent after the work of the next leader.
    pub fn keep_late(&self, request: Request<Body>) {
        self.0.state.lock().late = Some(request);
    }

    /// The answer to a request has arrived. A refusal has a `reason`.
    pub fn end<B>(&self, call: Call, answer: &Result<Response<B>>, reason: &str) {
        let mut state = self.0.state.lock();
        let separator = if reason.is_empty() { "" } else { ": " };
        state.activity += 1;
        state.note(format!("{call} -> {}{separator}{reason}", outcome(answer)));
        if !call.is_write() {
            return;
        }
        state.changes += 1;
        let code = answer.as_ref().ok().map(Response::status);
        if code == Some(StatusCode::CREATED) && call.is_whole() {
            state.created.insert(call.path(&self.0.namespace));
        }
        if matches!(code, Some(code) if REFUSALS.contains(&code)) {
            state.refused.insert(call, reason.to_owned());
        } else if answer.is_ok() {
            // The operator may have found another way, such as to delete a child that cannot be changed.
            state.refused.retain(|refused, _| {
                (&refused.collection, &refused.name) != (&call.collection, &call.name)
            });
        }
    }

    /// Counts a write, and returns its fault.
    pub fn begin_write(&self, call: &Call) -> Option<Fault> {
        let mut state = self.0.state.lock();
        state.last_write = Some(Instant::now());
        let count = state.counts.entry(call.clone()).or_default();
        *count += 1;
        let now = *count;
        state.writes.push((call.clone(), now));
        let planned = state.faults.iter().position(|fault| match fault {
            Fault::Write { call: at, nth, .. } | Fault::List { call: at, nth, .. } => {
                at == call && *nth == now
            }
            Fault::Event { .. } => false,
        })?;
        Some(state.faults.remove(planned))
    }

    /// The current resource version of a collection.
    pub async fn version_of(&self, collection: &Collection) -> Result<String> {
        let path = format!("{}?limit=1", collection.path(&self.0.namespace));
        let request = Request::get(path)
            .body(Vec::new())
            .map_err(Error::HttpError)?;
        let list: Value = self.0.direct.request(request).await?;
        let version = list["metadata"]["resourceVersion"].as_str();
        Ok(version.unwrap_or_default().to_owned())
    }

    /// The next list of `collection` has the state of a resource version, or no objects.
    pub fn fail_next_list(&self, collection: Collection, how: ListFault, version: String) {
        self.0.state.lock().lists.insert(collection, (how, version));
    }

    /// How the next list of `collection` fails, and the resource version. What the list lacks arrives later.
    pub fn take_list_fault(&self, collection: &Collection) -> Option<(ListFault, String)> {
        let mut state = self.0.state.lock();
        let fault = state.lists.remove(collection)?;
        let next = match fault.0 {
            ListFault::Earlier => EventFault::Delay,
            ListFault::Empty => EventFault::Expire,
        };
        state.next_event.insert(collection.clone(), next);
        Some(fault)
    }

    /// Whether the next watch of `collection` expires before its first event.
    pub fn take_expiry(&self, collection: &Collection) -> bool {
        let mut state = self.0.state.lock();
        let expires = state.next_event.get(collection) == Some(&EventFault::Expire);
        expires && state.next_event.remove(collection).is_some()
    }

    /// Numbers the starts of the operator.
    pub fn start_number(&self) -> usize {
        self.0.state.lock().start
    }

    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }
}

impl Observer for Network {
    fn pace(&self, delay: Duration) -> Duration {
        let delay = delay.min(LONGEST_PAUSE);
        let mut state = self.0.state.lock();
        state.scheduled = state.scheduled.max(Some(Instant::now() + delay));
        delay
    }

    fn failed(&self, line: String) {
        self.0.state.lock().note(line);
    }
}

/// What the log says of an answer.
pub fn outcome<B>(answer: &Result<Response<B>>) -> String {
    match answer {
        Ok(answer) => answer.status().as_u16().to_string(),
        Err(_) => "no answer".to_owned(),
    }
}

/// A request without an answer.
pub struct Active {
    network: Network,
    /// The start of the operator that has sent the request.
    start: usize,
}

impl Drop for Active {
    fn drop(&mut self) {
        let mut state = self.network.0.state.lock();
        // The requests of a killed operator are dropped later, and no longer count.
        if state.start == self.start {
            state.active = state.active.saturating_sub(1);
            state.last_request = Some(Instant::now());
        }
    }
}

/// A watch whose events are delayed.
pub struct Delay(Network);

impl Drop for Delay {
    fn drop(&mut self) {
        let mut state = self.0.0.state.lock();
        state.delays = state.delays.saturating_sub(1);
        // The operator gets the events now.
        state.last_request = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use http::Uri;
    use serde_json::json;

    use super::*;

    const CONFIG_MAPS: &str = "/api/v1/namespaces/here/configmaps";

    fn network() -> Network {
        let config = kube::Config::new(Uri::from_static("http://localhost:1"));
        let client = Client::try_from(config).expect("a client");
        Network::new("here", client, Vec::new())
    }

    /// The operator writes an object, and gets an answer.
    fn end(network: &Network, name: &str, status: StatusCode, reason: &str) {
        let request = Request::patch(format!("{CONFIG_MAPS}/{name}"));
        let request = request.body(Body::empty()).expect("a request");
        let call = Call::of(&request, "here").expect("a call");
        let answer = Response::builder().status(status).body(());
        network.end(call, &Ok(answer.expect("a response")), reason);
    }

    /// A child whose name comes from the spec is never written again under the name that was refused.
    #[tokio::test]
    async fn a_refused_write_counts_until_the_next_step() {
        let network = network();
        end(&network, "a", StatusCode::UNPROCESSABLE_ENTITY, "no data");
        let refused = network.take_refused();
        assert_eq!(refused.as_deref(), Some("PATCH configmaps/a: no data"));
        assert_eq!(network.take_refused(), None);
    }

    #[tokio::test]
    async fn the_log_has_reasons_and_tells_repeated_lines_once() {
        let network = network();
        for _ in 0..2 {
            end(&network, "a", StatusCode::UNPROCESSABLE_ENTITY, "no data");
        }
        let before = network.activity();
        network.failed("cannot reconcile web: panicked: no data".to_owned());
        // The delay before the next attempt is silence.
        assert_eq!(network.activity(), before);
        end(&network, "a", StatusCode::OK, "");
        assert_eq!(
            network.log(3),
            "PATCH configmaps/a -> 422: no data (×2)\n\
             cannot reconcile web: panicked: no data\n\
             PATCH configmaps/a -> 200"
        );
    }

    #[tokio::test]
    async fn the_objects_that_the_operator_has_created_are_known() {
        let network = network();
        end(&network, "a", StatusCode::CREATED, "");
        end(&network, "b", StatusCode::OK, "");
        end(&network, "part-", StatusCode::CREATED, "");
        for (name, prefix, expected) in
            [("a", "", true), ("b", "", false), ("part-x", "part-", true)]
        {
            let object = json!({"metadata": {
                "name": name, "generateName": prefix, "selfLink": format!("{CONFIG_MAPS}/{name}"),
            }});
            assert_eq!(network.has_created(&object), expected, "{name}");
        }
    }
}
