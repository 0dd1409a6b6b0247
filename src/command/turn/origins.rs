//! Files that start as another file. A file moves if its path changes, such as the path of a chart when the project is
//! renamed. A file is copied if a kind gets another version.

use std::collections::BTreeSet;

use anyhow::Result;

use super::Turn;
use crate::{
    engine::files::{Files, Sources},
    project::{Project, Resource},
    render::{CONVENTIONS, Origin, places},
};

impl Turn<'_> {
    /// The files of the new render that start as a file of the last render:
    ///
    /// - a file that comes from the same template for the same item, whose old path is no longer rendered, even if the
    ///   item is now in another group;
    /// - a file of a new version of a kind: the same file of the version that is the kind's hub.
    ///
    /// A derived file never starts as another file, because it would keep the old names until `make manifests` writes it.
    pub(super) fn sources(&self, files: &Files) -> Result<Sources> {
        let sides = files.sides();
        let mut sources = Sources::default();
        let mut new: Vec<_> = self.rendered.origins.iter().collect();
        new.retain(|(path, _)| sides.get(path).base.is_none() && !CONVENTIONS.is_derived(path));
        if new.is_empty() {
            return Ok(sources);
        }
        let is_any_gone = sides.files().any(|(_, file)| file.is_gone());
        // After a merge of branches, the record can have several projects.
        let on_disk = sides.get(Project::FILE).disk.as_ref();
        let recorded = files.descriptions().iter();
        let recorded = recorded.filter_map(|text| match &self.before {
            Some(before) if on_disk.is_some_and(|disk| disk == text.as_str()) => {
                Some(before.clone())
            }
            _ => Project::parse(text).ok(),
        });
        let mut projects: Vec<_> = recorded.collect();
        projects.extend(
            self.before
                .clone()
                .filter(|project| !projects.contains(project)),
        );
        for project in projects {
            let groups = renamed_groups(&project, &self.after);
            let has_version = new.iter().any(|(_, origin)| {
                let mut former = former(origin, &groups).into_iter();
                former.any(|origin| of_hub(&origin, &project).is_some())
            });
            if !is_any_gone && !has_version {
                continue;
            }
            let paths = places(&project)?;
            for (path, origin) in new.iter().copied() {
                let former = former(origin, &groups);
                let mut moved = former.iter().filter_map(|origin| paths.get(origin));
                let hubs = former.iter().filter_map(|origin| of_hub(origin, &project));
                let mut copied = hubs.filter_map(|origin| paths.get(&origin));
                let moved = moved.find(|old| sides.get(old).is_gone());
                let copied = copied.find(|old| sides.get(old).base.is_some());
                if let Some(old) = moved.or(copied) {
                    sources.0.insert(path.clone(), old.clone());
                }
            }
        }
        Ok(sources)
    }
}

/// The origin of the same template for the hub of the kind.
fn of_hub(origin: &Origin, project: &Project) -> Option<Origin> {
    let hub = project.hub(origin.group(), origin.kind()?)?;
    Some(origin.in_version(hub.version.as_str()))
}

/// All origins that `origin` may have had before `groups` were renamed.
fn former(origin: &Origin, groups: &BTreeSet<(String, String)>) -> Vec<Origin> {
    let others = groups.iter().filter(|(new, _)| new == origin.group());
    let others = others.map(|(_, old)| origin.in_group(old));
    [origin.clone()].into_iter().chain(others).collect()
}

/// The renamed groups: pairs of the new group in `after` and the old group in `before`.
fn renamed_groups(before: &Project, after: &Project) -> BTreeSet<(String, String)> {
    let mut groups = BTreeSet::new();
    for new in after.resources.iter() {
        for old in before.resources.of_kind(&new.kind) {
            if !has(before, new) && !has(after, old) {
                groups.insert((new.group.to_string(), old.group.to_string()));
            }
        }
    }
    groups
}

/// Whether `project` has the kind of `resource` in the same group.
fn has(project: &Project, resource: &Resource) -> bool {
    let mut called = project.resources.of_kind(&resource.kind);
    called.any(|other| other.group == resource.group)
}
