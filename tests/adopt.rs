//! Tests `init` in a folder that already contains a package.

use std::process::Command;

use crate::{
    project::{Project, assert_same},
    scaffold::{by_hand, run},
};

const INIT: &str = "init --domain com --runtime vendored";
const GUESTBOOK: &str = "create api --group webapp --version v1 --kind Guestbook";

/// Creates a folder with the files of `cargo init`.
fn package(kind: &str) -> Project {
    let project = Project::new(&[]);
    let arguments = ["init", "--quiet", "--vcs=none", "--name=guestbook", kind];
    run(by_hand(&mut Command::new(env!("CARGO")))
        .args(arguments)
        .current_dir(project.folder()));
    project
}

#[test]
fn files_that_cargo_has_just_written_are_replaced() {
    for kind in ["--bin", "--lib"] {
        let project = package(kind);
        assert_same(project.rscaffold(INIT), &Project::new(&[INIT]), kind);
    }
}

#[test]
fn files_of_an_existing_package_are_conflicts() {
    let project = package("--lib");
    let mine = "//! Mine.\n\n/// Signs.\npub fn sign() {}\n";
    project.write("src/lib.rs", mine);
    project.replace(
        "Cargo.toml",
        "[dependencies]\n",
        "[dependencies]\nsemver = \"1\"\n",
    );
    project.write("src/sign.rs", "// mine\n");
    project.write(".gitignore", "/target\n.idea\n");
    let before = project.tree();
    // The dry run prints the files that `init` would add, and the conflicts.
    let told = project.refused(&format!("{INIT} --dry-run"));
    for line in [
        " files: config/ (14), src/ (",
        "  merge   .gitignore",
        "error: 2 files conflict with the new text; nothing was written\n",
        "  Cargo.toml:7  existed before rscaffold\n      ours   | semver = \"1\"\n",
        "  src/lib.rs:1  existed before rscaffold\n      ours   | //! Mine.\n",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    project.refused(INIT);
    assert_eq!(project.tree(), before, "nothing is written");

    let ours = project.copy();
    ours.rscaffold(&format!("{INIT} --on-conflict=ours"));
    assert_eq!(ours.read("src/lib.rs"), mine);
    assert_eq!(ours.read("src/sign.rs"), "// mine\n");

    project.rscaffold(&format!("{INIT} --on-conflict=markers"));
    let marked = project.tree();
    let error = project.refused(GUESTBOOK);
    assert!(
        error.contains("conflict markers in\n  Cargo.toml:"),
        "{error}"
    );
    // A second run produces the same files, as after a command that was killed.
    project.rscaffold("apply --on-conflict=markers");
    assert_eq!(project.tree(), marked);

    // Another command with `markers` leaves the unresolved conflicts unchanged.
    let later = project.copy();
    later.rscaffold(&format!("{GUESTBOOK} --on-conflict=markers"));
    for (path, markers) in [("Cargo.toml", 3), ("src/lib.rs", 3)] {
        let text = later.read(path);
        let is_marker = |line: &&str| {
            ["<<<<<<< ", "=======", ">>>>>>> "]
                .iter()
                .any(|it| line.starts_with(it))
        };
        assert_eq!(
            text.lines().filter(is_marker).count(),
            markers,
            "{path}\n{text}"
        );
    }
    let added = later.read("src/api/mod.rs");
    assert!(added.contains("pub mod webapp;"), "{added}");

    // The user keeps both sides, in the order that Rust requires.
    let lib = project.read("src/lib.rs").replace(mine, "");
    project.write("src/lib.rs", &(lib + "\n/// Signs.\npub fn sign() {}\n"));
    for path in ["Cargo.toml", "src/lib.rs"] {
        let text = project.read(path);
        let is_marker =
            |line: &&str| ["<<<<<<< yours", "=======", ">>>>>>> rscaffold"].contains(line);
        let lines = text.split_inclusive('\n');
        let lines = lines.filter(|line| !is_marker(&line.trim_end()));
        project.write(path, &lines.collect::<String>());
    }
    project.rscaffold(GUESTBOOK);
    let fresh = Project::new(&[INIT, GUESTBOOK]);
    assert_eq!(
        project.read("src/lib.rs"),
        fresh.read("src/lib.rs") + "\n/// Signs.\npub fn sign() {}\n"
    );
    let manifest = project.read("Cargo.toml").replace("semver = \"1\"\n", "");
    assert_eq!(manifest, fresh.read("Cargo.toml"));
}
