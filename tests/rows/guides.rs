//! Tables of guides that state what rscaffold does.

use std::{collections::BTreeSet, fs};

use rscaffold::project;
use serde_json::Value;

use super::{API, FILE, RENAME, edited, rows, text};
use crate::{
    document::{code, first_code, read, section},
    project::{INIT, Project},
    scaffold::{plain_make, run},
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

#[test]
fn names_after_a_takeover() {
    let page = read("docs/coming-from-kubebuilder.md");
    let project = Project::new(&[
        "init --domain example.com --repo guestbook --runtime registry --enable user-roles,certmanager",
        &format!("{API} --finalizer"),
    ]);
    let parsed = project::Project::parse(&project.read("PROJECT")).expect("a project");
    let (resource, controller) = parsed.controllers().next().expect("a controller");
    let default = project.read("config/default/kustomization.yaml");
    assert!(default.contains("\nnamePrefix: guestbook-\n"));
    let has = |path: &str, name: &str| {
        let name = name.strip_prefix("guestbook-").expect("the prefix");
        let text = project.read(path);
        assert!(
            text.contains(&format!("\n  name: {name}\n")),
            "{name}: {text}"
        );
    };
    let (_, table) = page
        .split_once("\n| | Go | here | what to do |\n")
        .expect("the table");
    for row in rows(&format!("\n{table}")) {
        let here = first_code(row[2]);
        match row[0] {
            "Lease" => assert_eq!(parsed.lease_name(), here),
            "field manager" => assert_eq!(parsed.field_manager(resource, controller), here),
            "finalizer" => {
                assert_eq!(parsed.finalizer_name(resource, controller), here);
                let file = project.read("PROJECT");
                let file = file.replace(
                    "  finalizer: true\n",
                    "  finalizer: true\n  finalizerName: webapp.example.com/finalizer\n",
                );
                let copy = project.copy();
                copy.write("PROJECT", &file).rscaffold("apply");
                let code = copy.read("src/controller/webapp/guestbook.rs");
                assert!(code.contains(first_code(row[1])), "{code}");
            }
            "labels of owned objects" => {
                let folder = "crates/kube-manager/src/runtime/children";
                assert!(read(&format!("{folder}/mark.rs")).contains(here), "{here}");
                assert!(read(&format!("{folder}/any.rs")).contains("/applied\""));
            }
            "metrics Service" => has("config/default/metrics_service.yaml", here),
            "roles for users, without `multigroup`" => {
                has("config/rbac/webapp_guestbook_editor_role.yaml", here);
            }
            "certificates by cert-manager" => {
                assert!(project.folder().join("config/certmanager").is_dir());
                let flag = code(row[2]).last().expect("a flag");
                let undo = flag.replace("--enable", "--disable");
                project.copy().rscaffold(&format!("edit {undo}"));
            }
            other => panic!("{other}"),
        }
    }
}

/// A cargo for make that prints how it would run the operator.
const CARGO: &str = "\
#!/bin/sh
[ \"$1\" = run ] || exit 0
shift 2
echo \"webhooks=$ENABLE_WEBHOOKS url=$KUBE_MANAGER_WEBHOOK_URL arguments=$*\"
";

#[test]
fn webhooks_on_your_machine() {
    let page = read("docs/webhooks.md");
    let project = Project::new(&[
        INIT,
        API,
        "create webhook --group webapp --version v1 --kind Guestbook --defaulting",
    ]);
    project.write("../cargo", CARGO);
    for row in rows(section(&page, "## On your machine")) {
        let expected = match row[0] {
            "have webhooks on your machine" => &["webhooks= url=auto arguments="][..],
            "choose the address yourself" => &["webhooks= url=https://192.168.1.2:9443 arguments="],
            "have no webhooks" => &[
                "webhooks=false url=auto arguments=",
                "webhooks= url=auto arguments=--webhooks=false",
            ],
            other => panic!("{other}"),
        };
        let commands: Vec<_> = code(row[1]).collect();
        assert_eq!(commands.len(), expected.len(), "{row:?}");
        for (command, expected) in commands.into_iter().zip(expected) {
            let mut words = command.split(' ');
            assert_eq!(words.next(), Some("make"));
            let mut make = plain_make();
            make.args(words)
                .args(["--silent", "CARGO=sh ../cargo"])
                .env_remove("ENABLE_WEBHOOKS")
                .current_dir(project.folder());
            let printed = run(&mut make);
            assert_eq!(
                printed.lines().last(),
                Some(*expected),
                "{command}: {printed}"
            );
        }
    }
    // What the operator reads.
    let options = read("crates/kube-manager/src/runtime/webhook/options.rs");
    for name in ["\"ENABLE_WEBHOOKS\"", "env = \"KUBE_MANAGER_WEBHOOK_URL\""] {
        assert!(options.contains(name), "{name}");
    }
}

#[test]
fn versions_that_a_project_needs() {
    let page = read("docs/practices.md");
    let manifest = read("tests/golden/guestbook/Cargo.toml");
    let (_, table) = page
        .split_once("\n| | needed | why |\n")
        .expect("the table");
    for row in rows(&format!("\n{table}")) {
        let version = row[1].split(' ').next().unwrap_or_default();
        let line = match row[0] {
            "Rust" => format!("\nrust-version = \"{version}\"\n"),
            "kube" | "k8s-openapi" => format!("\n{} = {{ version = \"{version}\",", row[0]),
            "Kubernetes" => {
                let readme = read("README.md");
                assert!(
                    readme.contains(&format!("**Kubernetes** {version} or newer")),
                    "{version}"
                );
                continue;
            }
            other => panic!("{other}"),
        };
        assert!(manifest.contains(&line), "{line}");
    }
}
