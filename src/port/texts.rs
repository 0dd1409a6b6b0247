//! The files of the render with additions from the Go project. The additions count as the user's edits.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use anyhow::Result;
use serde_json::Value;

use super::{
    Port,
    finalizers::{is_manager, is_name},
    go::{Place, Value as Found},
    report::{self, Made, only},
    rules::{LINE, Right, Rights, Target, Types, lines},
};
use crate::{
    crd::fit::misfits,
    from_crd::KindFromCrd,
    names::GroupVersionKind,
    project::{
        Controller, Project, Resource,
        yaml::{self, documents},
    },
    reconcile::{Text, Texts},
    render::{Rendered, Templates},
    visible::is_hidden,
};

/// The lines of a controller's file after which its other constants and its rules begin.
const NAME: &str = "    const NAME: &'static str = ";
const RULES: &str = "    const RULES: &'static [Rule] = &[\n";

impl Port {
    /// Returns the texts of files with additions from the Go project, and the notes that the command prints. `project`
    /// has the settings of the command line, and `rendered` are its files.
    ///
    /// # Errors
    /// When a template has a defect.
    pub fn texts(
        &self,
        project: &Project,
        templates: &Templates,
        rendered: &Rendered,
    ) -> Result<(Texts, Vec<String>)> {
        let mut writer = Writer {
            port: self,
            project,
            templates,
            rendered,
            texts: Texts::new(),
            losses: Vec::new(),
            lost: Vec::new(),
        };
        writer.types()?;
        writer.samples();
        writer.controllers();
        writer.deployment();
        let made = Made {
            losses: &writer.losses,
            lost: &writer.lost,
        };
        let report = report::text(self, project, &made);
        let notes = self.notes(project, &made);
        writer.texts.insert(report::FILE.to_owned(), report.into());
        Ok((writer.texts, notes))
    }
}

/// Collects the texts of the files.
struct Writer<'a> {
    port: &'a Port,
    project: &'a Project,
    templates: &'a Templates<'a>,
    rendered: &'a Rendered,
    texts: Texts,
    losses: Vec<(GroupVersionKind, Vec<String>)>,
    lost: Vec<String>,
}

