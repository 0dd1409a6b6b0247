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
    let mut links = BTreeMap::new();
    for path in paths.into_iter().flat_map(ProjectPath::new) {
        let folder = path.folder();
        let links = links.entry(folder.map(ProjectPath::as_str));
        let links = links.or_insert_with(|| match walk.folder(folder) {
            Ok(Some(folder)) => remove_from(folder, &prefix),
            _ => BTreeSet::new(),
        });
        // The temporary file of a link was created beside its target.
        if links.contains(OsStr::new(path.name()))
            && let Ok(Some(place)) = walk.find(path)
        {
            remove_from(place.folder, &prefix);
        }
    }
}

/// Removes the temporary files from `folder`. Gives the symbolic links in it.
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
