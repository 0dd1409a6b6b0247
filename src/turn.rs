//! One turn of the loop: what happens to the work tree when the project becomes another one.
//!
//! First the sides of all files are put together. Then [`reconcile`] makes a plan of them.

mod base;
mod branches;
mod moves;

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::{Result, anyhow};

use crate::{
    hint::OrHint,
    project::Project,
    reconcile::{OnConflict, Plan, Policy, Sides, Texts, markers::Marked, reconcile},
    render::render,
    worktree::{Record, Unmerged, WorkTree},
};

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
}

/// The files of a turn. A plan follows from them and a policy.
#[derive(Debug)]
pub struct Files {
    sides: Sides,
    /// `PROJECT`, for the project that the files become.
    project: String,
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
        render
            .texts
            .insert(Project::FILE.to_owned(), project.clone());
        let mut base = self.base();
        let mut paths: BTreeSet<&str> = base.keys().map(String::as_str).collect();
        paths.extend(render.texts.keys().map(String::as_str));
        let open = self.branches.iter().flat_map(|it| it.stages.keys());
        paths.extend(open.map(String::as_str));
        let disk = self.tree.ours(paths)?;
        if let Some(before) = &self.before {
            // A user's change of PROJECT is in `after` already. What is left to merge is how the file
            // is written (comments, order).
            let text = disk.get(Project::FILE).map_or("", String::as_str);
            base.insert(Project::FILE.to_owned(), before.written(text)?);
        }
        let mut sides = Sides::new(base, disk, render.texts);
        self.follow_moves(&mut sides, &render.origins)?;
        self.settle_markers(&mut sides, policy)?;
        Ok(Files { sides, project })
    }

    /// Settles what stands between conflict markers, as far as it is not for the user to decide.
    ///
    /// Markers count where the tool or git put them. Elsewhere they are text.
    fn settle_markers(&self, sides: &mut Sides, policy: &Policy) -> Result<()> {
        let marked = sides.disk.iter();
        let marked = marked.filter_map(|(path, text)| Some((path, Marked::parse(text)?)));
        let (own, others): (Vec<_>, Vec<_>) =
            marked.partition(|(path, it)| it.own && self.record.marked.contains(*path));
        let stops = |(path, _): &&(&String, Marked)| policy.of(path) != OnConflict::Markers;
        refuse(
            own.iter().filter(stops),
            "decide between the lines, and run the command again",
        )?;
        let own: BTreeSet<String> = own.into_iter().map(|(path, _)| path.clone()).collect();
        if let Some(branches) = &self.branches {
            branches::settle(branches, sides)?;
        } else if !others.is_empty() {
            let open = self.tree.unmerged(&self.record)?.unwrap_or_default();
            let is_open = |(path, _): &&(&String, Marked)| open.stages.contains_key(*path);
            refuse(
                others.iter().filter(is_open),
                "`rscaffold apply` settles the lines that are rscaffold's; those that are yours are \
                 for you to decide",
            )?;
        }
        sides.marked = own;
        Ok(())
    }
}

/// Refuses files that have conflict markers.
fn refuse<'a>(files: impl Iterator<Item = &'a (&'a String, Marked)>, hint: &str) -> Result<()> {
    let mut list = String::new();
    for (path, marked) in files {
        let _ = write!(list, "\n  {path}:{}", marked.line);
    }
    if list.is_empty() {
        return Ok(());
    }
    Err(anyhow!("there are conflict markers in{list}")).or_hint(hint)
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
    pub fn plan(&self, policy: &Policy) -> Plan {
        let says = |text: &str| Project::parse(text)?.to_text();
        reconcile(&self.sides, policy, |path, text| {
            let is_other = path != Project::FILE || text == self.project;
            is_other || says(text).is_ok_and(|text| text == self.project)
        })
    }

    /// The files as they are on disk.
    pub fn disk(&self) -> &Texts {
        &self.sides.disk
    }

    /// Whether rscaffold writes a file at `path`, or wrote one.
    pub fn has(&self, path: &str) -> bool {
        self.sides.paths().contains(path)
    }

    /// The record of what is written last once `plan` is carried out.
    pub fn record(&self, plan: &Plan) -> Record {
        let mut texts = self.sides.theirs.clone();
        texts.remove(Project::FILE);
        Record {
            texts,
            projects: vec![self.project.clone()],
            marked: plan.marked.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
