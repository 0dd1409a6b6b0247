//! The commands: arguments -> edit of the project -> reconcile -> what to do next.

use std::{env, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, anyhow};

use self::turn::{bring_in_line, ensure_not_lost};
use crate::{
    cli::{Cli, Command, Create, Delete},
    hint::OrHint,
    project::Project,
    reconcile::{OnConflict, Texts, markers::Marked},
    worktree::WorkTree,
};

pub mod apply;
mod ask;
mod completion;
pub mod create_api;
pub mod delete;
mod edit;
pub mod id;
mod init;
mod merged;
pub mod settings;
mod turn;
mod undecided;
mod version;

/// How a command that changes the project writes.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// Show the plan, write nothing.
    pub dry_run: bool,
    /// What becomes of lines that both sides changed.
    pub on_conflict: OnConflict,
}

/// Runs what the command line asks for.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Init(args) => {
            let (settings, mode) = args.split();
            init::run(settings, mode)
        }
        Command::Create(Create::Api(args)) => {
            let (options, mode) = args.split();
            create_api::run(options, mode)
        }
        Command::Delete(Delete::Api(args)) => {
            let (id, mode) = args.split();
            delete::api(id, mode)
        }
        Command::Delete(Delete::Controller(args)) => {
            let (id, name, mode) = args.split();
            delete::controller(id, name, mode)
        }
        Command::Edit(args) => {
            let (settings, mode) = args.split();
            edit::run(settings, mode)
        }
        Command::Apply(args) => {
            let (options, mode) = args.split();
            apply::apply(&options, mode)
        }
        Command::Diff(args) => {
            let (exit_code, on_conflict) = args.split();
            apply::diff(exit_code, on_conflict)
        }
        Command::Update(args) => apply::update(args.split()),
        Command::Version(args) => version::run(args.output),
        Command::Completion(args) => completion::run(args.shell),
    }
}

/// The exit code that stands for `error`: 2 like clap's for an incomplete command line, else 1.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<ask::Missing>() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

/// The folder that holds the project, or shall.
fn root() -> Result<PathBuf> {
    env::current_dir().context("failed to find the current folder")
}

/// The project of the work tree, of this rscaffold or an older one.
fn load(tree: &WorkTree) -> Result<Project> {
    let text = text(tree)?;
    if let Some(marked) = Marked::parse(&text) {
        let file = Project::FILE;
        return Err(anyhow!(
            "there are conflict markers in `{file}`, line {}",
            marked.line
        ))
        .or_hint("`rscaffold apply` settles them if the branches do not contradict each other");
    }
    Project::parse(&text)
}

/// The project of the work tree, which is of this rscaffold: a command does what it is called for,
/// and not an update besides.
fn load_current(tree: &WorkTree) -> Result<Project> {
    let project = load(tree)?;
    ensure_current(&project)?;
    Ok(project)
}

fn ensure_current(project: &Project) -> Result<()> {
    if !project.is_older() {
        return Ok(());
    }
    Err(anyhow!(
        "this project is of rscaffold {}, and this is {}",
        project.cli_version,
        env!("CARGO_PKG_VERSION")
    ))
    .or_hint("`rscaffold update` brings it up to date; `rscaffold diff` shows how")
}

/// The text of `PROJECT`.
fn text(tree: &WorkTree) -> Result<String> {
    if let Some(text) = tree.project()? {
        return Ok(text);
    }
    ensure_not_lost(&tree.base()?, &Texts::new())?;
    Err(anyhow!(
        "there is no `{}` file in this folder",
        Project::FILE
    ))
    .or_hint("`rscaffold init` starts a project; in an existing one, go to its top folder")
}
