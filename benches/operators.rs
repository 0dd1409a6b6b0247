//! Compares the operator that rscaffold creates with an operator in Go that does the same. Both operators run in turns,
//! on equal API servers. Only the ratio of their medians counts, so the machine and its other load matter little.

use std::{env, fmt, path::Path, thread, time::Duration};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;

pub mod builds;
mod contender;
pub mod conversion;
pub mod kinds;
mod process;
mod requests;
mod stage;
mod table;
pub mod webhooks;

use crate::median;
use contender::{Contender, Project};
use requests::Window;
use stage::Stage;
use table::{Row, Target};

/// The extent of a measurement. `make bench ROUNDS=1 OBJECTS=500 IDLE=5` is a quick trial.
struct Extent {
    /// The number of measurements of each operator, in turns with the other operator. The median counts.
    rounds: usize,
    objects: usize,
    /// The number of objects that are changed, one after the other, to measure how soon each object is reconciled.
    changes: usize,
    /// The time for which idle operators are watched.
    idle: Duration,
}

/// The figures of one round of one operator. Times are in seconds.
struct Figures {
    first: f64,
    all: f64,
    /// The requests for each object, without watches.
    requests: f64,
    cpu: f64,
    api_server_cpu: f64,
    restart: f64,
    restart_cpu: f64,
    restart_writes: usize,
    /// The time from a change of an object to the status that follows, with all objects present: the median and the
    /// 99th percentile, in milliseconds.
    latency: [f64; 2],
    /// The memory in MiB, without objects.
    memory: f64,
    /// The memory in MiB, with all objects.
    memory_of_all: f64,
    /// The requests of an idle operator, without watches and requests for the lease.
    idle_requests: usize,
    /// The requests until all objects were ready: the count of each sort, as text for people.
    sorts: String,
}

/// Compares both operators, and returns whether all targets are met.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let extent = Extent::from_environment()?;
    say("building the operator in Rust, which takes minutes the first time");
    let project = Project::scaffold(rscaffold)?;
    let rust = project.build()?;
    say("building the operator in Go, which takes minutes the first time");
    let go = contender::go()?;

    let results = in_turns([&rust, &go], extent.rounds, |contender, _| {
        play(contender, &project, &extent)
    })?;

    println!(
        "\n{} objects, in the median of rounds: {}",
        extent.objects, extent.rounds
    );
    let sizes = [rust.megabytes()?, go.megabytes()?];
    Ok(table::print(&rows(&extent, sizes, &results)))
}

/// Measures both operators in each round, one after the other, and prints the figures that `play` returns. `play` also
/// receives the index of the operator in `contenders`. Returns the figures of each operator.
fn in_turns<F: fmt::Display>(
    contenders: [&Contender; 2],
    rounds: usize,
    mut play: impl FnMut(&Contender, usize) -> Result<F>,
) -> Result<[Vec<F>; 2]> {
    let mut results = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let mut turns = [0, 1];
        // Each operator is first in every second round.
        if round % 2 == 1 {
            turns.reverse();
        }
        for turn in turns {
            let contender = contenders[turn];
            let name = contender.name;
            say(&format!("round {} of {rounds}: {name}", round + 1));
            let figures = play(contender, turn)
                .with_context(|| format!("failed to measure the operator in {name}"))?;
            say(&format!("  {figures}"));
            results[turn].push(figures);
        }
    }
    Ok(results)
}

/// Returns a row that compares the medians of a figure of both operators.
fn both<F>(
    results: &[Vec<F>; 2],
    what: &str,
    unit: &'static str,
    figure: impl Fn(&F) -> f64,
    target: Target,
) -> Row {
    let [rust, go] = results.each_ref().map(|rounds| median(rounds, &figure));
    Row {
        what: what.to_owned(),
        unit,
        rust,
        go: Some(go),
        target,
    }
}

/// Returns the compared figures with their targets.
fn rows(extent: &Extent, sizes: [f64; 2], results: &[Vec<Figures>; 2]) -> Vec<Row> {
    let row = |what: &str, unit, [rust, go]: [f64; 2], target| Row {
        what: what.to_owned(),
        unit,
        rust,
        go: Some(go),
        target,
    };
    let both = |what: &str, unit, figure: fn(&Figures) -> f64, target| {
        both(results, what, unit, figure, target)
    };
    // These figures must be 0 in every round, so the largest one counts.
    let none = |what: &str, figure: fn(&Figures) -> usize| {
        let most = |rounds: &Vec<Figures>| float(rounds.iter().map(figure).max().unwrap_or(0));
        row(what, "", results.each_ref().map(most), Target::Zero)
    };
    let rates = results.each_ref().map(|rounds| {
        let seconds = median(rounds, |figures| figures.all);
        float(extent.objects) / seconds
    });
    let third = Target::AtMostOfGo(1.0 / 3.0);
    // kube's scheduler delays each object until the next tick of a timer, which takes 1 to 2 ms.
    let latency = Target::AtMostOfGo(1.25);
    vec![
        row("objects made ready", "/s", rates, Target::AtLeastOfGo(0.95)),
        both(
            "- requests for each",
            "",
            |of| of.requests,
            Target::AtMostOfGo(1.0),
        ),
        both("- CPU", "s", |of| of.cpu, Target::AtMostOfGo(0.7)),
        both(
            "- CPU of the API server",
            "s",
            |of| of.api_server_cpu,
            Target::None,
        ),
        both(
            "change to status, median",
            "ms",
            |of| of.latency[0],
            latency,
        ),
        both("- 99th percentile", "ms", |of| of.latency[1], latency),
        both(
            "restart, nothing to do",
            "s",
            |of| of.restart,
            Target::AtMostOfGo(1.0),
        ),
        both("- CPU", "s", |of| of.restart_cpu, Target::AtMostOfGo(1.0)),
        none("- writes", |of| of.restart_writes),
        none(&format!("requests in {} s", extent.idle.as_secs()), |of| {
            of.idle_requests
        }),
        both("memory without objects", "MiB", |of| of.memory, third),
        both(
            "memory with all objects",
            "MiB",
            |of| of.memory_of_all,
            Target::AtMostOfGo(0.5),
        ),
        both(
            "start to the first ready",
            "s",
            |of| of.first,
            Target::AtMostOfGo(0.5),
        ),
        row("size of the program", "MB", sizes, third),
    ]
}

