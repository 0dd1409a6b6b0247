//! Temporary files that a killed command left behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
};

use anyhow::{Context, Result};
use cap_std::fs::Dir;

use super::{jail::Jail, path::ProjectPath};

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

/// Removes the temporary files of earlier commands from the folders of the files at `paths`. For a symbolic link, also
/// from the folder of its target.
///
/// A file that cannot be removed does no harm: git ignores it.
pub(super) fn remove<'a>(jail: &'a Jail, paths: impl IntoIterator<Item = &'a str>) {
    let Ok(prefix) = prefix(jail) else {
        return;
    };
    let mut walk = jail.walk();
    let mut links = BTreeMap::new();
    for path in paths.into_iter().flat_map(ProjectPath::new) {
        let folder = path.folder();
        let links = links.entry(folder.map(ProjectPath::as_str));
        let links = links.or_insert_with(|| match walk.folder(folder) {
            Ok(Some(folder)) => remove_from(folder, &prefix),
            _ => BTreeSet::new(),
        });
        // The temporary file for a link was created beside the target of the link.
        if links.contains(OsStr::new(path.name()))
            && let Ok(Some(place)) = walk.find(path)
        {
            remove_from(place.folder, &prefix);
        }
    }
}

/// Removes the temporary files from `folder`. Returns the names of the symbolic links in `folder`.
fn remove_from(folder: &Dir, prefix: &str) -> BTreeSet<OsString> {
    let mut links = BTreeSet::new();
    for entry in folder.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(prefix) {
            let _ = entry.remove_file();
        } else if entry.file_type().is_ok_and(|it| it.is_symlink()) {
            links.insert(name);
        }
    }
    links
}
