//! Compares the webhooks of both operators, with as many concurrent calls as in a large cluster.

use std::{
    fmt, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use cluster::{PATIENCE, run, wait_until};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

use super::{
    both,
    contender::{self, Project},
    float, in_turns, number, say,
    stage::Stage,
    table::{self, Row, Target},
};

/// The paths of the webhooks, the same in both operators.
const PATHS: [&str; 2] = [
    "/mutate-bench-example-com-v1-bench",
    "/validate-bench-example-com-v1-bench",
];

/// The number of calls that a busy cluster sends each second.
const RATE: u32 = 5000;

/// The code that the user writes. The operator in Go has the same webhooks.
const WEBHOOKS: &str = r#"
use kube::ResourceExt;
use kube_manager::webhook::{self, Change, FieldError, Request, Verdict};

use crate::api::bench::v1::Bench;

pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Bench;

    async fn default(&self, bench: &mut Bench, _: &Request) -> anyhow::Result<Verdict> {
        let color = bench.labels_mut().entry("color".to_owned());
        color.or_insert_with(|| "blue".to_owned());
        Ok(Verdict::allowed())
    }
}

pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Bench;

    async fn validate(&self, change: Change<'_, Bench>, _: &Request) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::allowed();
        if change.after().is_some_and(|bench| bench.spec.title.is_empty()) {
            verdict.error(FieldError::required("spec.title", ""));
        }
        Ok(verdict)
    }
}
"#;

/// The results of one operator in one round.
#[derive(Deserialize)]
struct Figures {
    count: usize,
    /// The median latency, in milliseconds like `p99`.
    median: f64,
    p99: f64,
    /// The operator's CPU time for 1,000 calls, in seconds.
    #[serde(skip)]
    cpu: f64,
    /// The 99th percentile of the latency with [`RATE`] calls each second, in milliseconds.
    #[serde(skip)]
    paced: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} calls, median {:.1} ms, 99th percentile {:.1} ms, and {:.1} ms with {RATE} each second",
            self.count, self.median, self.p99, self.paced
        )
    }
}

/// Compares both operators, and returns whether all targets are met.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let (rounds, calls) = (number("ROUNDS", 5)?, number("CALLS", 500)?);
    let folder = TempDir::new().context("failed to create a temporary folder")?;
    let folder = folder.path();
    // The port is free until one of the operators listens on it.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let address = format!("127.0.0.1:{port}");
    certify(folder)?;
    fs::write(folder.join("review.json"), review().to_string())?;

    say("building the operator in Rust with webhooks, which takes minutes the first time");
    let project = Project::scaffold(rscaffold)?;
    project.add_webhooks(rscaffold, WEBHOOKS)?;
    let mut rust = project.build()?;
    rust.arguments.extend([
        format!("--webhook-bind-address={address}"),
        format!("--webhook-cert-path={}", folder.display()),
    ]);
    say("building the operator in Go, which takes minutes the first time");
    let mut go = contender::go()?;
    go.arguments.extend([
        format!("--webhook-port={port}"),
        format!("--webhook-cert-path={}", folder.display()),
    ]);
    let load = Load {
        program: contender::go_program("load", "./load")?,
        folder,
        address,
        calls,
    };

    let stages = [Stage::new(&rust, &project)?, Stage::new(&go, &project)?];
    let results = in_turns([&rust, &go], rounds, |_, turn| play(&stages[turn], &load))?;

    println!("\n{calls} calls of webhooks at any time, in the median of rounds: {rounds}");
    let both = |what: &str, unit, figure: fn(&Figures) -> f64, target| {
        both(&results, what, unit, figure, target)
    };
    Ok(table::print(&[
        both(
            "call, median",
            "ms",
            |of| of.median,
            Target::AtMostOfGo(1.0),
        ),
        both(
            "- 99th percentile",
            "ms",
            |of| of.p99,
            Target::AtMostOfGo(1.0),
        ),
        Row {
            target: Target::Below(20.0),
            ..both(
                "- with 5,000 each second",
                "ms",
                |of| of.paced,
                Target::AtMostOfGo(1.0),
            )
        },
        both("- CPU for 1,000", "s", |of| of.cpu, Target::AtMostOfGo(1.0)),
    ]))
}

