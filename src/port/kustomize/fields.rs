//! Fields of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Labels or annotations.
pub(super) type Pairs = BTreeMap<String, String>;

/// The pairs as JSON.
pub(super) fn from_pairs(pairs: &Pairs) -> Map<String, Value> {
    let texts = pairs
        .iter()
        .map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    texts.collect()
}

/// Sets the field at `path`, such as `metadata/name`. A value on the way that is not an object stays as it is.
pub(super) fn set(value: &mut Value, path: &str, field: impl Into<Value>) {
    let new = field.into();
    visit(value, path, true, &mut |field| *field = new.clone());
}

/// Calls `change` for each value at `path`, such as `spec/template/metadata/labels`. Lists on the way are entered.
/// Fields that are missing are created if `create` says so.
pub(super) fn visit(
    value: &mut Value,
    path: &str,
    create: bool,
    change: &mut impl FnMut(&mut Value),
) {
    if let Value::Array(items) = value {
        for item in items {
            visit(item, path, create, change);
        }
        return;
    }
    if path.is_empty() {
        change(value);
        return;
    }
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let field_name = name.trim_end_matches("[]");
    if create && value.is_null() {
        *value = Map::new().into();
    }
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    if create && !fields.contains_key(field_name) {
        fields.insert(field_name.to_owned(), Value::Null);
    }
    if let Some(field) = fields.get_mut(field_name) {
        visit(field, rest, create, change);
    }
}

/// The kinds with a template of Pods, and where it is.
const TEMPLATES: [(&str, &str); 7] = [
    ("CronJob", "spec/jobTemplate/spec/template"),
    ("DaemonSet", "spec/template"),
    ("Deployment", "spec/template"),
    ("Job", "spec/template"),
    ("ReplicaSet", "spec/template"),
    ("ReplicationController", "spec/template"),
    ("StatefulSet", "spec/template"),
];

/// Where the template of Pods of this kind is.
pub(super) fn template(kind: &str) -> Option<&'static str> {
    let found = TEMPLATES.iter().find(|(of, _)| *of == kind);
    found.map(|(_, path)| *path)
}
