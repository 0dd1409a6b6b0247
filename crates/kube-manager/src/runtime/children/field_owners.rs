//! The owners of the fields of a child: the field managers in its `managedFields`.
//!
//! An apply removes a field only if nothing but the Apply of the controller owns it.

use k8s_openapi::{
    DeepMerge,
    apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry},
};
use serde_json::{Map, Value, json};

const UPDATE: &str = "Update";
const APPLY: &str = "Apply";

/// The owners of the fields of an object after `manager` has moved its Update to its Apply; `None` if it has no Update.
pub fn moved(
    mut entries: Vec<ManagedFieldsEntry>,
    manager: &str,
) -> Option<Vec<ManagedFieldsEntry>> {
    let mut by = entries.iter();
    let updated = by.position(|entry| is_by(entry, manager, UPDATE))?;
    let mut update = entries.remove(updated);
    let mut others = entries.iter_mut();
    match others.find(|entry| is_by(entry, manager, APPLY)) {
        // The paths of another version may be others.
        Some(apply) if apply.api_version != update.api_version => {}
        Some(apply) => apply.fields_v1.merge_from(update.fields_v1),
        None => {
            update.operation = Some(APPLY.to_owned());
            entries.push(update);
        }
    }
    Some(entries)
}

/// The owners of the fields of a restored object after `manager` has taken over the fields of `desired`, as if it had
/// created the object. `None` if nobody has restored the object.
///
/// Only the controller writes the label `mark`. So another client that owns this label has restored the object, and owns
/// all of its fields, also those of the controller.
pub fn taken_over(
    mut entries: Vec<ManagedFieldsEntry>,
    manager: &str,
    mark: &str,
    desired: &Value,
) -> Option<Vec<ManagedFieldsEntry>> {
    let has_update = entries.iter().any(|entry| is_by(entry, manager, UPDATE));
    let label = format!("f:{mark}");
    let mut others = entries.iter_mut().filter(|_| !has_update);
    let restored = others.find(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        let is_marked =
            fields.is_some_and(|fields| !fields["f:metadata"]["f:labels"][&label].is_null());
        is_marked && entry.operation.as_deref() == Some(UPDATE)
    })?;
    let fields = restored.fields_v1.as_mut()?.0.as_object_mut()?;
    let taken = json!(take(fields, desired));
    let ours = ManagedFieldsEntry {
        manager: Some(manager.to_owned()),
        fields_v1: Some(FieldsV1(taken)),
        ..restored.clone()
    };
    entries.push(ours);
    Some(entries)
}

/// Removes the paths of `fields` to what `value` has, and returns these paths.
fn take(fields: &mut Map<String, Value>, value: &Value) -> Map<String, Value> {
    let mut taken = Map::new();
    fields.retain(|step, rest| {
        let (Some(inner), Some(rest)) = (follow(value, step), rest.as_object_mut()) else {
            return true;
        };
        let is_end = rest.is_empty();
        let part = take(rest, inner);
        if is_end || !part.is_empty() {
            taken.insert(step.clone(), json!(part));
        }
        !rest.is_empty()
    });
    taken
}

/// What a `step` of a path leads to in `value`: a field, an item of a list, or `value` itself.
fn follow<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    let Some((kind, name)) = step.split_once(':') else {
        return Some(value);
    };
    if kind == "f" {
        return value.get(name);
    }
    let wanted: Value = serde_json::from_str(name).ok()?;
    let mut items = value.as_array()?.iter();
    match (kind, &wanted) {
        ("k", Value::Object(keys)) => {
            let exact = items.clone().find(|item| has_keys(item, keys, false));
            // The API server sets keys that a desired item lacks, such as the protocol of a port.
            exact.or_else(|| items.find(|item| has_keys(item, keys, true)))
        }
        ("v", _) => items.find(|item| **item == wanted),
        _ => None,
    }
}

/// Whether an item of a list has these `keys`. If `may_lack` is true, it may also have none.
fn has_keys(item: &Value, keys: &Map<String, Value>, may_lack: bool) -> bool {
    keys.iter()
        .all(|(name, key)| item.get(name).map_or(may_lack, |own| own == key))
}

