//! Changes of files that either all get ready, or do not happen.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    mem,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use tempfile::{NamedTempFile, TempPath};

use super::{inside::ensure_inside, leftovers};
use crate::{hint::OrHint, reconcile::Change};

/// Changes below a folder: prepared one by one, then made in the same order by [`Stage::commit`].
///
/// Dropped before that, it leaves the folder as it was.
pub(super) struct Stage<'a> {
    root: &'a Path,
    /// How the names of temporary files begin.
    prefix: String,
    pub(super) steps: Vec<Step>,
    /// Folders that were made for the files to come, each after the one that it is in.
    folders: Vec<PathBuf>,
}

pub(super) enum Step {
    /// Renames `text` to `file`, which is where `path` leads.
    Write {
        path: String,
        file: PathBuf,
        text: TempPath,
    },
    /// Removes the file at this path, and the folders that it leaves empty.
    Remove(String),
    /// Removes the folders above this path that are empty.
    Prune(String),
}

impl Step {
    /// The file that changes.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Write { path, .. } | Self::Remove(path) => Some(path),
            Self::Prune(_) => None,
        }
    }
}

impl<'a> Stage<'a> {
    pub(super) fn new(root: &'a Path) -> Result<Self> {
        let prefix = leftovers::prefix(root)
            .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
        Ok(Self {
            root,
            prefix,
            steps: Vec::new(),
            folders: Vec::new(),
        })
    }

    /// Prepares that `change` happens to `path`.
    pub(super) fn change(&mut self, path: &str, change: &Change) -> Result<()> {
        match change {
            Change::Delete => self.remove(path),
            change => change.text().map_or(Ok(()), |text| self.write(path, text)),
        }
    }

    /// Prepares that `path` gets `text`, and stays what it is: a symbolic link, executable,
    /// private.
    pub(super) fn write(&mut self, path: &str, text: &str) -> Result<()> {
        ensure_inside(self.root, path)?;
        let file = self.root.join(path);
        let (file, text) = self
            .prepare(file, text)
            .with_context(|| format!("failed to write `{path}`"))?;
        let path = path.to_owned();
        self.steps.push(Step::Write { path, file, text });
        Ok(())
    }

    /// Puts `text` beside `file`; beside its target if it is a symbolic link.
    fn prepare(&mut self, mut file: PathBuf, text: &str) -> Result<(PathBuf, TempPath)> {
        if file.is_symlink() {
            file = fs::canonicalize(file)?;
        }
        let folder = file.parent().unwrap_or(self.root);
        self.create_folder(folder)?;
        let mut temporary = self.temporary(folder)?;
        // Before there is anything in it that others may not read.
        if let Ok(metadata) = fs::metadata(&file) {
            temporary
                .as_file()
                .set_permissions(metadata.permissions())?;
        }
        temporary.as_file_mut().write_all(text.as_bytes())?;
        // No fsync, which would take longer than all the rest: the kernel has the text, so no kill
        // can lose it. Only a crash of the machine within seconds can; then git has what was there,
        // and the command can be run again.
        Ok((file, temporary.into_temp_path()))
    }

    fn temporary(&self, folder: &Path) -> io::Result<NamedTempFile> {
        // Made here, so that it gets the permissions of any new file, and an error does not name a
        // file that tells the user nothing.
        tempfile::Builder::new()
            .prefix(&self.prefix)
            .make_in(folder, |path| File::create_new(path))
    }

    fn create_folder(&mut self, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(parent) = folder.parent() {
            self.create_folder(parent)?;
        }
        match fs::create_dir(folder) {
            Ok(()) => self.folders.push(folder.to_owned()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let folder = folder.strip_prefix(self.root).unwrap_or(folder).display();
                bail!("`{folder}` is a file where a folder is needed; move it away")
            }
            Err(error) => {
                let folder = folder.strip_prefix(self.root).unwrap_or(folder).display();
                return Err(error)
                    .with_context(|| format!("failed to create the folder `{folder}`"));
            }
        }
        Ok(())
    }

    /// Prepares that the file at `path` goes; if it is a symbolic link, the link alone.
    fn remove(&mut self, path: &str) -> Result<()> {
        ensure_inside(self.root, path)?;
        // Gone at once: it shows that the folder can be written.
        let file = self.root.join(path);
        self.temporary(file.parent().unwrap_or(self.root))
            .with_context(|| format!("failed to remove `{path}`"))?;
        self.steps.push(Step::Remove(path.to_owned()));
        Ok(())
    }

    /// Prepares that the folders above `path`, which is gone, go with it if they are empty.
    pub(super) fn prune(&mut self, path: &str) -> Result<()> {
        ensure_inside(self.root, path)?;
        self.steps.push(Step::Prune(path.to_owned()));
        Ok(())
    }

    /// Makes the changes.
    ///
    /// Those that were made before one that fails stay: to take them back would take more of what
    /// has just failed, and the same command completes them.
    pub(super) fn commit(mut self) -> Result<()> {
        for (number, step) in mem::take(&mut self.steps).into_iter().enumerate() {
            let made = self.make(step);
            if number == 0 {
                made?;
            } else {
                made.or_hint("part of it is done; the same command, run again, does the rest")?;
            }
        }
        self.folders.clear();
        Ok(())
    }

    fn make(&self, step: Step) -> Result<()> {
        match step {
            Step::Write { path, file, text } => text
                .persist(file)
                .map_err(|error| error.error)
                .with_context(|| format!("failed to write `{path}`"))?,
            Step::Remove(path) => {
                fs::remove_file(self.root.join(&path))
                    .with_context(|| format!("failed to remove `{path}`"))?;
                self.prune_now(&path);
            }
            Step::Prune(path) => self.prune_now(&path),
        }
        Ok(())
    }

    fn prune_now(&self, path: &str) {
        let above = Path::new(path).ancestors().skip(1);
        for folder in above.take_while(|folder| !folder.as_os_str().is_empty()) {
            match fs::remove_dir(self.root.join(folder)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // Refused for a folder that still holds something.
                Err(_) => break,
            }
        }
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.steps.clear();
        for folder in self.folders.drain(..).rev() {
            // Refused, rightly, where a commit that failed halfway has put a file.
            let _ = fs::remove_dir(folder);
        }
    }
}
