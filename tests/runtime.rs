//! Tests the crate of the runtime in a project: a copy in the project, or the crate from the registry.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use kube_manager::source::{self, CORE, LICENSE, Part, without_tests};
use rscaffold::render::CONVENTIONS;
use toml::{Table, Value};

use crate::project::{Project, assert_same};

const COMMANDS: [&str; 2] = [
    "init --domain com --repo guestbook --runtime vendored",
    "create api --group webapp --version v1 --kind Guestbook",
];
const RECORD: &str = ".rscaffold/last-applied.jsonl";
/// The most lines that a first project may have of the runtime, without those for tests.
const LINES: usize = 16_802;
/// The most lines of it that only tests use.
const LINES_FOR_TESTS: usize = 5_060;
const VENDORED: &str = "crates/kube-manager/src/runtime/operator.rs";

/// Changes the record as if an older rscaffold had written `text` to the vendored file.
fn write_last(project: &Project, text: &str) {
    let record = project.read(RECORD);
    let former = CONVENTIONS.recorded(BTreeMap::from([(
        VENDORED.to_owned(),
        text.to_owned().into(),
    )]));
    let is_it = |line: &&str| line.starts_with(&format!("[\"{VENDORED}\""));
    let line = record.lines().find(is_it).expect("its line in the record");
    let former = serde_json::to_string(&(VENDORED, former[VENDORED].content())).expect("JSON");
    project.write(RECORD, &record.replace(line, &former));
}

#[test]
fn the_record_has_no_second_copy_of_it() {
    let project = Project::new(&COMMANDS);
    let record = project.read(RECORD);
    let lines = record
        .lines()
        .filter(|line| line.starts_with("[\"crates/kube-manager/"));
    let manifest = project.read("crates/kube-manager/Cargo.toml");
    let for_tests: usize = FOR_TESTS.map(|part| part.files().len()).iter().sum();
    let expected = CORE.len() + for_tests + manifest.lines().count();
    assert_eq!(lines.count(), expected, "one line a file, and the manifest");
}

#[test]
fn it_goes_to_the_registry_and_comes_back_without_a_trace() {
    let project = Project::new(&COMMANDS);
    let before = project.copy();
    let edited = project.copy();
    project.rscaffold("edit --runtime registry");
    edited.replace("PROJECT", "runtime: vendored", "runtime: registry");
    let shown = edited.outcome("apply").stderr;
    assert!(shown.contains("  delete  crates/kube-manager  "), "{shown}");
    assert_same(&edited, &project, "by a flag and in `PROJECT`");
    assert!(!project.folder().join("crates").exists());
    let version = env!("CARGO_PKG_VERSION");
    let dependency = format!("kube-manager = {{ version = \"{version}\", default-features = false");
    assert!(project.read("Cargo.toml").contains(&dependency));
    project.rscaffold("edit --runtime vendored");
    assert_same(&project, &before, "there and back");
}

#[test]
fn an_older_one_is_replaced() {
    let project = Project::new(&COMMANDS);
    let before = project.copy();
    project.write(VENDORED, "// an older one\n");
    write_last(&project, "// an older one\n");
    project.rscaffold("apply");
    assert_same(&project, &before, "as it was");
}

#[test]
fn an_edit_stays_as_long_as_there_is_nothing_new() {
    let project = Project::new(&COMMANDS);
    project.replace(VENDORED, "//! The operator", "// Mine.\n//! The operator");
    let edited = project.read(VENDORED);
    project
        .rscaffold("apply")
        .rscaffold("edit --enable prometheus --license mit");
    assert_eq!(project.read(VENDORED), edited);
}

#[test]
fn an_edit_of_an_older_one_is_a_conflict_where_it_differs_from_the_new_one() {
    let project = Project::new(&COMMANDS);
    let render = project.read(VENDORED);
    project.replace(VENDORED, "//! The operator", "// Mine.\n//! The operator");
    write_last(&project, "// what nobody knows any more\n");
    let before = project.tree();
    let error = project.refused("apply");
    let expected = "\
error: 1 file conflicts with the new text; nothing was written

  crates/kube-manager/src/runtime/operator.rs:1  both you and rscaffold changed these lines
      ours   | // Mine.
      theirs | (nothing)

hint: `--on-conflict=ours` keeps your lines, `theirs` takes the lines of rscaffold, `markers` \
    writes both; `ours:FILE` applies to that file only
";
    assert_eq!(error, expected);
    assert_eq!(project.tree(), before);

    let ours = project.copy();
    ours.rscaffold(&format!("apply --on-conflict=ours:{VENDORED}"));
    assert_eq!(ours.read(VENDORED), project.read(VENDORED));
    project.rscaffold(&format!("apply --on-conflict=theirs:{VENDORED}"));
    assert_eq!(project.read(VENDORED), render);
}

