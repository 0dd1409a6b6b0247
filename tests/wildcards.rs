//! Wildcards in transcripts: `[..]` stands for any text in a line, `...` for any lines.

use snapbox::filter::NormalizeToExpected;

/// Returns `printed`, where each text that matches a wildcard of `expected` is replaced by the wildcard.
pub fn with_wildcards(printed: &str, expected: &str) -> String {
    // For snapbox, an empty text matches any text.
    if expected.is_empty() {
        return printed.to_owned();
    }
    let wildcards = NormalizeToExpected::new().redact();
    wildcards
        .normalize(printed.into(), &expected.into())
        .to_string()
}

/// Replaces a time such as `(9 ms)` at the end of a line by `([..] ms)`, which matches any time, and the size of a
/// project, which changes with each template, by `[..] files with [..] lines`.
pub fn without_times(text: &str) -> String {
    text.split_inclusive('\n').map(without_time).collect()
}

fn without_time(line: &str) -> String {
    if let Some((_, place)) = line.split_once(" lines are yours; the runtime ") {
        return format!("[..] files with [..] lines are yours; the runtime {place}");
    }
    let done = line.strip_suffix(" ms)\n");
    match done.and_then(|done| done.rsplit_once('(')) {
        Some((before, _)) => format!("{before}([..] ms)\n"),
        None => line.to_owned(),
    }
}
