//! A Go operator and its kinds, and what the Go code says about their controllers.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    deployed::Deployed, go::GoValue, go_file::Place, group_kind::GroupKind, rules::Granted,
    source::Source, webhooks::GoWebhook,
};
use crate::{
    crd::Crd,
    names::{ControllerName, GroupVersionKind},
    project::{Controller, Project, Resource, Rule},
};

/// A Go operator.
#[derive(Debug)]
pub(super) struct Operator {
    /// The folder of its project.
    pub folder: String,
    pub source: Source,
    pub deployed: Deployed,
    pub granted: Granted,
    /// The permissions that it has.
    pub rules: Vec<Rule>,
    /// The kinds that were taken over.
    pub kinds: Vec<GoKind>,
}

impl Operator {
    /// The controllers, each with its kind and with what the Go code says about it.
    pub fn controlled<'a>(
        &'a self,
        project: &'a Project,
    ) -> Vec<(&'a ControllerFacts, &'a Resource, &'a Controller)> {
        let mut controlled = Vec::new();
        for kind in &self.kinds {
            for code in &kind.controllers {
                if let Some(resource) = kind.resource(project)
                    && let mut controllers = resource.controllers.iter()
                    && let Some(controller) = controllers.find(|own| own.name == code.name)
                {
                    controlled.push((code, resource, controller));
                }
            }
        }
        controlled
    }
}

/// The name of a controller in the report: its kind, and its own name if the kind has several controllers.
pub(super) fn shown(resource: &Resource, controller: &Controller) -> String {
    match resource.controllers.len() {
        1 => resource.kind.to_string(),
        _ => format!("{} by the controller `{}`", resource.kind, controller.name),
    }
}

/// A kind that was taken over from the Go project.
#[derive(Debug)]
pub(super) struct GoKind {
    /// The version with the controllers.
    pub id: GroupVersionKind,
    /// Its group and kind in the Go project.
    pub name: GroupKind,
    /// Its CRD, if the Go project has one.
    pub crd: Option<Crd>,
    /// What the Go code says about its controllers.
    pub controllers: Vec<ControllerFacts>,
    /// Its webhooks, the defaulting one and the validating one at most.
    pub webhooks: Vec<GoWebhook>,
}

impl GoKind {
    /// The resource of the version with the controllers, unless `project` has left it out.
    pub fn resource<'a>(&self, project: &'a Project) -> Option<&'a Resource> {
        let mut resources = project.resources.iter();
        resources.find(|resource| resource.id() == self.id)
    }
}

/// What the Go code says about a controller.
#[derive(Debug)]
pub(super) struct ControllerFacts {
    pub name: ControllerName,
    /// The files that set the controller up.
    pub files: BTreeSet<String>,
    /// The finalizers, each with the first place that sets it.
    pub finalizers: BTreeMap<GoValue, Place>,
    pub field_managers: BTreeSet<GoValue>,
    pub event_reporters: BTreeSet<GoValue>,
    /// The kinds that the controller owns, each with the name of its package.
    pub owns: BTreeSet<(String, String)>,
    /// The same for watched kinds. `related::take` removes the kinds that the project watches.
    pub watches: BTreeSet<(String, String)>,
    /// What else the controller watches, as the report says it.
    pub sources: BTreeSet<String>,
    /// The owned kinds by their names in the project, except for the controller's own kind. Empty if one of them has no name there.
    pub owned: Vec<GroupVersionKind>,
}

impl ControllerFacts {
    pub fn new(name: &ControllerName) -> Self {
        Self {
            name: name.clone(),
            files: BTreeSet::new(),
            finalizers: BTreeMap::new(),
            field_managers: BTreeSet::new(),
            event_reporters: BTreeSet::new(),
            owns: BTreeSet::new(),
            watches: BTreeSet::new(),
            sources: BTreeSet::new(),
            owned: Vec::new(),
        }
    }
}
