//! The line ends of a user's file. They are the user's choice, so a difference in line ends is not an edit.

use std::borrow::Cow;

/// The line ends of a text. They are normalized before the text is compared or merged, and restored
/// when it is written.
#[derive(Clone, Copy)]
pub struct LineEnds {
    /// Most lines end in CRLF: an editor, or git's `core.autocrlf`.
    crlf: bool,
    /// The last line has no newline.
    lacks_newline: bool,
}

impl LineEnds {
    /// The text with plain newlines where it has its usual line ends, and these line ends.
    ///
    /// If a few lines of a text with CRLF have plain newlines, they get CRLF instead. So they differ from the lines of
    /// the tool, and [`LineEnds::restore`] makes them what they were.
    pub fn strip(text: &str) -> (Cow<'_, str>, Self) {
        let ends = Self {
            // Nearly no text has CRLF, and to look for one character is fast.
            crlf: text.contains('\r')
                && text.matches("\r\n").count() * 2 > text.matches('\n').count(),
            lacks_newline: !text.is_empty() && !text.ends_with('\n'),
        };
        let mut plain = Cow::Borrowed(text);
        if ends.crlf {
            plain = Cow::Owned(exchanged(text));
        }
        if ends.lacks_newline {
            plain.to_mut().push('\n');
        }
        (plain, ends)
    }

    /// The text with these line ends.
    pub fn restore(self, plain: &str) -> String {
        let without_newline = plain.strip_suffix('\n').filter(|_| self.lacks_newline);
        let text = without_newline.unwrap_or(plain);
        if self.crlf {
            exchanged(text)
        } else {
            text.to_owned()
        }
    }
}

/// The text with CRLF instead of plain newlines, and plain newlines instead of CRLF.
fn exchanged(text: &str) -> String {
    let mut exchanged = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\r', '\n']);
        exchanged += content;
        exchanged += match &line[content.len()..] {
            "\n" => "\r\n",
            "\r\n" => "\n",
            other => other,
        };
    }
    exchanged
}

/// `text` with the line ends of `other`.
pub fn with_line_ends_of(other: &str, text: &str) -> String {
    LineEnds::strip(other).1.restore(&LineEnds::strip(text).0)
}

/// Whether two texts are equal except for line ends.
pub fn is_same(a: &str, b: &str) -> bool {
    LineEnds::strip(a).0 == LineEnds::strip(b).0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cases::cases;

    proptest! {
        #![proptest_config(cases(1_000))]

        #[test]
        fn line_ends_of_any_text_are_restored(text in "[ab\r\n]{0,20}") {
            let (plain, ends) = LineEnds::strip(&text);
            prop_assert_eq!(ends.restore(&plain), text);
        }
    }
}