impl Writer<'_> {
    /// The current text of a file.
    fn text(&self, path: &str) -> Option<&str> {
        let text = self
            .texts
            .get(path)
            .or_else(|| self.rendered.texts.get(path));
        text.map(Text::as_ref)
    }

    /// Adds the types, samples and manifests of kinds with a CRD in the Go project.
    fn types(&mut self) -> Result<()> {
        for kind in &self.port.kinds {
            let Some(crd) = &kind.crd else { continue };
            let mut resources = self.project.resources.iter();
            let is_external = resources.any(|it| it.id() == kind.id && !it.has_api());
            let given = if is_external {
                KindFromCrd::of_others(crd, Some(kind.id.version()), self.project)?
            } else {
                KindFromCrd::of_project(crd, None, self.project)?
            };
            let files = given.files(self.project, self.templates, self.rendered)?;
            self.texts.extend(files.texts);
            let losses: Vec<_> = files.losses.iter().map(ToString::to_string).collect();
            self.losses.push((kind.id.clone(), losses));
        }
        Ok(())
    }

    /// Takes over the samples of the Go project that fit the types.
    fn samples(&mut self) {
        let mut taken = BTreeMap::new();
        for (file, text) in self.port.source.manifests("config/samples/") {
            let Ok(documents) = documents(text) else {
                self.lost
                    .push(format!("the sample `{file}`, which is not YAML"));
                continue;
            };
            let (version, kind) = match documents.as_slice() {
                [one] => (one["apiVersion"].as_str(), one["kind"].as_str()),
                [] => continue,
                _ => {
                    self.lost
                        .push(format!("the sample `{file}`, which has several objects"));
                    continue;
                }
            };
            let is_it = |it: &&Resource| {
                let full = format!("{}/{}", self.project.full_group(it), it.version);
                it.has_api() && version == Some(&full) && kind == Some(it.kind.as_str())
            };
            let Some(resource) = self.project.resources.iter().find(is_it) else {
                continue;
            };
            let path = format!("config/samples/{}", resource.sample_file());
            if !self.rendered.texts.contains_key(&path) {
                continue;
            }
            if let Some(before) = taken.get(&path) {
                self.lost.push(format!(
                    "the sample `{file}`: `{path}` has the text of `{before}`; copy the file, and add a line \
                     for it to `config/samples/kustomization.yaml`"
                ));
                continue;
            }
            match self.misfit(resource, &documents[0], text) {
                None => {
                    self.texts.insert(path.clone(), text.to_owned().into());
                    taken.insert(path, file);
                }
                Some(reason) => self.lost.push(format!("the sample `{file}`: {reason}")),
            }
        }
    }

    /// The reason why a sample cannot be taken over, if there is one.
    fn misfit(&self, resource: &Resource, sample: &Value, text: &str) -> Option<String> {
        if text.contains(|c| is_hidden(c) && c != '\n' && c != '\t') {
            return Some("it has invisible characters".to_owned());
        }
        let mut kinds = self.port.kinds.iter().filter_map(|it| it.crd.as_ref());
        let group = self.project.full_group(resource);
        let crd = kinds.find(|it| it.kind == resource.kind.as_str() && it.group == group);
        let Some(crd) = crd else {
            return Some("the fields of the kind are unknown".to_owned());
        };
        let mut versions = crd.versions.iter();
        let version = versions.find(|it| it.name == resource.version.as_str())?;
        // If the schema has a `spec`, the Rust type requires it, even if the schema does not.
        let lacks_spec = !version.schema["properties"]["spec"].is_null()
            && sample.get("spec").is_none_or(Value::is_null);
        let place = match misfits(sample, &version.schema).into_iter().next() {
            _ if lacks_spec => Some("spec".to_owned()),
            misfit => misfit.map(|it| it.place),
        };
        place.map(|place| format!("it does not fit the schema at `{place}`"))
    }

    /// Adds the permissions and the names of the Go operator to each controller.
    fn controllers(&mut self) {
        let mut of_controllers = self.by_controller();
        let types = Types::new(self.project);
        for (resource, controller) in self.project.controllers() {
            let path = self.project.controller_file(resource, controller);
            let Some(mut text) = self.text(&path).map(str::to_owned) else {
                continue;
            };
            let key = (resource.id(), controller.name.clone());
            let rights = of_controllers.remove(&key).unwrap_or_default();
            let given = given_rights(self.project, resource, controller);
            let own = self.project.type_path(resource);
            let rules = lines(&rights, &given, &types, &own);
            // Insert at the beginning: commands add rules at the end, and then both changes merge.
            if !rules.is_empty() {
                let rules = format!("        // The permissions of the Go operator.\n{rules}");
                match text.find(RULES) {
                    Some(place) => text.insert_str(place + RULES.len(), &rules),
                    None => self.lost.push(format!("the permissions for `{path}`")),
                }
            }
            let names = self.names(resource, controller);
            let place = text
                .find(NAME)
                .and_then(|start| Some(start + text[start..].find('\n')? + 1));
            if let Some(place) = place {
                text.insert_str(place, &names);
            }
            self.texts.insert(path, text.into());
        }
        for right in of_controllers.into_values().flat_map(Rights::into_keys) {
            if let Target::Resource { group, plural, .. } = right.target {
                self.lost.push(format!(
                    "the permissions for `{plural}` of `{group}`: there is no controller"
                ));
            }
        }
    }

    /// The permissions of each controller. A controller has the permissions for its kind, and the first controller has
    /// all others.
    fn by_controller(&self) -> BTreeMap<(GroupVersionKind, crate::names::ControllerName), Rights> {
        let mut all: BTreeMap<_, Rights> = BTreeMap::new();
        let key = |(resource, controller): (&Resource, &Controller)| {
            (resource.id(), controller.name.clone())
        };
        // Prefer a controller of a kind that the project defines.
        let mut own = self.project.controllers().filter(|(it, _)| it.has_api());
        let first = own.next().or_else(|| self.project.controllers().next());
        let first = first.map(key);
        for (right, verbs) in &self.port.rights {
            let own = self.project.controllers().find(|(resource, _)| {
                let full = self.project.full_group(resource);
                matches!(&right.target, Target::Resource { group, plural, .. }
                    if *group == full && plural == resource.plural.as_str())
            });
            if let Some(key) = own.map(key).or_else(|| first.clone()) {
                all.entry(key)
                    .or_default()
                    .insert(right.clone(), verbs.clone());
            }
        }
        all
    }

    /// The constants with the names of the Go controller that objects store.
    fn names(&mut self, resource: &Resource, controller: &Controller) -> String {
        let mut kinds = self.port.kinds.iter();
        let Some(kind) = kinds.find(|it| it.id == resource.id()) else {
            return String::new();
        };
        // Only one controller of the kind can have these names.
        let is_first = resource.controllers.first() == Some(controller);
        let mut text = String::new();
        let code = &kind.code;
        if is_first && controller.finalizer && !code.finalizers.is_empty() {
            match only(code.finalizers.keys()).filter(|it| is_name(it)) {
                Some(name) => {
                    text += "    // The finalizer of the Go operator, which objects have.\n";
                    text += &finalizer_constant(name);
                }
                None => self
                    .lost
                    .push(unknown_finalizers(&code.finalizers, resource)),
            }
        }
        if is_first && !code.field_managers.is_empty() {
            match only(&code.field_managers).filter(|it| is_manager(it)) {
                Some(name) => {
                    text += "    // The field manager of the Go operator, which owns fields.\n";
                    text += &field_manager_constant(name);
                }
                None => self
                    .lost
                    .push(unknown_managers(&code.field_managers, resource)),
            }
        }
        text
    }

    /// Takes over the labels and the selector of the Deployment.
    fn deployment(&mut self) {
        const PATH: &str = "config/manager/manager.yaml";
        let Some(deployment) = &self.port.deployed.deployment else {
            return;
        };
        let Some(text) = self.text(PATH) else { return };
        let Some((before, after)) = text.split_once("kind: Deployment\n") else {
            return;
        };
        let mut after = after.to_owned();
        let name = self.project.project_name.as_str();
        let own = |key: &str| match key {
            "app.kubernetes.io/name" => Some(name),
            "control-plane" => Some("controller-manager"),
            "app.kubernetes.io/managed-by" => Some("kustomize"),
            _ => None,
        };
        let mut lost = Vec::new();
        let lists = [
            ("  labels:\n", 4, &deployment.labels),
            ("      labels:\n", 8, &deployment.pod_labels),
        ];
        for (anchor, indent, labels) in lists {
            let mut added = BTreeMap::new();
            for (key, value) in labels {
                match own(key) {
                    None => _ = added.insert(key, value),
                    Some(is) if is == value || *key == "app.kubernetes.io/managed-by" => {}
                    Some(is) => lost.push(format!(
                        "the label `{key}: {value}` of the Deployment: here, it is `{is}`, because \
                         Services and policies select by it"
                    )),
                }
            }
            insert(&mut after, anchor, indent, &added);
        }
        let is_same = deployment.name == format!("{name}-controller-manager");
        let differs = deployment
            .selector
            .iter()
            .any(|(key, value)| own(key).is_some_and(|is| is != value));
        let has_ours = ["app.kubernetes.io/name", "control-plane"];
        let is_ours = deployment.selector.len() == 2
            && has_ours
                .iter()
                .all(|key| deployment.selector.contains_key(*key));
        if is_same && differs {
            lost.push(format!(
                "the selector of the Deployment `{}`, which cannot be changed: delete the \
                 Deployment before `make deploy`",
                deployment.name
            ));
        } else if is_same && !is_ours && !deployment.selector.is_empty() {
            replace(&mut after, "    matchLabels:\n", 6, &deployment.selector);
        }
        lost.sort();
        lost.dedup();
        let text = format!("{before}kind: Deployment\n{after}");
        self.lost.extend(lost);
        if self.text(PATH) != Some(&text) {
            self.texts.insert(PATH.to_owned(), text.into());
        }
    }
}

