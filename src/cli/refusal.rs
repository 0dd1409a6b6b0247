//! The errors for arguments that clap refuses, each with a hint: what to type instead.

use std::error::Error as _;

use clap::{
    Command, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    command::{
        other_tools::{Equivalent, IN_HOOK, OF_GROUP, command, equivalent, filled},
        report::UsageError,
    },
    hint::{OrHint, nearest},
    names::in_backticks,
    project::Feature,
    visible::{quoted, visible},
};

/// The error for the arguments `typed` of the program, which clap refuses with `error`; `None` if clap's text has all
/// that there is to say.
pub(super) fn refusal(
    error: &clap::Error,
    typed: &[String],
    cli: &Command,
) -> Option<anyhow::Error> {
    let typed = match typed {
        [help, asked @ ..] if help == "help" => asked,
        typed => typed,
    };
    let one_hyphen = with_one_hyphen(typed, cli).filter(|_| error.use_stderr());
    let (message, hint) = one_hyphen.or_else(|| refused(error, typed, cli))?;
    let error = anyhow::Error::new(UsageError(message));
    match hint {
        Some(hint) => Err::<(), _>(error).or_hint(hint).err(),
        None => Some(error),
    }
}

/// The message and the hint for arguments that clap refuses with `error`.
fn refused(
    error: &clap::Error,
    typed: &[String],
    cli: &Command,
) -> Option<(String, Option<String>)> {
    Some(match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text_of(error, ContextKind::InvalidSubcommand)?;
            unknown_word(word, typed, cli)
        }
        ErrorKind::UnknownArgument => match text_of(error, ContextKind::InvalidArg)? {
            flag if flag.starts_with('-') => unknown_flag(flag, typed, cli),
            word => match flag_before(word, typed) {
                Some(flag) => needless_value(flag, word),
                None => unknown_word(word, typed, cli),
            },
        },
        ErrorKind::TooManyValues => {
            let flag = text_of(error, ContextKind::InvalidArg)?;
            needless_value(flag, text_of(error, ContextKind::InvalidValue)?)
        }
        ErrorKind::MissingRequiredArgument => missing(error, typed, cli)?,
        ErrorKind::ArgumentConflict => conflict(error)?,
        _ => bad_value(error, typed)?,
    })
}

/// The message and the hint for a flag as programs in Go take it: `-group app`. clap reads it as `-g roup`.
fn with_one_hyphen(typed: &[String], cli: &Command) -> Option<(String, Option<String>)> {
    let (path, found) = typed_command(cli, typed);
    let flag = typed.iter().map(|word| name(word)).find(|word| {
        let long = word.strip_prefix('-');
        long.is_some() && found.get_arguments().any(|flag| flag.get_long() == long)
    })?;
    let message = format!("`{flag}` is not a flag of `{}`", shown(&typed[..path]));
    Some((message, Some(format!("flags have two hyphens: `-{flag}`"))))
}

/// What is wrong with the value of a flag, and a similar value; `None` if the error is not about a value.
fn bad_value(error: &clap::Error, typed: &[String]) -> Option<(String, Option<String>)> {
    let argument = text_of(error, ContextKind::InvalidArg)?;
    let flag = match name(argument) {
        // The same flag by another name.
        "--namespaced" if typed.iter().any(|word| name(word) == "--scope") => "--scope",
        flag => flag,
    };
    let value = text_of(error, ContextKind::InvalidValue).unwrap_or_default();
    let similar = text_of(error, ContextKind::SuggestedValue);
    let mut hint = similar.map(|value| format!("a similar value is `{value}`"));
    if let Some(Equivalent::Hint(row)) = equivalent(&format!("{flag}={value}")) {
        hint = Some(row.to_owned());
    }
    let reason = match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::InvalidValue, _) if value.is_empty() => {
            let place = typed.iter().position(|word| word == flag);
            let next = place.and_then(|place| typed.get(place + 1));
            let next = next.filter(|next| next.starts_with('-') && !next.starts_with("--"));
            return Some(needs_value(flag, next));
        }
        (ErrorKind::InvalidValue, _) if flag == "--scope" => {
            format!("`{value}` is neither `Namespaced` nor `Cluster`")
        }
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(valid))) => match valid.as_slice() {
            [only] => {
                hint = None;
                format!("it must be `{only}`")
            }
            valid => format!("`{value}` is not one of `{}`", valid.join("`, `")),
        },
        (ErrorKind::ValueValidation, _) => error.source()?.to_string(),
        _ => return None,
    };
    Some((format!("invalid value for `{flag}`: {reason}"), hint))
}

