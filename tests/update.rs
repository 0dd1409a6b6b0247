//! Tests the update of projects that other versions of rscaffold created.
//!
//! A file `update/<version>.jsonl` is the record of the project that the commands in `update/commands` created with
//! this version. `make release` adds such a file. The files in `update/edited` have their whole text there, because
//! tests edit them: an update merges the edits with these texts. For each other file, the project and the record have
//! one line in place of the text.
//!
//! No version has been released yet. The commit 1bbd408f made `0.3.0.jsonl`: it has the version 0.3.0, and most of its
//! templates have changed since.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rscaffold::engine::digest::is_digest;
use tempfile::NamedTempFile;

use crate::{
    project::{INIT, Project, assert_same},
    scaffold::{program, root, run},
};

/// Returns the commands that created the project of each version.
fn commands() -> Vec<&'static str> {
    include_str!("update/commands").lines().collect()
}

/// Edits that a user may have made: the file, the old text and the new text.
const EDITS: [(&str, &str, &str); 8] = [
    (
        "src/main.rs",
        "    let cli = Cli::parse();\n",
        "    std::panic::set_hook(Box::new(|panic| eprintln!(\"{panic}\")));\n    let cli = Cli::parse();\n",
    ),
    (
        "src/controller/webapp/guestbook.rs",
        "        // must be safe to do again, because this runs after each start and each change.\n",
        "        // must be safe to do again, because this runs after each start and each change.\n        \
         tracing::debug!(title = %object.spec.title, \"reading\");\n",
    ),
    (
        "src/api/webapp/v1/guestbook.rs",
        "pub struct GuestbookSpec {\n",
        "pub struct GuestbookSpec {\n    /// How many pages it has.\n    pub pages: u32,\n",
    ),
    (
        "config/default/kustomization.yaml",
        "- ../manager\n",
        "- ../manager\n- pull_secret.yaml\n",
    ),
    (
        "config/manager/manager.yaml",
        "            memory: 512Mi\n",
        "            memory: 1Gi\n",
    ),
    (
        "Makefile",
        "KUBECTL ?= kubectl\n",
        "KUBECTL ?= kubectl --context=staging\n",
    ),
    (
        "Makefile",
        "##@ Build\n",
        ".PHONY: watch\nwatch: ## Run the tests whenever something changes.\n\tcargo watch -x test\n\n##@ Build\n",
    ),
    (
        "Cargo.toml",
        "# Your own dependencies go below this line.",
        "uuid = \"1\"\n# Your own dependencies go below this line.",
    ),
];

/// Returns the records of the versions.
fn records() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("tests/update")).expect("records");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths
}

/// The text in place of each text that a record leaves out.
const LEFT_OUT: &str = "left out\n";

/// Returns the project whose record is in the file `record`.
pub fn older(record: &Path) -> Project {
    let record = fs::read_to_string(record).expect("a record");
    let (first, lines) = record.split_once('\n').expect("lines");
    let first: serde_json::Value = serde_json::from_str(first).expect("the line of PROJECT");
    let mut files = BTreeMap::<String, String>::new();
    for line in lines.lines() {
        let (path, line): (String, String) = serde_json::from_str(line).expect("a line of a file");
        files.entry(path).or_default().push_str(&line);
    }
    let project = Project::new(&[]);
    project.write("PROJECT", first["project"].as_str().expect("a text"));
    project.write(".rscaffold/last-applied.jsonl", &record);
    for (path, text) in files {
        let text = if is_digest(&text) { LEFT_OUT } else { &text };
        project.write(&path, text);
    }
    project
}

fn edit(project: &Project) {
    for (path, old, new) in EDITS {
        project.replace(path, old, new);
    }
}

#[test]
fn what_a_release_adds_recreates_its_project() {
    let output = run(Command::new("sh")
        .arg(root().join("release/record.sh"))
        .arg(program()));
    let record = NamedTempFile::new().expect("a temporary file");
    fs::write(&record, output).expect("a writable file");
    let recreated = older(record.path());

    let created = Project::new(&commands());
    let (recreated_files, created_files) = (recreated.tree(), created.tree());
    assert!(recreated_files.keys().eq(created_files.keys()));
    let whole: Vec<_> = include_str!("update/edited").lines().collect();
    for (path, text) in &recreated_files {
        if path.ends_with("last-applied.jsonl") {
            continue;
        }
        let is_whole =
            path == Path::new("PROJECT") || whole.iter().any(|whole| path == Path::new(whole));
        let is_left_out = text.as_deref() == Some(LEFT_OUT);
        let is_same = *text == created_files[path];
        assert!(is_same || is_left_out && !is_whole, "{}", path.display());
    }
    assert_same(recreated.rscaffold("update"), &created, "updated");
}

#[test]
fn every_change_of_the_templates_arrives() {
    for record in records() {
        let project = older(&record);
        let why = record.display().to_string();
        // The templates of the current version may have changed since its release, too. But only a project of an older
        // version must be updated before other commands.
        if record
            .file_stem()
            .is_some_and(|version| version != env!("CARGO_PKG_VERSION"))
        {
            let error = project.refused("edit --enable prometheus");
            assert!(error.contains("`rscaffold update`"), "{error}");
        }
        let patch = project.run("diff").stdout;
        let patched = project.copy();
        patched.write("../by-hand.diff", &patch);
        if !patch.is_empty() {
            run(&mut patched.git(&["apply", "../by-hand.diff"]));
        }

        let before = project.tree();
        project.rscaffold("update --dry-run");
        assert_eq!(project.tree(), before, "{why}: a dry run writes nothing");
        assert_same(
            project.rscaffold("update"),
            &Project::new(&commands()),
            &why,
        );
        let updated = project.tree();
        assert_eq!(project.rscaffold("update").tree(), updated, "{why}: twice");
        patched.write(
            ".rscaffold/last-applied.jsonl",
            &project.read(".rscaffold/last-applied.jsonl"),
        );
        assert_same(&patched, &project, &format!("{why}: `diff` shows it"));
    }
}

