//! Compares how `init --from` builds kustomizations with how kubectl does, in the fields that `init --from` reads.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use rscaffold::port::kustomized;
use serde_json::{Value, json};
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{operator::kubectl, scaffold::root};

type Files = BTreeMap<String, String>;

/// The YAML files below a folder.
fn files_in(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in WalkDir::new(folder) {
        let path = entry.expect("a file").into_path();
        let is_yaml = path.extension().is_some_and(|end| end == "yaml");
        if is_yaml && let Ok(text) = fs::read_to_string(&path) {
            let below = path.strip_prefix(folder).expect("a path in the folder");
            files.insert(below.display().to_string(), text);
        }
    }
    files
}

/// Removes the fields that only kubectl sets, because `init --from` does not read them.
fn leave_out_unread(object: &mut Value) {
    let (parent, field) = match object["kind"].as_str() {
        Some("CustomResourceDefinition") => ("spec", "conversion"),
        // It has no namespace in a cluster.
        Some("ValidatingAdmissionPolicy") => ("metadata", "namespace"),
        _ => ("", ""),
    };
    if let Some(Value::Object(fields)) = object.get_mut(parent) {
        fields.remove(field);
    }
    for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
        webhook["clientConfig"].take();
    }
}

/// The objects by kind, namespace and name, so that their order does not matter.
fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let mut sorted = BTreeMap::new();
    for mut object in objects {
        leave_out_unread(&mut object);
        let metadata = &object["metadata"];
        let name = format!(
            "{} {} {}",
            object["kind"], metadata["namespace"], metadata["name"]
        );
        sorted.insert(name, object);
    }
    sorted
}

/// The objects that differ: what is here, and what kubectl builds. Empty if all are equal.
fn differences(objects: Vec<Value>, expected: Vec<Value>) -> String {
    let (mut here, mut there) = (by_name(objects), by_name(expected));
    here.retain(|name, object| {
        there.remove_entry(name).is_none_or(|(name, other)| {
            let is_different = *object != other;
            if is_different {
                there.insert(name, other);
            }
            is_different
        })
    });
    if here.is_empty() && there.is_empty() {
        return String::new();
    }
    let texts = [here, there].map(|objects| serde_yaml::to_string(&objects).expect("YAML"));
    diffy::create_patch(&texts[1], &texts[0]).to_string()
}

/// What kubectl builds, or `None` if it refuses the kustomization.
fn by_kubectl(folder: &Path) -> Option<Vec<Value>> {
    let output = kubectl("kustomize").arg(folder).output().expect("kubectl");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    output
        .status
        .success()
        .then(|| serde_yaml::from_multiple(&text).expect("YAML"))
}

fn here(files: &Files, folder: &str) -> (Vec<Value>, BTreeSet<String>) {
    let texts = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    kustomized(&texts.collect(), folder)
}

/// Checks that the kustomizations of a Go project have the objects that kubectl builds, unless they contain a remote base
/// or run a transformer.
pub fn check(project: &Path) {
    let files = files_in(project);
    for folder in ["config/default", "config/crd"] {
        let name = project.join(folder).display().to_string();
        let (objects, left) = here(&files, folder);
        for line in &left {
            let is_known = line.contains("the remote base") || line.contains("`transformers`");
            assert!(is_known, "{name}: {line}");
        }
        if left.is_empty() {
            let expected = by_kubectl(&project.join(folder));
            let expected = expected.unwrap_or_else(|| panic!("kubectl refuses {name}"));
            let differences = differences(objects, expected);
            assert!(differences.is_empty(), "{name}: {differences}");
        }
    }
}

#[test]
fn the_kustomizations_of_go_projects_are_built_as_kubectl_builds_them() {
    for project in ["go", "go-mini"] {
        check(&root().join("tests").join(project));
    }
}

const NAMES: [&str; 3] = ["manager", "reader", "webhook-service"];

fn name() -> impl Strategy<Value = &'static str> {
    select(&NAMES[..])
}

/// An object of a kind that many operators deploy. The first one of a base is the Deployment of an operator.
fn object() -> impl Strategy<Value = Value> {
    (0..13_usize, name(), name(), any::<bool>()).prop_map(of_kind)
}

