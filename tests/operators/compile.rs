//! Compiles what rscaffold scaffolds, and programs in Go.

use std::{
    fs::{self, File},
    io,
    panic::Location,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use walkdir::{DirEntry, WalkDir};

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

/// An empty folder for a project of the test file that calls this. It is the same in each run: cargo
/// then compiles again what has changed since the last run and nothing else.
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

/// Gives each file in `folder` that is what it was when this was last called the time that it had
/// then: cargo goes by times, and a project that was scaffolded again would be compiled again. Has to
/// be called before each build.
pub fn keep_times(folder: &Path) -> io::Result<()> {
    let Ok(name) = folder.strip_prefix(projects()) else {
        return Ok(());
    };
    let last = root().join("target/last-scaffolded").join(name);
    let is_source = |entry: &DirEntry| entry.file_name() != "target" && entry.file_name() != ".git";
    for entry in WalkDir::new(folder).into_iter().filter_entry(is_source) {
        let entry = entry?;
        if !entry.file_type().is_file() {
            continue;
        }
        let path = entry
            .path()
            .strip_prefix(folder)
            .map_err(io::Error::other)?;
        let (text, last) = (fs::read(entry.path())?, last.join(path));
        if fs::read(&last).is_ok_and(|last| last == text) {
            File::open(entry.path())?.set_modified(fs::metadata(last)?.modified()?)?;
        } else {
            fs::create_dir_all(last.parent().unwrap_or(&last))?;
            fs::write(&last, text)?;
            File::open(last)?.set_modified(entry.metadata()?.modified()?)?;
        }
    }
    Ok(())
}

/// Cargo in `folder`, building into [`target`].
pub fn cargo(folder: &Path) -> Command {
    let mut cargo = plain_cargo(folder);
    cargo.args(patched(folder));
    cargo
}

/// clippy in `folder`, for which each warning is an error. As a program of its own, it does not hear of what stands
/// before its name.
pub fn clippy(folder: &Path, arguments: &[&str]) -> Command {
    let mut clippy = plain_cargo(folder);
    clippy.arg("clippy").args(patched(folder));
    clippy.arg("--quiet").args(arguments);
    clippy.args(["--", "-D", "warnings"]);
    clippy
}

fn plain_cargo(folder: &Path) -> Command {
    keep_times(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut cargo = Command::new(env!("CARGO"));
    by_hand(&mut cargo)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        .env(NO_DEBUG.0, NO_DEBUG.1);
    cargo
}

/// The arguments that give a project the runtime of [`patch`].
fn patched(folder: &Path) -> impl Iterator<Item = String> {
    let patch = patch(folder).into_iter();
    patch.flat_map(|patch| ["--config".to_owned(), patch])
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
    keep_times(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut make = plain_make();
    make.args(arguments.split(' '))
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        .env(NO_DEBUG.0, NO_DEBUG.1);
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
