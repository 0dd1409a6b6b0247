//! Files whose path changes, such as those of a chart when the project gets another name.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{Turn, put};
use crate::{
    project::Project,
    reconcile::{Sides, is_derived},
    render::{Origin, render},
};

impl Turn<'_> {
    /// Has base and ours follow the files that the new render has at another path: those that come
    /// from the same template for the same item. `origins` are those of the new render.
    ///
    /// A derived file does not move. It would keep the old names until `make manifests` writes it.
    pub(super) fn follow_moves(
        &self,
        sides: &mut Sides,
        origins: &BTreeMap<String, Origin>,
    ) -> Result<()> {
        let (base, theirs) = (&sides.base, &sides.theirs);
        let is_new = |path: &String| !base.contains_key(path) && !is_derived(path);
        let is_gone = |path: &String| base.contains_key(path) && !theirs.contains_key(path);
        let new = origins.iter().filter(|(path, _)| is_new(path));
        let new: BTreeMap<_, _> = new.map(|(path, origin)| (origin, path)).collect();
        if new.is_empty() || !base.keys().any(is_gone) {
            return Ok(());
        }
        // After a merge of branches, the record can be about several projects.
        let recorded = self.record.projects.iter();
        let recorded = recorded.filter_map(|text| Project::parse(text).ok());
        let mut moves = BTreeMap::new();
        for project in recorded.chain(self.before.clone()) {
            for (old, origin) in render(&project)?.origins {
                if let Some(new) = new.get(&origin).filter(|_| is_gone(&old)) {
                    moves.insert((*new).clone(), old);
                }
            }
        }
        for (new, old) in moves {
            let base = sides.base.remove(&old);
            put(&mut sides.base, &new, base);
            let is_moved = !sides.disk.contains_key(&old) && sides.disk.contains_key(&new);
            if is_moved {
                // By a command that was killed.
                continue;
            }
            let ours = sides.ours.remove(&old);
            put(&mut sides.ours, &new, ours);
            sides.moved.insert(new);
        }
        Ok(())
    }
}
