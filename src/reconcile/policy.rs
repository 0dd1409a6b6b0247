//! What becomes of conflicts: one answer for all files, and others for single files.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
    str::FromStr,
};

use anyhow::{Error, Result, anyhow, ensure};
use clap::{ValueEnum, builder::PossibleValue};

/// What becomes of lines that cannot be merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Show them, and write nothing
    #[default]
    Abort,
    /// Keep the user's lines
    Ours,
    /// Take rscaffold's lines
    Theirs,
    /// Write both, between git's conflict markers
    Markers,
}

impl FromStr for OnConflict {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        <Self as ValueEnum>::from_str(name, false)
            .map_err(|_| anyhow!("`{name}` is not one of `abort`, `ours`, `theirs`, `markers`"))
    }
}

impl Display for OnConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

/// What becomes of lines that cannot be merged, for each file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The answer for all files that have none of their own.
    pub everywhere: OnConflict,
    /// The answers for single files.
    pub by_path: BTreeMap<String, OnConflict>,
}

impl Policy {
    /// The policy of these choices.
    ///
    /// # Errors
    /// When there are two choices for all files, or two different ones for one file.
    pub fn new(choices: impl IntoIterator<Item = Choice>) -> Result<Self> {
        let mut everywhere = None;
        let mut by_path = BTreeMap::new();
        for Choice { answer, path } in choices {
            if let Some(path) = path {
                let is_same = *by_path.entry(path.clone()).or_insert(answer) == answer;
                ensure!(is_same, "there are two different choices for `{path}`");
            } else {
                let before = everywhere.replace(answer);
                ensure!(before.is_none(), "there are two choices for all files");
            }
        }
        Ok(Self {
            everywhere: everywhere.unwrap_or_default(),
            by_path,
        })
    }

    /// The answer for the file at `path`.
    pub fn of(&self, path: &str) -> OnConflict {
        let answer = self.by_path.get(path).copied();
        answer.unwrap_or(self.everywhere)
    }
}

/// An answer for all files, such as `ours`, or for a single file, such as `ours:Makefile`.
#[derive(Debug, Clone)]
pub struct Choice {
    answer: OnConflict,
    path: Option<String>,
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, path) = match text.split_once(':') {
            Some((name, path)) => (name, Some(path.strip_prefix("./").unwrap_or(path))),
            None => (text, None),
        };
        let answer = name.parse()?;
        ensure!(
            path != Some(""),
            "there is no path after `{text}`, as in `{text}Makefile`"
        );
        Ok(Self {
            answer,
            path: path.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(choices: &[&str]) -> Result<Policy> {
        let choices: Result<Vec<Choice>> = choices.iter().map(|text| text.parse()).collect();
        Policy::new(choices?)
    }

    fn refusal(choices: &[&str]) -> String {
        policy(choices).unwrap_err().to_string()
    }

    #[test]
    fn without_a_choice_a_conflict_aborts() {
        let policy = policy(&[]).unwrap();

        assert_eq!(policy, Policy::default());
        assert_eq!(policy.of("Makefile"), OnConflict::Abort);
    }

    #[test]
    fn a_choice_for_a_file_goes_before_the_one_for_all() {
        let policy = policy(&["ours:src/main.rs", "theirs", "markers:./a:b"]).unwrap();

        assert_eq!(policy.everywhere, OnConflict::Theirs);
        assert_eq!(policy.of("src/main.rs"), OnConflict::Ours);
        assert_eq!(policy.of("a:b"), OnConflict::Markers);
        assert_eq!(policy.of("Makefile"), OnConflict::Theirs);
        assert_eq!(policy.of("main.rs"), OnConflict::Theirs);
    }

    #[test]
    fn choices_must_not_contradict_each_other() {
        assert_eq!(
            refusal(&["ours", "ours"]),
            "there are two choices for all files"
        );
        assert_eq!(
            refusal(&["ours:Makefile", "theirs:./Makefile"]),
            "there are two different choices for `Makefile`"
        );
        assert!(policy(&["ours:Makefile", "ours:Makefile", "abort:README.md"]).is_ok());
    }

    #[test]
    fn a_choice_is_an_answer_and_may_name_a_file() {
        for text in ["mine", "Ours", ""] {
            let expected = format!("`{text}` is not one of `abort`, `ours`, `theirs`, `markers`");
            assert_eq!(refusal(&[text]), expected);
        }
        let expected = "`mine` is not one of `abort`, `ours`, `theirs`, `markers`";
        assert_eq!(refusal(&["mine:Makefile"]), expected);
        assert_eq!(
            refusal(&["ours:"]),
            "there is no path after `ours:`, as in `ours:Makefile`"
        );
    }
}
