//! The command line: the commands, and the errors for malformed arguments.

mod tip;

use std::{env, error::Error as _, ffi::OsString, path::Path};

use anyhow::Result;
use clap::{
    CommandFactory, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    command::report::{Outcome, UsageError},
    command::{
        apply::{self, Apply, Diff, Update},
        completion::{self, Completion},
        create_api::{self, CreateApi},
        delete::{self, DeleteApi, DeleteController},
        edit::{self, Edit},
        init::{self, Init},
        other_tools::refused_command,
        version::{self, ShowVersion},
        webhook::{self, CreateWebhook, DeleteWebhook},
    },
    engine::worktree::top,
    hint::OrHint,
    render::CONVENTIONS,
    visible::visible,
};

use tip::with_tip;

/// Scaffolds Kubernetes operators in Rust, on kube-rs
///
/// The file `PROJECT` describes the project. Commands change that description, render all files
/// from it, and merge them with your edits.
#[derive(Debug, Parser)]
#[command(name = "rscaffold", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Why there is no command to run.
#[derive(Debug)]
pub enum Unread {
    /// A flag has a bad value, or the command is one of another tool.
    Value(UsageError),
    /// What clap prints: help, the version, or another usage error.
    Shown(clap::Error),
}

const EXAMPLES: &str = "\
Examples:
  # An operator in two commands, in an empty folder
  rscaffold init --domain com --repo guestbook
  rscaffold create api --group webapp --version v1 --kind Guestbook";

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Start a project in the current folder
    Init(Init),
    /// Add to the project
    #[command(subcommand)]
    Create(Create),
    /// Remove from the project
    #[command(subcommand)]
    Delete(Delete),
    /// Change the settings or the features of the project
    Edit(Edit),
    /// Print what would change now, as a unified diff
    Diff(Diff),
    /// Update the files after you edited `PROJECT` or merged branches
    Apply(Apply),
    /// Update the project to this version of rscaffold
    Update(Update),
    /// Print the version of rscaffold
    Version(ShowVersion),
    /// Print the completion script of a shell
    Completion(Completion),
}

/// What can be added to a project.
#[derive(Debug, Subcommand)]
enum Create {
    /// Add an API (types and CRD), its controller, or both
    Api(CreateApi),
    /// Add webhooks for a kind: the API server calls them before it stores an object
    Webhook(CreateWebhook),
}

/// What can be removed from a project.
#[derive(Debug, Subcommand)]
enum Delete {
    /// Remove a version of a kind: types, CRD, sample, roles and controllers
    Api(DeleteApi),
    /// Remove a controller of a kind
    Controller(DeleteController),
    /// Remove webhooks of a kind
    Webhook(DeleteWebhook),
}

impl Cli {
    /// Parses the arguments of this process.
    ///
    /// For `--help`, `--version` and most usage errors, clap prints a text and exits the process.
    ///
    /// # Errors
    /// When a flag has a bad value.
    pub fn from_env() -> Result<Self, UsageError> {
        Self::read(env::args_os()).map_err(|unread| match unread {
            Unread::Value(error) => error,
            Unread::Shown(text) => text.exit(),
        })
    }

    /// Parses the arguments `words`, the first of which is the name of the program.
    ///
    /// # Errors
    /// When there is no command to run.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, Unread> {
        let arguments: Vec<_> = words.into_iter().collect();
        Self::try_parse_from(&arguments).map_err(|error| {
            if let Some(error) = bad_value(&error).or_else(|| bad_command(&error, &arguments)) {
                return Unread::Value(error);
            }
            // clap repeats arguments in its messages, and a terminal would interpret control
            // characters in them. So parse the escaped arguments to get the message.
            let lossy = arguments.iter().map(|argument| argument.to_string_lossy());
            let shown = Self::try_parse_from(lossy.map(|text| visible(&text).replace('\t', "\\t")));
            // Escaped arguments may be valid, where the typed ones are not UTF-8.
            let error = shown.err().unwrap_or_else(|| not_text(&arguments));
            Unread::Shown(with_tip(error, &Self::command()))
        })
    }

    /// Refuses a setting that only a release offers, if `version` is not a release.
    ///
    /// # Errors
    /// When `--runtime registry` is set.
    pub fn ensure_available(&self, version: &str) -> Result<()> {
        let (Command::Init(Init { settings, .. }) | Command::Edit(Edit { settings, .. })) =
            &self.command
        else {
            return Ok(());
        };
        let Some(runtime) = &settings.runtime else {
            return Ok(());
        };
        (runtime.ensure_available(version)).or_hint(
            "pass `--runtime vendored`, or install a release, for example with `cargo install \
             rscaffold`",
        )
    }

    /// Runs the command on the project that contains `folder`, which is an absolute path.
    pub fn run(self, folder: &Path) -> Outcome {
        let root = top(folder, &CONVENTIONS).unwrap_or(folder);
        let failure = match &self.command {
            Command::Diff(diff) => diff.failure(),
            _ => Outcome::FAILURE,
        };
        let done = match self.command {
            Command::Init(args) => init::run(args, folder),
            Command::Create(Create::Api(args)) => create_api::run(args, root, folder),
            Command::Create(Create::Webhook(args)) => webhook::create(args, root),
            Command::Delete(Delete::Webhook(args)) => webhook::delete(args, root),
            Command::Delete(Delete::Api(args)) => delete::api(args, root),
            Command::Delete(Delete::Controller(args)) => delete::controller(args, root),
            Command::Edit(args) => edit::run(args, root),
            Command::Apply(args) => apply::apply(&args, root),
            Command::Diff(args) => apply::diff(&args, root),
            Command::Update(args) => apply::update(&args, root),
            Command::Version(args) => Ok(version::run(&args)),
            Command::Completion(args) => completion::run(&args, Self::command()),
        };
        done.unwrap_or_else(|error| Outcome::error(&error, failure))
    }
}

