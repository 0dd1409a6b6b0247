//! Projects in which the tests run commands.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rscaffold::command::report::Outcome;
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::scaffold::{outcome, program, rscaffold, run};

/// The command that creates a project without a copy of the runtime. The files of the runtime are like all other files
/// and take time to write, so only the tests about these files have a copy.
pub const INIT: &str = "init --domain com --repo guestbook --runtime registry";

/// A project in a folder called `guestbook`. Commands run in this process, except for [`Project::command`].
pub struct Project {
    top: TempDir,
}

impl Project {
    /// Creates a project with these commands.
    pub fn new(commands: &[&str]) -> Self {
        let project = Self {
            top: TempDir::new().expect("a temporary folder"),
        };
        fs::create_dir(project.folder()).expect("a folder");
        project.all(commands);
        project
    }

    /// Returns a copy of the project with all of its files.
    pub fn copy(&self) -> Self {
        let copy = Self::new(&[]);
        let from = self.folder().join(".");
        run(Command::new("cp").arg("-a").arg(from).arg(copy.folder()));
        copy
    }

    /// Returns the folder of the project.
    pub fn folder(&self) -> PathBuf {
        self.top.path().join("guestbook")
    }

    /// Returns a command that runs rscaffold with these arguments in a separate process.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder());
        command
    }

    /// Runs rscaffold, and returns its output and its exit code.
    pub fn outcome(&self, arguments: &str) -> Outcome {
        outcome(&self.folder(), arguments)
    }

    /// Runs rscaffold, which must succeed, and returns its output.
    #[track_caller]
    pub fn run(&self, arguments: &str) -> Outcome {
        rscaffold(&self.folder(), arguments)
    }

    /// Runs rscaffold, which must fail, and returns its stderr.
    #[track_caller]
    pub fn refused(&self, arguments: &str) -> String {
        let outcome = self.outcome(arguments);
        assert_ne!(outcome.code, 0, "{arguments} succeeded");
        outcome.stderr
    }

    /// Runs rscaffold, which must succeed.
    #[track_caller]
    pub fn rscaffold(&self, arguments: &str) -> &Self {
        self.run(arguments);
        self
    }

    /// Runs rscaffold once for each of `commands`.
    pub fn all(&self, commands: &[&str]) -> &Self {
        for command in commands {
            self.rscaffold(command);
        }
        self
    }

    /// Returns the text of a file.
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

    /// Replaces `old` in a file, which must contain `old` exactly once.
    pub fn replace(&self, path: &str, old: &str, new: &str) -> &Self {
        let text = self.read(path);
        assert_eq!(text.matches(old).count(), 1, "{old} in {path}:\n{text}");
        self.write(path, &text.replace(old, new))
    }

    /// Returns a git command in the folder of the project.
    pub fn git(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=me", "-c", "user.email=me@example.com"])
            .args(arguments)
            .current_dir(self.folder())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git
    }

    /// Returns the files and folders of the project.
    pub fn tree(&self) -> Tree {
        tree(&self.folder())
    }
}

/// Returns a shell that runs `command` in `folder`, with rscaffold on its PATH. The shell sets the PATH, because a child
/// process with another PATH starts as a copy of this process, which takes longer.
pub fn shell(folder: &Path, command: &str) -> Command {
    let programs = program().parent().unwrap_or(Path::new("/"));
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("PATH=\"$0:$PATH\"; {command}")])
        .arg(programs)
        .current_dir(folder);
    shell
}

/// Files with their texts, and folders with `None`, by path.
pub type Tree = BTreeMap<PathBuf, Option<String>>;

/// Returns the files and folders below `folder`, without the folder `.git`.
pub fn tree(folder: &Path) -> Tree {
    let entries = WalkDir::new(folder).min_depth(1).into_iter();
    entries
        .filter_entry(|entry| entry.file_name() != ".git")
        .map(|entry| {
            let entry = entry.expect("a readable folder");
            let path = entry.path().strip_prefix(folder).expect("a path below");
            let is_file = entry.file_type().is_file();
            let text = is_file.then(|| fs::read_to_string(entry.path()).expect("a text"));
            (path.to_owned(), text)
        })
        .collect()
}

/// Fails with the differences unless both projects have the same files.
#[track_caller]
pub fn assert_same(actual: &Project, expected: &Project, why: &str) {
    let (actual, expected) = (actual.tree(), expected.tree());
    let mut differences = String::new();
    for path in actual.keys().chain(expected.keys()) {
        let (actual, expected) = (actual.get(path), expected.get(path));
        if actual != expected && !differences.contains(&format!("\n{}\n", path.display())) {
            let text = |side: Option<&Option<String>>| side.cloned().flatten().unwrap_or_default();
            let diff = diffy::create_patch(&text(expected), &text(actual)).to_string();
            differences.extend(["\n", &path.display().to_string(), "\n", &diff]);
        }
    }
    assert!(differences.is_empty(), "{why}:\n{differences}");
}
