//! Texts that do not follow from `PROJECT`: texts that come from the user with a command, such as types from a CRD, and
//! conversions between types that the user has written. Each counts as the user's edit of a file. The record keeps the
//! text, so that a later command can find the edits that the user made since.

use std::collections::BTreeSet;

use super::{Sides, Sources, Turn, put};
use crate::{
    reconcile::{Text, Texts, adapted, copied, is_derived},
    render::Conversion,
};

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
    pub(super) fn give(
        &self,
        sides: &mut Sides,
        sources: &Sources,
        conversions: &[Conversion],
    ) -> Known {
        let mut known = Known {
            given: self.given_before(sides, sources),
            ..Known::default()
        };
        for (path, text) in &self.given.texts {
            self.give_text(path, text, sides, &mut known);
        }
        for (path, text) in self.converted(sides, conversions) {
            self.give_text(&path, &text, sides, &mut known);
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

    /// Makes `text` the user's version of the file at `path`.
    fn give_text(&self, path: &String, text: &Text, sides: &mut Sides, known: &mut Known) {
        let Some(theirs) = sides.theirs.get(path).cloned() else {
            // rscaffold does not render this file, so it belongs to the user, and later turns do not know it.
            if !sides.disk.contains_key(path) {
                sides.set_ours(path, Some(text.clone()));
                sides.given.insert(path.clone());
            }
            return;
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
            sides.copied.remove(path);
            sides.given.insert(path.clone());
        } else if let (Some(before), Some(_)) = (self.record.given.get(path), disk) {
            put(&mut sides.base, path, Some(before.clone()));
            put(&mut sides.theirs, path, Some(text.clone()));
            known.rendered.insert(path.clone(), theirs);
        } else if disk != Some(text) {
            return;
        }
        if !is_derived(path) {
            known.given.insert(path.clone(), text.clone());
        }
    }

    /// The conversions between types that differ from the render, if the file of the conversion is new, or if the
    /// types of a version are given. The user's types decide, because they are what the code is compiled with.
    fn converted(&self, sides: &Sides, conversions: &[Conversion]) -> Texts {
        let is_new = |it: &Conversion| !sides.base.contains_key(&it.path);
        let is_given = |it: &Conversion| self.given.texts.keys().any(|path| it.is_of(path));
        let open = conversions.iter().filter(|it| is_new(it) || is_given(it));
        let lists: BTreeSet<_> = open.map(|it| &it.list).collect();
        let mut texts = Texts::new();
        for conversion in conversions.iter().filter(|it| lists.contains(&it.list)) {
            let Some(theirs) = sides.theirs.get(&conversion.path) else {
                continue;
            };
            let (text, has_status) = conversion.text(|types| after(sides, types));
            if is_given(conversion) || is_new(conversion) && text != *theirs {
                texts.insert(conversion.path.clone(), text);
            }
            let list = texts.get(&conversion.list);
            if let Some(list) = list.or_else(|| sides.theirs.get(&conversion.list))
                && !has_status
            {
                let [with, without] = ["spoke", "spoke_without_status"]
                    .map(|name| format!(".{name}::<api::{}::", conversion.version));
                let text = list.replace(&with, &without);
                texts.insert(conversion.list.clone(), text.into());
            }
        }
        texts
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
                (Some(base), Some(theirs)) if sides.copied.contains(path) => {
                    copied(base, text, theirs).into()
                }
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

/// The text of the file at `path` after the turn; ours, if the turn cannot merge it.
fn after(sides: &Sides, path: &str) -> Option<Text> {
    match (
        sides.base.get(path),
        sides.ours(path),
        sides.theirs.get(path),
    ) {
        (None, None, theirs) => theirs.cloned(),
        (Some(_), None, _) => None,
        (Some(base), Some(ours), Some(theirs)) if sides.copied.contains(path) => {
            Some(copied(base, ours, theirs).into())
        }
        (Some(base), Some(ours), Some(theirs)) => {
            let merged = adapted(base, ours, theirs, sides.carried.contains(path));
            Some(merged.unwrap_or_else(|| ours.to_owned()).into())
        }
        (_, Some(ours), _) => Some(ours.to_owned().into()),
    }
}
