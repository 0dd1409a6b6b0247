//! Tests the migration of stored objects to another version, on a real API server.

use std::{
    collections::BTreeMap,
    env, fs,
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, Scope, ScopedJoinHandle},
    time::Duration,
};

use base64::prelude::*;
use cluster::{Cluster, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    admission::{self, Balancer, certify, client, serve},
    certificates::Ends,
    http,
    operator::{
        Launch, Operator, PACE, PATIENCE, Project, kubectl_on, kubectl_waits_on, new_cluster,
        new_cluster_with_controllers,
    },
    proxy::Proxy,
    scaffold::{rscaffold, run},
    versions::{self, book, project},
};

/// The name of the CRD.
const CRD: &str = "books.shop.example.com";

/// The number of clients that write, and the number of clients that read.
const WRITERS: usize = 4;
const READERS: usize = 2;

/// A control plane, and the replicas of an operator with conversion webhooks behind one address.
struct Shop {
    cluster: Cluster,
    folder: TempDir,
    bundle: String,
    balancer: Balancer,
    client: http::Client,
    /// A timeout, longer than a migration takes.
    patience: Duration,
}

impl Shop {
    /// Starts one replica on `cluster`, which only converts: the replica takes no part in leader election, and migrates
    /// nothing.
    fn new(new_cluster: fn() -> Cluster) -> (Self, Operator) {
        let project = project();
        let cluster = new_cluster();
        let folder = TempDir::new().expect("a temporary folder");
        let bundle = certify(folder.path());
        let alone = "--leader-elect=false --storage-migration=false";
        let first = start(project, &cluster, &folder, |launch| launch.args(alone));
        let shop = Self {
            balancer: Balancer::start(std::slice::from_ref(&first)),
            client: client(&cluster),
            patience: PATIENCE,
            cluster,
            folder,
            bundle,
        };
        (shop, first)
    }

