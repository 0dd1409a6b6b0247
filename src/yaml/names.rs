//! Checks the lists of names in a document.

use std::fmt::{self, Display};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A document in which each list of names has texts only.
pub(super) struct WithNames;

impl<'de> Deserialize<'de> for WithNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Names::Other.deserialize(deserializer)?;
        Ok(Self)
    }
}

/// Reads any value, and refuses a list of names, such as `required: [n]`, if an entry is not a text for YAML 1.1, which
/// kubectl reads.
#[derive(Debug, Clone, Copy)]
enum Names {
    /// Any value.
    Other,
    /// A list of names, or any value that is not a list.
    List,
    /// An entry of a list of names.
    Entry,
}

impl Names {
    fn scalar<E: de::Error>(self, value: impl Display) -> Result<(), E> {
        match self {
            Self::Other | Self::List => Ok(()),
            Self::Entry => Err(E::custom(format!(
                "YAML reads this name as `{value}`: put it in quotes"
            ))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Names {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.scalar("null")
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let entry = match self {
            Self::List => Self::Entry,
            Self::Other | Self::Entry => Self::Other,
        };
        while entries.next_element_seed(entry)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                // Values, in which `required` can mean something else.
                "default" | "enum" | "example" => _ = fields.next_value::<IgnoredAny>()?,
                "required" | "x-kubernetes-list-map-keys" => {
                    fields.next_value_seed(Self::List)?;
                }
                _ => fields.next_value_seed(Self::Other)?,
            }
        }
        Ok(())
    }
}
