//! What a kustomization changes in all of its objects: namespaces, names, labels, annotations, replicas and images.

use serde::Deserialize;
use serde_json::Value;

use super::{
    fields::{
        Missing::{self, Create, Skip},
        Pairs, TEMPLATE, add, find, set,
    },
    resource::Resource,
};
use crate::port::source::Manifest;

/// An entry of `labels`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LabelPairs {
    pairs: Pairs,
    include_selectors: bool,
    include_templates: bool,
}

impl LabelPairs {
    /// The labels of `commonLabels`, which selectors have, too.
    pub fn common(pairs: Pairs) -> Self {
        Self {
            pairs,
            include_selectors: true,
            include_templates: true,
        }
    }
}

/// An entry of `replicas`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Replicas {
    name: String,
    count: u64,
}

/// An entry of `images`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Image {
    name: String,
    new_name: Option<String>,
    new_tag: Option<String>,
    digest: Option<String>,
}

/// Moves the objects to a namespace.
pub(super) fn namespace(resources: &mut [Resource], namespace: &str) {
    for resource in resources {
        let kind = resource.object.kind().to_owned();
        let is_namespaced = resource.is_namespaced();
        let value = &mut resource.object.value;
        if kind == "Namespace" {
            set(value, "metadata/name", namespace);
            resource.remember();
            continue;
        }
        if kind.ends_with("RoleBinding") {
            for subject in find(value, "subjects", Skip) {
                if subject["kind"] == "ServiceAccount" && subject["name"] == "default" {
                    set(subject, "namespace", namespace);
                }
            }
        }
        if is_namespaced {
            set(value, "metadata/namespace", namespace);
        }
        resource.remember();
    }
}

/// Adds a prefix and a suffix to the names.
pub(super) fn rename(resources: &mut [Resource], prefix: &str, suffix: &str) {
    if prefix.is_empty() && suffix.is_empty() {
        return;
    }
    for resource in resources {
        if matches!(
            resource.object.kind(),
            "APIService" | "CustomResourceDefinition" | "Namespace"
        ) {
            continue;
        }
        let name = format!("{prefix}{}{suffix}", resource.object.name());
        set(&mut resource.object.value, "metadata/name", name);
        resource.remember();
        let (before, after) = &resource.affixes;
        resource.affixes = (format!("{prefix}{before}"), format!("{after}{suffix}"));
    }
}

/// Where selectors are.
const SELECTORS: [(&str, &str, Missing); 3] = [
    ("Deployment", "spec/selector/matchLabels", Create),
    ("NetworkPolicy", "spec/podSelector/matchLabels", Skip),
    ("Service", "spec/selector", Create),
];

/// Adds labels.
pub(super) fn label(resources: &mut [Resource], labels: &LabelPairs) {
    for Resource { object, .. } in resources {
        let kind = object.kind().to_owned();
        add(&mut object.value, "metadata/labels", Create, &labels.pairs);
        if labels.include_selectors || labels.include_templates {
            add_to_template(object, "labels", &labels.pairs);
        }
        for (of, path, missing) in SELECTORS {
            if of == kind && labels.include_selectors {
                add(&mut object.value, path, missing, &labels.pairs);
            }
        }
    }
}

/// Adds annotations.
pub(super) fn annotate(resources: &mut [Resource], annotations: &Pairs) {
    if annotations.is_empty() {
        return;
    }
    for Resource { object, .. } in resources {
        let path = "metadata/annotations";
        add(&mut object.value, path, Create, annotations);
        add_to_template(object, "annotations", annotations);
    }
}

/// Adds pairs to this field of the metadata of Pods.
fn add_to_template(object: &mut Manifest, field: &str, pairs: &Pairs) {
    if object.is_a("Deployment") {
        let path = format!("{TEMPLATE}/metadata/{field}");
        add(&mut object.value, &path, Create, pairs);
    }
}

/// Sets the number of replicas.
pub(super) fn replicate(resources: &mut [Resource], replicas: &Replicas) {
    for resource in resources {
        if resource.object.is_a("Deployment") && resource.was_called(&replicas.name) {
            set(&mut resource.object.value, "spec/replicas", replicas.count);
        }
    }
}

/// Replaces the image of containers.
pub(super) fn set_image(resources: &mut [Resource], image: &Image) {
    for Resource { object, .. } in resources {
        for list in ["containers", "initContainers"] {
            let path = format!("{TEMPLATE}/spec/{list}/image");
            for field in find(&mut object.value, &path, Skip) {
                image.set(field);
            }
        }
    }
}

impl Image {
    fn set(&self, field: &mut Value) {
        let Some(text) = field.as_str() else { return };
        let (name, rest) = split(text);
        if name != self.name {
            return;
        }
        let new_name = self.new_name.as_deref().unwrap_or(name);
        *field = match (&self.digest, &self.new_tag) {
            (Some(digest), Some(tag)) => format!("{new_name}:{tag}@{digest}"),
            (Some(digest), None) => format!("{new_name}@{digest}"),
            (None, Some(tag)) => format!("{new_name}:{tag}"),
            (None, None) => format!("{new_name}{rest}"),
        }
        .into();
    }
}

/// The name of an image, without tag and digest.
pub(in crate::port) fn image_name(image: &str) -> &str {
    split(image).0
}

/// The name of an image, and its tag or digest with the sign before it.
fn split(image: &str) -> (&str, &str) {
    let path = image.rfind('/').unwrap_or(0);
    let end = image[path..].find([':', '@']);
    image.split_at(end.map_or(image.len(), |end| path + end))
}
