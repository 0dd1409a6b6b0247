//! Predicts how kube and schemars change a schema.

use serde_json::{Map, Value, json};

/// The types of values.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The keywords for which `false` is the default.
const FLAGS: [&str; 7] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "nullable",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];

/// The keywords that kube does not leave in a branch of `oneOf` or `anyOf`.
const LIFTED: [&str; 7] = [
    "additionalProperties",
    "default",
    "description",
    "items",
    "properties",
    "title",
    "type",
];

/// What is wrong with the value of a keyword that the API server does not take.
pub(super) fn fault(keyword: &str, value: &Value) -> Option<&'static str> {
    let (is_right, needed) = match keyword {
        "additionalProperties" => (
            *value != Value::Bool(false),
            "the API server refuses `false`",
        ),
        "default" | "example" | "externalDocs" | "items" | "not" | "properties" => return None,
        "maxItems" | "maxLength" | "maxProperties" | "maximum" | "minItems" | "minLength"
        | "minProperties" | "minimum" | "multipleOf" => (value.is_number(), "it must be a number"),
        "allOf"
        | "anyOf"
        | "enum"
        | "oneOf"
        | "required"
        | "x-kubernetes-list-map-keys"
        | "x-kubernetes-validations" => (value.is_array(), "it must be a list"),
        "type" => (
            value.as_str().is_some_and(|name| TYPES.contains(&name)),
            "it must be one type, such as `string`",
        ),
        "description"
        | "format"
        | "pattern"
        | "title"
        | "x-kubernetes-list-type"
        | "x-kubernetes-map-type" => (value.is_string(), "it must be a text"),
        keyword if FLAGS.contains(&keyword) => (value.is_boolean(), "it must be `true` or `false`"),
        "$ref" | "$schema" | "additionalItems" | "definitions" | "dependencies" | "id"
        | "patternProperties" => (false, "the API server refuses it"),
        _ => (false, "the API server does not know it"),
    };
    (!is_right).then_some(needed)
}

/// Whether the API server takes the value of a keyword, and kube does not remove it.
fn is_kept(keyword: &str, value: &Value) -> bool {
    keyword != "uniqueItems" && fault(keyword, value).is_none()
}

/// The keyword that keeps fields of which the schema says nothing.
pub(super) const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

/// The keyword of an object that is a resource, with the fields of every kind.
pub(super) const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// The fields of every kind, which the API server defines.
pub(super) const OF_EVERY_KIND: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub(super) type Schema = Map<String, Value>;

/// The fields of an object. Any other value has none.
pub(super) fn object(value: Value) -> Schema {
    match value {
        Value::Object(fields) => fields,
        _ => Schema::new(),
    }
}

/// Takes the properties out of `schema`.
pub(super) fn properties(schema: &mut Schema) -> Schema {
    schema.remove("properties").map_or_else(Schema::new, object)
}

/// The strings in a list.
pub(super) fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let values = list.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str)
}

/// Normalizes `schema`, so that equivalent schemas become equal.
pub(super) fn normal(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else {
        return schema;
    };
    let is_int_or_string = fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    fields.retain(|keyword, value| match (keyword.as_str(), value) {
        // For Kubernetes, `default: null` is no default.
        (_, Value::Null) => false,
        (keyword, Value::Bool(false)) => !FLAGS.contains(&keyword),
        ("description" | "title" | "format", Value::String(text)) => !text.is_empty(),
        ("required", Value::Array(names)) => !names.is_empty(),
        ("properties", Value::Object(fields)) => !fields.is_empty(),
        ("anyOf", branches) => {
            !is_int_or_string || *branches != json!([{"type": "integer"}, {"type": "string"}])
        }
        _ => true,
    });
    if let Some(Value::Array(names)) = fields.get_mut("required") {
        names.sort_by_key(ToString::to_string);
        names.dedup();
    }
    with_inner(fields, normal).into()
}

/// `schema` with `change` applied to each schema directly inside of it.
pub(super) fn with_inner(mut schema: Schema, change: fn(Value) -> Value) -> Schema {
    for (keyword, value) in &mut schema {
        let inner: Vec<&mut Value> = match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => fields.values_mut().collect(),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => branches.iter_mut().collect(),
            ("additionalProperties" | "items" | "not", inner) => vec![inner],
            _ => Vec::new(),
        };
        for schema in inner {
            *schema = change(schema.take());
        }
    }
    schema
}

/// `value` with all numbers as floats, so that `1` equals `1.0`.
pub(super) fn numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.into_iter().map(numbers).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, numbers(value)))
            .collect(),
        other => other,
    }
}

/// The keywords of `schema`, which is [normal], that generated code can have without a change by kube. Properties and
/// items stay as they are.
pub(super) fn supported(mut schema: Schema) -> Schema {
    schema.retain(|keyword, value| {
        (keyword == "additionalProperties" || is_kept(keyword, value))
            && match keyword.as_str() {
                "anyOf" | "oneOf" => are_branches_supported(keyword, value),
                "allOf" => are_left_alone(value),
                "not" => is_left_alone(value),
                "maxItems" | "minItems" | "maxProperties" | "minProperties" => value
                    .as_f64()
                    .is_some_and(|limit| (0.0..=f64::from(u32::MAX)).contains(&limit)),
                _ => true,
            }
    });
    schema
}

/// Changes the schema of a type as kube does if the type is in an `Option`: removes what kube leaves out of a schema with
/// branches, and adds null to an enum.
pub(super) fn in_option(generated: &mut Schema) {
    if let Some(Value::Array(values)) = generated.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let mut branches = ["allOf", "anyOf", "oneOf"].into_iter();
    if branches.any(|keyword| generated.contains_key(keyword)) {
        generated.remove("description");
    }
}

/// Like [`supported`], for `schema` and all schemas inside of it.
pub(super) fn all_supported(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => with_inner(supported(fields), all_supported).into(),
        other => other,
    }
}

/// Returns whether kube keeps the branches of `oneOf` or `anyOf`. kube moves properties and enums out of the branches,
/// and removes types.
fn are_branches_supported(keyword: &str, branches: &Value) -> bool {
    let Some(branches) = branches.as_array().filter(|branches| !branches.is_empty()) else {
        return false;
    };
    branches.iter().all(|branch| {
        let mut names = branch.as_object().into_iter().flat_map(Map::keys);
        let is_lifted = names
            .any(|name| LIFTED.contains(&name.as_str()) || keyword == "oneOf" && name == "enum");
        !is_lifted && is_left_alone(branch)
    })
}

/// Returns whether kube keeps all schemas in `allOf`.
fn are_left_alone(schemas: &Value) -> bool {
    schemas
        .as_array()
        .is_some_and(|schemas| schemas.iter().all(is_left_alone))
}

/// Returns whether kube keeps a schema in `not`, `allOf`, `anyOf` or `oneOf`.
fn is_left_alone(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    fields
        .iter()
        .all(|(keyword, value)| match keyword.as_str() {
            "anyOf" | "oneOf" => are_branches_supported(keyword, value),
            "allOf" => are_left_alone(value),
            "not" | "items" => is_left_alone(value),
            "properties" => {
                (value.as_object().into_iter().flat_map(Map::values)).all(is_left_alone)
            }
            "additionalProperties" => !value.is_boolean() && is_left_alone(value),
            keyword => is_kept(keyword, value),
        })
}