/// Measures one operator in one round, on its own control plane.
fn play(contender: &Contender, project: &Project, extent: &Extent) -> Result<Figures> {
    let stage = Stage::new(contender, project)?;

    let operator = stage.start()?;
    stage.wait_until_watching(&operator, &[])?;
    operator.settle()?;
    let memory = operator.memory()?;
    operator.stop()?;

    // One object exists before the operator starts.
    stage.create(0..1)?;
    let mut operator = stage.start()?;
    operator.wait_until_reconciled(1)?;
    let first = Window::since(operator.started);
    operator.stop()?;

    // All objects exist before the operator starts. So no client works at the same time as the operator, and the
    // operator does not wait for a client that creates objects.
    let count = 1 + extent.objects;
    stage.create(1..count)?;
    stage.settle()?;
    let requests_before = stage.answered()?;
    let api_server_before = stage.api_server_cpu()?;
    let mut operator = stage.start()?;
    operator.wait_until_reconciled(count)?;
    operator.settle()?;
    let cpu = operator.cpu()?;
    let api_server_cpu = stage.api_server_cpu()? - api_server_before;
    let all = Window::since(operator.started);
    let requests = stage.answered()? - requests_before;

    operator.settle()?;
    let since = Timestamp::now();
    thread::sleep(extent.idle);
    let idle = Window::since(since);
    let memory_of_all = operator.memory()?;

    let since = Timestamp::now();
    stage.change(1..count.min(1 + extent.changes))?;
    operator.settle()?;
    let changed = Window::since(since);
    stage.check(count)?;
    operator.stop()?;

    let mut operator = stage.start()?;
    let restart = operator.wait_until_reconciled(count)?;
    operator.settle()?;
    let restart_cpu = operator.cpu()?;
    let restarted = Window::since(operator.started);
    operator.stop()?;

    let sent = stage.sent()?;
    let counted = sent.within(all).counted();
    // The control plane itself may have sent one or two requests, which only the metrics count.
    ensure!(
        100 * counted.abs_diff(requests) <= counted,
        "the API server's metrics have {requests} requests, its audit log {counted}"
    );
    Ok(Figures {
        first: sent.within(first).until_ready(1)?,
        all: sent.within(all).until_ready(extent.objects)?,
        requests: float(requests) / float(extent.objects),
        cpu,
        api_server_cpu,
        latency: percentiles(sent.within(changed).latencies(&stage.changes(changed)?)?),
        restart,
        restart_cpu,
        restart_writes: sent.within(restarted).writes(),
        memory,
        memory_of_all,
        idle_requests: sent.within(idle).needless(),
        sorts: sent.within(all).sorts(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "all counts are far below 2^52")]
fn float(count: usize) -> f64 {
    count as f64
}

/// Returns the median and the 99th percentile.
fn percentiles(mut figures: Vec<f64>) -> [f64; 2] {
    figures.sort_by(f64::total_cmp);
    [figures.len() / 2, figures.len() * 99 / 100].map(|index| figures[index])
}

impl Extent {
    fn from_environment() -> Result<Self> {
        Ok(Self {
            rounds: number("ROUNDS", 5)?,
            objects: number("OBJECTS", 5000)?,
            changes: number("CHANGES", 500)?,
            idle: Duration::from_secs(number("IDLE", 30)? as u64),
        })
    }
}

/// Returns a number of at least 1 from the environment.
fn number(variable: &str, default: usize) -> Result<usize> {
    let Some(text) = env::var_os(variable) else {
        return Ok(default);
    };
    text.to_str()
        .and_then(|text| text.parse().ok())
        .filter(|number| *number > 0)
        .with_context(|| format!("`{variable}` is {}, and must be a number", text.display()))
}

fn say(line: &str) {
    eprintln!("{line}");
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "first after {:.3} s, all after {:.2} s (CPU {:.2} s), restarted in {:.2} s, {:.0} MiB, \
             {:.0?} ms after a change\n  {}",
            self.first,
            self.all,
            self.cpu,
            self.restart,
            self.memory_of_all,
            self.latency,
            self.sorts
        )
    }
}
