//! The project's folder: the only place where its files are read and written.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    string::FromUtf8Error,
};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};

use self::{
    inside::ensure_inside,
    lock::lock,
    seen::Seen,
    stage::{Stage, Step},
};
use crate::{
    hint::OrHint,
    project::Project,
    reconcile::{Change, Plan, Texts},
};

mod holder;
mod inside;
mod last_applied;
mod leftovers;
mod lock;
mod seen;
mod stage;
#[cfg(test)]
mod tests;
mod workspace;

pub use workspace::Workspace;

/// The record of what was written last, base of the next command.
pub const LAST_APPLIED: &str = ".rscaffold/last-applied.jsonl";

/// A project's folder, locked against other commands for as long as this value lives.
#[derive(Debug)]
pub struct WorkTree {
    root: PathBuf,
    seen: Seen,
    _lock: File,
}

impl WorkTree {
    /// Opens the folder `root`, which has to exist; changes nothing in it.
    ///
    /// # Errors
    /// When the folder cannot be opened, or another command works in it for more than some seconds.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let lock = lock(&root, lock::PATIENCE)?;
        Ok(Self {
            root,
            seen: Seen::default(),
            _lock: lock,
        })
    }

    /// The text of `PROJECT`; `None` in a folder that is no project yet.
    ///
    /// # Errors
    /// As [`WorkTree::ours`].
    pub fn project(&self) -> Result<Option<String>> {
        self.read_text(Project::FILE)
    }

    /// The cargo workspace above the folder that it is part of.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn workspace(&self) -> Result<Option<Workspace>> {
        workspace::workspace(&self.root)
    }

    /// The files as they were written last, without `PROJECT`; none in a folder that is no project
    /// yet.
    ///
    /// What a user changed in `PROJECT` is the desired state and no edit to keep. All that can be
    /// merged is how it is written; the base for that is how the tool would write it.
    ///
    /// # Errors
    /// When the record cannot be read or is damaged.
    pub fn base(&self) -> Result<Texts> {
        let Some(record) = self.read_text(LAST_APPLIED)? else {
            return Ok(Texts::new());
        };
        last_applied::parse(&record)
            .with_context(|| format!("`{LAST_APPLIED}` is damaged"))
            .or_hint(
                "restore it, for example with `git restore .rscaffold`; or \
                 `rscaffold apply --rebuild-base` makes it anew, and says what that means",
            )
    }

    /// The files among `paths` that exist, as they are on disk.
    ///
    /// Of one that is not UTF-8 text, what is none is replaced: it can be told from any other, and
    /// kept or removed. [`WorkTree::apply`] refuses to write it.
    ///
    /// # Errors
    /// When one of them is not a readable, regular file, or is in a folder that leads out of the
    /// project.
    pub fn ours<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Result<Texts> {
        let mut texts = Texts::new();
        for path in paths {
            if let Some(text) = self.read(path)? {
                let text = text
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                texts.insert(path.to_owned(), text);
            }
        }
        Ok(texts)
    }

    /// Carries out `plan`, and records `theirs` as what was written last.
    ///
    /// Every text is on disk, beside the file that it replaces, before the first file changes: a
    /// full disk or a folder that cannot be written changes nothing. What is left are renames, each
    /// of them atomic.
    ///
    /// What an earlier command left behind that was killed goes first, whatever the plan.
    ///
    /// # Errors
    /// When the plan has a conflict, or a file cannot be written, is not UTF-8 text, or was changed
    /// since it was read.
    pub fn apply(&self, plan: &Plan, theirs: &Texts) -> Result<()> {
        let paths = plan.changes.keys().map(String::as_str);
        leftovers::remove(&self.root, paths.chain([LAST_APPLIED]));
        let stage = self.stage(plan, theirs)?;
        for path in stage.steps.iter().filter_map(Step::path) {
            self.seen.ensure_current(&self.root, path)?;
        }
        stage.commit()
    }

    /// The steps of [`WorkTree::apply`], in an order that lets a killed command be run again:
    /// files, record, `PROJECT`.
    ///
    /// Until `PROJECT` is written, the same command makes the same edit of it and the same render.
    /// Killed before the record is written, it finds done what is done; killed after it, all is
    /// done but `PROJECT`. Were the record written before the files, an old file would look like
    /// one that the user edited, and stay old. Were `PROJECT` written before the record, an `init`
    /// that was killed between them would refuse to run again.
    fn stage(&self, plan: &Plan, theirs: &Texts) -> Result<Stage<'_>> {
        if let Some((path, _)) = plan.conflicts().next() {
            bail!("`{path}` conflicts with what would be written; nothing was written");
        }
        let mut stage = Stage::new(&self.root)?;
        for (path, change) in &plan.changes {
            if change.text().is_some() {
                self.seen.ensure_text(path)?;
            }
            match change {
                _ if path == Project::FILE => {}
                // Gone already; but it may be that a command was killed before the folder went.
                Change::Unchanged if !theirs.contains_key(path) => stage.prune(path)?,
                change => stage.change(path, change)?,
            }
        }
        let record = last_applied::to_text(theirs)?;
        // Most often its size tells already.
        let size = fs::metadata(self.root.join(LAST_APPLIED)).map(|metadata| metadata.len());
        let may_be_same = size.is_ok_and(|size| size == record.len() as u64);
        if !may_be_same || self.read_text(LAST_APPLIED)?.as_ref() != Some(&record) {
            stage.write(LAST_APPLIED, &record)?;
        }
        if let Some(change) = plan.changes.get(Project::FILE) {
            stage.change(Project::FILE, change)?;
        }
        Ok(stage)
    }

    fn read_text(&self, path: &str) -> Result<Option<String>> {
        self.read(path)?.transpose().map_err(|_| no_text(path))
    }

    /// The file at `path`, if there is one; within, an error if it is not UTF-8 text.
    fn read(&self, path: &str) -> Result<Option<Result<String, FromUtf8Error>>> {
        ensure_inside(&self.root, path)?;
        let file = self.root.join(path);
        // Asked first, because opening a named pipe would wait for its other end.
        let metadata = match fs::metadata(&file) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                ensure!(
                    !file.is_symlink(),
                    "`{path}` is a symbolic link to nothing; remove it and run the command again"
                );
                self.seen.nothing(path);
                return Ok(None);
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => bail!(
                "`{}` is a file where a folder is needed for `{path}`; move it away \
                 and run the command again",
                self.obstacle(path).display()
            ),
            Err(error) => return Err(error).with_context(|| format!("failed to read `{path}`")),
        };
        ensure!(
            metadata.is_file(),
            "`{path}` is not a regular file; move it away and run the command again"
        );
        let bytes = fs::read(&file).with_context(|| format!("failed to read `{path}`"))?;
        let text = String::from_utf8(bytes);
        self.seen.file(path, &metadata, text.is_ok());
        Ok(Some(text))
    }

    /// The file that stands where `path` needs a folder.
    fn obstacle<'a>(&self, path: &'a str) -> &'a Path {
        let above = Path::new(path).ancestors().skip(1);
        let mut files = above.filter(|folder| self.root.join(folder).is_file());
        files.next().unwrap_or(Path::new(path))
    }
}

fn no_text(path: &str) -> Error {
    anyhow!("`{path}` is not UTF-8 text; convert it or move it away, and run the command again")
}
