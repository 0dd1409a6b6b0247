//! The annotations of a CRD.

use serde::Serialize;

use super::{definition::ConversionStrategy, model::Project, resource::Resource};

/// The annotation that the API server requires of a CRD in a group of Kubernetes.
pub const APPROVAL: &str = "api-approved.kubernetes.io";

/// An annotation of a CRD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Annotation {
    /// Its name, such as `api-approved.kubernetes.io`.
    pub name: &'static str,
    /// Its text.
    pub value: &'static str,
    /// Why the CRD has the annotation, in one line.
    pub reason: &'static str,
}

impl Project {
    /// The annotations of a kind's CRD.
    pub fn annotations(&self, resource: &Resource) -> Vec<Annotation> {
        let annotations = [
            (
                self.is_protected(resource),
                Annotation {
                    name: APPROVAL,
                    value: "unapproved, experimental-only",
                    reason: "Kubernetes requires this annotation for groups below k8s.io and \
                        kubernetes.io.",
                },
            ),
            (
                resource.conversion() == ConversionStrategy::Lossy,
                Annotation {
                    name: "kube-manager/conversion",
                    value: "lossy",
                    reason: "No webhook converts between the versions: a write through one version \
                        loses the fields that only other versions have.",
                },
            ),
        ];
        let there = annotations.into_iter().filter(|(is_there, _)| *is_there);
        there.map(|(_, annotation)| annotation).collect()
    }
}
