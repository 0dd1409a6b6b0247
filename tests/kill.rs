//! Tests commands that end at one of their writes, because a signal kills the command or because the write fails.
//! strace injects the signal or the error at the selected call.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    branches::{merged, open},
    parallel::{each, sample},
    project::{INIT, Project},
    scaffold::run,
};

/// The system calls that change files, on every architecture. `openat` and similar calls count only with `O_CREAT`.
const CALLS: &str = "openat,?openat2,?open,?creat,write,writev,pwrite64,pwritev,ftruncate,fallocate,\
                     copy_file_range,sendfile,?rename,?renameat,renameat2,?mkdir,mkdirat,?unlink,\
                     unlinkat,?rmdir,?link,linkat,?symlink,symlinkat,?chmod,fchmod,fchmodat";

/// The prefix of the names of temporary files.
const TEMPORARY: &str = ".rscaffold-";

/// The name of the marker while a command changes files.
const BEGUN: &str = ".rscaffold-begun";

const INTERRUPT: i32 = 2;
const KILL: i32 = 9;

/// All files and folders below a folder: the mode, and the text of a file or the target of a link.
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

/// Returns the paths that differ between the two trees.
fn differences<'a>(one: &'a Tree, other: &'a Tree) -> Vec<&'a Path> {
    let paths = one.keys().chain(other.keys());
    let differ = paths.filter(|path| one.get(*path) != other.get(*path));
    differ.map(PathBuf::as_path).collect()
}

/// A command, the project before the command, and the project after a run without faults.
struct Case {
    arguments: &'static str,
    start: Project,
    before: Tree,
    after: Tree,
    /// The writes of the command, in order.
    writes: Vec<Call>,
}

/// A system call of a process.
#[derive(Debug)]
struct Call {
    name: String,
    /// The number of the call among the calls with the same name, from 1.
    number: usize,
    /// The call as strace prints it.
    shown: String,
}

