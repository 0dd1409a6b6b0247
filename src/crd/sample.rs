//! A small object that a schema takes.

use serde_json::{Map, Value, json};

use super::read::{Crd, CrdVersion};
use crate::project::yaml;

/// The text of a sample.
pub(super) fn sample(crd: &Crd, version: &CrdVersion, project: &str) -> String {
    let lower = crd.kind.to_ascii_lowercase();
    let mut object = Map::new();
    let fields = &version.schema["properties"];
    let required = version.schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|it| it.iter().any(|it| it == name));
    for (name, field) in fields.as_object().into_iter().flatten() {
        let is_meta = ["apiVersion", "kind", "metadata", "status"].contains(&name.as_str());
        if !is_meta && (is_required(name) || name == "spec") {
            object.insert(name.clone(), value(field, 0));
        }
    }
    let head = json!({
        "labels": {
            "app.kubernetes.io/managed-by": "kustomize",
            "app.kubernetes.io/name": project,
        },
        "name": format!("{lower}-sample"),
    });
    let api = format!("{}/{}", crd.group, version.name);
    let above = json!({"apiVersion": api, "kind": crd.kind, "metadata": head});
    let write = |value: &Value| yaml::write(value).unwrap_or_default();
    let mut text = write(&above);
    if !object.is_empty() {
        text += &write(&Value::Object(object));
    }
    text
}

/// A value that `schema` takes, as far as it can be told without CEL.
fn value(schema: &Value, depth: usize) -> Value {
    if !schema["default"].is_null() {
        return schema["default"].clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return json!(1);
    }
    let number = |key: &str| schema[key].as_f64();
    match schema["type"].as_str() {
        Some("boolean") => json!(false),
        Some("integer") => {
            let least = number("minimum").unwrap_or(1.0);
            let most = number("maximum").unwrap_or(f64::MAX);
            let step = if schema["exclusiveMinimum"] == true {
                1.0
            } else {
                0.0
            };
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a bound of an integer is small"
            )]
            let it = (least.ceil() + step).min(most) as i64;
            json!(it)
        }
        Some("number") => json!(
            number("minimum")
                .unwrap_or(1.0)
                .max(1.0)
                .min(number("maximum").unwrap_or(1e9))
        ),
        Some("string") => text(schema).into(),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0).min(16);
            let one = || value(&schema["items"], depth + 1);
            (0..least).map(|_| one()).collect::<Vec<_>>().into()
        }
        Some("object") if depth < 60 => object(schema, depth),
        _ => json!({}),
    }
}

fn object(schema: &Value, depth: usize) -> Value {
    let names = schema["required"].as_array().into_iter().flatten();
    let mut names: Vec<_> = names.filter_map(Value::as_str).collect();
    // One of several, if one is asked for.
    for branches in ["oneOf", "anyOf"] {
        let first = schema[branches].get(0).map(|it| &it["required"]);
        names.extend(
            first
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        );
    }
    let fields = schema["properties"].as_object();
    let mut object = Map::new();
    for name in names {
        let field = fields.and_then(|it| it.get(name));
        let field = field.map_or(Value::Object(Map::new()), |it| value(it, depth + 1));
        object.insert(name.to_owned(), field);
    }
    let least = schema["minProperties"].as_u64().unwrap_or(0).min(16);
    if let Some(inner) = schema["additionalProperties"].as_object() {
        for at in 0..least {
            object.insert(format!("key{at}"), value(&inner.clone().into(), depth + 1));
        }
    }
    for (name, field) in fields.into_iter().flatten() {
        if (object.len() as u64) < least {
            object
                .entry(name.clone())
                .or_insert_with(|| value(field, depth + 1));
        }
    }
    object.into()
}

/// A text. Of a pattern only the simplest ones are told apart.
fn text(schema: &Value) -> String {
    let text = match schema["format"].as_str() {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("uri") => "https://example.com",
        Some("email") => "me@example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("cidr") => "192.0.2.0/24",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("byte") => "c2FtcGxl",
        Some("duration") => "1m",
        _ => match schema["pattern"].as_str() {
            Some(pattern) if pattern.contains("http") => "https://example.com",
            Some(pattern) if pattern.contains("ms") || pattern.contains("h|m|s") => "1m",
            Some(pattern) if pattern.starts_with("^/") => "/",
            Some(pattern) if pattern.contains("(%)") || pattern.contains("[0-9]+%") => "10%",
            Some(_) => "a",
            None => "sample",
        },
    };
    let count = |key: &str| schema[key].as_u64().and_then(|it| usize::try_from(it).ok());
    let (least, most) = (count("minLength"), count("maxLength"));
    let mut text = text.to_owned();
    while text.len() < least.unwrap_or(0).min(512) {
        text.push('a');
    }
    text.truncate(most.unwrap_or(usize::MAX));
    text
}
