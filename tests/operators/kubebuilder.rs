//! Runs the commands that create kubebuilder's own sample projects, without changes.

use std::{fs, process::Command};

use crate::{
    compile::{clippy, pin, scaffolded},
    operator::kubectl,
    scaffold::{program, root, run},
};

/// Flags that rscaffold refuses, each with a part of the error.
const ANSWERS: [(&str, &str); 2] = [
    (
        "--external-api-path=github.com/",
        "is not the path of a Rust type",
    ),
    (
        "--ssa",
        "leave it out, every controller uses server-side apply",
    ),
];

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
    let (mut accepted, mut answered) = (0, 0);
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
            let answer = ANSWERS.iter().find(|(flag, _)| command.contains(flag));
            if let Some((_, answer)) = answer {
                assert!(!output.status.success(), "{name}: {command}");
                assert!(said.contains(answer), "{name}: {command}: {said}");
                answered += 1;
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
    assert_eq!((accepted, answered), (55, 6));
}
