//! Lowers a property to a field of a struct: its type, its default, and its attributes.

use serde_json::{Value, json};

use super::{
    Lower, TypeWithSchema,
    attributes::{extend, words},
    types::any,
};
use crate::{
    crd::{
        docs::take_doc,
        model::{DefaultFn, Field, Helper, Purpose},
        schema::{self, Schema, object},
    },
    rust::{Attribute, Meta, RustType, literal},
};

/// The names of a field, and where it is.
pub(super) struct FieldContext<'a> {
    pub json: &'a str,
    pub ident: &'a str,
    pub is_required: bool,
    /// Whether the API server keeps fields that the schema does not declare.
    pub is_open: bool,
    pub path: &'a [String],
}

/// A field, and its effect on the struct.
pub(super) struct LoweredField {
    pub field: Field,
    pub written: Schema,
    pub is_default: bool,
    pub is_kube: bool,
}

impl Lower<'_> {
    pub(super) fn field(&mut self, context: &FieldContext, property: Value) -> LoweredField {
        let mut want = schema::supported(object(property));
        let mut path = context.path.to_vec();
        path.push(context.json.to_owned());
        let ty = if context.is_open {
            any()
        } else {
            self.ty(&want, &path)
        };
        let (mut serde, mut schemars) = (Vec::new(), Vec::new());
        let mut written = ty.written.clone();
        let mut is_default = ty.is_default;
        let is_nullable = want.contains_key("nullable");

        // The Rust type, and the value of a missing field.
        let default = match want.get("default") {
            // A client does not set defaults: the API server does so, and its defaults may change.
            Some(default) if self.purpose == Purpose::Define => ty.default_value(default),
            _ => None,
        };
        let mut is_option = is_nullable;
        match default {
            _ if context.is_required => {}
            Some(default) if !is_nullable => {
                if default.is_usual {
                    serde.push(Meta::leaf("default"));
                } else {
                    let function = self.default_fn(context.ident, &ty.rust, default.rust);
                    serde.push(Meta::text("default", &function));
                    is_default = false;
                }
                written.insert("default".to_owned(), default.written);
                want.remove("default");
            }
            _ => {
                // The API server gives a missing field its default, so an empty list or null must be written.
                let of_missing = want.get("default");
                let is_full =
                    of_missing.is_some_and(|value| *value != json!([]) && *value != json!({}));
                let is_empty = ty.rust.is_empty().filter(|_| !is_nullable && !is_full);
                is_option = is_empty.is_none();
                serde.push(Meta::leaf("default"));
                // A client leaves out what it does not set. The API server refuses null for each enum.
                let writes_null = is_nullable && of_missing.is_some() && !want.contains_key("enum");
                if !writes_null || self.purpose == Purpose::Use {
                    let skip = is_empty.unwrap_or("Option::is_none");
                    serde.push(Meta::text("skip_serializing_if", skip));
                }
                is_default = true;
            }
        }
        is_default |= is_option;
        if let Some(helper) = ty.helper {
            self.helpers.insert(helper);
            schemars.push(Meta::text("schema_with", helper.name));
        } else if is_option {
            schemars.push(Meta::text("with", &ty.rust.to_string()));
        }
        if ty.helper == Some(Helper::INT_OR_STRING) && !context.is_required && !is_nullable {
            // Otherwise kube would allow null.
            want.insert("nullable".to_owned(), false.into());
        }

        let doc = take_doc(&mut want);
        if let Some(doc) = &doc {
            written.insert("description".to_owned(), doc.clone().into());
        }
        want.retain(|keyword, value| written.get(keyword) != Some(value));
        if ty.rust.named().is_some() {
            // An attribute would override the schema that these types generate.
            for keyword in ["items", "additionalProperties", "properties"] {
                want.remove(keyword);
            }
        }
        for keyword in ["items", "additionalProperties"] {
            if let Some(inner) = want.get_mut(keyword) {
                *inner = schema::all_supported(inner.take());
                if written.get(keyword) == Some(inner) {
                    want.remove(keyword);
                }
            }
        }
        let of_kube = words(&mut want, &mut written, &mut schemars);
        let mut attributes = Vec::new();
        if !serde.is_empty() {
            attributes.push(Attribute::Meta(Meta::list("serde", serde)));
        }
        if !schemars.is_empty() {
            attributes.push(Attribute::Meta(Meta::list("schemars", schemars)));
        }
        attributes.extend(extend(&want));
        let is_kube = !of_kube.is_empty();
        attributes.extend(of_kube);
        written.extend(want);
        LoweredField {
            field: Field {
                doc,
                attributes,
                ident: context.ident.to_owned(),
                rust: if is_option {
                    RustType::Option(Box::new(ty.rust))
                } else {
                    ty.rust
                },
            },
            written,
            is_default,
            is_kube,
        }
    }

    /// The name of a function that returns `value` as the default of the field `ident`.
    fn default_fn(&mut self, ident: &str, rust: &RustType, value: String) -> String {
        let mut functions = self.defaults.iter();
        if let Some(function) = functions.find(|known| known.rust == *rust && known.value == value)
        {
            return function.name.clone();
        }
        let usual = format!("default_{}", ident.trim_matches('_'));
        let name = self.functions.first([usual]);
        self.defaults.push(DefaultFn {
            name: name.clone(),
            rust: rust.clone(),
            value,
        });
        name
    }
}

/// A default value as a Rust expression.
struct DefaultValue {
    rust: String,
    /// Whether `Default` of the type returns this value.
    is_usual: bool,
    /// The value that kube writes to the schema.
    written: Value,
}

impl TypeWithSchema {
    /// `default` as a Rust expression, if the type is a scalar that can have this value.
    fn default_value(&self, default: &Value) -> Option<DefaultValue> {
        let mut written = default.clone();
        let (rust, is_usual) = match (&self.rust, default) {
            (RustType::Bool, Value::Bool(value)) => (value.to_string(), !value),
            (RustType::Integer(name), Value::Number(number)) => {
                let value = number.as_i64()?;
                if *name == "i32" {
                    i32::try_from(value).ok()?;
                }
                (value.to_string(), value == 0)
            }
            (RustType::Float(_), Value::Number(number)) => {
                let value = number.as_f64()?;
                written = json!(value);
                (
                    literal::float(value),
                    value == 0.0 && value.is_sign_positive(),
                )
            }
            (RustType::Text, Value::String(text)) => (
                format!("{}.to_owned()", literal::text(text)),
                text.is_empty(),
            ),
            (RustType::Named(name), Value::String(text)) => {
                let variant = self.variants.iter().find(|known| known.value == *text)?;
                (format!("{name}::{}", variant.ident), false)
            }
            _ => return None,
        };
        Some(DefaultValue {
            rust,
            is_usual,
            written,
        })
    }
}
