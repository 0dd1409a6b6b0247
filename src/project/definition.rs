//! Who defines a kind: the project, Kubernetes, or another project.

use std::{collections::BTreeSet, str::FromStr};

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::builtin::Builtin;
use crate::names::{Dependency, TypePath, Version, Warning};

/// Who defines a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// By the project.
    Own(Own),
    /// By Kubernetes.
    Builtin(Builtin),
    /// By another project. Without a domain, [`Resource::group`](super::Resource::group) is the whole group.
    External(External),
}

impl Definition {
    /// Who defines the kind, for messages.
    pub(super) fn definer(&self) -> &'static str {
        match self {
            Self::Own(_) => "this project",
            Self::Builtin(_) => Builtin::DEFINER,
            Self::External(_) => External::DEFINER,
        }
    }
}

/// A version of a kind that the project defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// What the API server does with this version.
    pub stage: Stage,
    /// What the API server tells clients that use this version.
    pub deprecation: Deprecation,
    /// How the API server converts other versions to this one without a webhook; the same for all versions of a kind.
    pub conversion: ConversionStrategy,
    /// The versions that a webhook converts to this one and back, if this one is the hub of its kind.
    pub spokes: Option<BTreeSet<Version>>,
    /// The initial content of the Rust types.
    pub types: Types,
}

/// The initial content of the Rust types of a version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Types {
    /// An example of a spec, and a status with conditions. Rendered controllers and webhooks use their fields.
    #[default]
    #[serde(skip)]
    Example,
    /// The schema of a CRD. The fields are not known to the templates.
    Given,
}

impl Types {
    /// Whether the types start from the example.
    pub fn is_example(&self) -> bool {
        *self == Self::Example
    }
}

/// What the API server does with a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The API server does not serve the version.
    Unserved,
    /// The API server serves the version, and stores objects in another version.
    Served,
    /// The API server serves the version, and stores all objects of the kind in it.
    Stored,
}

/// What the API server tells clients that use a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Deprecation {
    /// Nothing, because the version is not deprecated.
    #[default]
    No,
    /// The default warning that the version is deprecated.
    Yes,
    /// This warning.
    Warning(Warning),
}

impl FromStr for Deprecation {
    type Err = anyhow::Error;

    /// Reads the value of the command line option.
    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "false" => Self::No,
            "true" => Self::Yes,
            "no" | "off" | "n" | "0" | "yes" | "on" | "y" | "1" => {
                bail!(
                    "`{text}` is neither `true`, `false` nor a warning for clients, as in `use v2`"
                )
            }
            _ => Self::Warning(text.parse()?),
        })
    }
}

/// How the API server converts between the versions of a kind by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ConversionStrategy {
    /// Not at all: one version is served
    #[default]
    #[serde(skip)]
    #[value(skip)]
    Missing,
    /// Only `apiVersion` changes, because the schemas are equal
    None,
    /// Only `apiVersion` changes, although the schemas differ: a write through one version loses the fields that only
    /// the others have
    Lossy,
}

impl ConversionStrategy {
    /// Whether the API server does not convert.
    pub fn is_missing(&self) -> bool {
        *self == Self::Missing
    }

    /// The value in `PROJECT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::None => "none",
            Self::Lossy => "lossy",
        }
    }
}

impl Own {
    /// The first version of a kind.
    pub fn first() -> Self {
        Self {
            stage: Stage::Stored,
            ..Self::further(ConversionStrategy::Missing)
        }
    }

    /// Another version of a kind with this `conversion`. Without a conversion, the version is not served: clients would
    /// get the same object in both versions, without the fields that only the other version has.
    pub fn further(conversion: ConversionStrategy) -> Self {
        let stage = match conversion {
            ConversionStrategy::Missing => Stage::Unserved,
            ConversionStrategy::None | ConversionStrategy::Lossy => Stage::Served,
        };
        Self {
            stage,
            deprecation: Deprecation::No,
            conversion,
            spokes: None,
            types: Types::Example,
        }
    }
}

/// The location of the Rust type of an external kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum External {
    /// In a crate, or in the user's own code.
    At {
        /// The crate to add to Cargo.toml; `None` if Cargo.toml already has the crate.
        dependency: Option<Dependency>,
        /// The path of the Rust type.
        path: TypePath,
    },
    /// In `src/external`, made from a CRD.
    Given,
}

impl External {
    /// Who defines the kind.
    pub const DEFINER: &'static str = "another project";

    /// The text for messages about changes.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::At { path, .. } => path.as_str(),
            Self::Given => "made from a CRD",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_not_a_misspelled_boolean() {
        for text in ["true", "True", "TRUE"] {
            assert_eq!(text.parse::<Deprecation>().unwrap(), Deprecation::Yes);
        }
        for text in ["false", "False", "FALSE"] {
            assert_eq!(text.parse::<Deprecation>().unwrap(), Deprecation::No);
        }
        for text in ["yes", "No", "on", "OFF", "0", "1", "y", "n"] {
            let error = text.parse::<Deprecation>().unwrap_err().to_string();
            let expected = format!(
                "`{text}` is neither `true`, `false` nor a warning for clients, as in `use v2`"
            );
            assert_eq!(error, expected);
        }
        for text in ["use v2", "no longer served", "falsehood"] {
            let warning = text.parse().unwrap();
            let expected = Deprecation::Warning(warning);
            assert_eq!(text.parse::<Deprecation>().unwrap(), expected);
        }
    }
}
