//! Tests `make run` with webhooks, which the API server calls by URL. The tests also check the cluster after any order
//! of `make run`, `make install` and `make deploy`.

use std::{
    fs::{self, File},
    hash::{BuildHasher, RandomState},
    net::TcpListener,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
};

use anyhow::ensure;
use base64::prelude::*;
use cluster::{Cluster, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    admission::{allows, certify, project, refuses, send, wait_for_defaults},
    compile::{BUILD_PATIENCE, make},
    operator::{
        PATIENCE, Project, kubectl_on, kubectl_waits_on, new_cluster, new_cluster_with_controllers,
    },
    scaffold::run,
    serving::probe,
    versions,
};

const KINDS: [&str; 2] = ["mutating", "validating"];

/// The number of times that `make run` makes cargo run the operator: once to write its manifests, once to reconcile.
const RUNS: usize = 2;

/// What the log has if the API server calls the webhooks, and what it has in any case.
const ON: &str = "webhooks are on";
const ON_OR_OFF: &str = "webhooks are o";

/// `make run` with all processes that it starts, as a process group. The group is killed if a test fails.
struct MakeRun {
    child: Child,
    log: PathBuf,
}

impl MakeRun {
    fn start(cluster: &Cluster, arguments: &str) -> Self {
        Self::of(project(), cluster, arguments)
    }

    fn of(project: &Project, cluster: &Cluster, arguments: &str) -> Self {
        let log = project.manifest("");
        let file = File::create(&log).expect("a log file");
        let _making = project.making();
        let mut make = make(project.path(), "run");
        if !arguments.is_empty() {
            make.arg(arguments);
        }
        let child = make
            .arg("ARGS=--webhook-bind-address=:0 --health-probe-bind-address=0")
            .env("KUBECONFIG", cluster.kubeconfig())
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .process_group(0)
            .spawn()
            .expect("make starts");
        let mut this = Self { child, log };
        this.is_built();
        this
    }

    /// Waits until cargo runs the operator. Cargo may have to wait for builds of other tests.
    fn is_built(&mut self) {
        let runs = wait_until("cargo to run the operator", BUILD_PATIENCE, || {
            let log = self.log();
            let runs = log.lines().filter(|line| line.contains(" Running `"));
            let is_built = runs.count() == RUNS;
            let has_ended = self.child.try_wait()?.is_some();
            Ok((is_built || has_ended).then_some(is_built))
        });
        match runs {
            Ok(is_built) => assert!(is_built, "`make run` ended:\n{}", self.log()),
            Err(error) => panic!("{error:#}\n{}", self.log()),
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log file")
    }

    /// Waits until the log has all of `parts` in one line, and returns the line.
    #[track_caller]
    fn says(&self, parts: &[&str]) -> String {
        let said = wait_until(&format!("{parts:?}"), PATIENCE, || {
            let log = self.log();
            let mut lines = log.lines();
            let line = lines.find(|line| parts.iter().all(|part| line.contains(part)));
            Ok(line.map(str::to_owned))
        });
        match said {
            Ok(line) => line,
            Err(error) => panic!("{error:#}\n{}", self.log()),
        }
    }

    /// Waits until the operator says whether the API server calls it, and checks that it does.
    #[track_caller]
    fn is_called(&self) -> String {
        let line = self.says(&[ON_OR_OFF]);
        assert!(line.contains(ON), "{line}");
        line
    }

    /// Sends a signal to all processes, as a terminal does for Ctrl-C, and waits until make ends.
    #[track_caller]
    fn end_by(&mut self, signal: &str) -> ExitStatus {
        let group = format!("-{}", self.child.id());
        run(Command::new("kill").args(["-s", signal, "--", &group]));
        let ended = wait_until("`make run` to end", PATIENCE, || {
            Ok(self.child.try_wait()?)
        });
        match ended {
            Ok(status) => status,
            Err(error) => panic!("{error:#}\n{}", self.log()),
        }
    }
}

impl Drop for MakeRun {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let group = format!("-{}", self.child.id());
            let _ = Command::new("kill")
                .args(["-s", "KILL", "--", &group])
                .status();
            let _ = self.child.wait();
        }
    }
}

