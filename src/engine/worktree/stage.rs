//! Changes of several files. No file changes before all changes are prepared.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Write},
};

use anyhow::{Context, Result};
use cap_std::fs::{Dir, File, OpenOptions};

use super::{
    jail::{Jail, Walk},
    leftovers::{self, BEGUN, FOLDER},
    path::ProjectPath,
};
use crate::{engine::reconcile::FileChange, hint::OrHint};

/// Changes below a folder. They are prepared one by one, and then made in the same order by [`Stage::commit`].
///
/// A stage that is dropped without a commit leaves the folder as it was.
pub(super) struct Stage<'a> {
    walk: Walk<'a>,
    names: Names,
    /// The name of the marker, once it is written.
    marker: Option<String>,
    /// The text of the marker: the goal of the command, and the paths of the changes, each with a newline.
    marker_text: String,
    pub(super) steps: VecDeque<Step<'a>>,
    /// Folders that were created for new files. A folder comes after the folder that contains it.
    folders: Vec<String>,
}

pub(super) enum Step<'a> {
    /// Renames the file `temporary` to the name of the file at `path`, in the same folder.
    Write {
        path: ProjectPath<'a>,
        temporary: String,
    },
    /// Removes the file at this path, and the folders that it leaves empty.
    Remove(ProjectPath<'a>),
    /// Removes the empty folders above this path. The file itself no longer exists.
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
    /// `paths` has the path of each file that will be written or removed. `goal` tells commands with different results
    /// apart.
    pub(super) fn new(
        jail: &'a Jail,
        goal: &'a str,
        paths: impl Iterator<Item = &'a str>,
    ) -> Result<Self> {
        let lines = [goal].into_iter().chain(paths);
        Ok(Self {
            walk: jail.walk(),
            names: Names {
                prefix: leftovers::prefix(jail)?,
                tried: 0,
            },
            marker: None,
            marker_text: lines.flat_map(|line| [line, "\n"]).collect(),
            steps: VecDeque::new(),
            folders: Vec::new(),
        })
    }

    /// Prepares the change `change` of the file at `path`.
    pub(super) fn change(&mut self, path: &'a str, change: &FileChange) -> Result<()> {
        match change {
            FileChange::Delete => self.remove(path),
            change => (change.text()).map_or(Ok(()), |text| self.write(path, text.as_bytes())),
        }
    }

    /// Prepares to write `text` to `path`. A symbolic link stays a link, and the permissions stay the same.
    pub(super) fn write(&mut self, path: &'a str, text: &[u8]) -> Result<()> {
        let path = ProjectPath::new(path)?;
        self.prepare(path, text)
            .with_context(|| format!("failed to write `{path}`"))
    }

    /// Writes the marker, unless it is written.
    fn mark(&mut self) -> Result<()> {
        if self.marker.is_some() {
            return Ok(());
        }
        let folder = Some(ProjectPath::new(FOLDER)?);
        self.walk.make_folder(folder, &mut self.folders)?;
        let folder = self.walk.folder(folder)?.context(GONE)?;
        let created = self.names.create(folder).and_then(|(marker, mut file)| {
            self.marker = Some(marker);
            file.write_all(self.marker_text.as_bytes())
        });
        created.with_context(|| format!("failed to write to the folder `{FOLDER}`"))
    }

    /// Removes the marker.
    fn unmark(&mut self) {
        if let Some(marker) = self.marker.take()
            && let Ok(Some(folder)) = self.walk.folder(ProjectPath::new(FOLDER).ok())
        {
            let _ = folder.remove_file(marker);
        }
    }

    /// Renames the marker to [`BEGUN`]. Returns whether an earlier command has left such a marker.
    fn begin(&mut self) -> Result<bool> {
        let Some(marker) = &self.marker else {
            return Ok(true);
        };
        let folder = self.walk.folder(Some(ProjectPath::new(FOLDER)?))?;
        let folder = folder.context(GONE)?;
        let is_retry = folder.exists(BEGUN);
        let renamed = folder.rename(marker, folder, BEGUN);
        renamed.with_context(|| format!("failed to write `{FOLDER}`"))?;
        Ok(is_retry)
    }

    /// Renames the marker back, if it has the name [`BEGUN`].
    fn end(&mut self) {
        if let Ok(Some(folder)) = self.walk.folder(ProjectPath::new(FOLDER).ok()) {
            let _ = match &self.marker {
                Some(marker) => folder.rename(BEGUN, folder, marker),
                None => folder.remove_file(BEGUN),
            };
        }
    }

    /// Writes the text to a temporary file beside the file at `path`, or beside its target if it is a symbolic link.
    fn prepare(&mut self, path: ProjectPath<'a>, text: &[u8]) -> Result<()> {
        self.mark()?;
        self.walk.make_folder(path.folder(), &mut self.folders)?;
        let place = self.walk.find(path)?.context(GONE)?;
        let (temporary, mut file) = self.names.create(place.folder)?;
        self.steps.push_back(Step::Write { path, temporary });
        // Set before the text is written, because the permissions may keep the text from other users.
        if let Some(metadata) = place.metadata {
            file.set_permissions(metadata.permissions())?;
        }
        // No fsync: it would take longer than everything else. The kernel has the text, so the text survives if the
        // process is killed. A crash of the machine within the next seconds can lose it; then the user restores the old
        // text with git, and runs the command again.
        Ok(file.write_all(text)?)
    }

    /// Prepares to remove the file at `path`. If it is a symbolic link, only the link is removed.
    fn remove(&mut self, path: &'a str) -> Result<()> {
        let path = ProjectPath::new(path)?;
        self.ensure_writable(path)
            .with_context(|| format!("failed to remove `{path}`"))?;
        self.steps.push_back(Step::Remove(path));
        Ok(())
    }

    /// Checks the permission to change the folder of `path`: creates a temporary file in the folder, and removes it.
    fn ensure_writable(&mut self, path: ProjectPath) -> Result<()> {
        self.mark()?;
        let folder = self.walk.folder(path.folder())?.context(GONE)?;
        let (temporary, _) = self.names.create(folder)?;
        let _ = folder.remove_file(temporary);
        Ok(())
    }

    /// Makes the changes.
    ///
    /// If a change fails, the changes before it stay: undoing them needs the same kind of operation that has just
    /// failed. The user can run the same command again to make the rest. Until then, the marker [`BEGUN`] stays.
    pub(super) fn commit(mut self) -> Result<()> {
        let is_retry = self.begin()?;
        let first = self.advance();
        if first.is_err() && !is_retry {
            self.end();
        }
        first?;
        while !self.steps.is_empty() {
            self.advance()
                .or_hint("some changes are made; run the same command again to make the rest")?;
        }
        self.folders.clear();
        self.end();
        self.unmark();
        Ok(())
    }

    /// Makes the next change.
    pub(super) fn advance(&mut self) -> Result<()> {
        if let Some(step) = self.steps.front() {
            make(&mut self.walk, step)?;
            self.steps.pop_front();
        }
        Ok(())
    }
}

