//! Faults of patterns: those of the API server have no look-around and no backreferences.

use std::{
    iter::{self, Peekable},
    str::Chars,
};

/// The most repetitions that a pattern can ask for.
const MOST_REPETITIONS: u32 = 1000;

/// The classes of characters that have a name.
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// The names of categories behind `\p`.
const CATEGORIES: [&str; 37] = [
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N",
    "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So",
    "Z", "Zl", "Zp", "Zs", "Any",
];

/// The names of scripts behind `\p` that each API server knows. Only those built with Go 1.24 or older know names with
/// an underscore, and only later ones know aliases such as `Letter`.
#[rustfmt::skip] // Words in rows.
const SCRIPTS: [&str; 117] = [
    "Adlam", "Ahom", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Batak", "Bengali",
    "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid", "Carian", "Chakma", "Cham",
    "Cherokee", "Chorasmian", "Common", "Coptic", "Cuneiform", "Cypriot", "Cyrillic", "Deseret",
    "Devanagari", "Dogra", "Duployan", "Elbasan", "Elymaic", "Ethiopic", "Georgian", "Glagolitic",
    "Gothic", "Grantha", "Greek", "Gujarati", "Gurmukhi", "Han", "Hangul", "Hanunoo", "Hatran",
    "Hebrew", "Hiragana", "Inherited", "Javanese", "Kaithi", "Kannada", "Katakana", "Kawi",
    "Kharoshthi", "Khmer", "Khojki", "Khudawadi", "Lao", "Latin", "Lepcha", "Limbu", "Lisu",
    "Lycian", "Lydian", "Mahajani", "Makasar", "Malayalam", "Mandaic", "Manichaean", "Marchen",
    "Medefaidrin", "Miao", "Modi", "Mongolian", "Mro", "Multani", "Myanmar", "Nabataean",
    "Nandinagari", "Newa", "Nko", "Nushu", "Ogham", "Oriya", "Osage", "Osmanya", "Palmyrene",
    "Phoenician", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham",
    "Sinhala", "Sogdian", "Soyombo", "Sundanese", "Syriac", "Tagalog", "Tagbanwa", "Takri", "Tamil",
    "Tangsa", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Toto",
    "Ugaritic", "Vai", "Vithkuqi", "Wancho", "Yezidi", "Yi",
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
    // The largest product of nested repetitions: before the last piece of this group, and in the last piece.
    let (mut most, mut last_most) = (1, 1);
    // What is known of the groups around this one.
    let mut outer = Vec::new();
    while let Some(next) = rest.next() {
        let repetitions = match next {
            '*' | '?' => Some((0, last_most)),
            '+' => Some((1, last_most)),
            '{' => repetition(&mut rest, last_most)?,
            _ => None,
        };
        if let Some((least, product)) = repetitions {
            if !can_repeat || is_repeated {
                return Err(format!("`{next}` has nothing to repeat"));
            }
            rest.next_if_eq(&'?');
            is_repeated = true;
            last |= least == 0;
            last_most = product;
            continue;
        }
        (can_repeat, is_repeated) = (true, false);
        this &= last;
        most = last_most.max(most);
        last_most = 1;
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
                    outer.push((one, this, most));
                    (one, this, most) = (false, true, 1);
                }
                true
            }
            ')' => {
                let is_optional = one || this;
                last_most = most;
                (one, this, most) = outer.pop().ok_or("`)` closes no group")?;
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

/// Reads `{2,3}` behind the `{`, for a piece with `inner` nested repetitions. Returns the 2, and the number of all nested
/// repetitions. Other text in braces is no repetition.
fn repetition(rest: &mut Peekable<Chars>, inner: u32) -> Result<Option<(u32, u32)>, String> {
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
        least.max(1)
    } else {
        most.parse().unwrap_or(u32::MAX)
    };
    let product = inner.saturating_mul(most);
    if least > most || product > MOST_REPETITIONS {
        return Err(format!(
            "`{{{ahead}}}` must ask for at most {MOST_REPETITIONS} repetitions, multiplied by those inside"
        ));
    }
    rest.nth(ahead.chars().count());
    Ok(Some((least, product)))
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
        let least = match next {
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
                None
            }
            _ => Some(u32::from(next)),
        };
        is_first = false;
        let mut ahead = rest.clone();
        let is_range = least.is_some() && ahead.next() == Some('-');
        if is_range && ahead.next().is_some_and(|most| most != ']') {
            rest.next();
            let most = match rest.next() {
                Some('\\') => escape(rest, "0afnrtvx")?,
                most => most.map(u32::from),
            };
            if most < least {
                return Err("a range such as `z-a` is empty".to_owned());
            }
        }
    }
    Err("`[` is not closed".to_owned())
}

/// Reads what follows a backslash: one of `letters`, or what is no letter. Returns the code of the character that it
/// stands for; none for a place or for several characters.
fn escape(rest: &mut Peekable<Chars>, letters: &str) -> Result<Option<u32>, String> {
    let Some(next) = rest.next() else {
        return Err("it ends in a backslash".to_owned());
    };
    let is_octal = next == '0' || rest.peek().is_some_and(|digit| digit.is_digit(8));
    match next {
        '0'..='7' if is_octal => {
            let digits = (0..2).map_while(|_| rest.next_if(|digit| digit.is_digit(8)));
            let digits: String = iter::once(next).chain(digits).collect();
            Ok(u32::from_str_radix(&digits, 8).ok())
        }
        'x' => match hexadecimal(rest) {
            Some(code) => Ok(Some(code)),
            None => Err(r"`\x` needs two digits, or a code up to `{10FFFF}`".to_owned()),
        },
        'p' | 'P' if letters.contains(next) => property(rest).map(|()| None),
        _ if next.is_ascii() && !next.is_ascii_alphanumeric() => Ok(Some(u32::from(next))),
        _ if letters.contains(next) => {
            // The characters from 7 on.
            let mut codes = (7..).zip("abtnvfr".chars());
            let code = codes.find(|(_, letter)| *letter == next);
            Ok(code.map(|(code, _)| code))
        }
        _ => Err(format!(
            "`\\{next}` is unknown: the API server has no backreferences"
        )),
    }
}

/// Reads what follows `\x`: the code of a character.
fn hexadecimal(rest: &mut Peekable<Chars>) -> Option<u32> {
    let digits = match braced(rest) {
        Some(digits) => digits,
        None => Some(rest.take(2).collect()).filter(|two: &String| two.len() == 2)?,
    };
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let code = u32::from_str_radix(&digits, 16).ok();
    code.filter(|code| is_number && *code <= u32::from(char::MAX))
}

/// Reads what follows `\p`: the name of a category or a script.
fn property(rest: &mut Peekable<Chars>) -> Result<(), String> {
    let text = braced(rest).unwrap_or_else(|| rest.next().into_iter().collect());
    let name = text.strip_prefix('^').unwrap_or(&text);
    if CATEGORIES.contains(&name) || SCRIPTS.contains(&name) {
        return Ok(());
    }
    Err(format!(
        r"`\p{{{name}}}` is unknown: an API server knows categories and scripts such as `\p{{Lu}}` and `\p{{Greek}}`"
    ))
}

/// Reads a text in braces, if one follows.
fn braced(rest: &mut Peekable<Chars>) -> Option<String> {
    rest.next_if_eq(&'{')?;
    let text: String = rest.clone().take_while(|next| *next != '}').collect();
    rest.nth(text.chars().count())?;
    Some(text)
}
