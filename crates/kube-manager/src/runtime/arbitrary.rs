//! Arbitrary values that fit a schema, for property tests.

use std::collections::{BTreeMap, HashSet};

use proptest::{
    collection, option, prelude::*, sample::select, strategy::Union, string::string_regex,
};
use serde_json::{Map, Value, json};

use crate::schema::{RULES, field_in_rule, pattern_of_keys, read_text, text_in_rule};

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

/// The keys of a map, if no rule has a pattern for them.
const KEYS: &str = "[a-z./-]{1,3}";

/// The keys of a map inside of a list or a map. No rule says there whether the keys are numbers, so they are numbers, which
/// fit maps with text keys, too.
const INNER_KEYS: &str = "[1-9][0-9]?";

/// Texts of the formats that a Rust type checks.
const FORMATTED: [(&str, &str); 9] = [
    ("byte", "YQ=="),
    ("cidr", "10.0.0.0/8"),
    ("date", "2024-02-03"),
    ("duration", "7s"),
    ("hostname", "example.com"),
    ("ipv4", "10.0.0.1"),
    ("ipv6", "::1"),
    ("uri", "https://example.com/"),
    ("uuid", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
];

/// Values that fit `schema`. Of its CEL rules, they keep those about the variants of an enum, the keys of a map and the
/// pattern of a text.
pub fn values(schema: &Value) -> BoxedStrategy<Value> {
    values_with(schema, KEYS)
}

/// Like [`values`]. `keys` is the pattern for the keys of maps whose schema has no pattern.
fn values_with(schema: &Value, keys: &'static str) -> BoxedStrategy<Value> {
    let plain = plain(schema, keys);
    if schema["nullable"] == true {
        prop_oneof![9 => plain, 1 => Just(Value::Null)].boxed()
    } else {
        plain
    }
}

fn plain(schema: &Value, keys: &'static str) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"]
        .as_array()
        .filter(|values| !values.is_empty())
    {
        return select(values.clone()).boxed();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return prop_oneof![integer(schema), text("[a-z0-9]{1,4}")].boxed();
    }
    if let Some(variants) = of_union(schema).or_else(|| of_tag(schema)) {
        return Union::new(variants.iter().map(|variant| plain(variant, keys))).boxed();
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, keys),
        Some("array") => array(schema),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => integer(schema),
        Some("number") if schema["format"] == "double" => {
            any::<f64>().prop_map(Value::from).boxed()
        }
        Some("number") => (-8..8i8)
            .prop_map(|quarters| json!(f64::from(quarters) / 4.0))
            .boxed(),
        Some("string") => string(schema),
        _ => anything(),
    }
}

/// A schema for each part of the first union in `schema`; `None` if there is none. Only the union says which fields a part
/// has.
fn of_union(schema: &Value) -> Option<Vec<Value>> {
    let (required, unions) = unions_in(schema);
    let (first, others) = unions.split_first()?;
    let variants = first.iter().map(|part| {
        let (mut own, inner) = unions_in(part);
        own.extend_from_slice(&required);
        let left: Vec<_> = inner.iter().chain(others).collect();
        let mut variant = schema.clone();
        variant["oneOf"] = Value::Null;
        variant["anyOf"] = Value::Null;
        variant["allOf"] = left.iter().map(|parts| json!({"anyOf": parts})).collect();
        variant["required"] = json!(own);
        own.extend(names_in(part));
        for name in first.iter().flat_map(names_in) {
            if !own.contains(&name) {
                variant["properties"][name] = json!(false);
            }
        }
        variant
    });
    Some(variants.collect())
}

/// The fields that `schema` requires, and the parts of its unions.
fn unions_in(schema: &Value) -> (Vec<String>, Vec<Vec<Value>>) {
    let mut required = names(&schema["required"]);
    let parts = ["oneOf", "anyOf"].map(|key| schema[key].as_array().cloned());
    let mut unions: Vec<_> = parts.into_iter().flatten().collect();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let (of_part, inner) = unions_in(part);
        required.extend(of_part);
        unions.extend(inner);
    }
    unions.retain(|parts| !parts.is_empty());
    (required, unions)
}

/// Makes an object require the field `name`, too.
fn require(schema: &mut Value, name: &str) {
    let mut required = names(&schema["required"]);
    required.push(name.to_owned());
    schema["required"] = json!(required);
}

/// The fields that a part of a union requires, and those that the unions in it require.
fn names_in(part: &Value) -> Vec<String> {
    let (mut names, unions) = unions_in(part);
    names.extend(unions.iter().flatten().flat_map(names_in));
    names
}

