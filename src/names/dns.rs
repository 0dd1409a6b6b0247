//! The shapes of names that Kubernetes takes from DNS.

use anyhow::{Result, ensure};

use super::{allow_only, limit, read_or};

/// The characters of a DNS name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One label that begins with a letter (DNS-1035).
    Label,
    /// One label that may begin with a digit (DNS-1123).
    LabelOrNumber,
    /// Labels with dots between them, which may begin with a digit (DNS-1123).
    Subdomain,
}

/// The rules for a type of DNS name, and the words for it in errors.
pub(super) struct Shape {
    /// The type of the name with an article, such as `a group`.
    pub what: &'static str,
    pub example: &'static str,
    /// The maximal number of characters.
    pub max: usize,
    pub form: Form,
    /// Whether it may be empty.
    pub optional: bool,
}

impl Shape {
    /// Checks a name; the error suggests a valid name.
    pub fn check(&self, text: &str) -> Result<()> {
        let words = (self.what, self.example);
        let near = self.near(text);
        let near = if near.is_empty() { text } else { &near };
        read_or(text, words, near, |text| self.reason(text))
    }

    /// Checks a name. The error has only the reason.
    pub fn reason(&self, text: &str) -> Result<()> {
        if text.is_empty() && self.optional {
            return Ok(());
        }
        ensure!(!text.is_empty(), "it must not be empty");
        let has_dots = self.form == Form::Subdomain;
        let ok = |c: char| {
            c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || (has_dots && c == '.')
        };
        let dot = if has_dots { ", `.`" } else { "" };
        let hint = format!(", only lower-case letters, digits{dot} and `-`");
        allow_only(text, ok, &hint)?;
        limit(text, self.max)?;
        text.split('.')
            .try_for_each(|label| self.check_label(label))
    }

    fn check_label(&self, label: &str) -> Result<()> {
        let (each, first) = match self.form {
            Form::Label => ("it", "a letter"),
            Form::LabelOrNumber => ("it", "a letter or digit"),
            Form::Subdomain => ("each part between dots", "a letter or digit"),
        };
        let may_be_digit = self.form != Form::Label;
        ensure!(
            !label.is_empty(),
            "there must be something before and after each dot"
        );
        ensure!(
            label.starts_with(|c: char| c.is_ascii_lowercase() || (may_be_digit && c != '-')),
            "{each} must begin with {first}"
        );
        ensure!(
            !label.ends_with('-'),
            "{each} must end with a letter or digit"
        );
        Ok(())
    }

    /// The valid name that is closest to this one.
    fn near(&self, text: &str) -> String {
        text.trim_matches(|c: char| !c.is_ascii_alphanumeric())
            .chars()
            .map(|c| match c {
                '_' | ' ' => '-',
                '.' if self.form != Form::Subdomain => '-',
                c => c.to_ascii_lowercase(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Shape = Shape {
        what: "a label",
        example: "web",
        max: 63,
        form: Form::Label,
        optional: false,
    };
    const SUBDOMAIN: Shape = Shape {
        what: "a subdomain",
        example: "web.com",
        max: 253,
        form: Form::Subdomain,
        optional: false,
    };
    const OPTIONAL: Shape = Shape {
        optional: true,
        ..SUBDOMAIN
    };

    fn error(shape: &Shape, text: &str) -> String {
        shape.check(text).unwrap_err().to_string()
    }

    #[test]
    fn good_names() {
        for name in ["a", "web", "a1", "a-b", "a--b", &"a".repeat(63)] {
            assert!(LABEL.check(name).is_ok(), "{name}");
        }
        for name in ["a", "3scale", "a.b-c.0", &"a".repeat(253)] {
            assert!(SUBDOMAIN.check(name).is_ok(), "{name}");
        }
        assert!(OPTIONAL.check("").is_ok());
        // An empty name is valid here, but it is no suggestion for a bad name.
        assert_eq!(
            error(&OPTIONAL, " "),
            "` ` is not a subdomain: a space is not allowed, only lower-case letters, digits, `.` and `-`, \
             as in `web.com`"
        );
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
    fn errors_for_long_names_have_the_limit() {
        let reason = "it has 64 characters, at most 63 are allowed, as in `web`";
        assert!(error(&LABEL, &"a".repeat(64)).ends_with(reason));
        let reason = "it has 254 characters, at most 253 are allowed, as in `web.com`";
        assert!(error(&SUBDOMAIN, &"a".repeat(254)).ends_with(reason));
    }
}
