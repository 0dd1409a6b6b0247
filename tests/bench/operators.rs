//! The operator that rscaffold makes, beside one in Go that does the same. They run in turns, on
//! API servers that are equal, and what counts is the ratio of their medians: so the machine, and
//! what else it does, counts little.

use std::{env, fmt, path::Path, thread, time::Duration};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

#[path = "operators/contender.rs"]
mod contender;
#[path = "operators/process.rs"]
mod process;
#[path = "operators/requests.rs"]
mod requests;
#[path = "operators/stage.rs"]
mod stage;
#[path = "operators/table.rs"]
mod table;

use contender::{Contender, Project};
use requests::Window;
use stage::Stage;
use table::{Row, Target};

/// How much is measured. `make bench ROUNDS=1 OBJECTS=500 IDLE=5` is a quick trial.
struct Extent {
    /// How often each operator is measured, in turns with the other; the median counts.
    rounds: usize,
    objects: usize,
    /// How long operators with nothing to do are watched.
    idle: Duration,
}

/// What one round says about one operator. Times are in seconds.
struct Figures {
    first: f64,
    all: f64,
    /// All but watches, for each object.
    requests: f64,
    cpu: f64,
    api_server_cpu: f64,
    restart: f64,
    restart_cpu: f64,
    restart_writes: usize,
    /// In MiB, without objects.
    memory: f64,
    /// The same with all objects.
    memory_of_all: f64,
    /// Neither watches nor for the lease.
    idle_requests: usize,
}

/// Compares, and says whether all of it is as it should be.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let extent = Extent::from_environment()?;
    say("building the operator in Rust, which takes minutes the first time");
    let project = Project::scaffold(rscaffold)?;
    let rust = project.build()?;
    say("building the operator in Go, which takes minutes the first time");
    let go = contender::go()?;
    say("timing builds after a change of the reconciler");
    let rebuild = median(&project.rebuilds(extent.rounds)?, |seconds| *seconds);

    let (mut of_rust, mut of_go) = (Vec::new(), Vec::new());
    for round in 0..extent.rounds {
        let mut turns = [(&rust, &mut of_rust), (&go, &mut of_go)];
        // Neither of them is always the first.
        if round % 2 == 1 {
            turns.reverse();
        }
        for (contender, results) in turns {
            say(&format!(
                "round {} of {}: {}",
                round + 1,
                extent.rounds,
                contender.name
            ));
            let figures = play(contender, &project, &extent)
                .with_context(|| format!("failed to measure the operator in {}", contender.name))?;
            say(&format!("  {figures}"));
            results.push(figures);
        }
    }

    println!(
        "\nMedians of {} rounds in turns, with {} objects",
        extent.rounds, extent.objects
    );
    let sizes = [rust.megabytes()?, go.megabytes()?];
    let mut rows = rows(&extent, sizes, |figure| {
        [median(&of_rust, figure), median(&of_go, figure)]
    });
    rows.push(Row {
        what: "cargo build after a change".to_owned(),
        unit: "s",
        rust: rebuild,
        go: None,
        target: Target::Below(3.0),
    });
    Ok(table::print(&rows))
}