/// A schema for each value of a tag; `None` if no field of `schema` is one.
fn of_tag(schema: &Value) -> Option<Vec<Value>> {
    let rules = schema[RULES].as_array()?;
    let (tag, values, reached) =
        schema["properties"]
            .as_object()?
            .iter()
            .find_map(|(name, field)| {
                let values = field["enum"].as_array()?;
                let reached = format!("self.{} ", field_in_rule(name)?);
                let mut presences = rules.iter().filter_map(|rule| presence(rule, &reached));
                presences.next().map(|_| (name, values, reached))
            })?;
    let mut choices: Vec<Option<&str>> = values.iter().map(Value::as_str).collect();
    if !names(&schema["required"]).contains(tag) {
        choices.push(None);
    }
    let variants = choices.into_iter().map(|value| {
        let mut variant = schema.clone();
        let others = rules
            .iter()
            .filter(|rule| presence(rule, &reached).is_none());
        let others = others.map(|rule| of_variant(rule, &reached, value).unwrap_or(rule.clone()));
        variant[RULES] = others.collect();
        match value {
            Some(value) => {
                variant["properties"][tag] = json!({"enum": [value]});
                require(&mut variant, tag);
            }
            None => variant["properties"][tag] = json!(false),
        }
        for presence in rules.iter().filter_map(|rule| presence(rule, &reached)) {
            let has_value =
                value.is_some_and(|value| presence.condition.contains(&text_in_rule(value)));
            if presence.is_required == has_value {
                limit(&mut variant, &presence.path, presence.is_required);
            }
        }
        variant
    });
    Some(variants.collect())
}

/// What `rule` says of the variant in which the tag, which is `reached` so, is `value`: a variant can be an enum, too.
fn of_variant(rule: &Value, reached: &str, value: Option<&str>) -> Option<Value> {
    let unless = format!("{reached}!= {} || (", text_in_rule(value?));
    let (_, inner) = rule["rule"].as_str()?.split_once(&unless)?;
    Some(json!({"rule": inner.strip_suffix(')')?}))
}

/// What a rule says of a field that only some variants have or need.
struct Presence<'a> {
    /// The field, with the names that rules have for it.
    path: Vec<&'a str>,
    /// Compares the tag with values.
    condition: &'a str,
    /// Whether the field must be present with these values. Otherwise it may be present with no other ones.
    is_required: bool,
}

/// What `rule` says of a field, if it compares the tag, which is `reached` so.
fn presence<'a>(rule: &'a Value, reached: &str) -> Option<Presence<'a>> {
    let rule = rule["rule"].as_str()?;
    let (condition, path) = rule.strip_suffix(')')?.rsplit_once("has(self.")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    if !condition.contains(reached) || !path.chars().all(is_name) {
        return None;
    }
    Some(Presence {
        path: path.split('.').collect(),
        condition,
        is_required: !condition.ends_with('!'),
    })
}

/// Makes the field at `path` required, or takes it away.
fn limit(schema: &mut Value, path: &[&str], is_required: bool) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let mut known = schema["properties"].as_object().into_iter().flatten();
    let field = known.find(|(name, _)| field_in_rule(name).as_deref() == Some(*first));
    let Some((name, field)) = field.map(|(name, field)| (name.clone(), field.clone())) else {
        return;
    };
    if !rest.is_empty() {
        if field.is_object() {
            limit(&mut schema["properties"][name], rest, is_required);
        }
    } else if is_required {
        require(schema, &name);
    } else {
        schema["properties"][name] = json!(false);
    }
}

