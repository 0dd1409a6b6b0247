//! The mark of a status that has no subresource in its CustomResourceDefinition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceSubresources,
};
use schemars::Schema;
use serde_json::{Value, json};

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
pub fn remove_marks(crd: &mut CustomResourceDefinition) {
    for version in &mut crd.spec.versions {
        let validation = version.schema.as_mut();
        let root = validation.and_then(|validation| validation.open_api_v3_schema.as_mut());
        let fields = root.and_then(|root| root.properties.as_mut());
        let Some(status) = fields.and_then(|fields| fields.get_mut("status")) else {
            continue;
        };
        let mut unmarked = json!(status);
        if !remove_mark(&mut unmarked) {
            continue;
        }
        // This cannot fail: a schema without an optional keyword is one.
        if let Ok(unmarked) = serde_json::from_value(unmarked) {
            *status = unmarked;
        }
        version.subresources = version.subresources.take().and_then(|subresources| {
            let scale = subresources.scale?;
            Some(CustomResourceSubresources {
                scale: Some(scale),
                status: None,
            })
        });
    }
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