#[test]
fn every_edit_survives() {
    for record in records() {
        let project = older(&record);
        edit(&project);
        project.rscaffold("update");
        let expected = Project::new(&commands());
        edit(&expected);
        assert_same(&project, &expected, &record.display().to_string());
    }
}

/// If the user and rscaffold changed the same line, the error shows the old line, the user's line and the new line.
#[test]
fn a_line_that_both_changed_is_a_conflict() {
    let project = older(&root().join("tests/update/0.3.0.jsonl"));
    edit(&project);
    project.replace(
        "config/manager/manager.yaml",
        "      # The operator gives reconciles in flight 8 s to end.\n      terminationGracePeriodSeconds: 10\n",
        "      # A backup takes a while.\n      terminationGracePeriodSeconds: 30\n",
    );
    let before = project.tree();
    let error = project.refused("update");
    let expected = "\
error: 1 file conflicts with the new text; nothing was written

  config/manager/manager.yaml:36  both you and rscaffold changed these lines
      base   |       # The operator gives reconciles in flight 8 s to end.
      base   |       terminationGracePeriodSeconds: 10
      ours   |       # A backup takes a while.
      ours   |       terminationGracePeriodSeconds: 30
      theirs |       # Running reconciles have 8 s to finish: --graceful-shutdown-timeout.
      theirs |       terminationGracePeriodSeconds: 10

hint: `--on-conflict=ours` keeps your lines, `theirs` takes the lines of rscaffold, `markers` writes both; `ours:FILE` applies to that file only
";
    assert_eq!(error, expected);
    assert_eq!(project.tree(), before);

    project.rscaffold("update --on-conflict=ours");
    project.rscaffold("edit --enable prometheus --on-conflict=abort");
    let manager = project.read("config/manager/manager.yaml");
    assert!(manager.contains("terminationGracePeriodSeconds: 30\n"));
    assert!(manager.contains("memory: 1Gi\n"));
    assert!(
        project
            .folder()
            .join("config/prometheus/monitor.yaml")
            .exists()
    );
}

#[test]
fn a_project_of_a_newer_version_is_refused() {
    let project = Project::new(&commands());
    let version = env!("CARGO_PKG_VERSION");
    project.replace(
        "PROJECT",
        &format!("cliVersion: {version}"),
        "cliVersion: 99.0.0",
    );
    let before = project.tree();
    for command in ["update", "apply", "diff", "edit --enable prometheus"] {
        let error = project.refused(command);
        let expected = format!(
            "error: `PROJECT` was written by rscaffold 99.0.0, but this is rscaffold {version}: \
             install 99.0.0 or newer\n"
        );
        assert_eq!(error, expected, "{command}");
    }
    assert_eq!(project.tree(), before);
}

#[test]
fn a_project_of_a_version_that_was_never_published_is_refused() {
    let project = Project::new(&commands());
    let version = env!("CARGO_PKG_VERSION");
    let line = format!("cliVersion: {version}");
    project.replace("PROJECT", &line, "cliVersion: 0.2.0");
    let before = project.tree();
    for command in ["update", "apply", "diff", "edit --enable prometheus"] {
        let error = project.refused(command);
        let expected = format!(
            "error: `PROJECT` was written by rscaffold 0.2.0, but rscaffold {version} reads \
             projects of 0.3 or newer\n\
             hint: start a new project with `rscaffold init` in another folder, add the same \
             kinds, and copy your code into it\n"
        );
        assert_eq!(error, expected, "{command}");
    }
    assert_eq!(project.tree(), before);
}

#[test]
fn excluded_files_are_updated_by_a_later_command() {
    for record in records() {
        let expected = older(&record);
        expected.rscaffold("update");
        let project = older(&record);
        let excluded = |path: &Path| path.starts_with(".github/workflows") || path == "Makefile";
        let of_excluded = || {
            let mut tree = project.tree();
            tree.retain(|path, _| excluded(path));
            tree
        };
        let before = of_excluded();
        assert!(!before.is_empty());
        project.rscaffold("update --exclude=./.github/workflows/,Makefile");
        assert_eq!(of_excluded(), before);
        let whole = expected.tree();
        for (path, text) in project.tree() {
            let same = whole.get(&path) == Some(&text);
            let is_record = path.starts_with(".rscaffold");
            assert!(same || is_record || excluded(&path), "{}", path.display());
        }
        project.rscaffold("apply");
        assert_same(&project, &expected, "after a later command");
    }
    let project = older(&records()[0]);
    for (path, reason) in [
        (
            ".github/work",
            "is neither a file nor a folder that rscaffold writes",
        ),
        (
            "PROJECT",
            "`--exclude` names `PROJECT`, which describes the project and cannot be excluded",
        ),
    ] {
        let said = project.refused(&format!("update --exclude {path}"));
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn a_project_file_of_an_older_version_is_enough() {
    let expected = Project::new(&[INIT]);
    let project = Project::new(&[]);
    let version = format!("cliVersion: {}", env!("CARGO_PKG_VERSION"));
    let text = expected.read("PROJECT");
    project.write("PROJECT", &text.replace(&version, "cliVersion: 0.3.0"));
    let error = project.refused("apply --rebuild-base");
    assert!(
        error.contains("no source file of this project exists"),
        "{error}"
    );
    assert_same(project.rscaffold("update"), &expected, "update");
}
