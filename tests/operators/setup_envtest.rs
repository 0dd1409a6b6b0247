//! Runs the tests of a generated project on a real API server.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Output},
};

use cluster::wait_until;
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    compile::{build_folder, cargo},
    golden_projects,
    operator::{PATIENCE, cluster},
    scaffold::{plain_make, rscaffold, run},
};

/// Golden projects that together have controllers of each sort: plain controllers, controllers with finalizers,
/// controllers of cluster-scoped kinds, two controllers of one kind, controllers that own objects of Kubernetes and of
/// the project, controllers of an operator for one namespace, and controllers of kinds whose types come from a CRD.
const PROJECTS: [&str; 4] = ["guestbook", "library", "owner", "tenant"];

/// The other golden projects with controllers: with certificates of cert-manager, several versions, long names, and more.
const OTHER_PROJECTS: [&str; 6] = ["cache", "crddemo", "fleet", "long", "versions", "warden"];

/// Returns the folders that the control planes of these tests have written to.
fn folders() -> BTreeSet<OsString> {
    let folder = fs::read_dir(build_folder(golden_projects::folder()).join("tmp"));
    let entries = folder.into_iter().flatten();
    entries
        .map(|entry| entry.expect("a readable folder").file_name())
        .filter(|name| name.to_string_lossy().starts_with("api_server-"))
        .collect()
}

#[test]
fn the_tests_of_a_project_pass_on_a_real_api_server() {
    pass_on_a_real_api_server(&PROJECTS);
}

#[test]
#[ignore = "takes 5 minutes"]
fn the_tests_of_the_other_golden_projects_pass_on_a_real_api_server() {
    pass_on_a_real_api_server(&OTHER_PROJECTS);
}

/// The name of the package in `folder`.
fn package(folder: &Path) -> String {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let name = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name = "));
    name.expect("a name").trim_matches('"').to_owned()
}

fn pass_on_a_real_api_server(projects: &[&str]) {
    let assets = cluster().assets().expect("programs");
    let before = folders();
    let mut tests = cargo(golden_projects::folder());
    tests.args(["test", "--locked", "--test=api_server"]);
    for project in projects {
        let package = package(&golden_projects::folder().join(project));
        tests.args(["--package", &package]);
    }
    tests.args(["--", "--ignored"]);
    let printed = run(tests.env("KUBEBUILDER_ASSETS", assets));
    // The API servers that the tests started end with the tests. Then their folders are deleted.
    wait_until("their API servers to end", PATIENCE, || {
        let left: BTreeSet<_> = folders().difference(&before).cloned().collect();
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    for project in projects {
        let folder = golden_projects::folder().join(project);
        let tests = folder.join("tests/api_server");
        let controllers = WalkDir::new(tests.join("controller")).min_depth(2);
        let mut count = 0;
        for file in controllers {
            let file = file.expect("a readable folder");
            let path = file.path().strip_prefix(&tests).expect("a path in it");
            let module = path.with_extension("").to_string_lossy().replace('/', "::");
            let passed = format!("test {module}::a_sample_is_reconciled ... ok");
            assert!(printed.contains(&passed), "{passed}\n{printed}");
            count += 1;
        }
        assert!(count > 0, "{project}");
    }
}

/// Creates an archive in `folder` like the archives that controller-tools publishes, with the programs of the test's
/// own control plane. Returns the digest of the archive.
fn archive(folder: &Path) -> String {
    let programs = folder.join("controller-tools/envtest");
    fs::create_dir_all(programs.parent().expect("a folder above")).expect("a folder");
    let assets = cluster().assets().expect("programs");
    run(Command::new("cp")
        .args(["--recursive", "--dereference"])
        .args([&assets, &programs]));
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
    let project = TempDir::new().expect("a temporary folder");
    let project = project.path();
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
    for program in ["etcd", "kube-apiserver", "kubectl"] {
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
