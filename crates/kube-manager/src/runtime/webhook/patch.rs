//! The patch of a defaulter. A defaulter sees only the fields of its type, but other fields must stay: fields of a
//! newer version, or of a CRD that preserves unknown fields.

use std::collections::{BTreeMap, HashMap};

use json_patch::{
    AddOperation, Patch, PatchOperation, RemoveOperation,
    jsonptr::{Pointer, PointerBuf},
};
use serde_json::{Map, Value, value::RawValue};

/// Fields that identify an element of a list. Most lists in Kubernetes use `name`.
const IDENTITY: [&str; 4] = ["name", "key", "type", "id"];

/// The patch for `raw` that makes the same changes as a defaulter made to its typed form, from `before` to `after`.
/// Fields that are not in `before` stay. Only the changed parts of `raw` are parsed.
///
/// # Errors
///
/// When `raw` is not JSON.
pub(super) fn between(raw: &RawValue, before: &Value, after: &Value) -> serde_json::Result<Patch> {
    let mut operations = Vec::new();
    compare(raw, before, after, &mut PointerBuf::new(), &mut operations)?;
    Ok(Patch(operations))
}

fn compare(
    raw: &RawValue,
    before: &Value,
    after: &Value,
    path: &mut PointerBuf,
    operations: &mut Vec<PatchOperation>,
) -> serde_json::Result<()> {
    if before == after {
        return Ok(());
    }
    let (Value::Object(before), Value::Object(after), true) =
        (before, after, raw.get().starts_with('{'))
    else {
        let raw = serde_json::from_str(raw.get())?;
        let Patch(inside) = json_patch::diff(&raw, &lay(&raw, before, after));
        operations.extend(inside.into_iter().map(|operation| below(path, operation)));
        return Ok(());
    };
    let raw: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get())?;
    for key in raw.keys() {
        if before.contains_key(key) && !after.contains_key(key) {
            operations.push(PatchOperation::Remove(RemoveOperation {
                path: path.with_trailing_token(key),
            }));
        }
    }
    for (key, after) in after {
        match (raw.get(key), before.get(key)) {
            (Some(raw), Some(before)) => {
                path.push_back(key);
                compare(raw, before, after, path, operations)?;
                path.pop_back();
            }
            // The type has this field as a default, and the defaulter did not change it.
            (None, Some(before)) if before == after => {}
            // `add` also replaces an existing value.
            _ => operations.push(PatchOperation::Add(AddOperation {
                path: path.with_trailing_token(key),
                value: after.clone(),
            })),
        }
    }
    Ok(())
}

/// Converts `operation` on the part at `path` of an object to an operation on the object.
fn below(path: &Pointer, mut operation: PatchOperation) -> PatchOperation {
    let places: [Option<&mut PointerBuf>; 2] = match &mut operation {
        PatchOperation::Add(operation) => [Some(&mut operation.path), None],
        PatchOperation::Remove(operation) => [Some(&mut operation.path), None],
        PatchOperation::Replace(operation) => [Some(&mut operation.path), None],
        PatchOperation::Test(operation) => [Some(&mut operation.path), None],
        PatchOperation::Move(operation) => [Some(&mut operation.path), Some(&mut operation.from)],
        PatchOperation::Copy(operation) => [Some(&mut operation.path), Some(&mut operation.from)],
    };
    for place in places.into_iter().flatten() {
        let mut whole = path.to_buf();
        whole.append(&*place);
        *place = whole;
    }
    operation
}

/// `raw` with the changes from `before` to `after`.
fn lay(raw: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return raw.clone();
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            Value::Object(lay_object(raw, before, after))
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len() =>
        {
            let sources = sources(raw, before);
            let origins = origins(before, after).into_iter().zip(after);
            let laid = origins.map(|(origin, after)| {
                match origin.and_then(|index| Some((sources[index]?, index))) {
                    Some((source, index)) => lay(&raw[source], &before[index], after),
                    None => after.clone(),
                }
            });
            Value::Array(laid.collect())
        }
        _ => after.clone(),
    }
}

