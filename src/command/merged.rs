//! A project after two branches of it were merged by git.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};

use super::{text, turn};
use crate::{
    hint::OrHint,
    project::{Project, Resource},
    reconcile::{
        Texts,
        markers::{Marked, Take},
    },
    render::render,
    worktree::WorkTree,
};

/// The project of a work tree, and what it shall be.
pub struct Merged {
    /// As `PROJECT` has it; where git left that open, on the branch that was checked out.
    pub before: Project,
    /// What it shall be.
    pub after: Project,
    /// As the other branch has it, where git left that open.
    other: Option<Project>,
}

impl Merged {
    /// Reads the project, and settles what git left open in `PROJECT`.
    pub fn load(tree: &WorkTree) -> Result<Self> {
        let text = text(tree)?;
        let Some(marked) = Marked::parse(&text) else {
            let project = Project::parse(&text)?;
            return Ok(Self {
                before: project.clone(),
                after: project,
                other: None,
            });
        };
        let side = |take| Project::parse(&marked.take(take));
        let (before, other) = (side(Take::Ours)?, side(Take::Theirs)?);
        let after = both(tree, &before, &other).or_hint(format!(
            "settle line {} of `{}` by hand, and run the command again",
            marked.line,
            Project::FILE
        ))?;
        Ok(Self {
            before,
            after,
            other: Some(other),
        })
    }

    /// What was written last, without files that one branch has not: git has removed such a file,
    /// and not the user.
    pub fn base(&self, tree: &WorkTree) -> Result<Texts> {
        let mut base = tree.base()?;
        if base.is_empty() && self.is_alone(tree)? {
            return Ok(base);
        }
        turn::ensure_known(&base)?;
        if let Some(other) = &self.other {
            let sides = [render(&self.before)?.texts, render(other)?.texts];
            let is_once = |path: &&str| sides.iter().any(|side| !side.contains_key(*path));
            let once: Vec<_> = base.keys().map(String::as_str).filter(is_once).collect();
            let there = tree.ours(once.iter().copied())?;
            let gone = once.into_iter().filter(|path| !there.contains_key(*path));
            for path in gone.map(str::to_owned).collect::<Vec<_>>() {
                base.remove(&path);
            }
        }
        Ok(base)
    }

    /// Whether the project has nothing but its description, so that all else is new.
    fn is_alone(&self, tree: &WorkTree) -> Result<bool> {
        let mut files = render(&self.after)?.texts;
        files.remove(Project::FILE);
        Ok(tree.ours(files.keys().map(String::as_str))?.is_empty())
    }
}

/// What two branches say of the project: all of what each of them has.
fn both(tree: &WorkTree, ours: &Project, theirs: &Project) -> Result<Project> {
    let file = Project::FILE;
    let shared = |project: &Project| Project {
        cli_version: String::new(),
        features: BTreeSet::new(),
        resources: Vec::new(),
        ..project.clone()
    };
    let [a, b] = [shared(ours), shared(theirs)].map(serde_json::to_value);
    let (a, b) = (a?, b?);
    let settings = a.as_object().into_iter().chain(b.as_object()).flatten();
    let mut names = settings.map(|(name, _)| name);
    if let Some(name) = names.find(|name| a.get(name) != b.get(name)) {
        bail!("the branches disagree on `{name}` in `{file}`");
    }
    let mut both = ours.clone();
    both.features.extend(&theirs.features);
    let only_ours = ours.resources.iter();
    let mut once: Vec<Resource> = only_ours
        .filter(|resource| theirs.position(resource).is_none())
        .cloned()
        .collect();
    for resource in &theirs.resources {
        if let Some(there) = ours.position(resource) {
            ensure!(
                ours.resources[there] == *resource,
                "the branches disagree on {resource} in `{file}`"
            );
        } else {
            both.resources.push(resource.clone());
            once.push(resource.clone());
        }
    }
    for resource in once {
        let mut without = both.clone();
        without.resources.retain(|other| *other != resource);
        if !has_files(tree, &both, &without)? {
            both = without;
        }
    }
    for feature in &ours.features ^ &theirs.features {
        let mut without = both.clone();
        without.features.remove(&feature);
        if !has_files(tree, &both, &without)? {
            both = without;
        }
    }
    both.sort();
    both.validate()?;
    Ok(both)
}

/// Whether any of the files is there that the project `with` something has, and the one `without` it
/// has not.
///
/// What stands on one side alone was added there, or deleted on the other. `PROJECT` does not tell,
/// but git has merged the files.
fn has_files(tree: &WorkTree, with: &Project, without: &Project) -> Result<bool> {
    if without.validate().is_err() {
        return Ok(true);
    }
    let (with, without) = (render(with)?.texts, render(without)?.texts);
    let own: Vec<_> = with
        .keys()
        .filter(|path| !without.contains_key(*path))
        .collect();
    let there = tree.ours(own.iter().map(|path| path.as_str()))?;
    Ok(own.is_empty() || !there.is_empty())
}
