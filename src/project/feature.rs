//! The optional parts of a project.

use std::{collections::BTreeSet, fmt};

use clap::{ValueEnum, builder::PossibleValue};
use serde::{Deserialize, Serialize};

/// A part of a project that can be turned on and off as a whole.
// In alphabetical order, as in the file. clap takes the names, and `--help` prints the doc comments of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// AGENTS.md tells coding agents about the project
    Agents,
    /// docs/api.md describes each field of the API
    ApiDocs,
    /// A weekly workflow updates the project, and opens a pull request
    Autoupdate,
    /// cert-manager issues the certificates of metrics and webhooks
    Certmanager,
    /// .devcontainer defines a development container
    Devcontainer,
    /// .github has workflows that lint and test
    Github,
    /// A Grafana dashboard shows the metrics
    Grafana,
    /// A Helm chart installs what the kustomize manifests install
    Helm,
    /// One replica works, and the others stand by
    LeaderElection,
    /// A namespaced operator checks who reads its metrics, which needs cluster roles
    MetricsAuth,
    /// Metrics are served over HTTPS, only to authorized clients
    MetricsSecure,
    /// Network policies let only namespaces with the label `metrics: enabled` read the metrics
    NetworkPolicy,
    /// A service monitor makes the Prometheus operator scrape the metrics
    Prometheus,
    /// Workflows publish the image of a tag and, with `github`, check the dependencies; Dependabot updates them
    Release,
    /// Users get roles for each kind: admin, editor and viewer
    UserRoles,
    /// Webhooks use your own certificate, from files
    WebhookFiles,
}

impl Feature {
    /// All features.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// The features of a `PROJECT` file that does not list any.
    pub fn usual() -> BTreeSet<Self> {
        BTreeSet::from([
            Self::Agents,
            Self::Github,
            Self::LeaderElection,
            Self::MetricsSecure,
        ])
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn a_feature_has_the_same_name_in_the_file_and_on_the_command_line() {
        for feature in Feature::all() {
            let name = feature.to_string();
            assert_eq!(serde_yaml::to_string(feature).unwrap().trim_end(), name);
            assert_eq!(serde_yaml::from_str::<Feature>(&name).unwrap(), *feature);
        }
        assert_eq!(Feature::LeaderElection.to_string(), "leader-election");
        let refused = yaml::read::<Feature>("FEATURE", "metrics").unwrap_err();
        let expected = "`FEATURE` line 1: `metrics` must be one of `agents`, `api-docs`, ";
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }
}
