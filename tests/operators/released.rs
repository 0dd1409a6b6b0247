//! Runs rscaffold as a release does: a new project has its runtime from the registry. The rscaffold under development
//! refuses that, because the registry has the runtime of releases only; the tests replace it with the one of this work
//! tree.

use std::{env, ffi::OsString, process::ExitCode};

use rscaffold::{
    cli::{Cli, Unread},
    command::report::Outcome,
};

fn main() -> ExitCode {
    run().print()
}

fn run() -> Outcome {
    let mut words: Vec<OsString> = env::args_os().collect();
    let is_init = words.get(1).is_some_and(|command| command == "init");
    let has_runtime = words
        .iter()
        .any(|word| word.to_string_lossy().starts_with("--runtime"));
    if is_init && !has_runtime {
        words.push("--runtime=registry".into());
    }
    match (Cli::read(words), env::current_dir()) {
        (Ok(cli), Ok(folder)) => cli.run(&folder),
        (Err(Unread::Refused(error)), _) => Outcome::error(&error, Outcome::FAILURE),
        (Err(Unread::Shown(text)), _) => text.exit(),
        (_, Err(error)) => Outcome::error(&error.into(), Outcome::FAILURE),
    }
}
