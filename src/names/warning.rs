//! The warning of the API server to clients that use a deprecated version.

use anyhow::{Result, ensure};

use super::check::{allow_only, names};
use crate::visible::is_hidden;

names! {
    /// A warning, such as `use v2`.
    Warning: "the warning of a deprecated version", "use v2", str::trim, check;
}

fn check(text: &str) -> Result<()> {
    // The limit of the API server, which counts bytes.
    const MAX: usize = 256;
    ensure!(!text.trim().is_empty(), "it is empty");
    ensure!(
        text.len() <= MAX,
        "it has {} bytes, at most {MAX} are allowed",
        text.len()
    );
    let hint = ", only printable characters";
    allow_only(text, |c| c == ' ' || !is_blank(c) && !is_hidden(c), hint)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_the_api_server_takes() {
        let longest = "é".repeat(128);
        for text in ["use v2", "\"v1\" goes: \\ 'ß' 日本", &longest] {
            assert_eq!(text.parse::<Warning>().unwrap().as_str(), text);
        }
        for (text, reason) in [
            ("", "it is empty, as in `use v2`"),
            (" ", "it is empty, as in `use v2`"),
            (
                &format!("{longest}."),
                "it has 257 bytes, at most 256 are allowed",
            ),
            ("use\nv2", "is not allowed, only printable characters"),
            ("use\u{a0}v2", "is not allowed, only printable characters"),
            ("use\u{200b}v2", "is not allowed, only printable characters"),
            ("\u{202e}", "is not allowed, only printable characters"),
            ("use v2\n", "as in `use v2`"),
        ] {
            let error = text.parse::<Warning>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
