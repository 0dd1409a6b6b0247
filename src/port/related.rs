//! Takes over the kinds that the Go controllers own and watch, if the project has names for them.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{code::shown, lost::Lost, operator::GoKind, path::file_name, source::Source};
use crate::{
    names::{ControllerName, GroupVersionKind},
    project::builtin,
    project::{Controller, Project},
};

/// Adds the kinds that the Go controllers watch to the controllers of `project`. Owned kinds are not added: the
/// generated code for an owned kind creates an example object, whose name an object in the cluster may already have.
pub(super) fn take(project: &mut Project, source: &Source, kinds: &mut [GoKind], lost: &mut Lost) {
    for kind in kinds {
        for code in &mut kind.controllers {
            let mut owned = Vec::new();
            code.owns.retain(|owns| {
                let (package, name) = owns;
                let Some(id) = called(project, source, &code.files, package, name) else {
                    return true;
                };
                if let Err(error) = check_owned(project, &kind.id, &code.name, &id) {
                    lost.add(format!(
                        "the owned kind `{}`: {error:#}; write the code for it by hand",
                        shown(owns),
                    ));
                    return false;
                }
                owned.push(id);
                true
            });
            // If an owned kind is unknown, a watched kind may be the same.
            if owned.len() < code.owns.len() {
                continue;
            }
            code.watches.retain(|(package, name)| {
                let watched = called(project, source, &code.files, package, name);
                !watched.is_some_and(|watched| {
                    !owned.contains(&watched) && watch(project, &kind.id, &code.name, watched)
                })
            });
            code.owned = owned;
        }
    }
}

/// Whether a controller of the kind `of` can own `id`.
fn check_owned(
    project: &Project,
    of: &GroupVersionKind,
    name: &ControllerName,
    id: &GroupVersionKind,
) -> Result<()> {
    let mut resources = project.resources.iter();
    let Some(resource) = resources.find(|resource| resource.id() == *of) else {
        return Ok(());
    };
    let controller = Controller {
        owns: vec![id.clone()],
        ..Controller::new(name.clone())
    };
    project.related(resource, &controller)?;
    Ok(())
}

/// The kind that `files` call `name` in the Go package `package`.
fn called(
    project: &Project,
    source: &Source,
    files: &BTreeSet<String>,
    package: &str,
    name: &str,
) -> Option<GroupVersionKind> {
    files.iter().find_map(|file| {
        let import = source.go.file(file)?.import(package)?;
        imported(project, import, name)
    })
}

/// The kind `name` of the Go package `import`.
fn imported(project: &Project, import: &str, name: &str) -> Option<GroupVersionKind> {
    if let Some(package) = import.strip_prefix("k8s.io/api/") {
        let path = format!("k8s_openapi::api::{}::{name}", package.replace('/', "::"));
        let builtin = builtin::all().find(|kind| kind.path == path)?;
        return builtin.id().parse().ok();
    }
    let version = file_name(import);
    let mut found = project.resources.iter().filter(|resource| {
        resource.kind.as_str() == name
            && resource.version.as_str() == version
            && !resource.is_builtin()
    });
    // Kinds of two groups may have the same name. The import does not say which group it is.
    let only = found.next().filter(|_| found.next().is_none())?;
    Some(only.id())
}

/// Adds `id` to the watches of a controller of the kind `of`, if the project stays valid.
fn watch(
    project: &mut Project,
    of: &GroupVersionKind,
    name: &ControllerName,
    id: GroupVersionKind,
) -> bool {
    let mut after = project.clone();
    let mut resources = after.resources.iter_mut();
    let resource = resources.find(|resource| resource.id() == *of && resource.id() != id);
    let mut controllers = resource
        .into_iter()
        .flat_map(|resource| &mut resource.controllers);
    let Some(controller) = controllers.find(|controller| controller.name == *name) else {
        return false;
    };
    if !controller.watches.contains(&id) {
        controller.watches.push(id);
    }
    let is_valid = after.validate().is_ok();
    if is_valid {
        *project = after;
    }
    is_valid
}
