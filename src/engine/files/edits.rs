//! Texts that count as the user's edits although the user has not written them into the files: texts that come with a
//! command, such as types from a CRD, and texts that are computed from the user's files. They do not follow from the
//! description. The record names each text, so that a later command can find the edits that the user made since.

use super::{Files, Sources};
use crate::engine::{
    Text, Texts,
    reconcile::{File, Start, adapted},
};

/// Texts that count as the user's edits.
#[derive(Debug, Default)]
pub struct Edits {
    /// The text of each file.
    pub texts: Texts,
    /// Whether the texts also replace the user's earlier edits.
    pub replace: bool,
}

impl Files {
    /// Makes the texts of `edits` the user's version of their files. If a file had such a text before, the user's edits
    /// since then are merged with the new text. Any other file that the user edited or deleted stays as it is, unless
    /// the texts replace it.
    pub fn take_edits(&mut self, edits: &Edits) {
        for (path, text) in &edits.texts {
            self.take_edit(path, text, edits.replace);
        }
    }

    /// Makes `text` the user's version of the file at `path`.
    fn take_edit(&mut self, path: &str, text: &Text, replaces: bool) {
        let file = self.sides.at(path);
        let Some(theirs) = file.theirs.clone() else {
            // The tool does not render this file, so it belongs to the user, and later commands do not know it.
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
        if is_new || replaces {
            file.base = Some(theirs);
            file.set_ours(Some(text.clone()));
            file.start = Start::Render;
            file.is_given = true;
        } else if let (Some(before), Some(_)) = (before, &file.disk) {
            file.base = Some(before.clone());
            file.theirs = Some(text.clone());
            self.rendered.insert(path.to_owned(), theirs);
        } else if file.disk.as_ref() != Some(text) {
            return;
        }
        if !self.conventions.is_derived(path) {
            self.given.insert(path.to_owned(), text.clone());
        }
    }

    /// Adapts the texts of earlier commands to the new render.
    pub(super) fn carry_given(&mut self, sources: &Sources) {
        let before = &self.record.given;
        for (path, text) in before {
            let file = self.sides.at(path);
            let adapted = adapted_to(file, text.content());
            if file.theirs.is_some() {
                self.given.extend(adapted.map(|text| (path.clone(), text)));
            } else if file.base.is_some() && adapted.is_some() {
                // If the file still has this text, it is deleted with its template.
                file.base = adapted;
            }
        }
        for (new, old) in &sources.0 {
            let file = self.sides.get(new);
            if let Some(text) = before.get(old)
                && file.start != Start::Render
                && let Some(text) = adapted_to(file, text.content())
            {
                self.given.insert(new.clone(), text);
            }
        }
    }
}

/// `text`, which `file` had before, adapted to the new render. `None` if that is a conflict.
fn adapted_to(file: &File, text: &str) -> Option<Text> {
    match (&file.base, &file.theirs) {
        (Some(base), Some(theirs)) => {
            adapted(base.content(), text, theirs.content(), file.start).map(Text::from)
        }
        _ => Some(text.to_owned().into()),
    }
}

impl File {
    /// The text of the file after the command; ours, if it cannot be merged.
    pub fn after(&self) -> Option<Text> {
        match (&self.base, self.ours()) {
            (None, None) => self.theirs.clone(),
            (Some(_), None) => None,
            (_, Some(ours)) => {
                Some(adapted_to(self, ours).unwrap_or_else(|| ours.to_owned().into()))
            }
        }
    }
}
