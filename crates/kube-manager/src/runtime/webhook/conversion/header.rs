//! The name, the kind, the version and the annotations of an object.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::annotations::Annotations;

/// The part of an object that identifies it, and its annotations.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Header {
    pub api_version: String,
    pub kind: String,
    pub metadata: HeaderMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HeaderMetadata {
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub deletion_timestamp: Option<String>,
    pub annotations: Option<Annotations>,
}

impl Header {
    pub fn name(&self) -> String {
        let HeaderMetadata {
            name, namespace, ..
        } = &self.metadata;
        full_name(namespace.as_deref(), name.as_deref())
    }
}

/// The name of an object, with its namespace.
pub fn name(object: &Map<String, Value>) -> String {
    let metadata = &object.get("metadata").unwrap_or(&Value::Null);
    full_name(metadata["namespace"].as_str(), metadata["name"].as_str())
}

fn full_name(namespace: Option<&str>, name: Option<&str>) -> String {
    match (namespace, name) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_owned(),
        (_, None) => "without a name".to_owned(),
    }
}
