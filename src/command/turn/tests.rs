use std::{fs, process::Command};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{
    cases::cases,
    engine::{
        reconcile::{FileChange, Kept},
        worktree::{Commit, Commits},
    },
    names::GroupVersionKind,
    project::{
        ConversionStrategy, Definition, Deprecation, Feature, License, Own, Resource, Stage, Types,
    },
    render::{CONVENTIONS, render},
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

/// The same project with another name, which is in the paths of its chart.
fn library() -> Project {
    Project {
        project_name: "library".parse().unwrap(),
        ..guestbook()
    }
}

/// A commit with this project, and a record with these texts.
pub(super) fn commit(project: &Project, texts: Texts) -> Commit {
    Commit {
        description: Some(project.to_text().unwrap()),
        record: Record {
            texts,
            ..Record::default()
        },
    }
}

/// A folder with a project.
struct Folder(TempDir);

impl Folder {
    /// The folder with the rendered files of the project `guestbook`.
    fn new() -> Self {
        Self::of(guestbook())
    }

    /// The folder with the rendered files of `project`.
    fn of(project: Project) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.apply(None, project);
        folder
    }

    fn files(&self, before: Option<Project>, after: Project, policy: &Policy) -> Result<Files> {
        let tree = WorkTree::open(self.0.path(), &CONVENTIONS)?;
        let rendered = render(&after)?;
        let turn = Turn {
            before,
            ..Turn::new(&tree, tree.record()?, after, rendered)
        };
        turn.files(policy)
    }

    fn plan(&self, before: Option<Project>, after: Project) -> Plan {
        let policy = Policy::default();
        self.files(before, after, &policy).unwrap().plan(&policy)
    }

    fn apply(&self, before: Option<Project>, after: Project) -> Plan {
        let policy = Policy::default();
        let files = self.files(before, after, &policy).unwrap();
        let plan = files.plan(&policy);
        let tree = WorkTree::open(self.0.path(), &CONVENTIONS).unwrap();
        tree.apply(&plan, &files.into_record(&plan), "").unwrap();
        plan
    }

    /// Gives `text` for the file at `path`, and applies the plan.
    fn give(&self, path: &str, text: String) -> Plan {
        let tree = WorkTree::open(self.0.path(), &CONVENTIONS).unwrap();
        let turn = Turn {
            before: Some(guestbook()),
            edits: Edits {
                texts: [(path.to_owned(), text.into())].into(),
                replace: false,
            },
            ..Turn::new(
                &tree,
                tree.record().unwrap(),
                guestbook(),
                render(&guestbook()).unwrap(),
            )
        };
        let policy = Policy::default();
        let files = turn.files(&policy).unwrap();
        let plan = files.plan(&policy);
        if plan.conflicts().next().is_none() {
            tree.apply(&plan, &files.into_record(&plan), "").unwrap();
        }
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

    /// Runs git, and returns whether it succeeded.
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

/// The project without its chart.
fn without_chart(project: Project) -> Project {
    Project {
        features: [].into(),
        ..project
    }
}

#[test]
fn a_given_text_is_merged_with_the_next_one() {
    let folder = Folder::new();
    let rendered = folder.read(VALUES);
    let first = with_three_replicas(&rendered);
    folder.give(VALUES, first.clone());
    assert_eq!(folder.read(VALUES), first);
    // The same text again changes nothing, even after an edit.
    let edited = |text: &str| format!("{text}\n# mine\n");
    folder.edit(VALUES, edited);
    assert!(folder.give(VALUES, first.clone()).is_noop());

    let second = rendered.replace("\nreplicas: 1\n", "\nreplicas: 5\n");
    let plan = folder.give(VALUES, second.clone());
    assert!(matches!(plan.changes[VALUES], FileChange::Merge(_)));
    assert_eq!(folder.read(VALUES), edited(&second));
    // A turn without a given text keeps the text of an earlier turn.
    assert!(folder.plan(Some(guestbook()), guestbook()).is_noop());

    // If the user changed the same lines, there is a conflict, and the user's text stays.
    folder.edit(VALUES, |text| text.replace("replicas: 5", "replicas: 7"));
    let plan = folder.give(VALUES, first);
    let conflict = plan.conflicts().next().unwrap().1;
    assert_eq!(conflict.hunks[0].base, ["replicas: 5"]);
    assert!(folder.read(VALUES).contains("replicas: 7"));
}

#[test]
fn a_given_text_is_deleted_with_its_file_unless_the_user_has_edited_it() {
    let gone = |edit: Option<&str>, moves: bool| {
        let folder = Folder::new();
        folder.give(VALUES, with_three_replicas(&folder.read(VALUES)));
        let (mut before, mut path) = (guestbook(), VALUES);
        if moves {
            folder.apply(Some(before), library());
            (before, path) = (library(), MOVED);
        }
        if let Some(edit) = edit {
            folder.edit(path, |text| text.to_owned() + edit);
        }
        let plan = folder.plan(Some(before.clone()), without_chart(before));
        plan.changes[path] == FileChange::Delete
    };
    assert!(gone(None, false));
    assert!(gone(None, true));
    assert!(!gone(Some("# mine\n"), false));
    assert!(!gone(Some("# mine\n"), true));
}

#[test]
fn the_files_of_both_projects_are_read_from_the_disk() {
    let folder = Folder::new();
    folder.edit(VALUES, with_three_replicas);
    folder.write(MOVED, "mine\n");
    let files = folder.files(Some(guestbook()), library(), &Policy::default());
    let files = files.unwrap();
    for path in [VALUES, MOVED, Project::FILE] {
        assert_eq!(
            files.sides().get(path).disk.as_deref(),
            Some(&*folder.read(path))
        );
    }
}

#[test]
fn a_policy_is_for_files_that_the_tool_writes() {
    let folder = Folder::new();
    folder.write("notes.md", "mine\n");
    let plan = |path: &str| {
        let policy = Policy {
            by_path: [(path.to_owned(), OnConflict::Ours)].into(),
            ..Policy::default()
        };
        let files = folder.files(Some(guestbook()), guestbook(), &policy)?;
        Ok::<_, anyhow::Error>(files.plan(&policy))
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
    assert!(matches!(plan.changes[MOVED], FileChange::Copy(_)));
    assert_eq!(plan.changes[VALUES], FileChange::Delete);
    assert!(folder.read(MOVED).contains("\nreplicas: 3\n"));
    assert!(!folder.has("charts/guestbook"));
    // Rename it back.
    folder.apply(Some(library()), guestbook());
    assert!(folder.read(VALUES).contains("\nreplicas: 3\n"));
}

#[test]
fn edits_move_after_an_edit_of_the_project_by_hand() {
    let shelf = Project {
        project_name: "shelf".parse().unwrap(),
        ..guestbook()
    };
    // The next command may use another name than the user wrote.
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
    assert_eq!(plan.changes[new], FileChange::Create(render[new].clone()));
    assert_eq!(plan.changes[old], FileChange::Delete);
    assert!(plan.is_stale);
}

#[test]
fn a_deleted_file_stays_deleted_at_its_new_path() {
    let folder = Folder::new();
    fs::remove_file(folder.0.path().join(VALUES)).unwrap();
    let plan = folder.apply(Some(guestbook()), library());
    assert!(matches!(
        plan.changes[MOVED],
        FileChange::Keep(Kept::Removed | Kept::RemovedWithNews)
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
        .map(|(path, conflict)| (path.as_str(), conflict.reason))
        .collect();
    assert_eq!(conflicts, [(MOVED, Reason::Occupied)]);
}

#[test]
fn a_move_that_was_killed_is_completed() {
    let folder = Folder::new();
    folder.edit(VALUES, with_three_replicas);
    let old = folder.read(VALUES);
    folder.apply(Some(guestbook()), library());
    let (new, record) = (folder.read(MOVED), folder.read(LAST_APPLIED));
    // Killed after the file was written to its new path: once with the file still at its old path, and once without.
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
        assert_eq!(folder.read(LAST_APPLIED), record);
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
fn a_merged_project_must_have_the_requested_settings() {
    let folder = Folder::new();
    // The place of the new name.
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
        let change = files.plan(&policy).changes.remove(Project::FILE).unwrap();
        match change {
            FileChange::Conflict(conflict) => Err(conflict.reason),
            change => Ok(change.text().map(str::to_owned)),
        }
    };
    for on_conflict in [OnConflict::Abort, OnConflict::Ours, OnConflict::Markers] {
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

    let record = folder.read(LAST_APPLIED);
    let record = format!("{{\"marked\":\"README.md\"}}\n{record}");
    folder.write(LAST_APPLIED, &record);
    let files = |on_conflict| {
        let policy = Policy {
            everywhere: on_conflict,
            ..Policy::default()
        };
        let files = folder.files(Some(guestbook()), guestbook(), &policy)?;
        Ok::<_, anyhow::Error>((files.plan(&policy), files))
    };
    let error = files(OnConflict::Ours).unwrap_err().to_string();
    assert!(
        error.starts_with("there are conflict markers in\n  README.md:"),
        "{error}"
    );
    let (plan, files) = files(OnConflict::Markers).unwrap();
    assert_eq!(plan.changes["README.md"], FileChange::Keep(Kept::Marked));
    assert!(
        files.into_record(&plan).marked.contains("README.md"),
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
    // In this file, the markers are text.
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
        let tree = WorkTree::open(folder.0.path(), &CONVENTIONS).unwrap();
        let record = Record {
            projects: projects
                .iter()
                .map(|project| project.to_text().unwrap())
                .collect(),
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

/// The recorded texts in a turn to `project`, after git merged the records of two projects.
fn merged_base(project: &Project, record: Record, commits: Option<Commits>) -> Result<Texts> {
    let folder = tempfile::tempdir().unwrap();
    let tree = WorkTree::open(folder.path(), &CONVENTIONS).unwrap();
    let mut turn = Turn {
        before: Some(project.clone()),
        unmerged: commits.map(|commits| Unmerged {
            commits: Some(commits),
            ..Unmerged::default()
        }),
        ..Turn::new(&tree, record, project.clone(), render(project).unwrap())
    };
    turn.repair_record()?;
    Ok(turn.record.texts)
}

#[test]
fn a_record_that_git_merged_is_recomputed_from_renders() {
    let with = |features: &[Feature]| Project {
        features: features.iter().copied().chain([Feature::Helm]).collect(),
        ..guestbook()
    };
    let ours = with(&[Feature::Agents]);
    let theirs = with(&[Feature::Prometheus]);
    let both = with(&[Feature::Agents, Feature::Prometheus]);
    // git kept lines of a file that neither project has.
    let texts = Texts::from([("LICENSE".to_owned(), "MIT\n".into())]);
    let base = |ours: &Project, theirs: &Project| {
        let record = Record {
            texts: texts.clone(),
            projects: [ours, theirs]
                .map(|project| project.to_text().unwrap())
                .into(),
            ..Record::default()
        };
        merged_base(&both, record, None)
    };
    let expected = render(&both).unwrap().texts;
    assert_eq!(base(&ours, &theirs).unwrap(), expected);

    // The render of an older rscaffold is unknown.
    let older = |project: &Project| Project {
        cli_version: "0.3.0-rc.1".to_owned(),
        ..project.clone()
    };
    for (ours, theirs) in [
        (older(&ours), theirs.clone()),
        (ours.clone(), older(&theirs)),
    ] {
        let error = base(&ours, &theirs).unwrap_err().to_string();
        assert_eq!(
            error,
            "rscaffold 0.3.0-rc.1 wrote a branch that git has merged"
        );
    }
}

#[test]
fn a_record_that_git_merged_is_recomputed_from_the_commits() {
    let texts = |files: &[(&str, &str)]| -> Texts {
        let owned = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned().into());
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
            .map(|project| project.to_text().unwrap())
            .into(),
        ..Record::default()
    };
    let expected = [
        ("clash", "1\n2\n"),
        ("list", "ours\n1\n2\ntheirs\n"),
        ("new", "1\n"),
    ];
    assert_eq!(
        merged_base(&guestbook(), record, Some(commits)).unwrap(),
        texts(&expected)
    );
}

const V1: &str = "src/api/webapp/v1/guestbook.rs";
const V2: &str = "src/api/webapp/v2/guestbook.rs";
const SAMPLE_V1: &str = "config/samples/webapp_v1_guestbook.yaml";
const SAMPLE_V2: &str = "config/samples/webapp_v2_guestbook.yaml";

/// The project `guestbook` with these versions of a kind in `group`, each at this stage.
fn kind_in(group: &str, versions: &[(&str, Stage)]) -> Project {
    let mut project = guestbook();
    for (version, stage) in versions {
        let id = format!("{group}/{version}/Guestbook");
        let id: GroupVersionKind = id.parse().unwrap();
        let own = Own {
            stage: *stage,
            deprecation: Deprecation::No,
            conversion: ConversionStrategy::Missing,
            spokes: None,
            types: Types::Example,
        };
        let resource = Resource::new(id.group().clone(), &id, Definition::Own(own));
        project.resources.push(resource);
    }
    project.validate().unwrap();
    project
}

fn kind(versions: &[(&str, Stage)]) -> Project {
    kind_in("webapp", versions)
}

fn one_version() -> Project {
    kind(&[("v1", Stage::Stored)])
}

fn two_versions() -> Project {
    kind(&[("v1", Stage::Stored), ("v2", Stage::Unserved)])
}

/// The types with a field that the user added.
fn with_pages(types: &str) -> String {
    let line = "    pub title: String,\n";
    assert!(types.contains(line), "{types}");
    types.replace(line, "    pub title: String,\n\n    pub pages: u32,\n")
}

/// The sample with a comment that the user added.
fn with_remark(sample: &str) -> String {
    format!("# Ours.\n{sample}  pages: 3\n")
}

/// A project with one version of a kind, whose files the user has edited.
fn edited() -> Folder {
    let folder = Folder::of(one_version());
    folder.edit(V1, with_pages);
    folder.edit(SAMPLE_V1, with_remark);
    folder
}

#[test]
fn a_version_begins_with_the_files_of_the_stored_version() {
    let folder = edited();
    let [v1, sample] = [V1, SAMPLE_V1].map(|path| folder.read(path));
    let plan = folder.apply(Some(one_version()), two_versions());
    for path in [V2, SAMPLE_V2] {
        assert!(matches!(plan.changes[path], FileChange::Copy(_)), "{path}");
    }
    let fresh = render(&two_versions()).unwrap().texts;
    assert_eq!(folder.read(V2), with_pages(&fresh[V2]));
    assert_eq!(folder.read(SAMPLE_V2), with_remark(&fresh[SAMPLE_V2]));
    // The first version stays unchanged, and the record has the render.
    assert_eq!([folder.read(V1), folder.read(SAMPLE_V1)], [v1, sample]);
    let record = WorkTree::open(folder.0.path(), &CONVENTIONS)
        .unwrap()
        .record()
        .unwrap();
    assert_eq!(record.texts[V2], fresh[V2]);
    let again = folder.plan(Some(two_versions()), two_versions());
    assert!(again.is_noop());
    assert_eq!(again.changes[V2], FileChange::Keep(Kept::Edited));
}

#[test]
fn a_version_of_unedited_files_equals_the_template() {
    let folder = Folder::of(one_version());
    let plan = folder.apply(Some(one_version()), two_versions());
    let fresh = render(&two_versions()).unwrap().texts;
    for path in [V2, SAMPLE_V2] {
        assert_eq!(plan.changes[path], FileChange::Create(fresh[path].clone()));
    }
}

#[test]
fn a_version_begins_with_the_one_that_was_stored_also_after_an_edit_of_the_project_by_hand() {
    let stored = kind(&[("v1", Stage::Unserved), ("v2", Stage::Stored)]);
    for after in [two_versions(), stored] {
        let expected = with_pages(&render(&after).unwrap().texts[V2]);
        // Once by a command, and once by `apply` after an edit of `PROJECT`.
        for before in [one_version(), after.clone()] {
            let folder = edited();
            folder.write(Project::FILE, &before.to_text().unwrap());
            folder.apply(Some(before), after.clone());
            assert_eq!(folder.read(V2), expected);
        }
    }
    // The source is neither the first version nor the newest one.
    let before = kind(&[
        ("v1alpha1", Stage::Unserved),
        ("v1", Stage::Stored),
        ("v3", Stage::Unserved),
    ]);
    let folder = Folder::of(before.clone());
    folder.edit(V1, with_pages);
    let mut after = before.clone();
    after.resources.extend(two_versions().resources.pop());
    folder.apply(Some(before), after);
    assert!(folder.read(V2).contains("pub pages: u32"));
}

#[test]
fn versions_that_are_added_together_start_from_the_template() {
    let folder = Folder::of(guestbook());
    folder.apply(Some(guestbook()), two_versions());
    let fresh = render(&two_versions()).unwrap().texts;
    for path in [V1, V2, SAMPLE_V1, SAMPLE_V2] {
        assert_eq!(fresh[path], folder.read(path));
    }
}

#[test]
fn a_version_begins_with_the_template_if_the_user_put_the_types_elsewhere() {
    let folder = edited();
    fs::remove_file(folder.0.path().join(V1)).unwrap();
    let plan = folder.apply(Some(one_version()), two_versions());
    let fresh = render(&two_versions()).unwrap().texts;
    assert_eq!(plan.changes[V2], FileChange::Create(fresh[V2].clone()));
    assert!(!folder.has(V1));
}

#[test]
fn a_version_in_the_place_of_another_one_takes_its_files() {
    let folder = edited();
    let after = kind(&[("v2", Stage::Stored)]);
    let fresh = render(&after).unwrap().texts;
    folder.write(Project::FILE, &after.to_text().unwrap());
    let plan = folder.apply(Some(after.clone()), after);
    assert_eq!(plan.changes[V1], FileChange::Delete);
    assert_eq!(folder.read(V2), with_pages(&fresh[V2]));
    assert_eq!(folder.read(SAMPLE_V2), with_remark(&fresh[SAMPLE_V2]));
    assert!(!folder.has(V1) && !folder.has(SAMPLE_V1));
}

#[test]
fn a_group_with_another_name_keeps_its_files() {
    let folder = edited();
    folder.edit("src/api/webapp/mod.rs", |text| {
        format!("{text}\nmod ours;\n")
    });
    // The group gets a version at the same time.
    let after = kind_in("press", &[("v1", Stage::Stored), ("v2", Stage::Unserved)]);
    let fresh = render(&after).unwrap().texts;
    folder.write(Project::FILE, &after.to_text().unwrap());
    folder.apply(Some(after.clone()), after);
    for path in [V1, V2] {
        let path = path.replace("webapp", "press");
        assert_eq!(folder.read(&path), with_pages(&fresh[&path]));
    }
    assert!(
        folder
            .read("src/api/press/mod.rs")
            .ends_with("\nmod ours;\n")
    );
    assert!(!folder.has("src/api/webapp"));
}

/// A project with the kind Guestbook in these groups.
fn kind_in_groups(groups: &[&str]) -> Project {
    let mut project = guestbook();
    for group in groups {
        let resources = kind_in(group, &[("v1", Stage::Stored)]).resources;
        project.resources.extend(resources.iter().cloned());
    }
    project
}

#[test]
fn the_files_of_a_group_never_go_to_another_group_of_the_same_kind() {
    // For each edit of `PROJECT`: the groups before and after, and the group of the first edited file afterwards.
    for (before, after, expected) in [
        (&["crew", "webapp"][..], &["team", "shop"][..], None),
        (&["crew", "webapp"], &["team"], None),
        (&["crew"], &["team", "shop"], None),
        (&["crew", "webapp"], &["team", "webapp"], Some("team")),
        (&["crew", "webapp"], &["crew", "shop"], Some("crew")),
        (&["crew"], &["crew", "shop"], Some("crew")),
    ] {
        let [before, after] = [before, after].map(kind_in_groups);
        let folder = Folder::of(before);
        folder.edit("src/api/crew/v1/guestbook.rs", |text| {
            format!("{text}// Ours.\n")
        });
        folder.write(Project::FILE, &after.to_text().unwrap());
        let files = folder.files(Some(after.clone()), after.clone(), &Policy::default());
        let Some(expected) = expected else {
            let error = files.unwrap_err().to_string();
            assert!(
                error.starts_with("the kind `Guestbook` is gone "),
                "{error}"
            );
            continue;
        };
        folder.apply(Some(after.clone()), after.clone());
        for resource in after.resources.iter() {
            let group = resource.group.as_str();
            let types = folder.read(&format!("src/api/{group}/v1/guestbook.rs"));
            assert_eq!(types.ends_with("// Ours.\n"), group == expected, "{group}");
        }
    }
}

#[test]
fn a_version_with_another_name_keeps_its_files() {
    let module = "src/api/webapp/v3/mod.rs";
    // The group may get another name at the same time.
    for group in ["webapp", "press"] {
        let folder = Folder::of(two_versions());
        folder.edit(V1, with_pages);
        folder.edit(V2, |types| format!("{types}\n// Ours.\n"));
        folder.edit(&module.replace("v3", "v2"), |text| {
            format!("{text}\nmod ours;\n")
        });
        let after = kind_in(group, &[("v1", Stage::Stored), ("v3", Stage::Unserved)]);
        let fresh = render(&after).unwrap().texts;
        folder.write(Project::FILE, &after.to_text().unwrap());
        folder.apply(Some(after.clone()), after);
        let [v1, v3, module] =
            [V1, &V2.replace("v2", "v3"), module].map(|path| path.replace("webapp", group));
        assert_eq!(folder.read(&v1), with_pages(&fresh[&v1]));
        assert_eq!(folder.read(&v3), format!("{}\n// Ours.\n", fresh[&v3]));
        assert!(folder.read(&module).ends_with("\nmod ours;\n"));
        assert!(!folder.has(V2));
    }
}

#[test]
fn a_version_that_a_killed_command_started_is_completed() {
    // The first version gets another text as well.
    let after = kind(&[("v1", Stage::Unserved), ("v2", Stage::Stored)]);
    let done = edited();
    done.apply(Some(one_version()), after.clone());
    let orders: [&[&str]; 3] = [&[V2], &[V2, SAMPLE_V2], &[V2, SAMPLE_V2, V1]];
    for written in orders {
        let folder = edited();
        for path in written {
            folder.write(path, &done.read(path));
        }
        folder.apply(Some(one_version()), after.clone());
        for path in [V1, V2, SAMPLE_V2, LAST_APPLIED] {
            assert_eq!(folder.read(path), done.read(path), "{written:?}");
        }
    }
}

#[test]
fn lines_of_the_user_beside_the_version_stay_beside_it() {
    let folder = Folder::of(one_version());
    let version = |number: u8| format!("    version = \"v{number}\",\n");
    let (above, below) = ("    // above\n", "    category = \"all\",\n");
    folder.edit(V1, |text| {
        text.replace(&version(1), &format!("{above}{}{below}", version(1)))
    });
    folder.apply(Some(one_version()), two_versions());
    let v2 = folder.read(V2);
    assert!(v2.contains(&format!("{above}{}", version(2))), "{v2}");
    assert!(
        v2.contains(&format!("    served = false,\n{below}")),
        "{v2}"
    );
}

/// The plan for a second version, after the user changed the name of the first version in its types.
fn clash(folder: &Folder, on_conflict: OnConflict) -> Plan {
    let policy = Policy {
        everywhere: on_conflict,
        ..Policy::default()
    };
    let files = folder.files(Some(one_version()), two_versions(), &policy);
    files.unwrap().plan(&policy)
}

#[test]
fn lines_that_the_user_changed_stay_in_a_new_version() {
    let tests = "#[cfg(test)]\nmod tests {\n    const SAMPLE: &str = \
                 include_str!(\"../../../../config/samples/webapp_v1_guestbook.yaml\");\n}\n";
    let edits: [&dyn Fn(String) -> String; 4] = [
        // The author has replaced the tests. Theirs changes a line of the old ones.
        &|text| format!("{}{tests}", text.split("#[cfg(test)]").next().unwrap()),
        // The line of the version says something else.
        &|text| text.replace("version = \"v1\",", "version = VERSION,"),
        // Two lines are one.
        &|text| {
            text.replace(
                "version = \"v1\",\n    kind = \"Guestbook\",",
                "version = \"v1\", kind = \"Guestbook\",",
            )
        },
        // The line is at another place.
        &|text| {
            let text = text.replace("    version = \"v1\",\n", "");
            text.replace(
                "    kind = \"Guestbook\",\n",
                "    kind = \"Guestbook\",\n    version = \"v1\",\n",
            )
        },
    ];
    for edit in edits {
        let folder = Folder::of(one_version());
        // The user's own text has the same characters.
        let remark = "//! The schema that the backend calls `version = \"v1\",`.\n";
        folder.edit(V1, |text| format!("{remark}{}", edit(text.to_owned())));
        let expected = |text: &str| {
            let served = "version = \"v2\",\n    // Not served yet. Without a conversion, a client of this \
                          version would lose the fields that only\n    // the other version has: serve \
                          this version once there is a conversion.\n    served = false,";
            let text = text.strip_prefix(remark).unwrap();
            let renamed = text.replace("version = \"v1\",", served);
            remark.to_owned() + &renamed.replace(SAMPLE_V1, SAMPLE_V2)
        };
        let expected = expected(&folder.read(V1));
        for on_conflict in [OnConflict::Abort, OnConflict::Theirs, OnConflict::Markers] {
            let plan = clash(&folder, on_conflict);
            assert_eq!(plan.changes[V2], FileChange::Copy(expected.clone().into()));
        }
        // A killed command has already written the file.
        folder.write(V2, &expected);
        let plan = clash(&folder, OnConflict::Abort);
        assert_eq!(plan.changes[V2], FileChange::Unchanged);
    }
}

#[test]
fn a_file_in_the_place_of_a_version_is_a_conflict() {
    let folder = edited();
    folder.write(V2, "pub struct Guestbook;\n");
    let plan = clash(&folder, OnConflict::Abort);
    assert!(plan.conflicts().any(|(path, _)| path == V2));
    // A copy that the user made is accepted.
    let copy = with_pages(&render(&two_versions()).unwrap().texts[V2]);
    folder.write(V2, &format!("{copy}// by hand\n"));
    folder.apply(Some(one_version()), two_versions());
    let v2 = folder.read(V2);
    assert!(
        v2.contains("pub pages: u32") && v2.ends_with("// by hand\n"),
        "{v2}"
    );
}

#[test]
fn types_with_conflict_markers_are_not_copied() {
    let folder = edited();
    let markers = "<<<<<<< yours\na\n=======\nb\n>>>>>>> rscaffold\n";
    folder.edit(V1, |text| format!("{markers}{text}"));
    let record = folder.read(LAST_APPLIED);
    let record = format!("{{\"marked\":\"{V1}\"}}\n{record}");
    folder.write(LAST_APPLIED, &record);
    let policy = Policy {
        everywhere: OnConflict::Markers,
        ..Policy::default()
    };
    let files = folder.files(Some(one_version()), two_versions(), &policy);
    let expected = format!("there are conflict markers in\n  {V1}:1");
    assert_eq!(files.unwrap_err().to_string(), expected);
}

#[test]
fn types_that_are_not_text_are_not_copied() {
    let folder = edited();
    let path = folder.0.path().join(V1);
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(0xff);
    fs::write(path, bytes).unwrap();
    let files = folder.files(Some(one_version()), two_versions(), &Policy::default());
    let error = files.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("`{V1}` is not UTF-8 text")),
        "{error}"
    );
}

#[test]
fn types_that_git_left_open_are_merged_before_they_are_copied() {
    let folder = edited();
    let git = |arguments: &[&str]| assert!(folder.git(arguments), "{arguments:?}");
    let commit = || {
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message=change"]);
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    commit();
    // The tool changes two lines, one next to the user's lines.
    git(&["switch", "--quiet", "--create=theirs"]);
    let mut theirs = one_version();
    theirs.resources[0].namespaced = false;
    folder.apply(Some(one_version()), theirs);
    commit();
    git(&["switch", "--quiet", "main"]);
    let mut ours = one_version();
    ours.resources[0].short_names.extend("gb".parse());
    folder.apply(Some(one_version()), ours.clone());
    folder.edit(V1, |text| format!("{text}// ours\n"));
    commit();
    assert!(!folder.git(&["merge", "theirs"]), "they clash");
    assert!(folder.read(V1).contains("<<<<<<<"));

    let mut after = two_versions();
    for resource in after.resources.iter_mut() {
        resource.namespaced = false;
        resource.short_names.extend("gb".parse());
    }
    let text = after.to_text().unwrap();
    folder.write(Project::FILE, &text);
    let tree = WorkTree::open(folder.0.path(), &CONVENTIONS).unwrap();
    let policy = Policy::default();
    let turn = Turn::of_branches(&tree, &text, tree.record().unwrap(), &policy).unwrap();
    let files = turn.files(&policy).unwrap();
    let plan = files.plan(&policy);
    let fresh = render(&after).unwrap().texts;
    let expected = |path: &str| (with_pages(&fresh[path]) + "// ours\n").into();
    assert_eq!(plan.changes[V1], FileChange::Merge(expected(V1)));
    assert_eq!(plan.changes[V2], FileChange::Copy(expected(V2)));
}

#[test]
fn another_document_of_a_sample_stays_as_it_is_in_a_new_version() {
    let page = "---\napiVersion: webapp.com/v1\nkind: Page\nmetadata:\n  name: page\n";
    let folder = Folder::of(one_version());
    folder.edit(SAMPLE_V1, |text| format!("{text}{page}"));
    folder.apply(Some(one_version()), two_versions());
    let fresh = render(&two_versions()).unwrap().texts;
    let expected = format!("{}{page}", &*fresh[SAMPLE_V2]);
    assert_eq!(folder.read(SAMPLE_V2), expected);
}

/// The edits of a user: for each line, whether it is deleted, and how many lines are inserted above it.
fn edits() -> impl Strategy<Value = Vec<(usize, bool, usize)>> {
    prop::collection::vec((0..80_usize, any::<bool>(), 0..3_usize), 1..6)
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn every_edit_of_a_version_is_copied_to_the_next_version(edits in edits()) {
        let folder = Folder::of(one_version());
        for (path, name) in [(V1, "    version = \"v1\",\n"), (SAMPLE_V1, "apiVersion: webapp.com/v1\n")] {
            let text = folder.read(path);
            let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
            for (at, is_deleted, inserted) in &edits {
                let at = at % lines.len();
                let is_name = lines[at].ends_with(name) || lines[at].contains(SAMPLE_V1);
                if *is_deleted && !is_name {
                    lines[at].clear();
                }
                for n in 0..*inserted {
                    // Some lines of the user quote a line of the tool.
                    let quoted = lines[(at + n) % lines.len()].lines().next_back();
                    let quoted = quoted.unwrap_or_default().trim();
                    let line = format!("# ours {at} {n} {quoted} and so on\n");
                    lines[at].insert_str(0, &line);
                }
            }
            folder.write(path, &lines.concat());
        }
        folder.apply(Some(one_version()), two_versions());
        let fresh = render(&two_versions()).unwrap().texts;
        for (old, new, name) in [
            (V1, V2, "    version = "),
            (SAMPLE_V1, SAMPLE_V2, "apiVersion: "),
        ] {
            // Only the lines that the tool changed differ.
            let [of_old, of_new] = [&fresh[old], &fresh[new]].map(|text| {
                let start = text.find(name).unwrap();
                let end = text[start..].find("kind").unwrap();
                let block = &text[start..start + end];
                block.rfind('\n').map(|at| block[..=at].to_owned()).unwrap()
            });
            let expected = folder.read(old).replace(&of_old, &of_new);
            let [of_old, of_new] = [SAMPLE_V1, SAMPLE_V2].map(|sample| format!("{sample}\"\n"));
            prop_assert_eq!(folder.read(new), expected.replace(&of_old, &of_new));
        }
    }
}
