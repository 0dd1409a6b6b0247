//! Tables with names and numbers of the code: what rscaffold reads at most, the defaults of `PROJECT`, what the tests
//! with faults try, and the reasons of a storage migration.

use std::collections::BTreeSet;

use rscaffold::{limits, project};

use super::{API, rows};
use crate::{
    document::{code, first_code, read, section, tables},
    project::{INIT, Project},
};

/// Returns a number as the pages write it: `20,000`.
fn with_comma(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

/// Checks that a file declares constants with these values.
fn declares(file: &str, constants: &[&str]) {
    let text = read(file);
    for constant in constants {
        assert!(
            text.contains(&format!("const {constant};\n")),
            "{file}: {constant}"
        );
    }
}

#[test]
fn limits_of_what_is_read() {
    let page = read("docs/reliability.md");
    for row in rows(section(&page, "### How much there may be")) {
        let entries = with_comma(limits::ENTRIES);
        let together = limits::size(limits::FILES_TOGETHER);
        let limit = match row[0] {
            "a file" => limits::size(limits::FILE),
            "all files of a project together, on disk, rendered, or in a commit that git merges" => {
                together
            }
            "the record" => format!(
                "{}, {} files, {} projects",
                limits::size(limits::RECORD),
                with_comma(limits::RECORDED_FILES),
                limits::RECORDED_PROJECTS,
            ),
            "versions of kinds in `PROJECT`" => with_comma(limits::RESOURCES),
            "a file with CRDs" => {
                declares(
                    "src/command/create_api/crd.rs",
                    &["MAX_BYTES: u64 = 16 << 20"],
                );
                let values = ["MAX_OBJECTS: usize = 20_000", "MAX_VALUES: usize = 120_000"];
                declares("src/crd/read.rs", &values);
                assert!(read("src/yaml.rs").contains("max_nodes: 500_000,"));
                "16 MB, 500,000 nodes of YAML; 20,000 objects and 120,000 values in the schemas of one CRD".to_owned()
            }
            "a Go project" => {
                let file = "src/engine/worktree/snapshot.rs";
                declares(file, &["MAX_DEPTH: usize = 24"]);
                format!("{together}, {entries} files and folders, 24 folders deep")
            }
            "the search for members of a workspace" => format!("{entries} files and folders"),
            "a license header" => {
                declares("src/names/header.rs", &["MAX_BYTES: usize = 1 << 14"]);
                limits::size(1 << 14)
            }
            "a line of a message" => {
                declares(
                    "src/command/report/message.rs",
                    &["MAX_LINE: usize = 5_000"],
                );
                format!("{} characters", with_comma(5000))
            }
            other => panic!("{other}"),
        };
        assert_eq!(row[1], limit, "{}", row[0]);
    }
}

/// The folder with the tests with faults.
const FAULTS: &str = "crates/kube-manager/src/runtime/testing/faults";

#[test]
fn what_the_tests_with_faults_try() {
    let page = read("docs/faults.md");
    let head = "| command | what it tries |\n";
    let (_, table) = page.split_once(head).expect("the table");
    let (plan, histories) = (
        format!("{FAULTS}/plan.rs"),
        format!("{FAULTS}/histories.rs"),
    );
    for row in rows(table) {
        let (numbers, selected): (&[usize], _) = match first_code(row[0]) {
            "make test" => {
                declares(&plan, &["FEW: usize = 15"]);
                declares(&histories, &["FEW: u8 = 2"]);
                (&[15, 2], "\"\"")
            }
            "make test-faults" => {
                declares(&histories, &["MANY: u8 = 20"]);
                (&[20], "\"each\"")
            }
            "make test-faults FAULTS=all" => {
                declares(&plan, &["PAIRS: usize = 500"]);
                (&[500], "\"all\"")
            }
            "make test-faults FAULTS='KIND/NAME'" => (&[], "name"),
            other => panic!("{other}"),
        };
        for number in numbers {
            assert!(row[1].contains(&format!("{number} ")), "{row:?}");
        }
        let arm = format!("        {selected} => ");
        assert!(read(&plan).contains(&arm), "{arm}");
    }
    // The make target tries each fault unless the variable has another value.
    let makefile = read("tests/golden/guestbook/Makefile");
    assert!(makefile.contains("\ntest-faults: export FAULTS ?= each\n"));
}

/// The names in the first cells of a table, without what stands for another name.
fn names(section: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for row in rows(section) {
        for name in code(row[0]) {
            names.insert(name.split(':').next().unwrap_or_default().to_owned());
        }
    }
    names
}

#[test]
fn names_of_scenarios_and_faults() {
    let page = read("docs/faults.md");
    let tried = section(&page, "## What is tried");
    let (scenarios, faults) = tried.split_once("\n| fault |").expect("two tables");
    let source = read(&format!("{FAULTS}/scenario.rs"));
    let mut known = BTreeSet::new();
    for text in source.split("Scenario::").skip(1) {
        // `new` or `after_create`.
        let (_, name) = text.split_once('(').unwrap_or_default();
        let name = name.trim_start_matches("format!(");
        if let Some(name) = name.strip_prefix('"') {
            known.insert(name.split(['"', ':']).next().unwrap_or_default().to_owned());
        }
    }
    assert_eq!(names(scenarios), known);

    let source = read(&format!("{FAULTS}/fault.rs"));
    let mut known = BTreeSet::new();
    for functions in source.split("fn name(self) -> &'static str {").skip(1) {
        let function = functions.split("\n    }\n").next().unwrap_or_default();
        known.extend(function.split('"').skip(1).step_by(2).map(str::to_owned));
    }
    assert_eq!(names(&format!("\n| fault |{faults}")), known);
}

#[test]
fn reasons_of_a_storage_migration() {
    let page = read("docs/versions.md");
    let source = read("crates/kube-manager/src/runtime/storage.rs");
    let (_, reasons) = source.split_once("mod reason {").expect("the reasons");
    let reasons = reasons.split("\n}\n").next().unwrap_or_default();
    let known: BTreeSet<_> = reasons.split('"').skip(1).step_by(2).collect();
    let head = "| status | reason | what it means | what to do |\n";
    let (_, table) = page.split_once(head).expect("the table");
    let table = rows(table);
    let told: BTreeSet<_> = table.iter().map(|row| row[1]).collect();
    assert_eq!(told, known);
    for row in table {
        // Only a completed migration is true.
        assert_eq!(row[0] == "True", row[1] == "Migrated", "{row:?}");
    }
}

#[test]
fn defaults_of_the_project_file() {
    let page = read("docs/layout.md");
    let project = Project::new(&[
        INIT,
        &format!("{API} --finalizer"),
        "create webhook --group webapp --version v1 --kind Guestbook --defaulting",
        &format!("{API} --controller-name backup"),
    ]);
    let text = project.read("PROJECT");
    let parsed = project::Project::parse(&text).expect("a project");
    let (resource, controller) = parsed.controllers().next().expect("a controller");
    let own = parsed.field_manager(resource, controller);
    let mut count = 0;
    for row in tables(section(&page, "## PROJECT")).concat() {
        let default = code(row[1]).last().unwrap_or_default();
        let default = default.replace("<projectName>", "guestbook");
        let default = default.replace("<domain>", "com");
        match row[0] {
            "`lease`" => assert_eq!(parsed.lease_name(), default),
            "`namespace`" => assert_eq!(parsed.namespace_name(), default),
            "`fieldManager`" => assert_eq!(own, "guestbook.webapp.com"),
            "`finalizerName`" => {
                assert_eq!(
                    parsed.finalizer_name(resource, controller),
                    own.clone() + &default
                );
            }
            "`name`" if row[1].starts_with("the name of the controller") => {
                assert!(
                    row[1].ends_with("by default the kind, in lower case"),
                    "{row:?}"
                );
                for name in ["guestbook", "backup"] {
                    assert!(text.contains(&format!("name: {name}\n")), "{name}: {text}");
                }
            }
            "`layout`, `multigroup`, `version`" => {
                for (field, value) in code(row[0]).zip(code(row[1])) {
                    let (_, rest) = text.split_once(&format!("\n{field}:")).expect("a field");
                    // `layout` is a list, as kubebuilder writes it.
                    let rest = rest.trim_start_matches(['\n', '-', ' ']);
                    assert!(rest.starts_with(&format!("{value}\n")), "{field}: {text}");
                }
            }
            "`crdVersion`" | "`webhookVersion`" => {
                assert_eq!(row[1], "always `v1`");
                let line = format!("    {}: v1\n", first_code(row[0]));
                assert!(text.contains(&line), "{line}: {text}");
            }
            _ => continue,
        }
        count += 1;
    }
    assert_eq!(count, 8);
}
