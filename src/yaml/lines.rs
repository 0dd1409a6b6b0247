//! Where a value is in a text.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_yaml::Spanned;

/// A value with the line of each field and each item.
pub(super) enum Node {
    Fields(BTreeMap<String, Spanned<Node>>),
    Items(Vec<Spanned<Node>>),
    Scalar(String),
}

impl Node {
    /// The line of the value at `path`, or of the deepest value on the way to it, and how many parts of the path lead
    /// there. An item of a list is named by its field `name`, or by its number.
    pub fn line(&self, path: &[&str]) -> Option<(u64, usize)> {
        let (first, rest) = path.split_first()?;
        let found = match self {
            Self::Fields(fields) => fields.get(*first),
            Self::Items(items) => {
                let mut named = items.iter();
                let named = named.find(|item| item.value.is_called(first));
                let index = first.parse::<usize>();
                named.or_else(|| items.get(index.ok()?))
            }
            Self::Scalar(_) => None,
        }?;
        Some(match found.value.line(rest) {
            Some((line, depth)) => (line, depth + 1),
            None => (found.referenced.line(), 1),
        })
    }

    fn is_called(&self, name: &str) -> bool {
        let Self::Fields(fields) = self else {
            return false;
        };
        let own = fields.get("name").map(|field| &field.value);
        matches!(own, Some(Self::Scalar(text)) if text == name)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = map.next_entry()? {
            fields.insert(name, value);
        }
        Ok(Node::Fields(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::Items(items))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Scalar(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Scalar(String::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Scalar(String::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Scalar(String::new()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Scalar(String::new()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(String::new()))
    }
}
