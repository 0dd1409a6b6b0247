//! Runs rscaffold and other programs.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use clap::Parser;
use rscaffold::{cli::Cli, report::Outcome};

/// The top folder of this repository: it has the lock file of the workspace.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let top = folders.find(|folder| folder.join("Cargo.lock").is_file());
    top.unwrap_or_else(|| panic!("no folder above has a lock file"))
}

/// The rscaffold of this work tree, in the dev profile. Cargo builds it for the tests of its own package. `make test`
/// builds it with all tests, and names it by this variable. Otherwise, other packages build it on first use.
pub fn program() -> &'static Path {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        env::var_os("RSCAFFOLD").map_or_else(build, |program| root().join(program))
    });
    option_env!("CARGO_BIN_EXE_rscaffold").map_or_else(|| BUILT.as_path(), Path::new)
}

fn build() -> PathBuf {
    run(by_hand(&mut Command::new(env!("CARGO")))
        .args(["build", "--quiet", "--locked", "--bin=rscaffold"])
        .current_dir(root()));
    root().join("target/debug/rscaffold")
}

/// Runs rscaffold in `folder` with arguments separated by spaces, and gives what it said and its exit
/// code. This takes no process, which saves time.
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

/// Runs rscaffold in `folder` with arguments separated by spaces, and gives what it said.
///
/// # Panics
///
/// When it fails, with what it said.
#[track_caller]
pub fn rscaffold(folder: &Path, arguments: &str) -> Outcome {
    let outcome = outcome(folder, arguments);
    assert_eq!(outcome.code, 0, "{arguments}: {}", outcome.stderr);
    outcome
}

/// Runs `command` and gives its output.
///
/// # Panics
///
/// When it cannot be started or fails, with what it said.
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

/// Runs `command`, which has to fail, and gives what it said on stderr.
///
/// # Panics
///
/// When it cannot be started or succeeds.
pub fn refused(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{command:?} succeeded");
    stderr
}

/// make as a shell starts it.
pub fn plain_make() -> Command {
    let mut make = Command::new("make");
    by_hand(&mut make);
    make
}

/// Takes from `command` what cargo and make tell those whom they start: build scripts look at it, so
/// that what was built under one would be built again under the other.
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
