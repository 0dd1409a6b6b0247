//! Lowers a property to a field of a struct: its type, its default, and its attributes.

use serde_json::{Value, json};

use super::{
    Lower, Purpose,
    attributes::{extend, words},
    object, take_doc,
    types::{Scalar, Type},
};
use crate::crd::{
    layout::{Attribute, Meta},
    literal,
    model::{DefaultFn, Field, Helper},
    schema::{self, Schema},
};

/// The names of a field, and where it is.
pub(super) struct Place<'a> {
    pub json: &'a str,
    pub ident: &'a str,
    pub is_required: bool,
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
    pub(super) fn field(&mut self, place: &Place, given: Value) -> LoweredField {
        let mut want = schema::kept(object(given));
        let mut path = place.path.to_vec();
        path.push(place.json.to_owned());
        let ty = self.ty(&want, &path);
        let mut attributes = Vec::new();
        let mut serde = Vec::new();
        let mut schemars = Vec::new();
        let mut written = ty.written.clone();
        let mut rust = ty.rust.clone();
        let mut is_default = ty.is_default;
        let nullable = want.get("nullable").is_some();

        // The Rust type, and the value of a missing field.
        let default = want.get("default").cloned();
        let value = default.as_ref().and_then(|it| Self::default_value(&ty, it));
        // A client does not set defaults: the API server does so, and its defaults may change.
        let value = value.filter(|_| self.purpose == Purpose::Define);
        match (place.is_required, value) {
            (false, Some(value)) if !nullable => {
                if value.is_usual {
                    serde.push(Meta::leaf("default"));
                } else {
                    let name = self.default_fn(place.ident, &ty.rust, value.rust);
                    serde.push(Meta::text("default", &name));
                    is_default = false;
                }
                written.insert("default".to_owned(), value.written);
                want.remove("default");
            }
            (false, _) => {
                let is_empty = ty.empty.filter(|_| !nullable);
                if is_empty.is_none() {
                    rust = format!("Option<{rust}>");
                }
                serde.push(Meta::leaf("default"));
                let is_empty = is_empty.unwrap_or("Option::is_none");
                serde.push(Meta::text("skip_serializing_if", is_empty));
                is_default = true;
            }
            (true, _) if nullable => {
                rust = format!("Option<{rust}>");
                is_default = true;
            }
            (true, _) => {}
        }
        let is_option = rust != ty.rust;
        if let Some(helper) = ty.helper {
            self.helpers.insert(helper);
            schemars.push(Meta::text("schema_with", helper.name()));
        } else if is_option {
            schemars.push(Meta::text("with", &ty.rust));
        }
        if ty.helper == Some(Helper::IntOrString) && !place.is_required && !nullable {
            // Otherwise kube would allow null.
            want.insert("nullable".to_owned(), false.into());
        }

        let doc = take_doc(&mut want);
        if let Some(doc) = &doc {
            written.insert("description".to_owned(), doc.clone().into());
        }
        want.retain(|key, value| written.get(key) != Some(value));
        if ty.is_named {
            // An attribute would override the schema that these types generate.
            want.retain(|key, _| {
                !["items", "additionalProperties", "properties"].contains(&key.as_str())
            });
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(value) = want.get_mut(inner) {
                *value = schema::all_kept(value.take());
                if written.get(inner) == Some(value) {
                    want.remove(inner);
                }
            }
        }
        let of_kube = words(&mut want, &mut written, &mut schemars);
        if !serde.is_empty() {
            attributes.push(Attribute::Meta(Meta::list("serde", serde)));
        }
        if !schemars.is_empty() {
            attributes.push(Attribute::Meta(Meta::list("schemars", schemars)));
        }
        attributes.extend(extend(want.iter()));
        let is_kube = !of_kube.is_empty();
        attributes.extend(of_kube);
        written.extend(want);
        LoweredField {
            field: Field {
                doc,
                attributes,
                ident: place.ident.to_owned(),
                ty: rust,
            },
            written,
            is_default,
            is_kube,
        }
    }

    /// `default` as a Rust expression, if `ty` is a scalar that can have this value.
    fn default_value(ty: &Type, default: &Value) -> Option<RustValue> {
        let value = |rust: String, is_usual: bool, written: Value| {
            Some(RustValue {
                rust,
                is_usual,
                written,
            })
        };
        match (&ty.scalar, default) {
            (Scalar::Bool, Value::Bool(it)) => value(it.to_string(), !it, default.clone()),
            (Scalar::Integer(rust), Value::Number(it)) => {
                let it = it.as_i64()?;
                let fits = *rust == "i64" || i32::try_from(it).is_ok();
                fits.then(|| value(it.to_string(), it == 0, default.clone()))?
            }
            (Scalar::Float, Value::Number(it)) => {
                let it = it.as_f64()?;
                value(
                    literal::float(it),
                    it == 0.0 && it.is_sign_positive(),
                    json!(it),
                )
            }
            (Scalar::Text, Value::String(it)) => value(
                format!("{}.to_owned()", literal::text(it)),
                it.is_empty(),
                default.clone(),
            ),
            (Scalar::Enum(variants), Value::String(it)) => {
                let (_, variant) = variants.iter().find(|(value, _)| value == it)?;
                value(format!("{}::{variant}", ty.rust), false, default.clone())
            }
            _ => None,
        }
    }

    fn default_fn(&mut self, ident: &str, ty: &str, value: String) -> String {
        let mut there = self.defaults.iter();
        if let Some(there) = there.find(|it| it.ty == ty && it.value == value) {
            return there.name.clone();
        }
        let name = format!("default_{}", ident.trim_matches('_'));
        let name = self.functions.first([name]);
        self.defaults.push(DefaultFn {
            name: name.clone(),
            ty: ty.to_owned(),
            value,
        });
        name
    }
}

/// A default value as a Rust expression.
struct RustValue {
    rust: String,
    /// Whether `Default` of the type returns this value.
    is_usual: bool,
    /// The value that kube writes to the schema.
    written: Value,
}
