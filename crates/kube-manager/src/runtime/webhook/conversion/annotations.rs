//! The annotations in which an object of one version saves the values that only another version can hold.
//!
//! Each difference has its own annotation, because server-side apply manages each annotation separately: when a field
//! manager gives up a field that only the other version has, the annotation of that field is removed, too.

use std::{cell::LazyCell, collections::BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::change::{PathSegment, ValueChange};
use crate::runtime::digest::{digest, sorted_json};

/// The annotations of an object.
pub type Annotations = Map<String, Value>;

/// How long the annotations of an object may be together, from the API server: names and values, in bytes.
pub const MOST: usize = 256 << 10;

/// The format that this release writes, and the only one that it can read.
const FORMAT: u8 = 1;

/// How long a name may be, from the API server.
const LONGEST_NAME: usize = 63;

/// The content of an annotation.
#[derive(Deserialize, Serialize)]
struct Saved {
    format: u8,
    /// The digest of the object that the annotation was written to.
    of: String,
    #[serde(flatten)]
    change: ValueChange,
}

impl Saved {
    /// Reads an annotation; `None` if another release has written it in another format.
    fn read(text: &str) -> Option<Self> {
        let saved: Self = serde_json::from_str(text).ok()?;
        (saved.format == FORMAT).then_some(saved)
    }
}

/// More changes than the annotations of an object can save.
pub struct TooLarge {
    /// How long all annotations would be together.
    pub size: usize,
    /// The place of the largest change, or of the other annotations if they are larger.
    pub largest: Vec<PathSegment>,
}

/// The changes that an object saves for a version.
pub struct Changes {
    /// In the order in which they must be applied.
    pub changes: Vec<ValueChange>,
    /// Whether the object is unchanged since then.
    pub is_as_written: bool,
}

/// The annotations for a version of a group.
pub struct ForVersion<'a> {
    pub version: &'a str,
    pub group: &'a str,
}

impl ForVersion<'_> {
    fn prefix(&self) -> String {
        format!("{}.{}/", self.version, self.group)
    }

    /// Takes the changes for this version out of the `annotations` of an object; `body` is the rest of the object.
    /// Annotations in the format of another release stay.
    pub fn take(&self, annotations: &mut Annotations, body: &Value) -> Changes {
        let prefix = self.prefix();
        let mut changes = Vec::new();
        let mut is_as_written = true;
        // Most objects save nothing.
        let of = LazyCell::new(|| digest(&sorted_json(body)));
        annotations.retain(|name, value| {
            let text = value.as_str().filter(|_| name.starts_with(&prefix));
            let saved = text.and_then(Saved::read);
            is_as_written &= saved.as_ref().is_none_or(|saved| saved.of == *of);
            let change = saved.map(|saved| saved.change);
            let stays = change.is_none();
            changes.extend(change);
            stays
        });
        changes.sort_by_key(ValueChange::order);
        Changes {
            changes,
            is_as_written,
        }
    }

    /// Adds `changes` for this version to the `annotations` of an object; `body` is the rest of the object. If there is
    /// no room for all, none is added.
    pub fn put(
        &self,
        changes: Vec<ValueChange>,
        annotations: &mut Annotations,
        body: &Value,
    ) -> Result<(), TooLarge> {
        if changes.is_empty() {
            return Ok(());
        }
        let prefix = self.prefix();
        let of = digest(&sorted_json(body));
        let mut names = BTreeSet::new();
        let mut added = Annotations::new();
        let others = ["metadata", "annotations"].map(|name| PathSegment::Field(name.to_owned()));
        let (mut longest, mut largest) = (size(annotations), others.into());
        for change in changes {
            let mut name = name(&change.path);
            while !names.insert(name.clone()) {
                name = hashed("", &name);
            }
            let saved = Saved {
                format: FORMAT,
                of: of.clone(),
                change,
            };
            // This cannot fail: all keys of the JSON are texts.
            let text = serde_json::to_string(&saved).unwrap_or_default();
            if text.len() > longest {
                (longest, largest) = (text.len(), saved.change.path);
            }
            added.insert(format!("{prefix}{name}"), text.into());
        }
        let size = size(annotations) + size(&added);
        if size > MOST {
            return Err(TooLarge { size, largest });
        }
        annotations.extend(added);
        Ok(())
    }
}

/// How long `annotations` are together, as the API server counts.
pub fn size(annotations: &Annotations) -> usize {
    let sizes = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
    sizes.sum()
}

/// The name of the annotation for a place: its path, such as `spec.colour`, where that can be a name.
fn name(path: &[PathSegment]) -> String {
    let mut parts = Vec::new();
    for segment in path {
        match segment {
            PathSegment::Field(name) => parts.push(name.clone()),
            PathSegment::Item(keys) => parts.extend(keys.values().map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })),
        }
    }
    let is_word =
        |part: &String| !part.is_empty() && part.chars().all(|char| char.is_ascii_alphanumeric());
    let name = parts.join(".");
    if name.len() <= LONGEST_NAME && parts.iter().all(is_word) {
        return name;
    }
    // This cannot fail: all keys of the JSON are texts.
    let exact = serde_json::to_string(path).unwrap_or_default();
    hashed(&name, &exact)
}

/// A name that begins like `name`, and is unique for each `exact`.
fn hashed(name: &str, exact: &str) -> String {
    let hash = digest(exact);
    let words = name.chars().map(|char| {
        if char.is_ascii_alphanumeric() {
            char
        } else {
            '.'
        }
    });
    let begin: String = words.take(LONGEST_NAME - hash.len() - 1).collect();
    match begin.trim_matches('.') {
        "" => hash,
        begin => format!("{begin}-{hash}"),
    }
}
