//! The manifest of the CRD, as the generated code will write it.

use serde_json::{Value, json};

use super::{
    compare::Loss,
    read::{Column, Crd, CrdVersion},
    schema::with_inner,
};

/// Returns the entry of a version in the manifest of its CRD. `schema` is the schema that kube generates.
pub fn manifest_version(version: &CrdVersion, schema: Value, served: bool, stored: bool) -> Value {
    let mut entry = json!({
        "name": version.name,
        "served": served,
        "storage": stored,
    });
    if version.deprecated {
        entry["deprecated"] = true.into();
        if let Some(warning) = &version.warning {
            entry["deprecationWarning"] = warning.as_str().into();
        }
    }
    if !version.columns.is_empty() {
        entry["additionalPrinterColumns"] = version.columns.iter().map(column).collect();
    }
    if !version.selectable.is_empty() {
        let paths = version.selectable.iter();
        entry["selectableFields"] = paths.map(|path| json!({"jsonPath": path})).collect();
    }
    if !schema["properties"]["status"].is_null() {
        entry["subresources"] = json!({"status": {}});
        if let Some(scale) = &version.scale {
            entry["subresources"]["scale"] = json!({
                "specReplicasPath": scale.spec_replicas_path,
                "statusReplicasPath": scale.status_replicas_path,
            });
            if let Some(label) = &scale.label_selector_path {
                entry["subresources"]["scale"]["labelSelectorPath"] = label.as_str().into();
            }
        }
    }
    entry["schema"]["openAPIV3Schema"] = floats(schema);
    entry
}

fn column(column: &Column) -> Value {
    let mut entry = json!({
        "jsonPath": column.json_path,
        "name": column.name,
        "type": column.r#type,
    });
    if let Some(description) = &column.description {
        entry["description"] = description.as_str().into();
    }
    if let Some(format) = &column.format {
        entry["format"] = format.as_str().into();
    }
    if let Some(priority) = column.priority {
        entry["priority"] = priority.into();
    }
    entry
}

/// `schema` with the bounds of numbers as floats, as in the types of Kubernetes.
fn floats(schema: Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema;
    };
    let mut converted = with_inner(fields, floats);
    for keyword in ["minimum", "maximum", "multipleOf"] {
        if let Some(bound) = converted.get_mut(keyword)
            && bound.is_number()
        {
            *bound = json!(bound.as_f64());
        }
    }
    converted.into()
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