/// An error that names the flag, its value, the reason and valid values; `None` if the error is not
/// about a value.
fn bad_value(error: &clap::Error) -> Option<UsageError> {
    let argument = text_of(error, ContextKind::InvalidArg)?;
    let flag = argument.split([' ', '=', '[']).next().unwrap_or(argument);
    let value = text_of(error, ContextKind::InvalidValue).unwrap_or_default();
    let reason = match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::InvalidValue, _) if value.is_empty() => {
            return Some(UsageError(format!("`{flag}` needs a value")));
        }
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(valid))) => {
            let mut reason = format!("`{value}` is not one of `{}`", valid.join("`, `"));
            if let Some(name) = text_of(error, ContextKind::SuggestedValue) {
                reason.extend(["; did you mean `", name, "`?"]);
            }
            reason
        }
        (ErrorKind::ValueValidation, _) => error.source()?.to_string(),
        _ => return None,
    };
    Some(UsageError(format!("invalid value for `{flag}`: {reason}")))
}

/// An error that names the command to type instead of a command of another tool.
fn bad_command(error: &clap::Error, arguments: &[OsString]) -> Option<UsageError> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let texts = arguments.iter().skip(1).filter_map(|word| word.to_str());
    let words: Vec<_> = texts.take_while(|word| !word.starts_with('-')).collect();
    refused_command(&words)
}

/// A text in the context of an error.
fn text_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// The error about the first argument that is not text.
fn not_text(arguments: &[OsString]) -> clap::Error {
    let mut shown = String::new();
    for argument in arguments {
        if argument.to_str().is_none_or(|text| visible(text) != text) {
            shown = visible(&argument.to_string_lossy()).into_owned();
            break;
        }
    }
    Cli::command().error(
        ErrorKind::InvalidUtf8,
        format!("the argument `{shown}` has characters that are not visible text"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn control_characters_in_arguments_are_escaped() {
        for (arguments, expected) in [
            (&["\u{1b}[2J"][..], "unrecognized subcommand '\\u{1b}[2J'"),
            (
                &["init", "--a\u{202e}\n"],
                "unexpected argument '--a\\u{202e}\\n' found",
            ),
            (&["init", "a\tb"], "unexpected argument 'a\\tb' found"),
        ] {
            let words = ["rscaffold"].iter().chain(arguments).map(OsString::from);
            let Err(Unread::Shown(error)) = Cli::read(words) else {
                panic!("{arguments:?} are read");
            };
            let text = error.render();
            assert!(text.to_string().contains(expected), "{text}");
            let colored = text.ansi().to_string();
            assert!(!colored.contains(['\u{202e}', '\t']), "{colored:?}");
            assert!(!colored.contains("\u{1b}[2J"), "{colored:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_argument_that_is_not_text_is_shown_with_escapes() {
        use std::os::unix::ffi::OsStringExt;

        let argument = OsString::from_vec(b"out\xff\x02".to_vec());
        let words = ["rscaffold", "apply", "--restore"].map(OsString::from);
        let Err(Unread::Shown(error)) = Cli::read(words.into_iter().chain([argument])) else {
            panic!("it is read");
        };
        let text = error.render().ansi().to_string();
        assert!(text.contains("out\u{fffd}"), "{text:?}");
        assert!(!text.contains('\u{2}'), "{text:?}");
    }

    fn refusal(arguments: &str) -> Option<String> {
        let error = Cli::try_parse_from(arguments.split(' ')).unwrap_err();
        assert_eq!(error.exit_code(), i32::from(Outcome::USAGE));
        bad_value(&error).map(|error| error.to_string())
    }

    #[test]
    fn a_bad_value_is_refused_with_its_flag_and_the_reason() {
        for (arguments, expected) in [
            (
                "rscaffold init --domain=Foo",
                "invalid value for `--domain`: `Foo` is not a domain: `F` is not allowed, only \
                 lower-case letters, digits, `.` and `-`; did you mean `foo`?",
            ),
            (
                "rscaffold init --license mits",
                "invalid value for `--license`: `mits` is not one of `apache2`, `mit`, `none`; did \
                 you mean `mit`?",
            ),
            (
                "rscaffold create api --controller=maybe",
                "invalid value for `--controller`: `maybe` is not one of `true`, `false`",
            ),
            (
                "rscaffold edit --on-conflict=mine:Makefile",
                "invalid value for `--on-conflict`: `mine` is not one of `abort`, `ours`, `theirs`, \
                 `markers`",
            ),
            (
                "rscaffold completion csh",
                "invalid value for `<SHELL>`: `csh` is not one of `bash`, `elvish`, `fish`, \
                 `powershell`, `zsh`; did you mean `zsh`?",
            ),
            ("rscaffold init --domain", "`--domain` needs a value"),
        ] {
            assert_eq!(refusal(arguments).as_deref(), Some(expected), "{arguments}");
        }
        let short_flag = refusal("rscaffold version -o yaml").expect("a refusal");
        let expected = "invalid value for `--output`: `yaml` is not one of `text`, ";
        assert!(short_flag.starts_with(expected), "{short_flag}");
        for arguments in [
            "rscaffold",
            "rscaffold init --domian com",
            "rscaffold apply --rebuild-base --restore a",
        ] {
            assert_eq!(refusal(arguments), None, "{arguments}");
        }
    }
}
