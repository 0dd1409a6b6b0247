use std::{fs, process::Command};

use tempfile::TempDir;

use super::*;
use crate::{
    project::{Feature, License},
    reconcile::{Change, Kept, Reason},
    worktree::{Commit, Commits},
};

const VALUES: &str = "charts/guestbook/values.yaml";
const MOVED: &str = "charts/library/values.yaml";

/// A project with a chart.
pub(super) fn guestbook() -> Project {
    let (domain, name) = ("com".parse().unwrap(), "guestbook".parse().unwrap());
    Project {
        features: [Feature::Helm].into(),
        license: License::None,
        ..Project::new(domain, name, "guestbook".parse().unwrap())
    }
}

/// The same under another name, which is in the paths of its chart.
fn library() -> Project {
    Project {
        project_name: "library".parse().unwrap(),
        ..guestbook()
    }
}

/// A commit that has this project, and the texts that rscaffold wrote last.
pub(super) fn commit(project: &Project, texts: Texts) -> Commit {
    Commit {
        project: Some(project.to_text().unwrap()),
        record: Record {
            texts,
            ..Record::default()
        },
    }
}

/// The folder of a project.
struct Folder(TempDir);

impl Folder {
    /// The project `guestbook`, as it is rendered.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.apply(None, guestbook());
        folder
    }

    fn files(&self, before: Option<Project>, after: Project, policy: &Policy) -> Result<Files> {
        let tree = WorkTree::open(self.0.path())?;
        let turn = Turn {
            tree: &tree,
            before,
            after,
            record: tree.record()?,
            branches: None,
        };
        turn.files(policy)
    }

    fn plan(&self, before: Option<Project>, after: Project) -> Plan {
        let policy = Policy::default();
        self.files(before, after, &policy)
            .unwrap()
            .plan(&policy)
            .unwrap()
    }

    fn apply(&self, before: Option<Project>, after: Project) -> Plan {
        let policy = Policy::default();
        let files = self.files(before, after, &policy).unwrap();
        let plan = files.plan(&policy).unwrap();
        let tree = WorkTree::open(self.0.path()).unwrap();
        tree.apply(&plan, &files.record(&plan)).unwrap();
        plan
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn edit(&self, path: &str, edit: impl Fn(&str) -> String) {
        self.write(path, &edit(&self.read(path)));
    }

    fn has(&self, path: &str) -> bool {
        self.0.path().join(path).exists()
    }

    /// Runs git, and gives whether git did what it was asked for.
    fn git(&self, arguments: &[&str]) -> bool {
        let output = Command::new("git")
            .args(["-c", "user.name=me", "-c", "user.email=me@example.com"])
            .args(arguments)
            .current_dir(self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        output.status.success()
    }
}

fn with_three_replicas(values: &str) -> String {
    assert!(values.contains("\nreplicas: 1\n"), "{values}");
    values.replace("\nreplicas: 1\n", "\nreplicas: 3\n")
}

#[test]
fn a_second_turn_changes_nothing() {
    let folder = Folder::new();
    assert!(folder.plan(Some(guestbook()), guestbook()).is_noop());
}

#[test]
fn the_files_of_both_projects_are_read_from_the_disk() {
    let folder = Folder::new();
    folder.edit(VALUES, with_three_replicas);
    folder.write(MOVED, "mine\n");
    let files = folder.files(Some(guestbook()), library(), &Policy::default());
    let files = files.unwrap();
    for path in [VALUES, MOVED, Project::FILE] {
        assert_eq!(files.disk()[path], folder.read(path));
    }
}

#[test]
fn a_policy_is_for_files_that_the_tool_writes() {
    let folder = Folder::new();
    folder.write("notes.md", "mine\n");
    let files = folder.files(Some(guestbook()), guestbook(), &Policy::default());
    let files = files.unwrap();
    let plan = |path: &str| {
        let by_path = [(path.to_owned(), OnConflict::Ours)].into();
        files.plan(&Policy {
            by_path,
            ..Policy::default()
        })
    };
    assert!(plan(VALUES).unwrap().is_noop());
    let error = plan("notes.md").unwrap_err().to_string();
    let expected = "`--on-conflict` names `notes.md`, which is not a file that rscaffold writes ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn edits_move_with_a_file_whose_path_changes() {
    let folder = Folder::new();
    folder.edit(VALUES, with_three_replicas);
    let plan = folder.apply(Some(guestbook()), library());
    assert!(matches!(plan.changes[MOVED], Change::Merge(_)));
    assert_eq!(plan.changes[VALUES], Change::Delete);
    assert!(folder.read(MOVED).contains("\nreplicas: 3\n"));
    assert!(!folder.has("charts/guestbook"));
    // And back again.
    folder.apply(Some(library()), guestbook());
    assert!(folder.read(VALUES).contains("\nreplicas: 3\n"));
}

#[test]
fn edits_move_after_an_edit_of_the_project_by_hand() {
    let shelf = Project {
        project_name: "shelf".parse().unwrap(),
        ..guestbook()
    };
    // The name that the user wrote may be another one than that of the command that comes next.
    for by_hand in [library(), shelf] {
        let folder = Folder::new();
        folder.edit(VALUES, with_three_replicas);
        folder.write(Project::FILE, &by_hand.to_text().unwrap());
        folder.apply(Some(by_hand), library());
        assert!(folder.read(MOVED).contains("\nreplicas: 3\n"));
    }
}

#[test]
fn a_derived_file_does_not_move() {
    let (old, new) = (
        "charts/guestbook/files/role.yaml",
        "charts/library/files/role.yaml",
    );
    let folder = Folder::new();
    folder.edit(old, |text| {
        format!("{text}# as `make manifests` wrote it\n")
    });
    let plan = folder.plan(Some(guestbook()), library());
    let render = render(&library()).unwrap().texts;
    assert_eq!(plan.changes[new], Change::Create(render[new].clone()));
    assert_eq!(plan.changes[old], Change::Delete);
    assert!(plan.is_stale);
}

#[test]
fn a_deleted_file_stays_deleted_at_its_new_path() {
    let folder = Folder::new();
    fs::remove_file(folder.0.path().join(VALUES)).unwrap();
    let plan = folder.apply(Some(guestbook()), library());
    assert!(matches!(
        plan.changes[MOVED],
        Change::Keep(Kept::Removed | Kept::RemovedWithNews)
    ));
    assert!(!folder.has(MOVED));
}

#[test]
fn a_file_in_the_place_of_one_that_moves_is_a_conflict() {
    let folder = Folder::new();
    folder.write(MOVED, "mine\n");
    let plan = folder.plan(Some(guestbook()), library());
    let conflicts: Vec<_> = plan
        .conflicts()
        .map(|(path, it)| (path.as_str(), it.reason))
        .collect();
    assert_eq!(conflicts, [(MOVED, Reason::Occupied)]);
}

#[test]
fn a_move_that_was_killed_is_completed() {
    let folder = Folder::new();
    folder.edit(VALUES, with_three_replicas);
    let old = folder.read(VALUES);
    folder.apply(Some(guestbook()), library());
    let (new, record) = (
        folder.read(MOVED),
        folder.read(crate::worktree::LAST_APPLIED),
    );
    // Killed after the file was written to its new path, before it left the old one, and after that.
    for is_there in [true, false] {
        let folder = Folder::new();
        folder.write(MOVED, &new);
        if is_there {
            folder.write(VALUES, &old);
        } else {
            fs::remove_file(folder.0.path().join(VALUES)).unwrap();
        }
        folder.apply(Some(guestbook()), library());
        assert_eq!(folder.read(MOVED), new);
        assert!(!folder.has(VALUES));
        assert_eq!(folder.read(crate::worktree::LAST_APPLIED), record);
    }
}

#[test]
fn comments_in_the_project_stay() {
    let folder = Folder::new();
    let comment = "# It cannot change any more.\ndomain: com\n";
    folder.edit(Project::FILE, |text| text.replace("domain: com\n", comment));
    folder.apply(Some(guestbook()), library());
    let text = folder.read(Project::FILE);
    assert!(text.contains(comment), "{text}");
    assert_eq!(Project::parse(&text).unwrap(), library());
}

#[test]
fn the_project_has_to_say_what_was_asked_for() {
    let folder = Folder::new();
    // Where the new name goes.
    folder.edit(Project::FILE, |text| {
        text.replace(
            "projectName: guestbook\n",
            "projectName: guestbook # ours\n",
        )
    });
    let plan = folder.plan(Some(guestbook()), library());
    assert!(plan.conflicts().any(|(path, _)| path == Project::FILE));
    let reason = |on_conflict| {
        let policy = Policy {
            everywhere: on_conflict,
            ..Policy::default()
        };
        let files = folder.files(Some(guestbook()), library(), &policy).unwrap();
        let change = files
            .plan(&policy)
            .unwrap()
            .changes
            .remove(Project::FILE)
            .unwrap();
        match change {
            Change::Conflict(conflict) => Err(conflict.reason),
            change => Ok(change.text().map(str::to_owned)),
        }
    };
    for on_conflict in [OnConflict::Ours, OnConflict::Markers] {
        assert_eq!(reason(on_conflict), Err(Reason::Contradicts));
    }
    let text = reason(OnConflict::Theirs).unwrap().unwrap();
    assert_eq!(Project::parse(&text).unwrap(), library());
}

#[test]
fn markers_stop_a_command_where_the_tool_put_them() {
    let markers = "<<<<<<< yours\na\n=======\nb\n>>>>>>> rscaffold\n";
    let folder = Folder::new();
    folder.edit("README.md", |text| format!("{text}{markers}"));
    assert!(
        folder.plan(Some(guestbook()), guestbook()).is_noop(),
        "they are text"
    );

    let record = folder.read(crate::worktree::LAST_APPLIED);
    let record = format!("{{\"marked\":\"README.md\"}}\n{record}");
    folder.write(crate::worktree::LAST_APPLIED, &record);
    let files = |on_conflict| {
        let policy = Policy {
            everywhere: on_conflict,
            ..Policy::default()
        };
        let files = folder.files(Some(guestbook()), guestbook(), &policy)?;
        Ok::<_, anyhow::Error>((files.plan(&policy)?, files))
    };
    let error = files(OnConflict::Ours).unwrap_err().to_string();
    assert!(
        error.starts_with("there are conflict markers in\n  README.md:"),
        "{error}"
    );
    let (plan, files) = files(OnConflict::Markers).unwrap();
    assert_eq!(plan.changes["README.md"], Change::Keep(Kept::Marked));
    assert!(
        files.record(&plan).marked.contains("README.md"),
        "they still count"
    );
}

#[test]
fn markers_stop_a_command_where_git_put_them() {
    let folder = Folder::new();
    let commit = |line: &str| {
        folder.edit("README.md", |text| format!("{text}{line}\n"));
        folder.git(&["add", "--all"]) && folder.git(&["commit", "--quiet", "--message=change"])
    };
    assert!(folder.git(&["init", "--quiet", "--initial-branch=main"]) && commit("parent"));
    assert!(folder.git(&["switch", "--quiet", "--create=theirs"]) && commit("theirs"));
    assert!(folder.git(&["switch", "--quiet", "main"]) && commit("ours"));
    assert!(!folder.git(&["merge", "theirs"]), "they clash");
    // Here they are text.
    let markers = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n";
    folder.edit("Makefile", |text| format!("{text}{markers}"));

    let files = || folder.files(Some(guestbook()), guestbook(), &Policy::default());
    let error = files().unwrap_err().to_string();
    let at = folder.read("README.md");
    let at = at.lines().position(|line| line.starts_with("<<<<<<< "));
    let at = at.unwrap() + 1;
    assert_eq!(
        error,
        format!("there are conflict markers in\n  README.md:{at}")
    );
    assert!(folder.git(&["add", "README.md"]));
    files().expect("the user has decided");
}

#[test]
fn a_project_that_does_not_follow_from_the_branches_is_for_the_user_to_confirm() {
    let folder = Folder::new();
    let [mit, apache] = [License::Mit, License::Apache2].map(|license| Project {
        license,
        ..guestbook()
    });
    let of_branches = |projects: &[&Project], on_conflict| {
        let tree = WorkTree::open(folder.0.path()).unwrap();
        let record = Record {
            projects: projects.iter().map(|it| it.to_text().unwrap()).collect(),
            ..tree.record().unwrap()
        };
        let policy = Policy {
            by_path: [(Project::FILE.to_owned(), on_conflict)].into(),
            ..Policy::default()
        };
        let turn = Turn::of_branches(&tree, &folder.read(Project::FILE), record, &policy)?;
        Ok::<_, anyhow::Error>((turn.before, turn.after))
    };
    let as_it_is = (Some(guestbook()), guestbook());
    let error = of_branches(&[&mit, &apache], OnConflict::Abort).unwrap_err();
    assert_eq!(error.to_string(), "the branches disagree on `license`");
    for (projects, on_conflict) in [
        ([&mit, &apache], OnConflict::Ours),
        ([&mit, &guestbook()], OnConflict::Abort),
    ] {
        let turn = of_branches(&projects, on_conflict).unwrap();
        assert_eq!(turn, as_it_is, "{on_conflict:?}");
    }
}

/// The base of a turn to `project`, after git merged the record of two projects.
fn merged_base(project: &Project, record: Record, commits: Option<Commits>) -> Texts {
    let folder = tempfile::tempdir().unwrap();
    let turn = Turn {
        tree: &WorkTree::open(folder.path()).unwrap(),
        before: Some(project.clone()),
        after: project.clone(),
        record,
        branches: commits.map(|commits| Unmerged {
            commits: Some(commits),
            ..Unmerged::default()
        }),
    };
    turn.base()
}

#[test]
fn a_record_that_git_merged_is_made_anew() {
    let with = |features: &[Feature]| Project {
        features: features.iter().copied().chain([Feature::Helm]).collect(),
        ..guestbook()
    };
    let ours = with(&[Feature::Agents]);
    let theirs = with(&[Feature::Prometheus]);
    let both = with(&[Feature::Agents, Feature::Prometheus]);
    // What git kept of a file that no project has any more.
    let texts = Texts::from([("LICENSE".to_owned(), "MIT\n".to_owned())]);
    let base = |ours: &Project, theirs: &Project| {
        let record = Record {
            texts: texts.clone(),
            projects: [ours, theirs].map(|it| it.to_text().unwrap()).into(),
            ..Record::default()
        };
        merged_base(&both, record, None)
    };
    let mut expected = render(&both).unwrap().texts;
    assert_eq!(base(&ours, &theirs), expected);

    // Nobody knows what an older rscaffold rendered.
    let older = |project: &Project| Project {
        cli_version: "0.1.0".to_owned(),
        ..project.clone()
    };
    expected = texts.clone();
    for (ours, theirs) in [
        (older(&ours), theirs.clone()),
        (ours.clone(), older(&theirs)),
    ] {
        assert_eq!(base(&ours, &theirs), expected);
    }
}

#[test]
fn a_record_that_git_merged_is_made_of_those_of_the_branches() {
    let texts = |files: &[(&str, &str)]| -> Texts {
        let owned = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        files.iter().map(owned).collect()
    };
    let commit = |files| commit(&guestbook(), texts(files));
    let commits = Commits {
        parent: Some(commit(&[("gone", "1\n"), ("list", "1\n2\n")])),
        ours: commit(&[("gone", "1\n"), ("list", "ours\n1\n2\n"), ("clash", "1\n")]),
        theirs: commit(&[("list", "1\n2\ntheirs\n"), ("clash", "2\n"), ("new", "1\n")]),
        merged: None,
    };
    let record = Record {
        texts: texts(&[
            ("clash", "1\n2\n"),
            ("gone", "1\n"),
            ("list", "1\nours\n2\ntheirs\n"),
        ]),
        projects: [guestbook(), library()]
            .map(|it| it.to_text().unwrap())
            .into(),
        ..Record::default()
    };
    let expected = [
        ("clash", "1\n2\n"),
        ("list", "ours\n1\n2\ntheirs\n"),
        ("new", "1\n"),
    ];
    assert_eq!(
        merged_base(&guestbook(), record, Some(commits)),
        texts(&expected)
    );
}