#[test]
fn an_edited_one_does_not_go_to_the_registry_unasked() {
    let project = Project::new(&COMMANDS);
    project.replace(VENDORED, "//! The operator", "// Mine.\n//! The operator");
    let before = project.tree();
    let error = project.refused("edit --runtime registry");
    assert!(
        error.contains("operator.rs:1  you changed this file, rscaffold deletes it"),
        "{error}"
    );
    assert_eq!(project.tree(), before);
    project.rscaffold("edit --runtime registry --on-conflict=theirs");
    assert!(!project.folder().join("crates").exists());
}

/// The files in the project's copy of the crate, with their texts.
fn copy(project: &Project) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for (path, text) in project.tree() {
        // A folder has no text.
        if let (Ok(path), Some(text)) = (path.strip_prefix("crates/kube-manager"), text) {
            texts.insert(path.to_str().expect("a path in UTF-8").to_owned(), text);
        }
    }
    texts
}

/// The parts that each project with a controller has.
const FOR_TESTS: [Part; 2] = [Part::SchemaTesting, Part::Testing];

/// The paths of the files that a copy with `parts` has.
fn paths<'a>(parts: &[Part]) -> BTreeSet<&'a str> {
    let of_parts = parts.iter().copied().flat_map(Part::files);
    let files = CORE.iter().chain(of_parts).map(|(path, _)| *path);
    files.chain(["Cargo.toml"]).collect()
}

#[test]
fn a_first_project_has_no_more_of_it_than_it_uses() {
    let project = Project::new(&COMMANDS);
    let copy = copy(&project);
    let expected = paths(&FOR_TESTS);
    assert!(copy.keys().map(String::as_str).eq(expected), "{copy:?}");
    let for_tests = FOR_TESTS.into_iter().flat_map(Part::files);
    let for_tests: BTreeSet<_> = for_tests.map(|(path, _)| *path).collect();
    let (mut lines, mut lines_for_tests) = (0, 0);
    for (path, text) in &copy {
        if for_tests.contains(path.as_str()) {
            lines_for_tests += text.lines().count();
        } else {
            lines += text.lines().count();
        }
    }
    assert!(lines <= LINES, "{lines}");
    assert!(lines_for_tests <= LINES_FOR_TESTS, "{lines_for_tests}");
    for (path, text) in &copy {
        for test in ["cfg(test)", "#[test]", "[dev-dependencies]"] {
            assert!(!text.contains(test), "{path} has `{test}`");
        }
    }
    let manifest = &copy["Cargo.toml"];
    for name in ["webhook = ", "json-patch", "serde_path_to_error"] {
        assert!(!manifest.contains(name), "{name}: {manifest}");
    }
}

#[test]
fn what_only_some_projects_use_of_it_comes_and_goes() {
    let (webhook, conversion) = (
        "create webhook --group webapp --version v1 --kind Guestbook --defaulting",
        "create webhook --group webapp --version v1 --kind Guestbook --conversion",
    );
    let version = "create api --group webapp --version v2 --kind Guestbook";
    let unserve = format!("{version} --served=false --force");
    let delete_webhook = "delete webhook --group webapp --version v1 --kind Guestbook";
    let delete_version = "delete api --group webapp --version v2 --kind Guestbook";
    for (commands, parts, features, back) in [
        (
            &[webhook][..],
            vec![Part::SchemaTesting, Part::Testing, Part::Webhook],
            &["runtime", "webhook"][..],
            &[delete_webhook][..],
        ),
        (
            &[version],
            vec![Part::SchemaTesting, Part::Testing, Part::Versions],
            &["runtime", "versions"],
            &[delete_version],
        ),
        (
            &[version, conversion, "edit --enable api-docs"],
            Part::ALL.to_vec(),
            &["api-docs", "runtime", "versions", "webhook"],
            &[
                &unserve,
                delete_webhook,
                delete_version,
                "edit --disable api-docs",
            ],
        ),
    ] {
        let project = Project::new(&COMMANDS);
        let before = project.copy();
        project.all(commands);
        let copy = copy(&project);
        assert!(
            copy.keys().map(String::as_str).eq(paths(&parts)),
            "{commands:?}: {copy:?}"
        );
        let manifest = project.read("Cargo.toml");
        for feature in features {
            let switch = format!("    \"kube-manager/{feature}\",\n");
            assert!(manifest.contains(&switch), "{commands:?}: {manifest}");
        }
        project.all(back);
        assert_same(&project, &before, "there and back");
    }
}

#[test]
fn an_edited_file_of_it_that_goes_is_a_conflict() {
    let project = Project::new(&COMMANDS);
    project.rscaffold("create webhook --group webapp --version v1 --kind Guestbook --defaulting");
    let file = "crates/kube-manager/src/runtime/webhook/room.rs";
    project.replace(file, "//! Limits", "// Mine.\n//! Limits");
    let before = project.tree();
    let error = project.refused("delete webhook --group webapp --version v1 --kind Guestbook");
    assert!(
        error.contains("room.rs:1  you changed this file, rscaffold deletes it"),
        "{error}"
    );
    assert_eq!(project.tree(), before);
}

