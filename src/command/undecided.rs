//! Files that have conflict markers, of this tool or of git.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _};

use anyhow::{Result, anyhow};

use crate::{
    hint::OrHint,
    project::Project,
    reconcile::{
        Change, Class, Kept, OnConflict, Path, Plan, Texts,
        markers::{Marked, Take},
        reconcile, settle,
    },
};

/// The files on disk, of which some have conflict markers.
pub struct Undecided<'a> {
    disk: &'a Texts,
    /// The files as they are without the markers.
    pub ours: Cow<'a, Texts>,
    /// Those that have some, and whether these are the tool's own.
    marked: BTreeMap<Path, bool>,
}

impl<'a> Undecided<'a> {
    /// Takes the markers out of the files on `disk`, as far as that is not for the user to do.
    ///
    /// A file that the tool marked is the user's side of it, undecided: so a command that was killed
    /// can be run again. One that git marked is settled if it `settles` and the tool's lines alone
    /// are in question; what is in question is then in `base` as it is settled.
    pub fn new(
        disk: &'a Texts,
        base: &mut Texts,
        settles: bool,
        on_conflict: OnConflict,
    ) -> Result<Self> {
        let mut undecided = Self {
            disk,
            ours: Cow::Borrowed(disk),
            marked: BTreeMap::new(),
        };
        let mut open = Vec::new();
        for (path, text) in disk {
            let Some(marked) = Marked::parse(text) else {
                continue;
            };
            let is_repeated = marked.own && on_conflict == OnConflict::Markers;
            let text = if path == Project::FILE || is_repeated {
                Some(marked.take(Take::Ours))
            } else if marked.own || !settles {
                None
            } else if Class::of(path) == Class::Derived {
                Some(marked.take(Take::Both))
            } else {
                let written = base.get(path).map_or("", String::as_str);
                settle(written, &marked).map(|settled| {
                    base.insert(path.clone(), settled.base);
                    settled.ours
                })
            };
            if let Some(text) = text {
                undecided.ours.to_mut().insert(path.clone(), text);
                undecided.marked.insert(path.clone(), marked.own);
            } else {
                open.push((path, marked));
            }
        }
        ensure_none(&open, settles)?;
        Ok(undecided)
    }

    /// Has `plan`, which knows the files without markers alone, do justice to those that have some.
    pub fn settle(&self, plan: &mut Plan, base: &Texts, theirs: &Texts, on_conflict: OnConflict) {
        if self.marked.is_empty() {
            return;
        }
        let mut as_they_are = reconcile(base, self.disk, theirs, on_conflict);
        for (path, own) in &self.marked {
            let text = |texts: &Texts| texts.get(path).cloned().unwrap_or_default();
            let as_it_is = as_they_are.changes.remove(path);
            let Some(change) = plan.changes.get_mut(path) else {
                continue;
            };
            *change = match (&*change, as_it_is) {
                // A command that was killed is run again.
                (Change::Mark(text), _) if self.disk.get(path) == Some(text) => {
                    Change::Keep(Kept::Marked)
                }
                // What is new goes around what is undecided, if it can.
                (change, Some(Change::Mark(_))) if *own => change.clone(),
                (_, Some(Change::Keep(_))) if *own => Change::Keep(Kept::Marked),
                (_, Some(change)) if *own => change,
                // One that is stale is for `make manifests` to write, and until then as new.
                (Change::Unchanged | Change::Keep(Kept::Stale), _) => Change::Update(text(theirs)),
                (Change::Keep(_), _) => Change::Merge(text(&self.ours)),
                (change, _) => change.clone(),
            };
        }
    }
}

/// Refuses markers that are `open`, because only the user knows what shall be there.
fn ensure_none(open: &[(&Path, Marked)], settles: bool) -> Result<()> {
    let Some((_, first)) = open.first() else {
        return Ok(());
    };
    let mut list = String::new();
    for (path, marked) in open {
        let _ = write!(list, "\n  {path}:{}", marked.line);
    }
    let hint = if first.own || settles {
        "decide between the lines, and run the command again"
    } else {
        "`rscaffold apply` settles the lines that are rscaffold's; those that are yours are for you \
         to decide"
    };
    Err(anyhow!("there are conflict markers in{list}")).or_hint(hint)
}
