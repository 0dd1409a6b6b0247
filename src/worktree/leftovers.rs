//! Temporary files that a killed command left behind.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use cap_std::fs::{Dir, MetadataExt};

use super::{jail::Jail, path::ProjectPath};

/// The prefix of the names of temporary files that a command in this folder creates.
///
/// It contains the folder's inode, because a folder of this project may hold another project: the
/// lock on this folder does not keep commands out of that one, whose temporary files must stay.
pub(super) fn prefix(jail: &Jail) -> Result<String> {
    let inode = jail
        .inode()
        .context("failed to read the project's folder")?;
    Ok(format!(".rscaffold-{inode}-"))
}

/// Removes temporary files of earlier commands from the folders of the files `paths`, and from the
/// folders of their targets where these are links.
///
/// A file that cannot be removed does no harm: git ignores it.
pub(super) fn remove<'a>(jail: &'a Jail, paths: impl IntoIterator<Item = &'a str>) {
    let Ok(prefix) = prefix(jail) else {
        return;
    };
    let mut walk = jail.walk();
    let mut done = BTreeSet::new();
    for path in paths.into_iter().flat_map(ProjectPath::new) {
        if let Ok(Some(folder)) = walk.folder(path.folder()) {
            remove_from(folder, &prefix, &mut done);
        }
        // The temporary file of a link was created beside its target.
        if let Ok(Some(place)) = walk.find(path) {
            remove_from(place.folder, &prefix, &mut done);
        }
    }
}

/// Removes the temporary files from `folder`, unless that is `done`.
fn remove_from(folder: &Dir, prefix: &str, done: &mut BTreeSet<(u64, u64)>) {
    let id = folder.dir_metadata().map(|it| (it.dev(), it.ino()));
    if id.is_ok_and(|id| !done.insert(id)) {
        return;
    }
    for entry in folder.entries().into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _ = entry.remove_file();
        }
    }
}
