//! Tests the make targets of this repository: the tests that they select, and the arguments that they refuse before
//! they write anything.

use std::{fs, process::Command};

use tempfile::TempDir;

use crate::{
    release::StandIns,
    scaffold::{plain_make, refused, root, run},
};

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

#[test]
fn a_requirement_is_raised_in_every_file_that_has_it() {
    let copy = TempDir::new().expect("a temporary folder");
    // The lines of kube and k8s-openapi. The golden projects get theirs from the templates.
    let lines = |folder| {
        let mut grep = Command::new("grep");
        grep.args(["-rE", "^(kube|k8s-openapi) = "])
            .args(["benches", "crates", "docs", "templates", "tests"])
            .args(["--exclude-dir=golden", "--exclude-dir=target"])
            .current_dir(folder);
        run(&mut grep)
    };
    let before = lines(root());
    let files = before.lines().filter_map(|line| line.split(':').next());
    run(Command::new("cp")
        .args(["--parents", "release/update-deps.sh"])
        .args(files)
        .arg(copy.path())
        .current_dir(root()));
    for folder in ["target/golden", "tests/golden"] {
        fs::create_dir_all(copy.path().join(folder)).expect("a folder");
    }
    fs::write(copy.path().join("target/golden/Cargo.lock"), "").expect("a file");
    run(Command::new("sh")
        .args(["release/update-deps.sh", "kube=90.1", "k8s-openapi=90.1"])
        .envs([("CARGO", "true"), ("MAKE", "true")])
        .current_dir(copy.path()));
    let after = lines(copy.path());
    assert_eq!(after.lines().count(), before.lines().count());
    for line in after.lines() {
        assert!(
            line.contains(" = \"90.1\"") || line.contains("{ version = \"90.1\""),
            "{line}"
        );
    }
}

#[test]
fn a_target_checks_the_programs_that_it_needs() {
    let others = ["awk", "cc", "cut", "df", "git", "make", "sort"].map(|name| {
        let path = run(Command::new("sh").args(["-c", &format!("command -v {name}")]));
        (name, format!("exec {} \"$@\"", path.trim_end()))
    });
    let missing = |goals: &str, present: &[&str]| {
        let mut programs: Vec<_> = others.iter().map(|(name, text)| (*name, &**text)).collect();
        programs.push(("cargo", "echo cargo 1.99.0"));
        programs.extend(present.iter().map(|name| (*name, "")));
        let programs = StandIns::new(&programs);
        let output = make(&["tools", "TESTS=leader::", "CI="])
            .arg(format!("MAKECMDGOALS={goals}"))
            .env("PATH", programs.folder())
            .output()
            .expect("make starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let error = stderr.lines().next().map(str::to_owned);
        assert_eq!(
            output.status.success(),
            error.is_none(),
            "{goals}: {stderr}"
        );
        error.unwrap_or_default()
    };
    let go = "error: go is missing";
    let strace = "error: strace is missing";
    for (goals, present, expected) in [
        ("lint check", &["strace", "curl"][..], ""),
        ("golden check", &["strace", "curl"], ""),
        ("docs test-docs", &[], ""),
        ("check", &["curl"], strace),
        ("test-long", &["go", "curl"], strace),
        ("test-long", &["strace", "curl"], go),
        ("test-cluster", &[], go),
        ("bench", &[], go),
        ("soak", &[], go),
        ("test", &["go", "strace", "curl"], ""),
    ] {
        assert_eq!(missing(goals, present), expected, "{goals}");
    }
}
