//! The golden projects, compiled and tested.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use cluster::{GARBAGE, wait_until};
use rscaffold::render::CONVENTIONS;
use serde_json::Value;
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    compile::{build_folder, cargo, clippy, pin, scaffolded, target_folder, with_shared_runtime},
    golden_projects,
    operator::{PATIENCE, cluster, compiled},
    scaffold::{rscaffold, run},
};

/// The golden projects: they have a file `PROJECT`.
fn projects() -> Vec<PathBuf> {
    let entries = fs::read_dir(golden_projects::folder()).expect("the golden projects");
    let folders = entries.map(|entry| entry.expect("a readable folder").path());
    let projects: Vec<_> = folders
        .filter(|folder| folder.join("PROJECT").is_file())
        .collect();
    assert!(!projects.is_empty());
    projects
}

/// The arguments that select the types alone, and their tests. With tracing-subscriber, whose features change those of
/// `log`, cargo reuses the dependencies that it has compiled for the operators.
const TYPES: [&str; 4] = [
    "--no-default-features",
    "--features=k8s-openapi/latest,tracing-subscriber/default",
    "--lib",
    "--tests",
];

/// All derived files below `folder`, by their path in it.
fn derived(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = WalkDir::new(folder).into_iter();
    let paths = entries.map(|entry| entry.expect("a readable folder").into_path());
    let files = paths.filter(|path| path.is_file());
    files
        .map(|path| path.strip_prefix(folder).expect("a path below").to_owned())
        .filter(|path| CONVENTIONS.is_derived(path.to_str().expect("a path in UTF-8")))
        .collect()
}

/// The arguments that select the golden projects, without the runtime.
const ALL: [&str; 3] = ["--locked", "--workspace", "--exclude=kube-manager"];

/// What every owner of a project runs first: format, lints, tests and documentation are clean, and
/// `make manifests` finds nothing to write.
#[test]
fn projects_are_clean_and_their_manifests_follow_from_their_code() {
    let golden = golden_projects::folder();
    let shared = with_shared_runtime();
    let shared = shared.each_ref().map(String::as_str);
    run(cargo(golden).args(["fmt", "--all", "--check"]));
    run(&mut clippy(
        golden,
        &[&ALL[..], &shared, &["--all-targets"]].concat(),
    ));
    // `make test-e2e` runs the tests of the types.
    run(&mut clippy(golden, &[&ALL[..], &shared, &TYPES].concat()));
    // The features of the runtime that a project names are enough for it.
    run(cargo(golden).args(["check", "--quiet"]).args(ALL));
    // Only here, rustdoc also follows the links in what is private in the runtime.
    run(cargo(golden)
        .args(["doc", "--quiet", "--no-deps", "--document-private-items"])
        .args(["--locked", "--workspace"])
        .env("RUSTDOCFLAGS", "-D warnings"));
    // The projects have no tests in their documentation.
    for command in [&["test", "--all-targets"][..], &["build"]] {
        run(cargo(golden)
            .args(command)
            .arg("--quiet")
            .args(ALL)
            .args(shared));
    }

    for project in projects() {
        writes_its_manifests(&project, &target_folder(golden));
    }
    writes_its_reference(&golden.join("fleet"), &target_folder(golden));
}

#[test]
#[ignore = "long: `make test-operators-long`"]
fn the_types_pass_their_tests_without_the_operator() {
    let mut cargo = cargo(golden_projects::folder());
    run(cargo
        .args(["test", "--quiet", "--locked", "--workspace"])
        .args(TYPES));
}

/// Checks that the reference of the API has a section for each version of each CRD in `folder`, a line for each field of
/// its spec, and a target for each link.
fn writes_its_reference(folder: &Path, target: &Path) {
    let out = TempDir::new().expect("a temporary folder");
    let file = out.path().join("docs/api.md");
    run(Command::new(compiled(folder, target))
        .args(["api-docs", "--out"])
        .arg(&file));
    let reference = fs::read_to_string(file).expect("a text");
    let mut versions = 0;
    for path in derived(folder) {
        let text = fs::read_to_string(folder.join(&path)).expect("a text");
        for crd in serde_yaml::from_multiple::<Value>(&text).unwrap_or_default() {
            if crd["kind"] != "CustomResourceDefinition" {
                continue;
            }
            let spec = &crd["spec"];
            for version in spec["versions"].as_array().expect("versions") {
                let [kind, group, name] =
                    [&spec["names"]["kind"], &spec["group"], &version["name"]]
                        .map(|value| value.as_str().expect("a text"));
                assert!(
                    reference.contains(&format!("## {kind} ({group}/{name})\n")),
                    "{reference}"
                );
                let schema = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
                for field in schema["properties"].as_object().expect("fields").keys() {
                    assert!(
                        reference.contains(&format!("| `{field}` |")),
                        "{field}: {reference}"
                    );
                }
                versions += 1;
            }
        }
    }
    assert!(versions > 10, "{versions}");
    for link in reference.split("](#").skip(1) {
        let (anchor, _) = link.split_once(')').expect("the end of a link");
        assert!(
            reference.contains(&format!("<a id=\"{anchor}\"></a>\n")),
            "{anchor}: {reference}"
        );
    }
}

/// Golden projects with plain controllers, controllers with finalizers, controllers of cluster-scoped kinds, two
/// controllers of one kind, and controllers of an operator for one namespace.
const PROJECTS: [&str; 3] = ["guestbook", "library", "tenant"];

/// The other golden projects with controllers: with owned objects, certificates of cert-manager, several versions, types
/// from a CRD, long names, and more.
const OTHER_PROJECTS: [&str; 7] = [
    "cache", "crddemo", "fleet", "long", "owner", "versions", "warden",
];

