//! Tests children on an API server in memory: other programs edit the objects at any time, the watch is late, and the
//! operator restarts.

use std::{any::TypeId, collections::VecDeque, future::Future};

use http::{Method, Request, Response};
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{Client, api::ObjectMeta, client::Body};
use parking_lot::Mutex;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::runtime::{
    child::{Child, Recreate},
    children::Children,
    object::Guarded,
    objects::Stores,
    watch::Watcher,
    written::Written,
};

const NAME: &str = "test.example.com";
const MARK: &str = "test.example.com/applied";

/// What happens to the Secret, to its watch or to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Somebody sets the label `app.kubernetes.io/managed-by`, or removes it.
    Label(Option<&'static str>),
    /// Somebody removes the label with the hash.
    Unmark,
    /// Somebody changes a field that nobody desires.
    Touch,
    /// The Secret is gone.
    Delete,
    /// Somebody deletes the Secret, and a finalizer or a Pod keeps it for a while.
    Terminate,
    /// Somebody deletes the Secret and creates one with the same name.
    Replace,
    /// A restore has removed the owner.
    Orphan,
    /// A restore has made the owner again, so its uid is another one.
    Restore,
    /// The watch shows the next event.
    Show,
    /// The watch starts again with a list.
    Relist,
}

/// An API server with one Secret at most.
struct Cluster {
    secret: Option<Value>,
    version: u64,
    /// The events that the watch has not shown.
    events: VecDeque<Shown>,
    index: Arc<Owned>,
    /// What happens before each of the next requests.
    acts: VecDeque<Vec<Act>>,
    /// What happens before each of the next answers arrives.
    late_acts: VecDeque<Vec<Act>>,
    /// Whether the watch has shown something that requeues the owner.
    is_woken: bool,
    requests: Vec<Method>,
    keeps_values: bool,
    /// Whether somebody has begun to delete the owner.
    is_owner_going: bool,
    /// The answers to the next patches; `None` if the API server accepts one.
    refusals: VecDeque<Option<Value>>,
}

fn is_watched(secret: Option<&Value>) -> bool {
    secret.is_some_and(|secret| secret["metadata"]["labels"][LABEL] == "test")
}

fn guarded(secret: &Value) -> Guarded {
    let secret: Secret = serde_json::from_value(secret.clone()).expect("a Secret");
    Guarded(Ok(Arc::new(secret)))
}

/// Merges `patch` into `target`, like a JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().expect("an object").remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

impl Cluster {
    /// Stores a new state of the Secret. Its password never changes.
    fn store(&mut self, secret: Option<Value>) {
        if self.secret == secret {
            return;
        }
        self.version += 1;
        let mut secret = secret;
        if let Some(secret) = &mut secret {
            secret["metadata"]["resourceVersion"] = json!(self.version.to_string());
        }
        if let (Some(before), Some(after)) = (&self.secret, &secret)
            && before["metadata"]["uid"] == after["metadata"]["uid"]
        {
            assert_eq!(before["data"]["password"], after["data"]["password"]);
        }
        match (
            &secret,
            is_watched(self.secret.as_ref()),
            is_watched(secret.as_ref()),
        ) {
            (Some(secret), _, true) => self.events.push_back(Shown::Put(guarded(secret))),
            (Some(secret), true, false) => self.events.push_back(Shown::Gone(guarded(secret))),
            (None, true, _) => {
                let mut gone = self.secret.clone().expect("it was there");
                gone["metadata"]["resourceVersion"] = json!(self.version.to_string());
                self.events.push_back(Shown::Gone(guarded(&gone)));
            }
            _ => {}
        }
        self.secret = secret;
    }

    fn create(&mut self, mut secret: Value) {
        secret["metadata"]["uid"] = json!(format!("uid {}", self.version));
        self.store(Some(secret));
    }

    fn show(&mut self, event: &Shown) {
        self.is_woken |= !self.index.take(event, None, None).is_empty();
    }