/// The message and the hint for a flag without a value, before the word `next`, if clap took that for a flag.
fn needs_value(flag: &str, next: Option<&String>) -> (String, Option<String>) {
    let hint = next.map(|next| {
        let next = quoted(next);
        format!("a value that begins with `-` needs `=`: `{flag}={next}`")
    });
    (format!("`{flag}` needs a value"), hint)
}

/// The flag before `word`, if `word` is a boolean: the user has typed it as the value of the flag.
fn flag_before<'a>(word: &str, typed: &'a [String]) -> Option<&'a str> {
    let place = typed.iter().rposition(|there| there == word)?;
    let flag = typed.get(place.checked_sub(1)?)?;
    let is_flag = flag.starts_with('-') && !flag.contains('=');
    (is_flag && is_boolean(word)).then_some(flag)
}

fn is_boolean(word: &str) -> bool {
    ["true", "false"].contains(&word.to_lowercase().as_str())
}

/// The message and the hint for a flag that takes no value.
fn needless_value(flag: &str, value: &str) -> (String, Option<String>) {
    let flag = name(flag);
    let hint = if value.eq_ignore_ascii_case("false") {
        format!("leave out `{flag}`")
    } else {
        format!("use `{flag}` alone")
    };
    let value = visible(value).replace('\t', "\\t");
    let message = format!("`{flag}` does not take the value `{value}`");
    (message, Some(hint))
}

/// The message and the hint for arguments that a flag or the command needs.
fn missing(
    error: &clap::Error,
    typed: &[String],
    cli: &Command,
) -> Option<(String, Option<String>)> {
    let ContextValue::Strings(needed) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let (path, _) = typed_command(cli, typed);
    let (command, flags) = typed.split_at(path);
    // clap does not say which flag needs them: the one that is refused alone in the same way.
    let mut flags = flags.chunk_by(|_, next| !next.starts_with('-'));
    let by = flags.find(|flag| {
        let words = [&[String::new()], command, *flag].concat();
        let refused = cli.clone().try_get_matches_from(words).err();
        refused.is_some_and(|refused| {
            refused.get(ContextKind::InvalidArg) == error.get(ContextKind::InvalidArg)
        })
    });
    let names = in_backticks(needed.iter().map(|argument| name(argument)));
    if let Some([flag, ..]) = by {
        let message = format!("`{}` needs {names}", name(flag));
        return Some((message, Some(format!("add {}", in_backticks(needed)))));
    }
    let command = shown(command);
    let hint = format!("`{command} --help` lists the values");
    Some((format!("`{command}` needs {names}"), Some(hint)))
}

/// The message and the hint for flags that exclude each other, and for a flag that is given twice.
fn conflict(error: &clap::Error) -> Option<(String, Option<String>)> {
    let one = name(text_of(error, ContextKind::InvalidArg)?);
    let others: Vec<_> = match error.get(ContextKind::PriorArg)? {
        ContextValue::String(other) => vec![name(other)],
        ContextValue::Strings(others) => others.iter().map(|other| name(other)).collect(),
        _ => return None,
    };
    let message = match others.as_slice() {
        [other] if *other == one => format!("`{one}` is given twice"),
        [other] => format!("`{one}` and `{other}` cannot be used together"),
        others => format!(
            "`{one}` cannot be used together with {}",
            in_backticks(others)
        ),
    };
    Some((message, Some("leave out one of them".to_owned())))
}

