//! One run of a command: updates the work tree after a change of the project.
//!
//! A turn first collects the sides of all files. Then [`reconcile`] makes a plan from them.

mod base;
mod branches;
mod given;
mod moves;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use anyhow::{Result, anyhow, ensure};

use crate::{
    engine::reconcile::{OnConflict, Plan, Policy, Sides, markers::Marked, reconcile},
    engine::worktree::{Record, Unmerged, WorkTree},
    engine::{Text, Texts, digest::is_digest},
    hint::OrHint,
    project::Project,
    render::{CONVENTIONS, render},
};

use given::Known;
use moves::Sources;

/// The input of a turn.
#[derive(Debug)]
pub struct Turn<'a> {
    /// When the turn began.
    pub start: Instant,
    /// The project's folder.
    pub tree: &'a WorkTree,
    /// The project in `PROJECT` on disk; `None` if there is no such file, or if git left it open.
    pub before: Option<Project>,
    /// The new project.
    pub after: Project,
    /// The record of what was written last.
    pub record: Record,
    /// The files that git left open, for a command that resolves them.
    pub branches: Option<Unmerged>,
    /// Files and folders to leave unchanged in this turn.
    pub excluded: Vec<String>,
    /// Texts from an input of the command, such as a CRD.
    pub given: GivenTexts,
}

/// Texts that come from the user with a command. Each counts as the user's edit of a file.
#[derive(Debug, Default)]
pub struct GivenTexts {
    /// The text of each file.
    pub texts: Texts,
    /// Whether the texts also replace the user's earlier edits.
    pub replace: bool,
}

/// The sides of all files in a turn. Together with a policy they determine the plan.
#[derive(Debug)]
pub struct Files {
    sides: Sides,
    known: Known,
}

impl<'a> Turn<'a> {
    /// A turn that brings the files in `tree` in line with `after`.
    pub fn new(tree: &'a WorkTree, record: Record, after: Project) -> Self {
        Self {
            start: Instant::now(),
            tree,
            before: None,
            after,
            record,
            branches: None,
            excluded: Vec::new(),
            given: GivenTexts::default(),
        }
    }
}

