//! A command that comes to its end at any of its writes, because it is killed or because the system
//! refuses: strace does that, at a call of its user's choice.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use tempfile::TempDir;
use walkdir::WalkDir;

use crate::scaffold::{rscaffold, run};

const RSCAFFOLD: &str = env!("CARGO_BIN_EXE_rscaffold");

/// The system calls that change files, on whatever machine; `openat` with `O_CREAT` alone.
const CALLS: &str = "openat,?open,?creat,write,writev,pwrite64,pwritev,ftruncate,fallocate,\
                     copy_file_range,sendfile,?rename,?renameat,renameat2,?mkdir,mkdirat,?unlink,\
                     unlinkat,?rmdir,?link,linkat,?symlink,symlinkat,?chmod,fchmod,fchmodat";

/// How the names of temporary files begin.
const TEMPORARY: &str = ".rscaffold-";

/// How many commands run at once.
const WORKERS: usize = 2;

const INTERRUPT: i32 = 2;
const KILL: i32 = 9;

/// Everything below a folder: its mode, and the text of a file or the target of a link.
type Tree = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

fn tree(folder: &Path) -> Tree {
    let entries = WalkDir::new(folder).min_depth(1).into_iter();
    let entries = entries.map(|entry| {
        let entry = entry.expect("a readable folder");
        let text = if entry.path_is_symlink() {
            let target = fs::read_link(entry.path()).expect("a link");
            Some(target.into_os_string().into_encoded_bytes())
        } else {
            fs::read(entry.path()).ok()
        };
        let mode = entry.metadata().expect("metadata").permissions().mode();
        let path = entry.path().strip_prefix(folder).expect("a path below");
        (path.to_owned(), (mode, text))
    });
    entries.collect()
}

/// The paths that are not the same in both.
fn differences<'a>(one: &'a Tree, other: &'a Tree) -> Vec<&'a Path> {
    let paths = one.keys().chain(other.keys());
    let differ = paths.filter(|path| one.get(*path) != other.get(*path));
    differ.map(PathBuf::as_path).collect()
}

/// A command, what it finds, and what it makes of it when nothing goes wrong.
struct Case {
    arguments: &'static str,
    start: TempDir,
    before: Tree,
    after: Tree,
    /// Its writes, in their order.
    writes: Vec<Call>,
}

/// A system call of a process.
#[derive(Debug)]
struct Call {
    name: String,
    /// Which one it is among those of this name.
    number: usize,
    /// As strace shows it.
    shown: String,
}

impl Call {
    /// The calls in what strace wrote down.
    fn all(log: &str) -> Vec<Self> {
        let mut numbers = BTreeMap::new();
        let calls = log.lines().filter_map(|line| {
            // The process is in front.
            let shown = line.split_once(' ')?.1.trim_start();
            let (name, _) = shown.split_once('(')?;
            let number = numbers.entry(name.to_owned()).or_default();
            *number += 1;
            Some(Self {
                name: name.to_owned(),
                number: *number,
                shown: shown.to_owned(),
            })
        });
        calls.collect()
    }

    fn is(&self, other: &Self) -> bool {
        (&self.name, self.number) == (&other.name, other.number)
    }

    /// Whether it changes a file.
    fn is_write(&self) -> bool {
        !self.name.starts_with("open") || self.shown.contains("O_CREAT")
    }

    /// Whether it changes a file of the project: all others are about temporary files and folders.
    fn is_change(&self) -> bool {
        let is_removal = self.name.starts_with("unlink") && !self.shown.contains(TEMPORARY);
        self.name.starts_with("rename") || is_removal
    }

    /// Whether nobody has to hear that it failed: all is said and done, or tidied up.
    fn may_fail(&self) -> bool {
        let is_of_folder = self.name == "rmdir" || self.shown.contains("AT_REMOVEDIR");
        let is_removal = self.name.starts_with("unlink") && !self.is_change();
        self.shown.starts_with("write(2,") || is_of_folder || is_removal
    }
}

impl Case {
    /// `init` in an empty folder.
    fn init() -> Self {
        let start = TempDir::new().expect("a temporary folder");
        Self::of(
            start,
            "init --domain com --repo guestbook --project-name guestbook",
        )
    }

