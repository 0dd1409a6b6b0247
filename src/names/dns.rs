//! The shapes of names that Kubernetes takes from DNS.

use super::{Error, Instead, too_long};

/// The rules for one sort of DNS name, and the words for it in errors.
pub(super) struct Shape {
    /// With its article, such as `a group`.
    pub what: &'static str,
    pub example: &'static str,
    /// The most characters that it may have.
    pub max: usize,
    /// Whether dots may separate labels (a subdomain).
    pub dots: bool,
    /// Whether a label may begin with a digit: in DNS-1123 it may, in DNS-1035 it may not.
    pub digit_first: bool,
}

impl Shape {
    /// Checks a name; the error also has a valid one.
    pub fn check(&self, text: &str) -> Result<(), Error> {
        let Err(reason) = self.reason(text) else {
            return Ok(());
        };
        let instead = match self.near(text) {
            Some(name) => Instead::Meant(name),
            None => Instead::Like(self.example),
        };
        Err(Error::new(text, self.what, &reason, &instead))
    }

    /// Tells what is wrong with a name.
    pub fn reason(&self, text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Err("it must not be empty".to_owned());
        }
        let ok = |c: char| {
            c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || (self.dots && c == '.')
        };
        if let Some(bad) = text.chars().find(|c| !ok(*c)) {
            let dot = if self.dots { ", `.`" } else { "" };
            return Err(format!(
                "{} is not allowed, only lower-case letters, digits{dot} and `-`",
                quoted(bad)
            ));
        }
        if let Some(reason) = too_long(text.len(), self.max) {
            return Err(reason);
        }
        text.split('.')
            .try_for_each(|label| self.label_reason(label))
    }

    fn label_reason(&self, label: &str) -> Result<(), String> {
        let each = ["it", "each part between dots"][usize::from(self.dots)];
        let first = label.chars().next();
        if first.is_none() {
            Err("there must be something before and after each dot".to_owned())
        } else if !self.digit_first && first.is_some_and(|c| !c.is_ascii_lowercase()) {
            Err(format!("{each} must begin with a letter"))
        } else if first == Some('-') {
            Err(format!("{each} must begin with a letter or digit"))
        } else if label.ends_with('-') {
            Err(format!("{each} must end with a letter or digit"))
        } else {
            Ok(())
        }
    }

    /// The name in a valid spelling, if a change of spelling is enough.
    fn near(&self, text: &str) -> Option<String> {
        let name: String = text
            .trim_matches(|c: char| !c.is_ascii_alphanumeric())
            .chars()
            .map(|c| match c {
                '_' | ' ' => '-',
                '.' if !self.dots => '-',
                c => c.to_ascii_lowercase(),
            })
            .collect();
        self.reason(&name).is_ok().then_some(name)
    }
}

/// A character as an error shows it: white space and the like by name or number.
pub(super) fn quoted(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        '`' => "a backtick".to_owned(),
        c if c.is_control() || c.is_whitespace() => format!("`{}`", c.escape_unicode()),
        c => format!("`{c}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Shape = Shape {
        what: "a label",
        example: "web",
        max: 63,
        dots: false,
        digit_first: false,
    };
    const SUBDOMAIN: Shape = Shape {
        what: "a subdomain",
        example: "web.com",
        max: 253,
        dots: true,
        digit_first: true,
    };

    fn error(shape: &Shape, text: &str) -> String {
        shape.check(text).unwrap_err().to_string()
    }

    #[test]
    fn good_names() {
        for name in ["a", "web", "a1", "a-b", "a--b", &"a".repeat(63)] {
            assert_eq!(LABEL.check(name), Ok(()), "{name}");
        }
        for name in ["a", "3scale", "a.b-c.0", &"a".repeat(253)] {
            assert_eq!(SUBDOMAIN.check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn each_reason_has_its_own_text() {
        let cases = [
            ("", "`` is not a label: it must not be empty, as in `web`"),
            (
                "Web_App",
                "`Web_App` is not a label: `W` is not allowed, only lower-case letters, digits \
                 and `-`; did you mean `web-app`?",
            ),
            (
                "we/b",
                "`we/b` is not a label: `/` is not allowed, only lower-case letters, digits and \
                 `-`, as in `web`",
            ),
            (
                "1web",
                "`1web` is not a label: it must begin with a letter, as in `web`",
            ),
            (
                "-web",
                "`-web` is not a label: it must begin with a letter; did you mean `web`?",
            ),
            (
                "web.app",
                "`web.app` is not a label: `.` is not allowed, only lower-case letters, digits and \
                 `-`; did you mean `web-app`?",
            ),
            (
                "web-",
                "`web-` is not a label: it must end with a letter or digit; did you mean `web`?",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(error(&LABEL, name), expected);
        }
        let cases = [
            (
                "a..b",
                "`a..b` is not a subdomain: there must be something before and after each dot, as \
                 in `web.com`",
            ),
            (
                "a.-b",
                "`a.-b` is not a subdomain: each part between dots must begin with a letter or \
                 digit, as in `web.com`",
            ),
            (
                "a b",
                "`a b` is not a subdomain: a space is not allowed, only lower-case letters, \
                 digits, `.` and `-`; did you mean `a-b`?",
            ),
            (
                "a\u{a0}b",
                "`a\u{a0}b` is not a subdomain: `\\u{a0}` is not allowed, only lower-case \
                 letters, digits, `.` and `-`, as in `web.com`",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(error(&SUBDOMAIN, name), expected);
        }
    }

    #[test]
    fn too_long_names_are_told_the_limit() {
        let reason = "it has 64 characters, at most 63 are allowed, as in `web`";
        assert!(error(&LABEL, &"a".repeat(64)).ends_with(reason));
        let reason = "it has 254 characters, at most 253 are allowed, as in `web.com`";
        assert!(error(&SUBDOMAIN, &"a".repeat(254)).ends_with(reason));
    }
}