/// The constant with the finalizer, formatted like rustfmt.
fn finalizer_constant(name: &str) -> String {
    const START: &str = "    const FINALIZER_NAME: Option<&'static str> =";
    let value = format!("Some(\"{name}\");");
    let line = format!("{START} {value}\n");
    let indented = format!("        {value}\n");
    match LINE {
        max if line.trim_end().len() <= max => line,
        max if indented.trim_end().len() <= max => format!("{START}\n{indented}"),
        _ => format!("{START} Some(\n        \"{name}\",\n    );\n"),
    }
}

/// The constant with the field manager, formatted like rustfmt.
fn field_manager_constant(name: &str) -> String {
    const START: &str = "    const FIELD_MANAGER: &'static str =";
    let line = format!("{START} \"{name}\";\n");
    let indented = format!("        \"{name}\";\n");
    // The name stays on the line if it is too long for a line of its own, too.
    if line.trim_end().len() <= LINE || indented.trim_end().len() > LINE {
        line
    } else {
        format!("{START}\n{indented}")
    }
}

/// The message about finalizers that are not one constant in the Go code.
fn unknown_finalizers(values: &BTreeMap<Found, Place>, resource: &Resource) -> String {
    let names = values.iter().map(|(value, place)| match value {
        Found::Known(text) | Found::Unknown(text) => format!("`{text}` ({place})"),
    });
    let names = names.collect::<Vec<_>>().join(" and ");
    format!(
        "the finalizer of {}, which is {names} in Go: set `FINALIZER_NAME` in its controller; until then, objects with \
         the finalizer of the Go operator cannot be deleted",
        resource.kind
    )
}