/// The message and the hint for a word that is neither a command nor a value.
fn unknown_word(word: &str, typed: &[String], cli: &Command) -> (String, Option<String>) {
    let (path, found) = typed_command(cli, typed);
    let first_flag = typed.iter().position(|word| word.starts_with('-'));
    let (words, flags) = typed.split_at(first_flag.unwrap_or(typed.len()));
    let mut words: Vec<_> = words.iter().map(String::as_str).collect();
    let mut flags = flags.to_vec();
    if !words.contains(&word)
        && let Some(place) = flags.iter().rposition(|flag| flag == word)
    {
        flags.remove(place);
        words.push(word);
    }
    let command_name = shown(&typed[..path]);
    let row = command(&words);
    let names: Vec<_> = found.get_subcommands().map(Command::get_name).collect();
    let hint = match (row, nearest(word, &names)) {
        (Some((count, equivalent)), _) if count > path => {
            of_row(equivalent, &words, count, &flags, cli)
        }
        (_, Some(similar)) => format!("a similar command is `{command_name} {similar}`"),
        (Some((count, equivalent)), None) => of_row(equivalent, &words, count, &flags, cli),
        (None, None) if found.has_subcommands() => {
            format!("`{command_name} --help` lists the commands")
        }
        (None, None) => format!("`{command_name} --help` lists the flags"),
    };
    let message = if found.has_subcommands() {
        format!("`{command_name} {word}` is not a command")
    } else {
        format!("`{command_name}` does not take `{word}`")
    };
    let is_of_row = row.is_some_and(|(count, _)| count > path);
    let list = list(found, &typed[path..], word).filter(|_| !is_of_row);
    let of_list = list.map(|list| format!("separate values by commas: `{list}`"));
    (message, of_list.or(Some(hint)))
}

/// The flag before `word` with all values up to it, if the flag takes several values.
fn list(found: &Command, typed: &[String], word: &str) -> Option<String> {
    let end = typed.iter().position(|other| other == word)?;
    let start = typed[..end]
        .iter()
        .rposition(|other| other.starts_with("--"))?;
    let long = name(&typed[start]);
    let mut arguments = found.get_arguments();
    let flag = arguments.find(|flag| flag.get_long() == long.strip_prefix("--"))?;
    flag.get_value_delimiter()?;
    let first = typed[start].strip_prefix(long)?.strip_prefix('=');
    let others = typed[start + 1..=end].iter().map(String::as_str);
    let values = first.into_iter().chain(others);
    let values = values.flat_map(|value| value.split(','));
    let values: Vec<_> = values.filter(|value| !value.is_empty()).collect();
    Some(format!("{long} {}", values.join(",")))
}

/// The hint of a row that matches the first `count` words.
fn of_row(
    row: Equivalent,
    words: &[&str],
    count: usize,
    flags: &[String],
    cli: &Command,
) -> String {
    match row {
        Equivalent::Run(command, why) => {
            let flags = known(&with_api_version_split(flags), command, cli);
            let command = filled(command, words, count, &flags);
            let end = if why.is_empty() { "" } else { ": " };
            format!("run `{command}`{end}{why}")
        }
        Equivalent::Hint(hint) => hint.to_owned(),
        _ => String::new(),
    }
}

/// The `flags` with `--group` and `--version` in place of the `--api-version` of operator-sdk.
fn with_api_version_split(flags: &[String]) -> Vec<String> {
    let mut split = Vec::new();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        if equivalent(name(flag)) != Some(OF_GROUP) {
            split.push(flag.clone());
            continue;
        }
        let value = match flag.split_once('=') {
            Some((_, value)) => Some(value),
            None => flags.next().map(String::as_str),
        };
        let Some(value) = value else { continue };
        let (group, version) = value.split_once('/').unwrap_or(("", value));
        if !group.is_empty() {
            split.push(format!("--group={group}"));
        }
        split.push(format!("--version={version}"));
    }
    split
}

/// The `flags` by the names that rscaffold has for them, without those that the command lacks.
fn known(flags: &[String], command: &str, cli: &Command) -> Vec<String> {
    let Some((_, words)) = command.rsplit_once("rscaffold ") else {
        return Vec::new();
    };
    let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
    let (_, command) = typed_command(cli, &words);
    let mut known = Vec::new();
    let mut is_known = false;
    for flag in flags {
        if !flag.starts_with('-') || flag == "-" {
            // The value of the flag before.
            if is_known {
                known.push(flag.clone());
            }
            continue;
        }
        let typed = name(flag);
        let own = typed.trim_start_matches('-');
        let other = match equivalent(typed) {
            Some(Equivalent::Flag(long)) => long,
            _ => own,
        };
        let of_command = command.get_arguments().filter_map(|there| there.get_long());
        let of_command: Vec<_> = of_command.collect();
        let long = [own, other]
            .into_iter()
            .find(|long| of_command.contains(long));
        is_known = long.is_some();
        known.extend(long.map(|long| flag.replacen(typed, &format!("--{long}"), 1)));
    }
    known
}

