//! The policy for conflicts: one choice for all files, and choices for single files.

use std::{collections::BTreeMap, str::FromStr};

use anyhow::{Error, Result, anyhow};
use clap::ValueEnum;

/// What to do with conflicting lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Show the conflicts, and write nothing
    #[default]
    #[value(alias = "a")]
    Abort,
    /// Keep the user's lines
    #[value(alias = "o")]
    Ours,
    /// Take rscaffold's lines
    #[value(alias = "t")]
    Theirs,
    /// Write both, between conflict markers
    #[value(alias = "m")]
    Markers,
}

impl FromStr for OnConflict {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        <Self as ValueEnum>::from_str(name, true)
            .map_err(|_| anyhow!("`{name}` is not one of `abort`, `ours`, `theirs`, `markers`"))
    }
}

/// What to do with the conflicting lines of each file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The choice for all files that are not in `by_path`.
    pub everywhere: OnConflict,
    /// The choices for single files.
    pub by_path: BTreeMap<String, OnConflict>,
}

impl Policy {
    /// The choice for the file at `path`.
    pub fn of(&self, path: &str) -> OnConflict {
        *self.by_path.get(path).unwrap_or(&self.everywhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_is_written() {
        for (letter, answer) in [("o", OnConflict::Ours), ("t", OnConflict::Theirs)] {
            assert_eq!(letter.parse::<OnConflict>().unwrap(), answer);
        }
        for (name, answer) in [
            ("abort", OnConflict::Abort),
            ("ours", OnConflict::Ours),
            ("theirs", OnConflict::Theirs),
            ("markers", OnConflict::Markers),
        ] {
            assert_eq!(name.parse::<OnConflict>().unwrap(), answer);
        }
        let error = "mine".parse::<OnConflict>().unwrap_err().to_string();
        let expected = "`mine` is not one of `abort`, `ours`, `theirs`, `markers`";
        assert_eq!(error, expected);
    }
}
