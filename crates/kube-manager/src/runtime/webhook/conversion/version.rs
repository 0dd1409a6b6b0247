//! A version of a kind that is converted: the parts of its objects.

use std::borrow::Cow;

use kube::{CustomResourceExt, Resource};
use serde_json::{Map, Value};

/// The fields of an object that no conversion changes.
pub const TYPE_AND_METADATA: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Converts a spec or a status.
pub type Convert = fn(&Value) -> Result<Value, String>;

/// Reads a spec and a status, and writes them again, as the Rust types do.
#[cfg_attr(
    not(feature = "testing"),
    allow(dead_code, reason = "only tests need it")
)]
#[derive(Clone, Copy)]
pub struct Rewrite {
    pub spec: Convert,
    pub status: Option<Convert>,
}

/// A version of a kind, with what its conversion needs.
#[derive(Clone)]
pub struct ConvertibleVersion {
    /// Such as `v1`.
    pub name: String,
    #[cfg_attr(
        not(feature = "testing"),
        allow(dead_code, reason = "only tests need it")
    )]
    pub rewrite: Rewrite,
    /// Of the whole object.
    pub schema: Value,
    /// Whether the spec is a field of the object. With `kube(no_spec)`, its fields are fields of the object.
    pub has_spec: bool,
}

impl ConvertibleVersion {
    pub fn of<K: Resource<DynamicType = ()> + CustomResourceExt>(rewrite: Rewrite) -> Self {
        // This cannot fail: kube has made the CRD from JSON.
        let crd = serde_json::to_value(K::crd()).unwrap_or_default();
        Self::new(
            K::version(&()).into_owned(),
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone(),
            rewrite,
        )
    }

    fn new(name: String, schema: Value, rewrite: Rewrite) -> Self {
        let fields = &schema["properties"];
        let mut names = fields.as_object().into_iter().flat_map(Map::keys);
        let has_spec = fields.get("spec").is_some()
            && names.all(|name| {
                matches!(name.as_str(), "spec" | "status")
                    || TYPE_AND_METADATA.contains(&name.as_str())
            });
        Self {
            name,
            rewrite,
            schema,
            has_spec,
        }
    }

    /// The error of a part of the code that reads or converts the spec, with the path of the field in the object.
    pub fn error_in_spec(&self, error: &str) -> String {
        if self.has_spec {
            format!("spec{error}")
        } else {
            error.trim_start_matches(['.', ':', ' ']).to_owned()
        }
    }

    /// The parts of `body`, an object without its type and metadata.
    pub fn parts<'a>(&self, body: &'a Value) -> Parts<'a> {
        let mut parts = Parts {
            spec: None,
            status: None,
            others: Map::new(),
        };
        for (name, value) in body.as_object().into_iter().flatten() {
            match name.as_str() {
                "status" => parts.status = Some(Cow::Borrowed(value)),
                "spec" if self.has_spec => parts.spec = Some(Cow::Borrowed(value)),
                _ => drop(parts.others.insert(name.clone(), value.clone())),
            }
        }
        if !self.has_spec {
            let fields = std::mem::take(&mut parts.others);
            parts.spec = Some(Cow::Owned(Value::Object(fields)));
        }
        parts
    }

    /// The object without its type and metadata that has these parts.
    pub fn body(&self, parts: Parts<'_>) -> Value {
        let Parts {
            spec,
            status,
            others: mut fields,
        } = parts;
        match spec.map(Cow::into_owned) {
            Some(Value::Object(spec)) if !self.has_spec => fields.extend(spec),
            Some(spec) if self.has_spec => drop(fields.insert("spec".to_owned(), spec)),
            _ => {}
        }
        fields.extend(status.map(|status| ("status".to_owned(), status.into_owned())));
        Value::Object(fields)
    }
}

/// The parts of an object that a conversion changes.
#[derive(Clone)]
pub struct Parts<'a> {
    pub spec: Option<Cow<'a, Value>>,
    pub status: Option<Cow<'a, Value>>,
    /// Fields that neither belong to the spec nor to the status. They stay.
    pub others: Map<String, Value>,
}

/// The version of an object, which its `apiVersion` ends with.
pub fn version(object: &Map<String, Value>) -> &str {
    let api_version = object.get("apiVersion").and_then(Value::as_str);
    match api_version.and_then(|text| text.split_once('/')) {
        Some((_, version)) => version,
        None => api_version.unwrap_or_default(),
    }
}
