//! A document with the place of each value in the text.

use std::{collections::BTreeMap, fmt, iter};

use anyhow::{Error, Result, anyhow, bail};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_yaml::Spanned;

/// A value with the line of each field and each item.
#[derive(Debug)]
pub(super) enum Node {
    Fields(Fields),
    Items(Vec<Spanned<Node>>),
    Text(String),
    /// A boolean, a number or null.
    Other(String),
}

/// The fields of an object.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: BTreeMap<String, Spanned<Node>>,
    /// The first name that is not a text for YAML 1.1, and its line.
    not_text: Option<(String, u64)>,
}

/// The fields of a version of a CRD, of its columns and of CEL rules that are texts.
const TEXTS_OF_VERSION: [&str; 2] = ["deprecationWarning", "name"];
const TEXTS_OF_COLUMN: [&str; 5] = ["description", "format", "jsonPath", "name", "type"];
const TEXTS_OF_RULE: [&str; 5] = [
    "fieldPath",
    "message",
    "messageExpression",
    "reason",
    "rule",
];

impl Node {
    /// The line of the value at `path`, or of the deepest value on the way to it, and how many parts of the path lead
    /// there. An item of a list is named by its field `name`, by its text, or by its number.
    pub fn line(&self, path: &[&str]) -> Option<(u64, usize)> {
        let (first, rest) = path.split_first()?;
        let found = match self {
            Self::Fields(fields) => fields.fields.get(*first),
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
            Self::Text(text) => text == name,
            _ => self.has_text("name", name),
        }
    }

    fn field(&self, name: &str) -> Option<&Spanned<Self>> {
        match self {
            Self::Fields(fields) => fields.fields.get(name),
            _ => None,
        }
    }

    /// The value at a path of fields.
    fn at(&self, path: &[&str]) -> Option<&Self> {
        let mut node = self;
        for name in path {
            node = &node.field(name)?.value;
        }
        Some(node)
    }

    /// Whether the field `name` is this text.
    fn has_text(&self, name: &str, text: &str) -> bool {
        matches!(self.at(&[name]), Some(Self::Text(there)) if there == text)
    }

    /// The items of a list, and the values of an object.
    fn inner(&self) -> Box<dyn Iterator<Item = &Spanned<Self>> + '_> {
        match self {
            Self::Fields(fields) => Box::new(fields.fields.values()),
            Self::Items(items) => Box::new(items.iter()),
            Self::Text(_) | Self::Other(_) => Box::new(iter::empty()),
        }
    }

    /// The items of the list in the field `name`.
    fn items(&self, name: &str) -> &[Spanned<Self>] {
        match self.at(&[name]) {
            Some(Self::Items(items)) => items,
            _ => &[],
        }
    }

    /// Refuses a CRD in which a name or a text is another value for YAML 1.1, which kubectl reads: `required: [n]`.
    pub fn check_names(&self) -> Result<()> {
        if self.has_text("kind", "List") {
            let mut items = self.items("items").iter();
            return items.try_for_each(|item| item.value.check_names());
        }
        if !self.has_text("kind", "CustomResourceDefinition") {
            return Ok(());
        }
        self.check_fields()?;
        for (of, names) in [
            ("metadata", ["annotations", "labels", "name"]),
            ("spec", ["group", "names", "scope"]),
        ] {
            let mut of = self.at(&[of]).into_iter();
            of.try_for_each(|of| of.check_texts(&names))?;
        }
        let spec = self.at(&["spec"]).into_iter();
        for version in spec.flat_map(|spec| spec.items("versions")) {
            let version = &version.value;
            version.check_texts(&TEXTS_OF_VERSION)?;
            for column in version.items("additionalPrinterColumns") {
                column.value.check_texts(&TEXTS_OF_COLUMN)?;
            }
            if let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) {
                schema.check_schema()?;
            }
        }
        Ok(())
    }

    /// Refuses names of fields that are not texts. kubectl takes an integer, such as `properties: {1: ..}`.
    fn check_fields(&self) -> Result<()> {
        if let Self::Fields(Fields {
            not_text: Some((name, line)),
            ..
        }) = self
        {
            return Err(not_text(*line, name));
        }
        self.inner()
            .try_for_each(|inner| inner.value.check_fields())
    }

    /// Refuses values in the fields `names` that are not texts.
    fn check_texts(&self, names: &[&str]) -> Result<()> {
        let mut fields = names.iter().filter_map(|name| self.field(name));
        fields.try_for_each(check_text)
    }

    fn check_schema(&self) -> Result<()> {
        let Self::Fields(fields) = self else {
            return Ok(());
        };
        for (keyword, field) in &fields.fields {
            let value = &field.value;
            match keyword.as_str() {
                "default" => self.check_value(field)?,
                "enum" => value.inner().try_for_each(|item| self.check_value(item))?,
                "description" | "format" | "pattern" | "title" | "type" => check_text(field)?,
                "required" | "x-kubernetes-list-map-keys" => match value {
                    Self::Items(names) => names.iter().try_for_each(check_text)?,
                    Self::Other(null) if null == NULL => {}
                    _ => bail!(
                        "line {} cannot be read: `{keyword}` must be a list",
                        field.referenced.line()
                    ),
                },
                "x-kubernetes-validations" => {
                    let mut rules = value.inner();
                    rules.try_for_each(|rule| rule.value.check_texts(&TEXTS_OF_RULE))?;
                }
                "additionalProperties" | "items" | "not" => value.check_schema()?,
                "allOf" | "anyOf" | "oneOf" | "properties" => {
                    value
                        .inner()
                        .try_for_each(|inner| inner.value.check_schema())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses `value` if this schema has a text in its place.
    fn check_value(&self, value: &Spanned<Self>) -> Result<()> {
        match &value.value {
            Self::Other(_) if self.has_text("type", "string") => check_text(value),
            Self::Items(items) => {
                let schema = self.at(&["items"]).into_iter();
                let mut items =
                    schema.flat_map(|schema| items.iter().map(move |item| (schema, item)));
                items.try_for_each(|(schema, item)| schema.check_value(item))
            }
            Self::Fields(fields) => {
                for (name, field) in &fields.fields {
                    let property = self.at(&["properties", name]);
                    if let Some(schema) = property.or_else(|| self.at(&["additionalProperties"])) {
                        schema.check_value(field)?;
                    }
                }
                Ok(())
            }
            Self::Text(_) | Self::Other(_) => Ok(()),
        }
    }
}

const NULL: &str = "null";

/// Refuses each value in `node` that is not a text. Null is no value.
fn check_text(node: &Spanned<Node>) -> Result<()> {
    match &node.value {
        Node::Other(value) if value != NULL => Err(not_text(node.referenced.line(), value)),
        inner => inner.inner().try_for_each(check_text),
    }
}

fn not_text(line: u64, value: &str) -> Error {
    anyhow!(
        "line {line} cannot be read: YAML reads this as `{value}`, not as a text: put it in quotes"
    )
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
        let mut fields = Fields::default();
        while let Some((name, value)) = map.next_entry::<Spanned<Node>, _>()? {
            let line = name.referenced.line();
            let name = match name.value {
                Node::Text(name) => name,
                Node::Other(name) => {
                    if name.parse::<i64>().is_err() && fields.not_text.is_none() {
                        fields.not_text = Some((name.clone(), line));
                    }
                    name
                }
                Node::Fields(_) | Node::Items(_) => {
                    return Err(A::Error::custom("a text is expected"));
                }
            };
            fields.fields.insert(name, value);
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
        Ok(Node::Other(NULL.to_owned()))
    }
}
