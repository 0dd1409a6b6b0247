//! Ports a Go operator to a project of rscaffold. Who changes commands or templates need not read this folder: a
//! snapshot of files comes in, and a [`Project`], rules of its controllers, texts of files and a [`Report`] come out.
//!
//! The code here is pure. The files of the Go project are untrusted data: the types of [`names`](crate::names) validate
//! each name, and the report lists what cannot be taken over.

mod compare;
mod config;
mod election;
mod file;
mod finalizers;
mod go;
mod go_file;
mod hooks;
mod kind;
mod kinds;
mod kustomize;
mod lost;
mod manager;
mod path;
mod programs;
mod related;
mod report;
mod rules;
mod source;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::Value;

use self::{
    config::Deployed, election::Election, file::GoProject, hooks::Hooks, kind::GoKind, lost::Lost,
    path::file_name, report::Subject, source::Source,
};
pub use self::{
    report::Report,
    source::{WITHOUT, is_wanted},
};
use crate::{
    crd::Crd,
    engine::Texts,
    engine::worktree::Snapshot,
    hint::OrHint,
    names::{ControllerName, Domain, GroupVersionKind, NamespaceName, ProjectName, Repo},
    project::{Feature, License, Project, Rule},
    render::{Rendered, Templates},
    visible::visible,
};

/// The name of the report file.
pub const REPORT: &str = "PORTING.md";

/// A Go project that was read.
#[derive(Debug)]
pub struct Port {
    /// The new project, with the settings that were found in the Go project.
    pub project: Project,
    folder: String,
    kinds: Vec<GoKind>,
    rules: Vec<Rule>,
    deployed: Deployed,
    source: Source,
    lost: Lost,
}

/// The texts of a port.
#[derive(Debug)]
pub struct Ported {
    /// The texts of files. They count as the user's edits.
    pub texts: Texts,
    /// The values of `PORTING.md`.
    pub report: Report,
    /// The notes that the command prints.
    pub notes: Vec<String>,
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
    pub fn read(files: Snapshot, shown: &str) -> Result<Self> {
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
        let crds = kinds::crds(&source, &deployed, &mut lost);
        let domain = domain(&go, &crds, shown, &mut lost)?;
        let module = module(&source, &go);
        let name = name(&go, &deployed, module, shown)?;
        let repo = repo(module, &name, &mut lost)?;
        let mut project = Project::new(domain, name, repo);
        if let Some(namespace) = &deployed.namespace {
            project.namespace = lost.name::<NamespaceName>("the namespace", namespace);
        }
        project.namespaced = go.namespaced;
        project.features.extend(&deployed.features);
        let election = Election::new(&source, &deployed, &mut lost);
        if election.is_on == Some(false) {
            project.features.remove(&Feature::LeaderElection);
        }
        project.lease = election.lease;
        if let Some(license) = license(&source) {
            project.license = license;
        }
        if let Some(deployment) = &deployed.deployment {
            (project.deployment, _) = deployment.settings(&project);
        }
        let begun = (project.clone(), lost.clone());
        let mut kinds = Vec::new();
        for check in [kinds::Check::None, kinds::Check::Each] {
            (project, lost) = begun.clone();
            kinds = kinds::take(
                &mut project,
                (&source, &deployed),
                &go,
                crds.clone(),
                check,
                &mut lost,
            );
            // If the kinds do not fit together: start again, and check each kind.
            if project.validate().is_ok() {
                break;
            }
        }
        for line in go.plugins_left() {
            lost.add(line);
        }
        for main in &source.go.others.mains {
            lost.add(format!(
                "`{main}`: another program of the Go project, with a manager of its own; it is not ported"
            ));
        }
        let rules = rules::of_manager(&source, &deployed, &mut lost);
        if !rules.is_empty() && project.controllers().next().is_none() {
            lost.add("the permissions of the manager's role: there is no controller");
        }
        Ok(Self {
            project,
            folder: shown.to_owned(),
            kinds,
            rules,
            deployed,
            source,
            lost,
        })
    }

