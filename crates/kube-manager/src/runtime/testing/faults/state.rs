//! The state that an operator leaves: the objects in a namespace, without what differs from run to run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::{self, Display, Formatter},
};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::HERE;

/// The objects of a run, as the API server returns them, and with their paths as `selfLink`.
#[derive(Clone, Debug, Default)]
pub struct Snapshot(pub Vec<Value>);

/// The objects by kind and name, without what differs from run to run.
pub type State = BTreeMap<String, Value>;

/// A value that differs between two runs without faults, such as a generated password, or the address of a Service.
#[derive(Clone, Debug, PartialEq)]
pub struct Varying {
    /// The kind of the object, such as `Secret`.
    pub kind: String,
    /// A JSON pointer, such as `/data/password`.
    pub pointer: String,
}

/// A value that varies, of an object.
#[derive(Clone, Debug)]
pub struct Varied {
    pub path: String,
    pub pointer: String,
    pub uid: String,
    /// The UID of the first owner; empty without an owner.
    pub owner: String,
    pub value: Value,
}

/// What stands for a value that differs from run to run.
const VARIES: &str = "<varies>";

/// The finalizer of the garbage collector.
pub const FOREGROUND: &str = "foregroundDeletion";

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let value = object.pointer(pointer).and_then(Value::as_str);
    value.unwrap_or_default()
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let references = object.pointer("/metadata/ownerReferences");
    references.and_then(Value::as_array).into_iter().flatten()
}

/// Kind and name, such as `Deployment/web`.
pub fn title(object: &Value) -> String {
    format!(
        "{}/{}",
        text(object, "/kind"),
        text(object, "/metadata/name")
    )
}

/// The path of an object in a snapshot.
pub fn path_of(object: &Value) -> &str {
    text(object, "/metadata/selfLink")
}

/// What the garbage collector of a cluster would do next.
pub enum Collect<'a> {
    Delete(&'a Value),
    /// Removes the finalizer of an object whose dependents are gone.
    Release(&'a Value),
}

impl Snapshot {
    /// What the garbage collector would do. An owner of a kind that the snapshot lacks counts as present.
    pub fn garbage(&self) -> Vec<Collect<'_>> {
        let kinds: HashSet<_> = self.0.iter().map(|object| text(object, "/kind")).collect();
        let present: HashSet<_> = self
            .0
            .iter()
            .map(|object| text(object, "/metadata/uid"))
            .collect();
        let waiting: HashSet<_> = self
            .0
            .iter()
            .filter(|object| waits_for_dependents(object))
            .map(|object| text(object, "/metadata/uid"))
            .collect();
        let mut garbage = Vec::new();
        for object in &self.0 {
            let has_owner = owners(object).any(|owner| {
                let uid = text(owner, "/uid");
                let is_gone = kinds.contains(text(owner, "/kind")) && !present.contains(uid);
                !is_gone && !waiting.contains(uid)
            });
            if owners(object).next().is_some() && !has_owner && !is_deleted(object) {
                garbage.push(Collect::Delete(object));
            }
        }
        for object in &self.0 {
            let uid = text(object, "/metadata/uid");
            let has_dependents = self
                .0
                .iter()
                .any(|other| owners(other).any(|owner| text(owner, "/uid") == uid));
            if waits_for_dependents(object) && !has_dependents {
                garbage.push(Collect::Release(object));
            }
        }
        garbage
    }

    /// The values that vary.
    pub fn varying(&self, varying: &[Varying]) -> Vec<Varied> {
        let mut values = Vec::new();
        for Varying { kind, pointer } in varying {
            for object in self.0.iter().filter(|object| text(object, "/kind") == kind) {
                if let Some(value) = object.pointer(pointer) {
                    values.push(Varied {
                        path: path_of(object).to_owned(),
                        pointer: pointer.clone(),
                        uid: text(object, "/metadata/uid").to_owned(),
                        owner: text(object, "/metadata/ownerReferences/0/uid").to_owned(),
                        value: value.clone(),
                    });
                }
            }
        }
        values
    }

    /// The state, without what differs between a run in `namespace` and another run.
    pub fn state(&self, namespace: &str) -> State {
        let titles = self
            .0
            .iter()
            .map(|object| (text(object, "/metadata/uid"), title(object)));
        let titles: HashMap<_, _> = titles.collect();
        let comparison = Comparison { namespace, titles };
        let objects = self
            .0
            .iter()
            .map(|object| comparison.normal(object.clone()));
        let mut objects: Vec<_> = objects.collect();
        // Objects with generated names have the same title, so their order is that of their content.
        objects.sort_by_cached_key(|(title, object)| (title.clone(), object.to_string()));
        let mut state = State::new();
        for (title, object) in objects {
            let same = state
                .keys()
                .filter(|key| key.split('#').next() == Some(&title))
                .count();
            let key = if same == 0 {
                title
            } else {
                format!("{title}#{}", same + 1)
            };
            state.insert(key, object);
        }
        state
    }
}

fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

fn waits_for_dependents(object: &Value) -> bool {
    let finalizers = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    is_deleted(object) && finalizers.is_some_and(|all| all.iter().any(|one| one == FOREGROUND))
}

struct Comparison<'a> {
    namespace: &'a str,
    /// The title of each object, by its UID.
    titles: HashMap<&'a str, String>,
}

