//! The paths that may name a file of the project.

use std::{borrow::Cow, fmt};

use anyhow::{Result, bail};

use crate::visible::is_hidden;

/// A path below the project's folder, such as `src/lib.rs`, that does not belong to git.
///
/// The paths come from the record, and so from a repository that may be hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProjectPath<'a>(&'a str);

impl<'a> ProjectPath<'a> {
    /// # Errors
    /// When `path` is not relative, has a part such as `..`, leads into `.git`, or has invisible characters.
    pub(super) fn new(path: &'a str) -> Result<Self> {
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            bail!("`{path}` is not a path within the project");
        }
        if path.contains(is_hidden) {
            bail!("`{path}` has an invisible character");
        }
        if path.split('/').any(is_git) {
            bail!("`{path}` belongs to git, not to the project");
        }
        Ok(Self(path))
    }

    pub(super) fn as_str(self) -> &'a str {
        self.0
    }

    /// The last part: `lib.rs` of `src/lib.rs`.
    pub(super) fn name(self) -> &'a str {
        self.0.rsplit('/').next().unwrap_or(self.0)
    }

    /// The folder of the file: `src` of `src/lib.rs`; `None` for the project's folder.
    pub(super) fn folder(self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(folder, _)| Self(folder))
    }

    /// The path and the folders above it, from the top: `a`, `a/b`, `a/b/c`.
    pub(super) fn parts(self) -> impl Iterator<Item = Self> {
        let ends = self.0.match_indices('/').map(|(end, _)| end);
        ends.chain([self.0.len()])
            .map(move |end| Self(&self.0[..end]))
    }

    /// Whether the path is `folder` or is below it.
    pub(super) fn is_in(self, folder: &str) -> bool {
        let rest = self.0.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for ProjectPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Whether some file system treats `name` as `.git`. macOS ignores case and some characters. Windows ignores dots and
/// spaces at the end and everything after `:` or `\`, and has the short name `git~1`. Linux can mount such file
/// systems.
fn is_git(name: &str) -> bool {
    let mut name = Cow::from(name.split([':', '\\']).next().unwrap_or(name));
    if !name.is_ascii() {
        let shown = name.chars().filter(|c| {
            !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
        });
        name = shown.collect::<String>().to_lowercase().into();
    }
    let name = name.trim_end_matches(['.', ' ']);
    [".git", "git~1"]
        .iter()
        .any(|git| name.eq_ignore_ascii_case(git))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &str) -> String {
        ProjectPath::new(path).unwrap_err().to_string()
    }

    #[test]
    fn a_path_stays_within_the_project() {
        for path in ["", ".", "..", "/a", "a/", "a//b", "a/./b", "../a", "a/../b"] {
            assert_eq!(
                error(path),
                format!("`{path}` is not a path within the project")
            );
        }
        for path in ["a\nb", "\u{1b}[2J", "a/\u{202e}b"] {
            assert_eq!(error(path), format!("`{path}` has an invisible character"));
        }
    }

    #[test]
    fn a_path_does_not_belong_to_git() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git.",
            ".git . ",
            ".git::$INDEX_ALLOCATION",
            ".git\\config",
            ".g\u{200c}it",
            "\u{feff}.git",
        ] {
            for path in [
                name.to_owned(),
                format!("{name}/HEAD"),
                format!("a/{name}/b"),
            ] {
                assert_eq!(
                    error(&path),
                    format!("`{path}` belongs to git, not to the project")
                );
            }
        }
        for path in [
            ".gitignore",
            ".github/workflows/test.yml",
            "git",
            ".git-hooks/a",
            "a.git",
        ] {
            assert_eq!(ProjectPath::new(path).unwrap().as_str(), path);
        }
    }

    #[test]
    fn the_parts_of_a_path() {
        let path = ProjectPath::new("a/b/c").unwrap();
        assert_eq!(
            (path.name(), path.folder()),
            ("c", Some(ProjectPath("a/b")))
        );
        assert_eq!(ProjectPath("a").folder(), None);
        assert_eq!(
            path.parts().map(|path| path.0).collect::<Vec<_>>(),
            ["a", "a/b", "a/b/c"]
        );
        assert!(path.is_in("a") && path.is_in("a/b/c"));
        assert!(!path.is_in("a/") && !path.is_in("a/b/c/d") && !ProjectPath("ab").is_in("a"));
    }
}
