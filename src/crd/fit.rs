//! Validates values against a schema, like the API server. CEL rules are listed, but not evaluated.

use std::net::{Ipv4Addr, Ipv6Addr};

use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

use super::{compare::join, schema::Schema};
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
            let missing = match keyword.as_str() {
                "required" => missing(value, schema),
                _ => Vec::new(),
            };
            let missing = missing.iter().map(|name| join(place, name));
            let here = (!fits(value, keyword, schema)).then(|| place.to_owned());
            found.extend(missing.chain(here).map(|place| Misfit {
                place,
                keyword: keyword.clone(),
            }));
        }
    });
    found
}

/// Lists the checks of the API server for a new object with `value` that [`misfits`] leaves out, each with its place:
/// CEL rules, and patterns that [`regex`] cannot compile.
pub(super) fn unchecked(value: &Value, schema: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk("", value, schema, &mut |place, value, schema| {
        let mut find = |what: &str, text: &str| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push((place.to_owned(), format!("the {what} `{}`", visible(&text))));
        };
        let rules = schema.get("x-kubernetes-validations");
        for rule in rules.and_then(Value::as_array).into_iter().flatten() {
            let text = rule["rule"].as_str().unwrap_or_default();
            // A rule with `oldSelf` applies only to updates, unless `optionalOldSelf` is set.
            if !text.contains("oldSelf") || rule["optionalOldSelf"] == true {
                find("rule", text);
            }
        }
        let pattern = schema.get("pattern").and_then(Value::as_str);
        let pattern = pattern.filter(|it| value.is_string() && regex(it).is_none());
        if let Some(pattern) = pattern {
            find("pattern", pattern);
        }
    });
    found
}

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
                let own = properties.and_then(|it| it.get(name));
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
fn missing(value: &Value, schema: &Schema) -> Vec<String> {
    let Some(fields) = value.as_object() else {
        return Vec::new();
    };
    let names = schema.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    let names = names.filter(|name| !fields.contains_key(*name));
    names.map(str::to_owned).collect()
}

/// Returns whether `value` satisfies `keyword` of `schema`.
fn fits(value: &Value, keyword: &str, schema: &Schema) -> bool {
    let is = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    if value.is_null() {
        return keyword != "type" || is("nullable");
    }
    let given = &schema[keyword];
    let branches = || given.as_array().into_iter().flatten();
    let fits_in = |branch: &&Value| misfits(value, branch).is_empty();
    match keyword {
        "type" => match given.as_str() {
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        },
        "x-kubernetes-int-or-string" => value.is_i64() || value.is_u64() || value.is_string(),
        "enum" => branches().any(|it| it == value),
        "allOf" => branches().all(|it| fits_in(&it)),
        "anyOf" => branches().any(|it| fits_in(&it)),
        "oneOf" => branches().filter(fits_in).count() == 1,
        "not" => !fits_in(&given),
        _ => match value {
            Value::Number(number) => number_fits(number.as_f64(), keyword, schema),
            Value::String(text) => text_fits(text, keyword, given),
            Value::Array(items) => items_fit(items, keyword, schema),
            Value::Object(fields) => count_fits(fields.len(), keyword, given, "Properties"),
            _ => true,
        },
    }
}

fn number_fits(number: Option<f64>, keyword: &str, schema: &Schema) -> bool {
    let is = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let given = &schema[keyword];
    let (Some(number), bound) = (number, given.as_f64()) else {
        return true;
    };
    match (keyword, bound) {
        ("minimum", Some(least)) if is("exclusiveMinimum") => number > least,
        ("minimum", Some(least)) => number >= least,
        ("maximum", Some(most)) if is("exclusiveMaximum") => number < most,
        ("maximum", Some(most)) => number <= most,
        ("multipleOf", Some(step)) if step > 0.0 => {
            let times = number / step;
            (times - times.round()).abs() < 1e-9
        }
        ("format", _) if given == "int32" => {
            (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
        }
        _ => true,
    }
}

fn text_fits(text: &str, keyword: &str, given: &Value) -> bool {
    match keyword {
        "pattern" => given.as_str().is_none_or(|it| matches(it, text)),
        "format" => given.as_str().is_none_or(|it| has_format(text, it)),
        _ => count_fits(text.chars().count(), keyword, given, "Length"),
    }
}

/// Returns whether `pattern` matches in `text`. A pattern that [`regex`] cannot compile counts as matched.
fn matches(pattern: &str, text: &str) -> bool {
    regex(pattern).is_none_or(|it| it.is_match(text))
}

/// Compiles `pattern`. Returns `None` if the syntax is not supported, or if the compiled expression is too large.
pub(super) fn regex(pattern: &str) -> Option<Regex> {
    const MOST_BYTES: usize = 1 << 18;
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(MOST_BYTES).build().ok()
}

/// Returns whether `text` has this format. As in the API server, an unknown format allows every text.
fn has_format(text: &str, format: &str) -> bool {
    match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        _ => matches(
            match format {
                "date" => r"^\d{4}-\d\d-\d\d$",
                "date-time" => r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)$",
                "duration" => r"^([0-9.]+ ?[a-zµ]+ ?)+$",
                "email" => "^[^@ ]+@[^@ ]+$",
                "uri" => "^([A-Za-z][A-Za-z0-9+.-]*:|/)",
                "cidr" => "^[0-9a-fA-F.:]+/[0-9]+$",
                "byte" => "^[A-Za-z0-9+/]*=*$",
                "uuid" => {
                    "^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"
                }
                _ => return true,
            },
            text,
        ),
    }
}

fn items_fit(items: &[Value], keyword: &str, schema: &Schema) -> bool {
    let given = &schema[keyword];
    let keys = schema.get("x-kubernetes-list-map-keys");
    let keys = keys.and_then(Value::as_array);
    let are_unique = || {
        let key = |item: &Value| match keys {
            Some(keys) => {
                let values = keys.iter().filter_map(Value::as_str);
                values.map(|it| item[it].clone()).collect()
            }
            None => vec![item.clone()],
        };
        let all: Vec<_> = items.iter().map(key).collect();
        (1..all.len()).all(|at| !all[..at].contains(&all[at]))
    };
    match keyword {
        "uniqueItems" if *given == true => are_unique(),
        "x-kubernetes-list-type" if given == "set" || given == "map" => are_unique(),
        _ => count_fits(items.len(), keyword, given, "Items"),
    }
}

/// Returns whether `count` is within the limit of `keyword`, such as `minItems`. `what` is the end of the keyword:
/// `Items`.
fn count_fits(count: usize, keyword: &str, given: &Value, what: &str) -> bool {
    let bound = given.as_u64().and_then(|it| usize::try_from(it).ok());
    let limit = keyword.strip_suffix(what);
    match (limit, bound) {
        (Some("min"), Some(least)) => count >= least,
        (Some("max"), Some(most)) => count <= most,
        _ => true,
    }
}
