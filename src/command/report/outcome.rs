//! The outcome of a command.

use std::process::ExitCode;

use super::message::{data, error_text, say};
use crate::hint;

/// What a command prints, and its exit code.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Data, for stdout.
    pub stdout: String,
    /// Messages, for stderr.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl Outcome {
    /// The exit code of a command that failed.
    pub const FAILURE: u8 = 1;
    /// The exit code for a malformed command line; clap uses the same.
    pub const USAGE: u8 = 2;

    /// The outcome of a command that prints only data.
    pub fn data(stdout: String) -> Self {
        Self {
            stdout,
            ..Self::default()
        }
    }

    /// The outcome of a command that ended with `error`: the exit code is `failure`, unless the
    /// command line is malformed.
    pub fn error(error: &anyhow::Error, failure: u8) -> Self {
        let is_usage = hint::is::<UsageError>(error);
        Self {
            stderr: error_text(error),
            code: if is_usage { Self::USAGE } else { failure },
            ..Self::default()
        }
    }

    /// Prints the texts, and returns the exit code.
    pub fn print(&self) -> ExitCode {
        if let Err(error) = data(self.stdout.as_bytes()) {
            say(&error_text(&error));
            // With `diff --exit-code`, 1 means a difference, and 2 a failure.
            return ExitCode::from(Self::FAILURE + u8::from(self.code > 0));
        }
        say(&self.stderr);
        ExitCode::from(self.code)
    }
}

/// A malformed command line. The error does not depend on the project.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::hint::OrHint;

    #[test]
    fn a_malformed_command_line_has_an_exit_code_of_its_own() {
        console::set_colors_enabled_stderr(false);
        let outcome = Outcome::error(&anyhow!("no such file"), 7);
        assert_eq!(outcome.code, 7);
        assert_eq!(outcome.stderr, "error: no such file\n");

        let usage = || UsageError("`--domain` needs a value".to_owned());
        assert_eq!(Outcome::error(&usage().into(), 7).code, Outcome::USAGE);
        let hinted = Err::<(), _>(usage()).or_hint("`--domain com`");
        assert_eq!(Outcome::error(&hinted.unwrap_err(), 7).code, Outcome::USAGE);
    }
}