    fn act(&mut self, act: Act) {
        match (act, self.secret.clone()) {
            (Act::Show, _) => {
                if let Some(event) = self.events.pop_front() {
                    self.show(&event);
                }
            }
            (Act::Relist, secret) => {
                self.events.clear();
                let watched = secret.filter(|secret| is_watched(Some(secret)));
                let list = watched.iter().map(guarded).collect();
                self.show(&Shown::All(list));
            }
            (_, None) => {}
            (Act::Delete, _) => self.store(None),
            (Act::Replace, _) => {
                self.store(None);
                self.create(json!({
                    "metadata": {"name": "a", "namespace": "home"},
                    "data": {"password": "dGhlaXJz"},
                }));
            }
            (act, Some(mut secret)) => {
                let metadata = &mut secret["metadata"];
                match act {
                    Act::Label(value) => {
                        merge(&mut metadata["labels"], &json!({LABEL: value}));
                    }
                    Act::Terminate => {
                        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                    }
                    Act::Unmark => merge(&mut metadata["labels"], &json!({MARK: null})),
                    Act::Orphan => merge(metadata, &json!({"ownerReferences": null})),
                    Act::Restore => {
                        if metadata["ownerReferences"].is_array() {
                            metadata["ownerReferences"][0]["uid"] = json!("earlier");
                        }
                    }
                    _ => {
                        secret["data"]["touched"] =
                            json!(ByteString(self.version.to_string().into()))
                    }
                }
                self.store(Some(secret));
            }
        }
    }

    fn end_deletion(&mut self) {
        if let Some(secret) = &self.secret
            && secret["metadata"]["deletionTimestamp"].is_string()
        {
            self.act(Act::Delete);
        }
    }

    fn next_acts(&mut self) {
        for act in self.acts.pop_front().unwrap_or_default() {
            self.act(act);
        }
    }

    fn answer(&mut self, method: &Method, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        if path.contains("/events") {
            return (201, body.clone());
        }
        if path.contains("/configmaps") {
            let mut owner = json!({"metadata": {"name": "owner", "uid": "owner"}});
            if self.is_owner_going {
                owner["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            return (200, json!({"metadata": {}, "items": [owner]}));
        }
        self.requests.push(method.clone());
        self.next_acts();
        if path.ends_with("/secrets") && *method == Method::GET {
            let items: Vec<_> = self.secret.iter().collect();
            return (200, json!({"metadata": {}, "items": items}));
        }
        let Some(live) = self.secret.clone() else {
            if *method != Method::POST {
                return failed(404, "NotFound");
            }
            self.create(body.clone());
            return (201, json!(self.secret));
        };
        let sent = if *method == Method::DELETE {
            &body["preconditions"]
        } else {
            &body["metadata"]
        };
        let is_current = ["uid", "resourceVersion"]
            .iter()
            .all(|field| sent[*field].is_null() || sent[*field] == live["metadata"][*field]);
        if *method == Method::PATCH
            && let Some(refusal) = self.refusals.pop_front().flatten()
        {
            return (422, refusal);
        }
        match *method {
            Method::POST => failed(409, "AlreadyExists"),
            Method::GET => (200, live),
            _ if !is_current => failed(409, "Conflict"),
            Method::DELETE => {
                assert!(!self.keeps_values, "a kept value would be lost");
                if live["metadata"]["finalizers"].is_array() {
                    self.act(Act::Terminate);
                    return (200, json!(self.secret));
                }
                self.store(None);
                let success = kube::core::Status::success();
                (200, json!(success))
            }
            _ => {
                // No write without a state on which it is based.
                assert!(sent["resourceVersion"].is_string(), "{kind} {body}");
                let mut secret = live;
                merge(&mut secret, body);
                self.store(Some(secret));
                (200, json!(self.secret))
            }
        }
    }
}

fn failed(code: u16, reason: &str) -> (u16, Value) {
    let status = kube::core::Status::failure(reason, reason).with_code(code);
    (code, json!(status))
}

/// The operator and its API server.
struct World {
    cluster: Arc<Mutex<Cluster>>,
    client: Client,
    children: Children<Secret, ConfigMap>,
    passwords: u32,
    /// Whether the runtime reconciles the owner again after the last reconcile, without an event.
    is_retried: bool,
}

/// How the reconciler keeps the password.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// It looks for the password, and makes one if there is none.
    Reuse,
    Keep,
    CreateOnly,
    /// It makes a new password each time, and the Secret again if the password cannot change.
    Recreate,
}

fn children(client: Client, index: Arc<Owned>) -> Children<Secret, ConfigMap> {
    let watcher = Watcher {
        controller: NAME,
        field_manager: NAME,
        rules: &[],
        keeps_status_fields: false,
        is_optional: false,
    };
    let written = Written::new(TypeId::of::<ConfigMap>(), Stores::default());
    let access = Access::for_test(client, watcher, written);
    let mut children = Children::new(access, Kind::of::<Secret>(), Vec::new(), Tie::Reference);
    children.any.owned = index;
    children
}

fn index() -> Arc<Owned> {
    Arc::new(Owned::new(ApiResource::erase::<ConfigMap>(&())))
}

impl World {
    /// Deletes the children of `owner` after its cleanup.
    async fn release(&self, owner: &ObjectMeta, watched: &[Option<String>]) {
        let deleted = self.children.any.delete_all(owner, watched).await;
        deleted.expect("an answer");
    }

