//! Fields of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Labels or annotations.
pub(super) type Pairs = BTreeMap<String, String>;

/// Where a Deployment has the template of its Pods.
pub(super) const TEMPLATE: &str = "spec/template";

/// What happens to fields that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Skip,
}

/// Sets the field at `path`, such as `metadata/name`. A value on the way that is not an object stays as it is.
pub(super) fn set(value: &mut Value, path: &str, field: impl Into<Value>) {
    let new = field.into();
    for field in find(value, path, Missing::Create) {
        *field = new.clone();
    }
}

/// Adds pairs to the object at `path`.
pub(super) fn add(value: &mut Value, path: &str, missing: Missing, pairs: &Pairs) {
    for field in find(value, path, missing) {
        if field.is_null() {
            *field = Map::new().into();
        }
        if let Some(fields) = field.as_object_mut() {
            for (key, value) in pairs {
                fields.insert(key.clone(), value.as_str().into());
            }
        }
    }
}

/// The values at `path`, such as `spec/template/metadata/labels`. Lists on the way are entered.
pub(super) fn find<'a>(value: &'a mut Value, path: &str, missing: Missing) -> Vec<&'a mut Value> {
    if let Value::Array(items) = value {
        let found = items.iter_mut().map(|item| find(item, path, missing));
        return found.flatten().collect();
    }
    if path.is_empty() {
        return vec![value];
    }
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let name = name.trim_end_matches("[]");
    let is_created = missing == Missing::Create && (value.is_null() || value.is_object());
    let field = if is_created {
        Some(&mut value[name])
    } else {
        value.get_mut(name)
    };
    field.map_or_else(Vec::new, |field| find(field, rest, missing))
}
