//! Measures the conversion webhooks of both operators: how long it takes to read objects in a version that is not
//! stored.

use std::{
    fmt, fs,
    net::TcpListener,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use cluster::{PATIENCE, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::{Agent, http::header::AUTHORIZATION, tls::TlsConfig};

use super::{
    both,
    contender::{self, Project},
    float, in_turns, median, number, percentiles,
    process::PREFIX,
    say,
    stage::Stage,
    table::{self, Target},
    webhooks::certify,
};

const CRD: &str = "books.bench.example.com";

/// The path at which the API server serves the objects in the version that is not stored.
const PATH: &str = "/apis/bench.example.com/v1alpha1/namespaces/default/books";

/// The reads of single objects: the number each second, the duration, and the number of clients.
const RATE: u32 = 300;
const DURATION: Duration = Duration::from_secs(5);
const CLIENTS: u32 = 30;

/// The number of lists of all objects in a round.
const LISTS: usize = 3;

/// The code that the user writes. The operator in Go has the same conversion.
const FILES: [(&str, &str); 3] = [
    (
        "v1/book.rs",
        r#"
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "bench.example.com",
    version = "v1",
    kind = "Book",
    namespaced,
    status = "BookStatus",
    derive = "PartialEq"
)]
pub struct BookSpec {
    pub title: String,
    pub first: String,
    pub last: String,
}

#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<i32>,
}
"#,
    ),
    (
        "v1alpha1/book.rs",
        r#"
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "bench.example.com",
    version = "v1alpha1",
    kind = "Book",
    namespaced,
    status = "BookStatus",
    derive = "PartialEq"
)]
pub struct BookSpec {
    pub name: String,
    pub author: String,
}

#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<i32>,
}
"#,
    ),
    (
        "v1alpha1/book_conversion.rs",
        r#"
use crate::api::bench::{v1, v1alpha1};

impl From<v1alpha1::BookSpec> for v1::BookSpec {
    fn from(v1alpha1::BookSpec { name, author }: v1alpha1::BookSpec) -> Self {
        let (first, last) = author.split_once(' ').unwrap_or((&author, ""));
        Self {
            title: name,
            first: first.to_owned(),
            last: last.to_owned(),
        }
    }
}

impl From<v1::BookSpec> for v1alpha1::BookSpec {
    fn from(v1::BookSpec { title, first, last }: v1::BookSpec) -> Self {
        Self {
            name: title,
            author: format!("{first} {last}").trim().to_owned(),
        }
    }
}

impl From<v1alpha1::BookStatus> for v1::BookStatus {
    fn from(v1alpha1::BookStatus { copies }: v1alpha1::BookStatus) -> Self {
        Self { copies }
    }
}

impl From<v1::BookStatus> for v1alpha1::BookStatus {
    fn from(v1::BookStatus { copies }: v1::BookStatus) -> Self {
        Self { copies }
    }
}
"#,
    ),
];

/// The figures of one round of one operator.
struct Figures {
    /// The median time for a list of all objects, in seconds.
    list: f64,
    /// The CPU time for one list, in seconds.
    list_cpu: f64,
    /// The time for a read of one object, in milliseconds: the median and the 99th percentile.
    read: [f64; 2],
    /// The CPU time for 1,000 reads, in seconds.
    read_cpu: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a list takes {:.2} s (CPU {:.2} s), a read {:.1?} ms",
            self.list, self.list_cpu, self.read
        )
    }
}

/// Compares both operators, and returns whether all targets are met.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let (rounds, objects) = (number("ROUNDS", 5)?, number("OBJECTS", 5000)?);
    let folder = TempDir::new().context("failed to create a temporary folder")?;
    let folder = folder.path();
    // The port is free until one of the operators listens on it.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let address = format!("127.0.0.1:{port}");
    certify(folder)?;

    say("building the operator in Rust with a conversion, which takes minutes the first time");
    let project = Project::scaffold(rscaffold)?;
    project.add_conversion(rscaffold, &FILES)?;
    let mut rust = project.build()?;
    project.write_manifests(&rust)?;
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

    let stage = |contender| -> Result<_> {
        let stage = Stage::without_watch_cache(contender, &project)?;
        let certificate = fs::read(folder.join("tls.crt"))?;
        stage.convert_at(CRD, &address, &certificate)?;
        stage.create_all(&(0..objects).map(book).collect::<Vec<_>>())?;
        Ok(stage)
    };
    let stages = [stage(&rust)?, stage(&go)?];
    let results = in_turns([&rust, &go], rounds, |_, turn| play(&stages[turn], objects))?;

    println!("\n{objects} objects converted for each read, in the median of rounds: {rounds}");
    let both = |what: &str, unit, figure: fn(&Figures) -> f64| {
        both(&results, what, unit, figure, Target::AtMostOfGo(1.0))
    };
    Ok(table::print(&[
        both("list of all", "s", |of| of.list),
        both("- CPU", "s", |of| of.list_cpu),
        both("read of one, median", "ms", |of| of.read[0]),
        both("- 99th percentile", "ms", |of| of.read[1]),
        both("- CPU for 1,000", "s", |of| of.read_cpu),
    ]))
}

