//! Measures the builds that users wait for: the first one of a new operator, beside that of a program which uses kube
//! alone, and one after a change.

use std::{fs, path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, ensure};

use super::{
    contender::{CONTROLLER, Project},
    say,
};
use crate::{
    compile::pin,
    edits, median,
    scaffold::{by_hand, root},
};

/// The maximum time of the first build, as a multiple of that of the plain program.
const MAX_RATIO: f64 = 1.4;

/// The maximum number of crates in the first build.
const MAX_CRATES: usize = 230;

/// The maximum time of a build after a change, in seconds.
const MAX_AGAIN: f64 = 3.0;

/// How often the controller is changed. The median time counts.
const CHANGES: usize = 5;

/// A build that has ended.
struct Build {
    seconds: f64,
    /// The names of the compiled crates, with their versions.
    crates: Vec<String>,
}

impl Build {
    /// Runs `cargo build` in `folder`, as a user does.
    fn run(folder: &Path) -> Result<Self> {
        let start = Instant::now();
        let output = by_hand(&mut Command::new(env!("CARGO")))
            .arg("build")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_INCREMENTAL")
            .current_dir(folder)
            .output()
            .context("failed to run cargo")?;
        let seconds = start.elapsed().as_secs_f64();
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo build: {told}");
        let lines = told.lines().map(str::trim_start);
        let crates = lines.filter_map(|line| line.strip_prefix("Compiling "));
        Ok(Self {
            seconds,
            crates: crates.map(str::to_owned).collect(),
        })
    }
}

/// Measures the builds, and returns whether all are within their limits.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let operator = Project::scaffold(rscaffold)?;
    let plain = operator.path().with_file_name("plain");
    copy_plain(&plain)?;

    say("building an operator, and a program that uses kube alone");
    let first = Build::run(&operator.path())?;
    let alone = Build::run(&plain)?;
    let mut again = Vec::new();
    let mut message = edits::MESSAGE.to_owned();
    for round in 1..=CHANGES {
        let next = format!("all is well, for the {round}th time");
        operator.edit(CONTROLLER, (&message, &next))?;
        message = next;
        let build = Build::run(&operator.path())?;
        ensure!(build.crates.len() == 1, "compiled: {:?}", build.crates);
        again.push(build.seconds);
    }
    let again = median(&again, |seconds| *seconds);

    let ratio = first.seconds / alone.seconds;
    let crates = first.crates.len();
    println!("\ncargo build, in the dev profile");
    for (build, what) in [
        (&first, "an operator"),
        (&alone, "a program with kube alone"),
    ] {
        let (seconds, crates) = (build.seconds, build.crates.len());
        println!("  the first of {what}: {seconds:.1} s, {crates} crates");
    }
    println!("  - {ratio:.2} times the time, at most {MAX_RATIO}; at most {MAX_CRATES} crates");
    println!("  after a change: {again:.1} s, at most {MAX_AGAIN} s");
    let is_good = ratio <= MAX_RATIO && crates <= MAX_CRATES && again <= MAX_AGAIN;
    if !is_good {
        println!("MISSED");
    }
    Ok(is_good)
}

/// Copies the program that uses kube alone to `folder`.
fn copy_plain(folder: &Path) -> Result<()> {
    let source = root().join("benches/plain");
    fs::create_dir_all(folder.join("src"))?;
    for file in ["Cargo.toml", "src/main.rs"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    pin(folder).context("failed to copy Cargo.lock")
}
