//! Descriptions as doc comments.

use super::literal::is_plain;

/// Returns whether `text` can be a doc comment: schemars reads the same text back, rustfmt does not change the comment,
/// and rustdoc finds no code block in it to compile.
pub(super) fn is_doc(text: &str) -> bool {
    let is_doc_line = |line: &str| {
        line.trim_end() == line
            && line.chars().all(|char| is_plain(char) && char != '\t')
            && !line.starts_with("    ")
            && !line.contains("```")
            && !line.contains("~~~")
    };
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with('#')
        && !has_code_in_a_list(text)
        && text.split('\n').all(is_doc_line)
}

/// Returns whether Markdown could treat a part of `text` as an indented code block: an indented line after an empty
/// one, or a list item whose text is indented by five spaces.
fn has_code_in_a_list(text: &str) -> bool {
    let lines: Vec<_> = text.split('\n').collect();
    let pairs = lines.windows(2);
    pairs.into_iter().any(|pair| {
        let text = pair[1].trim_start_matches([' ']);
        let is_item = |line: &str| {
            let rest = line.trim_start_matches(|char: char| char.is_ascii_digit());
            let marked = line.starts_with(['-', '*', '+']) || rest != line;
            marked
                && rest
                    .trim_start_matches(['-', '*', '+', '.', ')'])
                    .starts_with("     ")
        };
        pair[0].is_empty() && text.len() != pair[1].len() || is_item(text)
    }) || lines.first().is_some_and(|line| line.starts_with(' '))
}

/// The lines of the doc comment of `text` at `indent`.
pub(super) fn comment(text: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let line = |line: &str| match line {
        "" => format!("{pad}///\n"),
        line => format!("{pad}/// {line}\n"),
    };
    text.split('\n').map(line).collect()
}
