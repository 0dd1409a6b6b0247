//! Objects without fields that their schema requires. The API server has such objects converted during a
//! server-side apply: it takes away what a field manager does not apply any more, and only then looks whether
//! the rest is valid.

use serde_json::{Map, Value, json};

use super::{Version, change::field};

/// How many times an incomplete object is converted, each time with other stand-ins.
pub(super) const TRIES: usize = TEXTS.len();

/// Stand-ins for texts. Types in Rust may take some of them only, such as a time.
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

/// Gives spec and status of `object` a stand-in for each field that `version` requires and that is missing; says
/// whether there is any. Each `number` below [`TRIES`] means other stand-ins.
pub(super) fn complete(version: &Version, object: &mut Value, number: usize) -> bool {
    if version.is_flat {
        return fill(&version.schema, object, number);
    }
    let parts = object.as_object_mut().into_iter().flatten();
    let filled = parts.map(|(name, part)| fill(field(&version.schema, name), part, number));
    filled.fold(false, |any, filled| any | filled)
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
        // Any type will do for some of them, such as `x-kubernetes-int-or-string`.
        _ => number.into(),
    }
}

/// What two objects of `version` have in common. Their spec and their status stay, if nothing else.
pub(super) fn common(version: &Version, a: Value, b: &Value) -> Value {
    let Value::Object(parts) = a else { return a };
    let shared = parts.into_iter().filter_map(|(name, part)| {
        let stays = !version.is_flat || name == "status";
        let empty = stays.then(|| Value::Object(Map::new()));
        let shared = shared(part, b.get(&name)?).or(empty)?;
        Some((name, shared))
    });
    Value::Object(shared.collect())
}

/// What two values have in common; none if that is nothing.
fn shared(a: Value, b: &Value) -> Option<Value> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let is_empty = a.is_empty() && b.is_empty();
            let fields = a.into_iter().filter_map(|(name, a)| {
                let value = shared(a, b.get(&name)?)?;
                Some((name, value))
            });
            let fields: Map<_, _> = fields.collect();
            (is_empty || !fields.is_empty()).then_some(Value::Object(fields))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let items = a.into_iter().zip(b).map(|(a, b)| shared(a, b));
            items.collect::<Option<_>>().map(Value::Array)
        }
        (a, b) => (a == *b).then_some(a),
    }
}
