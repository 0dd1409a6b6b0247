//! Tests that `edit` can make and undo each change of the settings.

use rscaffold::project::Feature;

use crate::{
    parallel::sample,
    project::{INIT, Project, assert_same},
    scaffold::{root, run},
};

const APIS: [&str; 3] = [
    "create api --group webapp --version v1 --kind Guestbook --owns v1/ConfigMap --finalizer",
    "create api --group webapp --version v2 --kind Guestbook",
    "create webhook --group webapp --version v1 --kind Guestbook --defaulting \
     --programmatic-validation",
];

/// Each change of settings, and the change that undoes it.
const CHANGES: [(&str, &str); 22] = [
    ("--disable agents", "--enable agents"),
    ("--enable api-docs", "--disable api-docs"),
    ("--enable autoupdate", "--disable autoupdate"),
    ("--enable certmanager", "--disable certmanager"),
    ("--enable devcontainer", "--disable devcontainer"),
    ("--enable release", "--disable release"),
    ("--enable user-roles", "--disable user-roles"),
    ("--disable github", "--enable github"),
    ("--enable grafana", "--disable grafana"),
    ("--enable helm", "--disable helm"),
    ("--disable leader-election", "--enable leader-election"),
    ("--enable metrics-auth", "--disable metrics-auth"),
    ("--disable metrics-secure", "--enable metrics-secure"),
    ("--enable network-policy", "--disable network-policy"),
    ("--enable prometheus", "--disable prometheus"),
    ("--enable webhook-files", "--disable webhook-files"),
    ("--namespaced", "--namespaced=false"),
    ("--license mit", "--license apache2"),
    ("--owner Example", "--owner="),
    ("--domain example.org", "--domain com"),
    ("--project-name library", "--project-name guestbook"),
    ("--repo github.com/me/books", "--repo guestbook"),
];

/// Creates a project that has these settings from the start.
fn from_the_start(settings: &str) -> Project {
    let mut init = format!("init --runtime registry {settings}");
    for (flag, usual) in [("--domain", "com"), ("--repo", "guestbook")] {
        if !settings.contains(flag) {
            init.extend([" ", flag, " ", usual]);
        }
    }
    Project::new(&[&[init.as_str()], APIS.as_slice()].concat())
}

#[test]
fn every_change_can_be_made_later_and_undone() {
    let plain = from_the_start("");
    for (change, undo) in sample(&CHANGES, 4) {
        let project = plain.copy();
        project.rscaffold(&format!("edit {change}"));
        assert_same(&project, &from_the_start(change), change);
        project.rscaffold(&format!("edit {undo}"));
        assert_same(&project, &plain, &format!("{change}, undone"));
    }
}

#[test]
fn all_changes_can_be_made_one_by_one_in_any_order_and_undone() {
    let plain = from_the_start("");
    let all: Vec<_> = CHANGES.iter().map(|(change, _)| *change).collect();
    let changed = from_the_start(&all.join(" "));
    let edit_all = |project: &Project, edits: &[&str]| {
        for edit in edits {
            project.rscaffold(&format!("edit {edit}"));
        }
    };
    let (project, reverse) = (plain.copy(), plain.copy());
    edit_all(&project, &all);
    assert_same(&project, &changed, "in order");
    let backwards: Vec<_> = all.iter().rev().copied().collect();
    edit_all(&reverse, &backwards);
    assert_same(&reverse, &changed, "in reverse order");
    edit_all(&project, &CHANGES.map(|(_, undo)| undo));
    assert_same(&project, &plain, "undone");
}

#[test]
fn every_feature_can_be_switched() {
    for feature in Feature::all() {
        let is_switched = |(change, _): &(&str, &str)| change.ends_with(&format!("able {feature}"));
        assert!(CHANGES.iter().any(is_switched), "{feature}");
    }
}

