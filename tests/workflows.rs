//! The workflows of GitHub that a project has.

use std::{
    fs,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use crate::scaffold::root;

/// Those of all golden projects.
fn workflows() -> Vec<PathBuf> {
    let workflows: Vec<_> = WalkDir::new(root().join("tests/golden"))
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.is_file() && path.parent().unwrap().ends_with(".github/workflows"))
        .collect();
    assert!(!workflows.is_empty());
    workflows
}

/// A tag can be moved to other code, a commit cannot. Nobody sees what it is without the tag.
#[test]
fn actions_are_pinned_to_commits() {
    let mut count = 0;
    for workflow in workflows() {
        let text = fs::read_to_string(&workflow).unwrap();
        for line in text.lines() {
            let Some((_, action)) = line.split_once("uses: ") else {
                continue;
            };
            let pinned = action.split_once('@').and_then(|(_, pin)| {
                let (commit, tag) = pin.split_once(" # v")?;
                let is_commit = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
                Some(is_commit && tag.split('.').count() == 3)
            });
            assert_eq!(pinned, Some(true), "{}: {line}", workflow.display());
            count += 1;
        }
    }
    assert!(count > 0);
}

/// What runs on a pull request runs code of whoever opened it: with a token that may read, and that
/// is not left in the work tree.
#[test]
fn pull_requests_get_no_rights() {
    for workflow in workflows() {
        let text = fs::read_to_string(&workflow).unwrap();
        let yaml: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        let path = workflow.display();
        assert!(yaml["on"]["pull_request_target"].is_null(), "{path}");
        let read = serde_yaml::from_str::<serde_json::Value>("contents: read").unwrap();
        assert_eq!(yaml["permissions"], read, "{path}");
        for (name, job) in yaml["jobs"].as_object().unwrap() {
            let of_pushes = job["if"] == "github.event_name == 'push'";
            assert!(
                of_pushes || job["permissions"].is_null(),
                "{path}: {name:?}"
            );
            assert!(job["timeout-minutes"].is_u64(), "{path}: {name:?}");
            let checkout = job["steps"].as_array().unwrap().iter().find(|step| {
                let uses = step["uses"].as_str().unwrap_or_default();
                Path::new(uses).starts_with("actions")
            });
            let keeps = &checkout.unwrap()["with"]["persist-credentials"];
            assert_eq!(*keeps, false, "{path}: {name:?}");
        }
    }
}
