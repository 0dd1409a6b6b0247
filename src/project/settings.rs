//! What follows from the settings of a project.

use anyhow::{Result, ensure};
use serde::Serialize;

use super::{feature::Feature, model::Project};
use crate::names::{LabelKey, LabelValue};

/// The source of the certificates for webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WebhookCertificates {
    /// The operator itself.
    Operator,
    /// cert-manager.
    Certmanager,
    /// The user, who has them in files.
    Files,
}

impl Project {
    /// Whether the project has the optional part `feature`.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// The name of the Lease that replicas share.
    pub fn lease_name(&self) -> String {
        match &self.lease {
            Some(lease) => lease.to_string(),
            None => format!("{}.{}", self.project_name, self.domain),
        }
    }

    /// Checks the length of the Lease's name, which has two parts by default.
    pub(super) fn validate_lease(&self) -> Result<()> {
        const MAX: usize = 253;
        let name = self.lease_name();
        ensure!(
            name.len() <= MAX,
            "the name `{name}` of the Lease has {} characters, at most {MAX} are allowed: a shorter \
             project name, a shorter domain or the field `lease` of `PROJECT` makes it shorter",
            name.len()
        );
        Ok(())
    }

    /// The namespace that the operator is deployed to.
    pub fn namespace_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => namespace.to_string(),
            None => self.default_namespace(),
        }
    }

    /// Whether `make deploy` makes the namespace, and `make undeploy` deletes it: unless it is one of Kubernetes.
    pub fn makes_namespace(&self) -> bool {
        const OF_KUBERNETES: [&str; 4] =
            ["default", "kube-node-lease", "kube-public", "kube-system"];
        !OF_KUBERNETES.contains(&self.namespace_name().as_str())
    }

    /// Whether `config` has an object for the namespace. kustomize takes from it the name that replaces `system` in the
    /// selectors of webhooks, so it also is there for a namespace of Kubernetes. `make undeploy` then ends with the refusal
    /// of the API server to delete this namespace.
    pub fn names_namespace(&self) -> bool {
        self.makes_namespace() || self.webhooks().next().is_some()
    }

    /// Leaves the namespace out if it is the default.
    pub fn leave_out_default_namespace(&mut self) {
        let default = self.default_namespace();
        self.namespace
            .take_if(|namespace| namespace.as_str() == default);
    }

    fn default_namespace(&self) -> String {
        format!("{}-system", self.project_name)
    }

    /// Whether metrics are served over HTTPS, to authorized clients only. The operator asks the API server who is
    /// authorized, which needs cluster-wide permissions. An operator of one namespace gets them only by the feature
    /// [`Feature::MetricsAuth`].
    pub fn has_secure_metrics(&self) -> bool {
        self.has(Feature::MetricsSecure) && (!self.namespaced || self.has(Feature::MetricsAuth))
    }

    /// The source of the certificates for webhooks; `None` if the operator serves no webhooks.
    pub fn webhook_certificates(&self) -> Option<WebhookCertificates> {
        if self.webhooks().next().is_none() && self.hubs().next().is_none() {
            None
        } else if self.has(Feature::WebhookFiles) {
            Some(WebhookCertificates::Files)
        } else if self.has(Feature::Certmanager) {
            Some(WebhookCertificates::Certmanager)
        } else {
            Some(WebhookCertificates::Operator)
        }
    }

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
        super::{
            deployment::{Deployment, Labels},
            for_tests::{empty, error_in},
        },
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

    #[test]
    fn secure_metrics_need_a_feature_and_cluster_wide_permissions() {
        let (secure, auth) = (Feature::MetricsSecure, Feature::MetricsAuth);
        for (features, namespaced, expected) in [
            ([].as_slice(), false, false),
            (&[secure], false, true),
            (&[auth], false, false),
            (&[secure, auth], false, true),
            (&[], true, false),
            (&[secure], true, false),
            (&[auth], true, false),
            (&[secure, auth], true, true),
        ] {
            let project = Project {
                features: features.iter().copied().collect(),
                namespaced,
                ..empty()
            };
            assert_eq!(
                project.has_secure_metrics(),
                expected,
                "{features:?} {namespaced}"
            );
        }
    }
}
