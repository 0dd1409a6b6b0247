//! The project's folder: only this module reads and writes its files.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};

use self::{
    jail::{Jail, Walk},
    leftovers::{BEGUN, FOLDER},
    lock::lock,
    path::ProjectPath,
    seen::Seen,
    stage::{Stage, Step},
};
use super::{
    conventions::Conventions,
    reconcile::{FileChange, Plan, line_ends::is_same},
    text::Texts,
};
use crate::{
    hint::{OrHint, hint},
    limits,
};

mod git;
mod jail;
mod last_applied;
mod leftovers;
mod lock;
mod path;
mod read;
mod refusal;
mod seen;
mod snapshot;
mod stage;
#[cfg(test)]
mod tests;

pub use git::{Commit, Commits, Stages, Unmerged};
pub use last_applied::{LAST_APPLIED, Record};
pub use read::{read_input, read_text};
pub use refusal::Refusal;
pub use snapshot::{Snapshot, snapshot};

/// A project's folder, locked against other commands for as long as this value lives.
#[derive(Debug)]
pub struct WorkTree {
    conventions: &'static Conventions,
    /// The folder for the commands of git. All files are read and written through `jail`.
    root: PathBuf,
    jail: Jail,
    seen: Seen,
}

/// The top folder of the project that contains `folder`; `None` if `folder` is not in a project.
pub fn top<'a>(folder: &'a Path, conventions: &Conventions) -> Option<&'a Path> {
    folder.ancestors().find(|folder| {
        let description = read_text(&folder.join(conventions.description), limits::FILE);
        description.is_ok_and(|text| text.contains(conventions.mark))
            || folder.join(LAST_APPLIED).is_file()
    })
}

/// Whether a permission is missing.
pub fn is_denied(error: &anyhow::Error) -> bool {
    let cause: Option<&io::Error> = error.root_cause().downcast_ref();
    cause.is_some_and(|cause| cause.kind() == ErrorKind::PermissionDenied)
}

/// Adds the folder `root` and the permission that is missing there to the error of a write.
fn or_permission(written: Result<()>, root: &Path) -> Result<()> {
    if let Err(error) = &written
        && hint(error).is_none()
        && is_denied(error)
    {
        return written.or_hint(format!(
            "you need the permission to write in the folder `{}` and in those below: `ls -ld` \
             shows who has it",
            root.display()
        ));
    }
    written
}

impl WorkTree {
    /// Opens the folder `root`, which must exist. Changes nothing in the folder.
    ///
    /// # Errors
    /// When the folder cannot be opened, or another command keeps it locked for several seconds.
    pub fn open(root: impl Into<PathBuf>, conventions: &'static Conventions) -> Result<Self> {
        let root = root.into();
        let folder = lock(&root, lock::PATIENCE)?;
        Ok(Self {
            conventions,
            root,
            jail: Jail::new(folder),
            seen: Seen::default(),
        })
    }

