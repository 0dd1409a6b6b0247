//! Compiles what rscaffold scaffolds, and programs in Go.

use std::{
    fs, io,
    panic::Location,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::scaffold::{by_hand, plain_make, root, run};

/// Where rendered projects are compiled: all in one folder, so that their dependencies are built once.
pub fn target() -> PathBuf {
    root().join("target/projects")
}

/// An empty folder for a project of the test file that calls this. It is the same in each run: cargo
/// then compiles again what has changed since the last run and nothing else.
#[track_caller]
pub fn scaffolded(name: &str) -> io::Result<PathBuf> {
    let file = Path::new(Location::caller().file()).file_stem();
    let file = file.unwrap_or_default();
    let folder = root().join("target/scaffolded").join(file).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
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
        .env("CARGO_TARGET_DIR", target())
        .args(patch(folder).iter().flat_map(|patch| ["--config", patch]));
    cargo
}

/// What a project in `folder` that has its runtime from the registry gets instead: that of a golden
/// project. So it is built once for all of them.
fn patch(folder: &Path) -> Option<String> {
    let project = fs::read_to_string(folder.join("PROJECT")).ok()?;
    let runtime = root().join("tests/golden/guestbook/crates/kube-manager");
    let is_registry = project.lines().any(|line| line == "runtime: registry");
    is_registry.then(|| {
        format!(
            "patch.crates-io.kube-manager.path=\"{}\"",
            runtime.display()
        )
    })
}

/// make in `folder` with arguments separated by spaces, and with cargo building into [`target`].
pub fn make(folder: &Path, arguments: &str) -> Command {
    let mut make = plain_make();
    make.args(arguments.split(' '))
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target());
    let patch = patch(folder).map(|patch| format!(" --config '{patch}'"));
    make.arg(format!(
        "CARGO={}{}",
        env!("CARGO"),
        patch.unwrap_or_default()
    ));
    make
}

/// Builds `package` in the Go module `<module>` beside this file, which pins it, and gives the program.
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
        .current_dir(root().join("tests/operators").join(module))
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off"));
    program
}
