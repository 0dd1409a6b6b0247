//! Collects what could not be taken over.

use std::{collections::HashSet, str::FromStr};

use anyhow::Error;

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
    /// Records what could not be taken over.
    pub fn add(&mut self, text: impl Into<String>) {
        let item = text.into();
        if self.seen.insert(item.clone()) {
            self.items.push(item);
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
