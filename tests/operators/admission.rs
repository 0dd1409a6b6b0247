//! Tests admission webhooks on a real API server, which calls them by URL.

use std::{
    collections::BTreeSet,
    fs, io,
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::ensure;
use base64::prelude::*;
use cluster::{ADMINISTRATOR, Cluster, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    http,
    operator::{
        Launch, Operator, PACE, PATIENCE, Project, kubectl_on, new_cluster,
        new_cluster_with_controllers,
    },
    scaffold::run,
    serving::probe,
};

/// The webhooks of the project. Their type lacks the field `colour` of the CRD, and its `pages` accepts fewer numbers.
const WEBHOOKS: &str = r#"
use std::borrow::Cow;

use k8s_openapi::{
    NamespaceResourceScope,
    api::{autoscaling::v1::Scale, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{CustomResource, KubeSchema, Resource, ResourceExt};
use kube_manager::webhook::{
    self, Change, FieldError, Hook, Label, MatchPolicy, NAMESPACE_NAME, Operation, Reinvocation, Request,
    SideEffects, Verdict,
};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "pages.example.com", version = "v1", kind = "Page", namespaced, status = "PageStatus")]
pub struct PageSpec {
    pub title: String,
    pub size: Option<u32>,
    pub pages: Option<u8>,
}

#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageStatus {
    pub observed_generation: Option<i64>,
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
        .subresources(&["status"])
        .timeout_seconds(10)
        .match_policy(MatchPolicy::Exact)
        .side_effects(SideEffects::NoneOnDryRun)
        .namespaces(&[Label::NotIn(NAMESPACE_NAME, &["kube-system"])])
        .objects(&[Label::DoesNotExist("draft")]);

    async fn validate(&self, change: Change<'_, Page>, request: &Request) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::allowed();
        if request.dry_run {
            verdict.warn("nothing is stored");
        }
        if request.subresource.as_deref() == Some("status") {
            let status = change.after().and_then(|page| page.status.as_ref());
            if status.and_then(|status| status.observed_generation) == Some(-1) {
                verdict.error(FieldError::invalid("status.observedGeneration", -1, "is no generation"));
            }
            return Ok(verdict);
        }
        let sleep = |seconds| tokio::time::sleep(std::time::Duration::from_secs(seconds));
        match change {
            Change::Create(page) if page.spec.title == "slow" => sleep(20).await,
            Change::Create(page) if page.spec.title == "late" => sleep(3).await,
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

/// Of the subresource `scale`.
pub struct Scales;

impl webhook::Validator for Scales {
    type Object = Scale;

    const HOOK: Hook = Hook::new()
        .operations(&[Operation::Update])
        .subresources_of::<Page>(&["scale"]);

    async fn validate(&self, change: Change<'_, Scale>, _: &Request) -> anyhow::Result<Verdict> {
        let size = |scale: &Scale| scale.spec.as_ref().and_then(|spec| spec.replicas);
        let mut verdict = Verdict::allowed();
        if let Change::Update { old, new } = change && size(new) > Some(100) {
            let why = format!("was {}", size(old).unwrap_or_default());
            verdict.error(FieldError::invalid("spec.replicas", size(new), why));
        }
        Ok(verdict)
    }
}

/// What `kubectl exec` asks for.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PodExecOptions {
    #[serde(default)]
    metadata: ObjectMeta,
    #[serde(default)]
    command: Vec<String>,
}

impl Resource for PodExecOptions {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "PodExecOptions".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

pub struct Execs;

impl webhook::Validator for Execs {
    type Object = PodExecOptions;

    const HOOK: Hook = Hook::new()
        .operations(&[Operation::Connect])
        .subresources_of::<Pod>(&["exec"]);

    async fn validate(
        &self,
        change: Change<'_, PodExecOptions>,
        request: &Request,
    ) -> anyhow::Result<Verdict> {
        let command = change.after().map(|options| options.command.join(" "));
        let (command, name) = (command.unwrap_or_default(), request.name.as_deref().unwrap_or_default());
        Ok(match command.starts_with("rm") {
            true => Verdict::forbidden(format!("nobody runs `{command}` in {name}")),
            false => Verdict::allowed(),
        })
    }
}
"#;

/// Returns the project that all tests here share. Each test has its own control plane, because the API server calls the
/// webhooks for the requests of all tests.
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
    let types = "src/api/pages/v1/page.rs";
    project.edit(
        types,
        "    pub title: String,\n",
        "    pub title: String,\n    pub size: Option<u32>,\n    pub pages: Option<i64>,\n    \
         pub colour: Option<String>,\n",
    );
    project.edit(
        types,
        "    status = \"PageStatus\",\n",
        "    status = \"PageStatus\",\n    \
         scale(spec_replicas_path = \".spec.size\", status_replicas_path = \".status.size\"),\n",
    );
    let end = "    // End of the webhooks.\n";
    let more =
        ["page::Scales", "page::Execs"].map(|it| format!("    manager.add_validator(|_| {it});\n"));
    project.edit(
        "src/webhook/pages/mod.rs",
        end,
        &format!("{}{end}", more.concat()),
    );
    let webhooks = project.path().join("src/webhook/pages/page.rs");
    fs::write(webhooks, WEBHOOKS).expect("a writable file");
    project.compile();
    project
}

/// Writes a certificate for this machine and its key to `folder`. Returns the certificate as PEM.
pub fn certify(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a pair");
    // The key is written first: a server that reads between the two writes loads neither file.
    fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).expect("a writable file");
    fs::write(folder.join("tls.crt"), made.cert.pem()).expect("a writable file");
    made.cert.pem()
}

/// Makes the operator serve webhooks with the certificate in `folder`.
pub fn serve<'a>(launch: Launch<'a>, folder: &Path) -> Launch<'a> {
    let folder = folder.display();
    launch
        .args(&format!(
            "--webhook-bind-address=127.0.0.1:0 --webhook-cert-path={folder}"
        ))
        .env("KUBE_MANAGER_WEBHOOK_SHUTDOWN_DELAY", "3s")
}

