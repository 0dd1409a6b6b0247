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
        // Markdown could treat an indented line after an empty one as a code block.
        && !text.contains("\n\n ")
        && text.split('\n').all(is_doc_line)
}

fn is_doc_line(line: &str) -> bool {
    line.trim_end() == line
        && line.chars().all(|char| is_plain(char) && char != '\t')
        && !line.starts_with("    ")
        // Markdown could treat the text of an item of a list as a code block.
        && !line.contains("     ")
        && !line.contains("```")
        && !line.contains("~~~")
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
