//! The part of a status that one controller owns, if several controllers write the status of a kind.
//!
//! Such a controller applies its part server-side with its own field manager, so that its writes never conflict with
//! those of other controllers. An apply has to repeat everything that the controller owns, because the API server
//! removes the fields that are missing. The `managedFields` show what the controller owns.

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
    },
    apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry},
};
use serde_json::{Map, Value};

/// The schema of the status in the CRD of one version, if several controllers can own conditions in it: if the list of
/// conditions is a map.
pub fn schema(crd: CustomResourceDefinition) -> Option<JSONSchemaProps> {
    let mut versions = crd.spec.versions.into_iter();
    let schema = versions.next()?.schema?.open_api_v3_schema?;
    let status = schema.properties?.remove("status")?;
    let conditions = status.properties.as_ref()?.get("conditions")?;
    keys(conditions).is_some().then_some(status)
}

/// Whether `entry` covers the status, for the field manager `manager`.
pub fn is_of(entry: &ManagedFieldsEntry, manager: &str) -> bool {
    entry.manager.as_deref() == Some(manager) && entry.subresource.as_deref() == Some("status")
}

/// The `fieldsV1` that a field manager owns in a value: by its applies and by its updates. Each is null if the manager
/// owns nothing.
struct Owned<'a> {
    applied: &'a Value,
    updated: &'a Value,
}

impl Owned<'_> {
    /// What the manager owns of the part with this key, such as `f:count`.
    fn of(&self, key: &str) -> Owned<'_> {
        Owned {
            applied: &self.applied[key],
            updated: &self.updated[key],
        }
    }

    fn is_some(&self) -> bool {
        !self.applied.is_null() || !self.updated.is_null()
    }

    /// Whether the API server removes the field if an apply leaves it out. A field that the manager has also updated
    /// stays.
    fn can_go(&self) -> bool {
        !self.applied.is_null() && self.updated.is_null()
    }
}

/// All fields of the status that `manager` owns by an operation.
fn fields_of(fields: &[ManagedFieldsEntry], manager: &str, operation: &str) -> Value {
    let mut all = Value::Null;
    for entry in fields {
        if is_of(entry, manager)
            && entry.operation.as_deref() == Some(operation)
            && let Some(FieldsV1(fields)) = &entry.fields_v1
        {
            // There is an entry for each version of the API.
            unite(&mut all, &fields["f:status"]);
        }
    }
    all
}

