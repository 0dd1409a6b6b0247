//! Conflict markers in a text, written by this tool or by git.

use super::line_ends::is_same;

/// The labels after the markers of this tool.
const OWN: [&str; 2] = ["yours", "rscaffold"];

/// Writes both sides between the markers of this tool.
pub(super) fn mark(ours: &str, theirs: &str) -> String {
    let [our_label, their_label] = OWN;
    format!("<<<<<<< {our_label}\n{ours}=======\n{theirs}>>>>>>> {their_label}\n")
}

/// The two texts of a text with conflict markers.
#[derive(Debug)]
pub struct Marked {
    /// The text with the lines of the first side in each conflict.
    pub ours: String,
    /// The text with the lines of the second side in each conflict.
    pub theirs: String,
    /// The line number of the first marker, from 1.
    pub line: usize,
    /// Whether this tool wrote all of the markers.
    pub own: bool,
}

impl Marked {
    /// The sides of `text`, if it has well-formed conflict markers.
    pub fn parse(text: &str) -> Option<Self> {
        // Fast path: almost every text has no markers.
        if !text.contains("<<<<<<< ") {
            return None;
        }
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let (mut ours, mut theirs) = (String::new(), String::new());
        let (mut first, mut own, mut done) = (None, true, 0);
        while let Some(start) = find(&lines, done, "<<<<<<<")
            && let Some(middle) = find(&lines, start, "=======")
            && let Some(end) = find(&lines, start, ">>>>>>>")
            && middle < end
        {
            // The base, which git adds with the style `diff3`.
            let base = find(&lines[..middle], start, "|||||||");
            let settled = &lines[done..start];
            ours.extend([settled, &lines[start + 1..base.unwrap_or(middle)]].concat());
            theirs.extend([settled, &lines[middle + 1..end]].concat());
            let labels = [start, end].map(|at| lines[at].get(8..).unwrap_or_default().trim_end());
            own &= labels == OWN;
            first = first.or(Some(start));
            done = end + 1;
        }
        let rest = lines[done..].concat();
        Some(Self {
            ours: ours + &rest,
            theirs: theirs + &rest,
            line: first? + 1,
            own,
        })
    }
}

/// Whether `text` has the conflicts that git wrote into `written`: nobody has begun to resolve them. `git checkout
/// --merge` writes other labels, and the style `diff3` adds the common ancestor.
pub fn is_as_git_left_it(text: &str, written: &str) -> bool {
    if is_same(text, written) {
        return true;
    }
    let (Some(text), Some(written)) = (Marked::parse(text), Marked::parse(written)) else {
        return false;
    };
    !text.own && is_same(&text.ours, &written.ours) && is_same(&text.theirs, &written.theirs)
}

/// The index of the first line with this `marker`, from the line `from` on.
fn find(lines: &[&str], from: usize, marker: &str) -> Option<usize> {
    (from..lines.len()).find(|at| {
        let line = lines[*at].trim_end_matches(['\r', '\n']);
        let rest = line.strip_prefix(marker);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
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
        assert_eq!(marked.ours, "a\nb\ne\n");
        assert_eq!(marked.theirs, "a\nc\nd\ne\n");
    }

    #[test]
    fn marked_conflicts_can_be_undone() {
        let text = format!("a\n{}b\n{}", mark("1\n", ""), mark("", "2\n"));
        let marked = Marked::parse(&text).unwrap();
        assert!(marked.own);
        assert_eq!(marked.ours, "a\n1\nb\n");
    }

    #[test]
    fn unpaired_markers_are_text() {
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
