//! Where the root of a cargo workspace is, as seen from a member.

use std::{fmt, str::FromStr};

use anyhow::ensure;
use serde::{Deserialize, Serialize};

/// The way up from a project's folder to that of its workspace: `..`, `../..`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspaceRoot {
    /// How many folders up, at least one.
    up: usize,
}

impl WorkspaceRoot {
    /// The folder `up` levels above the project's.
    ///
    /// # Errors
    /// When that is the project's own.
    pub fn above(up: usize) -> anyhow::Result<Self> {
        ensure!(up > 0, "a workspace is above its members");
        Ok(Self { up })
    }
}

impl fmt::Display for WorkspaceRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&vec![".."; self.up].join("/"))
    }
}

impl FromStr for WorkspaceRoot {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        ensure!(
            text.split('/').all(|part| part == ".."),
            "`{text}` is not the way from a project up to its workspace: it must look like `..` or \
             `../..`"
        );
        Self::above(text.split('/').count())
    }
}

impl TryFrom<String> for WorkspaceRoot {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        text.parse()
    }
}

impl From<WorkspaceRoot> for String {
    fn from(root: WorkspaceRoot) -> Self {
        root.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_above() {
        for good in ["..", "../.."] {
            let root: WorkspaceRoot = good.parse().unwrap();
            assert_eq!(root.to_string(), good);
            assert_eq!(String::from(root), good);
        }
        for bad in ["", ".", "../", "/work", "../a"] {
            assert!(bad.parse::<WorkspaceRoot>().is_err(), "{bad}");
        }
    }
}
