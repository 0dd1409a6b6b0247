//! What `PORTING.md` says: what was taken over from the Go project, what could not be taken over, and what is left to
//! write.

use serde::Serialize;

use super::{
    deployment::Deployment,
    go::GoValue,
    lost::Lost,
    operator::{Operator, shown},
    remaining::{self, File, Folder},
};
use crate::project::{Project, Resource, Stage};

/// The values of the report. Its template has the words.
#[derive(Debug, Serialize)]
pub struct Report {
    project: String,
    domain: String,
    crate_name: String,
    /// The folder of the Go project.
    folder: String,
    kinds: Vec<Kind>,
    features: Vec<String>,
    /// Whether the operator is for its own namespace only.
    namespaced: bool,
    /// How many entries the rules have.
    rules: usize,
    lease: Name,
    namespace: Name,
    deployment: Name,
    service_account: Name,
    /// The field manager of requests without one, in Go. Empty if it is unknown.
    program: String,
    /// The names that each controller gives to objects.
    names: Vec<NamesOfController>,
    warnings: Vec<String>,
    lost: Vec<String>,
    differences: Vec<String>,
    files: Vec<File>,
    /// The folders with other files.
    folders: Vec<Folder>,
    /// The command that deletes the Deployment in Go, if it stays beside the new one because it has another name. Empty if the
    /// Deployment was guessed.
    deletion: String,
    /// Whether both operators take turns, because they share the Lease.
    takes_turns: bool,
}

/// A version of a kind that was taken over.
#[derive(Debug, Serialize)]
struct Kind {
    /// Its name, in backticks.
    id: String,
    namespaced: bool,
    /// The stage of the version, if the project defines the kind.
    stage: Option<Stage>,
    plural: String,
    short_names: Vec<String>,
    controllers: Vec<String>,
    watches: Vec<String>,
    defaulting: bool,
    validation: bool,
    /// If the version is the hub, the versions that are converted to it.
    spokes: Vec<String>,
}

/// A name of the operator in a cluster; empty if it is unknown.
#[derive(Debug, Serialize)]
struct Name {
    go: String,
    here: String,
}

impl Name {
    fn new(go: Option<impl ToString>, here: String) -> Self {
        Self {
            go: go.map_or_else(String::new, |name| name.to_string()),
            here,
        }
    }

    /// A name that has several values in Go.
    fn joined<'a>(go: impl IntoIterator<Item = &'a GoValue>, here: String) -> Self {
        let texts: Vec<_> = go.into_iter().map(GoValue::text).collect();
        Self::new(Some(texts.join(", ")), here)
    }
}

/// The names that a controller gives to objects.
#[derive(Debug, Serialize)]
struct NamesOfController {
    controller: String,
    field_manager: Name,
    has_finalizer: bool,
    finalizer: Name,
    events: Name,
}

/// The values of the report.
pub(super) fn report(
    operator: &Operator,
    project: &Project,
    lost: &Lost,
    differences: Vec<String>,
) -> Report {
    let lease = project.lease.as_ref();
    let namespace = operator.deployed.namespace.as_ref();
    let deployment = operator.deployed.deployment.as_ref();
    let replaced = deployment.filter(|found| found.is_deployment());
    let here = project.deployment_name();
    let (files, folders) = remaining::files(operator, project);
    Report {
        project: project.project_name.to_string(),
        domain: project.domain.to_string(),
        crate_name: project.repo.crate_name().to_string(),
        folder: operator.folder.clone(),
        kinds: project.resources.iter().map(Kind::new).collect(),
        features: strings(&operator.deployed.features),
        namespaced: project.namespaced,
        rules: operator.rules.len(),
        lease: Name::new(lease, project.lease_name()),
        namespace: Name::new(namespace, project.namespace_name()),
        deletion: replaced
            .filter(|found| found.is_certain && found.name() != here)
            .map_or_else(String::new, Deployment::deletion),
        // They share it only if the name and the namespace are the same.
        takes_turns: lease.is_some() && namespace.is_some(),
        deployment: Name::new(replaced.map(Deployment::name), here.clone()),
        service_account: Name::new(deployment.map(Deployment::service_account), here),
        program: deployment.map_or("", Deployment::program).to_owned(),
        names: names(operator, project),
        warnings: lost.warnings.clone(),
        lost: lost.items.clone(),
        differences,
        files,
        folders,
    }
}

/// The names that each controller gives to objects.
fn names(operator: &Operator, project: &Project) -> Vec<NamesOfController> {
    let mut names = Vec::new();
    for (code, resource, controller) in operator.controlled(project) {
        let field_manager = project.field_manager(resource, controller);
        let finalizer = project.finalizer_name(resource, controller);
        let events = project.controller_name(resource, controller);
        // Of several, the code does not say which one is of this controller.
        let reporter = Some(&code.event_reporters).filter(|reporters| reporters.len() == 1);
        names.push(NamesOfController {
            controller: shown(resource, controller),
            field_manager: Name::joined(&code.field_managers, field_manager),
            has_finalizer: controller.finalizer,
            finalizer: Name::joined(code.finalizers.keys(), finalizer),
            events: Name::joined(reporter.into_iter().flatten(), events),
        });
    }
    names
}

impl Kind {
    fn new(resource: &Resource) -> Self {
        let mut watches = Vec::new();
        let mut controllers = Vec::new();
        for controller in &resource.controllers {
            controllers.push(controller.name.to_string());
            let more = strings(&controller.watches).into_iter();
            let more: Vec<_> = more.filter(|kind| !watches.contains(kind)).collect();
            watches.extend(more);
        }
        Self {
            id: resource.to_string(),
            namespaced: resource.namespaced,
            stage: resource.own().map(|own| own.stage),
            plural: resource.plural.to_string(),
            short_names: strings(&resource.short_names),
            controllers,
            watches,
            defaulting: resource.webhooks.defaulting.is_some(),
            validation: resource.webhooks.validation.is_some(),
            spokes: strings(resource.spokes().into_iter().flatten()),
        }
    }
}

/// The texts of values.
fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    let strings = values.into_iter().map(|value| value.to_string());
    strings.collect()
}
