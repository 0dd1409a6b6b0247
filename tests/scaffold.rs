//! Runs rscaffold and what it scaffolds.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::TempDir;
use walkdir::WalkDir;

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

/// A new project in a folder called `guestbook`, with the debug binary.
pub struct Project {
    top: TempDir,
}

impl Project {
    /// The project that these commands make.
    pub fn new(commands: &[&str]) -> Self {
        let project = Self {
            top: TempDir::new().expect("a temporary folder"),
        };
        fs::create_dir(project.folder()).expect("a folder");
        project.all(commands);
        project
    }

    /// Another one that is the same, with all that it has.
    pub fn copy(&self) -> Self {
        let copy = Self::new(&[]);
        let from = self.folder().join(".");
        run(Command::new("cp").arg("-a").arg(from).arg(copy.folder()));
        copy
    }

    /// Where it is.
    pub fn folder(&self) -> PathBuf {
        self.top.path().join("guestbook")
    }

    /// rscaffold with these arguments.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rscaffold"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder());
        command
    }

    /// Runs rscaffold, which has to succeed.
    pub fn rscaffold(&self, arguments: &str) -> &Self {
        run(&mut self.command(arguments));
        self
    }

    /// Runs rscaffold once for each of these.
    pub fn all(&self, commands: &[&str]) -> &Self {
        for command in commands {
            self.rscaffold(command);
        }
        self
    }

    /// A file's text.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder().join(path))
            .unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a writable file");
        self
    }

    /// Replaces the only `old` in a file.
    pub fn replace(&self, path: &str, old: &str, new: &str) -> &Self {
        let text = self.read(path);
        assert_eq!(text.matches(old).count(), 1, "{old} in {path}:\n{text}");
        self.write(path, &text.replace(old, new))
    }

    /// git in the project.
    pub fn git(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=me", "-c", "user.email=me@example.com"])
            .args(arguments)
            .current_dir(self.folder())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git
    }

    /// Its files with their texts, and its folders with none; git's own left out.
    pub fn tree(&self) -> BTreeMap<PathBuf, Option<String>> {
        let folder = self.folder();
        let entries = WalkDir::new(&folder).min_depth(1).into_iter();
        entries
            .filter_entry(|entry| entry.file_name() != ".git")
            .map(|entry| {
                let entry = entry.expect("a readable folder");
                let path = entry.path().strip_prefix(&folder).expect("a path below");
                let is_file = entry.file_type().is_file();
                let text = is_file.then(|| fs::read_to_string(entry.path()).expect("a text"));
                (path.to_owned(), text)
            })
            .collect()
    }
}

/// Fails with the differences unless both are the same.
#[track_caller]
pub fn assert_same(actual: &Project, expected: &Project, why: &str) {
    let (actual, expected) = (actual.tree(), expected.tree());
    let mut differences = String::new();
    for path in actual.keys().chain(expected.keys()) {
        let (actual, expected) = (actual.get(path), expected.get(path));
        if actual != expected && !differences.contains(&format!("\n{}\n", path.display())) {
            let text = |side: Option<&Option<String>>| side.cloned().flatten().unwrap_or_default();
            let diff = diffy::create_patch(&text(expected), &text(actual)).to_string();
            differences += &format!("\n{}\n{diff}", path.display());
        }
    }
    assert!(differences.is_empty(), "{why}:\n{differences}");
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
