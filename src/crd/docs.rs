//! Descriptions as doc comments.

use super::schema::Schema;
use crate::rust::literal::is_plain;

/// Takes the description out of `schema` if it can be a doc comment.
pub(super) fn take_doc(schema: &mut Schema) -> Option<String> {
    let text = schema.get("description")?.as_str()?.to_owned();
    is_doc(&text).then(|| schema.remove("description"))?;
    Some(text)
}

/// Returns whether `text` can be a doc comment: schemars reads the same text back, rustfmt does not change the comment,
/// and rustdoc finds no code block in it to compile.
pub(super) fn is_doc(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with('#')
        && !has_code_in_a_list(text)
        && text.split('\n').all(is_doc_line)
}

fn is_doc_line(line: &str) -> bool {
    line.trim_end() == line
        && line.chars().all(|char| is_plain(char) && char != '\t')
        && !line.starts_with("    ")
        && !line.contains("```")
        && !line.contains("~~~")
}

/// Returns whether Markdown could treat a part of `text` as an indented code block: an indented line after an empty
/// one, or a list item whose text is indented by five spaces.
fn has_code_in_a_list(text: &str) -> bool {
    let lines: Vec<_> = text.split('\n').collect();
    text.starts_with(' ')
        || lines.windows(2).any(|pair| {
            let unindented = pair[1].trim_start_matches(' ');
            pair[0].is_empty() && unindented.len() != pair[1].len() || is_wide_item(unindented)
        })
}

/// Returns whether `line` is the item of a list whose text is indented by five spaces.
fn is_wide_item(line: &str) -> bool {
    let unnumbered = line.trim_start_matches(|char: char| char.is_ascii_digit());
    let is_item = line.starts_with(['-', '*', '+']) || unnumbered != line;
    is_item
        && unnumbered
            .trim_start_matches(['-', '*', '+', '.', ')'])
            .starts_with("     ")
}

/// The lines of the doc comment of `text` at `indent`.
pub(super) fn comment(text: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut lines = String::new();
    for line in text.split('\n') {
        lines += format!("{pad}/// {line}").trim_end();
        lines.push('\n');
    }
    lines
}
