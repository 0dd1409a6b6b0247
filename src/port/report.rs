//! `PORTING.md`: what was taken over from the Go project, what could not be taken over, and what is
//! left to write.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write as _,
};

use super::{
    Port,
    go::Value,
    kinds::GoKind,
    source::{file_name, folder, is_file_of},
};
use crate::{
    names::GroupVersionKind,
    project::{Controller, Project, Resource},
    visible::visible,
};

/// The name of the report file.
pub const FILE: &str = "PORTING.md";

/// What could not be taken over, and where the Go project is.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    folder: String,
    /// What could not be taken over, in the order of discovery, without duplicates.
    lost: Vec<String>,
    warnings: Vec<String>,
    seen: HashSet<String>,
}

impl Report {
    pub fn new(folder: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            ..Self::default()
        }
    }

    /// Records what could not be taken over.
    pub fn lost(&mut self, what: impl AsRef<str>) {
        let what = what.as_ref();
        if self.seen.insert(what.to_owned()) {
            self.lost.push(what.to_owned());
        }
    }

    /// Records a danger in what was taken over unchanged.
    pub fn warn(&mut self, what: impl AsRef<str>) {
        self.warnings.push(what.as_ref().to_owned());
    }

    /// The dangers in what was taken over unchanged.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How many things could not be taken over.
    pub fn count(&self) -> usize {
        self.lost.len()
    }

    pub fn folder(&self) -> String {
        format!("`{}`", visible(&self.folder))
    }
}

/// What the report says about the generated files.
pub(super) struct Made<'a> {
    /// The differences between the types of a kind and its CRD.
    pub losses: &'a [(GroupVersionKind, Vec<String>)],
    /// What could not be written to a file.
    pub lost: &'a [String],
}

/// The text of the report.
pub(super) fn text(port: &Port, project: &Project, made: &Made) -> String {
    let mut text = format!(
        "# Port of {name} from Go\n\n\
         This project was started by `rscaffold init --from {folder}`,\n\
         which reads PROJECT, `config`, and the names in the Go code. The code of the controllers \
         and webhooks is for you to write.\n\
         This file is yours, and no command changes it: tick off what is done, and delete the file \
         when you have finished.\n",
        name = project.project_name,
        folder = visible(&port.report.folder),
    );
    taken(port, project, &mut text);
    cluster(port, project, &mut text);
    let mut lost: Vec<_> = port.report.lost.clone();
    lost.extend_from_slice(made.lost);
    section("Warnings", "", port.report.warnings(), &mut text);
    section("What could not be taken over", "", &lost, &mut text);
    schemas(made, &mut text);
    files(port, project, &mut text);
    commands(port, project, &mut text);
    text
}

/// Writes a heading with a list, unless the list is empty.
fn section(title: &str, intro: &str, lines: &[String], text: &mut String) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {title}\n\n");
    if !intro.is_empty() {
        let _ = write!(text, "{intro}\n\n");
    }
    for line in lines {
        item("- [ ]", line, text);
    }
}

/// Writes an item of a list. Texts of the Go project may have any characters, and stay one line.
fn item(mark: &str, line: &str, text: &mut String) {
    let _ = writeln!(text, "{mark} {}", visible(line));
}

