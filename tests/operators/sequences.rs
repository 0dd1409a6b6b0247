//! Tests projects from random sequences of commands. If rscaffold accepts the commands, the project passes rustfmt,
//! clippy and its tests, the manifests are the ones that `make manifests` writes, and a real API server accepts the
//! CRDs.
//!
//! `SEQUENCES=200` compiles more sequences, and `SEED=7` begins with another sequence. The test prints the commands of
//! a sequence before it compiles the project.

#[path = "../sequences/draw.rs"]
mod draw;
#[path = "../sequences/names.rs"]
mod names;

use std::{path::Path, process::Command};

use rscaffold::command::report::Outcome;

use self::draw::{of_seed, variable};
use crate::{
    compile::{cargo, clippy, pin, scaffolded, target_folder, without_copies},
    golden::writes_its_manifests,
    operator::kubectl,
    scaffold::{root, run},
};

/// The text of a command that cannot merge its change into a CRD or a role: the types of a user may differ from the
/// template.
const STALE: &str = "regenerates CRDs and RBAC from your code";

/// The number of sequences in `make test`. Their artifacts stay for the next run.
const USUAL: u64 = 5;

#[test]
fn random_projects_compile_and_can_be_installed() {
    let (first, count) = (variable("SEED", 0), variable("SEQUENCES", USUAL));
    // The crate of the external kinds, in a folder next to the projects.
    let widgets = scaffolded("widgets").expect("a folder");
    run(Command::new("cp")
        .args(["-R", "-p"])
        .arg(root().join("tests/golden/widgets/."))
        .arg(&widgets));
    for seed in first..first + count {
        let folder = scaffolded(&format!("seed-{seed}")).expect("a folder");
        println!("SEED={seed} SEQUENCES=1");
        let mut is_stale = false;
        for step in of_seed(seed) {
            let Outcome { code, stderr, .. } = step.run(&folder);
            if code == 0 {
                println!("  rscaffold {}", step.arguments.join(" "));
                is_stale |= stderr.contains(STALE);
            }
        }
        if folder.join("PROJECT").exists() {
            check(&folder, is_stale);
            // The artifacts of hundreds of projects would fill the disk.
            if seed >= USUAL {
                run(cargo(&folder).args(["clean", "--quiet", "--workspace"]));
            }
        }
    }
}

/// Runs what every user runs first in a project, and checks the manifests. If `is_stale`, a command has asked the user
/// to run `make manifests`.
fn check(folder: &Path, is_stale: bool) {
    pin(folder).expect("a copy of the lock file");
    run(cargo(folder).args(["fmt", "--check"]));
    run(&mut clippy(folder, &["--all-targets"]));
    let mut commands = vec![vec!["test", "--all-targets"], vec!["build"]];
    if is_stale {
        commands.push(vec!["run", "--", "manifests"]);
    }
    for command in commands {
        run(cargo(folder)
            .args(command)
            .envs([without_copies()])
            .env("CARGO_TERM_QUIET", "true"));
    }
    writes_its_manifests(folder, &target_folder(folder));
    let crds = folder.join("config/crd/bases");
    if crds.is_dir() {
        run(kubectl("apply --server-side --dry-run=server -f").arg(crds));
    }
}
