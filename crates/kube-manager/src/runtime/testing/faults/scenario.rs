//! The scenarios that are tried with each operator.

use std::{pin::Pin, rc::Rc};

use http::Method;
use serde_json::{Value, json};

use super::{
    run::Run,
    state::{NewObject, Snapshot, owner_uids, path_of, pointer, text, title},
};
use crate::runtime::tie::OWNER;

/// What a scenario does in a run.
pub type Play = Rc<dyn Fn(Run) -> Pin<Box<dyn Future<Output = ()>>>>;

/// A scenario, and the name that selects it.
#[derive(Clone)]
pub struct Scenario {
    pub name: String,
    pub play: Play,
    /// Whether the scenario begins with the step of `create`. Then faults are tried only after this step.
    pub follows_create: bool,
}

impl Scenario {
    pub fn new<F>(name: impl Into<String>, play: impl Fn(Run) -> F + 'static) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        Self {
            name: name.into(),
            play: Rc::new(move |run| Box::pin(play(run))),
            follows_create: false,
        }
    }

    /// A scenario that begins with the step of `create`.
    fn after_create<F>(name: impl Into<String>, play: impl Fn(Run) -> F + 'static) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        let both = move |run: Run| {
            let rest = play(run.clone());
            async move {
                run.begin().await;
                rest.await;
            }
        };
        Self {
            follows_create: true,
            ..Self::new(name, both)
        }
    }
}

/// Creates the sample: the first scenario.
pub fn create() -> Scenario {
    Scenario::new("create", async |run: Run| run.begin().await)
}

/// The scenarios for a kind whose sample can have these changes and needs objects, if the sample and the objects of
/// `created` exist after the creation of the sample.
pub fn all(
    changes: Vec<SpecPatch>,
    needed: Vec<&NewObject>,
    sample: &Value,
    created: &Snapshot,
) -> Vec<Scenario> {
    let mut scenarios = vec![create()];
    if !changes.is_empty() {
        scenarios.push(change(changes.clone()));
    }
    let children = children(created, sample);
    for child in &children {
        scenarios.push(interfere(child));
    }
    scenarios.extend(needed.into_iter().map(input));
    scenarios.push(recreate());
    scenarios.push(away(
        changes.into_iter().next(),
        children.into_iter().next(),
    ));
    scenarios
}

/// A patch of one field of the spec, and the patch that reverts it.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecPatch {
    pub field: String,
    pub there: Value,
    pub back: Value,
}

/// Changes each field, and changes each back.
fn change(changes: Vec<SpecPatch>) -> Scenario {
    Scenario::after_create("change", move |run: Run| {
        let changes = changes.clone();
        async move {
            for SpecPatch { field, there, back } in changes {
                run.patch(&there).await;
                run.settled(format!("{field} was changed")).await;
                run.patch(&back).await;
                run.settled(format!("{field} was changed back")).await;
            }
        }
    })
}

/// Changes a child by hand, deletes it, and removes its labels and owner.
fn interfere(child: &Value) -> Scenario {
    let (name, kind) = (title(child), child["kind"].clone());
    let edits = edits(child);
    Scenario::after_create(format!("interfere:{name}"), move |run: Run| {
        let (name, kind, edits) = (name.clone(), kind.clone(), edits.clone());
        async move {
            let snapshot = run.snapshot().await;
            let child = children(&snapshot, &run.setup().sample.object)
                .into_iter()
                .find(|child| child["kind"] == kind && title(child) == name);
            // Its name is generated.
            let Some(child) = child else { return };
            let path = path_of(&child);
            edit(&run, path, &name, edits).await;
            run.remove(path).await;
            run.settled(format!("{name} was deleted by hand")).await;
            let bare = json!({"metadata": {
                "annotations": {OWNER: null}, "labels": null, "ownerReferences": null,
            }});
            if run.send(Method::PATCH, path, &bare).await.is_ok() {
                run.settled(format!("{name} has lost its labels and its owner by hand"))
                    .await;
            }
        }
    })
}