fn taken(port: &Port, project: &Project, text: &mut String) {
    let _ = write!(text, "\n## What was taken over\n\n");
    let mut lines = vec![format!(
        "the domain `{}`, and the crate `{}`",
        project.domain,
        project.repo.crate_name()
    )];
    for resource in project.resources.iter() {
        let mut parts = vec![
            if resource.namespaced {
                "namespaced"
            } else {
                "cluster-scoped"
            }
            .to_owned(),
        ];
        if resource.has_api() {
            parts.push(format!("plural `{}`", resource.plural));
            let short: Vec<_> = resource
                .short_names
                .iter()
                .map(|it| format!("`{it}`"))
                .collect();
            if !short.is_empty() {
                parts.push(format!("short names {}", short.join(", ")));
            }
            parts.push(
                if resource.is_stored() {
                    "stored"
                } else if resource.is_served() {
                    "served"
                } else {
                    "not served"
                }
                .to_owned(),
            );
        }
        let controllers: Vec<_> = resource
            .controllers
            .iter()
            .map(|it| format!("`{}`", it.name))
            .collect();
        if !controllers.is_empty() {
            parts.push(format!("controller {}", controllers.join(", ")));
        }
        let watches = resource.controllers.iter().flat_map(|it| &it.watches);
        let watches: Vec<_> = watches.map(|id| format!("`{id}`")).collect();
        if !watches.is_empty() {
            parts.push(format!("watches {}", watches.join(", ")));
        }
        if resource.webhooks.defaulting.is_some() {
            parts.push("defaulting webhook".to_owned());
        }
        if resource.webhooks.validation.is_some() {
            parts.push("validating webhook".to_owned());
        }
        if let Some(spokes) = resource.spokes() {
            let spokes: Vec<_> = spokes.iter().map(|it| format!("`{it}`")).collect();
            parts.push(format!("hub of {}", spokes.join(", ")));
        }
        lines.push(format!("{resource}: {}", parts.join(", ")));
    }
    let features: Vec<_> = port
        .deployed
        .features
        .iter()
        .map(|it| format!("`{it}`"))
        .collect();
    if !features.is_empty() {
        lines.push(format!("the features {}", features.join(", ")));
    }
    if !port.rights.is_empty() {
        lines.push(format!(
            "the permissions of the manager's role, as `RULES` of the controllers: {} entries",
            port.rights.len()
        ));
    }
    for line in lines {
        item("-", &line, text);
    }
}

/// Writes the names of the running operator.
fn cluster(port: &Port, project: &Project, text: &mut String) {
    let _ = write!(
        text,
        "\n## Names of the operator in a cluster\n\
         \n\
         The new operator takes over from the Go one where both columns are equal. `-` stands for what was not \
         found.\n\
         \n\
         | what | in Go | here |\n\
         |---|---|---|\n"
    );
    let mut row = |what: &str, was: &str, is: &str| {
        let cell = |it: &str| match it {
            "" => "-".to_owned(),
            it => format!("`{}`", visible(it).replace('|', "\\|").replace('`', "'")),
        };
        let _ = writeln!(text, "| {what} | {} | {} |", cell(was), cell(is));
    };
    let name = &project.project_name;
    let lease = project.lease.as_ref().map_or("", |it| it.as_str());
    row("Lease", lease, &project.lease_name());
    let namespace = port.deployed.namespace.as_deref().unwrap_or_default();
    row("namespace", namespace, &project.namespace_name());
    let here = format!("{name}-controller-manager");
    let deployment = port.deployed.deployment.as_ref();
    row("Deployment", deployment.map_or("", |it| &it.name), &here);
    row(
        "ServiceAccount",
        deployment.map_or("", |it| &it.service_account),
        &here,
    );
    let program = deployment.map_or("", |it| &it.program);
    if !program.is_empty() {
        row("field manager of plain updates", program, "");
    }
    for kind in &port.kinds {
        let resource = project.resources.iter().find(|it| it.id() == kind.id);
        let Some((resource, controller)) =
            resource.and_then(|it| Some((it, it.controllers.first()?)))
        else {
            continue;
        };
        let names = Names::new(project, resource, controller, kind);
        if !names.managers.is_empty() {
            row(
                &format!("field manager of {}", kind.id.kind()),
                &names.managers,
                &names.manager,
            );
        }
        if controller.finalizer {
            row(
                &format!("finalizer of {}", kind.id.kind()),
                &names.finalizers,
                &names.finalizer,
            );
        }
        if !names.reporters.is_empty() {
            row(
                &format!("events of {}", kind.id.kind()),
                &names.reporters,
                &names.own,
            );
        }
    }
}

/// The names of a controller that objects of a kind store: in Go, and here.
pub(super) struct Names {
    own: String,
    managers: String,
    manager: String,
    finalizers: String,
    finalizer: String,
    reporters: String,
}

impl Names {
    fn new(project: &Project, resource: &Resource, controller: &Controller, kind: &GoKind) -> Self {
        let own = project.controller_name(resource, controller);
        Self {
            manager: only(&kind.code.field_managers).unwrap_or(&own).to_owned(),
            finalizer: match only(kind.code.finalizers.keys()) {
                Some(name) => name.to_owned(),
                None => format!("{own}/finalizer"),
            },
            managers: all(&kind.code.field_managers),
            finalizers: all(kind.code.finalizers.keys()),
            reporters: all(&kind.code.event_reporters),
            own,
        }
    }
}