fn of_kind((kind, name, other, in_system): (usize, &str, &str, bool)) -> Value {
    let mut object = match kind {
        0 => json!({"apiVersion": "v1", "kind": "Namespace"}),
        1 => json!({"apiVersion": "v1", "kind": "ServiceAccount"}),
        2 => json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": name}}),
        3 => json!({"apiVersion": "v1", "kind": "Secret"}),
        4 => json!({
            "apiVersion": "v1", "kind": "Service",
            "spec": {"selector": {"app": name}, "ports": [{"port": 443, "name": "a"}, {"port": 80}]},
        }),
        5 => json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}),
        6 => json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
        7 => json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": other},
            "subjects": [{"kind": "ServiceAccount", "name": other, "namespace": "system"}],
        }),
        8 => json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": other},
            "subjects": [
                {"kind": "ServiceAccount", "name": "default", "namespace": "system"},
                {"kind": "User", "name": "alice"},
            ],
        }),
        9 => json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "webhooks": [{
                "name": "a.b.c", "timeoutSeconds": 5,
                "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": "/a"}},
            }],
        }),
        10 => json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {
                "group": "x.io",
                "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {
                    "service": {"name": "webhook-service", "namespace": "system"},
                }}},
                "versions": [{"name": "v1"}, {"name": "v2"}],
            },
        }),
        11 => json!({"apiVersion": "x.io/v1", "kind": "Thing", "spec": {"env": [{"name": other}]}}),
        _ => json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {
                        "serviceAccountName": other,
                        "containers": [
                            {"name": "proxy", "image": "registry.example.com:5000/proxy:1"},
                            {
                                "name": "manager", "image": "controller:latest", "args": ["--a"],
                                "env": [
                                    {"name": "A", "value": "1"},
                                    {"name": "S", "valueFrom": {"secretKeyRef": {"name": other, "key": "k"}}},
                                ],
                                "ports": [{"containerPort": 443, "name": "webhook"}],
                                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                            },
                        ],
                        "volumes": [{"name": "v", "configMap": {"name": other}}],
                    },
                },
            },
        }),
    };
    object["metadata"] = json!({"name": name});
    let is_namespaced = !matches!(kind, 0 | 5 | 7 | 9 | 10);
    if is_namespaced && in_system {
        object["metadata"]["namespace"] = "system".into();
    }
    object
}

/// Strategic merges for the Deployment of an operator.
fn merge() -> impl Strategy<Value = Value> {
    let merges = [
        json!({"spec": {"replicas": 3, "template": {"spec": {
            "nodeSelector": {"a": "b"},
            "containers": [{
                "name": "manager", "args": ["--b"],
                "env": [{"name": "B", "value": "2"}, {"name": "A", "value": null}],
                "ports": [{"containerPort": 9443, "name": "more"}],
                "volumeMounts": [{"name": "w", "mountPath": "/w"}],
            }],
            "volumes": [{"name": "w", "secret": {"secretName": "reader"}}],
        }}}}),
        json!({"spec": {"template": {"spec": {
            "containers": [{"name": "proxy", "$patch": "delete"}, {"name": "new", "image": "n"}],
        }}}}),
        json!({"metadata": {"labels": {"patched": "yes"}, "annotations": {"a": "b"}}}),
    ];
    select(merges.to_vec()).prop_map(|mut merge| {
        merge["apiVersion"] = "apps/v1".into();
        merge["kind"] = "Deployment".into();
        merge["metadata"]["name"] = "manager".into();
        merge
    })
}

fn operations() -> String {
    let operations = json!([
        {"op": "add", "path": "/spec/template/spec/containers/0/args", "value": ["--c"]},
        {"op": "replace", "path": "/spec/template/spec/serviceAccountName", "value": "default"},
    ]);
    operations.to_string()
}

/// An entry of `patches`.
fn patch() -> impl Strategy<Value = Value> {
    let merge = (merge(), any::<bool>()).prop_map(|(merge, targeted)| {
        if targeted {
            json!({"patch": merge.to_string(), "target": {"kind": "Deployment"}})
        } else {
            json!({"patch": merge.to_string()})
        }
    });
    let targets = vec![
        json!({"kind": "Deployment"}),
        json!({"kind": "Deployment", "name": "man.*"}),
        json!({"group": "apps", "version": "v1", "name": "reader"}),
        json!({"kind": "Deployment", "labelSelector": "app=manager"}),
    ];
    let operations =
        select(targets).prop_map(|target| json!({"patch": operations(), "target": target}));
    prop_oneof![merge, operations]
}