fn unite(into: &mut Value, from: &Value) {
    match (into, from) {
        (_, Value::Null) => {}
        (Value::Object(into), Value::Object(from)) => {
            for (key, from) in from {
                unite(into.entry(key.clone()).or_insert(Value::Null), from);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// The part that `manager` has to apply so that the status `before` becomes `after`: the changes, and the fields that
/// the manager owns already. `None` if an apply is not possible, because a field has to be removed that another manager
/// owns, or that `manager` owns by an update.
pub fn part(
    fields: &[ManagedFieldsEntry],
    manager: &str,
    schema: &JSONSchemaProps,
    change: (&Value, &Value),
) -> Option<Value> {
    let (applied, updated) = (
        fields_of(fields, manager, "Apply"),
        fields_of(fields, manager, "Update"),
    );
    let owned = Owned {
        applied: &applied,
        updated: &updated,
    };
    let part = part_of(&owned, Some(schema), change)?;
    Some(part.unwrap_or_else(|| Value::Object(Map::new())))
}

/// The part of one value; `Some(None)` if the controller applies nothing of it.
fn part_of(
    owned: &Owned,
    schema: Option<&JSONSchemaProps>,
    (before, after): (&Value, &Value),
) -> Option<Option<Value>> {
    match (before, after) {
        // The value is removed, or missing on both sides.
        (before, Value::Null) => (before.is_null() || owned.can_go()).then_some(None),
        (Value::Object(_) | Value::Null, Value::Object(after)) if !is_atomic(schema) => {
            let nothing = Map::new();
            let fields = before.as_object().unwrap_or(&nothing);
            let mut all = Map::new();
            for key in fields
                .keys()
                .chain(after.keys().filter(|key| !fields.contains_key(*key)))
            {
                let owned = &owned.of(&format!("f:{key}"));
                let values = (
                    fields.get(key).unwrap_or(&Value::Null),
                    after.get(key).unwrap_or(&Value::Null),
                );
                if let Some(part) = part_of(owned, property(schema, key), values)? {
                    all.insert(key.clone(), part);
                }
            }
            Some((!all.is_empty()).then_some(Value::Object(all)))
        }
        (Value::Array(_) | Value::Null, Value::Array(after)) if schema.and_then(keys).is_some() => {
            let keys = schema.and_then(keys).unwrap_or_default();
            part_of_list(owned, (schema, keys), (before, after))
        }
        _ => Some((before != after || owned.is_some()).then(|| after.clone())),
    }
}

/// The part of a list that is a map with `keys`.
fn part_of_list(
    owned: &Owned,
    (schema, keys): (Option<&JSONSchemaProps>, &[String]),
    (before, after): (&Value, &[Value]),
) -> Option<Option<Value>> {
    let no_list = Vec::new();
    let known = before.as_array().unwrap_or(&no_list);
    for element in known {
        if same_key(after, element, keys).is_null() {
            let part = owned.of(&list_key(element, keys));
            part_of(&part, None, (element, &Value::Null))?;
        }
    }
    let mut all = Vec::new();
    for element in after {
        let part = owned.of(&list_key(element, keys));
        let values = (same_key(known, element, keys), element);
        if let Some(mut changed) = part_of(&part, schema.and_then(items), values)? {
            for key in keys {
                changed[key] = element[key].clone();
            }
            all.push(changed);
        }
    }
    Some((!all.is_empty()).then_some(Value::Array(all)))
}

/// The key of a list element in `fieldsV1`, such as `k:{"type":"Ready"}`.
fn list_key(element: &Value, keys: &[String]) -> String {
    let fields = keys.iter().map(|key| (key.clone(), element[key].clone()));
    format!("k:{}", Value::Object(fields.collect()))
}

/// The element of `list` that has the keys of `element`; `null` if there is none.
fn same_key<'a>(list: &'a [Value], element: &Value, keys: &[String]) -> &'a Value {
    let mut elements = list.iter();
    let found = elements.find(|other| keys.iter().all(|key| other[key] == element[key]));
    found.unwrap_or(&Value::Null)
}

/// Whether an object can be owned only as a whole.
fn is_atomic(schema: Option<&JSONSchemaProps>) -> bool {
    let map_type = schema.and_then(|schema| schema.x_kubernetes_map_type.as_deref());
    map_type == Some("atomic")
}

/// The keys of a list, if the list is a map.
fn keys(schema: &JSONSchemaProps) -> Option<&[String]> {
    let is_map = schema.x_kubernetes_list_type.as_deref() == Some("map");
    schema
        .x_kubernetes_list_map_keys
        .as_deref()
        .filter(|_| is_map)
}

fn property<'a>(schema: Option<&'a JSONSchemaProps>, name: &str) -> Option<&'a JSONSchemaProps> {
    schema?.properties.as_ref()?.get(name)
}

