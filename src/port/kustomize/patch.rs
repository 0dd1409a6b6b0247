//! Patches: strategic merges, and lists of JSON operations.

use anyhow::{Context as _, Result, bail, ensure};
use regex_lite::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{fields::set, resource::Resource};

/// An entry of `patches`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PatchFile {
    pub path: Option<String>,
    /// The patch itself, if it has no file.
    pub patch: String,
    pub target: Option<PatchTarget>,
}

/// The objects that a patch changes. Each field that is not empty must match. All but the selectors are regular
/// expressions.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PatchTarget {
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
    label_selector: String,
    annotation_selector: String,
}

/// The content of a patch.
pub(super) enum Patch {
    Merge(Value),
    Operations(json_patch::Patch),
}

impl Patch {
    pub fn new(document: Value) -> Result<Self> {
        Ok(match document {
            Value::Array(operations) => {
                // Several copies of copies would need too much memory.
                ensure!(
                    operations.iter().all(|operation| operation["op"] != "copy"),
                    "it has the operation `copy`"
                );
                Self::Operations(serde_json::from_value(operations.into())?)
            }
            document => Self::Merge(document),
        })
    }

    /// Applies the patch, which is at `place`, to the objects that `target` selects, or else to the object that the patch
    /// names.
    pub fn apply(
        &self,
        place: &(String, usize),
        target: Option<&PatchTarget>,
        resources: &mut Vec<Resource>,
    ) -> Result<()> {
        let mut selected = Vec::new();
        for (index, resource) in resources.iter().enumerate() {
            let is_selected = match (target, self) {
                (Some(target), _) => target.selects(resource)?,
                (None, Self::Merge(patch)) => is_about(patch, resource),
                (None, Self::Operations(_)) => bail!("it has no target"),
            };
            if is_selected {
                selected.push(index);
            }
        }
        ensure!(
            target.is_some() || !selected.is_empty(),
            "there is no object that it changes"
        );
        for index in selected.into_iter().rev() {
            let resource = &mut resources[index];
            match self {
                Self::Operations(operations) => {
                    json_patch::patch(&mut resource.object.value, operations)?;
                }
                Self::Merge(patch) if patch["$patch"] == "delete" => {
                    resources.remove(index);
                    continue;
                }
                Self::Merge(patch) => merge_into(resource, patch),
            }
            resource.remember();
            resource.object.sources.push(place.clone());
        }
        Ok(())
    }
}

/// Merges a patch into an object, which keeps its name and namespace.
fn merge_into(resource: &mut Resource, patch: &Value) {
    let (group, _) = resource.group_version();
    // In kinds that kustomize does not know, a list is replaced.
    let merges_lists = matches!(
        group,
        "" | "admissionregistration.k8s.io" | "apps" | "batch"
    );
    let mut changes = patch.clone();
    for field in ["name", "namespace"] {
        if let Some(value) = resource.object.value["metadata"].get(field) {
            set(&mut changes, &format!("metadata/{field}"), value.clone());
        } else if let Some(metadata) = changes.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove(field);
        }
    }
    merge(&mut resource.object.value, &changes, merges_lists);
}

/// Whether the patch has the kind and a name of the object.
fn is_about(patch: &Value, resource: &Resource) -> bool {
    let Resource { object, .. } = resource;
    let metadata = &patch["metadata"];
    let (name, namespace) = (metadata["name"].as_str(), metadata["namespace"].as_str());
    patch["kind"] == object.value["kind"]
        && patch["apiVersion"] == object.value["apiVersion"]
        && resource.was_called_in(name.unwrap_or(""), namespace.unwrap_or(""))
}