#[test]
fn the_tests_of_a_project_pass_on_a_real_api_server() {
    pass_on_a_real_api_server(&PROJECTS);
}

#[test]
#[ignore = "long: `make test-operators-long`"]
fn the_tests_of_the_other_golden_projects_pass_on_a_real_api_server() {
    pass_on_a_real_api_server(&OTHER_PROJECTS);
}

/// Returns the folders of the control planes that the process `id` has started. Processes of other tests have their
/// folders in the same place.
fn folders(id: u32) -> Vec<OsString> {
    let folder = fs::read_dir(build_folder(golden_projects::folder()).join("tmp"));
    let entries = folder.into_iter().flatten();
    let start = format!("api_server-{id}-");
    entries
        .map(|entry| entry.expect("a readable folder").file_name())
        .filter(|name| name.to_string_lossy().starts_with(&start))
        .collect()
}

/// Returns the programs with the API server tests of the golden projects, by the folder of the project. All projects are
/// selected, so that their libraries are those that the other tests have compiled.
fn programs() -> BTreeMap<PathBuf, PathBuf> {
    let printed = run(cargo(golden_projects::folder())
        .args([
            "test",
            "--test=api_server",
            "--no-run",
            "--message-format=json",
        ])
        .args(ALL)
        .args(with_shared_runtime()));
    let mut programs = BTreeMap::new();
    for line in printed.lines() {
        let message: Value = serde_json::from_str(line).expect("JSON");
        // Cargo builds the operators, too.
        if message["target"]["name"] == "api_server" {
            let [manifest, program] =
                ["manifest_path", "executable"].map(|field| message[field].as_str());
            let folder = manifest.and_then(|path| Path::new(path).parent());
            programs.insert(
                folder.expect("a folder").to_owned(),
                PathBuf::from(program.expect("a program")),
            );
        }
    }
    programs
}

fn pass_on_a_real_api_server(projects: &[&str]) {
    let assets = cluster().assets().expect("programs");
    let programs = programs();
    let mut running = Vec::new();
    for project in projects {
        let folder = golden_projects::folder().join(project);
        let tests = Command::new(&programs[&folder])
            .arg("--ignored")
            .current_dir(&folder)
            .env("KUBEBUILDER_ASSETS", &assets)
            .env("GOGC", GARBAGE)
            .stdout(Stdio::piped())
            .spawn();
        running.push((folder, tests.expect("tests that start")));
    }
    let mut ended = Vec::new();
    let mut ids = Vec::new();
    for (folder, tests) in running {
        ids.push(tests.id());
        let output = tests.wait_with_output().expect("tests that end");
        ended.push((folder, output));
    }
    for (folder, output) in ended {
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {printed}", folder.display());
        let controllers = WalkDir::new(folder.join("tests/api_server/controller")).min_depth(2);
        let mut count = 0;
        for file in controllers {
            let file = file.expect("a readable folder");
            let path = file.path().strip_prefix(folder.join("tests/api_server"));
            let module = path.expect("a path in it").with_extension("");
            let module = module.to_string_lossy().replace('/', "::");
            let passed = format!("test {module}::a_sample_is_reconciled ... ok");
            assert!(printed.contains(&passed), "{passed}\n{printed}");
            count += 1;
        }
        assert!(count > 0, "{}", folder.display());
    }
    // The API servers that the tests started end with the tests. Then their folders are deleted.
    wait_until("their API servers to end", PATIENCE, || {
        let left: Vec<_> = ids.iter().flat_map(|id| folders(*id)).collect();
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
}

/// A copy of the runtime has only those parts that its project uses. Without the others, nothing in it is unused.
#[test]
fn each_copy_of_the_runtime_is_clean() {
    let webhook = "create webhook --group webapp --version v1 --kind Guestbook --defaulting";
    let version = "create api --group webapp --version v2 --kind Guestbook";
    for (name, command) in [
        ("plain", None),
        ("webhook", Some(webhook)),
        ("version", Some(version)),
    ] {
        let project = scaffolded(name).expect("a folder");
        rscaffold(
            &project,
            "init --domain com --project-name guestbook --runtime vendored",
        );
        rscaffold(
            &project,
            "create api --group webapp --version v1 --kind Guestbook",
        );
        if let Some(command) = command {
            rscaffold(&project, command);
        }
        pin(&project).expect("a copy of the lock file");
        run(cargo(&project).args(["fmt", "--check"]));
        // With both packages, the dependencies have the features with which other tests have compiled them.
        let packages = ["--package=kube-manager", "--package=guestbook"];
        run(&mut clippy(&project, &packages));
        run(&mut clippy(&project, &["--all-targets"]));
    }
}

/// Checks that what the compiled program of the project in `folder` writes is what is derived there, no less and no
/// more. The program is in the target folder `target`.
pub fn writes_its_manifests(folder: &Path, target: &Path) {
    let program = compiled(folder, target);
    let package = program.file_name().expect("a name").display();
    let out = TempDir::new().expect("a temporary folder");
    run(Command::new(&program)
        .args(["manifests", "--out"])
        .arg(out.path()));
    let expected = derived(folder);
    assert!(!expected.is_empty(), "{package}");
    assert_eq!(derived(out.path()), expected, "{package}");
    for path in &expected {
        let read = |folder: &Path| fs::read_to_string(folder.join(path)).expect("a text");
        let (scaffolded, made) = (read(folder), read(out.path()));
        assert!(
            scaffolded == made,
            "{package}: {} is not what `make manifests` writes:\n{}",
            path.display(),
            diffy::create_patch(&scaffolded, &made)
        );
    }
}
