//! The cargo workspace that contains a folder.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, ensure};
use glob::{MatchOptions, Pattern};
use serde::Deserialize;

use crate::{
    engine::worktree::read_text,
    hint::OrHint,
    limits::{ENTRIES, FILE},
    names::WorkspaceRoot,
    project::{Project, Runtime},
    visible::visible,
};

/// A workspace, from the point of view of a member that is not at its root.
#[derive(Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The path from the member to the root of the workspace.
    pub root: WorkspaceRoot,
    /// The path from the root to the member, as in `members` of the workspace.
    pub member: String,
    /// Whether `members` names or matches the member.
    pub is_listed: bool,
    /// The runtime that another member has vendored. A workspace can contain the crate only once.
    pub runtime: Option<Runtime>,
}

impl Workspace {
    /// Refuses a runtime that the project in the folder `root` cannot have: a second copy in the workspace, a folder
    /// without the crate, or a copy that lacks parts of the crate.
    pub fn ensure_one_runtime(&self, project: &Project, root: &Path) -> Result<()> {
        let Some(folder) = project.runtime.folder() else {
            return Ok(());
        };
        let of_project = fs::canonicalize(root.join(folder)).ok();
        if let Some(runtime) = &self.runtime
            && let Some(path) = runtime.folder()
            && of_project != fs::canonicalize(root.join(path)).ok()
        {
            return Err(anyhow!(
                "a workspace can have the crate `kube-manager` only once, and `{path}` has it"
            ))
            .or_hint(format!("use `--runtime {path}`"));
        }
        if project.runtime == Runtime::Vendored {
            return Ok(());
        }
        let copy = of_project.filter(|folder| is_runtime(folder));
        let copy =
            copy.with_context(|| format!("the folder `{folder}` has no crate `kube-manager`"))?;
        self.ensure_all_parts(folder, &copy, root)
    }

    /// Refuses the copy of the runtime in the folder `copy`, shown as `path`, if its own project takes only the parts
    /// that it uses: it does not know that it is in a workspace.
    fn ensure_all_parts(&self, path: &str, copy: &Path, root: &Path) -> Result<()> {
        let Some(host) = copy
            .to_str()
            .and_then(|copy| copy.strip_suffix(Runtime::FOLDER))
        else {
            return Ok(());
        };
        let host = Path::new(host);
        let text = read_text(&host.join(Project::FILE), FILE).unwrap_or_default();
        let Ok(project) = Project::parse(&text) else {
            return Ok(());
        };
        if project.workspace.is_some() || project.runtime != Runtime::Vendored {
            return Ok(());
        }
        let top = fs::canonicalize(root.join(self.root.as_str()))?;
        // The project at the top of the workspace cannot name it.
        let below = host.strip_prefix(top).ok().map(Path::components);
        let Some(up) = below.and_then(|below| WorkspaceRoot::above(below.count()).ok()) else {
            return Ok(());
        };
        let file = path.replace(Runtime::FOLDER, Project::FILE);
        Err(anyhow!(
            "`{path}` has only the parts of `kube-manager` that its own project uses, because `{file}` does not name \
             the workspace"
        ))
        .or_hint(format!(
            "add `workspace: {up}` to `{file}`, and run `rscaffold apply` there"
        ))
    }
}

/// Whether `folder` has the crate `kube-manager`.
fn is_runtime(folder: &Path) -> bool {
    let text = read_text(&folder.join("Cargo.toml"), FILE).unwrap_or_default();
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"));
    name.and_then(toml::Value::as_str) == Some("kube-manager")
}

/// The fields that are read of `[workspace]` in a Cargo.toml.
#[derive(Deserialize)]
struct Manifest {
    /// Whether the Cargo.toml also has a package.
    #[serde(skip)]
    has_package: bool,
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    members: Vec<String>,
}