impl Call {
    /// Returns the calls in the output of strace.
    fn all(log: &str) -> Vec<Self> {
        let mut numbers = BTreeMap::new();
        let calls = log.lines().filter_map(|line| {
            // Each line starts with the process ID.
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

    /// Whether the call changes a file.
    fn is_write(&self) -> bool {
        !self.name.starts_with("open") || self.shown.contains("O_CREAT")
    }

    /// Whether the call changes a file of the project. All other writes concern temporary files, and folders.
    fn is_change(&self) -> bool {
        let is_removal = self.name.starts_with("unlink") && !self.shown.contains(TEMPORARY);
        self.name.starts_with("rename") && !self.shown.contains(BEGUN) || is_removal
    }

    /// Whether the command does not have to report a failure of this call: the call prints a message, or cleans up.
    fn may_fail(&self) -> bool {
        let is_of_folder = self.name == "rmdir" || self.shown.contains("AT_REMOVEDIR");
        let is_removal = self.name.starts_with("unlink") && !self.is_change();
        let is_end = self.shown.contains(&format!("\"{BEGUN}\", "));
        self.shown.starts_with("write(2,") || is_of_folder || is_removal || is_end
    }
}

impl Case {
    /// Returns the case of `init` in an empty folder.
    fn init() -> Self {
        Self::of(
            Project::new(&[]),
            "init --domain com --repo guestbook --runtime vendored",
        )
    }

    /// Returns the case of a command that creates, updates, merges and deletes files.
    fn create_api() -> Self {
        Self::of(
            edited_project(),
            "create api --group webapp --version v1 --kind Guestbook --plural guests \
             --controller=false --force",
        )
    }

    /// Returns the case of a command that creates files from other files, and also changes these other files.
    fn create_version() -> Self {
        Self::of(
            edited_project(),
            "create api --group webapp --version v2 --kind Guestbook --storage --force",
        )
    }

    /// Returns the case of a command that leaves no file in many folders.
    fn delete_api() -> Self {
        Self::of(
            edited_project(),
            "delete api --group webapp --version v1 --kind Guestbook --on-conflict=theirs",
        )
    }

    /// Returns the case of a command that writes conflict markers into a file that one branch deleted and the other one
    /// edited.
    fn merge() -> Self {
        let project = merged(
            &[
                INIT,
                "create api --group webapp --version v1 --kind Guestbook",
            ],
            |project| {
                let controller = "src/controller/webapp/guestbook.rs";
                project.write(controller, &(project.read(controller) + "// Ours.\n"));
                project.rscaffold("edit --enable grafana");
            },
            |project| {
                project.rscaffold("delete api --group webapp --version v1 --kind Guestbook");
            },
        );
        assert!(!open(&project).is_empty());
        Self::of(project, "apply --on-conflict=markers")
    }

    fn of(start: Project, arguments: &'static str) -> Self {
        let (folder, log) = (start.copy(), TempDir::new().expect("a temporary folder"));
        let log = log.path().join("log");
        let output = format!("--output={}", log.display());
        run(&mut strace(&folder.command(arguments), &[&output]));
        let calls = Call::all(&fs::read_to_string(log).expect("what strace wrote down"));
        Self {
            arguments,
            before: tree(&start.folder()),
            start,
            after: tree(&folder.folder()),
            writes: calls.into_iter().filter(Call::is_write).collect(),
        }
    }

    /// Runs the command in `project`. strace injects `fault` at `call`.
    fn with(&self, project: &Project, call: &Call, fault: &str) -> Output {
        let Call { name, number, .. } = call;
        let inject = format!("--inject={name}:{fault}:when={number}");
        let mut options = vec!["--output=/dev/null", &inject];
        // With this option, strace stops the process only at these calls, which takes a third of the time. But strace
        // loses a signal that it injects at such a stop.
        if fault.starts_with("error=") {
            options.push("--seccomp-bpf");
        }
        let mut command = strace(&project.command(self.arguments), &options);
        command.output().expect("strace runs")
    }

    /// Checks that no file is damaged: each file has its state before the command or after the command.
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

    /// Checks that a second run of the same command produces the result of a run without faults.
    fn assert_completed(&self, project: &Project, what: &str) {
        let is_temporary = |path: &Path| path.to_string_lossy().contains(TEMPORARY);
        let before = tree(&project.folder());
        let mut left = differences(&before, &self.after).into_iter();
        let whole = left.all(is_temporary);
        let output = project.command(self.arguments).output();
        let output = output.expect("rscaffold runs");
        let said = String::from_utf8_lossy(&output.stderr);
        // `init` refuses a project that is already complete.
        assert!(whole || output.status.success(), "{what}: {said}");
        let left = tree(&project.folder());
        let mut differences = differences(&left, &self.after);
        if !output.status.success() {
            // A command that is refused changes nothing, so it does not remove temporary files either.
            differences.retain(|path| !is_temporary(path));
        }
        assert!(differences.is_empty(), "{what}: {differences:?}\n{said}");
    }

    /// Kills the command with `signal` at each of `calls`, and checks that a second run completes the work.
    fn killed<'a>(&self, signal: i32, calls: impl IntoIterator<Item = &'a Call>) {
        each(calls, |call| {
            let project = self.start.copy();
            let what = format!("signal {signal} at {}", call.shown);
            let ended = self.with(&project, call, &format!("signal={signal}"));
            assert_eq!(ended.status.signal(), Some(signal), "{what}: {ended:?}");
            self.assert_whole(&tree(&project.folder()), &what);
            self.assert_completed(&project, &what);
        });
    }

    /// Makes each of `calls` fail with `error`, and checks that the command reports `reason`.
    fn refused<'a>(&self, error: &str, reason: &str, calls: impl IntoIterator<Item = &'a Call>) {
        let first = self.writes.iter().position(Call::is_change);
        let begun = &self.writes[first.expect("a file that changes") + 1..];
        let calls = calls.into_iter().filter(|call| !call.may_fail());
        each(calls, |call| {
            let project = self.start.copy();
            let what = format!("{error} at {}", call.shown);
            let ended = self.with(&project, call, &format!("error={error}"));
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(1), "{what}: {said}");
            self.assert_named(&said, reason, &what);

            let left = tree(&project.folder());
            if begun.iter().any(|other| other.is(call)) {
                assert!(
                    said.contains("\nhint: some changes are made; "),
                    "{what}: {said}"
                );
                self.assert_whole(&left, &what);
                self.assert_completed(&project, &what);
            } else {
                let differences = differences(&self.before, &left);
                assert!(differences.is_empty(), "{what}: {differences:?}\n{said}");
            }
        });
    }

    /// Checks that there is one error, which names a file of the project and the reason of the failure.
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
        assert!(!said.contains(TEMPORARY), "{what}: {said}");
    }
}

