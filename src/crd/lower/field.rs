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
    pub generated: Schema,
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
        let mut generated = ty.generated.clone();
        let is_nullable = want.contains_key("nullable");
        let missing = self.missing(context, &want, &ty);
        let is_option = is_nullable || matches!(missing, WhenAbsent::Omitted | WhenAbsent::Null);
        let mut is_default = is_option || ty.is_default;
        let skip = |function| Meta::text("skip_serializing_if", function);
        match missing {
            WhenAbsent::Refused => {}
            WhenAbsent::Default(default) => {
                if default.is_usual {
                    serde.push(Meta::leaf("default"));
                } else {
                    let function = self.default_fn(context.ident, &ty.rust, default.rust);
                    serde.push(Meta::text("default", &function));
                    is_default = false;
                }
                generated.insert("default".to_owned(), default.generated);
                want.remove("default");
            }
            WhenAbsent::Empty(is_empty) => serde.extend([Meta::leaf("default"), skip(is_empty)]),
            WhenAbsent::Omitted => serde.extend([Meta::leaf("default"), skip("Option::is_none")]),
            WhenAbsent::Null => serde.push(Meta::leaf("default")),
        }
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
            generated.insert("description".to_owned(), doc.clone().into());
        }
        leave_out(&mut want, &generated, &ty.rust);
        let of_kube = words(&mut want, &mut generated, &mut schemars);
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
        generated.extend(want);
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
            generated,
            is_default,
            is_kube,
        }
    }

    /// What the field has in an object without it. `want` is the schema of the field.
    fn missing(&self, context: &FieldContext, want: &Schema, ty: &TypeWithSchema) -> WhenAbsent {
        if context.is_required {
            return WhenAbsent::Refused;
        }
        let is_nullable = want.contains_key("nullable");
        let default = want.get("default");
        // A client does not set defaults: the API server does so, and its defaults may change.
        let is_own = self.purpose == Purpose::Define;
        if let Some(value) = default.filter(|_| is_own && !is_nullable)
            && let Some(default) = ty.default_value(value)
        {
            return WhenAbsent::Default(default);
        }
        // The API server gives a missing field its default, so an empty list or null must be written.
        let is_full = default.is_some_and(|value| *value != json!([]) && *value != json!({}));
        match ty.rust.is_empty() {
            Some(is_empty) if !is_nullable && !is_full => WhenAbsent::Empty(is_empty),
            // A client leaves out what it does not set. The API server refuses null for each enum.
            _ if is_own && is_nullable && default.is_some() && !want.contains_key("enum") => {
                WhenAbsent::Null
            }
            _ => WhenAbsent::Omitted,
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

/// What a field has in an object without it.
enum WhenAbsent {
    /// Nothing: the field is required.
    Refused,
    /// The default of the schema.
    Default(DefaultValue),
    /// An empty list or map, for which this function returns true. It is not written.
    Empty(&'static str),
    /// `None`, which is not written.
    Omitted,
    /// `None`, which is written as null.
    Null,
}

/// Removes from `want` what the type `rust` with the schema `generated` needs no attribute for.
fn leave_out(want: &mut Schema, generated: &Schema, rust: &RustType) {
    want.retain(|keyword, value| generated.get(keyword) != Some(value));
    if rust.named().is_some() {
        // An attribute would override the schema that these types generate.
        for keyword in ["items", "additionalProperties", "properties"] {
            want.remove(keyword);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = want.get_mut(keyword) {
            *inner = schema::all_supported(inner.take());
            if generated.get(keyword) == Some(inner) {
                want.remove(keyword);
            }
        }
    }
}

/// A default value as a Rust expression.
struct DefaultValue {
    rust: String,
    /// Whether `Default` of the type returns this value.
    is_usual: bool,
    /// The value that kube writes to the schema.
    generated: Value,
}

impl TypeWithSchema {
    /// `default` as a Rust expression, if the type is a scalar that can have this value.
    fn default_value(&self, default: &Value) -> Option<DefaultValue> {
        let mut generated = default.clone();
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
                generated = json!(value);
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
            generated,
        })
    }
}