/// Returns a webhook configuration, or `None` if it does not exist. `name` is a part of the name, right after `pages-`.
fn configuration(cluster: &Cluster, kind: &str, name: &str) -> Option<Value> {
    let arguments = format!(
        "get {kind}webhookconfiguration pages-{name}{kind}-webhook-configuration \
         --ignore-not-found -o json"
    );
    let text = run(&mut kubectl_on(cluster, &arguments));
    (!text.is_empty()).then(|| serde_json::from_str(&text).expect("JSON"))
}

/// Returns the number of webhook configurations by URL.
fn by_url(cluster: &Cluster) -> usize {
    let there = KINDS
        .iter()
        .filter_map(|kind| configuration(cluster, kind, "run-"));
    let there = there.inspect(|it| {
        let client = &it["webhooks"][0]["clientConfig"];
        assert!(
            client["url"].is_string() && client["service"].is_null(),
            "{it:#}"
        );
    });
    there.count()
}

fn wait_for_urls(cluster: &Cluster, count: usize) {
    wait_until("webhook configurations by URL", PATIENCE, || {
        let there = by_url(cluster);
        ensure!(there == count, "there are {there}");
        Ok(Some(()))
    })
    .expect("the configurations follow");
}

const DRY_RUN: &str = "create --dry-run=server -o json";

#[test]
fn make_run_serves_webhooks_by_url_and_is_not_needed_afterwards() {
    let (project, cluster) = (project(), &new_cluster());
    project.make_on(cluster, "install");
    let send = |name: &str, fields: &str| send(cluster, DRY_RUN, name, fields);

    let mut operator = MakeRun::start(cluster, "");
    let line = operator.is_called();
    assert!(line.contains("url=\"https://127.0.0.1:"), "{line}");
    wait_for_defaults(cluster);
    refuses(send("bad", "title: bad"), &["spec.title: Invalid value"]);
    for kind in KINDS {
        // Requests succeed while the operator does not run.
        let configuration = configuration(cluster, kind, "run-").expect("a configuration");
        assert_eq!(configuration["webhooks"][0]["failurePolicy"], "Ignore");
    }
    // While the operator runs, a failed call still refuses the request.
    refuses(
        send("panic", "title: panic"),
        &["mpage-v1.kb.io", "panicked"],
    );
    refuses(
        send("slow", "title: slow"),
        &["vpage-v1.kb.io", "took too long"],
    );

    // The operator soon restores a configuration that is deleted.
    run(kubectl_on(cluster, "delete mutatingwebhookconfiguration")
        .arg("pages-run-mutating-webhook-configuration"));
    operator.says(&["pages-run-mutating-webhook-configuration", "applied again"]);
    wait_for_defaults(cluster);

    operator.end_by("INT");
    assert_eq!(by_url(cluster), 0);
    allows(send("bad", "title: bad"));

    // A killed process leaves its configurations behind. They refuse no request, and the next process takes them over.
    let mut operator = MakeRun::start(cluster, "");
    wait_for_defaults(cluster);
    operator.end_by("KILL");
    assert_eq!(by_url(cluster), 2);
    allows(send("bad", "title: bad"));
    let mut operator = MakeRun::start(cluster, "");
    operator.is_called();
    wait_for_defaults(cluster);
    operator.end_by("KILL");

    // A process without webhooks deletes the configurations of a killed process.
    let mut operator = MakeRun::start(cluster, "ENABLE_WEBHOOKS=false");
    operator.says(&["webhooks are off: `ENABLE_WEBHOOKS` is `false`"]);
    wait_for_urls(cluster, 0);
    operator.end_by("INT");
}