    fn new(keeps_values: bool) -> Self {
        let cluster = Arc::new(Mutex::new(Cluster {
            secret: None,
            version: 1,
            events: VecDeque::new(),
            index: index(),
            acts: VecDeque::new(),
            late_acts: VecDeque::new(),
            is_woken: false,
            requests: Vec::new(),
            keeps_values,
            is_owner_going: false,
            refusals: VecDeque::new(),
        }));
        let server = cluster.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let cluster = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect_bytes().await?;
                // A request without a body.
                let sent = serde_json::from_slice(&bytes).unwrap_or_default();
                let media_type = match parts.headers.get("content-type") {
                    Some(value) => value.to_str().expect("a text"),
                    None => "",
                };
                let mut cluster = cluster.lock();
                let (code, answer) =
                    cluster.answer(&parts.method, parts.uri.path(), media_type, &sent);
                for act in cluster.late_acts.pop_front().unwrap_or_default() {
                    cluster.act(act);
                }
                let answer = Body::from(answer.to_string().into_bytes());
                Response::builder()
                    .status(code)
                    .body(answer)
                    .map_err(tower::BoxError::from)
            }
        });
        let client = Client::new(service, "default");
        let children = children(client.clone(), cluster.lock().index.clone());
        Self {
            cluster,
            client,
            children,
            passwords: 0,
            is_retried: false,
        }
    }

    /// Starts the operator again. It reconciles after its watch has begun.
    fn restart(&mut self) {
        let index = index();
        self.children = children(self.client.clone(), index.clone());
        let mut cluster = self.cluster.lock();
        cluster.index = index;
        cluster.act(Act::Relist);
    }

    fn show_all(&self) {
        let mut cluster = self.cluster.lock();
        while !cluster.events.is_empty() {
            cluster.act(Act::Show);
        }
    }

    /// Ends a deletion, and shows all events. Returns whether the runtime then reconciles the owner.
    fn goes_on(&self) -> bool {
        self.cluster.lock().end_deletion();
        self.show_all();
        self.is_retried || self.cluster.lock().is_woken
    }

    /// Reconciles the owner, whose Secret has a password and the text `title`.
    async fn reconcile(&mut self, way: Way, title: &str) -> Result<(), Error> {
        let owner = owner();
        self.passwords += 1;
        self.cluster.lock().is_woken = false;
        let password = ByteString(format!("password {}", self.passwords).into_bytes());
        let reconcile = async {
            let known = self.children.of(&owner);
            let known_password = known
                .first()
                .and_then(|secret| secret.data.as_ref()?.get("password"));
            let child = match way {
                Way::Reuse => {
                    Child::new(secret(known_password.cloned().unwrap_or(password), title))
                }
                Way::Keep => Child::new(secret(password, title)).keep(["data", "password"]),
                Way::CreateOnly => Child::create_only(secret(password, title)),
                Way::Recreate => Child::new(secret(password, title)).recreate(Recreate::Orphan),
            };
            self.cluster.lock().next_acts();
            self.children.apply(&owner, [child]).await
        };
        let (applied, is_outdated) = reads::during(reconcile).await;
        let is_stale = applied.as_ref().is_err_and(Error::is_stale);
        // After a conflict that ended well, the object is reconciled again, too.
        assert!(is_outdated || !is_stale);
        self.is_retried = is_outdated || applied.is_err();
        applied.map(drop)
    }
}

