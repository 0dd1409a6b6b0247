//! The settings of a container: image, command, port and user.

use std::{fmt, str::FromStr};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::check::{allow_only, ensure_ends, limit, names};
use crate::visible::is_hidden;

names! {
    /// The name of an image, such as `memcached:1.6` or `ghcr.io/me/cache@sha256:…`.
    ImageName: "the name of an image", "memcached:1.6", near_image, check_image;

    /// A word of a command, such as `--memory-limit=64`.
    CommandWord: "a word of a command", "--memory-limit=64", str::trim, check_word;
}

fn near_image(text: &str) -> String {
    let trimmed = text.trim();
    if check_image(trimmed).is_ok() {
        trimmed.to_owned()
    } else {
        trimmed.to_lowercase()
    }
}

/// Checks `[registry/]path[:tag][@digest]`, as container runtimes do.
fn check_image(text: &str) -> Result<()> {
    const MAX: usize = 255;
    let hint = ", only letters, digits, `.`, `_`, `-`, `/`, `:` and `@`";
    allow_only(
        text,
        |c| c.is_ascii_alphanumeric() || "._-/:@".contains(c),
        hint,
    )?;
    let (tagged, digest) = match text.split_once('@') {
        Some((tagged, digest)) => (tagged, Some(digest)),
        None => (text, None),
    };
    let (name, tag) = match tagged.rsplit_once(':') {
        // A colon before a slash is that of the registry's port.
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (tagged, None),
    };
    let (registry, path) = match name.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => {
            (Some(first), rest)
        }
        _ => (None, name),
    };
    limit(name, MAX)?;
    if let Some(registry) = registry {
        ensure!(is_registry(registry), "`{registry}` is not a registry");
    }
    ensure!(
        path.split('/').all(is_part),
        "each part of its path must be lower-case letters and digits, with `.`, `_` or `-` between them"
    );
    if let Some(tag) = tag {
        ensure!(
            is_tag(tag),
            "its tag must be 1 to 128 letters, digits, `_`, `.` and `-`, and not begin with `.` or `-`"
        );
    }
    if let Some(digest) = digest {
        ensure!(
            is_digest(digest),
            "its digest must be `sha256:` and 64 digits, which are hexadecimal and in lower case"
        );
    }
    Ok(())
}

/// Whether `text` is a host, with or without a port.
fn is_registry(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "443"));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_port
        && host.split('.').all(|label| {
            ensure_ends(label, "").is_ok()
                && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        })
}

/// Whether `text` is a part of a path: words with a dot, one or two underscores, or hyphens between them.
fn is_part(text: &str) -> bool {
    let mut between_words = text.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    ensure_ends(text, "").is_ok()
        && between_words.all(|between| {
            matches!(between, "." | "_" | "__") || between.bytes().all(|byte| byte == b'-')
        })
}

fn is_tag(text: &str) -> bool {
    const MAX: usize = 128;
    !text.is_empty()
        && text.len() <= MAX
        && !text.starts_with(['.', '-'])
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn is_digest(text: &str) -> bool {
    const LENGTHS: [(&str, usize); 3] = [("sha256", 64), ("sha384", 96), ("sha512", 128)];
    text.split_once(':').is_some_and(|(algorithm, digits)| {
        LENGTHS.contains(&(algorithm, digits.len()))
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
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
        let digest = format!("sha256:{}", "0a".repeat(32));
        for name in [
            "busybox",
            "library/busybox:1",
            "memcached:1.6.26-alpine3.19",
            "a/b.c_d__e---f",
            "localhost/cache",
            "localhost:5000/cache:V1_",
            "registry:1/2",
            "GHCR.io:443/me/my_cache",
            &format!("cache@{digest}"),
            &format!("cache@sha512:{}", "0a".repeat(64)),
            &format!("ghcr.io/me/cache:1@{digest}"),
            &format!("{}:{}", "a".repeat(255), "b".repeat(128)),
        ] {
            assert_eq!(name.parse::<ImageName>().unwrap().as_str(), name);
        }
        let (path, tag, of_digest) = ("each part of its path", "its tag", "its digest");
        for (name, reason) in [
            ("", path),
            ("busybox ", "as in `busybox`"),
            ("a\"b", "`\"` is not allowed, only letters, digits"),
            ("NGINX", "between them, as in `nginx`"),
            ("ghcr.io/Me/App:1", "between them, as in `ghcr.io/me/app:1`"),
            ("a//b", path),
            ("/a", path),
            ("a/", path),
            ("ghcr.io/", path),
            ("a..b", path),
            ("a___b", path),
            ("-a", path),
            ("a:b:c", path),
            ("a@b@c", of_digest),
            ("a.-b/c", "`a.-b` is not a registry"),
            ("a:/c", "`a:` is not a registry"),
            ("a/b:-x", tag),
            ("busybox:", tag),
            (&format!("a:{}", "b".repeat(129)), tag),
            ("nginx@sha256:1", of_digest),
            ("nginx@", of_digest),
            (&format!("nginx@{}", digest.to_uppercase()), of_digest),
            (
                &"a".repeat(256),
                "it has 256 characters, at most 255 are allowed",
            ),
        ] {
            let error = name.parse::<ImageName>().unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
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
