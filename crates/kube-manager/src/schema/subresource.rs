//! The mark of a status that has no subresource in its CustomResourceDefinition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::Schema;
use serde_json::Value;

/// The key of the mark. An API server refuses a schema with this key, so no other schema has it.
const KEY: &str = "id";
const MARK: &str = "kube-manager:without-subresource";
/// The mark of a status that may be null.
const NULLABLE_MARK: &str = "kube-manager:nullable-without-subresource";

/// A transform of schemars for the type of a status: the CustomResourceDefinition gets no subresource `status`, which kube
/// always adds. So the API server takes the status from each write of the object. `nullable`, which kube also adds, stays
/// only if the type has it.
///
/// The line is for kinds whose objects other programs write in this way. [`Crd`](super::Crd) has no
/// subresource then.
pub fn without_subresource(schema: &mut Schema) {
    let is_nullable = schema.get("nullable").is_some_and(|value| *value == true);
    let mark = if is_nullable { NULLABLE_MARK } else { MARK };
    schema.insert(KEY.to_owned(), mark.into());
}

/// Removes the marks from a CustomResourceDefinition, and the subresource `status` from each version with a mark.
pub fn without_marked(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let Ok(mut fields) = serde_json::to_value(&crd) else {
        return crd;
    };
    let mut has_marks = false;
    let versions = fields.pointer_mut("/spec/versions");
    for version in versions.and_then(Value::as_array_mut).into_iter().flatten() {
        let status = version.pointer_mut("/schema/openAPIV3Schema/properties/status");
        if status.is_some_and(remove_mark) {
            has_marks = true;
            remove_subresource(version);
        }
    }
    if !has_marks {
        return crd;
    }
    // A CustomResourceDefinition without an optional field is still one.
    serde_json::from_value(fields).unwrap_or(crd)
}

/// Removes the mark of the schema of a status, and `nullable` if the mark says so. Returns whether there was a mark.
fn remove_mark(status: &mut Value) -> bool {
    let Some(mark) = take_mark(status) else {
        return false;
    };
    if mark == MARK
        && let Some(fields) = status.as_object_mut()
    {
        fields.remove("nullable");
    }
    true
}

/// Removes the mark in `schema`, which kube may have moved.
fn take_mark(schema: &mut Value) -> Option<Value> {
    match schema {
        Value::Object(fields) => {
            let is_marked = fields
                .get(KEY)
                .is_some_and(|value| [MARK, NULLABLE_MARK].iter().any(|mark| value == mark));
            if is_marked {
                return fields.remove(KEY);
            }
            fields.values_mut().find_map(take_mark)
        }
        Value::Array(items) => items.iter_mut().find_map(take_mark),
        _ => None,
    }
}

fn remove_subresource(version: &mut Value) {
    let Some(fields) = version.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(subresources)) = fields.get_mut("subresources") {
        subresources.remove("status");
        if subresources.is_empty() {
            fields.remove("subresources");
        }
    }
}
