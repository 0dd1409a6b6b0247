//! The Go files that are left to port, each with the place here for its code.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    code::shown,
    go_file::File as GoFile,
    go_types::GoTypes,
    operator::Operator,
    path::{file_name, folder},
};
use crate::project::Project;

/// A Go file with code that has a place here.
#[derive(Debug, Serialize)]
pub(super) struct File {
    path: String,
    #[serde(flatten)]
    content: Content,
}

/// A folder, and how many Go files it has that have no place here.
#[derive(Debug, Serialize)]
pub(super) struct Folder {
    path: String,
    files: usize,
}

/// The content of a Go file, and the files here that get its code.
#[derive(Debug, Serialize)]
#[serde(tag = "content", content = "targets", rename_all = "kebab-case")]
enum Content {
    Reconcilers(Vec<Reconciler>),
    Webhooks(Vec<String>),
    Conversions(Vec<String>),
    /// The code that says that a kind has a conversion, or which version is its hub.
    Hubs(Vec<String>),
    Types(Vec<String>),
    /// Types whose fields are unknown.
    Fields(Vec<String>),
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
    /// The watched kinds in Go that the controller here does not watch, in backticks, and other sources.
    watches: Vec<String>,
}

/// The Go files whose content has a place here, and the folders with other files.
pub(super) fn files(operator: &Operator, project: &Project) -> (Vec<File>, Vec<Folder>) {
    let remaining = Remaining {
        operator,
        project,
        types: GoTypes::new(&operator.source.go),
    };
    let (mut files, mut others) = (Vec::new(), BTreeMap::new());
    for file in operator.source.go.files_and_tests() {
        if let Some(content) = remaining.content(file) {
            let path = file.path.to_string();
            files.push(File { path, content });
        } else if !file.is_test && !file.is_generated {
            *others.entry(folder(&file.path)).or_default() += 1;
        }
    }
    let mut folders = Vec::new();
    for (folder, files) in others {
        let path = if folder.is_empty() { "." } else { folder }.to_owned();
        folders.push(Folder { path, files });
    }
    (files, folders)
}

/// Looks for the places.
struct Remaining<'a> {
    operator: &'a Operator,
    project: &'a Project,
    types: GoTypes<'a>,
}

impl<'a> Remaining<'a> {
    /// What a Go file contains, if the project has a place for it.
    fn content(&self, file: &'a GoFile) -> Option<Content> {
        let path = &*file.path;
        let text = self.operator.source.text(path).unwrap_or("");
        if path.ends_with("_test.go") {
            return match file_name(path) {
                "suite_test.go" | "e2e_suite_test.go" => Some(Content::TestSetup),
                _ if path.starts_with("test/e2e") => Some(Content::TestsOnCluster),
                _ => None,
            };
        }
        let mut controllers = (self.operator.kinds.iter()).flat_map(|kind| &kind.controllers);
        if controllers.any(|own| own.files.contains(path)) {
            return not_empty(self.reconcilers(path)).map(Content::Reconcilers);
        }
        if file.mentions("NewWebhookManagedBy") {
            let kinds = self.kinds_with_webhooks(file);
            let mut targets = Vec::new();
            for resource in self.project.webhooks() {
                if kinds.contains(resource.kind.as_str()) {
                    targets.push(self.project.webhook_file(resource));
                }
            }
            let hubs = self
                .hubs(|kind| kinds.contains(kind))
                .filter(|_| targets.is_empty());
            return Some(hubs.map_or(Content::Webhooks(targets), Content::Hubs));
        }
        if let Some(targets) = self.conversions(path, text) {
            return Some(Content::Conversions(targets));
        }
        if text.contains("+kubebuilder:object:root=true") {
            let mut resources: Vec<_> = self.project.apis().collect();
            resources.retain(|resource| text.contains(&format!("type {} struct", resource.kind)));
            let have_fields = resources.iter().all(|resource| resource.has_given_types());
            let targets = resources
                .into_iter()
                .map(|resource| self.project.types_file(resource));
            let targets = not_empty(targets.collect())?;
            return Some(if have_fields {
                Content::Types(targets)
            } else {
                Content::Fields(targets)
            });
        }
        if let Some(hubs) = self.hubs(|kind| text.contains(&format!("{kind}) Hub()"))) {
            return Some(Content::Hubs(hubs));
        }
        (file.is_program() && file.mentions("NewManager")).then_some(Content::Main)
    }

    /// The kinds for which a Go file registers webhooks. If the code does not show them, those that the file mentions.
    fn kinds_with_webhooks(&self, file: &'a GoFile) -> BTreeSet<&'a str> {
        let mut registered = BTreeSet::new();
        for (at, function) in file.calls() {
            let object = match function {
                "NewWebhookManagedBy" => 1,
                "For" => 0,
                _ => continue,
            };
            if let Some(object) = file.arguments(at + 1).get(object) {
                let types = self.types.of(file, object.clone());
                registered.extend(types.iter().map(|own| own.name));
            }
        }
        // The interface of any object.
        registered.remove("Object");
        if registered.is_empty() {
            for resource in self.project.resources.iter() {
                let kind = resource.kind.as_str();
                registered.extend(Some(kind).filter(|kind| file.mentions(kind)));
            }
        }
        registered
    }

    /// The files here that list the versions of the hubs whose kind is in a Go file.
    fn hubs(&self, is_in_file: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let mut files = Vec::new();
        for hub in self.project.hubs() {
            if is_in_file(hub.kind.as_str()) {
                files.push(self.project.hub_file(hub));
            }
        }
        not_empty(files)
    }

    /// The files here for the conversions in a Go file.
    fn conversions(&self, path: &str, text: &str) -> Option<Vec<String>> {
        let version = file_name(folder(path));
        let mut targets = Vec::new();
        for hub in self.project.hubs() {
            let mut methods = ["ConvertTo", "ConvertFrom"].into_iter();
            let mut spokes = hub.spokes().into_iter().flatten();
            if methods.any(|method| text.contains(&format!("{}) {method}(", hub.kind)))
                && let Some(spoke) = spokes.find(|spoke| spoke.as_str() == version)
            {
                targets.push(self.project.conversion_file(hub, spoke));
            }
        }
        not_empty(targets)
    }

    /// The reconcilers in a Go file.
    fn reconcilers(&self, path: &str) -> Vec<Reconciler> {
        let mut reconcilers = Vec::new();
        for (code, resource, controller) in self.operator.controlled(self.project) {
            if !code.files.contains(path) {
                continue;
            }
            let is_usual = resource.is_own(controller);
            reconcilers.push(Reconciler {
                kind: resource.kind.to_string(),
                group: resource.group.to_string(),
                version: resource.version.to_string(),
                target: self.project.controller_file(resource, controller),
                has_finalizer: controller.finalizer,
                foreign: !resource.has_api(),
                controller_name: (!is_usual).then(|| controller.name.to_string()),
                owns: code.owns.iter().map(shown).collect(),
                owned: code.owned.iter().map(ToString::to_string).collect(),
                watches: (code.watches.iter())
                    .map(|kind| format!("`{}`", shown(kind)))
                    .chain(code.sources.iter().cloned())
                    .collect(),
            });
        }
        reconcilers
    }
}

fn not_empty<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}