/// The fields of a kustomization besides its resources.
fn fields() -> impl Strategy<Value = Value> {
    let all = [
        ("namespace", json!("books")),
        ("namePrefix", json!("library-")),
        ("nameSuffix", json!("-v2")),
        ("commonLabels", json!({"common": "label"})),
        ("commonAnnotations", json!({"common": "annotation"})),
        (
            "labels",
            json!([{"pairs": {"one": "1"}}, {"pairs": {"two": "2"}, "includeTemplates": true}]),
        ),
        (
            "labels",
            json!([{"pairs": {"three": "3"}, "includeSelectors": true}]),
        ),
        (
            "images",
            json!([
                {"name": "controller", "newName": "ghcr.io/me/books", "newTag": "v3"},
                {"name": "registry.example.com:5000/proxy", "digest": "sha256:abc"},
            ]),
        ),
        ("replicas", json!([{"name": "manager", "count": 5}])),
        (
            "patchesJson6902",
            json!([{
                "target": {"group": "apps", "version": "v1", "kind": "Deployment", "name": "manager"},
                "patch": operations(),
            }]),
        ),
        ("configurations", json!(["names.yaml"])),
    ];
    let fields = subsequence(all.to_vec(), 0..=all.len());
    let merges = vec(merge().prop_map(|merge| merge.to_string()), 0..2);
    (fields, vec(patch(), 0..3), merges).prop_map(|(fields, patches, merges)| {
        let mut kustomization = json!({"patches": patches, "patchesStrategicMerge": merges});
        for (name, value) in fields {
            kustomization[name] = value;
        }
        kustomization
    })
}

/// A file of `configurations`.
fn names() -> Value {
    json!({
        "nameReference": [{
            "kind": "ConfigMap", "fieldSpecs": [{"kind": "Thing", "path": "spec/env/name"}],
        }],
    })
}

/// A base and an overlay, each with objects.
fn projects() -> impl Strategy<Value = Files> {
    let base = (vec(object(), 1..8), fields());
    let overlay = (vec(object(), 0..3), fields());
    let kinds = (any::<bool>(), select(vec!["bases", "resources"]));
    (base, overlay, kinds).prop_map(|(base, overlay, (is_component, bases))| {
        let mut files = Files::new();
        for (folder, (mut objects, mut kustomization)) in [("base", base), ("overlay", overlay)] {
            if folder == "base" {
                objects.insert(0, of_kind((12, "manager", "reader", false)));
            }
            let mut documents = Vec::new();
            let mut seen = BTreeSet::new();
            for object in objects {
                // kubectl refuses two objects with one name.
                let id = (
                    object["kind"].to_string(),
                    object["metadata"]["name"].to_string(),
                );
                if seen.insert(id) {
                    documents.push(object.to_string());
                }
            }
            let mut resources = Vec::new();
            if !documents.is_empty() {
                files.insert(format!("{folder}/objects.yaml"), documents.join("\n---\n"));
                resources.push("objects.yaml");
            }
            if folder == "overlay" {
                if is_component {
                    kustomization["kind"] = "Component".into();
                    kustomization["apiVersion"] = "kustomize.config.k8s.io/v1alpha1".into();
                } else if bases == "bases" {
                    kustomization["bases"] = json!(["../base"]);
                } else {
                    resources.push("../base");
                }
            }
            kustomization["resources"] = json!(resources);
            files.insert(format!("{folder}/names.yaml"), names().to_string());
            if folder == "base" && is_component {
                kustomization["components"] = json!(["../overlay"]);
            }
            files.insert(
                format!("{folder}/kustomization.yaml"),
                kustomization.to_string(),
            );
        }
        let top = if is_component { "base" } else { "overlay" };
        let path = "top/kustomization.yaml".to_owned();
        files.insert(
            path,
            json!({"resources": [format!("../{top}")]}).to_string(),
        );
        files
    })
}

#[test]
fn random_kustomizations_are_built_as_kubectl_builds_them() {
    let cases = std::env::var("KUSTOMIZATIONS").map_or(40, |text| text.parse().expect("a number"));
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let refused = Cell::new(0);
    let result = runner.run(&projects(), |files| {
        let folder = TempDir::new().expect("a folder");
        for (path, text) in &files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let (objects, left) = here(&files, "top");
        match by_kubectl(&folder.path().join("top")) {
            Some(expected) => {
                prop_assert!(left.is_empty(), "{left:?}");
                let differences = differences(objects, expected);
                prop_assert!(differences.is_empty(), "{}", differences);
            }
            None => refused.set(refused.get() + 1),
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let refused = refused.get();
    assert!(refused < cases / 2, "kubectl refuses {refused} of {cases}");
}
