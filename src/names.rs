//! Types for names. Each name is checked when it is created, so a value of these types is always
//! valid.

mod carried;
mod dns;
mod external;
mod group_version_kind;
mod header;
mod image;
mod kind;
mod kubernetes;
mod plural;
mod rust;
mod warning;
mod webhook_path;

use anyhow::{Result, anyhow, bail, ensure};

pub use carried::{FieldManager, FinalizerName, LabelKey, LabelValue};
pub use external::{Dependency, TypePath};
pub use group_version_kind::GroupVersionKind;
pub use header::Header;
pub use image::{CommandWord, ImageName, Port, UserId};
pub use kind::{Identifiers, Kind};
pub use kubernetes::{
    ControllerName, Domain, Group, LeaseName, NamespaceName, Plural, ProjectName, ShortName,
    Version,
};
pub(crate) use rust::is_keyword;
pub use rust::{CrateName, Repo, WorkspaceRoot, is_dependency};
pub use warning::Warning;
pub use webhook_path::WebhookPath;

/// Parses a name with `read`, whose error has only the reason. The error of this function also says
/// `what` the text should be, and gives a valid name: `near` if `near` is valid, else `example`.
fn read_or<'a, T>(
    text: &'a str,
    (what, example): (&str, &str),
    near: &'a str,
    read: impl Fn(&'a str) -> Result<T>,
) -> Result<T> {
    read(text).map_err(|reason| match read(near) {
        Ok(_) => anyhow!("`{text}` is not {what}: {reason}; did you mean `{near}`?"),
        Err(_) => anyhow!("`{text}` is not {what}: {reason}, as in `{example}`"),
    })
}

/// Refuses a name with a character that is not `allowed`. The error has the first such character.
fn allow_only(text: &str, allowed: impl Fn(char) -> bool, hint: &str) -> Result<()> {
    match text.chars().find(|c| !allowed(*c)) {
        Some(bad) => bail!("{} is not allowed{hint}", quoted(bad)),
        None => Ok(()),
    }
}

/// Refuses a name of more than `max` characters.
fn limit(text: &str, max: usize) -> Result<()> {
    let length = text.len();
    ensure!(
        length <= max,
        "it has {length} characters, at most {max} are allowed"
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
use traits;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_through_yaml_as_plain_texts() {
        let group: Group = serde_yaml::from_str("webapp").unwrap();
        assert_eq!(group.as_str(), "webapp");
        assert_eq!(serde_yaml::to_string(&group).unwrap(), "webapp\n");
    }

    #[test]
    fn a_name_that_looks_like_a_number_needs_no_quotes() {
        let name: Domain = serde_yaml::from_str("007").unwrap();
        assert_eq!(name.as_str(), "007");
        let yaml = serde_yaml::to_string(&name).unwrap();
        assert_eq!(serde_yaml::from_str::<Domain>(&yaml).unwrap(), name);
    }

    #[test]
    fn yaml_with_a_bad_name_is_refused_with_line_and_reason() {
        let error = serde_yaml::from_str::<Vec<Version>>("- v1\n- latest\n").unwrap_err();
        assert_eq!(error.location().unwrap().line(), 2);
        let reason = "".parse::<Version>().unwrap_err().to_string();
        let reason = reason.replacen("``", "`latest`", 1);
        assert!(error.to_string().contains(&reason), "{error}");
    }
}
