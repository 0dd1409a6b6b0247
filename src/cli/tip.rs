//! The tip below an error about an unknown flag.

use clap::{
    Command, ValueEnum,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    command::other_tools::{Here, here},
    project::Feature,
};

/// Replaces clap's tip, which compares only the spelling: clap may suggest a hidden flag, or a flag with another
/// meaning.
pub(super) fn with_tip(mut error: clap::Error, cli: &Command) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(flag) = error.get(ContextKind::InvalidArg).and_then(long_flag) else {
        return error;
    };
    let suggested = error.get(ContextKind::SuggestedArg).and_then(long_flag);
    let is_hidden = suggested.is_some_and(|name| commands_with(cli, &name).is_empty());
    let commands = commands_with(cli, &flag).join("`, `");
    let tip = match Feature::from_str(&flag, false) {
        Ok(feature) => Some(format!("a feature is added with `--enable={feature}`")),
        Err(_) if commands.is_empty() => None,
        Err(_) => Some(format!("`--{flag}` is a flag of `{commands}`")),
    };
    let is_unknown = here(&format!("--{flag}")) == Some(Here::Unknown);
    if tip.is_some() || is_unknown || is_hidden {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
    }
    if let Some(tip) = tip {
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// The name of a flag without its dashes and its value; `None` for other arguments.
fn long_flag(argument: &ContextValue) -> Option<String> {
    let ContextValue::String(text) = argument else {
        return None;
    };
    let flag = text.strip_prefix("--")?;
    let name = flag.split(['=', ' ', '[']).next()?;
    Some(name.to_owned())
}

/// The commands whose help shows this flag, such as `create api`.
fn commands_with(cli: &Command, flag: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for command in cli.get_subcommands() {
        let has_flag = (command.get_arguments())
            .any(|argument| argument.get_long() == Some(flag) && !argument.is_hide_set());
        if has_flag {
            commands.push(command.get_name().to_owned());
        }
        let below = commands_with(command, flag).into_iter();
        commands.extend(below.map(|name| format!("{} {name}", command.get_name())));
    }
    commands
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{super::Cli, *};
    use crate::command::other_tools::TYPED;

    /// The tip that the user gets for `arguments`.
    fn tip(arguments: &str) -> Option<String> {
        let words = ["rscaffold"].into_iter().chain(arguments.split(' '));
        let error = Cli::try_parse_from(words).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{arguments}");
        let text = with_tip(error, &Cli::command()).to_string();
        let tip = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("tip: "));
        tip.map(str::to_owned)
    }

    #[test]
    fn a_flag_of_another_command_gets_a_tip_with_the_command() {
        for (arguments, expected) in [
            ("init --image=nginx", "`--image` is a flag of `create api`"),
            (
                "edit --conversion",
                "`--conversion` is a flag of `create api`, `create webhook`, `delete webhook`",
            ),
            (
                "create api --owner=me",
                "`--owner` is a flag of `init`, `edit`",
            ),
            (
                "create api --validation-path=/v",
                "`--validation-path` is a flag of `create webhook`",
            ),
            ("edit --helm", "a feature is added with `--enable=helm`"),
        ] {
            assert_eq!(tip(arguments).as_deref(), Some(expected), "{arguments}");
        }
    }

    #[test]
    fn a_flag_of_kubebuilder_gets_no_tip() {
        let unknown = TYPED.iter().filter(|(_, here)| *here == Here::Unknown);
        for (flag, _) in unknown {
            for command in ["init", "edit", "create api", "create webhook", "delete api"] {
                assert_eq!(
                    tip(&format!("{command} {flag}=x")),
                    None,
                    "{command} {flag}"
                );
            }
        }
    }

    #[test]
    fn a_tip_does_not_suggest_a_hidden_flag() {
        assert_eq!(tip("init --mak"), None);
    }

    #[test]
    fn a_misspelled_flag_gets_the_similar_flag() {
        let expected = Some("a similar argument exists: '--domain'");
        assert_eq!(tip("init --domian=com").as_deref(), expected);
    }
}
