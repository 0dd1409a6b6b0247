//! The cargo workspace that a folder is in.

use std::{
    fs,
    io::ErrorKind,
    path::{Component, Path},
};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::project::WorkspaceRoot;

/// A workspace, as seen from a member that is not at its root.
#[derive(Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Where it is.
    pub root: WorkspaceRoot,
    /// Where the member is, as the workspace's `members` have it.
    pub member: String,
    /// Whether its `members` name the member already, other than by a pattern.
    pub is_listed: bool,
}

/// What is read of a Cargo.toml.
#[derive(Default, Deserialize)]
struct Manifest {
    workspace: Option<Members>,
}

#[derive(Default, Deserialize)]
struct Members {
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    members: Vec<String>,
}

/// The workspace that cargo takes a package in the folder `root` to be part of: that of the nearest
/// Cargo.toml above it that has one, unless it excludes the folder, or the folder has one itself.
pub(super) fn workspace(root: &Path) -> Result<Option<Workspace>> {
    let root = fs::canonicalize(root)
        .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
    if manifest(&root).is_some_and(|manifest| manifest.workspace.is_some()) {
        return Ok(None);
    }
    for (up, folder) in root.ancestors().enumerate().skip(1) {
        let Some(workspace) = manifest(folder).and_then(|manifest| manifest.workspace) else {
            continue;
        };
        let member = root.strip_prefix(folder).unwrap_or(&root);
        let is = |path: &String| {
            let path = Path::new(path).components();
            path.filter(|part| *part != Component::CurDir)
                .eq(member.components())
        };
        let above = |path: &String| member.starts_with(path);
        let is_listed = workspace.members.iter().any(is);
        if workspace.exclude.iter().any(above) && !is_listed {
            return Ok(None);
        }
        return Ok(Some(Workspace {
            root: WorkspaceRoot::above(up)?,
            member: member.display().to_string(),
            is_listed,
        }));
    }
    Ok(None)
}

/// What `folder` has of a Cargo.toml. One that is none is for cargo to complain about.
fn manifest(folder: &Path) -> Option<Manifest> {
    match fs::read_to_string(folder.join("Cargo.toml")) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        text => toml::from_str(&text.ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The workspace of the folder `member` below one with this Cargo.toml.
    fn of(manifest: &str, member: &str) -> Option<Workspace> {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join(member);
        fs::create_dir_all(&folder).unwrap();
        fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
        workspace(&folder).unwrap()
    }

    #[test]
    fn the_nearest_workspace_above_counts() {
        let expected = Workspace {
            root: "../..".parse().unwrap(),
            member: "operators/guestbook".to_owned(),
            is_listed: true,
        };
        let members = "[workspace]\nmembers = [\"./operators/guestbook/\"]\n";
        assert_eq!(of(members, "operators/guestbook"), Some(expected));
        let pattern = of("[workspace]\nmembers = [\"operators/*\"]\n", "operators/a");
        assert!(pattern.is_some_and(|workspace| !workspace.is_listed));
    }

    #[test]
    fn a_package_or_a_workspace_that_excludes_the_folder_is_none() {
        for none in [
            "[package]\nname = \"a\"\n",
            "[workspace]\nexclude = [\"a\"]\n",
            "[",
        ] {
            assert_eq!(of(none, "a/b"), None, "{none}");
        }
        assert_eq!(of("[workspace]\n", "."), None);
    }
}
