//! The command line: the commands, and the errors for malformed arguments.

mod refusal;

use std::{env, ffi::OsString, path::Path};

use anyhow::Result;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    command::report::{Outcome, UsageError},
    command::{
        apply::{self, Apply, Diff, Update},
        completion::{self, Completion},
        create_api::{self, CreateApi, CreateController},
        delete::{self, DeleteApi, DeleteController},
        edit::{self, Edit},
        init::{self, Init},
        load::has_new_registry,
        other_tools::with_other_names,
        version::{self, ShowVersion},
        way_out::or_repair,
        webhook::{self, CreateWebhook, DeleteWebhook},
    },
    engine::worktree::top,
    hint::OrHint,
    project::Runtime,
    render::CONVENTIONS,
    visible::visible,
};

use refusal::refusal;

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
    /// A command, a flag or a value does not exist.
    Refused(anyhow::Error),
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

/// The help of `--version` where a kind that exists has a usual version.
const OF_KIND: &str =
    "API version, such as `v1` or `v1alpha1`. Without it, the stored or the only version counts";
const OF_WEBHOOKS: &str = "API version, such as `v1` or `v1alpha1`. Without it, the hub, the stored or the only version counts";

/// What can be added to a project.
#[derive(Debug, Subcommand)]
enum Create {
    /// Add an API (types and CRD), its controller, or both
    Api(CreateApi),
    /// Add a controller for an existing kind
    #[command(mut_arg("version", |version| version.help(OF_KIND)))]
    Controller(CreateController),
    /// Add webhooks for a kind: the API server calls them before it stores an object
    #[command(mut_arg("version", |version| version.help(OF_WEBHOOKS)))]
    Webhook(CreateWebhook),
}

/// What can be removed from a project.
#[derive(Debug, Subcommand)]
enum Delete {
    /// Remove a version of a kind: types, CRD, sample, roles and controllers
    Api(DeleteApi),
    /// Remove a controller of a kind
    #[command(mut_arg("version", |version| version.help(OF_KIND)))]
    Controller(DeleteController),
    /// Remove webhooks of a kind
    #[command(mut_arg("version", |version| version.help(OF_WEBHOOKS)))]
    Webhook(DeleteWebhook),
}

impl Cli {
    /// Parses the arguments of this process.
    ///
    /// For `--help`, `--version` and some usage errors, clap prints a text and exits the process.
    ///
    /// # Errors
    /// When a command, a flag or a value does not exist.
    pub fn from_env() -> Result<Self> {
        Self::read(env::args_os()).map_err(|unread| match unread {
            Unread::Refused(error) => error,
            Unread::Shown(text) => text.exit(),
        })
    }

    /// Parses the arguments `words`, the first of which is the name of the program.
    ///
    /// # Errors
    /// When there is no command to run.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, Unread> {
        let arguments: Vec<_> = words.into_iter().collect();
        Self::parsed(&arguments).map_err(|error| {
            let lossy = arguments.iter().map(|argument| argument.to_string_lossy());
            let lossy: Vec<_> = lossy.collect();
            let typed: Vec<_> = lossy.iter().skip(1).map(ToString::to_string).collect();
            if let Some(error) = refusal(&error, &typed, &Self::command()) {
                return Unread::Refused(error);
            }
            // clap repeats arguments in its messages, and a terminal would interpret control
            // characters in them. So parse the escaped arguments to get the message.
            let escaped = lossy.iter().map(|text| visible(text).replace('\t', "\\t"));
            let escaped: Vec<_> = escaped.map(OsString::from).collect();
            // Escaped arguments may be valid, where the typed ones are not UTF-8.
            match Self::parsed(&escaped) {
                Err(error) => Unread::Shown(error),
                Ok(_) => Unread::Refused(not_text(&arguments).into()),
            }
        })
    }

    /// The command line, with the flags by the names that other tools have for them.
    fn parser() -> clap::Command {
        // Most tools print their version for one of the two letters.
        let version = Arg::new("v")
            .short('v')
            .hide(true)
            .action(ArgAction::Version);
        with_other_names(in_any_case(Self::command().arg(version)))
    }

    fn parsed(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let matches = Self::parser().try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut Self::parser()))
    }

    /// Refuses a setting that only a release offers, if `version` is not a release: in the arguments, or as an edit of
    /// `PROJECT` in the project that contains `folder`.
    ///
    /// # Errors
    /// When the runtime is to come from the registry.
    pub fn ensure_available(&self, version: &str, folder: &Path) -> Result<()> {
        let Err(refusal) = Runtime::Registry.ensure_available(version) else {
            return Ok(());
        };
        let (is_registry, vendored) = match &self.command {
            Command::Init(Init { settings, .. }) | Command::Edit(Edit { settings, .. })
                if settings.runtime.is_some() =>
            {
                let is_registry = settings.runtime == Some(Runtime::Registry);
                (is_registry, "pass `--runtime vendored`")
            }
            Command::Init(_) | Command::Diff(_) | Command::Version(_) | Command::Completion(_) => {
                return Ok(());
            }
            _ => (
                has_new_registry(top(folder, &CONVENTIONS).unwrap_or(folder)),
                "set `runtime: vendored` in `PROJECT`",
            ),
        };
        if !is_registry {
            return Ok(());
        }
        Err(refusal).or_hint(format!(
            "{vendored}, or install a release, for example with `cargo install rscaffold`"
        ))
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
            Command::Create(Create::Controller(args)) => create_api::run(args.into(), root, folder),
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
        or_repair(done).unwrap_or_else(|error| Outcome::error(&error, failure))
    }
}

