//! From a schema to types.

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

/// What stands in a file of types besides the types of the kind. Each of them begins with the kind, so few can be
/// called so; those with more than one word come from kube.
const TAKEN: &str = "BTreeMap Box Clone CustomResource Debug Default Deserialize Err IntOrString \
    JsonSchema KubeSchema ListMerge MapMerge Message None Ok Option PartialEq Reason Result Rule Schema \
    SchemaGenerator Self Serialize Some String StructMerge Time Validated Value Vec";

/// Whom the types are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The project that defines the kind: they write its schema.
    Define,
    /// A client: they write no schema, leave out what the client does not set, and take values that a later
    /// version of the schema adds to an enum.
    Use,
}

/// The types of `version`.
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
    /// The types, each at the place where it was begun.
    slots: Vec<Option<Item>>,
    /// The types by their schema: equal schemas are one type.
    types: BTreeMap<String, Type>,
    names: Unique,
    functions: Unique,
    defaults: Vec<DefaultFn>,
    helpers: BTreeSet<Helper>,
    imports: BTreeSet<Import>,
}

impl Lower<'_> {
    /// The name of an imported type.
    fn import(&mut self, import: Import) -> String {
        if self.kind == import.name() {
            return import.path().to_owned();
        }
        self.imports.insert(import);
        import.name().to_owned()
    }

    /// A name for the type at `path`: the kind and the last part, and more of them if others have it.
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
