//! Files whose path changes, such as those of a chart when the project gets another name.

use std::collections::BTreeMap;

use anyhow::Result;

use super::Turn;
use crate::{
    project::Project,
    reconcile::{Class, Sides, Texts},
    render::{Rendered, render},
};

/// For each path that a file gets the one that it had.
#[derive(Debug, Default)]
pub(super) struct Moves(BTreeMap<String, String>);

impl Turn<'_> {
    /// The files of `base` that `after` has at another path: those that come from the same template for
    /// the same item.
    ///
    /// A derived file does not move. It would keep the old names until `make manifests` writes it.
    pub(super) fn moves(&self, base: &Texts, after: &Rendered) -> Result<Moves> {
        let is_new = |path: &String| !base.contains_key(path) && Class::of(path) == Class::Merged;
        let is_gone = |path: &String| base.contains_key(path) && !after.texts.contains_key(path);
        let new = after.origins.iter().filter(|(path, _)| is_new(path));
        let new: BTreeMap<_, _> = new.map(|(path, origin)| (origin, path)).collect();
        if new.is_empty() || base.keys().all(|path| after.texts.contains_key(path)) {
            return Ok(Moves::default());
        }
        // After a merge of branches, the record can be about several projects.
        let recorded = self.record.projects.iter();
        let recorded = recorded.filter_map(|text| Project::parse(text).ok());
        let before = recorded.chain(self.before.clone()).collect::<Vec<_>>();
        let mut moves = Moves::default();
        for project in before {
            for (old, origin) in render(&project)?.origins {
                if let Some(new) = new.get(&origin).filter(|_| is_gone(&old)) {
                    moves.0.insert((*new).clone(), old);
                }
            }
        }
        Ok(moves)
    }
}

impl Moves {
    /// Has base and ours follow the files.
    pub(super) fn apply(self, sides: &mut Sides) {
        for (new, old) in self.0 {
            if let Some(base) = sides.base.remove(&old) {
                sides.base.insert(new.clone(), base);
            }
            let is_moved = !sides.disk.contains_key(&old) && sides.disk.contains_key(&new);
            if is_moved {
                // By a command that was killed.
                continue;
            }
            match sides.ours.remove(&old) {
                Some(ours) => _ = sides.ours.insert(new.clone(), ours),
                None => _ = sides.ours.remove(&new),
            }
            sides.moved.insert(new);
        }
    }
}
