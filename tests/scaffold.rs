//! Runs rscaffold and other programs.

use std::{
    env,
    path::Path,
    process::{Command, Output},
};

use clap::Parser;
use rscaffold::{cli::Cli, command::report::Outcome};

/// Returns the top folder of this repository, which contains the lock file of the workspace.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let top = folders.find(|folder| folder.join("Cargo.lock").is_file());
    top.unwrap_or_else(|| panic!("no folder above has a lock file"))
}

/// Returns the path of this work tree's rscaffold, built in the dev profile. For tests of generated projects, that is a
/// program that runs rscaffold as a release does.
pub fn program() -> &'static Path {
    let rscaffold = option_env!("CARGO_BIN_EXE_rscaffold");
    let program = rscaffold.or(option_env!("CARGO_BIN_EXE_released"));
    Path::new(program.unwrap_or_else(|| panic!("this package has no rscaffold")))
}

/// Runs rscaffold in `folder` with arguments separated by spaces, and returns its output and its exit code. rscaffold
/// runs in this process, which saves time.
///
/// # Panics
///
/// When the arguments are malformed.
pub fn outcome(folder: &Path, arguments: &str) -> Outcome {
    console::set_colors_enabled_stderr(false);
    let all = ["rscaffold"]
        .into_iter()
        .chain(arguments.split_whitespace());
    let cli = Cli::try_parse_from(all).unwrap_or_else(|error| panic!("{arguments}: {error}"));
    cli.run(folder)
}

/// Runs rscaffold in `folder` with arguments separated by spaces, and returns its output.
///
/// # Panics
///
/// When rscaffold fails, with its stderr.
#[track_caller]
pub fn rscaffold(folder: &Path, arguments: &str) -> Outcome {
    let outcome = outcome(folder, arguments);
    assert_eq!(outcome.code, 0, "{arguments}: {}", outcome.stderr);
    outcome
}

/// Runs `command` and returns its stdout.
///
/// # Panics
///
/// When `command` cannot be started or fails, with its output.
pub fn run(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let (stdout, stderr) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Runs `command`, which must fail, and returns its stderr.
///
/// # Panics
///
/// When `command` cannot be started or succeeds.
pub fn refused(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{command:?} succeeded");
    stderr
}

/// Returns a make command without the variables of an outer cargo or make.
pub fn plain_make() -> Command {
    let mut make = Command::new("make");
    by_hand(&mut make);
    make
}

/// Removes from `command` the variables that cargo and make set for the programs that they start. Build scripts depend
/// on these variables: a program that was built with them would be built again without them.
pub fn by_hand(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        let of_cargo = [
            "CARGO_BIN_",
            "CARGO_CRATE_",
            "CARGO_MANIFEST_",
            "CARGO_PKG_",
        ];
        let is_theirs = ["CARGO", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"].contains(&&*name);
        if is_theirs || of_cargo.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    command
}