/// The reason when a folder has disappeared.
const GONE: &str = "another program removed its folder at the same time";

/// Makes the change `step`. Each path is resolved again, because a folder may have been replaced by a link.
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
            remove(walk, *path).with_context(|| format!("failed to remove `{path}`"))?;
            prune(walk, *path)
        }
        Step::Prune(path) => prune(walk, *path),
    }
}

/// Removes the file at `path`, unless it is gone: through a linked folder, two paths can be the same file.
fn remove(walk: &mut Walk, path: ProjectPath) -> Result<()> {
    let folder = walk.folder(path.folder())?.context(GONE)?;
    match folder.remove_file(path.name()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => Ok(removed?),
    }
}

/// Removes the empty folders above `path`, the innermost folder first.
fn prune(walk: &mut Walk, path: ProjectPath) -> Result<()> {
    let mut below = path.folder();
    while let Some(folder) = below {
        below = folder.folder();
        if let Some(above) = walk.folder(below)? {
            // Fails if the folder is not empty. Then the folders above it are not empty either.
            let _ = above.remove_dir(folder.name());
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
        self.unmark();
        for folder in self.folders.drain(..).rev() {
            // A commit that failed halfway may have put a file into the folder. Then the folder stays.
            if let Ok(path) = ProjectPath::new(&folder)
                && let Ok(Some(above)) = self.walk.folder(path.folder())
            {
                let _ = above.remove_dir(path.name());
            }
        }
    }
}

/// Creates temporary files with unique names.
struct Names {
    /// The prefix of the names.
    prefix: String,
    /// How many names were tried.
    tried: usize,
}

impl Names {
    /// Creates a file in `folder`, with the default permissions of a new file.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_gone_takes_no_temporary_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = std::fs::File::open(folder.path()).unwrap();
        folder.close().unwrap();
        let mut names = Names {
            prefix: ".rscaffold-1-".to_owned(),
            tried: 0,
        };
        let error = names.create(&Dir::from_std_file(open)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