/// The workspace of a package in the folder `root`, found as cargo does: in the nearest Cargo.toml above the folder
/// that has a workspace and does not exclude the folder. `own` is the Cargo.toml of the package; if it has a workspace
/// itself, the package is not a member of another one.
pub fn workspace(root: &Path, own: Option<&str>) -> Result<Option<Workspace>> {
    if let Some(workspace) = own.and_then(manifest) {
        ensure_package(&workspace)?;
        return Ok(None);
    }
    let root = fs::canonicalize(root)
        .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
    for (up, folder) in root.ancestors().enumerate().skip(1) {
        let text = read_text(&folder.join("Cargo.toml"), FILE).ok();
        let Some(workspace) = text.as_deref().and_then(manifest) else {
            continue;
        };
        // Cargo compares paths in this way: `./a/` equals `a`, `b/../a` does not, and a pattern in `exclude` matches
        // nothing.
        if is_below(&root, folder, &workspace.exclude)
            && !is_below(&root, folder, &workspace.members)
        {
            continue;
        }
        let member = root.strip_prefix(folder).unwrap_or(&root);
        let above = WorkspaceRoot::above(up)?;
        let runtimes = runtimes(folder, &workspace.members)
            .with_context(|| {
                format!("failed to look for the members of the workspace in `{above}`")
            })
            .or_hint(
                "name the members in its Cargo.toml, instead of patterns that match all of this",
            )?;
        let runtime = runtimes.into_iter().find_map(|runtime| {
            let is_own = runtime.starts_with(&root);
            let way = Path::new(above.as_str()).join(runtime.strip_prefix(folder).ok()?);
            way.to_str()?.parse().ok().filter(|_| !is_own)
        });
        return Ok(Some(Workspace {
            is_listed: (workspace.members.iter()).any(|pattern| is_listed(member, pattern)),
            member: member.display().to_string(),
            root: above,
            runtime,
        }));
    }
    Ok(None)
}

/// A note about the Cargo.toml above the folder `root` that cargo cannot read when it looks for a workspace.
pub fn unreadable(root: &Path) -> Option<String> {
    let root = fs::canonicalize(root).ok()?;
    for (up, folder) in root.ancestors().enumerate().skip(1) {
        let path = folder.join("Cargo.toml");
        if !path.is_file() {
            continue;
        }
        let read = read_text(&path, FILE).and_then(|text| parsed(&text));
        match read {
            Ok(Some(_)) => return None,
            Ok(None) => {}
            Err(error) => {
                let above = WorkspaceRoot::above(up).ok()?;
                return Some(format!(
                    "cargo cannot read `{above}/Cargo.toml`, where it looks for a workspace: {}",
                    visible(&format!("{error:#}"))
                ));
            }
        }
    }
    None
}

/// Returns whether `root` is at or below one of these paths in `folder`.
fn is_below(root: &Path, folder: &Path, paths: &[String]) -> bool {
    paths.iter().any(|path| root.starts_with(folder.join(path)))
}

/// The runtimes that members of the workspace in `folder` have vendored. `members` are the patterns of the workspace.
///
/// # Errors
/// When the patterns match too many files and folders.
fn runtimes(folder: &Path, members: &[String]) -> Result<Vec<PathBuf>> {
    let mut search = Search::default();
    for pattern in members {
        let parts: Vec<_> = Path::new(pattern).components().collect();
        ensure!(
            parts.len() <= MAX_PARTS,
            "`{:.40}…` is a path of more than {MAX_PARTS} folders",
            visible(pattern)
        );
        search.members(folder, &parts)?;
    }
    Ok(search.runtimes)
}

/// The characters that make a path in `members` a pattern.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// The most parts that the path of a member has.
const MAX_PARTS: usize = 100;

/// A search for vendored runtimes in the members of a workspace.
#[derive(Default)]
struct Search {
    /// How many files and folders were visited.
    entries: usize,
    runtimes: Vec<PathBuf>,
}

impl Search {
    /// Searches the folders below `folder` that match these `parts` of a pattern.
    fn members(&mut self, folder: &Path, parts: &[Component]) -> Result<()> {
        self.entry()?;
        let Some((part, rest)) = parts.split_first() else {
            let runtime = folder.join(Runtime::FOLDER);
            if runtime.join("Cargo.toml").is_file() {
                self.runtimes.extend(runtime.canonicalize().ok());
            }
            return Ok(());
        };
        let name = part.as_os_str().to_string_lossy();
        if !name.contains(WILDCARDS) {
            return self.members(&folder.join(part), rest);
        }
        let is_deep = name == "**";
        if is_deep {
            self.members(folder, rest)?;
        }
        // An invalid pattern is skipped: cargo reports it.
        let Ok(pattern) = Pattern::new(&name) else {
            return Ok(());
        };
        let mut below = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.entry()?;
            let is_folder = if is_deep {
                // A link is not followed, because it may lead back to a folder above.
                entry.file_type().is_ok_and(|kind| kind.is_dir())
            } else {
                entry.path().is_dir()
            };
            if is_folder && pattern.matches(&entry.file_name().to_string_lossy()) {
                below.push(entry.path());
            }
        }
        below.sort_unstable();
        let rest = if is_deep { parts } else { rest };
        (below.iter()).try_for_each(|folder| self.members(folder, rest))
    }

    fn entry(&mut self) -> Result<()> {
        self.entries += 1;
        ensure!(
            self.entries <= ENTRIES,
            "there are more than {ENTRIES} files and folders"
        );
        Ok(())
    }
}

