//! Ports a Go operator. Input: its files. Output: a [`Project`], rules of its controllers, values for templates, texts of
//! files and a [`Report`]. Only `init --from` uses this folder, so contributors to other commands or templates need not
//! read it.
//!
//! The code here is pure, and knows no template: the command renders the values, and passes the rendered manifests back.
//! The files of the Go project are untrusted data: the types of [`names`](crate::names) validate each name, and the report
//! lists what cannot be taken over.

mod code;
mod compare;
mod controllers;
mod crds;
mod deployed;
mod deployment;
mod election;
mod error;
mod file;
mod finalized;
mod finalizers;
mod go;
mod go_file;
mod go_files;
mod go_literals;
mod go_tokens;
mod go_types;
mod group_kind;
mod identity;
mod kinds;
mod kustomize;
mod lost;
mod makefile;
mod manager;
mod namespaces;
mod operator;
mod own_namespace;
mod path;
mod programs;
mod related;
mod remaining;
mod report;
mod rules;
mod setups;
mod source;
mod texts;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use self::{
    deployed::Deployed,
    election::Election,
    file::GoProject,
    kinds::KindFacts,
    lost::Lost,
    operator::Operator,
    own_namespace::OwnNamespace,
    rules::{Granted, Key},
    source::{LICENSES, Source},
    webhooks::Hooks,
};
pub use self::{
    error::Error,
    report::Report,
    source::{GoFolder, WITHOUT, is_wanted},
};
use crate::{
    names::NamespaceName,
    project::{Feature, License, Project, Rule},
    visible::visible,
};

/// How many characters of a license file are searched for the name of the license.
const MAX_TITLE: usize = 400;

/// The name of the report file.
pub const REPORT: &str = "PORTING.md";

/// A Go project that was read.
#[derive(Debug)]
pub struct Port {
    /// The new project, with the settings that were found in the Go project.
    pub project: Project,
    operator: Operator,
    lost: Lost,
}

/// What the Go project gives to files of the new project. It counts as edits of the user.
#[derive(Debug)]
pub struct Ported {
    /// The values that the template of a file gets in addition to the project, by the path of the file.
    pub additions: BTreeMap<String, Value>,
    /// The texts of other files.
    pub texts: BTreeMap<String, String>,
    lost: Lost,
    /// The differences between the types and the CRDs.
    differences: Vec<String>,
}

/// The objects of the kustomization in `folder`, and what was left out. `files` has the text of each path.
pub fn kustomized(files: &BTreeMap<&str, &str>, folder: &str) -> (Vec<Value>, BTreeSet<String>) {
    let built = kustomize::build(files, folder);
    let objects = built.objects.into_iter().map(|object| object.value);
    (objects.collect(), built.left)
}

impl Port {
    /// Reads the files of a Go project, which is in the folder `shown`.
    ///
    /// # Errors
    /// When the folder has no Go operator, or when neither PROJECT nor a CRD gives a domain.
    pub fn read(files: GoFolder, shown: &str) -> Result<Self> {
        let source = Source::new(files);
        let mut lost = Lost::default();
        for (path, reason) in &source.files.unread {
            lost.add(format!("`{path}` could not be read: {reason}"));
        }
        let go = match source.text("PROJECT") {
            Some(text) => GoProject::parse(text).with_context(|| {
                let path = format!("{}/PROJECT", shown.trim_end_matches('/'));
                let file = visible(&path);
                format!("`{file}` is not the PROJECT file of an operator in Go")
            })?,
            None => GoProject::default(),
        };
        let deployed = Deployed::new(&source, &go, &mut lost);
        let election = Election::new(&source, &deployed, &mut lost);
        let facts = KindFacts::new(&source, &go, &deployed, &mut lost);
        let mut project =
            identity::project(&source, &go, &deployed, &facts.crds, shown, &mut lost)?;
        if let Some(namespace) = &deployed.namespace {
            project.namespace = lost.name::<NamespaceName>("the namespace", namespace);
        }
        let granted = Granted::new(&source, &deployed);
        project.namespaced = go.namespaced || granted.are_of_own_namespace(&deployed);
        project.features.extend(&deployed.features);
        if election.is_on == Some(false) {
            project.features.remove(&Feature::LeaderElection);
        }
        project.lease = election.lease;
        project.license = license(&source);
        if let Some(deployment) = &deployed.deployment {
            project.deployment = deployment.settings(&project, &source, &mut Lost::default());
        }
        let takeover = facts.take_over(project, lost);
        let (project, kinds, mut lost) = (takeover.project, takeover.kinds, takeover.lost);
        lost.add_all(go.plugins_left(source.text("PROJECT").unwrap_or(""), &project));
        for main in &source.go.others.mains {
            lost.add(if source.go.others.are_unclear {
                format!(
                    "`{main}`: one of several programs with a manager, and the Go project does not say which one is the \
                     operator; what only the code of this program says, such as finalizers, is not taken over; name the folder of the \
                     operator in a `go build` of its Dockerfile to take it over"
                )
            } else {
                format!(
                    "`{main}`: another program of the Go project, with a manager of its own; it is not ported"
                )
            });
        }
        let mut rules = granted.rules(&source, &mut lost);
        let has_controller = project.controllers().next().is_some();
        if !rules.is_empty() && !has_controller {
            lost.add(
                "the permissions of the manager's role, because the project has no controller",
            );
            rules.clear();
        }
        if rules.is_empty() && has_controller {
            lost.add(
                "the permissions of the operator: no role of the manager was found in `config`, and the markers \
                 `+kubebuilder:rbac` are not read; write them as `RULES` of the controllers",
            );
        }
        Ok(Self {
            project,
            operator: Operator {
                folder: shown.to_owned(),
                kinds,
                granted,
                rules,
                deployed,
                source,
            },
            lost,
        })
    }

