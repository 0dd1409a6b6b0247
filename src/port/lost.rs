//! Collects what could not be taken over.

use std::{collections::HashSet, str::FromStr};

use anyhow::Error;

use crate::visible::visible;

/// What could not be taken over, and dangers in what was taken over.
#[derive(Debug, Clone, Default)]
pub(super) struct Lost {
    /// What could not be taken over, in the order of discovery, without duplicates.
    pub items: Vec<String>,
    /// Dangers in what was taken over unchanged.
    pub warnings: Vec<String>,
    seen: HashSet<String>,
}

impl Lost {
    /// Records what could not be taken over. Hidden characters are escaped.
    pub fn add(&mut self, text: impl AsRef<str>) {
        let item = visible(text.as_ref()).into_owned();
        if self.seen.insert(item.clone()) {
            self.items.push(item);
        }
    }

    /// Records a danger. Hidden characters are escaped.
    pub fn warn(&mut self, text: impl AsRef<str>) {
        self.warnings.push(visible(text.as_ref()).into_owned());
    }

    /// Records several items.
    pub fn add_all(&mut self, texts: impl IntoIterator<Item: AsRef<str>>) {
        for text in texts {
            self.add(text);
        }
    }

    /// Parses a name of the Go project. Records an invalid name, and returns `None`.
    pub fn name<T: FromStr<Err = Error>>(&mut self, what: &str, text: &str) -> Option<T> {
        match text.parse() {
            Ok(name) => Some(name),
            Err(error) => {
                self.add(format!("{what}: {error}"));
                None
            }
        }
    }
}
