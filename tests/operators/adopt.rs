//! Tests `init` in a workspace that has other members.

use std::fs;

use crate::{
    compile::{make, pin, scaffolded, without_copies},
    scaffold::{rscaffold, run},
};

/// Checks that a project that is a member of a workspace uses the Cargo.lock and the target folder of the workspace.
#[test]
fn a_workspace_member_builds_with_the_workspace() {
    let workspace = scaffolded("workspace").expect("a folder");
    let write = |path: &str, text: &str| {
        fs::write(workspace.join(path), text).expect("a writable folder");
    };
    fs::create_dir_all(workspace.join("core/src")).expect("a folder");
    let profile = "[profile.dev]\ndebug = \"line-tables-only\"\n";
    write(
        "Cargo.toml",
        &format!(
            "[workspace]\nmembers = [\"core\", \"operators/*\"]\nresolver = \"3\"\n\n{profile}"
        ),
    );
    write(
        "core/Cargo.toml",
        "[package]\nname = \"core-of-mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    write("core/src/lib.rs", "");
    pin(&workspace).expect("a lock file");
    let member = workspace.join("operators/guestbook");
    fs::create_dir_all(&member).expect("a folder");
    let told = rscaffold(&member, "init --domain com --runtime vendored").stderr;
    // The pattern of the workspace matches the folder.
    assert!(!told.contains("note:"), "{told}");
    let create = "create api --group webapp --version v1 --kind Guestbook";
    rscaffold(&member, create);
    let told = rscaffold(&member, "edit --enable github").stderr;
    assert!(
        told.contains("note: `github` has no effect: its files belong at the top of a repository"),
        "{told}"
    );

    let manifests = |member| make(member, "manifests").envs([without_copies()]).output();
    let output = manifests(&member).expect("make");
    let told = String::from_utf8(output.stderr).expect("a text");
    assert!(output.status.success(), "{told}");
    assert!(!told.contains("warning"), "{told}");
    assert!(!member.join("Cargo.lock").exists());
    rscaffold(&member, "diff --exit-code");

    // A workspace cannot have two packages of the same name, so a second project shares the runtime of the first.
    let second = workspace.join("operators/library");
    fs::create_dir_all(&second).expect("a folder");
    rscaffold(&second, "init --domain com");
    assert!(!second.join("crates").exists());
    let told = manifests(&second).expect("make");
    assert!(told.status.success(), "{told:?}");

    let build = run(make(&member, "docker-build").args(["--dry-run", "IMG=guestbook:dev"]));
    assert_eq!(
        build,
        "docker build --tag guestbook:dev --file Dockerfile ../..\n"
    );
}
