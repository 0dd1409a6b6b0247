//! Admission webhooks, as templates see them.

use serde::Serialize;

use super::kind::Kind;
use crate::project::{self, Project, Resource};

/// The admission webhooks of a kind.
#[derive(Serialize)]
pub struct Webhook {
    #[serde(flatten)]
    pub kind: Kind,
    module: String,
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
            kind.type_name = resource.kind.type_in(&kind.group.module);
        }
        let project::Webhooks {
            defaulting,
            validation,
        } = &resource.webhooks;
        let defaulting = defaulting.as_ref();
        let validation = validation.as_ref();
        Self {
            module: resource.kind.module(),
            import: project.import(resource, &kind.type_name),
            defaulting: defaulting
                .map(|webhook| Hook::new(project, resource, webhook, 'm', "mutate")),
            validation: validation
                .map(|webhook| Hook::new(project, resource, webhook, 'v', "validate")),
            kind,
        }
    }
}

impl Hook {
    fn new(
        project: &Project,
        resource: &Resource,
        webhook: &project::Webhook,
        letter: char,
        verb: &str,
    ) -> Self {
        let names = project.webhook_names(resource, webhook, letter, verb);
        Self {
            name: names.name,
            usual_name: names.usual,
            path: names.path,
            usual_path: webhook.path.is_none(),
        }
    }
}

/// The kinds with webhooks, sorted by group: the modules of the groups pass the webhooks to the manager in this order,
/// in which the operator writes them to the manifests.
pub fn webhooks(project: &Project) -> Vec<Webhook> {
    let resources = project.webhooks();
    let mut webhooks: Vec<_> = resources
        .map(|resource| Webhook::new(project, resource))
        .collect();
    webhooks.sort_by_key(|webhook| webhook.kind.group.module.clone());
    webhooks
}
