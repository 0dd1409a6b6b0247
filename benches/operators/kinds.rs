//! Measures both operators with many kinds, each with a controller: memory, time and CPU time of a start.

use std::{fmt, path::Path, time::Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    both,
    contender::{self, Contender, Project},
    in_turns, number,
    process::PREFIX,
    say,
    stage::Stage,
    table::{self, Row, Target},
};

/// The number of kinds.
const KINDS: u32 = 100;

/// The figures of one round of one operator.
struct Figures {
    /// The memory in MiB, without objects.
    memory: f64,
    /// The time from the start until one object of each kind is reconciled, in seconds.
    ready: f64,
    /// The CPU time of the operator until it is idle, in seconds.
    cpu: f64,
    /// The memory in MiB, with an object of each kind.
    memory_of_all: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "ready after {:.3} s (CPU {:.2} s), {:.1} MiB, with objects {:.1} MiB",
            self.ready, self.cpu, self.memory, self.memory_of_all
        )
    }
}

/// Compares both operators, and returns whether all targets are met.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let rounds = number("ROUNDS", 5)?;
    // Bench is the first kind.
    let kinds: Vec<_> = (1..KINDS)
        .map(|number| format!("Kind{number:02}"))
        .collect();
    say("building an operator of 100 kinds in Rust, which takes minutes the first time");
    let project = Project::scaffold(rscaffold)?;
    // This also builds the dependencies, so that their time does not count.
    let of_one_kind = project.build()?.megabytes()?;
    project.add_kinds(rscaffold, &kinds)?;
    let began = Instant::now();
    let rust = project.build()?;
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    say("building one in Go, which takes minutes the first time");
    let go = contender::go_with_kinds(&kinds)?;

    let results = in_turns([&rust, &go], rounds, |contender, _| {
        play(contender, &project, &kinds)
    })?;

    println!("\n{KINDS} kinds in one operator, in the median of rounds: {rounds}");
    let both = |what: &str, unit, figure: fn(&Figures) -> f64, target| {
        both(&results, what, unit, figure, target)
    };
    let less = Target::AtMostOfGo(0.55);
    let no_more = Target::AtMostOfGo(1.0);
    let mut rows = vec![
        both("memory without objects", "MiB", |of| of.memory, less),
        both(
            "- with one of each kind",
            "MiB",
            |of| of.memory_of_all,
            less,
        ),
        both("start to all ready", "s", |of| of.ready, no_more),
        both("- CPU", "s", |of| of.cpu, no_more),
    ];
    rows.push(Row {
        what: "size of the program".to_owned(),
        unit: "MB",
        rust: rust.megabytes()?,
        go: Some(go.megabytes()?),
        target: no_more,
    });
    for (what, unit, rust, limit) in [
        (
            "- of a further kind",
            "MB",
            (rust.megabytes()? - of_one_kind) / f64::from(KINDS - 1),
            0.2,
        ),
        ("release build", "min", minutes, 9.0),
    ] {
        rows.push(Row {
            what: what.to_owned(),
            unit,
            rust,
            go: None,
            target: Target::Below(limit),
        });
    }
    Ok(table::print(&rows))
}

/// Measures one operator in one round, on its own control plane.
fn play(contender: &Contender, project: &Project, kinds: &[String]) -> Result<Figures> {
    let stage = Stage::new(contender, project)?;
    let resources: Vec<_> = kinds.iter().map(|kind| kind.to_lowercase() + "s").collect();

    let operator = stage.start()?;
    stage.wait_until_watching(&operator, &resources)?;
    operator.settle()?;
    let memory = operator.memory()?;
    operator.stop()?;

    let all = [vec!["Bench".to_owned()], kinds.to_vec()].concat();
    let objects = all
        .iter()
        .enumerate()
        .map(|(number, kind)| object(number, kind));
    stage.create_all(&objects.collect::<Vec<_>>())?;
    let mut operator = stage.start()?;
    let ready = operator.wait_until_reconciled(all.len())?;
    operator.settle()?;
    let (cpu, memory_of_all) = (operator.cpu()?, operator.memory()?);
    operator.stop()?;
    Ok(Figures {
        memory,
        ready,
        cpu,
        memory_of_all,
    })
}

/// Returns the object of a kind.
fn object(number: usize, kind: &str) -> Value {
    json!({
        "apiVersion": "bench.example.com/v1",
        "kind": kind,
        "metadata": {"name": format!("{PREFIX}{number:05}")},
        "spec": {"title": format!("Number {number}")},
    })
}