/// The command, whose values from a list may be in upper case.
fn in_any_case(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| arg.ignore_case(true))
        .mut_subcommands(in_any_case)
}

/// The error about the first argument that is not text.
fn not_text(arguments: &[OsString]) -> UsageError {
    let mut shown = String::new();
    for argument in arguments {
        if argument.to_str().is_none_or(|text| visible(text) != text) {
            shown = visible(&argument.to_string_lossy()).into_owned();
            break;
        }
    }
    UsageError(format!(
        "the argument `{shown}` has characters that are not visible text"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::parser().debug_assert();
    }

    #[test]
    fn a_value_from_a_list_may_be_in_upper_case() {
        for words in [
            "create api --resource=True --controller FALSE --served=TRUE --finalizer=False --namespaced=TRUE",
            "create api --conversion None --multigroup=False",
            "edit --license MIT --enable Helm",
            "apply --on-conflict=OURS:Makefile",
            "version -o JSON",
            "completion BASH",
        ] {
            let words = ["rscaffold"].into_iter().chain(words.split(' '));
            assert!(Cli::read(words.map(OsString::from)).is_ok());
        }
    }

    /// A terminal would break a longer line in the middle.
    #[track_caller]
    fn assert_narrow(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string);
        for line in help.unwrap_or_default().lines() {
            assert!(line.len() <= 80, "{}: {line}", command.get_name());
        }
        command.get_subcommands().for_each(assert_narrow);
    }

    #[test]
    fn the_examples_in_the_help_fit_a_terminal() {
        assert_narrow(&Cli::command());
    }

    #[test]
    fn the_registry_is_refused_until_there_is_a_release_in_a_flag_and_in_project() {
        let folder = tempfile::tempdir().unwrap();
        let read = |words: &str| {
            let words = words.split(' ').map(OsString::from);
            Cli::read(["rscaffold".into()].into_iter().chain(words)).unwrap()
        };
        let run = |words: &str| assert_eq!(read(words).run(folder.path()).code, 0, "{words}");
        let refused = |words: &str| {
            let ensure = |version| read(words).ensure_available(version, folder.path());
            assert!(ensure("0.4.0").is_ok(), "{words}");
            ensure("0.4.0-dev").is_err()
        };
        run("init --domain com --repo guestbook --runtime vendored");
        for (words, expected) in [
            ("init --runtime registry", true),
            ("edit --runtime registry", true),
            ("edit --runtime vendored", false),
            ("apply", false),
        ] {
            assert_eq!(refused(words), expected, "{words}");
        }
        let file = folder.path().join("PROJECT");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(
            &file,
            text.replace("runtime: vendored", "runtime: registry"),
        )
        .unwrap();
        for (words, expected) in [
            ("apply", true),
            ("create api --group a --version v1 --kind A", true),
            ("edit --license mit", true),
            ("edit --runtime vendored", false),
            ("diff", false),
            ("version", false),
        ] {
            assert_eq!(refused(words), expected, "{words}");
        }
        // A project of a release stays as it is.
        run("apply");
        assert!(!refused("apply"));
    }

    #[test]
    fn control_characters_in_arguments_are_escaped() {
        for (arguments, expected) in [
            (
                &["\u{1b}[2J"][..],
                "`rscaffold \\u{1b}[2J` is not a command",
            ),
            (
                &["init", "--a\u{202e}\n"],
                "`--a\\u{202e}\n  ` is not a flag",
            ),
            (&["new", "a\u{1b}"], "`mkdir -p 'a\\u{1b}' && cd"),
            (&["diff", "--exit-code=\u{1b}\t"], "\\u{1b}\\t"),
        ] {
            let words = ["rscaffold"].iter().chain(arguments).map(OsString::from);
            let text = match Cli::read(words) {
                Ok(_) => panic!("{arguments:?} are read"),
                Err(Unread::Refused(error)) => Outcome::error(&error, 0).stderr,
                Err(Unread::Shown(error)) => error.render().ansi().to_string(),
            };
            assert!(text.contains(expected), "{text:?}");
            assert!(!text.contains(['\u{202e}', '\t']), "{text:?}");
            assert!(!text.contains("\u{1b}[2J"), "{text:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_argument_that_is_not_text_is_shown_with_escapes() {
        use std::os::unix::ffi::OsStringExt;

        let argument = OsString::from_vec(b"out\xff\x02".to_vec());
        let words = ["rscaffold", "apply", "--restore"].map(OsString::from);
        let Err(Unread::Refused(error)) = Cli::read(words.into_iter().chain([argument])) else {
            panic!("it is read, or clap prints its own text");
        };
        let text = error.to_string();
        assert!(text.contains("out\u{fffd}"), "{text:?}");
        assert!(!text.contains('\u{2}'), "{text:?}");
    }
}
