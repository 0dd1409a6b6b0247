//! `--on-conflict`

use std::ffi::OsStr;

use anyhow::{Result, ensure};
use clap::{
    Arg, Args, Command, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};

use crate::{
    command::report::UsageError,
    engine::reconcile::{OnConflict, Policy},
};

/// The choices that the command line gives.
#[derive(Debug, Args)]
pub struct Choices {
    /// What to do with lines that both you and rscaffold changed: `abort` shows them and writes nothing, `ours` keeps
    /// your lines, `theirs` takes the lines of rscaffold, `markers` writes both between conflict markers.
    /// `ours:Makefile` applies to that file only. Repeat the flag for more files [default: abort]
    #[arg(long = "on-conflict", value_name = "HOW[:FILE]", value_parser = ChoiceParser)]
    #[arg(hide_possible_values = true)]
    choices: Vec<Choice>,
}

/// A choice for all files, such as `ours`, or for one file, such as `ours:Makefile`.
type Choice = (OnConflict, Option<String>);

impl Choices {
    /// Whether the command line has a choice.
    pub fn is_given(&self) -> bool {
        !self.choices.is_empty()
    }

    /// The policy of these choices.
    ///
    /// # Errors
    /// When there are two choices for all files, or two different ones for one file.
    pub fn policy(&self) -> Result<Policy> {
        let mut policy = Policy::default();
        let mut everywhere = None;
        for (answer, path) in &self.choices {
            let (before, choices) = if let Some(path) = path {
                let before = policy.by_path.insert(path.clone(), *answer);
                let choices = format!("different choices for `{path}`");
                (before.filter(|before| before != answer), choices)
            } else {
                let before = everywhere.replace(*answer);
                (before, "choices for all files".to_owned())
            };
            let error = format!("invalid value for `--on-conflict`: there are two {choices}");
            ensure!(before.is_none(), UsageError(error));
        }
        policy.everywhere = everywhere.unwrap_or_default();
        Ok(policy)
    }
}

fn choice(text: &str) -> Result<Choice> {
    let (name, path) = match text.split_once(':') {
        Some((name, path)) => (name, Some(path.strip_prefix("./").unwrap_or(path))),
        None => (text, None),
    };
    let answer = name.parse()?;
    ensure!(
        path != Some(""),
        "`{text}` needs a path after the colon, as in `{text}Makefile`"
    );
    Ok((answer, path.map(str::to_owned)))
}

/// Parses a [`Choice`]. For shell completion, lists the values that can precede the `:`.
#[derive(Clone)]
struct ChoiceParser;

impl TypedValueParser for ChoiceParser {
    type Value = Choice;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Choice, clap::Error> {
        choice.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let answers = OnConflict::value_variants().iter();
        Some(Box::new(answers.filter_map(OnConflict::to_possible_value)))
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    fn policy(choices: &[&str]) -> Result<Policy> {
        let command = Choices::augment_args(Command::new("apply").no_binary_name(true));
        let flags = choices
            .iter()
            .map(|choice| format!("--on-conflict={choice}"));
        let choices = Choices::from_arg_matches(&command.try_get_matches_from(flags)?)?;
        choices.policy()
    }

    #[test]
    fn without_a_choice_a_conflict_aborts() {
        let policy = policy(&[]).unwrap();

        assert_eq!(policy, Policy::default());
        assert_eq!(policy.of("Makefile"), OnConflict::Abort);
    }

    #[test]
    fn a_choice_for_a_file_overrides_the_choice_for_all() {
        let policy = policy(&["ours:src/main.rs", "theirs", "markers:./a:b"]).unwrap();

        assert_eq!(policy.everywhere, OnConflict::Theirs);
        assert_eq!(policy.of("src/main.rs"), OnConflict::Ours);
        assert_eq!(policy.of("a:b"), OnConflict::Markers);
        assert_eq!(policy.of("Makefile"), OnConflict::Theirs);
        assert_eq!(policy.of("main.rs"), OnConflict::Theirs);
    }

    #[test]
    fn choices_that_contradict_each_other_are_a_usage_error() {
        for (choices, reason) in [
            (["ours", "ours"], "two choices for all files"),
            (["ours", "theirs"], "two choices for all files"),
            (
                ["ours:Makefile", "theirs:./Makefile"],
                "two different choices for `Makefile`",
            ),
        ] {
            let error = policy(&choices).unwrap_err();
            assert!(error.is::<UsageError>());
            let expected = format!("invalid value for `--on-conflict`: there are {reason}");
            assert_eq!(error.to_string(), expected);
        }
        assert!(policy(&["ours:Makefile", "ours:Makefile", "abort:README.md"]).is_ok());
    }

    #[test]
    fn a_choice_is_an_answer_and_may_name_a_file() {
        for text in ["mine", ""] {
            let expected = format!("`{text}` is not one of `abort`, `ours`, `theirs`, `markers`");
            assert_eq!(choice(text).unwrap_err().to_string(), expected);
        }
        let expected = "`mine` is not one of `abort`, `ours`, `theirs`, `markers`";
        assert_eq!(choice("mine:Makefile").unwrap_err().to_string(), expected);
        assert_eq!(
            choice("ours:").unwrap_err().to_string(),
            "`ours:` needs a path after the colon, as in `ours:Makefile`"
        );
    }

    #[test]
    fn shells_complete_the_answers() {
        let values = ChoiceParser.possible_values().into_iter().flatten();
        let answers: Vec<_> = values.map(|answer| answer.get_name().to_owned()).collect();
        assert_eq!(answers, ["abort", "ours", "theirs", "markers"]);
    }
}
