//! Line-by-line three-way merge (diff3) on top of diffy's two-way diff.
//!
//! diffy's own merge returns one text with the conflict markers written into it. Here conflicts are
//! values that know their line in ours: the report and every `--on-conflict` policy are made from
//! them, and a user's text may hold markers of its own.

use std::{iter::Peekable, mem::swap, ops::Range, vec};

use diffy::{DiffOptions, HunkRange};

use super::{Conflict, Hunk, Reason, markers::mark};

/// A merged file, from top to bottom.
pub(super) struct Merge<'a>(Vec<Part<'a>>);

enum Part<'a> {
    /// Lines that are settled.
    Settled(&'a str),
    /// Lines that are not.
    Clash(Clash<'a>),
}

/// Lines that both sides changed, each in its own way.
struct Clash<'a> {
    /// How many lines of ours stand above.
    above: usize,
    base: &'a str,
    ours: &'a str,
    theirs: &'a str,
}

impl<'a> Merge<'a> {
    /// Merges what ours and theirs changed in base. Every line of the three ends in a newline.
    ///
    /// Changes that touch or overlap belong together: only an unchanged line between two of them
    /// keeps them apart.
    pub(super) fn of(base: &'a str, ours: &'a str, theirs: &'a str) -> Self {
        let (mut ours, mut theirs) = (Side::new(base, ours), Side::new(base, theirs));
        let base = Lines::of(base);
        let mut merge = Self(Vec::new());
        let mut done = 0;
        while let Some(start) = ours.next_edit().into_iter().chain(theirs.next_edit()).min() {
            let (in_ours, in_theirs) = (ours.line_for(start), theirs.line_for(start));
            let mut end = start;
            loop {
                let grown = theirs.take_edits(ours.take_edits(end));
                if grown == end {
                    break;
                }
                end = grown;
            }
            merge.settled(base.text(done..start));
            merge.settle(Clash {
                above: in_ours,
                base: base.text(start..end),
                ours: ours.lines.text(in_ours..ours.line_for(end)),
                theirs: theirs.lines.text(in_theirs..theirs.line_for(end)),
            });
            done = end;
        }
        merge.settled(base.text(done..base.len()));
        merge
    }

    /// A file that one side removed and the other changed: nothing of it can be merged.
    pub(super) fn nothing(base: &'a str, ours: &'a str, theirs: &'a str) -> Self {
        Self(vec![Part::Clash(Clash {
            above: 0,
            base,
            ours,
            theirs,
        })])
    }

    fn settled(&mut self, text: &'a str) {
        self.0.push(Part::Settled(text));
    }

    fn settle(&mut self, clash: Clash<'a>) {
        if clash.ours == clash.theirs || clash.theirs == clash.base {
            self.settled(clash.ours);
        } else if clash.ours == clash.base {
            self.settled(clash.theirs);
        } else if clash.base.is_empty() {
            self.settle_insertions(&clash);
        } else {
            self.0.push(Part::Clash(clash));
        }
    }

    /// Both sides inserted lines at one place. If one has all the lines of the other, it is the
    /// merge: so a user may add by hand what the tool adds later, and a command takes up what a
    /// killed one has written. Otherwise they clash where they differ.
    fn settle_insertions(&mut self, clash: &Clash<'a>) {
        let edits = edits(clash.ours, clash.theirs);
        if edits.iter().all(|edit| edit.old.is_empty()) {
            return self.settled(clash.theirs);
        }
        if edits.iter().all(|edit| edit.new.is_empty()) {
            return self.settled(clash.ours);
        }
        let (ours, theirs) = (Lines::of(clash.ours), Lines::of(clash.theirs));
        let mut done = 0;
        for Edit { old, new } in edits {
            self.settled(ours.text(done..old.start));
            done = old.end;
            self.0.push(Part::Clash(Clash {
                above: clash.above + old.start,
                base: "",
                ours: ours.text(old),
                theirs: theirs.text(new),
            }));
        }
        self.settled(ours.text(done..ours.len()));
    }

    /// Whether nothing clashes.
    pub(super) fn is_clean(&self) -> bool {
        self.clashes().next().is_none()
    }

    /// Whether `clash` is for the user to decide. Where both sides inserted lines, those that one of
    /// them has alone are in nobody's way, as long as there are others that tell what is going on.
    fn is_open(&self, clash: &Clash) -> bool {
        !clash.is_alone() || self.clashes().all(Clash::is_alone)
    }