    /// What is known of the files in the folder.
    pub fn conventions(&self) -> &'static Conventions {
        self.conventions
    }

    /// The text of the description; `None` in a folder without a project.
    ///
    /// # Errors
    /// As [`WorkTree::ours`].
    pub fn description(&self) -> Result<Option<String>> {
        self.read_text(self.conventions.description)
    }

    /// The record of what was written last; empty in a folder without a project.
    ///
    /// # Errors
    /// When the record cannot be read or is damaged.
    pub fn record(&self) -> Result<Record> {
        let text = self.read_text(LAST_APPLIED)?.unwrap_or_default();
        Record::parse(&text).context(Refusal::DamagedRecord)
    }

    /// The unresolved conflicts that git left in the description, in the files at `paths`, and in the files that the records of
    /// the branches name.
    ///
    /// # Errors
    /// When git cannot be run, or the record of a commit is damaged.
    pub fn unmerged<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Result<Unmerged> {
        let description = self.conventions.description;
        let paths = paths.chain([description]).collect();
        git::unmerged(&self.root, description, &paths)
    }

    /// The files among `paths` that exist, as they are on disk.
    ///
    /// Invalid UTF-8 is replaced. Such a file can be compared, kept and removed, but
    /// [`WorkTree::apply`] refuses to write it.
    ///
    /// # Errors
    /// When a path is not a path of the project or leads out of it, or is not a readable, regular file; and when a
    /// file, or all files together, are too large.
    pub fn ours<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Result<Texts> {
        let mut texts = Texts::new();
        let mut walk = self.jail.walk();
        let mut all = limits::Total::default();
        for path in paths {
            if let Some(text) = self.read(&mut walk, path)? {
                all.add(text.len())
                    .or_hint("move away those that are not yours, and run the command again")?;
                texts.insert(path.to_owned(), self.conventions.shared(path, text));
            }
        }
        Ok(texts)
    }

    /// The paths of all files below `folder`, relative to it. Links and folders whose name begins with a dot are left out.
    pub fn below(&self, folder: &str) -> Vec<String> {
        let listed = snapshot::snapshot(&self.root.join(folder), &[], |_| false);
        // A missing or unreadable folder counts as empty.
        let files = listed.map(|listed| listed.others).unwrap_or_default();
        files.into_keys().collect()
    }

    /// Carries out `plan`, and writes `record`. `goal` is one line that tells commands with different results apart.
    ///
    /// Writes every new text to a temporary file beside the file that it replaces, before the first file changes. So a
    /// full disk or a read-only folder changes nothing. After that there are only renames, and each rename is atomic.
    ///
    /// First, the temporary files of an earlier command that was killed are removed.
    ///
    /// # Errors
    /// When the plan has a conflict, or a file cannot be written, is not UTF-8 text, or was changed
    /// since it was read.
    pub fn apply(&self, plan: &Plan, record: &Record, goal: &str) -> Result<()> {
        // Temporary files that stay do no harm.
        let _ = leftovers::remove(&self.jail);
        or_permission(self.write(plan, record, goal), &self.root)
    }

    /// Refuses a command with another goal than the one that was interrupted while it changed files. Such a command
    /// would take what the interrupted command has written for edits of the user.
    ///
    /// # Errors
    /// When a command with another goal was interrupted.
    pub fn ensure_complete(&self, goal: &str) -> Result<()> {
        let marker = format!("{FOLDER}/{BEGUN}");
        match self.read_text(&marker)? {
            Some(text) if text.lines().next() != Some(goal) => Err(anyhow!(
                "a command was interrupted while it changed files"
            ))
            .or_hint(format!(
                "run the same command again, and it completes its work; or restore the files, for \
                     example with `git restore .`, and delete `{marker}`"
            )),
            _ => Ok(()),
        }
    }

    fn write(&self, plan: &Plan, record: &Record, goal: &str) -> Result<()> {
        let stage = self.stage(plan, record, goal)?;
        let mut walk = self.jail.walk();
        for path in stage.steps.iter().filter_map(Step::path) {
            self.seen.ensure_current(&mut walk, path)?;
        }
        stage.commit()
    }

    /// The steps of [`WorkTree::apply`], in an order that lets a killed command be run again:
    /// files, record, description.
    ///
    /// Until the description is written, the same command makes the same edit of it and the same render.
    /// If the record were written before the files, an old file would look like one that the user
    /// edited, and would stay old. If `PROJECT` were written before the record, an `init` that was
    /// killed between the two would refuse to run again.
    fn stage<'a>(&'a self, plan: &'a Plan, record: &Record, goal: &'a str) -> Result<Stage<'a>> {
        if let Some((path, _)) = plan.conflicts().next() {
            bail!("`{path}` conflicts with the new text; nothing was written");
        }
        let files = plan.changes.iter();
        let changed = files.clone().filter_map(|(path, change)| {
            let is_change = *change == FileChange::Delete || change.text().is_some();
            is_change.then_some(path.as_str())
        });
        let mut stage = Stage::new(&self.jail, goal, changed.chain([LAST_APPLIED]))?;
        let description = self.conventions.description;
        let mut files: Vec<_> = files.filter(|(path, _)| *path != description).collect();
        // A file that starts as a copy of another file is written before the other file changes or is deleted. So the
        // same command still finds the other file when the user runs it again.
        files.sort_by_key(|(path, change)| (**change == FileChange::Delete, self.seen.has(path)));
        for (path, change) in files {
            if let Some(text) = change.text() {
                self.seen.ensure_text(path)?;
                ensure_readable(path, u64::try_from(text.len())?, limits::FILE)?;
            }
            match change {
                // The file is deleted already, but a command may have been killed before it removed the empty folders.
                FileChange::Unchanged if !record.texts.contains_key(path) => {
                    let path = ProjectPath::new(path)?;
                    stage.steps.push_back(Step::Prune(path));
                }
                change => stage.change(path, change)?,
            }
        }
        let mut text = Vec::new();
        record.write(&mut text)?;
        let length = text.len() as u64;
        ensure_readable(LAST_APPLIED, length, limits::RECORD)?;
        let path = ProjectPath::new(LAST_APPLIED)?;
        let mut walk = self.jail.walk();
        // git may have checked the record out with CRLF. If it were written again, git would see a change. A record of
        // another length differs anyway. It is not read, because it may be too large.
        let place = walk.find(path)?;
        let place =
            place.filter(|place| !place.is_file() || (length..2 * length).contains(&place.len()));
        let written = place.map_or(Ok(None), |place| place.read(path))?;
        let is_written = written.is_some_and(|(_, bytes)| {
            let [written, text] = [&bytes, &text].map(|bytes| String::from_utf8_lossy(bytes));
            is_same(&written, &text)
        });
        if !is_written {
            stage.write(LAST_APPLIED, &text)?;
        }
        if let Some(change) = plan.changes.get(description) {
            stage.change(description, change)?;
        }
        Ok(stage)
    }

    /// Checks that the file at `path`, which was read, is UTF-8 text.
    ///
    /// # Errors
    /// When the file is not UTF-8 text.
    pub fn ensure_text(&self, path: &str) -> Result<()> {
        self.seen.ensure_text(path)
    }

    /// The text of the file at `path`, if it exists.
    ///
    /// # Errors
    /// As [`WorkTree::ours`], and when the file is not UTF-8 text.
    pub fn read_text(&self, path: &str) -> Result<Option<String>> {
        let text = self.read(&mut self.jail.walk(), path)?;
        self.seen.ensure_text(path)?;
        Ok(text)
    }

    /// The file at `path`, if it exists. Invalid UTF-8 is replaced.
    fn read(&self, walk: &mut Walk, path: &str) -> Result<Option<String>> {
        let Some((metadata, bytes)) = walk.read(ProjectPath::new(path)?)? else {
            self.seen.note(path, None, true);
            return Ok(None);
        };
        let text = String::from_utf8(bytes);
        self.seen.note(path, Some(&metadata), text.is_ok());
        Ok(Some(text.unwrap_or_else(|error| {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })))
    }
}

/// Refuses to write a file that the next command could not read.
fn ensure_readable(path: &str, length: u64, limit: u64) -> Result<()> {
    ensure!(
        length <= limit,
        "`{path}` would have more than {}, the most that rscaffold reads; nothing was written",
        limits::size(limit)
    );
    Ok(())
}
