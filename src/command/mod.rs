//! The commands: arguments -> edit of the project -> reconcile -> what to do next.

use anyhow::{Result, anyhow};
use clap::Args;

use self::{
    on_conflict::Choices,
    turn::{bring_in_line, ensure_not_lost},
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

/// How a command that changes the project writes.
#[derive(Debug, Args)]
struct Mode {
    /// Show which files would change, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    on_conflict: Choices,
}

/// The project of the work tree, of this rscaffold or an older one.
fn load(tree: &WorkTree) -> Result<Project> {
    let text = text(tree)?;
    if let Some(marked) = Marked::parse(&text) {
        let (file, line) = (Project::FILE, marked.line);
        return Err(anyhow!(
            "there are conflict markers in `{file}`, line {line}"
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

/// Adds the way out to the error of a change that the project refuses.
fn or_way_out<T>(changed: Result<T>) -> Result<T> {
    changed.or_else(|error| {
        let hint = match error.downcast_ref() {
            Some(project::Error::Changes(_)) => "`--force` applies the new settings",
            Some(project::Error::Controller(_)) => "`--controller=false` adds no controller",
            Some(project::Error::Storage(_)) => {
                "`--conversion=none` if the schemas are equal, else first `rscaffold create webhook \
                 --conversion`; `--force` if no cluster has such objects"
            }
            Some(project::Error::Hub(_)) => {
                "delete the spokes first, or the conversion by `rscaffold delete webhook --conversion`"
            }
            Some(project::Error::NoSpoke(_)) => {
                "`rscaffold create webhook --conversion` makes it a spoke; until then, `--served=false`"
            }
            Some(project::Error::TwoConversions(_)) => {
                "`rscaffold delete webhook --conversion` deletes the webhook"
            }
            Some(project::Error::Webhook(_)) => {
                "give it to the version that is stored, which is called for all versions"
            }
            Some(project::Error::Crate(_)) => {
                "give `--external-api-crate` the crate that is there, or change it in all kinds \
                 with `--force`"
            }
            Some(project::Error::NeedlessCrate(_)) => "leave `--external-api-crate` out",
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
        "there is no `{file}` file in this folder, and none above"
    ))
    .or_hint("`rscaffold init` starts a project")
}
