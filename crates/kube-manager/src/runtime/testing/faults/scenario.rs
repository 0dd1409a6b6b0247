//! The scenarios that are tried with each operator.

use std::{pin::Pin, rc::Rc};

use http::Method;
use serde_json::{Value, json};

use super::{
    run::Run,
    state::{Snapshot, path_of, title},
};

/// What a scenario does in a run.
pub type Play = Rc<dyn Fn(Run) -> Pin<Box<dyn Future<Output = ()>>>>;

/// A scenario, and the name that selects it.
#[derive(Clone)]
pub struct Scenario {
    pub name: String,
    pub play: Play,
}

impl Scenario {
    pub fn new<F>(name: impl Into<String>, play: impl Fn(Run) -> F + 'static) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        Self {
            name: name.into(),
            play: Rc::new(move |run| Box::pin(play(run))),
        }
    }
}

/// The name of the first scenario. All others begin with its step, so faults are tried there only after this step.
pub const CREATE: &str = "create";

/// Creates the sample.
pub fn create() -> Scenario {
    Scenario::new(CREATE, async |run: Run| {
        run.begin().await;
    })
}

/// The scenarios for a kind whose sample can have these changes, if the sample and the objects of `created` exist after the
/// creation of the sample.
pub fn all(changes: Vec<Change>, sample: &Value, created: &Snapshot) -> Vec<Scenario> {
    let mut scenarios = vec![create()];
    if !changes.is_empty() {
        scenarios.push(change(changes.clone()));
    }
    let children = children(created, sample);
    for child in &children {
        scenarios.push(interfere(child));
    }
    scenarios.push(recreate());
    scenarios.push(away(
        changes.into_iter().next(),
        children.into_iter().next(),
    ));
    scenarios
}

/// A change of one field of the spec, and the patch that takes the change back.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub field: String,
    pub there: Value,
    pub back: Value,
}