/// Each file has the license of the project, or comes with its own.
#[test]
fn it_has_a_license_if_the_project_has_another() {
    let (path, license) = LICENSE;
    for (flag, expected) in [
        ("apache2", None),
        ("mit", Some(license)),
        ("none", Some(license)),
    ] {
        let project = Project::new(&[&format!("init --domain com --license {flag}")]);
        let text = copy(&project).remove(path);
        assert_eq!(text.as_deref(), expected, "{flag}");
    }
}

/// Each copy is the published crate with fewer files, so its manifest has the same dependencies, as far as it needs them.
#[test]
fn the_manifest_of_a_complete_copy_is_that_of_the_published_crate() {
    let project = Project::new(&COMMANDS);
    project.all(&[
        "create api --group webapp --version v2 --kind Guestbook",
        "create webhook --group webapp --version v1 --kind Guestbook --conversion",
        "edit --enable api-docs",
    ]);
    let copied = project.read("crates/kube-manager/Cargo.toml");
    let mut copied: Table = copied.parse().expect("TOML");
    let published = include_str!("../crates/kube-manager/Cargo.toml");
    let published: Table = published.parse().expect("TOML");
    for field in [
        "name",
        "version",
        "edition",
        "rust-version",
        "description",
        "license",
    ] {
        assert_eq!(copied["package"][field], published["package"][field]);
    }
    assert_eq!(copied["package"]["publish"], Value::Boolean(false));
    assert_eq!(copied["dependencies"], published["dependencies"]);
    let mut features = table(&published, "features").clone();
    features.remove("source");
    assert_eq!(*table(&copied, "features"), features);
    let lints = copied["lints"]["rust"].as_table_mut().expect("a table");
    let unexpected = lints.remove("unexpected_cfgs").expect("a lint");
    let names = Part::ALL.map(|part| format!("\"{}\"", part.feature()));
    let expected = format!("cfg(feature, values({}))", names.join(", "));
    assert_eq!(unexpected["check-cfg"][0].as_str(), Some(&*expected));
    assert_eq!(copied["lints"], published["lints"]);
}

fn table<'a>(manifest: &'a Table, name: &str) -> &'a Table {
    manifest[name].as_table().expect("a table")
}

/// A cargo workspace can contain only one package with the same name.
#[test]
fn the_projects_of_a_workspace_share_it() {
    let first = Project::new(&[]);
    first.write(
        "../Cargo.toml",
        "[workspace]\nmembers = [\"guestbook\", \"library\"]\n",
    );
    first.all(&COMMANDS);
    assert!(first.read("PROJECT").contains("runtime: vendored\n"));
    // The other projects may use what the first one does not use.
    let complete = copy(&first);
    assert!(
        complete.keys().map(String::as_str).eq(paths(&Part::ALL)),
        "{complete:?}"
    );
    first.write("../library/.keep", "");
    let library = first
        .folder()
        .parent()
        .expect("the workspace")
        .join("library");
    crate::scaffold::rscaffold(&library, "init --domain com");
    let manifest = fs::read_to_string(library.join("Cargo.toml")).expect("a manifest");
    let shared = "kube-manager = { path = \"../guestbook/crates/kube-manager\", default-features = false, features = [\"schema\"] }\n";
    assert!(manifest.contains(shared), "{manifest}");
    assert!(!library.join("crates").exists());
    let error =
        Project::new(&[]).refused("init --domain com --runtime ../guestbook/crates/kube-manager");
    assert!(
        error.contains("only a member of a cargo workspace can share a runtime"),
        "{error}"
    );
}

/// kube's errors show Rust values in each other form, and their text alone lacks the causes.
#[test]
fn it_shows_errors_by_one_function_alone() {
    let is_core = |path: &str| path.starts_with("src/runtime/") && !path.contains("/webhook/");
    for (path, text) in source::files().filter(|(path, _)| is_core(path)) {
        let code = without_tests(text);
        let statement = |line: &&str| !line.trim_start().starts_with("//");
        let code: Vec<_> = code.lines().filter(statement).collect();
        let code = code.join("\n");
        for form in [
            "{error:#}",
            "{error:?}",
            "{error:#?}",
            "?error",
            "{source:?}",
        ] {
            assert!(
                !code.contains(form),
                "{path} has `{form}` instead of `failure::message`"
            );
        }
    }
}

#[test]
fn rustfmt_finds_each_module_that_it_skips_where_it_is_declared() {
    let root = include_str!("../crates/kube-manager/src/lib.rs");
    let mut skipped = 0;
    for (path, text) in kube_manager::source::files() {
        let stem = path.trim_start_matches("src/").trim_end_matches(".rs");
        let folder = stem.trim_end_matches("/mod");
        for declared in text.split("#[rustfmt::skip]\n").skip(1) {
            let line = declared.lines().next().expect("a module");
            let name = line.trim_start_matches("pub ").trim_start_matches("mod ");
            let name = name.trim_end_matches(';');
            let paths = [
                format!("\"{folder}/{name}.rs\""),
                format!("\"{folder}/{name}/mod.rs\""),
            ];
            assert!(
                paths.iter().any(|path| root.contains(path)),
                "{path}: {name}"
            );
            skipped += 1;
        }
    }
    assert!(skipped > 5, "{skipped}");
}
