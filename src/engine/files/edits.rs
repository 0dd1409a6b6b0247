//! Texts that count as the user's edits although the user has not written them into the files: texts that come with a
//! command, such as types from a CRD, and texts that are computed from the user's files. They do not follow from the
//! description. The record names each text, so that a later command can find the edits that the user made since.

use super::moves::Sources;
use crate::engine::{
    conventions::Conventions,
    digest::digest,
    reconcile::{File, Sides, Start, adapted, line_ends::with_line_ends_of},
    text::{Text, Texts},
};

/// Texts that count as the user's edits.
#[derive(Debug, Default)]
pub struct Edits {
    /// The text of each file.
    pub texts: Texts,
    /// Whether the texts also replace the user's earlier edits.
    pub replace: bool,
}

impl Edits {
    /// A line that is the same only for commands with the same result: the digest of the texts, and of the description
    /// of the project.
    pub fn goal(&self, mut description: String) -> String {
        for (path, text) in &self.texts {
            description.extend([path, text.content()]);
        }
        digest(&description).trim_end().to_owned()
    }
}

/// What the next record says about such texts.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The texts.
    pub texts: Texts,
    /// The new renders of the files whose theirs is such a text. The record needs the render.
    pub rendered: Texts,
}

impl Given {
    /// Makes the texts of `edits` the user's version of their files. `before` are the texts of earlier commands.
    pub(super) fn take(
        &mut self,
        conventions: &Conventions,
        sides: &mut Sides,
        before: &Texts,
        edits: &Edits,
    ) {
        for (path, text) in &edits.texts {
            let file = sides.at(path);
            if self.take_edit(path, file, text, before.get(path), edits.replace)
                && !conventions.is_derived(path)
            {
                self.texts.insert(path.clone(), text.clone());
            }
        }
    }

    /// Makes `text` the user's version of `file`. Returns whether the record names the text.
    fn take_edit(
        &mut self,
        path: &str,
        file: &mut File,
        text: &Text,
        before: Option<&Text>,
        replaces: bool,
    ) -> bool {
        let Some(theirs) = file.theirs.clone() else {
            // The tool does not render this file, so it belongs to the user, and later commands do not know it.
            if file.disk.is_none() {
                file.set_ours(Some(text.clone()));
                file.is_given = true;
            }
            return false;
        };
        // A file that starts as a copy of another file has the base of the other file.
        let base = file.base.as_ref().filter(|_| file.start == Start::Render);
        let is_new = match (&file.disk, base) {
            // A killed command may have written the text already.
            (Some(disk), None) => disk.is_same(text),
            (Some(disk), Some(base)) => disk.is_same(base),
            (None, base) => base.is_none(),
        };
        if is_new || replaces {
            let disk = file.disk.as_ref().map_or("", Text::content);
            let text = with_line_ends_of(disk, text.content());
            file.base = Some(theirs);
            file.set_ours(Some(text.into()));
            file.start = Start::Render;
            file.is_given = true;
        } else if let (Some(before), Some(_)) = (before, &file.disk) {
            file.base = Some(before.clone());
            file.theirs = Some(text.clone());
            self.rendered.insert(path.to_owned(), theirs);
        } else {
            let disk = file.disk.as_ref();
            return disk.is_some_and(|disk| disk.is_same(text));
        }
        true
    }

    /// Adapts the texts `before`, of earlier commands, to the new render.
    pub(super) fn carry(&mut self, sides: &mut Sides, before: &Texts, sources: &Sources) {
        for (path, text) in before {
            let file = sides.at(path);
            let adapted = adapted_to(file, text.content());
            if file.theirs.is_some() {
                self.texts.extend(adapted.map(|text| (path.clone(), text)));
            } else if file.base.is_some() && adapted.is_some() {
                // If the file still has this text, it is deleted with its template.
                file.base = adapted;
            }
        }
        for (new, old) in &sources.0 {
            let file = sides.get(new);
            if let Some(text) = before.get(old)
                && file.start != Start::Render
                && let Some(text) = adapted_to(file, text.content())
            {
                self.texts.insert(new.clone(), text);
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