#[test]
fn a_hand_edit_of_the_project_works_like_the_command() {
    let project = Project::new(&[INIT]);
    project.replace(
        "PROJECT",
        "resources: []\n",
        "resources:\n- {group: webapp, version: v1, kind: Guestbook, controller: true,\n   \
         api: {crdVersion: v1, namespaced: true}}\n",
    );
    let would = project.run("diff").stdout;
    assert!(
        would.contains("+++ b/src/api/webapp/v1/guestbook.rs"),
        "{would}"
    );
    project.rscaffold("apply");
    let expected = Project::new(&[
        INIT,
        "create api --group webapp --version v1 --kind Guestbook",
    ]);
    // `apply` does not change the entry that the user wrote.
    expected.write("PROJECT", &project.read("PROJECT"));
    assert_same(&project, &expected, "apply");

    // Then the user removes the entry.
    let text = project.read("PROJECT");
    let (above, below) = text.split_once("resources:\n").expect("the resources");
    let rest = below.find("runtime: ").expect("the field below");
    let without = format!("{above}resources: []\n{}", &below[rest..]);
    project.write("PROJECT", &without);
    let never = Project::new(&[INIT]);
    assert_eq!(never.read("PROJECT"), without);
    assert_same(project.rscaffold("apply"), &never, "without the API");

    project.replace("PROJECT", "- agents\n", "");
    project.rscaffold("apply");
    assert!(!project.folder().join("AGENTS.md").exists());
}

#[test]
fn a_project_grows_from_its_description_alone() {
    let project = Project::new(&[&[INIT], APIS.as_slice()].concat());
    let anew = Project::new(&[]);
    anew.write("PROJECT", &project.read("PROJECT"));
    assert_same(anew.rscaffold("apply"), &project, "apply");
}

#[test]
fn the_name_of_the_project_changes_in_the_samples_of_a_crd() {
    let crd = root().join("tests/crds/books.yaml");
    let project = Project::new(&[
        // A name that is quoted.
        "init --domain example.com --repo guestbook --runtime registry --project-name true",
        &format!("create api --crd {} --kind Book", crd.display()),
        "edit --project-name other",
    ]);
    let sample = project.read("config/samples/library_v1_book.yaml");
    assert!(
        sample.contains("    app.kubernetes.io/name: other\n"),
        "{sample}"
    );
}

#[test]
fn git_can_apply_a_diff() {
    let project = Project::new(&[&[INIT], APIS.as_slice()].concat());
    project.replace(
        "src/main.rs",
        "    let cli = Cli::parse();\n",
        "    // mine\n    let cli = Cli::parse();\n",
    );
    project.replace("PROJECT", "- metrics-secure\n", "- prometheus\n");
    project.replace("PROJECT", "domain: com\n", "domain: example.org\n");
    let diff = run(&mut project.command("diff"));
    let patched = project.copy();
    patched.write("../by-hand.diff", &diff);
    run(&mut patched.git(&["apply", "../by-hand.diff"]));
    project.rscaffold("apply");
    // The patch does not contain the record.
    patched.write(
        ".rscaffold/last-applied.jsonl",
        &project.read(".rscaffold/last-applied.jsonl"),
    );
    assert_same(&patched, &project, "git apply");
    assert_eq!(project.run("diff --exit-code").stdout, "");
}

#[test]
fn a_lost_or_damaged_record_can_be_rebuilt() {
    let settings = "edit --enable prometheus";
    for damage in [None, Some("nonsense\n")] {
        let project = Project::new(&[&[INIT], APIS.as_slice()].concat());
        let edit = |project: &Project| {
            project.replace("Makefile", "CARGO ?= cargo\n", "CARGO ?= cargo\n# mine\n");
            std::fs::remove_file(project.folder().join("LICENSE")).unwrap();
        };
        edit(&project);
        let untouched = project.copy();
        let record = project.folder().join(".rscaffold/last-applied.jsonl");
        match damage {
            None => std::fs::remove_file(&record).unwrap(),
            Some(text) => std::fs::write(&record, text).unwrap(),
        }
        let error = project.refused(settings);
        assert!(
            error.contains("`rscaffold apply --rebuild-base`"),
            "{error}"
        );
        let told = project.run("apply --rebuild-base").stderr;
        for line in [
            "keep    Makefile  you edited it",
            "keep    LICENSE   you deleted it",
        ] {
            assert!(told.contains(line), "{told}");
        }
        assert_same(&project, &untouched, "rebuilt");
        project.rscaffold(settings);
        assert_same(&project, untouched.rscaffold(settings), "and edited");
    }
}
