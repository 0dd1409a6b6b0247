//! Compares a generated schema with the schema of the CRD.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::schema::{OF_EVERY_KIND, Schema, fault, normal, numbers, object, texts};
use crate::visible::visible;

/// A difference between a CRD and the generated code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// The path of the field: `spec.template.foo`. Empty for a difference outside of the schema.
    pub place: String,
    /// The difference, and the reason for it: "`uniqueItems` is left out: kube removes it".
    pub what: String,
}

impl Loss {
    /// Adds the version `name` to the place.
    #[must_use]
    pub fn of_version(mut self, name: &str) -> Self {
        self.place = match self.place.as_str() {
            "" => visible(name).into_owned(),
            place => format!("{} {place}", visible(name)),
        };
        self
    }

    /// A loss at `place`.
    pub(super) fn new(place: &str, what: impl Into<String>) -> Self {
        Self {
            place: visible(place).into_owned(),
            what: what.into(),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "{}", self.what),
            place => write!(f, "{place}: {}", self.what),
        }
    }
}

/// Lists the differences of `written` from `wanted`. Ignores what kube adds to every kind: a title, and a nullable
/// status.
pub fn compare(wanted: &Value, written: &Value) -> Vec<Loss> {
    let (wanted_root, mut written_root) = (root(wanted), root(written));
    if !wanted_root.contains_key("title") {
        written_root.remove("title");
    }
    let mut losses = BTreeSet::new();
    schemas("", &wanted_root, &written_root, &mut losses);
    losses.into_iter().collect()
}

/// The normal form of a kind's schema, without the parts that are not compared: the usual `apiVersion`, `kind` and
/// `metadata`, which the API server defines, and the additions of kube.
fn root(of_kind: &Value) -> Schema {
    let mut schema = object(numbers(normal(of_kind.clone())));
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, field| !is_usual(name, field));
        if let Some(Value::Object(status)) = fields.get_mut("status") {
            // kube lets a status be null.
            status.remove("nullable");
            if let Some(Value::Array(values)) = status.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
        }
        if fields.is_empty() {
            schema.remove("properties");
        }
    }
    schema
}

/// Whether a field of a kind is one that the API server defines, without a schema of its own.
fn is_usual(name: &str, field: &Value) -> bool {
    let ty = match name {
        "apiVersion" | "kind" => "string",
        "metadata" => "object",
        _ => return false,
    };
    let mut keywords = field.as_object().into_iter().flat_map(Schema::keys);
    field["type"] == ty && keywords.all(|keyword| keyword == "type" || keyword == "description")
}

fn schemas(place: &str, wanted: &Schema, written: &Schema, losses: &mut BTreeSet<Loss>) {
    let keywords: BTreeSet<_> = wanted.keys().chain(written.keys()).collect();
    for keyword in keywords {
        let (wanted, written) = (wanted.get(keyword), written.get(keyword));
        if wanted == written {
            continue;
        }
        match (keyword.as_str(), wanted, written) {
            ("properties", wanted, written) => {
                let empty = Schema::new();
                properties(
                    place,
                    wanted.and_then(Value::as_object).unwrap_or(&empty),
                    written.and_then(Value::as_object).unwrap_or(&empty),
                    losses,
                );
            }
            ("required", wanted, written) => required(place, wanted, written, losses),
            ("items", Some(Value::Object(wanted)), Some(Value::Object(written))) => {
                schemas(&format!("{place}[]"), wanted, written, losses);
            }
            ("additionalProperties", Some(Value::Object(wanted)), Some(Value::Object(written))) => {
                schemas(&join(place, "*"), wanted, written, losses);
            }
            (keyword, wanted, written) => {
                losses.insert(Loss::new(place, why(place, keyword, wanted, written)));
            }
        }
    }
}

fn properties(place: &str, wanted: &Schema, written: &Schema, losses: &mut BTreeSet<Loss>) {
    let names: BTreeSet<_> = wanted.keys().chain(written.keys()).collect();
    for name in names {
        let inner = join(place, name);
        match (wanted.get(name), written.get(name)) {
            (Some(Value::Object(wanted)), Some(Value::Object(written))) => {
                schemas(&inner, wanted, written, losses);
            }
            (Some(_), None) if place.is_empty() && OF_EVERY_KIND.contains(&name.as_str()) => {
                let what = "its schema is left out: kube has none for this field";
                losses.insert(Loss::new(&inner, what));
            }
            (Some(_), None) => _ = losses.insert(Loss::new(&inner, "the field is left out")),
            (None, Some(_)) => {
                let what = "the field is added, because kube needs a schema for the subresource";
                losses.insert(Loss::new(&inner, what));
            }
            (wanted, written) if wanted != written => {
                losses.insert(Loss::new(&inner, "the schema differs"));
            }
            _ => {}
        }
    }
}

/// Compares which fields are required.
fn required(
    place: &str,
    wanted: Option<&Value>,
    written: Option<&Value>,
    losses: &mut BTreeSet<Loss>,
) {
    let wanted_names: BTreeSet<_> = texts(wanted).collect();
    let written_names: BTreeSet<_> = texts(written).collect();
    for name in wanted_names.difference(&written_names) {
        let reason = match *name {
            "status" if place.is_empty() => "the Rust type of a kind never requires one",
            name if place.is_empty() && OF_EVERY_KIND.contains(&name) => "each object has it",
            _ => "the schema has no such field",
        };
        let what = format!("`{}` is not required: {reason}", visible(name));
        losses.insert(Loss::new(place, what));
    }
    for name in written_names.difference(&wanted_names) {
        let what = format!("`{name}` is required, because the Rust type of a kind always has one");
        losses.insert(Loss::new(place, what));
    }
}

pub(super) fn join(place: &str, name: &str) -> String {
    match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    }
}

/// Describes a difference in `keyword`, with its reason.
fn why(place: &str, keyword: &str, wanted: Option<&Value>, written: Option<&Value>) -> String {
    let fault = wanted.and_then(|value| fault(keyword, value));
    let reason = match (keyword, wanted, written) {
        (_, _, None) if fault.is_some() => fault.unwrap_or_default(),
        ("allOf" | "anyOf" | "oneOf" | "not", Some(_), None) => {
            "kube would move the properties and types that it contains"
        }
        ("uniqueItems", _, _) => "kube removes it",
        ("description", _, _) => "a doc comment cannot have this text, or kube does not take it",
        ("maxItems" | "minItems" | "maxProperties" | "minProperties", Some(limit), None)
            if limit.as_f64() > Some(f64::from(u32::MAX)) =>
        {
            "kube takes numbers up to 4294967295"
        }
        ("title", _, _) => "kube writes the name of the Rust type",
        (_, Some(_), None) if place.is_empty() => "no attribute of kube can set it for the object",
        (_, Some(_), None) => "no Rust attribute can set it for a type in a list or a map",
        (_, _, _) => "kube writes it this way",
    };
    match (wanted, written) {
        (_, None) => format!("`{keyword}` is left out: {reason}"),
        (None, Some(_)) => format!("`{keyword}` is added: {reason}"),
        _ => format!("`{keyword}` is changed: {reason}"),
    }
}
