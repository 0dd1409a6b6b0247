//! Admission webhooks on a real API server, which calls them by URL.

use std::{
    collections::BTreeSet,
    fs, io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use base64::prelude::*;
use cluster::{Cluster, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    http,
    operator::{Launch, PATIENCE, Project, kubectl_on, new_cluster},
    scaffold::run,
    serving::probe,
};

/// The type of the webhooks lacks a field that the CRD has.
const WEBHOOKS: &str = r#"
use kube::{CustomResource, KubeSchema, ResourceExt};
use kube_manager::webhook::{
    self, Change, FieldError, Hook, Label, MatchPolicy, NAMESPACE_NAME, Operation, Reinvocation, Request,
    SideEffects, Verdict,
};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "pages.example.com", version = "v1", kind = "Page", namespaced)]
pub struct PageSpec {
    pub title: String,
    pub size: Option<u32>,
}

pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Page;

    const HOOK: Hook = Hook::new()
        .reinvocation(Reinvocation::IfNeeded)
        .condition("not-plain", "object.spec.title != 'plain'");

    async fn default(&self, page: &mut Page, _: &Request) -> anyhow::Result<Verdict> {
        assert_ne!(page.spec.title, "panic");
        page.spec.size.get_or_insert(3);
        Ok(Verdict::allowed())
    }
}

pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Page;

    const HOOK: Hook = Hook::new()
        .operations(&[Operation::Create, Operation::Update, Operation::Delete])
        .timeout_seconds(5)
        .match_policy(MatchPolicy::Exact)
        .side_effects(SideEffects::NoneOnDryRun)
        .namespaces(&[Label::NotIn(NAMESPACE_NAME, &["kube-system"])])
        .objects(&[Label::DoesNotExist("draft")]);

    async fn validate(&self, change: Change<'_, Page>, request: &Request) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::allowed();
        if request.dry_run {
            verdict.warn("nothing is stored");
        }
        match change {
            Change::Create(page) if page.spec.title == "slow" => {
                tokio::time::sleep(std::time::Duration::from_secs(20)).await;
            }
            Change::Update { old, new } if new.spec.size < old.spec.size => {
                let (size, why) = (new.spec.size, "must not shrink");
                verdict.error(FieldError::invalid("spec.size", size, why));
            }
            Change::Delete(page) if page.annotations().contains_key("keep") => {
                verdict.forbid("it is kept");
            }
            _ => {}
        }
        if let Some(page) = change.after() && page.spec.title == "bad" {
            verdict.warn("think of a better title");
            verdict.error(FieldError::invalid("spec.title", "bad", "must be good"));
            verdict.error(FieldError::required("spec.size", ""));
        }
        Ok(verdict)
    }
}
"#;

/// One project for all tests here. Each has a control plane of its own, because webhooks see the requests of
/// all.
pub fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(new_project);
    &PROJECT
}

fn new_project() -> Project {
    let project = Project::scaffold_shared(
        "pages",
        &[
            "init --domain example.com",
            "create api --group pages --version v1 --kind Page",
            "create webhook --group pages --version v1 --kind Page --defaulting \
             --programmatic-validation",
        ],
    );
    project.edit(
        "src/api/pages/v1/page.rs",
        "    pub title: String,\n",
        "    pub title: String,\n    pub size: Option<u32>,\n    pub colour: Option<String>,\n",
    );
    let webhooks = project.path().join("src/webhook/pages/page.rs");
    fs::write(webhooks, WEBHOOKS).expect("a writable file");
    project.compile();
    project
}

/// A certificate for this machine in `folder`; gives it as PEM.
fn certify(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a pair");
    // The key first: a server that reads in between takes neither.
    fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).expect("a writable file");
    fs::write(folder.join("tls.crt"), made.cert.pem()).expect("a writable file");
    made.cert.pem()
}

/// Serves webhooks with the certificate in `folder`.
fn serve<'a>(launch: Launch<'a>, folder: &Path) -> Launch<'a> {
    let folder = folder.display();
    launch.args(&format!(
        "--webhook-bind-address=127.0.0.1:0 --webhook-cert-path={folder} --webhook-shutdown-delay=3s"
    ))
}

