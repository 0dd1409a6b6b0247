//! Tests the make targets of this repository: the tests that they select, and the arguments that they refuse before
//! they write anything.

use std::process::Command;

use crate::scaffold::{plain_make, refused, root, run};

/// Returns make in this repository, with these arguments.
fn make(arguments: &[&str]) -> Command {
    let mut make = plain_make();
    make.arg("--silent").args(arguments).current_dir(root());
    make
}

#[test]
fn one_test_runs_in_the_package_that_has_it() {
    for (test, targets) in [
        ("one_test_runs_in_the_package", &["--test tests"][..]),
        ("faults::no_change_is_lost", &["--test operators"]),
        ("leader::", &["--package kube-manager", "--test operators"]),
    ] {
        let printed = run(&mut make(&[
            "test-one",
            &format!("TEST={test}"),
            "CARGO=echo",
        ]));
        let lines: Vec<_> = printed.lines().collect();
        assert_eq!(lines.len(), targets.len(), "{printed}");
        for (line, target) in lines.iter().zip(targets) {
            assert!(line.contains(target), "{line}");
            assert!(line.contains(&format!(" {test} -- ")), "{line}");
        }
    }
    let missing = concat!("no_such_", "test");
    let error = refused(&mut make(&["test-one", &format!("TEST={missing}")]));
    let expected = format!("error: no test has `{missing}` in its name\n");
    assert!(error.starts_with(&expected), "{error}");
    let error = refused(&mut make(&["test-one"]));
    assert!(
        error.starts_with("error: TEST names no test\nhint: "),
        "{error}"
    );
}

#[test]
fn a_release_needs_a_version() {
    let error = refused(&mut make(&["release"]));
    assert!(
        error.starts_with("error: VERSION is missing\nhint: "),
        "{error}"
    );
}

#[test]
fn a_requirement_that_no_package_has_is_refused() {
    for (requirement, expected) in [
        (
            "kube",
            "error: `kube` is not of the form NAME=REQUIREMENT, such as kube=5.1",
        ),
        (
            "kube=^5",
            "error: `kube=^5` is not of the form NAME=REQUIREMENT, such as kube=5.1",
        ),
        ("kub=5.1", "error: no Cargo.toml depends on `kub`"),
    ] {
        let error = refused(&mut make(&["update-deps", &format!("DEPS={requirement}")]));
        assert_eq!(error.lines().next(), Some(expected));
    }
}
