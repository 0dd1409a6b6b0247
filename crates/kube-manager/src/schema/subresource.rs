//! The mark of a status that has no subresource in its CustomResourceDefinition.

use schemars::Schema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The key of the mark. An API server refuses a schema with this key, so no other schema has it.
const KEY: &str = "id";
const MARK: &str = "kube-manager:without-subresource";

/// A transform of schemars for the type of a status: the CustomResourceDefinition gets no subresource `status`, which kube
/// always adds. So the API server takes the status from each write of the object.
///
/// The line is for kinds whose objects other programs write in this way. [`collect`](super::collect()) removes the
/// subresource.
pub fn without_subresource(schema: &mut Schema) {
    schema.insert(KEY.to_owned(), MARK.into());
}

/// Removes the marks from a list of CustomResourceDefinitions, and the subresource `status` from each version with a mark.
pub fn remove_marked<T: Serialize + DeserializeOwned>(crds: T) -> serde_json::Result<T> {
    let mut list = serde_json::to_value(&crds)?;
    let mut has_marks = false;
    for crd in list.as_array_mut().into_iter().flatten() {
        let versions = crd.pointer_mut("/spec/versions");
        for version in versions.and_then(Value::as_array_mut).into_iter().flatten() {
            let status = version.pointer_mut("/schema/openAPIV3Schema/properties/status");
            if status.is_some_and(remove_marks) {
                has_marks = true;
                remove_subresource(version);
            }
        }
    }
    if has_marks {
        serde_json::from_value(list)
    } else {
        Ok(crds)
    }
}

/// Removes the marks in `schema`, which kube may have moved. Returns whether there was one.
fn remove_marks(schema: &mut Value) -> bool {
    let mut has_marks = false;
    match schema {
        Value::Object(fields) => {
            if fields.get(KEY).is_some_and(|value| value == MARK) {
                fields.remove(KEY);
                has_marks = true;
            }
            for inner in fields.values_mut() {
                has_marks |= remove_marks(inner);
            }
        }
        Value::Array(items) => {
            for inner in items {
                has_marks |= remove_marks(inner);
            }
        }
        _ => {}
    }
    has_marks
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
