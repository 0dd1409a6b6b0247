//! Texts that do not follow from `PROJECT`: texts that come from the user with a command, such as types from a CRD, and
//! conversions between types that the user has written. Each counts as the user's edit of a file. The record keeps the
//! text, so that a later command can find the edits that the user made since.

use std::collections::BTreeSet;

use super::{Sides, Sources, Turn};
use crate::{
    engine::reconcile::{File, Start, adapted},
    engine::{Text, Texts},
    render::{CONVENTIONS, Conversion},
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
        known.given.retain(|path, text| {
            let file = sides.at(path);
            if file.theirs.is_none() && file.base.is_some() {
                // If the file still has the given text, it is deleted with its template.
                file.base = Some(text.clone());
            }
            file.theirs.is_some()
        });
        known
    }

    /// Makes `text` the user's version of the file at `path`.
    fn give_text(&self, path: &String, text: &Text, sides: &mut Sides, known: &mut Known) {
        let file = sides.at(path);
        let Some(theirs) = file.theirs.clone() else {
            // rscaffold does not render this file, so it belongs to the user, and later turns do not know it.
            if file.disk.is_none() {
                file.set_ours(Some(text.clone()));
                file.is_given = true;
            }
            return;
        };
        // A file that starts as a copy of another file has the base of the other file.
        let base = file.base.as_ref().filter(|_| file.start == Start::Render);
        let is_new = match (&file.disk, base) {
            // A killed command may have written the text already.
            (Some(disk), None) => disk == text,
            (Some(disk), Some(base)) => disk == base,
            (None, base) => base.is_none(),
        };
        let before = self.record.given.get(path);
        if is_new || self.given.replace {
            file.base = Some(theirs);
            file.set_ours(Some(text.clone()));
            file.start = Start::Render;
            file.is_given = true;
        } else if let (Some(before), Some(_)) = (before, &file.disk) {
            file.base = Some(before.clone());
            file.theirs = Some(text.clone());
            known.rendered.insert(path.clone(), theirs);
        } else if file.disk.as_ref() != Some(text) {
            return;
        }
        if !CONVENTIONS.is_derived(path) {
            known.given.insert(path.clone(), text.clone());
        }
    }

    /// The conversions between types that differ from the render, if the file of the conversion is new, or if the
    /// types of a version are given. The user's types decide, because they are what the code is compiled with.
    fn converted(&self, sides: &Sides, conversions: &[Conversion]) -> Texts {
        let is_new = |it: &Conversion| sides.get(&it.path).base.is_none();
        let is_given = |it: &Conversion| self.given.texts.keys().any(|path| it.is_of(path));
        let open = conversions.iter().filter(|it| is_new(it) || is_given(it));
        let lists: BTreeSet<_> = open.map(|it| &it.list).collect();
        let mut texts = Texts::new();
        for conversion in conversions.iter().filter(|it| lists.contains(&it.list)) {
            let Some(theirs) = &sides.get(&conversion.path).theirs else {
                continue;
            };
            let (text, has_status) = conversion.text(|types| after(sides.get(types)));
            if is_given(conversion) || is_new(conversion) && text != *theirs {
                texts.insert(conversion.path.clone(), text);
            }
            let list = texts.get(&conversion.list);
            if let Some(list) = list.or(sides.get(&conversion.list).theirs.as_ref())
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
        let carried = sources.0.iter().filter_map(|(new, old)| {
            let is_carried = sides.get(new).start != Start::Render;
            Some((new, before.get(old).filter(|_| is_carried)?))
        });
        let mut now = Texts::new();
        for (path, text) in before.iter().chain(carried) {
            let file = sides.get(path);
            let text = match (&file.base, &file.theirs) {
                (Some(base), Some(theirs)) => {
                    adapted(base, text, theirs, file.start).map(Text::from)
                }
                _ => Some(text.clone()),
            };
            now.extend(text.map(|text| (path.clone(), text)));
        }
        now
    }
}

/// The text of `file` after the turn; ours, if the turn cannot merge it.
fn after(file: &File) -> Option<Text> {
    match (&file.base, file.ours(), &file.theirs) {
        (None, None, theirs) => theirs.clone(),
        (Some(_), None, _) => None,
        (Some(base), Some(ours), Some(theirs)) => {
            let merged = adapted(base, ours, theirs, file.start);
            Some(merged.unwrap_or_else(|| ours.to_owned()).into())
        }
        (_, Some(ours), _) => Some(ours.to_owned().into()),
    }
}
