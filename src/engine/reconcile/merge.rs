//! Line-by-line three-way merge (diff3) on top of a two-way diff.
//!
//! Libraries return one merged text with conflict markers in it. Here, conflicts are values with their line in ours:
//! the report and each `--on-conflict` policy need them, and a user's text may itself contain markers.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use imara_diff::{Algorithm, Diff, InternedInput};

use super::{
    markers::mark,
    plan::{Conflict, Hunk, Reason},
};

/// A merged file, from top to bottom.
pub(super) struct Merge<'a>(Vec<Piece<'a>>);

enum Piece<'a> {
    /// Merged lines.
    Settled(&'a str),
    /// Conflicting lines of both sides.
    Clash(Clash<'a>),
}

/// Lines that both sides changed in different ways.
#[derive(Clone, Copy)]
struct Clash<'a> {
    /// The number of lines of ours above.
    above: usize,
    /// The number of bytes of theirs above.
    their_start: usize,
    base: &'a str,
    ours: &'a str,
    theirs: &'a str,
}

impl<'a> Merge<'a> {
    /// Merges the changes of ours and theirs to base. Every line of the three texts ends in a newline.
    pub(super) fn of(base: &'a str, ours: &'a str, theirs: &'a str) -> Self {
        Self::compare(base, ours, theirs).settle(Clash::settle)
    }

    /// The same, but in the places `lists` of theirs, changes of neighbouring lines do not conflict: there, the tool adds
    /// and removes lines that stand for themselves.
    pub(super) fn of_lists(
        base: &'a str,
        ours: &'a str,
        theirs: &'a str,
        lists: &[Range<usize>],
    ) -> Self {
        Self::compare(base, ours, theirs).settle(|clash| {
            let pieces = clash.settle();
            let is_settled = pieces
                .iter()
                .all(|piece| matches!(piece, Piece::Settled(_)));
            let is_in_list = !is_settled && clash.is_in(lists) && !clash.has_changed_deletion();
            if is_in_list && (clash.is_done() || !clash.both_add_a_line(base)) {
                clash.settle_beside(true)
            } else {
                pieces
            }
        })
    }

    /// Resolves the conflicts in which ours and theirs changed neighbouring lines, but no common line.
    ///
    /// This is for a file that starts as a copy of another file. There, theirs changes only names that the tool
    /// chooses, such as the version of a kind.
    pub(super) fn beside(self) -> Self {
        self.settle(|clash| clash.settle_beside(false))
    }

    /// Resolves the conflicts in which ours and theirs only deleted lines: the lines that both have stay.
    ///
    /// Only for the edits of one user: it is a conflict if one branch deletes some lines and another branch more of them.
    pub(super) fn deletions(self) -> Self {
        self.settle(Clash::settle_deletions)
    }