    /// The rules of the Go operator that the controllers of `project` lack. `project` has the settings of the command
    /// line.
    ///
    /// # Errors
    /// When the project was not validated.
    pub fn rules(
        &self,
        project: &Project,
    ) -> Result<BTreeMap<(GroupVersionKind, ControllerName), Vec<Rule>>> {
        rules::by_controller(&self.rules, project)
    }

    /// Returns the texts that the Go project gives to files of `project`, except for the [rules](Self::rules), and the
    /// values of the report.
    ///
    /// # Errors
    /// When a template has a defect, or a manifest cannot be written.
    pub fn files(
        &self,
        project: &Project,
        templates: &Templates,
        rendered: &Rendered,
    ) -> Result<Ported> {
        let mut texts = Texts::new();
        let mut lost = self.lost.clone();
        let differences = texts::of_crds(&self.kinds, project, templates, rendered, &mut texts)?;
        let (source, kinds) = (&self.source, &self.kinds);
        texts::samples(
            source,
            kinds,
            project,
            &rendered.texts,
            &mut texts,
            &mut lost,
        );
        self.webhooks(project, templates, rendered, &mut texts, &mut lost)?;
        if let Some(deployment) = &self.deployed.deployment {
            for item in deployment.settings(project).1 {
                lost.add(item);
            }
            let mut reader = manager::Reader {
                source,
                deployment,
                project,
                lines: Vec::new(),
            };
            if let Some(taken) = reader.read()? {
                let values = format!("charts/{}/values.yaml", project.project_name);
                for path in ["Makefile", "config/manager/manager.yaml", &values] {
                    let text = rendered.file_with(templates, path, "deployed", &taken)?;
                    texts.extend(text.map(|text| (path.to_owned(), text)));
                }
            }
            for line in reader.lines {
                lost.add(line);
            }
        }
        for line in compare::left(source, &self.deployed, &rendered.texts) {
            lost.add(line);
        }
        let subject = Subject {
            project,
            folder: &self.folder,
            source,
            deployed: &self.deployed,
            kinds,
            rules: self.rules.len(),
        };
        Ok(Ported {
            texts,
            notes: self.notes(project, &lost),
            report: subject.report(&lost, differences),
        })
    }

    /// Adds the files of webhooks whose settings are not the default.
    fn webhooks(
        &self,
        project: &Project,
        templates: &Templates,
        rendered: &Rendered,
        texts: &mut Texts,
        lost: &mut Lost,
    ) -> Result<()> {
        for kind in &self.kinds {
            let mut hooks = Hooks::default();
            let mut lines = Vec::new();
            for webhook in &kind.webhooks {
                let settings = hooks::settings(&self.source, webhook, &mut lines);
                if webhook.is_defaulting {
                    hooks.defaulting = settings;
                } else {
                    hooks.validation = settings;
                }
            }
            for line in lines {
                lost.add(line);
            }
            let mut resources = project.resources.iter();
            if let Some(resource) = resources.find(|resource| resource.id() == kind.id)
                && !(hooks.defaulting.is_default() && hooks.validation.is_default())
            {
                let path = project.webhook_file(resource);
                let text = rendered.file_with(templates, &path, "hooks", &hooks)?;
                texts.extend(text.map(|text| (path, text)));
            }
        }
        Ok(())
    }

