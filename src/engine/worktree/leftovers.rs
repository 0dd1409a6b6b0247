//! Temporary files that a killed command left behind.
//!
//! Before a command creates temporary files, it writes a marker: a temporary file in `.rscaffold` with the goal of the
//! command, and with the paths of the files that the command writes or removes. The command removes the marker after its
//! other temporary files. So the next command finds a marker only if a command was killed, and need not search any other
//! folder.
//!
//! From the first change of a file until the last one, the marker has the name [`BEGUN`]. In this time, the files, the
//! record and `PROJECT` do not fit together. Only the same command can complete them.

use anyhow::{Context, Result};
use cap_std::fs::Dir;

use super::{
    jail::{Jail, Walk},
    path::ProjectPath,
};

/// The folder of the markers.
pub(super) const FOLDER: &str = ".rscaffold";

/// The name of the marker of a command that has begun to change files.
pub(super) const BEGUN: &str = ".rscaffold-begun";

/// The prefix of the names of temporary files that a command in this folder creates.
///
/// The prefix contains the inode of the folder, because a folder of this project may contain another project. The lock
/// on this folder does not keep commands out of the other project, whose temporary files must stay.
pub(super) fn prefix(jail: &Jail) -> Result<String> {
    let inode = jail
        .inode()
        .context("failed to read the project's folder")?;
    Ok(format!(".rscaffold-{inode}-"))
}

/// Removes the temporary files of killed commands.
///
/// A file that cannot be removed does no harm: git ignores it.
pub(super) fn remove(jail: &Jail) -> Result<()> {
    let (prefix, mut walk) = (prefix(jail)?, jail.walk());
    let folder = ProjectPath::new(FOLDER)?;
    let markers = walk.folder(Some(folder))?;
    let mut markers = markers.map_or_else(Vec::new, |folder| temporary(folder, &prefix));
    markers.push(BEGUN.to_owned());
    for marker in markers {
        let marker = format!("{FOLDER}/{marker}");
        let text = walk.read(ProjectPath::new(&marker)?)?;
        let text = text.map_or_else(Vec::new, |(_, bytes)| bytes);
        let paths = str::from_utf8(&text).unwrap_or_default().lines().skip(1);
        for path in paths.flat_map(ProjectPath::new) {
            remove_for(path, &mut walk, &prefix);
        }
    }
    // The markers are removed last, so that the next command removes the rest if this command is killed, too.
    if let Some(folder) = walk.folder(Some(folder))? {
        remove_from(folder, &prefix);
    }
    Ok(())
}

/// Removes the temporary files for the file at `path`. If it is a symbolic link, they are beside its target.
fn remove_for(path: ProjectPath, walk: &mut Walk, prefix: &str) {
    if let Ok(Some(folder)) = walk.folder(path.folder()) {
        remove_from(folder, prefix);
    }
    if let Ok(Some(place)) = walk.find(path) {
        remove_from(place.folder, prefix);
    }
}

/// Removes the temporary files in `folder`.
fn remove_from(folder: &Dir, prefix: &str) {
    for name in temporary(folder, prefix) {
        let _ = folder.remove_file(name);
    }
}

/// The names of the temporary files in `folder`.
fn temporary(folder: &Dir, prefix: &str) -> Vec<String> {
    let entries = folder.entries().into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}
