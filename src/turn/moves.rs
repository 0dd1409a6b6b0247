//! Files that start as another file. A file moves if its path changes, such as the path of a chart when the project is
//! renamed. A file is copied if a kind gets another version.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{DECIDE, Turn, put, refuse};
use crate::{
    project::{Project, Resource},
    reconcile::{Sides, copied, is_derived, markers::Marked},
    render::{Origin, places},
};

/// For each file that starts as another file: the path of that file.
#[derive(Debug, Default)]
pub(super) struct Sources(pub BTreeMap<String, String>);

impl Sources {
    /// The path to which the file at `old` moves, if it moves.
    pub(super) fn target<'a>(&'a self, old: &str, sides: &Sides) -> Option<&'a str> {
        let mut sources = self.0.iter();
        let (new, _) = sources.find(|(_, it)| *it == old && !sides.theirs.contains_key(*it))?;
        Some(new)
    }
}

impl Turn<'_> {
    /// The files of the new render that start as a file of the last render:
    ///
    /// - a file that comes from the same template for the same item, whose old path is no longer rendered, even if the
    ///   item is now in another group;
    /// - a file of a new version of a kind: the same file of the version that is the kind's hub.
    ///
    /// `origins` are the origins of the new render. A derived file never starts as another file, because it would keep
    /// the old names until `make manifests` writes it.
    pub(super) fn sources(
        &self,
        sides: &Sides,
        origins: &BTreeMap<String, Origin>,
    ) -> Result<Sources> {
        let (base, theirs) = (&sides.base, &sides.theirs);
        let is_new = |path: &String| !base.contains_key(path) && !is_derived(path);
        let is_gone = |path: &String| base.contains_key(path) && !theirs.contains_key(path);
        let new: Vec<_> = origins.iter().filter(|(path, _)| is_new(path)).collect();
        let mut sources = Sources::default();
        if new.is_empty() {
            return Ok(sources);
        }
        let is_any_gone = base.keys().any(is_gone);
        // After a merge of branches, the record can have several projects.
        let recorded = self.record.projects.iter();
        let recorded = recorded.filter_map(|text| match &self.before {
            Some(before) if sides.disk.get(Project::FILE).is_some_and(|it| it == text) => {
                Some(before.clone())
            }
            _ => Project::parse(text).ok(),
        });
        let mut projects: Vec<_> = recorded.collect();
        projects.extend(self.before.clone().filter(|it| !projects.contains(it)));
        for project in projects {
            let groups = renamed_groups(&project, &self.after);
            let of_hub = |origin: &Origin| {
                let hub = project.hub(origin.group(), origin.kind()?)?;
                Some(origin.in_version(hub.version.as_str()))
            };
            let is_version = |origin: &Origin| {
                former(origin, &groups)
                    .iter()
                    .any(|it| of_hub(it).is_some())
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
                let copied = || copied.find(|old| base.contains_key(*old));
                if let Some(old) = moved.or_else(copied) {
                    sources.0.insert((*path).clone(), old.clone());
                }
            }
        }
        Ok(sources)
    }

    /// Gives each file that starts as another file the base and ours of that file. A moved file is deleted at its old
    /// path.
    ///
    /// # Errors
    /// When the file to copy has conflict markers of the tool, or is not text.
    pub(super) fn carry(&self, sides: &mut Sides, sources: &Sources) -> Result<()> {
        let is_open = |old: &str, sides: &Sides| sides.open.contains_key(old);
        for (new, old) in &sources.0 {
            let stays = sides.theirs.contains_key(old);
            let is_deleted = sides.ours(old).is_none();
            if is_open(old, sides) || stays && is_deleted {
                // If the user has moved the types of a kind elsewhere, there is nothing to copy.
                continue;
            }
            if stays && sides.marked.contains(old) {
                let marked = sides.disk.get(old).and_then(|text| Marked::parse(text));
                let marked = marked.map(|it| (old.clone(), it)).into_iter().collect();
                refuse(&marked, |_| true, DECIDE)?;
            }
            let base = sides.base.get(old).cloned();
            let is_copied = stays && is_new_copy(sides, old, new);
            put(&mut sides.base, new, base);
            sides.carried.insert(new.clone());
            let has = |path| sides.disk.contains_key(path);
            // A killed command or the user has already created the file.
            let is_there = has(new) && (stays || !has(old));
            if is_copied || !is_there {
                self.tree.ensure_text(old)?;
                let ours = sides.ours(old).map(|text| text.to_owned().into());
                sides.set_ours(new, ours);
            }
            if is_copied {
                sides.copied.insert(new.clone());
            }
        }
        let left: BTreeSet<_> = sources.0.values().collect();
        for old in left {
            if let Some(new) = sources.target(old, sides).filter(|_| !is_open(old, sides)) {
                put(&mut sides.base, old, None);
                sides.set_ours(old, None);
                if sides.marked.remove(old) {
                    sides.marked.insert(new.to_owned());
                }
            }
        }
        Ok(())
    }
}

/// Whether the file at `new` is not on disk yet, or only because a killed command has copied it from the file at `old`.
fn is_new_copy(sides: &Sides, old: &str, new: &str) -> bool {
    let texts = (sides.base.get(old), sides.ours(old), sides.theirs.get(new));
    match (sides.disk.get(new), texts) {
        (None, _) => true,
        (Some(disk), (Some(base), Some(ours), Some(theirs))) => *disk == copied(base, ours, theirs),
        (Some(_), _) => false,
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
        called.any(|it| it.group == there.group)
    };
    let mut groups = BTreeSet::new();
    for new in after.resources.iter().filter(|it| !has(before, it)) {
        let old = before.resources.of_kind(&new.kind);
        let old = old.filter(|it| !has(after, it));
        groups.extend(old.map(|it| (new.group.to_string(), it.group.to_string())));
    }
    groups
}
