//! `rscaffold completion`

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{cli::Cli, report};

/// Prints the completion script of `shell`.
pub fn run(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "rscaffold", &mut script);
    report::data(&script)?;
    Ok(ExitCode::SUCCESS)
}