impl Turn<'_> {
    /// Collects the sides of all files. Reads the disk, writes nothing.
    ///
    /// # Errors
    /// When a file cannot be read, or has conflict markers that stop the command.
    pub fn files(mut self, policy: &Policy) -> Result<Files> {
        env!("CARGO_PKG_VERSION").clone_into(&mut self.after.cli_version);
        let mut render = render(&self.after)?;
        let project = self.after.to_text()?;
        render
            .texts
            .insert(Project::FILE.to_owned(), project.into());
        let mut base = self.base();
        let open = self.branches.iter().flat_map(|it| it.stages.keys());
        let paths = base.keys().chain(render.texts.keys()).chain(open);
        let paths = paths.chain(self.given.texts.keys());
        let paths: BTreeSet<&str> = paths.map(String::as_str).collect();
        let disk = self.tree.ours(paths)?;
        for (path, text) in base.iter_mut().filter(|(_, text)| is_digest(text)) {
            *text = CONVENTIONS.resolve(path, text, disk.get(path).map(Text::as_ref));
        }
        if let Some(before) = &self.before {
            // `after` has the user's changes of PROJECT already. Only comments and order remain to be merged.
            base.insert(Project::FILE.to_owned(), before.to_text()?.into());
        }
        let mut sides = Sides::new(&CONVENTIONS, base, disk, render.texts);
        self.exclude(&mut sides)?;
        let sources = self.sources(&sides, &render.origins)?;
        self.settle_markers(&mut sides, policy, &sources)?;
        self.carry(&mut sides, &sources)?;
        let known = self.give(&mut sides, &sources, &render.conversions);
        Ok(Files { sides, known })
    }

    /// Sets theirs of the excluded files to the text that the tool wrote last. So the record of these files also stays
    /// the same, and a later turn finds the changes.
    fn exclude(&self, sides: &mut Sides) -> Result<()> {
        for excluded in &self.excluded {
            let is_in = |path: &&str| {
                let rest = path.strip_prefix(excluded.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let paths = sides.files().map(|(path, _)| path).filter(is_in);
            let paths: Vec<_> = paths.map(str::to_owned).collect();
            if paths.is_empty() {
                return Err(anyhow!(
                    "`--exclude` names `{excluded}`, which is neither a file nor a folder that rscaffold \
                     writes in this project"
                ))
                .or_hint("give a path below the folder of `PROJECT`, such as `.github/workflows`");
            }
            for path in paths {
                ensure!(
                    path != Project::FILE,
                    "`--exclude` names `{path}`, which describes the project and cannot be excluded"
                );
                let file = sides.at(&path);
                file.theirs = file.base.clone();
            }
        }
        Ok(())
    }

    /// Resolves conflict markers, except for conflicts that the user must decide.
    ///
    /// Only markers that the tool or git wrote count. Other markers are plain text.
    fn settle_markers(&self, sides: &mut Sides, policy: &Policy, sources: &Sources) -> Result<()> {
        let (mut own, mut others) = (BTreeMap::new(), BTreeMap::new());
        for (path, file) in sides.files().filter(|(_, file)| file.disk != file.base) {
            let Some(marked) = file.disk.as_deref().and_then(Marked::parse) else {
                continue;
            };
            if marked.own && self.record.marked.contains(path) {
                own.insert(path.to_owned(), marked);
            } else {
                others.insert(path.to_owned(), marked);
            }
        }
        refuse(&own, |path| policy.of(path) != OnConflict::Markers, DECIDE)?;
        for path in own.keys() {
            sides.at(path).is_marked = true;
        }
        if let Some(branches) = &self.branches {
            branches::settle(branches, sides, sources)?;
        } else if !others.is_empty() {
            let written = sides.files().filter(|(_, file)| file.base.is_some());
            let open = self.tree.unmerged(written.map(|(path, _)| path))?;
            refuse(
                &others,
                |path| open.stages.contains_key(path),
                "run `rscaffold apply`: it resolves conflicts in the lines of rscaffold, and shows \
                 those in your own lines",
            )?;
        }
        Ok(())
    }
}

/// The hint for conflict markers of the tool.
const DECIDE: &str = "resolve the conflict markers, and run the command again";

/// Returns an error for those files with conflict markers for which `open` returns true.
fn refuse(
    marked: &BTreeMap<String, Marked>,
    open: impl Fn(&str) -> bool,
    hint: &str,
) -> Result<()> {
    let open = marked.iter().filter(|(path, _)| open(path));
    let places = open.map(|(path, it)| format!("\n  {path}:{}", it.line));
    match places.collect::<Vec<_>>().concat() {
        places if places.is_empty() => Ok(()),
        places => Err(anyhow!("there are conflict markers in{places}")).or_hint(hint),
    }
}

impl Files {
    /// The change of each file.
    ///
    /// # Errors
    /// When `policy` names a file that rscaffold does not write.
    pub fn plan(&self, policy: &Policy) -> Result<Plan> {
        let paths: BTreeSet<_> = self.sides.files().map(|(path, _)| path).collect();
        let mut named = policy.by_path.keys();
        if let Some(path) = named.find(|path| !paths.contains(path.as_str())) {
            return Err(anyhow!(
                "`--on-conflict` names `{path}`, which is not a file that rscaffold writes in this \
                 project"
            ))
            .or_hint("copy the path from the list of conflicts");
        }
        let project = self.sides.get(Project::FILE).theirs.as_deref();
        let says_so = |text: &str| {
            let read = || Project::parse(text)?.to_text();
            project == Some(text) || read().is_ok_and(|text| project == Some(&*text))
        };
        Ok(reconcile(&self.sides, policy, |path, text| {
            path != Project::FILE || says_so(text)
        }))
    }

    /// The sides of all files.
    pub fn sides(&self) -> &Sides {
        &self.sides
    }

    /// The record after `plan` is applied.
    pub fn into_record(self, plan: &Plan) -> Record {
        let mut texts = self.sides.into_theirs();
        texts.extend(self.known.rendered);
        Record {
            projects: texts
                .remove(Project::FILE)
                .into_iter()
                .map(Text::into_owned)
                .collect(),
            texts: CONVENTIONS.recorded(texts),
            marked: plan.marked.clone(),
            given: self.known.given,
        }
    }
}

#[cfg(test)]
mod tests;
