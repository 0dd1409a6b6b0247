//! What a kustomization changes in all of its objects: namespaces, names, labels, annotations, replicas and images.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    fields::{Pairs, from_pairs, set, template, visit},
    references::Reference,
    resource::Resource,
};

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
pub(super) fn namespace(resources: &mut [Resource], namespace: &str, references: &[Reference]) {
    for resource in resources {
        let kind = resource.kind().to_owned();
        let value = &mut resource.object.value;
        if kind == "Namespace" {
            set(value, "metadata/name", namespace);
            resource.remember();
            continue;
        }
        match kind.as_str() {
            "ClusterRoleBinding" | "RoleBinding" => {
                visit(value, "subjects", false, &mut |subject| {
                    if subject["kind"] == "ServiceAccount" && subject["name"] == "default" {
                        set(subject, "namespace", namespace);
                    }
                });
            }
            "CustomResourceDefinition" => {
                let service = "spec/conversion/webhook/clientConfig/service/namespace";
                visit(value, service, false, &mut |field| {
                    *field = namespace.into();
                });
            }
            "APIService" => {
                visit(value, "spec/service/namespace", false, &mut |field| {
                    *field = namespace.into();
                });
            }
            _ => {}
        }
        for reference in references {
            if let Reference::Namespace {
                kind: of,
                path,
                create,
            } = reference
                && *of == kind
            {
                visit(value, path, *create, &mut |field| *field = namespace.into());
            }
        }
        if resource.is_namespaced() {
            let value = &mut resource.object.value;
            visit(value, "metadata/namespace", true, &mut |field| {
                *field = namespace.into();
            });
            resource.remember();
        }
    }
}

/// Adds a prefix and a suffix to the names.
pub(super) fn rename(resources: &mut [Resource], prefix: &str, suffix: &str) {
    if prefix.is_empty() && suffix.is_empty() {
        return;
    }
    for resource in resources {
        if matches!(
            resource.kind(),
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

/// Where selectors are, and whether they are created.
const SELECTORS: [(&str, &str, bool); 8] = [
    ("DaemonSet", "spec/selector/matchLabels", true),
    ("Deployment", "spec/selector/matchLabels", true),
    ("NetworkPolicy", "spec/podSelector/matchLabels", false),
    ("PodDisruptionBudget", "spec/selector/matchLabels", false),
    ("ReplicaSet", "spec/selector/matchLabels", true),
    ("ReplicationController", "spec/selector", true),
    ("Service", "spec/selector", true),
    ("StatefulSet", "spec/selector/matchLabels", true),
];

/// Adds labels.
pub(super) fn label(resources: &mut [Resource], labels: &LabelPairs) {
    for resource in resources {
        let kind = resource.kind().to_owned();
        let value = &mut resource.object.value;
        add(value, "metadata/labels", true, &labels.pairs);
        if let Some(template) = template(&kind)
            && (labels.include_selectors || labels.include_templates)
        {
            add(
                value,
                &format!("{template}/metadata/labels"),
                true,
                &labels.pairs,
            );
        }
        let mut selectors = SELECTORS.iter();
        if let Some((_, path, create)) = selectors.find(|(of, ..)| *of == kind)
            && labels.include_selectors
        {
            add(value, path, *create, &labels.pairs);
        }
    }
}

/// Adds annotations.
pub(super) fn annotate(resources: &mut [Resource], annotations: &Pairs) {
    if annotations.is_empty() {
        return;
    }
    for resource in resources {
        let kind = resource.kind().to_owned();
        let value = &mut resource.object.value;
        add(value, "metadata/annotations", true, annotations);
        if let Some(template) = template(&kind) {
            add(
                value,
                &format!("{template}/metadata/annotations"),
                true,
                annotations,
            );
        }
    }
}

/// Adds pairs to the object at `path`.
fn add(value: &mut Value, path: &str, create: bool, pairs: &Pairs) {
    visit(value, path, create, &mut |field| {
        if field.is_null() {
            *field = Map::new().into();
        }
        if let Some(fields) = field.as_object_mut() {
            fields.extend(from_pairs(pairs));
        }
    });
}

/// Sets the number of replicas.
pub(super) fn replicate(resources: &mut [Resource], replicas: &Replicas) {
    for resource in resources {
        let is_meant = matches!(
            resource.kind(),
            "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet"
        );
        if is_meant
            && resource
                .called
                .iter()
                .any(|(name, _)| *name == replicas.name)
        {
            set(&mut resource.object.value, "spec/replicas", replicas.count);
        }
    }
}

/// Replaces the image of containers.
pub(super) fn set_image(resources: &mut [Resource], image: &Image) {
    for resource in resources {
        set_images(&mut resource.object.value, image);
    }
}

fn set_images(value: &mut Value, image: &Image) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| set_images(item, image)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if matches!(name.as_str(), "containers" | "initContainers") {
                    visit(field, "image", false, &mut |field| image.set(field));
                }
                set_images(field, image);
            }
        }
        _ => {}
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
    let end = match image.find('@') {
        Some(digest) => image[path..digest]
            .find(':')
            .map_or(digest, |tag| path + tag),
        None => image[path..]
            .find(':')
            .map_or(image.len(), |tag| path + tag),
    };
    image.split_at(end)
}