/// The workspace in the text of a Cargo.toml. An invalid text has none: cargo reports it.
fn manifest(text: &str) -> Option<Manifest> {
    parsed(text).ok()?
}

/// The workspace in the text of a Cargo.toml.
fn parsed(text: &str) -> Result<Option<Manifest>> {
    let mut manifest: toml::Table = text.parse().map_err(|error| first_line(&error))?;
    let Some(workspace) = manifest.remove("workspace") else {
        return Ok(None);
    };
    let workspace: Manifest = (workspace.try_into()).map_err(|error| first_line(&error))?;
    Ok(Some(Manifest {
        has_package: manifest.contains_key("package"),
        ..workspace
    }))
}

/// What is wrong with a Cargo.toml, without the lines that show the place.
fn first_line(error: &toml::de::Error) -> anyhow::Error {
    anyhow!("{}", error.message().lines().next().unwrap_or_default())
}

/// Refuses a folder whose Cargo.toml only lists the members of a workspace: a project needs a package there.
fn ensure_package(workspace: &Manifest) -> Result<()> {
    if workspace.has_package {
        return Ok(());
    }
    let mut patterns = workspace.members.iter();
    let above = patterns
        .find_map(|pattern| {
            let (before, _) = pattern.split_once(WILDCARDS)?;
            let end = before.rfind('/').map_or(0, |slash| slash + 1);
            Some(&before[..end])
        })
        .unwrap_or_default();
    Err(anyhow!(
        "this folder is the top of a cargo workspace, which has no package here"
    ))
    .or_hint(format!(
        "start the project in a folder below: `mkdir -p {above}<FOLDER> \
             && cd {above}<FOLDER> && rscaffold init`"
    ))
}

