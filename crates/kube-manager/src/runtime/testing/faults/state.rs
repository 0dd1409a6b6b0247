//! The state that an operator leaves: the objects in a namespace, without what differs from run to run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::{self, Display, Formatter},
    ops::RangeInclusive,
    slice,
};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::call::{Collection, HERE};
use crate::runtime::tie::OWNER;

/// The sample, or an object that it needs.
#[derive(Clone)]
pub struct NewObject {
    pub collection: Collection,
    pub object: Value,
}

impl NewObject {
    /// The path, in a run in the namespace `here`.
    pub fn path(&self, here: &str) -> String {
        let name = text(&self.object, "/metadata/name");
        format!("{}/{name}", self.collection.path(here))
    }
}

/// What a run has left in the cluster.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The objects of the run, as the API server returns them, and with their paths as `selfLink`.
    pub objects: Vec<Value>,
    /// The kinds that were listed, also those without an object.
    pub kinds: HashSet<String>,
    /// The UIDs of all listed objects, also of those that other runs have.
    pub uids: HashSet<String>,
}

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

impl Varying {
    /// Whether the value of an object changes between two snapshots of a run.
    pub fn changes(&self, snapshots: [&Snapshot; 2]) -> bool {
        let [before, after] = snapshots.map(|snapshot| snapshot.varying(slice::from_ref(self), ""));
        before.iter().any(|before| {
            let mut after = after.iter().filter(|after| after.uid == before.uid);
            after.any(|after| after.value != before.value)
        })
    }
}

/// A value that varies, of an object.
#[derive(Clone, Debug)]
pub struct Varied {
    pub path: String,
    pub pointer: String,
    pub uid: String,
    /// The UIDs of its owners. An object without an owner belongs to the object of the run.
    pub owners: Vec<String>,
    pub value: Value,
}

/// What stands for a time.
const TIME: &str = "<time>";

/// What stands for a value that differs from run to run.
const VARIES: &str = "<varies>";

/// The finalizer of the garbage collector.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of a PersistentVolumeClaim. Its controller removes it, since no Pod of the run uses the claim.
const PROTECTION: &str = "kubernetes.io/pvc-protection";

pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let value = object.pointer(pointer).and_then(Value::as_str);
    value.unwrap_or_default()
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let references = object.pointer("/metadata/ownerReferences");
    references.and_then(Value::as_array).into_iter().flatten()
}

/// The UIDs of the owners of an object, also of the owner that an annotation names.
pub fn owner_uids(object: &Value) -> Vec<String> {
    let annotation = object["metadata"]["annotations"][OWNER].as_str();
    let annotated: Option<Value> = annotation.and_then(|owner| serde_json::from_str(owner).ok());
    let all = owners(object).chain(&annotated);
    all.map(|owner| text(owner, "/uid").to_owned()).collect()
}

/// Whether an object stays that nobody deletes: it is not being deleted, and the garbage collector has no owner to wait for.
pub fn stays(object: &Value) -> bool {
    owners(object).next().is_none() && !is_deleted(object)
}

/// Kind and name, such as `Deployment/web`.
pub fn title(object: &Value) -> String {
    format!(
        "{}/{}",
        text(object, "/kind"),
        text(object, "/metadata/name")
    )
}

/// The JSON pointer to the field at `path`.
pub fn pointer(path: &[String]) -> String {
    let names = path
        .iter()
        .map(|name| name.replace('~', "~0").replace('/', "~1"));
    names.map(|name| format!("/{name}")).collect()
}

/// The path of an object in a snapshot.
pub fn path_of(object: &Value) -> &str {
    text(object, "/metadata/selfLink")
}

