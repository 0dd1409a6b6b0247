//! One run of a scenario: its steps, and the comparison with a run without faults.

use std::{
    cell::RefCell,
    collections::HashMap,
    future::pending,
    rc::Rc,
    time::{Duration, Instant},
};

use http::{Method, Request, header::CONTENT_TYPE};
use kube::Client;
use prometheus::Registry;
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use super::{
    super::PATIENCE,
    call::Collection,
    journal::Journal,
    network::{Network, PAUSE, QUIET},
    state::{
        Collect, NewObject, Snapshot, State, Varied, Varying, differences, mask, path_of, stays,
        text, title,
    },
};

/// How long an operator that does not reach the expected state may be silent before the run has failed. A failed
/// reconcile is repeated earlier.
const SILENCE: Duration = Duration::from_secs(10);

/// How many scheduled reconciles in a row must change nothing before a state counts as reached. An operator may look at
/// an external system again and again.
const REPEATS: usize = 2;

/// How often the state is compared while the operator sends no request.
const LOOK: Duration = Duration::from_millis(250);

/// How often the state is compared before the run has failed. On a busy machine, this takes longer than [`SILENCE`].
const LOOKS: usize = 30;

/// How many lines of the log a failure shows.
pub const LINES: usize = 30;

/// A state that the operator has reached, after a step of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    pub step: String,
    pub state: State,
    /// The objects with what differs from run to run, until two runs are compared.
    pub snapshot: Snapshot,
    pub journal: Vec<String>,
    /// A write that the API server has refused, and has not taken since.
    pub refused: Option<String>,
    /// How many writes the operator had sent until then.
    pub writes: usize,
    /// How many events of each collection there were until then.
    pub events: HashMap<Collection, usize>,
}

/// What a run starts with.
pub struct Setup {
    pub namespace: String,
    /// Sends requests without faults. Its default namespace is that of the run.
    pub client: Client,
    pub network: Network,
    pub journal: Journal,
    /// The object of the run.
    pub sample: NewObject,
    /// The objects that the sample needs, and that no other run uses.
    pub needed: Vec<NewObject>,
    pub varying: Vec<Varying>,
    /// The values that are not compared.
    pub ignored: Vec<Varying>,
    /// The kinds whose objects may stay after the deletion of the object of the run.
    pub lasting: Vec<String>,
    /// The collections that a run without faults has seen.
    pub known: Vec<Collection>,
    /// The states that a run without faults has reached; `None` in that run itself.
    pub expected: Option<Vec<Reached>>,
}

/// A run of a scenario, in a namespace of its own. A step changes objects, and then waits with
/// [`settled`](Self::settled).
#[derive(Clone)]
pub struct Run(Rc<Inner>);

struct Inner {
    setup: Setup,
    reached: RefCell<Vec<Reached>>,
    /// The values that vary, as they were last seen: by path and pointer.
    varied: RefCell<HashMap<(String, String), Varied>>,
    /// The path of the object that this step has changed by hand. The operator may change its values that vary.
    edited: RefCell<Option<String>>,
    /// Whether the scenario lets the operator run.
    wanted: watch::Sender<bool>,
    /// Whether the operator runs.
    running: watch::Sender<bool>,
    failure: RefCell<Option<String>>,
    failed: Notify,
    registries: RefCell<Vec<Registry>>,
}

impl Run {
    pub(super) fn new(setup: Setup) -> Self {
        Self(Rc::new(Inner {
            setup,
            reached: RefCell::default(),
            varied: RefCell::default(),
            edited: RefCell::default(),
            wanted: watch::Sender::new(true),
            running: watch::Sender::new(false),
            failure: RefCell::default(),
            failed: Notify::new(),
            registries: RefCell::default(),
        }))
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.0.setup
    }

    fn note(&self, line: String) {
        self.setup().network.note(line);
    }

    /// The namespace of the run.
    pub fn namespace(&self) -> &str {
        &self.setup().namespace
    }

    /// A client for steps of your own, with all permissions. No fault happens to its requests. Its default namespace is
    /// that of the run.
    pub fn client(&self) -> Client {
        self.setup().client.clone()
    }

    /// Creates the sample. If an object of the same name is still there, waits for its deletion.
    pub async fn create(&self) {
        self.create_object(&self.setup().sample).await;
    }

