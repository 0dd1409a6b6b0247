//! `rscaffold init`

use std::{collections::BTreeMap, path::Path, process::ExitCode};

use anyhow::{Result, anyhow};

use super::{Mode, ask, bring_in_line, root};
use crate::{
    names::{Domain, ProjectName, Repo},
    project::{License, Project},
    report::{OrHint, Step, Story},
    worktree::WorkTree,
};

/// The arguments of `init`.
#[derive(Debug)]
pub struct Options {
    /// Asked for if missing.
    pub domain: Option<Domain>,
    /// The project's name if missing.
    pub repo: Option<Repo>,
    /// The folder's name if missing.
    pub project_name: Option<ProjectName>,
    /// Of the source files.
    pub license: License,
    /// Who holds the copyright.
    pub owner: Option<String>,
    /// Whether the operator watches its own namespace only.
    pub namespaced: bool,
}

/// Starts a project in the current folder.
pub fn run(options: Options, mode: Mode) -> Result<ExitCode> {
    let root = root()?;
    let tree = WorkTree::open(&root)?;
    if tree.project()?.is_some() {
        return Err(anyhow!(
            "this folder is a project already: `{}` is there",
            Project::FILE
        ))
        .or_hint("`rscaffold create api` adds to it");
    }
    let project = options.project(&root)?;
    let story = Story {
        done: Some(format!("{} is ready", project.project_name)),
        unchanged: format!("{} is there and up to date", project.project_name),
        folded: true,
        remarks: BTreeMap::new(),
        notes: Vec::new(),
        next: vec![Step::new(
            "rscaffold create api --group webapp --version v1 --kind Guestbook",
            "",
        )],
    };
    bring_in_line(&tree, None, project, mode, &story)
}

impl Options {
    /// The project that they describe, in the folder `root`.
    fn project(self, root: &Path) -> Result<Project> {
        ask::possible(&[("--domain", self.domain.is_some())])?;
        let project_name = match self.project_name {
            Some(name) => name,
            None => name_of_folder(root)?,
        };
        let repo = match self.repo {
            Some(repo) => repo,
            None => project_name
                .as_str()
                .parse()
                .map_err(anyhow::Error::new)
                .or_hint("`--repo` names the crate")?,
        };
        let domain = match self.domain {
            Some(domain) => domain,
            None => ask::ask("Domain of the API groups", Some(&"example.com".parse()?))?,
        };
        Ok(Project {
            cli_version: String::new(),
            domain,
            layout: vec![Project::LAYOUT.to_owned()],
            license: self.license,
            multigroup: true,
            namespaced: self.namespaced,
            owner: self.owner,
            project_name,
            repo,
            resources: Vec::new(),
            version: Project::VERSION.to_owned(),
        })
    }
}

fn name_of_folder(root: &Path) -> Result<ProjectName> {
    let folder = root.file_name().unwrap_or_default().to_string_lossy();
    ProjectName::from_folder(&folder)
        .map_err(anyhow::Error::new)
        .or_hint("`--project-name` names the project, whatever the folder's name")
}
