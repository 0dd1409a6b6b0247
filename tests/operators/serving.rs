//! Tests what an operator serves: probes for the kubelet, and metrics for clients with permission. Also tests the
//! manifests for this: they fit together, and grant no permission that is not needed.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    sync::LazyLock,
};

use cluster::wait_until;
use hyper::Method;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    compile::go_build,
    document::{code, read, section, tables},
    grafana, http,
    manifests::{items, kustomize, text},
    operator::{
        Launch, Operator, PATIENCE, Project, cluster, kubectl, kubectl_on, kubectl_succeeds,
        kubectl_waits, new_cluster,
    },
    proxy::Proxy,
    scaffold::run,
};

const CONTROLLER: &str = "item.serving.example.com";

/// The flags for metrics that a test reads without a token.
pub const OPEN: &str = "--metrics-secure=false --metrics-bind-address=127.0.0.1:0";

/// Returns the project of nearly all tests here, with its CRD installed. Each test can have its own `ServiceAccount`,
/// by which the audit log distinguishes the tests: all `ServiceAccount`s of the project's namespace have the operator's
/// permissions, except for the lease.
fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| {
        let project = Project::scaffold_shared(
            "serving",
            &[
                "init --domain example.com --enable grafana",
                "create api --group serving --version v1 --kind Item",
            ],
        );
        let controller = "src/controller/serving/item.rs";
        let start = "        let status = observe(object);\n";
        let failure = "        if object.spec.title == \"fail\" {\n            \
                       return Err(Error::AsAskedFor);\n        }\n";
        project.edit(controller, start, &format!("{failure}{start}"));
        let error = "    #[error(\"as asked for\")]\n    AsAskedFor,\n";
        let errors = "pub enum Error {\n";
        project.edit(controller, errors, &format!("{errors}{error}"));
        project.compile();
        project.make("install");
        project.grant();
        for (role, granted) in [
            ("manager", "watch items.serving.example.com"),
            ("metrics-auth", "create tokenreviews.authentication.k8s.io"),
        ] {
            run(&mut kubectl(&format!(
                "create clusterrolebinding all-{role} --clusterrole=serving-{role}-role \
                 --group=system:serviceaccounts:serving-system"
            )));
            kubectl_succeeds(&format!(
                "auth can-i {granted} --as=system:serviceaccount:serving-system:any"
            ));
        }
        project
    });
    &PROJECT
}

/// Starts an operator with its own ServiceAccount and its own namespace. The operator watches only this namespace.
fn start(name: &str, how: impl FnOnce(Launch) -> Launch) -> Operator {
    let project = project();
    let system = project.namespace();
    run(&mut kubectl(&format!(
        "create serviceaccount {name} --namespace {system}"
    )));
    run(&mut kubectl(&format!("create namespace {name}")));
    let launch = project.operator().account(name);
    how(launch).args(&format!("--namespace {name}")).start()
}

/// Creates an object.
fn create(project: &Project, kind: &str, namespace: &str, title: &str) {
    let (lower, group) = (kind.to_lowercase(), project.name());
    let manifest = project.manifest(&format!(
        "apiVersion: {group}.example.com/v1\nkind: {kind}\n\
         metadata: {{namespace: {namespace}, name: {lower}-{title}}}\nspec: {{title: {title}}}\n"
    ));
    run(kubectl("create -f").arg(manifest));
}

