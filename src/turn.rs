//! One run of a command: updates the work tree after a change of the project.
//!
//! A turn first collects the sides of all files. Then [`reconcile`] makes a plan from them.

mod base;
mod branches;
mod edits;
mod moves;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    time::Instant,
};

use anyhow::{Result, anyhow, ensure};

use crate::{
    engine::reconcile::{OnConflict, Plan, Policy, Sides, markers::Marked, reconcile},
    engine::worktree::{Record, Unmerged, WorkTree},
    engine::{Text, Texts, digest::is_digest},
    hint::OrHint,
    project::Project,
    render::{CONVENTIONS, Rendered},
};

use edits::Known;
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
    /// The files of the new project.
    pub rendered: Rendered,
    /// The record of what was written last.
    pub record: Record,
    /// The files that git left open, for a command that resolves them.
    pub branches: Option<Unmerged>,
    /// Files and folders to leave unchanged in this turn.
    pub excluded: Vec<String>,
    /// Texts that come with the command.
    pub edits: Edits,
}

/// Texts from an input of a command, such as a CRD. Each counts as the user's edit of a file.
#[derive(Debug, Default)]
pub struct Edits {
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
    /// A turn that brings the files in `tree` in line with `after`, whose files are `rendered`.
    pub fn new(tree: &'a WorkTree, record: Record, after: Project, rendered: Rendered) -> Self {
        Self {
            start: Instant::now(),
            tree,
            before: None,
            after,
            rendered,
            record,
            branches: None,
            excluded: Vec::new(),
            edits: Edits::default(),
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
        let mut theirs = mem::take(&mut self.rendered.texts);
        theirs.insert(Project::FILE.to_owned(), self.after.to_text()?.into());
        let mut base = self.base();
        let open = self
            .branches
            .iter()
            .flat_map(|unmerged| unmerged.stages.keys());
        let paths: BTreeSet<&str> = (base.keys().chain(theirs.keys()).chain(open))
            .chain(self.edits.texts.keys())
            .map(String::as_str)
            .collect();
        let disk = self.tree.ours(paths)?;
        for (path, text) in base.iter_mut().filter(|(_, text)| is_digest(text)) {
            *text = CONVENTIONS.resolve(path, text, disk.get(path).map(Text::as_ref));
        }
        if let Some(before) = &self.before {
            // `after` has the user's changes of PROJECT already. Only comments and order remain to be merged.
            base.insert(Project::FILE.to_owned(), before.to_text()?.into());
        }
        let mut sides = Sides::new(&CONVENTIONS, base, disk, theirs);
        self.exclude(&mut sides)?;
        let sources = self.sources(&sides, &self.rendered.origins)?;
        self.settle_markers(&mut sides, policy, &sources)?;
        self.carry(&mut sides, &sources)?;
        let known = self.take_edits(&mut sides, &sources)?;
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

/// Returns an error for those files with conflict markers for which `is_refused` returns true.
fn refuse(
    files: &BTreeMap<String, Marked>,
    is_refused: impl Fn(&str) -> bool,
    hint: &str,
) -> Result<()> {
    let places: Vec<_> = (files.iter())
        .filter(|(path, _)| is_refused(path))
        .map(|(path, marked)| format!("\n  {path}:{}", marked.line))
        .collect();
    if places.is_empty() {
        return Ok(());
    }
    Err(anyhow!("there are conflict markers in{}", places.concat())).or_hint(hint)
}

/// Whether `text` has the same fields as `project`, the text of a project.
fn is_text_of(text: &str, project: &str) -> bool {
    let written = Project::parse(text).and_then(|fields| fields.to_text());
    written.is_ok_and(|written| written == project)
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
        Ok(reconcile(&self.sides, policy, |path, text| {
            path != Project::FILE
                || project.is_some_and(|project| project == text || is_text_of(text, project))
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
            given: self.known.texts,
        }
    }
}

#[cfg(test)]
mod tests;