/// What the controllers of a cluster would do next.
pub enum Collect<'a> {
    Delete(&'a Value),
    /// Removes the references of the object to owners that are gone. These are the others.
    Disown(&'a Value, Vec<&'a Value>),
    /// Removes this finalizer of a deleted object.
    Release(&'a Value, &'static str),
    /// Removes this deleted Namespace, which is empty.
    Finalize(&'a Value),
}

impl Snapshot {
    /// What is left to delete, or to let go. An owner of a kind that was not listed counts as present.
    pub fn garbage(&self) -> Vec<Collect<'_>> {
        let waiting: HashSet<_> = self
            .objects
            .iter()
            .filter(|object| waits_for_dependents(object))
            .map(|object| text(object, "/metadata/uid"))
            .collect();
        let mut garbage = Vec::new();
        for object in self.objects.iter().filter(|object| !is_deleted(object)) {
            let (gone, there): (Vec<_>, Vec<_>) = owners(object).partition(|owner| {
                let (kind, uid) = (text(owner, "/kind"), text(owner, "/uid"));
                self.kinds.contains(kind) && !self.uids.contains(uid)
            });
            let mut present = there.iter();
            let has_owner = present.any(|owner| !waiting.contains(text(owner, "/uid")));
            if has_owner && !gone.is_empty() {
                garbage.push(Collect::Disown(object, there));
            } else if !has_owner && owners(object).next().is_some() {
                garbage.push(Collect::Delete(object));
            }
        }
        for object in &self.objects {
            let uid = text(object, "/metadata/uid");
            let has_dependents = self
                .objects
                .iter()
                .any(|other| owners(other).any(|owner| text(owner, "/uid") == uid));
            if waits_for_dependents(object) && !has_dependents {
                garbage.push(Collect::Release(object, FOREGROUND));
            }
            if is_deleted(object) && has_finalizer(object, PROTECTION) {
                garbage.push(Collect::Release(object, PROTECTION));
            }
            if is_deleted(object) && text(object, "/kind") == "Namespace" {
                let folder = format!("/namespaces/{}/", text(object, "/metadata/name"));
                let others = self.objects.iter();
                let inside: Vec<_> = others
                    .filter(|other| path_of(other).contains(&folder))
                    .collect();
                if inside.is_empty() {
                    garbage.push(Collect::Finalize(object));
                }
                let left = inside.into_iter().filter(|other| !is_deleted(other));
                garbage.extend(left.map(Collect::Delete));
            }
        }
        garbage
    }

    /// The values that vary, while the object of the run has the UID `own`.
    pub fn varying(&self, varying: &[Varying], own: &str) -> Vec<Varied> {
        let mut values = Vec::new();
        for Varying { kind, pointer } in varying {
            for object in &self.objects {
                if text(object, "/kind") == kind
                    && let Some(value) = object.pointer(pointer)
                {
                    let mut owners = owner_uids(object);
                    if owners.is_empty() {
                        owners.push(own.to_owned());
                    }
                    values.push(Varied {
                        path: path_of(object).to_owned(),
                        pointer: pointer.clone(),
                        uid: text(object, "/metadata/uid").to_owned(),
                        owners,
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
            .objects
            .iter()
            .map(|object| (text(object, "/metadata/uid"), title(object)));
        let titles: HashMap<_, _> = titles.collect();
        let comparison = Comparison { namespace, titles };
        let objects = self
            .objects
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
    is_deleted(object) && has_finalizer(object, FOREGROUND)
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    let finalizers = object.pointer("/metadata/finalizers");
    let finalizers = finalizers.and_then(Value::as_array);
    finalizers.is_some_and(|all| all.iter().any(|one| one == finalizer))
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

    /// The text without the namespace of the run, UIDs and times.
    fn without_names(&self, content: &str) -> String {
        let mut content = content.replace(self.namespace, HERE);
        let uids = self.titles.iter().map(|(uid, title)| (*uid, "UID", title));
        // A title can have the start of a UID, too.
        let known = self.titles.iter().filter(|(uid, _)| is_uid(uid));
        let starts = known.map(|(uid, title)| (&uid[..8], "start of the UID", title));
        for (word, what, title) in uids.chain(starts) {
            if content.contains(word) {
                content = content.replace(word, &format!("<{what} of {title}>"));
            }
        }
        comparable(&content)
    }

    fn simplify(&self, value: &mut Value, generation: Option<&Value>) {
        match value {
            Value::String(content) => *content = self.without_names(content),
            Value::Number(number) if number.as_u64().is_some_and(is_now) => *value = TIME.into(),
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

/// The text with each UID and each time replaced by a word.
pub fn comparable(text: &str) -> String {
    let mut rest = text;
    let mut result = String::new();
    while let Some(first) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if rest.get(..UID_LENGTH).is_some_and(is_uid) {
            result.push_str("<UID>");
            rest = &rest[UID_LENGTH..];
        } else if let Some(length) = time_at(rest, digits) {
            result.push_str(TIME);
            rest = &rest[length..];
        } else {
            // A number is a time as a whole or not at all.
            let length = digits.max(first.len_utf8());
            result.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    result
}

const UID_LENGTH: usize = 36;

/// The lengths of timestamps, from `20260101T000000Z` to one with nanoseconds and an offset.
const TIME_LENGTHS: RangeInclusive<usize> = 16..=35;

/// The length of the time with which `text` begins. `digits` is the number of digits at its start.
fn time_at(text: &str, digits: usize) -> Option<usize> {
    let is_date = digits == 4 || digits == 8;
    let mut lengths = TIME_LENGTHS.rev().filter(|_| is_date);
    let timestamp = lengths.find(|length| {
        let start = text.get(..*length);
        start.is_some_and(|start| start.parse::<Timestamp>().is_ok())
    });
    let number = text[..digits].parse();
    timestamp.or_else(|| number.is_ok_and(is_now).then_some(digits))
}

/// How programs write a time as a number.
const NUMBERS: [&str; 6] = [
    "%s",
    "%s%3f",
    "%s%6f",
    "%s%9f",
    "%Y%m%d%H%M",
    "%Y%m%d%H%M%S",
];

/// Whether a number is a time within a day of now, such as the minutes in the names that a CronJob gives.
fn is_now(number: u64) -> bool {
    let (now, day) = (Timestamp::now(), SignedDuration::from_hours(24));
    let is_near = |form: &str, number| {
        let ends = [now - day, now + day].map(|time| time.strftime(form).to_string());
        let [Ok(start), Ok(end)] = ends.map(|end| end.parse::<u64>()) else {
            return false;
        };
        (start..=end).contains(&number)
    };
    let is_large = number > 10_000_000;
    is_large
        && (is_near("%s", number.saturating_mul(60))
            || NUMBERS.iter().any(|form| is_near(form, number)))
}

fn is_uid(content: &str) -> bool {
    let lengths = content.split('-').map(str::len);
    content.chars().all(|c| c == '-' || c.is_ascii_hexdigit()) && lengths.eq([8, 4, 4, 4, 12])
}

/// A difference between the state of a run and the state without faults.
#[derive(Debug)]
pub struct Difference {
    /// Kind and name of the object.
    pub title: String,
    /// A JSON pointer; empty if one of the states lacks the object.
    pub pointer: String,
    here: Option<Value>,
    without: Option<Value>,
}

impl Difference {
    /// The difference in words. `other` says of the second state when it was reached.
    pub fn in_words(&self, other: &str) -> String {
        let Self {
            title,
            pointer,
            here,
            without,
        } = self;
        match (here, without) {
            (None, Some(without)) if pointer.is_empty() => {
                format!("{title} is missing, and {other} it is {without}")
            }
            (Some(here), None) if pointer.is_empty() => {
                format!("{title} exists, and not {other}: {here}")
            }
            (Some(here), Some(without)) => {
                format!("{title}: {pointer} is {here}, and {other} {without}")
            }
            (Some(here), None) => {
                format!("{title}: {pointer} is {here}, and {other} it is not set")
            }
            (None, Some(without)) => {
                format!("{title}: {pointer} is not set, and {other} it is {without}")
            }
            (None, None) => format!("{title}: {pointer}"),
        }
    }
}

impl Display for Difference {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(&self.in_words("without faults"))
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
                compare(
                    title,
                    pointer.clone() + &self::pointer(slice::from_ref(name)),
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

/// An object that has another name in the other state.
fn renamed<'a>(one: &'a State, other: &'a State) -> Option<(&'a str, &'a str)> {
    let mut only_here = one.iter().filter(|(title, _)| !other.contains_key(*title));
    only_here.find_map(|(here, object)| {
        let mut only_there = other.iter().filter(|(title, _)| !one.contains_key(*title));
        let (there, _) = only_there.find(|(_, there)| *there == object)?;
        Some((here.as_str(), there.as_str()))
    })
}

/// The values that differ between two runs without faults. Fails with a difference that is more than another value.
pub fn varying(one: &State, other: &State) -> Result<Vec<Varying>, String> {
    if let Some((here, there)) = renamed(one, other) {
        return Err(format!(
            "the two runs made different names: {here} and {there}; derive the name from the name or the UID of the owner"
        ));
    }
    let mut varying = Vec::new();
    for difference in differences(one, other) {
        let is_value = difference.here.as_ref().zip(difference.without.as_ref());
        if difference.pointer.is_empty()
            || is_value.is_none_or(|(one, other)| one.is_array() || other.is_array())
        {
            return Err(difference.to_string());
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

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "6f1a7a0c-5c55-4e0d-9d3b-111111111111";

    /// A Site and its ConfigMap, in a run in the namespace `here`.
    fn objects(here: &str, uid: &str, password: &str) -> Vec<Value> {
        vec![
            json!({
                "kind": "Site",
                "metadata": {
                    "name": "web", "namespace": here, "uid": uid, "generation": 3,
                    "resourceVersion": "7", "finalizers": ["sites.example.com"],
                    "selfLink": format!("/sites/{here}/web"),
                },
                "status": {"observedGeneration": 3, "url": format!("http://web.{here}")},
            }),
            json!({
                "kind": "ConfigMap",
                "metadata": {
                    "name": "web", "uid": "6f1a7a0c-5c55-4e0d-9d3b-222222222222",
                    "selfLink": format!("/configmaps/{here}/web"),
                    "ownerReferences": [{"kind": "Site", "name": "web", "uid": uid}],
                },
                "data": {"password": password, "since": "2026-01-01T00:00:00Z"},
            }),
        ]
    }

    fn snapshot(objects: Vec<Value>) -> Snapshot {
        let uids = objects
            .iter()
            .map(|object| text(object, "/metadata/uid").to_owned());
        Snapshot {
            kinds: ["Site".to_owned(), "ConfigMap".to_owned()].into(),
            uids: uids.collect(),
            objects,
        }
    }

    #[test]
    fn the_states_of_two_runs_are_equal() {
        let other = "6f1a7a0c-5c55-4e0d-9d3b-333333333333";
        let one = snapshot(objects("fault-run-1", SITE, "a")).state("fault-run-1");
        let two = snapshot(objects("fault-run-2", other, "a")).state("fault-run-2");
        assert_eq!(one, two);
        let titles: Vec<_> = one.keys().map(String::as_str).collect();
        assert_eq!(titles, ["ConfigMap/web", "Site/web"]);
        assert_eq!(one["Site/web"]["status"]["url"], "http://web.<namespace>");
    }

    #[test]
    fn a_difference_is_shown_by_its_field() {
        let one = snapshot(objects("here", SITE, "a")).state("here");
        let mut two = snapshot(objects("here", SITE, "b")).state("here");
        two.remove("Site/web");
        let shown: Vec<_> = differences(&one, &two)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            shown[0],
            "ConfigMap/web: /data/password is \"a\", and without faults \"b\""
        );
        assert!(shown[1].starts_with("Site/web exists, and not without faults: {"));
        assert_eq!(shown.len(), 2);
    }

    #[test]
    fn only_single_values_may_vary() {
        let one = snapshot(objects("here", SITE, "a")).state("here");
        let mut two = snapshot(objects("here", SITE, "b")).state("here");
        let values = varying(&one, &two).expect("values");
        let password = Varying {
            kind: "ConfigMap".to_owned(),
            pointer: "/data/password".to_owned(),
        };
        assert_eq!(values, [password]);
        two.remove("Site/web");
        assert!(varying(&one, &two).is_err());
        mask(&mut two, &values);
        assert_eq!(two["ConfigMap/web"]["data"]["password"], VARIES);
    }

    #[test]
    fn a_value_that_varies_may_change_in_the_same_object() {
        let varying = Varying {
            kind: "ConfigMap".to_owned(),
            pointer: "/data/password".to_owned(),
        };
        let [one, two] = ["a", "b"].map(|password| snapshot(objects("here", SITE, password)));
        assert!(varying.changes([&one, &two]));
        assert!(!varying.changes([&one, &one]));
        let mut other = two;
        other.objects[1]["metadata"]["uid"] = "another".into();
        assert!(!varying.changes([&one, &other]));
    }

    #[test]
    fn objects_with_a_generated_name_are_compared_by_their_content() {
        let job = |name: &str, image: &str| {
            json!({
                "kind": "Job", "spec": {"image": image},
                "metadata": {"name": name, "generateName": "backup-", "uid": name},
            })
        };
        let one = snapshot(vec![job("backup-a", "x"), job("backup-b", "y")]).state("here");
        let two = snapshot(vec![job("backup-c", "y"), job("backup-d", "x")]).state("here");
        assert_eq!(one, two);
        assert_eq!(one.len(), 2);
    }

    fn collected(snapshot: &Snapshot) -> Vec<&str> {
        let work = snapshot.garbage().into_iter();
        work.map(|work| match work {
            Collect::Delete(object)
            | Collect::Disown(object, _)
            | Collect::Release(object, _)
            | Collect::Finalize(object) => text(object, "/kind"),
        })
        .collect()
    }

    #[test]
    fn objects_without_their_owner_are_garbage() {
        let mut both = snapshot(objects("here", SITE, "a"));
        assert!(collected(&both).is_empty());
        both.objects.remove(0);
        // Another run has the owner.
        assert!(collected(&both).is_empty());
        // The kind of the owner was listed, and has no object.
        both.uids.remove(SITE);
        assert_eq!(collected(&both), ["ConfigMap"]);
        // Nobody knows whether the owner exists.
        both.kinds.remove("Site");
        assert!(collected(&both).is_empty());
    }

    #[test]
    fn an_owner_in_deletion_waits_for_its_dependents() {
        let mut both = snapshot(objects("here", SITE, "a"));
        both.objects[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        both.objects[0]["metadata"]["finalizers"] = json!([FOREGROUND]);
        assert_eq!(collected(&both), ["ConfigMap"]);
        both.objects.remove(1);
        assert_eq!(collected(&both), ["Site"]);
    }

    #[test]
    fn a_deleted_namespace_is_emptied_and_removed() {
        let mut both = snapshot(objects("here", SITE, "a"));
        both.objects[0]["kind"] = "Namespace".into();
        both.objects[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        both.objects[1]["metadata"]["selfLink"] = json!("/api/v1/namespaces/web/configmaps/web");
        assert_eq!(collected(&both), ["ConfigMap"]);
        both.objects.remove(1);
        assert_eq!(collected(&both), ["Namespace"]);
    }

    #[test]
    fn a_deleted_claim_of_storage_is_let_go() {
        let mut both = snapshot(objects("here", SITE, "a"));
        both.objects[1]["metadata"]["finalizers"] = json!([PROTECTION]);
        assert!(collected(&both).is_empty());
        both.objects[1]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(collected(&both), ["ConfigMap"]);
    }

    #[test]
    fn a_value_belongs_to_the_owner_of_its_object() {
        let password = Varying {
            kind: "ConfigMap".to_owned(),
            pointer: "/data/password".to_owned(),
        };
        let mut both = snapshot(objects("here", SITE, "a"));
        // The next object of the run exists, and the child is still that of the former one.
        let owners = |snapshot: &Snapshot| {
            let values = snapshot.varying(slice::from_ref(&password), "next");
            values[0].owners.clone()
        };
        assert_eq!(owners(&both), [SITE]);
        let metadata = &mut both.objects[1]["metadata"];
        metadata["ownerReferences"] = Value::Null;
        assert_eq!(owners(&both), ["next"]);
        let owner = json!({"uid": "0"}).to_string();
        both.objects[1]["metadata"]["annotations"] = json!({OWNER: owner});
        assert_eq!(owners(&both), ["0"]);
    }

    #[test]
    fn a_name_may_have_the_start_of_the_uid_of_its_owner() {
        let state = |uid: &str| {
            let mut objects = objects("here", uid, "a");
            objects[1]["metadata"]["uid"] = "7f1a7a0c-5c55-4e0d-9d3b-222222222222".into();
            objects[1]["metadata"]["name"] = format!("web-{}", &uid[..8]).into();
            objects[0]["status"]["url"] = format!("at {}", &uid[..8]).into();
            snapshot(objects).state("here")
        };
        let one = state(SITE);
        assert_eq!(
            one["Site/web"]["status"]["url"],
            "at <start of the UID of Site/web>"
        );
        let other = state("01234567-5c55-4e0d-9d3b-111111111111");
        assert_eq!(
            one.keys().collect::<Vec<_>>(),
            other.keys().collect::<Vec<_>>()
        );
    }

    #[test]
    fn names_that_differ_are_told() {
        let state = |name: &str| {
            let mut objects = objects("here", SITE, "a");
            objects[1]["metadata"]["name"] = name.into();
            snapshot(objects).state("here")
        };
        let reason = varying(&state("web-1f"), &state("web-2c")).expect_err("another name");
        assert!(
            reason.starts_with(
                "the two runs made different names: ConfigMap/web-1f and ConfigMap/web-2c;"
            ),
            "{reason}"
        );
    }

    #[test]
    fn uids_are_replaced_in_a_text() {
        let content = format!("ä{SITE}, {SITE}0 and 6f1a7a0c-5c55");
        assert_eq!(comparable(&content), "ä<UID>, <UID>0 and 6f1a7a0c-5c55");
    }

    #[test]
    fn times_are_replaced_in_a_text() {
        let now = Timestamp::now();
        let second = now.as_second();
        for (content, expected) in [
            (format!("synced at {now}."), "synced at <time>."),
            ("2026-01-01T00:00:00Z".to_owned(), "<time>"),
            ("at 2026-01-01T00:00:00.5+01:00!".to_owned(), "at <time>!"),
            ("backup-20260101T000000Z".to_owned(), "backup-<time>"),
            (format!("backup-{}", second / 60), "backup-<time>"),
            (now.strftime("v%Y%m%d%H%M%S-a").to_string(), "v<time>-a"),
            (format!("{second} {}", now.as_nanosecond()), "<time> <time>"),
            (
                "2026-01-01, 8080, 1.2.3".to_owned(),
                "2026-01-01, 8080, 1.2.3",
            ),
        ] {
            assert_eq!(comparable(&content), expected);
        }
        let longer = format!("1{second}");
        assert_eq!(comparable(&longer), longer);
        let site = |second: i64| {
            let status = json!({"second": second, "count": 3});
            let site = json!({"kind": "Site", "metadata": {"name": "web"}, "status": status});
            snapshot(vec![site]).state("here")
        };
        assert_eq!(site(second), site(second + 60));
        assert_ne!(site(second), site(2 * second));
    }
}
