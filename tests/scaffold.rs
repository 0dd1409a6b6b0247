//! Runs rscaffold and what it scaffolds.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The top folder of this repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs `rscaffold` in `folder` with arguments separated by spaces.
///
/// # Panics
///
/// When it fails, with what it said.
pub fn rscaffold(program: &Path, folder: &Path, arguments: &str) {
    run(Command::new(program)
        .args(arguments.split(' '))
        .current_dir(folder));
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

/// The release binary of rscaffold, as users get it.
pub fn release() -> PathBuf {
    run(cargo(root())
        .args(["build", "--release", "--locked"])
        .env_remove("CARGO_TARGET_DIR"));
    root().join("target/release/rscaffold")
}

/// Where rendered projects are compiled: all in one folder, so that their dependencies are built once.
pub fn target() -> PathBuf {
    root().join("target/projects")
}

/// Gives the package in `folder` the versions of dependencies that the golden projects were tested
/// with, and that are built already.
pub fn pin(folder: &Path) -> io::Result<()> {
    let lock = root().join("tests/golden/Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).map(drop)
}

/// Held by whoever uses what cargo built in [`target`]: two projects may have programs of one name.
pub fn building() -> MutexGuard<'static, ()> {
    static BUILDING: Mutex<()> = Mutex::new(());
    BUILDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cargo in `folder`, building into [`target`].
pub fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    by_hand(&mut cargo)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target());
    cargo
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

/// make in `folder` with arguments separated by spaces, and with cargo building into [`target`].
pub fn make(folder: &Path, arguments: &str) -> Command {
    let mut make = plain_make();
    make.args(arguments.split(' '))
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target());
    make.arg(format!("CARGO={}", env!("CARGO")));
    make
}

/// Builds `package` in the Go module `tests/<module>`, which pins it, and gives the program.
pub fn go_build(module: &str, package: &str) -> PathBuf {
    let program = root().join("target").join(module);
    run(Command::new("go")
        .args([
            "build",
            "-mod=readonly",
            "-trimpath",
            "-buildvcs=false",
            "-o",
        ])
        .arg(&program)
        .arg(package)
        .current_dir(root().join("tests").join(module))
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off"));
    program
}
