//! The Deployment of the operator, as far as it differs from the default.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::Project;
use crate::names::{LabelKey, LabelValue};

/// Labels with their values.
pub type Labels = BTreeMap<LabelKey, LabelValue>;

/// The settings of the Deployment of the operator.
// The fields are in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "the fields of a Deployment"
)]
pub struct Deployment {
    /// The labels of the Deployment besides the default ones.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The labels of its Pods besides the default ones.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub pod_labels: Labels,
    /// The labels by which it selects its Pods, if they are not the default. The selector of an existing Deployment
    /// cannot be changed.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub selector: Labels,
}

impl Deployment {
    /// Whether nothing differs from the default.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl Project {
    /// The name of the Deployment, and of its ServiceAccount.
    pub fn deployment_name(&self) -> String {
        format!("{}-controller-manager", self.project_name)
    }

    /// The value of a default label of the Deployment. Services and policies select its Pods by the first two.
    pub fn usual_label(&self, key: &str) -> Option<&str> {
        match key {
            "app.kubernetes.io/name" => Some(self.project_name.as_str()),
            "control-plane" => Some("controller-manager"),
            "app.kubernetes.io/managed-by" => Some("kustomize"),
            _ => None,
        }
    }

    /// Checks that the labels do not contain the default ones, and that the Pods have the labels of the selector.
    pub(super) fn validate_deployment(&self) -> Result<()> {
        let deployment = &self.deployment;
        for (field, labels) in [
            ("labels", &deployment.labels),
            ("podLabels", &deployment.pod_labels),
        ] {
            for key in labels.keys() {
                ensure!(
                    self.usual_label(key.as_str()).is_none(),
                    "`{field}` of `deployment` cannot have `{key}`: each project has this label"
                );
            }
        }
        for (key, value) in &deployment.selector {
            ensure!(
                self.has_pod_label(key, value),
                "the `selector` of `deployment` has `{key}: {value}`, but the Pods do not have this label: add it \
                 to `podLabels`"
            );
        }
        Ok(())
    }

    /// Whether the Pods of the Deployment have this label.
    pub fn has_pod_label(&self, key: &LabelKey, value: &LabelValue) -> bool {
        match key.as_str() {
            "app.kubernetes.io/name" | "control-plane" => {
                self.usual_label(key.as_str()) == Some(value.as_str())
            }
            _ => self.deployment.pod_labels.get(key) == Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{empty, error_in},
        *,
    };

    fn labels(key: &str, value: &str) -> Labels {
        Labels::from([(key.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn a_selector_selects_the_pods() {
        let project = |deployment| Project {
            deployment,
            ..empty()
        };
        let usual = labels("control-plane", "controller-manager");
        for (pod_labels, selector) in [
            (Labels::new(), usual.clone()),
            (labels("team", "readers"), labels("team", "readers")),
        ] {
            let deployment = Deployment {
                pod_labels,
                selector,
                ..Deployment::default()
            };
            let valid = project(deployment);
            valid.validate().unwrap();
            assert_eq!(Project::parse(&valid.to_text().unwrap()).unwrap(), valid);
        }
        let deployment = Deployment {
            selector: labels("team", "readers"),
            ..Deployment::default()
        };
        assert_eq!(
            error_in(project(deployment), []),
            "the `selector` of `deployment` has `team: readers`, but the Pods do not have this label: add it to \
             `podLabels`"
        );
        let deployment = Deployment {
            labels: usual,
            ..Deployment::default()
        };
        assert_eq!(
            error_in(project(deployment), []),
            "`labels` of `deployment` cannot have `control-plane`: each project has this label"
        );
    }
}
