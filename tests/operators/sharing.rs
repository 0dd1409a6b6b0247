//! Tests several controllers of one operator on a real API server: what they share, and which settings each controller
//! has.

use std::{
    collections::HashSet,
    fs,
    sync::LazyLock,
    time::{Duration, Instant},
};

use anyhow::Context;
use cluster::wait_until;
use hyper::Method;
use serde_json::{Value, json};

use crate::{
    http,
    operator::{Operator, PATIENCE, Project, cluster, get_until, kubectl},
    proxy::Proxy,
    scaffold::run,
    serving,
};

/// The minimum time after which a watch ends and the next one begins.
const WATCH: Duration = Duration::from_secs(30);

/// The number of objects with which the test of the work queue begins.
const COUNT: u16 = 200;

/// The number of reconciles that run at once in that test.
const AT_ONCE: usize = 2;

/// The code of a controller that has other namespaces and retry delays than the manager, watches only the metadata of
/// Secrets, and uses two kinds as if they were known only at run time. Tests run in parallel, so each test chooses a
/// namespace that no other operator writes to.
const CONTROLLER: &str = r#"
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{
    ResourceExt,
    api::ApiResource,
    core::{DynamicObject, PartialObjectMeta},
    discovery::Scope,
    runtime::reflector::ObjectRef,
};
use kube_manager::{Action, Builder, Children, Context, Reconciler, Watched, children, rbac::{Rule, Verb}};

use crate::api::sharing::v1::{Left, Odd};

pub struct Controller {
    secrets: Watched<PartialObjectMeta<Secret>>,
    lefts: Watched<DynamicObject>,
    account: ApiResource,
    accounts: Children<DynamicObject, Odd>,
}

impl Controller {
    pub fn new(builder: &mut Builder<Odd>) -> Self {
        let namespace = std::env::var("ODD_NAMESPACE");
        builder.namespaces([namespace.unwrap_or_else(|_| "unused".to_owned())]);
        builder.backoff(Duration::from_millis(50)..Duration::from_millis(200));
        let account = ApiResource::erase::<ServiceAccount>(&());
        let left = ApiResource::erase::<Left>(&());
        // One kind, twice.
        builder.watches::<ConfigMap>().fields("metadata.name=odd").reads();
        builder.watches::<ConfigMap>().labels("odd,even").reads();
        let lefts = builder.watches_with::<DynamicObject>(left, Scope::Namespaced);
        let lefts = lefts.namespaces(["elsewhere"]);
        Self {
            lefts: lefts.requeues(|left| vec![ObjectRef::new(&left.name_any()).within("odd")]),
            secrets: builder.watches().labels("odd").requeues_owner(),
            accounts: builder.owns_with(account.clone(), Scope::Namespaced),
            account,
        }
    }
}

impl Reconciler for Controller {
    type Object = Odd;
    type Error = children::Error;

    const NAME: &'static str = "odd.sharing.example.com";
    const RULES: &'static [Rule] = &[
        Rule::of::<Odd>(&[Verb::List, Verb::Watch]),
        Rule::of::<Left>(&[Verb::List, Verb::Watch]),
        Rule::of::<Secret>(&[Verb::List, Verb::Watch]),
        Rule::of::<ConfigMap>(&[Verb::List, Verb::Watch]),
        Rule::of::<ServiceAccount>(children::VERBS),
    ];

    async fn reconcile(&self, odd: &Odd, _: &Context) -> Result<Action, children::Error> {
        if odd.spec.title == "fail" {
            return Err(children::Error::Unnamed("as asked for".to_owned()));
        }
        let account = DynamicObject::new(&odd.name_any(), &self.account);
        let account = account.data(serde_json::json!({"automountServiceAccountToken": false}));
        self.accounts.apply(odd, [account]).await?;
        let secrets = self.secrets.all().len();
        let lefts = self.lefts.all();
        let title = lefts.iter().find_map(|left| left.data["spec"]["title"].as_str());
        tracing::info!(name = odd.name_any(), secrets, title, "sees");
        tracing::info!(name = odd.name_any(), is = odd.spec.title, "looked at");
        Ok(Action::await_change())
    }
}
"#;

/// Returns a project with two kinds that own and refer to the same kinds, and with one kind that is different.
pub fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| {
        let create = |kind: &str| {
            format!(
                "create api --group sharing --version v1 --kind {kind} \
                 --owns v1/ConfigMap --watches v1/Secret"
            )
        };
        let project = Project::scaffold_shared(
            "sharing",
            &[
                "init --domain example.com",
                &create("Left"),
                &create("Right"),
                "create api --group sharing --version v1 --kind Odd",
            ],
        );
        let controller = project.path().join("src/controller/sharing/odd.rs");
        fs::write(controller, CONTROLLER).expect("a writable file");
        project.compile();
        project.make("install");
        project.grant();
        project
    });
    &PROJECT
}

