//! Generates texts that match a regular expression.

use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind},
};

/// The largest number of parts of a pattern that are written for one text.
const MOST: usize = 4096;

/// Returns texts that may match `pattern`, the shorter ones first. Returns no texts if the pattern
/// cannot be parsed.
pub(super) fn texts(pattern: &str) -> impl Iterator<Item = String> {
    // As in Go, classes such as `\w` contain only ASCII characters.
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
    let hir = parser.parse(pattern).ok();
    let counts = (0..=8).chain([12, 16, 24, 32, 63, 64, 128, 253]);
    let choices = counts.flat_map(|count| (0..6).map(move |branch| (count, branch)));
    choices.filter_map(move |(count, branch)| {
        let mut writer = Writer {
            count,
            branch,
            text: String::new(),
            left: MOST,
        };
        writer.write(hir.as_ref()?)?;
        Some(writer.text)
    })
}

/// Writes one matching text.
struct Writer {
    /// How often each repetition repeats, within its bounds.
    count: u32,
    /// Which branch of an alternation is taken.
    branch: usize,
    text: String,
    /// How many parts may still be written.
    left: usize,
}

impl Writer {
    /// Appends a text that matches `hir`. Returns `None` if no text was found.
    fn write(&mut self, hir: &Hir) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        match hir.kind() {
            // Whether an anchor matches depends on the whole text, which the caller checks.
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => self.text.push(char_of(class)?),
            HirKind::Capture(capture) => self.write(&capture.sub)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    self.write(part)?;
                }
            }
            HirKind::Alternation(branches) => {
                self.write(&branches[self.branch % branches.len()])?;
            }
            HirKind::Repetition(repetition) => {
                let most = repetition.max.unwrap_or(u32::MAX);
                for _ in 0..self.count.clamp(repetition.min, most) {
                    self.write(&repetition.sub)?;
                }
            }
        }
        Some(())
    }
}

/// A character of the class. Letters and digits are preferred.
fn char_of(class: &Class) -> Option<char> {
    // The parser does not know Unicode.
    let Class::Bytes(class) = class else {
        return None;
    };
    let mut readable = (b'a'..=b'z')
        .chain(b'1'..=b'9')
        .chain([b'0'])
        .chain(b'A'..=b'Z')
        .chain(b' '..=b'~');
    let found = readable.find(|byte| {
        let mut ranges = class.ranges().iter();
        ranges.any(|range| (range.start()..=range.end()).contains(byte))
    });
    found.map(char::from)
}