/// Makes the first of these changes that the API server takes.
async fn edit(run: &Run, path: &str, name: &str, edits: Vec<(String, Value)>) {
    for (field, patch) in edits {
        if run.edit(path, &patch).await {
            let step = format!("{field} of {name} was changed by hand");
            return run.settled(step).await;
        }
    }
}

/// Changes an object that the sample needs, deletes it, and creates it again.
fn input(needed: &NewObject) -> Scenario {
    let (needed, name) = (needed.clone(), title(&needed.object));
    Scenario::after_create(format!("input:{name}"), move |run: Run| {
        let (needed, name) = (needed.clone(), name.clone());
        async move {
            let path = needed.path(run.namespace());
            edit(&run, &path, &name, edits(&needed.object)).await;
            run.misses_nothing().await;
            run.remove(&path).await;
            run.settled(format!("{name} was deleted")).await;
            run.create_object(&needed).await;
            run.settled(format!("{name} was created again")).await;
        }
    })
}

/// Deletes the object, and creates another one with the same name at once. Then deletes that one, too.
fn recreate() -> Scenario {
    Scenario::after_create("recreate", async |run: Run| {
        run.delete().await;
        run.create().await;
        run.settled("the object was deleted, and created again at once")
            .await;
        run.delete().await;
        run.settled("the object was deleted").await;
    })
}

/// The spec changes and a child vanishes while no operator runs. Then the object is deleted while no operator runs.
fn away(change: Option<SpecPatch>, child: Option<Value>) -> Scenario {
    let child = child.map(|child| title(&child));
    Scenario::after_create("away", move |run: Run| {
        let (change, child) = (change.clone(), child.clone());
        async move {
            run.stop_operator().await;
            if let Some(change) = change {
                run.patch(&change.there).await;
            }
            let snapshot = run.snapshot().await;
            let gone = snapshot
                .objects
                .iter()
                .find(|object| Some(title(object)) == child);
            if let Some(gone) = gone {
                run.remove(path_of(gone)).await;
            }
            run.start_operator();
            run.settled("without an operator, the spec was changed and a child was deleted")
                .await;
            run.stop_operator().await;
            run.delete().await;
            run.start_operator();
            run.settled("without an operator, the object was deleted")
                .await;
        }
    })
}

/// The objects that the sample owns.
pub fn children(snapshot: &Snapshot, sample: &Value) -> Vec<Value> {
    let own = snapshot
        .objects
        .iter()
        .find(|object| title(object) == title(sample));
    let uid = own.map(|own| text(own, "/metadata/uid"));
    let mut children = snapshot.objects.clone();
    children.retain(|object| owner_uids(object).iter().any(|owner| Some(&**owner) == uid));
    children
}

/// Changes of a child that its owner does not want, the most telling one first: the owner may leave alone a field that it
/// has not written. Each has the name of the field and a merge patch.
fn edits(child: &Value) -> Vec<(String, Value)> {
    let mut all = leaves(child);
    all.retain(|(path, _)| !["apiVersion", "kind", "metadata", "status"].contains(&&*path[0]));
    let managers = child.pointer("/metadata/managedFields");
    let managers = managers.and_then(Value::as_array).into_iter().flatten();
    let written = managers.filter(|manager| manager["subresource"].is_null());
    let written: Vec<_> = written.map(|manager| &manager["fieldsV1"]).collect();
    all.sort_by_key(|(path, _)| !written.iter().any(|fields| has(fields, path)));
    let mut edits = Vec::new();
    for (path, value) in all {
        let is_encoded = child["kind"] == "Secret" && path[0] == "data";
        let format = if is_encoded { "byte" } else { "" };
        if let Some(other) = other_value(&json!({"format": format}), &value) {
            edits.push((path.join("."), patch_of(child, &path, other)));
        }
    }
    let label = json!({"metadata": {"labels": {"edited": "by-hand"}}});
    edits.push(("metadata.labels.edited".to_owned(), label));
    edits
}

/// Whether `fields`, a part of `managedFields`, has the field at `path`, in any item of a list.
fn has(fields: &Value, path: &[String]) -> bool {
    match (fields.as_object(), path) {
        (None, _) => false,
        // All that is below belongs to the same manager.
        (Some(fields), _) if fields.is_empty() => true,
        (Some(_), []) => true,
        (Some(fields), [name, rest @ ..]) => fields.iter().any(|(key, below)| {
            let is_on_the_way = *key == format!("f:{name}") || key.starts_with("k:");
            is_on_the_way && has(below, rest)
        }),
    }
}