fn kubectl_runs(arguments: &str) {
    run(&mut kubectl(arguments));
}

/// Creates an object of `kind`. The name of the object is the kind in lower case.
fn create(kind: &str, namespace: &str) {
    create_as(&kind.to_lowercase(), kind, namespace, "one");
}

fn create_as(name: &str, kind: &str, namespace: &str, title: &str) {
    let manifest = project().manifest(&object(name, kind, namespace, title));
    run(kubectl("create -f").arg(manifest));
}

/// Returns the manifest of an object.
pub fn object(name: &str, kind: &str, namespace: &str, title: &str) -> String {
    format!(
        "apiVersion: sharing.example.com/v1\nkind: {kind}\n\
         metadata: {{name: {name}, namespace: {namespace}}}\nspec: {{title: {title}}}\n"
    )
}

/// Returns the list and watch requests of the operator for `resource` in `namespace`: the verb of each request, and
/// whether the request has a label selector.
fn reads(operator: &Operator, resource: &str, namespace: &str) -> Vec<(String, bool)> {
    let requests = operator.requests(cluster());
    let own = requests.into_iter().filter(|request| {
        (request.resource.as_str(), request.namespace.as_str()) == (resource, namespace)
            && ["list", "watch"].contains(&request.verb.as_str())
    });
    own.map(|request| (request.verb, request.uri.contains("labelSelector=")))
        .collect()
}

/// Runs `change`, and waits until the object has been reconciled once more.
fn reconciled_after(operator: &Operator, object: &str, change: impl FnOnce()) {
    let parts = ["\"reconciled\"", &format!("\"name\":\"{object}\"")];
    let before = operator.lines(&parts).len();
    change();
    operator.repeats(&parts, before + 1);
}

#[test]
fn controllers_share_a_watch_and_each_gets_its_events() {
    kubectl_runs("create namespace sharing");
    let project = project();
    let start = Instant::now();
    let operator = project.operator().args("--namespace sharing").start();
    for kind in ["Left", "Right"] {
        create(kind, "sharing");
        let name = kind.to_lowercase();
        let child = format!("configmap {name} --namespace sharing --ignore-not-found -o name");
        get_until(&child, |child| !child.is_empty());
        // A change of an owned object, or of an object that the kind refers to by name, causes a reconcile.
        reconciled_after(&operator, &name, || {
            kubectl_runs(&format!("delete configmap {name} --namespace sharing"));
        });
        get_until(&child, |child| !child.is_empty());
        reconciled_after(&operator, &name, || {
            kubectl_runs(&format!("create secret generic {name} --namespace sharing"));
        });
        reconciled_after(&operator, &name, || {
            kubectl_runs(&format!("delete secret {name} --namespace sharing"));
        });
    }

    let checks = [
        "[+] left.sharing.example.com on secrets in sharing: in sync\n",
        "[+] right.sharing.example.com on secrets in sharing: in sync\n",
        "[+] left.sharing.example.com on configmaps with labels \
         app.kubernetes.io/managed-by=sharing in sharing: in sync\n",
    ];
    serving::probe(&operator, "/readyz", 200, &checks);
    for (resource, selects) in [("secrets", false), ("configmaps", true)] {
        let reads = reads(&operator, resource, "sharing");
        // This time is measured after the requests are read, because a watch may begin at any moment.
        let rounds = usize::try_from(start.elapsed().as_secs() / WATCH.as_secs()).expect("few") + 1;
        let count = |verb: &str| {
            let same = |read: &&(String, bool)| (read.0.as_str(), read.1) == (verb, selects);
            reads.iter().filter(same).count()
        };
        assert_eq!(count("list"), 1, "{resource} {reads:?}");
        assert!(
            (1..=rounds).contains(&count("watch")),
            "{resource} {reads:?}"
        );
    }
    operator.stop();
}