/// The message and the hint for a flag that the command does not have.
fn unknown_flag(argument: &str, typed: &[String], cli: &Command) -> (String, Option<String>) {
    let flag = name(argument);
    let (path, found) = typed_command(cli, typed);
    let flag_called = |long: &str| {
        let mut flags = found.get_arguments();
        flags.find(|there| there.get_long() == Some(long))
    };
    // clap reads the value of the flag before as flags of one letter.
    let needs = typed.windows(2).find(|pair| {
        let before = pair[0].strip_prefix("--").and_then(flag_called);
        let is_needed = before.is_some_and(|before| {
            let count = before.get_num_args();
            before.get_action().takes_values() && count.is_none_or(|count| count.min_values() > 0)
        });
        is_needed && !flag.starts_with("--") && pair[1].starts_with(flag)
    });
    if let Some([before, next]) = needs {
        return needs_value(before, Some(next));
    }
    let command = shown(&typed[..path]);
    let is_of_webhook = typed[..path].iter().any(|word| word == "webhook");
    let row = equivalent(flag).filter(|row| *row != IN_HOOK || is_of_webhook);
    let own = flag.trim_start_matches('-');
    let long = match row {
        Some(Equivalent::Flag(long)) if commands_with(cli, own).is_empty() => long,
        _ => own,
    };
    let commands = commands_with(cli, long).join("`, `");
    let flags = found.get_arguments().filter(|flag| !flag.is_hide_set());
    let flags: Vec<_> = flags.filter_map(|flag| flag.get_long()).collect();
    let similar = nearest(own, &flags);
    let reads_project = ["apply", "diff", "update"].contains(&typed[0].as_str());
    let hint = match (row, Feature::from_str(long, true), similar) {
        (Some(Equivalent::Hint(hint)), ..) => hint.to_owned(),
        (_, Ok(feature), _) => {
            let command = match flag_called("enable") {
                Some(_) => &command,
                None => "rscaffold edit",
            };
            format!("`{command} --enable {feature}` adds the feature")
        }
        (Some(Equivalent::Flag("crd" | "kind")), ..) if reads_project => {
            "leave it out: rscaffold reads `PROJECT` of this folder or of a folder above".to_owned()
        }
        _ if flag == "--name" && flag_called("kind").is_some() => "use `--kind`".to_owned(),
        _ if !commands.is_empty() && flag != "-v" => {
            format!("`--{long}` is a flag of `{commands}`")
        }
        (None, _, Some(similar)) => format!("a similar flag is `--{similar}`"),
        _ => format!("`{command} --help` lists the flags"),
    };
    (format!("`{flag}` is not a flag of `{command}`"), Some(hint))
}

/// How many of the words `typed` name a command, and this command.
fn typed_command<'a>(cli: &'a Command, typed: &[String]) -> (usize, &'a Command) {
    let (mut count, mut command) = (0, cli);
    while let Some(below) = typed
        .get(count)
        .and_then(|word| command.find_subcommand(word))
    {
        (count, command) = (count + 1, below);
    }
    (count, command)
}

/// The command of these words, as a user types it.
fn shown(words: &[String]) -> String {
    [&["rscaffold".to_owned()], words].concat().join(" ")
}

/// The name of a flag, without its value.
fn name(argument: &str) -> &str {
    argument.split([' ', '=', '[']).next().unwrap_or(argument)
}

