//! The state of each file when it was read. A plan is valid only while the files stay in this state.

use std::{cell::RefCell, collections::BTreeMap};

use anyhow::{Result, anyhow, ensure};
use cap_std::fs::{Metadata, MetadataExt};

use super::{jail::Walk, path::ProjectPath};
use crate::hint::OrHint;

/// The state of every path that was read, including paths without a file.
#[derive(Debug, Default)]
pub(super) struct Seen(RefCell<BTreeMap<String, File>>);

/// The state of a file when it was last read.
#[derive(Debug)]
struct File {
    /// `None` if the file did not exist.
    stamp: Option<Stamp>,
    is_text: bool,
}

/// Changes with each save of a file, whether an editor overwrites the file or replaces it.
type Stamp = ([u64; 3], [i64; 4]);

fn stamp(metadata: &Metadata) -> Stamp {
    let modified_and_changed = [
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ];
    (
        [metadata.dev(), metadata.ino(), metadata.len()],
        modified_and_changed,
    )
}

impl Seen {
    /// Records that the file at `path` was read, with its metadata at the time it was opened; `None` if the file did
    /// not exist.
    pub(super) fn note(&self, path: &str, metadata: Option<&Metadata>, is_text: bool) {
        let stamp = metadata.map(stamp);
        let file = File { stamp, is_text };
        self.0.borrow_mut().insert(path.to_owned(), file);
    }

    /// Whether the file at `path` was read and existed.
    pub(super) fn has(&self, path: &str) -> bool {
        let seen = self.0.borrow();
        seen.get(path).is_some_and(|file| file.stamp.is_some())
    }

    /// Checks that the file at `path` is text.
    pub(super) fn ensure_text(&self, path: &str) -> Result<()> {
        let is_text = self.0.borrow().get(path).is_none_or(|file| file.is_text);
        ensure!(
            is_text,
            "`{path}` is not UTF-8 text: convert the file or move it away, and run the command \
             again"
        );
        Ok(())
    }

    /// Checks that no other program has changed the file at `path` since it was read: writing the file would lose that
    /// change.
    pub(super) fn ensure_current(&self, walk: &mut Walk, path: ProjectPath) -> Result<()> {
        let now = walk.find(path)?.and_then(|place| place.metadata);
        let now = now.as_ref().map(stamp);
        let seen = self.0.borrow();
        if seen.get(path.as_str()).is_none_or(|file| file.stamp == now) {
            return Ok(());
        }
        Err(anyhow!(
            "`{path}` was changed by another program at the same time; nothing was written"
        ))
        .or_hint("run the command again: it reads the file again")
    }
}