impl PatchTarget {
    fn selects(&self, resource: &Resource) -> Result<bool> {
        let mut is_named = false;
        for (name, namespace) in &resource.called {
            is_named |= fits(&self.name, name)? && fits(&self.namespace, namespace)?;
        }
        let (group, version) = resource.group_version();
        let metadata = &resource.object.value["metadata"];
        Ok(is_named
            && fits(&self.group, group)?
            && fits(&self.version, version)?
            && fits(&self.kind, resource.object.kind())?
            && selects(&self.label_selector, &metadata["labels"])?
            && selects(&self.annotation_selector, &metadata["annotations"])?)
    }
}

fn fits(pattern: &str, name: &str) -> Result<bool> {
    if pattern.is_empty() {
        return Ok(true);
    }
    let whole = Regex::new(&format!("^(?:{pattern})$"));
    let regex = whole.with_context(|| format!("the pattern `{pattern}` of its target"))?;
    Ok(regex.is_match(name))
}

/// Whether labels fit a selector of the form `app=shop,tier!=cache,env`.
fn selects(selector: &str, labels: &Value) -> Result<bool> {
    for condition in selector.split(',').map(str::trim) {
        ensure!(
            !condition.contains(['(', '<', '>']),
            "the selector `{condition}` of its target"
        );
        let (is_inverse, key, value) = if let Some((key, value)) = condition.split_once("!=") {
            (true, key, Some(value))
        } else if let Some((key, value)) = condition.split_once('=') {
            (false, key, Some(value.trim_start_matches('=')))
        } else if let Some(key) = condition.strip_prefix('!') {
            (true, key, None)
        } else {
            (false, condition, None)
        };
        let label = labels.get(key.trim());
        let is_there = label.is_some_and(|label| value.is_none_or(|value| label == value.trim()));
        if !condition.is_empty() && is_there == is_inverse {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The field by which the items of a list are merged, for lists of Kubernetes' own kinds.
fn merge_key(field: &str, items: &[Value]) -> Option<&'static str> {
    Some(match field {
        "containers"
        | "ephemeralContainers"
        | "initContainers"
        | "env"
        | "imagePullSecrets"
        | "secrets"
        | "volumes"
        | "webhooks" => "name",
        "ports" if items.iter().any(|item| !item["containerPort"].is_null()) => "containerPort",
        "ports" => "port",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "hostAliases" => "ip",
        "topologySpreadConstraints" => "topologyKey",
        "ownerReferences" => "uid",
        _ => return None,
    })
}

/// A strategic merge.
fn merge(target: &mut Value, patch: &Value, merges_lists: bool) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if patch["$patch"] == "replace" {
        let mut fields = changes.clone();
        fields.remove("$patch");
        *target = fields.into();
        return;
    }
    if !target.is_object() {
        *target = Map::new().into();
    }
    let Some(fields) = target.as_object_mut() else {
        return;
    };
    for (name, change) in changes {
        let is_deleted = change.is_null() || change["$patch"] == "delete";
        match (fields.get_mut(name), change) {
            _ if name.starts_with('$') => {}
            _ if is_deleted => _ = fields.remove(name),
            (Some(Value::Array(items)), Value::Array(new)) if merges_lists => {
                match merge_key(name, new) {
                    Some(key) => merge_lists(items, new, key),
                    None => items.clone_from(new),
                }
            }
            _ => merge(
                fields.entry(name).or_insert(Value::Null),
                change,
                merges_lists,
            ),
        }
    }
}

/// Merges two lists of objects: first the changed items, then the others.
fn merge_lists(items: &mut Vec<Value>, changed: &[Value], key: &str) {
    if changed.iter().any(|item| item["$patch"] == "replace") {
        items.clear();
    }
    let mut merged = Vec::new();
    for change in changed {
        let before = items.iter().position(|item| item[key] == change[key]);
        let mut item = before.map_or(Value::Null, |index| items.remove(index));
        if !matches!(change["$patch"].as_str(), Some("delete" | "replace")) {
            merge(&mut item, change, true);
            merged.push(item);
        }
    }
    merged.append(items);
    *items = merged;
}
