//! Runs a command in the current folder.

use std::{env, process::ExitCode};

use anyhow::{Context, Result};
use rscaffold::{cli::Cli, command::report::Outcome};

fn main() -> ExitCode {
    let outcome = run().unwrap_or_else(|error| Outcome::error(&error, Outcome::FAILURE));
    outcome.print()
}

fn run() -> Result<Outcome> {
    let cli = Cli::from_env()?;
    let folder = env::current_dir().context("failed to find the current folder")?;
    cli.ensure_available(env!("CARGO_PKG_VERSION"), &folder)?;
    Ok(cli.run(&folder))
}
