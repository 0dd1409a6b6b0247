//! The Rust type of a schema.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Lower, Purpose, attributes::extend, object, take_doc};
use crate::crd::{
    model::{Helper, Import, Item, Shape},
    names::{self, Unique},
    schema::{self, Schema},
};

/// The Rust type of a schema.
#[derive(Debug, Clone)]
pub(super) struct Type {
    pub rust: String,
    /// Whether the type implements `Default`.
    pub is_default: bool,
    /// The function that tests whether a list or a map is empty. An empty list or map stands for a missing one.
    pub empty: Option<&'static str>,
    /// The schema that kube generates for the type, without attributes of the field.
    pub written: Schema,
    /// Whether the type contains types of this file.
    pub is_named: bool,
    /// The function that returns the schema.
    pub helper: Option<Helper>,
    /// The sort of scalar, which decides how a JSON default becomes a Rust expression.
    pub scalar: Scalar,
}

/// The sort of a scalar; `None` for all other types.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    None,
    Bool,
    Integer(&'static str),
    Float,
    Text,
    /// Each value with its variant.
    Enum(Vec<(String, String)>),
}

impl Type {
    pub fn new(rust: impl Into<String>, written: Value) -> Self {
        Self {
            rust: rust.into(),
            is_default: true,
            empty: None,
            written: object(written),
            is_named: false,
            helper: None,
            scalar: Scalar::None,
        }
    }
}

/// Keywords that describe a field, not the type of the field.
const OF_FIELD: [&str; 3] = ["default", "description", "nullable"];

