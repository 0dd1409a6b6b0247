//! Compares a generated schema with the schema of the CRD.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::schema::{Schema, normal, numbers};
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

/// Returns whether two schemas are equivalent.
pub(super) fn alike(one: &Value, other: &Value) -> bool {
    compare(one, other).is_empty()
}

/// Lists the differences of `written` from `given`. Ignores what kube adds to every kind: a title, and a nullable
/// status.
pub fn compare(given: &Value, written: &Value) -> Vec<Loss> {
    let [given, written] = [given, written].map(|it| root(numbers(normal(it.clone()))));
    let mut losses = BTreeSet::new();
    schemas("", &given, &written, &mut losses);
    losses.into_iter().collect()
}

/// Removes the parts of a kind's schema that are not compared: the usual `apiVersion`, `kind` and `metadata`, which the
/// API server defines, and the additions of kube.
fn root(schema: Value) -> Schema {
    let Value::Object(mut schema) = schema else {
        return Schema::new();
    };
    schema.remove("title");
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        let is_usual = |name: &str, field: &Value| {
            let (ty, keys) = match name {
                "apiVersion" | "kind" => ("string", ["type", "description"]),
                "metadata" => ("object", ["type", "description"]),
                _ => return false,
            };
            let fields = field.as_object();
            field["type"] == ty
                && fields.is_some_and(|it| it.keys().all(|key| keys.contains(&key.as_str())))
        };
        fields.retain(|name, field| !is_usual(name, field));
        if let Some(Value::Object(status)) = fields.get_mut("status") {
            status.remove("nullable");
        }
        if fields.is_empty() {
            schema.remove("properties");
        }
    }
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.retain(|it| {
            !["apiVersion", "kind", "metadata"]
                .iter()
                .any(|name| it == name)
        });
        if names.is_empty() {
            schema.remove("required");
        }
    }
    schema
}

fn schemas(place: &str, given: &Schema, written: &Schema, losses: &mut BTreeSet<Loss>) {
    let keys: BTreeSet<_> = given.keys().chain(written.keys()).collect();
    for key in keys {
        let (given, written) = (given.get(key), written.get(key));
        if given == written {
            continue;
        }
        match (key.as_str(), given, written) {
            ("properties", given, written) => {
                let empty = Schema::new();
                let fields = |it: Option<&Value>| it.and_then(Value::as_object).cloned();
                let given = fields(given).unwrap_or(empty.clone());
                let written = fields(written).unwrap_or(empty);
                properties(place, &given, &written, losses);
            }
            ("items", Some(Value::Object(given)), Some(Value::Object(written))) => {
                schemas(&format!("{place}[]"), given, written, losses);
            }
            ("additionalProperties", Some(Value::Object(given)), Some(Value::Object(written))) => {
                schemas(&join(place, "*"), given, written, losses);
            }
            (key, given, written) => {
                losses.insert(Loss::new(place, why(key, given, written)));
            }
        }
    }
}

fn properties(place: &str, given: &Schema, written: &Schema, losses: &mut BTreeSet<Loss>) {
    let names: BTreeSet<_> = given.keys().chain(written.keys()).collect();
    for name in names {
        let inner = join(place, name);
        match (given.get(name), written.get(name)) {
            (Some(Value::Object(given)), Some(Value::Object(written))) => {
                schemas(&inner, given, written, losses);
            }
            (Some(_), None) => _ = losses.insert(Loss::new(&inner, "the field is left out")),
            (None, Some(_)) => {
                let what = "the field is added, because kube needs a schema for the subresource";
                losses.insert(Loss::new(&inner, what));
            }
            (given, written) if given != written => {
                losses.insert(Loss::new(&inner, "the schema differs"));
            }
            _ => {}
        }
    }
}

pub(super) fn join(place: &str, name: &str) -> String {
    match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    }
}

/// Describes a difference in the keyword `key`, with its reason.
fn why(key: &str, given: Option<&Value>, written: Option<&Value>) -> String {
    let reason = match (key, given, written) {
        ("required", _, Some(names)) if names == &serde_json::json!(["spec"]) => {
            return "`spec` is required, because the Rust type of a kind always has one".to_owned();
        }
        ("required", _, _) => "the controller sets the status of an object only after its creation",
        ("allOf" | "anyOf" | "oneOf" | "not", Some(_), None) => {
            "kube would move the properties and types that it contains"
        }
        ("uniqueItems", _, _) => "kube removes it",
        ("description", _, _) => "rustdoc would treat its Markdown as code",
        (_, Some(_), None) => "no Rust attribute can set it for a type in a list or a map",
        (_, _, _) => "kube writes it this way",
    };
    match (given, written) {
        (_, None) => format!("`{key}` is left out: {reason}"),
        (None, Some(_)) => format!("`{key}` is added: {reason}"),
        _ => format!("`{key}` is changed: {reason}"),
    }
}
