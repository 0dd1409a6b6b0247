//! Validates values against a schema, like the API server. CEL rules are listed, but not evaluated.

use std::net::{Ipv4Addr, Ipv6Addr};

use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

use super::{
    compare::join,
    schema::{Schema, texts},
};
use crate::visible::visible;

/// A place at which a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// The path of the value: `spec.template.foo`.
    pub place: String,
    /// The keyword of the schema that refuses the value.
    pub keyword: String,
}

/// Lists the places where `value` does not fit `schema`.
pub(crate) fn misfits(value: &Value, schema: &Value) -> Vec<Misfit> {
    let mut found = Vec::new();
    walk("", value, schema, &mut |place, value, schema| {
        for keyword in schema.keys() {
            let mut places = Vec::new();
            if keyword == "required" {
                places.extend(missing(value, schema).map(|name| join(place, name)));
            }
            if !fits(value, keyword, schema) {
                places.push(place.to_owned());
            }
            found.extend(places.into_iter().map(|place| Misfit {
                place,
                keyword: keyword.clone(),
            }));
        }
    });
    found
}

/// Lists the checks of the API server for a new object with `value` that [`misfits`] leaves out, each with its place:
/// CEL rules, patterns that [`regex`] cannot compile, and the formats in [`UNCHECKED_FORMATS`].
pub(super) fn unchecked(value: &Value, schema: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk("", value, schema, &mut |place, value, schema| {
        let mut left_out = Vec::new();
        let rules = schema.get("x-kubernetes-validations");
        for rule in rules.and_then(Value::as_array).into_iter().flatten() {
            let text = rule["rule"].as_str().unwrap_or("");
            // A rule with `oldSelf` applies only to updates, unless `optionalOldSelf` is set.
            if !text.contains("oldSelf") || rule["optionalOldSelf"] == true {
                left_out.push(("rule", text));
            }
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && value.is_string()
            && regex(pattern).is_none()
        {
            left_out.push(("pattern", pattern));
        }
        if let Some(format) = schema.get("format").and_then(Value::as_str)
            && value.is_string()
            && UNCHECKED_FORMATS.contains(&&*without_dashes(format))
        {
            left_out.push(("format", format));
        }
        for (what, text) in left_out {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push((place.to_owned(), format!("the {what} `{}`", visible(&line))));
        }
    });
    found
}

/// Formats that the API server checks and [`has_format`] does not.
const UNCHECKED_FORMATS: [&str; 15] = [
    "bsonobjectid",
    "creditcard",
    "hexcolor",
    "hostname",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "rgbcolor",
    "ssn",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Calls `see` with the value and its schema, and then with each value inside of it.
fn walk(place: &str, value: &Value, schema: &Value, see: &mut impl FnMut(&str, &Value, &Schema)) {
    let Some(schema) = schema.as_object() else {
        return;
    };
    see(place, value, schema);
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, value) in fields {
                let own = properties.and_then(|properties| properties.get(name));
                if let Some(inner) = own.or_else(|| schema.get("additionalProperties")) {
                    walk(&join(place, name), value, inner, see);
                }
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                if let Some(inner) = schema.get("items") {
                    walk(&format!("{place}[{at}]"), value, inner, see);
                }
            }
        }
        _ => {}
    }
}

/// The required fields that `value` lacks.
fn missing<'a>(value: &Value, schema: &'a Schema) -> impl Iterator<Item = &'a str> {
    texts(schema.get("required")).filter(|name| value.is_object() && value.get(name).is_none())
}

