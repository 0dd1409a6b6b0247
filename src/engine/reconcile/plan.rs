//! A plan: the change to each file.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::text::Text;

/// The changes to all files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The change of each path of the sides.
    pub changes: BTreeMap<String, FileChange>,
    /// Whether derived files do not match the operator's code, so that `make manifests` must be run.
    pub is_stale: bool,
    /// Files that have conflict markers of the tool after the plan is applied.
    pub marked: BTreeSet<String>,
}

impl Plan {
    /// The files that stop the plan from being applied.
    pub fn conflicts(&self) -> impl Iterator<Item = (&String, &Conflict)> {
        let changes = self.changes.iter();
        changes.filter_map(|(path, change)| match change {
            FileChange::Conflict(conflict) => Some((path, conflict)),
            _ => None,
        })
    }

    /// Whether every file stays as it is.
    pub fn is_noop(&self) -> bool {
        self.changes
            .values()
            .all(|change| matches!(change, FileChange::Keep(_) | FileChange::Unchanged))
    }
}

/// The change to one file. A text is the whole new text of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// The file is new.
    Create(Text),
    /// The file is new, and has lines of the user from another file.
    Copy(Text),
    /// The file gets the tool's text, without loss of a line of the user, unless the user chose that.
    Update(Text),
    /// User and tool changed the file: it gets the changes of both.
    Merge(Text),
    /// The same, with conflict markers that the user must resolve.
    Mark(Text),
    /// The file differs from the tool's text and stays unchanged.
    Keep(Kept),
    /// The file is deleted.
    Delete,
    /// The file has the tool's text already, or is deleted already.
    Unchanged,
    /// The file cannot be merged, and no policy decides the conflict.
    Conflict(Conflict),
}

impl FileChange {
    /// The text to write, if any.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Create(text)
            | Self::Copy(text)
            | Self::Update(text)
            | Self::Merge(text)
            | Self::Mark(text) => Some(text.content()),
            Self::Keep(_) | Self::Delete | Self::Unchanged | Self::Conflict(_) => None,
        }
    }

    /// The text of the file after the change, if it has this text `now`; `None` if it does not exist.
    pub fn after<'a>(&'a self, now: Option<&'a str>) -> Option<&'a str> {
        self.text().or(now).filter(|_| *self != Self::Delete)
    }
}

/// Why a file that differs from the tool's text stays unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The user changed it, and the render has not changed.
    Edited,
    /// The user removed it, and the render has not changed.
    Removed,
    /// The user removed it, and the render has changed.
    RemovedWithNews,
    /// It conflicts with the render, and the policy is `--on-conflict=ours`.
    Ours,
    /// It has conflict markers that the user must resolve.
    Marked,
    /// `make manifests` writes it, and must be run because the render changed.
    Stale,
}

/// A file that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The reason of the conflict.
    pub reason: Reason,
    /// The conflicting lines, in the order of the file.
    pub hunks: Vec<Hunk>,
}

/// The reason of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The user and the tool changed the same lines.
    BothChanged,
    /// The file existed before the tool wrote one.
    Untracked,
    /// Another file exists at the path to which this file moves.
    Occupied,
    /// The merged text would not have the settings that the command asks for.
    Contradicts,
    /// Two branches that git merged changed the same lines.
    Branches,
    /// The user changed the file, the tool removes it.
    Dropped,
}

/// Conflicting lines, without line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the first line in the user's file, from 1.
    pub line: usize,
    /// The lines that the tool wrote last.
    pub base: Vec<String>,
    /// The lines of the user.
    pub ours: Vec<String>,
    /// The lines of the new render.
    pub theirs: Vec<String>,
}
