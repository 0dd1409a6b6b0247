//! Tests the tests of faults: they find known bugs of reconcilers, and accuse no correct one.

use std::{env, fs};

use crate::{
    compile::{cargo, clippy, make},
    operator::{Project, cluster},
    scaffold::run,
};

/// Runs the small reconcilers of `known_bugs/main.rs`, each with a known bug and the fault that shows it. With the variable
/// `KNOWN_BUGS=all`, each fault is tried, also for bugs that no single fault shows each time, and a correct reconciler has
/// a thousand runs.
#[test]
fn known_bugs_are_found_and_a_correct_reconciler_is_not_accused() {
    let project = Project::scaffold(
        "sites",
        &[
            "init --domain example.com --repo sites",
            "create api --group web --version v1 --kind Site",
        ],
    );
    let title = "    pub title: String,\n";
    let note = "\n    /// A note.\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    \
                pub note: Option<String>,\n";
    let types = "src/api/web/v1/site.rs";
    project.edit(types, title, &format!("{title}{note}"));
    let sample = "config/samples/web_v1_site.yaml";
    let first = "  title: A first Site\n";
    project.edit(sample, first, &format!("{first}  note: A note\n"));
    let folder = project.path().join("tests/known_bugs");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("main.rs"), include_str!("known_bugs/main.rs")).expect("a file");
    run(&mut make(project.path(), "manifests"));
    run(&mut clippy(project.path(), &["--all-targets"]));

    let mut tests = cargo(project.path());
    tests
        .args(["test", "--quiet", "--test=known_bugs", "--"])
        .args(["--test-threads=4"])
        .env("KUBEBUILDER_ASSETS", cluster().assets().expect("programs"));
    if env::var("KNOWN_BUGS").is_ok_and(|value| value == "all") {
        tests.arg("--include-ignored");
    }
    run(&mut tests);
}
