//! The conversion of both operators: how long it takes to read objects in another version than the stored one.

use std::{
    fmt, fs,
    net::TcpListener,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use cluster::wait_until;
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

/// Where the API server serves the objects in the version that is not stored.
const PATH: &str = "/apis/bench.example.com/v1alpha1/namespaces/default/books";

/// How many objects are read each second, one by one, for how long, and by how many clients.
const RATE: u32 = 300;
const DURATION: Duration = Duration::from_secs(5);
const CLIENTS: u32 = 30;

/// How often a round lists all objects.
const LISTS: usize = 3;

/// What the user writes: the same as the operator in Go has.
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

/// What one round says about one operator.
struct Figures {
    /// The list of all objects, in seconds: the median.
    list: f64,
    /// In seconds for one list.
    list_cpu: f64,
    /// A read of one object, in milliseconds: the median, and the 99th percentile.
    read: [f64; 2],
    /// In seconds for 1,000 reads.
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

/// Compares, and says whether all of it is as it should be.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let (rounds, objects) = (number("ROUNDS", 5)?, number("OBJECTS", 5000)?);
    let folder = TempDir::new().context("failed to create a temporary folder")?;
    let folder = folder.path();
    // Free until one of the operators takes it.
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

/// One round of one operator.
fn play(stage: &Stage, objects: usize) -> Result<Figures> {
    let (server, token) = stage.server()?;
    let client = Client::new(&server, &token);
    let operator = stage.start()?;
    let one = |number: usize| format!("{PATH}/{}", name(number));
    wait_until("conversions to be served", Duration::from_secs(30), || {
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

/// How many milliseconds reads take that are due at [`RATE`]. Each counts from the time at which it is due.
fn paced(clients: &[Client], path: impl Fn(usize) -> String + Sync) -> Result<Vec<f64>> {
    let pause = Duration::from_secs(1) * CLIENTS / RATE;
    let start = Instant::now();
    let run = |first: usize, client: &Client| {
        // The clients take turns.
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

/// A client of the API server, with a connection of its own.
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

/// An object as it is stored.
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

/// The spec of that object in the other version.
fn old_spec(number: usize) -> Value {
    json!({"name": format!("Number {number}"), "author": "Frank Herbert"})
}