    /// Starts a replica that can become the leader.
    fn start(&self, how: impl FnOnce(Launch<'_>) -> Launch<'_>) -> Operator {
        self.start_of(project(), how)
    }

    /// Starts a replica of `release` that can become the leader.
    fn start_of(&self, release: &Project, how: impl FnOnce(Launch<'_>) -> Launch<'_>) -> Operator {
        // A replica ends if it loses the lease, so the lease outlasts seconds in which the machine does other work.
        let election = "--leader-elect --leader-elect-lease-duration=20s \
                        --leader-elect-renew-deadline=15s --leader-elect-retry-period=200ms \
                        --storage-migration-delay=1s";
        start(release, &self.cluster, &self.folder, |launch| {
            how(launch.args(election))
        })
    }

    /// Installs the CRD that `make manifests` wrote, with the address of the replicas instead of the Service, with
    /// `version` as the stored version, and with the changes by `change`.
    fn store(&self, version: &str, change: impl FnOnce(&mut Value)) {
        self.store_of(project(), version, change);
    }

    /// Installs the CRD of `release` as [`store`](Self::store) does.
    fn store_of(&self, release: &Project, version: &str, change: impl FnOnce(&mut Value)) {
        let text = release.read("config/crd/bases/shop.example.com_books.yaml");
        let mut crd: Value = serde_yaml::from_str(&text).expect("YAML");
        let spec = &mut crd["spec"];
        for it in spec["versions"].as_array_mut().expect("versions") {
            it["storage"] = (it["name"] == version).into();
        }
        let client = &mut spec["conversion"]["webhook"]["clientConfig"];
        let path = client["service"]["path"].as_str().expect("a path");
        *client = json!({
            "url": format!("https://{}{path}", self.balancer.address),
            "caBundle": BASE64_STANDARD.encode(&self.bundle),
        });
        change(spec);
        let manifest = project().manifest(&crd.to_string());
        let apply = "apply --server-side --force-conflicts -f";
        run(kubectl_on(&self.cluster, apply).arg(manifest));
        let established = format!("--for=condition=Established crd/{CRD}");
        kubectl_waits_on(&self.cluster, &established);
    }

    /// Returns the URL of the books in a version.
    fn books(&self, version: &str) -> String {
        let server = self.cluster.server();
        format!("{server}/apis/shop.example.com/{version}/namespaces/default/books")
    }

    #[track_caller]
    fn create(&self, version: &str, name: &str) {
        let spec = match version {
            "v1" => json!({"title": name, "first": "a", "last": "b", "colour": "Red"}),
            _ => json!({"name": name, "author": "a b", "isbn": "978"}),
        };
        let book = book(version, name, spec).to_string();
        let answer = self.client.post(&self.books(version), &book);
        let answer = answer.expect("an answer");
        assert_eq!(answer.code, 201, "{}", answer.text);
    }

    #[track_caller]
    fn list(&self, version: &str) -> Vec<Value> {
        let answer = self.client.get(&self.books(version)).expect("an answer");
        assert_eq!(answer.code, 200, "{}", answer.text);
        let list: Value = serde_json::from_str(&answer.text).expect("JSON");
        list["items"].as_array().expect("a list").clone()
    }

    /// Returns the status of the CRD.
    fn status(&self) -> Value {
        let get = format!("get crd {CRD} -o jsonpath={{.status}}");
        let text = run(&mut kubectl_on(&self.cluster, &get));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Waits until the condition `StorageMigrated` has this reason, and returns the condition's status and message.
    fn wait_for(&self, reason: &str) -> (String, String) {
        let found = wait_until(&format!("the reason {reason}"), self.patience, || {
            let status = self.status();
            let mut conditions = status["conditions"].as_array().into_iter().flatten();
            let condition = conditions.find(|it| it["type"] == "StorageMigrated");
            let Some(condition) = condition.filter(|it| it["reason"] == reason) else {
                return Ok(None);
            };
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            Ok(Some((text("status"), text("message"))))
        });
        found.unwrap_or_else(|error| panic!("{error:#}\n{:#}", self.status()))
    }

    fn stored_versions(&self) -> Value {
        self.status()["storedVersions"].clone()
    }
}

/// Starts a replica of `release` as its ServiceAccount.
fn start(
    release: &Project,
    cluster: &Cluster,
    folder: &TempDir,
    how: impl FnOnce(Launch<'_>) -> Launch<'_>,
) -> Operator {
    let metrics = "--metrics-secure=false --metrics-bind-address=127.0.0.1:0";
    let launch = release.operator().on(cluster).args(metrics);
    how(serve(launch, folder.path())).start()
}

/// The number of a client's requests, the failed requests, and the last label that the client wrote to each book.
#[derive(Default)]
struct Load {
    requests: usize,
    failed: Vec<String>,
    last: BTreeMap<String, usize>,
}

impl Load {
    fn expect(&mut self, answer: Result<http::Answer, ureq::Error>) -> bool {
        self.requests += 1;
        match answer {
            Ok(answer) if answer.code == 200 => return true,
            Ok(answer) => self
                .failed
                .push(format!("{}: {}", answer.code, answer.text)),
            Err(error) => self.failed.push(error.to_string()),
        }
        false
    }
}

/// Patches this writer's share of the books until `over` is set, alternating between the two versions.
fn write(shop: &Shop, names: &[String], writer: usize, over: &AtomicBool) -> Load {
    let mut load = Load::default();
    let own: Vec<_> = names.iter().skip(writer).step_by(WRITERS).collect();
    for (round, name) in own.iter().cycle().enumerate() {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let url = format!("{}/{name}", shop.books(["v1", "v1alpha1"][round % 2]));
        let patch = json!({"metadata": {"labels": {"round": round.to_string()}}});
        if load.expect(shop.client.patch(&url, &patch.to_string())) {
            load.last.insert((*name).clone(), round);
        }
        thread::sleep(PACE);
    }
    load
}

/// Reads books in one version until `over` is set.
fn read(shop: &Shop, names: &[String], reader: usize, over: &AtomicBool) -> Load {
    let mut load = Load::default();
    let url = shop.books(["v1", "v1alpha1"][reader % 2]);
    while !over.load(Ordering::Relaxed) {
        load.expect(shop.client.get(&format!("{url}?limit=50")));
        load.expect(shop.client.get(&format!("{url}/{}", names[reader])));
        thread::sleep(PACE);
    }
    load
}

/// Starts all clients that write and read.
fn clients<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shop: &'scope Shop,
    names: &'scope [String],
    over: &'scope AtomicBool,
) -> Vec<ScopedJoinHandle<'scope, Load>> {
    let writers = (0..WRITERS).map(|it| scope.spawn(move || write(shop, names, it, over)));
    let mut clients: Vec<_> = writers.collect();
    clients.extend((0..READERS).map(|it| scope.spawn(move || read(shop, names, it, over))));
    clients
}

/// Waits until all clients have ended, checks that no request failed, and returns the results.
fn join(clients: Vec<ScopedJoinHandle<'_, Load>>) -> Vec<Load> {
    let loads = clients.into_iter().map(|it| it.join().expect("no panic"));
    let loads: Vec<_> = loads.collect();
    for load in &loads {
        assert!(load.requests > 10, "{} requests are no load", load.requests);
        assert_eq!(load.failed, [""; 0]);
    }
    loads
}

#[test]
fn a_migration_loses_nothing_while_clients_read_and_write() {
    let count = env::var("OBJECTS").map_or(200, |it| it.parse().expect("a number"));
    let (mut shop, first) = Shop::new(new_cluster);
    shop.patience += Duration::from_secs(1) * count;
    let count = count as usize;
    shop.store("v1alpha1", |_| ());
    let names: Vec<_> = (0..count).map(|it| format!("book-{it:05}")).collect();
    for (index, name) in names.iter().enumerate() {
        shop.create(["v1", "v1alpha1"][index % 2], name);
    }
    assert_eq!(shop.stored_versions(), json!(["v1alpha1"]));
    // This replica leads. It receives no conversion requests, and one of its writes gets no answer.
    let proxy = Proxy::start(&shop.cluster);
    // No client writes this object: after a write, it needs no migration.
    let mut written = names.clone();
    let held = format!("/books/{}", written.remove(count / 2));
    let held = proxy.hold(move |method, path| method == "PATCH" && path.contains(&held));
    let mut leader = shop.start(|launch| launch.through(&proxy));
    leader.says(&["\"leads\""]);
    let second = shop.start(|launch| launch);
    second.address("webhooks");
    shop.balancer.add(&second);

    let over = AtomicBool::new(false);
    let loads = thread::scope(|scope| {
        let _ends = Ends(&over);
        let (shop, over) = (&shop, &over);
        let clients = clients(scope, shop, &written, over);

        shop.store("v1", |_| ());
        assert_eq!(shop.stored_versions(), json!(["v1alpha1", "v1"]));
        held.wait_within(1, shop.patience);
        let (status, since) = shop.wait_for("Migrating");
        assert_eq!(status, "False");
        leader.signal("KILL");
        leader.ends_within(PATIENCE);
        drop(held);

        // Another replica continues the migration. Meanwhile, the first replica is stopped as Pods are in a rollout.
        let third = shop.start(|launch| launch);
        third.address("webhooks");
        shop.balancer.add(&third);
        shop.balancer.leave_out(&first);
        let mut first = first;
        first.signal("TERM");
        assert!(first.ends_within(PATIENCE).success());
        let migrated = [
            "True".to_owned(),
            "all objects are stored in version v1".to_owned(),
        ];
        assert_eq!(<[String; 2]>::from(shop.wait_for("Migrated")), migrated);
        assert_eq!(shop.stored_versions(), json!(["v1"]));
        over.store(true, Ordering::Relaxed);
        // The migration continues where the killed replica stopped: no other replica logs the start of a migration.
        for replica in [&second, &third] {
            let begins = replica.lines(&["\"migrates what is stored\""]);
            assert_eq!(begins, [""; 0], "{since}");
        }
        let ended: usize = [&second, &third]
            .map(|it| it.lines(&["\"all objects are migrated\""]).len())
            .iter()
            .sum();
        assert_eq!(ended, 1);
        join(clients)
    });

    let objects = shop.list("v1");
    assert_eq!(objects.len(), count);
    for (index, object) in objects.iter().enumerate() {
        let name = object["metadata"]["name"].as_str().expect("a name");
        let mut last = loads.iter().filter_map(|load| load.last.get(name));
        if let Some(round) = last.next() {
            assert_eq!(object["metadata"]["labels"]["round"], round.to_string());
        }
        assert_eq!(object["spec"]["title"], name);
        // A field that v1alpha1 lacks is preserved.
        let is_of_v1 = index % 2 == 0;
        assert_eq!(object["spec"]["colour"].is_string(), is_of_v1, "{object:#}");
    }
    nothing_needs_the_old_version(&shop, &objects);
}

/// Removes the old version and the conversion from the CRD, and checks that the specs of `objects` do not change.
fn nothing_needs_the_old_version(shop: &Shop, objects: &[Value]) {
    shop.store("v1", |spec| {
        let versions = spec["versions"].as_array_mut().expect("versions");
        versions.retain(|it| it["name"] == "v1");
        spec["conversion"] = json!({"strategy": "None"});
    });
    // For a moment, the API server answers that it is reinitializing.
    wait_until("the API server to follow", PATIENCE, || {
        let codes = ["v1", "v1alpha1"].map(|it| shop.client.get(&shop.books(it)));
        let [new, old] = codes;
        Ok(((new?.code, old?.code) == (200, 404)).then_some(()))
    })
    .expect("it does");
    let specs = |objects: &[Value]| objects.iter().map(|it| it["spec"].clone()).collect();
    let (before, after): (Vec<_>, Vec<_>) = (specs(objects), specs(&shop.list("v1")));
    assert_eq!(after, before);
}

/// Returns a policy and its binding, by which the API server refuses each update of the book `stuck`.
fn policy() -> [Value; 2] {
    let metadata = json!({"name": "stuck"});
    let rule = json!({
        "apiGroups": ["shop.example.com"], "apiVersions": ["*"], "resources": ["books"],
        "operations": ["UPDATE"],
    });
    let kind = |name: &str, spec: Value| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": name,
            "metadata": metadata, "spec": spec})
    };
    let validation =
        json!({"expression": "object.metadata.name != 'stuck'", "message": "it is stuck"});
    [
        kind(
            "ValidatingAdmissionPolicy",
            json!({"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}),
        ),
        kind(
            "ValidatingAdmissionPolicyBinding",
            json!({"policyName": "stuck", "validationActions": ["Deny"]}),
        ),
    ]
}

#[test]
fn a_migration_reports_refused_objects_and_can_be_reverted() {
    let (shop, first) = Shop::new(new_cluster);
    shop.store("v1alpha1", |_| ());
    for name in ["good", "stuck"] {
        shop.create("v1alpha1", name);
    }
    // Without a conversion, the operator writes no object.
    shop.store("v1", |spec| {
        spec["conversion"] = json!({"strategy": "None"});
    });
    let mut operator = shop.start(|launch| launch);
    let (status, message) = shop.wait_for("NoConversion");
    assert_eq!(status, "False");
    assert!(
        message.starts_with("`v1` and `v1alpha1` of Book are both in use, and nothing converts"),
        "{message}"
    );
    // Storing the old version again reverts the change.
    shop.store("v1alpha1", |_| ());
    assert_eq!(shop.wait_for("Migrated").0, "True");
    assert_eq!(shop.stored_versions(), json!(["v1alpha1"]));

    admission::apply(&shop.cluster, &policy());
    let url = format!("{}/stuck?dryRun=All", shop.books("v1alpha1"));
    wait_until("the policy", PATIENCE, || {
        Ok((shop.client.patch(&url, "{}")?.code == 422).then_some(()))
    })
    .expect("it is followed");
    shop.store("v1", |_| ());
    let (status, message) = shop.wait_for("Refused");
    assert_eq!(status, "False");
    assert!(
        message.starts_with("1 object is refused: default/stuck: ")
            && message.contains("it is stuck"),
        "{message}"
    );
    assert_eq!(shop.stored_versions(), json!(["v1alpha1", "v1"]));
    let metrics = format!("http://{}/metrics", operator.address("metrics"));
    let metrics = http::get(&metrics).expect("metrics").text;
    let pending = format!("storage_migration_pending{{crd=\"{CRD}\"}} 1");
    assert!(metrics.contains(&pending), "{metrics}");
    let refused = format!("storage_migration_objects_total{{crd=\"{CRD}\",result=\"refused\"}}");
    assert!(metrics.contains(&refused), "{metrics}");

    run(&mut kubectl_on(
        &shop.cluster,
        "delete validatingadmissionpolicybinding stuck",
    ));
    assert_eq!(shop.wait_for("Migrated").0, "True");
    assert_eq!(shop.stored_versions(), json!(["v1"]));
    let old = shop.list("v1alpha1");
    assert_eq!(
        old[1]["spec"],
        json!({"name": "stuck", "author": "a b", "isbn": "978"})
    );
    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
    drop(first);
}

#[test]
fn deletions_wait_for_the_operator() {
    let (shop, mut first) = Shop::new(new_cluster_with_controllers);
    // The deletions below use the version that kubectl prefers. So they read a version that is not stored.
    shop.store("v1alpha1", |_| ());
    let kubectl = |arguments: &str| run(&mut kubectl_on(&shop.cluster, arguments));
    let create = |book: &Value, namespace: &str| {
        let manifest = project().manifest(&book.to_string());
        run(kubectl_on(&shop.cluster, &format!("create -n {namespace} -f")).arg(manifest));
    };
    kubectl("create namespace going");
    let emma = json!({"name": "Emma", "author": "Jane Austen"});
    create(&book("v1alpha1", "there", emma.clone()), "going");
    kubectl("create configmap owner");
    let uid = kubectl("get configmap owner -o jsonpath={.metadata.uid}");
    let mut owned = book("v1alpha1", "owned", emma);
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
    create(&owned, "default");

    first.signal("TERM");
    assert!(first.ends_within(PATIENCE).success());
    kubectl("delete configmap owner");
    kubectl("delete namespace going --wait=false");
    wait_until("the deletion of the namespace to fail", PATIENCE, || {
        let get = "get namespace going -o jsonpath={.status.conditions[*].message}";
        let said = kubectl_on(&shop.cluster, get).output()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        Ok(said.contains("conversion webhook for").then_some(()))
    })
    .expect("its conditions tell why");
    for (name, namespace) in [("there", "going"), ("owned", "default")] {
        kubectl(&format!(
            "get books.v1alpha1.shop.example.com {name} -n {namespace}"
        ));
    }

    let next = shop.start(|launch| launch.args("--storage-migration=false"));
    shop.balancer.add(&next);
    kubectl_waits_on(&shop.cluster, "--for=delete namespace/going");
    kubectl_waits_on(
        &shop.cluster,
        "--for=delete books.v1alpha1.shop.example.com/owned",
    );
}

/// The code of version v2 in the next release.
const V2: &str = r#"
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "shop.example.com",
    version = "v2",
    kind = "Book",
    namespaced,
    status = "BookStatus",
    derive = "PartialEq"
)]
pub struct BookSpec {
    pub title: String,
    pub author: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<i32>,
}

