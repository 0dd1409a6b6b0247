//! The settings of a container: image, command, port and user.

use std::{fmt, str::FromStr};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::check::{allow_only, ensure_ends, limit, names};
use crate::visible::is_hidden;

names! {
    /// The name of an image, such as `memcached:1.6` or `ghcr.io/me/cache@sha256:…`.
    ImageName: "the name of an image", "memcached:1.6", str::trim, check_image;

    /// A word of a command, such as `--memory-limit=64`.
    CommandWord: "a word of a command", "--memory-limit=64", str::trim, check_word;
}

fn check_image(text: &str) -> Result<()> {
    // A repository has at most 255 characters, a tag at most 128, and a digest at most 135.
    const MAX: usize = 400;
    let hint = ", only letters, digits, `.`, `_`, `-`, `/`, `:` and `@`";
    allow_only(
        text,
        |c| c.is_ascii_alphanumeric() || "._-/:@".contains(c),
        hint,
    )?;
    limit(text, MAX)?;
    ensure_ends(text, "it")
}

fn check_word(text: &str) -> Result<()> {
    ensure!(!text.is_empty(), "it is empty");
    let hint = ", only printable characters";
    allow_only(text, |c| !is_hidden(c) && c != '\t', hint)
}

/// The port of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64")]
pub struct Port(u16);

/// The ID of a user that is not root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64")]
pub struct UserId(u32);

impl TryFrom<i64> for Port {
    type Error = anyhow::Error;

    fn try_from(number: i64) -> Result<Self> {
        match u16::try_from(number) {
            Ok(port) if port > 0 => Ok(Self(port)),
            _ => bail!("`{number}` is not a port, which is from 1 to {}", u16::MAX),
        }
    }
}

impl TryFrom<i64> for UserId {
    type Error = anyhow::Error;

    fn try_from(number: i64) -> Result<Self> {
        // The limit of the API server.
        const MAX: u32 = i32::MAX.unsigned_abs();
        ensure!(
            number != 0,
            "`0` is root, and the Pod Security level `restricted` admits no Pod that runs as root"
        );
        match u32::try_from(number) {
            Ok(id) if id <= MAX => Ok(Self(id)),
            _ => bail!("`{number}` is not the number of a user, which is from 1 to {MAX}"),
        }
    }
}

/// Implements display and parsing for a number; the error says `what` it should be.
macro_rules! number {
    ($name:ident, $what:literal, $example:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = anyhow::Error;

            fn from_str(text: &str) -> Result<Self> {
                let number = text.parse::<i64>().ok().with_context(|| {
                    format!(
                        concat!("`{}` is not ", $what, ", as in `", $example, "`"),
                        text
                    )
                });
                Self::try_from(number?)
            }
        }
    };
}

number!(Port, "a port", "8080");
number!(UserId, "the number of a user", "1001");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images() {
        for name in [
            "busybox",
            "memcached:1.6.26-alpine3.19",
            "ghcr.io:443/me/My_cache@sha256:0123",
        ] {
            assert_eq!(name.parse::<ImageName>().unwrap().as_str(), name);
        }
        for (name, reason) in [
            (
                "",
                "it must begin and end with a letter or a digit, as in `memcached:1.6`",
            ),
            ("busybox:", "it must begin and end with a letter or a digit"),
            ("busybox ", "as in `busybox`"),
            ("a\"b", "`\"` is not allowed, only letters, digits"),
            (
                &"a".repeat(401),
                "it has 401 characters, at most 400 are allowed",
            ),
        ] {
            let error = name.parse::<ImageName>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn words_of_commands() {
        for word in ["-v", "a \"b\"", "ä"] {
            assert_eq!(word.parse::<CommandWord>().unwrap().as_str(), word);
        }
        for (word, reason) in [
            ("", "it is empty"),
            ("a\nb", "is not allowed, only printable characters"),
            ("\u{202e}", "is not allowed, only printable characters"),
        ] {
            let error = word.parse::<CommandWord>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn ports() {
        for port in ["1", "65535"] {
            let read: Port = port.parse().unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), port);
        }
        for (port, reason) in [
            ("0", "`0` is not a port, which is from 1 to 65535"),
            ("65536", "`65536` is not a port"),
            ("http", "`http` is not a port, as in `8080`"),
        ] {
            let error = port.parse::<Port>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn users_who_are_not_root() {
        for id in ["1", "1001", "2147483647"] {
            let read: UserId = id.parse().unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), id);
        }
        for (id, reason) in [
            ("0", "`0` is root"),
            (
                "-1",
                "`-1` is not the number of a user, which is from 1 to 2147483647",
            ),
            ("2147483648", "is not the number of a user"),
            ("root", "`root` is not the number of a user, as in `1001`"),
        ] {
            let error = id.parse::<UserId>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
