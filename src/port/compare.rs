//! What the Go project deploys beside its operator, and the new project does not.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::Value;

use super::{
    deployed::{Deployed, is_user_role},
    kustomize,
    lost::Lost,
    operator::Operator,
    source::{Manifest, list},
};
use crate::yaml::documents;

/// What each project of kubebuilder deploys beside its operator.
const USUAL: &str = include_str!("usual.yaml");

/// The annotations that tools set.
const OF_TOOLS: [&str; 2] = [
    "cert-manager.io/inject-ca-from",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// Reports each object, or field of an object, that the new project does not deploy. `rendered` has the files of the new
/// project.
pub(super) fn report(
    operator: &Operator,
    rendered: &kustomize::Files,
    lost: &mut Lost,
) -> Result<()> {
    let (source, deployed) = (&operator.source, &operator.deployed);
    let here = kustomize::build(rendered, "config/default").objects;
    warn_of_webhooks(deployed, &here, lost);
    if !deployed.is_built {
        return Ok(());
    }
    let lists = documents(USUAL)?;
    let mut objects: Vec<_> = deployed.objects.iter().collect();
    // A file without a name is a program's configuration. CRDs have lines of their own, and so has a namespace that the new
    // project does not make.
    objects.retain(|object| !matches!(object.kind(), "" | "CustomResourceDefinition"));
    objects.retain(|object| !object.name_in_file.is_empty());
    if !here.iter().any(|object| object.is_a("Namespace")) {
        objects.retain(|object| !deployed.is_own_namespace(object));
    }
    let of_all = of_all(&objects);
    for (path, value) in &of_all {
        if !is_usual(path, value, deployed) {
            let [_, field, key] = path;
            lost.add(format!(
                "{}: `{field}.{key}: {value}` of all objects: set it in `config/default/kustomization.yaml`",
                source.place(objects[0], path),
            ));
        }
    }
    for object in objects {
        let mut usual: Vec<_> = lists.iter().flat_map(list).collect();
        usual.retain(|usual| is_of_kind(object, &usual["kind"]));
        usual.retain(|usual| is_called(deployed.usual_name(object), &usual["name"]));
        let found = counterpart(object, &usual, &here);
        usual.extend(found.map(|found| &found.value));
        compare_object(operator, object, found, &usual, &of_all, lost);
    }
    Ok(())
}

/// Warns of the webhooks that call the Go operator after `make deploy`, because their configuration has no counterpart with
/// the same name `here`.
fn warn_of_webhooks(deployed: &Deployed, here: &[Manifest], lost: &mut Lost) {
    // Patches that no kustomization applies have the name of their object.
    let mut warned = BTreeSet::new();
    for object in &deployed.objects {
        let (kind, name) = (object.kind(), object.name());
        let mut same = here.iter();
        if !kind.ends_with("WebhookConfiguration")
            || same.any(|other| other.is_a(kind) && other.name() == name)
            || !warned.insert((kind, name))
        {
            continue;
        }
        let lower = kind.to_ascii_lowercase();
        lost.warn(if deployed.is_built {
            format!(
                "the {kind} `{name}` of the Go operator: the new project has none with this name, so the API server still calls \
                 the Go operator after `make deploy`; delete it then: `kubectl delete {lower} {name}`"
            )
        } else {
            format!(
                "the {kind} `{name}` of the Go operator, to which a kustomization may give another name: if the new project has none \
                 with this other name, the API server still calls the Go operator after `make deploy`; delete it then: `kubectl \
                 delete {lower} <NAME>`"
            )
        });
    }
}

/// Reports an object that is missing in the new project, or else its fields that differ from each object in `usual`. `found`
/// is the object of the new project that does the same.
fn compare_object(
    operator: &Operator,
    object: &Manifest,
    found: Option<&Manifest>,
    usual: &[&Value],
    of_all: &[([&str; 3], &Value)],
    lost: &mut Lost,
) {
    let (source, deployed) = (&operator.source, &operator.deployed);
    let (kind, name) = (object.kind(), object.name());
    let is_operator = deployed.is_operator(object);
    let is_taken = operator.granted.has(object) || kind.ends_with("WebhookConfiguration");
    let is_needed = usual.is_empty()
        || is_user_role(object)
        || matches!(kind, "NetworkPolicy" | "ServiceMonitor");
    if found.is_none() && is_needed && !is_operator && !is_taken {
        return lost.add(format!(
            "{}: the {kind} `{name}`: copy it to `config/default`, and add the file to \
             `config/default/kustomization.yaml`",
            source.place(object, &["kind"]),
        ));
    }
    let mut comparison = Comparison {
        prefix: &deployed.prefix,
        ..Comparison::default()
    };
    comparison.compare_fields(&object.value, usual);
    for (path, value) in comparison.fields {
        let path: Vec<_> = path.iter().map(String::as_str).collect();
        let is_of_all = of_all.iter().any(|(of_all, _)| path == of_all);
        let is_elsewhere = match path.as_slice() {
            ["roleRef" | "rules" | "webhooks", ..] | ["metadata", "namespace"] if is_taken => true,
            ["metadata", "annotations", ..] => false,
            _ => is_operator,
        };
        if !is_of_all && !is_elsewhere && !is_usual(&path, value, deployed) {
            lost.add(format!(
                "{}: `{}: {value}` of the {kind} `{name}`: {}",
                source.place(object, &path),
                path.join("."),
                advice(&path, found, is_taken),
            ));
        }
    }
}

/// What to do about a field that `found` does not have. `is_taken` is for the objects that `make manifests` writes.
fn advice(path: &[&str], found: Option<&Manifest>, is_taken: bool) -> String {
    let file = found.map(Manifest::file);
    let advice = match (path, file) {
        // `make manifests` writes the rules of this role.
        (["rules", ..], Some("config/rbac/role.yaml")) => "write it as `RULES` of a controller",
        (["aggregationRule", ..], _) => {
            "write the permissions that it adds from roles of other projects as `RULES` of a controller"
        }
        _ if is_taken => "add a patch to `config/default/kustomization.yaml`",
        (["spec", "minAvailable"], Some(file)) => {
            return format!("set it in `{file}`, instead of `maxUnavailable`");
        }
        (_, Some(file)) => return format!("set it in `{file}`"),
        (_, None) => "the new project has no such object",
    };
    advice.to_owned()
}

/// The labels and annotations that all of several objects have.
fn of_all<'a>(objects: &[&'a Manifest]) -> Vec<([&'a str; 3], &'a Value)> {
    let mut found = Vec::new();
    let [first, _, ..] = objects else {
        return found;
    };
    for field in ["annotations", "labels"] {
        let of_first = first.value["metadata"][field].as_object();
        for (key, value) in of_first.into_iter().flatten() {
            if (objects.iter()).all(|object| object.value["metadata"][field][key] == *value) {
                found.push((["metadata", field, key], value));
            }
        }
    }
    found
}

/// Whether a field may differ, because its value is about the Go project or a tool.
fn is_usual(path: &[&str], value: &Value, deployed: &Deployed) -> bool {
    match path {
        // An API server drops the field.
        _ if value.is_null() => true,
        // The new Deployment reads the Secret of the new Certificate, and its ports have other names.
        ["apiVersion" | "kind"]
        | ["metadata", "name"]
        | ["spec", "secretName"]
        | ["spec", "ports", _, "targetPort"] => true,
        ["metadata", "namespace"] => value.as_str() == deployed.namespace.as_deref(),
        ["metadata", "annotations", name] => OF_TOOLS.contains(name),
        ["subjects", _] => deployed.has_account(value),
        // Services and policies here select the Pods of the operator by other labels.
        [.., "matchLabels" | "selector", name] if deployed.pod_labels()[name] == *value => true,
        _ => path
            .iter()
            .any(|name| name.starts_with("app.kubernetes.io/")),
    }
}

/// Whether the object is of this kind. `Role` and `ClusterRole` count as one kind.
fn is_of_kind(object: &Manifest, kind: &Value) -> bool {
    let [own, other] = [object.kind(), kind.as_str().unwrap_or("")]
        .map(|kind| kind.strip_prefix("Cluster").unwrap_or(kind));
    own == other
}

/// Whether an object with this name is meant: `*` stands for any text.
fn is_called(name: &str, pattern: &Value) -> bool {
    let pattern = pattern.as_str().unwrap_or("");
    match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == pattern,
    }
}

