//! Objects without fields that their schema requires. The API server converts such objects during a server-side apply:
//! it first removes the fields that a field manager no longer applies, and only then checks whether the rest is valid.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    change::field,
    version::{ConvertibleVersion, Parts},
};

/// How many times an incomplete object is converted, each time with other placeholders.
pub const TRIES: usize = TEXTS.len();

/// Placeholders for strings. Some Rust types accept only some of them, such as a time.
const TEXTS: [&str; 8] = [
    "",
    "a",
    "b c",
    "0",
    "1",
    "7s",
    "1970-01-01T00:00:00Z",
    "2001-02-03T04:05:06Z",
];

/// Fills each missing field that the schema of `version` requires in `parts` with a placeholder; returns whether there
/// was any. Each `number` below [`TRIES`] gives other placeholders.
pub fn complete(version: &ConvertibleVersion, parts: &mut Parts<'_>, number: usize) -> bool {
    let schema = &version.schema;
    let spec = if version.has_spec {
        field(schema, "spec")
    } else {
        schema
    };
    let parts = [
        (spec, &mut parts.spec),
        (field(schema, "status"), &mut parts.status),
    ];
    let filled = parts.map(|(schema, part)| {
        part.as_mut()
            .is_some_and(|value| fill(schema, value.to_mut(), number))
    });
    filled.contains(&true)
}

fn fill(schema: &Value, value: &mut Value, number: usize) -> bool {
    let mut any = false;
    match value {
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            for name in required.filter_map(Value::as_str) {
                if !fields.contains_key(name) {
                    let stand_in = stand_in(field(schema, name), number);
                    fields.insert(name.to_owned(), stand_in);
                    any = true;
                }
            }
            for (name, value) in fields {
                any |= fill(field(schema, name), value, number);
            }
        }
        Value::Array(items) => {
            for item in items {
                any |= fill(&schema["items"], item, number);
            }
        }
        _ => {}
    }
    any
}

/// A value that may fit `schema`.
fn stand_in(schema: &Value, number: usize) -> Value {
    if let Some(values) = schema["enum"]
        .as_array()
        .filter(|values| !values.is_empty())
    {
        return values[number % values.len()].clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let mut object = Value::Object(Map::new());
            fill(schema, &mut object, number);
            object
        }
        Some("array") => json!([]),
        Some("boolean") => (number % 2 == 1).into(),
        Some("integer" | "number") => number.into(),
        Some("string") => TEXTS[number % TEXTS.len()].into(),
        // Some schemas accept any type, such as `x-kubernetes-int-or-string`.
        _ => number.into(),
    }
}

/// What two objects have in common. Each part that both have stays, though it may be empty.
pub fn common<'a>(a: Parts<'a>, b: &Parts<'a>) -> Parts<'a> {
    Parts {
        spec: common_part(a.spec, b.spec.as_deref()),
        status: common_part(a.status, b.status.as_deref()),
        others: a.others,
    }
}

fn common_part<'a>(a: Option<Cow<'a, Value>>, b: Option<&Value>) -> Option<Cow<'a, Value>> {
    let common = shared(a?.into_owned(), b?);
    let empty = Value::Object(Map::new());
    Some(Cow::Owned(common.unwrap_or(empty)))
}

/// The common parts of two values; `None` if there are none.
fn shared(a: Value, b: &Value) -> Option<Value> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let is_empty = a.is_empty() && b.is_empty();
            let mut fields = Map::new();
            for (name, value) in a {
                if let Some(common) = b.get(&name).and_then(|other| shared(value, other)) {
                    fields.insert(name, common);
                }
            }
            (is_empty || !fields.is_empty()).then_some(Value::Object(fields))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let items = a.into_iter().zip(b).map(|(a, b)| shared(a, b));
            items.collect::<Option<_>>().map(Value::Array)
        }
        (a, b) => (a == *b).then_some(a),
    }
}
