//! Runs the commands that create kubebuilder's own sample projects, without changes.

use std::{fs, process::Command};

use crate::{
    compile::{clippy, pin, scaffolded},
    operator::kubectl,
    scaffold::{program, root, run},
};

/// A flag that rscaffold refuses, and a part of the error.
const REFUSED: &str = "--external-api-path=github.com/";
const ANSWER: &str = "is not the path of a Rust type";

/// Returns each sample project with its commands.
fn samples() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("tests/kubebuilder.txt")).expect("the commands");
    let samples = text.split("\n## ").skip(1).map(|sample| {
        let mut lines = sample.lines().map(str::to_owned);
        (lines.next().expect("a name"), lines.collect())
    });
    samples.collect()
}

#[test]
fn the_commands_of_kubebuilder_make_operators() {
    let (mut accepted, mut refused) = (0, 0);
    for (name, commands) in samples() {
        let folder = scaffolded(&name).expect("a folder");
        for command in commands {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &format!("\"$0\" {command}")])
                .arg(program())
                .current_dir(&folder);
            let output = shell.output().expect("a shell");
            let said = String::from_utf8_lossy(&output.stderr);
            if command.contains(REFUSED) {
                assert!(!output.status.success(), "{name}: {command}");
                assert!(said.contains(ANSWER), "{name}: {command}: {said}");
                refused += 1;
            } else {
                assert!(output.status.success(), "{name}: {command}: {said}");
                accepted += 1;
            }
        }

        run(kubectl("kustomize").arg(folder.join("config/default")));
        run(
            kubectl("apply --server-side --force-conflicts --dry-run=server -k")
                .arg(folder.join("config/crd")),
        );
        pin(&folder).expect("a copy of the lock file");
        run(&mut clippy(&folder, &["--all-targets"]));
    }
    assert_eq!((accepted, refused), (57, 4));
}
