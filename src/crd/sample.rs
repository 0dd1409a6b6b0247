//! Generates a small object that fits a schema.

use serde_json::{Map, Value, json};

use super::{
    compare::Loss,
    fit::{misfits, regex, unchecked},
    pattern,
    read::{Crd, CrdVersion},
    schema::Schema,
};
use crate::project::yaml;

/// A sample, and what the user must check in it.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub text: String,
    /// The places without a fitting value, and the constraints that are not checked here.
    pub doubts: Vec<Loss>,
}

/// Generates a sample of `version`.
pub(super) fn sample(crd: &Crd, version: &CrdVersion, project: &str) -> Sample {
    let lower = crd.kind.to_ascii_lowercase();
    let schema = body(&version.schema);
    let mut maker = Maker { left: MOST };
    let object = maker.value(&schema, 0, 0);
    let scalar = |text: &str| yaml::scalar(text).unwrap_or_default();
    // These lines are equal to those of the template for a sample. So a change of one of them, such as another name of
    // the project, is merged.
    let mut text = format!(
        "apiVersion: {}/{}\n\
         kind: {}\n\
         metadata:\n\
         \x20 labels:\n\
         \x20   app.kubernetes.io/name: {}\n\
         \x20   app.kubernetes.io/managed-by: kustomize\n\
         \x20 name: {lower}-sample\n",
        crd.group,
        version.name,
        scalar(&crd.kind),
        scalar(project),
    );
    if object.as_object().is_some_and(|it| !it.is_empty()) {
        text += &yaml::write_manifest(&object).unwrap_or_default();
    }
    let misfits = misfits(&object, &schema).into_iter();
    let misfits = misfits.map(|it| {
        let what = format!("no value was found that fits `{}`", it.keyword);
        Loss::new(&it.place, what)
    });
    let unchecked = unchecked(&object, &schema).into_iter();
    let unchecked = unchecked.map(|(place, what)| Loss::new(&place, what));
    Sample {
        text,
        doubts: misfits.chain(unchecked).collect(),
    }
}

/// The schema of an object without `apiVersion`, `kind`, `metadata` and `status`. If there is a
/// `spec`, it is required.
fn body(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let is_other = |name: &str| ["apiVersion", "kind", "metadata", "status"].contains(&name);
    let mut has_spec = false;
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| !is_other(name));
        has_spec = fields.contains_key("spec");
    }
    let mut required = required(&schema);
    required.retain(|it| !is_other(it) && it != "spec");
    if has_spec {
        required.push("spec".to_owned());
    }
    schema["required"] = json!(required);
    schema["type"] = "object".into();
    schema
}