    /// A command that creates, updates, merges and deletes, in a project that its user has changed.
    fn create_api() -> Self {
        let start = TempDir::new().expect("a temporary folder");
        let folder = start.path();
        rscaffold(
            Path::new(RSCAFFOLD),
            folder,
            "init --domain com --repo guestbook --project-name guestbook",
        );
        rscaffold(
            Path::new(RSCAFFOLD),
            folder,
            "create api --group webapp --version v1 --kind Guestbook",
        );
        let edit = |path: &str, edit: &dyn Fn(String) -> String| {
            let path = folder.join(path);
            let text = fs::read_to_string(&path).expect("a text");
            fs::write(path, edit(text)).expect("a writable file");
        };
        edit("src/api/webapp/v1/guestbook.rs", &|text| {
            text + "\n// a remark of the user\n"
        });
        edit("README.md", &|text| text + "\nOurs.\n");
        edit("PROJECT", &|text| format!("# of the user\n{text}"));
        // What a file is survives: read-only, private, a link.
        let mode = |path: &str, mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(folder.join(path), mode).expect("a file of ours");
        };
        mode("config/crd/kustomization.yaml", 0o444);
        mode("src/controller/mod.rs", 0o600);
        fs::create_dir(folder.join("ours")).expect("a writable folder");
        let link = folder.join("config/rbac/webapp_guestbook_admin_role.yaml");
        fs::rename(&link, folder.join("ours/role.yaml")).expect("a writable folder");
        symlink("../../ours/role.yaml", link).expect("a writable folder");
        Self::of(
            start,
            "create api --group webapp --version v1 --kind Guestbook --plural guests \
             --controller=false --force",
        )
    }

    fn of(start: TempDir, arguments: &'static str) -> Self {
        let before = tree(start.path());
        let mut case = Self {
            arguments,
            start,
            before,
            after: Tree::new(),
            writes: Vec::new(),
        };
        let (folder, log) = (case.copy(), TempDir::new().expect("a temporary folder"));
        let log = log.path().join("log");
        let said = run(&mut case.strace(folder.path(), &["--output", &log.to_string_lossy()]));
        assert_eq!(said, "");
        case.after = tree(folder.path());
        let calls = Call::all(&fs::read_to_string(log).expect("what strace wrote down"));
        case.writes = calls.into_iter().filter(Call::is_write).collect();
        case
    }

    /// A folder to run the command in.
    fn copy(&self) -> TempDir {
        let folder = TempDir::new().expect("a temporary folder");
        run(Command::new("cp")
            .arg("--archive")
            .arg(self.start.path().join("."))
            .arg(folder.path()));
        folder
    }

    /// The command in `folder`.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(RSCAFFOLD);
        command
            .args(self.arguments.split_ascii_whitespace())
            .current_dir(folder)
            .stdin(Stdio::null());
        command
    }

    /// The command in `folder`, under strace with these options.
    fn strace(&self, folder: &Path, options: &[&str]) -> Command {
        let mut command = Command::new("strace");
        command
            .args(["--follow-forks", "--quiet=all", "--trace"])
            .arg(CALLS)
            .args(options)
            .arg(RSCAFFOLD)
            .args(self.arguments.split_ascii_whitespace())
            .current_dir(folder)
            .stdin(Stdio::null());
        command
    }

    /// The command in `folder`, with `fault` in place of `call`.
    fn with(&self, folder: &Path, call: &Call, fault: &str) -> Output {
        let Call { name, number, .. } = call;
        let inject = format!("--inject={name}:{fault}:when={number}");
        let mut command = self.strace(folder, &["--output=/dev/null", &inject]);
        command.output().expect("strace runs")
    }

    /// No file is damaged: each is as it was, or as it will be.
    fn assert_whole(&self, now: &Tree, what: &str) {
        for path in differences(&self.before, now) {
            let name = path.file_name().expect("a name").to_string_lossy();
            assert!(
                now.get(path) == self.after.get(path) || name.starts_with(TEMPORARY),
                "{what}: {} is neither old nor new",
                path.display()
            );
        }
    }

    /// The same command, run once more, makes what it makes when nothing goes wrong.
    fn assert_completed(&self, folder: &Path, what: &str) {
        let whole = differences(&tree(folder), &self.after).is_empty();
        let output = self.command(folder).output().expect("rscaffold runs");
        let said = String::from_utf8_lossy(&output.stderr);
        // A project is not started twice.
        assert!(whole || output.status.success(), "{what}: {said}");
        let left = tree(folder);
        let differences = differences(&left, &self.after);
        assert!(differences.is_empty(), "{what}: {differences:?}\n{said}");
    }

    /// Ended by `signal` at each of `calls`.
    fn killed<'a>(&self, signal: i32, calls: impl IntoIterator<Item = &'a Call>) {
        each(calls, |call| {
            let folder = self.copy();
            let what = format!("signal {signal} at {}", call.shown);
            let ended = self.with(folder.path(), call, &format!("signal={signal}"));
            assert_eq!(ended.status.signal(), Some(signal), "{what}: {ended:?}");
            self.assert_whole(&tree(folder.path()), &what);
            self.assert_completed(folder.path(), &what);
        });
    }

    /// Refused by the system with `error`, to which it says `reason`, at each of `calls`.
    fn refused<'a>(&self, error: &str, reason: &str, calls: impl IntoIterator<Item = &'a Call>) {
        let first = self.writes.iter().position(Call::is_change);
        let begun = &self.writes[first.expect("a file that changes") + 1..];
        let calls = calls.into_iter().filter(|call| !call.may_fail());
        each(calls, |call| {
            let folder = self.copy();
            let what = format!("{error} at {}", call.shown);
            let ended = self.with(folder.path(), call, &format!("error={error}"));
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(1), "{what}: {said}");
            self.assert_named(&said, reason, &what);

            let left = tree(folder.path());
            if begun.iter().any(|other| other.is(call)) {
                assert!(
                    said.contains("\nhint: part of it is done; "),
                    "{what}: {said}"
                );
                self.assert_whole(&left, &what);
                self.assert_completed(folder.path(), &what);
            } else {
                let differences = differences(&self.before, &left);
                assert!(differences.is_empty(), "{what}: {differences:?}\n{said}");
            }
        });
    }

    /// One error names a file of the project, and why it cannot be written.
    fn assert_named(&self, said: &str, reason: &str, what: &str) {
        let mut lines = said.lines();
        let error = lines.next().unwrap_or_default();
        let path = error
            .strip_prefix("error: failed to write `")
            .or_else(|| error.strip_prefix("error: failed to remove `"))
            .and_then(|rest| rest.strip_suffix('`'))
            .unwrap_or_else(|| panic!("{what}: {said}"));
        let path = Path::new(path);
        assert!(
            self.before.contains_key(path) || self.after.contains_key(path),
            "{what}: {said}"
        );
        let causes: Vec<_> = lines
            .take_while(|line| !line.starts_with("hint:"))
            .collect();
        let cause = causes.last().copied().unwrap_or_default();
        assert!(cause.starts_with("  caused by: "), "{what}: {said}");
        assert!(cause.contains(reason), "{what}: {said}");
    }
}

