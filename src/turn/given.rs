//! Texts that come from the user with a command, such as types from a CRD. Each counts as the user's edit of a file.
//! The record keeps the text, so that a later command can find the edits that the user made since.

use super::{Sides, Sources, Turn, put};
use crate::reconcile::{Texts, adapted, is_derived};

/// What the record contains about given texts after a turn.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The given texts.
    pub given: Texts,
    /// The new renders of the files whose theirs is a given text. The record needs the render.
    pub rendered: Texts,
}

impl Turn<'_> {
    /// Makes the given texts the user's version of their files. If a file had a given text before, the user's edits
    /// since then are merged with the new text. Any other file that the user edited or deleted stays as it is, unless
    /// the given texts replace it.
    pub(super) fn give(&self, sides: &mut Sides, sources: &Sources) -> Known {
        let mut known = Known {
            given: self.given_before(sides, sources),
            ..Known::default()
        };
        for (path, text) in &self.given.texts {
            let Some(theirs) = sides.theirs.get(path).cloned() else {
                // rscaffold does not render this file, so it belongs to the user, and later turns do not know it.
                if !sides.disk.contains_key(path) {
                    sides.set_ours(path, Some(text.clone()));
                    sides.given.insert(path.clone());
                }
                continue;
            };
            // A file that starts as a copy of another file has the base of the other file.
            let base = (sides.base.get(path)).filter(|_| !sides.carried.contains(path));
            let disk = sides.disk.get(path);
            let is_new = match (disk, base) {
                // A killed command may have written the text already.
                (Some(disk), None) => disk == text,
                (Some(disk), Some(base)) => disk == base,
                (None, base) => base.is_none(),
            };
            if is_new || self.given.replace {
                put(&mut sides.base, path, Some(theirs));
                sides.set_ours(path, Some(text.clone()));
                sides.carried.remove(path);
                sides.given.insert(path.clone());
            } else if let (Some(before), Some(_)) = (self.record.given.get(path), disk) {
                put(&mut sides.base, path, Some(before.clone()));
                put(&mut sides.theirs, path, Some(text.clone()));
                known.rendered.insert(path.clone(), theirs);
            } else if disk != Some(text) {
                continue;
            }
            if !is_derived(path) {
                known.given.insert(path.clone(), text.clone());
            }
        }
        let is_dropped =
            |path: &String| sides.base.contains_key(path) && !sides.theirs.contains_key(path);
        let dropped: Vec<_> = known.given.keys().filter(|it| is_dropped(it)).collect();
        for path in dropped {
            // If the file still has the given text, it is deleted with its template.
            sides.base.insert(path.clone(), known.given[path].clone());
        }
        known
            .given
            .retain(|path, _| sides.theirs.contains_key(path));
        known
    }

    /// The texts that were given earlier, adapted to the new render.
    fn given_before(&self, sides: &Sides, sources: &Sources) -> Texts {
        let before = &self.record.given;
        let stayed = before.iter();
        let carried = sources
            .0
            .iter()
            .filter(|(new, _)| sides.carried.contains(*new));
        let carried = carried.filter_map(|(new, old)| Some((new, before.get(old)?)));
        let now = stayed.chain(carried).filter_map(|(path, text)| {
            let text = match (sides.base.get(path), sides.theirs.get(path)) {
                (Some(base), Some(theirs)) => {
                    adapted(base, text, theirs, sides.carried.contains(path))?.into()
                }
                _ => text.clone(),
            };
            Some((path.clone(), text))
        });
        now.collect()
    }
}