/// A change of each field of a spec that has another value by its schema.
pub fn changes_of(schema: &Value, spec: &Value) -> Vec<SpecPatch> {
    let mut changes = Vec::new();
    for (path, value) in leaves(spec) {
        let schema = schema_at(schema, &path);
        if let Some(other) = other_value(schema, &value) {
            changes.push(SpecPatch {
                field: format!("spec.{}", path.join(".")),
                there: json!({"spec": patch_of(spec, &path, other)}),
                back: json!({"spec": patch_of(spec, &path, value)}),
            });
        }
    }
    changes
}

/// The schema of the field at `path`.
fn schema_at<'a>(schema: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(schema, |schema, name| {
        let inner = [
            &schema["properties"][name],
            &schema["additionalProperties"],
            &schema["items"],
        ];
        let inner = inner.into_iter().find(|inner| !inner.is_null());
        inner.unwrap_or(&Value::Null)
    })
}

/// The numbers, texts and booleans in `value` with their paths. Of a list, only those of the first item: the others have
/// the same schema.
fn leaves(value: &Value) -> Vec<(Vec<String>, Value)> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), field))
            .collect(),
        Value::Array(items) => items
            .iter()
            .take(1)
            .map(|item| ("0".to_owned(), item))
            .collect(),
        Value::Null => Vec::new(),
        leaf => return vec![(Vec::new(), leaf.clone())],
    };
    let mut all = Vec::new();
    for (name, field) in inner {
        for (path, leaf) in leaves(field) {
            all.push(([vec![name.clone()], path].concat(), leaf));
        }
    }
    all
}

/// The merge patch that sets the field of `value` at `path`. It replaces a list as a whole.
fn patch_of(value: &Value, path: &[String], other: Value) -> Value {
    match (path, value) {
        ([], _) => other,
        ([name, rest @ ..], Value::Object(fields)) => {
            json!({name: patch_of(&fields[name], rest, other)})
        }
        _ => {
            let mut list = value.clone();
            if let Some(field) = list.pointer_mut(&pointer(path)) {
                *field = other;
            }
            list
        }
    }
}