/// The message about field managers that are not one constant in the Go code.
fn unknown_managers(values: &BTreeSet<Found>, resource: &Resource) -> String {
    let names = values.iter().map(|value| match value {
        Found::Known(text) | Found::Unknown(text) => format!("`{text}`"),
    });
    let names = names.collect::<Vec<_>>().join(" and ");
    let kind = &resource.kind;
    format!(
        "the field manager of {kind}, which is {names} in Go: set `FIELD_MANAGER` in its controller"
    )
}

/// The permissions that the render gives to a controller.
fn given_rights(project: &Project, resource: &Resource, controller: &Controller) -> Rights {
    let (group, plural) = (project.full_group(resource), resource.plural.as_str());
    let mut given = Rights::new();
    let own = given.entry(Right::new(&group, plural, None)).or_default();
    own.extend(["list", "watch"]);
    if controller.finalizer {
        own.insert("patch");
    }
    for watched in &controller.watches {
        if let Ok(Some(kind)) = project.find_kind(watched) {
            let right = Right::new(&project.full_group(&kind), kind.plural.as_str(), None);
            given.entry(right).or_default().extend(["list", "watch"]);
        }
    }
    if resource.has_api() && !resource.has_given_types() {
        let status = Right::new(&group, plural, Some("status"));
        given.entry(status).or_default().insert("update");
        let events = Right::new("events.k8s.io", "events", None);
        given.entry(events).or_default().extend(["create", "patch"]);
    }
    given
}

/// The labels as lines of YAML.
fn label_lines(labels: &BTreeMap<&String, &String>, indent: usize) -> String {
    let text = yaml::write_manifest(labels).unwrap_or_default();
    let pad = " ".repeat(indent);
    let lines = text.lines();
    lines.fold(String::new(), |text, line| text + &pad + line + "\n")
}

/// Adds labels below the first line `anchor`, after the existing labels.
fn insert(text: &mut String, anchor: &str, indent: usize, labels: &BTreeMap<&String, &String>) {
    if let Some(there) = below(text, anchor, indent).filter(|_| !labels.is_empty()) {
        text.insert_str(there.end, &label_lines(labels, indent));
    }
}

/// Replaces the labels below the first line `anchor`.
fn replace(text: &mut String, anchor: &str, indent: usize, labels: &BTreeMap<String, String>) {
    if let Some(there) = below(text, anchor, indent) {
        text.replace_range(there, &label_lines(&labels.iter().collect(), indent));
    }
}

/// The range of the lines below the first line `anchor` that have this indentation.
fn below(text: &str, anchor: &str, indent: usize) -> Option<Range<usize>> {
    let start = format!("\n{anchor}");
    let below = text.find(&start)? + start.len();
    let pad = " ".repeat(indent);
    let lines = text[below..].lines();
    let there = lines.take_while(|line| line.starts_with(&pad));
    let length: usize = there.map(|line| line.len() + 1).sum();
    Some(below..below + length)
}
