//! `--on-conflict` as clap sees it: clap's derives know no type that is made of several flags.

use std::{ffi::OsStr, str::FromStr};

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use crate::reconcile::{Choice, OnConflict, Policy};

const ID: &str = "on_conflict";

const HELP: &str = "\
    What happens to lines that both you and rscaffold changed: `abort` shows them and writes nothing, \
    `ours` keeps yours, `theirs` takes rscaffold's, `markers` writes both between conflict markers. \
    `ours:Makefile` keeps your lines in that file; can be repeated [default: abort]";

impl Args for Policy {
    fn augment_args(command: Command) -> Command {
        let arg = Arg::new(ID).long("on-conflict").value_name("HOW[:FILE]");
        let arg = arg.action(ArgAction::Append).value_parser(Choices);
        command.arg(arg.hide_possible_values(true).help(HELP))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Policy {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let choices = matches.get_many::<Choice>(ID).unwrap_or_default();
        Self::new(choices.cloned()).map_err(|reason| {
            let mut error = Error::new(ErrorKind::ArgumentConflict);
            let text = |text: String| ContextValue::String(text);
            error.insert(ContextKind::InvalidArg, text("--on-conflict".to_owned()));
            error.insert(ContextKind::Custom, text(reason.to_string()));
            error
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Parses a [`Choice`], and tells shells what may stand before the `:`.
#[derive(Clone)]
struct Choices;

impl TypedValueParser for Choices {
    type Value = Choice;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Choice, Error> {
        Choice::from_str.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let answers = OnConflict::value_variants().iter();
        Some(Box::new(answers.filter_map(OnConflict::to_possible_value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(arguments: &[&str]) -> Result<Policy, Error> {
        let command = Policy::augment_args(Command::new("apply").no_binary_name(true));
        Policy::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    #[test]
    fn the_flag_takes_one_choice_for_all_files_and_others_for_single_files() {
        assert_eq!(policy(&[]).unwrap(), Policy::default());
        let policy = policy(&["--on-conflict=ours:Makefile", "--on-conflict", "theirs"]).unwrap();
        assert_eq!(policy.of("Makefile"), OnConflict::Ours);
        assert_eq!(policy.of("README.md"), OnConflict::Theirs);
    }

    #[test]
    fn choices_that_contradict_each_other_are_a_usage_error() {
        let error = policy(&["--on-conflict=ours", "--on-conflict=theirs"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let reason = ContextValue::String("there are two choices for all files".to_owned());
        assert_eq!(error.get(ContextKind::Custom), Some(&reason));
    }

    #[test]
    fn shells_complete_the_answers() {
        let answers = Choices.possible_values().into_iter().flatten();
        let answers: Vec<_> = answers.map(|it| it.get_name().to_owned()).collect();
        assert_eq!(answers, ["abort", "ours", "theirs", "markers"]);
    }
}
