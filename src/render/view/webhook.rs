//! Admission webhooks, as templates see them.

use serde::Serialize;

use super::kind::Kind;
use crate::project::{Admission, Project, Resource, WebhookNames};

/// The admission webhooks of a kind.
#[derive(Serialize)]
pub struct Webhook {
    #[serde(flatten)]
    pub kind: Kind,
    /// The `use` path of the type of the kind.
    import: String,
    pub defaulting: Option<WebhookNames>,
    pub validation: Option<WebhookNames>,
}

impl Webhook {
    fn new(project: &Project, resource: &Resource) -> Self {
        let mut kind = Kind::new(project, resource);
        if resource.kind.is_taken_by_webhooks() {
            kind.type_name = resource.kind.type_in(&kind.group.module, "");
        }
        let [defaulting, validation] =
            [Admission::Defaulting, Admission::Validation].map(|admission| {
                let webhook = resource.webhooks.get(admission);
                webhook.map(|_| project.webhook_names(resource, admission))
            });
        Self {
            import: project.import(resource, &kind.type_name),
            defaulting,
            validation,
            kind,
        }
    }
}

/// The kinds with webhooks, sorted by the modules of groups and kinds: the code passes the webhooks to the manager in this
/// order, in which the operator writes them to the manifests.
pub fn webhooks(project: &Project) -> Vec<Webhook> {
    let mut webhooks = Vec::new();
    for resource in project.webhooks() {
        webhooks.push(Webhook::new(project, resource));
    }
    webhooks.sort_by_key(|webhook| {
        let kind = &webhook.kind;
        (kind.group.module.clone(), kind.module.clone())
    });
    webhooks
}
