//! Tests the crate of the runtime in a project: a copy in the project, or the crate from the registry.

use std::{collections::BTreeMap, fs};

use rscaffold::render::CONVENTIONS;

use crate::project::{Project, assert_same};

const COMMANDS: [&str; 2] = [
    "init --domain com --repo guestbook --runtime vendored",
    "create api --group webapp --version v1 --kind Guestbook",
];
const RECORD: &str = ".rscaffold/last-applied.jsonl";
const VENDORED: &str = "crates/kube-manager/src/runtime/operator.rs";

/// Changes the record as if an older rscaffold had written `text` to the vendored file.
fn write_last(project: &Project, text: &str) {
    let record = project.read(RECORD);
    let former = CONVENTIONS.recorded(BTreeMap::from([(
        VENDORED.to_owned(),
        text.to_owned().into(),
    )]));
    let is_it = |line: &&str| line.starts_with(&format!("[\"{VENDORED}\""));
    let line = record.lines().find(is_it).expect("its line in the record");
    let former = serde_json::to_string(&(VENDORED, former[VENDORED].content())).expect("JSON");
    project.write(RECORD, &record.replace(line, &former));
}

#[test]
fn the_record_has_no_second_copy_of_it() {
    let project = Project::new(&COMMANDS);
    let record = project.read(RECORD);
    let lines = record
        .lines()
        .filter(|line| line.starts_with("[\"crates/kube-manager/"));
    let files = kube_manager::source::FILES.len();
    assert_eq!(lines.count(), files, "one line a file");
}

#[test]
fn it_goes_to_the_registry_and_comes_back_without_a_trace() {
    let project = Project::new(&COMMANDS);
    let before = project.copy();
    project.rscaffold("edit --runtime registry");
    assert!(!project.folder().join("crates").exists());
    let version = env!("CARGO_PKG_VERSION");
    let dependency = format!("kube-manager = {{ version = \"{version}\", optional = true }}\n");
    assert!(project.read("Cargo.toml").contains(&dependency));
    project.rscaffold("edit --runtime vendored");
    assert_same(&project, &before, "there and back");
}

#[test]
fn an_older_one_is_replaced() {
    let project = Project::new(&COMMANDS);
    let before = project.copy();
    project.write(VENDORED, "// an older one\n");
    write_last(&project, "// an older one\n");
    project.rscaffold("apply");
    assert_same(&project, &before, "as it was");
}

#[test]
fn an_edit_stays_as_long_as_there_is_nothing_new() {
    let project = Project::new(&COMMANDS);
    project.replace(VENDORED, "//! The operator", "// Mine.\n//! The operator");
    let edited = project.read(VENDORED);
    project
        .rscaffold("apply")
        .rscaffold("edit --enable prometheus --license mit");
    assert_eq!(project.read(VENDORED), edited);
}

#[test]
fn an_edit_of_an_older_one_is_a_conflict_where_it_differs_from_the_new_one() {
    let project = Project::new(&COMMANDS);
    let render = project.read(VENDORED);
    project.replace(VENDORED, "//! The operator", "// Mine.\n//! The operator");
    write_last(&project, "// what nobody knows any more\n");
    let before = project.tree();
    let error = project.refused("apply");
    let expected = "\
error: 1 file conflicts with the new text; nothing was written

  crates/kube-manager/src/runtime/operator.rs:1  both you and rscaffold changed these lines
      ours   | // Mine.
      theirs | (nothing)

hint: choose a side with `--on-conflict=ours` or `theirs`, or write both with `markers`; \
    `ours:FILE` applies to that file only
";
    assert_eq!(error, expected);
    assert_eq!(project.tree(), before);

    let ours = project.copy();
    ours.rscaffold(&format!("apply --on-conflict=ours:{VENDORED}"));
    assert_eq!(ours.read(VENDORED), project.read(VENDORED));
    project.rscaffold(&format!("apply --on-conflict=theirs:{VENDORED}"));
    assert_eq!(project.read(VENDORED), render);
}

#[test]
fn an_edited_one_does_not_go_to_the_registry_unasked() {
    let project = Project::new(&COMMANDS);
    project.replace(VENDORED, "//! The operator", "// Mine.\n//! The operator");
    let before = project.tree();
    let error = project.refused("edit --runtime registry");
    assert!(
        error.contains("operator.rs:1  you changed this file, rscaffold deletes it"),
        "{error}"
    );
    assert_eq!(project.tree(), before);
    project.rscaffold("edit --runtime registry --on-conflict=theirs");
    assert!(!project.folder().join("crates").exists());
}

/// A cargo workspace can contain only one package with the same name.
#[test]
fn the_projects_of_a_workspace_share_it() {
    let first = Project::new(&[]);
    first.write(
        "../Cargo.toml",
        "[workspace]\nmembers = [\"guestbook\", \"library\"]\n",
    );
    first.all(&COMMANDS);
    assert!(first.read("PROJECT").contains("runtime: vendored\n"));
    first.write("../library/.keep", "");
    let library = first
        .folder()
        .parent()
        .expect("the workspace")
        .join("library");
    crate::scaffold::rscaffold(&library, "init --domain com");
    let manifest = fs::read_to_string(library.join("Cargo.toml")).expect("a manifest");
    let shared =
        "kube-manager = { path = \"../guestbook/crates/kube-manager\", optional = true }\n";
    assert!(manifest.contains(shared), "{manifest}");
    assert!(!library.join("crates").exists());
    let error =
        Project::new(&[]).refused("init --domain com --runtime ../guestbook/crates/kube-manager");
    assert!(
        error.contains("only a member of a cargo workspace can share a runtime"),
        "{error}"
    );
}

/// kube's errors show Rust values in each other form, and their text alone lacks the causes.
#[test]
fn it_shows_errors_by_one_function_alone() {
    let is_core = |path: &&str| path.starts_with("src/runtime/") && !path.contains("/webhook/");
    for (path, text) in kube_manager::source::FILES {
        if !is_core(path) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let statement = |line: &&str| !line.trim_start().starts_with("//");
        let code: Vec<_> = code.lines().filter(statement).collect();
        let code = code.join("\n");
        for form in [
            "{error:#}",
            "{error:?}",
            "{error:#?}",
            "?error",
            "{source:?}",
        ] {
            assert!(
                !code.contains(form),
                "{path} has `{form}` instead of `failure::message`"
            );
        }
    }
}
