//! References between objects, which get the names that the objects have in the cluster.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    fields::{Missing::Skip, TEMPLATE, find, set},
    resource::Resource,
};

/// What files of `configurations` declare.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Configuration {
    pub name_reference: Vec<NameReference>,
    /// The fields that are not known.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

/// The fields that have the name of an object of this kind.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NameReference {
    kind: String,
    field_specs: Vec<FieldSpec>,
}

/// A field of the objects of a kind. An empty kind stands for all kinds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FieldSpec {
    kind: String,
    path: String,
}

/// Fields of the template of a Pod: the kind that they refer to, and where they are.
const IN_PODS: [(&str, &str); 7] = [
    ("ConfigMap", "volumes/configMap/name"),
    ("ConfigMap", "volumes/projected/sources/configMap/name"),
    (
        "PersistentVolumeClaim",
        "volumes/persistentVolumeClaim/claimName",
    ),
    ("Secret", "imagePullSecrets/name"),
    ("Secret", "volumes/projected/sources/secret/name"),
    ("Secret", "volumes/secret/secretName"),
    ("ServiceAccount", "serviceAccountName"),
];

/// The same for fields of containers.
const IN_CONTAINERS: [(&str, &str); 4] = [
    ("ConfigMap", "env/valueFrom/configMapKeyRef/name"),
    ("ConfigMap", "envFrom/configMapRef/name"),
    ("Secret", "env/valueFrom/secretKeyRef/name"),
    ("Secret", "envFrom/secretRef/name"),
];

/// Other fields: the kind that has them, the kind that they refer to, and where they are.
const OTHERS: [(&str, &str, &str); 6] = [
    ("ClusterRoleBinding", "ClusterRole", "roleRef"),
    ("ClusterRoleBinding", "ServiceAccount", "subjects"),
    ("RoleBinding", "ClusterRole", "roleRef"),
    ("RoleBinding", "Role", "roleRef"),
    ("RoleBinding", "ServiceAccount", "subjects"),
    ("ServiceAccount", "Secret", "imagePullSecrets/name"),
];

/// The fields of objects of this kind that have the name of another object: its kind, and where the field is.
fn references<'a>(kind: &str, declared: &'a [NameReference]) -> Vec<(&'a str, String)> {
    let mut references = Vec::new();
    if kind == "Deployment" {
        for (to, path) in IN_PODS {
            references.push((to, format!("{TEMPLATE}/spec/{path}")));
        }
        for (to, path) in IN_CONTAINERS {
            for list in ["containers", "initContainers"] {
                references.push((to, format!("{TEMPLATE}/spec/{list}/{path}")));
            }
        }
    }
    for (from, to, path) in OTHERS {
        if from == kind {
            references.push((to, path.to_owned()));
        }
    }
    for reference in declared {
        for field in &reference.field_specs {
            if field.kind == kind || field.kind.is_empty() {
                references.push((&reference.kind, field.path.clone()));
            }
        }
    }
    references
}

/// Sets the names in all references. `declared` has those of `configurations`.
pub(super) fn resolve(resources: &mut [Resource], declared: &[NameReference]) {
    for index in 0..resources.len() {
        let from = &resources[index];
        let mut value = from.object.value.clone();
        for (to, path) in references(from.object.kind(), declared) {
            for field in find(&mut value, &path, Skip) {
                point(field, to, from, resources);
            }
        }
        resources[index].object.value = value;
    }
}

/// Sets a reference of the object `from` to an object of kind `to`. It is a name, an object with a name and a namespace,
/// or a `roleRef`.
fn point(field: &mut Value, to: &str, from: &Resource, resources: &[Resource]) {
    if matches!(field["kind"].as_str(), Some("ClusterRole" | "Role")) {
        if field["kind"] == to {
            for name in find(field, "name", Skip) {
                point(name, to, from, resources);
            }
        }
        return;
    }
    let of_kind = resources.iter().filter(|resource| resource.object.is_a(to));
    if let Some(name) = field.as_str() {
        // An object in a namespace is referred to in that namespace only.
        let mut candidates: Vec<_> = of_kind.collect();
        candidates.retain(|target| {
            target.was_called(name)
                && (!target.is_namespaced() || target.object.namespace() == from.object.namespace())
        });
        let mut beside = candidates
            .iter()
            .filter(|target| target.affixes == from.affixes);
        if let Some(target) = beside.next().or(candidates.first()) {
            *field = target.object.name().into();
        }
        return;
    }
    let name = field["name"].as_str().unwrap_or("");
    let namespace = field["namespace"].as_str().unwrap_or("");
    let mut called = of_kind.filter(|target| target.was_called_in(name, namespace));
    if let Some(Resource { object, .. }) = called.next() {
        set(field, "name", object.name());
        if !object.namespace().is_empty() {
            set(field, "namespace", object.namespace());
        }
    }
}