/// Returns the webhook configurations that `make manifests` generated, with a URL instead of the Service.
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

/// Creates a client with all permissions, for requests that kubectl would not send.
pub fn client(cluster: &Cluster) -> http::Client {
    run(&mut kubectl_on(cluster, "create serviceaccount tester"));
    let admin = "create clusterrolebinding tester --clusterrole=cluster-admin";
    run(kubectl_on(cluster, admin).arg("--serviceaccount=default:tester"));
    let token = run(&mut kubectl_on(cluster, "create token tester"));
    http::Client::new().token(token.trim())
}

/// Returns the URL that creates pages.
fn pages(cluster: &Cluster) -> String {
    let server = cluster.server();
    format!("{server}/apis/pages.example.com/v1/namespaces/default/pages")
}

fn page(name: &str, spec: Value) -> Value {
    let mut page =
        json!({"apiVersion": "pages.example.com/v1", "kind": "Page", "metadata": {"name": name}});
    page["spec"] = spec;
    page
}

/// Returns the review that the API server sends to the validator for a new page.
pub fn review(spec: Value) -> Value {
    let (object, uid) = (page("asked", spec), "8bfa0b0b-7f4c-4d4b-8d2b-4a4f0f1f1f11");
    let kind = json!({"group": "pages.example.com", "version": "v1", "kind": "Page"});
    let resource = json!({"group": "pages.example.com", "version": "v1", "resource": "pages"});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": uid, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": "asked", "namespace": "default", "operation": "CREATE", "dryRun": false,
        "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
        "object": object, "oldObject": null,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}}})
}

pub const DEFAULTS: &str = "/mutate-pages-example-com-v1-page";
pub const VALIDATES: &str = "/validate-pages-example-com-v1-page";

/// Sends a review of a page, which takes the validator at `address` 3 s. Repeats the request while the server has no
/// free slot for a call (code 429).
fn ask_late(address: &str) -> JoinHandle<http::Answer> {
    let url = format!("https://{address}{VALIDATES}?timeout=10s");
    let body = review(json!({"title": "late"})).to_string();
    thread::spawn(move || {
        let client = http::Client::new();
        loop {
            let answer = client.post(&url, &body).expect("an answer");
            if answer.code != 429 {
                return answer;
            }
            thread::sleep(PACE);
        }
    })
}