/// Waits until a probe answers with `code` and with a text that contains all of `parts`.
pub fn probe(operator: &Operator, path: &str, code: u16, parts: &[&str]) {
    let url = format!("http://{}{path}", operator.address("probes"));
    wait_until(&format!("{code} {parts:?} of {path}"), PATIENCE, || {
        let answer = http::get(&url)?;
        let good = answer.code == code && parts.iter().all(|part| answer.text.contains(part));
        anyhow::ensure!(good, "{answer:?}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn probes_answer_before_the_api_server_can_be_reached() {
    let mut proxy = Proxy::start(cluster());
    proxy.refuse();
    let operator = start("unreachable", |launch| launch.through(&proxy));
    probe(&operator, "/healthz", 200, &[]);
    let check = format!("[-] {CONTROLLER} on items.serving.example.com in unreachable: ");
    probe(&operator, "/readyz", 503, &[&check, "\nnot ready\n"]);
    proxy.forward();
    let check = format!("[+] {CONTROLLER} on items.serving.example.com in unreachable: in sync\n");
    probe(&operator, "/readyz", 200, &[&check, "\nready\n"]);
    operator.stop();
}

#[test]
fn who_takes_part_in_an_election_is_not_ready_before_it_could_look() {
    let mut proxy = Proxy::start(cluster());
    proxy.refuse();
    // The operator leads. In another namespace, it would reconcile the objects of other tests.
    run(&mut kubectl("create namespace candidate"));
    let operator = project()
        .operator()
        .through(&proxy)
        .args("--leader-elect --namespace candidate")
        .start();
    probe(&operator, "/healthz", 200, &[]);
    probe(&operator, "/readyz", 503, &["[-] lease: not read yet\n"]);
    proxy.forward();
    probe(
        &operator,
        "/readyz",
        200,
        &["[+] lease: held by this process\n"],
    );
    operator.stop();
}

#[test]
fn readiness_waits_for_the_crd() {
    let project = project();
    let cluster = new_cluster();
    let operator = project.operator().on(&cluster).start();
    let check = format!("[-] {CONTROLLER} on items.serving.example.com: ");
    let hint = "the cluster does not have this kind: `make install` installs the CRDs";
    probe(&operator, "/readyz", 503, &[&check, hint]);
    probe(&operator, "/healthz", 200, &[]);
    let crd = project.path().join("config/crd");
    run(kubectl_on(&cluster, "apply -k").arg(&crd));
    probe(&operator, "/readyz", 200, &["in sync"]);
}

#[test]
fn only_clients_with_permission_can_read_metrics() {
    let operator = start("secure", |launch| {
        launch.args("--metrics-bind-address 127.0.0.1:0")
    });
    run(&mut kubectl("create namespace readers"));
    let token = |account: &str| {
        run(&mut kubectl(&format!(
            "create serviceaccount {account} --namespace readers"
        )));
        let token = run(&mut kubectl(&format!(
            "create token {account} --namespace readers"
        )));
        token.trim().to_owned()
    };
    let (stranger, prometheus) = (token("stranger"), token("prometheus"));
    run(&mut kubectl(
        "create clusterrolebinding reader --clusterrole=serving-metrics-reader \
         --serviceaccount=readers:prometheus",
    ));
    let url = format!("https://{}/metrics", operator.address("metrics"));
    let code = |token: &str| http::get_as(&url, token).expect("an answer").code;

    assert_eq!(http::get(&url).expect("an answer").code, 401);
    assert_eq!(code("nonsense"), 401);
    assert_eq!(code(&stranger), 403);
    wait_until("the role to count", PATIENCE, || {
        Ok((code(&prometheus) == 200).then_some(()))
    })
    .expect("it does");
    let reviews = |resource: &str| {
        let requests = operator.requests(cluster());
        let reviews = requests
            .iter()
            .filter(|request| request.resource == resource);
        reviews.count()
    };
    let resources = ["tokenreviews", "subjectaccessreviews"];
    let asked = resources.map(reviews);
    for _ in 0..3 {
        let answer = http::get_as(&url, &prometheus).expect("an answer");
        assert_eq!(answer.code, 200);
        assert_eq!(answer.content_type, "text/plain; version=0.0.4");
        assert!(answer.text.contains("\nbuild_info{"), "{}", answer.text);
    }
    assert_eq!(resources.map(reviews), asked, "the answers are remembered");

    // The permission is for one path, and the remembered permission of one client does not apply to other clients.
    let other = url.replace("/metrics", "/other");
    assert_eq!(
        http::get_as(&other, &prometheus).expect("an answer").code,
        403
    );
    assert_eq!(code(&stranger), 403);
    assert_eq!(http::get(&url).expect("an answer").code, 401);
    for (now, asked) in resources.map(reviews).into_iter().zip(asked) {
        // The operator remembers a refusal only for seconds.
        assert!((asked + 1..=asked + 2).contains(&now), "{asked} and {now}");
    }

    let plain = url.replace("https", "http");
    http::get_as(&plain, &prometheus).expect_err("it is HTTPS alone");
    operator.stop();
}

#[test]
fn metrics_are_refused_if_the_api_server_cannot_check_the_client() {
    let proxy = Proxy::start(cluster());
    let operator = start("unasked", |launch| {
        let address = "--metrics-bind-address 127.0.0.1:0";
        launch.through(&proxy).args(address)
    });
    let url = format!("https://{}/metrics", operator.address("metrics"));
    for reviews in ["/tokenreviews", "/subjectaccessreviews"] {
        let fails = proxy.answer(move |_, path| path.contains(reviews), 500, usize::MAX);
        let kubeconfig = fs::read_to_string(cluster().kubeconfig()).expect("a kubeconfig");
        let kubeconfig: Value = serde_json::from_str(&kubeconfig).expect("JSON");
        let token = text(&kubeconfig["users"][0]["user"]["token"]);
        let answer = http::get_as(&url, &token).expect("an answer");
        assert_eq!((answer.code, answer.text.as_str()), (500, ""));
        assert_eq!(fails.met(), 1);
    }
    operator.says(&["cannot tell who may read the metrics"]);
    operator.stop();
}

/// A folder with a certificate, as the kubelet writes it from a Secret: the files are links into a folder, which is
/// itself a link that the kubelet replaces.
struct Secret(TempDir);

impl Secret {
    fn new() -> Self {
        let secret = Self(TempDir::new().expect("a temporary folder"));
        for file in ["tls.crt", "tls.key"] {
            let link = secret.path().join(file);
            symlink(Path::new("..data").join(file), link).expect("a link");
        }
        secret
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, certificate: &str, key: &str) {
        let version = TempDir::new_in(self.path()).expect("a folder").keep();
        fs::write(version.join("tls.crt"), certificate).expect("a file");
        fs::write(version.join("tls.key"), key).expect("a file");
        let link = self.path().join("..data_tmp");
        symlink(version, &link).expect("a link");
        fs::rename(link, self.path().join("..data")).expect("a link that is replaced");
    }

    /// Writes a new certificate and returns it.
    fn renew(&self) -> String {
        let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let pair = pair.expect("a certificate");
        let certificate = pair.cert.pem();
        self.write(&certificate, &pair.signing_key.serialize_pem());
        certificate
    }
}

#[test]
fn a_certificate_is_served_as_soon_as_it_is_replaced() {
    let secret = Secret::new();
    let first = secret.renew();
    let folder = secret.path().display();
    let operator = start("certificate", |launch| {
        launch.args(&format!(
            "--metrics-bind-address 127.0.0.1:0 --metrics-cert-path={folder}"
        ))
    });
    let url = format!("https://{}/metrics", operator.address("metrics"));
    // It is enough that the client trusts the server: the status code does not matter.
    let serves = |certificate: &str| http::get_trusting(&url, certificate).is_ok();
    assert!(serves(&first));

    let is_served = |certificate: &str| {
        wait_until("the new certificate", PATIENCE, || {
            Ok(serves(certificate).then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
    };
    let second = secret.renew();
    is_served(&second);
    assert!(!serves(&first));

    let keeps = ["\"WARN\"", "keeps the old certificate"];
    secret.write("nonsense", "nonsense");
    operator.repeats(&keeps, 1);
    assert!(serves(&second));
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a pair");
    secret.write(&second, &other.signing_key.serialize_pem());
    operator.repeats(&keeps, 2);
    assert!(serves(&second));
    fs::remove_file(secret.path().join("..data")).expect("a link");
    operator.repeats(&keeps, 3);
    assert!(serves(&second));

    is_served(&secret.renew());
    operator.stop();
}

#[test]
fn without_the_certificate_that_it_is_to_serve_it_does_not_run() {
    let secret = Secret::new();
    let folder = secret.path().display();
    let mut operator = start("no-certificate", |launch| {
        launch.args(&format!(
            "--metrics-bind-address 127.0.0.1:0 --metrics-cert-path={folder}"
        ))
    });
    assert!(!operator.ends_within(PATIENCE).success());
    let error = format!(r#""error":"cannot read `{folder}/tls.crt`"#);
    assert!(operator.log().contains(&error));
}

/// Returns the value of a series, or 0 if there is no such series.
pub fn value(text: &str, series: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(series));
    value.map_or(0.0, |value| value.trim().parse().expect("a number"))
}

/// Returns the problems that the linter of Prometheus finds.
fn lint(text: &str) -> String {
    let mut child = Command::new(go_build("promlint", "."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the linter starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let problems = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(!problems.is_empty())));
    problems
}

/// The series that the test of the metrics causes, and their minimum values. `CONTROLLER` and `NAME` stand for labels
/// with the name of the controller.
const LEAST: &[(&str, f64)] = &[
    (
        r#"controller_runtime_reconcile_total{CONTROLLER,result="success"}"#,
        2.0,
    ),
    (
        r#"controller_runtime_reconcile_total{CONTROLLER,result="error"}"#,
        2.0,
    ),
    (
        r#"controller_runtime_reconcile_errors_total{CONTROLLER,reason="conflict"}"#,
        1.0,
    ),
    (
        r#"controller_runtime_reconcile_errors_total{CONTROLLER,reason="reconciler"}"#,
        1.0,
    ),
    (
        "controller_runtime_reconcile_time_seconds_count{CONTROLLER}",
        4.0,
    ),
    (
        "controller_runtime_max_concurrent_reconciles{CONTROLLER}",
        10.0,
    ),
    ("workqueue_adds_total{CONTROLLER,NAME}", 3.0),
    ("workqueue_retries_total{CONTROLLER,NAME}", 2.0),
    (
        "workqueue_queue_duration_seconds_count{CONTROLLER,NAME}",
        3.0,
    ),
    (
        "workqueue_work_duration_seconds_count{CONTROLLER,NAME}",
        4.0,
    ),
    (r#"watch_errors_total{CONTROLLER,reason="api_server"}"#, 1.0),
    (
        r#"rest_client_requests_total{code="500",method="GET"}"#,
        1.0,
    ),
    (
        r#"rest_client_requests_total{code="409",method="PUT"}"#,
        1.0,
    ),
    (
        r#"rest_client_requests_total{code="200",method="PUT"}"#,
        2.0,
    ),
    (
        r#"rest_client_request_duration_seconds_count{method="PUT"}"#,
        3.0,
    ),
    (
        r#"leader_election_master_status{name="serving.example.com"}"#,
        1.0,
    ),
    ("process_resident_memory_bytes", 1.0),
];

#[test]
fn metrics_have_the_names_and_types_that_dashboards_expect() {
    let proxy = Proxy::start(cluster());
    let items = "/namespaces/measured/items";
    let unlisted = proxy.answer(move |_, path| path.contains(&format!("{items}?")), 500, 1);
    let conflict = proxy.answer(
        |_, path| path.contains("/items/item-contested/status"),
        409,
        1,
    );
    // The role of the lease is bound to the operator's own ServiceAccount.
    run(&mut kubectl("create namespace measured"));
    let operator = project()
        .operator()
        .through(&proxy)
        .args("--namespace measured --leader-elect --leader-elect-resource-namespace measured")
        .args(OPEN);
    let role = project().read("config/rbac/leader_election_role.yaml");
    let role = project().manifest(&role.replace("namespace: system", "namespace: measured"));
    run(kubectl("apply -f").arg(role));
    run(&mut kubectl(
        "create rolebinding lease --namespace measured --role=leader-election-role \
         --serviceaccount=serving-system:serving-controller-manager",
    ));
    kubectl_succeeds(
        "auth can-i create leases.coordination.k8s.io --namespace measured \
         --as=system:serviceaccount:serving-system:serving-controller-manager",
    );
    let operator = operator.start();
    unlisted.wait(1);
    for title in ["fine", "fail", "contested"] {
        create(project(), "Item", "measured", title);
    }
    conflict.wait(1);
    operator.says(&["\"reconciled\"", "item-fine"]);
    operator.says(&["\"reconciled\"", "item-contested"]);
    operator.says(&["cannot reconcile", "item-fail"]);

    let url = format!("http://{}/metrics", operator.address("metrics"));
    // The operator may repeat a reconcile before it writes the status. Renewals of the lease are PUT requests, too.
    for title in ["fine", "contested"] {
        let status = format!("/items/item-{title}/status");
        let what = format!("a PUT of {status} to succeed");
        let written = wait_until(&what, PATIENCE, || {
            let mut sent = proxy.exchanges();
            sent.retain(|it| it.method == Method::PUT && it.path.contains(&status));
            anyhow::ensure!(sent.iter().any(|it| it.code == 200), "{sent:?}");
            Ok(Some(()))
        });
        written.unwrap_or_else(|error| panic!("{error:#}"));
    }
    let answer = http::get(&url).expect("metrics");
    assert_eq!(answer.content_type, "text/plain; version=0.0.4");
    let text = answer.text;
    assert_eq!(lint(&text), "", "{text}");

    let types: BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    let layout = read("docs/layout.md");
    let rows = tables(section(&layout, "## The operator's metrics")).concat();
    let documented = rows
        .iter()
        .flat_map(|row| code(row[0]).map(|name| (name, row[1])));
    // This project has no webhooks, and no kind with several versions.
    let others = ["_webhook_", "storage_migration_"];
    let is_other = |name: &str| others.iter().any(|it| name.contains(it));
    let documented = documented.filter(|(name, _)| !is_other(name));
    assert_eq!(types, documented.collect(), "{text}");
    grafana::finds_its_series(&project().read("config/grafana/dashboard.json"), &text);
    let at_least = |series: &str, least: f64| {
        let labels = [("CONTROLLER", "controller"), ("NAME", "name")];
        let series = labels
            .iter()
            .fold(series.to_owned(), |series, (text, label)| {
                series.replace(text, &format!("{label}=\"{CONTROLLER}\""))
            });
        let value = value(&text, &series);
        assert!(value >= least, "{series} is {value}:\n{text}");
    };
    for (series, least) in LEAST {
        at_least(series, *least);
    }
    // Labels contain only names from the operator itself, not names of namespaces or objects.
    for name in ["measured", "item-fine"] {
        assert!(!text.contains(name), "{text}");
    }
    operator.stop();
}

#[test]
fn the_roles_grant_the_needed_permissions_and_no_others() {
    let project = project();
    let operator = project
        .operator()
        .args("--leader-elect --metrics-bind-address 127.0.0.1:0 --namespace default")
        .start();
    operator.says(&["leads"]);
    let url = format!("https://{}/metrics", operator.address("metrics"));
    run(&mut kubectl("create serviceaccount nobody"));
    let token = run(&mut kubectl("create token nobody"));
    let answer = http::get_as(&url, token.trim()).expect("an answer");
    assert_eq!(answer.code, 403);
    let mut used = BTreeSet::new();
    wait_until("the lease to be renewed", PATIENCE, || {
        used = operator
            .requests(cluster())
            .into_iter()
            .filter(|request| {
                let other = ["events.k8s.io", "serving.example.com"];
                !other.contains(&request.group.as_str())
            })
            .map(|request| (request.group, request.resource, request.verb))
            .collect();
        Ok(used.iter().any(|used| used.2 == "update").then_some(()))
    })
    .expect("it is");

    let manifests = kustomize(&project.path().join("config/default"));
    let roles = manifests.iter().filter(|manifest| {
        let roles = ["serving-leader-election-role", "serving-metrics-auth-role"];
        roles
            .iter()
            .any(|role| manifest["metadata"]["name"] == *role)
    });
    let given = roles
        .flat_map(|role| items(&role["rules"]))
        .flat_map(|rule| {
            let [group] = items(&rule["apiGroups"]) else {
                panic!("{rule}");
            };
            let [resource] = items(&rule["resources"]) else {
                panic!("{rule}");
            };
            let verbs = items(&rule["verbs"]);
            verbs
                .iter()
                .map(|verb| (text(group), text(resource), text(verb)))
        });
    assert_eq!(used, given.collect());
    operator.stop();
}

/// Returns a project without cluster-wide permissions, with its CRD installed.
fn namespaced() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| {
        let project = Project::scaffold_shared(
            "rooms",
            &[
                "init --domain example.com --namespaced",
                "create api --group rooms --version v1 --kind Room",
            ],
        );
        project.compile();
        project.make("install");
        project.grant();
        project
    });
    &PROJECT
}

#[test]
fn an_operator_of_namespaces_has_no_permission_outside_of_them() {
    let project = namespaced();
    let manifests = kustomize(&project.path().join("config/default"));
    for manifest in &manifests {
        let kind = text(&manifest["kind"]);
        assert!(!kind.starts_with("ClusterRole"), "{manifest}");
    }

    let namespaces = ["rooms-a", "rooms-b"];
    for namespace in namespaces {
        run(&mut kubectl(&format!("create namespace {namespace}")));
        let mut roles = Vec::new();
        for name in ["rooms-manager-role", "rooms-manager-rolebinding"] {
            let mut found = manifests
                .iter()
                .filter(|manifest| manifest["metadata"]["name"] == name);
            let mut manifest = found.next().expect("a role").clone();
            manifest["metadata"]["namespace"] = namespace.into();
            run(kubectl("apply -f").arg(project.manifest(&manifest.to_string())));
            roles.push(manifest);
        }
        project.wait_for_roles(cluster(), &roles);
    }
    let proxy = Proxy::start(cluster());
    let operator = project
        .operator()
        .through(&proxy)
        .args("--leader-elect --namespace rooms-a --namespace rooms-b --concurrency 1")
        .args(OPEN)
        .start();
    for namespace in namespaces {
        let check = format!(
            "[+] room.rooms.example.com on rooms.rooms.example.com in {namespace}: in sync\n"
        );
        probe(&operator, "/readyz", 200, &[&check]);
    }

    // Both namespaces share the limit of one reconcile at a time.
    let writes = |method: &Method, path: &str| *method != Method::GET && path.contains("/status?");
    let hold = proxy.hold(move |method, path| writes(method, path) && path.contains("/rooms-a/"));
    create(project, "Room", "rooms-a", "first");
    hold.wait(1);
    create(project, "Room", "rooms-b", "second");
    let url = format!("http://{}/metrics", operator.address("metrics"));
    let controller = "\"room.rooms.example.com\"";
    wait_until("the second object to wait", PATIENCE, || {
        let text = http::get(&url)?.text;
        let depth = format!("workqueue_depth{{controller={controller},name={controller}}}");
        let waiting = value(&text, &depth);
        let active = format!("controller_runtime_active_workers{{controller={controller}}}");
        let waits = waiting >= 1.0 && value(&text, &active) >= 1.0;
        anyhow::ensure!(waits, "{text}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    let exchanges = proxy.exchanges();
    let written = exchanges
        .iter()
        .filter(|exchange| writes(&exchange.method, &exchange.path));
    assert_eq!(written.count(), 0, "{exchanges:?}");
    drop(hold);
    for object in [
        "rooms.rooms.example.com/room-first --namespace rooms-a",
        "rooms.rooms.example.com/room-second --namespace rooms-b",
    ] {
        kubectl_waits(&format!("--for=condition=Ready {object}"));
    }
    operator.stop();
}
