//! The state of each file when it was read. A plan holds only as long as that state does.

use std::{cell::RefCell, collections::BTreeMap};

use anyhow::{Result, anyhow, ensure};
use cap_std::fs::{Metadata, MetadataExt};

use super::{jail::Walk, path::ProjectPath};
use crate::hint::OrHint;

/// The files that were read, and those that did not exist.
#[derive(Debug, Default)]
pub(super) struct Seen(RefCell<BTreeMap<String, File>>);

/// A file as it was when it was read last.
#[derive(Debug, Default)]
struct File {
    /// `None` if the file did not exist.
    stamp: Option<Stamp>,
    is_text: bool,
}

/// Differs after each save of a file, whether an editor overwrites the file or replaces it.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            place: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Seen {
    /// Notes that the file at `path` does not exist.
    pub(super) fn nothing(&self, path: &str) {
        self.0.borrow_mut().insert(path.to_owned(), File::default());
    }

    /// Notes that the file at `path` had this `metadata` before it was read.
    pub(super) fn file(&self, path: &str, metadata: &Metadata, is_text: bool) {
        let stamp = Some(metadata.into());
        let file = File { stamp, is_text };
        self.0.borrow_mut().insert(path.to_owned(), file);
    }

    /// Refuses to write into a file that is not text.
    pub(super) fn ensure_text(&self, path: &str) -> Result<()> {
        let seen = self.0.borrow();
        let is_other = |file: &File| file.stamp.is_some() && !file.is_text;
        ensure!(!seen.get(path).is_some_and(is_other), super::no_text(path));
        Ok(())
    }

    /// Refuses to write into a file that another program has changed since it was read: that change
    /// would be lost.
    pub(super) fn ensure_current(&self, walk: &mut Walk, path: ProjectPath) -> Result<()> {
        let now = walk.find(path)?.and_then(|place| place.metadata);
        if self
            .0
            .borrow()
            .get(path.as_str())
            .is_none_or(|file| file.stamp == now.as_ref().map(Stamp::from))
        {
            return Ok(());
        }
        Err(anyhow!(
            "`{path}` was changed by another program at the same time; nothing was written"
        ))
        .or_hint("run the command again, which looks at the file as it is now")
    }
}
