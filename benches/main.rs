//! Benchmarks of rscaffold itself, and of the scaffolded operator beside an operator in Go. `make bench` runs all
//! parts, `make bench ONLY=webhooks` runs one part.

use std::{env, path::Path, process::ExitCode};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

#[path = "../tests/scale/apis.rs"]
mod apis;
mod cli;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../tests/operators/compile.rs"]
mod compile;
mod edits;
#[path = "../tests/golden_projects.rs"]
mod golden_projects;
mod operators;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../tests/scaffold.rs"]
mod scaffold;
mod scale;

use scaffold::root;

/// Creates a temporary folder, in memory if there is a file system in memory. Some file systems on disk take several
/// times as long to create a file, for example ext4 without a journal after many files were deleted.
fn fast_folder() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        TempDir::new_in(memory)
    } else {
        TempDir::new()
    };
    folder.context("failed to create a temporary folder")
}

/// Returns the median of a figure.
fn median<T>(rounds: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A part of the benchmarks: its name, and a function that gets the path of rscaffold and returns whether all results
/// are within their limits.
type Part = (&'static str, fn(&Path) -> Result<bool>);

const PARTS: [Part; 7] = [
    ("cli", cli::bench),
    ("scale", scale::bench),
    ("builds", operators::builds::bench),
    ("operators", operators::bench),
    ("webhooks", operators::webhooks::bench),
    ("conversion", operators::conversion::bench),
    ("kinds", operators::kinds::bench),
];

fn main() -> Result<ExitCode> {
    ensure!(
        cfg!(target_os = "linux"),
        "operators can be compared on Linux alone, whose /proc tells what they take"
    );
    let only = env::var("ONLY").unwrap_or_default();
    let parts = PARTS
        .iter()
        .filter(|(name, _)| only.is_empty() || only == *name);
    let parts: Vec<_> = parts.collect();
    let names = PARTS.map(|(name, _)| name).join("`, `");
    ensure!(
        !parts.is_empty(),
        "`ONLY` is `{only}`, and must be one of `{names}`"
    );
    let rscaffold = compile::release(root());
    let mut good = true;
    for (_, bench) in parts {
        good &= bench(&rscaffold)?;
    }
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
