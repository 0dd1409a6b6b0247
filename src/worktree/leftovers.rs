//! What a command that was killed leaves behind: texts that it had not yet put in their place.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::inside::ensure_inside;

/// How the names of the temporary files begin that a command in the folder `root` makes.
///
/// The folder's inode is in it, because a file of the project may be a link to where other projects
/// have theirs: who has locked this folder knows that nobody is at work on these.
pub(super) fn prefix(root: &Path) -> io::Result<String> {
    Ok(format!(".rscaffold-{}-", fs::metadata(root)?.ino()))
}

/// Removes temporary files of earlier commands from wherever a file of `paths` is, or its target.
///
/// What cannot be removed stays: it is in nobody's way, and git ignores it.
pub(super) fn remove<'a>(root: &Path, paths: impl IntoIterator<Item = &'a str>) {
    let Ok(prefix) = prefix(root) else {
        return;
    };
    let paths: BTreeSet<&str> = paths.into_iter().collect();
    let folders: BTreeSet<&str> = paths
        .iter()
        .map(|path| path.rfind('/').map_or("", |end| &path[..=end]))
        .collect();
    for folder in folders {
        if ensure_inside(root, folder).is_err() {
            continue;
        }
        for entry in entries(&root.join(folder)) {
            // A file's temporary one is beside the target of a link.
            let is_link = entry.file_type().is_ok_and(|file| file.is_symlink());
            let is_ours = |path: &PathBuf| {
                let path = path.strip_prefix(root).ok().and_then(Path::to_str);
                path.is_some_and(|path| paths.contains(path))
            };
            let target = Some(entry.path())
                .filter(|path| is_link && is_ours(path))
                .and_then(|path| fs::canonicalize(path).ok());
            if let Some(folder) = target.as_deref().and_then(Path::parent) {
                entries(folder).for_each(|entry| remove_temporary(&entry, &prefix));
            }
            remove_temporary(&entry, &prefix);
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn remove_temporary(entry: &fs::DirEntry, prefix: &str) {
    if entry.file_name().to_string_lossy().starts_with(prefix) {
        let _ = fs::remove_file(entry.path());
    }
}
