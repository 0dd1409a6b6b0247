//! The generated Rust types, as data.

use serde_json::Value;

use super::layout::Attribute;

/// The contents of the types file of one version.
#[derive(Debug, Default)]
pub(super) struct Lowered {
    /// The types, in the order of the file.
    pub items: Vec<Item>,
    /// The functions that return defaults.
    pub defaults: Vec<DefaultFn>,
    /// The functions that return schemas that no Rust type has.
    pub helpers: Vec<Helper>,
    /// The imported types.
    pub imports: Vec<Import>,
    /// The attributes of the kind itself.
    pub root: Root,
    /// The schema that kube generates for the version.
    pub written: Value,
}

impl Lowered {
    /// Returns whether the type of the kind implements `Default`.
    pub fn has_default(&self) -> bool {
        let mut items = self.items.iter();
        items.any(|it| it.name == self.root.spec && it.is_default)
    }

    /// Removes everything that only serves to generate a schema.
    pub fn leave_out_schema(&mut self) {
        self.helpers.clear();
        self.root.rules.clear();
        for item in &mut self.items {
            item.attributes.retain(Attribute::is_serde);
            if let Shape::Struct(fields) = &mut item.shape {
                for field in fields {
                    field.attributes.retain(Attribute::is_serde);
                }
            }
        }
    }
}

/// The attributes of the kind itself.
#[derive(Debug, Default)]
pub(super) struct Root {
    /// The type of the spec.
    pub spec: String,
    /// The type of the status.
    pub status: Option<String>,
    /// Whether the fields of the spec are fields of the object.
    pub no_spec: bool,
    /// The description.
    pub doc: String,
    /// The CEL rules, as Rust.
    pub rules: Vec<String>,
}

/// A type.
#[derive(Debug)]
pub(super) struct Item {
    pub name: String,
    pub doc: Option<String>,
    pub attributes: Vec<Attribute>,
    /// Whether the type derives `Default`.
    pub is_default: bool,
    /// Whether the type derives `KubeSchema` instead of `JsonSchema`, because it has CEL rules or
    /// merge strategies.
    pub is_kube: bool,
    pub shape: Shape,
}

/// What a type consists of.
#[derive(Debug)]
pub(super) enum Shape {
    Struct(Vec<Field>),
    /// Each variant with its value.
    Enum(Vec<(String, String)>),
    /// Like `Enum`, with an additional variant of this name for any other text.
    OpenEnum(Vec<(String, String)>, String),
    /// A newtype around this type.
    Newtype(String),
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub doc: Option<String>,
    pub attributes: Vec<Attribute>,
    pub ident: String,
    pub ty: String,
}

/// A function that returns the default of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefaultFn {
    pub name: String,
    pub ty: String,
    pub value: String,
}

/// A function that returns a schema that no Rust type has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Helper {
    DateTime,
    IntOrString,
    Integer,
    Number,
}

impl Helper {
    pub fn name(self) -> &'static str {
        match self {
            Self::DateTime => "date_time",
            Self::IntOrString => "int_or_string",
            Self::Integer => "integer",
            Self::Number => "number",
        }
    }
}

/// A type that a types file can import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Import {
    BTreeMap,
    Time,
    IntOrString,
    Value,
}

impl Import {
    pub fn name(self) -> &'static str {
        match self {
            Self::BTreeMap => "BTreeMap",
            Self::Time => "Time",
            Self::IntOrString => "IntOrString",
            Self::Value => "Value",
        }
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::BTreeMap => "std::collections::BTreeMap",
            Self::Time => "k8s_openapi::apimachinery::pkg::apis::meta::v1::Time",
            Self::IntOrString => "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString",
            Self::Value => "serde_json::Value",
        }
    }
}