    /// Creates an object. If an object of the same name is still there, waits for its deletion.
    pub(super) async fn create_object(&self, new: &NewObject) {
        let path = new.collection.path(self.namespace());
        let title = title(&new.object);
        self.note(format!("step: create the {title}"));
        let deadline = Instant::now() + PATIENCE;
        let mut was_cut = false;
        while Instant::now() < deadline {
            match self.send(Method::POST, &path, &new.object).await {
                Ok(_) => return,
                Err(kube::Error::Api(answer)) if answer.is_already_exists() => {
                    if was_cut && self.exists(&new.path(self.namespace())).await {
                        return;
                    }
                    self.collect_garbage(&self.snapshot().await).await;
                }
                Err(kube::Error::Api(answer)) => {
                    return self
                        .fail(format!("cannot create the {title}: {answer}"))
                        .await;
                }
                // The API server may have processed the request.
                Err(_) => was_cut = true,
            }
            sleep(PAUSE).await;
        }
        self.fail(format!(
            "cannot create the {title}: the former object still exists"
        ))
        .await;
    }

    /// Creates the sample, and waits until the operator has settled: the first step of each built-in scenario.
    pub(super) async fn begin(&self) {
        self.create().await;
        self.settled("the sample was created").await;
    }

    /// Whether the object at `path` exists, and is not being deleted.
    async fn exists(&self, path: &str) -> bool {
        let object = self.send(Method::GET, path, &Value::Null).await;
        object.is_ok_and(|object| object["metadata"]["deletionTimestamp"].is_null())
    }

    /// Changes the object of the run with a merge patch, such as `{"spec": {"replicas": 2}}`.
    pub async fn patch(&self, patch: &Value) {
        let path = self.own_path();
        self.note(format!("step: patch {patch}"));
        if let Err(error) = self.send(Method::PATCH, &path, patch).await {
            self.fail(format!("the API server refuses the patch {patch}: {error}"))
                .await;
        }
    }

    /// Replaces the spec of the object. Returns whether the API server has taken the spec.
    pub(super) async fn replace(&self, spec: &Value) -> bool {
        let path = self.own_path();
        self.note(format!("step: replace the spec by {spec}"));
        loop {
            let Ok(mut object) = self.send(Method::GET, &path, &Value::Null).await else {
                return false;
            };
            object["spec"] = spec.clone();
            match self.send(Method::PUT, &path, &object).await {
                Err(kube::Error::Api(answer)) if answer.is_conflict() => {}
                answer => return answer.is_ok(),
            }
        }
    }

