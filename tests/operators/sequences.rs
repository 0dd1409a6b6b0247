//! Random sequences of commands, compiled: whatever rscaffold accepts passes rustfmt and clippy, its tests succeed, what
//! its code writes is what `make manifests` would leave, and a real API server takes its CRDs.
//!
//! `SEQUENCES=200` compiles more of them, and `SEED=7` begins with another one. The commands of a sequence are printed
//! before it is compiled.

#[path = "../sequences/draw.rs"]
mod draw;
#[path = "../sequences/names.rs"]
mod names;

use std::{path::Path, process::Command};

use rscaffold::report::Outcome;

use self::draw::{of_seed, variable};
use crate::{
    compile::{building, cargo, clippy, pin, scaffolded},
    golden::writes_its_manifests,
    operator::kubectl,
    scaffold::{root, run},
};

#[test]
fn random_projects_compile_and_can_be_installed() {
    let (first, count) = (variable("SEED", 0), variable("SEQUENCES", 5));
    // The crate of the kinds that others define, beside the projects.
    let widgets = scaffolded("widgets").expect("a folder");
    run(Command::new("cp")
        .args(["-R", "-p"])
        .arg(root().join("tests/golden/widgets/."))
        .arg(&widgets));
    for seed in first..first + count {
        let folder = scaffolded(&format!("seed-{seed}")).expect("a folder");
        println!("SEED={seed} SEQUENCES=1");
        for step in of_seed(seed) {
            let Outcome { code, .. } = step.run(&folder);
            if code == 0 {
                println!("  rscaffold {}", step.arguments.join(" "));
            }
        }
        if folder.join("PROJECT").exists() {
            check(&folder);
        }
    }
}

/// Checks what everybody runs first in a project.
fn check(folder: &Path) {
    pin(folder).expect("a copy of the lock file");
    let _building = building();
    run(cargo(folder).args(["fmt", "--check"]));
    run(&mut clippy(folder, &["--all-targets"]));
    run(cargo(folder).args(["test", "--quiet"]));
    run(cargo(folder).args(["build", "--quiet"]));
    writes_its_manifests(folder);
    let crds = folder.join("config/crd/bases");
    if crds.is_dir() {
        run(kubectl("apply --server-side --dry-run=server -f").arg(crds));
    }
}