/// Creates a project with an API and edits of its user.
fn edited_project() -> Project {
    let project = Project::new(&[
        INIT,
        "create api --group webapp --version v1 --kind Guestbook",
    ]);
    for (path, line) in [
        (
            "src/api/webapp/v1/guestbook.rs",
            "// a remark of the user\n",
        ),
        ("README.md", "Ours.\n"),
        ("PROJECT", "# a remark of the user\n"),
    ] {
        project.write(path, &(project.read(path) + line));
    }
    // The command must keep these properties of a file: read-only, private, a link.
    let folder = project.folder();
    for (path, mode) in [
        ("config/crd/kustomization.yaml", 0o444),
        ("src/controller/mod.rs", 0o600),
    ] {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.join(path), mode).expect("a file of ours");
    }
    let link = "config/samples/webapp_v1_guestbook.yaml";
    project.write("ours/sample.yaml", &project.read(link));
    fs::remove_file(folder.join(link)).expect("a writable folder");
    symlink("../../ours/sample.yaml", folder.join(link)).expect("a writable folder");
    project
}

/// Returns `command` under strace with these options.
fn strace(command: &Command, options: &[&str]) -> Command {
    // A process that was started in the background may ignore Ctrl-C, and its child processes inherit this.
    let mut strace = Command::new("env");
    strace
        .args(["--default-signal=INT", "strace"])
        .args(["--follow-forks", "--quiet=all", "--trace", CALLS])
        .args(options)
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().expect("a folder"))
        .stdin(Stdio::null());
    strace
}

#[test]
fn a_command_that_is_killed_at_any_write_is_completed_by_the_same_command() {
    for case in [
        Case::create_api(),
        Case::create_version(),
        Case::delete_api(),
        Case::init(),
    ] {
        let names: BTreeSet<_> = case.writes.iter().map(|call| &*call.name).collect();
        assert!(names.len() >= 4, "{names:?}");
        case.killed(KILL, sample(&case.writes, 60));
        case.killed(INTERRUPT, case.writes.iter().step_by(25));
    }
}

#[test]
fn conflict_markers_in_a_file_that_one_branch_deleted_stay_known_after_a_kill() {
    let case = Case::merge();
    // The commands of git that rscaffold runs make other calls.
    let changes: Vec<_> = case.writes.iter().filter(|call| call.is_change()).collect();
    assert!(changes.len() > 2, "{changes:?}");
    case.killed(KILL, changes);
}

#[test]
fn no_other_command_takes_the_files_of_a_killed_command_for_edits() {
    let files = |project: &Project| {
        let mut files = tree(&project.folder());
        // Temporary files are ignored by git, and so are empty folders.
        files.retain(|path, (_, text)| {
            text.is_some() && !path.to_string_lossy().contains(TEMPORARY)
        });
        files
    };
    let other = "edit --enable grafana";
    for case in [Case::create_api(), Case::create_version()] {
        let unchanged = files(case.start.copy().rscaffold(other));
        let changed = files(case.start.copy().all(&[case.arguments, other]));
        let done = files(case.start.copy().all(&[case.arguments]));
        each(sample(&case.writes, 60), |call| {
            let project = case.start.copy();
            let what = format!("killed at {}", call.shown);
            case.with(&project, call, &format!("signal={KILL}"));
            let outcome = project.outcome(other);
            if outcome.code == 0 {
                let now = files(&project);
                assert!(now == unchanged || now == changed, "{what}");
            } else {
                let reason = "error: a command was interrupted while it changed files\n";
                assert!(
                    outcome.stderr.starts_with(reason),
                    "{what}: {}",
                    outcome.stderr
                );
                // Only the marker may be left.
                if files(&project) != done {
                    project.refused("diff");
                }
            }
        });
    }
}

#[test]
fn a_command_on_a_full_disk_reports_it_and_can_be_completed() {
    let (full, reason) = ("ENOSPC", "No space left on device");
    let case = Case::create_api();
    case.refused(full, reason, sample(&case.writes, 60));
    // Many writes of `init` are alike, so this tests a third of them.
    let case = Case::init();
    case.refused(full, reason, sample(&case.writes, 60).step_by(3));
}

#[test]
fn a_command_without_write_permission_reports_it() {
    let case = Case::create_api();
    for (error, reason) in [
        ("EROFS", "Read-only file system"),
        ("EACCES", "Permission denied"),
    ] {
        // The first call of each name.
        let mut seen = BTreeSet::new();
        let first = case.writes.iter().filter(|call| seen.insert(&call.name));
        case.refused(error, reason, first);
    }
}
