//! Tables of guides that state what rscaffold does.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::{API, FILE, RENAME, edited, rows, text};
use crate::{
    document::{code, first_code, read, section},
    project::{INIT, Project},
};

/// The resources that the role for certificates names, each with its verbs.
fn role_for_certificates(project: &Project) -> BTreeSet<(String, Vec<String>)> {
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut resources = BTreeSet::new();
    for document in project.read("config/webhook/role.yaml").split("\n---\n") {
        let role: Value = serde_yaml::from_str(document).expect("a role");
        for rule in role["rules"].as_array().into_iter().flatten() {
            for resource in texts(&rule["resources"]) {
                resources.insert((resource, texts(&rule["verbs"])));
            }
        }
    }
    resources
}

#[test]
fn sources_of_certificates() {
    let page = read("docs/webhooks.md");
    let project = Project::new(&[
        INIT,
        API,
        "create api --group webapp --version v2 --kind Guestbook",
        "create webhook --group webapp --version v1 --kind Guestbook --conversion --defaulting \
         --programmatic-validation",
    ]);
    for row in rows(section(&page, "## Certificates")) {
        let copy = project.copy();
        if row[1].starts_with('`') {
            copy.rscaffold(&format!("edit {}", first_code(row[1])));
        }
        let mut expected = BTreeSet::new();
        for permission in row[3].split(", ") {
            for (words, resource) in [
                ("Secret", "secrets"),
                ("webhook configurations", "mutatingwebhookconfigurations"),
                ("webhook configurations", "validatingwebhookconfigurations"),
                ("CRDs", "customresourcedefinitions"),
            ] {
                if permission.contains(words) {
                    let verbs = code(permission).map(str::to_owned).collect();
                    expected.insert((resource.to_owned(), verbs));
                }
            }
        }
        assert_eq!(role_for_certificates(&copy), expected, "{}", row[0]);
    }
}

#[test]
fn flags_for_the_entries_of_a_project_in_go() {
    let page = read("docs/coming-from-kubebuilder.md");
    let (_, table) = page
        .split_once("\n| in the entry, or in the code | flag |\n")
        .expect("the table");
    for row in rows(&format!("\n{table}")) {
        let flags: Vec<_> = code(row[1]).collect();
        let flags = flags.join(" ");
        // A kind without a group needs a domain of two parts.
        let project = Project::new(&[&INIT.replace("--domain com", "--domain example.com")]);
        let (commands, expected): (Vec<String>, &[&str]) = match row[0] {
            "no `group`" => {
                assert_eq!(flags, "--group \"\"");
                let command = "create api --group= --version v1 --kind Page";
                (
                    vec![command.to_owned()],
                    &["  controller: true\n  kind: Page\n"],
                )
            }
            "no `api` and `core: true`" => {
                let deployment = "create api --group apps --version v1 --kind Deployment";
                let command = format!("{deployment} {flags}");
                (vec![command], &["core: true"])
            }
            "no `controller`" => (
                vec![format!("{API} {flags}")],
                &["    namespaced: true\n  group: webapp\n"],
            ),
            "`controllers` with a second name" => {
                let second = format!("{API} {flags} backup");
                let names = &["- name: guestbook\n", "- name: backup\n"];
                (vec![API.to_owned(), second], names)
            }
            "`external: true`" => {
                project.write("crd.yaml", &read("tests/crds/notes.yaml"));
                let command = "create api --crd crd.yaml --resource=false";
                (vec![command.to_owned()], &["external: true"])
            }
            "`namespaced` is missing in `api`" => (
                vec![format!("{API} {flags}")],
                &["- api:\n    crdVersion: v1\n  controller: true\n"],
            ),
            "`Owns(...)`, `Watches(...)`, `controllerutil.AddFinalizer`" => {
                assert_eq!(flags, "--owns --watches --finalizer");
                let command = format!("{API} --owns v1/ConfigMap --watches v1/Secret --finalizer");
                let fields = &[
                    "finalizer: true",
                    "owns:\n  - v1/ConfigMap",
                    "watches:\n  - v1/Secret",
                ];
                (vec![command], fields)
            }
            other => panic!("{other}"),
        };
        for command in &commands {
            project.rscaffold(command);
        }
        let file = project.read("PROJECT");
        for text in expected {
            assert!(file.contains(text), "{}: {text}: {file}", row[0]);
        }
    }
}

#[test]
fn remedies() {
    let page = read("docs/troubleshooting.md");
    let base = Project::new(&[INIT]);
    for row in rows(section(&page, "## rscaffold")) {
        let project = base.copy();
        match row[0] {
            "a conflict" => {
                let project = edited(&base);
                assert!(project.refused(RENAME).contains("conflict"));
                let flag = first_code(row[2]);
                project.rscaffold(&format!("{RENAME} {flag}=theirs"));
            }
            "`there are conflict markers in`" => {
                let project = edited(&base);
                project.rscaffold(&format!("{RENAME} --on-conflict=markers"));
                assert!(project.refused("apply").contains(first_code(row[0])));
                project
                    .write(FILE, "# Working on mine\n")
                    .rscaffold("apply");
            }
            "`this project was written by rscaffold ...`" => {
                let version = format!("cliVersion: {}", env!("CARGO_PKG_VERSION"));
                project.replace("PROJECT", &version, "cliVersion: 0.3.0-rc.1");
                let start = first_code(row[0]).trim_end_matches(" ...");
                assert!(project.refused(RENAME).contains(start));
                let update = first_code(row[2]).trim_start_matches("rscaffold ");
                project.rscaffold(update).rscaffold(RENAME);
            }
            "a deleted file does not come back" => {
                fs::remove_file(project.folder().join(FILE)).expect("the file");
                project.rscaffold(RENAME);
                assert_eq!(text(&project), None);
                let restore = first_code(row[2]).trim_start_matches("rscaffold ");
                project.rscaffold(&restore.replace("FILE", FILE));
                assert!(text(&project).is_some());
            }
            // The tests of generated workflows.
            "CRDs or the role differ in CI" => {}
            other => panic!("{other}"),
        }
    }
}