#[test]
fn an_unreachable_machine_delays_no_request() {
    let (project, cluster) = (project(), &new_cluster_with_controllers());
    project.make_on(cluster, "install");
    let launch = || {
        let launch = project.operator().on(cluster).administrator();
        launch.args("--webhook-bind-address=127.0.0.1:0")
    };

    // With an explicit URL, the operator ends with an error if the URL does not work.
    let mut wrong = launch().args("--webhook-url=https://127.0.0.1:1").start();
    assert_eq!(wrong.ends_within(PATIENCE).code(), Some(1));
    let why = [
        "cannot call webhooks at https://127.0.0.1:1",
        "connection refused",
    ];
    wrong.says(&why);
    assert_eq!(by_url(cluster), 0);
    let mut both = launch()
        .args("--webhook-url=auto --webhook-cert-path=/tmp")
        .start();
    assert_eq!(both.ends_within(PATIENCE).code(), Some(2));
    both.says(&["'--webhook-url <URL>' cannot be used with '--webhook-cert-path <FOLDER>'"]);

    // With `auto`, the operator runs without webhooks if they cannot be set up, and the controllers work.
    let launch_as_account = project.operator().on(cluster);
    let mut without = launch_as_account
        .args("--webhook-bind-address=127.0.0.1:0 --webhook-url=auto")
        .start();
    without.says(&["webhooks are off", "cannot patch resource"]);
    probe(&without, "/readyz", 200, &["[+] webhooks: off"]);
    probe(&without, "/readyz/controllers", 200, &["in sync"]);
    without.signal("TERM");
    assert!(without.ends_within(PATIENCE).success());

    // If two processes run, the later one has the webhooks. The earlier one does not remove them when it ends.
    project.make_on(cluster, "undeploy");
    project.make_on(cluster, "install");
    let mut first = launch().args("--webhook-url=auto").start();
    let first_says = &first.repeats(&[ON_OR_OFF], 1)[0];
    assert!(first_says.contains(ON), "{first_says}");
    let mut second = launch().args("--webhook-url=auto").start();
    let second_says = &second.repeats(&[ON_OR_OFF], 1)[0];
    assert!(second_says.contains(ON), "{second_says}");
    first.says(&["webhooks are off", "another process"]);
    first.signal("TERM");
    assert!(first.ends_within(PATIENCE).success());
    assert_eq!(by_url(cluster), 2);
    wait_for_defaults(cluster);
    // A later process that the API server cannot reach takes nothing from it.
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = nobody.local_addr().expect("an address");
    let mut unreachable = launch()
        .args(&format!("--webhook-url=https://{address}"))
        .start();
    assert_eq!(unreachable.ends_within(PATIENCE).code(), Some(1));
    wait_until("both configurations again", PATIENCE, || {
        Ok((by_url(cluster) == 2).then_some(()))
    })
    .expect("the second process serves");
    wait_for_defaults(cluster);
    assert_eq!(second.lines(&["webhooks are off"]), [""; 0]);
    second.signal("TERM");
    assert!(second.ends_within(PATIENCE).success());
    assert_eq!(by_url(cluster), 0);
}

/// A step that a developer takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Run,
    Interrupt,
    Kill,
    Install,
    Uninstall,
    Deploy,
    Undeploy,
}

use Step::{Deploy, Install, Interrupt, Kill, Run, Undeploy, Uninstall};

/// A cluster, and the state that the test expects.
struct Site {
    cluster: Cluster,
    operator: Option<MakeRun>,
    has_crd: bool,
    is_deployed: bool,
    /// Whether the configurations of a killed process may still exist.
    has_remains: bool,
}

impl Site {
    fn take(&mut self, step: Step) {
        let make = |target: &str| project().make_on(&self.cluster, target);
        match step {
            Run if self.operator.is_some() => {}
            Run => {
                let operator = MakeRun::start(&self.cluster, "");
                operator.is_called();
                if self.is_deployed {
                    operator.says(&["calls the operator in the cluster too"]);
                }
                (self.operator, self.has_remains) = (Some(operator), false);
            }
            Interrupt | Kill => {
                if let Some(mut operator) = self.operator.take() {
                    operator.end_by(if step == Kill { "KILL" } else { "INT" });
                    self.has_remains = step == Kill;
                }
            }
            Install => {
                make("install");
                self.has_crd = true;
            }
            Uninstall | Undeploy => {
                make(if step == Undeploy {
                    "undeploy"
                } else {
                    "uninstall"
                });
                self.is_deployed &= step == Uninstall;
                (self.has_crd, self.has_remains) = (false, false);
            }
            Deploy => {
                make("deploy");
                if !self.is_deployed {
                    self.inject();
                }
                (self.is_deployed, self.has_crd, self.has_remains) = (true, true, false);
            }
        }
    }