impl Comparison<'_> {
    /// The title of an object, and what is compared of it.
    fn normal(&self, mut object: Value) -> (String, Value) {
        let generation = object.pointer("/metadata/generation").cloned();
        let (kind, name) = (text(&object, "/kind"), text(&object, "/metadata/name"));
        let name = match text(&object, "/metadata/generateName") {
            "" => name,
            prefix => &format!("{prefix}*"),
        };
        let title = self.without_names(&format!("{kind}/{name}"));
        let mut metadata = Map::new();
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            if let Some(value) = object.pointer(&format!("/metadata/{field}")) {
                metadata.insert(field.to_owned(), value.clone());
            }
        }
        if is_deleted(&object) {
            metadata.insert("deletionTimestamp".to_owned(), json!("<set>"));
        }
        object["metadata"] = Value::Object(metadata);
        self.simplify(&mut object, generation.as_ref());
        (title, object)
    }

    /// The text without the namespace of the run and the UIDs of objects.
    fn without_names(&self, content: &str) -> String {
        let mut content = content.replace(self.namespace, HERE);
        for (uid, title) in &self.titles {
            if content.contains(uid) {
                content = content.replace(uid, &format!("<UID of {title}>"));
            }
        }
        content
    }

    fn simplify(&self, value: &mut Value, generation: Option<&Value>) {
        match value {
            Value::String(content) => {
                if content.parse::<Timestamp>().is_ok() {
                    "<time>".clone_into(content);
                } else {
                    *content = without_uids(&self.without_names(content));
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.simplify(item, generation);
                }
            }
            Value::Object(fields) => {
                fields.remove("resourceVersion");
                for (name, field) in fields {
                    if name == "observedGeneration" && generation == Some(field) {
                        *field = "<generation>".into();
                    }
                    self.simplify(field, generation);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The text with each UID replaced by a mark.
pub fn without_uids(text: &str) -> String {
    let mut rest = text;
    let mut result = String::new();
    while let Some(first) = rest.chars().next() {
        if rest.get(..UID_LENGTH).is_some_and(is_uid) {
            result.push_str("<UID>");
            rest = &rest[UID_LENGTH..];
        } else {
            result.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    result
}

const UID_LENGTH: usize = 36;

fn is_uid(content: &str) -> bool {
    let lengths = content.split('-').map(str::len);
    content.chars().all(|c| c == '-' || c.is_ascii_hexdigit()) && lengths.eq([8, 4, 4, 4, 12])
}

/// A difference between the state of a run and the state without faults.
pub struct Difference {
    /// Kind and name of the object.
    pub title: String,
    /// A JSON pointer; empty if one of the states lacks the object.
    pub pointer: String,
    here: Option<Value>,
    without: Option<Value>,
}

impl Display for Difference {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            title,
            pointer,
            here,
            without,
        } = self;
        match (here, without) {
            (None, Some(without)) if pointer.is_empty() => {
                write!(to, "{title} is missing, and without faults it is {without}")
            }
            (Some(here), None) if pointer.is_empty() => {
                write!(to, "{title} exists, and not without faults: {here}")
            }
            (Some(here), Some(without)) => write!(
                to,
                "{title}: {pointer} is {here}, and without faults {without}"
            ),
            (Some(here), None) => write!(
                to,
                "{title}: {pointer} is {here}, and without faults it is not set"
            ),
            (None, Some(without)) => write!(
                to,
                "{title}: {pointer} is not set, and without faults it is {without}"
            ),
            (None, None) => write!(to, "{title}: {pointer}"),
        }
    }
}

/// The differences between the state of a run and the state without faults.
pub fn differences(here: &State, without: &State) -> Vec<Difference> {
    let titles: BTreeSet<_> = here.keys().chain(without.keys()).collect();
    let mut differences = Vec::new();
    for title in titles {
        compare(
            title,
            String::new(),
            here.get(title),
            without.get(title),
            &mut differences,
        );
    }
    differences
}

fn compare(
    title: &str,
    pointer: String,
    here: Option<&Value>,
    without: Option<&Value>,
    differences: &mut Vec<Difference>,
) {
    match (here, without) {
        _ if here == without => {}
        (Some(Value::Object(here)), Some(Value::Object(without))) => {
            let names: BTreeSet<_> = here.keys().chain(without.keys()).collect();
            for name in names {
                let step = name.replace('~', "~0").replace('/', "~1");
                compare(
                    title,
                    format!("{pointer}/{step}"),
                    here.get(name),
                    without.get(name),
                    differences,
                );
            }
        }
        (Some(Value::Array(here)), Some(Value::Array(without))) if here.len() == without.len() => {
            for (index, (here, without)) in here.iter().zip(without).enumerate() {
                compare(
                    title,
                    format!("{pointer}/{index}"),
                    Some(here),
                    Some(without),
                    differences,
                );
            }
        }
        _ => differences.push(Difference {
            title: title.to_owned(),
            pointer,
            here: here.cloned(),
            without: without.cloned(),
        }),
    }
}

/// The values that differ between two runs without faults. Fails with a difference that is more than another value.
pub fn varying(one: &State, other: &State) -> Result<Vec<Varying>, Difference> {
    let mut varying = Vec::new();
    for difference in differences(one, other) {
        let is_value = difference.here.as_ref().zip(difference.without.as_ref());
        if difference.pointer.is_empty()
            || is_value.is_none_or(|(one, other)| one.is_array() || other.is_array())
        {
            return Err(difference);
        }
        let (kind, _) = difference
            .title
            .split_once('/')
            .unwrap_or((&difference.title, ""));
        varying.push(Varying {
            kind: kind.to_owned(),
            pointer: difference.pointer,
        });
    }
    Ok(varying)
}

/// Removes the values that vary from a state.
pub fn mask(state: &mut State, varying: &[Varying]) {
    for Varying { kind, pointer } in varying {
        for (title, object) in &mut *state {
            let is_of_kind = title.split('/').next() == Some(kind);
            if is_of_kind && let Some(value) = object.pointer_mut(pointer) {
                *value = VARIES.into();
            }
        }
    }
}
