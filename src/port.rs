//! Ports a Go operator to a project of rscaffold: its [`Project`], and the texts of files that count as the user's
//! edits.
//!
//! The code here is pure. The files of the Go project are untrusted data: the types of [`names`](crate::names) validate
//! each name, and the report lists what cannot be taken over.

mod config;
mod election;
mod file;
mod finalizers;
mod go;
mod kinds;
mod related;
mod report;
mod rules;
mod source;
mod texts;

use std::{collections::BTreeSet, str::FromStr};

use anyhow::{Context as _, Error, Result};

use self::{
    config::Deployed,
    election::Election,
    file::GoProject,
    kinds::GoKind,
    report::{Made, Report},
    rules::Rights,
    source::Source,
};
pub use self::{
    report::FILE as REPORT,
    source::{WITHOUT, is_wanted},
};
use crate::{
    engine::worktree::Snapshot,
    hint::OrHint,
    names::{Domain, NamespaceName, ProjectName, Repo},
    project::{Feature, License, Project},
    visible::visible,
};

/// A Go project that was read.
#[derive(Debug)]
pub struct Port {
    /// The new project, with the settings that were found in the Go project.
    pub project: Project,
    kinds: Vec<GoKind>,
    rights: Rights,
    deployed: Deployed,
    source: Source,
    report: Report,
}

impl Port {
    /// Reads the files of a Go project, which is in the folder `shown`.
    ///
    /// # Errors
    /// When the folder has no Go operator, or when neither PROJECT nor a CRD gives a domain.
    pub fn read(files: Snapshot, shown: &str) -> Result<Self> {
        let source = Source::new(files);
        let mut report = Report::new(shown);
        for (path, reason) in &source.files.unread {
            report.lost(format!("`{path}` could not be read: {reason}"));
        }
        let go = match source.text("PROJECT") {
            Some(text) => GoProject::parse(text).with_context(|| {
                format!(
                    "`{}` is not the PROJECT file of an operator in Go",
                    in_folder(shown)
                )
            })?,
            None => GoProject::default(),
        };
        let crds = kinds::crds(&source, &mut report);
        let domain = domain(&go, &crds, shown, &mut report)?;
        let deployed = Deployed::new(&source, &go);
        let module = module(&source, &go);
        let name = name(&go, &deployed, module.as_deref(), shown)?;
        let repo = repo(module.as_deref(), &name, &mut report)?;
        let mut project = Project::new(domain, name, repo);
        project.namespace = deployed
            .namespace
            .as_deref()
            .and_then(|it| name_of::<NamespaceName>("the namespace", it, &mut report));
        project.namespaced = go.namespaced;
        project.features.extend(&deployed.features);
        let election = Election::new(&source, &deployed, &mut report);
        if election.is_on == Some(false) {
            project.features.remove(&Feature::LeaderElection);
        }
        project.lease = election.lease;
        if let Some(license) = license(&source) {
            project.license = license;
        }
        let begun = (project.clone(), report.clone());
        let check = kinds::Check::None;
        let mut kinds = kinds::take(&mut project, &source, &go, crds, check, &mut report);
        // The kinds do not fit together: start again, and check each kind.
        if project.validate().is_err() {
            (project, report) = begun;
            let crds = kinds::crds(&source, &mut report);
            let check = kinds::Check::Each;
            kinds = kinds::take(&mut project, &source, &go, crds, check, &mut report);
        }
        let (rights, lost) = rules::rights(&source, deployed.namespace.as_deref());
        for lost in lost {
            report.lost(lost);
        }
        Ok(Self {
            project,
            kinds,
            rights,
            deployed,
            source,
            report,
        })
    }

    /// The notes that the command prints.
    fn notes(&self, project: &Project, made: &Made) -> Vec<String> {
        let mut notes = vec![format!(
            "from {}: {}",
            self.report.folder(),
            self.summary(project)
        )];
        let lost = self.report.count() + made.lost.len();
        if lost > 0 {
            let them = ["them", "it"][usize::from(lost == 1)];
            let things = ["things", "thing"][usize::from(lost == 1)];
            notes.push(format!(
                "{lost} {things} could not be taken over: `{REPORT}` lists {them}"
            ));
        }
        match self.report.warnings().len() {
            0 => {}
            1 => notes.push(format!("1 warning: `{REPORT}` has it")),
            several => notes.push(format!("{several} warnings: `{REPORT}` has them")),
        }
        notes
    }