/// The texts of all values.
fn all<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    let texts = values.into_iter().map(|it| match it {
        Value::Known(text) | Value::Unknown(text) => text.as_str(),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// The text of the only value, if it is known.
pub(super) fn only<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<&'a str> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(Value::Known(text)), None) => Some(text),
        _ => None,
    }
}

/// Writes the differences between the schemas.
fn schemas(made: &Made, text: &mut String) {
    let mut lines = Vec::new();
    for (id, losses) in made.losses {
        for loss in losses {
            lines.push(format!("`{}`: {loss}", id.kind()));
        }
    }
    let intro = "The CRDs that come from the types in `src/api` have the same schemas, with these \
        exceptions. In these places, an object that the Go version accepts may be refused, or the \
        reverse.";
    section("How the schemas differ", intro, &lines, text);
}

/// Writes what each Go file contains, and where to port it.
fn files(port: &Port, project: &Project, text: &mut String) {
    let mut lines = Vec::new();
    let mut rest: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, content) in &port.source.files.texts {
        if !is_file_of("go", path) {
            continue;
        }
        match line(port, project, path, content) {
            Some(line) => lines.push(format!("`{path}`: {line}")),
            None if path.ends_with("_test.go") || content.contains("// Code generated") => {}
            None if path.contains("zz_generated") => {}
            None => {
                let folder = match folder(path) {
                    "" => ".",
                    folder => folder,
                };
                *rest.entry(folder).or_default() += 1;
            }
        }
    }
    for (folder, count) in rest {
        let files = ["files", "file"][usize::from(count == 1)];
        lines.push(format!(
            "`{folder}/`: {count} {files}; port the functions that the controllers call"
        ));
    }
    section("What is left to write, file by file", "", &lines, text);
}

/// What a Go file contains, and where to port it.
fn line(port: &Port, project: &Project, path: &str, content: &str) -> Option<String> {
    let go = &port.source.go;
    let resource = |kind: &GoKind| project.resources.iter().find(|it| it.id() == kind.id);
    if path.ends_with("_test.go") {
        return Some(match file_name(path) {
            "suite_test.go" | "e2e_suite_test.go" => {
                "starts an API server for tests, as `tests/api_server` and `tests/e2e.sh` do"
                    .to_owned()
            }
            _ if path.starts_with("test/e2e") => {
                "tests on a cluster: add their checks to `tests/e2e.sh`".to_owned()
            }
            _ => return None,
        });
    }
    let kinds = port.kinds.iter();
    let kinds: Vec<_> = kinds
        .filter(|kind| kind.code.files.contains(path))
        .collect();
    if !kinds.is_empty() {
        let parts = kinds.iter().filter_map(|kind| {
            let resource = resource(kind)?;
            let controller = resource.controllers.first()?;
            Some(reconciler(project, kind, resource, controller))
        });
        let parts: Vec<_> = parts.collect();
        return (!parts.is_empty()).then(|| parts.join("; "));
    }
    if go.mentions(path, "NewWebhookManagedBy") {
        let targets = project
            .webhooks()
            .filter(|it| go.mentions(path, it.kind.as_str()));
        let targets = targets.map(|it| format!("`{}`", project.webhook_file(it)));
        let targets: Vec<_> = targets.collect();
        let goes = if targets.is_empty() {
            "add them here with `rscaffold create webhook`".to_owned()
        } else {
            format!("write the defaults and the rules in {}", targets.join(", "))
        };
        return Some(format!("webhooks: {goes}"));
    }
    let conversions = conversions(project, path, content);
    if !conversions.is_empty() {
        return Some(format!(
            "conversions: {} converts the fields that both versions have; write the rest",
            conversions.join(", ")
        ));
    }
    if content.contains("+kubebuilder:object:root=true") {
        let kinds = project.resources.iter().filter(|it| it.has_api());
        let kinds = kinds.filter(|it| content.contains(&format!("type {} struct", it.kind)));
        let targets = kinds.map(|it| format!("`{}`", project.types_file(it)));
        let targets: Vec<_> = targets.collect();
        return (!targets.is_empty()).then(|| {
            format!(
                "types: the fields are in {}; write the methods of the Go types",
                targets.join(", ")
            )
        });
    }
    if go.mentions(path, "NewManager") && content.contains("package main") {
        return Some(
            "starts the operator: `src/main.rs` does that here; move its own flags to \
             `src/cli.rs`, and everything else that it starts to `src/main.rs`"
                .to_owned(),
        );
    }
    None
}