/// Starts late calls of the validator until at least `calls` calls run at the same time. Returns the late calls.
fn late_calls(operator: &Operator, calls: usize) -> Vec<JoinHandle<http::Answer>> {
    let address = operator.address("webhooks");
    let url = format!("http://{}/metrics", operator.address("metrics"));
    let name = "controller_runtime_webhook_requests_in_flight";
    let sample = format!("{name}{{webhook=\"{VALIDATES}\"}} ");
    let mut late = Vec::new();
    wait_until("calls to run", PATIENCE, || {
        let text = http::get(&url)?.text;
        let value = text.lines().find_map(|line| line.strip_prefix(&sample));
        let running: usize = value.unwrap_or("0").parse()?;
        // On a slow machine, the first calls may end before the last ones begin.
        late.extend((running..calls).map(|_| ask_late(&address)));
        Ok((running >= calls).then_some(()))
    })
    .expect("calls run");
    late
}

pub fn apply(cluster: &Cluster, items: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let manifest = project().manifest(&list.to_string());
    let apply = "apply --server-side --force-conflicts --validate=ignore -f";
    run(kubectl_on(cluster, apply).arg(manifest));
}

/// Runs kubectl with `arguments` and a page. Returns whether kubectl succeeds, and its output.
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

/// Waits until the defaulter is called: the API server sees a new configuration with a short delay.
pub fn wait_for_defaults(cluster: &Cluster) {
    let dry_run = "create --dry-run=server -o json";
    wait_until("the defaulter to be called", PATIENCE, || {
        let (_, text) = send(cluster, dry_run, "first", "title: first");
        ensure!(text.contains("\"size\": 3"), text);
        Ok(Some(()))
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
    let (project, cluster) = (project(), &new_cluster_with_controllers());
    let folder = TempDir::new().expect("a temporary folder");
    let first = certify(folder.path());
    let launch = project.operator().on(cluster);
    let launch = launch.args("--metrics-secure=false --metrics-bind-address=127.0.0.1:0");
    let launch = launch.args("--webhook-max-calls=4");
    let mut operator = serve(launch, folder.path()).start();
    let address = operator.address("webhooks");
    let configure = |bundle: &str| apply(cluster, &configurations(&address, Some(bundle)));
    let send = |arguments: &str, name: &str, fields: &str| send(cluster, arguments, name, fields);
    let client = client(cluster);

    // The operator serves the webhooks before the controller can work: the CRD does not exist yet.
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

    // An object that does not fit the type of the webhooks is stored before the webhooks exist.
    let mut misfit = page("misfit", json!({"title": "misfit", "pages": 1000}));
    misfit["metadata"]["finalizers"] = json!(["example.com/misfit"]);
    let stored = client.post(&pages(cluster), &misfit.to_string());
    assert_eq!(stored.expect("an answer").code, 201);
    configure(&first);
    wait_for_defaults(cluster);

    defaults_and_refusals(cluster, &client);
    misfits_can_go(cluster);
    subresources_are_asked_for(cluster);

    // The review of the replacement has two objects, each almost as large as the API server accepts.
    let large = |length| format!("title: large, size: 3, colour: {}", "x".repeat(length));
    allows(send("create", "large", &large(1_300_000)));
    let replaced = wait_until("a replacement without a conflict", PATIENCE, || {
        let answer = send("replace --dry-run=server", "large", &large(2_900_000));
        // The operator may have written the status in between.
        Ok((!answer.1.contains("(Conflict)")).then_some(answer))
    });
    allows(replaced.expect("an answer"));

    // A panic fails only one call.
    refuses(send("create", "panic", "title: panic"), &["panicked"]);
    allows(send("create", "three", "title: three"));
    operator.says(&["the webhook failed", DEFAULTS, "panicked"]);

    calls_above_the_limit_are_repeated(cluster, &client, &operator);

    // A slow call is answered before the API server stops waiting, so the operator knows about it.
    let slow = send("create", "slow", "title: slow");
    assert!(!slow.1.contains("context deadline exceeded"), "{}", slow.1);
    refuses(slow, &["vpage-v1.kb.io", "in the time allotted"]);
    operator.says(&["the webhook took too long", VALIDATES]);
    let metrics = http::get(&format!("http://{}/metrics", operator.address("metrics")));
    let count = format!(
        "controller_runtime_webhook_requests_total{{code=\"504\",webhook=\"{VALIDATES}\"}} 1\n"
    );
    assert!(metrics.expect("metrics").text.contains(&count));

    // The operator loads a new certificate without a restart.
    let second = certify(folder.path());
    configure(&format!("{first}{second}"));
    operator.says(&["took the new certificate of the webhooks"]);
    configure(&second);
    wait_for_defaults(cluster);

    // After the signal, the operator still serves webhooks for a while.
    operator.signal("TERM");
    operator.says(&["stopping"]);
    // kubectl could need longer to start.
    let five = page("five", json!({"title": "five"})).to_string();
    let created = client.post(&pages(cluster), &five).expect("an answer");
    assert_eq!(created.code, 201, "{}", created.text);
    assert!(operator.ends_within(PATIENCE).success());
    let failed = send("create", "six", "title: six");
    refuses(failed, &["failed calling webhook"]);

    // With the failure policy `Ignore`, requests succeed without the operator.
    let mut open = configurations(&address, Some(&second));
    for configuration in &mut open {
        for webhook in configuration["webhooks"].as_array_mut().expect("a list") {
            webhook["failurePolicy"] = "Ignore".into();
        }
    }
    apply(cluster, &open);
    wait_until("a request to go on", PATIENCE, || {
        let (success, _) = send("create", "seven", "title: seven");
        Ok(success.then_some(()))
    })
    .expect("nobody is asked");
    assert_eq!(spec(cluster, "seven"), json!({"title": "seven"}));
}

/// Checks that the API server repeats a call for which the operator has no free slot: the operator has four slots.
fn calls_above_the_limit_are_repeated(
    cluster: &Cluster,
    client: &http::Client,
    operator: &Operator,
) {
    let address = operator.address("webhooks");
    let url = format!("{}?dryRun=All", pages(cluster));
    let body = page("four", json!({"title": "four"})).to_string();
    let count = |code: u16| {
        format!(
            "controller_runtime_webhook_requests_total{{code=\"{code}\",webhook=\"{DEFAULTS}\"}}"
        )
    };
    // On a slow machine, the late calls may not run at the same time.
    let metrics = wait_until("a call above the limit", PATIENCE, || {
        let late = [(); 4].map(|()| ask_late(&address));
        while !late.iter().all(JoinHandle::is_finished) {
            let created = client.post(&url, &body)?;
            assert_eq!(created.code, 201, "{}", created.text);
            thread::sleep(PACE);
        }
        for call in late {
            assert_eq!(call.join().expect("an answer").code, 200);
        }
        let metrics = http::get(&format!("http://{}/metrics", operator.address("metrics")))?.text;
        Ok(metrics.contains(&count(429)).then_some(metrics))
    });
    let metrics = metrics.expect("a call that is repeated");
    for code in [200, 500] {
        assert!(metrics.contains(&count(code)), "{metrics}");
    }
}

fn defaults_and_refusals(cluster: &Cluster, client: &http::Client) {
    let send = |arguments: &str, name: &str, fields: &str| send(cluster, arguments, name, fields);

    // The defaulter adds a default, and keeps the field that the type of the webhooks does not have.
    allows(send("create", "one", "title: one, colour: red"));
    let expected = json!({"title": "one", "colour": "red", "size": 3});
    assert_eq!(spec(cluster, "one"), expected);
    let text = allows(send("apply --dry-run=server", "one", "title: two, size: 9"));
    assert!(text.contains("Warning: nothing is stored"), "{text}");
    assert_eq!(spec(cluster, "one")["size"], 3);

    // A refusal names each invalid field, and kubectl shows the warnings.
    let parts = [
        "Warning: think of a better title",
        "The Page \"two\" is invalid",
        "spec.title: Invalid value: \"bad\": must be good",
        "spec.size: Required value",
    ];
    refuses(send("create", "two", "title: bad"), &parts);
    let refused = client.post(
        &pages(cluster),
        &page("two", json!({"title": "bad"})).to_string(),
    );
    let status: Value = serde_json::from_str(&refused.expect("an answer").text).expect("JSON");
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&422.into(), &"Invalid".into())
    );
    let details = json!({"group": "pages.example.com", "kind": "Page", "name": "two", "causes": [
        {"reason": "FieldValueInvalid", "field": "spec.title",
            "message": "Invalid value: \"bad\": must be good"},
        {"reason": "FieldValueRequired", "field": "spec.size", "message": "Required value"}]});
    assert_eq!(status["details"], details);

    // The API server does not call a webhook for requests that its hook excludes.
    allows(send("create", "plain", "title: plain"));
    assert_eq!(spec(cluster, "plain"), json!({"title": "plain"}));
    let draft = r#"draft, labels: {draft: "yes"}"#;
    allows(send("create", draft, "title: bad"));
    assert_eq!(spec(cluster, "draft"), json!({"title": "bad", "size": 3}));
    allows(send("create --namespace=kube-system", "two", "title: bad"));

    // An update has the old object and the new one, a deletion only the old one.
    let shrinks = send("replace", "one", "title: one, size: 2");
    refuses(shrinks, &["spec.size: Invalid value: 2: must not shrink"]);
    allows(send("replace", "one", "title: one, size: 4"));
    run(&mut kubectl_on(cluster, "annotate page one keep=yes"));
    let deletes = send("delete", "one", "title: one");
    refuses(deletes, &["(Forbidden)", "vpage-v1.kb.io", "it is kept"]);
    run(&mut kubectl_on(cluster, "annotate page one keep-"));
    allows(send("delete", "one", "title: one"));
}