    fn summary(&self, project: &Project) -> String {
        let kinds: BTreeSet<_> = project
            .resources
            .iter()
            .map(|it| (project.full_group(it), &it.kind))
            .collect();
        let webhooks = project.webhooks().count();
        let counts = [
            (kinds.len(), "kind"),
            (project.controllers().count(), "controller"),
            (webhooks, "kind with webhooks"),
            (self.rights.len(), "resource in RULES"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, what)| match (count, what.split_once(' ')) {
            (1, _) => format!("1 {what}"),
            (_, Some((first, rest))) => format!("{count} {first}s {rest}"),
            (_, None) => format!("{count} {what}s"),
        });
        let counts: Vec<_> = counts.collect();
        if counts.is_empty() {
            "no kinds".to_owned()
        } else {
            counts.join(", ")
        }
    }
}

fn in_folder(shown: &str) -> String {
    visible(&format!("{}/PROJECT", shown.trim_end_matches('/'))).into_owned()
}

/// Parses a name of the Go project. Reports an invalid name, and returns `None`.
fn name_of<T: FromStr<Err = Error>>(what: &str, text: &str, report: &mut Report) -> Option<T> {
    let name = text.parse();
    name.map_err(|error| report.lost(format!("{what}: {error}")))
        .ok()
}

/// The domain of the API groups: from PROJECT, or the common end of the groups of the CRDs.
fn domain(
    go: &GoProject,
    crds: &[(String, crate::crd::Crd)],
    shown: &str,
    report: &mut Report,
) -> Result<Domain> {
    let given = go.domain.as_deref().filter(|it| !it.is_empty());
    if let Some(domain) = given.and_then(|it| name_of("the domain of PROJECT", it, report)) {
        return Ok(domain);
    }
    let mut groups = crds.iter().map(|(_, crd)| crd.group.as_str());
    let first = groups
        .next()
        .and_then(|group| Some(group.split_once('.')?.1));
    let common = groups.try_fold(first.unwrap_or_default(), |common, group| {
        let tails = common.match_indices('.').map(|(at, _)| &common[at + 1..]);
        let mut tails = [common].into_iter().chain(tails);
        tails.find(|tail| group.ends_with(&format!(".{tail}")))
    });
    let common = common.filter(|it| !it.is_empty()).or(first);
    common
        .and_then(|it| it.parse().ok())
        .with_context(|| {
            format!(
                "`{}` is not the folder of an operator in Go: it has neither kubebuilder's PROJECT \
                 file with a `domain`, nor CRDs in `config/crd`",
                visible(shown)
            )
        })
        .or_hint("give the folder that contains `go.mod` and `config`")
}

/// The Go module, without its major version.
fn module(source: &Source, go: &GoProject) -> Option<String> {
    let lines = source.text("go.mod").unwrap_or_default().lines();
    let mut modules = lines.filter_map(|line| line.trim().strip_prefix("module "));
    let module = go.repo.as_deref().or_else(|| modules.next())?;
    let module = module.trim().trim_matches('"');
    let is_major = |(_, last): &(&str, &str)| {
        let number = last.strip_prefix('v');
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
    };
    let short = module.rsplit_once('/').filter(is_major);
    Some(short.map_or(module, |(short, _)| short).to_owned())
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
        .and_then(|it| it.strip_suffix('-'));
    let is_usual = |prefix: &&str| {
        let usual = format!("{prefix}-system");
        deployed.namespace.as_deref().is_none_or(|it| it == usual)
    };
    let last = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let names = [
        prefix.filter(is_usual).map(str::to_owned),
        go.project_name.clone(),
        module.and_then(last),
        last(shown.trim_end_matches('/')),
    ];
    let mut names = names.into_iter().flatten();
    let name = names.find_map(|name| ProjectName::from_folder(&name).ok());
    name.context("the Go project has no name that this project could take")
        .or_hint("name the project with `--project-name`")
}

fn repo(module: Option<&str>, name: &ProjectName, report: &mut Report) -> Result<Repo> {
    match module.and_then(|it| name_of("the Go module", it, report)) {
        Some(repo) => Ok(repo),
        None => name
            .as_str()
            .parse()
            .or_hint("give the crate another name than the project with `--repo`"),
    }
}

fn license(source: &Source) -> Option<License> {
    let text = source.text("LICENSE")?;
    let title: String = text.chars().take(200).collect();
    match title {
        title if title.contains("Apache License") => Some(License::Apache2),
        title if title.contains("MIT License") => Some(License::Mit),
        _ => Some(License::None),
    }
}

#[cfg(test)]
mod tests;