fn lay_object(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut laid = raw.clone();
    laid.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
    for (key, after) in after {
        let value = match (raw.get(key), before.get(key)) {
            (Some(raw), Some(before)) => lay(raw, before, after),
            // The type has this field as a default, and the defaulter did not change it.
            (None, Some(before)) if before == after => continue,
            _ => after.clone(),
        };
        laid.insert(key.clone(), value);
    }
    laid
}

/// For each element of `before`, the index in `raw` of the element that it was read from: a type such as a set may have
/// another order. An element without a name has none if the type also writes it in another way.
fn sources(raw: &[Value], before: &[Value]) -> Vec<Option<usize>> {
    let pairs = raw.iter().zip(before).enumerate();
    let in_place = pairs.map(|(index, (raw, before))| agrees(raw, before).then_some(index));
    let mut sources: Vec<_> = in_place.collect();
    let mut is_left: Vec<_> = sources.iter().map(Option::is_none).collect();
    pair(raw, before, &mut sources, &mut is_left, Some);
    pair(raw, before, &mut sources, &mut is_left, identity);
    sources
}

/// Whether a type may have read `before` from `raw`: what both have is equal.
fn agrees(raw: &Value, before: &Value) -> bool {
    match (raw, before) {
        (Value::Object(raw), Value::Object(before)) => before
            .iter()
            .all(|(key, before)| raw.get(key).is_none_or(|raw| agrees(raw, before))),
        (Value::Array(raw), Value::Array(before)) => {
            raw.len() == before.len() && sources(raw, before).iter().all(Option::is_some)
        }
        // A float is written as `1.0`.
        (Value::Number(raw), Value::Number(before)) if raw.is_f64() != before.is_f64() => {
            raw.as_f64() == before.as_f64()
        }
        _ => raw == before,
    }
}

/// For each element of `after`, the index in `before` of the element that it was. An equal element matches first, then
/// an element with the same name. If the lists have the same length, an element without a name matches the element at
/// the same position.
fn origins(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let mut origins = vec![None; after.len()];
    let mut is_left = vec![true; before.len()];
    pair(before, after, &mut origins, &mut is_left, Some);
    pair(before, after, &mut origins, &mut is_left, identity);
    if before.len() == after.len() {
        for (index, origin) in origins.iter_mut().enumerate() {
            let is_named = identity(&before[index]).is_some() || identity(&after[index]).is_some();
            if origin.is_none() && is_left[index] && !is_named {
                *origin = Some(index);
            }
        }
    }
    origins
}

/// Pairs the remaining elements of both lists that have the same `key`, in the order of the lists.
fn pair<'a>(
    before: &'a [Value],
    after: &'a [Value],
    origins: &mut [Option<usize>],
    is_left: &mut [bool],
    key: impl Fn(&'a Value) -> Option<&'a Value>,
) {
    let mut left = HashMap::<_, Vec<usize>>::new();
    for (index, value) in before.iter().enumerate().rev() {
        if is_left[index]
            && let Some(key) = key(value)
        {
            left.entry(key).or_default().push(index);
        }
    }
    for (origin, value) in origins.iter_mut().zip(after) {
        if origin.is_none()
            && let Some(found) = key(value).and_then(|key| left.get_mut(key)?.pop())
        {
            *origin = Some(found);
            is_left[found] = false;
        }
    }
}

