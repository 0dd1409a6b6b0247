//! Values as Rust literals.

use serde_json::Value;

use crate::visible::is_hidden;

/// The number of columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns whether `char` is visible in source code, and accepted there by rustc and clippy.
pub(crate) fn is_plain(char: char) -> bool {
    !is_hidden(char)
        && !matches!(
            char,
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{feff}'
        )
}

/// A string literal.
pub(crate) fn text(text: &str) -> String {
    let is_raw = text.contains(['\\', '"']) && text.chars().all(is_plain);
    if is_raw && !text.contains('\r') {
        let longest = text.split('"').skip(1).map(|rest| {
            let hashes = rest.len() - rest.trim_start_matches('#').len();
            hashes + 1
        });
        let hashes = "#".repeat(longest.max().unwrap_or(0));
        return format!("r{hashes}\"{text}\"{hashes}");
    }
    let mut literal = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            char if is_plain(char) => literal.push(char),
            char => literal.extend(char.escape_unicode()),
        }
    }
    literal + "\""
}

/// A number literal, with a suffix if the value does not fit an `i32`.
pub(crate) fn number(value: &serde_json::Number) -> String {
    match (value.as_i64(), value.as_u64(), value.as_f64()) {
        (Some(integer), ..) if i32::try_from(integer).is_ok() => integer.to_string(),
        (Some(integer), ..) => format!("{integer}i64"),
        (None, Some(integer), _) => format!("{integer}u64"),
        (None, None, Some(number)) => float(number),
        (None, None, None) => value.to_string(),
    }
}

/// A floating-point literal.
pub(crate) fn float(value: f64) -> String {
    format!("{value:?}")
}

/// A value in the syntax of `serde_json::json!`, on one line.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => number(value),
        Value::String(value) => text(value),
        Value::Array(values) => {
            let literals: Vec<_> = values.iter().map(json).collect();
            format!("[{}]", literals.join(", "))
        }
        Value::Object(fields) => {
            let literals: Vec<_> = fields
                .iter()
                .map(|(key, value)| format!("{}: {}", text(key), json(value)))
                .collect();
            format!("{{{}}}", literals.join(", "))
        }
    }
}

/// Like [`json`], but on several lines if one line would be wider than `room`. The lines after the first one are
/// indented by `indent` spaces.
pub(crate) fn json_lines(value: &Value, indent: usize, room: usize) -> String {
    let line = json(value);
    if width(&line) <= room {
        return line;
    }
    let inner = indent + 4;
    let inner_room = 95_usize.saturating_sub(inner);
    let pad = " ".repeat(inner);
    let end = " ".repeat(indent);
    match value {
        Value::Array(values) if !values.is_empty() => {
            let mut lines = String::new();
            for value in values {
                lines += &format!("{pad}{},\n", json_lines(value, inner, inner_room));
            }
            format!("[\n{lines}{end}]")
        }
        Value::Object(fields) if !fields.is_empty() => {
            let mut lines = String::new();
            for (name, value) in fields {
                let key = text(name);
                let value_room = inner_room.saturating_sub(width(&key) + 2);
                lines += &format!("{pad}{key}: {},\n", json_lines(value, inner, value_room));
            }
            format!("{{\n{lines}{end}}}")
        }
        _ => line,
    }
}
