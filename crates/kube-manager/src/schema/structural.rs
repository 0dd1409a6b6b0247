//! The transform.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::{
    cel, integer,
    keys::{
        INT_OR_STRING, KEYS_MATCH, OPEN, Object, RULES, add_rules, any, change_each, fields,
        refuse_null,
    },
    mark, types, union,
};

/// A schema with none of these keys takes any value.
const SAYS_THE_TYPE: [&str; 6] = ["type", INT_OR_STRING, OPEN, "oneOf", "anyOf", "allOf"];

/// The formats that the API server knows.
pub const FORMATS: [&str; 31] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "date-time",
    "datetime",
    "double",
    "duration",
    "email",
    "float",
    "hexcolor",
    "hostname",
    "int32",
    "int64",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8s-long-name",
    "k8s-short-name",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// A transform of schemars that turns the schema of a Rust type into one that Kubernetes takes. It runs before the
/// transforms of kube, which then find less to do.
///
/// It does not fail: where no schema exists, it leaves a mark that [`check`](super::check()) reports. A schema with the
/// names of types stays as it is.
pub fn structural(schema: &mut Schema) {
    if let Some(root) = schema.as_object_mut()
        && !types::is_named(root)
    {
        rewrite(root);
    }
}

/// Rewrites a schema and all schemas in it.
fn rewrite(schema: &mut Object) {
    if schema.contains_key("$ref") {
        return mark::refuse(schema, mark::RECURSION);
    }
    if schema.contains_key("prefixItems") {
        return mark::refuse(schema, mark::TUPLE);
    }
    if schema.get("maxItems") == Some(&json!(0)) && !schema.contains_key("items") {
        return mark::refuse(schema, mark::EMPTY_TUPLE);
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        if *property == Value::Bool(false) {
            let mut marked = Object::new();
            mark::refuse(&mut marked, mark::NO_VALUE);
            *property = marked.into();
        }
        rewrite_place(property);
        if property
            .get("default")
            .is_some_and(|value| !value.is_null())
        {
            refuse_null(property);
        }
    }
    let patterns = schema
        .get_mut("patternProperties")
        .and_then(Value::as_object_mut);
    for values in patterns.into_iter().flat_map(Map::values_mut) {
        rewrite_place(values);
        change_each(values, drop_rule_of_keys);
    }
    if let Some(items) = schema.get_mut("items") {
        rewrite_place(items);
        change_each(items, drop_rule_of_keys);
    }
    let has_fields = fields(schema).is_some_and(|fields| !fields.is_empty());
    match schema.get_mut("additionalProperties") {
        // Beside fields, a bool says whether there may be others.
        Some(Value::Bool(_)) if has_fields => {}
        Some(values) => {
            rewrite_place(values);
            change_each(values, drop_rule_of_keys);
        }
        None => {}
    }
    integer::rewrite(schema);
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
    keys_to_rule(schema);
    union::rewrite(schema, rewrite);
    if mark::is_open(schema) && any(schema, |part| mark::reason(part).is_some()) {
        mark::allow_any(schema);
    }
}

/// Rewrites the schema of a value: of a field, of the items of a list or of the values of a map.
fn rewrite_place(place: &mut Value) {
    if *place == Value::Bool(true) {
        *place = json!({});
    }
    let Some(schema) = place.as_object_mut() else {
        return;
    };
    rewrite(schema);
    if schema.get("type").is_some_and(|name| *name == "null") {
        return mark::refuse(schema, mark::UNIT);
    }
    if !SAYS_THE_TYPE.iter().any(|key| schema.contains_key(*key)) {
        mark::refuse(schema, mark::ANY_VALUE);
    }
}

/// Removes the rule about the keys of a map inside of a list or a map, for which an API server refuses the cost.
fn drop_rule_of_keys(schema: &mut Object) {
    if let Some(Value::Array(rules)) = schema.get_mut(RULES) {
        rules.retain(|rule| !is_rule_of_keys(rule));
        if rules.is_empty() {
            schema.remove(RULES);
        }
    }
}

/// Whether [`keys_to_rule`] made `rule`.
fn is_rule_of_keys(rule: &Value) -> bool {
    let code = rule["rule"].as_str();
    let pattern = code.and_then(|code| code.strip_prefix(KEYS_MATCH)?.strip_suffix("))"));
    pattern.is_some_and(|pattern| *rule == rule_of_keys(&cel::read_text(pattern)))
}

/// The rule that each key of a map matches `pattern`.
fn rule_of_keys(pattern: &str) -> Value {
    let message = match pattern {
        r"^\d+$" => "each key must be a number without a sign".to_owned(),
        r"^-?\d+$" => "each key must be a number".to_owned(),
        _ => format!("each key must match {pattern}"),
    };
    let rule = format!("{KEYS_MATCH}{}))", cel::text(pattern));
    json!({"rule": rule, "message": message})
}

/// Turns the patterns of a map's keys, which Kubernetes does not take, into a rule.
fn keys_to_rule(schema: &mut Object) {
    let Some(Value::Object(patterns)) = schema.remove("patternProperties") else {
        return;
    };
    let mut all_values: Vec<Value> = patterns.values().cloned().collect();
    all_values.dedup();
    let [values] = all_values.as_slice() else {
        return mark::refuse(schema, mark::PATTERNS);
    };
    // The map also takes other keys: then the patterns say nothing about a key.
    if matches!(schema.get("additionalProperties"), Some(Value::Object(_))) {
        return;
    }
    let names: Vec<&str> = patterns.keys().map(String::as_str).collect();
    let rule = rule_of_keys(&names.join("|"));
    schema.insert("additionalProperties".to_owned(), values.clone());
    add_rules(schema, vec![rule]);
}
