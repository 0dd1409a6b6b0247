//! Faults of CEL rules that need no types: the syntax, the names of variables, and fields that the schema lacks. A
//! library for CEL would add 50 crates to each operator, and finds no more than the syntax.

use super::{
    cel,
    keys::{INT_OR_STRING, Object, fields, name_of_type, subschema},
};

/// Names that need no declaration: constants, types, and libraries of functions.
const KNOWN: [&str; 21] = [
    "base64",
    "bool",
    "bytes",
    "cidr",
    "double",
    "false",
    "format",
    "google",
    "int",
    "ip",
    "list",
    "map",
    "null",
    "null_type",
    "oldSelf",
    "optional",
    "self",
    "sets",
    "string",
    "true",
    "type",
];

/// The fields of each object that has metadata.
pub const OF_RESOURCES: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The word with which a rule compares a value with the one before an update.
const OLD_SELF: &str = "oldSelf";

/// Functions whose arguments declare variables.
const MACROS: [&str; 8] = [
    "all",
    "exists",
    "existsOne",
    "exists_one",
    "filter",
    "map",
    "transformList",
    "transformMap",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Name(&'a str),
    /// A number or a text.
    Value,
    /// A bracket, or a part of an operator.
    Sign(&'a str),
}

/// Whether the rule compares the value with the one before an update.
pub fn has_old_self(rule: &str) -> bool {
    tokens(rule).is_ok_and(|tokens| tokens.contains(&Token::Name(OLD_SELF)))
}

/// Whether the rule calls a function for each item of a list or map.
pub fn has_loop(rule: &str) -> bool {
    let tokens = tokens(rule).unwrap_or_default();
    let mut pairs = tokens.windows(2);
    pairs.any(|pair| matches!(pair, [Token::Name(name), Token::Sign("(")] if MACROS.contains(name)))
}

/// Whether a rule can read the values of `schema`: not those of an open place.
pub fn has_type(schema: &Object) -> bool {
    let inner = match name_of_type(schema) {
        "" => return schema.contains_key(INT_OR_STRING),
        "array" => "items",
        _ => "additionalProperties",
    };
    subschema(schema, inner).is_none_or(has_type)
}

/// What is wrong with a rule about the values of `schema`. A resource has the fields of all resources.
pub fn check(rule: &str, schema: &Object, is_resource: bool) -> Result<(), String> {
    let tokens = tokens(rule)?;
    check_order(&tokens)?;
    let mut variables: Vec<&str> = KNOWN.to_vec();
    for (index, token) in tokens.iter().enumerate() {
        let Token::Name(name) = *token else { continue };
        let next = tokens.get(index + 1);
        let before = index.checked_sub(1).map(|before| tokens[before]);
        if matches!(before, Some(Token::Sign("." | ".?"))) || name == "in" {
            continue;
        }
        if matches!(before, Some(Token::Sign("(" | ","))) && next == Some(&Token::Sign(",")) {
            variables.push(name);
        }
        let is_called = matches!(next, Some(Token::Sign("(" | "{")));
        let is_key_of_message = next == Some(&Token::Sign(":"));
        if !is_called && !is_key_of_message && !variables.contains(&name) {
            return Err(format!(
                "`{name}` is no variable: the value is `self`, and that before an update `oldSelf`"
            ));
        }
        if matches!(name, "self" | OLD_SELF) {
            follow(name, &tokens[index + 1..], schema, is_resource)?;
        }
    }
    Ok(())
}

/// Follows the fields that are named behind `self`.
fn follow(name: &str, tokens: &[Token], schema: &Object, is_resource: bool) -> Result<(), String> {
    let mut path = name.to_owned();
    let mut known = Some(schema);
    let mut rest = tokens;
    while let ([Token::Sign("." | ".?"), Token::Name(name), after @ ..], Some(schema)) =
        (rest, known)
    {
        if after.first() == Some(&Token::Sign("(")) {
            return Ok(());
        }
        if path == "self" && is_resource && OF_RESOURCES.contains(name) {
            return Ok(());
        }
        let is_open = name_of_type(schema).is_empty();
        let mut all = fields(schema).into_iter().flatten();
        let field = all.find(|(key, _)| cel::field(key).as_deref() == Some(*name));
        let field = field.and_then(|(_, value)| value.as_object());
        let others = subschema(schema, "additionalProperties");
        known = field.or(others).filter(|field| has_type(field));
        if known.is_none() && !is_open {
            return Err(format!(
                "`{path}` has no field `{name}` that a rule can read"
            ));
        }
        path = format!("{path}.{name}");
        rest = after;
    }
    Ok(())
}

/// Checks that values and operators take turns, and that brackets are closed.
fn check_order(tokens: &[Token]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut needs_value = true;
    let mut choices = 0;
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| tokens[before]);
        let is_right = match *token {
            Token::Name("in") => !std::mem::replace(&mut needs_value, true),
            Token::Name(_) | Token::Value => std::mem::replace(&mut needs_value, false),
            Token::Sign(sign) => match sign {
                "!" => needs_value,
                "-" => {
                    needs_value = true;
                    true
                }
                "(" | "[" | "{" => {
                    open.push(if needs_value || sign == "[" {
                        sign
                    } else {
                        "call"
                    });
                    let is_of_name = matches!(before, Some(Token::Name(_)));
                    let is_right = needs_value || is_of_name || sign == "[";
                    needs_value = true;
                    is_right
                }
                ")" | "]" | "}" => {
                    let opened = open.pop();
                    let is_pair = match opened {
                        Some("(") => sign == ")",
                        Some("[") => sign == "]",
                        Some("{") => sign == "}",
                        Some(_) => sign != "]",
                        None => false,
                    };
                    let is_empty = matches!(before, Some(Token::Sign("(" | "[" | "{")));
                    let is_right = !needs_value
                        || is_empty && opened != Some("(")
                        || before == Some(Token::Sign(",")) && sign != ")";
                    needs_value = false;
                    is_pair && is_right
                }
                "." | ".?" => {
                    let is_name = matches!(tokens.get(index + 1), Some(Token::Name(_)));
                    is_name && !std::mem::replace(&mut needs_value, true)
                }
                "?" if needs_value => matches!(before, Some(Token::Sign("[" | "{" | ","))),
                "," => !open.is_empty() && !std::mem::replace(&mut needs_value, true),
                ":" => {
                    let is_in_map = matches!(open.last(), Some(&("{" | "call")));
                    choices -= i32::from(!is_in_map || choices > 0);
                    choices >= 0 && !std::mem::replace(&mut needs_value, true)
                }
                _ => {
                    choices += i32::from(sign == "?");
                    !std::mem::replace(&mut needs_value, true)
                }
            },
        };
        if !is_right {
            let text = match token {
                Token::Name(text) | Token::Sign(text) => text,
                Token::Value => "a value",
            };
            return Err(format!("`{text}` is not expected there"));
        }
    }
    if needs_value || !open.is_empty() || choices > 0 {
        return Err("it is not complete".to_owned());
    }
    Ok(())
}

/// The operators and brackets, long ones first.
const SIGNS: [&str; 27] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":",
    ".", ",", "(", ")", "[", "]", "{", "}", "`", "//",
];

fn tokens(rule: &str) -> Result<Vec<Token<'_>>, String> {
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
            tokens.push(Token::Value);
            rest = &rest[end + 2..];
        } else if after.starts_with(['"', '\'']) && (word.is_empty() || is_prefix) {
            rest = behind_text(after, word.contains(['r', 'R']))?;
            tokens.push(Token::Value);
        } else if first.is_ascii_digit() {
            let end = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '.');
            rest = &rest[end.unwrap_or(rest.len())..];
            tokens.push(Token::Value);
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
