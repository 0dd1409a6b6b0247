//! The source of the crate that runs the operator of a project.

use std::{
    fmt::{self, Display},
    str::FromStr,
};

use anyhow::{Error, Result, ensure};
use serde::{Deserialize, Serialize};

/// The source of the crate `kube-manager`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Runtime {
    /// [`Runtime::FOLDER`], a folder of the project that rscaffold writes.
    #[default]
    Vendored,
    /// The Rust registry, crates.io.
    Registry,
    /// The copy in another project of the same cargo workspace. The value is the relative path from this project to
    /// that folder: `../guestbook/crates/kube-manager`.
    Shared(String),
}

impl Runtime {
    /// The folder of the crate in a project with a vendored crate.
    pub const FOLDER: &str = "crates/kube-manager";

    /// The default for a new project of rscaffold `version`: the registry has the runtime of each release, and only of
    /// releases.
    pub fn of_version(version: &str) -> Self {
        if is_release(version) {
            Self::Registry
        } else {
            Self::Vendored
        }
    }

    /// Refuses a runtime that rscaffold `version` cannot take.
    ///
    /// # Errors
    /// When the crate is to come from the registry, but `version` is not a release.
    pub fn ensure_available(&self, version: &str) -> Result<()> {
        ensure!(
            *self != Self::Registry || is_release(version),
            "the registry has no `kube-manager` {version}, because this rscaffold is not a release"
        );
        Ok(())
    }

    /// The folder of the crate; `None` if it is in the registry.
    pub fn folder(&self) -> Option<&str> {
        match self {
            Self::Vendored => Some(Self::FOLDER),
            Self::Registry => None,
            Self::Shared(folder) => Some(folder),
        }
    }
}

/// Whether `version` is a release, not a version under development such as `0.4.0-dev`.
fn is_release(version: &str) -> bool {
    !version.contains('-')
}

impl Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vendored => "vendored",
            Self::Registry => "registry",
            Self::Shared(folder) => folder,
        })
    }
}

impl FromStr for Runtime {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "vendored" => return Ok(Self::Vendored),
            "registry" => return Ok(Self::Registry),
            _ => {}
        }
        let path = text.strip_prefix("./").unwrap_or(text);
        let path = path.strip_suffix('/').unwrap_or(path);
        // These characters need no escape in TOML.
        let mut characters = path.chars();
        ensure!(
            path.starts_with("../")
                && characters.all(|c| c.is_ascii_alphanumeric() || "-._+/".contains(c))
                && path.split('/').all(|part| !matches!(part, "" | ".")),
            "`{text}` is neither `vendored`, nor `registry`, nor the path of the runtime in \
             another project of the workspace, as in `../guestbook/{}`",
            Self::FOLDER
        );
        Ok(Self::Shared(path.to_owned()))
    }
}

impl TryFrom<String> for Runtime {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Runtime> for String {
    fn from(runtime: Runtime) -> Self {
        runtime.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_read_as_it_is_written() {
        for (text, folder) in [
            ("vendored", Some("crates/kube-manager")),
            ("registry", None),
            ("../a/crates/kube-manager", Some("../a/crates/kube-manager")),
            ("../../b", Some("../../b")),
        ] {
            let runtime: Runtime = text.parse().unwrap();
            assert_eq!(serde_yaml::from_str::<Runtime>(text).unwrap(), runtime);
            assert_eq!(
                (runtime.to_string().as_str(), runtime.folder()),
                (text, folder)
            );
        }
    }

    #[test]
    fn a_folder_may_be_written_as_a_shell_completes_it() {
        let runtime: Runtime = "./../a/crates/kube-manager/".parse().unwrap();
        assert_eq!(runtime.folder(), Some("../a/crates/kube-manager"));
    }

    #[test]
    fn a_release_takes_the_runtime_from_the_registry_and_another_version_vendors_it() {
        assert_eq!(Runtime::of_version("0.4.0"), Runtime::Registry);
        assert_eq!(Runtime::of_version("0.4.0-dev"), Runtime::Vendored);
        for (runtime, version) in [
            (Runtime::Registry, "0.4.0"),
            (Runtime::Vendored, "0.4.0"),
            (Runtime::Vendored, "0.4.0-dev"),
        ] {
            runtime.ensure_available(version).unwrap();
        }
        let error = Runtime::Registry.ensure_available("0.4.0-dev").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the registry has no `kube-manager` 0.4.0-dev, because this rscaffold is not a release"
        );
    }

    #[test]
    fn a_folder_is_a_plain_path_of_another_project() {
        for text in [
            "",
            "Vendored",
            "crates/kube-manager",
            "/a",
            "..",
            "../",
            "../a//b",
            "../a\"",
            ".././a",
        ] {
            let error = text.parse::<Runtime>().unwrap_err().to_string();
            let expected = format!("`{text}` is neither `vendored`, nor `registry`, nor the path ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