/// A text in the context of an error.
fn text_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
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
    use super::{super::Cli, *};
    use crate::{command::other_tools::OTHER_TOOLS, hint::hint};

    /// The error and the hint that the user gets for `arguments`.
    fn refused(arguments: &str) -> (String, String) {
        let typed: Vec<_> = arguments.split(' ').map(str::to_owned).collect();
        let words = ["rscaffold".to_owned()].into_iter().chain(typed.clone());
        let error = Cli::parser().try_get_matches_from(words).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{arguments}");
        let error = refusal(&error, &typed, &Cli::parser()).expect(arguments);
        let hint = hint(&error).unwrap_or_default().to_owned();
        (error.to_string(), hint)
    }

    #[test]
    fn a_flag_of_another_command_gets_a_hint_with_the_command() {
        for (arguments, expected) in [
            (
                "init --image=nginx",
                "`--image` is a flag of `create api`, `create controller`",
            ),
            (
                "edit --conversion",
                "`--conversion` is a flag of `create api`, `create webhook`, `delete webhook`",
            ),
            (
                "create api --owner=me",
                "`--owner` is a flag of `init`, `edit`",
            ),
            ("edit --from x", "`--from` is a flag of `init`"),
            ("create api --name x", "use `--kind`"),
            ("delete api --name x", "use `--kind`"),
            (
                "apply -f PROJECT",
                "leave it out: rscaffold reads `PROJECT` of this folder or of a folder above",
            ),
            (
                "apply -k config/default",
                "leave it out: rscaffold reads `PROJECT` of this folder or of a folder above",
            ),
            (
                "apply --no-color",
                "set the environment variable `NO_COLOR=1` to turn off colour",
            ),
            (
                "create webhook --operations create",
                "set it in the constant `HOOK` of the webhook's file, then run `make manifests`",
            ),
            (
                "create webhook --verbs create",
                "`rscaffold create webhook --help` lists the flags",
            ),
            (
                "create api --ignore",
                "`rscaffold create api --help` lists the flags",
            ),
            ("apply -v", "`rscaffold apply --help` lists the flags"),
            (
                "apply --timeout 5m",
                "`rscaffold apply --help` lists the flags",
            ),
            ("create api --cluster", "use `--namespaced=false`"),
            (
                "create api --apiVersion a/v1",
                "use `--group` and `--version`",
            ),
            (
                "create api --validation",
                "`--programmatic-validation` is a flag of `create webhook`, `delete webhook`",
            ),
            (
                "init --helm",
                "`rscaffold init --enable helm` adds the feature",
            ),
            (
                "edit --helm",
                "`rscaffold edit --enable helm` adds the feature",
            ),
            (
                "create api --domian=com",
                "`rscaffold create api --help` lists the flags",
            ),
            ("init --domian=com", "a similar flag is `--domain`"),
            // A hidden flag of kubebuilder is similar.
            ("init --mak", "`rscaffold init --help` lists the flags"),
            (
                "init --namespace x",
                "set `namespace` in `PROJECT`, then run `rscaffold apply`",
            ),
        ] {
            let (error, hint) = refused(arguments);
            assert_eq!(hint, expected, "{arguments}: {error}");
        }
        let (error, _) = refused("init --domian=com");
        assert_eq!(error, "`--domian` is not a flag of `rscaffold init`");
    }

    #[test]
    fn a_flag_with_one_hyphen_gets_two() {
        for (arguments, flag, command) in [
            (
                "create api -group app -version v1 -kind Foo",
                "-group",
                "create api",
            ),
            ("create api -group=app --version=v1", "-group", "create api"),
            ("create api --group app -kind=Foo", "-kind", "create api"),
            ("init -domain x.io", "-domain", "init"),
            ("init -plugins=go/v4", "-plugins", "init"),
            (
                "create webhook --kind A -defaulting",
                "-defaulting",
                "create webhook",
            ),
        ] {
            let (error, hint) = refused(arguments);
            let expected = format!("`{flag}` is not a flag of `rscaffold {command}`");
            assert_eq!(error, expected, "{arguments}");
            assert_eq!(hint, format!("flags have two hyphens: `-{flag}`"));
        }
        let (error, _) = refused("create api -gA");
        assert!(error.starts_with("invalid value for `--group`"), "{error}");
        let words = ["rscaffold", "create", "api", "-help"];
        let help = Cli::parser().try_get_matches_from(words).unwrap_err();
        assert!(refusal(&help, &words.map(str::to_owned)[1..], &Cli::parser()).is_none());
    }

    #[test]
    fn a_flag_of_kubebuilder_gets_no_similar_flag() {
        let unknown = OTHER_TOOLS
            .iter()
            .filter(|(_, equivalent)| *equivalent == Equivalent::Unknown);
        for (flag, _) in unknown {
            for command in ["init", "edit", "create api", "create webhook", "delete api"] {
                let (_, hint) = refused(&format!("{command} {flag}=x"));
                assert_eq!(
                    hint,
                    format!("`rscaffold {command} --help` lists the flags")
                );
            }
        }
    }

    #[test]
    fn an_unknown_command_gets_the_command_to_type() {
        for (arguments, error, hint) in [
            (
                "init my-operator --domain com",
                "`rscaffold init` does not take `my-operator`",
                "run `mkdir -p my-operator && cd my-operator && rscaffold init --domain com`: a \
                 project starts in the current folder",
            ),
            (
                "create api --group web Page",
                "`rscaffold create api` does not take `Page`",
                "run `rscaffold create api --version <VERSION> --kind Page --group web`: it adds a \
                 kind with its types, CRD and controller",
            ),
            (
                "create Page -g web",
                "`rscaffold create Page` is not a command",
                "run `rscaffold create api --version <VERSION> --kind Page --group web`: it adds a \
                 kind with its types, CRD and controller",
            ),
            (
                "create Page --foo 1 --group web --bar=2 --crd -",
                "`rscaffold create Page` is not a command",
                "run `rscaffold create api --version <VERSION> --kind Page --group web --crd -`: it \
                 adds a kind with its types, CRD and controller",
            ),
            (
                "create webhook Database --defaulting",
                "`rscaffold create webhook` does not take `Database`",
                "run `rscaffold create webhook --group <GROUP> --version <VERSION> --kind Database \
                 --defaulting`: `--defaulting` and `--conversion` add other webhooks",
            ),
            (
                "create mutating-webhook",
                "`rscaffold create mutating-webhook` is not a command",
                "run `rscaffold create webhook --group <GROUP> --version <VERSION> --kind <KIND> \
                 --defaulting`: `--programmatic-validation` and `--conversion` add other webhooks",
            ),
            (
                "create validating --kind A",
                "`rscaffold create validating` is not a command",
                "run `rscaffold create webhook --group <GROUP> --version <VERSION> \
                 --programmatic-validation --kind A`: `--defaulting` and `--conversion` add other webhooks",
            ),
            (
                "create apis --group web --version v1 --kind Page",
                "`rscaffold create apis` is not a command",
                "run `rscaffold create api --group web --version v1 --kind Page`: it adds a kind with its types, CRD \
                 and controller",
            ),
            (
                "edit PROJECT",
                "`rscaffold edit` does not take `PROJECT`",
                "edit the file in your editor, then run `rscaffold apply`",
            ),
            (
                "helm",
                "`rscaffold helm` is not a command",
                "run `rscaffold edit --enable helm`: it adds a chart",
            ),
            (
                "create webhok",
                "`rscaffold create webhok` is not a command",
                "a similar command is `rscaffold create webhook`",
            ),
            (
                "new a --lib",
                "`rscaffold new` is not a command",
                "run `mkdir -p a && cd a && rscaffold init`: a project starts in the current folder",
            ),
            (
                "frobnicate",
                "`rscaffold frobnicate` is not a command",
                "`rscaffold --help` lists the commands",
            ),
            (
                "clippy",
                "`rscaffold clippy` is not a command",
                "`rscaffold --help` lists the commands",
            ),
            (
                "add api --api-version=app.example.com/v1alpha1 --kind=AppService",
                "`rscaffold add` is not a command",
                "run `rscaffold create api --group=app.example.com --version=v1alpha1 --kind=AppService`: it adds a kind \
                 with its types, CRD and controller",
            ),
            (
                "apply now",
                "`rscaffold apply` does not take `now`",
                "`rscaffold apply --help` lists the flags",
            ),
        ] {
            let expected = (error.to_owned(), hint.to_owned());
            assert_eq!(refused(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn a_word_that_belongs_elsewhere_gets_the_command_to_type() {
        for (arguments, error, hint) in [
            (
                "edit cert-manager",
                "`rscaffold edit` does not take `cert-manager`",
                "`rscaffold edit --help` lists the settings and the features",
            ),
            (
                "create helm",
                "`rscaffold create helm` is not a command",
                "run `rscaffold edit --enable helm`: it adds a chart",
            ),
            (
                "delete project",
                "`rscaffold delete project` is not a command",
                "run `make undeploy`, then delete the folder",
            ),
            (
                "help create nope",
                "`rscaffold create nope` is not a command",
                "run `rscaffold create api --group <GROUP> --version <VERSION> --kind Nope`: it adds a kind with its \
                 types, CRD and controller",
            ),
            (
                "api v1 Page",
                "`rscaffold api` is not a command",
                "run `rscaffold create api --group <GROUP> --version v1 --kind Page`: it adds a kind with its types, CRD \
                 and controller",
            ),
            (
                "init github.com/me/foo",
                "`rscaffold init` does not take `github.com/me/foo`",
                "run `rscaffold init --repo github.com/me/foo`: a project starts in the current folder",
            ),
        ] {
            let expected = (error.to_owned(), hint.to_owned());
            assert_eq!(refused(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn a_bad_value_is_refused_with_its_flag_and_the_reason() {
        for (arguments, error, hint) in [
            (
                "init --domain=Foo",
                "invalid value for `--domain`: `Foo` is not a domain: `F` is not allowed, only \
                 lower-case letters, digits, `.` and `-`, as in `foo`",
                "",
            ),
            (
                "init --license mits",
                "invalid value for `--license`: `mits` is not one of `apache2`, `mit`, `none`",
                "a similar value is `mit`",
            ),
            (
                "create api --controller=maybe",
                "invalid value for `--controller`: `maybe` is not one of `true`, `false`",
                "",
            ),
            (
                "edit --on-conflict=mine:Makefile",
                "invalid value for `--on-conflict`: `mine` is not one of `abort`, `ours`, \
                 `theirs`, `markers`",
                "",
            ),
            (
                "completion csh",
                "invalid value for `<SHELL>`: `csh` is not one of `bash`, `elvish`, `fish`, \
                 `powershell`, `zsh`",
                "a similar value is `zsh`",
            ),
            ("init --domain", "`--domain` needs a value", ""),
            ("init --domain --dry-run", "`--domain` needs a value", ""),
            (
                "init --domain -foo.io",
                "`--domain` needs a value",
                "a value that begins with `-` needs `=`: `--domain=-foo.io`",
            ),
            (
                "create api --group -foo --kind A",
                "`--group` needs a value",
                "a value that begins with `-` needs `=`: `--group=-foo`",
            ),
            (
                "create api --scope Global",
                "invalid value for `--scope`: `Global` is neither `Namespaced` nor `Cluster`",
                "",
            ),
            (
                "create api --scope Cluster --controller=maybe",
                "invalid value for `--controller`: `maybe` is not one of `true`, `false`",
                "",
            ),
            (
                "create webhook --crd-version v1beta1",
                "invalid value for `--crd-version`: it must be `v1`",
                "",
            ),
            (
                "init --project-version 2",
                "invalid value for `--project-version`: it must be `3`",
                "",
            ),
            (
                "create api --conversion webhook",
                "invalid value for `--conversion`: `webhook` is not one of `none`, `lossy`",
                "a webhook that converts is added with `rscaffold create webhook --conversion --group <GROUP> --kind \
                 <KIND>`",
            ),
        ] {
            let expected = (error.to_owned(), hint.to_owned());
            assert_eq!(refused(arguments), expected, "{arguments}");
        }
        let (error, _) = refused("version -o yaml");
        let expected = "invalid value for `--output`: `yaml` is not one of `text`, ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn flags_that_do_not_go_together_are_named() {
        for (arguments, error, hint) in [
            (
                "create webhook --kind A --defaulting false",
                "`--defaulting` does not take the value `false`",
                "leave out `--defaulting`",
            ),
            (
                "create webhook --defaulting=true",
                "`--defaulting` does not take the value `true`",
                "use `--defaulting` alone",
            ),
            (
                "create webhook --validation True",
                "`--validation` does not take the value `True`",
                "use `--validation` alone",
            ),
            (
                "create api -k A --image-container-port 80 -g a",
                "`--image-container-port` needs `--image`",
                "add `--image <IMAGE>`",
            ),
            (
                "create webhook --spoke=v2 --dry-run",
                "`--spoke` needs `--conversion`",
                "add `--conversion`",
            ),
            (
                "completion",
                "`rscaffold completion` needs `<SHELL>`",
                "`rscaffold completion --help` lists the values",
            ),
            (
                "create api --crd f --plural x",
                "`--crd` and `--plural` cannot be used together",
                "leave out one of them",
            ),
            (
                "apply --rebuild-base --restore a",
                "`--rebuild-base` and `--restore` cannot be used together",
                "leave out one of them",
            ),
            (
                "create api --group a --group b",
                "`--group` is given twice",
                "leave out one of them",
            ),
        ] {
            let expected = (error.to_owned(), hint.to_owned());
            assert_eq!(refused(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn clap_shows_the_help_of_a_command_without_arguments() {
        let error = Cli::parser()
            .try_get_matches_from(["rscaffold", "create"])
            .unwrap_err();
        assert!(refusal(&error, &[], &Cli::parser()).is_none());
    }
}
