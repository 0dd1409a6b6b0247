//! Tests that a newer CRD is taken over, whichever of its versions it stores.

use serde_json::json;

use crate::project::{INIT, Project};

/// A CRD of the kind `Thing` with these versions: name, and whether it is stored.
fn crd(group: &str, strategy: &str, versions: &[(&str, bool)]) -> String {
    let schema = json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string"}}}},
    });
    let mut all = Vec::new();
    for (name, is_stored) in versions {
        all.push(json!({
            "name": name, "served": true, "storage": is_stored, "schema": {"openAPIV3Schema": schema},
        }));
    }
    let service = json!({"service": {"name": "a", "namespace": "a"}});
    let webhook = json!({"conversionReviewVersions": ["v1"], "clientConfig": service});
    let conversion = match strategy {
        "None" => json!({"strategy": strategy}),
        _ => json!({"strategy": strategy, "webhook": webhook}),
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group,
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "conversion": conversion,
            "versions": all,
        },
    })
    .to_string()
}

/// The entry of a version in `PROJECT`.
fn entry(project: &Project, version: &str) -> String {
    let text = project.read("PROJECT");
    let last = format!("  version: {version}\n");
    let mut entries = text.split("- api:");
    let found = entries.find(|entry| entry.contains(&last));
    found.expect("an entry").to_owned()
}

const COMMAND: &str = "create api --crd crd.yaml";

#[test]
fn the_controller_moves_to_the_version_that_a_newer_crd_stores() {
    for before in [
        &[("v1beta1", true), ("v1", false)][..],
        &[("v1beta1", true)],
    ] {
        let project = Project::new(&[INIT]);
        project
            .write("crd.yaml", &crd("odd.com", "None", before))
            .rscaffold(COMMAND);
        let after = crd("odd.com", "None", &[("v1beta1", false), ("v1", true)]);
        project.write("crd.yaml", &after).rscaffold(COMMAND);
        assert!(entry(&project, "v1").contains("controller: true"));
        assert!(!entry(&project, "v1beta1").contains("controller"));
        let again = project.rscaffold(COMMAND).run(COMMAND);
        assert!(again.stderr.contains("nothing to do"), "{}", again.stderr);
    }
}

#[test]
fn a_newer_crd_with_another_schema_needs_the_conversion_that_the_hint_names() {
    let project = Project::new(&[INIT]);
    let first = crd("odd.com", "Webhook", &[("v1beta1", true)]);
    project
        .write("crd.yaml", &first.replace("size", "width"))
        .rscaffold(COMMAND);
    for versions in [
        &[("v1beta1", false), ("v1", true)][..],
        &[("v1beta1", false), ("v1", false), ("v2", true)],
    ] {
        let newer = crd("odd.com", "Webhook", versions);
        let error = project.write("crd.yaml", &newer).refused(COMMAND);
        let (_, hint) = error.split_once("hint: ").expect("a hint");
        let commands = hint.split('`').filter(|text| text.contains("--kind"));
        let commands: Vec<_> = commands.collect();
        assert_eq!(commands.len(), 3, "{hint}");
        for command in commands {
            project.rscaffold(command.trim_start_matches("rscaffold "));
        }
        project.rscaffold(COMMAND);
        let (stored, _) = versions.last().expect("a version");
        assert!(entry(&project, stored).contains("controller: true"));
    }
}

#[test]
fn the_hub_of_a_conversion_stays_served() {
    let project = Project::new(&[INIT]);
    let versions = [("v1alpha1", false), ("v1", true)];
    project
        .write("crd.yaml", &crd("odd.com", "Webhook", &versions))
        .rscaffold(COMMAND)
        .rscaffold("create webhook --group odd --kind Thing --version v1alpha1 --conversion");
    let again = project.run(COMMAND);
    assert!(again.stderr.contains("nothing to do"), "{}", again.stderr);
}

#[test]
fn a_kind_of_others_may_have_the_domain_as_its_group() {
    let project = Project::new(&["init --domain example.com --repo a --runtime registry"]);
    let others = format!("{COMMAND} --resource=false");
    project
        .write("crd.yaml", &crd("example.com", "None", &[("v1", true)]))
        .rscaffold(&others);
    assert!(project.read("PROJECT").contains("group: example.com\n"));
    // Kinds of this project in that group have controllers in the same module.
    project
        .rscaffold("create api --group= --version v1 --kind Page")
        .rscaffold("create webhook --group= --kind Page --defaulting");
    let module = project.read("src/controller/example_com/mod.rs");
    assert!(
        module.contains("pub mod page;\npub mod thing;\n"),
        "{module}"
    );
    assert!(project.run("apply").stderr.contains("nothing to do"));
}

#[test]
fn a_controller_of_an_external_kind_says_that_it_uses_the_version_before() {
    let project = Project::new(&[INIT]);
    let others = format!("{COMMAND} --resource=false");
    project
        .write("crd.yaml", &crd("odd.io", "None", &[("v1alpha1", true)]))
        .rscaffold(&others);
    project.write("crd.yaml", &crd("odd.io", "None", &[("v1", true)]));
    let said = project.run(&others).stderr;
    assert!(
        said.contains("`odd/v1alpha1/Thing` has the controller: to use `v1` instead"),
        "{said}"
    );
}

#[test]
fn versions_of_a_crd_need_no_priority_in_kubernetes() {
    let names = ["v1api20230701preview", "v1api20230701storage"];
    let project = Project::new(&[INIT]);
    let versions = [(names[0], false), (names[1], true)];
    project
        .write("crd.yaml", &crd("odd.com", "None", &versions))
        .rscaffold(COMMAND)
        .rscaffold("create webhook --group odd --kind Thing --defaulting");
    let types = format!("src/api/odd/{}/thing.rs", names[0]);
    assert!(project.read(&types).contains("pub struct ThingSpec"));
    assert!(entry(&project, names[1]).contains("storage: true"));
}