/// Another value that may fit `schema`; the API server decides.
fn other_value(schema: &Value, value: &Value) -> Option<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .find(|other| *other != value && !other.is_null())
            .cloned();
    }
    match value {
        Value::Bool(flag) => Some((!flag).into()),
        Value::Number(number) => {
            let most = schema["maximum"].as_f64().unwrap_or(f64::MAX);
            let fits = number.as_f64()? + 1.0 <= most;
            let step: i32 = if fits { 1 } else { -1 };
            match number.as_i64() {
                Some(number) => Some(number.checked_add(step.into())?.into()),
                None => Some((number.as_f64()? + f64::from(step)).into()),
            }
        }
        // Bytes in Base64: three more at the start.
        Value::String(text) if schema["format"] == "byte" => Some(format!("bW9y{text}").into()),
        // A pattern that takes the text often takes one more of its last character.
        Value::String(text) => Some(format!("{text}{}", text.chars().last().unwrap_or('2')).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_another_value() {
        let schema = json!({"properties": {
            "mode": {"type": "string", "enum": ["fast", "safe"]},
            "image": {"type": "string"},
            "host": {"type": "string", "pattern": "^[a-z]+$"},
            "key": {"type": "string", "format": "byte"},
            "ratio": {"type": "number", "maximum": 1.0},
            "replicas": {"type": "integer", "maximum": 3},
            "limits": {"additionalProperties": {"type": "integer", "maximum": 9}},
            "paused": {"type": "boolean"},
            "ports": {"type": "array", "items": {"properties": {
                "number": {"type": "integer", "maximum": 80},
            }}},
            "title": {"type": "string"},
        }});
        let spec = json!({
            "host": "web", "image": "web:1", "key": "YQ==", "limits": {"cpu": 9}, "mode": "fast", "paused": false,
            "ports": [{"name": "a", "number": 80}, {"number": 81}], "ratio": 0.5, "replicas": 3, "title": "",
            "unset": null,
        });
        let changes = changes_of(&schema, &spec);
        let there: Vec<_> = changes.iter().map(|change| &change.there["spec"]).collect();
        let expected = [
            json!({"host": "webb"}),
            json!({"image": "web:11"}),
            json!({"key": "bW9yYQ=="}),
            json!({"limits": {"cpu": 8}}),
            json!({"mode": "safe"}),
            json!({"paused": true}),
            json!({"ports": [{"number": 80, "name": "aa"}, {"number": 81}]}),
            json!({"ports": [{"number": 79, "name": "a"}, {"number": 81}]}),
            json!({"ratio": -0.5}),
            json!({"replicas": 2}),
            json!({"title": "2"}),
        ];
        assert_eq!(there, expected.iter().collect::<Vec<_>>());
        assert_eq!(changes[3].field, "spec.limits.cpu");
        assert_eq!(changes[3].back, json!({"spec": {"limits": {"cpu": 9}}}));
        assert_eq!(changes[6].back["spec"]["ports"], spec["ports"]);
    }

    fn patches(child: &Value) -> Vec<Value> {
        edits(child).into_iter().map(|(_, patch)| patch).collect()
    }

    #[test]
    fn a_child_is_edited_where_its_owner_looks() {
        let label = json!({"metadata": {"labels": {"edited": "by-hand"}}});
        let config_map = json!({"data": {"index": "hello"}, "metadata": {"name": "web"}});
        assert_eq!(
            patches(&config_map),
            [json!({"data": {"index": "helloo"}}), label.clone()]
        );
        // Base64 stays Base64.
        let secret = json!({"data": {"key": "YQ=="}, "kind": "Secret", "type": "Opaque"});
        assert_eq!(patches(&secret)[0], json!({"data": {"key": "bW9yYQ=="}}));

        let container = json!({"image": "web:1", "name": "web", "terminationMessagePath": "/dev"});
        let template = json!({"spec": {"containers": [container], "restartPolicy": "Always"}});
        let keys = r#"k:{"name":"web"}"#;
        let written = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
            keys: {".": {}, "f:image": {}, "f:name": {}},
        }}}}});
        let deployment = json!({
            "kind": "Deployment",
            "metadata": {"name": "web", "managedFields": [
                {"manager": "other", "subresource": "status", "fieldsV1": {"f:status": {}, "f:spec": {}}},
                {"manager": "sites", "fieldsV1": written},
            ]},
            "spec": {"progressDeadlineSeconds": 600, "template": template},
            "status": {"replicas": 1},
        });
        let fields: Vec<_> = edits(&deployment)
            .into_iter()
            .map(|(field, _)| field)
            .collect();
        let containers = "spec.template.spec.containers.0";
        let expected = [
            format!("{containers}.image"),
            format!("{containers}.name"),
            "spec.progressDeadlineSeconds".to_owned(),
            format!("{containers}.terminationMessagePath"),
            "spec.template.spec.restartPolicy".to_owned(),
            "metadata.labels.edited".to_owned(),
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn the_children_are_those_that_the_sample_owns() {
        let object = |kind: &str, name: &str, uid: &str, owner: &str| {
            json!({"kind": kind, "metadata": {
                "name": name, "uid": uid, "ownerReferences": [{"uid": owner}],
            }})
        };
        let snapshot = Snapshot {
            objects: vec![
                object("Site", "web", "1", "0"),
                object("Deployment", "web", "2", "1"),
                object("ReplicaSet", "web", "3", "2"),
                json!({"kind": "Secret", "metadata": {
                    "name": "password", "uid": "4", "annotations": {OWNER: r#"{"uid": "1"}"#},
                }}),
            ],
            ..Snapshot::default()
        };
        let sample = json!({"kind": "Site", "metadata": {"name": "web"}});
        let titles: Vec<_> = children(&snapshot, &sample).iter().map(title).collect();
        assert_eq!(titles, ["Deployment/web", "Secret/password"]);
    }
}
