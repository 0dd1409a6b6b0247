//! `rscaffold delete api` and `rscaffold delete controller`

use std::process::ExitCode;

use anyhow::Result;

use super::{Mode, bring_in_line, id::Id, load_current, root};
use crate::{
    names::ControllerName,
    project::{Controller, Project, Resource},
    report::Story,
    worktree::WorkTree,
};

/// Removes a version of a kind from the project, with what only it needed.
pub fn api(id: Id, mode: Mode) -> Result<ExitCode> {
    let tree = WorkTree::open(root()?)?;
    let before = load_current(&tree)?;
    let mut after = before.clone();
    let removed = after.remove(&id.complete(None, None)?)?;

    let resource = &removed.resource;
    let mut notes = Vec::new();
    let (plural, group) = (&resource.plural, before.full_group(resource));
    if let Some(successor) = &removed.successor {
        let (kind, version) = (&resource.kind, &resource.version);
        notes.push(format!(
            "`{successor}` of {kind} is served now, in place of `{version}`"
        ));
    }
    if resource.api.is_some() && removed.siblings {
        notes.push(format!(
            "a cluster that ever stored `{}` refuses the new CRD until its objects are stored anew \
             and `status.storedVersions` of `{plural}.{group}` lacks it",
            resource.version
        ));
    } else if resource.api.is_some() {
        notes.push(format!(
            "clusters keep the CRD: `kubectl delete crd {plural}.{group}` deletes it there, with all \
             of its objects"
        ));
    }
    if removed.successor.is_none() {
        let controllers = resource.controllers.iter();
        notes.extend(controllers.filter_map(|it| held_back(&before, resource, it)));
    }
    bring_in_line(&tree, &before, after, mode, &story(notes))
}

/// Removes a controller from the project: the one called `name`, or the kind's own.
pub fn controller(id: Id, name: Option<ControllerName>, mode: Mode) -> Result<ExitCode> {
    let tree = WorkTree::open(root()?)?;
    let before = load_current(&tree)?;
    let mut after = before.clone();
    let id = id.complete(None, None)?;
    let name = name.unwrap_or_else(|| id.kind().controller());
    let resource = after.remove_controller(&id, &name)?;

    let note = resource
        .controller(&name)
        .and_then(|it| held_back(&before, &resource, it));
    bring_in_line(&tree, &before, after, mode, &story(Vec::from_iter(note)))
}

/// What becomes of objects that a controller holds back when it is gone.
fn held_back(project: &Project, resource: &Resource, controller: &Controller) -> Option<String> {
    let name = project.controller_name(resource, controller);
    controller.finalizer.then(|| {
        format!(
            "objects that have the finalizer `{name}/finalizer` cannot be deleted without the \
             controller: take it off them, or delete them before"
        )
    })
}

fn story(notes: Vec<String>) -> Story {
    Story {
        notes,
        ..Story::default()
    }
}