#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<i32>,
}
"#;

const V2_CONVERSION: &str = r#"
use std::collections::BTreeMap;

use crate::api::shop::{v1::book as v1, v2::book as v2};

impl From<v2::BookSpec> for v1::BookSpec {
    fn from(spec: v2::BookSpec) -> Self {
        let v2::BookSpec { title, author, pages: _ } = spec;
        let (first, last) = author.split_once(' ').unwrap_or((&author, ""));
        Self {
            title,
            first: first.to_owned(),
            last: last.to_owned(),
            copies: 1,
            colour: None,
            chapters: Vec::new(),
            tags: BTreeMap::new(),
        }
    }
}

impl From<v1::BookSpec> for v2::BookSpec {
    fn from(spec: v1::BookSpec) -> Self {
        let v1::BookSpec { title, first, last, copies: _, colour: _, chapters: _, tags: _ } = spec;
        Self {
            title,
            author: format!("{first} {last}").trim().to_owned(),
            pages: None,
        }
    }
}

impl From<v2::BookStatus> for v1::BookStatus {
    fn from(v2::BookStatus { copies }: v2::BookStatus) -> Self {
        Self { copies }
    }
}

impl From<v1::BookStatus> for v2::BookStatus {
    fn from(v1::BookStatus { copies }: v1::BookStatus) -> Self {
        Self { copies }
    }
}
"#;

