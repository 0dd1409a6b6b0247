//! Predicts how kube and schemars change a schema.

use serde_json::{Map, Value, json};

/// The keywords that the API server supports, except for references such as `$ref`.
const KEYWORDS: &str = "additionalProperties allOf anyOf default description enum example \
    exclusiveMaximum exclusiveMinimum externalDocs format items maxItems maxLength maxProperties \
    maximum minItems minLength minProperties minimum multipleOf not nullable oneOf pattern \
    properties required title type x-kubernetes-embedded-resource x-kubernetes-int-or-string \
    x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type \
    x-kubernetes-preserve-unknown-fields x-kubernetes-validations";

/// The keywords for which `false` is the default.
const FLAGS: &str = "exclusiveMaximum exclusiveMinimum nullable uniqueItems \
    x-kubernetes-embedded-resource x-kubernetes-int-or-string x-kubernetes-preserve-unknown-fields";

fn has(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|it| it == word)
}

pub(super) type Schema = Map<String, Value>;

/// Normalizes `schema`, so that equivalent schemas become equal.
pub(super) fn normal(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    let is_int_or_string = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    schema.retain(|key, value| match (key.as_str(), value) {
        (key, Value::Null) => key == "default",
        (key, Value::Bool(false)) => !has(FLAGS, key),
        ("description" | "title" | "format", Value::String(text)) => !text.is_empty(),
        ("required", Value::Array(names)) => !names.is_empty(),
        ("properties", Value::Object(fields)) => !fields.is_empty(),
        ("anyOf", branches) => !is_int_or_string || *branches != int_or_string(),
        _ => true,
    });
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.sort_by_key(ToString::to_string);
        names.dedup();
    }
    Value::Object(with_inner(schema, normal))
}

/// `schema` with `change` applied to each schema directly inside of it.
pub(super) fn with_inner(mut schema: Schema, change: impl Fn(Value) -> Value) -> Schema {
    let replace = |value: &mut Value| *value = change(value.take());
    for (key, value) in &mut schema {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => fields.values_mut().for_each(replace),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                branches.iter_mut().for_each(replace);
            }
            ("additionalProperties" | "items" | "not", inner) => replace(inner),
            _ => {}
        }
    }
    schema
}

/// The `anyOf` branches of a schema for an integer or a string.
pub(super) fn int_or_string() -> Value {
    json!([{"type": "integer"}, {"type": "string"}])
}

/// `value` with all numbers as floats, so that `1` equals `1.0`.
pub(super) fn numbers(mut value: Value) -> Value {
    let replace = |value: &mut Value| *value = numbers(value.take());
    match &mut value {
        Value::Number(number) => return json!(number.as_f64()),
        Value::Array(values) => values.iter_mut().for_each(replace),
        Value::Object(fields) => fields.values_mut().for_each(replace),
        _ => {}
    }
    value
}

/// The keywords of `schema`, which is [normal], that generated code can have without a change by kube. Properties and items are kept as
/// they are.
pub(super) fn kept(mut schema: Schema) -> Schema {
    schema.retain(|key, value| {
        has(KEYWORDS, key)
            && match key.as_str() {
                "anyOf" | "oneOf" => branches_are_kept(key, value),
                "allOf" => value
                    .as_array()
                    .is_some_and(|it| it.iter().all(is_left_alone)),
                "not" => is_left_alone(value),
                "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
                    value.as_f64().is_some_and(|it| (0.0..4e9).contains(&it))
                }
                _ => true,
            }
    });
    schema
}

/// Like [`kept`], for `schema` and all schemas inside of it.
pub(super) fn all_kept(schema: Value) -> Value {
    match schema {
        Value::Object(schema) => with_inner(kept(schema), all_kept).into(),
        other => other,
    }
}

/// Returns whether kube keeps the branches of `oneOf` or `anyOf`. kube moves properties and enums out of the branches,
/// and removes types.
fn branches_are_kept(key: &str, branches: &Value) -> bool {
    let Some(branches) = branches.as_array().filter(|it| !it.is_empty()) else {
        return false;
    };
    branches.iter().all(|branch| {
        let Some(fields) = branch.as_object() else {
            return false;
        };
        let refused = [
            "type",
            "description",
            "default",
            "title",
            "additionalProperties",
        ];
        let lifted = |name: &String| {
            refused.contains(&name.as_str())
                || name == "properties"
                || name == "items"
                || key == "oneOf" && name == "enum"
        };
        !fields.keys().any(lifted) && is_left_alone(branch)
    })
}

/// Returns whether kube keeps a schema in `not`, `allOf`, `anyOf` or `oneOf`.
fn is_left_alone(schema: &Value) -> bool {
    schema.as_object().is_some_and(|fields| {
        fields.iter().all(|(key, value)| match key.as_str() {
            "anyOf" | "oneOf" => branches_are_kept(key, value),
            "allOf" => value
                .as_array()
                .is_some_and(|it| it.iter().all(is_left_alone)),
            "not" | "items" => is_left_alone(value),
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                fields.into_iter().all(|(_, field)| is_left_alone(field))
            }
            "additionalProperties" => !value.is_boolean() && is_left_alone(value),
            key => has(KEYWORDS, key),
        })
    })
}
