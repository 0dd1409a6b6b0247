//! The line ends of a user's file. They are the user's choice, so a difference in line ends is not an edit.

use std::borrow::Cow;

/// The line ends of a text. They are normalized before the text is compared or merged, and restored
/// when it is written.
#[derive(Clone, Copy)]
pub struct LineEnds {
    /// Every line ends in CRLF: an editor, or git's `core.autocrlf`.
    crlf: bool,
    /// The last line has no newline.
    lacks_newline: bool,
}

impl LineEnds {
    /// The text with a plain newline at the end of every line, and its former line ends.
    pub fn strip(text: &str) -> (Cow<'_, str>, Self) {
        let mut lines = text.split_inclusive('\n');
        let ends = Self {
            crlf: text.contains('\n') && lines.all(|l| l.ends_with("\r\n") || !l.ends_with('\n')),
            lacks_newline: !text.is_empty() && !text.ends_with('\n'),
        };
        let mut plain = Cow::Borrowed(text);
        if ends.crlf {
            plain = Cow::Owned(text.replace("\r\n", "\n"));
        }
        if ends.lacks_newline {
            plain.to_mut().push('\n');
        }
        (plain, ends)
    }

    /// The text with these line ends.
    pub fn restore(self, plain: &str) -> String {
        let mut text = plain.to_owned();
        if self.lacks_newline && plain.ends_with('\n') {
            text.pop();
        }
        if self.crlf {
            text = text.replace('\n', "\r\n");
        }
        text
    }
}

/// `text` with the line ends of `other`.
pub fn with_line_ends_of(other: &str, text: &str) -> String {
    LineEnds::strip(other).1.restore(&LineEnds::strip(text).0)
}

/// Whether two texts are equal except for line ends.
pub fn is_same(a: &str, b: &str) -> bool {
    LineEnds::strip(a).0 == LineEnds::strip(b).0
}
