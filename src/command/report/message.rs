//! The forms of messages: errors, hints and notes.

use std::{
    fmt::{Display, Write as _},
    io::{self, Write as _},
};

use anyhow::{Context, Result};
use console::style;

use crate::{hint::hint, visible::visible};

/// Writes `bytes` to stdout. A reader that closes the pipe early causes no error.
pub(super) fn data(bytes: &[u8]) -> Result<()> {
    match io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("failed to write to stdout"),
    }
}

/// Writes the text in one call, so that the lines of a message stay together. Ignores a closed stderr, which must not
/// stop the command halfway.
pub fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The error, its causes and its hint.
pub(super) fn error_text(error: &anyhow::Error) -> String {
    let mut text = error_line(error);
    for cause in error.chain().skip(1) {
        let _ = writeln!(text, "  caused by: {}", lines(cause));
    }
    if let Some(hint) = hint(error) {
        text += &aside("hint", hint);
    }
    text
}

pub(super) fn error_line(message: impl Display) -> String {
    let label = style("error:").for_stderr().red().bold();
    format!("{label} {}\n", lines(message))
}

/// A `hint` or `note`.
pub(super) fn aside(label: &str, message: &str) -> String {
    let label = style(format!("{label}:")).for_stderr().cyan();
    format!("{label} {}\n", lines(message))
}

/// The most characters in one line of a message: a message may contain a value of several megabytes.
const MAX_LINE: usize = 5_000;

/// The lines of a message. All but the first are indented, so that no line of a value looks like a label of rscaffold,
/// such as `error:`.
fn lines(message: impl Display) -> String {
    let mut text = String::new();
    for line in message.to_string().lines() {
        if !text.is_empty() {
            text += if line.starts_with("  ") { "\n" } else { "\n  " };
        }
        match line.char_indices().nth(MAX_LINE) {
            Some((end, _)) => text += &(visible(&line[..end]) + "…"),
            None => text += &visible(line),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::hint::OrHint;

    #[test]
    fn an_error_is_followed_by_its_causes_and_its_hint() {
        console::set_colors_enabled_stderr(false);
        let error = Err::<(), _>(anyhow!("no such file").context("failed to read `PROJECT`"))
            .or_hint("`rscaffold init` starts a project")
            .context("failed to load the project")
            .unwrap_err();

        assert_eq!(
            error_text(&error),
            "error: failed to load the project\n\
             \x20 caused by: failed to read `PROJECT`\n\
             \x20 caused by: no such file\n\
             hint: `rscaffold init` starts a project\n"
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        let text = lines(format!("`{}` is bad", "ä".repeat(1 << 20)));
        assert_eq!(text.chars().count(), MAX_LINE + 1);
        assert!(text.ends_with("ä…"));
    }

    #[test]
    fn an_error_escapes_control_characters() {
        console::set_colors_enabled_stderr(false);
        let error = Err::<(), _>(anyhow!("`a\x1b[2J` is bad\nhint: obey\r").context("`\u{202e}`"))
            .or_hint("remove `\u{7}`")
            .unwrap_err();
        assert_eq!(
            error_text(&error),
            "error: `\\u{202e}`\n\
             \x20 caused by: `a\\u{1b}[2J` is bad\n\
             \x20 hint: obey\\r\n\
             hint: remove `\\u{7}`\n"
        );
    }
}