/// Does `check` for each of `items`, some of them at once.
fn each<'a, T: Sync + 'a>(items: impl IntoIterator<Item = &'a T>, check: impl Fn(&T) + Sync) {
    let items: Vec<_> = items.into_iter().collect();
    assert!(!items.is_empty(), "nothing to check");
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(item);
                }
            });
        }
    });
}

#[test]
fn a_command_that_is_killed_at_any_write_is_completed_by_the_same_command() {
    for case in [Case::create_api(), Case::init()] {
        let names: BTreeSet<_> = case.writes.iter().map(|call| &*call.name).collect();
        assert!(names.len() >= 4, "{names:?}");
        case.killed(KILL, &case.writes);
        case.killed(INTERRUPT, case.writes.iter().step_by(10));
    }
}

#[test]
fn a_command_without_space_says_so_and_is_completed_when_there_is() {
    let (full, reason) = ("ENOSPC", "No space left on device");
    let case = Case::create_api();
    case.refused(full, reason, &case.writes);
    // Of many that are alike.
    let case = Case::init();
    case.refused(full, reason, case.writes.iter().step_by(3));
}

#[test]
fn a_command_that_may_not_write_says_so() {
    let case = Case::create_api();
    for (error, reason) in [
        ("EROFS", "Read-only file system"),
        ("EACCES", "Permission denied"),
    ] {
        // One of each sort.
        let mut seen = BTreeSet::new();
        let first = case.writes.iter().filter(|call| seen.insert(&call.name));
        case.refused(error, reason, first);
    }
}