/// The names of the fields that `schema` requires.
fn required(schema: &Value) -> Vec<String> {
    let names = schema["required"].as_array().into_iter().flatten();
    names
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

/// The largest number of generated values.
const MOST: usize = 1_000;
/// The deepest nesting of generated values.
const DEEPEST: usize = 60;

/// Generates values that fit their schemas.
struct Maker {
    /// How many values may still be generated.
    left: usize,
}

impl Maker {
    /// Generates a value that fits `schema`. Another `number` gives another value, if the schema
    /// allows enough values: the items of a list may have to be unique.
    fn value(&mut self, schema: &Value, number: usize, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth > DEEPEST {
            return json!({});
        }
        if !schema["default"].is_null() && number == 0 {
            return schema["default"].clone();
        }
        if let Some(values) = schema["enum"].as_array().filter(|it| !it.is_empty()) {
            return values[number % values.len()].clone();
        }
        if schema["x-kubernetes-int-or-string"] == true {
            return json!(number + 1);
        }
        match schema["type"].as_str() {
            Some("boolean") => json!(number % 2 == 1),
            Some("integer") => nth(&integers(schema), schema, number),
            Some("number") => nth(&numbers(schema), schema, number),
            Some("string") => text(schema, number),
            Some("array") => self.array(schema, number, depth),
            Some("object") => self.fields(schema, number, depth),
            _ => json!({}),
        }
    }

    fn array(&mut self, schema: &Value, number: usize, depth: usize) -> Value {
        let mut items = schema["items"].clone();
        // The keys identify the items, so each item must have them.
        let keys = schema["x-kubernetes-list-map-keys"].as_array();
        if let Some(keys) = keys.filter(|_| items.is_object()) {
            let mut names = json!(required(&items));
            if let Some(names) = names.as_array_mut() {
                names.extend(keys.iter().cloned());
            }
            items["required"] = names;
        }
        let least = schema["minItems"].as_u64().unwrap_or(0).min(64);
        let least = usize::try_from(least).unwrap_or_default();
        let items = (number..number + least).map(|at| self.value(&items, at, depth + 1));
        items.collect::<Vec<_>>().into()
    }

    /// Generates an object. If the schema has branches, takes the first branch for which the object
    /// fits, or else the one with the fewest misfits.
    fn fields(&mut self, schema: &Value, number: usize, depth: usize) -> Value {
        let mut best: Option<(usize, Value)> = None;
        for schema in branches(schema) {
            let object = self.object(&schema, number, depth);
            let wrong = misfits(&object, &schema).len();
            if best.as_ref().is_none_or(|(least, _)| wrong < *least) {
                best = Some((wrong, object));
            }
            if best.as_ref().is_some_and(|(least, _)| *least == 0) {
                break;
            }
        }
        best.map_or_else(|| json!({}), |(_, object)| object)
    }

    fn object(&mut self, schema: &Value, number: usize, depth: usize) -> Value {
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let others = schema["additionalProperties"].as_object();
        let others = others.map(|it| Value::Object(it.clone()));
        let mut object = Map::new();
        for name in required(schema) {
            let value = match properties.get(&name).or(others.as_ref()) {
                Some(schema) => self.value(schema, number, depth + 1),
                None => json!({}),
            };
            object.insert(name, value);
        }
        if schema["x-kubernetes-embedded-resource"] == true {
            for (name, value) in [
                ("apiVersion", json!("v1")),
                ("kind", json!("ConfigMap")),
                ("metadata", json!({"name": "sample"})),
            ] {
                object.insert(name.to_owned(), value);
            }
        }
        let least = schema["minProperties"].as_u64().unwrap_or(0).min(64);
        let is_short = |object: &Schema| (object.len() as u64) < least;
        for (name, field) in properties {
            if is_short(&object) && !object.contains_key(name) {
                object.insert(name.clone(), self.value(field, number, depth + 1));
            }
        }
        if let Some(others) = others {
            for at in 0..64 {
                if is_short(&object) {
                    object.insert(format!("key{at}"), self.value(&others, at, depth + 1));
                }
            }
        }
        object.into()
    }
}

/// `schema` with `allOf` merged in, first alone, and then with each branch of `oneOf` and `anyOf`.
fn branches(schema: &Value) -> Vec<Value> {
    let list = |key: &str| schema[key].as_array().into_iter().flatten();
    let all = list("allOf").fold(schema.clone(), |schema, it| with(&schema, it));
    let one = list("oneOf").chain(list("anyOf")).take(16);
    let one: Vec<_> = one.map(|branch| with(&all, branch)).collect();
    [all].into_iter().chain(one).collect()
}

/// `schema` with the required fields and the properties of `branch` added.
fn with(schema: &Value, branch: &Value) -> Value {
    let mut both = schema.clone();
    let mut names = required(schema);
    names.extend(required(branch));
    both["required"] = json!(names);
    for (name, more) in branch["properties"].as_object().into_iter().flatten() {
        let field = &mut both["properties"][name];
        match (field.as_object_mut(), more.as_object()) {
            (Some(field), Some(more)) => field.extend(more.clone()),
            _ => *field = more.clone(),
        }
    }
    both
}

/// Of the values that fit `schema`, returns the one at index `number`, or the last one. If no value
/// fits, returns the first of all values.
fn nth(values: &[Value], schema: &Value, number: usize) -> Value {
    let fitting = values.iter().filter(|it| misfits(it, schema).is_empty());
    let fitting: Vec<_> = fitting.take(number + 1).collect();
    let best = fitting.last().copied().or(values.first());
    best.cloned().unwrap_or_default()
}

/// Numbers that may fit: upwards from 1 or a greater minimum, then upwards from the minimum, then
/// downwards from the maximum.
fn steps(schema: &Value) -> impl Iterator<Item = f64> {
    let step = schema["multipleOf"].as_f64().filter(|it| *it > 0.0);
    let step = step.unwrap_or(1.0);
    let least = schema["minimum"].as_f64().unwrap_or(1.0).max(1.0);
    let up = (least / step).ceil() * step;
    let down = schema["maximum"].as_f64().unwrap_or(0.0);
    let down = (down / step).floor() * step;
    let lowest = schema["minimum"].as_f64().unwrap_or(0.0);
    let lowest = (lowest / step).ceil() * step;
    let times = || (0..66).map(f64::from);
    let up = times().map(move |it| up + it * step);
    let low = times().map(move |it| lowest + it * step);
    up.chain(low).chain(times().map(move |it| down - it * step))
}

fn integers(schema: &Value) -> Vec<Value> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a truncated value does not fit, and is not used"
    )]
    let values = steps(schema).map(|it| json!(it as i64));
    values.collect()
}

