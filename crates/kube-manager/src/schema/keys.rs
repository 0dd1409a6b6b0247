//! Schemas as JSON.

use serde_json::{Map, Value, json};

/// A schema, or a part of one, as JSON.
pub type Object = Map<String, Value>;

/// The key that opens a place for values that the schema does not describe.
pub const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

/// The key of the CEL rules.
pub const RULES: &str = "x-kubernetes-validations";

/// The key of a value that is an integer or a text.
pub const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Adds CEL rules behind those that the schema has.
pub fn add_rules(schema: &mut Object, rules: impl IntoIterator<Item = Value>) {
    let all = schema.entry(RULES).or_insert_with(|| json!([]));
    if let Some(all) = all.as_array_mut() {
        all.extend(rules);
    }
    if schema[RULES] == json!([]) {
        schema.remove(RULES);
    }
}

/// What a rule's message says of a field that only some variants of an enum have.
pub const ALLOWED: &str = "is allowed only when";

/// The beginning of a rule about the keys of a map.
pub const KEYS_MATCH: &str = "self.all(key, key.matches(";

/// Whether `schema` has the fields of all variants of an enum.
#[cfg(feature = "arbitrary")]
pub fn is_union(schema: &Value) -> bool {
    rules(schema).any(|rule| {
        rule["message"]
            .as_str()
            .is_some_and(|text| text.contains(ALLOWED))
    })
}

/// Whether the keys of the map that `schema` describes are numbers.
#[cfg(feature = "arbitrary")]
pub fn has_number_keys(schema: &Value) -> bool {
    rules(schema).any(|rule| {
        rule["rule"]
            .as_str()
            .is_some_and(|text| text.starts_with(KEYS_MATCH))
    })
}

/// Whether `schema`, or a schema in it, is such a union, or a map with such keys.
#[cfg(feature = "arbitrary")]
pub fn has_variants(schema: &Value) -> bool {
    let is_within = match schema {
        Value::Object(fields) => fields.values().any(has_variants),
        Value::Array(values) => values.iter().any(has_variants),
        _ => false,
    };
    is_within || is_union(schema)
}

#[cfg(feature = "arbitrary")]
fn rules(schema: &Value) -> impl Iterator<Item = &Value> {
    schema[RULES].as_array().into_iter().flatten()
}