    /// Injects the CA bundles that the operator in the cluster would inject. The cluster has no node to run that
    /// operator.
    fn inject(&self) {
        for kind in KINDS {
            let bundle = BASE64_STANDARD.encode("deployed");
            let patch = format!(
                "[{{\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\"{bundle}\"}}]"
            );
            let name = format!("pages-{kind}-webhook-configuration");
            let kind = format!("{kind}webhookconfiguration");
            run(self.cluster.kubectl().args([
                "patch",
                &kind,
                &name,
                "--type=json",
                "--patch",
                &patch,
            ]));
        }
    }

    fn check(&self) {
        let cluster = &self.cluster;
        for kind in KINDS {
            let deployed = configuration(cluster, kind, "");
            assert_eq!(deployed.is_some(), self.is_deployed);
            if let Some(deployed) = deployed {
                let client = &deployed["webhooks"][0]["clientConfig"];
                assert!(
                    client["service"].is_object() && client["url"].is_null(),
                    "{client:#}"
                );
                assert_eq!(client["caBundle"], BASE64_STANDARD.encode("deployed"));
            }
        }
        if self.operator.is_some() {
            wait_for_urls(cluster, 2);
        } else if !self.has_remains {
            assert_eq!(by_url(cluster), 0);
        }
        // The operator in the cluster does not run, so its webhooks cannot answer.
        if !self.has_crd || self.is_deployed {
            return;
        }
        if self.operator.is_some() {
            wait_for_defaults(cluster);
            refuses(send(cluster, DRY_RUN, "bad", "title: bad"), &["spec.title"]);
        } else {
            let wait = wait_until("requests without webhooks", PATIENCE, || {
                let (is_stored, text) = send(cluster, DRY_RUN, "bad", "title: bad");
                ensure!(is_stored, text);
                Ok(Some(()))
            });
            wait.expect("nobody is asked");
        }
    }
}

/// Takes `steps` in a new cluster. After the last steps, nothing is left in the cluster.
fn take_steps(steps: &[Step]) {
    // Compiles it, while no cluster waits.
    project();
    let mut site = Site {
        cluster: new_cluster_with_controllers(),
        operator: None,
        has_crd: false,
        is_deployed: false,
        has_remains: false,
    };
    eprintln!("{steps:?}");
    for (index, &step) in steps.iter().chain(&[Interrupt, Undeploy]).enumerate() {
        eprintln!("{index}: {step:?}");
        site.take(step);
        site.check();
    }
    let left = "get mutatingwebhookconfigurations,validatingwebhookconfigurations -o name";
    assert_eq!(run(&mut kubectl_on(&site.cluster, left)), "");
}

#[test]
fn install_and_deploy_take_back_what_a_run_has_left() {
    take_steps(&[Run, Install, Deploy, Kill, Install, Run]);
}

#[test]
#[ignore = "long: `make test-operators-long`"]
fn run_install_and_deploy_work_in_any_order() {
    let mut steps = vec![
        Run, Install, Deploy, Interrupt, Run, Kill, Deploy, Install, Run, Undeploy, Install, Kill,
        Install, Uninstall, Install, Run, Interrupt,
    ];
    // Random steps follow, which differ in each run of the test.
    let all = [Run, Interrupt, Kill, Install, Uninstall, Deploy, Undeploy];
    let random = RandomState::new();
    let random = |index: usize| usize::from(random.hash_one(index).to_le_bytes()[0]);
    steps.extend((0..30).map(|index| all[random(index) % all.len()]));
    take_steps(&steps);
}

/// A cluster with the CRD of a kind that the operator converts.
struct Converted {
    cluster: Cluster,
}

impl Converted {
    fn run(&self, arguments: &str) -> MakeRun {
        MakeRun::of(versions::project(), &self.cluster, arguments)
    }

    /// Starts `make run`, and waits until its operator converts objects.
    #[track_caller]
    fn run_and_convert(&self) -> MakeRun {
        let operator = self.run("");
        operator.says(&["this machine converts", "books.shop.example.com"]);
        self.converts();
        operator
    }

    fn make(&self, target: &str) {
        versions::project().make_on(&self.cluster, target);
    }

