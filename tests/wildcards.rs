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

/// Replaces a time such as `(9 ms)` at the end of a line by `([..] ms)`, which matches any time.
pub fn without_times(text: &str) -> String {
    let without_time = |line: &str| {
        let before = line.strip_suffix(" ms)\n")?.rsplit_once('(')?.0;
        Some(format!("{before}([..] ms)\n"))
    };
    text.split_inclusive('\n')
        .map(|line| without_time(line).unwrap_or_else(|| line.to_owned()))
        .collect()
}