/// Runs kubectl with arguments separated by spaces. Returns whether kubectl succeeds, and its output.
fn says(cluster: &Cluster, arguments: &str) -> (bool, String) {
    let output = kubectl_on(cluster, arguments).output().expect("kubectl");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Checks that an object that does not fit its type is refused with the name of the field, and that such an object can
/// be deleted if it is already stored.
fn misfits_can_go(cluster: &Cluster) {
    let says = |arguments: &str| says(cluster, arguments);
    let refused = send(cluster, "create", "other", "title: other, pages: 1000");
    let parts = [
        "The Page \"other\" is invalid",
        "spec.pages: Does not fit its type",
    ];
    refuses(refused, &parts);
    let changes = r#"patch page misfit --type=merge -p {"spec":{"title":"fits"}}"#;
    refuses(says(changes), &["spec.pages: Does not fit its type"]);
    allows(says("delete page misfit --wait=false"));
    let lets_go = r#"patch page misfit --type=merge -p {"metadata":{"finalizers":null}}"#;
    let text = allows(says(lets_go));
    let warning = "Warning: the object does not fit its type: spec.pages: ";
    assert!(text.contains(warning), "{text}");
    refuses(says("get page misfit"), &["NotFound"]);
}

fn subresources_are_asked_for(cluster: &Cluster) {
    let says = |arguments: &str| says(cluster, arguments);
    allows(send(cluster, "create", "sub", "title: sub"));
    let patch = "patch page sub --subresource=status --type=merge -p";
    let status =
        |generation| format!(r#"{patch} {{"status":{{"observedGeneration":{generation}}}}}"#);
    let refused = says(&status(-1));
    refuses(
        refused,
        &["status.observedGeneration: Invalid value: -1: is no generation"],
    );
    allows(says(&status(7)));

    let refused = says("scale page sub --replicas=101");
    refuses(refused, &["spec.replicas: Invalid value: 101: was 3"]);
    allows(says("scale page sub --replicas=5"));
    assert_eq!(spec(cluster, "sub")["size"], 5);

    // The Pod runs on no node, so an allowed request fails later.
    run(&mut kubectl_on(cluster, "run pod --image=none"));
    let refused = says("exec pod -- rm everything");
    refuses(
        refused,
        &["denied the request: nobody runs `rm everything` in pod"],
    );
    let requests = cluster.requests_by(ADMINISTRATOR).expect("an audit log");
    let mut execs = requests.iter().filter(|it| it.subresource == "exec");
    assert!(execs.any(|it| it.code == 403), "{requests:?}");
    refuses(
        says("exec pod -- ls"),
        &["pod does not have a host assigned"],
    );
}

#[test]
fn webhooks_can_be_switched_off() {
    // No CRD is installed: with webhooks, the operator would serve them.
    let launch = || project().operator();
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
        assert!(!operator.log().contains("serves webhooks"));
        operator.signal("TERM");
        assert!(operator.ends_within(PATIENCE).success());
    }
}

/// A load balancer with one address for all replicas, like a Service: it sends connections to the replicas in turn, and
/// skips replicas that do not accept connections.
pub struct Balancer {
    pub address: String,
    replicas: Arc<Mutex<Vec<Replica>>>,
}

#[derive(Clone)]
pub struct Replica {
    address: String,
    /// A reference that each connection of the replica holds until the connection ends.
    connected: Arc<()>,
}

impl Balancer {
    pub fn start(replicas: &[Operator]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let balancer = Self {
            address,
            replicas: Arc::default(),
        };
        for replica in replicas {
            balancer.add(replica);
        }
        let replicas = balancer.replicas.clone();
        thread::spawn(move || {
            for (turn, connection) in listener.incoming().flatten().enumerate() {
                let replicas = replicas.lock().expect("replicas").clone();
                let next = replicas.iter().cycle().skip(turn % replicas.len().max(1));
                let connected = next.take(replicas.len()).find_map(|replica| {
                    let connection = TcpStream::connect(&replica.address).ok()?;
                    Some((connection, replica.connected.clone()))
                });
                let Some((replica, connected)) = connected else {
                    continue;
                };
                for (from, to) in [(&connection, &replica), (&replica, &connection)] {
                    // Without this option, each call would wait for TCP acknowledgements.
                    let _ = to.set_nodelay(true);
                    let streams = (from.try_clone(), to.try_clone());
                    let (Ok(mut from), Ok(mut to)) = streams else {
                        continue;
                    };
                    let connected = connected.clone();
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Write);
                        drop(connected);
                    });
                }
            }
        });
        balancer
    }

    pub fn add(&self, replica: &Operator) {
        let replica = Replica {
            address: replica.address("webhooks"),
            connected: Arc::default(),
        };
        self.replicas.lock().expect("replicas").push(replica);
    }

    /// Removes a replica, so that it gets no new connections.
    pub fn leave_out(&self, replica: &Operator) -> Replica {
        let address = replica.address("webhooks");
        let mut replicas = self.replicas.lock().expect("replicas");
        let index = replicas.iter().position(|it| it.address == address);
        replicas.remove(index.expect("a replica"))
    }
}

