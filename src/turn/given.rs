//! Texts that the user gives with a command, such as types from a CRD. Each is the user's edit of a file. The record
//! keeps it, so that a later command can tell what the user has edited since.

use super::{Sides, Sources, Turn, put};
use crate::reconcile::{Texts, adapted, is_derived};

/// What the record has of given texts after a turn.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The given texts.
    pub given: Texts,
    /// The renders of files that are merged with a given text instead.
    pub rendered: Texts,
}

impl Turn<'_> {
    /// Has the given texts be what the user made of the files. Of a file that had a given text before, the edits of
    /// the user are merged with the new text. Any other file that the user edited or deleted stays so, unless the
    /// texts replace it.
    pub(super) fn give(&self, sides: &mut Sides, sources: &Sources) -> Known {
        let mut known = Known {
            given: self.given_before(sides, sources),
            ..Known::default()
        };
        for (path, text) in &self.given.texts {
            let Some(theirs) = sides.theirs.get(path).cloned() else {
                // A file of the user's alone, which no later turn knows.
                if !sides.disk.contains_key(path) {
                    sides.set_ours(path, Some(text.clone()));
                    sides.given.insert(path.clone());
                }
                continue;
            };
            // Of a file that begins with another one, the base is that of the other one.
            let base = (sides.base.get(path)).filter(|_| !sides.carried.contains(path));
            let disk = sides.disk.get(path);
            let is_new = match (disk, base) {
                // Also if a command that was killed has written it.
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
            // What is as it was given goes, too.
            sides.base.insert(path.clone(), known.given[path].clone());
        }
        known
            .given
            .retain(|path, _| sides.theirs.contains_key(path));
        known
    }

    /// The texts that were given earlier, as they would have been given for the new render.
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
                    adapted(base, text, theirs, sides.carried.contains(path))?
                }
                _ => text.clone(),
            };
            Some((path.clone(), text))
        });
        now.collect()
    }
}
