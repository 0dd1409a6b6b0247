//! Turns the names of a schema into Rust names.

use std::collections::BTreeSet;

use heck::{ToSnakeCase, ToUpperCamelCase};

use crate::names::is_keyword;

/// The name of a field: `pod_cidrs` for `podCIDRs`.
pub(super) fn field(name: &str) -> String {
    let snake = plain(name).to_snake_case();
    match snake.as_str() {
        "" => "field".to_owned(),
        it if it.starts_with(|c: char| c.is_ascii_digit()) => format!("_{it}"),
        it if is_keyword(it) => format!("{it}_"),
        _ => snake,
    }
}

/// A part of the name of a type, or a variant: `PodCidrs` for `podCIDRs`.
pub(super) fn part(name: &str) -> String {
    plain(name).to_upper_camel_case()
}

/// The name of a variant of an enum: `V12` for `1.2`, `Any` for `*`.
pub(super) fn variant(value: &str) -> String {
    let sign = |char| match char {
        '*' => " any ",
        '=' => " equal ",
        '!' => " not ",
        '<' => " less ",
        '>' => " greater ",
        '+' => " plus ",
        '%' => " percent ",
        _ => " ",
    };
    let name = part(value);
    let name = if name.is_empty() {
        let words: String = value.chars().map(sign).collect();
        part(&words)
    } else {
        name
    };
    match name.as_str() {
        "" if value.is_empty() => "Empty".to_owned(),
        "" => "Other".to_owned(),
        "Self" => "Self_".to_owned(),
        it if it.starts_with(|c: char| c.is_ascii_digit()) => format!("V{it}"),
        _ => name,
    }
}

/// The singular of a plural: `Listener` for `Listeners`.
pub(super) fn singular(part: &str) -> String {
    let ends = |end: &str| part.ends_with(end);
    let stem = |end: &str| part.strip_suffix(end).unwrap_or(part).to_owned();
    if part.len() < 4 || ends("ss") || ends("us") || ends("is") || !ends("s") {
        part.to_owned()
    } else if ends("ies") {
        stem("ies") + "y"
    } else if ["sses", "ches", "shes", "xes"].into_iter().any(ends) {
        stem("es")
    } else {
        stem("s")
    }
}

/// Replaces characters that are not valid in an identifier, and makes a plural acronym such as
/// `CIDRs` one word.
fn plain(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut plain = String::new();
    for (at, &char) in chars.iter().enumerate() {
        let upper = |at: usize| chars.get(at).is_some_and(char::is_ascii_uppercase);
        let ends = |at: usize| !chars.get(at).is_some_and(char::is_ascii_alphanumeric) || upper(at);
        // `CIDRs` and `IPs`
        let is_plural = char == 's' && at > 1 && upper(at - 1) && upper(at - 2) && ends(at + 1);
        match char {
            's' if is_plural => plain.push('S'),
            char if char.is_ascii_alphanumeric() => plain.push(char),
            _ => plain.push('_'),
        }
    }
    plain
}

/// The name that serde gives to a field in camel case: `podCidrs` for `pod_cidrs`.
pub(super) fn camel(ident: &str) -> String {
    let mut camel = String::new();
    let mut is_first = true;
    for char in ident.chars() {
        if char == '_' {
            is_first = true;
        } else if is_first {
            camel.push(char.to_ascii_uppercase());
            is_first = false;
        } else {
            camel.push(char);
        }
    }
    camel[..1.min(camel.len())].to_ascii_lowercase() + camel.get(1..).unwrap_or_default()
}

/// The names that are in use.
#[derive(Debug, Default)]
pub(super) struct Unique(BTreeSet<String>);

impl Unique {
    pub fn new(taken: impl IntoIterator<Item = String>) -> Self {
        Self(taken.into_iter().collect())
    }

    /// Takes the first of `names` that is free, or the last one with a number.
    pub fn first(&mut self, names: impl IntoIterator<Item = String>) -> String {
        let mut last = String::new();
        for name in names {
            if self.0.insert(name.clone()) {
                return name;
            }
            last = name;
        }
        let last = last.trim_end_matches('_');
        let gap = if last.ends_with(|c: char| c.is_ascii_digit()) {
            "_"
        } else {
            ""
        };
        let numbered = (2..).map(|number| format!("{last}{gap}{number}"));
        let mut free = numbered.filter(|name| self.0.insert(name.clone()));
        free.next().unwrap_or_default()
    }
}
