//! The workflows of GitHub: those of projects and those of this repository.

use std::process::Command;

use walkdir::WalkDir;

use crate::{
    compile::go_build,
    scaffold::{root, run},
};

/// The linter is built with the version that its go.mod says. It would run others on the shell
/// scripts if they were installed: nothing may depend on that.
#[test]
fn actionlint_accepts_the_workflows() {
    let actionlint = go_build("actionlint", "github.com/rhysd/actionlint/cmd/actionlint");
    let folders = ["tests/golden", ".github"].map(|folder| root().join(folder));
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
