//! Schemas as JSON.

use serde_json::{Map, Value, json};

#[cfg(any(test, feature = "testing"))]
use super::cel;

/// A schema, or a part of one, as JSON.
pub type Object = Map<String, Value>;

/// The key that opens a place for values that the schema does not describe.
pub const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

/// The key of the CEL rules.
pub const RULES: &str = "x-kubernetes-validations";

/// The key of a value that is an integer or a text.
pub const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The key of an object that is a resource with metadata of its own.
pub const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// Whether `key` is set.
pub fn is_true(schema: &Object, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// The name of the type; empty if the schema does not say it.
pub fn name_of_type(schema: &Object) -> &str {
    text_of(schema, "type")
}

/// The text `key`; empty if there is none.
pub fn text_of<'a>(schema: &'a Object, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The schema `key` in `schema`, or in its fields.
pub fn subschema<'a>(schema: &'a Object, key: &str) -> Option<&'a Object> {
    schema.get(key)?.as_object()
}

/// The schemas of the fields.
pub fn fields(schema: &Object) -> Option<&Object> {
    subschema(schema, "properties")
}

/// The schema of the field `name`, or of the values of a map.
pub fn field<'a>(schema: &'a Object, name: &str) -> Option<&'a Object> {
    match fields(schema) {
        Some(fields) => subschema(fields, name),
        None => subschema(schema, "additionalProperties"),
    }
}

/// The values of the list `key`; none if there is no list.
pub fn list<'a>(schema: &'a Object, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    schema
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The texts in the list `key`.
pub fn texts<'a>(schema: &'a Object, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    list(schema, key).filter_map(Value::as_str)
}

/// Whether `is` holds for `schema`, or for an object in it.
pub fn any(schema: &Object, is: fn(&Object) -> bool) -> bool {
    is(schema) || schema.values().any(|value| any_in(value, is))
}

/// Whether `is` holds for an object in `value`.
pub fn any_in(value: &Value, is: fn(&Object) -> bool) -> bool {
    match value {
        Value::Object(object) => any(object, is),
        Value::Array(values) => values.iter().any(|value| any_in(value, is)),
        _ => false,
    }
}

/// Changes `schema`, and all schemas in it.
pub fn change_each(schema: &mut Value, change: fn(&mut Object)) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    change(schema);
    for (keyword, value) in schema {
        let inner: Vec<&mut Value> = match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => fields.values_mut().collect(),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => parts.iter_mut().collect(),
            ("additionalProperties" | "items" | "not", inner) => vec![inner],
            _ => continue,
        };
        (inner.into_iter()).for_each(|schema| change_each(schema, change));
    }
}

/// Adds CEL rules behind those that the schema has.
pub fn add_rules(schema: &mut Object, rules: Vec<Value>) {
    if rules.is_empty() {
        return;
    }
    let all = schema.entry(RULES).or_insert_with(|| json!([]));
    if let Some(all) = all.as_array_mut() {
        all.extend(rules);
    }
}

/// Makes an API server take no null for a field that is an integer or a text. kube would make the field nullable, since
/// schemars writes an optional one in the same way.
pub fn refuse_null(field: &mut Value) {
    if field[INT_OR_STRING] == true
        && let Some(field) = field.as_object_mut()
    {
        field.entry("nullable").or_insert(json!(false));
    }
}

/// Removes `nullable: false`, which only tells kube to add no `nullable: true`. The API server drops the field, so tools that
/// compare manifests would report it.
pub fn remove_not_nullable(schema: &mut Object) {
    if schema.get("nullable") == Some(&json!(false)) {
        schema.remove("nullable");
    }
}

/// What a rule's message says of a field that only some variants of an enum have.
pub const ALLOWED: &str = "is allowed only when";

/// The beginning of a rule about the keys of a map.
pub const KEYS_MATCH: &str = "self.all(key, key.matches(";

/// Whether `schema` is that of an enum with data, or of an object that has such enums.
#[cfg(all(feature = "testing", feature = "webhook"))]
pub fn is_union(schema: &Object) -> bool {
    let keys = ["allOf", "anyOf", "oneOf"];
    keys.iter().any(|key| list(schema, key).next().is_some())
        || texts_of_rules(schema, "message").any(|text| text.contains(ALLOWED))
}

/// The pattern of the keys of the map that `schema` describes, if a rule checks them.
#[cfg(any(test, feature = "testing"))]
pub fn pattern_of_keys(schema: &Object) -> Option<String> {
    let mut rules = texts_of_rules(schema, "rule");
    let pattern = rules.find_map(|rule| rule.strip_prefix(KEYS_MATCH)?.strip_suffix("))"))?;
    Some(cel::read_text(pattern))
}

/// What `key` says in each rule.
#[cfg(any(test, feature = "testing"))]
fn texts_of_rules<'a>(schema: &'a Object, key: &'a str) -> impl Iterator<Item = &'a str> {
    list(schema, RULES).filter_map(move |rule| rule[key].as_str())
}
