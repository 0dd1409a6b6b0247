//! `rscaffold init`

use std::{path::Path, process::ExitCode};

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
        folded: true,
        next: vec![Step::new(
            "rscaffold create api --group webapp --version v1 --kind Guestbook",
            "",
        )],
        ..Story::default()
    };
    bring_in_line(&tree, None, project, mode, &story)
}

impl Options {
    /// The project that they describe, in the folder `root`.
    fn project(self, root: &Path) -> Result<Project> {
        ask::possible(&[("--domain", self.domain.is_some())])?;
        let project_name = if let Some(name) = self.project_name {
            name
        } else {
            let folder = root.file_name().unwrap_or_default();
            ProjectName::from_folder(&folder.to_string_lossy())
                .or_hint("`--project-name` names the project, whatever its folder is called")?
        };
        let repo = match self.repo {
            Some(repo) => repo,
            None => project_name
                .as_str()
                .parse()
                .or_hint("`--repo` gives the crate another name than the project's")?,
        };
        let domain = match self.domain {
            Some(domain) => domain,
            None => ask::ask("Domain of the API groups", Some(&"example.com".parse()?))?,
        };
        let project = Project {
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
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
        };
        project.validate()?;
        Ok(project)
    }
}