fn identity(value: &Value) -> Option<&Value> {
    IDENTITY.iter().find_map(|field| value.get(field))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn between(raw: &Value, before: &Value, after: &Value) -> Patch {
        let raw = serde_json::value::to_raw_value(raw).expect("JSON");
        super::between(&raw, before, after).expect("JSON")
    }

    /// The result of the patch, applied to `raw`.
    fn patched(raw: &Value, before: &Value, after: &Value) -> Value {
        let mut patched = raw.clone();
        let patch = between(raw, before, after);
        json_patch::patch(&mut patched, &patch.0).expect("a patch that fits");
        patched
    }

    #[test]
    fn what_the_type_does_not_have_stays() {
        let raw = json!({"spec": {"new": 1, "title": "a", "list": [{"name": "x", "new": 2}]}});
        let before =
            json!({"spec": {"title": "a", "size": 3, "none": null, "list": [{"name": "x"}]}});
        let after = json!({"spec": {"title": "b", "size": 3, "none": null,
            "list": [{"name": "y"}, {"name": "x", "port": 80}]}});
        let expected = json!({"spec": {"new": 1, "title": "b",
            "list": [{"name": "y"}, {"name": "x", "new": 2, "port": 80}]}});
        assert_eq!(patched(&raw, &before, &after), expected);
        assert_eq!(between(&raw, &before, &before).0, []);
        let patch = json!([{"op": "replace", "path": "/spec/list/0/port", "value": 80}]);
        let raw = json!({"spec": {"list": [{"name": "x", "new": 2, "port": 1}]}});
        let [before, after] =
            [1, 80].map(|port| json!({"spec": {"list": [{"name": "x", "port": port}]}}));
        assert_eq!(json!(between(&raw, &before, &after)), patch);
    }

    #[test]
    fn a_default_of_the_type_is_sent_if_it_changes() {
        let raw = json!({"spec": {}});
        let before = json!({"spec": {"size": 3, "deep": {"a": 1, "b": 2}}});
        let after = json!({"spec": {"size": 4, "deep": {"a": 1, "b": 3}}});
        assert_eq!(patched(&raw, &before, &after), after);
        let without = json!({"spec": {"deep": {"a": 1, "b": 2}}});
        assert_eq!(patched(&raw, &before, &without), raw);
    }

    #[test]
    fn elements_of_lists_keep_what_is_theirs() {
        let raw =
            json!([{"name": "a", "new": 1}, {"name": "b", "new": 2}, {"name": "c", "new": 3}]);
        let before = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
        let after = json!([{"name": "c", "port": 1}, {"name": "b"}]);
        let expected = json!([{"name": "c", "port": 1, "new": 3}, {"name": "b", "new": 2}]);
        assert_eq!(patched(&raw, &before, &after), expected);

        let raw = json!([{"new": 1, "port": 1}, {"new": 2, "port": 2}]);
        let before = json!([{"port": 1}, {"port": 2}]);
        let after = json!([{"port": 1}, {"port": 3}]);
        let expected = json!([{"new": 1, "port": 1}, {"new": 2, "port": 3}]);
        assert_eq!(patched(&raw, &before, &after), expected);

        // A replaced element gets no fields of the previous element.
        let raw = json!([{"name": "a", "new": 1}]);
        let replaced = json!([{"name": "b"}]);
        assert_eq!(patched(&raw, &json!([{"name": "a"}]), &replaced), replaced);
    }

    #[test]
    fn a_type_may_read_a_list_in_another_order() {
        let raw = json!({"tags": ["b", "a"]});
        let [before, after] = [json!(["a", "b"]), json!(["a"])].map(|tags| json!({"tags": tags}));
        assert_eq!(patched(&raw, &before, &after), after);

        let raw = json!([{"name": "b", "new": 2}, {"name": "a", "new": 1}]);
        let before = json!([{"name": "a"}, {"name": "b"}]);
        let after = json!([{"name": "a", "port": 1}, {"name": "b"}]);
        let expected = json!([{"name": "a", "port": 1, "new": 1}, {"name": "b", "new": 2}]);
        assert_eq!(patched(&raw, &before, &after), expected);

        // An element that cannot be found gets no fields of another one.
        let raw = json!([{"port": 2, "new": 2}, {"port": 1, "new": 1}]);
        let before = json!([{"port": 1}, {"port": 2}]);
        let after = json!([{"port": 1}, {"port": 2}, {"port": 3}]);
        assert_eq!(patched(&raw, &before, &after), after);

        let raw = json!([{"at": 1, "in": [[2]], "new": 1}]);
        let before = json!([{"at": 1.0, "in": [[2.0]]}]);
        let after = json!([{"at": 1.0, "in": [[2.0]]}, {"at": 2.0, "in": []}]);
        let expected = json!([{"at": 1, "in": [[2]], "new": 1}, {"at": 2.0, "in": []}]);
        assert_eq!(patched(&raw, &before, &after), expected);
    }

    /// `value` with the fields of the type. The names of the other fields begin with `x`. A list is a sorted set if its
    /// elements can be told apart.
    fn typed(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let known = fields
                    .iter()
                    .filter(|(key, _)| !key.starts_with('x'))
                    .map(|(key, value)| (key.clone(), typed(value)));
                Value::Object(known.collect())
            }
            Value::Array(values) => {
                let mut elements: Vec<_> = values.iter().map(typed).collect();
                let keys: BTreeSet<_> = elements.iter().filter_map(key).collect();
                if keys.len() == elements.len() {
                    elements.sort_by_cached_key(key);
                }
                Value::Array(elements)
            }
            scalar => scalar.clone(),
        }
    }

    /// A scalar, or the name of an object.
    fn key(element: &Value) -> Option<String> {
        let value = if element.is_object() {
            identity(element)?
        } else {
            element
        };
        let is_scalar = !value.is_object() && !value.is_array();
        is_scalar.then(|| value.to_string())
    }

    /// Whether `laid` has all fields of `raw` that the type does not have, in every object that both have.
    fn keeps(raw: &Value, laid: &Value) -> bool {
        match (raw, laid) {
            (Value::Object(raw), Value::Object(laid)) => raw.iter().all(|(key, value)| {
                if key.starts_with('x') {
                    laid.get(key) == Some(value)
                } else {
                    laid.get(key).is_none_or(|laid| keeps(value, laid))
                }
            }),
            _ => true,
        }
    }

    fn object() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3).prop_map(Value::from),
            "[ab/~]{0,2}".prop_map(Value::from),
        ];
        let value = scalar.prop_recursive(4, 40, 4, |inner| {
            let key = prop_oneof![Just("name".to_owned()), "[abx~/]{1,2}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[abcx]{1,2}", value, 0..5)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    /// `value` without some elements of its lists.
    fn thinned(value: &Value, stays: &mut impl Iterator<Item = bool>) -> Value {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter();
                let left = fields.map(|(key, value)| (key.clone(), thinned(value, stays)));
                Value::Object(left.collect())
            }
            Value::Array(values) => {
                let mut left = Vec::new();
                for value in values {
                    if stays.next() == Some(true) {
                        left.push(thinned(value, stays));
                    }
                }
                Value::Array(left)
            }
            scalar => scalar.clone(),
        }
    }

    /// An object, and another one or the same with shorter lists.
    fn objects() -> impl Strategy<Value = (Value, Value)> {
        let stays = prop::collection::vec(any::<bool>(), 9);
        (object(), prop::option::of(object()), stays).prop_map(|(raw, other, stays)| {
            let after = other.unwrap_or_else(|| thinned(&raw, &mut stays.into_iter().cycle()));
            (raw, after)
        })
    }

    proptest! {
        #[test]
        fn a_patch_has_the_defaults_and_keeps_unknown_fields((raw, after) in objects()) {
            let (before, after) = (typed(&raw), typed(&after));
            let made = patched(&raw, &before, &after);
            prop_assert_eq!(typed(&made), after);
            prop_assert!(keeps(&raw, &made), "{} lacks something of {}", made, raw);
            prop_assert_eq!(patched(&raw, &before, &before), raw);
        }
    }
}