/// Measures one operator in one round.
fn play(stage: &Stage, objects: usize) -> Result<Figures> {
    let (server, token) = stage.server()?;
    let client = Client::new(&server, &token);
    let operator = stage.start()?;
    let one = |number: usize| format!("{PATH}/{}", name(number));
    wait_until("conversions to be served", PATIENCE, || {
        Ok(Some(client.get(&one(0))?))
    })?;
    let object: Value = serde_json::from_str(&client.get(&one(1))?)?;
    ensure!(object["spec"] == old_spec(1), "{object}");
    operator.settle()?;

    let cpu = operator.cpu()?;
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        let start = Instant::now();
        let list = client.get(PATH)?;
        lists.push(start.elapsed().as_secs_f64());
        let list: Value = serde_json::from_str(&list)?;
        let items = list["items"].as_array().context("no items")?;
        let all_old = items.iter().all(|it| it["spec"]["author"].is_string());
        ensure!(items.len() == objects && all_old, "{} items", items.len());
    }
    let list_cpu = (operator.cpu()? - cpu) / float(LISTS);
    operator.settle()?;

    let cpu = operator.cpu()?;
    let clients: Vec<_> = (0..CLIENTS).map(|_| Client::new(&server, &token)).collect();
    let read = paced(&clients, |number| one(number % objects))?;
    let read_cpu = (operator.cpu()? - cpu) / float(read.len()) * 1000.0;
    operator.stop()?;
    Ok(Figures {
        list: median(&lists, |seconds| *seconds),
        list_cpu,
        read: percentiles(read),
        read_cpu,
    })
}

/// Reads objects at [`RATE`], and returns how many milliseconds each read takes. The time of a read starts when the
/// read is due.
fn paced(clients: &[Client], path: impl Fn(usize) -> String + Sync) -> Result<Vec<f64>> {
    let pause = Duration::from_secs(1) * CLIENTS / RATE;
    let start = Instant::now();
    let run = |first: usize, client: &Client| {
        // The clients start one after the other, so that their reads are spread evenly.
        let mut due = start + pause * u32::try_from(first)? / CLIENTS;
        let (mut taken, mut number) = (Vec::new(), first);
        while due < start + DURATION {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            client.get(&path(number))?;
            taken.push(due.elapsed().as_secs_f64() * 1000.0);
            due += pause;
            number += clients.len();
        }
        anyhow::Ok(taken)
    };
    let run = &run;
    thread::scope(|scope| {
        let threads = clients.iter().enumerate();
        let threads = threads.map(|(first, client)| scope.spawn(move || run(first, client)));
        let threads: Vec<_> = threads.collect();
        let mut all = Vec::new();
        for thread in threads {
            let ended = thread.join().ok().context("a client panicked")?;
            all.extend(ended?);
        }
        Ok(all)
    })
}

/// A client of the API server with its own connection.
struct Client {
    agent: Agent,
    server: String,
    token: String,
}

impl Client {
    fn new(server: &str, token: &str) -> Self {
        let agent = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(120)))
            .tls_config(TlsConfig::builder().disable_verification(true).build())
            .build();
        Self {
            agent: agent.into(),
            server: server.to_owned(),
            token: format!("Bearer {token}"),
        }
    }

    fn get(&self, path: &str) -> Result<String> {
        let request = self.agent.get(format!("{}{path}", self.server));
        let mut response = request.header(AUTHORIZATION, &self.token).call()?;
        let body = response.body_mut().with_config().limit(1 << 30);
        Ok(body.read_to_string()?)
    }
}

fn name(number: usize) -> String {
    format!("{PREFIX}{number:05}")
}

/// Returns an object in the stored version.
fn book(number: usize) -> Value {
    json!({
        "apiVersion": "bench.example.com/v1",
        "kind": "Book",
        "metadata": {
            "name": name(number),
            "labels": {"app.kubernetes.io/name": "bench", "app.kubernetes.io/part-of": "measurements"},
            "annotations": {"example.com/note": "a text of the length that such a text may have"},
        },
        "spec": {"title": format!("Number {number}"), "first": "Frank", "last": "Herbert"},
    })
}

/// Returns the spec of the same object in the other version.
fn old_spec(number: usize) -> Value {
    json!({"name": format!("Number {number}"), "author": "Frank Herbert"})
}