    /// The write that the API server refuses although the object says that it is ready. A change by hand may leave a child
    /// that the operator cannot repair, and an operator that is stopped cannot correct its condition.
    fn hidden_refusal<'a>(&self, reached: &'a Reached) -> Option<&'a str> {
        let own_path = self.own_path();
        let mut objects = reached.snapshot.objects.iter();
        let own = objects.find(|object| path_of(object) == own_path);
        let is_edited = self.0.edited.borrow().is_some();
        let is_judged = own.is_some_and(says_ready) && *self.0.wanted.borrow() && !is_edited;
        reached.refused.as_deref().filter(|_| is_judged)
    }

    /// Changes the object at `path` by hand, if the API server takes the change. Returns whether it did.
    pub(super) async fn edit(&self, path: &str, patch: &Value) -> bool {
        let dry_run = format!("{path}?dryRun=All");
        if self.send(Method::PATCH, &dry_run, patch).await.is_err() {
            return false;
        }
        self.note(format!("step: patch {path}: {patch}"));
        self.0.edited.replace(Some(path.to_owned()));
        self.send(Method::PATCH, path, patch).await.is_ok()
    }

    /// Deletes the object of the run, and does not wait.
    pub async fn delete(&self) {
        let path = self.own_path();
        self.remove(&path).await;
    }

    /// Stops the operator, as a Deployment without replicas does, and waits for its end.
    pub async fn stop_operator(&self) {
        self.note("step: stop the operator".to_owned());
        self.0.wanted.send_replace(false);
        // This cannot fail: `self` holds the sender.
        let _ = self.0.running.subscribe().wait_for(|runs| !runs).await;
    }

    /// Starts the operator again.
    pub fn start_operator(&self) {
        self.note("step: start the operator".to_owned());
        self.0.wanted.send_replace(true);
    }

    async fn restart_operator(&self) {
        self.stop_operator().await;
        self.start_operator();
    }

    /// Waits until the operator has reached the state that it reaches without faults after this step. `step` describes
    /// what was done since the last call, for the report: `the image was changed`.
    pub async fn settled(&self, step: impl Into<String>) {
        let step = step.into();
        self.note(format!("step: wait: {step}"));
        match &self.setup().expected {
            None => {
                let mut reached = self.learn(step.clone()).await;
                if self.hidden_refusal(&reached).is_some() {
                    // It may be the refusal of a retry that began before the step. An operator that still wants the write
                    // tries it again after a restart.
                    self.restart_operator().await;
                    reached = self.learn(step).await;
                }
                if let Some(refused) = self.hidden_refusal(&reached) {
                    let reason = format!(
                        "the API server refuses {refused}, and the object says it is ready"
                    );
                    self.fail(reason).await;
                }
                self.0.reached.borrow_mut().push(reached);
            }
            Some(expected) => {
                let number = self.0.reached.borrow().len();
                let Some(expected) = expected.get(number) else {
                    return self
                        .fail(format!(
                            "the scenario has more steps than without faults: {step}"
                        ))
                        .await;
                };
                self.reach(expected).await;
                self.0.reached.borrow_mut().push(expected.clone());
            }
        }
        self.0.edited.take();
    }

    /// Fails if the operator does something after a restart: then it has missed the last change.
    pub(super) async fn misses_nothing(&self) {
        self.restart_operator().await;
        self.settled("the operator was restarted").await;
        let reached = self.reached();
        let [.., before, after] = &reached[..] else {
            return;
        };
        if let Some(difference) = differences(&before.state, &after.state).first() {
            let (step, difference) = (&before.step, difference.in_words("after a restart"));
            let reason = format!(
                "after this step, only a restart changes the state: {step}\n  {difference}"
            );
            self.fail(reason).await;
        }
    }

    /// Fails if the operator has created an object that stays after the deletion of the object of the run. The garbage
    /// collector deletes an object with owners.
    async fn leaves_nothing(&self) {
        let (snapshot, own_path) = (self.snapshot().await, self.own_path());
        let mut objects = snapshot.objects.iter();
        if objects.any(|object| path_of(object) == own_path) {
            return;
        }
        let Setup {
            network, lasting, ..
        } = self.setup();
        let left = snapshot.objects.iter().find(|object| {
            let is_lasting = lasting.iter().any(|kind| kind == text(object, "/kind"));
            stays(object) && network.has_created(object) && !is_lasting
        });
        if let Some(left) = left {
            self.fail(format!(
                "{} stays after the deletion of the object, and has no owner: delete it in the cleanup, or declare it with \
                 `Faults::leaves`",
                title(left)
            ))
            .await;
        }
    }

    /// The states that the run has reached.
    pub(super) fn reached(&self) -> Vec<Reached> {
        self.0.reached.borrow().clone()
    }

    /// Waits for the failure of the run.
    pub(super) async fn failure(&self) -> String {
        loop {
            if let Some(failure) = self.0.failure.borrow().clone() {
                return failure;
            }
            self.0.failed.notified().await;
        }
    }

    /// Waits until the scenario starts the operator, or stops it.
    pub(super) async fn wants(&self, run: bool) {
        let _ = self
            .0
            .wanted
            .subscribe()
            .wait_for(|wanted| *wanted == run)
            .await;
    }

    pub(super) fn runs(&self, runs: bool) {
        self.0.running.send_replace(runs);
    }

    /// Looks for panics in the metrics of the operator.
    pub(super) fn look_at(&self, registry: Registry) {
        self.0.registries.borrow_mut().push(registry);
    }

    fn has_panicked(&self) -> bool {
        self.0.registries.borrow().iter().any(has_panicked)
    }

    /// Waits until the operator writes nothing more, and compares the last state again. A run that writes for ever has
    /// failed.
    pub(super) async fn ended(&self) {
        let network = &self.setup().network;
        // An operator may read for ever.
        let _ = timeout(SILENCE, network.at_rest()).await;
        let deadline = Instant::now() + SILENCE;
        while network.write_silence() < 2 * QUIET {
            if Instant::now() > deadline {
                let reason =
                    "the operator writes without an end, although it has reached its state";
                return self.fail(reason.to_owned()).await;
            }
            sleep(PAUSE).await;
        }
        let last = self
            .setup()
            .expected
            .as_ref()
            .and_then(|expected| expected.last());
        match last {
            Some(last) => self.reach(last).await,
            None => self.leaves_nothing().await,
        }
        if self.has_panicked() {
            self.fail("the objects are as expected".to_owned()).await;
        }
    }

    pub(super) fn own_path(&self) -> String {
        self.setup().sample.path(self.namespace())
    }

    /// The state in a run without faults: when the operator is quiet, scheduled reconciles change nothing, and the garbage
    /// collector has nothing to do.
    async fn learn(&self, step: String) -> Reached {
        let network = &self.setup().network;
        let deadline = Instant::now() + PATIENCE;
        // On a busy machine, an event may take longer than the operator is quiet. So nothing may happen between two looks.
        let mut before = None;
        let (mut last, mut repeats) = (None, 0);
        loop {
            // An operator may read for ever.
            let _ = timeout(SILENCE, network.at_rest()).await;
            let snapshot = self.snapshot().await;
            let is_collected = !self.collect_garbage(&snapshot).await;
            let changes = Some(network.changes());
            if is_collected && before == changes {
                let now = (self.state(&snapshot), self.setup().journal.changes());
                let is_same = last.as_ref() == Some(&now);
                repeats = if is_same { repeats + 1 } else { 0 };
                let scheduled = network.scheduled().filter(|_| repeats < REPEATS);
                let Some(delay) = scheduled else {
                    let (state, journal) = now;
                    return Reached {
                        step,
                        state,
                        snapshot,
                        journal,
                        refused: network.take_refused(),
                        writes: network.write_count(),
                        events: network.traffic().events,
                    };
                };
                last = Some(now);
                sleep(delay).await;
            }
            before = changes;
            if Instant::now() > deadline {
                self.fail(format!(
                    "without faults, the operator does not settle after: {step}"
                ))
                .await;
            }
        }
    }

    /// Waits until the operator has reached a state. A late write arrives after that, and the operator reaches the state
    /// again.
    async fn reach(&self, expected: &Reached) {
        let network = &self.setup().network;
        let deadline = Instant::now() + PATIENCE;
        let (mut looks, mut last_activity) = (0, 0);
        loop {
            let activity = network.activity();
            looks = if activity == last_activity {
                looks + 1
            } else {
                0
            };
            last_activity = activity;
            let snapshot = self.snapshot().await;
            if let Some(change) = self.unstable(&snapshot) {
                return self.fail(change).await;
            }
            if self.has_panicked() {
                return self
                    .fail(format!("after this step: {}", expected.step))
                    .await;
            }
            let state = self.state(&snapshot);
            let journal = self.setup().journal.changes();
            let is_collected = !self.collect_garbage(&snapshot).await;
            let is_reached = is_collected && state == expected.state && journal == expected.journal;
            if is_reached && !network.deliver_late().await {
                return;
            }
            let is_silent = looks >= LOOKS && network.silence() > SILENCE;
            if !is_reached && (is_silent || Instant::now() > deadline) {
                let differences = differences(&state, &expected.state);
                let mut lines: Vec<_> = differences.iter().map(ToString::to_string).collect();
                lines.extend(changes(&journal, &expected.journal));
                let (step, lines) = (&expected.step, lines.join("\n  "));
                let reason = format!("after this step, the state differs: {step}\n  {lines}");
                return self.fail(reason).await;
            }
            // Without a request, nothing changes but by a step of the scenario.
            let look = Instant::now() + LOOK;
            while network.activity() == activity && Instant::now() < look {
                sleep(PAUSE).await;
            }
        }
    }

    fn state(&self, snapshot: &Snapshot) -> State {
        let mut state = snapshot.state(self.namespace());
        mask(&mut state, &self.setup().varying);
        mask(&mut state, &self.setup().ignored);
        state
    }

    /// Says which value has changed that must not change once it is written. The value of a new object may differ if its
    /// owner is another one, too, or if it was not the operator that deleted the former object.
    fn unstable(&self, snapshot: &Snapshot) -> Option<String> {
        let own_path = self.own_path();
        let own = snapshot
            .objects
            .iter()
            .find(|object| path_of(object) == own_path);
        let own = own.map_or("", |own| text(own, "/metadata/uid"));
        let mut varied = self.0.varied.borrow_mut();
        for now in snapshot.varying(&self.setup().varying, own) {
            let key = (now.path.clone(), now.pointer.clone());
            let Some(before) = varied.insert(key, now.clone()) else {
                continue;
            };
            let has_same_owner =
                before.owners == now.owners && self.setup().network.has_deleted(&now.path);
            let is_edited = self.0.edited.borrow().as_ref() == Some(&now.path);
            let is_same = before.uid == now.uid || has_same_owner;
            if before.value != now.value && is_same && !is_edited {
                return Some(format!(
                    "{} of {} must not change, but it was {} and is {}",
                    now.pointer, now.path, before.value, now.value
                ));
            }
        }
        None
    }

    /// The objects of the run: all objects in its namespace of the kinds that the operator uses, the object of the run, and
    /// other objects that the operator writes.
    pub(super) async fn snapshot(&self) -> Snapshot {
        let Setup {
            network,
            known,
            sample,
            needed,
            namespace,
            ..
        } = self.setup();
        let mut collections = network.collections();
        collections.extend(known.iter().cloned());
        let mut own_paths = Vec::new();
        for own in needed.iter().chain([sample]) {
            collections.insert(own.collection.clone());
            own_paths.push(own.path(namespace));
        }
        let mut snapshot = Snapshot::default();
        for collection in &collections {
            let path = collection.path(namespace);
            let Some(mut list) = self.list(&path).await else {
                continue;
            };
            let kind = list["kind"].as_str().unwrap_or_default();
            let kind = kind.strip_suffix("List").unwrap_or(kind).to_owned();
            snapshot.kinds.insert(kind.clone());
            let items = list["items"].as_array_mut().map(std::mem::take);
            for mut object in items.unwrap_or_default() {
                let name = object["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                let path = format!("{path}/{name}");
                let uid = object["metadata"]["uid"].as_str();
                snapshot.uids.extend(uid.map(str::to_owned));
                let is_own = own_paths.contains(&path) || network.has_written(&path);
                if !collection.is_here() && !is_own {
                    continue;
                }
                object["kind"] = kind.clone().into();
                object["apiVersion"] = collection.api_version().into();
                object["metadata"]["selfLink"] = path.into();
                snapshot.objects.push(object);
            }
        }
        snapshot
    }

    /// Lists the objects at `path`. Returns `None` if the kind does not exist, or cannot be listed.
    async fn list(&self, path: &str) -> Option<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.send(Method::GET, path, &Value::Null).await {
                Ok(list) => return Some(list),
                Err(kube::Error::Api(answer)) if matches!(answer.code, 404 | 405) => return None,
                Err(error) if Instant::now() > deadline => {
                    self.fail(format!("cannot list {path}: {error}")).await;
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Does what the garbage collector of a cluster does. Returns whether there was something to do.
    async fn collect_garbage(&self, snapshot: &Snapshot) -> bool {
        let garbage = snapshot.garbage();
        let is_any = !garbage.is_empty();
        for work in garbage {
            match work {
                Collect::Delete(object) => {
                    let metadata = &object["metadata"];
                    // As the garbage collector does: an object that has got another owner stays.
                    let unchanged = json!({
                        "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
                    });
                    let options =
                        json!({"propagationPolicy": "Background", "preconditions": unchanged});
                    self.remove_with(path_of(object), &options).await;
                }
                Collect::Disown(object, owners) => {
                    let metadata = json!({
                        "ownerReferences": owners,
                        "resourceVersion": object["metadata"]["resourceVersion"],
                    });
                    let patch = json!({ "metadata": metadata });
                    // If the object has changed, the next look sees it.
                    let _ = self.send(Method::PATCH, path_of(object), &patch).await;
                }
                Collect::Release(object, finalizer) => {
                    let finalizers = object
                        .pointer("/metadata/finalizers")
                        .and_then(Value::as_array);
                    let mut finalizers = finalizers.cloned().unwrap_or_default();
                    finalizers.retain(|other| other != finalizer);
                    let patch = json!({"metadata": {"finalizers": finalizers}});
                    // If the object has changed, the next look sees it.
                    let _ = self.send(Method::PATCH, path_of(object), &patch).await;
                }
                Collect::Finalize(namespace) => {
                    finalize(&self.setup().client, path_of(namespace), namespace).await;
                }
            }
        }
        is_any
    }

    /// Deletes the object at `path`, unless it is gone.
    pub(super) async fn remove(&self, path: &str) {
        self.remove_with(path, &json!({"propagationPolicy": "Background"}))
            .await;
    }

    /// Deletes the object at `path`, unless it is gone, or has changed.
    async fn remove_with(&self, path: &str, options: &Value) {
        self.note(format!("step: delete {path}"));
        match self.send(Method::DELETE, path, options).await {
            Ok(_) => {}
            Err(kube::Error::Api(answer)) if answer.is_not_found() || answer.is_conflict() => {}
            Err(error) => self.fail(format!("cannot delete {path}: {error}")).await,
        }
    }

    /// Sends a request without faults.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        content: &Value,
    ) -> kube::Result<Value> {
        send(&self.setup().client, method, path, content).await
    }

    /// Ends the run. Never returns, because the scenario must not go on.
    pub(super) async fn fail(&self, mut reason: String) {
        if self.has_panicked() {
            reason.insert_str(0, "a reconcile has panicked\n");
        }
        let log = self.setup().network.log(LINES);
        let failure = format!("{reason}\nThe last requests and events:\n{log}");
        self.0.failure.borrow_mut().get_or_insert(failure);
        self.0.failed.notify_one();
        pending::<()>().await;
    }
}

/// Sends a request. The API server may close an idle connection just when a request is sent. So a request without an
/// answer is sent again, unless it creates an object.
pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content: &Value,
) -> kube::Result<Value> {
    let media_type = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder()
        .method(method.clone())
        .uri(path)
        .header(CONTENT_TYPE, media_type)
        .body(content.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    let answer = client.request(request.clone()).await;
    if method == Method::POST || matches!(answer, Ok(_) | Err(kube::Error::Api(_))) {
        return answer;
    }
    client.request(request).await
}

/// Removes the deleted Namespace at `path`.
pub async fn finalize(client: &Client, path: &str, namespace: &Value) {
    let mut empty = namespace.clone();
    empty["spec"]["finalizers"] = json!([]);
    let path = format!("{path}/finalize");
    // If the Namespace has changed, the next look sees it.
    let _ = send(client, Method::PUT, &path, &empty).await;
}

/// Whether the conditions say that the object is ready: `Ready`, and conditions such as `BackupReady` of further
/// controllers of a kind. An object without such a condition says nothing.
pub fn says_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let mut ready = conditions
        .filter(|condition| text(condition, "/type").ends_with("Ready"))
        .peekable();
    ready.peek().is_some() && ready.all(|condition| condition["status"] == "True")
}

