//! Three-way reconcile: (base, ours, theirs) -> [`Plan`]. Pure: reads nothing but its arguments.
//!
//! base is what the tool wrote last, ours what is on disk, theirs the new render.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use clap::ValueEnum;

pub use self::policy::{Choice, Policy};
use self::{
    line_ends::LineEnds,
    markers::{Marked, Take},
    merge::Merge,
};
use crate::templates;

mod line_ends;
pub mod markers;
mod merge;
mod policy;
#[cfg(test)]
mod tests;

/// Project-relative path with `/` between its parts, such as `src/api/mod.rs`.
pub type Path = String;

/// Texts by path: what was written last (base), what is on disk (ours), or the new render (theirs).
pub type Texts = BTreeMap<Path, String>;

/// Who owns a file after it was first written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The user and the tool both change it: merged line by line.
    Merged,
    /// `make manifests` rewrites it from the operator's code: once it differs from the last render
    /// it is kept.
    Derived,
}

impl Class {
    /// The class of the file at `path`. It depends on nothing else, because of a file that is no
    /// longer rendered only the path is known.
    pub fn of(path: &str) -> Self {
        if templates::has(path, "derived") {
            Self::Derived
        } else {
            Self::Merged
        }
    }
}

/// What becomes of lines that cannot be merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Show them, and write nothing
    #[default]
    Abort,
    /// Keep the user's lines
    Ours,
    /// Take rscaffold's lines
    Theirs,
    /// Write both, between git's conflict markers
    Markers,
}

/// What has to be done to each file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// By path, for every path of base and theirs. What else the user has is not the tool's
    /// business.
    pub changes: BTreeMap<Path, Change>,
    /// Whether derived files are not what the operator's code says, so that `make manifests` has to
    /// be run.
    pub is_stale: bool,
}

impl Plan {
    /// The files that stop the plan from being applied.
    pub fn conflicts(&self) -> impl Iterator<Item = (&Path, &Conflict)> {
        self.changes
            .iter()
            .filter_map(|(path, change)| match change {
                Change::Conflict(conflict) => Some((path, conflict)),
                _ => None,
            })
    }

    /// Whether every file stays as it is.
    pub fn is_noop(&self) -> bool {
        self.changes
            .values()
            .all(|change| matches!(change, Change::Keep(_) | Change::Unchanged))
    }
}

/// What has to be done to one file. A text is the file's whole new text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Create(String),
    /// It becomes the tool's text, and no line of the user's goes unasked.
    Update(String),
    /// Both changed it: it gets the changes of both.
    Merge(String),
    /// The same, with conflict markers for the user to resolve.
    Mark(String),
    /// It differs from the tool's text and stays as it is.
    Keep(Kept),
    /// It goes.
    Delete,
    /// It is the tool's text already, or gone already.
    Unchanged,
    /// It cannot be merged, and `--on-conflict=abort` holds.
    Conflict(Conflict),
}

impl Change {
    /// The text to write, if any.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Create(text) | Self::Update(text) | Self::Merge(text) | Self::Mark(text) => {
                Some(text)
            }
            Self::Keep(_) | Self::Delete | Self::Unchanged | Self::Conflict(_) => None,
        }
    }
}

/// Why a file that differs from the tool's text stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The user changed it, and the tool has nothing new for it.
    Edited,
    /// The user removed it, and the tool has nothing new for it.
    Removed,
    /// It conflicts with what the tool has, and `--on-conflict=ours` holds.
    Ours,
    /// It has conflict markers, for the user to resolve.
    Marked,
    /// `make manifests` owns it, and has to be run because the render changed.
    Stale,
}

/// A file that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What happened to it.
    pub reason: Reason,
    /// The lines that clash, in the file's order.
    pub hunks: Vec<Hunk>,
}

/// How a conflict came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The user and the tool changed the same lines.
    BothChanged,
    /// The file was there before the tool wrote one.
    Untracked,
    /// The user removed the file, the tool changes it.
    Removed,
    /// The user changed the file, the tool removes it.
    Dropped,
}

/// Lines that clash. They come without their line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Where they begin in the user's file, counted from 1.
    pub line: usize,
    /// As the tool wrote them last.
    pub base: Vec<String>,
    /// As the user has them.
    pub ours: Vec<String>,
    /// As the tool has them now.
    pub theirs: Vec<String>,
}

/// Plans how the disk (`ours`) becomes the render (`theirs`) without losing what the user changed
/// since `base`.
///
/// Whatever the plan, the next base is `theirs`: once it is applied, a second one changes nothing.
pub fn reconcile(base: &Texts, ours: &Texts, theirs: &Texts, on_conflict: OnConflict) -> Plan {
    let paths: BTreeSet<&Path> = base.keys().chain(theirs.keys()).collect();
    let mut plan = Plan::default();
    for path in paths {
        let file = File {
            base: base.get(path).map(String::as_str),
            ours: ours.get(path).map(String::as_str),
            theirs: theirs.get(path).map(String::as_str),
            class: Class::of(path),
            content: Content::of(path),
        };
        let change = file.change(on_conflict);
        // What goes may go on under another name, for which the tool knows its own text alone.
        plan.is_stale |= match change {
            Change::Keep(Kept::Stale) => true,
            Change::Delete => file.class == Class::Derived && file.base != file.ours,
            _ => false,
        };
        plan.changes.insert(path.clone(), change);
    }
    plan
}

/// A file that git left open, settled by the lines of both sides.
#[derive(Debug)]
pub struct Settled {
    /// What it is settled to.
    pub ours: String,
    /// The same without what the user changed elsewhere in it.
    pub base: String,
}