/// Changes each field, and changes each back.
fn change(changes: Vec<Change>) -> Scenario {
    Scenario::new("change", move |run: Run| {
        let changes = changes.clone();
        async move {
            run.begin().await;
            for Change { field, there, back } in changes {
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
    Scenario::new(format!("interfere:{name}"), move |run: Run| {
        let (name, kind, edits) = (name.clone(), kind.clone(), edits.clone());
        async move {
            run.begin().await;
            let snapshot = run.snapshot().await;
            let child = children(&snapshot, &run.setup().sample)
                .into_iter()
                .find(|child| child["kind"] == kind && title(child) == name);
            // Its name is generated.
            let Some(child) = child else { return };
            let path = path_of(&child);
            for edit in edits {
                let dry_run = format!("{path}?dryRun=All");
                if run.send(Method::PATCH, &dry_run, &edit).await.is_ok()
                    && run.send(Method::PATCH, path, &edit).await.is_ok()
                {
                    run.settled(format!("{name} was changed by hand: {edit}"))
                        .await;
                    break;
                }
            }
            run.remove(path).await;
            run.settled(format!("{name} was deleted by hand")).await;
            let bare = json!({"metadata": {"labels": null, "ownerReferences": null}});
            if run.send(Method::PATCH, path, &bare).await.is_ok() {
                run.settled(format!("{name} has lost its labels and its owner by hand"))
                    .await;
            }
        }
    })
}

/// Deletes the object, and creates another one with the same name at once. Then deletes that one, too.
fn recreate() -> Scenario {
    Scenario::new("recreate", async |run: Run| {
        run.begin().await;
        run.delete().await;
        run.create().await;
        run.settled("the object was deleted, and created again at once")
            .await;
        run.delete().await;
        run.settled("the object was deleted").await;
    })
}

/// The spec changes and a child vanishes while no operator runs. Then the object is deleted while no operator runs.
fn away(change: Option<Change>, child: Option<Value>) -> Scenario {
    let child = child.map(|child| title(&child));
    Scenario::new("away", move |run: Run| {
        let (change, child) = (change.clone(), child.clone());
        async move {
            run.begin().await;
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
fn children(snapshot: &Snapshot, sample: &Value) -> Vec<Value> {
    let own = snapshot
        .objects
        .iter()
        .find(|object| title(object) == title(sample));
    let uid = own.map(|own| own["metadata"]["uid"].clone());
    let mut children = snapshot.objects.clone();
    children.retain(|object| {
        let owners = object["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| {
            owners
                .iter()
                .any(|owner| Some(&owner["uid"]) == uid.as_ref())
        })
    });
    children
}

/// Changes of a child that its owner does not want, the most telling one first.
fn edits(child: &Value) -> Vec<Value> {
    let mut edits = Vec::new();
    for part in ["data", "spec", "rules"] {
        for (path, value) in leaves(&child[part]) {
            if let Some(other) = other_value(&Value::Null, &value) {
                edits.push(json!({part: patch_of(&path, other)}));
            }
        }
    }
    edits.push(json!({"metadata": {"labels": {"edited": "by-hand"}}}));
    edits
}

/// A change of each field of a spec that has another value by its schema.
pub fn changes_of(schema: &Value, spec: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, value) in leaves(spec) {
        let schema = schema_at(schema, &path);
        if let Some(other) = other_value(schema, &value) {
            changes.push(Change {
                field: format!("spec.{}", path.join(".")),
                there: json!({"spec": patch_of(&path, other)}),
                back: json!({"spec": patch_of(&path, value)}),
            });
        }
    }
    changes
}

/// The schema of the field at `path`.
fn schema_at<'a>(schema: &'a Value, path: &[String]) -> &'a Value {
    let mut schema = schema;
    for name in path {
        let property = &schema["properties"][name];
        schema = if property.is_null() {
            &schema["additionalProperties"]
        } else {
            property
        };
    }
    schema
}

/// The numbers, texts and booleans in `value` with their paths, without those in lists.
fn leaves(value: &Value) -> Vec<(Vec<String>, Value)> {
    match value {
        Value::Object(fields) => {
            let mut leaves = Vec::new();
            for (name, field) in fields {
                for (mut path, leaf) in self::leaves(field) {
                    path.insert(0, name.clone());
                    leaves.push((path, leaf));
                }
            }
            leaves
        }
        Value::Null | Value::Array(_) => Vec::new(),
        leaf => vec![(Vec::new(), leaf.clone())],
    }
}

/// The merge patch that sets the field at `path`.
fn patch_of(path: &[String], value: Value) -> Value {
    path.iter()
        .rev()
        .fold(value, |inner, name| json!({name: inner}))
}

/// Another value that fits `schema`.
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
            let number = number.as_i64()?;
            let most = schema["maximum"].as_f64().unwrap_or(f64::MAX);
            #[expect(
                clippy::cast_precision_loss,
                reason = "a bound is compared, and the API server checks it again"
            )]
            let fits = (number as f64) + 1.0 <= most;
            Some((if fits { number + 1 } else { number - 1 }).into())
        }
        Value::String(text) if schema["pattern"].is_null() && schema["format"].is_null() => {
            Some(format!("{text}2").into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_another_value_that_fits() {
        let schema = json!({"properties": {
            "mode": {"type": "string", "enum": ["fast", "safe"]},
            "image": {"type": "string"},
            "host": {"type": "string", "pattern": "^[a-z]+$"},
            "replicas": {"type": "integer", "maximum": 3},
            "limits": {"additionalProperties": {"type": "integer", "maximum": 9}},
            "paused": {"type": "boolean"},
            "ports": {"type": "array"},
        }});
        let spec = json!({
            "mode": "fast", "image": "web:1", "host": "web", "replicas": 3,
            "limits": {"cpu": 9}, "paused": false, "ports": [80], "unset": null,
        });
        let changes = changes_of(&schema, &spec);
        let there: Vec<_> = changes.iter().map(|change| change.there.clone()).collect();
        let expected = [
            json!({"spec": {"image": "web:12"}}),
            json!({"spec": {"limits": {"cpu": 8}}}),
            json!({"spec": {"mode": "safe"}}),
            json!({"spec": {"paused": true}}),
            json!({"spec": {"replicas": 2}}),
        ];
        assert_eq!(there, expected);
        assert_eq!(changes[1].field, "spec.limits.cpu");
        assert_eq!(changes[1].back, json!({"spec": {"limits": {"cpu": 9}}}));
    }

    #[test]
    fn a_child_is_edited_where_its_owner_looks() {
        let child = json!({"metadata": {"name": "web"}, "data": {"index": "hello"}});
        let edits = edits(&child);
        assert_eq!(edits[0], json!({"data": {"index": "hello2"}}));
        assert_eq!(
            edits[1],
            json!({"metadata": {"labels": {"edited": "by-hand"}}})
        );
        assert_eq!(edits.len(), 2);
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
            ],
            ..Snapshot::default()
        };
        let sample = json!({"kind": "Site", "metadata": {"name": "web"}});
        let children = children(&snapshot, &sample);
        let titles: Vec<_> = children.iter().map(title).collect();
        assert_eq!(titles, ["Deployment/web"]);
    }
}
