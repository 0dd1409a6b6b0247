//! Merges a file that git left unmerged between two branches.
//!
//! git knows three texts: one for each branch, and one for their common ancestor. These texts differ in the edits of
//! users, and in what the tool rendered in each commit. So each text is first brought to the new render, by a three-way
//! merge whose base is the text that the tool had written in that commit. After that the three texts differ only in the
//! edits of users, and are merged again.

use std::{collections::BTreeSet, ops::Range};

use super::{
    line_ends::LineEnds,
    merge::{self, Merge},
    plan::{Conflict, Reason},
};
use crate::engine::text::{Text, Texts};

/// A file in one commit; `None` where it does not exist.
#[derive(Debug, Default)]
pub struct Side {
    /// The text that the tool had written last in that commit.
    pub base: Option<Text>,
    /// The text in that commit.
    pub ours: Option<Text>,
}

/// Merges the branches `ours` and `theirs` of a file whose new render is `render`, with plain line ends; `None` for a
/// deleted file. `parent` is the common ancestor, if it is known. `lists` are the places of the render to which the tool
/// adds lines.
///
/// # Errors
/// If the edits of the two branches conflict with each other or with the render.
pub fn merge(
    parent: Option<Side>,
    ours: Side,
    theirs: Side,
    render: Option<&Text>,
    lists: &[Range<usize>],
) -> Result<Option<Text>, Conflict> {
    let (ours, theirs) = (ours.onto(render, lists)?, theirs.onto(render, lists)?);
    if ours == theirs {
        return Ok(ours);
    }
    match parent.map(|parent| parent.onto(render, lists)) {
        Some(Ok(parent)) => three_way(parent, ours, theirs, &[]),
        // Without the common ancestor, an edit that only one branch has may have been reverted by the other branch.
        Some(Err(_)) | None => Err(differences(ours.as_ref(), theirs.as_ref())),
    }
}

impl Side {
    /// The user's edits of the file on top of `render`, with plain line ends.
    fn onto(self, render: Option<&Text>, lists: &[Range<usize>]) -> Result<Option<Text>, Conflict> {
        let ours = self.ours.as_ref();
        let ours = ours.map(|text| Text::from(LineEnds::strip(text.content()).0.into_owned()));
        match (self.base, ours, render) {
            // Deleted by the user.
            (Some(_), None, _) => Ok(None),
            (base, Some(ours), None) if base.as_ref() != Some(&ours) => Err(merge::dropped(
                Reason::Dropped,
                base.unwrap_or_default().content(),
                ours.content(),
            )),
            (base, ours, render) => three_way(base, ours, render.cloned(), lists),
        }
    }
}

/// Merges a file that may be missing in some of the three states. The texts have plain line ends. `lists` are the places
/// of theirs to which the tool adds lines, if theirs is a render.
///
/// # Errors
/// If both sides changed the same lines, or one side deleted the file and the other changed it.
pub fn three_way(
    parent: Option<Text>,
    ours: Option<Text>,
    theirs: Option<Text>,
    lists: &[Range<usize>],
) -> Result<Option<Text>, Conflict> {
    match (parent, ours, theirs) {
        (parent, ours, theirs) if parent == ours => Ok(theirs),
        (parent, ours, theirs) if parent == theirs || ours == theirs => Ok(ours),
        (parent, Some(ours), Some(theirs)) => {
            let parent = parent.unwrap_or_default();
            let merge = Merge::of_lists(parent.content(), ours.content(), theirs.content(), lists);
            if !merge.is_clean() {
                return Err(merge.conflict(Reason::Branches));
            }
            Ok(Some(merge.ours().into()))
        }
        // One branch deleted the file, and the other one edited it.
        (_, ours, theirs) => Err(differences(ours.as_ref(), theirs.as_ref())),
    }
}

/// Merges a file of several `branches` with the common ancestor `parent`, one after the other.
///
/// # Errors
/// As [`three_way`].
pub fn merge_all<'a>(
    parent: Option<&Text>,
    mut branches: impl Iterator<Item = Option<&'a Text>>,
) -> Result<Option<Text>, Conflict> {
    branches.try_fold(parent.cloned(), |merged, branch| {
        three_way(parent.cloned(), merged, branch.cloned(), &[])
    })
}

/// Merges into `texts` what git merged line by line without knowing what the lines mean: the texts in the common
/// ancestor and on the two branches.
pub fn merge_texts(texts: &mut Texts, [parent, ours, theirs]: &[Texts; 3]) {
    let sides = parent.keys().chain(ours.keys()).chain(theirs.keys());
    let paths: BTreeSet<String> = sides.chain(texts.keys()).cloned().collect();
    for path in paths {
        let [parent, ours, theirs] = [parent, ours, theirs].map(|texts| texts.get(&path).cloned());
        // On a conflict, the lines of both stay: other lines on disk conflict with them anyway.
        match three_way(parent, ours, theirs, &[]) {
            Ok(Some(text)) => _ = texts.insert(path, text),
            Ok(None) => _ = texts.remove(&path),
            Err(_) => {}
        }
    }
}

/// The conflict over all differences of two branches; `None` for a branch without the file.
pub fn differences(ours: Option<&Text>, theirs: Option<&Text>) -> Conflict {
    let [ours, theirs] = [ours, theirs].map(|text| text.map_or("", Text::content));
    merge::differences(Reason::Branches, ours, theirs)
}

#[cfg(test)]
mod tests;