    fn kubectl(&self, arguments: &str) -> String {
        run(&mut kubectl_on(&self.cluster, arguments))
    }

    /// Waits until a Book that is written in version v1 can be read in version v1alpha1.
    #[track_caller]
    fn converts(&self) {
        let book = json!({
            "apiVersion": "shop.example.com/v1",
            "kind": "Book",
            "metadata": {"generateName": "dune-"},
            "spec": {"title": "Dune", "first": "Frank", "last": "Herbert"},
        });
        let manifest = versions::project().manifest(&book.to_string());
        let create = wait_until("a new Book", PATIENCE, || {
            let mut create = kubectl_on(&self.cluster, "create -o name -f");
            let output = create.arg(&manifest).output()?;
            let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Ok(Some(name).filter(|_| output.status.success()))
        });
        let name = create.expect("it is stored");
        let (_, name) = name.split_once('/').expect("a name");
        wait_until("the other version", PATIENCE, || {
            let get = format!(
                "get books.v1alpha1.shop.example.com {name} -o jsonpath={{.spec.name}}/{{.spec.author}}"
            );
            let output = kubectl_on(&self.cluster, &get).output()?;
            let is_good = output.stdout == b"Dune/Frank Herbert";
            Ok(is_good.then_some(()))
        })
        .expect("it is converted");
    }

    /// Returns the CRD without its status and without values that each write changes: times, `generation` and
    /// `resourceVersion`.
    fn crd(&self) -> Value {
        let text = self.kubectl("get crd books.shop.example.com -o json --show-managed-fields");
        let mut crd: Value = serde_json::from_str(&text).expect("JSON");
        crd["status"] = Value::Null;
        let metadata = &mut crd["metadata"];
        for count in ["generation", "resourceVersion"] {
            metadata[count] = Value::Null;
        }
        let managed = metadata["managedFields"].as_array_mut().expect("a list");
        for entry in &mut *managed {
            entry["time"] = Value::Null;
        }
        managed.sort_by_key(Value::to_string);
        crd
    }

    fn client(&self) -> Value {
        self.crd()["spec"]["conversion"]["webhook"]["clientConfig"].clone()
    }

    /// Checks that the conversion calls this machine.
    fn is_led(&self) {
        let client = self.client();
        assert!(client["url"].is_string(), "{client:#}");
        assert_eq!(client["service"], Value::Null, "{client:#}");
    }

    /// Checks that the conversion calls the Service, and that the CRD contains nothing of `make run`.
    fn is_put_back(&self) {
        let service = json!({"name": "shop-webhook-service", "namespace": "shop-system",
            "path": "/convert", "port": 443});
        let crd = self.crd();
        let conversion = &crd["spec"]["conversion"];
        assert_eq!(conversion["strategy"], "Webhook");
        assert_eq!(conversion["webhook"]["clientConfig"]["service"], service);
        assert!(!crd.to_string().contains("kube-manager/"), "{crd:#}");
        assert!(!crd.to_string().contains("https://"), "{crd:#}");
    }

    /// Changes the CRD as other clients do: injects a CA bundle as the operator in the cluster does, and adds the
    /// annotation for cert-manager.
    fn inject(&self) {
        // The API server checks the CA bundle, so it has to contain a certificate.
        let folder = TempDir::new().expect("a temporary folder");
        let client = json!({"caBundle": BASE64_STANDARD.encode(certify(folder.path()))});
        let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": client}}}});
        run(kubectl_on(
            &self.cluster,
            "patch crd books.shop.example.com --type=merge",
        )
        .args(["--field-manager=operator", &format!("--patch={patch}")]));
        self.kubectl(
            "annotate crd books.shop.example.com cert-manager.io/inject-ca-from=shop/certs",
        );
    }
}