fn names(list: &Value) -> Vec<String> {
    let names = list.as_array().into_iter().flatten();
    names
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

fn object(whole: &Value, keys: &'static str) -> BoxedStrategy<Value> {
    let mut fields = collection::vec(Just((String::new(), None)), 0).boxed();
    let required = names(&whole["required"]);
    let properties = whole["properties"].as_object().cloned().unwrap_or_default();
    for (name, schema) in &properties {
        // A field of another variant.
        if *schema == false {
            continue;
        }
        let value = values_with(schema, keys);
        let value = if required.contains(name) {
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
            let values = values_with(&schema, INNER_KEYS);
            match matching(pattern.as_deref().unwrap_or(keys)) {
                Some(keys) => collection::btree_map(keys, values, 0..4).boxed(),
                None => Just(BTreeMap::new()).boxed(),
            }
        }
        _ if whole["x-kubernetes-preserve-unknown-fields"] == true => {
            collection::btree_map("[a-z]{1,3}", anything(), 0..3).boxed()
        }
        _ => Just(BTreeMap::new()).boxed(),
    };
    let object = (fields, others).prop_map(move |(fields, mut others)| {
        others.retain(|name, _| !properties.contains_key(name));
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
    let any_items = collection::vec(values_with(&schema["items"], INNER_KEYS), least..=most);
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
    let (lowest, highest) = match schema["format"].as_str() {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let least = schema["minimum"]
        .as_f64()
        .map_or(-9, |minimum| minimum as i64)
        .max(lowest);
    let most = schema["maximum"]
        .as_f64()
        .map_or(least.max(0) + 9, |maximum| maximum as i64)
        .min(highest);
    (least..=most.max(least)).prop_map(Value::from).boxed()
}

fn string(schema: &Value) -> BoxedStrategy<Value> {
    if schema["format"] == "date-time" {
        let seconds = (0..60u8).prop_map(|second| json!(format!("2024-02-03T04:05:{second:02}Z")));
        return seconds.boxed();
    }
    let own = schema["pattern"].as_str().map(str::to_owned);
    let pattern = own.or_else(|| pattern_in_rule(schema));
    if let Some(texts) = pattern.as_deref().and_then(matching) {
        return texts.prop_map(Value::from).boxed();
    }
    let mut formatted = FORMATTED.iter();
    if let Some((_, text)) = formatted.find(|(format, _)| schema["format"] == *format) {
        return Just(json!(text)).boxed();
    }
    let least = schema["minLength"].as_u64().unwrap_or(0);
    let most = schema["maxLength"]
        .as_u64()
        .unwrap_or(least + 6)
        .min(least + 6);
    let any = prop_oneof![
        4 => text(&format!("[ab ]{{{least},{most}}}")),
        1 => text(&format!("\\PC{{{least},{most}}}")),
    ];
    if schema.get(RULES).is_none() {
        return any.boxed();
    }
    // A rule may ask for a format, such as `isIP(self)`.
    let formatted = FORMATTED.map(|(_, text)| json!(text));
    prop_oneof![1 => any, 3 => select(formatted.to_vec())].boxed()
}

/// The pattern of the text that `schema` describes, if it is the whole of a rule: `self.matches('…')`.
fn pattern_in_rule(schema: &Value) -> Option<String> {
    let rules = schema[RULES].as_array()?;
    rules.iter().find_map(|rule| {
        let quoted = rule["rule"].as_str()?.strip_prefix("self.matches(")?;
        let inner = quoted.strip_prefix('\'')?.strip_suffix("')")?;
        (!inner.contains('\'')).then(|| read_text(inner))
    })
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
    use kube::{CustomResource, CustomResourceExt};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::schema::structural;

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

    mod shapes {
        include!("../schema/tests/shapes.rs");
    }
    use shapes::{CHECKED_BY_SERDE_ALONE, Shapes};

    #[derive(CustomResource, JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Shape")]
    #[schemars(transform = structural)]
    struct ShapeSpec {
        shapes: Shapes,
    }

    fn shapes() -> BoxedStrategy<Value> {
        let crd = json!(Shape::crd());
        let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut shapes = root["properties"]["spec"]["properties"]["shapes"].clone();
        let fields = shapes["properties"].as_object_mut().expect("fields");
        fields.retain(|name, _| !CHECKED_BY_SERDE_ALONE.contains(&name.as_str()));
        values(&shapes)
    }

    /// Whether `written` has all of `value`, but for nulls and values that are twice in a list.
    fn has(written: &Value, value: &Value) -> bool {
        match (written, value) {
            (_, Value::Null) => true,
            (Value::Object(written), Value::Object(value)) => {
                let mut fields = value.iter();
                fields.all(|(name, value)| has(written.get(name).unwrap_or(&Value::Null), value))
            }
            (Value::Array(written), Value::Array(value)) => {
                let mut items = value.iter();
                items.all(|item| written.iter().any(|written| has(written, item)))
            }
            (Value::Number(written), Value::Number(value)) => written.as_f64() == value.as_f64(),
            _ => written == value,
        }
    }

    #[derive(CustomResource, JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Number")]
    #[schemars(transform = structural)]
    struct Numbers {
        lists: Vec<BTreeMap<u8, String>>,
        maps: BTreeMap<i8, BTreeMap<u16, String>>,
    }

    fn inner_numbers() -> BoxedStrategy<Value> {
        let crd = json!(Number::crd());
        let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        values(&root["properties"]["spec"])
    }

    /// Objects in which each field with a name of one letter is a bool.
    fn open_object() -> BoxedStrategy<Value> {
        let fields = ('a'..='z').map(|name| (name.to_string(), json!({"type": "boolean"})));
        values(&json!({
            "type": "object",
            "properties": fields.collect::<Map<_, _>>(),
            "x-kubernetes-preserve-unknown-fields": true,
        }))
    }

    proptest! {
        #[test]
        fn values_have_the_fields_of_one_variant(value in shapes()) {
            let read: Shapes = serde_json::from_value(value.clone()).expect("shapes");
            let mut told = value;
            // The schema of an untagged enum does not say to which variant an optional field belongs. A quantity that is
            // a number is written as a text.
            for name in ["untagged", "flattened_both", "quantity"] {
                told.as_object_mut().expect("an object").remove(name);
            }
            let written = serde_json::to_value(read).expect("JSON");
            prop_assert!(has(&written, &told), "{written}: {told}");
        }

        #[test]
        fn an_inner_map_has_numbers_as_keys(numbers in inner_numbers()) {
            let read = serde_json::from_value::<Numbers>(numbers.clone());
            prop_assert!(read.is_ok(), "{numbers}");
        }

        #[test]
        fn an_integer_fits_its_format(
            number in values(&json!({"type": "integer", "format": "int32", "maximum": 1e12})),
            other in values(&json!({"type": "integer", "format": "int32", "minimum": -1e12})),
        ) {
            for number in [number, other] {
                prop_assert!(serde_json::from_value::<i32>(number.clone()).is_ok(), "{number}");
            }
        }

        #[test]
        fn an_unknown_field_has_no_name_of_a_known_one(object in open_object()) {
            for (name, value) in object.as_object().expect("an object") {
                prop_assert!(name.len() > 1 || value.is_boolean(), "{object}");
            }
        }
    }
}
