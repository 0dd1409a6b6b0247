//! The cargo workspace that a folder is in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use glob::glob;
use serde::Deserialize;

use crate::{names::WorkspaceRoot, project::Runtime};

/// A workspace, as seen from a member that is not at its root.
#[derive(Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Where it is.
    pub root: WorkspaceRoot,
    /// Where the member is, as the workspace's `members` have it.
    pub member: String,
    /// Whether its `members` name the member itself, not just by a pattern.
    pub is_listed: bool,
    /// The runtime that another member has vendored: a workspace can have it once.
    pub runtime: Option<Runtime>,
}

/// What is read of the workspace in a Cargo.toml.
#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    members: Vec<String>,
}

/// The workspace of a package in the folder `root`, as cargo finds it: in the nearest Cargo.toml
/// above the folder that has a workspace and does not exclude the folder. `own` is the Cargo.toml of
/// the package; if that has a workspace, the package is part of no other.
pub(super) fn workspace(root: &Path, own: Option<&str>) -> Result<Option<Workspace>> {
    if own.and_then(manifest).is_some() {
        return Ok(None);
    }
    let root = fs::canonicalize(root)
        .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
    for (up, folder) in root.ancestors().enumerate().skip(1) {
        let text = super::text(&folder.join("Cargo.toml"));
        let Some(workspace) = text.as_deref().and_then(manifest) else {
            continue;
        };
        // Cargo compares like this: `./a/` is `a`, `b/../a` is not, and a pattern matches nothing.
        let is_above = |path: &String| root.starts_with(folder.join(path));
        if workspace.exclude.iter().any(is_above) && !workspace.members.iter().any(is_above) {
            continue;
        }
        let member = root.strip_prefix(folder).unwrap_or(&root);
        let above = WorkspaceRoot::above(up)?;
        let mut runtimes = workspace.members.iter().flat_map(|it| runtimes(folder, it));
        let runtime = runtimes.find_map(|runtime| {
            let is_own = runtime.starts_with(&root);
            let way = Path::new(above.as_str()).join(runtime.strip_prefix(folder).ok()?);
            way.to_str()?.parse().ok().filter(|_| !is_own)
        });
        return Ok(Some(Workspace {
            is_listed: workspace.members.iter().any(|it| folder.join(it) == root),
            member: member.display().to_string(),
            root: above,
            runtime,
        }));
    }
    Ok(None)
}

/// The runtimes that members of the workspace in `folder` have vendored. `members` is one of its
/// patterns.
fn runtimes(folder: &Path, members: &str) -> Vec<PathBuf> {
    let manifests = folder
        .join(members)
        .join(Runtime::FOLDER)
        .join("Cargo.toml");
    let paths = manifests.to_str().and_then(|pattern| glob(pattern).ok());
    let paths = paths.into_iter().flatten().flatten();
    paths
        .filter_map(|path| path.parent()?.canonicalize().ok())
        .collect()
}

/// The workspace in the text of a Cargo.toml. Cargo complains about a text that is wrong.
fn manifest(text: &str) -> Option<Members> {
    let mut manifest: toml::Table = text.parse().ok()?;
    manifest.remove("workspace")?.try_into().ok()
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
        workspace(&folder, None).unwrap()
    }

    #[test]
    fn the_nearest_workspace_above_counts() {
        let expected = Workspace {
            root: "../..".parse().unwrap(),
            member: "operators/guestbook".to_owned(),
            is_listed: true,
            runtime: None,
        };
        let members = "[workspace]\nmembers = [\"./operators/guestbook/\"]\n";
        assert_eq!(of(members, "operators/guestbook"), Some(expected));
        let pattern = of("[workspace]\nmembers = [\"operators/*\"]\n", "operators/a");
        assert!(pattern.is_some_and(|workspace| !workspace.is_listed));
    }

    #[test]
    fn a_package_without_a_workspace_or_one_that_cannot_be_read_does_not_count() {
        for manifest in ["[package]\nname = \"a\"\n", "["] {
            assert_eq!(of(manifest, "a/b"), None, "{manifest}");
        }
    }

    #[test]
    fn a_folder_is_excluded_as_cargo_does_it() {
        for (exclude, members, is_excluded) in [
            ("a", "", true),
            ("./a", "", true),
            ("a/", "", true),
            ("./a/./b/", "", true),
            (".", "", true),
            ("a/b/c", "", false),
            ("c/../a", "", false),
            ("a/*", "", false),
            ("", "", true),
            ("a", "a/b", false),
            ("a", "./a/b/", false),
            ("a/b", "a", false),
            ("a", "a/*", true),
        ] {
            let members = if members.is_empty() {
                String::new()
            } else {
                format!("{members:?}")
            };
            let manifest = format!("[workspace]\nexclude = [{exclude:?}]\nmembers = [{members}]\n");
            assert_eq!(of(&manifest, "a/b").is_none(), is_excluded, "{manifest}");
        }
    }

    #[test]
    fn another_member_has_the_runtime() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let runtime = |member: &str| {
            let found = workspace(&root.path().join(member), None).unwrap();
            let runtime = found.expect("a workspace").runtime;
            runtime.map_or(String::new(), |it| it.to_string())
        };
        let manifest = "[workspace]\nmembers = [\"operators/*\", \"tools\"]\n";
        fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
        for member in ["operators/a", "operators/b", "tools"] {
            fs::create_dir_all(root.path().join(member)).unwrap();
        }
        assert_eq!(runtime("operators/a"), "");
        let folder = root.path().join("operators/a").join(Runtime::FOLDER);
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(runtime("operators/b"), "", "an empty folder");
        fs::write(folder.join("Cargo.toml"), "").unwrap();
        assert_eq!(runtime("operators/a"), "", "its own");
        assert_eq!(
            runtime("operators/b"),
            "../../operators/a/crates/kube-manager"
        );
        assert_eq!(runtime("tools"), "../operators/a/crates/kube-manager");
    }

    #[test]
    fn a_workspace_that_excludes_the_folder_hides_no_other() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let inner = root.path().join("inner");
        let folder = inner.join("a");
        fs::create_dir_all(&folder).unwrap();
        fs::write(root.path().join("Cargo.toml"), "[workspace]\n").unwrap();
        fs::write(inner.join("Cargo.toml"), "[workspace]\nexclude = [\"a\"]\n").unwrap();
        let found = workspace(&folder, None).unwrap().expect("a workspace");
        assert_eq!(
            (found.root.to_string(), &*found.member),
            ("../..".to_owned(), "inner/a")
        );
        assert_eq!(workspace(&folder, Some("[workspace]\n")).unwrap(), None);
    }
}
