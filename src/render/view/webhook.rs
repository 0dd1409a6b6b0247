//! Admission webhooks, as templates see them.

use serde::Serialize;

use super::kind::Kind;
use crate::project::{Admission, Project, Resource};

/// The admission webhooks of a kind.
#[derive(Serialize)]
pub struct Webhook {
    #[serde(flatten)]
    pub kind: Kind,
    /// The `use` path of the type of the kind.
    import: String,
    pub defaulting: Option<Hook>,
    pub validation: Option<Hook>,
}

/// An admission webhook.
#[derive(Serialize)]
pub struct Hook {
    name: String,
    /// Whether the name is the default.
    usual_name: bool,
    path: String,
    /// Whether the path is the default.
    usual_path: bool,
}

impl Webhook {
    fn new(project: &Project, resource: &Resource) -> Self {
        let mut kind = Kind::new(project, resource);
        if resource.kind.is_taken_by_webhooks() {
            kind.type_name = resource.kind.type_in(&kind.group.module, "");
        }
        Self {
            import: project.import(resource, &kind.type_name),
            defaulting: Hook::new(project, resource, Admission::Defaulting),
            validation: Hook::new(project, resource, Admission::Validation),
            kind,
        }
    }
}

impl Hook {
    fn new(project: &Project, resource: &Resource, admission: Admission) -> Option<Self> {
        let webhook = resource.webhooks.get(admission)?;
        let names = project.webhook_names(resource, admission);
        Some(Self {
            name: names.name,
            usual_name: names.usual,
            path: names.path,
            usual_path: webhook.path.is_none(),
        })
    }
}

/// The kinds with webhooks, sorted by group: the modules of the groups pass the webhooks to the manager in this order,
/// in which the operator writes them to the manifests.
pub fn webhooks(project: &Project) -> Vec<Webhook> {
    let mut webhooks = Vec::new();
    for resource in project.webhooks() {
        webhooks.push(Webhook::new(project, resource));
    }
    webhooks.sort_by_key(|webhook| webhook.kind.group.module.clone());
    webhooks
}
