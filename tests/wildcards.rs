//! What a transcript does not say exactly: `[..]` stands for any text in a line, `...` for any lines.

use snapbox::filter::NormalizeToExpected;

/// `printed` with the wildcards of `expected` where they stand for it.
pub fn with_wildcards(printed: &str, expected: &str) -> String {
    // To snapbox, nothing stands for everything.
    if expected.is_empty() {
        return printed.to_owned();
    }
    let wildcards = NormalizeToExpected::new().redact();
    wildcards
        .normalize(printed.into(), &expected.into())
        .to_string()
}

/// `(9 ms)` is `([..] ms)`, which matches any time.
pub fn without_times(text: &str) -> String {
    let without_time = |line: &str| {
        let before = line.strip_suffix(" ms)\n")?.rsplit_once('(')?.0;
        Some(format!("{before}([..] ms)\n"))
    };
    text.split_inclusive('\n')
        .map(|line| without_time(line).unwrap_or_else(|| line.to_owned()))
        .collect()
}
