//! Hashes that are the same in each build of a program.

use std::{collections::BTreeMap, hash::Hasher};

use fnv::FnvHasher;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A value that is serialized with the keys of each object in order. Without this, the order would depend on the feature
/// `preserve_order` of serde_json, which any dependency of a program can enable.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name, Sorted(value)));
                fields.collect::<BTreeMap<_, _>>().serialize(serializer)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            value => value.serialize(serializer),
        }
    }
}

/// The JSON of `value`, with the keys of each object in order.
pub fn sorted_json(value: &Value) -> String {
    // This cannot fail: all keys are texts.
    serde_json::to_string(&Sorted(value)).unwrap_or_default()
}

/// A hash of `text`.
pub fn hash(text: &str) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// A hash of `text` with 16 characters.
pub fn digest(text: &str) -> String {
    format!("{:016x}", hash(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_keys_of_objects_are_sorted_at_each_level() {
        let value = json!({"b": [{"d": 1.0, "c": "é\n"}, null], "a": {}});
        let text = r#"{"a":{},"b":[{"c":"é\n","d":1.0},null]}"#;
        assert_eq!(sorted_json(&value), text);
    }
}
