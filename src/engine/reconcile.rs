//! Three-way reconcile: [`Sides`] -> [`Plan`]. Pure: depends only on its arguments.

pub mod branches;
mod entries;
pub mod line_ends;
pub mod markers;
mod merge;
mod plan;
mod policy;
mod sides;
#[cfg(test)]
mod tests;

use self::{
    line_ends::{LineEnds, is_same},
    markers::Marked,
    merge::Merge,
};
pub use self::{
    plan::{Conflict, FileChange, Hunk, Kept, Plan, Reason},
    policy::{OnConflict, Policy},
    sides::{File, Sides, Start},
};
use super::{
    conventions::{Attribute, Conventions},
    digest::is_digest,
    text::Text,
};

/// Plans how to bring the files on disk to the new render without losing the user's changes since `base`.
///
/// A merged description must describe the same as theirs. Otherwise the file has a conflict, unless the policy for its
/// path takes theirs.
///
/// With every plan, the next base is `theirs`. So after the plan is applied, a second plan changes nothing.
pub fn reconcile(sides: &Sides, policy: &Policy) -> Plan {
    let mut plan = Plan::default();
    for (path, file) in sides.files() {
        let case = Case {
            conventions: sides.conventions(),
            path,
            file,
            ours: file.ours(),
        };
        let disk = file.disk.as_ref().map(Text::content);
        let on_conflict = policy.of(path);
        let change = if let Some(conflict) = &file.clash {
            FileChange::Conflict(conflict.clone())
        } else if file.is_marked {
            // Markers of an earlier command stay, and new lines are merged around them.
            match case.change(OnConflict::Abort) {
                FileChange::Keep(_) | FileChange::Unchanged => FileChange::Keep(Kept::Marked),
                change => change,
            }
        } else {
            case.change(on_conflict)
        };
        // Even if the file on disk has this text already, `make manifests` will write another one.
        let is_stale = change == FileChange::Keep(Kept::Stale);
        let mut change = case.on_disk(change);
        if !matches!(change, FileChange::Conflict(_))
            && let Some(text) = change.after(disk)
            && case.contradicts(text)
        {
            change = case.keep_settings(on_conflict);
        }
        // The file may reappear at another path, with only the tool's text.
        let is_edited = file.base.as_ref().map(Text::content) != file.ours();
        let is_dropped = change == FileChange::Delete && case.has(Attribute::Derived) && is_edited;
        plan.is_stale |= is_stale || is_dropped;
        let is_marked = matches!(change, FileChange::Mark(_) | FileChange::Keep(Kept::Marked));
        if is_marked || file.is_marked && change != FileChange::Delete {
            plan.marked.insert(path.to_owned());
        }
        plan.changes.insert(path.to_owned(), change);
    }
    plan
}

/// Applies to `ours` the changes from `base` to `theirs`, for a file with this start; `None` if both sides changed the
/// same lines.
pub fn adapted(base: &str, ours: &str, theirs: &str, start: Start) -> Option<String> {
    let (ours, ends) = LineEnds::strip(ours);
    let merge = match start {
        Start::Render => Merge::of(base, &ours, theirs),
        Start::Carried => Merge::of(base, &ours, theirs).beside(),
        Start::Copied => return Some(ends.restore(&merge::copied(base, &ours, theirs))),
    };
    merge.is_clean().then(|| ends.restore(&merge.ours()))
}

/// The text of a new file that starts as a copy of the file with `base` and `ours`: the names of `theirs`, and the lines
/// of the user. Where both changed a line, the line of the user stays: the new file does not exist yet, so
/// nobody can resolve a conflict in it.
pub fn copied(base: &str, ours: &str, theirs: &str) -> String {
    let (ours, ends) = LineEnds::strip(ours);
    ends.restore(&merge::copied(base, &ours, theirs))
}

/// A file, with the user's version that is to be merged.
#[derive(Clone, Copy)]
struct Case<'a> {
    conventions: &'static Conventions,
    path: &'a str,
    file: &'a File,
    ours: Option<&'a str>,
}

