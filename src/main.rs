//! Parses the command line, runs the command, prints its error once.

use std::process::ExitCode;

use rscaffold::{cli::Cli, command, report};

fn main() -> ExitCode {
    Cli::from_env()
        .and_then(command::run)
        .unwrap_or_else(|error| {
            report::error(&error);
            command::exit_code(&error)
        })
}
