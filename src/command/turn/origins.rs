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
        let has_base = |path: &str| sides.get(path).base.is_some();
        let is_new = |path: &str| !has_base(path) && !CONVENTIONS.is_derived(path);
        let is_gone = |path: &str| has_base(path) && sides.get(path).theirs.is_none();
        let origins = self.rendered.origins.iter();
        let new: Vec<_> = origins.filter(|(path, _)| is_new(path)).collect();
        let mut sources = Sources::default();
        if new.is_empty() {
            return Ok(sources);
        }
        let is_any_gone = sides.files().any(|(path, _)| is_gone(path));
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
            let of_hub = |origin: &Origin| {
                let hub = project.hub(origin.group(), origin.kind()?)?;
                Some(origin.in_version(hub.version.as_str()))
            };
            let is_version = |origin: &Origin| {
                former(origin, &groups)
                    .iter()
                    .any(|origin| of_hub(origin).is_some())
            };
            if !is_any_gone && !new.iter().any(|(_, origin)| is_version(origin)) {
                continue;
            }
            let paths = places(&project)?;
            for (path, origin) in &new {
                let former = former(origin, &groups);
                let path_of = |origin: &Origin| paths.get(origin);
                let moved = former.iter().filter_map(path_of).find(|old| is_gone(old));
                let copied = former.iter().filter_map(of_hub);
                let mut copied = copied.filter_map(|origin| paths.get(&origin));
                let copied = || copied.find(|old| has_base(old));
                if let Some(old) = moved.or_else(copied) {
                    sources.0.insert((*path).clone(), old.clone());
                }
            }
        }
        Ok(sources)
    }
}

/// All origins that `origin` may have had before `groups` were renamed.
fn former(origin: &Origin, groups: &BTreeSet<(String, String)>) -> Vec<Origin> {
    let others = groups.iter().filter(|(new, _)| new == origin.group());
    let others = others.map(|(_, old)| origin.in_group(old));
    [origin.clone()].into_iter().chain(others).collect()
}

/// The renamed groups: pairs of the new group in `after` and the old group in `before`.
fn renamed_groups(before: &Project, after: &Project) -> BTreeSet<(String, String)> {
    let has = |project: &Project, there: &Resource| {
        let mut called = project.resources.of_kind(&there.kind);
        called.any(|other| other.group == there.group)
    };
    let mut groups = BTreeSet::new();
    for new in after
        .resources
        .iter()
        .filter(|resource| !has(before, resource))
    {
        let old = before.resources.of_kind(&new.kind);
        let old = old.filter(|resource| !has(after, resource));
        groups.extend(old.map(|resource| (new.group.to_string(), resource.group.to_string())));
    }
    groups
}