/// Scaffolds and compiles the release after [`project`], which also has version v2.
fn next_release() -> Project {
    let project = versions::scaffold("shop-next");
    for command in [
        "create api --group shop --version v2 --kind Book --controller=false --on-conflict=ours",
        "create webhook --group shop --kind Book --conversion",
    ] {
        rscaffold(project.path(), command);
    }
    for (file, text) in [("book.rs", V2), ("book_conversion.rs", V2_CONVERSION)] {
        let file = project.path().join("src/api/shop/v2").join(file);
        fs::write(file, text).expect("a writable file");
    }
    project.compile();
    project
}

/// Rolls out a release with another version as `make deploy` does: first the CRD, then one replica after the other.
/// Then the new version becomes the stored version.
#[test]
fn a_release_with_another_version_is_rolled_out_without_a_failed_request() {
    let next = &next_release();
    let (shop, first) = Shop::new(new_cluster);
    shop.store("v1", |_| ());
    let names: Vec<_> = (0..20).map(|it| format!("book-{it:02}")).collect();
    for (index, name) in names.iter().enumerate() {
        shop.create(["v1", "v1alpha1"][index % 2], name);
    }
    let second = shop.start(|launch| launch);
    shop.balancer.add(&second);

    let over = AtomicBool::new(false);
    let _replicas = thread::scope(|scope| {
        let _ends = Ends(&over);
        let clients = clients(scope, &shop, &names, &over);
        shop.store_of(next, "v1", |_| ());
        let replicas = [first, second].map(|mut old| {
            let new = shop.start_of(next, |launch| launch);
            shop.balancer.add(&new);
            shop.balancer.leave_out(&old);
            old.signal("TERM");
            assert!(old.ends_within(PATIENCE).success());
            new
        });
        // The API server serves a new version only a moment after the CRD has changed.
        wait_until("v2 to be served", PATIENCE, || {
            Ok((shop.client.get(&shop.books("v2"))?.code == 200).then_some(()))
        })
        .expect("it is");
        assert_eq!(shop.list("v2").len(), names.len());

        shop.store_of(next, "v2", |_| ());
        assert_eq!(shop.wait_for("Migrated").0, "True");
        assert_eq!(shop.stored_versions(), json!(["v2"]));
        over.store(true, Ordering::Relaxed);
        join(clients);
        replicas
    });

    // The fields that v2 lacks are preserved.
    for (index, name) in names.iter().enumerate() {
        let old = &shop.list(["v1", "v1alpha1"][index % 2])[index]["spec"];
        let (field, value) = [("colour", "Red"), ("isbn", "978")][index % 2];
        assert_eq!(old[field], value, "{name}: {old:#}");
    }
}