impl Case<'_> {
    fn base(&self) -> Option<&str> {
        self.file.base.as_ref().map(Text::content)
    }

    fn has(&self, attribute: Attribute) -> bool {
        (self.conventions.has)(self.path, attribute)
    }

    fn change(self, on_conflict: OnConflict) -> FileChange {
        let change = match (self.ours, &self.file.theirs) {
            (None, None) => FileChange::Unchanged,
            (None, Some(theirs)) => self.missing(theirs),
            (Some(ours), None) => self.dropped(ours, on_conflict),
            (Some(ours), Some(theirs)) => self.present(ours, theirs.content(), on_conflict),
        };
        // A killed command may have written the markers already.
        if on_conflict == OnConflict::Markers
            && let Some(ours) = self.ours
            && self.base() != Some(&*LineEnds::strip(ours).0)
            && let Some(marked) = Marked::parse(ours)
            && marked.own
        {
            let resolved = Case {
                ours: Some(&marked.ours),
                ..self
            };
            if let FileChange::Mark(text) = resolved.change(on_conflict)
                && text.content() == ours
            {
                return FileChange::Keep(Kept::Marked);
            }
        }
        change
    }

    /// Converts `change`, a change of the user's version, to a change of the file on disk. The two differ for a file
    /// that starts as a copy of another file, for a file that git left unmerged, and for an input of the command.
    fn on_disk(self, change: FileChange) -> FileChange {
        let disk = self.file.disk.as_ref().map(Text::content);
        if self.ours == disk || matches!(change, FileChange::Conflict(_)) {
            return change;
        }
        match (disk, change.after(self.ours)) {
            (disk, text) if disk == text => match change {
                FileChange::Mark(_) => FileChange::Keep(Kept::Marked),
                _ => FileChange::Unchanged,
            },
            (_, None) => FileChange::Delete,
            (Some(disk), Some(text)) if self.file.start != Start::Render => {
                FileChange::Conflict(merge::differences(Reason::Occupied, disk, text))
            }
            (_, Some(text)) => match change {
                FileChange::Mark(_) => change,
                _ if !self.file.is_given
                    && (self.file.theirs.as_ref())
                        .is_none_or(|theirs| !is_same(theirs.content(), text)) =>
                {
                    let text = text.to_owned().into();
                    match disk {
                        Some(_) => FileChange::Merge(text),
                        None => FileChange::Copy(text),
                    }
                }
                _ if disk.is_none() => FileChange::Create(text.to_owned().into()),
                _ => FileChange::Update(text.to_owned().into()),
            },
        }
    }

    /// Whether the file is the description, and `text` describes something else than `theirs`.
    fn contradicts(self, text: &str) -> bool {
        self.path == self.conventions.description
            && (self.file.theirs.as_ref().map(Text::content))
                .is_none_or(|theirs| !self.conventions.is_same_description(text, theirs))
    }

    /// The description with the layout of `ours` and the settings of `theirs`.
    fn merged_entries(self, ours: &str, theirs: &str) -> Option<String> {
        if self.path != self.conventions.description || self.file.start != Start::Render {
            return None;
        }
        let text = entries::merge(self.conventions.list, self.base()?, ours, theirs)?;
        (!self.contradicts(&text)).then_some(text)
    }

    /// The change if the user's lines would change the settings of the description: a merge of its entries, the text of
    /// `theirs`, or a conflict.
    fn keep_settings(self, on_conflict: OnConflict) -> FileChange {
        let theirs = self.file.theirs.clone().unwrap_or_default();
        if let Some(ours) = self.ours {
            let (ours, ends) = LineEnds::strip(ours);
            if let Some(text) = self.merged_entries(&ours, theirs.content()) {
                return FileChange::Merge(ends.restore(&text).into());
            }
        }
        if on_conflict == OnConflict::Theirs {
            return FileChange::Update(theirs);
        }
        let (ours, theirs) = (self.ours.unwrap_or_default(), theirs.content());
        FileChange::Conflict(merge::differences(Reason::Contradicts, ours, theirs))
    }

    /// A file that is not on disk. If the user deleted it, it stays deleted even if the render has changed.
    fn missing(self, theirs: &Text) -> FileChange {
        match self.base() {
            None => FileChange::Create(theirs.clone()),
            Some(base) if *theirs == *base => FileChange::Keep(Kept::Removed),
            Some(_) if self.has(Attribute::Derived) => FileChange::Keep(Kept::Stale),
            Some(_) => FileChange::Keep(Kept::RemovedWithNews),
        }
    }

    /// A file that is on disk, but no longer rendered.
    fn dropped(self, ours: &str, on_conflict: OnConflict) -> FileChange {
        let (ours, ends) = LineEnds::strip(ours);
        let Some(base) = self.base() else {
            return FileChange::Unchanged;
        };
        if base == ours || self.has(Attribute::Derived) {
            return FileChange::Delete;
        }
        let base = if is_digest(base) { "" } else { base };
        match on_conflict {
            OnConflict::Abort => FileChange::Conflict(merge::dropped(Reason::Dropped, base, &ours)),
            OnConflict::Ours => FileChange::Keep(Kept::Ours),
            OnConflict::Theirs => FileChange::Delete,
            OnConflict::Markers => {
                let marked = Merge::nothing(base, &ours, "").marked();
                FileChange::Mark(ends.restore(&marked).into())
            }
        }
    }

    /// A file that is on disk and rendered.
    fn present(self, ours: &str, theirs: &str, on_conflict: OnConflict) -> FileChange {
        let (ours, ends) = LineEnds::strip(ours);
        if ours == theirs {
            return FileChange::Unchanged;
        } else if self.base() == Some(&*ours) {
            return FileChange::Update(ends.restore(theirs).into());
        } else if self.base() == Some(theirs) {
            return FileChange::Keep(Kept::Edited);
        } else if self.has(Attribute::Derived) {
            return FileChange::Keep(Kept::Stale);
        } else if self.file.start == Start::Copied
            && let Some(base) = self.base()
        {
            return FileChange::Merge(ends.restore(&merge::copied(base, &ours, theirs)).into());
        }
        let is_new = self.base().is_none();
        let merge = if is_new && self.has(Attribute::Code) {
            // Do not mix two unrelated pieces of code that have only some lines in common.
            Merge::nothing("", &ours, theirs)
        } else if self.base().is_some_and(is_digest) {
            Merge::unrelated(&ours, theirs)
        } else if self.file.start != Start::Render {
            Merge::of(self.base().unwrap_or_default(), &ours, theirs).beside()
        } else {
            let lists = (self.conventions.growing)(theirs);
            let base = self.base().unwrap_or_default();
            Merge::of_lists(base, &ours, theirs, &lists).deletions()
        };
        let is_clean = merge.is_clean();
        if !is_clean
            && on_conflict != OnConflict::Ours
            && let Some(text) = self.merged_entries(&ours, theirs)
        {
            return FileChange::Merge(ends.restore(&text).into());
        }
        let text = match on_conflict {
            OnConflict::Ours => merge.ours(),
            _ if is_clean => merge.ours(),
            // The lines are independent, so the result has all lines of both.
            _ if is_new && self.has(Attribute::Patterns) => merge.both(),
            OnConflict::Abort if is_new => {
                return FileChange::Conflict(merge.conflict(Reason::Untracked));
            }
            // No other choice than theirs gives a description with the settings that the command asks for.
            OnConflict::Abort if self.path == self.conventions.description => {
                return FileChange::Conflict(merge.conflict(Reason::Contradicts));
            }
            OnConflict::Abort => return FileChange::Conflict(merge.conflict(Reason::BothChanged)),
            OnConflict::Theirs => merge.theirs(),
            OnConflict::Markers => return FileChange::Mark(ends.restore(&merge.marked()).into()),
        };
        let restored = ends.restore(&text).into();
        if text == ours {
            FileChange::Keep(if is_clean { Kept::Edited } else { Kept::Ours })
        } else if text == theirs {
            FileChange::Update(restored)
        } else {
            FileChange::Merge(restored)
        }
    }
}