    fn clashes(&self) -> impl Iterator<Item = &Clash<'a>> {
        self.0.iter().filter_map(|part| match part {
            Part::Settled(_) => None,
            Part::Clash(clash) => Some(clash),
        })
    }

    /// The merged text, with ours where they clash.
    pub(super) fn ours(&self) -> String {
        self.text(|clash| clash.ours.to_owned())
    }

    /// The merged text, with theirs where they clash.
    pub(super) fn theirs(&self) -> String {
        self.text(|clash| clash.theirs.to_owned())
    }

    /// The merged text, with ours and then theirs where they clash.
    pub(super) fn both(&self) -> String {
        self.text(|clash| [clash.ours, clash.theirs].concat())
    }

    /// The merged text, with both between git's markers where they clash.
    pub(super) fn marked(&self) -> String {
        self.text(|clash| {
            if self.is_open(clash) {
                mark(clash.ours, clash.theirs)
            } else {
                [clash.ours, clash.theirs].concat()
            }
        })
    }

    fn text(&self, resolve: impl Fn(&Clash<'a>) -> String) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Settled(lines) => text.push_str(lines),
                Part::Clash(clash) => text.push_str(&resolve(clash)),
            }
        }
        text
    }

    /// Where they clash, for the user to decide.
    pub(super) fn conflict(&self, reason: Reason) -> Conflict {
        let open = self.clashes().filter(|clash| self.is_open(clash));
        Conflict {
            reason,
            hunks: open.map(Clash::hunk).collect(),
        }
    }
}

impl Clash<'_> {
    /// Whether it is an insertion of one side.
    fn is_alone(&self) -> bool {
        self.base.is_empty() && (self.ours.is_empty() || self.theirs.is_empty())
    }

    fn hunk(&self) -> Hunk {
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Hunk {
            line: self.above + 1,
            base: lines(self.base),
            ours: lines(self.ours),
            theirs: lines(self.theirs),
        }
    }
}

/// Ours or theirs, read along base from top to bottom.
struct Side<'a> {
    lines: Lines<'a>,
    edits: Peekable<vec::IntoIter<Edit>>,
    /// Where the edits that were taken end, in base and here. From there to the next edit the lines
    /// are the same.
    base: usize,
    line: usize,
}

impl<'a> Side<'a> {
    fn new(base: &str, text: &'a str) -> Self {
        Self {
            lines: Lines::of(text),
            edits: edits(base, text).into_iter().peekable(),
            base: 0,
            line: 0,
        }
    }

    /// The line of base where the next edit begins.
    fn next_edit(&mut self) -> Option<usize> {
        self.edits.peek().map(|edit| edit.old.start)
    }

    /// Takes the edits that touch what ends at line `end` of base; returns where it ends together
    /// with them.
    fn take_edits(&mut self, mut end: usize) -> usize {
        while let Some(edit) = self.edits.next_if(|edit| edit.old.start <= end) {
            end = end.max(edit.old.end);
            (self.base, self.line) = (edit.old.end, edit.new.end);
        }
        end
    }

    /// The line here that stands for line `base` of base.
    fn line_for(&self, base: usize) -> usize {
        self.line + (base - self.base)
    }
}

/// Lines `old` became lines `new`, both counted from 0.
struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

/// What ours made of base.
pub(super) fn changes(base: &str, ours: &str) -> Vec<Hunk> {
    let (old, new) = (Lines::of(base), Lines::of(ours));
    let edits = edits(base, ours).into_iter();
    let clashes = edits.map(|edit| Clash {
        above: edit.new.start,
        base: old.text(edit.old),
        ours: new.text(edit.new),
        theirs: "",
    });
    clashes.map(|clash| clash.hunk()).collect()
}

/// Where two texts differ of which neither comes from the other.
pub(super) fn differences(ours: &str, theirs: &str) -> Vec<Hunk> {
    let mut hunks = changes(theirs, ours);
    for hunk in &mut hunks {
        swap(&mut hunk.base, &mut hunk.theirs);
    }
    hunks
}

/// What changed between two texts, from top to bottom.
fn edits(old: &str, new: &str) -> Vec<Edit> {
    // A unified diff counts lines from 1, but names an empty range by the line above it.
    let range = |range: HunkRange| {
        let start = range.start() - usize::from(!range.is_empty());
        start..start + range.len()
    };
    let edit = |hunk: &diffy::Hunk<'_, str>| Edit {
        old: range(hunk.old_range()),
        new: range(hunk.new_range()),
    };
    let patch = DiffOptions::new().set_context_len(0).create_patch(old, new);
    patch.hunks().iter().map(edit).collect()
}

/// A text by its lines.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Where each line begins, and the last one ends.
    offsets: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let ends = text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        Self {
            text,
            offsets: [0].into_iter().chain(ends).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn text(&self, lines: Range<usize>) -> &'a str {
        &self.text[self.offsets[lines.start]..self.offsets[lines.end]]
    }
}
