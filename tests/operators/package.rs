//! Tests that a project compiles with the runtime that `cargo package` creates for the registry.

use std::process::Command;

use crate::{
    compile::{cargo, pin, scaffolded},
    scaffold::{root, rscaffold, run},
};

#[test]
fn a_project_takes_the_packaged_runtime() {
    let packages = root().join("target/packages");
    // Both crates are packaged at once: rscaffold depends on a version of the runtime that the registry may not have yet.
    run(cargo(root())
        .args([
            "package",
            "--quiet",
            "--package=kube-manager",
            "--package=rscaffold",
            "--allow-dirty",
            "--no-verify",
        ])
        .arg("--target-dir")
        .arg(&packages));
    let version = kube_manager::source::VERSION;
    let name = format!("kube-manager-{version}");
    let unpacked = scaffolded("packaged").expect("a folder");
    run(Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(packages.join(format!("package/{name}.crate")))
        .arg("--directory")
        .arg(&unpacked));

    let project = scaffolded("guestbook").expect("a folder");
    rscaffold(&project, "init --domain com --runtime registry");
    rscaffold(
        &project,
        "create api --group webapp --version v1 --kind Guestbook --owns v1/ConfigMap",
    );
    pin(&project).expect("a copy of the lock file");
    let runtime = unpacked.join(name);
    let patch = format!(
        "patch.crates-io.kube-manager.path=\"{}\"",
        runtime.display()
    );
    run(cargo(&project).args(["check", "--quiet", "--all-targets", "--config", &patch]));
    // The project uses the packaged runtime, not the runtime that the projects of other tests share.
    let used = run(cargo(&project).args(["pkgid", "kube-manager", "--config", &patch]));
    assert!(used.contains(&*runtime.to_string_lossy()), "{used}");
}