/// The object here that has the name of `object`, or else does the same. `usual` has what kubebuilder writes for `object`.
fn counterpart<'a>(
    object: &Manifest,
    usual: &[&Value],
    here: &'a [Manifest],
) -> Option<&'a Manifest> {
    let mut found = None;
    let of_kind = here
        .iter()
        .filter(|other| is_of_kind(object, &other.value["kind"]));
    for other in of_kind {
        if other.name() == object.name() {
            return Some(other);
        }
        let [rule, other_rule] = [object, other].map(|role| &role.value["rules"][0]);
        let is_alike = !is_user_role(object) || rule["resources"] == other_rule["resources"];
        let mut names = usual.iter().map(|usual| &usual["here"]);
        if is_alike && names.any(|name| is_called(&other.name_in_file, name)) {
            found = found.or(Some(other));
        }
    }
    found
}

/// Compares an object with others.
#[derive(Default)]
pub(super) struct Comparison<'a> {
    /// The prefix that names in the object have, and names in the others may lack.
    prefix: &'a str,
    /// Where the comparison is.
    path: Vec<String>,
    /// The fields that differ from each of the others: where they are, and their values.
    pub fields: Vec<(Vec<String>, &'a Value)>,
}

impl<'a> Comparison<'a> {
    /// Compares a value with the values in the same place of others.
    pub fn compare(&mut self, name: &str, value: &'a Value, others: &[&Value]) {
        let name_here = value
            .as_str()
            .and_then(|text| text.strip_prefix(self.prefix));
        for other in others {
            if *other == value || name_here.is_some_and(|name| *other == name) {
                return;
            }
        }
        self.path.push(name.to_owned());
        match value {
            Value::Object(_) => self.compare_fields(value, others),
            // The rules and subjects of roles and bindings are sets.
            Value::Array(items) if matches!(name, "rules" | "subjects") && self.path.len() == 1 => {
                let of_others: Vec<_> = others.iter().flat_map(|other| list(other)).collect();
                for (number, item) in items.iter().enumerate() {
                    if !of_others.iter().any(|other| includes(other, item)) {
                        self.fields
                            .push((vec![name.to_owned(), number.to_string()], item));
                    }
                }
            }
            Value::Array(items)
                if others
                    .iter()
                    .any(|other| list(other).count() == items.len()) =>
            {
                for (number, item) in items.iter().enumerate() {
                    let of_others: Vec<_> = others.iter().map(|other| &other[number]).collect();
                    self.compare(&number.to_string(), item, &of_others);
                }
            }
            _ => self.fields.push((self.path.clone(), value)),
        }
        self.path.pop();
    }

    /// Compares the fields of an object.
    fn compare_fields(&mut self, object: &'a Value, others: &[&Value]) {
        for (name, value) in object.as_object().into_iter().flatten() {
            let of_others: Vec<_> = others.iter().map(|other| &other[name]).collect();
            self.compare(name, value, &of_others);
        }
    }
}

/// Whether a rule allows what `rule` allows. Subjects have the fields of a rule only if they are equal.
fn includes(other: &Value, rule: &Value) -> bool {
    if other == rule {
        return true;
    }
    for field in ["apiGroups", "nonResourceURLs", "resources", "verbs"] {
        let of_other: Vec<_> = list(&other[field]).collect();
        if !list(&rule[field]).all(|item| of_other.contains(&item)) {
            return false;
        }
    }
    !rule["verbs"].is_null()
        && (other["resourceNames"].is_null() || other["resourceNames"] == rule["resourceNames"])
}