fn numbers(schema: &Value) -> Vec<Value> {
    let bound = |key: &str| schema[key].as_f64();
    let middle = bound("minimum").zip(bound("maximum"));
    let middle = middle.map(|(least, most)| f64::midpoint(least, most));
    let values = steps(schema).chain(middle);
    values.map(|it| json!(it)).collect()
}

/// Typical texts. The first one is for a field whose schema has no constraints.
const TEXTS: &[&str] = &[
    "sample",
    "a",
    "example.com",
    "https://example.com",
    "1m",
    "10%",
    "1",
    "1Gi",
    "v1",
    "/",
    "sample.example.com",
    "sample/sample",
    "me@example.com",
    "192.0.2.1",
    "192.0.2.0/24",
    "2001:db8::1",
    "2026-01-01T00:00:00Z",
    "2026-01-01",
    "1.0.0",
    "v1.0.0",
    "c2FtcGxl",
    "00000000-0000-4000-8000-000000000000",
    "Sample",
    "SAMPLE",
    "#c0ffee",
];

fn text(schema: &Value, number: usize) -> Value {
    let count = |key: &str| schema[key].as_u64().and_then(|it| usize::try_from(it).ok());
    let least = count("minLength").unwrap_or(0).min(1 << 16);
    let most = count("maxLength").unwrap_or(usize::MAX);
    let plain = TEXTS.iter().map(|it| (*it).to_owned());
    let short = TEXTS[0].chars().take(most).collect::<String>();
    let long = TEXTS[0].chars().cycle().take(least).collect::<String>();
    let sized = [short, long].into_iter().filter(|it| !it.is_empty());
    let numbered = (2..=number + 1).map(|it| format!("{}{it}", TEXTS[0]));
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    let is_match = regex(pattern);
    let is_match = |text: &String| is_match.as_ref().is_none_or(|it| it.is_match(text));
    let usual = [TEXTS[0].to_owned()].into_iter().chain(numbered);
    let all = usual.chain(sized).chain(plain.skip(1));
    let all = all.chain(pattern::texts(pattern)).filter(is_match);
    let fitting = all.filter(|it| misfits(&json!(it), schema).is_empty());
    let mut found = Vec::new();
    for text in fitting {
        if !found.contains(&text) {
            found.push(text);
        }
        if found.len() > number {
            break;
        }
    }
    found.pop().unwrap_or_else(|| TEXTS[0].to_owned()).into()
}