impl Lower<'_> {
    /// The type for `schema` at `path`. The attributes of the field must hold the keywords that are not in
    /// [`Type::written`].
    pub(super) fn ty(&mut self, schema: &Schema, path: &[String]) -> Type {
        let is = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        if is("x-kubernetes-int-or-string") {
            let rust = self.import(Import::IntOrString);
            return Type {
                helper: Some(Helper::IntOrString),
                ..Type::new(rust, json!({"x-kubernetes-int-or-string": true}))
            };
        }
        let format = schema.get("format").and_then(Value::as_str);
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => self.string(schema, format, path),
            Some("boolean") => Type {
                scalar: Scalar::Bool,
                ..Type::new("bool", json!({"type": "boolean"}))
            },
            Some("integer") => {
                let (rust, format) = match format {
                    Some("int32") => ("i32", Some("int32")),
                    Some("int64") => ("i64", Some("int64")),
                    _ => ("i64", None),
                };
                let mut written = json!({"type": "integer"});
                if let Some(format) = format {
                    written["format"] = format.into();
                }
                Type {
                    helper: format.is_none().then_some(Helper::Integer),
                    scalar: Scalar::Integer(rust),
                    ..Type::new(rust, written)
                }
            }
            Some("number") => {
                let is_double = format == Some("double");
                let mut written = json!({"type": "number"});
                if is_double {
                    written["format"] = "double".into();
                }
                Type {
                    helper: (!is_double).then_some(Helper::Number),
                    scalar: Scalar::Float,
                    ..Type::new("f64", written)
                }
            }
            Some("array") => self.list(schema, path),
            Some("object") => self.object(schema, path),
            _ => self.any(),
        }
    }

    fn any(&mut self) -> Type {
        Type::new(self.import(Import::Value), json!({}))
    }

    fn string(&mut self, schema: &Schema, format: Option<&str>, path: &[String]) -> Type {
        if let Some(values) = values(schema) {
            return self.enumeration(Schema::new(), &values, path);
        }
        if format == Some("date-time") && schema.get("enum").is_none() {
            let rust = self.import(Import::Time);
            return Type {
                is_default: false,
                helper: Some(Helper::DateTime),
                ..Type::new(rust, json!({"type": "string", "format": "date-time"}))
            };
        }
        Type {
            scalar: Scalar::Text,
            ..Type::new("String", json!({"type": "string"}))
        }
    }

    /// An enum of `values`. `rest` are the other keywords of its schema.
    fn enumeration(&mut self, mut rest: Schema, values: &[&str], path: &[String]) -> Type {
        let mut written = rest.clone();
        written.insert("type".to_owned(), "string".into());
        written.insert("enum".to_owned(), json!(values));
        let key = Value::Object(written.clone()).to_string();
        if let Some(there) = self.types.get(&key) {
            return there.clone();
        }
        let mut unique = Unique::default();
        let variant = |value: &&str| ((*value).to_owned(), unique.first([names::variant(value)]));
        let variants: Vec<_> = values.iter().map(variant).collect();
        let name = self.name(path);
        let flip = |(value, variant): &(String, String)| (variant.clone(), value.clone());
        let flipped = variants.iter().map(flip).collect();
        self.slots.push(Some(Item {
            name: name.clone(),
            doc: take_doc(&mut rest),
            attributes: extend(rest.iter()).into_iter().collect(),
            is_default: false,
            is_kube: false,
            shape: match self.purpose {
                Purpose::Define => Shape::Enum(flipped),
                Purpose::Use => Shape::OpenEnum(
                    flipped,
                    unique.first(["Other", "Unknown"].map(str::to_owned)),
                ),
            },
        }));
        let ty = Type {
            is_default: false,
            is_named: true,
            scalar: Scalar::Enum(variants),
            ..Type::new(name, written.into())
        };
        self.types.insert(key, ty.clone());
        ty
    }

    fn list(&mut self, schema: &Schema, path: &[String]) -> Type {
        let Some(Value::Object(items)) = schema.get("items") else {
            return self.any();
        };
        let mut path = path.to_vec();
        if let Some(last) = path.last_mut() {
            *last = names::singular(last);
        }
        let items = self.inner(items, &path);
        Type {
            empty: Some("Vec::is_empty"),
            is_named: items.is_named,
            ..Type::new(
                format!("Vec<{}>", items.rust),
                json!({"type": "array", "items": items.written}),
            )
        }
    }

    fn object(&mut self, schema: &Schema, path: &[String]) -> Type {
        let is_open = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
        match schema.get("additionalProperties") {
            Some(Value::Object(values)) if !schema.contains_key("properties") => {
                let mut path = path.to_vec();
                if let Some(last) = path.last_mut() {
                    *last = names::singular(last);
                }
                let values = self.inner(values, &path);
                let rust = format!("{}<String, {}>", self.import(Import::BTreeMap), values.rust);
                Type {
                    empty: Some("BTreeMap::is_empty"),
                    is_named: values.is_named,
                    ..Type::new(
                        rust,
                        json!({"type": "object", "additionalProperties": values.written}),
                    )
                }
            }
            None | Some(Value::Bool(false)) if !is_open || schema.contains_key("properties") => {
                let mut own = schema.clone();
                own.retain(|key, _| !OF_FIELD.contains(&key.as_str()));
                self.structure_at(&own, path)
            }
            _ => self.any(),
        }
    }

    /// The type of the items of a list, or of the values of a map. The attributes of a struct hold its whole schema,
    /// because items have no field with attributes.
    fn inner(&mut self, schema: &Schema, path: &[String]) -> Type {
        let schema = schema::kept(schema.clone());
        let is_struct = schema.get("type").is_some_and(|it| it == "object")
            && schema
                .get("additionalProperties")
                .is_none_or(|it| *it == false)
            && (schema.contains_key("properties")
                || schema.get("x-kubernetes-preserve-unknown-fields").is_none());
        if is_struct {
            return self.structure_at(&schema, path);
        }
        if let Some(values) = values(&schema)
            && schema.get("type").is_some_and(|it| it == "string")
        {
            let mut rest = schema.clone();
            rest.retain(|key, _| key != "type" && key != "enum");
            return self.enumeration(rest, &values, path);
        }
        let mut ty = self.ty(&schema, path);
        if ty.helper.is_some() {
            // Items have no field that could name the helper function. With this placeholder, the schemas differ, and
            // so an attribute of the outer field holds the schema of the items.
            ty.written = object(json!({"x-unknown": true}));
        }
        ty
    }
}

/// The values of an enum, if all of them are strings, without duplicates.
fn values(schema: &Schema) -> Option<Vec<&str>> {
    let values = schema.get("enum")?.as_array()?;
    let texts: Vec<_> = values.iter().map(Value::as_str).collect::<Option<_>>()?;
    let distinct: BTreeSet<_> = texts.iter().collect();
    (distinct.len() == texts.len() && !texts.is_empty()).then_some(texts)
}