/// What was done in an external system twice or never.
fn changes(here: &[String], without: &[String]) -> Vec<String> {
    let mut all: Vec<_> = here.iter().chain(without).collect();
    all.sort_unstable();
    all.dedup();
    let mut lines = Vec::new();
    for change in all {
        let times = here.iter().filter(|one| *one == change).count();
        let expected = without.iter().filter(|one| *one == change).count();
        if times != expected {
            lines.push(format!(
                "`{change}` was done {}, and without faults {}",
                count(times),
                count(expected)
            ));
        }
    }
    lines
}

fn count(times: usize) -> String {
    match times {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{times} times"),
    }
}

fn has_panicked(registry: &Registry) -> bool {
    let families = registry.gather();
    let errors = families
        .iter()
        .filter(|family| family.name() == "controller_runtime_reconcile_errors_total");
    errors.flat_map(|family| family.get_metric()).any(|metric| {
        let is_panic = metric
            .get_label()
            .iter()
            .any(|label| label.value() == "panic");
        is_panic && metric.get_counter().get_value() > 0.0
    })
}

#[cfg(test)]
mod tests {
    use http::{Response, StatusCode};
    use kube::client::Body;
    use tower::{BoxError, service_fn};

    use super::{super::call::Call, *};

    const SITES: &str = "/apis/web.example.com/v1/namespaces/here/sites";