/// Returns the CA bundle of the defaulter: the certificates that the API server trusts.
fn bundle(cluster: &Cluster, client: &http::Client) -> String {
    let configurations = "apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let name = "pages-mutating-webhook-configuration";
    let url = format!("{}/{configurations}/{name}", cluster.server());
    let configuration = client.get(&url).expect("an answer").text;
    let configuration: Value = serde_json::from_str(&configuration).expect("JSON");
    configuration["webhooks"][0]["clientConfig"]["caBundle"].to_string()
}

/// A failed request: when it was sent, when the response came, and the response.
#[derive(Debug)]
struct Failed {
    from: Instant,
    to: Instant,
    says: String,
}

/// Creates pages as dry runs, one after another, until `ends` is set. Returns the number of requests, and the failed
/// ones.
fn load(client: &http::Client, url: &str, ends: &AtomicBool) -> (usize, Vec<Failed>) {
    let body = page("load", json!({"title": "load"})).to_string();
    let (mut sent, mut failed) = (0, Vec::new());
    while !ends.load(Ordering::Relaxed) {
        let from = Instant::now();
        let answer = client.post(url, &body);
        let took = from.elapsed();
        let good = |answer: &http::Answer| answer.code == 201 && answer.text.contains("\"size\":3");
        sent += 1;
        thread::sleep(3 * PACE);
        if !answer.as_ref().is_ok_and(good) {
            let (to, says) = (from + took, format!("{answer:?}"));
            failed.push(Failed { from, to, says });
        }
    }
    (sent, failed)
}

