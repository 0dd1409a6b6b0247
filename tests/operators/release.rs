//! Tests the parts of a release, built as the release workflow builds them. `make test-release` runs these tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use kube_manager::source::VERSION;
use tempfile::TempDir;

use crate::{
    compile::{self, host, pin, release},
    project::{Project, assert_same},
    scaffold::{by_hand, root, run},
};

const COMMANDS: [&str; 2] = [
    "init --domain com --repo guestbook --runtime vendored",
    "create api --group webapp --version v1 --kind Guestbook",
];

/// Copies this work tree to `target/release-copies/<name>`, without the files that git ignores. The `target` folder of
/// the copy is kept, so that a second run compiles only what has changed.
fn copy(name: &str) -> PathBuf {
    let folder = root().join("target/release-copies").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let script = "find \"$1\" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
        git ls-files -z --cached --others --exclude-standard -- . ':!tests/golden' ':!tests/cli' |
        tar --create --null --files-from=- | tar --extract --directory=\"$1\"";
    run(Command::new("sh")
        .args(["-c", script, "copy"])
        .arg(&folder)
        .current_dir(root()));
    folder
}

/// Runs the commands with `program` in an empty environment, and compares the project with the one that the rscaffold
/// of this work tree writes.
fn assert_scaffolds(program: &Path) {
    let project = Project::new(&[]);
    for command in COMMANDS {
        run(Command::new(program)
            .args(command.split(' '))
            .env_clear()
            .current_dir(project.folder()));
    }
    let why = program.display().to_string();
    assert_same(&project, &Project::new(&COMMANDS), &why);
}

#[test]
#[ignore = "compiles rscaffold twice as a release: `make test-release`"]
fn the_program_of_a_release_is_static_and_the_same_wherever_it_is_built() {
    let program = release(&copy("one"));
    let other = release(&copy("a folder/that is deeper"));
    let [bytes, others] = [&program, &other].map(|path| fs::read(path).expect("a program"));
    assert!(bytes == others, "the two programs differ");
    // The program does not contain the path of this work tree.
    let top = root().to_str().expect("a path of UTF-8").as_bytes();
    assert!(!bytes.windows(top.len()).any(|part| part == top));
    if host().contains("-linux-") {
        let headers = run(Command::new("readelf")
            .args(["--program-headers", "--dynamic"])
            .arg(&program));
        for dynamic in ["INTERP", "(NEEDED)"] {
            assert!(!headers.contains(dynamic), "{headers}");
        }
    }
    assert_scaffolds(&program);
}

#[test]
#[ignore = "compiles what cargo packs: `make test-release`"]
fn what_cargo_packs_compiles_is_installed_and_scaffolds() {
    let packages = root().join("target/packages");
    let work_tree = copy("packages");
    let version = release_version(&work_tree);
    let cargo = || {
        let mut cargo = Command::new(env!("CARGO"));
        by_hand(&mut cargo).current_dir(&work_tree);
        cargo
    };
    // cargo compiles each package from its archive.
    run(cargo()
        .args([
            "package",
            "--quiet",
            "--workspace",
            "--allow-dirty",
            "--target-dir",
        ])
        .arg(&packages));

    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path();
    let [runtime, scaffolder] =
        ["kube-manager", "rscaffold"].map(|name| format!("{name}-{version}"));
    for name in [&runtime, &scaffolder] {
        run(Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(packages.join(format!("package/{name}.crate")))
            .arg("--directory")
            .arg(path));
    }
    // The patch acts as if the runtime were published already: a release publishes the runtime first.
    let config = format!(
        "patch.crates-io.kube-manager.path=\"{}\"",
        path.join(&runtime).display()
    );
    run(cargo()
        .args([
            "install", "--quiet", "--debug", "--config", &config, "--path",
        ])
        .arg(path.join(&scaffolder))
        .arg("--root")
        .arg(path.join("installed"))
        .arg("--target-dir")
        .arg(&packages));
    let program = path.join("installed/bin/rscaffold");
    let project = path.join("guestbook");
    fs::create_dir(&project).expect("a folder");
    for command in COMMANDS {
        run(Command::new(&program)
            .args(command.replace(" --runtime vendored", "").split(' '))
            .env_clear()
            .current_dir(&project));
    }
    let text = fs::read_to_string(project.join("PROJECT")).expect("a project");
    assert!(text.contains("\nruntime: registry\n"), "{text}");
    pin(&project).expect("a copy of the lock file");
    run(compile::cargo(&project).args(["check", "--quiet", "--all-targets", "--config", &config]));
}

/// Sets the version of the packages in `work_tree` to the release that follows, and returns that release.
fn release_version(work_tree: &Path) -> String {
    let (release, _) = (VERSION.split_once('-')).unwrap_or((VERSION, ""));
    for manifest in ["Cargo.toml", "crates/kube-manager/Cargo.toml"] {
        let path = work_tree.join(manifest);
        let text = fs::read_to_string(&path).expect("a manifest");
        let [before, after] = [VERSION, release].map(|version| format!("version = \"{version}\""));
        fs::write(path, text.replace(&before, &after)).expect("a writable file");
    }
    release.to_owned()
}
