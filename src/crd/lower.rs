//! Lowers a schema to Rust types.

mod attributes;
mod field;
mod kind;
mod structure;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use self::types::Type;
use super::{
    docs::is_doc,
    model::{DefaultFn, Helper, Import, Item, Lowered},
    names::{self, Unique},
    read::{Crd, CrdVersion},
    schema::{self, Schema},
};

/// Names that a types file uses for other things, so a generated type cannot have them. Generated names begin with the
/// kind, so such a conflict is rare.
const TAKEN: &str = "BTreeMap Box Clone CustomResource Debug Default Deserialize Err IntOrString \
    JsonSchema KubeSchema ListMerge MapMerge Message None Ok Option PartialEq Reason Result Rule Schema \
    SchemaGenerator Self Serialize Some String StructMerge Time Validated Value Vec";

/// What the types are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The project defines the kind: kube generates the CRD from the types.
    Define,
    /// The project is a client of the kind: the types have no schema, omit fields that the client does not set, and
    /// accept enum values that a later version of the schema adds.
    Use,
}

/// Lowers the schema of `version` to types.
pub(super) fn lower(crd: &Crd, version: &CrdVersion, purpose: Purpose) -> Lowered {
    let kind = crd.kind.as_str();
    let taken = TAKEN.split_ascii_whitespace().map(str::to_owned);
    let own = ["", "Spec", "Status"].map(|end| format!("{kind}{end}"));
    let mut lower = Lower {
        kind,
        purpose,
        slots: Vec::new(),
        types: BTreeMap::new(),
        names: Unique::new(taken.chain(own)),
        functions: Unique::new(Helper::ALL.map(|it| it.name().to_owned())),
        defaults: Vec::new(),
        helpers: BTreeSet::new(),
        imports: BTreeSet::new(),
    };
    let schema = schema::normal(version.schema.clone());
    let (root, written) = lower.root(object(schema), version.has_status);
    let mut lowered = Lowered {
        items: lower.slots.into_iter().flatten().collect(),
        defaults: lower.defaults,
        helpers: lower.helpers.into_iter().collect(),
        imports: lower.imports.into_iter().collect(),
        root,
        written,
    };
    if purpose == Purpose::Use {
        lowered.leave_out_schema();
    }
    lowered
}

struct Lower<'a> {
    kind: &'a str,
    purpose: Purpose,
    /// The types in the order of the file. A slot is `None` until its type is complete, because inner types are lowered
    /// first.
    slots: Vec<Option<Item>>,
    /// The types by their schema. Equal schemas share one type.
    types: BTreeMap<String, Type>,
    names: Unique,
    functions: Unique,
    defaults: Vec<DefaultFn>,
    helpers: BTreeSet<Helper>,
    imports: BTreeSet<Import>,
}

impl Lower<'_> {
    /// Imports a type, and returns its name. If the kind has the same name, returns the path of the type instead of
    /// importing it.
    fn import(&mut self, import: Import) -> String {
        if self.kind == import.name() {
            return import.path().to_owned();
        }
        self.imports.insert(import);
        import.name().to_owned()
    }

    /// Returns an unused name for the type at `path`: the kind and the last part of the path, or more parts if that
    /// name is in use.
    fn name(&mut self, path: &[String]) -> String {
        let parts: Vec<_> = path.iter().map(|it| names::part(it)).collect();
        let is_status = parts.first().is_some_and(|it| it == "Status");
        let (start, parts) = match parts.as_slice() {
            [_, rest @ ..] if is_status => (format!("{}Status", self.kind), rest),
            rest => (self.kind.to_owned(), rest),
        };
        let long = |from: usize| parts[from..].concat().chars().count() > 48;
        let candidates = (0..parts.len()).rev();
        let candidates = candidates.filter(|from| *from + 1 == parts.len() || !long(*from));
        let mut candidates: Vec<_> = candidates
            .map(|from| {
                let tail: String = parts[from..].concat().chars().take(60).collect();
                format!("{start}{tail}")
            })
            .filter(|name| !name.ends_with("Validated"))
            .collect();
        if candidates.is_empty() {
            candidates.push(format!("{start}Value"));
        }
        self.names.first(candidates)
    }
}

impl Helper {
    const ALL: [Self; 4] = [
        Self::DateTime,
        Self::IntOrString,
        Self::Integer,
        Self::Number,
    ];
}

fn object(value: Value) -> Schema {
    match value {
        Value::Object(fields) => fields,
        _ => Schema::new(),
    }
}

/// Takes the description out of `schema` if it can be a doc comment.
fn take_doc(schema: &mut Schema) -> Option<String> {
    let text = schema.get("description")?.as_str()?.to_owned();
    is_doc(&text).then(|| schema.remove("description"))?;
    Some(text)
}
