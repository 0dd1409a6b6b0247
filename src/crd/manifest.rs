//! The manifest of the CRD, as the generated code will write it.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{
    compare::Loss,
    read::{Column, Crd, CrdVersion},
    schema::with_inner,
};
use crate::project::Annotation;

/// Returns the text of the manifest of `crd`. `versions` has the schema that kube generates for each version, and
/// whether the version is served and stored. If `converts`, a webhook converts between the versions.
pub fn manifest(
    crd: &Crd,
    versions: Vec<(&CrdVersion, Value, [bool; 2])>,
    annotations: &[Annotation],
    converts: bool,
) -> Result<String> {
    let mut metadata = json!({"name": format!("{}.{}", crd.plural, crd.group)});
    for annotation in annotations {
        metadata["annotations"][annotation.name] = annotation.value.into();
    }
    let singular = crd
        .singular
        .clone()
        .unwrap_or_else(|| crd.kind.to_ascii_lowercase());
    let mut names = json!({"kind": crd.kind, "plural": crd.plural, "singular": singular});
    if !crd.short_names.is_empty() {
        names["shortNames"] = json!(crd.short_names);
    }
    if !crd.categories.is_empty() {
        names["categories"] = json!(crd.categories);
    }
    let mut value = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": crd.group,
            "names": names,
            "scope": if crd.namespaced { "Namespaced" } else { "Cluster" },
        },
    });
    let versions = versions.into_iter();
    let versions = versions.map(|(version, written, stage)| entry(version, written, stage));
    value["spec"]["versions"] = Value::Array(versions.collect());
    if converts {
        value["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {
                    // The Service of config/webhook. kustomize replaces its name and namespace in `config/default`.
                    "service": {"name": "webhook-service", "namespace": "system", "path": "/convert"},
                },
                "conversionReviewVersions": ["v1"],
            },
        });
    }
    // The operator uses the same option, so `make manifests` writes the same text.
    let options = serde_yaml::ser_options! { folded_wrap_chars: usize::MAX };
    let text = serde_yaml::to_string_with_options(&value, options)?;
    Ok(format!(
        "# Written by `make manifests` from the operator's code.\n{text}"
    ))
}

fn entry(version: &CrdVersion, written: Value, [served, stored]: [bool; 2]) -> Value {
    let mut entry = json!({
        "name": version.name,
        "served": served,
        "storage": stored,
    });
    if version.deprecated {
        entry["deprecated"] = true.into();
        if let Some(warning) = &version.warning {
            entry["deprecationWarning"] = warning.clone().into();
        }
    }
    if !version.columns.is_empty() {
        let columns: Vec<_> = version.columns.iter().map(column).collect();
        entry["additionalPrinterColumns"] = columns.into();
    }
    if !version.selectable.is_empty() {
        let fields = version.selectable.iter().map(|it| json!({"jsonPath": it}));
        entry["selectableFields"] = fields.collect::<Vec<_>>().into();
    }
    if !written["properties"]["status"].is_null() {
        let mut subresources = json!({"status": {}});
        if let Some(scale) = &version.scale {
            let mut all = json!({
                "specReplicasPath": scale.spec_replicas_path,
                "statusReplicasPath": scale.status_replicas_path,
            });
            if let Some(label) = &scale.label_selector_path {
                all["labelSelectorPath"] = label.clone().into();
            }
            subresources["scale"] = all;
        }
        entry["subresources"] = subresources;
    }
    entry["schema"]["openAPIV3Schema"] = floats(written);
    entry
}

fn column(column: &Column) -> Value {
    let mut all = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        all.extend(value.map(|value| (key.to_owned(), value)));
    };
    put("description", column.description.clone().map(Value::from));
    put("format", column.format.clone().map(Value::from));
    put("jsonPath", Some(column.json_path.clone().into()));
    put("name", Some(column.name.clone().into()));
    put("priority", column.priority.map(Value::from));
    put("type", Some(column.r#type.clone().into()));
    all.into()
}

/// `schema` with the bounds of numbers as floats, as in the types of Kubernetes.
fn floats(schema: Value) -> Value {
    let Value::Object(schema) = schema else {
        return schema;
    };
    let mut schema = with_inner(schema, floats);
    for key in ["minimum", "maximum", "multipleOf"] {
        if let Some(Value::Number(bound)) = schema.get(key) {
            let bound = json!(bound.as_f64());
            schema.insert(key.to_owned(), bound);
        }
    }
    schema.into()
}

/// The differences between `version` and the generated code outside of the schema.
pub(super) fn losses(crd: &Crd, version: &CrdVersion) -> Vec<Loss> {
    let mut losses = Vec::new();
    let has_status = !version.schema["properties"]["status"].is_null();
    if has_status && !version.has_status {
        let what = "it becomes a subresource, so only requests to the subresource change it";
        losses.push(Loss::new("status", what));
    }
    if version.scale.is_some() && !has_status && !version.has_status {
        losses.push(Loss::new(
            "",
            "the subresource `scale` is left out: kube supports it only together with a status",
        ));
    }
    if let Some(kind) = &crd.list_kind {
        let what = format!("the kind of its lists is `{}List`, not `{kind}`", crd.kind);
        losses.push(Loss::new("", what));
    }
    losses
}
