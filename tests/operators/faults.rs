//! Tests an operator with faults: of the API server, of the network, of objects, of its role, and when the operator
//! itself ends. A fault affects nothing else, and the operator recovers without a restart if it can.

// The longest test. It is here, because tests start in the order of their names: the tests after these run beside it.
pub mod soak;

use std::{
    process::Command,
    sync::LazyLock,
    time::{Duration, Instant},
};

use cluster::wait_until;
use hyper::Method;
use serde_json::Value;

use crate::{
    http,
    operator::{
        Launch, Operator, PATIENCE, Project, apply_new_kind, cluster, get_until, kubectl,
        kubectl_on, kubectl_waits_on, kubectl_waits_within, new_cluster,
    },
    proxy::Proxy,
    scaffold::run,
    serving,
};

/// The time that the Pod of an operator has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);

const CRD: &str = "probes.faults.example.com";

/// The longest pause before an object that fails is retried, in the project below. In seconds.
const LONGEST_PAUSE: f64 = 4.0;

/// Returns the project that all tests here share, with its CRD installed. An object's title decides what its reconcile
/// does.
fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| {
        let project = Project::scaffold_shared(
            "faults",
            &[
                "init --domain example.com --runtime vendored",
                "create api --group faults --version v1 --kind Probe",
            ],
        );
        let controller = "src/controller/faults/probe.rs";
        let start = "        let status = observe(object);\n";
        let faults = r#"        match object.spec.title.as_str() {
            "fail" => return Err(Error::AsAskedFor),
            "panic" => panic!("as asked for"),
            _ => {}
        }
"#;
        project.edit(controller, start, &format!("{faults}{start}"));
        let error = "    #[error(\"as asked for\")]\n    AsAskedFor,\n";
        let errors = "pub enum Error {\n";
        project.edit(controller, errors, &format!("{errors}{error}"));
        project.edit(
            controller,
            "ObjectRef<Probe>, _context: &Context",
            "ObjectRef<Probe>, context: &Context",
        );
        let gone = "        tracing::info!(name = object.name, namespace = object.namespace, \"is gone\");\n";
        let slow = r#"        while object.name.starts_with("slow")
            && context.client.apiserver_version().await.is_err()
        {}
"#;
        project.edit(controller, gone, &format!("{slow}{gone}"));
        // Otherwise, a test would take minutes.
        let seconds = |seconds: f64| format!("Duration::from_secs({seconds})");
        project.edit(
            "crates/kube-manager/src/runtime/backoff.rs",
            &seconds(300.0),
            &seconds(LONGEST_PAUSE),
        );
        project.edit(
            "crates/kube-manager/src/runtime/requests.rs",
            &seconds(65.0),
            &seconds(12.0),
        );
        // Simulates other crates that enable a second crypto provider: then rustls does not choose a provider.
        let provider = "features = [\"ring\"], optional = true }\n";
        let several = provider.replace("\"ring\"", "\"custom-provider\", \"ring\"");
        project.edit("crates/kube-manager/Cargo.toml", provider, &several);
        project.compile();
        project.make("install");

        // Simulates an operator that is older than the CRD: the operator's type needs a string, but the CRD accepts any
        // title.
        let title = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/title";
        let anything = r#"{"x-kubernetes-preserve-unknown-fields":true}"#;
        let patch = format!(r#"[{{"op":"replace","path":"{title}","value":{anything}}}]"#);
        run(kubectl(&format!("patch crd {CRD} --type=json -p")).arg(patch));
        wait_until("the API server to take any title", PATIENCE, || {
            let manifest = project.manifest(&probe("default", "any", "5"));
            let output = kubectl("apply --dry-run=server -f")
                .arg(manifest)
                .output()?;
            Ok(output.status.success().then_some(()))
        })
        .expect("the object is taken");
        project
    });
    &PROJECT
}

fn probe(namespace: &str, name: &str, title: &str) -> String {
    format!(
        "apiVersion: faults.example.com/v1\nkind: Probe\n\
         metadata: {{namespace: {namespace}, name: {name}}}\nspec: {{title: {title}}}\n"
    )
}

/// An operator behind a proxy, and the namespace of a test. The operator watches only this namespace.
struct Fixture {
    operator: Operator,
    proxy: Proxy,
    namespace: &'static str,
}

