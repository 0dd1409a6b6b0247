//! Generates a small object that fits a schema.

use serde_json::{Map, Value, json};

use super::{
    compare::Loss,
    fit::{misfits, regex, unchecked},
    pattern,
    read::CrdVersion,
    schema::texts,
};

/// Generates a sample of `version`. Returns it with what the user must check: the places without a fitting value, and
/// the constraints that are not checked here.
pub(super) fn sample(version: &CrdVersion) -> (Value, Vec<Loss>) {
    let schema = body(&version.schema);
    let mut maker = Maker { left: MOST };
    let object = maker.value(&schema, 0, 0);
    let mut doubts = Vec::new();
    for misfit in misfits(&object, &schema) {
        let what = format!("no value was found that fits `{}`", misfit.keyword);
        doubts.push(Loss::new(&misfit.place, what));
    }
    for (place, what) in unchecked(&object, &schema) {
        doubts.push(Loss::new(&place, what));
    }
    (object, doubts)
}

/// The schema of an object without `apiVersion`, `kind`, `metadata` and `status`. If there is a
/// `spec`, it is required.
fn body(schema: &Value) -> Value {
    const OTHERS: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];
    let mut body = schema.clone();
    let mut required = required(schema);
    required.retain(|name| !OTHERS.contains(&name.as_str()) && name != "spec");
    if let Some(fields) = body.get_mut("properties").and_then(Value::as_object_mut) {
        fields.retain(|name, _| !OTHERS.contains(&name.as_str()));
        if fields.contains_key("spec") {
            required.push("spec".to_owned());
        }
    }
    body["required"] = json!(required);
    body["type"] = "object".into();
    body
}

/// The names of the fields that `schema` requires.
fn required(schema: &Value) -> Vec<String> {
    texts(schema.get("required")).map(str::to_owned).collect()
}

/// The largest number of generated values.
const MOST: usize = 1_000;
/// The deepest nesting of generated values.
const DEEPEST: usize = 60;
/// The largest number of items or fields that a schema can demand.
const MOST_ITEMS: usize = 64;

/// The largest number of branches of `oneOf` and `anyOf` that are tried.
const MOST_BRANCHES: usize = 16;

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
        if let Some(values) = schema["enum"].as_array()
            && !values.is_empty()
        {
            // YAML reads `On` in a list of texts as `true`, which is none.
            let mut fitting = values.clone();
            fitting.retain(|value| misfits(value, schema).is_empty());
            let values = if fitting.is_empty() { values } else { &fitting };
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
        let keys = schema.get("x-kubernetes-list-map-keys");
        if items.is_object() && keys.is_some() {
            let mut names = required(&items);
            names.extend(texts(keys).map(str::to_owned));
            items["required"] = json!(names);
        }
        (0..least(schema, "minItems"))
            .map(|at| self.value(&items, number + at, depth + 1))
            .collect()
    }

    /// Generates an object. If the schema has branches, takes the first branch for which the object
    /// fits, or else the one with the fewest misfits.
    fn fields(&mut self, schema: &Value, number: usize, depth: usize) -> Value {
        let mut best = json!({});
        let mut fewest = usize::MAX;
        for branch in branches(schema) {
            let object = self.object(&branch, number, depth);
            let wrong = misfits(&object, &branch).len();
            if wrong < fewest {
                (best, fewest) = (object, wrong);
            }
            if fewest == 0 {
                break;
            }
        }
        best
    }

    fn object(&mut self, schema: &Value, number: usize, depth: usize) -> Value {
        let others = &schema["additionalProperties"];
        let mut object = Map::new();
        for name in required(schema) {
            let value = match &schema["properties"][&name] {
                Value::Null if others.is_object() => self.value(others, number, depth + 1),
                Value::Null => json!({}),
                property => self.value(property, number, depth + 1),
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
        let least = least(schema, "minProperties");
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if object.len() < least && !object.contains_key(name) {
                object.insert(name.clone(), self.value(property, number, depth + 1));
            }
        }
        if others.is_object() {
            for at in 0..MOST_ITEMS {
                if object.len() < least {
                    object.insert(format!("key{at}"), self.value(others, at, depth + 1));
                }
            }
        }
        object.into()
    }
}

/// The number of items or fields that `keyword` of a schema demands, up to a limit.
fn least(schema: &Value, keyword: &str) -> usize {
    limit(schema, keyword).unwrap_or(0).min(MOST_ITEMS)
}

