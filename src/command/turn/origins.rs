//! Files that start as another file. A file moves if its path changes, such as the path of a chart when the project is
//! renamed. A file is copied if a kind gets another version.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};

use super::Turn;
use crate::{
    engine::files::{Files, Sources},
    hint::OrHint,
    names::in_backticks,
    project::{Project, Resource},
    render::{CONVENTIONS, Origin, places},
};

impl Turn<'_> {
    /// The files of the new render that start as a file of the last render:
    ///
    /// - a file that comes from the same template for the same item, whose old path is no longer rendered, even if the
    ///   item is now in another group or has another version;
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
            let renamed = Renamed::between(&project, &self.after)?;
            let has_version = new.iter().any(|(_, origin)| {
                let mut former = renamed.former(origin).into_iter();
                former.any(|origin| of_hub(&origin, &project).is_some())
            });
            if !is_any_gone && !has_version {
                continue;
            }
            let paths = places(&project)?;
            for (path, origin) in new.iter().copied() {
                let former = renamed.former(origin);
                let mut moved = former.iter().filter_map(|origin| paths.get(origin));
                let hubs = former.iter().filter_map(|origin| of_hub(origin, &project));
                let mut copied = hubs.filter_map(|origin| paths.get(&origin));
                let moved = moved.find(|old| sides.get(old).is_gone());
                let copied = copied.find(|old| sides.get(old).base.is_some());
                // For one project a file may be new, for another one it has moved: its own edits are better than a copy.
                if let Some(old) = moved {
                    sources.0.insert(path.clone(), old.clone());
                } else if let Some(old) = copied {
                    let source = sources.0.entry(path.clone());
                    source.or_insert_with(|| old.clone());
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

/// What an edit of `PROJECT` has renamed.
struct Renamed {
    /// Pairs of the new group and the old group.
    groups: BTreeSet<(String, String)>,
    /// Versions of a kind: the old group, the kind, the new version, and the old version.
    versions: BTreeSet<[String; 4]>,
}

impl Renamed {
    /// # Errors
    /// When a kind is in several new groups, or was in several old ones: the files of one would go to the other.
    fn between(before: &Project, after: &Project) -> Result<Self> {
        let moved = moved_kinds(before, after);
        if let Some((kind, groups)) = moved.iter().find(|(_, groups)| groups.len() > 1) {
            let (new, old): (BTreeSet<_>, BTreeSet<_>) = groups.iter().copied().unzip();
            return Err(anyhow!(
                "the kind `{kind}` is gone from {} and new in {}, so rscaffold cannot tell which group has which \
                 new name",
                in_backticks(old),
                in_backticks(new)
            ))
            .or_hint("rename one group at a time, with `rscaffold apply` between");
        }
        let groups = moved.into_values().flatten();
        let groups: BTreeSet<_> = groups
            .map(|(new, old)| (new.to_owned(), old.to_owned()))
            .collect();
        let versions = renamed_versions(before, after, &groups);
        Ok(Self { groups, versions })
    }

    /// All origins that `origin` may have had before, and `origin` itself.
    fn former(&self, origin: &Origin) -> Vec<Origin> {
        let groups = self.groups.iter();
        let groups = groups.filter(|(new, _)| new == origin.group());
        let mut all = vec![origin.clone()];
        all.extend(groups.map(|(_, old)| origin.in_group(old)));
        let mut of_versions = Vec::new();
        for origin in &all {
            for [group, kind, new, old] in &self.versions {
                let is_of_kind = origin.kind().is_none_or(|name| name == kind);
                if origin.group() == group && is_of_kind && origin.version() == new {
                    of_versions.push(origin.in_version(old));
                }
            }
        }
        all.extend(of_versions);
        all
    }
}

/// The renamed versions of kinds: the old group, the kind, the new version in `after`, and the old version in `before`.
/// A version is renamed if it is the only one that a kind loses, and another one is the only one that the kind gets.
fn renamed_versions(
    before: &Project,
    after: &Project,
    groups: &BTreeSet<(String, String)>,
) -> BTreeSet<[String; 4]> {
    let mut versions = BTreeSet::new();
    for any in after.resources.iter() {
        let former = groups.iter().filter(|(new, _)| any.group.as_str() == new);
        for group in former
            .map(|(_, old)| old.as_str())
            .chain([any.group.as_str()])
        {
            let of_kind = |project: &Project, group: &str| -> BTreeSet<String> {
                let called = project.resources.of_kind(&any.kind);
                let called = called.filter(|resource| resource.group.as_str() == group);
                called
                    .map(|resource| resource.version.to_string())
                    .collect()
            };
            let (old, new) = (of_kind(before, group), of_kind(after, any.group.as_str()));
            let mut gone = old.difference(&new);
            let mut added = new.difference(&old);
            if let (Some(gone), None, Some(added), None) =
                (gone.next(), gone.next(), added.next(), added.next())
            {
                let names = [group, any.kind.as_str(), added, gone];
                versions.insert(names.map(str::to_owned));
            }
        }
    }
    versions
}

/// The kinds that are in another group, each with pairs of the new group in `after` and the old group in `before`.
fn moved_kinds<'a>(
    before: &'a Project,
    after: &'a Project,
) -> BTreeMap<&'a str, BTreeSet<(&'a str, &'a str)>> {
    let mut moved: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for new in after.resources.iter() {
        for old in before.resources.of_kind(&new.kind) {
            if !has(before, new) && !has(after, old) {
                let groups = (new.group.as_str(), old.group.as_str());
                moved.entry(new.kind.as_str()).or_default().insert(groups);
            }
        }
    }
    moved
}

/// Whether `project` has the kind of `resource` in the same group.
fn has(project: &Project, resource: &Resource) -> bool {
    let mut called = project.resources.of_kind(&resource.kind);
    called.any(|other| other.group == resource.group)
}