/// What `make manifests` made, with an address in the place of the Service.
fn configurations(address: &str, bundle: Option<&str>) -> Vec<Value> {
    let manifests = project().read("config/webhook/manifests.yaml");
    let documents = manifests.split("---\n").map(|document| {
        let mut document: Value = serde_yaml::from_str(document).expect("YAML");
        let name = document["metadata"]["name"].as_str().expect("a name");
        document["metadata"]["name"] = format!("pages-{name}").into();
        for webhook in document["webhooks"].as_array_mut().expect("a list") {
            let service = &webhook["clientConfig"]["service"];
            let path = service["path"].as_str().expect("a path");
            webhook["clientConfig"] = json!({"url": format!("https://{address}{path}")});
            if let Some(bundle) = bundle {
                webhook["clientConfig"]["caBundle"] = BASE64_STANDARD.encode(bundle).into();
            }
        }
        document
    });
    documents.collect()
}

pub fn apply(cluster: &Cluster, items: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let manifest = project().manifest(&list.to_string());
    let apply = "apply --server-side --force-conflicts -f";
    run(kubectl_on(cluster, apply).arg(manifest));
}

/// kubectl with `arguments` and a page: whether it succeeds, and all that it says.
pub fn send(cluster: &Cluster, arguments: &str, name: &str, fields: &str) -> (bool, String) {
    let manifest = project().manifest(&format!(
        "apiVersion: pages.example.com/v1\nkind: Page\nmetadata: {{name: {name}}}\nspec: {{{fields}}}\n"
    ));
    let output = kubectl_on(cluster, arguments)
        .arg("-f")
        .arg(manifest)
        .output();
    let output = output.expect("kubectl");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Waits until the defaulter is called: the API server hears of a configuration a little later.
pub fn wait_for_defaults(cluster: &Cluster) {
    let dry_run = "create --dry-run=server -o json";
    wait_until("the defaulter to be called", PATIENCE, || {
        let (_, text) = send(cluster, dry_run, "first", "title: first");
        Ok(text.contains("\"size\": 3").then_some(()))
    })
    .expect("the webhooks are called");
}

#[track_caller]
pub fn allows((success, text): (bool, String)) -> String {
    assert!(success, "{text}");
    text
}

#[track_caller]
pub fn refuses((success, text): (bool, String), parts: &[&str]) {
    assert!(!success, "{text}");
    for part in parts {
        assert!(text.contains(part), "{text:?} has no {part:?}");
    }
}

fn spec(cluster: &Cluster, name: &str) -> Value {
    let text = run(&mut kubectl_on(
        cluster,
        &format!("get page {name} -o jsonpath={{.spec}}"),
    ));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn webhooks_decide_what_is_stored() {
    let (project, cluster) = (project(), &new_cluster());
    let folder = TempDir::new().expect("a temporary folder");
    let first = certify(folder.path());
    let launch = project.operator().on(cluster);
    let launch = launch.args("--metrics-secure=false --metrics-bind-address=127.0.0.1:0");
    let mut operator = serve(launch, folder.path()).start();
    let address = operator.address("webhooks");
    let configure = |bundle: &str| apply(cluster, &configurations(&address, Some(bundle)));
    let send = |arguments: &str, name: &str, fields: &str| send(cluster, arguments, name, fields);

    // They are served before the controller can do anything.
    probe(
        &operator,
        "/readyz",
        200,
        &["[+] webhooks: served\nready\n"],
    );
    probe(
        &operator,
        "/readyz/controllers",
        503,
        &["cluster does not have this kind"],
    );
    project.make_on(cluster, "install");
    probe(&operator, "/readyz/controllers", 200, &["in sync"]);
    configure(&first);
    wait_for_defaults(cluster);

    // A default is added, and what the type of the webhooks does not have stays.
    allows(send("create", "one", "title: one, colour: red"));
    let expected = json!({"title": "one", "colour": "red", "size": 3});
    assert_eq!(spec(cluster, "one"), expected);
    let text = allows(send("apply --dry-run=server", "one", "title: two, size: 9"));
    assert!(text.contains("Warning: nothing is stored"), "{text}");
    assert_eq!(spec(cluster, "one")["size"], 3);

    // A refusal names each field, and warnings are shown.
    let parts = [
        "Warning: think of a better title",
        "The Page \"two\" is invalid",
        "spec.title: Invalid value: \"bad\": must be good",
        "spec.size: Required value",
    ];
    refuses(send("create", "two", "title: bad"), &parts);

    // Neither is asked about what its hook leaves out.
    allows(send("create", "plain", "title: plain"));
    assert_eq!(spec(cluster, "plain"), json!({"title": "plain"}));
    let draft = r#"draft, labels: {draft: "yes"}"#;
    allows(send("create", draft, "title: bad"));
    assert_eq!(spec(cluster, "draft"), json!({"title": "bad", "size": 3}));
    allows(send("create --namespace=kube-system", "two", "title: bad"));

    // Updates have the old object as well, and deletions nothing else.
    let shrinks = send("replace", "one", "title: one, size: 2");
    refuses(shrinks, &["spec.size: Invalid value: 2: must not shrink"]);
    allows(send("replace", "one", "title: one, size: 4"));
    run(&mut kubectl_on(cluster, "annotate page one keep=yes"));
    let deletes = send("delete", "one", "title: one");
    refuses(deletes, &["(Forbidden)", "vpage-v1.kb.io", "it is kept"]);
    run(&mut kubectl_on(cluster, "annotate page one keep-"));
    allows(send("delete", "one", "title: one"));

    // A panic is the failure of one call.
    refuses(send("create", "panic", "title: panic"), &["panicked"]);
    allows(send("create", "three", "title: three"));
    let path = "/mutate-pages-example-com-v1-page";
    operator.says(&["the webhook failed", path, "panicked"]);

    let metrics = http::get(&format!("http://{}/metrics", operator.address("metrics")));
    let metrics = metrics.expect("metrics").text;
    for code in [200, 500] {
        let count = format!(
            "controller_runtime_webhook_requests_total{{code=\"{code}\",webhook=\"{path}\"}}"
        );
        assert!(metrics.contains(&count), "{metrics}");
    }

    // A slow one ends in time.
    refuses(send("create", "slow", "title: slow"), &["vpage-v1.kb.io"]);

    // A new certificate is taken without a restart.
    let second = certify(folder.path());
    configure(&format!("{first}{second}"));
    operator.says(&["took the new certificate of the webhooks"]);
    configure(&second);
    wait_for_defaults(cluster);

    // It serves on for a while after the signal.
    operator.signal("TERM");
    operator.says(&["stopping"]);
    allows(send("create", "five", "title: five"));
    assert!(operator.ends_within(PATIENCE).success());
    let failed = send("create", "six", "title: six");
    refuses(failed, &["failed calling webhook"]);

    // Where that is asked for, requests go on without it.
    let mut open = configurations(&address, Some(&second));
    for configuration in &mut open {
        configuration["webhooks"][0]["failurePolicy"] = "Ignore".into();
    }
    apply(cluster, &open);
    wait_until("a request to go on", PATIENCE, || {
        let (success, _) = send("create", "seven", "title: seven");
        Ok(success.then_some(()))
    })
    .expect("nobody is asked");
    assert_eq!(spec(cluster, "seven"), json!({"title": "seven"}));
}

#[test]
fn webhooks_can_be_switched_off() {
    let cluster = new_cluster();
    let launch = || project().operator().on(&cluster);
    for off in [
        launch().args("--webhooks=false"),
        launch().args("--webhook-bind-address=0"),
        launch().env("ENABLE_WEBHOOKS", "false"),
    ] {
        let mut operator = off.start();
        operator.says(&["webhooks are off"]);
        probe(
            &operator,
            "/readyz",
            503,
            &["cluster does not have this kind"],
        );
        operator.signal("TERM");
        assert!(operator.ends_within(PATIENCE).success());
    }
}

/// One address for all replicas, as a Service is: each connection goes to another one.
pub struct Balancer {
    pub address: String,
    replicas: Arc<Mutex<Vec<String>>>,
}

impl Balancer {
    pub fn start(replicas: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let replicas = Arc::new(Mutex::new(replicas));
        let theirs = replicas.clone();
        let turn = AtomicUsize::new(0);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let replicas = theirs.lock().expect("replicas");
                let turn = turn.fetch_add(1, Ordering::Relaxed);
                let replica = replicas[turn % replicas.len()].parse::<SocketAddr>();
                drop(replicas);
                let Ok(replica) = TcpStream::connect(replica.expect("an address")) else {
                    continue;
                };
                for (from, to) in [(&connection, &replica), (&replica, &connection)] {
                    let streams = (from.try_clone(), to.try_clone());
                    let (Ok(mut from), Ok(mut to)) = streams else {
                        continue;
                    };
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        Self { address, replicas }
    }
}

#[test]
fn certificates_rotate_without_a_failed_request() {
    let (project, cluster) = (project(), &new_cluster());
    project.make_on(cluster, "install");
    let start = || {
        let launch = project.operator().on(cluster);
        launch
            .args("--webhook-bind-address=127.0.0.1:0 --webhook-host=127.0.0.1")
            .args("--webhook-ca-lifetime=32s --webhook-cert-lifetime=4s --webhook-ca-delay=4s")
            .start()
    };
    let mut replicas = [start(), start(), start()];
    for operator in &replicas {
        probe(operator, "/readyz", 200, &["[+] webhooks: served"]);
    }
    let addresses = replicas.iter().map(|it| it.address("webhooks"));
    let balancer = Balancer::start(addresses.collect());
    apply(cluster, &configurations(&balancer.address, None));
    wait_for_defaults(cluster);

    let ends = AtomicBool::new(false);
    let (mut bundles, mut goes) = (BTreeSet::new(), false);
    let sent = thread::scope(|scope| {
        let load = || {
            let mut sent = 0;
            while !ends.load(Ordering::Relaxed) {
                let dry_run = "create --dry-run=server -o json";
                let text = allows(send(cluster, dry_run, "load", "title: load"));
                assert!(text.contains("\"size\": 3"), "{text}");
                sent += 1;
            }
            sent
        };
        let loads = [scope.spawn(load), scope.spawn(load)];
        // Each authority makes two: one with it and the one before, and one with it alone.
        let seen = wait_until("two authorities to follow", PATIENCE * 3, || {
            let configuration =
                "get mutatingwebhookconfiguration pages-mutating-webhook-configuration";
            let bundle = "-o jsonpath={.webhooks[0].clientConfig.caBundle}";
            bundles.insert(run(&mut kubectl_on(
                cluster,
                &format!("{configuration} {bundle}"),
            )));
            if bundles.len() == 3 && !goes {
                goes = true;
                // One replica goes, and no new connection comes to it.
                balancer.replicas.lock().expect("replicas").truncate(2);
                replicas[2].signal("TERM");
            }
            let failed = loads.iter().any(thread::ScopedJoinHandle::is_finished);
            Ok((failed || bundles.len() >= 5).then_some(()))
        });
        ends.store(true, Ordering::Relaxed);
        let sent = loads.map(|load| load.join().expect("no request fails"));
        seen.expect("authorities follow one another");
        sent.iter().sum::<usize>()
    });
    eprintln!("{sent} requests, {} bundles", bundles.len());
    assert!(replicas[2].ends_within(PATIENCE).success());
    // What others write stays, and what the operator has injected stays there.
    apply(cluster, &configurations(&balancer.address, None));
    allows(send(cluster, "create", "last", "title: last"));
    for operator in &mut replicas[..2] {
        assert_eq!(operator.lines(&["\"level\":\"ERROR\""]), [""; 0]);
        operator.signal("TERM");
        assert!(operator.ends_within(PATIENCE).success());
    }
}