#[test]
fn a_controller_can_have_its_own_settings() {
    let project = project();
    for namespace in ["main", "odd", "elsewhere"] {
        kubectl_runs(&format!("create namespace {namespace}"));
    }
    let proxy = Proxy::start(cluster());
    let launch = project.operator().through(&proxy);
    let launch = launch.env("ODD_NAMESPACE", "odd");
    let operator = launch.args("--namespace main").start();
    // Checks the values in the last reconcile. An earlier change may cause a reconcile at any moment, such as the
    // controller's own creation of the ServiceAccount.
    let sees = |secrets: u64, title: Option<&str>| {
        let what = format!("a last reconcile that sees {secrets} Secrets and the title {title:?}");
        wait_until(&what, PATIENCE, || {
            let lines = operator.lines(&["\"sees\"", "\"name\":\"odd\""]);
            let last = lines.last().context("no line")?;
            let line: Value = serde_json::from_str(last)?;
            let seen = (line["secrets"].as_u64(), line["title"].as_str());
            anyhow::ensure!(seen == (Some(secrets), title), "{last}");
            Ok(Some(()))
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
    };

    // The controller's namespace, and the namespace of a kind that the controller watches, are not the manager's.
    create("Odd", "main");
    create("Odd", "odd");
    sees(0, None);
    create_as("odd", "Left", "elsewhere", "far");
    sees(0, Some("far"));
    create_as("odd", "Left", "main", "near");

    // The controller creates and corrects an object of a kind that is known only at run time.
    let token = "serviceaccount odd --namespace odd -o jsonpath={.automountServiceAccountToken}";
    get_until(token, |token| token == "false");
    run(
        kubectl("patch serviceaccount odd --namespace odd --type=merge -p")
            .arg(r#"{"automountServiceAccountToken":true}"#),
    );
    get_until(token, |token| token == "false");
    kubectl_runs("delete serviceaccount odd --namespace odd");
    get_until(
        "serviceaccount odd --namespace odd --ignore-not-found -o name",
        |name| !name.is_empty(),
    );

    // The controller gets only the metadata of a Secret.
    let uid = run(&mut kubectl(
        "get odd odd --namespace odd -o jsonpath={.metadata.uid}",
    ));
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "odd", "namespace": "odd", "labels": {"odd": "yes"}, "ownerReferences": [{
            "apiVersion": "sharing.example.com/v1", "kind": "Odd", "name": "odd", "uid": uid,
            "controller": true,
        }]},
    });
    let secret = project.manifest(&secret.to_string());
    run(kubectl("create -f").arg(&secret));
    sees(1, Some("far"));
    kubectl_runs("delete secret odd --namespace odd");
    sees(0, Some("far"));
    let checks = [
        "[+] odd.sharing.example.com on metadata of secrets with labels odd in odd: in sync\n",
        "[+] odd.sharing.example.com on configmaps with fields metadata.name=odd in odd: in sync\n",
        "[+] odd.sharing.example.com on configmaps with labels odd,even in odd: in sync\n",
        "[+] odd.sharing.example.com on lefts.sharing.example.com in elsewhere: in sync\n",
        "\nready\n",
    ];
    serving::probe(&operator, "/readyz", 200, &checks);
    let accepted = |part: &str| {
        let exchanges = proxy.exchanges();
        let mut accepted: Vec<_> = exchanges
            .into_iter()
            .filter(|exchange| exchange.path.contains(part))
            .map(|exchange| exchange.accept.contains("as=PartialObjectMetadata"))
            .collect();
        assert!(accepted.len() > 1, "a list and a watch of {part}");
        accepted.dedup();
        accepted
    };
    assert_eq!(accepted("/namespaces/odd/secrets?"), [true]);
    assert_eq!(accepted("/namespaces/main/secrets?"), [false]);

    // The controller retries sooner than the others: 6 failures of another controller would take 3 s.
    create_as("fails", "Odd", "odd", "fail");
    let failures = operator.repeats(&["cannot reconcile", "\"name\":\"fails\""], 8);
    for line in failures {
        let line: Value = serde_json::from_str(&line).expect("a line of JSON");
        let pause = line["retry_ms"].as_u64().expect("a number");
        assert!((50..=200).contains(&pause), "{line}");
    }
    let near = operator.lines(&["\"sees\"", "\"title\":\"near\""]);
    assert_eq!(near, [""; 0]);
    let main = operator.lines(&["\"reconciled\"", "\"Odd\"", "\"namespace\":\"main\""]);
    assert_eq!(main, [""; 0]);
    operator.stop();
}

