//! The tool and the version that wrote a `PROJECT` file.

use std::cmp::Ordering;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use super::{error::Error, model::Project};
use crate::yaml;

/// The major and minor version of the oldest rscaffold whose projects can be read. No version before it was published.
const OLDEST: (u64, u64) = (0, 3);

impl Project {
    /// Checks that the text of a `PROJECT` file is not from another tool.
    ///
    /// # Errors
    /// When another tool wrote it.
    pub fn check_format(text: &str) -> Result<()> {
        yaml::read_or_default::<Format>(text).check()
    }

    /// Whether an older rscaffold than this one last wrote the project.
    pub fn is_older(&self) -> bool {
        let order = order(&self.cli_version, env!("CARGO_PKG_VERSION"));
        order == Some(Ordering::Less)
    }
}

/// The fields that identify the tool that wrote a `PROJECT` file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Format {
    cli_version: Option<String>,
    layout: Option<Layout>,
    version: Option<String>,
}

/// kubebuilder also accepts a single string.
#[derive(Deserialize)]
#[serde(untagged)]
enum Layout {
    One(String),
    Many(Vec<String>),
}

impl Format {
    fn check(self) -> Result<()> {
        let file = Project::FILE;
        let layout = self.layout.map(|layout| match layout {
            Layout::One(layout) => layout,
            Layout::Many(layouts) => layouts.join(","),
        });
        // Version 2 has no layout.
        let is_go = match &layout {
            Some(layout) => layout.contains("go.kubebuilder.io/"),
            None => self.version.as_deref() == Some("2"),
        };
        if is_go {
            bail!(Error::GoProject);
        }
        for (field, theirs, ours) in [
            ("layout", layout, Project::LAYOUT),
            ("version", self.version, Project::VERSION),
        ] {
            if let Some(theirs) = theirs.filter(|theirs| theirs != ours) {
                bail!(
                    "`{file}` has the {field} `{theirs}`, which this rscaffold does not know: it \
                     must be `{ours}`"
                );
            }
        }
        match self.cli_version {
            Some(theirs) => check_version(&theirs, env!("CARGO_PKG_VERSION")),
            None => Ok(()),
        }
    }
}

/// Refuses a file from a newer rscaffold, because an older one must not undo its changes, and a file from a version
/// before [`OLDEST`].
fn check_version(theirs: &str, ours: &str) -> Result<()> {
    let file = Project::FILE;
    let order = order(theirs, ours).with_context(|| {
        format!("`cliVersion` in `{file}` is `{theirs}`: it must look like `{ours}`")
    })?;
    ensure!(
        order != Ordering::Greater,
        "`{file}` was written by rscaffold {theirs}, but this is rscaffold {ours}: install \
         {theirs} or newer"
    );
    let (major, minor) = OLDEST;
    let version: semver::Version = theirs.parse()?;
    if (version.major, version.minor) < OLDEST {
        bail!(Error::TooOld {
            theirs: theirs.to_owned(),
            oldest: format!("{major}.{minor}"),
        });
    }
    Ok(())
}

/// The order of two versions of rscaffold.
fn order(a: &str, b: &str) -> Option<Ordering> {
    let [a, b] = [a, b].map(|version| version.parse::<semver::Version>().ok());
    Some(a?.cmp_precedence(&b?))
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{assert_error, with, written},
        *,
    };

    #[test]
    fn a_project_is_older_than_a_newer_rscaffold() {
        let mut project = written();
        assert!(project.is_older());
        env!("CARGO_PKG_VERSION").clone_into(&mut project.cli_version);
        assert!(!project.is_older());
    }

    #[test]
    fn projects_of_other_tools_are_refused() {
        let go = "\
domain: testproject.org
layout:
- go.kubebuilder.io/v4
plugins:
  helm.kubebuilder.io/v2-alpha: {}
projectName: guestbook
repo: example.com/guestbook
version: \"3\"
";
        let expected = "`PROJECT` describes a Go project of kubebuilder, but rscaffold is for projects in \
             Rust";
        assert_error(go, expected);
        assert_error(&go.replace("\n- ", " "), expected);
        assert_error("domain: testproject.org\nversion: \"2\"\n", expected);
        assert_error(
            &with("rust.rscaffold/v1", "rust.rscaffold/v2"),
            "`PROJECT` has the layout `rust.rscaffold/v2`, which this rscaffold does not know: it \
             must be `rust.rscaffold/v1`",
        );
        assert_error(
            &with("version: '3'", "version: 4"),
            "`PROJECT` has the version `4`, which this rscaffold does not know: it must be `3`",
        );
        assert_error(
            "version: \"1\"\ndomain: com\n",
            "`PROJECT` has the version `1`, which this rscaffold does not know: it must be `3`",
        );
    }

    #[test]
    fn a_newer_rscaffold_wrote_it() {
        // Even if the file has fields that this version does not know.
        let ours = env!("CARGO_PKG_VERSION");
        assert_error(
            &with("cliVersion: 0.3.0-rc.1", "cliVersion: 99.0.0\nnews: true"),
            &format!(
                "`PROJECT` was written by rscaffold 99.0.0, but this is rscaffold {ours}: install \
                 99.0.0 or newer"
            ),
        );
        assert_error(
            &with("cliVersion: 0.3.0-rc.1", "cliVersion: (devel)"),
            &format!("`cliVersion` in `PROJECT` is `(devel)`: it must look like `{ours}`"),
        );
    }

    #[test]
    fn a_version_that_was_never_published_wrote_it() {
        let ours = env!("CARGO_PKG_VERSION");
        // Even if the file has fields that this version does not know.
        for (theirs, more) in [("0.1.0", ""), ("0.2.9", "\nnews: true")] {
            let line = format!("cliVersion: {theirs}{more}");
            assert_error(
                &with("cliVersion: 0.3.0-rc.1", &line),
                &format!(
                    "`PROJECT` was written by rscaffold {theirs}, but rscaffold {ours} reads \
                     projects of 0.3 or newer"
                ),
            );
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        let newer = [
            ("0.10.0", "0.9.0"),
            ("1.0.0", "0.99.99"),
            ("0.3.10", "0.3.9"),
            ("0.3.0", "0.3.0-rc.1"),
        ];
        for (newer, older) in newer {
            assert!(check_version(older, newer).is_ok(), "{older} by {newer}");
            assert!(check_version(newer, older).is_err(), "{newer} by {older}");
        }
        for same in [("0.3.0", "0.3.0"), ("0.3.0+build", "0.3.0")] {
            assert!(check_version(same.0, same.1).is_ok(), "{same:?}");
        }
        for bad in ["1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", ""] {
            assert!(check_version(bad, "1.2.3").is_err(), "{bad}");
        }
    }
}
