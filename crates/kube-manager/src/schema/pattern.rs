//! Faults of patterns: those of the API server have no look-around and no backreferences.

use std::{iter::Peekable, str::Chars};

/// The most repetitions that a pattern can ask for.
const MOST_REPETITIONS: u32 = 1000;

/// The classes of characters that have a name.
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Whether `text` matches `pattern`. Returns nothing if only an API server can tell.
pub fn matches(pattern: &str, text: &str) -> Option<bool> {
    if text.is_empty() {
        return check(pattern).ok();
    }
    #[cfg(any(feature = "runtime", feature = "schema-testing"))]
    // The API server takes these as plain characters.
    if ![r"\<", r"\>"].iter().any(|edge| pattern.contains(edge)) {
        let pattern = regex_lite::Regex::new(pattern).ok()?;
        return Some(pattern.is_match(text));
    }
    None
}

/// What is wrong with a pattern. Returns whether it matches an empty text.
pub fn check(pattern: &str) -> Result<bool, String> {
    let mut rest = pattern.chars().peekable();
    let (mut can_repeat, mut is_repeated) = (false, false);
    // Whether an empty text matches an alternative before, this alternative before the last piece, and the last piece.
    let (mut one, mut this, mut last) = (false, true, true);
    // What is known of the groups around this one.
    let mut outer = Vec::new();
    while let Some(next) = rest.next() {
        let repetitions = match next {
            '*' | '?' => Some(0),
            '+' => Some(1),
            '{' => repetition(&mut rest)?,
            _ => None,
        };
        if let Some(least) = repetitions {
            if !can_repeat || is_repeated {
                return Err(format!("`{next}` has nothing to repeat"));
            }
            rest.next_if_eq(&'?');
            is_repeated = true;
            last |= least == 0;
            continue;
        }
        (can_repeat, is_repeated) = (true, false);
        this &= last;
        last = match next {
            '|' => {
                can_repeat = false;
                (one, this) = (one || this, true);
                true
            }
            '(' => {
                can_repeat = false;
                let is_flag = rest.next_if_eq(&'?').is_some() && group(&mut rest)?;
                if !is_flag {
                    outer.push((one, this));
                    (one, this) = (false, true);
                }
                true
            }
            ')' => {
                let is_optional = one || this;
                (one, this) = outer.pop().ok_or("`)` closes no group")?;
                is_optional
            }
            '[' => {
                class(&mut rest)?;
                false
            }
            '\\' if rest.peek() == Some(&'Q') => {
                // A literal text, until `\E`.
                let quoted: String = rest.clone().collect();
                let length = quoted.find(r"\E").map_or(quoted.len(), |end| end + 2);
                rest.nth(quoted[..length].chars().count() - 1);
                matches!(&quoted[..length], "Q" | r"Q\E")
            }
            '\\' => {
                let is_place = rest.peek().is_some_and(|letter| "ABzZ".contains(*letter));
                escape(&mut rest, "0AabBdDfnpPQrsStvwWxz")?;
                is_place
            }
            '^' | '$' => true,
            _ => false,
        };
    }
    if !outer.is_empty() {
        return Err("`(` is not closed".to_owned());
    }
    Ok(one || this && last)
}

/// Reads `{2,3}` behind the `{`, and returns the 2. Other text in braces is no repetition.
fn repetition(rest: &mut Peekable<Chars>) -> Result<Option<u32>, String> {
    let ahead: String = rest.clone().take_while(|next| *next != '}').collect();
    let is_closed = rest.clone().count() > ahead.chars().count();
    let (least, most) = ahead.split_once(',').unwrap_or((&ahead, &ahead));
    let mut digits = least.bytes().chain(most.bytes());
    let are_numbers = digits.all(|byte| byte.is_ascii_digit());
    if !is_closed || least.is_empty() || !are_numbers {
        return Ok(None);
    }
    let least: u32 = least.parse().unwrap_or(u32::MAX);
    let most = if most.is_empty() {
        least
    } else {
        most.parse().unwrap_or(u32::MAX)
    };
    if least > most || most > MOST_REPETITIONS {
        return Err(format!(
            "`{{{ahead}}}` must ask for at most {MOST_REPETITIONS} repetitions"
        ));
    }
    rest.nth(ahead.chars().count());
    Ok(Some(least))
}

/// Reads what follows `(?`. Returns whether the group ends there, as in `(?i)`.
fn group(rest: &mut Peekable<Chars>) -> Result<bool, String> {
    let ahead: String = rest
        .clone()
        .take_while(|next| !":)>".contains(*next))
        .collect();
    let length = ahead.chars().count();
    let end = rest.nth(length).unwrap_or_default();
    let name = ahead.strip_prefix("P<").or(ahead.strip_prefix('<'));
    let is_right = match name {
        Some(name) => {
            let mut letters = name.chars();
            let is_word = letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            end == '>' && is_word && !name.is_empty()
        }
        None => {
            let flags = ahead.strip_suffix('-').map_or(ahead.as_str(), |_| "-");
            let is_plain = flags.chars().all(|letter| "imsU-".contains(letter))
                && flags.matches('-').count() < 2;
            is_plain && flags != "-" && matches!(end, ':' | ')')
        }
    };
    if is_right {
        return Ok(end == ')');
    }
    Err(format!(
        "`(?{ahead}` is unknown: the API server has no look-around"
    ))
}

/// Reads `[a-z]` behind the `[`.
fn class(rest: &mut Peekable<Chars>) -> Result<(), String> {
    rest.next_if_eq(&'^');
    let mut is_first = true;
    while let Some(next) = rest.next() {
        match next {
            ']' if !is_first => return Ok(()),
            '\\' => escape(rest, "0adDfnpPrsStvwWx")?,
            '[' if rest.peek() == Some(&':') => {
                let ahead: String = rest.clone().take_while(|next| *next != ']').collect();
                let name = ahead[1..].strip_suffix(':');
                if let Some(name) = name {
                    if !CLASSES.contains(&name.trim_start_matches('^')) {
                        return Err(format!("`[:{name}:]` is unknown"));
                    }
                    rest.nth(ahead.chars().count());
                }
            }
            least => {
                let mut ahead = rest.clone();
                let is_range = ahead.next() == Some('-');
                match ahead.next().filter(|most| is_range && *most != ']') {
                    Some('\\') => {
                        rest.nth(1);
                        escape(rest, "0afnrtvx")?;
                    }
                    Some(most) if most < least => {
                        return Err(format!("the range `{least}-{most}` is empty"));
                    }
                    Some(_) => _ = rest.nth(1),
                    None => {}
                }
            }
        }
        is_first = false;
    }
    Err("`[` is not closed".to_owned())
}

/// Reads what follows a backslash: one of `letters`, or what is no letter.
fn escape(rest: &mut Peekable<Chars>, letters: &str) -> Result<(), String> {
    let Some(next) = rest.next() else {
        return Err("it ends in a backslash".to_owned());
    };
    let is_known = match next {
        '1'..='7' => rest.peek().is_some_and(|digit| ('0'..'8').contains(digit)),
        'x' => {
            let digits: String = rest.clone().take(2).collect();
            digits.starts_with('{') || digits.len() == 2 && u8::from_str_radix(&digits, 16).is_ok()
        }
        _ => next.is_ascii() && !next.is_ascii_alphanumeric() || letters.contains(next),
    };
    if is_known {
        return Ok(());
    }
    Err(format!(
        "`\\{next}` is unknown: the API server has no backreferences"
    ))
}
