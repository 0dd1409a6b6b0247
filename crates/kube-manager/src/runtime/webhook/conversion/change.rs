//! The differences between an object and the result of its conversion back, as changes that can be applied again later.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The key fields of a list item, with their values.
pub type Keys = Map<String, Value>;

/// A segment of a path: it leads from a value to a part of the value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum PathSegment {
    /// To a field of an object.
    Field(String),
    /// To the item of a list that has these keys.
    Item(Keys),
}

/// A path as clients know it, such as `spec.chapters[one].note`.
pub fn display(path: &[PathSegment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            PathSegment::Field(name) if text.is_empty() => text.push_str(name),
            PathSegment::Field(name) => {
                text.push('.');
                text.push_str(name);
            }
            PathSegment::Item(keys) => {
                let values: Vec<_> = keys
                    .values()
                    .map(|value| match value.as_str() {
                        Some(text) => text.to_owned(),
                        None => value.to_string(),
                    })
                    .collect();
                text.push_str(&format!("[{}]", values.join(",")));
            }
        }
    }
    text
}

/// The change of a value in an object.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ValueChange {
    /// Where it is.
    pub path: Vec<PathSegment>,
    /// The value after the conversion back; `None` if it is missing there.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub from: Option<Value>,
    /// The value before; `None` if it was missing.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub to: Option<Value>,
    /// The position of an item in its list, if the item is missing after the conversion back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ItemPosition>,
}

/// The position of an item in its list.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ItemPosition {
    /// The index.
    at: usize,
    /// The previous item; `None` for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Keys>,
}

/// Reads a value that is there, `null` too.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The changes that turn `back` into `was`. Both values have the same `schema`. The items of a list of type `map` are
/// compared by their keys; any other list is compared as a whole.
pub fn between(schema: &Value, back: &Value, was: &Value) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    compare(schema, back, was, &mut Vec::new(), &mut changes);
    changes
}

fn compare(
    schema: &Value,
    back: &Value,
    was: &Value,
    path: &mut Vec<PathSegment>,
    changes: &mut Vec<ValueChange>,
) {
    match (back, was) {
        (Value::Object(back), Value::Object(was)) => {
            for (name, back) in back {
                path.push(PathSegment::Field(name.clone()));
                match was.get(name) {
                    Some(was) => compare(field(schema, name), back, was, path, changes),
                    None => changes.push(ValueChange::new(path, Some(back), None)),
                }
                path.pop();
            }
            for (name, was) in was.iter().filter(|(name, _)| !back.contains_key(*name)) {
                path.push(PathSegment::Field(name.clone()));
                changes.push(ValueChange::new(path, None, Some(was)));
                path.pop();
            }
        }
        (Value::Array(back), Value::Array(was)) if back != was => {
            match Lists::new(schema, back, was) {
                Some(lists) => lists.compare(&schema["items"], path, changes),
                None => changes.push(whole(path, back, was)),
            }
        }
        (back, was) if is_same(back, was) => {}
        (back, was) => changes.push(ValueChange::new(path, Some(back), Some(was))),
    }
}

fn whole(path: &[PathSegment], back: &[Value], was: &[Value]) -> ValueChange {
    let [from, to] = [back, was].map(|list| Some(Value::Array(list.to_vec())));
    ValueChange {
        path: path.to_vec(),
        from,
        to,
        place: None,
    }
}

/// The schema of a field of an object, or of a value of a map.
pub fn field<'a>(schema: &'a Value, name: &str) -> &'a Value {
    match &schema["properties"][name] {
        Value::Null => &schema["additionalProperties"],
        schema => schema,
    }
}

/// Whether two values mean the same: `1` is `1.0`.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() != b.is_f64() => {
            a.as_f64() == b.as_f64()
        }
        _ => a == b,
    }
}

/// Two lists whose items have keys.
struct Lists<'a> {
    back: Keyed<'a>,
    was: Keyed<'a>,
}

impl<'a> Lists<'a> {
    /// `None` if `schema` names no keys, an item has no key, two items have the same key, or the common items have
    /// different orders.
    fn new(schema: &Value, back: &'a [Value], was: &'a [Value]) -> Option<Self> {
        let names = key_names(schema)?;
        let (back, was) = (Keyed::new(back, &names)?, Keyed::new(was, &names)?);
        let common = back.items.iter().filter_map(|(keys, _)| was.position(keys));
        let is_ordered = common.is_sorted();
        is_ordered.then_some(Self { back, was })
    }