/// The limit that `keyword` of a schema sets.
fn limit(schema: &Value, keyword: &str) -> Option<usize> {
    let limit = schema[keyword].as_u64()?;
    Some(usize::try_from(limit).unwrap_or(usize::MAX))
}

/// `schema` with `allOf` merged in, first alone, and then with each branch of `oneOf` and `anyOf`.
fn branches(schema: &Value) -> Vec<Value> {
    let mut all = schema.clone();
    for branch in schema["allOf"].as_array().into_iter().flatten() {
        all = with(&all, branch);
    }
    let mut branches = vec![all.clone()];
    for keyword in ["oneOf", "anyOf"] {
        for branch in schema[keyword].as_array().into_iter().flatten() {
            if branches.len() <= MOST_BRANCHES {
                branches.push(with(&all, branch));
            }
        }
    }
    branches
}

/// `schema` with the required fields and the properties of `branch` added.
fn with(schema: &Value, branch: &Value) -> Value {
    let mut both = schema.clone();
    let mut names = required(schema);
    names.extend(required(branch));
    both["required"] = json!(names);
    for (name, more) in branch["properties"].as_object().into_iter().flatten() {
        let property = &mut both["properties"][name];
        match (property.as_object_mut(), more.as_object()) {
            (Some(property), Some(more)) => property.extend(more.clone()),
            _ => *property = more.clone(),
        }
    }
    both
}

/// Of the values that fit `schema`, returns the one at index `number`, or the last one. If no value
/// fits, returns the first of all values.
fn nth(values: &[Value], schema: &Value, number: usize) -> Value {
    let fitting = values
        .iter()
        .filter(|value| misfits(value, schema).is_empty());
    let found = fitting.take(number + 1).last();
    found.or(values.first()).cloned().unwrap_or(Value::Null)
}

/// Numbers that may fit: upwards from 1 or a greater minimum, then upwards from the minimum, then
/// downwards from the maximum.
fn steps(schema: &Value) -> impl Iterator<Item = f64> {
    let step = match schema["multipleOf"].as_f64() {
        Some(step) if step > 0.0 => step,
        _ => 1.0,
    };
    let (minimum, maximum) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
    let first = (minimum.unwrap_or(1.0).max(1.0) / step).ceil() * step;
    let lowest = (minimum.unwrap_or(0.0) / step).ceil() * step;
    let highest = (maximum.unwrap_or(0.0) / step).floor() * step;
    [(first, step), (lowest, step), (highest, -step)]
        .into_iter()
        .flat_map(|(start, step)| (0..66).map(move |times| start + f64::from(times) * step))
}

fn integers(schema: &Value) -> Vec<Value> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a truncated value does not fit, and is not used"
    )]
    let values = steps(schema).map(|number| json!(number as i64));
    values.collect()
}

fn numbers(schema: &Value) -> Vec<Value> {
    let bounds = schema["minimum"].as_f64().zip(schema["maximum"].as_f64());
    let middle = bounds.map(|(least, most)| f64::midpoint(least, most));
    steps(schema).chain(middle).map(Value::from).collect()
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
    let usual = TEXTS[0];
    let least = limit(schema, "minLength").unwrap_or(0).min(1 << 16);
    let most = limit(schema, "maxLength").unwrap_or(usize::MAX);
    let long: String = usual.chars().cycle().take(least).collect();
    let short: String = usual.chars().take(most).collect();
    let pattern = schema["pattern"].as_str().unwrap_or("");
    let expression = regex(pattern);
    let mut candidates = vec![usual.to_owned()];
    for suffix in 2..=number + 1 {
        candidates.push(format!("{usual}{suffix}"));
    }
    candidates.extend([short, long]);
    candidates.retain(|text| !text.is_empty());
    for text in &TEXTS[1..] {
        candidates.push((*text).to_owned());
    }
    let mut found = Vec::new();
    for text in candidates.into_iter().chain(pattern::texts(pattern)) {
        let is_match = (expression.as_ref()).is_none_or(|regex| regex.is_match(&text));
        if is_match && misfits(&json!(text), schema).is_empty() && !found.contains(&text) {
            found.push(text);
        }
        if found.len() > number {
            break;
        }
    }
    found.pop().map_or_else(|| usual.into(), Value::from)
}
