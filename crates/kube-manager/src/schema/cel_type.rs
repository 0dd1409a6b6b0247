//! The types of values in CEL rules.

use std::fmt;

use super::keys::{EMBEDDED, INT_OR_STRING, Object, is_true, name_of_type, subschema};

/// The fields of each object that has metadata.
pub const OF_RESOURCES: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Type<'a> {
    /// A type that is not known here.
    Any,
    /// Any type: only the API server sees the value.
    Dyn,
    Bool,
    Bytes,
    Double,
    Duration,
    Int,
    Null,
    Text,
    Time,
    Uint,
    List(Box<Self>),
    /// The types of the keys and of the values.
    Map(Box<Self>, Box<Self>),
    Optional(Box<Self>),
    /// An object with the fields of a schema. A resource also has those of all resources.
    Object(&'a Object, bool),
    /// The metadata of a resource.
    Metadata,
}

impl<'a> Type<'a> {
    /// The type of this name.
    pub fn named(name: &str) -> Self {
        match name {
            "bool" => Self::Bool,
            "bytes" => Self::Bytes,
            "double" => Self::Double,
            "duration" => Self::Duration,
            "dyn" => Self::Dyn,
            "int" => Self::Int,
            "list" => Self::List(Box::new(Self::Any)),
            "map" => Self::Map(Box::new(Self::Any), Box::new(Self::Any)),
            "optional" => Self::Optional(Box::new(Self::Any)),
            "text" => Self::Text,
            "time" => Self::Time,
            "uint" => Self::Uint,
            _ => Self::Any,
        }
    }

    /// The type of the values of `schema`.
    pub fn of(schema: &'a Object, is_resource: bool) -> Self {
        let inner = |key| {
            let inner = subschema(schema, key);
            Box::new(inner.map_or(Self::Any, |inner| Self::of(inner, is_true(inner, EMBEDDED))))
        };
        if is_true(schema, INT_OR_STRING) {
            return Self::Dyn;
        }
        let format = schema.get("format").and_then(|format| format.as_str());
        match (name_of_type(schema), format) {
            ("array", _) => Self::List(inner("items")),
            ("boolean", _) => Self::Bool,
            ("integer", _) => Self::Int,
            ("number", _) => Self::Double,
            ("object", _) if subschema(schema, "additionalProperties").is_some() => {
                Self::Map(Box::new(Self::Text), inner("additionalProperties"))
            }
            ("object", _) => Self::Object(schema, is_resource),
            ("string", Some("byte")) => Self::Bytes,
            ("string", Some("date" | "date-time")) => Self::Time,
            ("string", Some("duration")) => Self::Duration,
            ("string", _) => Self::Text,
            _ => Self::Any,
        }
    }

    /// Whether a value of the type `other` can stand where one of this type is expected.
    pub fn takes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Dyn, _) | (_, Self::Any | Self::Dyn) => true,
            (Self::Null, Self::Time | Self::Duration | Self::Object(..))
            | (Self::Time | Self::Duration | Self::Object(..), Self::Null) => true,
            (Self::List(one), Self::List(other)) | (Self::Optional(one), Self::Optional(other)) => {
                one.takes(other)
            }
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                key.takes(other_key) && value.takes(other_value)
            }
            (Self::Object(one, _), Self::Object(other, _)) => std::ptr::eq(*one, *other),
            _ => self == other,
        }
    }

    /// Whether `other` is this type, as far as both are known.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(one), Self::List(other)) | (Self::Optional(one), Self::Optional(other)) => {
                one.is_same(other)
            }
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                key.is_same(other_key) && value.is_same(other_value)
            }
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Dyn | Self::Null, _) | (_, Self::Dyn | Self::Null) => self == other,
            _ => self.takes(other),
        }
    }

    pub fn is_number(&self) -> bool {
        matches!(self, Self::Double | Self::Int | Self::Uint)
    }

    pub fn is_ordered(&self) -> bool {
        !matches!(
            self,
            Self::List(_)
                | Self::Map(..)
                | Self::Metadata
                | Self::Null
                | Self::Object(..)
                | Self::Optional(_)
        )
    }

    /// The group of functions that a value of this type has.
    pub fn group(&self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Dyn => "dyn",
            Self::Metadata => "metadata",
            Self::Optional(_) => "optional",
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Duration => "duration",
            Self::Int => "int",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Null => "null",
            Self::Object(..) => "object",
            Self::Text => "text",
            Self::Time => "time",
            Self::Uint => "uint",
        }
    }
}

/// The name of the type in CEL.
impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "string",
            Self::Time => "timestamp",
            _ => self.group(),
        })
    }
}

/// Whether a rule can read the values of `schema`: not those of an open place.
pub fn has_type(schema: &Object) -> bool {
    let inner = match name_of_type(schema) {
        "" => return is_true(schema, INT_OR_STRING),
        "array" => "items",
        _ => "additionalProperties",
    };
    subschema(schema, inner).is_none_or(has_type)
}