impl Fixture {
    /// Starts the operator as the ServiceAccount that the project has for it.
    fn new(namespace: &'static str) -> Self {
        Self::start(namespace, |launch| launch)
    }

    /// Starts the operator as a ServiceAccount that has no role yet.
    fn without_rights(namespace: &'static str) -> Self {
        project().grant();
        let system = project().namespace();
        run(&mut kubectl(&format!(
            "create serviceaccount {namespace} --namespace {system}"
        )));
        Self::start(namespace, |launch| launch.account(namespace))
    }

    fn start(namespace: &'static str, how: impl FnOnce(Launch) -> Launch) -> Self {
        let project = project();
        run(&mut kubectl(&format!("create namespace {namespace}")));
        let proxy = Proxy::start(cluster());
        let launch = project.operator().through(&proxy);
        Self {
            operator: how(launch)
                .args(&format!("--namespace {namespace}"))
                .start(),
            proxy,
            namespace,
        }
    }

    /// Creates or changes an object. The request does not pass through the proxy.
    fn apply(&self, name: &str, title: &str) {
        let manifest = project().manifest(&probe(self.namespace, name, title));
        run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
    }

    fn delete(&self, name: &str) {
        let namespace = self.namespace;
        run(&mut kubectl(&format!(
            "delete probe {name} --namespace {namespace}"
        )));
    }

    /// Waits until an object is ready in its current generation.
    #[track_caller]
    fn ready(&self, name: &str) {
        self.ready_within(name, PATIENCE);
    }

    /// Waits for at most `limit`, in seconds, until an object is ready in its current generation.
    #[track_caller]
    fn ready_within(&self, name: &str, limit: Duration) {
        let ready = format!(
            "probe/{name} --namespace {} --for=condition=Ready",
            self.namespace
        );
        kubectl_waits_within(cluster(), &ready, limit);
        assert!(self.is_ready(name), "not in its current generation");
    }

    fn is_ready(&self, name: &str) -> bool {
        let namespace = self.namespace;
        let fields = "{.metadata.generation} {.status.observedGeneration} \
                      {.status.conditions[?(@.type=='Ready')].status}";
        let get = format!("get probe {name} --namespace {namespace} -o");
        let text = run(kubectl(&get).arg(format!("jsonpath={fields}")));
        let parts: Vec<_> = text.split(' ').collect();
        matches!(parts[..], [generation, observed, "True"] if generation == observed)
    }

    /// Returns the path of the objects in the API.
    fn path(&self) -> String {
        format!(
            "/apis/faults.example.com/v1/namespaces/{}/probes",
            self.namespace
        )
    }

    /// Returns a function that returns whether a request writes the status of an object.
    fn writes_status(&self, name: &str) -> impl Fn(&Method, &str) -> bool + use<> {
        let status = format!("{}/{name}/status?", self.path());
        move |method, path| method != Method::GET && path.starts_with(&status)
    }

    /// Returns the response code of each write of an object's status, and the time when the request arrived.
    fn status_writes(&self, name: &str) -> Vec<(u16, Instant)> {
        let is_one = self.writes_status(name);
        let mut exchanges = self.proxy.exchanges();
        exchanges.retain(|exchange| is_one(&exchange.method, &exchange.path));
        let writes = exchanges.into_iter();
        writes
            .map(|exchange| (exchange.code, exchange.time))
            .collect()
    }
}

/// Returns the seconds between lines of the JSON log.
fn pauses(lines: &[String]) -> Vec<f64> {
    let seconds = |line: &String| {
        let (_, rest) = line.split_once('T').expect("a timestamp");
        let (clock, _) = rest.split_once('Z').expect("a timestamp in UTC");
        let parts = clock
            .split(':')
            .map(|part| part.parse::<f64>().expect("a number"));
        parts.fold(0.0, |sum, part| sum * 60.0 + part)
    };
    let times: Vec<_> = lines.iter().map(seconds).collect();
    let day = 24.0 * 60.0 * 60.0;
    times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).rem_euclid(day))
        .collect()
}