/// Settles what git left open in a file, where nothing but lines of the tool are in question: those
/// of `base`, in which git has taken the lines that it wrote on either side.
///
/// `None` if there are others: they are the user's, and so is the decision.
pub fn settle(base: &str, marked: &Marked) -> Option<Settled> {
    let (ours, ranges) = marked.with_ranges(Take::Both);
    let (plain, _) = LineEnds::strip(&ours);
    let known: BTreeSet<&str> = base.lines().collect();
    let lines: Vec<&str> = plain.lines().collect();
    let mut open = ranges.iter().flat_map(|range| &lines[range.clone()]);
    if !open.all(|line| known.contains(line)) {
        return None;
    }
    // What git took of the record is not in its order, and may be there twice: where both sides
    // were taken, a difference from it tells nothing.
    let is_elsewhere = |lines: &Range<usize>| {
        let touches = |it: &Range<usize>| lines.start <= it.end && it.start <= lines.end;
        !ranges.iter().any(touches)
    };
    let base = merge::undo(base, &plain, is_elsewhere);
    Some(Settled { ours, base })
}

/// The three states of one file; `None` where it does not exist.
#[derive(Clone, Copy)]
struct File<'a> {
    base: Option<&'a str>,
    ours: Option<&'a str>,
    theirs: Option<&'a str>,
    class: Class,
    content: Content,
}

/// What tells how to merge a file that was there before the tool wrote one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Nobody wants code to be mixed with other code that it has a line in common with.
    Code,
    /// Each line stands for itself, so that all of both can be had.
    Patterns,
    /// What is known of neither.
    Text,
}

impl Content {
    fn of(path: &str) -> Self {
        if templates::has(path, "patterns") {
            Self::Patterns
        } else if templates::has(path, "code") {
            Self::Code
        } else {
            Self::Text
        }
    }
}

impl File<'_> {
    fn change(self, on_conflict: OnConflict) -> Change {
        match (self.ours, self.theirs) {
            (None, None) => Change::Unchanged,
            (None, Some(theirs)) => self.missing(theirs, on_conflict),
            (Some(ours), None) => self.dropped(ours, on_conflict),
            (Some(ours), Some(theirs)) => self.present(ours, theirs, on_conflict),
        }
    }

    /// Not on disk.
    fn missing(self, theirs: &str, on_conflict: OnConflict) -> Change {
        match (self.base, self.class) {
            (None, _) => Change::Create(theirs.to_owned()),
            (Some(base), _) if base == theirs => Change::Keep(Kept::Removed),
            (Some(_), Class::Derived) => Change::Keep(Kept::Stale),
            (Some(base), Class::Merged) => {
                let merge = Merge::nothing(base, "", theirs);
                match on_conflict {
                    OnConflict::Abort => Change::Conflict(Conflict {
                        reason: Reason::Removed,
                        hunks: merge::hunks(base, theirs, |it| Hunk {
                            theirs: it.ours,
                            ours: Vec::new(),
                            ..it
                        }),
                    }),
                    OnConflict::Ours => Change::Keep(Kept::Ours),
                    OnConflict::Theirs => Change::Create(theirs.to_owned()),
                    OnConflict::Markers => Change::Mark(merge.marked()),
                }
            }
        }
    }

    /// On disk, but no longer rendered.
    fn dropped(self, ours: &str, on_conflict: OnConflict) -> Change {
        let (ours, ends) = LineEnds::strip(ours);
        match (self.base, self.class) {
            (None, _) => Change::Unchanged,
            (Some(_), Class::Derived) => Change::Delete,
            (Some(base), _) if base == ours => Change::Delete,
            (Some(base), Class::Merged) => {
                let merge = Merge::nothing(base, &ours, "");
                match on_conflict {
                    OnConflict::Abort => Change::Conflict(Conflict {
                        reason: Reason::Dropped,
                        hunks: merge::hunks(base, &ours, |it| it),
                    }),
                    OnConflict::Ours => Change::Keep(Kept::Ours),
                    OnConflict::Theirs => Change::Delete,
                    OnConflict::Markers => Change::Mark(ends.restore(merge.marked())),
                }
            }
        }
    }

    /// On disk and rendered.
    fn present(self, ours: &str, theirs: &str, on_conflict: OnConflict) -> Change {
        let (ours, ends) = LineEnds::strip(ours);
        match (self.base, self.class) {
            _ if ours == theirs => Change::Unchanged,
            (Some(base), _) if base == ours => Change::Update(ends.restore(theirs.to_owned())),
            (Some(base), _) if base == theirs => Change::Keep(Kept::Edited),
            (_, Class::Derived) => Change::Keep(Kept::Stale),
            (base, Class::Merged) => {
                let merge = match base {
                    None if self.content == Content::Code => Merge::nothing("", &ours, theirs),
                    base => Merge::of(base.unwrap_or_default(), &ours, theirs),
                };
                let takes_both = base.is_none() && self.content == Content::Patterns;
                let text = match on_conflict {
                    OnConflict::Ours => merge.ours(),
                    _ if merge.is_clean() => merge.ours(),
                    _ if takes_both => merge.both(),
                    OnConflict::Abort => {
                        let reason = base.map_or(Reason::Untracked, |_| Reason::BothChanged);
                        return Change::Conflict(merge.conflict(reason));
                    }
                    OnConflict::Theirs => merge.theirs(),
                    OnConflict::Markers => return Change::Mark(ends.restore(merge.marked())),
                };
                if text == ours {
                    Change::Keep(if merge.is_clean() {
                        Kept::Edited
                    } else {
                        Kept::Ours
                    })
                } else if text == theirs {
                    Change::Update(ends.restore(text))
                } else {
                    Change::Merge(ends.restore(text))
                }
            }
        }
    }
}
