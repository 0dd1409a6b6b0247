//! Tests the GitHub workflows of scaffolded projects and of this repository.

use std::process::Command;

use walkdir::WalkDir;

use crate::{
    compile::go_build,
    golden_projects,
    scaffold::{root, run},
};

/// Runs the version of actionlint that its go.mod pins. By default, actionlint also runs shellcheck and pyflakes if
/// they are installed. Both are turned off, so that the result does not depend on them.
#[test]
fn actionlint_accepts_the_workflows() {
    let actionlint = go_build("actionlint", "github.com/rhysd/actionlint/cmd/actionlint");
    let folders = [golden_projects::folder().to_owned(), root().join(".github")];
    let entries = folders.iter().flat_map(WalkDir::new);
    let paths = entries.map(|entry| entry.unwrap().into_path());
    let workflows: Vec<_> = paths
        .filter(|path| path.is_file() && path.parent().unwrap().ends_with(".github/workflows"))
        .collect();
    assert!(!workflows.is_empty());
    run(Command::new(actionlint)
        .args(["-no-color", "-shellcheck=", "-pyflakes="])
        .args(workflows)
        .current_dir(root()));
}
