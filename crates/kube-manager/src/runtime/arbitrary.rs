//! Arbitrary values that fit a schema, for property tests.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::{
    collection, option, prelude::*, sample::select, strategy::Union, string::string_regex,
};
use serde_json::{Map, Value, json};

use crate::schema::{is_union, pattern_of_keys};

/// The fields of each object that its schema does not describe.
#[cfg(feature = "webhook")]
const TYPE_AND_METADATA: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Objects of a version with this schema: their type, a name, and all other fields.
#[cfg(feature = "webhook")]
pub fn objects(api_version: &str, kind: &str, schema: &Value) -> BoxedStrategy<Value> {
    let head = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "a", "annotations": {"who": "me"}},
    });
    let body = values(schema).prop_map(move |body| {
        let mut object = head.clone();
        if let (Value::Object(object), Value::Object(body)) = (&mut object, body) {
            let parts = body
                .into_iter()
                .filter(|(name, value)| match name.as_str() {
                    "spec" | "status" => !value.is_null(),
                    name => !TYPE_AND_METADATA.contains(&name),
                });
            object.extend(parts);
        }
        object
    });
    body.boxed()
}

/// Values that fit `schema`. Its CEL rules are left out.
pub fn values(schema: &Value) -> BoxedStrategy<Value> {
    let plain = plain(schema);
    if schema["nullable"] == true {
        prop_oneof![9 => plain, 1 => Just(Value::Null)].boxed()
    } else {
        plain
    }
}

fn plain(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"]
        .as_array()
        .filter(|values| !values.is_empty())
    {
        return select(values.clone()).boxed();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return prop_oneof![integer(schema), text("[a-z0-9]{1,4}")].boxed();
    }
    if let Some(branches) = schema["oneOf"].as_array() {
        return one_of(schema, branches);
    }
    match schema["type"].as_str() {
        Some("object") => object(schema),
        Some("array") => array(schema),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => integer(schema),
        Some("number") => (-8..8i8)
            .prop_map(|quarters| json!(f64::from(quarters) / 4.0))
            .boxed(),
        Some("string") => string(schema),
        _ => anything(),
    }
}

/// Values of an enum whose variants have content. Each of the `branches` requires the field of one variant.
fn one_of(schema: &Value, branches: &[Value]) -> BoxedStrategy<Value> {
    let always = names(&schema["required"]);
    let fields_of_variants: BTreeSet<_> = branches
        .iter()
        .flat_map(|branch| names(&branch["required"]))
        .filter(|name| !always.contains(name))
        .collect();
    let variants = branches.iter().map(|branch| {
        let own = names(&branch["required"]);
        let mut variant = schema.clone();
        variant["oneOf"] = Value::Null;
        variant["required"] = json!([always.clone(), own.clone()].concat());
        if let Some(properties) = variant["properties"].as_object_mut() {
            properties.retain(|name, _| own.contains(name) || !fields_of_variants.contains(name));
        }
        plain(&variant)
    });
    Union::new(variants).boxed()
}

