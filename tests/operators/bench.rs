//! How fast it is: rscaffold itself, and the operator that it scaffolds beside one in Go.
//! `make bench` runs this.

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::Result;

#[path = "bench/cli.rs"]
mod cli;
#[expect(dead_code, reason = "the tests use all of it")]
mod compile;
#[path = "bench/operators.rs"]
mod operators;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../scaffold.rs"]
mod scaffold;

/// rscaffold as users get it.
fn release() -> PathBuf {
    run(by_hand(&mut Command::new(env!("CARGO")))
        .args(["build", "--release", "--locked"])
        .current_dir(root()));
    root().join("target/release/rscaffold")
}

use scaffold::{by_hand, root, run};

fn main() -> Result<ExitCode> {
    let rscaffold = release();
    let good = [cli::bench(&rscaffold)?, operators::bench(&rscaffold)?];
    Ok(if good.contains(&false) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