fn owner() -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some("owner".to_owned()),
            namespace: Some("home".to_owned()),
            uid: Some("owner".to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn secret(password: ByteString, title: &str) -> Secret {
    let title = ByteString(title.into());
    Secret {
        metadata: ObjectMeta {
            name: Some("a".to_owned()),
            namespace: Some("home".to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(
            [
                ("password".to_owned(), password),
                ("title".to_owned(), title),
            ]
            .into(),
        ),
        ..Secret::default()
    }
}

fn wait<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

/// What happens before a reconcile, whether the operator restarts then, and what happens during the reconcile: first
/// between its read and its first request, then before each request, and last what happens before each answer arrives.
type Round = (Vec<Act>, bool, Vec<Vec<Act>>, Vec<Vec<Act>>);

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => prop_oneof![Just(None), Just(Some("Helm")), Just(Some("test"))].prop_map(Act::Label),
        1 => Just(Act::Unmark),
        2 => Just(Act::Touch),
        1 => Just(Act::Delete),
        2 => Just(Act::Terminate),
        1 => Just(Act::Replace),
        1 => Just(Act::Orphan),
        1 => Just(Act::Restore),
        6 => Just(Act::Show),
        1 => Just(Act::Relist),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let during = || vec(vec(act(), 0..3), 0..5);
    let restarts = prop::bool::weighted(0.2);
    vec((vec(act(), 0..4), restarts, during(), during()), 1..8)
}

fn run(way: Way, rounds: &[Round]) {
    wait(async {
        let mut world = World::new(!matches!(way, Way::Reuse));
        let mut title = String::new();
        for (number, (before, restarts, during, late)) in rounds.iter().enumerate() {
            if *restarts {
                world.restart();
            }
            for act in before {
                world.cluster.lock().act(*act);
            }
            world.cluster.lock().acts = during.iter().cloned().collect();
            world.cluster.lock().late_acts = late.iter().cloned().collect();
            title = format!("title {}", number / 2);
            let _ = world.reconcile(way, &title).await;
        }

        // Once nobody interferes, events and failures bring the child to its desired state, and then a reconcile sends no
        // request.
        world.cluster.lock().acts.clear();
        world.cluster.lock().late_acts.clear();
        let mut applied = world.reconcile(way, &title).await;
        for _ in 0..10 {
            if world.goes_on() {
                applied = world.reconcile(way, &title).await;
            }
        }
        let is_ours = {
            let mut cluster = world.cluster.lock();
            cluster.requests.clear();
            let secret = cluster.secret.as_ref().expect("a Secret");
            secret["metadata"]["ownerReferences"][0]["uid"] == "owner"
        };
        if is_ours {
            applied.expect("the desired state is reached");
            world.reconcile(way, &title).await.expect("nothing differs");
            let cluster = world.cluster.lock();
            let secret = cluster.secret.clone().expect("a Secret");
            assert_eq!(cluster.requests, Vec::<Method>::new());
            assert_eq!(secret["metadata"]["labels"][LABEL], "test");
            assert!(secret["metadata"]["labels"][MARK].is_string());
            if !matches!(way, Way::CreateOnly) {
                assert_eq!(secret["data"]["title"], json!(ByteString(title.into())));
            }
        } else {
            assert!(matches!(applied, Err(Error::NotOwned(_))), "{applied:?}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The API server in memory fails if a password changes, or if a write is not based on a state of the object.
    #[test]
    fn a_password_never_changes(
        way in prop_oneof![Just(Way::Reuse), Just(Way::Keep), Just(Way::CreateOnly)],
        rounds in rounds(),
    ) {
        run(way, &rounds);
    }
}

/// Reconciles until the desired state is reached. Returns how many reconciles that takes.
async fn settled(world: &mut World, title: &str) -> usize {
    for count in 1..10 {
        if world.reconcile(Way::Reuse, title).await.is_ok() {
            return count;
        }
    }
    panic!("the desired state is not reached");
}

#[test]
fn an_object_that_vanishes_after_it_was_in_the_way_is_created() {
    wait(async {
        let mut world = World::new(false);
        assert_eq!(settled(&mut world, "one").await, 1);
        world.restart();
        world.cluster.lock().act(Act::Label(None));
        world.show_all();
        world.cluster.lock().requests.clear();
        // The POST still finds the object, the GET does not.
        world.cluster.lock().acts = [vec![], vec![], vec![Act::Delete]].into();
        assert_eq!(settled(&mut world, "two").await, 1);
        let requests = [Method::POST, Method::GET, Method::POST];
        assert_eq!(world.cluster.lock().requests, requests);
    });
}

#[test]
fn a_child_that_is_being_deleted_is_created_again_once_it_is_gone() {
    let label = Act::Label(None);
    wait(async {
        for (before, is_awaited) in [
            (vec![], true),
            (vec![Act::Restore], true),
            (vec![label], false),
            (vec![Act::Orphan], false),
            (vec![Act::Restore, label], false),
        ] {
            let mut world = World::new(false);
            assert_eq!(settled(&mut world, "one").await, 1);
            for act in before.into_iter().chain([Act::Terminate]) {
                world.cluster.lock().act(act);
            }
            world.restart();
            let applied = world.reconcile(Way::Reuse, "one").await;
            // A reconcile succeeds only if the watch shows the end of the deletion.
            assert_eq!(applied.is_ok(), is_awaited, "{applied:?}");
            assert!(world.goes_on(), "{applied:?}");
            assert_eq!(world.cluster.lock().secret, None);
            assert_eq!(settled(&mut world, "one").await, 1);
            assert!(is_watched(world.cluster.lock().secret.as_ref()));
        }
    });
}

#[test]
fn a_child_that_lost_its_label_gets_it_back_and_is_reconciled_again() {
    wait(async {
        let mut world = World::new(false);
        assert_eq!(settled(&mut world, "one").await, 1);
        for label in [None, Some("Helm")] {
            world.cluster.lock().act(Act::Label(label));
            world.show_all();
            // The watch shows nothing until the desired state is reached.
            assert_eq!(settled(&mut world, "one").await, 2);
            assert!(is_watched(world.cluster.lock().secret.as_ref()));
            world.show_all();
        }
    });
}

#[test]
fn a_status_that_changes_all_the_time_does_not_stop_a_correction() {
    wait(async {
        let mut world = World::new(false);
        assert_eq!(settled(&mut world, "one").await, 1);
        world.show_all();
        // The type has no status, so this is the nearest: only the version differs.
        world.cluster.lock().version += 1;
        let mut secret = world.cluster.lock().secret.clone().expect("a Secret");
        secret["status"] = json!("changed");
        world.cluster.lock().store(Some(secret));
        assert_eq!(settled(&mut world, "two").await, 1);
    });
}

#[test]
fn the_future_of_a_write_is_small() {
    wait(async {
        let world = World::new(false);
        let owner = ConfigMap::default();
        let apply = world.children.apply(&owner, [Secret::default()]);
        assert!(size_of_val(&apply) < 10_000, "{}", size_of_val(&apply));
    });
}

#[test]
fn a_change_after_the_read_is_not_overwritten() {
    wait(async {
        let mut world = World::new(false);
        assert_eq!(settled(&mut world, "one").await, 1);
        world.cluster.lock().act(Act::Label(None));
        world.show_all();
        // The reconciler makes a new password. Then the watch shows the old Secret.
        let shown = vec![Act::Label(Some("test")), Act::Show];
        world.cluster.lock().acts = [shown].into();
        assert_eq!(settled(&mut world, "two").await, 2);
    });
}

/// The answer of an API server that refuses the Secret.
fn refusal(message: &str, causes: &[Value]) -> Value {
    let details = json!({"kind": "Secret", "name": "a", "causes": causes});
    json!({"code": 422, "reason": "Invalid", "message": message, "details": details})
}

#[test]
fn a_child_is_created_again_for_an_immutable_field_and_not_to_get_around_a_policy() {
    let text = "may not be changed during the freeze";
    let is_invalid = "Secret \"a\" is invalid: data: Forbidden: field is immutable";
    let immutable = json!({"field": "data", "message": "Forbidden: field is immutable"});
    let other = json!({"field": "type", "message": "Forbidden: may not be specified"});
    let validation = refusal(is_invalid, std::slice::from_ref(&immutable));
    let both = refusal(is_invalid, &[other, immutable]);
    let policy = refusal(
        &format!(
            "secrets \"a\" is forbidden: ValidatingAdmissionPolicy 'freeze' denied request: {text}"
        ),
        &[json!({"message": text})],
    );
    wait(async {
        for (refusals, is_deleted) in [
            (vec![validation.clone()], true),
            // Nothing but the immutable field is left after the field that does not fit.
            (vec![both, validation], true),
            (vec![policy], false),
        ] {
            let mut world = World::new(false);
            assert_eq!(settled(&mut world, "one").await, 1);
            world.show_all();
            world.cluster.lock().refusals = refusals.iter().cloned().map(Some).collect();
            world.cluster.lock().requests.clear();
            let applied = world.reconcile(Way::Recreate, "two").await;
            let requests = &world.cluster.lock().requests;
            if is_deleted {
                applied.expect("the new Secret");
                let last = [Method::DELETE, Method::POST];
                let patches = vec![Method::PATCH; refusals.len()];
                assert_eq!(*requests, [patches, last.to_vec()].concat());
            } else {
                let error = applied.expect_err("a refusal");
                assert!(matches!(error, Error::Request { .. }), "{error}");
                assert!(!error.is_permanent());
                assert_eq!(*requests, [Method::PATCH]);
            }
        }
    });
}

/// The apply may be invalid together with a field that nobody has applied, or for another reason. Then the next apply
/// follows, whatever is desired.
#[test]
fn a_child_is_overwritten_if_an_apply_is_invalid() {
    let fields = [
        "data.touched",
        "data.title",
        "data[0].touched",
        "type.a",
        "immutable",
        "metadata.labels",
    ];
    let invalid = |fields: &[&str]| {
        let causes = fields.iter();
        let causes: Vec<_> = causes
            .map(|field| json!({"field": field, "message": "Forbidden: together with this"}))
            .collect();
        Some(refusal("Secret \"a\" is invalid: data: Forbidden", &causes))
    };
    let mark = |secret: &Value| secret["metadata"]["labels"][MARK].clone();
    wait(async {
        let first = invalid(&fields);
        for (answers, is_applied) in [
            (vec![first.clone()], true),
            (vec![first.clone(), None, first], false),
        ] {
            let mut world = World::new(false);
            assert_eq!(settled(&mut world, "one").await, 1);
            world.cluster.lock().act(Act::Touch);
            world.show_all();
            let before = world.cluster.lock().secret.clone().expect("a Secret");
            world.cluster.lock().refusals = answers.into();
            world.cluster.lock().requests.clear();
            let applied = world.reconcile(Way::Reuse, "two").await;
            assert_eq!(applied.is_ok(), is_applied);
            let patches = [const { Method::PATCH }; 3];
            assert_eq!(world.cluster.lock().requests, patches);
            let after = world.cluster.lock().secret.clone().expect("a Secret");
            assert_eq!(after["data"]["title"], json!(ByteString("two".into())));
            assert_eq!(after["data"]["touched"], Value::Null);
            assert!(after["metadata"]["labels"].is_object());
            assert_eq!(mark(&after) == "overwritten", !is_applied);
            world.show_all();
            assert_eq!(settled(&mut world, "one").await, 1);
            let back = world.cluster.lock().secret.clone().expect("a Secret");
            assert_eq!(mark(&back), mark(&before));
        }

        // Nothing is written if the overwritten child would be invalid, too.
        for answers in [
            vec![invalid(&["data", "metadata.finalizers"])],
            vec![invalid(&["data"]), invalid(&["data"])],
        ] {
            let mut world = World::new(false);
            assert_eq!(settled(&mut world, "one").await, 1);
            world.show_all();
            let before = world.cluster.lock().secret.clone();
            world.cluster.lock().refusals = answers.into();
            assert!(world.reconcile(Way::Reuse, "two").await.is_err());
            assert_eq!(world.cluster.lock().refusals, []);
            assert_eq!(world.cluster.lock().secret, before);
        }
    });
}

#[test]
fn an_answer_that_arrives_after_the_deletion_adds_no_child() {
    wait(async {
        let mut world = World::new(false);
        world.cluster.lock().late_acts = [vec![Act::Delete, Act::Show, Act::Show]].into();
        assert_eq!(settled(&mut world, "one").await, 1);
        assert!(world.children.of(&owner()).is_empty());
        assert!(world.goes_on());
        assert_eq!(settled(&mut world, "one").await, 1);
        assert_eq!(world.children.of(&owner()).len(), 1);
    });
}

#[test]
fn a_deletion_is_known_before_the_watch_shows_it() {
    wait(async {
        for has_finalizer in [false, true] {
            let mut world = World::new(false);
            assert_eq!(settled(&mut world, "one").await, 1);
            if has_finalizer {
                let mut secret = world.cluster.lock().secret.clone().expect("a Secret");
                secret["metadata"]["finalizers"] = json!(["example.com/wait"]);
                world.cluster.lock().store(Some(secret));
            }
            world.show_all();
            let secret = world.children.of(&owner()).remove(0);
            let deleted = world.children.delete(&secret).await;
            assert!(deleted.expect("an answer"));
            let left = world.children.of(&owner());
            let is_going = |secret: &Arc<Secret>| secret.metadata.deletion_timestamp.is_some();
            assert_eq!(
                Vec::from_iter(left.iter().map(is_going)),
                vec![true; usize::from(has_finalizer)]
            );
            // The watch shows the end of the deletion, which wakes the owner.
            world.cluster.lock().is_woken = false;
            assert!(world.goes_on());
            assert!(world.children.of(&owner()).is_empty());
        }
    });
}

/// The list with which the watch began was from an earlier time, without this child or without any.
#[test]
fn a_child_that_no_watch_has_shown_is_deleted_after_a_cleanup() {
    wait(async {
        for knows_another in [false, true] {
            let mut world = World::new(false);
            let created = world.reconcile(Way::CreateOnly, "title").await;
            created.expect("a child");
            let index = index();
            if knows_another {
                let mut other = world.cluster.lock().secret.clone().expect("a Secret");
                other["metadata"]["name"] = json!("other");
                index.take(&Shown::Put(guarded(&other)), None, None);
            }
            world.children = children(world.client.clone(), index);
            let known = world.children.of(&owner());
            assert_eq!(known.len(), usize::from(knows_another));
            world.release(&owner().metadata, &[None]).await;
            let cluster = world.cluster.lock();
            assert_eq!(cluster.secret, None);
            assert_eq!(
                cluster.requests,
                [Method::POST, Method::GET, Method::DELETE]
            );
        }
    });
}

/// The permission to list all of them may be missing.
#[test]
fn children_of_a_cluster_scoped_owner_are_listed_where_the_controller_watches() {
    wait(async {
        let world = World::new(false);
        let owner = ObjectMeta {
            namespace: None,
            ..owner().metadata
        };
        let watched = ["a", "b"].map(|namespace| Some(namespace.to_owned()));
        world.release(&owner, &watched).await;
        assert_eq!(world.cluster.lock().requests, [Method::GET, Method::GET]);
    });
}

/// The garbage collector removes the reference, and deletes the owner. With a new reference, it would delete the child.
#[test]
fn a_child_that_a_deletion_has_orphaned_stays_so() {
    wait(async {
        let mut world = World::new(false);
        assert_eq!(settled(&mut world, "one").await, 1);
        world.cluster.lock().is_owner_going = true;
        world.cluster.lock().act(Act::Orphan);
        world.show_all();
        let applied = world.reconcile(Way::Reuse, "one").await;
        assert!(matches!(applied, Err(Error::Stale(_))), "{applied:?}");
        let cluster = world.cluster.lock();
        let secret = cluster.secret.as_ref().expect("a Secret");
        assert!(secret["metadata"]["ownerReferences"].is_null());
    });
}

#[test]
fn a_child_of_a_deleted_owner_is_replaced_unless_it_holds_data() {
    wait(async {
        for (plural, is_replaced) in [("secrets", true), ("persistentvolumeclaims", false)] {
            let mut world = World::new(false);
            assert_eq!(settled(&mut world, "one").await, 1);
            world.cluster.lock().act(Act::Restore);
            world.restart();
            plural.clone_into(&mut world.children.any.kind.resource.plural);
            let before = world.cluster.lock().secret.clone().expect("a Secret");
            settled(&mut world, "two").await;
            let after = world.cluster.lock().secret.clone().expect("a Secret");
            let [before_uid, uid] = [&before, &after].map(|secret| &secret["metadata"]["uid"]);
            assert_eq!(before_uid != uid, is_replaced, "{plural}");
            assert_eq!(after["data"]["title"], json!(ByteString("two".into())));
            assert_eq!(after["metadata"]["ownerReferences"][0]["uid"], "owner");
        }
    });
}

/// The garbage collector cannot delete it otherwise, if the CRD has lost the earlier version.
#[test]
fn a_reference_to_an_earlier_version_of_the_owner_is_corrected() {
    let text = "Secret \"a\" is invalid: data: Forbidden: field is immutable";
    let immutable = json!({"field": "data", "message": "Forbidden: field is immutable"});
    let refused = refusal(text, &[immutable]);
    wait(async {
        for way in [Way::CreateOnly, Way::Keep] {
            let mut world = World::new(true);
            world.reconcile(way, "one").await.expect("a child");
            let mut secret = world.cluster.lock().secret.clone().expect("a Secret");
            secret["metadata"]["ownerReferences"][0]["apiVersion"] = json!("v1alpha1");
            world.cluster.lock().store(Some(secret));
            world.show_all();
            // The API server takes the reference, and refuses the other fields.
            world.cluster.lock().refusals = [None, Some(refused.clone())].into();
            world.cluster.lock().requests.clear();
            for _ in 0..2 {
                let _ = world.reconcile(way, "two").await;
                world.show_all();
            }
            let cluster = world.cluster.lock();
            let is_written_once = matches!(way, Way::CreateOnly);
            let patches = if is_written_once { 1 } else { 2 };
            assert_eq!(cluster.requests, vec![Method::PATCH; patches], "{way:?}");
            let secret = cluster.secret.as_ref().expect("a Secret");
            let reference = &secret["metadata"]["ownerReferences"][0];
            assert_eq!(reference["apiVersion"], "v1", "{way:?}");
            assert_eq!(secret["data"]["title"], json!(ByteString("one".into())));
        }
    });
}

/// For example, by a restore into another namespace.
#[test]
fn a_copy_of_a_child_in_another_namespace_is_left_alone() {
    wait(async {
        let mut world = World::new(false);
        assert_eq!(settled(&mut world, "one").await, 1);
        world.show_all();
        let mut copy = world.cluster.lock().secret.clone().expect("a Secret");
        copy["metadata"]["namespace"] = json!("other");
        copy["metadata"]["uid"] = json!("copy");
        world.cluster.lock().show(&Shown::Put(guarded(&copy)));
        world.cluster.lock().requests.clear();
        assert_eq!(settled(&mut world, "one").await, 1);
        assert_eq!(world.cluster.lock().requests, Vec::<Method>::new());
        assert_eq!(world.children.of(&owner()).len(), 1);
        world.release(&owner().metadata, &[None]).await;
        let requests = world.cluster.lock().requests.clone();
        assert_eq!(requests, [Method::GET, Method::DELETE]);
    });
}

#[test]
fn two_desired_children_with_one_name_are_an_error() {
    wait(async {
        let world = World::new(false);
        let secrets = [1, 2].map(|number| secret(ByteString(vec![number]), "one"));
        let applied = world.children.apply(&owner(), secrets).await;
        let error = applied.expect_err("two children with one name");
        assert_eq!(error.reason(), "DesiredTwice");
        assert_eq!(world.cluster.lock().requests, Vec::<Method>::new());
    });
}

#[test]
fn a_child_that_this_controller_has_not_created_is_deleted_when_it_is_no_longer_desired() {
    wait(async {
        let mut world = World::new(false);
        let created = world.reconcile(Way::CreateOnly, "one").await;
        created.expect("a child");
        world.cluster.lock().act(Act::Unmark);
        world.show_all();
        let marked = world.reconcile(Way::CreateOnly, "one").await;
        marked.expect("a child");
        world.show_all();
        let none: [Secret; 0] = [];
        let applied = world.children.apply(&owner(), none).await;
        applied.expect("nothing is desired");
        assert_eq!(world.cluster.lock().secret, None);
    });
}
