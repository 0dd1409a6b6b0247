//! Compiles what rscaffold scaffolds, and programs in Go.

use std::{
    fs, io,
    panic::Location,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::scaffold::{by_hand, plain_make, root, run};

/// Leaves out what a debugger needs: nobody debugs what is built here, and it takes most of the space.
pub const NO_DEBUG: (&str, &str) = ("CARGO_PROFILE_DEV_DEBUG", "0");

/// How long a build may take: the first one on a machine, which waits for those of other tests.
pub const BUILD_PATIENCE: Duration = Duration::from_secs(1200);

/// Where rendered projects are compiled: all in one folder, so that their dependencies are built once.
pub fn target() -> PathBuf {
    root().join("target/projects")
}

/// Where projects are scaffolded that are compiled.
fn projects() -> PathBuf {
    root().join("target/scaffolded")
}

/// An empty folder for a project of the test file that calls this. It is the same in each run, so that cargo finds
/// the artifacts of the last run.
#[track_caller]
pub fn scaffolded(name: &str) -> io::Result<PathBuf> {
    let file = Path::new(Location::caller().file()).file_stem();
    let file = file.unwrap_or_default();
    let folder = projects().join(file).join(name);
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

/// What stands for cargo: each state of a scaffolded project has artifacts that the next run finds again.
pub fn cargo_by_state() -> PathBuf {
    root().join("tests/operators/compile/cargo")
}

/// What [`cargo_by_state`] and the cargo behind it are told.
pub fn build_environment() -> [(&'static str, &'static str); 3] {
    // Nothing changes between two builds of one state.
    let whole = ("CARGO_INCREMENTAL", "0");
    [("CARGO_OF_TESTS", env!("CARGO")), NO_DEBUG, whole]
}

/// Cargo in `folder`, building into [`target`].
pub fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(cargo_by_state());
    by_hand(&mut cargo)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        .envs(build_environment());
    if let Some(patch) = patch(folder) {
        cargo.args(["--config", &patch]);
    }
    cargo
}

/// clippy in `folder`, for which each warning is an error.
pub fn clippy(folder: &Path, arguments: &[&str]) -> Command {
    let mut clippy = cargo(folder);
    clippy.args(["clippy", "--quiet"]).args(arguments);
    clippy.args(["--", "-D", "warnings"]);
    clippy
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
        .env("CARGO_TARGET_DIR", target())
        .envs(build_environment());
    let patch = patch(folder).map(|patch| format!(" --config '{patch}'"));
    make.arg(format!(
        "CARGO={}{}",
        cargo_by_state().display(),
        patch.unwrap_or_default()
    ));
    make
}

/// Builds `package` in the Go module `<module>` beside this file, which pins it, and gives the program.
pub fn go_build(module: &str, package: &str) -> PathBuf {
    let program = root().join("target").join(module);
    run(go("build", module)
        .args(["-trimpath", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(package)
        .env("CGO_ENABLED", "0"));
    program
}

/// The folder with the source of `dependency`, as the Go module `<module>` beside this file pins it.
pub fn go_source(module: &str, dependency: &str) -> PathBuf {
    let format = ["-m", "-f", "{{.Dir}}", dependency];
    let folder = run(go("list", module).args(format));
    PathBuf::from(folder.trim())
}

/// A command of Go in the module `<module>` beside this file, which it must leave as it is.
fn go(command: &str, module: &str) -> Command {
    let mut go = Command::new("go");
    go.args([command, "-mod=readonly"])
        .current_dir(root().join("tests/operators").join(module))
        .env("GOWORK", "off");
    go
}