/// Measures one operator in one round.
fn play(stage: &Stage, load: &Load) -> Result<Figures> {
    let operator = stage.start()?;
    wait_until("webhooks to be served", PATIENCE, || {
        let first = load.run(1, None, Duration::ZERO, Duration::from_millis(500));
        Ok(Some(first?))
    })?;
    operator.settle()?;
    let cpu = operator.cpu()?;
    let (warmup, duration) = (Duration::from_secs(1), Duration::from_secs(5));
    let mut figures = load.run(load.calls, None, warmup, duration)?;
    // The calls of the warm-up are not in `count`, but use CPU time, too.
    let calls = float(figures.count) * (warmup + duration).as_secs_f64() / duration.as_secs_f64();
    figures.cpu = (operator.cpu()? - cpu) / calls * 1000.0;
    operator.settle()?;
    figures.paced = load.run(load.calls, Some(RATE), warmup, duration)?.p99;
    operator.stop()?;
    Ok(figures)
}

/// The program that calls the webhooks, and its settings.
struct Load<'a> {
    program: PathBuf,
    /// The folder of the certificate and the review.
    folder: &'a Path,
    address: String,
    /// The number of concurrent calls.
    calls: usize,
}

impl Load<'_> {
    /// Calls the webhooks with this number of `clients`. Each client sends the next call as soon as the last one is
    /// answered; with a `rate`, all clients together send this number of calls each second.
    fn run(
        &self,
        clients: usize,
        rate: Option<u32>,
        warmup: Duration,
        duration: Duration,
    ) -> Result<Figures> {
        let said = run(Command::new(&self.program)
            .arg(format!("-address={}", self.address))
            .arg(format!("-clients={clients}"))
            .arg(format!("-rate={}", rate.unwrap_or_default()))
            .arg(format!("-warmup={}ms", warmup.as_millis()))
            .arg(format!("-duration={}ms", duration.as_millis()))
            .arg("-certificate")
            .arg(self.folder.join("tls.crt"))
            .arg("-review")
            .arg(self.folder.join("review.json"))
            .args(PATHS))?;
        let figures: Figures = serde_json::from_str(&said)?;
        ensure!(figures.count > 0, "no call was answered");
        Ok(figures)
    }
}

/// Writes a certificate for this machine, and its key, to `folder`.
pub(super) fn certify(folder: &Path) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    fs::write(folder.join("tls.key"), made.signing_key.serialize_pem())?;
    fs::write(folder.join("tls.crt"), made.cert.pem())?;
    Ok(())
}

/// Returns the admission review that the API server sends when kubectl creates an object.
fn review() -> serde_json::Value {
    let kind = json!({"group": "bench.example.com", "version": "v1", "kind": "Bench"});
    let resource = json!({"group": "bench.example.com", "version": "v1", "resource": "benches"});
    let object = json!({
        "apiVersion": "bench.example.com/v1",
        "kind": "Bench",
        "metadata": {
            "name": "object-1",
            "namespace": "default",
            "uid": "5a6f9a1e-8f0d-4b0e-9c84-6f0f1df6c1a7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
            "labels": {"app.kubernetes.io/name": "bench", "app.kubernetes.io/part-of": "measurements"},
            "annotations": {"example.com/note": "a text of the length that such a text may have"},
            "managedFields": [{
                "manager": "kubectl-create", "operation": "Update", "apiVersion": "bench.example.com/v1",
                "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {
                    "f:metadata": {
                        "f:annotations": {".": {}, "f:example.com/note": {}},
                        "f:labels": {".": {}, "f:app.kubernetes.io/name": {}, "f:app.kubernetes.io/part-of": {}}},
                    "f:spec": {".": {}, "f:title": {}}}}],
        },
        "spec": {"title": "Object 1"},
    });
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": "object-1", "namespace": "default", "operation": "CREATE",
        "userInfo": {"username": "admin", "uid": "014fbff9a07c", "groups": ["system:authenticated", "admins"]},
        "object": object, "oldObject": null, "dryRun": false,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"},
    }})
}
