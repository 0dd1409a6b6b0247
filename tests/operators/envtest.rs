//! The tests of a generated project on a real API server.

use std::{collections::BTreeSet, ffi::OsString, fs};

use cluster::wait_until;
use walkdir::WalkDir;

use crate::{
    compile::{building, cargo, target},
    operator::{PATIENCE, cluster},
    scaffold::{root, run},
};

/// Of the golden projects, these between them have controllers of each sort: plain ones, with
/// finalizers, of cluster-scoped kinds, two of one kind, that own objects of Kubernetes and of the
/// project, and in an operator of one namespace.
const PROJECTS: [&str; 3] = ["guestbook", "owner", "tenant"];

/// What control planes of such tests have written to.
fn folders() -> BTreeSet<OsString> {
    let folder = fs::read_dir(target().join("tmp"));
    let entries = folder.into_iter().flatten();
    entries
        .map(|entry| entry.expect("a readable folder").file_name())
        .filter(|name| name.to_string_lossy().starts_with("api_server-"))
        .collect()
}

#[test]
fn the_tests_of_a_project_pass_on_a_real_api_server() {
    let _building = building();
    let assets = cluster().assets().expect("programs");
    let before = folders();
    let mut tests = cargo(&root().join("tests/golden"));
    tests.args(["test", "--locked", "--test=api_server"]);
    for project in PROJECTS {
        tests.args(["--package", project]);
    }
    tests.args(["--", "--ignored"]);
    let printed = run(tests.env("KUBEBUILDER_ASSETS", assets));
    // What they started ends with them, and then its folder goes.
    wait_until("their API servers to end", PATIENCE, || {
        let left: BTreeSet<_> = folders().difference(&before).cloned().collect();
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    for project in PROJECTS {
        let folder = root().join("tests/golden").join(project);
        let tests = folder.join("tests/api_server");
        let controllers = WalkDir::new(tests.join("controller")).min_depth(2);
        let mut count = 0;
        for file in controllers {
            let file = file.expect("a readable folder");
            let path = file.path().strip_prefix(&tests).expect("a path in it");
            let module = path.with_extension("").to_string_lossy().replace('/', "::");
            let passed = format!("test {module}::a_sample_is_reconciled ... ok");
            assert!(printed.contains(&passed), "{passed}\n{printed}");
            count += 1;
        }
        assert!(count > 0, "{project}");
    }
}