/// Kills a replica. Returns a time before the kill, and a time after the replica's last connection ended.
fn kill(replica: &mut Operator, balancer: &Balancer) -> (Instant, Instant) {
    let before = Instant::now();
    replica.signal("KILL");
    replica.ends_within(PATIENCE);
    let connected = balancer.leave_out(replica).connected;
    wait_until("the end of its connections", PATIENCE, || {
        Ok((Arc::strong_count(&connected) == 1).then_some(()))
    })
    .expect("an end");
    (before, Instant::now())
}

/// Checks that the only failed requests are those that were open when the process was killed. The killed process cannot
/// answer them, and the API server does not know whether it may send them again.
fn fail_with_what_is_killed_alone(
    loads: &[(usize, Vec<Failed>)],
    (before, after): &(Instant, Instant),
) {
    let sent: usize = loads.iter().map(|(sent, _)| sent).sum();
    let failed: Vec<_> = loads.iter().flat_map(|(_, failed)| failed).collect();
    assert!(sent > 100, "{sent} requests are no load");
    assert!(failed.len() <= loads.len(), "{failed:?}");
    for Failed { from, to, says } in failed {
        assert!(from < after && to > before, "{says}");
        assert!(says.contains("failed calling webhook"), "{says}");
    }
}

#[test]
fn certificates_rotate_without_a_failed_request() {
    const LOADS: usize = 3;
    let (project, cluster) = (project(), &new_cluster());
    project.make_on(cluster, "install");
    let start = || {
        let launch = project.operator().on(cluster);
        let operator = launch
            .args("--webhook-bind-address=127.0.0.1:0 --webhook-host=127.0.0.1")
            .args("--webhook-ca-lifetime=48s --webhook-cert-lifetime=8s --webhook-ca-delay=4s")
            // A replica that has lost its lease is asked before it ends.
            .args("--webhook-shutdown-delay=10s")
            .args(
                "--leader-elect --leader-elect-lease-duration=10s --leader-elect-renew-deadline=8s",
            )
            .args("--leader-elect-retry-period=1s --metrics-secure=false")
            .args("--metrics-bind-address=127.0.0.1:0")
            .start();
        probe(&operator, "/readyz", 200, &["[+] webhooks: served"]);
        operator
    };
    let mut replicas = vec![start(), start(), start()];
    let balancer = Balancer::start(&replicas);
    apply(cluster, &configurations(&balancer.address, None));
    wait_for_defaults(cluster);
    // Waits for a leader that is not in `before`, and returns its index. The replicas in `before` have led earlier.
    let leader = |replicas: &[Operator], before: &[usize]| {
        let led = |it: &Operator| !it.lines(&["\"leads\""]).is_empty();
        let found = || (0..replicas.len()).find(|it| !before.contains(it) && led(&replicas[*it]));
        wait_until("a leader", PATIENCE, || Ok(found())).expect("a leader")
    };

    let (client, ends) = (client(cluster), AtomicBool::new(false));
    let url = format!("{}?dryRun=All", pages(cluster));
    let (mut killed, bundles) = (None, Mutex::new(BTreeSet::new()));
    let loads = thread::scope(|scope| {
        let loads = [(); LOADS].map(|()| scope.spawn(|| load(&client, &url, &ends)));
        // Ends the load even if an assertion here fails.
        let _ends = OnDrop(|| ends.store(true, Ordering::Relaxed));
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                let bundle = bundle(cluster, &client);
                bundles.lock().expect("bundles").insert(bundle);
                thread::sleep(Duration::from_millis(200));
            }
        });
        // Each new authority causes two CA bundles: first with the previous authority and the new one, then with only
        // the new one.
        let wait_for_bundles = |count: usize| {
            wait_until("authorities to follow", PATIENCE, || {
                let seen = bundles.lock().expect("bundles").len();
                Ok((seen >= count).then_some(()))
            })
            .expect("authorities follow one another");
        };

        // The leader is killed while the second authority is being introduced. Another replica takes its place.
        wait_for_bundles(2);
        let first = leader(&replicas, &[]);
        killed = Some(kill(&mut replicas[first], &balancer));
        let other = start();
        balancer.add(&other);
        replicas.push(other);

        // The next leader loses its lease: it is no longer ready, but still answers all requests.
        wait_for_bundles(3);
        let second = leader(&replicas, &[first]);
        let address = replicas[second].address("webhooks");
        // Some of these are late calls: the load has fewer at once.
        let late = late_calls(&replicas[second], LOADS + 2);
        let steal = "patch lease pages.example.com -n pages-system --type=merge -p";
        let steal = format!(r#"{steal} {{"spec":{{"holderIdentity":"thief"}}}}"#);
        run(&mut kubectl_on(cluster, &steal));
        probe(&replicas[second], "/readyz", 503, &["[-] lease: lost"]);
        balancer.leave_out(&replicas[second]);
        let asked = http::Client::new().post(
            &format!("https://{address}{VALIDATES}"),
            &review(json!({"title": "asked"})).to_string(),
        );
        let asked = asked.expect("an answer");
        assert_eq!((asked.code, asked.connection.as_str()), (200, "close"));
        for late in late {
            assert_eq!(late.join().expect("an answer").code, 200);
        }
        assert!(!replicas[second].ends_within(PATIENCE).success());
        replicas[second].says(&["another process has the lease"]);

        // The next leader ends as a Pod does: it gets no new connections, then SIGTERM. The last replica leads
        // afterwards.
        wait_for_bundles(4);
        let third = leader(&replicas, &[first, second]);
        balancer.leave_out(&replicas[third]);
        replicas[third].signal("TERM");
        assert!(replicas[third].ends_within(PATIENCE).success());
        wait_for_bundles(5);
        ends.store(true, Ordering::Relaxed);
        loads.map(|load| load.join().expect("no panic"))
    });

    fail_with_what_is_killed_alone(&loads, &killed.expect("a process that was killed"));
    // Another client applies the configurations without a CA bundle. The bundle that the operator injected stays.
    apply(cluster, &configurations(&balancer.address, None));
    allows(send(cluster, "create", "last", "title: last"));
    for operator in &mut replicas {
        let mut errors = operator.lines(&["\"level\":\"ERROR\""]);
        errors.retain(|line| !line.contains("another process has the lease"));
        assert_eq!(errors, [""; 0]);
        if operator.runs() {
            operator.signal("TERM");
            assert!(operator.ends_within(PATIENCE).success());
        }
    }
}

#[test]
fn webhooks_are_served_for_the_whole_of_a_long_shutdown_delay() {
    let folder = TempDir::new().expect("a folder");
    certify(folder.path());
    let mut operator = serve(project().operator(), folder.path())
        .env("KUBE_MANAGER_GRACEFUL_SHUTDOWN_TIMEOUT", "1s")
        .args("--webhook-shutdown-delay=12s")
        .start();
    operator.says(&["`terminationGracePeriodSeconds: 13`"]);
    let url = format!("https://{}{VALIDATES}", operator.address("webhooks"));
    let body = review(json!({"title": "asked"})).to_string();
    let stopped = Instant::now();
    operator.signal("TERM");
    // The last second is for a request that is sent shortly before the end.
    while stopped.elapsed() < Duration::from_secs(11) {
        let answer = http::Client::new().post(&url, &body);
        let is_good = answer.as_ref().is_ok_and(|answer| answer.code == 200);
        assert!(is_good, "{:?}: {answer:?}", stopped.elapsed());
        thread::sleep(PACE);
    }
    assert!(operator.ends_within(PATIENCE).success());
}

/// A guard that calls a function when it is dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
