//! Keeps the tool within the project's folder, whatever symbolic links are in there.

use std::{fs, io::ErrorKind, path::Path};

use anyhow::{Context, Result, bail, ensure};

/// Refuses `path` if one of the folders that it is in leads out of `root`.
///
/// The record names paths, and comes from a repository as links do: together they could have any
/// file read, written or deleted. Where `path` itself is a link, that is left to the caller.
pub(super) fn ensure_inside(root: &Path, path: &str) -> Result<()> {
    // From the top down, so that the link above all others is the one to be named. To ask whether
    // a folder is a link is cheap; to resolve it is not, and seldom needed.
    for (end, _) in path.match_indices('/') {
        let name = &path[..end];
        let folder = root.join(name);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_symlink() => ensure_leads_inside(root, &folder, name)?,
            Ok(_) => {}
            // Then nothing can be below it either.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                break;
            }
            Err(error) => return Err(error).with_context(|| format!("failed to read `{name}`")),
        }
    }
    Ok(())
}

fn ensure_leads_inside(root: &Path, link: &Path, name: &str) -> Result<()> {
    let target = match fs::canonicalize(link) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("`{name}` is a symbolic link to nothing; remove it and run the command again")
        }
        Err(error) => return Err(error).with_context(|| format!("failed to read `{name}`")),
    };
    let root = fs::canonicalize(root)
        .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
    ensure!(
        target.starts_with(root),
        "`{name}` is a symbolic link that leads out of the project; put a folder in its place and \
         run the command again"
    );
    Ok(())
}
