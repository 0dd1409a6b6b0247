//! The commands: arguments -> edit of the project -> reconcile -> what to do next.

use anyhow::{Result, anyhow};
use clap::Args;

use self::{
    on_conflict::Choices,
    turn::{carry_out, ensure_not_lost},
};
use crate::{
    hint::OrHint,
    project::{self, Project},
    reconcile::{Texts, markers::Marked},
    worktree::WorkTree,
};

pub mod apply;
mod ask;
pub mod completion;
pub mod create_api;
pub mod delete;
pub mod edit;
mod id;
pub mod init;
pub mod kubebuilder;
mod on_conflict;
mod settings;
mod turn;
pub mod version;
pub mod webhook;

/// The flags of all commands that change the project.
#[derive(Debug, Args)]
struct Mode {
    /// Show which files would change, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    on_conflict: Choices,
}

/// The project of the work tree, which this or an older rscaffold wrote.
fn load(tree: &WorkTree) -> Result<Project> {
    let text = text(tree)?;
    if let Some(marked) = Marked::parse(&text) {
        let (file, line) = (Project::FILE, marked.line);
        return Err(anyhow!("`{file}` has conflict markers in line {line}")).or_hint(
            "run `rscaffold apply`: it resolves them unless the branches contradict each other",
        );
    }
    Project::parse(&text)
}

/// The project of the work tree, which this rscaffold wrote. Only `update` updates a project.
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
        "this project was written by rscaffold {}, but this is rscaffold {}",
        project.cli_version,
        env!("CARGO_PKG_VERSION")
    ))
    .or_hint("update it with `rscaffold update`; `rscaffold diff` shows the changes")
}

/// Adds a hint to the error of a refused change.
fn or_way_out<T>(changed: Result<T>) -> Result<T> {
    changed.or_else(|error| {
        let hint = match error.downcast_ref() {
            Some(project::Error::Changes(_)) => "apply the new settings with `--force`",
            Some(project::Error::Controller(_)) => "add no controller: `--controller=false`",
            Some(project::Error::Storage(_)) => {
                "if the schemas are equal, use `--conversion=none`, else run `rscaffold create \
                 webhook --conversion` first; if no cluster has such objects, use `--force`"
            }
            Some(project::Error::Hub(_)) => {
                "delete the spokes first, or delete the conversion with `rscaffold delete webhook \
                 --conversion`"
            }
            Some(project::Error::NoSpoke(_)) => {
                "make it a spoke with `rscaffold create webhook --conversion`; until then, use \
                 `--served=false`"
            }
            Some(project::Error::TwoConversions(_)) => {
                "delete the webhook with `rscaffold delete webhook --conversion`"
            }
            Some(project::Error::Webhook(_)) => {
                "add the webhook to the stored version: the API server calls it for all versions"
            }
            Some(project::Error::Crate(_)) => {
                "pass the existing crate to `--external-api-crate`, or change the crate of all \
                 kinds with `--force`"
            }
            Some(project::Error::NeedlessCrate(_)) => "leave out `--external-api-crate`",
            Some(project::Error::Related(_)) => {
                "remove it from `owns` or `watches` of the controller in `PROJECT`, then run `rscaffold apply`"
            }
            None => return Err(error),
        };
        Err(error).or_hint(hint)
    })
}

/// The text of `PROJECT`.
fn text(tree: &WorkTree) -> Result<String> {
    if let Some(text) = tree.project()? {
        return Ok(text);
    }
    ensure_not_lost(&tree.record()?, &Texts::new())?;
    let file = Project::FILE;
    Err(anyhow!(
        "neither this folder nor a folder above it has a `{file}` file"
    ))
    .or_hint("start a project with `rscaffold init`")
}
