//! A project after two branches of it were merged by git.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::missing;
use crate::{
    project::{Project, Resource},
    reconcile::markers::{Marked, Take},
    render::render,
    report::OrHint,
    worktree::WorkTree,
};

/// The project of the work tree: as `PROJECT` has it, and as it shall be if git left that open
/// between two branches.
pub fn load(tree: &WorkTree) -> Result<(Project, Project)> {
    let Some(text) = tree.project()? else {
        return Err(missing(tree)?);
    };
    let Some(marked) = Marked::parse(&text) else {
        let project = Project::parse(&text)?;
        return Ok((project.clone(), project));
    };
    let side = |take| Project::parse(&marked.take(take));
    let (ours, theirs) = (side(Take::Ours)?, side(Take::Theirs)?);
    let both = both(tree, &ours, theirs).or_hint(format!(
        "settle line {} of `{}` by hand, and run the command again",
        marked.line,
        Project::FILE
    ))?;
    Ok((ours, both))
}

/// What two branches say of the project: all of what each of them has.
fn both(tree: &WorkTree, ours: &Project, theirs: Project) -> Result<Project> {
    let file = Project::FILE;
    let shared = |project: &Project| Project {
        cli_version: String::new(),
        features: BTreeSet::new(),
        resources: Vec::new(),
        ..project.clone()
    };
    ensure!(
        shared(ours) == shared(&theirs),
        "the branches disagree on the settings in `{file}`"
    );
    let mut both = ours.clone();
    both.features.extend(&theirs.features);
    let only_ours = ours.resources.iter();
    let mut once: Vec<Resource> = only_ours
        .filter(|resource| theirs.position(resource).is_none())
        .cloned()
        .collect();
    for resource in theirs.resources {
        if let Some(there) = ours.position(&resource) {
            ensure!(
                ours.resources[there] == resource,
                "the branches disagree on {resource} in `{file}`"
            );
        } else {
            both.resources.push(resource.clone());
            once.push(resource);
        }
    }
    for resource in once {
        if !has_files(tree, &both, &resource)? {
            both.resources.retain(|other| *other != resource);
        }
    }
    both.validate()?;
    Ok(both)
}

/// Whether any of the files is there that only `resource` has.
///
/// An entry that stands on one side alone was added there, or deleted on the other. `PROJECT` does
/// not tell, but git has merged the files.
fn has_files(tree: &WorkTree, project: &Project, resource: &Resource) -> Result<bool> {
    let mut without = project.clone();
    without.resources.retain(|other| other != resource);
    if without.validate().is_err() {
        return Ok(true);
    }
    let (with, without) = (render(project)?, render(&without)?);
    let own: Vec<_> = with
        .keys()
        .filter(|path| !without.contains_key(*path))
        .collect();
    let there = tree.ours(own.iter().map(|path| path.as_str()))?;
    Ok(own.is_empty() || !there.is_empty())
}
