//! The Rust type of a schema.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Lower, TypeWithSchema, attributes::extend};
use crate::{
    crd::{
        docs::take_doc,
        model::{Helper, Item, Purpose, Shape, Variant},
        names::{self, Unique},
        schema::{self, OPEN, Schema},
    },
    rust::RustType,
};

/// Keywords that describe a field, not the type of the field.
const OF_FIELD: [&str; 3] = ["default", "description", "nullable"];

impl Lower<'_> {
    /// The type for `schema` at `path`. The attributes of the field must hold the keywords that are not in
    /// [`TypeWithSchema::generated`].
    pub(super) fn ty(&mut self, schema: &Schema, path: &[String]) -> TypeWithSchema {
        if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
            return TypeWithSchema {
                helper: Some(Helper::INT_OR_STRING),
                ..TypeWithSchema::new(
                    RustType::IntOrString,
                    json!({"x-kubernetes-int-or-string": true}),
                )
            };
        }
        let format = schema.get("format").and_then(Value::as_str);
        match (schema.get("type").and_then(Value::as_str), format) {
            (Some("string"), format) => match values(schema) {
                Some(values) => self.enumeration(Schema::new(), &values, path),
                None if schema.contains_key("enum") => scalar("string", None).unwrap_or_else(any),
                None => scalar("string", format).unwrap_or_else(any),
            },
            (Some("array"), _) => self.list(schema, path),
            (Some("object"), _) => self.object(schema, path),
            (Some(name), format) => scalar(name, format).unwrap_or_else(any),
            (None, _) => any(),
        }
    }

    /// An enum of `values`. `rest` are the other keywords of its schema.
    fn enumeration(
        &mut self,
        mut rest: Schema,
        values: &[&str],
        path: &[String],
    ) -> TypeWithSchema {
        let mut generated = rest.clone();
        generated.insert("type".to_owned(), "string".into());
        generated.insert("enum".to_owned(), json!(values));
        let key = Value::Object(generated.clone()).to_string();
        if let Some(known) = self.types.get(&key) {
            return known.clone();
        }
        let mut idents = Unique::default();
        let mut variants = Vec::new();
        for value in values {
            variants.push(Variant {
                ident: idents.first([names::variant(value)]),
                value: (*value).to_owned(),
            });
        }
        let name = self.name(path);
        self.slots.push(Some(Item {
            name: name.clone(),
            doc: take_doc(&mut rest),
            attributes: extend(&rest).into_iter().collect(),
            is_default: false,
            is_kube: false,
            shape: match self.purpose {
                Purpose::Define => Shape::Enum(variants.clone()),
                Purpose::Use => {
                    let other = idents.first(["Other", "Unknown"].map(str::to_owned));
                    Shape::OpenEnum(variants.clone(), other)
                }
            },
        }));
        let ty = TypeWithSchema {
            is_default: false,
            variants,
            ..TypeWithSchema::new(RustType::Named(name), generated.into())
        };
        self.types.insert(key, ty.clone());
        ty
    }

    fn list(&mut self, schema: &Schema, path: &[String]) -> TypeWithSchema {
        let Some(Value::Object(items)) = schema.get("items") else {
            return any();
        };
        let item = self.inner(items, path);
        let rust = RustType::List(Box::new(item.rust.clone()));
        let mut list = TypeWithSchema::new(rust, json!({"type": "array"}));
        list.generated.extend(item.in_keyword("items"));
        list
    }

    fn object(&mut self, schema: &Schema, path: &[String]) -> TypeWithSchema {
        let has_properties = schema.contains_key("properties");
        let is_open = schema.contains_key(OPEN);
        match schema.get("additionalProperties") {
            Some(Value::Object(values)) if !has_properties => {
                let value = self.inner(values, path);
                let rust = RustType::Map(Box::new(value.rust.clone()));
                let mut map = TypeWithSchema::new(rust, json!({"type": "object"}));
                map.generated
                    .extend(value.in_keyword("additionalProperties"));
                map
            }
            None | Some(Value::Bool(false)) if !is_open || has_properties => {
                let mut own = schema.clone();
                own.retain(|keyword, _| !OF_FIELD.contains(&keyword.as_str()));
                self.structure_at(&own, path)
            }
            _ => any(),
        }
    }

    /// The type of the items of a list, or of the values of a map, at `path`.
    fn inner(&mut self, items: &Schema, path: &[String]) -> TypeWithSchema {
        let mut ty = self.present(items, path);
        // The API server refuses null if an enum lacks it, and `Value` can be null.
        let can_be_null = items.contains_key("nullable") && ty.variants.is_empty();
        if can_be_null && ty.rust != RustType::Value {
            ty.rust = RustType::Option(Box::new(ty.rust));
            schema::in_option(&mut ty.generated);
            ty.generated.insert("nullable".to_owned(), true.into());
        }
        ty
    }

    /// The same without null. The attributes of a struct hold its whole schema, because items have no field with
    /// attributes.
    fn present(&mut self, items: &Schema, path: &[String]) -> TypeWithSchema {
        let mut item_path = path.to_vec();
        if let Some(last) = item_path.last_mut() {
            *last = names::singular(last);
        }
        let schema = schema::supported(items.clone());
        let ty = schema.get("type").and_then(Value::as_str);
        let is_closed = (schema.get("additionalProperties")).is_none_or(|values| *values == false);
        let is_struct = ty == Some("object")
            && is_closed
            && (schema.contains_key("properties") || !schema.contains_key(OPEN));
        if is_struct {
            return self.structure_at(&schema, &item_path);
        }
        match values(&schema) {
            Some(values) if ty == Some("string") => {
                let mut rest = schema.clone();
                rest.remove("type");
                rest.remove("enum");
                self.enumeration(rest, &values, &item_path)
            }
            _ => self.ty(&schema, &item_path),
        }
    }
}

