use std::fs;

use tempfile::TempDir;

use super::*;
use crate::{
    project::{Feature, License},
    reconcile::{Change, Kept, Reason},
};

const VALUES: &str = "charts/guestbook/values.yaml";
const MOVED: &str = "charts/library/values.yaml";

/// A project with a chart.
fn guestbook() -> Project {
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
    let folder = Folder::new();
    folder.edit(VALUES, with_three_replicas);
    folder.write(Project::FILE, &library().to_text().unwrap());
    folder.apply(Some(library()), library());
    assert!(folder.read(MOVED).contains("\nreplicas: 3\n"));
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
fn a_record_that_git_merged_is_made_anew() {
    let folder = Folder::new();
    let with = |feature| Project {
        features: [Feature::Helm, feature].into(),
        ..guestbook()
    };
    let (ours, theirs) = (with(Feature::Agents), with(Feature::Prometheus));
    let both = Project {
        features: [Feature::Helm, Feature::Agents, Feature::Prometheus].into(),
        ..guestbook()
    };
    let tree = WorkTree::open(folder.0.path()).unwrap();
    let mut record = tree.record().unwrap();
    record.projects = vec![ours.to_text().unwrap(), theirs.to_text().unwrap()];
    // What git kept of a file that no project has any more.
    record
        .texts
        .insert("LICENSE".to_owned(), "MIT\n".to_owned());
    let turn = Turn {
        tree: &tree,
        before: Some(both.clone()),
        after: both.clone(),
        record,
        branches: None,
    };
    assert_eq!(turn.base(), render(&both).unwrap().texts);
}