#[test]
fn make_run_converts_and_restores_the_deployed_conversion() {
    versions::project();
    let site = Converted {
        cluster: new_cluster(),
    };
    // The CRD may be installed after the operator has started.
    let mut operator = site.run("");
    operator.says(&["there is no CustomResourceDefinition", "`make install`"]);
    site.make("install");
    operator.says(&[
        "this machine converts",
        "https://127.0.0.1:",
        "Service shop-system/shop-webhook-service",
    ]);
    site.converts();
    site.is_led();
    operator.end_by("INT");
    site.is_put_back();

    // The operator restores the CRD exactly, with everything that other clients wrote.
    site.inject();
    let deployed = site.crd();
    let mut operator = site.run_and_convert();
    let led = site.crd();
    let annotations = &led["metadata"]["annotations"];
    assert_eq!(
        annotations["cert-manager.io/inject-ca-from"],
        Value::Null,
        "{led:#}"
    );
    operator.end_by("INT");
    assert_eq!(site.crd(), deployed);

    // The process after a killed one knows the conversion that was deployed.
    site.run_and_convert().end_by("KILL");
    site.is_led();
    let mut operator = site.run_and_convert();
    // An operator that runs as its ServiceAccount, as in the cluster, does not change the URL.
    let launch = versions::project().operator().on(&site.cluster);
    let mut in_cluster = launch.args("--webhook-bind-address=127.0.0.1:0").start();
    in_cluster.says(&["has the API server call https://127.0.0.1:"]);
    site.converts();
    in_cluster.signal("TERM");
    assert!(in_cluster.ends_within(PATIENCE).success());
    operator.end_by("INT");
    assert_eq!(site.crd(), deployed);

    // A process that does not convert restores the conversion too.
    site.run_and_convert().end_by("KILL");
    let mut operator = site.run("ENABLE_WEBHOOKS=false");
    operator.says(&["conversions stay where they are deployed"]);
    assert_eq!(site.crd(), deployed);
    operator.end_by("INT");

    // If two processes run, the later one has the conversion. The earlier one does not restore it when it ends.
    let mut first = site.run_and_convert();
    let mut second = site.run_and_convert();
    first.says(&["webhooks are off", "another process"]);
    first.end_by("INT");
    site.converts();
    second.end_by("INT");
    assert_eq!(site.crd(), deployed);
}

#[test]
fn install_and_deploy_restore_the_conversion_after_a_killed_run() {
    versions::project();
    let site = Converted {
        cluster: new_cluster_with_controllers(),
    };
    site.make("install");
    let installed = site.crd();
    for target in ["install", "deploy"] {
        site.inject();
        site.run_and_convert().end_by("KILL");
        site.make(target);
        site.is_put_back();
        // The CA bundle is removed. The operator in the cluster injects it again.
        let client = site.client();
        assert_eq!(client["caBundle"], Value::Null, "{client:#}");
    }

    // A running operator takes over the conversion again after `make deploy`.
    let mut operator = site.run_and_convert();
    site.make("deploy");
    operator.says(&["the CRD was installed anew"]);
    site.converts();
    site.is_led();
    site.make("undeploy");
    operator.says(&["there is no CustomResourceDefinition"]);
    operator.end_by("INT");
    let left = site.kubectl("get crd -o name");
    assert_eq!(left, "");

    // The operator also restores a CRD that another client installed, and a CRD without a conversion.
    let manifests = run(kubectl_on(
        &site.cluster,
        "kustomize --load-restrictor=LoadRestrictionsNone",
    )
    .arg(versions::project().path().join("config/default")));
    let crd = manifests
        .split("\n---\n")
        .find(|it| it.contains("kind: CustomResourceDefinition"));
    let manifest = versions::project().manifest(crd.expect("a CRD"));
    run(kubectl_on(&site.cluster, "apply -f").arg(&manifest));
    // Until then, the API server writes conditions, and becomes one of the CRD's field managers.
    let established = "--for=condition=Established crd/books.shop.example.com";
    kubectl_waits_on(&site.cluster, established);
    site.inject();
    let applied = site.crd();
    site.run_and_convert().end_by("INT");
    assert_eq!(site.crd(), applied);
    site.run_and_convert().end_by("KILL");
    site.make("install");
    site.is_put_back();
    site.kubectl(
        "patch crd books.shop.example.com --type=merge \
         -p={\"spec\":{\"conversion\":{\"strategy\":\"None\",\"webhook\":null}}}",
    );
    let without = site.crd();
    site.run_and_convert().end_by("INT");
    assert_eq!(site.crd(), without);
    site.make("uninstall");
    site.make("install");
    assert_eq!(site.crd()["spec"], installed["spec"]);
}
