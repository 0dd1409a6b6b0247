//! Characters that a terminal or an editor interprets instead of showing them.

use std::borrow::Cow;

/// Whether `char` is invisible and changes the text around it: a control character, a line or
/// paragraph separator, or a character that changes the direction of text.
pub fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn is_escaped(char: char) -> bool {
    is_hidden(char) && char != '\t'
}

/// `line` with an escape such as `\u{1b}` in place of each hidden character. Tabs stay.
pub fn visible(line: &str) -> Cow<'_, str> {
    if !line.contains(is_escaped) {
        return Cow::Borrowed(line);
    }
    let shown = line.chars().map(|char| match char {
        char if is_escaped(char) => char.escape_default().to_string(),
        char => char.to_string(),
    });
    Cow::Owned(shown.collect())
}

/// A word as an argument in a shell.
pub fn quoted(word: &str) -> String {
    let mut chars = word.chars();
    if !word.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        assert_eq!(
            visible("\ta\x1b[2J\r\n\u{7f}\u{9b}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}"),
            "\ta\\u{1b}[2J\\r\\n\\u{7f}\\u{9b}\\u{61c}\\u{200e}\\u{200f}\\u{2028}\\u{2029}"
        );
        for char in ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}') {
            let text = format!("a{char}b");
            assert_eq!(visible(&text), format!("a{}b", char.escape_unicode()));
        }
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in [
            "",
            "src/lib.rs",
            "Jürgen \u{200d} 東京 \u{2027}\u{202f}\u{2065}",
        ] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }
}