/// Returns the pauses that lines of the JSON log announce, in seconds.
fn announced_pauses(lines: &[String]) -> Vec<f64> {
    let pauses = lines.iter().map(|line| {
        let fields: Value = serde_json::from_str(line).expect("a line of JSON");
        fields["retry_ms"].as_f64().expect("a number") / 1000.0
    });
    pauses.collect()
}

#[test]
fn the_operator_reconnects_to_a_restarted_api_server() {
    let project = project();
    let mut cluster = new_cluster();
    let crd = project.path().join("config/crd");
    run(kubectl_on(&cluster, "apply -k").arg(crd));
    let mut operator = project.operator().on(&cluster).start();
    let ready = "--for=condition=Ready probe --all";
    let before = project.manifest(&probe("default", "before", "fine"));
    apply_new_kind(kubectl_on(&cluster, "apply -f").arg(before));
    kubectl_waits_on(&cluster, ready);

    cluster.stop_api_server();
    operator.says(&["cannot watch"]);
    cluster
        .start_api_server()
        .expect("the API server starts again");
    let after = project.manifest(&probe("default", "after", "fine"));
    run(kubectl_on(&cluster, "apply -f").arg(after));
    kubectl_waits_on(&cluster, ready);
    assert_eq!(
        operator.lines(&["reconciled", "before"]).len(),
        1,
        "{}",
        operator.log()
    );
    operator.signal("TERM");
    assert!(operator.ends_within(GRACE).success());
}

#[test]
fn changes_while_connections_are_refused_are_seen_later() {
    let mut fixture = Fixture::new("refused");
    fixture.apply("changed", "fine");
    fixture.ready("changed");
    fixture.proxy.refuse();
    fixture.operator.says(&["cannot watch"]);
    fixture.apply("changed", "finer");
    assert!(!fixture.is_ready("changed"));
    fixture.proxy.forward();
    fixture.ready("changed");
    fixture.operator.stop();
}

#[test]
fn a_request_that_is_never_answered_is_sent_again() {
    let mut fixture = Fixture::new("unanswered");
    let hold = fixture.proxy.hold(fixture.writes_status("lost"));
    fixture.apply("lost", "fine");
    hold.wait(1);
    fixture.proxy.vanish();
    drop(hold);
    fixture.proxy.forward();
    fixture.ready("lost");
    assert_eq!(
        fixture.operator.lines(&["cannot reconcile", "lost"]).len(),
        1
    );
    fixture.operator.stop();
}

#[test]
fn a_silent_watch_is_restarted() {
    let mut fixture = Fixture::new("silent");
    fixture.apply("before", "fine");
    fixture.ready("before");
    // All old connections stay open and silent. New connections work.
    fixture.proxy.vanish();
    fixture.proxy.forward();
    fixture.apply("after", "fine");
    // This network still confirms packets, so TCP notices nothing: the runtime waits for a bookmark, for at most 75 s
    // after the last one. The rest is for the new watch and the reconcile.
    fixture.ready_within("after", Duration::from_secs(75 + 10));

    // The new watch continues where the old one ended.
    let (list, exchanges) = (format!("{}?", fixture.path()), fixture.proxy.exchanges());
    let requests = exchanges
        .iter()
        .filter(|exchange| exchange.path.starts_with(&list));
    let (watches, lists): (Vec<_>, Vec<_>) =
        requests.partition(|exchange| exchange.path.contains("watch=true"));
    assert_eq!((watches.len(), lists.len()), (2, 1), "{exchanges:?}");
    fixture.operator.stop();
}

#[test]
fn requests_are_logged_for_those_who_ask_for_them() {
    let fixture = Fixture::start("logged", |launch| {
        launch.args("--log-level info,kube=debug")
    });
    fixture.apply("logged", "fine");
    fixture.ready("logged");
    let path = format!("\"path\":\"{}/logged/status?", fixture.path());
    let request = [
        &*path,
        "\"DEBUG\"",
        "\"method\":\"PUT\"",
        "\"status\":\"200\"",
        "\"duration\"",
    ];
    fixture.operator.says(&request);
    fixture.operator.stop();
}

