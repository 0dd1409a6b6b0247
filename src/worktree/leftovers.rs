//! Temporary files that a killed command left behind.

use std::{collections::BTreeSet, ffi::OsString};

use anyhow::{Context, Result};
use cap_std::fs::Dir;

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
    let paths = paths.into_iter().map(ProjectPath::new);
    let paths: BTreeSet<_> = paths.filter_map(Result::ok).collect();
    let folders: BTreeSet<_> = paths.iter().map(|path| path.folder()).collect();
    let mut walk = jail.walk();
    for folder in folders {
        let mut links = Vec::new();
        if let Ok(Some(dir)) = walk.folder(folder) {
            links = remove_from(dir, &prefix);
        }
        // The temporary file of a link was created beside its target.
        for path in &paths {
            if path.folder() == folder
                && links.iter().any(|link| link == path.name())
                && let Ok(Some(place)) = walk.find(*path)
            {
                remove_from(place.folder, &prefix);
            }
        }
    }
}

/// Removes the temporary files from `folder`; gives the names of the symbolic links in it.
fn remove_from(folder: &Dir, prefix: &str) -> Vec<OsString> {
    let mut links = Vec::new();
    for entry in folder.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(prefix) {
            let _ = entry.remove_file();
        } else if entry.file_type().is_ok_and(|file| file.is_symlink()) {
            links.push(name);
        }
    }
    links
}
