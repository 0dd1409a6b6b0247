//! References between objects, which get the names that the objects have in the cluster.

use serde_json::Value;

use super::{
    fields::{set, template, visit},
    resource::Resource,
};
use crate::port::source::list;

/// A field that changes with the names or the namespace of objects.
#[derive(Debug, Clone)]
pub(super) enum Reference {
    /// The field of objects of kind `from` that has the name of an object of kind `to`.
    Name {
        from: String,
        to: String,
        path: String,
    },
    /// The field of objects of a kind that has the namespace.
    Namespace {
        kind: String,
        path: String,
        create: bool,
    },
}

/// Fields of the template of a Pod: the kind that they refer to, and where they are.
const IN_PODS: [(&str, &str); 12] = [
    ("ConfigMap", "spec/volumes/configMap/name"),
    ("ConfigMap", "spec/volumes/projected/sources/configMap/name"),
    (
        "ConfigMap",
        "spec/containers/env/valueFrom/configMapKeyRef/name",
    ),
    ("ConfigMap", "spec/containers/envFrom/configMapRef/name"),
    (
        "ConfigMap",
        "spec/initContainers/env/valueFrom/configMapKeyRef/name",
    ),
    (
        "PersistentVolumeClaim",
        "spec/volumes/persistentVolumeClaim/claimName",
    ),
    ("Secret", "spec/volumes/secret/secretName"),
    ("Secret", "spec/volumes/projected/sources/secret/name"),
    ("Secret", "spec/containers/env/valueFrom/secretKeyRef/name"),
    ("Secret", "spec/containers/envFrom/secretRef/name"),
    ("Secret", "spec/imagePullSecrets/name"),
    ("ServiceAccount", "spec/serviceAccountName"),
];

/// Other fields: the kind that has them, the kind that they refer to, and where they are.
const OTHERS: [(&str, &str, &str); 13] = [
    ("APIService", "Service", "spec/service/name"),
    ("ClusterRoleBinding", "ClusterRole", "roleRef"),
    ("ClusterRoleBinding", "ServiceAccount", "subjects"),
    (
        "HorizontalPodAutoscaler",
        "Deployment",
        "spec/scaleTargetRef/name",
    ),
    (
        "HorizontalPodAutoscaler",
        "StatefulSet",
        "spec/scaleTargetRef/name",
    ),
    (
        "Ingress",
        "Service",
        "spec/rules/http/paths/backend/service/name",
    ),
    (
        "MutatingWebhookConfiguration",
        "Service",
        "webhooks/clientConfig/service",
    ),
    ("RoleBinding", "ClusterRole", "roleRef"),
    ("RoleBinding", "Role", "roleRef"),
    ("RoleBinding", "ServiceAccount", "subjects"),
    ("ServiceAccount", "Secret", "imagePullSecrets/name"),
    ("StatefulSet", "Service", "spec/serviceName"),
    (
        "ValidatingWebhookConfiguration",
        "Service",
        "webhooks/clientConfig/service",
    ),
];

/// The references that kustomize knows without a configuration.
pub(super) fn usual() -> Vec<Reference> {
    let mut references = Vec::new();
    for (from, to, path) in OTHERS {
        references.push(Reference::Name {
            from: from.to_owned(),
            to: to.to_owned(),
            path: path.to_owned(),
        });
    }
    references
}

/// Adds the references that a configuration declares. Returns the fields that are not known.
pub(super) fn configured(configuration: &Value, references: &mut Vec<Reference>) -> Vec<String> {
    let mut unknown = Vec::new();
    for (name, entries) in configuration.as_object().into_iter().flatten() {
        match name.as_str() {
            "nameReference" => {
                for target in list(Some(entries)) {
                    for field in list(target.get("fieldSpecs")) {
                        references.push(Reference::Name {
                            from: text(&field["kind"]),
                            to: text(&target["kind"]),
                            path: text(&field["path"]),
                        });
                    }
                }
            }
            "namespace" => {
                for field in list(Some(entries)) {
                    references.push(Reference::Namespace {
                        kind: text(&field["kind"]),
                        path: text(&field["path"]),
                        create: field["create"].as_bool().unwrap_or(false),
                    });
                }
            }
            // Where `vars` are replaced; `vars` themselves are named.
            "varReference" => {}
            _ => unknown.push(name.clone()),
        }
    }
    unknown
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

/// An object that others may refer to.
struct Target {
    kind: String,
    called: Vec<(String, String)>,
    name: String,
    namespace: String,
    is_namespaced: bool,
    affixes: (String, String),
}

/// Who refers to an object.
struct Referrer {
    namespace: String,
    affixes: (String, String),
}

/// Sets the names in all references.
pub(super) fn resolve(resources: &mut [Resource], references: &[Reference]) {
    let mut targets = Vec::new();
    for resource in resources.iter() {
        targets.push(Target {
            kind: resource.kind().to_owned(),
            called: resource.called.clone(),
            name: resource.object.name().to_owned(),
            namespace: resource.namespace().to_owned(),
            is_namespaced: resource.is_namespaced(),
            affixes: resource.affixes.clone(),
        });
    }
    for resource in resources {
        let kind = resource.kind().to_owned();
        let referrer = Referrer {
            namespace: resource.namespace().to_owned(),
            affixes: resource.affixes.clone(),
        };
        let value = &mut resource.object.value;
        if let Some(template) = template(&kind) {
            for (to, path) in IN_PODS {
                visit(value, &format!("{template}/{path}"), false, &mut |field| {
                    point(field, to, &referrer, &targets);
                });
            }
        }
        for reference in references {
            if let Reference::Name { from, to, path } = reference
                && (*from == kind || from.is_empty())
            {
                visit(value, path, false, &mut |field| {
                    point(field, to, &referrer, &targets);
                });
            }
        }
    }
}

/// Sets a reference to an object of kind `to`. It is a name, an object with a name and a namespace, or a `roleRef`.
fn point(field: &mut Value, to: &str, referrer: &Referrer, targets: &[Target]) {
    let is_role = matches!(field["kind"].as_str(), Some("ClusterRole" | "Role"));
    if is_role && field["kind"] == to {
        visit(field, "name", false, &mut |name| {
            point(name, to, referrer, targets);
        });
    }
    if is_role {
        return;
    }
    let mut candidates: Vec<_> = targets.iter().filter(|target| target.kind == to).collect();
    if let Some(name) = field.as_str() {
        // An object in a namespace is referred to in that namespace only.
        candidates.retain(|target| {
            target.has(name) && (!target.is_namespaced || target.namespace == referrer.namespace)
        });
        let mut beside = candidates.iter();
        let beside = beside.find(|target| target.affixes == referrer.affixes);
        if let Some(target) = beside.or(candidates.first()) {
            *field = target.name.as_str().into();
        }
        return;
    }
    let is = (text(&field["name"]), text(&field["namespace"]));
    let mut called = candidates.iter();
    if let Some(target) = called.find(|target| target.called.contains(&is)) {
        set(field, "name", target.name.as_str());
        if !target.namespace.is_empty() {
            set(field, "namespace", target.namespace.as_str());
        }
    }
}

impl Target {
    fn has(&self, name: &str) -> bool {
        self.called.iter().any(|(called, _)| called == name)
    }
}
