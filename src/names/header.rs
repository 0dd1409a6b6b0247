//! The header of each Rust file, in a project that has its own header.

use anyhow::{Result, bail, ensure};

use super::check::traits;
use crate::visible::is_hidden;

/// The lines of a header, without comment markers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Header(String);

traits!(Header.0);

impl Header {
    const MAX_LINES: usize = 100;

    const MAX_BYTES: usize = 1 << 14;

    /// Reads the header from the text of a file, which may be a comment of Go, C or Rust.
    ///
    /// # Errors
    /// When the file has no text, more than 100 lines or 16 KB, or invisible characters.
    pub fn of_file(text: &str) -> Result<Self> {
        let spaced = text.trim_start_matches('\u{feff}').replace('\t', "    ");
        let lines: Vec<_> = spaced.lines().map(without_marks).collect();
        lines.join("\n").trim_matches('\n').parse()
    }

    /// Its lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.lines()
    }

    fn read(text: &str) -> Result<Self> {
        ensure!(
            !text.trim().is_empty(),
            "a license header has at least one line of text"
        );
        ensure!(
            text.len() <= Self::MAX_BYTES,
            "the license header has {} bytes, at most {} are allowed",
            text.len(),
            Self::MAX_BYTES
        );
        let lines = text.lines().count();
        ensure!(
            lines <= Self::MAX_LINES,
            "the license header has {lines} lines, at most {} are allowed",
            Self::MAX_LINES
        );
        for (index, line) in text.split('\n').enumerate() {
            let number = index + 1;
            if let Some(hidden) = line.chars().find(|char| is_hidden(*char)) {
                bail!(
                    "line {number} of the license header has the invisible character `{}`",
                    hidden.escape_unicode()
                );
            }
            ensure!(
                line.trim_end() == line,
                "line {number} of the license header ends in white space"
            );
        }
        ensure!(
            !text.starts_with('\n') && !text.ends_with('\n'),
            "the license header begins or ends with an empty line"
        );
        Ok(Self(text.to_owned()))
    }
}

/// The line without comment markers: `//`, `/*`, `*/`, and the `*` before each line of a block comment.
fn without_marks(line: &str) -> &str {
    let mut text = line.trim_end();
    text = text.strip_suffix("*/").unwrap_or(text).trim_end();
    let begin = text.trim_start();
    let marks = ["/**", "/*", "//", "*"];
    match marks.iter().find_map(|mark| begin.strip_prefix(mark)) {
        Some(rest) => rest.strip_prefix(' ').unwrap_or(rest),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_the_text_of_a_comment() {
        let expected = "Copyright 2026 The Authors.\n\n  Licensed under X.";
        for text in [
            expected,
            "/*\nCopyright 2026 The Authors.\n\n  Licensed under X.\n*/\n",
            "/*\n * Copyright 2026 The Authors.\n *\n *   Licensed under X.\n */\n",
            "/* Copyright 2026 The Authors.\n\n  Licensed under X. */",
            "\u{feff}// Copyright 2026 The Authors.\r\n//\r\n//   Licensed under X.\r\n\r\n",
        ] {
            assert_eq!(
                Header::of_file(text).unwrap().as_str(),
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_header_without_text_or_with_hidden_characters_is_refused() {
        for (text, expected) in [
            ("", "a license header has at least one line of text"),
            (
                "/*\n *\n */\n",
                "a license header has at least one line of text",
            ),
            (
                "// a\n// b\u{202e}c\n",
                "line 2 of the license header has the invisible character `\\u{202e}`",
            ),
            (
                &"a\n".repeat(101),
                "the license header has 101 lines, at most 100 are allowed",
            ),
            (
                &"a".repeat(16_385),
                "the license header has 16385 bytes, at most 16384 are allowed",
            ),
        ] {
            assert_eq!(
                Header::of_file(text).unwrap_err().to_string(),
                expected,
                "{text:?}"
            );
        }
        for (text, expected) in [
            ("a \nb", "line 1 of the license header ends in white space"),
            (
                "a\n",
                "the license header begins or ends with an empty line",
            ),
            (
                "\na",
                "the license header begins or ends with an empty line",
            ),
        ] {
            assert_eq!(
                text.parse::<Header>().unwrap_err().to_string(),
                expected,
                "{text:?}"
            );
        }
    }
}
