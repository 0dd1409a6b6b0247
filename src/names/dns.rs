//! The shapes of names that Kubernetes takes from DNS.

use anyhow::{Result, ensure};

use super::check::{allow_only, limit};

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

impl Form {
    /// Checks a name of at most `max` characters. The error is the reason.
    pub fn check(self, text: &str, max: usize) -> Result<()> {
        ensure!(!text.is_empty(), "it must not be empty");
        let has_dots = self == Form::Subdomain;
        let dot = if has_dots { ", `.`" } else { "" };
        let hint = format!(", only lower-case letters, digits{dot} and `-`");
        allow_only(
            text,
            |c| matches!(c, 'a'..='z' | '0'..='9' | '-') || has_dots && c == '.',
            &hint,
        )?;
        limit(text, max)?;
        text.split('.')
            .try_for_each(|label| self.check_label(label))
    }

    fn check_label(self, label: &str) -> Result<()> {
        let (each, first) = match self {
            Form::Label => ("it", "a letter"),
            Form::LabelOrNumber => ("it", "a letter or digit"),
            Form::Subdomain => ("each part between dots", "a letter or digit"),
        };
        let may_be_digit = self != Form::Label;
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
    pub fn near(self, text: &str) -> String {
        text.trim_matches(|c: char| !c.is_ascii_alphanumeric())
            .chars()
            .map(|c| match c {
                '_' | ' ' => '-',
                '.' if self != Form::Subdomain => '-',
                c => c.to_ascii_lowercase(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;
    use crate::names::check::names;

    names! {
        /// A label.
        Label: "a label", "web", |text| Form::Label.near(text), |text| Form::Label.check(text, 63);

        /// A name with dots.
        Subdomain: "a subdomain", "web.com", |text| Form::Subdomain.near(text), check_subdomain;

        /// The same, if there is one.
        Optional: "a subdomain", "web.com", |text| Form::Subdomain.near(text), |text| match text {
            "" => Ok(()),
            text => check_subdomain(text),
        };
    }

    fn check_subdomain(text: &str) -> Result<()> {
        Form::Subdomain.check(text, 253)
    }

    fn error<T: FromStr<Err = anyhow::Error>>(text: &str) -> String {
        let error = text.parse::<T>().err().unwrap();
        error.to_string()
    }

    #[test]
    fn good_names() {
        for name in ["a", "web", "a1", "a-b", "a--b", &"a".repeat(63)] {
            assert!(name.parse::<Label>().is_ok(), "{name}");
        }
        for name in ["a", "3scale", "a.b-c.0", &"a".repeat(253)] {
            assert!(name.parse::<Subdomain>().is_ok(), "{name}");
        }
        assert!("".parse::<Optional>().is_ok());
        // An empty name is valid here, but it is no suggestion for a bad name.
        assert_eq!(
            error::<Optional>(" "),
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
                 and `-`, as in `web-app`",
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
                "`-web` is not a label: it must begin with a letter, as in `web`",
            ),
            (
                "web.app",
                "`web.app` is not a label: `.` is not allowed, only lower-case letters, digits and \
                 `-`, as in `web-app`",
            ),
            (
                "web-",
                "`web-` is not a label: it must end with a letter or digit, as in `web`",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(error::<Label>(name), expected);
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
                 digits, `.` and `-`, as in `a-b`",
            ),
            (
                "a\u{a0}b",
                "`a\u{a0}b` is not a subdomain: `\\u{a0}` is not allowed, only lower-case \
                 letters, digits, `.` and `-`, as in `web.com`",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(error::<Subdomain>(name), expected);
        }
    }

    #[test]
    fn errors_for_long_names_have_the_limit() {
        let reason = "it has 64 characters, at most 63 are allowed, as in `web`";
        assert!(error::<Label>(&"a".repeat(64)).ends_with(reason));
        let reason = "it has 254 characters, at most 253 are allowed, as in `web.com`";
        assert!(error::<Subdomain>(&"a".repeat(254)).ends_with(reason));
    }
}
