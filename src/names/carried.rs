//! Names that objects carry in a cluster: labels, finalizers and field managers.

use anyhow::{Result, ensure};

use super::{
    check::{allow_only, ensure_ends, limit, names},
    kubernetes::Domain,
};

names! {
    /// The name of a finalizer: `example.com/finalizer`.
    FinalizerName: "the name of a finalizer", "example.com/finalizer", str::to_owned, check_qualified;

    /// The name of a field manager, which owns the fields that it applies: `guestbook.example.com`.
    FieldManager: "the name of a field manager", "guestbook.example.com", str::to_owned, check_manager;

    /// The key of a label: `team`, `example.com/team`.
    LabelKey: "the key of a label", "example.com/team", str::to_owned, check_qualified;

    /// The value of a label, which may be empty: `readers`.
    LabelValue: "the value of a label", "readers", str::to_owned, |text| match text {
        "" => Ok(()),
        text => check_part(text),
    };
}

fn check_manager(text: &str) -> Result<()> {
    ensure!(!text.is_empty(), "it must not be empty");
    let hint = ", only letters, digits, `-`, `_`, `.` and `/`";
    allow_only(text, |c| is_inner(c) || c == '/', hint)?;
    limit(text, 128)
}

/// Checks a qualified name of Kubernetes: a name, with or without a domain before it.
fn check_qualified(text: &str) -> Result<()> {
    match text.split_once('/') {
        Some((domain, name)) => {
            domain.parse::<Domain>()?;
            check_part(name)
        }
        None => check_part(text),
    }
}

fn check_part(text: &str) -> Result<()> {
    const MAX: usize = 63;
    ensure!(!text.is_empty(), "it must not be empty");
    let hint = ", only letters, digits, `-`, `_` and `.`";
    allow_only(text, is_inner, hint)?;
    limit(text, MAX)?;
    ensure_ends(text, "it")
}

/// Whether a name can have this character between its first and its last one.
fn is_inner(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_api_server_takes() {
        for name in ["guard", "x.io/volume_guard", "Guard", "x.io/A"] {
            assert_eq!(name.parse::<FinalizerName>().unwrap().as_str(), name);
            assert_eq!(name.parse::<LabelKey>().unwrap().as_str(), name);
            assert_eq!(name.parse::<FieldManager>().unwrap().as_str(), name);
        }
        for value in ["", "a", "1.0", "A_b-c"] {
            assert_eq!(value.parse::<LabelValue>().unwrap().as_str(), value);
        }
        for (name, reason) in [
            ("", "it must not be empty, as in `example.com/finalizer`"),
            ("x.io/", "it must not be empty"),
            ("X.io/a", "`X` is not allowed, only lower-case letters"),
            ("x.io/a/b", "`/` is not allowed, only letters"),
            ("x.io/a\"", "`\"` is not allowed"),
            ("-a", "it must begin and end with a letter or a digit"),
            (&"a".repeat(64), "at most 63 are allowed"),
        ] {
            let error = name.parse::<FinalizerName>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        for (value, reason) in [
            ("a/b", "`/` is not allowed"),
            (
                "a-",
                "it must begin and end with a letter or a digit, as in",
            ),
        ] {
            let error = value.parse::<LabelValue>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let long = "a".repeat(129).parse::<FieldManager>().unwrap_err();
        assert!(long.to_string().contains("at most 128 are allowed"));
        assert!("a b".parse::<FieldManager>().is_err());
    }
}
