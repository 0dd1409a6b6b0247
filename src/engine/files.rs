//! The files of one command: collects their sides from the record, the disk and the new render, plans, and makes the
//! next record.

mod branches;
mod edits;
mod moves;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use anyhow::Result;

use super::{
    conventions::Conventions,
    digest::is_digest,
    reconcile::{FileChange, Kept, OnConflict, Plan, Policy, Sides, markers::Marked, reconcile},
    text::{Text, Texts},
    worktree::{Record, Refusal, Unmerged, WorkTree},
};

use self::edits::Given;
pub use self::{edits::Edits, moves::Sources};

/// The files that a command may change. Together with a policy they determine the plan.
#[derive(Debug)]
pub struct Files {
    conventions: &'static Conventions,
    record: Record,
    sides: Sides,
    given: Given,
}

impl Files {
    /// The files of the last render, which `record` names; those of the new render `theirs`; and the `others` among the
    /// files on disk. Reads the disk, writes nothing.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn new(
        tree: &WorkTree,
        mut record: Record,
        theirs: Texts,
        others: BTreeSet<&str>,
    ) -> Result<Self> {
        let conventions = tree.conventions();
        let mut base = mem::take(&mut record.texts);
        let mut paths = others;
        // A file with conflict markers stays known although it is no longer rendered.
        let known = base.keys().chain(theirs.keys()).chain(&record.marked);
        paths.extend(known.map(String::as_str));
        let disk = tree.ours(paths)?;
        for (path, text) in base
            .iter_mut()
            .filter(|(_, text)| is_digest(text.content()))
        {
            *text = conventions.resolve(path, text, disk.get(path).map(Text::content));
        }
        Ok(Self {
            conventions,
            record,
            sides: Sides::new(conventions, base, disk, theirs),
            given: Given::default(),
        })
    }

    /// The sides of all files.
    pub fn sides(&self) -> &Sides {
        &self.sides
    }

    /// The texts of the description that the files were rendered from last. After a merge of branches there can be
    /// several.
    pub fn descriptions(&self) -> &[String] {
        &self.record.projects
    }

    /// Sets the base of the description, of which the record has no text.
    pub fn set_description(&mut self, base: Text) {
        self.sides.at(self.conventions.description).base = Some(base);
    }

    /// Sets theirs of the file at `path` to the text that the tool wrote last. So the record of the file also stays the
    /// same, and a later command finds the change.
    pub fn exclude(&mut self, path: &str) {
        let file = self.sides.at(path);
        file.theirs = file.base.clone();
    }

    /// Resolves the conflicts that git left, which are `unmerged` for a command that resolves them, and refuses conflict
    /// markers that the user must resolve.
    ///
    /// Only markers that the tool or git wrote count. Other markers are plain text.
    ///
    /// # Errors
    /// When a file has conflict markers that stop the command.
    pub fn settle_markers(
        &mut self,
        tree: &WorkTree,
        policy: &Policy,
        unmerged: Option<&Unmerged>,
        sources: &Sources,
    ) -> Result<()> {
        let (mut own, mut others) = (BTreeMap::new(), BTreeMap::new());
        for (path, file) in self.sides.files() {
            if file.disk != file.base
                && let Some(marked) = file.marked()
            {
                let is_own = marked.own && self.record.marked.contains(path);
                let found = if is_own { &mut own } else { &mut others };
                found.insert(path.to_owned(), marked);
            }
        }
        let is_refused = |path: &str| policy.of(path) != OnConflict::Markers;
        refuse(&own, is_refused, Refusal::Marked)?;
        for path in own.keys() {
            self.sides.at(path).is_marked = true;
        }
        if let Some(unmerged) = unmerged {
            branches::settle(self.conventions, unmerged, &mut self.sides, sources)?;
        } else if !others.is_empty() {
            let written = self.sides.files().filter(|(_, file)| file.base.is_some());
            let unmerged = tree.unmerged(written.map(|(path, _)| path))?;
            let is_refused = |path: &str| unmerged.stages.contains_key(path);
            refuse(&others, is_refused, Refusal::Unmerged)?;
        }
        Ok(())
    }

    /// Gives each file that starts as another file the base and ours of that file, and the text that a command gave for
    /// it. A moved file is deleted at its old path.
    ///
    /// # Errors
    /// When the file to copy has conflict markers of the tool, or is not text.
    pub fn carry(&mut self, tree: &WorkTree, sources: &Sources) -> Result<()> {
        for (new, old) in &sources.0 {
            let source = self.sides.get(old);
            if !moves::is_source(source) {
                continue;
            }
            if source.theirs.is_some()
                && source.is_marked
                && let Some(marked) = source.marked()
            {
                refuse(&[(old.clone(), marked)].into(), |_| true, Refusal::Marked)?;
            }
            if moves::start(&mut self.sides, old, new) {
                tree.ensure_text(old)?;
            }
        }
        moves::delete_moved(&mut self.sides, sources);
        self.given
            .carry(&mut self.sides, &self.record.given, sources);
        Ok(())
    }

    /// Makes the texts of `edits` the user's version of their files. If a file had such a text before, the user's edits
    /// since then are merged with the new text. Any other file that the user edited or deleted stays as it is, unless
    /// the texts replace it.
    pub fn take_edits(&mut self, edits: &Edits) {
        let before = &self.record.given;
        self.given
            .take(self.conventions, &mut self.sides, before, edits);
    }

    /// The change of each file.
    pub fn plan(&self, policy: &Policy) -> Plan {
        reconcile(&self.sides, policy)
    }

    /// The record after `plan` is applied.
    pub fn into_record(mut self, plan: &Plan) -> Record {
        for (path, change) in &plan.changes {
            // If the file comes back from git, the changes since then are merged.
            if *change == FileChange::Keep(Kept::RemovedWithNews) {
                self.exclude(path);
            }
        }
        let mut texts = self.sides.into_theirs();
        texts.extend(self.given.rendered);
        let description = texts.remove(self.conventions.description);
        Record {
            projects: description
                .iter()
                .map(|text| text.content().to_owned())
                .collect(),
            texts: self.conventions.recorded(texts),
            marked: plan.marked.clone(),
            given: self.given.texts,
        }
    }
}

/// Returns the `refusal` of those files with conflict markers for which `is_refused` returns true.
fn refuse(
    files: &BTreeMap<String, Marked>,
    is_refused: impl Fn(&str) -> bool,
    refusal: fn(String) -> Refusal,
) -> Result<(), Refusal> {
    let refused = files.iter().filter(|(path, _)| is_refused(path));
    let places = refused.map(|(path, marked)| format!("\n  {path}:{}", marked.line));
    let places: String = places.collect();
    if places.is_empty() {
        return Ok(());
    }
    Err(refusal(places))
}
