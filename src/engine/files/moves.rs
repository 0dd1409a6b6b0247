//! Files that start as another file: a file moves if its path changes, and it is copied if its source stays.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use crate::engine::{
    reconcile::{File, Sides, Start, copied},
    text::Text,
};

/// For each file that starts as another file: the path of that file.
#[derive(Debug, Default)]
pub struct Sources(pub BTreeMap<String, String>);

impl Sources {
    /// The path to which the file at `old` moves, if it moves.
    pub(super) fn target<'a>(&'a self, old: &str, sides: &Sides) -> Option<&'a str> {
        let mut sources = self.0.iter();
        let (new, _) =
            sources.find(|(_, source)| *source == old && sides.get(source).theirs.is_none())?;
        Some(new)
    }
}

/// Whether another file can start as `file`. If the user has moved the text of a file that stays elsewhere, there is
/// nothing to copy.
pub(super) fn is_source(file: &File) -> bool {
    file.clash.is_none() && (file.theirs.is_none() || file.ours().is_some())
}

/// Gives the file at `new` the base of the file at `old`. Unless the file at `new` exists, it also gets the user's
/// version of the other file: returns whether it does.
pub(super) fn start(sides: &mut Sides, old: &str, new: &str) -> bool {
    let source = sides.get(old);
    let stays = source.theirs.is_some();
    let is_copied = stays && is_new_copy(sides, old, new);
    // A killed command or the user has already created the file.
    let is_there = sides.get(new).disk.is_some() && (stays || source.disk.is_none());
    let (base, ours) = (source.base.clone(), source.ours().map(str::to_owned));
    let file = sides.at(new);
    file.base = base;
    file.start = if is_copied {
        Start::Copied
    } else {
        Start::Carried
    };
    let takes_ours = is_copied || !is_there;
    if takes_ours {
        file.set_ours(ours.map(Text::from));
    }
    takes_ours
}

/// Deletes each moved file at its old path.
pub(super) fn delete_moved(sides: &mut Sides, sources: &Sources) {
    let left: BTreeSet<_> = sources.0.values().collect();
    for old in left {
        let Some(new) = sources.target(old, sides) else {
            continue;
        };
        let file = sides.at(old);
        if file.clash.is_none() {
            file.base = None;
            file.set_ours(None);
            if mem::take(&mut file.is_marked) {
                sides.at(new).is_marked = true;
            }
        }
    }
}

/// Whether the file at `new` is not on disk yet, or only because a killed command has copied it from the file at `old`.
fn is_new_copy(sides: &Sides, old: &str, new: &str) -> bool {
    let (old, new) = (sides.get(old), sides.get(new));
    match (&new.disk, (&old.base, old.ours(), &new.theirs)) {
        (None, _) => true,
        (Some(disk), (Some(base), Some(ours), Some(theirs))) => {
            *disk == *copied(base.content(), ours, theirs.content())
        }
        (Some(_), _) => false,
    }
}
