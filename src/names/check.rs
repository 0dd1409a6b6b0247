//! Checks that all names share, and the traits of their types.

use anyhow::{Result, anyhow, bail, ensure};

/// Parses a name with `read`, whose error has only the reason. The error of this function also says
/// `what` the text should be, and gives a valid name: `near` if `near` is valid, else `example`.
pub(super) fn read_or<'a, T>(
    text: &'a str,
    (what, example): (&str, &str),
    near: &'a str,
    read: impl Fn(&'a str) -> Result<T>,
) -> Result<T> {
    read(text).map_err(|reason| {
        let is_valid = !near.is_empty() && read(near).is_ok();
        let example = if is_valid { near } else { example };
        anyhow!("`{text}` is not {what}: {reason}, as in `{example}`")
    })
}

/// Refuses a name with a character that is not `allowed`. The error has the first such character.
pub(super) fn allow_only(text: &str, allowed: impl Fn(char) -> bool, hint: &str) -> Result<()> {
    match text.chars().find(|c| !allowed(*c)) {
        Some(bad) => bail!("{} is not allowed{hint}", quoted(bad)),
        None => Ok(()),
    }
}

/// Refuses a name of more than `max` characters.
pub(super) fn limit(text: &str, max: usize) -> Result<()> {
    let length = text.len();
    ensure!(
        length <= max,
        "it has {length} characters, at most {max} are allowed"
    );
    Ok(())
}

/// Refuses `text`, which the error calls `what`, unless it begins and ends with a letter or a digit.
pub(super) fn ensure_ends(text: &str, what: &str) -> Result<()> {
    ensure!(
        text.starts_with(char::is_alphanumeric) && text.ends_with(char::is_alphanumeric),
        "{what} must begin and end with a letter or a digit"
    );
    Ok(())
}

/// A character as an error shows it: invisible characters by name or number.
fn quoted(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        '`' => "a backtick".to_owned(),
        c if c.is_control() || c.is_whitespace() => format!("`{}`", c.escape_unicode()),
        c => format!("`{c}`"),
    }
}

/// The common traits of all names: the text is in `$text`, and a function `read` parses it.
macro_rules! traits {
    ($($name:ident.$text:tt),+) => {$(
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.$text
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = anyhow::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::read(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
pub(super) use traits;

/// Types of names, each with its words for errors: what the text should be, and an example. `$near` returns the name
/// that an error suggests if it is valid, and `$check` returns the reason why a text is not a name.
macro_rules! names {
    ($($(#[$doc:meta])+ $name:ident: $what:literal, $example:literal, $near:expr, $check:expr;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            fn read(text: &str) -> anyhow::Result<Self> {
                let near = $near(text);
                crate::names::check::read_or(text, ($what, $example), &near, $check)?;
                Ok(Self(text.to_owned()))
            }
        }

        crate::names::check::traits!($name.0);
    )+};
}
pub(super) use names;
