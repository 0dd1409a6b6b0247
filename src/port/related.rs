//! Takes over the kinds that the Go controllers own and watch, if the project has names for them.

use super::{kinds::GoKind, source::Source};
use crate::{
    builtin,
    names::GroupVersionKind,
    project::{Project, Resource},
};

/// Adds the kinds that the Go controllers watch to the controllers of `project`. Owned kinds are not added: the
/// generated code for an owned kind creates an example object, whose name an object in the cluster may already have.
pub(super) fn take(project: &mut Project, source: &Source, kinds: &mut [GoKind]) {
    for kind in kinds {
        let files = &kind.code.files;
        let named = |package: &str, name: &str, project: &Project| {
            let mut imports = files
                .iter()
                .filter_map(|file| source.go.import(file, package));
            imports.find_map(|import| named(project, import, name))
        };
        let owned = kind.code.owns.iter();
        let owned = owned.map(|(package, name)| named(package, name, project));
        let owned: Option<Vec<_>> = owned.collect();
        let mut left = kind.code.watches.clone();
        left.retain(|(package, name)| {
            let id = named(package, name, project);
            let id = id.filter(|id| owned.as_ref().is_some_and(|owned| !owned.contains(id)));
            id.and_then(|id| watch(project, &kind.id, id)).is_none()
        });
        kind.code.watches = left;
        kind.code.owned = owned.unwrap_or_default();
    }
}

/// The kind `name` of the Go package `import`.
fn named(project: &Project, import: &str, name: &str) -> Option<GroupVersionKind> {
    if let Some(package) = import.strip_prefix("k8s.io/api/") {
        let path = format!("k8s_openapi::api::{}::{name}", package.replace('/', "::"));
        let builtin = builtin::all().find(|it| it.path == path)?;
        return builtin.id().parse().ok();
    }
    let version = import.rsplit('/').next()?;
    let is_it = |it: &&Resource| {
        it.kind.as_str() == name && it.version.as_str() == version && !it.is_builtin()
    };
    let mut found = project.resources.iter().filter(is_it);
    // Kinds of two groups may have the same name. The import does not say which group it is.
    let only = found.next().filter(|_| found.next().is_none())?;
    Some(only.id())
}

/// Adds `id` to the watches of the first controller of the kind `of`, if the project stays valid.
fn watch(project: &mut Project, of: &GroupVersionKind, id: GroupVersionKind) -> Option<()> {
    let mut after = project.clone();
    let mut resources = after.resources.iter_mut();
    let resource = resources.find(|it| it.id() == *of && it.id() != id)?;
    let watches = &mut resource.controllers.first_mut()?.watches;
    if !watches.contains(&id) {
        watches.push(id);
    }
    after.validate().ok()?;
    *project = after;
    Some(())
}