/// The conversion files here for the conversions in a Go file.
fn conversions(project: &Project, path: &str, content: &str) -> Vec<String> {
    let version = folder(path).rsplit('/').next().unwrap_or_default();
    let hubs = project.hubs().filter(|hub| {
        let is_in = |method| content.contains(&format!("{}) {method}(", hub.kind));
        is_in("ConvertTo") || is_in("ConvertFrom")
    });
    let files = hubs.flat_map(|hub| {
        let spokes = hub.spokes().into_iter().flatten();
        let spokes = spokes.filter(|it| it.as_str() == version);
        spokes.map(|spoke| format!("`{}`", project.conversion_file(hub, spoke)))
    });
    files.collect()
}

fn reconciler(
    project: &Project,
    kind: &GoKind,
    resource: &Resource,
    controller: &Controller,
) -> String {
    let target = project.controller_file(resource, controller);
    let mut text = format!(
        "the reconciler of {}: write `reconcile`{} in `{target}`",
        kind.id.kind(),
        if controller.finalizer {
            " and `cleanup`"
        } else {
            ""
        },
    );
    let list = |kinds: &BTreeSet<(String, String)>| {
        let kinds = kinds.iter().map(|(package, kind)| match package.as_str() {
            "" => format!("`{kind}`"),
            package => format!("`{package}.{kind}`"),
        });
        kinds.collect::<Vec<_>>().join(", ")
    };
    if !kind.code.owns.is_empty() {
        let owned: Vec<_> = kind.code.owned.iter().map(ToString::to_string).collect();
        let owned = match owned.as_slice() {
            [] => "<GROUP>/<VERSION>/<KIND>".to_owned(),
            owned => owned.join(","),
        };
        let mut command = format!(
            "rscaffold create api --group {} --version {} --kind {} --owns {owned}",
            kind.id.group(),
            kind.id.version(),
            kind.id.kind()
        );
        if !resource.has_api() {
            command += " --resource=false";
        }
        if controller.name != resource.kind.controller() {
            let _ = write!(command, " --controller-name {}", controller.name);
        }
        let _ = write!(
            text,
            ". It owns {}: `{command}` adds code that makes an example of each, so complete that code before you \
             run it beside objects of the Go operator",
            list(&kind.code.owns)
        );
    }
    if !kind.code.watches.is_empty() {
        let _ = write!(
            text,
            ". It also watches {}: `--watches <GROUP>/<VERSION>/<KIND>` adds the code for kinds of Kubernetes and of \
             this project",
            list(&kind.code.watches)
        );
    }
    text
}

/// Writes the last steps of the port.
fn commands(port: &Port, project: &Project, text: &mut String) {
    let name = &project.project_name;
    let namespace = project.namespace_name();
    let deploy = "make docker-build docker-push deploy IMG=<IMAGE>";
    let mut lines = vec![
        "`make manifests` writes the CRDs and the role from the code; `git diff config` shows the \
         changes"
            .to_owned(),
        "`make test` runs the tests of this project".to_owned(),
        "`kubectl diff -f config/crd/bases` shows what `make install` would change in a cluster \
         that runs the Go operator"
            .to_owned(),
        "`make run` runs the new operator on your machine, against a test cluster".to_owned(),
        format!("`{deploy}` deploys it to the namespace `{namespace}`"),
    ];
    let here = format!("{name}-controller-manager");
    let deployment = port.deployed.deployment.as_ref();
    if let Some(old) = deployment.filter(|it| it.name != here) {
        // Both operators share the Lease only if the name and the namespace are the same.
        let is_safe = project.lease.is_some() && port.deployed.namespace.is_some();
        let when = if is_safe {
            "`make deploy` leaves that one running. The new operator waits for the Lease until the \
             old Deployment is deleted"
        } else {
            "`make deploy` leaves that one running. Delete the old Deployment first: otherwise \
             both operators work at the same time"
        };
        lines.push(format!(
            "`kubectl --namespace {namespace} delete deployment {old}` deletes the Go operator: \
             its Deployment has another name, so {when}",
            old = old.name
        ));
    }
    lines.push(
        "if Helm, Argo CD or Flux deployed the Go operator, remove it there first: otherwise it is \
         deployed again"
            .to_owned(),
    );
    lines.push(
        "objects that the Go operator created, with their owner as controller, are adopted if the \
         new controller creates them with the same name; objects with other names stay until you \
         delete them"
            .to_owned(),
    );
    section("Then", "", &lines, text);
}
