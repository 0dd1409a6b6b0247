//! The modules of a group, as templates see them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use super::{controller::Controller, kind::GroupNames};
use crate::project::{Project, Resource};

/// A group: the versions of its APIs, and the controllers of its kinds.
#[derive(Serialize)]
pub struct Group {
    #[serde(flatten)]
    pub names: GroupNames,
    #[serde(serialize_with = "values")]
    pub versions: BTreeMap<String, GroupVersion>,
    /// The versions of the kinds in `src/external`.
    #[serde(serialize_with = "values")]
    pub external_versions: BTreeMap<String, GroupVersion>,
    /// The kinds with admission webhooks.
    webhooks: BTreeSet<GroupWebhook>,
    /// The modules of the kinds with a conversion webhook.
    conversions: BTreeSet<String>,
    /// The modules of the controllers.
    controllers: BTreeSet<String>,
    /// The modules of the controllers that have a test against an API server.
    tested: BTreeSet<String>,
}

/// A version of a group. The name of the version is also the name of its module.
#[derive(Serialize)]
pub struct GroupVersion {
    pub name: String,
    group: GroupNames,
    /// The kinds that have this version.
    kinds: BTreeSet<GroupKind>,
    /// The modules that convert this version of a kind to the kind's hub and back.
    conversions: BTreeSet<String>,
}

/// The module of a kind, and its type.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct GroupKind {
    module: String,
    #[serde(rename = "type")]
    type_name: String,
}

/// The admission webhooks of a kind in the module of its group.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct GroupWebhook {
    module: String,
    defaulting: bool,
    validation: bool,
}

impl Group {
    fn new(names: GroupNames) -> Self {
        Self {
            names,
            versions: BTreeMap::new(),
            external_versions: BTreeMap::new(),
            webhooks: BTreeSet::new(),
            conversions: BTreeSet::new(),
            controllers: BTreeSet::new(),
            tested: BTreeSet::new(),
        }
    }

    /// Adds the modules of `resource`, except those of its controllers.
    fn add(&mut self, project: &Project, resource: &Resource) {
        let module = resource.kind.module();
        let versions = if resource.has_api() {
            Some(&mut self.versions)
        } else if resource.has_given_types() {
            Some(&mut self.external_versions)
        } else {
            None
        };
        if let Some(versions) = versions {
            let name = resource.version.to_string();
            let version = versions.entry(name.clone()).or_insert(GroupVersion {
                name,
                group: self.names.clone(),
                kinds: BTreeSet::new(),
                conversions: BTreeSet::new(),
            });
            version.kinds.insert(GroupKind {
                module: module.clone(),
                type_name: project.type_name(resource),
            });
            if project.hub_of_spoke(resource).is_some() {
                version.conversions.insert(resource.conversion_module());
            }
        }
        if resource.spokes().is_some() {
            self.conversions.insert(resource.conversion_module());
        }
        let webhooks = &resource.webhooks;
        if !webhooks.is_empty() {
            self.webhooks.insert(GroupWebhook {
                module,
                defaulting: webhooks.defaulting.is_some(),
                validation: webhooks.validation.is_some(),
            });
        }
    }
}

fn values<S: Serializer>(
    versions: &BTreeMap<String, GroupVersion>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(versions.values())
}

/// The groups of all kinds, sorted.
pub fn groups(project: &Project, controllers: &[Controller]) -> Vec<Group> {
    // By module: a kind of another project may have the domain as its group, as kinds with an empty group have.
    let mut groups = BTreeMap::new();
    for resource in project.resources.iter() {
        let names = GroupNames::new(project, resource);
        let group = groups
            .entry(names.module.clone())
            .or_insert(Group::new(names));
        group.add(project, resource);
    }
    for controller in controllers {
        if let Some(group) = groups.get_mut(&controller.kind.group.module) {
            group.controllers.insert(controller.kind.module.clone());
            if controller.tested {
                group.tested.insert(controller.kind.module.clone());
            }
        }
    }
    groups.into_values().collect()
}
