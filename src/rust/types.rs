//! The types of fields.

use std::{collections::BTreeSet, fmt};

use super::{layout::LINE, literal::width};

/// The path of the type of [`RustType::Time`].
const TIME: &str = "k8s_openapi::apimachinery::pkg::apis::meta::v1::Time";
const INT_OR_STRING: &str = "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString";
const VALUE: &str = "serde_json::Value";

const INTEGERS: [&str; 12] = [
    "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
];
const FLOATS: [&str; 2] = ["f32", "f64"];

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RustType {
    Bool,
    /// The integer of this name.
    Integer(&'static str),
    /// The floating-point number of this name.
    Float(&'static str),
    Text,
    Time,
    IntOrString,
    /// Any JSON value.
    Value,
    Option(Box<Self>),
    List(Box<Self>),
    /// A `BTreeMap` whose keys are of the type `String`.
    Map(Box<Self>),
    /// A type of the same file.
    Named(String),
    /// Any other type, with its full path. Two of them are the same if their paths are equal.
    Path(String),
    /// A type that rscaffold does not understand.
    Unclear,
}

impl RustType {
    /// The type with this full path and without parameters.
    pub fn of_path(path: String) -> Self {
        let integer = INTEGERS.into_iter().find(|integer| *integer == path);
        let float = FLOATS.into_iter().find(|float| *float == path);
        match (path.as_str(), integer, float) {
            (_, Some(integer), _) => Self::Integer(integer),
            (_, _, Some(float)) => Self::Float(float),
            ("bool", ..) => Self::Bool,
            ("String", ..) => Self::Text,
            (TIME, ..) => Self::Time,
            (INT_OR_STRING, ..) => Self::IntOrString,
            (VALUE, ..) => Self::Value,
            _ => Self::Path(path),
        }
    }

    /// The full path of a type of another crate.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Time => Some(TIME),
            Self::IntOrString => Some(INT_OR_STRING),
            Self::Value => Some(VALUE),
            Self::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The type of the same file in this type, such as the items of a list.
    pub fn named(&self) -> Option<&str> {
        match self {
            Self::Option(inner) | Self::List(inner) | Self::Map(inner) => inner.named(),
            Self::Named(name) => Some(name),
            _ => None,
        }
    }

    /// Whether this is a complete type, and the same one in every file.
    pub fn is_shared(&self) -> bool {
        !matches!(
            self,
            Self::Option(_) | Self::List(_) | Self::Map(_) | Self::Named(_) | Self::Unclear
        )
    }

    /// The function that tests whether a list or a map is empty.
    pub fn is_empty(&self) -> Option<&'static str> {
        match self {
            Self::List(_) => Some("Vec::is_empty"),
            Self::Map(_) => Some("BTreeMap::is_empty"),
            _ => None,
        }
    }

    /// Adds the paths that a file imports for this type.
    pub fn add_imports(&self, paths: &mut BTreeSet<String>) {
        match self {
            Self::Option(inner) | Self::List(inner) => inner.add_imports(paths),
            Self::Map(inner) => {
                paths.insert("std::collections::BTreeMap".to_owned());
                inner.add_imports(paths);
            }
            _ => paths.extend(self.path().map(str::to_owned)),
        }
    }

    /// Formats the type at the indentation `indent`. `around` is the number of columns besides the type.
    pub fn laid_out(&self, indent: usize, around: usize) -> String {
        let line = self.to_string();
        let (start, inner) = match self {
            Self::Option(inner) => ("Option<", inner),
            Self::List(inner) => ("Vec<", inner),
            Self::Map(inner) => ("BTreeMap<", inner),
            _ => return line,
        };
        if around + width(&line) <= LINE {
            return line;
        }
        let pad = " ".repeat(indent + 4);
        let key = match self {
            Self::Map(_) => format!("{pad}String,\n"),
            _ => String::new(),
        };
        let inner = inner.laid_out(indent + 4, indent + 4 + ",".len());
        format!("{start}\n{key}{pad}{inner},\n{}>", " ".repeat(indent))
    }
}

/// The type as code, with the short names of imported types.
impl fmt::Display for RustType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Integer(name) | Self::Float(name) => f.write_str(name),
            Self::Text => f.write_str("String"),
            Self::Time => f.write_str("Time"),
            Self::IntOrString => f.write_str("IntOrString"),
            Self::Value => f.write_str("Value"),
            Self::Option(inner) => write!(f, "Option<{inner}>"),
            Self::List(inner) => write!(f, "Vec<{inner}>"),
            Self::Map(inner) => write!(f, "BTreeMap<String, {inner}>"),
            Self::Named(name) | Self::Path(name) => f.write_str(name),
            Self::Unclear => f.write_str("_"),
        }
    }
}
