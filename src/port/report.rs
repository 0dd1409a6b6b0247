//! What `PORTING.md` says: what was taken over from the Go project, what could not be taken over, and what is left to
//! write.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    config::Deployed,
    go::Value,
    kind::GoKind,
    lost::Lost,
    path::{file_name, folder, is_file_of},
    source::Source,
    texts::Difference,
};
use crate::project::{Controller, Project, Resource, Stage};

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
    /// How many entries the rules have.
    rules: usize,
    lease: Name,
    namespace: Name,
    deployment: Name,
    service_account: Name,
    /// The field manager of requests without one, in Go. Empty if it is unknown.
    program: String,
    /// The names that objects of each kind have.
    names: Vec<NamesOfKind>,
    warnings: Vec<String>,
    lost: Vec<String>,
    differences: Vec<Difference>,
    files: Vec<File>,
    /// The folders with other files.
    folders: Vec<Folder>,
    /// Whether the Deployment in Go stays beside the new one, because it has another name.
    stays: bool,
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
    fn new(go: Option<&impl ToString>, here: String) -> Self {
        Self {
            go: go.map_or_else(String::new, ToString::to_string),
            here,
        }
    }

    /// A name that has several values in Go.
    fn joined<'a>(go: impl IntoIterator<Item = &'a Value>, here: String) -> Self {
        let texts: Vec<_> = go.into_iter().map(Value::text).collect();
        Self::new(Some(&texts.join(", ")), here)
    }
}

/// The names that objects of a kind have.
#[derive(Debug, Serialize)]
struct NamesOfKind {
    kind: String,
    field_manager: Name,
    has_finalizer: bool,
    finalizer: Name,
    events: Name,
}

/// A Go file with code that has a place here.
#[derive(Debug, Serialize)]
struct File {
    path: String,
    #[serde(flatten)]
    content: Content,
}

/// A folder, and how many Go files it has that have no place here.
#[derive(Debug, Serialize)]
struct Folder {
    path: String,
    files: usize,
}

/// The content of a Go file.
#[derive(Debug, Serialize)]
#[serde(tag = "content", rename_all = "kebab-case")]
enum Content {
    Reconcilers {
        reconcilers: Vec<Reconciler>,
    },
    Webhooks {
        targets: Vec<String>,
    },
    Conversions {
        targets: Vec<String>,
    },
    /// The code that says that a kind has a conversion, or which version is its hub.
    Hubs {
        targets: Vec<String>,
    },
    Types {
        targets: Vec<String>,
    },
    /// The code that starts the operator.
    Main,
    /// The code that starts an API server for tests.
    TestSetup,
    TestsOnCluster,
}

#[derive(Debug, Serialize)]
struct Reconciler {
    kind: String,
    group: String,
    version: String,
    target: String,
    has_finalizer: bool,
    /// Whether the kind exists without the project.
    foreign: bool,
    /// The name of the controller, if it is not the default.
    controller_name: Option<String>,
    /// The owned kinds in Go, and by their names in the project, if these are known.
    owns: Vec<String>,
    owned: Vec<String>,
    /// The watched kinds in Go that the controller here does not watch.
    watches: Vec<String>,
}

/// What the report is about.
pub(super) struct Subject<'a> {
    pub project: &'a Project,
    pub folder: &'a str,
    pub source: &'a Source,
    pub deployed: &'a Deployed,
    pub kinds: &'a [GoKind],
    pub rules: usize,
}

