//! Conflict markers in a text: those that this tool writes, and those that git leaves.

/// What stands after the markers that this tool writes.
const OWN: (&str, &str) = ("yours", "rscaffold");

/// Both sides between this tool's markers.
pub(super) fn mark(ours: &str, theirs: &str) -> String {
    let (our_label, their_label) = OWN;
    format!("<<<<<<< {our_label}\n{ours}=======\n{theirs}>>>>>>> {their_label}\n")
}

/// A text with conflict markers, taken apart at them.
#[derive(Debug)]
pub struct Marked<'a> {
    parts: Vec<Part<'a>>,
    /// The line of the first marker, counted from 1.
    pub line: usize,
    /// Whether all of the markers are this tool's.
    pub own: bool,
}

#[derive(Debug)]
enum Part<'a> {
    Settled(&'a str),
    Open { ours: &'a str, theirs: &'a str },
}

/// Which lines of an open part are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Those of the first side.
    Ours,
    /// Those of the second side.
    Theirs,
}

impl<'a> Marked<'a> {
    /// `text`, if it has conflict markers, each in its place.
    pub fn parse(text: &'a str) -> Option<Self> {
        // Almost every text has none.
        if !text.contains("<<<<<<< ") {
            return None;
        }
        let mut marked = Self {
            parts: Vec::new(),
            line: 0,
            own: true,
        };
        let mut lines = Vec::new();
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            lines.push((end, line));
            end += line.len();
        }
        let find = |from: usize, marker: &str| {
            let rest = lines.iter().enumerate().skip(from);
            let mut found = rest.filter(|(_, (_, line))| is_marker(line, marker));
            found.next().map(|(index, _)| index)
        };
        let start_of = |index: usize| lines.get(index).map_or(end, |(start, _)| *start);
        let mut done = 0;
        while let Some(open) = find(done, "<<<<<<<") {
            let (Some(middle), Some(close)) = (find(open, "======="), find(open, ">>>>>>>")) else {
                break;
            };
            if middle > close {
                break;
            }
            // What was there before, which git shows if it is told to.
            let base = find(open, "|||||||").filter(|base| *base < middle);
            let part = Part::Open {
                ours: &text[start_of(open + 1)..start_of(base.unwrap_or(middle))],
                theirs: &text[start_of(middle + 1)..start_of(close)],
            };
            if marked.line == 0 {
                marked.line = open + 1;
            }
            let label = |index: usize| lines[index].1.get(8..).unwrap_or_default().trim_end();
            marked.own &= (label(open), label(close)) == OWN;
            marked
                .parts
                .push(Part::Settled(&text[start_of(done)..start_of(open)]));
            marked.parts.push(part);
            done = close + 1;
        }
        if marked.parts.is_empty() {
            return None;
        }
        marked.parts.push(Part::Settled(&text[start_of(done)..]));
        Some(marked)
    }

    /// The text with these lines in place of each pair of sides.
    pub fn take(&self, take: Take) -> String {
        let texts = self.parts.iter().map(|part| match (part, take) {
            (Part::Settled(text), _) => *text,
            (Part::Open { ours, .. }, Take::Ours) => *ours,
            (Part::Open { theirs, .. }, Take::Theirs) => *theirs,
        });
        texts.collect()
    }
}

fn is_marker(line: &str, marker: &str) -> bool {
    let line = line.trim_end_matches(['\r', '\n']);
    line == marker
        || line
            .strip_prefix(marker)
            .is_some_and(|rest| rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIT: &str = "\
a
<<<<<<< HEAD
b
||||||| 0123456
x
=======
c
d
>>>>>>> feature
e
";

    #[test]
    fn each_side_can_be_taken() {
        let marked = Marked::parse(GIT).unwrap();
        assert_eq!((marked.line, marked.own), (2, false));
        assert_eq!(marked.take(Take::Ours), "a\nb\ne\n");
        assert_eq!(marked.take(Take::Theirs), "a\nc\nd\ne\n");
    }

    #[test]
    fn what_was_marked_can_be_undone() {
        let text = format!("a\n{}b\n{}", mark("1\n", ""), mark("", "2\n"));
        let marked = Marked::parse(&text).unwrap();
        assert!(marked.own);
        assert_eq!(marked.take(Take::Ours), "a\n1\nb\n");
    }

    #[test]
    fn what_is_no_pair_of_markers_is_text() {
        for text in [
            "",
            "a << b\n",
            "<<<<<<< HEAD\nb\n",
            "<<<<<<< HEAD\n>>>>>>> b\n=======\n",
            "  <<<<<<< HEAD\n=======\n>>>>>>> b\n",
        ] {
            assert!(Marked::parse(text).is_none(), "{text}");
        }
    }
}
