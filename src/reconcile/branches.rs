//! Merges a file that git left open between two branches.
//!
//! git knows three texts: those of the two branches, and that of the commit where they parted. A line of
//! the tool can be in each of them for another reason than a line of the user. So each text is first
//! brought to the new render, by an ordinary three-way merge over what the tool had written in that
//! commit. The three that result differ in nothing but edits of users, and are merged once more.

use super::{
    Conflict, LineEnds, Reason,
    merge::{self, Merge},
};

/// A file in one commit; `None` where it does not exist.
#[derive(Debug, Default)]
pub struct Side {
    /// As the tool wrote it last in that commit.
    pub base: Option<String>,
    /// As it is there.
    pub ours: Option<String>,
}

/// What the branches `ours` and `theirs` make together of a file that is `render` now, with plain line
/// ends; `None` for a file that is deleted. `parent` is where they parted, if that is known.
///
/// # Errors
/// Where the edits of the two branches clash with each other or with the render.
pub fn merge(
    parent: Option<Side>,
    ours: Side,
    theirs: Side,
    render: Option<&str>,
) -> Result<Option<String>, Conflict> {
    let (ours, theirs) = (ours.onto(render)?, theirs.onto(render)?);
    if ours == theirs {
        return Ok(ours);
    }
    match parent.map(|parent| parent.onto(render)) {
        Some(Ok(parent)) => three_way(parent, ours, theirs),
        // An edit of one branch alone may be one that the other branch has taken back.
        Some(Err(_)) | None => Err(differences(ours.as_deref(), theirs.as_deref())),
    }
}

impl Side {
    /// The file as the user would have edited it, had the tool written `render`; with plain line ends.
    fn onto(self, render: Option<&str>) -> Result<Option<String>, Conflict> {
        let strip = |text: String| LineEnds::strip(&text).0.into_owned();
        match (self.base, self.ours.map(strip), render) {
            // Deleted by the user.
            (Some(_), None, _) => Ok(None),
            (base, Some(ours), None) if base.as_ref() != Some(&ours) => Err(merge::dropped(
                Reason::Dropped,
                &base.unwrap_or_default(),
                &ours,
            )),
            (base, ours, render) => three_way(base, ours, render.map(str::to_owned)),
        }
    }
}

/// Merges a file that may not exist in each of the three states. The texts have plain line ends.
///
/// # Errors
/// Where both sides changed the same lines, or one deleted the file and the other one changed it.
pub fn three_way(
    parent: Option<String>,
    ours: Option<String>,
    theirs: Option<String>,
) -> Result<Option<String>, Conflict> {
    match (parent, ours, theirs) {
        (parent, ours, theirs) if parent == ours => Ok(theirs),
        (parent, ours, theirs) if parent == theirs => Ok(ours),
        (parent, Some(ours), Some(theirs)) => {
            let parent = parent.unwrap_or_default();
            let merge = Merge::of(&parent, &ours, &theirs);
            if !merge.is_clean() {
                return Err(merge.conflict(Reason::Branches));
            }
            Ok(Some(merge.ours()))
        }
        // One branch deleted the file, the other one edited it.
        (_, ours, theirs) => Err(differences(ours.as_deref(), theirs.as_deref())),
    }
}

/// Where two branches differ; `None` where one does not have the file.
pub fn differences(ours: Option<&str>, theirs: Option<&str>) -> Conflict {
    let [ours, theirs] = [ours, theirs].map(Option::unwrap_or_default);
    merge::differences(Reason::Branches, ours, theirs)
}

#[cfg(test)]
mod tests;
