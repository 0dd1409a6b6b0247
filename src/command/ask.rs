//! Asks for missing arguments at a terminal.
//!
//! The terminal stays in line mode: the end of input ends the question, and there is no terminal
//! state to restore.

use std::{
    fmt::Display,
    io::{self, IsTerminal},
    str::FromStr,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    command::report::{self, UsageError},
    names::in_backticks,
    visible::visible,
};

/// Fails if a flag is missing and there is no terminal to ask for its value.
pub fn possible(flags: &[(&str, bool)]) -> Result<()> {
    let missing = flags.iter().filter(|(_, is_set)| !is_set);
    let missing: Vec<_> = missing.map(|(flag, _)| flag).collect();
    ensure!(
        missing.is_empty() || is_possible(),
        UsageError(format!(
            "{} must be given: without a terminal, rscaffold cannot ask",
            in_backticks(&missing)
        ))
    );
    Ok(())
}

/// Whether a user can answer questions: input and messages are at a terminal.
pub fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// What a question shows, in the form of an answer.
#[derive(Debug, Clone, Copy)]
pub enum Offer<'a> {
    /// The meaning of an empty answer.
    Default(&'a str),
    /// A valid answer, where there is no default.
    Example(&'a str),
}

/// Asks until the answer is valid.
pub fn ask<T>(question: &str, offer: Offer) -> Result<T>
where
    T: FromStr<Err: Display>,
{
    ask_for(question, offer, |_| Ok(()))
}

/// Asks until the answer is valid and passes the `check`.
pub fn ask_for<T>(question: &str, offer: Offer, check: impl Fn(&T) -> Result<()>) -> Result<T>
where
    T: FromStr<Err: Display>,
{
    loop {
        let offered = match offer {
            Offer::Default(default) => format!(" [{default}]"),
            Offer::Example(example) => format!(", such as `{example}`"),
        };
        report::say(&visible(&format!("{question}{offered}: ")));
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        if read.context("failed to read the answer")? == 0 {
            report::say("\n");
            bail!("no answer was given to `{question}`");
        }
        let answer = match (line.trim(), offer) {
            ("", Offer::Default(default)) => default,
            ("", Offer::Example(_)) => {
                report::say("  there is no default, so an answer is needed\n");
                continue;
            }
            (answer, _) => answer,
        };
        let error = match answer.parse() {
            Ok(value) => match check(&value) {
                Ok(()) => return Ok(value),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        report::say(&format!("  {}\n", visible(&error)));
    }
}