    fn settle(self, settle: impl Fn(Clash<'a>) -> Vec<Piece<'a>>) -> Self {
        let pieces = self.0.into_iter().flat_map(|piece| match piece {
            Piece::Clash(clash) => settle(clash),
            Piece::Settled(lines) => vec![Piece::Settled(lines)],
        });
        Self(pieces.collect())
    }

    /// Splits the texts: lines that are the same in all three are settled, and the lines between them count as
    /// conflicts, even if only one side changed them.
    ///
    /// Changes that touch or overlap belong together; an unchanged line between two changes separates them.
    fn compare(base: &'a str, ours: &'a str, theirs: &'a str) -> Self {
        let (in_ours, in_theirs) = (common_lines(base, ours), common_lines(base, theirs));
        let mut pieces = Vec::new();
        let (mut start, mut our_start, mut their_start) = (0, 0, 0);
        let mut above = 0;
        for (at, our_at) in in_ours {
            let Some(their_at) = in_theirs.get(&at).copied() else {
                continue;
            };
            let clash = Clash {
                above,
                their_start,
                base: &base[start..at],
                ours: &ours[our_start..our_at],
                theirs: &theirs[their_start..their_at],
            };
            above += clash.ours.lines().count() + 1;
            if (start, our_start, their_start) != (at, our_at, their_at) {
                pieces.push(Piece::Clash(clash));
            }
            let line = base[at..].split_inclusive('\n').next().unwrap_or_default();
            pieces.push(Piece::Settled(line));
            [start, our_start, their_start] = [at, our_at, their_at].map(|at| at + line.len());
        }
        Self(pieces)
    }

    /// Merges two texts without a base: they conflict wherever they differ.
    pub(super) fn unrelated(ours: &'a str, theirs: &'a str) -> Self {
        let mut merge = Self::compare(theirs, ours, theirs);
        for piece in &mut merge.0 {
            if let Piece::Clash(clash) = piece {
                clash.base = "";
            }
        }
        merge
    }

    /// One conflict over the whole file: for a file that one side removed, and for two unrelated files.
    pub(super) fn nothing(base: &'a str, ours: &'a str, theirs: &'a str) -> Self {
        Self(vec![Piece::Clash(Clash {
            above: 0,
            their_start: 0,
            base,
            ours,
            theirs,
        })])
    }

    /// Whether there are no conflicts.
    pub(super) fn is_clean(&self) -> bool {
        self.clashes().next().is_none()
    }

    /// Whether the user must decide a conflict. If both sides inserted lines, lines that only one side inserted are
    /// taken, provided that the file has other conflicts to show.
    fn is_undecided(&self) -> impl Fn(&Clash) -> bool + use<> {
        let all_alone = self.clashes().all(Clash::is_alone);
        move |clash| all_alone || !clash.is_alone()
    }

    /// Whether both sides only inserted lines where they conflict.
    pub(super) fn only_inserts(&self) -> bool {
        self.clashes().all(|clash| clash.base.is_empty())
    }

    fn clashes(&self) -> impl Iterator<Item = &Clash<'a>> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Settled(_) => None,
            Piece::Clash(clash) => Some(clash),
        })
    }

    /// The merged text, with ours in conflicts.
    pub(super) fn ours(&self) -> String {
        self.text(|clash| clash.ours.to_owned())
    }

    /// The merged text, with theirs in conflicts.
    pub(super) fn theirs(&self) -> String {
        self.text(|clash| clash.theirs.to_owned())
    }

    /// The merged text, with ours and then theirs in conflicts.
    pub(super) fn both(&self) -> String {
        self.text(|clash| [clash.ours, clash.theirs].concat())
    }

    /// The merged text, with ours and theirs between conflict markers in conflicts.
    pub(super) fn marked(&self) -> String {
        let is_undecided = self.is_undecided();
        self.text(|clash| {
            if is_undecided(clash) {
                mark(clash.ours, clash.theirs)
            } else {
                [clash.ours, clash.theirs].concat()
            }
        })
    }

    fn text(&self, resolve: impl Fn(&Clash<'a>) -> String) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Settled(lines) => text.push_str(lines),
                Piece::Clash(clash) => text.push_str(&resolve(clash)),
            }
        }
        text
    }

    /// The conflicts that the user must decide.
    pub(super) fn conflict(&self, reason: Reason) -> Conflict {
        let is_undecided = self.is_undecided();
        let undecided = self.clashes().filter(|clash| is_undecided(clash));
        Conflict {
            reason,
            hunks: undecided.map(|clash| clash.hunk()).collect(),
        }
    }
}

impl<'a> Clash<'a> {
    /// Whether only one side inserted lines.
    fn is_alone(&self) -> bool {
        self.base.is_empty() && (self.ours.is_empty() || self.theirs.is_empty())
    }

