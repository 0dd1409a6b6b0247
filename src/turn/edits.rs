//! Texts that count as the user's edits although the user has not written them into the files: texts that come with a
//! command, such as types from a CRD, and conversions between types that the user has written. They do not follow from
//! `PROJECT`. The record keeps each text, so that a later command can find the edits that the user made since.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{Sides, Sources, Turn};
use crate::{
    engine::{
        Text, Texts,
        reconcile::{File, Start, adapted},
    },
    render::{CONVENTIONS, ConversionFile, Templates},
};

/// What the record contains about such texts after a turn.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The texts.
    pub texts: Texts,
    /// The new renders of the files whose theirs is such a text. The record needs the render.
    pub rendered: Texts,
}

impl Turn<'_> {
    /// Makes the texts the user's version of their files. If a file had such a text before, the user's edits since then
    /// are merged with the new text. Any other file that the user edited or deleted stays as it is, unless the texts of
    /// the command replace it.
    pub(super) fn take_edits(&self, sides: &mut Sides, sources: &Sources) -> Result<Known> {
        let mut known = Known {
            texts: self.known_before(sides, sources),
            ..Known::default()
        };
        for (path, text) in &self.edits.texts {
            self.take_edit(path, text, sides, &mut known);
        }
        for (path, text) in self.conversions(sides)? {
            self.take_edit(&path, &text, sides, &mut known);
        }
        known.texts.retain(|path, text| {
            let file = sides.at(path);
            if file.theirs.is_none() && file.base.is_some() {
                // If the file still has this text, it is deleted with its template.
                file.base = Some(text.clone());
            }
            file.theirs.is_some()
        });
        Ok(known)
    }

    /// Makes `text` the user's version of the file at `path`.
    fn take_edit(&self, path: &String, text: &Text, sides: &mut Sides, known: &mut Known) {
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
        if is_new || self.edits.replace {
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
            known.texts.insert(path.clone(), text.clone());
        }
    }

    /// The conversions between types that differ from the render, if the file of the conversion is new, or if the
    /// command has the types of a version. The user's types decide, because they are what the code is compiled with.
    fn conversions(&self, sides: &Sides) -> Result<Texts> {
        let mut texts = Texts::new();
        // The files that list conversions, each with the versions that have no status.
        let mut lists = BTreeMap::new();
        for conversion in &self.rendered.conversions {
            if sides.get(&conversion.path).base.is_none() || self.has_types_of(conversion) {
                lists.insert(&conversion.list, BTreeSet::new());
            }
        }
        for conversion in &self.rendered.conversions {
            let Some(without_status) = lists.get_mut(&conversion.list) else {
                continue;
            };
            let file = sides.get(&conversion.path);
            let Some(theirs) = &file.theirs else {
                continue;
            };
            let (text, has_status) = conversion.text(|types| after(sides.get(types)));
            if self.has_types_of(conversion) || file.base.is_none() && text != *theirs {
                texts.insert(conversion.path.clone(), text);
            }
            if !has_status {
                without_status.insert(&conversion.version);
            }
        }
        lists.retain(|list, versions| !versions.is_empty() && sides.get(list).theirs.is_some());
        if lists.is_empty() {
            return Ok(texts);
        }
        let templates = Templates::new(&self.after)?;
        for (list, versions) in lists {
            let name = "without_status";
            let text = (self.rendered).file_with(&templates, list, name, &versions)?;
            texts.extend(text.map(|text| (list.clone(), text)));
        }
        Ok(texts)
    }

    /// Whether types that the conversion is made from come with the command.
    fn has_types_of(&self, conversion: &ConversionFile) -> bool {
        (self.edits.texts.keys()).any(|path| conversion.is_of(path))
    }

    /// The texts of earlier turns, adapted to the new render.
    fn known_before(&self, sides: &Sides, sources: &Sources) -> Texts {
        let before = &self.record.given;
        let mut now = Texts::new();
        for (path, text) in before {
            now.extend(adapted_to(sides.get(path), text).map(|text| (path.clone(), text)));
        }
        for (new, old) in &sources.0 {
            if let Some(text) = before.get(old)
                && sides.get(new).start != Start::Render
            {
                now.extend(adapted_to(sides.get(new), text).map(|text| (new.clone(), text)));
            }
        }
        now
    }
}

/// `text`, which `file` had before, adapted to the new render. `None` if that is a conflict.
fn adapted_to(file: &File, text: &str) -> Option<Text> {
    match (&file.base, &file.theirs) {
        (Some(base), Some(theirs)) => adapted(base, text, theirs, file.start).map(Text::from),
        _ => Some(text.to_owned().into()),
    }
}

/// The text of `file` after the turn; ours, if the turn cannot merge it.
fn after(file: &File) -> Option<Text> {
    match (&file.base, file.ours()) {
        (None, None) => file.theirs.clone(),
        (Some(_), None) => None,
        (_, Some(ours)) => Some(adapted_to(file, ours).unwrap_or_else(|| ours.to_owned().into())),
    }
}
