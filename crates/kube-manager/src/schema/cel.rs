//! Names and values in CEL rules.

/// Words that CEL reserves. A rule writes a field of this name as `__name__`.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// The name by which a rule reaches the field `name`; `None` if no rule can.
pub fn field(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut characters = name.chars();
    let first = characters.next()?;
    if !first.is_ascii_alphabetic() && first != '_' {
        return None;
    }
    if !characters.all(|character| character.is_ascii_alphanumeric() || "_.-/".contains(character))
    {
        return None;
    }
    // The order matters: the other escapes have underscores.
    Some(
        name.replace("__", "__underscores__")
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__"),
    )
}

/// `value` as a text in CEL, with its quotes.
pub fn text(value: &str) -> String {
    let escaped = value
        .replace('\\', r"\\")
        .replace('\'', r"\'")
        .replace('\n', r"\n")
        .replace('\r', r"\r");
    format!("'{escaped}'")
}

/// The value of `quoted`, which [`text`] made.
pub fn read_text(quoted: &str) -> String {
    let mut value = String::new();
    let mut rest = quoted.trim_matches('\'').chars();
    while let Some(next) = rest.next() {
        let is_escape = next == '\\';
        value.extend(match is_escape.then(|| rest.next()).flatten() {
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some(escaped) => Some(escaped),
            None => Some(next),
        });
    }
    value
}

/// `values` as a list of texts in CEL.
pub fn list(values: &[&str]) -> String {
    let texts: Vec<String> = values.iter().map(|value| text(value)).collect();
    format!("[{}]", texts.join(", "))
}