/// Whether `entry` has the fields that `manager` owns by `operation`.
fn is_by(entry: &ManagedFieldsEntry, manager: &str, operation: &str) -> bool {
    entry.manager.as_deref() == Some(manager)
        && entry.operation.as_deref() == Some(operation)
        && entry.subresource.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, fields: &Value) -> ManagedFieldsEntry {
        let entry = json!({
            "manager": manager, "operation": operation, "apiVersion": version, "fieldsV1": fields,
        });
        serde_json::from_value(entry).expect("an entry")
    }

    #[test]
    fn the_fields_of_an_update_are_moved_to_the_apply() {
        let one = json!({"f:spec": {"f:a": {}}});
        let other = json!({"f:spec": {"f:b": {".": {}, "f:c": {}}}});
        let both = json!({"f:spec": {"f:a": {}, "f:b": {".": {}, "f:c": {}}}});
        let user = entry("user", "Update", "v1", &one);
        let update = entry("shop", "Update", "v1", &other);
        let apply = |version, fields| entry("shop", "Apply", version, fields);
        for (before, after) in [
            (None, apply("v1", &other)),
            (Some(apply("v1", &one)), apply("v1", &both)),
            (Some(apply("v2", &one)), apply("v2", &one)),
        ] {
            let entries = [update.clone(), user.clone()].into_iter().chain(before);
            let moved = moved(entries.collect(), "shop").expect("an Update");
            assert_eq!(moved, [user.clone(), after]);
        }
        assert_eq!(moved(vec![user], "shop"), None);
    }

    #[test]
    fn the_desired_fields_of_a_restored_object_are_taken_over() {
        let desired = json!({
            "metadata": {"labels": {"shop/applied": "1-2"}, "finalizers": ["shop/a"]},
            "spec": {
                "containers": [{"name": "a", "env": [{"name": "B", "value": "c"}]}],
                "emptyDir": {},
                "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}],
            },
        });
        let restored = json!({
            "f:metadata": {
                "f:labels": {".": {}, "f:shop/applied": {}, "f:users": {}},
                "f:finalizers": {".": {}, "v:\"shop/a\"": {}, "v:\"users/b\"": {}},
            },
            "f:spec": {
                "f:containers": {
                    "k:{\"name\":\"a\"}": {
                        ".": {},
                        "f:env": {".": {}, "k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}}},
                        "f:image": {},
                        "f:name": {},
                    },
                    "k:{\"name\":\"users\"}": {".": {}, "f:name": {}},
                },
                "f:emptyDir": {},
                "f:paused": {},
                "f:ports": {
                    "k:{\"port\":53,\"protocol\":\"TCP\"}": {"f:port": {}},
                    "k:{\"port\":53,\"protocol\":\"UDP\"}": {"f:port": {}},
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}},
                },
            },
        });
        let left = json!({
            "f:metadata": {"f:labels": {"f:users": {}}, "f:finalizers": {"v:\"users/b\"": {}}},
            "f:spec": {
                "f:containers": {
                    "k:{\"name\":\"a\"}": {"f:image": {}},
                    "k:{\"name\":\"users\"}": {".": {}, "f:name": {}},
                },
                "f:paused": {},
                "f:ports": {
                    "k:{\"port\":53,\"protocol\":\"TCP\"}": {"f:port": {}},
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:protocol": {}},
                },
            },
        });
        let taken = json!({
            "f:metadata": {
                "f:labels": {".": {}, "f:shop/applied": {}},
                "f:finalizers": {".": {}, "v:\"shop/a\"": {}},
            },
            "f:spec": {
                "f:containers": {
                    "k:{\"name\":\"a\"}": {
                        ".": {},
                        "f:env": {".": {}, "k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}}},
                        "f:name": {},
                    },
                },
                "f:emptyDir": {},
                "f:ports": {
                    "k:{\"port\":53,\"protocol\":\"UDP\"}": {"f:port": {}},
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
                },
            },
        });
        let by = |manager: &str, fields: &Value| entry(manager, "Update", "v1", fields);
        let take_over = |entries: &[ManagedFieldsEntry]| {
            taken_over(entries.to_vec(), "shop", "shop/applied", &desired)
        };
        let user = by("user", &json!({"f:spec": {"f:emptyDir": {}}}));
        let kubectl = by("kubectl-create", &restored);
        let expected = [
            user.clone(),
            by("kubectl-create", &left),
            by("shop", &taken),
        ];
        assert_eq!(
            take_over(&[user.clone(), kubectl.clone()]).expect("a restore"),
            expected
        );
        // Another controller applies the object, and this controller has created or patched it.
        let applied = entry("other", "Apply", "v1", &restored);
        for others in [
            vec![user.clone()],
            vec![applied],
            vec![kubectl, by("shop", &taken)],
        ] {
            assert_eq!(take_over(&others), None);
        }
    }
}