    /// A run whose object says that it is ready.
    fn run() -> Run {
        let site = json!({
            "metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let list = json!({"kind": "SiteList", "items": [site]}).to_string();
        let service = service_fn(move |_: Request<Body>| {
            let list = Body::from(list.clone().into_bytes());
            async { Ok::<_, BoxError>(Response::new(list)) }
        });
        let client = Client::new(service, "here");
        Run::new(Setup {
            namespace: "here".to_owned(),
            network: Network::new("here", client.clone(), Vec::new()),
            client,
            journal: Journal::default(),
            sample: NewObject {
                collection: Collection::at(SITES, "here").expect("a collection"),
                object: json!({"kind": "Site", "metadata": {"name": "a"}}),
            },
            needed: Vec::new(),
            varying: Vec::new(),
            ignored: Vec::new(),
            lasting: Vec::new(),
            known: Vec::new(),
            expected: None,
        })
    }

    /// The operator sends a request, and gets an answer.
    fn request(run: &Run, method: Method, status: StatusCode) {
        let request = Request::builder().method(method).uri(format!("{SITES}/a"));
        let request = request.body(Body::empty()).expect("a request");
        let call = Call::of(&request, "here").expect("a call");
        let answer = Response::builder().status(status).body(());
        let network = &run.setup().network;
        drop(network.begin(&call));
        network.end(call, &Ok(answer.expect("a response")), "no data");
    }

    /// The failure of a step, in which a retry of an earlier write was refused. The operator that starts after the
    /// restart sends this request.
    async fn failure_after(method: Method, status: StatusCode) -> Option<String> {
        let run = run();
        request(&run, Method::PATCH, StatusCode::UNPROCESSABLE_ENTITY);
        run.runs(true);
        let restart = async {
            run.wants(false).await;
            run.runs(false);
            run.wants(true).await;
            run.setup().network.start();
            request(&run, method, status);
            pending().await
        };
        tokio::select! {
            () = run.settled("a step") => None,
            failure = run.failure() => Some(failure),
            () = restart => None,
        }
    }

    #[tokio::test]
    async fn a_refusal_counts_if_the_operator_still_wants_the_write() {
        let (corrected, ignored) = tokio::join!(
            failure_after(Method::GET, StatusCode::OK),
            failure_after(Method::PATCH, StatusCode::UNPROCESSABLE_ENTITY),
        );
        assert_eq!(corrected, None);
        let ignored = ignored.expect("a failure");
        let expected = "the API server refuses PATCH sites.web.example.com/a: no data, and the object says it is ready\n";
        assert!(ignored.starts_with(expected), "{ignored}");
    }

    #[test]
    fn only_conditions_of_readiness_say_that_an_object_is_ready() {
        for (conditions, expected) in [
            (json!([{"type": "Ready", "status": "True"}]), true),
            (json!([{"type": "Ready", "status": "False"}]), false),
            (
                json!([{"type": "Ready", "status": "True"}, {"type": "Degraded", "status": "False"}]),
                true,
            ),
            (
                json!([{"type": "Ready", "status": "True"}, {"type": "BackupReady", "status": "False"}]),
                false,
            ),
            (json!([{"type": "Stalled", "status": "True"}]), false),
            (json!([]), false),
            (Value::Null, false),
        ] {
            let object = json!({"status": {"conditions": conditions}});
            assert_eq!(says_ready(&object), expected, "{object}");
        }
    }

    #[test]
    fn a_change_outside_is_counted() {
        let texts = |changes: &[&str]| -> Vec<String> {
            changes.iter().map(|change| (*change).to_owned()).collect()
        };
        let without = texts(&["create", "tag"]);
        assert!(changes(&without, &without).is_empty());
        assert_eq!(
            changes(&texts(&["create", "create", "drop"]), &without),
            [
                "`create` was done twice, and without faults once",
                "`drop` was done once, and without faults never",
                "`tag` was done never, and without faults once",
            ]
        );
    }
}
