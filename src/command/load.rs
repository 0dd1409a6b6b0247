//! Loads the project of a work tree.

use std::path::Path;

use anyhow::{Result, anyhow};

use super::turn::ensure_not_lost;
use crate::{
    engine::{Texts, reconcile::markers::Marked, worktree::WorkTree},
    hint::{OrHint, or_hint_for},
    project::{Error, Project, Runtime},
    render::CONVENTIONS,
};

/// The project of the work tree, which this or an older rscaffold wrote.
pub fn load(tree: &WorkTree) -> Result<Project> {
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
pub fn or_edit<T>(read: Result<T>) -> Result<T> {
    or_hint_for(read, edit)
}

/// What the user can change in a refused `PROJECT`.
fn edit(refusal: &Error) -> Option<String> {
    let hint = match refusal {
        Error::GoProject => {
            "to start a Rust project with the same kinds, types, permissions and names, run \
             `rscaffold init --from <THIS FOLDER>` in an empty folder"
        }
        Error::TooOld { .. } => {
            "start a new project with `rscaffold init` in another folder, add the same kinds, and \
             copy your code into it"
        }
        Error::Unconverted { kind, group, .. } => {
            return Some(format!(
                "if the schemas are equal, set `conversion: none`, else set `served: false` for all but one until you \
                 run `rscaffold create webhook --group {group} --kind {kind} --conversion`"
            ));
        }
        Error::OtherCrd { .. } => "write the same value in all entries of the kind",
        Error::TwoConversions { .. } => {
            "remove `conversion` from the entries of the kind; `spoke` below `webhooks` stays"
        }
        Error::NoSpoke { .. } => "add the version to `spoke` of the hub, or set `served: false`",
        Error::SecondControllers { .. } | Error::UnstoredController { .. } => {
            "move `controller` or `controllers` to the entry of the stored version"
        }
        Error::UnstoredWebhook { .. } => "move `webhooks` to the entry of the stored version",
        Error::SameName { .. } => "change `kind`, `plural` or `shortNames` of one of them",
        Error::Crate { .. } => "set the same `module` for both",
        Error::NeedlessCrate { .. } => "remove `module`",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// The work tree in the folder `root`, and its project, which this rscaffold wrote. Only `update` updates a project.
pub fn open(root: &Path) -> Result<(WorkTree, Project)> {
    let tree = WorkTree::open(root, &CONVENTIONS)?;
    let project = load(&tree)?;
    ensure_current(&project)?;
    Ok((tree, project))
}

pub fn ensure_current(project: &Project) -> Result<()> {
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

/// Whether the user has set the runtime from the registry in `PROJECT` since the last command. False if a file cannot be
/// read: the command reports that.
pub fn has_new_registry(root: &Path) -> bool {
    let Ok(tree) = WorkTree::open(root, &CONVENTIONS) else {
        return false;
    };
    if !matches!(tree.description(), Ok(Some(text)) if has_registry(&text)) {
        return false;
    }
    let Ok(record) = tree.record() else {
        return false;
    };
    // Without a record, nobody knows what is new.
    !record.projects.is_empty() && !record.projects.iter().any(|text| has_registry(text))
}

fn has_registry(text: &str) -> bool {
    Project::parse(text).is_ok_and(|project| project.runtime == Runtime::Registry)
}

/// The text of `PROJECT`.
pub fn text(tree: &WorkTree) -> Result<String> {
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