    fn compare(&self, schema: &Value, path: &mut Vec<PathSegment>, changes: &mut Vec<ValueChange>) {
        for (keys, back) in &self.back.items {
            path.push(PathSegment::Item(keys.clone()));
            match self.was.position(keys) {
                Some(position) => compare(schema, back, self.was.items[position].1, path, changes),
                None => changes.push(ValueChange::new(path, Some(back), None)),
            }
            path.pop();
        }
        for (at, (keys, was)) in self.was.items.iter().enumerate() {
            if self.back.position(keys).is_some() {
                continue;
            }
            let before = at.checked_sub(1).map(|before| &self.was.items[before]);
            let after = before.map(|(keys, _)| keys.clone());
            path.push(PathSegment::Item(keys.clone()));
            changes.push(ValueChange {
                place: Some(ItemPosition { at, after }),
                ..ValueChange::new(path, None, Some(was))
            });
            path.pop();
        }
    }
}

/// The items of a list with their keys.
struct Keyed<'a> {
    items: Vec<(Keys, &'a Value)>,
    /// The indexes of the items, by the text of their keys.
    positions: HashMap<String, usize>,
}

impl<'a> Keyed<'a> {
    /// `None` if an item has no key, or two items have the same key.
    fn new(list: &'a [Value], names: &[&str]) -> Option<Self> {
        let (mut items, mut positions) = (Vec::new(), HashMap::new());
        for (position, item) in list.iter().enumerate() {
            let keys = keys(names, item)?;
            if positions.insert(text(&keys), position).is_some() {
                return None;
            }
            items.push((keys, item));
        }
        Some(Self { items, positions })
    }

    /// The index of the item with these keys.
    fn position(&self, keys: &Keys) -> Option<usize> {
        self.positions.get(&text(keys)).copied()
    }
}

fn text(keys: &Keys) -> String {
    // This cannot fail: all keys of the JSON are texts.
    serde_json::to_string(keys).unwrap_or_default()
}

/// The names of the key fields of a list.
fn key_names(schema: &Value) -> Option<Vec<&str>> {
    if schema["x-kubernetes-list-type"] != "map" {
        return None;
    }
    let names = schema["x-kubernetes-list-map-keys"].as_array()?;
    names.iter().map(Value::as_str).collect()
}

/// The keys of `item`. A missing key has a default, which a conversion may write out.
fn keys(names: &[&str], item: &Value) -> Option<Keys> {
    let fields = item.as_object()?;
    let keys = names
        .iter()
        .map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone())));
    keys.collect()
}

impl ValueChange {
    fn new(path: &[PathSegment], from: Option<&Value>, to: Option<&Value>) -> Self {
        Self {
            path: path.to_vec(),
            from: from.cloned(),
            to: to.cloned(),
            place: None,
        }
    }

    /// Applies the change if `value` has [`Self::from`] at its place; returns whether it has.
    pub fn make(&self, value: &mut Value) -> bool {
        let Some((last, parents)) = self.path.split_last() else {
            return false;
        };
        let mut parent = Some(value);
        for segment in parents {
            parent = parent.and_then(|value| part(value, segment));
        }
        match (parent, last) {
            (Some(Value::Object(fields)), PathSegment::Field(name)) => {
                if fields.get(name) != self.from.as_ref() {
                    return false;
                }
                match &self.to {
                    Some(to) => drop(fields.insert(name.clone(), to.clone())),
                    None => drop(fields.remove(name)),
                }
                true
            }
            (Some(Value::Array(items)), PathSegment::Item(keys)) => {
                let at = items.iter().position(|item| has(item, keys));
                if at.and_then(|at| items.get(at)) != self.from.as_ref() {
                    return false;
                }
                match (at, &self.to) {
                    (Some(at), Some(to)) => items[at] = to.clone(),
                    (Some(at), None) => drop(items.remove(at)),
                    (None, Some(to)) => {
                        let after = self.place.as_ref().map(|position| position.after.as_ref());
                        let at = match after {
                            Some(None) => 0,
                            Some(Some(after)) => {
                                let before = items.iter().position(|item| has(item, after));
                                before.map_or(items.len(), |before| before + 1)
                            }
                            None => items.len(),
                        };
                        items.insert(at, to.clone());
                    }
                    (None, None) => {}
                }
                true
            }
            _ => false,
        }
    }

    /// The order of changes: an item is inserted after its previous item.
    pub fn order(&self) -> Option<usize> {
        self.place.as_ref().map(|position| position.at)
    }
}

fn part<'a>(value: &'a mut Value, segment: &PathSegment) -> Option<&'a mut Value> {
    match (value, segment) {
        (Value::Object(fields), PathSegment::Field(name)) => fields.get_mut(name),
        (Value::Array(items), PathSegment::Item(keys)) => {
            items.iter_mut().find(|item| has(item, keys))
        }
        _ => None,
    }
}

/// Whether the item of a list has these keys.
pub fn has(item: &Value, keys: &Keys) -> bool {
    keys.iter()
        .all(|(name, value)| item.get(name) == Some(value))
}
