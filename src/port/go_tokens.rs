//! The tokens of Go, and its brackets.

/// A token of Go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Sign(char),
}

impl Token {
    pub fn is_name(&self, name: &str) -> bool {
        matches!(self, Self::Name(text) if text == name)
    }
}

/// The tokens of a file, without comments, each with its line.
pub(super) fn tokens(text: &str) -> (Vec<Token>, Vec<u32>) {
    let (mut tokens, mut lines, mut line) = (Vec::new(), Vec::new(), 1_u32);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut taken = first.len_utf8();
        if rest.starts_with("//") {
            taken = rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            taken = rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if matches!(first, '"' | '`' | '\'') {
            let (text, length) = literal(rest, first);
            if first != '\'' {
                tokens.push(Token::Text(text));
            }
            taken = length;
        } else if is_word(first) {
            taken = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..taken].to_owned()));
        } else if !first.is_whitespace() {
            tokens.push(Token::Sign(first));
        }
        lines.resize(tokens.len(), line);
        let ends = rest.as_bytes()[..taken]
            .iter()
            .filter(|byte| **byte == b'\n');
        line = line.saturating_add(u32::try_from(ends.count()).unwrap_or(u32::MAX));
        rest = &rest[taken..];
    }
    (tokens, lines)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text of the literal that `rest` begins with, and its length with quotes. Only a raw literal has several lines.
fn literal(rest: &str, quote: char) -> (String, usize) {
    let is_raw = quote == '`';
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return (text, at + 1),
            '\n' if !is_raw => return (text, at),
            '\\' if !is_raw => text.extend(chars.next().map(|(_, c)| c)),
            c => text.push(c),
        }
    }
    (text, rest.len())
}

/// For each bracket, the index of its other end. For every other token, and without another end, the number of tokens.
pub(super) fn ends(tokens: &[Token]) -> Vec<usize> {
    let mut ends = vec![tokens.len(); tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => open.push(at),
            Token::Sign(')' | ']' | '}') => {
                if let Some(opening) = open.pop() {
                    (ends[opening], ends[at]) = (at, opening);
                }
            }
            _ => {}
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_distinguished() {
        let (words, lines) = tokens("a // b \"c\n/* d */ \"e//f\\\"\" `g\"` '\\'' h");
        let expected = [
            Token::Name("a".to_owned()),
            Token::Text("e//f\"".to_owned()),
            Token::Text("g\"".to_owned()),
            Token::Name("h".to_owned()),
        ];
        assert_eq!(words, expected);
        assert_eq!(lines, [1, 2, 2, 2]);
    }
}