/// Whether `pattern`, one of `members` of a workspace, is the member itself or matches it.
fn is_listed(member: &Path, pattern: &str) -> bool {
    const OPTIONS: MatchOptions = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    // Compared by components: `./a/` is `a`.
    let parts = Path::new(pattern).components();
    let path: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
    let parsed = Pattern::new(&path.to_string_lossy());
    parsed.is_ok_and(|pattern| pattern.matches_path_with(member, OPTIONS))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;
    use crate::hint::hint;

    /// The workspace of the folder `member`, below a folder with this Cargo.toml.
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
        for (pattern, is_listed) in [
            ("operators/*", true),
            ("./operators/*/", true),
            ("**", true),
            ("*", false),
            ("operators", false),
            ("tools/*", false),
            ("operators/[", false),
        ] {
            let found = of(
                &format!("[workspace]\nmembers = [{pattern:?}]\n"),
                "operators/a",
            );
            assert_eq!(
                found.expect("a workspace").is_listed,
                is_listed,
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_package_with_a_workspace_is_in_no_other() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let manifest = "[workspace]\nmembers = [\"a\"]\n";
        fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
        let folder = root.path().join("a");
        fs::create_dir(&folder).unwrap();
        let package = "[package]\nname = \"a\"\n";
        let found = workspace(&folder, Some(package)).unwrap();
        assert_eq!(found.map(|found| found.member).as_deref(), Some("a"));
        let own = format!("{package}[workspace]\n");
        assert_eq!(workspace(&folder, Some(&own)).unwrap(), None);
    }

    #[test]
    fn the_top_of_a_workspace_without_a_package_is_refused() {
        for (members, folder) in [
            ("\"tools\", \"operators/*\"", "operators/"),
            ("\"operators/**\"", "operators/"),
            ("\"a/operator-*/b\"", "a/"),
            ("\"*\"", ""),
            ("", ""),
        ] {
            let manifest = format!("[workspace]\nmembers = [{members}]\n");
            let error = workspace(Path::new("."), Some(&manifest)).unwrap_err();
            let hint = hint(&error).expect("a hint");
            let command =
                format!("`mkdir -p {folder}<FOLDER> && cd {folder}<FOLDER> && rscaffold init`");
            assert!(hint.ends_with(&command), "{hint}");
        }
    }

    /// Reading a named pipe blocks until there is a writer.
    #[test]
    fn a_named_pipe_above_the_project_blocks_no_command() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let made = Command::new("mkfifo")
            .arg(root.path().join("Cargo.toml"))
            .status();
        assert!(made.unwrap().success());
        let folder = root.path().join("project");
        fs::create_dir(&folder).unwrap();
        assert_eq!(workspace(&folder, None).unwrap(), None);
    }

    #[test]
    fn a_package_without_a_workspace_or_one_that_cannot_be_read_does_not_count() {
        for manifest in ["[package]\nname = \"a\"\n", "["] {
            assert_eq!(of(manifest, "a/b"), None, "{manifest}");
        }
    }

    #[test]
    fn a_manifest_above_that_cargo_cannot_read_is_named() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("a/b");
        fs::create_dir_all(&folder).unwrap();
        for (text, reason) in [
            (
                &b"[workspace]\nmembers = \"op\"\n"[..],
                "invalid type: string \"op\", ",
            ),
            (b"[", ""),
            (b"a = \"\xff\"", ""),
        ] {
            fs::write(root.path().join("Cargo.toml"), text).unwrap();
            let note = unreadable(&folder).unwrap();
            let start = "cargo cannot read `../../Cargo.toml`, where it looks for a workspace: ";
            let found = note.strip_prefix(start).unwrap();
            assert!(found.starts_with(reason), "{note}");
            assert!(!found.is_empty() && !found.contains('\n'), "{note}");
        }
        fs::write(root.path().join("a/Cargo.toml"), "[workspace]\n").unwrap();
        assert_eq!(unreadable(&folder), None);
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
            runtime.map_or(String::new(), |runtime| runtime.to_string())
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

    /// The runtime that `b` finds in the workspace with these members, or the error. The workspace also contains
    /// `deep/a` with a runtime, and `deep` has links to itself.
    fn found(members: &[&str]) -> Result<Option<String>, String> {
        let root = tempfile::tempdir().expect("a temporary folder");
        let runtime = root.path().join("deep/a").join(Runtime::FOLDER);
        for folder in [&runtime, &root.path().join("b")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(runtime.join("Cargo.toml"), "").unwrap();
        for link in ["deep/up", "deep/up2", "deep/up3"] {
            symlink(".", root.path().join(link)).unwrap();
        }
        let manifest = format!("[workspace]\nmembers = {members:?}\n");
        fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
        let found = workspace(&root.path().join("b"), None).map_err(|error| format!("{error:#}"));
        Ok(found?.and_then(|workspace| Some(workspace.runtime?.to_string())))
    }

    #[test]
    fn members_are_found_by_each_form_of_a_pattern() {
        let runtime = "../deep/a/crates/kube-manager";
        for members in [
            "deep/a",
            "*/a",
            "deep/?",
            "d*/[a]",
            "**",
            "**/a",
            "**/**/**/a",
            "./b/../deep/*",
        ] {
            assert_eq!(
                found(&[members]).unwrap().as_deref(),
                Some(runtime),
                "{members}"
            );
        }
        for members in ["", "a", "deep", "*", "deep/*/x", "deep/[", "**/b"] {
            assert_eq!(found(&[members]), Ok(None), "{members}");
        }
    }

    #[test]
    fn the_search_for_workspace_members_is_limited() {
        let links = "deep/".to_owned() + &"*/".repeat(30);
        let often = "**/".repeat(MAX_PARTS);
        let context = "failed to look for the members of the workspace in `..`";
        for (members, reason) in [
            (
                &*links,
                format!("there are more than {ENTRIES} files and folders"),
            ),
            (
                &often,
                format!("there are more than {ENTRIES} files and folders"),
            ),
            (&"a/".repeat(1_000_000), "folders".to_owned()),
        ] {
            let error = found(&[members]).unwrap_err();
            assert!(
                error.starts_with(context) && error.ends_with(&reason),
                "{error}"
            );
        }
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
        assert_eq!(
            workspace(&folder, Some("[package]\n[workspace]\n")).unwrap(),
            None
        );
    }
}
