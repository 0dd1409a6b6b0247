//! What the Go project deploys beside its operator, and the new project does not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    config::{Deployed, is_user_role},
    kustomize,
    rules::{bound, roles},
    source::{Object, Source},
};
use crate::engine::Texts;

/// The kinds of which other lines speak.
const ELSEWHERE: [&str; 4] = [
    "CustomResourceDefinition",
    "Deployment",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// What each project of kubebuilder deploys beside its operator: a kind, and the end of a name. The new project has it
/// under another name, or does it in another way.
const USUAL: [(&str, &str); 16] = [
    ("Certificate", "metrics-certs"),
    ("Certificate", "serving-cert"),
    ("ClusterRole", "manager-role"),
    ("ClusterRole", "metrics-auth-role"),
    ("ClusterRole", "metrics-reader"),
    ("ClusterRole", "proxy-role"),
    ("ClusterRoleBinding", "manager-rolebinding"),
    ("ClusterRoleBinding", "metrics-auth-rolebinding"),
    ("ClusterRoleBinding", "proxy-rolebinding"),
    ("Issuer", "selfsigned-issuer"),
    ("NetworkPolicy", "allow-metrics-traffic"),
    ("NetworkPolicy", "allow-webhook-traffic"),
    ("Role", "leader-election-role"),
    ("RoleBinding", "leader-election-rolebinding"),
    ("Service", "metrics-service"),
    ("Service", "webhook-service"),
];

/// A line for each object, or field of an object, that the new project does not deploy. `rendered` has the files of the
/// new project.
pub(super) fn left(source: &Source, deployed: &Deployed, rendered: &Texts) -> Vec<String> {
    if !deployed.is_built {
        return Vec::new();
    }
    let files: BTreeMap<&str, &str> = rendered
        .iter()
        .map(|(path, text)| (path.as_str(), text.content()))
        .collect();
    let here = kustomize::build(&files, "config/default").objects;
    let taken = taken(source, deployed);
    let mut lines = Vec::new();
    for object in &deployed.objects {
        let (Some(kind), name) = (object.text("kind"), object.name()) else {
            continue;
        };
        if ELSEWHERE.contains(&kind) && !is_other_deployment(deployed, object) {
            continue;
        }
        let is_usual = (USUAL.iter()).any(|(of, end)| *of == kind && name.ends_with(end))
            || is_user_role(object)
            || kind == "ServiceMonitor" && here.iter().any(|other| other.is_a(kind));
        if is_usual || taken.contains(&(kind.to_owned(), name.to_owned())) {
            continue;
        }
        let mut same = here.iter().filter(|other| other.is_a(kind));
        match same.find(|other| other.name() == name) {
            Some(other) => differences(source, object, other, &mut lines),
            None => lines.push(format!(
                "{}: the {} `{}`: copy it to `config/default`, and add the file to `config/default/kustomization.yaml`",
                source.place(object, &["kind"]),
                kind,
                name
            )),
        }
    }
    lines
}

/// Whether an object is a Deployment, but not that of the operator.
fn is_other_deployment(deployed: &Deployed, object: &Object) -> bool {
    let own = deployed
        .deployment
        .as_ref()
        .map(|deployment| deployment.name.as_str());
    object.is_a("Deployment") && own != Some(object.name())
}

/// The roles whose permissions are `RULES` of controllers, and their bindings.
fn taken(source: &Source, deployed: &Deployed) -> BTreeSet<(String, String)> {
    let mut taken = BTreeSet::new();
    for (role, _) in roles(source, deployed) {
        let kind = role.text("kind").unwrap_or("").to_owned();
        taken.insert((kind, role.name().to_owned()));
    }
    for role in bound(deployed) {
        let binding = if role.within.is_empty() {
            "ClusterRoleBinding"
        } else {
            "RoleBinding"
        };
        taken.insert((binding.to_owned(), role.binding));
    }
    taken
}

/// Adds a line for each field that `here` lacks, or that has another value there.
fn differences(source: &Source, object: &Object, here: &Object, lines: &mut Vec<String>) {
    let mut fields = Vec::new();
    compare(&object.value, &here.value, &mut Vec::new(), &mut fields);
    for (path, value) in fields {
        let is_of_tool = path
            .iter()
            .any(|name| name.starts_with("app.kubernetes.io/"));
        if is_of_tool
            || object
                .text("kind")
                .is_some_and(|kind| kind.contains("Role"))
        {
            continue;
        }
        let parts: Vec<_> = path.iter().map(String::as_str).collect();
        lines.push(format!(
            "{}: `{}: {}` of the {} `{}`: add it to the one in `{}`",
            source.place(object, &parts),
            path.join("."),
            value,
            object.text("kind").unwrap_or(""),
            object.name(),
            here.file()
        ));
    }
}

fn compare<'a>(
    value: &'a Value,
    here: &Value,
    path: &mut Vec<String>,
    fields: &mut Vec<(Vec<String>, &'a Value)>,
) {
    match value {
        Value::Object(own) if here.is_object() || here.is_null() => {
            for (name, field) in own {
                path.push(name.clone());
                compare(field, &here[name], path, fields);
                path.pop();
            }
        }
        value if value == here => {}
        value => fields.push((path.clone(), value)),
    }
}