impl Subject<'_> {
    /// The values of the report.
    pub fn report(&self, lost: &Lost, differences: Vec<Difference>) -> Report {
        let project = self.project;
        let lease = project.lease.as_ref();
        let namespace = &self.deployed.namespace;
        let deployment = self.deployed.deployment.as_ref();
        let here = project.deployment_name();
        let (files, folders) = self.files();
        Report {
            project: project.project_name.to_string(),
            domain: project.domain.to_string(),
            crate_name: project.repo.crate_name().to_string(),
            folder: self.folder.to_owned(),
            kinds: project.resources.iter().map(Kind::new).collect(),
            features: strings(&self.deployed.features),
            rules: self.rules,
            lease: Name::new(lease, project.lease_name()),
            namespace: Name::new(namespace.as_ref(), project.namespace_name()),
            stays: deployment.is_some_and(|found| found.name != here),
            // They share it only if the name and the namespace are the same.
            takes_turns: lease.is_some() && namespace.is_some(),
            deployment: Name::new(deployment.map(|found| &found.name), here.clone()),
            service_account: Name::new(deployment.map(|found| &found.service_account), here),
            program: deployment.map_or_else(String::new, |found| found.program.clone()),
            names: self.names(),
            warnings: lost.warnings.clone(),
            lost: lost.items.clone(),
            differences,
            files,
            folders,
        }
    }

    /// The first controller of each kind, which has its names.
    fn controlled(&self) -> Vec<(&GoKind, &Resource, &Controller)> {
        let mut controlled = Vec::new();
        for kind in self.kinds {
            let mut resources = self.project.resources.iter();
            let resource = resources.find(|resource| resource.id() == kind.id);
            if let Some(resource) = resource
                && let Some(controller) = resource.controllers.first()
            {
                controlled.push((kind, resource, controller));
            }
        }
        controlled
    }

    fn names(&self) -> Vec<NamesOfKind> {
        let mut names = Vec::new();
        for (kind, resource, controller) in self.controlled() {
            names.push(NamesOfKind {
                kind: kind.id.kind().to_string(),
                field_manager: Name::joined(
                    &kind.code.field_managers,
                    self.project.field_manager(resource, controller),
                ),
                has_finalizer: controller.finalizer,
                finalizer: Name::joined(
                    kind.code.finalizers.keys(),
                    self.project.finalizer_name(resource, controller),
                ),
                events: Name::joined(
                    &kind.code.event_reporters,
                    self.project.controller_name(resource, controller),
                ),
            });
        }
        names
    }

    /// The Go files whose content has a place here, and the folders with other files.
    fn files(&self) -> (Vec<File>, Vec<Folder>) {
        let mut files = Vec::new();
        let mut others: BTreeMap<&str, usize> = BTreeMap::new();
        for (path, text) in &self.source.files.texts {
            if !is_file_of("go", path) || self.source.go.others.have(path) {
                continue;
            }
            if let Some(content) = self.content(path, text) {
                files.push(File {
                    path: path.clone(),
                    content,
                });
                continue;
            }
            let is_generated = text.contains("// Code generated") || path.contains("zz_generated");
            if !path.ends_with("_test.go") && !is_generated {
                *others.entry(folder(path)).or_default() += 1;
            }
        }
        let mut folders = Vec::new();
        for (folder, files) in others {
            folders.push(Folder {
                path: if folder.is_empty() { "." } else { folder }.to_owned(),
                files,
            });
        }
        (files, folders)
    }

    /// What a Go file contains, if the project has a place for it.
    fn content(&self, path: &str, text: &str) -> Option<Content> {
        if path.ends_with("_test.go") {
            return match file_name(path) {
                "suite_test.go" | "e2e_suite_test.go" => Some(Content::TestSetup),
                _ if path.starts_with("test/e2e") => Some(Content::TestsOnCluster),
                _ => None,
            };
        }
        if self.kinds.iter().any(|kind| kind.code.files.contains(path)) {
            let reconcilers = self.reconcilers(path);
            return (!reconcilers.is_empty()).then_some(Content::Reconcilers { reconcilers });
        }
        let file = self.source.go.file(path)?;
        if file.mentions("NewWebhookManagedBy") {
            let mut targets = Vec::new();
            for resource in self.project.webhooks() {
                if file.mentions(resource.kind.as_str()) {
                    targets.push(self.project.webhook_file(resource));
                }
            }
            let hubs = self.hubs(|kind| file.mentions(kind));
            let is_conversion_alone = targets.is_empty() && !hubs.is_empty();
            return Some(if is_conversion_alone {
                Content::Hubs { targets: hubs }
            } else {
                Content::Webhooks { targets }
            });
        }
        let targets = self.conversions(path, text);
        if !targets.is_empty() {
            return Some(Content::Conversions { targets });
        }
        if text.contains("+kubebuilder:object:root=true") {
            let mut targets = Vec::new();
            for resource in self.project.resources.iter() {
                let is_here = text.contains(&format!("type {} struct", resource.kind));
                if is_here && resource.has_api() {
                    targets.push(self.project.types_file(resource));
                }
            }
            return (!targets.is_empty()).then_some(Content::Types { targets });
        }
        let targets = self.hubs(|kind| text.contains(&format!("{kind}) Hub()")));
        if !targets.is_empty() {
            return Some(Content::Hubs { targets });
        }
        let is_main = file.mentions("NewManager") && text.contains("package main");
        is_main.then_some(Content::Main)
    }

    /// The files here that list the versions of the hubs whose kind is in a Go file.
    fn hubs(&self, is_in_file: impl Fn(&str) -> bool) -> Vec<String> {
        let hubs = self.project.hubs();
        let hubs = hubs.filter(|hub| is_in_file(hub.kind.as_str()));
        hubs.map(|hub| self.project.hub_file(hub)).collect()
    }

    /// The files here for the conversions in a Go file.
    fn conversions(&self, path: &str, text: &str) -> Vec<String> {
        let version = file_name(folder(path));
        let mut targets = Vec::new();
        for hub in self.project.hubs() {
            let methods = ["ConvertTo", "ConvertFrom"];
            let is_there =
                (methods.iter()).any(|method| text.contains(&format!("{}) {method}(", hub.kind)));
            let mut spokes = hub.spokes().into_iter().flatten();
            let spoke = spokes.find(|spoke| spoke.as_str() == version);
            if let Some(spoke) = spoke.filter(|_| is_there) {
                targets.push(self.project.conversion_file(hub, spoke));
            }
        }
        targets
    }

    /// The reconcilers in a Go file.
    fn reconcilers(&self, path: &str) -> Vec<Reconciler> {
        let mut reconcilers = Vec::new();
        let text = self.source.text(path).unwrap_or_default();
        for (kind, resource, first) in self.controlled() {
            if !kind.code.files.contains(path) {
                continue;
            }
            // A kind may have several controllers, each in a file of its own.
            let mut controllers = resource.controllers.iter();
            let named = controllers
                .find(|controller| text.contains(&format!("Named(\"{}\")", controller.name)));
            let controller = named.unwrap_or(first);
            let is_usual = resource.is_own(controller);
            reconcilers.push(Reconciler {
                kind: kind.id.kind().to_string(),
                group: kind.id.group().to_string(),
                version: kind.id.version().to_string(),
                target: self.project.controller_file(resource, controller),
                has_finalizer: controller.finalizer,
                foreign: !resource.has_api(),
                controller_name: (!is_usual).then(|| controller.name.to_string()),
                owns: go_names(&kind.code.owns),
                owned: strings(&kind.code.owned),
                watches: go_names(&kind.code.watches),
            });
        }
        reconcilers
    }
}

impl Kind {
    fn new(resource: &Resource) -> Self {
        let mut watches = Vec::new();
        let mut controllers = Vec::new();
        for controller in &resource.controllers {
            controllers.push(controller.name.to_string());
            watches.extend(strings(&controller.watches));
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

fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    let strings = values.into_iter().map(|value| value.to_string());
    strings.collect()
}

/// Kinds as Go code names them: `corev1.Secret`.
fn go_names<'a>(kinds: impl IntoIterator<Item = &'a (String, String)>) -> Vec<String> {
    let mut names = Vec::new();
    for (package, kind) in kinds {
        names.push(match package.as_str() {
            "" => kind.clone(),
            package => format!("{package}.{kind}"),
        });
    }
    names
}
