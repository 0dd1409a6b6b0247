//! A document with the place of each value in the text.

use std::{collections::BTreeMap, fmt};

use anyhow::{Result, bail};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_yaml::Spanned;

/// A value with the line of each field and each item.
#[derive(Debug)]
pub(super) enum Node {
    Fields(BTreeMap<String, Spanned<Node>>),
    Items(Vec<Spanned<Node>>),
    Text(String),
    /// A boolean, a number or null.
    Other(String),
}

impl Node {
    /// The line of the value at `path`, or of the deepest value on the way to it, and how many parts of the path lead
    /// there. An item of a list is named by its field `name`, by its text, or by its number.
    pub fn line(&self, path: &[&str]) -> Option<(u64, usize)> {
        let (first, rest) = path.split_first()?;
        let found = match self {
            Self::Fields(fields) => fields.get(*first),
            Self::Items(items) => {
                let mut named = items.iter().filter(|item| item.value.is_called(first));
                let index = first.parse::<usize>();
                named.next().or_else(|| items.get(index.ok()?))
            }
            Self::Text(_) | Self::Other(_) => None,
        }?;
        Some(match found.value.line(rest) {
            Some((line, depth)) => (line, depth + 1),
            None => (found.referenced.line(), 1),
        })
    }

    fn is_called(&self, name: &str) -> bool {
        match self {
            Self::Fields(fields) => {
                let own = fields.get("name").map(|field| &field.value);
                matches!(own, Some(Self::Text(text)) if text == name)
            }
            Self::Text(text) => text == name,
            Self::Items(_) | Self::Other(_) => false,
        }
    }

    /// Refuses a list of names, such as `required: [n]`, if an entry is not a text for YAML 1.1, which kubectl reads.
    pub fn check_names(&self) -> Result<()> {
        match self {
            Self::Fields(fields) => {
                for (name, field) in fields {
                    match (name.as_str(), &field.value) {
                        // Values, in which `required` can mean something else.
                        ("default" | "enum" | "example", _) => {}
                        ("required" | "x-kubernetes-list-map-keys", Self::Items(names)) => {
                            names.iter().try_for_each(check_name)?;
                        }
                        (_, inner) => inner.check_names()?,
                    }
                }
                Ok(())
            }
            Self::Items(items) => items.iter().try_for_each(|item| item.value.check_names()),
            Self::Text(_) | Self::Other(_) => Ok(()),
        }
    }
}

fn check_name(name: &Spanned<Node>) -> Result<()> {
    match &name.value {
        Node::Other(value) => {
            let line = name.referenced.line();
            bail!("line {line} cannot be read: YAML reads this name as `{value}`: put it in quotes")
        }
        inner => inner.check_names(),
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
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Other(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Other(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Other(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Other(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other("null".to_owned()))
    }
}
