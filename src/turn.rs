//! One turn of the loop: what happens to the work tree when the project becomes another one.
//!
//! First the sides of all files are put together. Then [`reconcile`] makes a plan of them.

mod base;
mod branches;
mod given;
mod moves;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, ensure};

use crate::{
    hint::OrHint,
    project::Project,
    reconcile::{
        OnConflict, Plan, Policy, Sides, Texts,
        digest::{recorded, resolve},
        markers::Marked,
        reconcile,
    },
    render::{render, vendored},
    worktree::{Record, Unmerged, WorkTree},
};

use given::Known;
use moves::Sources;

/// Where a turn starts, and where it leads.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The folder.
    pub tree: &'a WorkTree,
    /// What `PROJECT` describes; `None` where there is no such file, and where git left it open.
    pub before: Option<Project>,
    /// The project that the files become.
    pub after: Project,
    /// What was written last.
    pub record: Record,
    /// What git left open, for a command that settles it.
    pub branches: Option<Unmerged>,
    /// Files and folders that stay as they are, until a turn that does not exclude them.
    pub excluded: Vec<String>,
    /// What the user gives with the command.
    pub given: GivenTexts,
}

/// Texts that the user gives: each is the user's edit of a file.
#[derive(Debug, Default)]
pub struct GivenTexts {
    /// The texts.
    pub texts: Texts,
    /// Whether they replace edits, too.
    pub replace: bool,
}

/// The files of a turn. A plan follows from them and a policy.
#[derive(Debug)]
pub struct Files {
    sides: Sides,
    known: Known,
}

impl Turn<'_> {
    /// Puts the sides of all files together. Reads the disk, writes nothing.
    ///
    /// # Errors
    /// When a file cannot be read, or has conflict markers that stop the command.
    pub fn files(mut self, policy: &Policy) -> Result<Files> {
        env!("CARGO_PKG_VERSION").clone_into(&mut self.after.cli_version);
        let mut render = render(&self.after)?;
        let project = self.after.to_text()?;
        render.texts.insert(Project::FILE.to_owned(), project);
        let mut base = self.base();
        let open = self.branches.iter().flat_map(|it| it.stages.keys());
        let paths = base.keys().chain(render.texts.keys()).chain(open);
        let paths = paths.chain(self.given.texts.keys());
        let paths: BTreeSet<&str> = paths.map(String::as_str).collect();
        let disk = self.tree.ours(paths)?;
        for (path, text) in &mut base {
            let disk = disk.get(path).map(String::as_str);
            *text = resolve(text, disk.into_iter().chain(vendored(path)));
        }
        if let Some(before) = &self.before {
            // A user's change of PROJECT is in `after` already. What is left to merge is how the file
            // is written (comments, order).
            let text = disk.get(Project::FILE).map_or("", String::as_str);
            base.insert(Project::FILE.to_owned(), before.written(text)?);
        }
        let mut sides = Sides::new(base, disk, render.texts);
        self.exclude(&mut sides)?;
        let sources = self.sources(&sides, &render.origins)?;
        self.settle_markers(&mut sides, policy, &sources)?;
        self.carry(&mut sides, &sources)?;
        let known = self.give(&mut sides, &sources);
        Ok(Files { sides, known })
    }

    /// Has the tool want what it wrote last of the excluded files. So the record stays what it is, too, and
    /// a later turn finds what is new.
    fn exclude(&self, sides: &mut Sides) -> Result<()> {
        for excluded in &self.excluded {
            let is_in = |path: &str| {
                let rest = path.strip_prefix(excluded.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let paths = sides.paths().into_iter().filter(|path| is_in(path));
            let paths: Vec<_> = paths.map(str::to_owned).collect();
            if paths.is_empty() {
                return Err(anyhow!(
                    "`--exclude` names `{excluded}`, which is neither a file nor a folder that rscaffold \
                     writes in this project"
                ))
                .or_hint("give the path from the folder of `PROJECT`, as in `.github/workflows`");
            }
            for path in paths {
                ensure!(
                    path != Project::FILE,
                    "`--exclude` names `{path}`, which says what the other files are"
                );
                let base = sides.base.get(&path).cloned();
                put(&mut sides.theirs, &path, base);
            }
        }
        Ok(())
    }

    /// Settles what stands between conflict markers, as far as it is not for the user to decide.
    ///
    /// Markers count where the tool or git put them. Elsewhere they are text.
    fn settle_markers(&self, sides: &mut Sides, policy: &Policy, sources: &Sources) -> Result<()> {
        let marked = sides.disk.iter();
        let marked = marked.filter_map(|(path, text)| Some((path.clone(), Marked::parse(text)?)));
        let (own, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            marked.partition(|(path, it)| it.own && self.record.marked.contains(path));
        refuse(&own, |path| policy.of(path) != OnConflict::Markers, DECIDE)?;
        sides.marked = own.into_keys().collect();
        if let Some(branches) = &self.branches {
            branches::settle(branches, sides, sources)?;
        } else if !others.is_empty() {
            let open = self.tree.unmerged(&self.record)?;
            refuse(
                &others,
                |path| open.stages.contains_key(path),
                "`rscaffold apply` settles the lines that are rscaffold's; those that are yours are \
                 for you to decide",
            )?;
        }
        Ok(())
    }
}

/// What to do about conflict markers of the tool.
const DECIDE: &str = "decide between the lines, and run the command again";

/// Refuses those of the files with conflict markers that are `open`.
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

/// Makes the file at `path` be this `text`; without a text, it does not exist.
fn put(texts: &mut Texts, path: &str, text: Option<String>) {
    match text {
        Some(text) => _ = texts.insert(path.to_owned(), text),
        None => _ = texts.remove(path),
    }
}

impl Files {
    /// What happens to each file.
    ///
    /// # Errors
    /// When `policy` names a file that rscaffold does not write.
    pub fn plan(&self, policy: &Policy) -> Result<Plan> {
        let (paths, mut named) = (self.sides.paths(), policy.by_path.keys());
        if let Some(path) = named.find(|path| !paths.contains(path.as_str())) {
            return Err(anyhow!(
                "`--on-conflict` names `{path}`, which is not a file that rscaffold writes in this \
                 project"
            ))
            .or_hint("give the path as the list of conflicts shows it");
        }
        let project = self.sides.theirs.get(Project::FILE);
        let says_so = |text: &str| {
            let read = || Project::parse(text)?.to_text();
            project.is_some_and(|it| it == text || read().is_ok_and(|text| text == *it))
        };
        Ok(reconcile(&self.sides, policy, |path, text| {
            path != Project::FILE || says_so(text)
        }))
    }

    /// The files as they are on disk.
    pub fn disk(&self) -> &Texts {
        &self.sides.disk
    }

    /// The record of what is written last once `plan` is carried out.
    pub fn record(&self, plan: &Plan) -> Record {
        let mut texts = self.sides.theirs.clone();
        texts.extend(self.known.rendered.clone());
        Record {
            projects: Vec::from_iter(texts.remove(Project::FILE)),
            texts: recorded(texts),
            marked: plan.marked.clone(),
            given: self.known.given.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
