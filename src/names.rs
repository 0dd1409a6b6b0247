//! Names that cannot hold a bad value: each is checked once, when it is made.

mod dns;
mod external;
mod group_version_kind;
mod kind;
mod kubernetes;
mod plural;
mod rust;

use std::fmt;

pub use external::{Dependency, TypePath};
pub use group_version_kind::GroupVersionKind;
pub use kind::{Identifiers, Kind};
pub use kubernetes::{ControllerName, Domain, Group, Plural, ProjectName, ShortName, Version};
pub use rust::{CrateName, Repo, is_dependency};

/// Why a text is not a valid name: one sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// `text` is not `what`, because of `reason`; the message ends with a valid name.
    fn new(text: &str, what: &str, reason: &str, instead: &Instead) -> Self {
        Self(match instead {
            Instead::Like(example) => {
                format!("`{text}` is not {what}: {reason}, as in `{example}`")
            }
            Instead::Meant(name) => {
                format!("`{text}` is not {what}: {reason}; did you mean `{name}`?")
            }
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A valid name, to show beside a bad one.
enum Instead {
    /// Any name like this one.
    Like(&'static str),
    /// The good name that is nearest to the bad one.
    Meant(String),
}

/// The reason why a text of this length is not a name.
fn too_long(length: usize, max: usize) -> Option<String> {
    (length > max).then(|| format!("it has {length} characters, at most {max} are allowed"))
}

/// The traits of a name that has `as_str` and `FromStr`.
macro_rules! traits {
    ($($name:ident),+) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
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