fn names(list: &Value) -> Vec<String> {
    let names = list.as_array().into_iter().flatten();
    names
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

fn object(whole: &Value) -> BoxedStrategy<Value> {
    let mut fields = collection::vec(Just((String::new(), None)), 0).boxed();
    let required = names(&whole["required"]);
    for (name, schema) in whole["properties"].as_object().into_iter().flatten() {
        let value = values(schema);
        // An enum that got the fields of all variants loses those of the others.
        let value = if required.contains(name) || whole.as_object().is_some_and(is_union) {
            value.prop_map(Some).boxed()
        } else {
            option::of(value).boxed()
        };
        let field_name = name.clone();
        fields = (fields, value)
            .prop_map(move |(mut fields, value)| {
                fields.push((field_name.clone(), value));
                fields
            })
            .boxed();
    }
    let others = match &whole["additionalProperties"] {
        Value::Object(schema) => {
            let schema = Value::Object(schema.clone());
            let pattern = whole.as_object().and_then(pattern_of_keys);
            match matching(pattern.as_deref().unwrap_or("[a-z./-]{1,3}")) {
                Some(keys) => collection::btree_map(keys, values(&schema), 0..4).boxed(),
                None => Just(BTreeMap::new()).boxed(),
            }
        }
        _ if whole["x-kubernetes-preserve-unknown-fields"] == true => {
            collection::btree_map("[a-z]{1,3}", anything(), 0..3).boxed()
        }
        _ => Just(BTreeMap::new()).boxed(),
    };
    let object = (fields, others).prop_map(|(fields, others)| {
        let present = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let object: Map<_, _> = others.into_iter().chain(present).collect();
        Value::Object(object)
    });
    object.boxed()
}

fn length(keyword: &Value) -> Option<usize> {
    usize::try_from(keyword.as_u64()?).ok()
}

fn array(schema: &Value) -> BoxedStrategy<Value> {
    let least = length(&schema["minItems"]).unwrap_or(0);
    let most = length(&schema["maxItems"])
        .unwrap_or(least + 4)
        .min(least + 4);
    let keys = schema["x-kubernetes-list-map-keys"].clone();
    let is_set = schema["x-kubernetes-list-type"] == "set";
    let any_items = collection::vec(values(&schema["items"]), least..=most);
    let items = any_items.prop_map(move |mut items| {
        let mut seen = HashSet::new();
        items.retain(|item| {
            let keys: Vec<_> = match keys.as_array() {
                Some(keys) => keys
                    .iter()
                    .map(|key| item[key.as_str().unwrap_or("")].clone())
                    .collect(),
                None if is_set => vec![item.clone()],
                None => return true,
            };
            seen.insert(Value::Array(keys).to_string())
        });
        Value::Array(items)
    });
    items.boxed()
}

fn integer(schema: &Value) -> BoxedStrategy<Value> {
    let least = schema["minimum"]
        .as_f64()
        .map_or(-9, |minimum| minimum as i64);
    let most = schema["maximum"]
        .as_f64()
        .map_or(least.max(0) + 9, |maximum| maximum as i64);
    (least..=most.max(least)).prop_map(Value::from).boxed()
}

fn string(schema: &Value) -> BoxedStrategy<Value> {
    if schema["format"] == "date-time" {
        let seconds = (0..60u8).prop_map(|second| json!(format!("2024-02-03T04:05:{second:02}Z")));
        return seconds.boxed();
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && let Some(texts) = matching(pattern)
    {
        return texts.prop_map(Value::from).boxed();
    }
    let least = schema["minLength"].as_u64().unwrap_or(0);
    let most = schema["maxLength"]
        .as_u64()
        .unwrap_or(least + 6)
        .min(least + 6);
    prop_oneof![
        4 => text(&format!("[ab ]{{{least},{most}}}")),
        1 => text(&format!("\\PC{{{least},{most}}}")),
    ]
    .boxed()
}

/// Texts that match `pattern`; `None` if no generator knows it. A number is a short one, so that it fits its type.
fn matching(pattern: &str) -> Option<impl Strategy<Value = String> + use<>> {
    let inner = pattern.trim_start_matches('^').trim_end_matches('$');
    let short = inner
        .replace("$|^", "|")
        .replace(r"\d+", "[1-9][0-9]?")
        .replace(r"\d", "[0-9]");
    string_regex(&short).ok()
}

fn text(pattern: &str) -> BoxedStrategy<Value> {
    let texts = string_regex(pattern).expect("a pattern of this file");
    texts.prop_map(Value::from).boxed()
}

fn small() -> impl Strategy<Value = i64> {
    -3..9i64
}

fn anything() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        small().prop_map(Value::from),
        text("[a-z]{0,3}"),
        collection::vec(small().prop_map(Value::from), 0..3).prop_map(Value::Array),
    ]
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pattern: &str) -> BoxedStrategy<Value> {
        values(&json!({
            "type": "object",
            "additionalProperties": {"type": "string"},
            "x-kubernetes-validations": [{"rule": format!("self.all(key, key.matches('{pattern}'))")}],
        }))
    }

    fn keys(map: &Value) -> Vec<String> {
        map.as_object().expect("a map").keys().cloned().collect()
    }

    proptest! {
        #[test]
        fn the_keys_of_a_map_match_its_pattern(
            words in map("^[a-z]{2}$|^x-[a-z]$"),
            numbers in map(r"^-?\\d+$"),
        ) {
            for word in keys(&words) {
                let letters = word.strip_prefix("x-").unwrap_or(&word);
                prop_assert!(letters.bytes().all(|letter| letter.is_ascii_lowercase()), "{word}");
            }
            for number in keys(&numbers) {
                prop_assert!(number.parse::<i8>().is_ok(), "{number}");
            }
        }
    }
}
