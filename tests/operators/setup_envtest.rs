//! Tests `make setup-envtest`, which fetches an API server for the tests of a project.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::scaffold::{plain_make, rscaffold, run};

const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// Creates an archive in `folder` like the archives that controller-tools publishes, with small programs of the same
/// names. Returns the digest of the archive.
fn archive(folder: &Path) -> String {
    let programs = folder.join("controller-tools/envtest");
    fs::create_dir_all(&programs).expect("a folder");
    for name in PROGRAMS {
        let program = programs.join(name);
        fs::write(&program, "#!/bin/sh\necho help\n").expect("a program");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(program, executable).expect("an executable program");
    }
    let (system, machine) = match (env::consts::OS, env::consts::ARCH) {
        ("macos", "aarch64") => ("darwin", "arm64"),
        ("macos", _) => ("darwin", "amd64"),
        (system, "aarch64") => (system, "arm64"),
        (system, "x86_64") => (system, "amd64"),
        (system, machine) => (system, machine),
    };
    let archive = folder.join(format!("envtest-v1.2.3-{system}-{machine}.tar.gz"));
    run(Command::new("tar")
        .args(["--use-compress-program", "gzip -1", "-cf"])
        .arg(&archive)
        .args([
            "-C".as_ref(),
            folder.as_os_str(),
            "controller-tools".as_ref(),
        ]));
    let printed = run(Command::new("sha512sum").arg(&archive));
    let digest = printed.split(' ').next();
    digest.expect("a digest").to_owned()
}

#[test]
fn an_api_server_is_fetched_whole_or_not_at_all() {
    let published = TempDir::new().expect("a temporary folder");
    let digest = archive(published.path());
    let top = TempDir::new().expect("a temporary folder");
    let project = &top.path().join("my operator");
    fs::create_dir(project).expect("a folder");
    rscaffold(project, "init --domain com --project-name guestbook");
    rscaffold(
        project,
        "create api --group webapp --version v1 --kind Guestbook",
    );
    let make = |arguments: &[&str], digest: &str| -> Output {
        let mut make = plain_make();
        make.args(arguments).current_dir(project);
        make.env_remove("KUBEBUILDER_ASSETS");
        make.env(
            "ENVTEST_URL",
            format!("file://{}", published.path().display()),
        );
        make.env("ENVTEST_SHA512", digest);
        make.output().expect("make")
    };
    let errors = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let tests = |output: &Output| String::from_utf8_lossy(&output.stdout).contains("--ignored");
    let version = "ENVTEST_K8S_VERSION=1.2.3";
    let folder = project.join("target/envtest");

    for (version, digest, expected) in [
        (version, "0123", "and not `0123`"),
        (
            version,
            "",
            "the digest of Kubernetes 1.2.3 is unknown: set ENVTEST_SHA512",
        ),
        ("ENVTEST_K8S_VERSION=1.2.4", "0123", "envtest-v1.2.4-"),
        (
            "ENVTEST_K8S_VERSION=1.36.x",
            "",
            "is `1.36.x`, which is not a version such as 1.36.2",
        ),
        (
            "ENVTEST_K8S_VERSION=../1.2",
            "",
            "is `../1.2`, which is not a version such as 1.36.2",
        ),
    ] {
        let refused = make(&["setup-envtest", version], digest);
        assert!(!refused.status.success(), "{version}");
        assert!(errors(&refused).contains(expected), "{}", errors(&refused));
        let left = fs::read_dir(&folder).into_iter().flatten().count();
        assert_eq!(left, 0, "{version}");
    }
    assert!(!tests(&make(&["--dry-run", "test", version], "")));

    let fetched = make(&["setup-envtest", version], &digest);
    assert!(fetched.status.success(), "{}", errors(&fetched));
    for program in PROGRAMS {
        let printed = run(Command::new(folder.join("1.2.3").join(program)).arg("--help"));
        assert!(!printed.is_empty(), "{program}");
    }
    assert!(tests(&make(&["--dry-run", "test", version], "")));

    // Existing programs are not downloaded again.
    let again = make(&["setup-envtest", version], "0123");
    assert!(again.status.success(), "{}", errors(&again));
    let left: Vec<_> = fs::read_dir(&folder).expect("a folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