    /// Resolves a conflict with changes on one side only, and one with insertions.
    fn settle(self) -> Vec<Piece<'a>> {
        if self.ours == self.theirs || self.theirs == self.base {
            vec![Piece::Settled(self.ours)]
        } else if self.ours == self.base {
            vec![Piece::Settled(self.theirs)]
        } else if self.base.is_empty() {
            self.settle_insertions()
        } else {
            vec![Piece::Clash(self)]
        }
    }

    /// Resolves a conflict in which both sides inserted lines at the same place. If one side has all lines of the
    /// other, that side is the result. So a user may add by hand what the tool adds later, and a command can complete
    /// the work of a killed one. Otherwise the sides conflict where they differ.
    fn settle_insertions(self) -> Vec<Piece<'a>> {
        let mut merge = Merge::compare(self.ours, self.ours, self.theirs);
        if merge.clashes().all(|clash| clash.ours.is_empty()) {
            return vec![Piece::Settled(self.theirs)];
        }
        if merge.clashes().all(|clash| clash.theirs.is_empty()) {
            return vec![Piece::Settled(self.ours)];
        }
        for piece in &mut merge.0 {
            if let Piece::Clash(clash) = piece {
                clash.above += self.above;
                clash.their_start += self.their_start;
                clash.base = "";
            }
        }
        merge.0
    }

    fn settle_deletions(self) -> Vec<Piece<'a>> {
        let [ours, theirs] = [self.ours, self.theirs].map(|side| edits(self.base, side));
        let mut all = ours.iter().chain(&theirs);
        if self.base.is_empty() || all.any(|edit| !edit.text.is_empty()) {
            return vec![Piece::Clash(self)];
        }
        let [in_ours, in_theirs] =
            [self.ours, self.theirs].map(|side| common_lines(self.base, side));
        let both = in_ours.keys().filter(|at| in_theirs.contains_key(at));
        let lines = both.filter_map(|at| self.base[*at..].split_inclusive('\n').next());
        lines.map(Piece::Settled).collect()
    }

    /// Whether all of its lines in theirs are in one of `lists`.
    fn is_in(&self, lists: &[Range<usize>]) -> bool {
        let their_end = self.their_start + self.theirs.len();
        let mut lists = lists.iter();
        lists.any(|list| list.start <= self.their_start && their_end <= list.end)
    }

    /// Whether both sides added a line that is nowhere in `base`: the user may have added a part of what the tool adds.
    fn both_add_a_line(&self, base: &str) -> bool {
        let known: BTreeSet<_> = base.split_inclusive('\n').collect();
        let ours: BTreeSet<_> = self.ours.split_inclusive('\n').collect();
        let mut theirs = self.theirs.split_inclusive('\n');
        theirs.any(|line| ours.contains(line) && !known.contains(line))
    }

    /// Whether ours has other lines in place of lines that theirs deletes. A killed command may have deleted them, or the
    /// user may have changed them.
    fn has_changed_deletion(&self) -> bool {
        let [ours, theirs] = [self.ours, self.theirs].map(|side| edits(self.base, side));
        let mut deletions = theirs.iter().filter(|edit| edit.text.is_empty());
        deletions.any(|deletion| {
            let mut changes = ours.iter().filter(|edit| !edit.text.is_empty());
            changes.any(|change| change.overlaps(deletion))
        })
    }

    /// Whether ours has all edits of theirs: a killed command has made them already.
    fn is_done(&self) -> bool {
        let in_ours: BTreeSet<_> = self.ours.split_inclusive('\n').collect();
        let whole_lines = format!("\n{}", self.ours);
        let is_done = edits(self.base, self.theirs).iter().all(|edit| {
            let mut before = self.base[edit.at.clone()].split_inclusive('\n');
            whole_lines.contains(&format!("\n{}", edit.text))
                && !before.any(|line| in_ours.contains(line))
        });
        is_done && !self.base.is_empty()
    }

    /// Makes the edits of both sides, unless both replace the same line. In a list, both may also insert lines at the same
    /// place.
    fn settle_beside(self, is_list: bool) -> Vec<Piece<'a>> {
        let [ours, theirs] = [self.ours, self.theirs].map(|side| edits(self.base, side));
        if self.is_done() {
            return vec![Piece::Settled(self.ours)];
        }
        for a in &ours {
            // Both lists are sorted, so the edits that may conflict with an edit are adjacent.
            let first = theirs.partition_point(|b| b.at.end < a.at.start);
            let mut near = theirs[first..]
                .iter()
                .take_while(|b| b.at.start <= a.at.end);
            if near.any(|b| a.overlaps(b) || !is_list && a.at.is_empty() && a.at == b.at) {
                return vec![Piece::Clash(self)];
            }
        }
        let mut all: Vec<_> = ours.into_iter().chain(theirs).collect();
        all.sort_by_key(|edit| (edit.at.start, edit.at.end, edit.text));
        let mut pieces = Vec::new();
        let mut done = 0;
        for edit in all {
            pieces.push(Piece::Settled(&self.base[done..edit.at.start]));
            pieces.push(Piece::Settled(edit.text));
            done = edit.at.end;
        }
        pieces.push(Piece::Settled(&self.base[done..]));
        pieces
    }

    fn hunk(self) -> Hunk {
        let [base, ours, theirs] = [self.base, self.ours, self.theirs]
            .map(|text| text.lines().map(str::to_owned).collect());
        Hunk {
            line: self.above + 1,
            base,
            ours,
            theirs,
        }
    }
}

/// A text that replaces a range of lines.
struct TextEdit<'a> {
    /// The replaced range, in bytes.
    at: Range<usize>,
    text: &'a str,
}

impl TextEdit<'_> {
    /// Whether both replace the same line.
    fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (&self.at, &other.at);
        a.start < b.end && b.start < a.end
    }
}

/// The edits that turn `old` into `new`.
fn edits<'a>(old: &str, new: &'a str) -> Vec<TextEdit<'a>> {
    let mut edits = Vec::new();
    let (mut start, mut new_start) = (0, 0);
    for (at, new_at) in common_lines(old, new) {
        if (start, new_start) != (at, new_at) {
            edits.push(TextEdit {
                at: start..at,
                text: &new[new_start..new_at],
            });
        }
        let line = old[at..].split_inclusive('\n').next().unwrap_or_default();
        (start, new_start) = (at + line.len(), new_at + line.len());
    }
    edits
}

