//! The status of a kind whose CRD has no subresource `status`. It is written with the object.
//!
//! Each such write raises the generation of the object, so the `observedGeneration` of a status would always be one
//! behind, and would be written for ever. Here, a write moves the current generation in a status to the next one: what
//! was observed of the desired state before the write holds after it, because only the status changes.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use kube::api::ApiResource;
use serde_json::{Value, json};

/// The versions of kinds that have their status in the object.
#[derive(Clone, Default)]
pub struct InObject(Arc<Vec<ApiResource>>);

impl InObject {
    /// Those of `crds`. Of other kinds, nothing is known; almost all of them have the subresource.
    pub fn of(crds: &[CustomResourceDefinition]) -> Self {
        let mut kinds = Vec::new();
        for crd in crds {
            let (group, names) = (&crd.spec.group, &crd.spec.names);
            let versions = crd.spec.versions.iter();
            kinds.extend(
                versions
                    .filter(|version| is_in_object(version))
                    .map(|version| ApiResource {
                        api_version: format!("{group}/{}", version.name),
                        group: group.clone(),
                        version: version.name.clone(),
                        kind: names.kind.clone(),
                        plural: names.plural.clone(),
                    }),
            );
        }
        Self(Arc::new(kinds))
    }

    pub fn has(&self, kind: &ApiResource) -> bool {
        self.0.contains(kind)
    }
}

fn is_in_object(version: &CustomResourceDefinitionVersion) -> bool {
    let subresources = version.subresources.as_ref();
    let schema = version.schema.as_ref();
    let schema = schema.and_then(|schema| schema.open_api_v3_schema.as_ref());
    let fields = schema.and_then(|schema| schema.properties.as_ref());
    subresources.is_none_or(|all| all.status.is_none())
        && fields.is_some_and(|fields| fields.contains_key("status"))
}

/// The status to write to `newest`. `status` was computed from `read`, the same object or an earlier version. Returns
/// `None` if `newest` has the status.
pub fn next(read: &Value, newest: &Value, mut status: Value) -> Option<Value> {
    let current = generation(newest);
    if desired(read.clone()) == desired(newest.clone()) {
        // This controller has written a status meanwhile.
        move_generation(&mut status, generation(read), current);
    }
    let mut moved = status.clone();
    move_generation(&mut moved, current, current + 1);
    // An object that was restored from a backup may have the second one: then a write would change nothing.
    let is_written = [&status, &moved].contains(&&newest["status"]);
    (!is_written).then_some(moved)
}

/// A JSON patch that gives `status` to `object`, if `object` has not changed since it was read. A whole object would lose
/// the fields that its Rust type lacks.
pub fn patch(object: &Value, status: &Value) -> Value {
    let version = &object["metadata"]["resourceVersion"];
    json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": "/status", "value": status},
    ])
}

/// What an object says about the desired state: all but metadata and status.
pub fn desired(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("metadata");
        fields.remove("status");
    }
    object
}

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"]
        .as_i64()
        .unwrap_or_default()
}

/// Replaces the generation `from` by `to` wherever `value` says that it was observed.
fn move_generation(value: &mut Value, from: i64, to: i64) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if name == "observedGeneration" && *inner == from {
                    *inner = to.into();
                } else {
                    move_generation(inner, from, to);
                }
            }
        }
        Value::Array(items) => {
            for inner in items {
                move_generation(inner, from, to);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with this spec in `generation`, and a status that was observed for `observed`.
    fn object(spec: &str, generation: i64, observed: Option<i64>) -> Value {
        let mut object = json!({
            "metadata": {"generation": generation, "resourceVersion": "7"},
            "spec": spec,
        });
        if let Some(observed) = observed {
            object["status"] = status(observed);
        }
        object
    }

    fn status(observed: i64) -> Value {
        json!({"observedGeneration": observed, "count": 3, "conditions": [
            {"type": "Ready", "observedGeneration": observed},
        ]})
    }

    #[test]
    fn a_write_is_about_the_generation_that_it_makes() {
        let new = object("a", 1, None);
        assert_eq!(next(&new, &new, status(1)), Some(status(2)));
        let changed = object("b", 3, Some(2));
        assert_eq!(next(&changed, &changed, status(3)), Some(status(4)));
    }

    #[test]
    fn a_status_settles_after_one_write() {
        let written = object("a", 2, Some(2));
        assert_eq!(next(&written, &written, status(2)), None);
    }

    #[test]
    fn a_second_write_in_a_reconcile_knows_the_first() {
        let (read, newest) = (object("a", 1, None), object("a", 2, Some(2)));
        assert_eq!(next(&read, &newest, status(1)), None);
        let mut other = status(1);
        other["count"] = json!(4);
        let mut expected = status(3);
        expected["count"] = json!(4);
        assert_eq!(next(&read, &newest, other), Some(expected));
    }

    #[test]
    fn a_status_of_an_earlier_desired_state_does_not_claim_the_current_one() {
        let (read, newest) = (object("a", 1, None), object("b", 2, None));
        assert_eq!(next(&read, &newest, status(1)), Some(status(1)));
    }

    #[test]
    fn the_conditions_of_other_controllers_move_along() {
        let both = |one: i64, other: i64| {
            json!({"conditions": [
                {"type": "One", "observedGeneration": one},
                {"type": "Other", "observedGeneration": other},
            ]})
        };
        let mut newest = object("a", 2, None);
        newest["status"] = both(2, 1);
        let written = next(&newest, &newest, both(2, 2)).expect("a status");
        assert_eq!(written, both(3, 3));
        // The first controller finds its condition as it would write it.
        newest["metadata"]["generation"] = json!(3);
        newest["status"] = written;
        assert_eq!(next(&newest, &newest, both(3, 3)), None);
    }

    #[test]
    fn a_restored_object_is_not_written_in_each_reconcile() {
        let restored = object("a", 1, Some(2));
        assert_eq!(next(&restored, &restored, status(1)), None);
    }
}
