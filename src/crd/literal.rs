//! Writes values as Rust literals.

use serde_json::Value;

use crate::visible::is_hidden;

/// Returns whether `char` is visible in source code, and accepted there by rustc and clippy.
pub(super) fn is_plain(char: char) -> bool {
    !is_hidden(char)
        && !matches!(
            char,
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{feff}'
        )
}

/// A string literal.
pub(super) fn text(text: &str) -> String {
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

/// An integer literal, with the suffix `i64` if the value does not fit an `i32`.
pub(super) fn integer(value: i64) -> String {
    let suffix = if i32::try_from(value).is_ok() {
        ""
    } else {
        "i64"
    };
    format!("{value}{suffix}")
}

/// A number literal.
pub(super) fn number(value: &serde_json::Number) -> String {
    match (value.as_i64(), value.as_u64()) {
        (Some(value), _) => integer(value),
        (None, Some(value)) => format!("{value}u64"),
        (None, None) => float(value.as_f64().unwrap_or_default()),
    }
}

/// A floating-point literal.
pub(super) fn float(value: f64) -> String {
    format!("{value:?}")
}

/// A value in the syntax of `serde_json::json!`, on one line.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => number(value),
        Value::String(value) => text(value),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(json).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| format!("{}: {}", text(key), json(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Like [`json`], but on several lines if one line would be wider than `width`. The lines after the first one are
/// indented by `indent` spaces.
pub(super) fn json_lines(value: &Value, indent: usize, width: usize) -> String {
    let line = json(value);
    if line.chars().count() <= width {
        return line;
    }
    let inner = indent + 4;
    let width = 95_usize.saturating_sub(inner);
    let pad = " ".repeat(inner);
    let end = " ".repeat(indent);
    match value {
        Value::Array(values) if !values.is_empty() => {
            let lines = values.iter();
            let lines = lines.map(|it| format!("{pad}{},\n", json_lines(it, inner, width)));
            format!("[\n{}{end}]", lines.collect::<String>())
        }
        Value::Object(fields) if !fields.is_empty() => {
            let lines = fields.iter().map(|(key, value)| {
                let key = text(key);
                let width = width.saturating_sub(key.chars().count() + 2);
                format!("{pad}{key}: {},\n", json_lines(value, inner, width))
            });
            format!("{{\n{}{end}}}", lines.collect::<String>())
        }
        _ => line,
    }
}
