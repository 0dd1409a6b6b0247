//! Lowers a schema to Rust types.

mod attributes;
mod field;
mod kind;
mod structure;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    model::{DefaultFn, Helper, Item, Lowered, Purpose, Variant},
    names::{self, Unique},
    read::{Crd, CrdVersion},
    schema::{self, Schema, object},
};
use crate::{names::in_rust, rust::RustType};

/// Names that a types file uses for other things, so a generated type cannot have them. Generated names begin with the
/// kind, so such a conflict is rare.
const TAKEN: [&str; 32] = [
    "BTreeMap",
    "Box",
    "Clone",
    "CustomResource",
    "Debug",
    "Default",
    "Deserialize",
    "Err",
    "IntOrString",
    "JsonSchema",
    "KubeSchema",
    "ListMerge",
    "MapMerge",
    "Message",
    "None",
    "Ok",
    "Option",
    "PartialEq",
    "Reason",
    "Result",
    "Rule",
    "Schema",
    "SchemaGenerator",
    "Self",
    "Serialize",
    "Some",
    "String",
    "StructMerge",
    "Time",
    "Validated",
    "Value",
    "Vec",
];

/// Lowers the schema of `version` to types.
pub(super) fn lower(crd: &Crd, version: &CrdVersion, purpose: Purpose) -> Lowered {
    let start = in_rust(&crd.kind);
    let own = ["", "Spec", "Status"].map(|end| format!("{start}{end}"));
    let mut lower = Lower {
        kind: &start,
        purpose,
        slots: Vec::new(),
        types: BTreeMap::new(),
        names: Unique::new(TAKEN.map(str::to_owned).into_iter().chain(own)),
        reserved: Unique::default(),
        functions: Unique::new(Helper::ALL.map(|helper| helper.name.to_owned())),
        defaults: Vec::new(),
        helpers: BTreeSet::new(),
    };
    let schema = object(schema::normal(version.schema.clone()));
    let (root, generated) = lower.root(schema, &version.subresources);
    let mut lowered = Lowered {
        items: lower.slots.into_iter().flatten().collect(),
        defaults: lower.defaults,
        helpers: lower.helpers.into_iter().collect(),
        root,
        generated,
    };
    if purpose == Purpose::Use {
        lowered.leave_out_schema();
    }
    lowered
}

/// A Rust type with the schema that kube generates for it.
#[derive(Debug, Clone)]
struct TypeWithSchema {
    rust: RustType,
    /// Whether the type implements `Default`.
    is_default: bool,
    /// The schema that kube generates for the type, without attributes of the field.
    generated: Schema,
    /// The function that returns the schema.
    helper: Option<Helper>,
    /// The variants of an enum.
    variants: Vec<Variant>,
}

impl TypeWithSchema {
    fn new(rust: RustType, generated: Value) -> Self {
        Self {
            rust,
            is_default: true,
            generated: object(generated),
            helper: None,
            variants: Vec::new(),
        }
    }
}

struct Lower<'a> {
    /// The kind in Rust, with which the names of its types begin.
    kind: &'a str,
    purpose: Purpose,
    /// The types in the order of the file. A slot is `None` until its type is complete, because inner types are lowered
    /// first.
    slots: Vec<Option<Item>>,
    /// The types by their schema. Equal schemas share one type.
    types: BTreeMap<String, TypeWithSchema>,
    names: Unique,
    /// Names that the fields of the next struct cannot have.
    reserved: Unique,
    functions: Unique,
    defaults: Vec<DefaultFn>,
    helpers: BTreeSet<Helper>,
}

impl Lower<'_> {
    /// Returns an unused name for the type at `path`: the kind and the last part of the path, or more parts if that
    /// name is in use.
    fn name(&mut self, path: &[String]) -> String {
        let parts: Vec<_> = path.iter().map(|part| names::part(part)).collect();
        let (start, parts) = match parts.as_slice() {
            [first, rest @ ..] if first == "Status" => (format!("{}Status", self.kind), rest),
            all => (self.kind.to_owned(), all),
        };
        let mut candidates = Vec::new();
        for from in (0..parts.len()).rev() {
            let tail = parts[from..].concat();
            let is_last = from + 1 == parts.len();
            let name = start.clone() + &tail.chars().take(60).collect::<String>();
            if (is_last || tail.chars().count() <= 48) && !name.ends_with("Validated") {
                candidates.push(name);
            }
        }
        if candidates.is_empty() {
            candidates.push(format!("{start}Value"));
        }
        self.names.first(candidates)
    }
}
