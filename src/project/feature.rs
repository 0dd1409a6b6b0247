//! What a project can have or do without.

use std::{collections::BTreeSet, fmt, str::FromStr};

use anyhow::anyhow;
use serde::{Deserialize, Serialize};

/// A part of a project that is switched on and off as a whole.
// In the order of the file, which is alphabetical.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum Feature {
    /// AGENTS.md: what a coding agent should know about the project.
    Agents,
    /// The certificate that metrics are served with is cert-manager's.
    Certmanager,
    /// `.devcontainer`: a container to develop in.
    Devcontainer,
    /// `.github`: workflows that lint, test and build.
    Github,
    /// A dashboard for Grafana shows the metrics.
    Grafana,
    /// A Helm chart installs what the manifests for kustomize do.
    Helm,
    /// Of several replicas one works, and the others stand by.
    LeaderElection,
    /// Metrics are served over HTTPS, to those alone who may read them.
    MetricsSecure,
    /// A `NetworkPolicy` lets nobody but Prometheus reach the operator.
    NetworkPolicy,
    /// A `ServiceMonitor` has the Prometheus operator read the metrics.
    Prometheus,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Agents,
        Self::Certmanager,
        Self::Devcontainer,
        Self::Github,
        Self::Grafana,
        Self::Helm,
        Self::LeaderElection,
        Self::MetricsSecure,
        Self::NetworkPolicy,
        Self::Prometheus,
    ];

    /// Those of a project that says nothing else.
    pub fn usual() -> BTreeSet<Self> {
        let needs_others = [
            Self::Certmanager,
            Self::Grafana,
            Self::Helm,
            Self::NetworkPolicy,
            Self::Prometheus,
        ];
        let mut features = BTreeSet::from(Self::ALL);
        features.retain(|feature| !needs_others.contains(feature));
        features
    }

    /// As `PROJECT` and the command line have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Certmanager => "certmanager",
            Self::Devcontainer => "devcontainer",
            Self::Github => "github",
            Self::Grafana => "grafana",
            Self::Helm => "helm",
            Self::LeaderElection => "leader-election",
            Self::MetricsSecure => "metrics-secure",
            Self::NetworkPolicy => "network-policy",
            Self::Prometheus => "prometheus",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TryFrom<String> for Feature {
    type Error = anyhow::Error;

    fn try_from(name: String) -> anyhow::Result<Self> {
        name.parse()
    }
}

impl FromStr for Feature {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let names = Self::ALL.map(Self::name).join("`, `");
        let feature = Self::ALL.into_iter().find(|feature| feature.name() == text);
        feature.ok_or_else(|| anyhow!("`{text}` is not a feature: it must be one of `{names}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_called_the_same_in_the_file_and_on_the_command_line() {
        for feature in Feature::ALL {
            let name = feature.name();
            assert_eq!(serde_yaml::to_string(&feature).unwrap().trim_end(), name);
            assert_eq!(name.parse::<Feature>().unwrap(), feature);
        }
        assert!("metrics".parse::<Feature>().is_err());
    }
}
