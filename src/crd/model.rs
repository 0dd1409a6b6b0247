//! The generated Rust types, as data.

use serde::Serialize;
use serde_json::Value;

use crate::rust::{Attribute, RustType};

/// What the types are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The project defines the kind: kube generates the CRD from the types.
    Define,
    /// The project is a client of the kind: the types have no schema, omit fields that the client does not set, and
    /// accept enum values that a later version of the schema adds.
    Use,
}

/// The code of the types of one version, in the parts that a template puts together.
#[derive(Debug, Clone, Serialize)]
pub struct TypesCode {
    /// The `use` lines.
    pub imports: String,
    /// What stands before the attribute `kube` of the spec: its doc comment, and the traits that it derives.
    pub spec_head: String,
    /// The last lines of the attribute `kube`, without names.
    pub kube: String,
    /// The names of the annotations that these lines set.
    pub annotations: Vec<String>,
    /// The rest of the spec, and everything else in the file.
    pub items: String,
}

/// The contents of the types file of one version.
#[derive(Debug)]
pub(super) struct Lowered {
    /// The types, in the order of the file. The type of the spec comes first.
    pub items: Vec<Item>,
    /// The functions that return defaults.
    pub defaults: Vec<DefaultFn>,
    /// The functions that return schemas that no Rust type has.
    pub helpers: Vec<Helper>,
    /// The attributes of the kind itself.
    pub root: Root,
    /// The schema that kube generates for the version, without a title.
    pub generated: Value,
}

impl Lowered {
    /// Returns whether the type of the kind implements `Default`.
    pub fn has_default(&self) -> bool {
        self.items.first().is_some_and(|spec| spec.is_default)
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
    Enum(Vec<Variant>),
    /// Like `Enum`, with an additional variant of this name for any other text.
    OpenEnum(Vec<Variant>, String),
    /// A newtype around this type.
    Newtype(RustType),
}

/// A variant of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
    pub ident: String,
    /// The text in JSON.
    pub value: String,
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub doc: Option<String>,
    pub attributes: Vec<Attribute>,
    pub ident: String,
    pub rust: RustType,
}

/// A function that returns the default of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefaultFn {
    pub name: String,
    pub rust: RustType,
    pub value: String,
}

/// A function that returns a schema that no Rust type has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Helper {
    pub name: &'static str,
    pub doc: &'static str,
    /// The fields of the schema, as JSON.
    pub schema: &'static str,
}

impl Helper {
    pub const ALL: [Self; 4] = [
        Self::DATE_TIME,
        Self::INT_OR_STRING,
        Self::INTEGER,
        Self::NUMBER,
    ];
    pub const DATE_TIME: Self = Self {
        name: "date_time",
        doc: "A point in time.",
        schema: r#""type": "string", "format": "date-time""#,
    };
    pub const INT_OR_STRING: Self = Self {
        name: "int_or_string",
        doc: "An integer or a text.",
        schema: r#""x-kubernetes-int-or-string": true"#,
    };
    pub const INTEGER: Self = Self {
        name: "integer",
        doc: "An integer of any size.",
        schema: r#""type": "integer""#,
    };
    pub const NUMBER: Self = Self {
        name: "number",
        doc: "A number of any precision.",
        schema: r#""type": "number""#,
    };
}