    /// The notes that the command prints.
    fn notes(&self, project: &Project, lost: &Lost) -> Vec<String> {
        let folder = visible(&self.folder);
        let mut notes = vec![format!("from `{folder}`: {}", self.summary(project))];
        match lost.items.len() {
            0 => {}
            1 => notes.push(format!(
                "1 thing could not be taken over: `{REPORT}` lists it"
            )),
            several => notes.push(format!(
                "{several} things could not be taken over: `{REPORT}` lists them"
            )),
        }
        match lost.warnings.len() {
            0 => {}
            1 => notes.push(format!("1 warning: `{REPORT}` has it")),
            several => notes.push(format!("{several} warnings: `{REPORT}` has them")),
        }
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
            (self.rules.len(), "resource", " in RULES"),
        ] {
            match count {
                0 => {}
                1 => parts.push(format!("1 {thing}{rest}")),
                _ => parts.push(format!("{count} {thing}s{rest}")),
            }
        }
        if parts.is_empty() {
            "no kinds".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

/// The domain of the API groups: from PROJECT, or the common end of the groups of the CRDs.
fn domain(go: &GoProject, crds: &[(String, Crd)], shown: &str, lost: &mut Lost) -> Result<Domain> {
    if let Some(domain) = &go.domain
        && !domain.is_empty()
        && let Some(valid) = lost.name("the domain of PROJECT", domain)
    {
        return Ok(valid);
    }
    let common = common_domain(crds).and_then(|domain| domain.parse().ok());
    common
        .with_context(|| {
            format!(
                "`{}` is not the folder of an operator in Go: it has neither kubebuilder's PROJECT \
                 file with a `domain`, nor CRDs in `config/crd`",
                visible(shown)
            )
        })
        .or_hint("give the folder that contains `go.mod` and `config`")
}

/// The longest domain in which all groups of the CRDs are, or else that of the first group.
fn common_domain(crds: &[(String, Crd)]) -> Option<&str> {
    let ((_, first), others) = crds.split_first()?;
    let (_, of_first) = first.group.split_once('.')?;
    let mut domain = of_first;
    loop {
        let end = format!(".{domain}");
        if others.iter().all(|(_, crd)| crd.group.ends_with(&end)) {
            return Some(domain);
        }
        match domain.split_once('.') {
            Some((_, shorter)) => domain = shorter,
            None => return Some(of_first),
        }
    }
}

/// The Go module, without its major version.
fn module<'a>(source: &'a Source, go: &'a GoProject) -> Option<&'a str> {
    let module = go.repo.as_deref().or_else(|| source.module())?;
    let path = module.trim().trim_matches('"');
    if let Some((short, last)) = path.rsplit_once('/')
        && let Some(number) = last.strip_prefix('v')
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Some(short);
    }
    Some(path)
}

/// The name of the project: the prefix of the deployed objects, if the namespace has the same prefix, or else a name
/// from PROJECT, the Go module or the folder.
fn name(
    go: &GoProject,
    deployed: &Deployed,
    module: Option<&str>,
    shown: &str,
) -> Result<ProjectName> {
    let prefix = deployed
        .prefix
        .as_deref()
        .and_then(|prefix| prefix.strip_suffix('-'));
    let of_namespace = match &deployed.namespace {
        Some(namespace) => namespace.strip_suffix("-system"),
        None => prefix,
    };
    let names = [
        prefix.filter(|prefix| of_namespace == Some(prefix)),
        go.project_name.as_deref(),
        module.map(file_name),
        Some(file_name(shown.trim_end_matches('/'))),
    ];
    let mut known = names.into_iter().flatten();
    let valid = known.find_map(|name| ProjectName::from_folder(name).ok());
    valid
        .context("the Go project has no name that this project could take")
        .or_hint("name the project with `--project-name`")
}

fn repo(module: Option<&str>, name: &ProjectName, lost: &mut Lost) -> Result<Repo> {
    if let Some(module) = module
        && let Some(repo) = lost.name("the Go module", module)
    {
        return Ok(repo);
    }
    let repo = name.as_str().parse();
    repo.or_hint("give the crate another name than the project with `--repo`")
}

fn license(source: &Source) -> Option<License> {
    let text = source.text("LICENSE")?;
    let title: String = text.chars().take(200).collect();
    Some(if title.contains("Apache License") {
        License::Apache2
    } else if title.contains("MIT License") {
        License::Mit
    } else {
        License::None
    })
}

#[cfg(test)]
mod tests;
