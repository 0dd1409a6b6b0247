//! Tests the update of projects that older versions of rscaffold created.
//!
//! A folder `update/<version>` contains the results of that version for the commands in `update/commands`: PROJECT, the
//! record, which contains the other files, and the vendored files, if the record has only their digests. `make release`
//! adds such a folder.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{
    project::{Project, assert_same},
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
        "    async fn reconcile(&self, object: &Guestbook) -> Result<Action, Error> {\n",
        "    async fn reconcile(&self, object: &Guestbook) -> Result<Action, Error> {\n        \
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

fn versions() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("tests/update")).expect("older versions");
    let paths = entries.map(|entry| entry.expect("a folder").path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Returns the project that the version in `folder` created.
pub fn older(folder: &Path) -> Project {
    let project = Project::new(&[]);
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a text");
    let record = read("last-applied.jsonl");
    let mut files = BTreeMap::<String, String>::new();
    for line in record.lines().filter(|line| line.starts_with('[')) {
        let (path, line): (String, String) = serde_json::from_str(line).expect("a line of a file");
        files.entry(path).or_default().push_str(&line);
    }
    for (path, text) in files {
        let vendored = folder.join(&path);
        let text = fs::read_to_string(vendored).unwrap_or(text);
        project.write(&path, &text);
    }
    project.write(".rscaffold/last-applied.jsonl", &record);
    project.write("PROJECT", &read("PROJECT"));
    project
}

fn edit(project: &Project) {
    for (path, old, new) in EDITS {
        project.replace(path, old, new);
    }
}

#[test]
fn what_a_release_adds_recreates_its_project() {
    let folder = TempDir::new().expect("a temporary folder");
    run(Command::new("sh")
        .arg(root().join("release/record.sh"))
        .arg(program())
        .arg(folder.path()));
    let why = "release/record.sh";
    assert_same(&older(folder.path()), &Project::new(&commands()), why);
}

#[test]
fn every_change_of_the_templates_arrives() {
    for version in versions() {
        let project = older(&version);
        let why = version.display().to_string();
        // The templates of the current version may have changed since its release, too. But only a project of an older
        // version must be updated before other commands.
        if !version.ends_with(env!("CARGO_PKG_VERSION")) {
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
    for version in versions() {
        let project = older(&version);
        edit(&project);
        project.rscaffold("update");
        let expected = Project::new(&commands());
        edit(&expected);
        assert_same(&project, &expected, &version.display().to_string());
    }
}

/// Since 0.3, the runtime is a crate. If a user changed a file of `src/manager`, the user decides what happens to the
/// change.
#[test]
fn an_edited_file_of_the_former_runtime_is_a_conflict_that_says_what_to_do() {
    let with_former_runtime = versions().into_iter().filter(|version| {
        let project = older(version);
        project.folder().join("src/manager").exists()
    });
    let mut count = 0;
    for version in with_former_runtime {
        let project = older(&version);
        edit(&project);
        let drain = (
            "DRAIN: Duration = Duration::from_secs(8)",
            "DRAIN: Duration = Duration::from_secs(5)",
        );
        project.replace("src/manager/mod.rs", drain.0, drain.1);
        let before = project.tree();
        let error = project.refused("update");
        let (line, rest) = error.split_once("src/manager/mod.rs:").expect("the file");
        assert!(line.starts_with("error: 1 file conflicts"), "{error}");
        assert!(
            rest.contains("  you changed this file, rscaffold deletes it\n"),
            "{error}"
        );
        assert!(rest.contains("      ours   | const DRAIN"), "{error}");
        assert!(
            rest.contains("the crate `kube-manager` replaces `src/manager`"),
            "{error}"
        );
        assert_eq!(project.tree(), before);

        project.rscaffold("update --on-conflict=theirs:src/manager/mod.rs");
        let expected = Project::new(&commands());
        edit(&expected);
        assert_same(&project, &expected, &version.display().to_string());
        count += 1;
    }
    assert_eq!(count, 2, "0.1.0 and 0.2.0");
}

/// If the user and rscaffold changed the same line, the error shows the old line, the user's line and the new line.
#[test]
fn a_line_that_both_changed_is_a_conflict() {
    let version = root().join("tests/update/0.1.0");
    let project = older(&version);
    edit(&project);
    project.replace(
        "config/default/kustomization.yaml",
        "# Add ../prometheus where the Prometheus operator runs, and ../network-policy to let nobody but\n\
         # Prometheus reach the operator.\n",
        "- ../prometheus\n",
    );
    let before = project.tree();
    let error = project.refused("update");
    let expected = "\
error: 1 file conflicts with the new text; nothing was written

  config/default/kustomization.yaml:11  both you and rscaffold changed these lines
      base   | # Add ../prometheus where the Prometheus operator runs, and ../network-policy to let nobody but
      base   | # Prometheus reach the operator.
      ours   | - ../prometheus
      theirs | # What is yours goes below this line.

hint: choose a side with `--on-conflict=ours` or `theirs`, or write both with `markers`; `ours:FILE` applies to that file only
";
    assert_eq!(error, expected);
    assert_eq!(project.tree(), before);

    project.rscaffold("update --on-conflict=ours");
    project.rscaffold("edit --enable prometheus --on-conflict=ours");
    let kustomization = project.read("config/default/kustomization.yaml");
    assert_eq!(kustomization.matches("- ../prometheus\n").count(), 1);
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
fn excluded_files_are_updated_by_a_later_command() {
    for folder in versions() {
        let expected = older(&folder);
        expected.rscaffold("update");
        let project = older(&folder);
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
    let project = older(&versions()[0]);
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