/// Copies `ours`, a file with the render `base`, to a file with the render `theirs`, by a merge. Where both changed the
/// same lines, the lines of ours stay, but each name that differs between the two renders is replaced once: in these
/// lines, or where the user has moved the line to. Any other place with the same characters is the user's text.
pub(super) fn copied(base: &str, ours: &str, theirs: &str) -> String {
    let mut copy = String::new();
    let mut moved = Vec::new();
    for piece in Merge::of(base, ours, theirs).beside().0 {
        let clash = match piece {
            Piece::Settled(lines) => {
                copy.push_str(lines);
                continue;
            }
            Piece::Clash(clash) => clash,
        };
        let mut renamed = clash.ours.to_owned();
        for edit in edits(clash.base, clash.theirs) {
            let (old, new) = (phrase(&clash.base[edit.at]), phrase(edit.text));
            if old.is_empty() || new.is_empty() {
                continue;
            }
            match place_of(old, &renamed) {
                Some(place) => renamed.replace_range(place, new),
                None => moved.push((old, new)),
            }
        }
        copy += &Merge::of(clash.base, &renamed, clash.theirs)
            .beside()
            .ours();
    }
    for (old, new) in moved {
        // Several lines in the middle of a line of the user, such as a comment, would break it.
        let is_name = !new.contains('\n');
        let place = whole_lines_of(old, &copy).or_else(|| place_of(old, &copy).filter(|_| is_name));
        if let Some(place) = place {
            copy.replace_range(place, new);
        }
    }
    copy
}

/// Lines without the space around them. A user may have them at the end of a list, without the comma.
fn phrase(lines: &str) -> &str {
    let lines = lines.trim();
    lines.strip_suffix(',').unwrap_or(lines)
}

/// The first place of `phrase` in `text` where it is not a part of a longer word.
fn place_of(phrase: &str, text: &str) -> Option<Range<usize>> {
    let begins_in_word = is_word(phrase.chars().next());
    let ends_in_word = is_word(phrase.chars().next_back());
    for (start, _) in text.match_indices(phrase) {
        let end = start + phrase.len();
        let is_part = begins_in_word && is_word(text[..start].chars().next_back())
            || ends_in_word && is_word(text[end..].chars().next());
        if !is_part {
            return Some(start..end);
        }
    }
    None
}

fn is_word(char: Option<char>) -> bool {
    char.is_some_and(|char| char.is_alphanumeric() || char == '_')
}

/// The first place of `phrase` in `text` with nothing else in its lines.
fn whole_lines_of(phrase: &str, text: &str) -> Option<Range<usize>> {
    for (start, _) in text.match_indices(phrase) {
        let end = start + phrase.len();
        let before = text[..start].rsplit('\n').next().unwrap_or_default();
        let after = text[end..].split('\n').next().unwrap_or_default();
        if before.trim().is_empty() && matches!(after.trim(), "" | ",") {
            return Some(start..end);
        }
    }
    None
}

/// The conflict of a file that the tool deletes, with the changes of ours to base.
pub(super) fn dropped(reason: Reason, base: &str, ours: &str) -> Conflict {
    let merge = Merge::compare(base, ours, base);
    let clashes = merge.clashes().map(|clash| Clash {
        theirs: "",
        ..*clash
    });
    Conflict {
        reason,
        hunks: clashes.map(Clash::hunk).collect(),
    }
}

/// The conflict of two texts without a base.
pub(super) fn differences(reason: Reason, ours: &str, theirs: &str) -> Conflict {
    let merge = Merge::unrelated(ours, theirs);
    Conflict {
        reason,
        hunks: merge.clashes().map(|clash| clash.hunk()).collect(),
    }
}

/// The common lines of `old` and `new`: a map from the offset of each line in `old` to its offset in `new`. The ends of
/// both texts are in the map too.
///
/// Lines that occur only once in a text are matched first, as in a merge by git, because they show best which blocks
/// belong together. The shortest diff would match frequent lines of unrelated blocks, such as `.PHONY` or a brace.
fn common_lines(old: &str, new: &str) -> BTreeMap<usize, usize> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let in_old = unchanged(old, |line| diff.is_removed(line));
    let in_new = unchanged(new, |line| diff.is_added(line));
    let ends = (old.len(), new.len());
    in_old.zip(in_new).chain([ends]).collect()
}

/// The offsets of the lines of `text` for whose number `changed` returns false.
fn unchanged(text: &str, changed: impl Fn(u32) -> bool) -> impl Iterator<Item = usize> {
    let mut end = 0;
    let lines = text.split_inclusive('\n').zip(0..);
    lines.filter_map(move |(line, number)| {
        let start = end;
        end += line.len();
        (!changed(number)).then_some(start)
    })
}
