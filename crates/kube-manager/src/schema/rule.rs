//! The tokens of CEL rules.

use std::fmt;

use super::cel_type::Type;

/// The word with which a rule compares a value with the one before an update.
pub const OLD_SELF: &str = "oldSelf";

/// Functions that declare variables for the items of a list or map.
pub const LOOPS: [&str; 10] = [
    "all",
    "exists",
    "existsOne",
    "exists_one",
    "filter",
    "map",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// A part of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    /// A name, or the operator `in`.
    Name(&'a str),
    /// A number or a text.
    Value(Type<'static>),
    /// A bracket, or a part of an operator.
    Sign(&'a str),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Sign(text) => f.write_str(text),
            Self::Value(_) => f.write_str("…"),
        }
    }
}

/// Whether the rule compares the value with the one before an update.
pub fn has_old_self(rule: &str) -> bool {
    tokens(rule).is_ok_and(|tokens| tokens.contains(&Token::Name(OLD_SELF)))
}

/// Whether the rule calls a function for each item of a list or map.
pub fn has_loop(rule: &str) -> bool {
    let tokens = tokens(rule).unwrap_or_default();
    let mut pairs = tokens.windows(2);
    pairs.any(|pair| matches!(pair, [Token::Name(name), Token::Sign("(")] if LOOPS.contains(name)))
}

/// The operators and brackets, long ones first.
const SIGNS: [&str; 27] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":",
    ".", ",", "(", ")", "[", "]", "{", "}", "`", "//",
];

/// The tokens of a rule.
pub fn tokens(rule: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = rule.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_');
        let (word, after) = rest.split_at(length.unwrap_or(rest.len()));
        let is_prefix = matches!(
            word,
            "r" | "R" | "b" | "B" | "br" | "bR" | "Br" | "BR" | "rb"
        );
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').unwrap_or_default().1;
        } else if first == '`' {
            let end = rest[1..].find('`').ok_or("a name has no end")?;
            tokens.push(Token::Value(Type::Any));
            rest = &rest[end + 2..];
        } else if after.starts_with(['"', '\'']) && (word.is_empty() || is_prefix) {
            rest = behind_text(after, word.contains(['r', 'R']))?;
            let is_bytes = word.contains(['b', 'B']);
            tokens.push(Token::Value(if is_bytes {
                Type::Bytes
            } else {
                Type::Text
            }));
        } else if first.is_ascii_digit() || is_fraction(rest) {
            let (number, after) = split_number(rest);
            tokens.push(Token::Value(type_of_number(number)));
            rest = after;
        } else if !word.is_empty() {
            tokens.push(Token::Name(word));
            rest = after;
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(*sign));
            let sign = sign.ok_or_else(|| format!("`{first}` is not expected there"))?;
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

/// Whether `rest` begins with a number such as `.5`.
fn is_fraction(rest: &str) -> bool {
    let digits = rest.strip_prefix('.');
    digits.is_some_and(|digits| digits.starts_with(|next: char| next.is_ascii_digit()))
}

/// The number that `rest` begins with, and what follows it.
fn split_number(rest: &str) -> (&str, &str) {
    let mut end = end_of_digits(rest);
    let has_exponent = rest[..end].ends_with(['e', 'E']) && !rest.starts_with("0x");
    if has_exponent && rest[end..].starts_with(['+', '-']) {
        end += 1 + end_of_digits(&rest[end + 1..]);
    }
    rest.split_at(end)
}

/// The end of the digits, letters and dots that `text` begins with.
fn end_of_digits(text: &str) -> usize {
    let end = text.find(|next: char| !next.is_ascii_alphanumeric() && next != '.');
    end.unwrap_or(text.len())
}

fn type_of_number(number: &str) -> Type<'static> {
    let is_hexadecimal = number.starts_with("0x");
    if number.ends_with(['u', 'U']) {
        Type::Uint
    } else if !is_hexadecimal && number.contains(['.', 'e', 'E']) {
        Type::Double
    } else {
        Type::Int
    }
}

/// What follows the text that `rest` begins with.
fn behind_text(rest: &str, is_raw: bool) -> Result<&str, String> {
    let quote = &rest[..1];
    let long = quote.repeat(3);
    let end = if rest.starts_with(&long) {
        long.as_str()
    } else {
        quote
    };
    let mut inner = &rest[end.len()..];
    while let Some(next) = inner.chars().next() {
        if let Some(after) = inner.strip_prefix(end) {
            return Ok(after);
        }
        if next == '\n' && end == quote {
            break;
        }
        inner = &inner[next.len_utf8()..];
        if next == '\\' && !is_raw {
            let escaped = inner.chars().next().unwrap_or_default();
            if !"abfnrtvxXuU01234567\\'\"`?".contains(escaped) {
                return Err(format!(
                    "`\\{escaped}` is no escape in a text: write `\\\\{escaped}`"
                ));
            }
            inner = &inner[escaped.len_utf8()..];
        }
    }
    Err("a text has no end".to_owned())
}
