//! Changes of files that either all get ready, or do not happen.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Write},
};

use anyhow::{Context, Result};
use cap_std::fs::{Dir, File, OpenOptions};

use super::{
    jail::{Jail, Walk},
    leftovers,
    path::ProjectPath,
};
use crate::{hint::OrHint, reconcile::Change};

/// Changes below a folder: prepared one by one, then made in the same order by [`Stage::commit`].
///
/// Dropped before that, it leaves the folder as it was.
pub(super) struct Stage<'a> {
    walk: Walk<'a>,
    names: Names,
    pub(super) steps: VecDeque<Step<'a>>,
    /// Folders that were made for the files to come, each after the one that it is in.
    folders: Vec<String>,
}

pub(super) enum Step<'a> {
    /// Renames the temporary file of this name to what is beside it at `path`.
    Write {
        path: ProjectPath<'a>,
        temporary: String,
    },
    /// Removes the file at this path, and the folders that it leaves empty.
    Remove(ProjectPath<'a>),
    /// Removes the folders above this path that are empty.
    Prune(ProjectPath<'a>),
}

impl<'a> Step<'a> {
    /// The file that changes.
    pub(super) fn path(&self) -> Option<ProjectPath<'a>> {
        match self {
            Self::Write { path, .. } | Self::Remove(path) => Some(*path),
            Self::Prune(_) => None,
        }
    }
}

impl<'a> Stage<'a> {
    pub(super) fn new(jail: &'a Jail) -> Result<Self> {
        Ok(Self {
            walk: jail.walk(),
            names: Names {
                prefix: leftovers::prefix(jail)?,
                tried: 0,
            },
            steps: VecDeque::new(),
            folders: Vec::new(),
        })
    }

    /// Prepares that `change` happens to `path`.
    pub(super) fn change(&mut self, path: &'a str, change: &Change) -> Result<()> {
        match change {
            Change::Delete => self.remove(path),
            change => change.text().map_or(Ok(()), |text| self.write(path, text)),
        }
    }

    /// Prepares that `path` gets `text`, and stays what it is: a symbolic link, executable,
    /// private.
    pub(super) fn write(&mut self, path: &'a str, text: &str) -> Result<()> {
        let path = ProjectPath::new(path)?;
        self.prepare(path, text)
            .with_context(|| format!("failed to write `{path}`"))
    }

    /// Puts `text` beside the file at `path`; beside its target if it is a symbolic link.
    fn prepare(&mut self, path: ProjectPath<'a>, text: &str) -> Result<()> {
        self.walk.make_folder(path.folder(), &mut self.folders)?;
        let place = self.walk.find(path)?.context(GONE)?;
        let (temporary, mut file) = self.names.create(place.folder)?;
        self.steps.push_back(Step::Write { path, temporary });
        // Before there is anything in it that others may not read.
        if let Some(metadata) = place.metadata {
            file.set_permissions(metadata.permissions())?;
        }
        // No fsync, which would take longer than all the rest: the kernel has the text, so no kill
        // can lose it. Only a crash of the machine within seconds can; then git has what was there,
        // and the command can be run again.
        file.write_all(text.as_bytes())?;
        Ok(())
    }

    /// Prepares that the file at `path` goes; if it is a symbolic link, the link alone.
    fn remove(&mut self, path: &'a str) -> Result<()> {
        let path = ProjectPath::new(path)?;
        self.ensure_writable(path)
            .with_context(|| format!("failed to remove `{path}`"))?;
        self.steps.push_back(Step::Remove(path));
        Ok(())
    }

    /// Makes a file beside the one at `path`, and removes it at once.
    fn ensure_writable(&mut self, path: ProjectPath) -> Result<()> {
        let folder = self.walk.folder(path.folder())?.context(GONE)?;
        let (temporary, _) = self.names.create(folder)?;
        let _ = folder.remove_file(temporary);
        Ok(())
    }

    /// Prepares that the folders above `path`, which is gone, go with it if they are empty.
    pub(super) fn prune(&mut self, path: &'a str) -> Result<()> {
        self.steps.push_back(Step::Prune(ProjectPath::new(path)?));
        Ok(())
    }

    /// Makes the changes.
    ///
    /// Those that were made before one that fails stay: to take them back would take more of what
    /// has just failed, and the same command completes them.
    pub(super) fn commit(mut self) -> Result<()> {
        let mut is_begun = false;
        while let Some(step) = self.steps.front() {
            let made = make(&mut self.walk, step);
            if is_begun {
                made.or_hint("part of it is done; the same command, run again, does the rest")?;
            } else {
                made?;
            }
            is_begun = true;
            self.steps.pop_front();
        }
        self.folders.clear();
        Ok(())
    }
}

/// What another program did when a folder that was just there is no longer.
const GONE: &str = "its folder was removed at the same time";

/// Makes `step`. Each path is looked up anew: no other way leads to a file without the risk that
/// it has become one out of the project.
fn make(walk: &mut Walk, step: &Step) -> Result<()> {
    match step {
        Step::Write { path, temporary } => walk
            .find(*path)
            .and_then(|place| {
                let place = place.context(GONE)?;
                Ok(place.folder.rename(temporary, place.folder, place.name)?)
            })
            .with_context(|| format!("failed to write `{path}`")),
        Step::Remove(path) => {
            walk.folder(path.folder())
                .and_then(|folder| Ok(folder.context(GONE)?.remove_file(path.name())?))
                .with_context(|| format!("failed to remove `{path}`"))?;
            prune(walk, *path)
        }
        Step::Prune(path) => prune(walk, *path),
    }
}

/// Removes the folders above `path` from the innermost on, until one still holds something.
fn prune(walk: &mut Walk, path: ProjectPath) -> Result<()> {
    let mut below = path.folder();
    while let Some(folder) = below {
        below = folder.folder();
        if let Some(above) = walk.folder(below)? {
            match above.remove_dir(folder.name()) {
                Err(error) if error.kind() != ErrorKind::NotFound => break,
                _ => {}
            }
        }
    }
    Ok(())
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        for step in self.steps.drain(..) {
            if let Step::Write { path, temporary } = step
                && let Ok(Some(place)) = self.walk.find(path)
            {
                let _ = place.folder.remove_file(temporary);
            }
        }
        for folder in self.folders.drain(..).rev() {
            // Refused, rightly, where a commit that failed halfway has put a file.
            if let Ok(path) = ProjectPath::new(&folder)
                && let Ok(Some(above)) = self.walk.folder(path.folder())
            {
                let _ = above.remove_dir(path.name());
            }
        }
    }
}

/// Makes temporary files, each with a name of its own.
struct Names {
    /// How the names begin.
    prefix: String,
    /// How many names were tried.
    tried: usize,
}

impl Names {
    /// A new file in `folder`, with the permissions of any new file.
    fn create(&mut self, folder: &Dir) -> io::Result<(String, File)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        loop {
            let name = format!("{}{}", self.prefix, self.tried);
            self.tried += 1;
            match folder.open_with(&name, &options) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => return Ok((name, file?)),
            }
        }
    }
}