    /// The rules of the Go operator that the controllers of `project` lack. `project` has the settings of the command
    /// line.
    ///
    /// # Errors
    /// When the project was not validated.
    pub fn rules(&self, project: &Project) -> Result<BTreeMap<Key, Vec<Rule>>> {
        rules::by_controller(&self.operator.rules, &self.operator.deployed, project)
    }

    /// Returns what the Go project gives to files of `project`, except for the [rules](Self::rules).
    ///
    /// # Errors
    /// When a name in a CRD is not valid, or a manifest cannot be written.
    pub fn files(&self, project: &Project) -> Result<Ported> {
        let operator = &self.operator;
        let (kinds, source) = (&operator.kinds, &operator.source);
        let mut lost = self.lost.clone();
        let (mut additions, differences) = texts::of_crds(kinds, project)?;
        let texts = texts::samples(operator, project, &mut lost);
        for kind in kinds {
            let Some(resource) = kind.resource(project) else {
                continue;
            };
            let hooks = Hooks::new(source, resource, &kind.webhooks, &mut lost);
            if !hooks.are_default() {
                let path = project.webhook_file(resource);
                additions.insert(path, json!({ "hooks": hooks }));
            }
        }
        if let Some(deployment) = &operator.deployed.deployment {
            deployment.settings(project, source, &mut lost);
            let mut reader = manager::Reader {
                source,
                deployed: &operator.deployed,
                deployment,
                project,
                lost: &mut lost,
            };
            if let Some(taken) = reader.read()? {
                let values = format!("charts/{}/values.yaml", project.project_name);
                for path in ["Makefile", "config/manager/manager.yaml", &values] {
                    additions.insert(path.to_owned(), json!({ "deployed": taken }));
                }
            }
        }
        let own_namespace = json!(OwnNamespace::new(operator, project, &mut lost));
        for path in ["config/manager/manager.yaml", "tests/e2e.sh"] {
            let values = additions
                .entry(path.to_owned())
                .or_insert_with(|| json!({}));
            for (name, value) in own_namespace.as_object().into_iter().flatten() {
                values[name] = value.clone();
            }
        }
        if project.license == License::None {
            lost.add(
                "the license: the Go project has none that rscaffold knows; `rscaffold edit --license` sets one, or add \
                 your own file `LICENSE`",
            );
        }
        namespaces::report(operator, project, &mut lost);
        Ok(Ported {
            additions,
            texts,
            lost,
            differences,
        })
    }

    /// Returns the values of `PORTING.md`, and the notes that the command prints. `rendered` has the texts of all files of
    /// `project`, with what `ported` gives to them.
    ///
    /// # Errors
    /// When the list of what projects of kubebuilder deploy is not YAML.
    pub fn report(
        &self,
        project: &Project,
        ported: Ported,
        rendered: &BTreeMap<&str, &str>,
    ) -> Result<(Report, Vec<String>)> {
        let mut lost = ported.lost;
        compare::report(&self.operator, rendered, &mut lost)?;
        let notes = self.notes(project, &lost);
        let report = report::report(&self.operator, project, &lost, ported.differences);
        Ok((report, notes))
    }

    /// The notes that the command prints.
    fn notes(&self, project: &Project, lost: &Lost) -> Vec<String> {
        let folder = visible(&self.operator.folder);
        let mut notes = vec![format!("from `{folder}`: {}", self.summary(project))];
        let things = counted(lost.items.len(), "thing");
        notes.extend(
            things.map(|things| format!("{things} could not be taken over: see `{REPORT}`")),
        );
        let warnings = counted(lost.warnings.len(), "warning");
        notes.extend(warnings.map(|warnings| format!("{warnings}: see `{REPORT}`")));
        notes
    }

    fn summary(&self, project: &Project) -> String {
        let mut kinds = BTreeSet::new();
        for resource in project.resources.iter() {
            kinds.insert((project.full_group(resource), &resource.kind));
        }
        let mut parts = Vec::new();
        for (count, thing, rest) in [
            (kinds.len(), "kind", ""),
            (project.controllers().count(), "controller", ""),
            (project.webhooks().count(), "kind", " with webhooks"),
            (self.operator.rules.len(), "resource", " in RULES"),
        ] {
            parts.extend(counted(count, thing).map(|things| things + rest));
        }
        if parts.is_empty() {
            "no kinds".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

/// A number of things, such as `2 kinds`; `None` for 0.
fn counted(count: usize, thing: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {thing}")),
        _ => Some(format!("{count} {thing}s")),
    }
}

/// The license of the Go project, if rscaffold knows it: of the file for it, or else of the header of Go files.
fn license(source: &Source) -> License {
    let text = LICENSES.iter().find_map(|path| source.text(path));
    let title: String = text.unwrap_or("").chars().take(MAX_TITLE).collect();
    let has = |words: [&str; 2]| words.iter().any(|word| title.contains(word));
    if has(["Apache License", "License-Identifier: Apache-2.0"]) {
        License::Apache2
    } else if has(["MIT License", "License-Identifier: MIT"]) {
        License::Mit
    } else {
        License::None
    }
}

#[cfg(test)]
mod tests;