/// What is compared, and what it shall be.
fn rows(
    extent: &Extent,
    [rust_size, go_size]: [f64; 2],
    medians: impl Fn(fn(&Figures) -> f64) -> [f64; 2],
) -> Vec<Row> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let objects = extent.objects as f64;
    let row = |what: &str, unit, [rust, go]: [f64; 2], target| Row {
        what: what.to_owned(),
        unit,
        rust,
        go: Some(go),
        target,
    };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let counts: [fn(&Figures) -> f64; 2] = [
        |figures| figures.restart_writes as f64,
        |figures| figures.idle_requests as f64,
    ];
    let rate = medians(|figures| figures.all).map(|seconds| objects / seconds);
    vec![
        row("objects made ready", "/s", rate, Target::AtLeastOfGo(0.95)),
        row(
            "- requests per object",
            "",
            medians(|figures| figures.requests),
            Target::AtMostOfGo(1.0),
        ),
        row(
            "- CPU of the operator",
            "s",
            medians(|figures| figures.cpu),
            Target::AtMostOfGo(0.7),
        ),
        row(
            "- CPU of the API server",
            "s",
            medians(|figures| figures.api_server_cpu),
            Target::None,
        ),
        row(
            "restart, nothing to do",
            "s",
            medians(|figures| figures.restart),
            Target::AtMostOfGo(1.0),
        ),
        row(
            "- CPU of the operator",
            "s",
            medians(|figures| figures.restart_cpu),
            Target::AtMostOfGo(1.0),
        ),
        row("- writes", "", medians(counts[0]), Target::Zero),
        row(
            &format!("requests in {} s", extent.idle.as_secs()),
            "",
            medians(counts[1]),
            Target::Zero,
        ),
        row(
            "memory without objects",
            "MiB",
            medians(|figures| figures.memory),
            Target::AtMostOfGo(1.0 / 3.0),
        ),
        row(
            "memory with all objects",
            "MiB",
            medians(|figures| figures.memory_of_all),
            Target::AtMostOfGo(0.5),
        ),
        row(
            "start to the first ready",
            "s",
            medians(|figures| figures.first),
            Target::AtMostOfGo(0.5),
        ),
        row(
            "size of the program",
            "MB",
            [rust_size, go_size],
            Target::AtMostOfGo(1.0 / 3.0),
        ),
    ]
}

/// One round of one operator, on a control plane of its own.
fn play(contender: &Contender, project: &Project, extent: &Extent) -> Result<Figures> {
    let stage = Stage::new(contender, project)?;

    let operator = stage.start()?;
    stage.wait_until_watching(&operator)?;
    operator.settle()?;
    let memory = operator.memory()?;
    operator.stop()?;

    // One object is there when the operator starts.
    stage.create(0..1)?;
    let mut operator = stage.start()?;
    operator.wait_until_reconciled(1)?;
    let first = Window::since(operator.started);
    operator.stop()?;

    // All objects are there when the operator starts, so that no one else works meanwhile, and
    // nobody waits for whoever creates them.
    let names = 1..=extent.objects;
    stage.create(1..extent.objects + 1)?;
    stage.settle()?;
    let requests_before = stage.answered()?;
    let api_server_before = stage.api_server_cpu()?;
    let mut operator = stage.start()?;
    operator.wait_until_reconciled(names.end() + 1)?;
    operator.settle()?;
    let cpu = operator.cpu()?;
    let api_server_cpu = stage.api_server_cpu()? - api_server_before;
    let all = Window::since(operator.started);
    let requests = stage.answered()? - requests_before;

    stage.check(extent.objects + 1)?;
    operator.settle()?;
    let since = Timestamp::now();
    thread::sleep(extent.idle);
    let idle = Window::since(since);
    let memory_of_all = operator.memory()?;
    operator.stop()?;

    let mut operator = stage.start()?;
    let restart = operator.wait_until_reconciled(extent.objects + 1)?;
    operator.settle()?;
    let restart_cpu = operator.cpu()?;
    let restarted = Window::since(operator.started);
    operator.stop()?;

    let sent = stage.sent()?;
    let counted = sent.within(all).counted();
    if counted != requests {
        bail!("the API server's metrics have {requests} requests, its audit log {counted}");
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    Ok(Figures {
        first: sent.within(first).until_ready(1)?,
        all: sent.within(all).until_ready(extent.objects)?,
        requests: requests as f64 / extent.objects as f64,
        cpu,
        api_server_cpu,
        restart,
        restart_cpu,
        restart_writes: sent.within(restarted).writes(),
        memory,
        memory_of_all,
        idle_requests: sent.within(idle).needless(),
    })
}

/// The middle one.
fn median<T>(rounds: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

impl Extent {
    fn from_environment() -> Result<Self> {
        Ok(Self {
            rounds: number("ROUNDS", 5)?,
            objects: number("OBJECTS", 5000)?,
            idle: Duration::from_secs(number("IDLE", 30)? as u64),
        })
    }
}

/// A number of at least 1 from the environment.
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
            "first after {:.3} s, all after {:.2} s (CPU {:.2} s), restarted in {:.2} s, {:.0} MiB",
            self.first, self.all, self.cpu, self.restart, self.memory_of_all
        )
    }
}