#[test]
fn a_proxy_of_the_environment_is_not_for_this_machine() {
    let fixture = Fixture::start("proxied", |launch| {
        let nobody = "http://127.0.0.1:1";
        let launch = launch.env("HTTPS_PROXY", nobody).env("HTTP_PROXY", nobody);
        launch.env("NO_PROXY", "127.0.0.1")
    });
    fixture.apply("object", "fine");
    fixture.ready("object");
    fixture.operator.stop();
}

#[test]
fn a_conflict_is_retried_without_an_error() {
    let fixture = Fixture::new("conflict");
    let conflict = fixture
        .proxy
        .answer(fixture.writes_status("contested"), 409, 2);
    fixture.apply("contested", "fine");
    fixture.ready("contested");
    assert_eq!(conflict.met(), 2);

    // The API server itself reports a conflict, because the object changes between read and write.
    let hold = fixture.proxy.hold(fixture.writes_status("changed"));
    fixture.apply("changed", "fine");
    hold.wait(1);
    fixture.apply("changed", "finer");
    drop(hold);
    fixture.ready("changed");
    assert_eq!(fixture.status_writes("changed")[0].0, 409);

    let errors = || fixture.operator.lines(&[r#""level":"ERROR""#]);
    assert_eq!(errors(), [""; 0]);

    // A third conflict in a row is an error: something changes the object all the time.
    let writes = fixture.writes_status("restless");
    let conflicts = fixture.proxy.answer(writes, 409, 3);
    fixture.apply("restless", "fine");
    fixture.ready("restless");
    assert_eq!(conflicts.met(), 3);
    let errors = errors();
    assert!(
        errors.len() == 1 && errors[0].contains("restless"),
        "{errors:?}"
    );
    fixture.operator.stop();
}

#[test]
fn failed_requests_for_one_object_delay_no_other() {
    let fixture = Fixture::new("failures");
    let (limited, broken) = (
        fixture.writes_status("limited"),
        fixture.writes_status("broken"),
    );
    let limited = fixture.proxy.answer(limited, 429, usize::MAX);
    let broken = fixture.proxy.answer(broken, 500, usize::MAX);
    fixture.apply("limited", "fine");
    fixture.apply("broken", "fine");
    limited.wait(1);
    broken.wait(1);
    fixture.apply("other", "fine");
    fixture.ready("other");

    // The response says when the operator may retry: after one second.
    limited.wait(3);
    let writes = fixture.status_writes("limited");
    for pair in writes.windows(2) {
        let pause = pair[1].1 - pair[0].1;
        assert!(pause >= Duration::from_millis(900), "{writes:?}");
    }

    drop((limited, broken));
    fixture.ready("limited");
    fixture.ready("broken");
    fixture.operator.stop();
}

#[test]
fn no_change_is_lost_when_a_watch_expires() {
    let fixture = Fixture::new("expiry");
    for name in ["same", "changed", "deleted"] {
        fixture.apply(name, "fine");
        fixture.ready(name);
    }
    // Until the next list succeeds, the operator sees no changes.
    let list = format!("{}?", fixture.path());
    let unlisted = fixture
        .proxy
        .answer(move |_, path| path.starts_with(&list), 500, usize::MAX);
    assert_eq!(fixture.proxy.expire_watches(&fixture.path()), 1);
    unlisted.wait(1);
    fixture.apply("changed", "finer");
    fixture.apply("created", "fine");
    fixture.delete("deleted");
    drop(unlisted);

    fixture.ready("changed");
    fixture.ready("created");
    fixture.operator.says(&["is gone", "deleted"]);
    let same = fixture.operator.lines(&["reconciled", "same"]);
    assert_eq!(same.len(), 1, "it is as it was: {same:?}");

    // The new watch reports changes.
    fixture.apply("changed", "finest");
    fixture.ready("changed");
    fixture.operator.stop();
}

#[test]
fn a_crd_can_be_created_late_and_be_away_for_a_while() {
    let project = project();
    let cluster = new_cluster();
    let mut operator = project.operator().on(&cluster).start();
    let missing = ["cannot watch", "`make install` installs the CRDs"];
    let grown = pauses(&operator.repeats(&missing, 6));
    // The first pause is 0.5 to 1 s, and the fifth one 5 to 10 s. The time between two lines also has a request in it.
    assert!(grown[4] > 2.5 && grown[4] > grown[0], "{grown:?}");

    let crd = project.path().join("config/crd");
    let object = project.manifest(&probe("default", "late", "fine"));
    let come = || {
        run(kubectl_on(&cluster, "apply -k").arg(&crd));
        let wait = |condition: &str| {
            kubectl_waits_on(&cluster, &format!("--for=condition={condition}"));
        };
        wait(&format!("Established crd/{CRD}"));
        apply_new_kind(kubectl_on(&cluster, "apply -f").arg(&object));
        wait("Ready probe/late");
    };
    come();
    let failures = operator.lines(&missing).len();
    run(kubectl_on(&cluster, "delete -k").arg(&crd));
    operator.says(&["is gone", "late"]);
    operator.repeats(&missing, failures + 1);
    let hint = "`make install` installs the CRDs";
    serving::probe(&operator, "/readyz", 503, &[hint, "not ready\n"]);
    come();
    serving::probe(&operator, "/readyz", 200, &["in sync", "\nready\n"]);
    assert!(operator.runs());
}

#[test]
fn an_object_that_does_not_fit_its_type_affects_no_other() {
    let fixture = Fixture::new("misfit");
    fixture.apply("unreadable", "5");
    fixture
        .operator
        .says(&["does not fit its type", "unreadable"]);
    fixture.apply("readable", "fine");
    fixture.ready("readable");
    fixture.apply("unreadable", "mended");
    fixture.ready("unreadable");
    fixture.operator.stop();
}

#[test]
fn an_object_that_always_fails_is_retried_with_growing_pauses_and_delays_no_other() {
    let fixture = Fixture::new("failing");
    let failure = ["cannot reconcile", "as asked for", "hopeless"];
    fixture.apply("hopeless", "fail");
    fixture.operator.says(&failure);
    fixture.apply("other", "fine");
    fixture.ready("other");
    let lines = fixture.operator.repeats(&failure, 8);
    let grown = announced_pauses(&lines);
    assert!(grown[0] < grown[2] && grown[2] < grown[4], "{grown:?}");
    assert!(grown[6] >= LONGEST_PAUSE / 2.0, "{grown:?}");
    let within = |pause: &f64| *pause <= LONGEST_PAUSE;
    assert!(grown.iter().all(within), "{grown:?}");
    let waited = pauses(&lines);
    for (pause, announced) in waited.iter().zip(&grown) {
        assert!(*pause > 0.9 * announced, "{waited:?} {grown:?}");
    }

    // A success resets the pauses.
    fixture.apply("hopeless", "fine");
    fixture.ready("hopeless");
    let before = fixture.operator.lines(&failure).len();
    fixture.apply("hopeless", "fail");
    let again = announced_pauses(&fixture.operator.repeats(&failure, before + 1)[before..]);
    assert!(again[0] < LONGEST_PAUSE / 2.0, "{again:?}");
    fixture.operator.stop();
}

#[test]
fn slow_deletions_delay_only_objects_of_the_same_name() {
    let fixture = Fixture::new("going");
    let names: Vec<_> = (0..10).map(|number| format!("slow-{number}")).collect();
    let probes = names.iter().map(|name| probe("going", name, "fine"));
    let manifest = project().manifest(&probes.collect::<Vec<_>>().join("---\n"));
    run(kubectl("apply -f").arg(manifest));
    for name in &names {
        fixture.ready(name);
    }
    let hold = fixture.proxy.hold(|_, path| path.starts_with("/version"));
    run(kubectl("delete probe --namespace going").args(&names));
    hold.wait(10);
    fixture.apply("other", "fine");
    fixture.ready("other");

    fixture.apply("slow-0", "fine");
    fixture.apply("later", "fine");
    fixture.ready("later");
    assert!(!fixture.is_ready("slow-0"));
    drop(hold);
    fixture.ready("slow-0");
    fixture.operator.stop();
}

#[test]
fn a_reconcile_that_panics_affects_no_other_object() {
    let fixture = Fixture::start("panicking", |launch| {
        launch.args("--metrics-bind-address 127.0.0.1:0 --metrics-secure=false")
    });
    fixture.apply("bomb", "panic");
    fixture
        .operator
        .says(&["cannot reconcile", "panicked: as asked for", "bomb"]);
    let address = fixture.operator.address("metrics");
    let metrics = http::get(&format!("http://{address}/metrics")).expect("metrics");
    let counted = r#"controller_runtime_reconcile_errors_total{controller="probe.faults.example.com",reason="panic"}"#;
    assert!(metrics.text.contains(counted), "{}", metrics.text);
    fixture.apply("other", "fine");
    fixture.ready("other");
    fixture.apply("bomb", "fine");
    fixture.ready("bomb");
    fixture.operator.stop();
}

#[test]
fn a_missing_permission_is_named_with_the_rule_that_grants_it() {
    let fixture = Fixture::without_rights("limited");
    let lacks = |failure: &str, rule: &str| {
        let rule = rule.replace('"', r#"\""#);
        fixture.operator.says(&[failure, "`RULES` need", &rule]);
    };
    let grant = |verbs: &str, resource: &str| {
        let name = resource.replace('/', "-");
        run(&mut kubectl(&format!(
            "create role {name} --namespace limited --verb={verbs} --resource={resource}"
        )));
        run(&mut kubectl(&format!(
            "create rolebinding {name} --namespace limited --role={name} \
             --serviceaccount=faults-system:limited"
        )));
    };

    lacks("cannot watch", "Rule::of::<Probe>(&[Verb::List])");
    // A list does not show later changes.
    grant("list", "probes.faults.example.com");
    let watch = "Rule::of::<Probe>(&[Verb::Watch])";
    lacks("cannot watch", watch);
    serving::probe(&fixture.operator, "/readyz", 503, &[watch, "not ready\n"]);
    let in_sync = fixture.operator.lines(&["\"in sync\""]);
    assert!(in_sync.is_empty(), "{in_sync:?}");
    run(&mut kubectl(
        "patch role probes.faults.example.com --namespace limited --type=json \
         -p=[{\"op\":\"add\",\"path\":\"/rules/0/verbs/-\",\"value\":\"watch\"}]",
    ));
    serving::probe(&fixture.operator, "/readyz", 200, &["in sync", "\nready\n"]);
    fixture.apply("unwritten", "fine");
    lacks(
        "cannot reconcile",
        r#"Rule::sub::<Probe>("status", &[Verb::Update])"#,
    );
    let requests = fixture.operator.requests(cluster());
    let refused = requests
        .iter()
        .find(|it| (it.subresource.as_str(), it.code) == ("status", 403));
    assert_eq!(refused.map(|request| request.verb.as_str()), Some("update"));

    grant("update", "probes.faults.example.com/status");
    fixture.ready("unwritten");
    lacks(
        "cannot record an event",
        "Rule::of::<Event>(&[Verb::Create])",
    );
    grant("create", "events.events.k8s.io");
    fixture.apply("unwritten", "finer");
    fixture.ready("unwritten");
    let actions = "events --namespace limited -o jsonpath={.items[*].action}";
    let actions = get_until(actions, |actions| !actions.is_empty());
    assert!(
        actions.split(' ').all(|action| action == "Reconcile"),
        "{actions}"
    );
}

#[test]
fn an_operator_without_permissions_ends_after_a_signal() {
    let mut fixture = Fixture::without_rights("powerless");
    fixture.operator.says(&["cannot watch"]);
    fixture.operator.signal("TERM");
    let status = fixture.operator.ends_within(GRACE);
    assert!(status.success(), "{status}");
    // It has nothing to wait for.
    let log = fixture.operator.log();
    assert!(!log.contains("gave up waiting"), "{log}");
}

#[test]
fn work_of_a_killed_operator_is_completed_by_the_next() {
    let mut fixture = Fixture::new("killed");
    let hold = fixture.proxy.hold(fixture.writes_status("orphan"));
    fixture.apply("orphan", "fine");
    hold.wait(1);
    fixture.operator.signal("KILL");
    assert!(!fixture.operator.ends_within(PATIENCE).success());
    assert!(!fixture.is_ready("orphan"));
    drop(hold);
    fixture.operator = project()
        .operator()
        .through(&fixture.proxy)
        .args("--namespace killed")
        .start();
    fixture.ready("orphan");
    fixture.operator.stop();
}

#[test]
fn a_running_reconcile_ends_before_the_operator_and_none_starts() {
    run(&mut kubectl("create namespace draining-too"));
    // The operator reconciles one object at a time, in two namespaces.
    let mut fixture = Fixture::start("draining", |launch| {
        let launch = launch.env("KUBE_MANAGER_CONCURRENCY", "1");
        launch.args("--namespace draining-too")
    });
    let hold = fixture.proxy.hold(|method, _| method != Method::GET);
    // The operator is paused, so that it sees both objects at once.
    fixture.operator.signal("STOP");
    fixture.apply("here", "fine");
    let there = project().manifest(&probe("draining-too", "there", "fine"));
    run(kubectl("apply -f").arg(there));
    fixture.operator.signal("CONT");
    hold.wait(1);
    fixture.operator.signal("TERM");
    fixture.operator.says(&["stopping"]);
    assert!(fixture.operator.runs());
    assert_eq!(hold.met(), 1);
    drop(hold);

    let status = fixture.operator.ends_within(GRACE);
    let log = fixture.operator.log();
    assert!(status.success(), "{status}\n{log}");
    assert!(!log.contains("gave up waiting"), "{log}");
    let exchanges = fixture.proxy.exchanges();
    let is_write = |path: &str| path.contains("/status?");
    let writes = exchanges.iter().filter(|exchange| is_write(&exchange.path));
    let codes: Vec<_> = writes.map(|exchange| exchange.code).collect();
    assert_eq!(codes, [200], "{log}");
    assert_eq!(fixture.operator.lines(&["reconciled"]).len(), 1, "{log}");
}

#[test]
fn the_operator_ends_in_time_although_a_reconcile_hangs() {
    let mut fixture = Fixture::new("endless");
    let hold = fixture.proxy.hold(fixture.writes_status("endless"));
    fixture.apply("endless", "fine");
    hold.wait(1);
    fixture.operator.signal("TERM");
    let status = fixture.operator.ends_within(GRACE);
    assert!(status.success(), "{status}");
    fixture.operator.says(&["gave up waiting"]);
}

#[test]
fn a_status_of_an_object_that_was_just_deleted_is_no_error() {
    let fixture = Fixture::new("deleted");
    let hold = fixture.proxy.hold(fixture.writes_status("fleeting"));
    fixture.apply("fleeting", "fine");
    hold.wait(1);
    fixture.delete("fleeting");
    drop(hold);
    fixture.operator.says(&["reconciled", "\"fleeting\""]);
    let codes = fixture.status_writes("fleeting");
    assert!(codes.iter().any(|(code, _)| *code == 404), "{codes:?}");
    let log = fixture.operator.log();
    assert!(!log.contains("cannot reconcile"), "{log}");
}

#[test]
fn two_signals_at_once_count_as_one() {
    let mut fixture = Fixture::new("stopped-twice");
    let hold = fixture.proxy.hold(fixture.writes_status("slow"));
    fixture.apply("slow", "fine");
    hold.wait(1);
    // The shell sends both signals itself: a program for each signal could need longer than a second to start.
    let signals = "kill -TERM $0; kill -INT $0";
    run(Command::new("sh").args(["-c", signals, &fixture.operator.id().to_string()]));
    fixture.operator.says(&["stopping"]);
    drop(hold);
    let status = fixture.operator.ends_within(GRACE);
    let log = fixture.operator.log();
    assert!(status.success(), "{status}\n{log}");
    assert_eq!(fixture.operator.lines(&["reconciled"]).len(), 1, "{log}");
}

#[test]
fn a_second_signal_ends_the_operator_at_once() {
    let mut fixture = Fixture::start("impatient", |launch| {
        // Without a second signal, the operator would not end during this test.
        launch.env("KUBE_MANAGER_GRACEFUL_SHUTDOWN_TIMEOUT", "1h")
    });
    let hold = fixture.proxy.hold(fixture.writes_status("endless"));
    fixture.apply("endless", "fine");
    hold.wait(1);
    fixture.operator.signal("TERM");
    fixture.operator.says(&["stopping"]);
    assert!(fixture.operator.runs());
    assert!(!fixture.operator.ends_after_more_signals().success());
}
