//! How fast it is: rscaffold itself, and the operator that it scaffolds beside one in Go.
//! `make bench` runs this.

use std::process::ExitCode;

use anyhow::Result;

#[path = "bench/cli.rs"]
mod cli;
#[path = "bench/operators.rs"]
mod operators;
#[expect(dead_code, reason = "the tests use all of it")]
mod scaffold;

fn main() -> Result<ExitCode> {
    let rscaffold = scaffold::release();
    let good = [cli::bench(&rscaffold)?, operators::bench(&rscaffold)?];
    Ok(if good.contains(&false) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