impl TypeWithSchema {
    /// The keyword of a list or a map for the schema of its items. Items have no field that could name a helper
    /// function. So if they need one, this keyword is missing, and an attribute of the outer field adds it.
    fn in_keyword(self, keyword: &str) -> Option<(String, Value)> {
        (self.helper.is_none()).then(|| (keyword.to_owned(), self.generated.into()))
    }
}

/// The types of scalars, by the type and the format of the schema. Each has the type, and the function that returns the
/// schema if no Rust type has it. Without a format, the row is for all other formats.
const SCALARS: [(&str, Option<&str>, RustType, Option<Helper>); 8] = [
    ("boolean", None, RustType::Bool, None),
    ("integer", Some("int32"), RustType::Integer("i32"), None),
    ("integer", Some("int64"), RustType::Integer("i64"), None),
    (
        "integer",
        None,
        RustType::Integer("i64"),
        Some(Helper::INTEGER),
    ),
    ("number", Some("double"), RustType::Float("f64"), None),
    ("number", None, RustType::Float("f64"), Some(Helper::NUMBER)),
    (
        "string",
        Some("date-time"),
        RustType::Time,
        Some(Helper::DATE_TIME),
    ),
    ("string", None, RustType::Text, None),
];

/// The type of a boolean, a number or a text.
fn scalar(name: &str, format: Option<&str>) -> Option<TypeWithSchema> {
    let mut rows = SCALARS.into_iter();
    let (.., of_row, rust, helper) = rows.find(|(of_row, format_of_row, ..)| {
        *of_row == name && (format_of_row.is_none() || *format_of_row == format)
    })?;
    let mut ty = TypeWithSchema::new(rust, json!({"type": name}));
    ty.is_default = ty.rust != RustType::Time;
    ty.helper = helper;
    ty.generated
        .extend(of_row.map(|format| ("format".to_owned(), format.into())));
    Some(ty)
}

/// Any JSON value.
pub(super) fn any() -> TypeWithSchema {
    TypeWithSchema::new(RustType::Value, json!({}))
}

/// The values of an enum, if all of them are strings, without duplicates.
fn values(schema: &Schema) -> Option<Vec<&str>> {
    let values = schema.get("enum")?.as_array()?;
    let texts: Vec<_> = values.iter().map(Value::as_str).collect::<Option<_>>()?;
    let distinct: BTreeSet<_> = texts.iter().collect();
    (distinct.len() == texts.len() && !texts.is_empty()).then_some(texts)
}
