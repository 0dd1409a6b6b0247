//! The commands: arguments -> edit of the project -> reconcile -> what to do next.

use anyhow::{Result, anyhow};
use clap::Args;

use self::{
    on_conflict::Choices,
    turn::{carry_out, ensure_not_lost},
};
use crate::{
    engine::Texts,
    engine::reconcile::markers::Marked,
    engine::worktree::WorkTree,
    hint::OrHint,
    project::{self, Project},
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
pub mod report;
mod settings;
mod turn;
pub mod version;
pub mod webhook;
mod workspace;

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
    or_edit(Project::parse(&text))
}

/// Adds a hint to the error of a refused `PROJECT`.
fn or_edit<T>(read: Result<T>) -> Result<T> {
    let Err(error) = read else { return read };
    let hint = match error.downcast_ref() {
        Some(project::Error::GoProject) => {
            "to start a Rust project with the same kinds, types, permissions and names, run \
             `rscaffold init --from <THIS FOLDER>` in an empty folder"
        }
        Some(project::Error::TooOld { .. }) => {
            "start a new project with `rscaffold init` in another folder, add the same kinds, and \
             copy your code into it"
        }
        Some(project::Error::Unconverted { .. }) => {
            "if the schemas are equal, set `conversion: none`, else set `served: false` for all but \
             one until you run `rscaffold create webhook --conversion`"
        }
        _ => return Err(error),
    };
    Err(error).or_hint(hint)
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
    let Err(error) = changed else { return changed };
    match error.downcast_ref().and_then(way_out) {
        Some(hint) => Err(error).or_hint(hint),
        None => Err(error),
    }
}

/// What the user can do instead of a change that is refused.
fn way_out(refusal: &project::Error) -> Option<String> {
    use project::Error;
    let hint = match refusal {
        Error::Changes { .. } => "apply the new settings with `--force`",
        Error::SecondControllers { .. } | Error::UnstoredController { .. } => {
            "add no controller: `--controller=false`"
        }
        Error::UnstoredWebhook { .. } => {
            "add the webhook to the stored version: the API server calls it for all versions"
        }
        Error::Crate { .. } => {
            "pass the existing crate to `--external-api-crate`, or change the crate of all kinds \
             with `--force`"
        }
        Error::NeedlessCrate { .. } => "leave out `--external-api-crate`",
        Error::OnlyVersion { id } => {
            return Some(format!(
                "add another version first, with `rscaffold create api --group {} --version \
                 <VERSION> --kind {}`",
                id.group().as_argument(),
                id.kind()
            ));
        }
        Error::OtherHub { hub, .. } => {
            return Some(format!(
                "leave out `--version`, or use `{}`; to change the hub anyway, run `rscaffold \
                 delete webhook --conversion` first",
                hub.version()
            ));
        }
        Error::Hub { .. } => {
            "delete the spokes first, or delete the conversion with `rscaffold delete webhook \
             --conversion`"
        }
        Error::NoSpoke { .. } => {
            "make it a spoke with `rscaffold create webhook --conversion`; until then, use \
             `--served=false`"
        }
        Error::TwoConversions { .. } => {
            "delete the webhook with `rscaffold delete webhook --conversion`"
        }
        Error::StoredObjects { .. } => {
            "if the schemas are equal, use `--conversion=none`, else run `rscaffold create webhook \
             --conversion` first; if no cluster has such objects, use `--force`"
        }
        Error::ServedVersions { other, .. } => {
            return Some(format!(
                "first `rscaffold create api --group {} --version {} --kind {} --served=false \
                 --force`",
                other.group().as_argument(),
                other.version(),
                other.kind()
            ));
        }
        Error::Unconverted { .. } => {
            "if the schemas are equal, use `--conversion=none`, else use `--served=false` for all \
             but one until you run `rscaffold create webhook --conversion`"
        }
        Error::GoProject | Error::TooOld { .. } => return None,
        Error::Related { .. } => {
            "remove it from `owns` or `watches` of the controller in `PROJECT`, then run `rscaffold apply`"
        }
    };
    Some(hint.to_owned())
}

/// The text of `PROJECT`.
fn text(tree: &WorkTree) -> Result<String> {
    if let Some(text) = tree.description()? {
        return Ok(text);
    }
    ensure_not_lost(&tree.record()?, &Texts::new())?;
    let file = Project::FILE;
    Err(anyhow!(
        "neither this folder nor a folder above it has a `{file}` file"
    ))
    .or_hint("start a project with `rscaffold init`")
}