fn items(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status() -> JSONSchemaProps {
        fn list(kind: &str) -> Value {
            json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": kind,
                "x-kubernetes-list-map-keys": (kind == "map").then_some(["type"])})
        }

        let schema = json!({"type": "object", "properties": {
            "conditions": list("map"), "others": list("atomic"),
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
        }});
        serde_json::from_value(schema).expect("a schema")
    }

    #[test]
    fn a_status_is_shared_only_if_its_conditions_are_a_map() {
        fn crd(list: &str) -> CustomResourceDefinition {
            let schema = json!({"type": "object", "properties": {"status": {"type": "object",
                "properties": {"conditions": {"type": "array", "items": {"type": "object"},
                    "x-kubernetes-list-type": list, "x-kubernetes-list-map-keys": ["type"]}}}}});
            let version = json!({"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}});
            let names = json!({"kind": "Book", "plural": "books"});
            let spec = json!({"group": "shop.example.com", "scope": "Namespaced", "names": names,
                "versions": [version]});
            serde_json::from_value(json!({"metadata": {}, "spec": spec})).expect("a CRD")
        }

        assert!(schema(crd("map")).is_some());
        assert!(schema(crd("atomic")).is_none());
    }

    fn entry(manager: &str, operation: &str, fields: Value) -> ManagedFieldsEntry {
        ManagedFieldsEntry {
            api_version: Some("v1".to_owned()),
            fields_v1: Some(FieldsV1(json!({"f:status": fields}))),
            manager: Some(manager.to_owned()),
            operation: Some(operation.to_owned()),
            subresource: Some("status".to_owned()),
            ..ManagedFieldsEntry::default()
        }
    }

    /// The part of a controller that owns its count and the condition `Mine`.
    fn mine(before: Value, after: Value) -> Option<Value> {
        let fields = json!({"f:count": {}, "f:conditions": {
            "k:{\"type\":\"Mine\"}": {".": {}, "f:type": {}, "f:status": {}},
        }});
        let fields = [
            entry("me", "Apply", fields),
            entry("other", "Apply", json!({"f:url": {}})),
        ];
        part(&fields, "me", &status(), (&before, &after))
    }

    fn before() -> Value {
        json!({"count": 1, "url": "a", "conditions": [
            {"type": "Mine", "status": "True"}, {"type": "Other", "status": "True"},
        ]})
    }

    #[test]
    fn what_is_owned_is_repeated_and_what_others_own_is_left_out() {
        let mut after = before();
        after["count"] = json!(2);
        let condition = json!([{"type": "Mine", "status": "True"}]);
        let expected = json!({"count": 2, "conditions": condition});
        assert_eq!(mine(before(), after), Some(expected));

        let mut after = before();
        after["conditions"][0]["status"] = json!("False");
        after["conditions"]
            .as_array_mut()
            .expect("a list")
            .push(json!({"type": "New"}));
        let conditions = json!([{"type": "Mine", "status": "False"}, {"type": "New"}]);
        let expected = json!({"count": 1, "conditions": conditions});
        assert_eq!(mine(before(), after), Some(expected));
    }

    #[test]
    fn what_is_owned_can_go_and_what_others_own_cannot() {
        let after = json!({"url": "a", "conditions": [{"type": "Other", "status": "True"}]});
        assert_eq!(mine(before(), after), Some(json!({})));
        let mut after = before();
        after["url"] = Value::Null;
        assert_eq!(mine(before(), after), None);
        let mut after = before();
        after["conditions"].as_array_mut().expect("a list").pop();
        assert_eq!(mine(before(), after), None);
    }

    #[test]
    fn the_first_status_is_applied_as_it_is() {
        let after = json!({"count": 1, "note": null, "conditions": [{"type": "Mine"}],
            "others": [{"type": "a"}], "whole": {"a": 1}});
        let part = part(&[], "me", &status(), (&Value::Null, &after)).expect("a part");
        let mut expected = after;
        expected.as_object_mut().expect("an object").remove("note");
        assert_eq!(part, expected);
    }

    #[test]
    fn what_is_atomic_is_repeated_as_a_whole() {
        let before = json!({"others": [{"type": "a"}, {"type": "b"}], "whole": {"a": 1, "b": 1}});
        let after = json!({"others": [{"type": "a"}], "whole": {"a": 2, "b": 1}});
        let part = part(&[], "me", &status(), (&before, &after));
        assert_eq!(part, Some(after));
    }

    #[test]
    fn what_was_updated_is_repeated_and_does_not_go_by_an_apply() {
        let fields = [
            entry("me", "Update", json!({"f:count": {}, "f:url": {}})),
            entry("me", "Apply", json!({"f:count": {}})),
        ];
        let before = json!({"count": 1, "url": "a", "other": 1});
        let after = json!({"count": 2, "url": "a", "other": 1});
        let changed = part(&fields, "me", &status(), (&before, &after));
        assert_eq!(changed, Some(json!({"count": 2, "url": "a"})));
        for key in ["count", "url"] {
            let mut without = after.clone();
            without[key] = Value::Null;
            let removed = part(&fields, "me", &status(), (&before, &without));
            assert_eq!(removed, None, "{key}");
        }
    }
}
