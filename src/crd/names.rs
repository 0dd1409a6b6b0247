//! Turns the names of a schema into Rust names.

use std::collections::BTreeSet;

use heck::{ToSnakeCase, ToUpperCamelCase};

use crate::names::is_keyword;

/// The name of a field: `pod_cidrs` for `podCIDRs`.
pub(super) fn field(name: &str) -> String {
    let snake = plain(name).to_snake_case();
    match snake.as_str() {
        "" => "field".to_owned(),
        _ if begins_with_digit(&snake) => format!("_{snake}"),
        _ if is_keyword(&snake) => format!("{snake}_"),
        _ => snake,
    }
}

/// A part of the name of a type, or a variant: `PodCidrs` for `podCIDRs`.
pub(super) fn part(name: &str) -> String {
    plain(name).to_upper_camel_case()
}

/// The name of a variant of an enum: `V12` for `1.2`, `Any` for `*`.
pub(super) fn variant(value: &str) -> String {
    let mut name = part(value);
    if name.is_empty() {
        let words: String = value.chars().map(sign).collect();
        name = part(&words);
    }
    match name.as_str() {
        "" if value.is_empty() => "Empty".to_owned(),
        "" => "Other".to_owned(),
        "Self" => "Self_".to_owned(),
        _ if begins_with_digit(&name) => format!("V{name}"),
        _ => name,
    }
}

/// The name of a sign, between spaces.
fn sign(char: char) -> &'static str {
    match char {
        '*' => " any ",
        '=' => " equal ",
        '!' => " not ",
        '<' => " less ",
        '>' => " greater ",
        '+' => " plus ",
        '%' => " percent ",
        _ => " ",
    }
}

fn begins_with_digit(name: &str) -> bool {
    name.starts_with(|char: char| char.is_ascii_digit())
}

/// The singular of a plural: `Listener` for `Listeners`.
pub(super) fn singular(part: &str) -> String {
    let is_singular = ["ss", "us", "is"].iter().any(|end| part.ends_with(end));
    if part.len() < 4 || is_singular {
        return part.to_owned();
    }
    if let Some(stem) = part.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let has_es = ["sses", "ches", "shes", "xes"]
        .iter()
        .any(|end| part.ends_with(end));
    let stem = part.strip_suffix(if has_es { "es" } else { "s" });
    stem.unwrap_or(part).to_owned()
}

/// Replaces characters that are not valid in an identifier, and makes a plural acronym such as
/// `CIDRs` one word.
fn plain(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut plain = String::new();
    for (at, char) in chars.iter().enumerate() {
        // `CIDRs` and `IPs`
        let is_acronym = at > 1 && chars[at - 2..at].iter().all(char::is_ascii_uppercase);
        let is_end = (chars.get(at + 1))
            .is_none_or(|next| !next.is_ascii_alphanumeric() || next.is_ascii_uppercase());
        match char {
            's' if is_acronym && is_end => plain.push('S'),
            char if char.is_ascii_alphanumeric() => plain.push(*char),
            _ => plain.push('_'),
        }
    }
    plain
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
        let mut stem = last.trim_end_matches('_').to_owned();
        if stem.ends_with(|char: char| char.is_ascii_digit()) {
            stem.push('_');
        }
        let mut number = 2;
        while !self.0.insert(format!("{stem}{number}")) {
            number += 1;
        }
        format!("{stem}{number}")
    }
}
