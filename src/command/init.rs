//! `rscaffold init`

use std::{path::Path, process::ExitCode};

use anyhow::{Result, anyhow};

use super::{
    Mode, ask, bring_in_line, root,
    settings::{Settings, notes},
};
use crate::{
    names::ProjectName,
    project::{Feature, License, Project},
    report::{OrHint, Step, Story},
    worktree::{WorkTree, Workspace},
};

/// Starts a project in the current folder.
///
/// Of `settings`, the domain is asked for if missing, the project's name is the folder's, and that of
/// the crate the project's.
pub fn run(settings: Settings, mode: Mode) -> Result<ExitCode> {
    let root = root()?;
    let tree = WorkTree::open(&root)?;
    if tree.project()?.is_some() {
        return Err(anyhow!(
            "this folder is a project already: `{}` is there",
            Project::FILE
        ))
        .or_hint("`rscaffold create api` adds to it, `rscaffold edit` changes it");
    }
    let workspace = tree.workspace()?;
    let project = project(settings, &root, workspace.as_ref())?;
    let mut notes = notes(&project);
    if let Some(workspace) = workspace {
        notes.push(format!(
            "the project is part of the workspace in `{}`: `members` in its Cargo.toml must have \
             `{}`",
            workspace.root, workspace.member
        ));
    }
    let story = Story {
        done: Some(format!("{} is ready", project.project_name)),
        folded: true,
        notes,
        next: vec![Step::new(
            "rscaffold create api --group webapp --version v1 --kind Guestbook",
            "",
        )],
        ..Story::default()
    };
    bring_in_line(&tree, None, project, mode, &story)
}

/// The project that `settings` describe, in the folder `root`.
fn project(settings: Settings, root: &Path, workspace: Option<&Workspace>) -> Result<Project> {
    ask::possible(&[("--domain", settings.domain.is_some())])?;
    let project_name = if let Some(name) = &settings.project_name {
        name.clone()
    } else {
        let folder = root.file_name().unwrap_or_default();
        ProjectName::from_folder(&folder.to_string_lossy())
            .or_hint("`--project-name` names the project, whatever its folder is called")?
    };
    let repo = match &settings.repo {
        Some(repo) => repo.clone(),
        None => project_name
            .as_str()
            .parse()
            .or_hint("`--repo` gives the crate another name than the project's")?,
    };
    let domain = match &settings.domain {
        Some(domain) => domain.clone(),
        None => ask::ask("Domain of the API groups", Some(&"example.com".parse()?))?,
    };
    let mut project = Project {
        cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        domain,
        features: Feature::usual(),
        layout: vec![Project::LAYOUT.to_owned()],
        license: License::Apache2,
        multigroup: true,
        namespaced: false,
        owner: None,
        project_name,
        repo,
        resources: Vec::new(),
        version: Project::VERSION.to_owned(),
        workspace: workspace.map(|workspace| workspace.root.clone()),
    };
    settings.apply(&mut project)?;
    Ok(project)
}