#[test]
fn a_change_overtakes_the_objects_of_the_first_list() {
    let project = project();
    kubectl_runs("create namespace queue");
    let names: Vec<_> = (0..COUNT).map(|number| format!("odd-{number}")).collect();
    let apply = |names: &[String], title: &str| {
        let objects = names.iter().map(|name| object(name, "Odd", "queue", title));
        let manifest = project.manifest(&objects.collect::<Vec<_>>().join("---\n"));
        run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
    };
    apply(&names, "listed");
    let proxy = Proxy::start(cluster());
    // A reconcile cannot end before it has created its ServiceAccount.
    let hold = proxy.hold(|method, path| {
        *method == Method::POST && path.contains("/namespaces/queue/serviceaccounts")
    });
    let operator = project
        .operator()
        .through(&proxy)
        .env("ODD_NAMESPACE", "queue")
        .args(&format!(
            "--namespace queue --concurrency {AT_ONCE} {}",
            serving::OPEN
        ))
        .start();
    hold.wait(AT_ONCE);
    let edited: Vec<_> = names.iter().step_by(10).cloned().collect();
    apply(&edited, "edited");
    // When the operator has received the new objects, it has also received all edits, which are older. An object that
    // waits in the work queue is there only once, even if it changes. An object that is being reconciled is queued once
    // more.
    let new: Vec<_> = (0..=AT_ONCE)
        .map(|number| format!("new-{number}"))
        .collect();
    apply(&new, "edited");
    let url = format!("http://{}/metrics", operator.address("metrics"));
    wait_until("a new object in the queue", PATIENCE, || {
        let text = http::get(&url)?.text;
        let odd = "odd.sharing.example.com";
        let series = format!("workqueue_depth{{controller=\"{odd}\",name=\"{odd}\"}}");
        let waiting = serving::value(&text, &series);
        anyhow::ensure!(waiting > f64::from(COUNT), "{text}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    drop(hold);

    let changed: HashSet<_> = edited.into_iter().chain(new).collect();
    let mut others = HashSet::new();
    wait_until("a reconcile of each change", PATIENCE, || {
        let (mut missing, mut listed) = (changed.clone(), HashSet::new());
        for line in operator.lines(&["\"looked at\""]) {
            let line: Value = serde_json::from_str(&line)?;
            let name = line["name"].as_str().context("a name")?.to_owned();
            // A reconcile that began before the edit logs the old title.
            missing.remove(&name);
            if line["is"] == "listed" {
                listed.insert(name);
            }
            if missing.is_empty() {
                others = listed;
                return Ok(Some(()));
            }
        }
        anyhow::bail!("no reconcile of {missing:?}")
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    // A work queue in the order of the first list would reconcile some changed objects among the last.
    assert!(others.len() < names.len() / 2, "{others:?}");
    operator.stop();
}

#[test]
fn nothing_is_reconciled_before_every_watch_has_started() {
    let project = project();
    kubectl_runs("create namespace blind");
    kubectl_runs("create serviceaccount blind --namespace sharing-system");
    let role = run(&mut kubectl("get clusterrole sharing-manager-role -o json"));
    let mut role: Value = serde_json::from_str(&role).expect("JSON");
    role["metadata"] = json!({"name": "blind"});
    for rule in role["rules"].as_array_mut().expect("rules") {
        let resources = rule["resources"].as_array_mut().expect("resources");
        // A rule may contain ConfigMaps together with other resources.
        resources.retain(|resource| resource != "configmaps");
    }
    let rules = role["rules"].as_array_mut().expect("rules");
    rules.retain(|rule| rule["resources"] != json!([]));
    let verbs = ["create", "delete", "get", "list", "patch"];
    rules.push(json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}));
    let manifest = project.manifest(&role.to_string());
    run(kubectl("create -f").arg(manifest));
    kubectl_runs(
        "create clusterrolebinding blind --clusterrole=blind --serviceaccount=sharing-system:blind",
    );
    create("Left", "blind");

    let launch = project.operator().account("blind");
    let operator = launch.args("--namespace blind").start();
    let missing = "Rule::of::<ConfigMap>(&[Verb::Watch])";
    let checks = [
        "[-] left.sharing.example.com on configmaps with labels \
         app.kubernetes.io/managed-by=sharing in blind: ",
        "[+] left.sharing.example.com on lefts.sharing.example.com in blind: in sync\n",
        missing,
        "not ready\n",
    ];
    serving::probe(&operator, "/readyz", 503, &checks);
    // Each of the two controllers tries more than once.
    operator.repeats(&["cannot watch", "configmaps"], 4);
    assert_eq!(operator.lines(&["\"reconciled\""]), [""; 0]);
    kubectl_runs("create clusterrole sees --verb=watch --resource=configmaps");
    kubectl_runs(
        "create clusterrolebinding sees --clusterrole=sees --serviceaccount=sharing-system:blind",
    );
    operator.says(&["\"reconciled\"", "\"left\""]);
    serving::probe(&operator, "/readyz", 200, &["\nready\n"]);
}