/// Returns whether `value` satisfies `keyword` of `schema`.
fn fits(value: &Value, keyword: &str, schema: &Schema) -> bool {
    if value.is_null() {
        return keyword != "type" || is_on(schema, "nullable");
    }
    let constraint = &schema[keyword];
    let branches = constraint.as_array().map_or(&[][..], Vec::as_slice);
    let mut fitting = branches
        .iter()
        .filter(|branch| misfits(value, branch).is_empty());
    match (keyword, value) {
        ("type", _) => match constraint.as_str() {
            Some("integer") => is_integer(value),
            Some("number") => value.is_number(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        },
        ("x-kubernetes-int-or-string", _) => is_integer(value) || value.is_string(),
        ("enum", _) => branches.contains(value),
        ("allOf", _) => fitting.count() == branches.len(),
        ("anyOf", _) => fitting.next().is_some(),
        ("oneOf", _) => fitting.count() == 1,
        ("not", _) => !misfits(value, constraint).is_empty(),
        (_, Value::Number(number)) => {
            (number.as_f64()).is_none_or(|number| number_fits(number, keyword, schema))
        }
        ("pattern", Value::String(text)) => {
            (constraint.as_str()).is_none_or(|pattern| matches(pattern, text))
        }
        ("format", Value::String(text)) => {
            (constraint.as_str()).is_none_or(|format| has_format(text, format))
        }
        ("uniqueItems", Value::Array(items)) => *constraint != true || are_unique(items, schema),
        ("x-kubernetes-list-type", Value::Array(items)) => {
            constraint != "set" && constraint != "map" || are_unique(items, schema)
        }
        ("minLength", Value::String(text)) => !is_more(constraint, text.chars().count()),
        ("maxLength", Value::String(text)) => !is_less(constraint, text.chars().count()),
        ("minItems", Value::Array(items)) => !is_more(constraint, items.len()),
        ("maxItems", Value::Array(items)) => !is_less(constraint, items.len()),
        ("minProperties", Value::Object(fields)) => !is_more(constraint, fields.len()),
        ("maxProperties", Value::Object(fields)) => !is_less(constraint, fields.len()),
        _ => true,
    }
}

/// Whether a value is a whole number. The API server accepts `1.0` as one.
fn is_integer(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn is_on(schema: &Schema, flag: &str) -> bool {
    schema.get(flag) == Some(&Value::Bool(true))
}

/// Returns whether the limit is a number that is greater than `count`.
fn is_more(limit: &Value, count: usize) -> bool {
    limit.as_u64().is_some_and(|limit| limit > count as u64)
}

/// Returns whether the limit is a number that is less than `count`.
fn is_less(limit: &Value, count: usize) -> bool {
    limit.as_u64().is_some_and(|limit| limit < count as u64)
}

fn number_fits(number: f64, keyword: &str, schema: &Schema) -> bool {
    match (keyword, schema[keyword].as_f64()) {
        ("minimum", Some(least)) if is_on(schema, "exclusiveMinimum") => number > least,
        ("minimum", Some(least)) => number >= least,
        ("maximum", Some(most)) if is_on(schema, "exclusiveMaximum") => number < most,
        ("maximum", Some(most)) => number <= most,
        ("multipleOf", Some(step)) if step > 0.0 => {
            let times = number / step;
            (times - times.round()).abs() < 1e-9
        }
        ("format", _) if schema[keyword] == "int32" => {
            (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
        }
        _ => true,
    }
}

/// Returns whether `pattern` matches in `text`. A pattern that [`regex`] cannot compile counts as matched.
fn matches(pattern: &str, text: &str) -> bool {
    regex(pattern).is_none_or(|regex| regex.is_match(text))
}

/// Compiles `pattern`. Returns `None` if the syntax is not supported, or if the compiled expression is too large.
pub(super) fn regex(pattern: &str) -> Option<Regex> {
    const MOST_BYTES: usize = 1 << 18;
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(MOST_BYTES).build().ok()
}

/// The name of a format as the API server compares it.
fn without_dashes(format: &str) -> String {
    format.replace('-', "")
}

/// Returns whether `text` has this format. As in the API server, an unknown format allows every text. So does one of
/// [`UNCHECKED_FORMATS`].
fn has_format(text: &str, format: &str) -> bool {
    let format = &*without_dashes(format);
    match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        _ => matches(
            match format {
                "date" => r"^\d{4}-\d\d-\d\d$",
                "datetime" => r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)$",
                "duration" => r"^([0-9.]+ ?[a-zµ]+ ?)+$",
                "email" => "^[^@ ]+@[^@ ]+$",
                "uri" => "^([A-Za-z][A-Za-z0-9+.-]*:|/)",
                "cidr" => "^[0-9a-fA-F.:]+/[0-9]+$",
                "byte" => "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
                "uuid" => {
                    "^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"
                }
                _ => return true,
            },
            text,
        ),
    }
}

/// Returns whether all items are different, or their keys if the list has keys.
fn are_unique(items: &[Value], schema: &Schema) -> bool {
    let keys: Vec<_> = texts(schema.get("x-kubernetes-list-map-keys")).collect();
    let mut seen = Vec::new();
    items.iter().all(|item| {
        let identity = if keys.is_empty() {
            vec![item]
        } else {
            keys.iter().map(|key| &item[*key]).collect()
        };
        let is_new = !seen.contains(&identity);
        seen.push(identity);
        is_new
    })
}
