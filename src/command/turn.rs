//! A turn of the loop: edit of the project -> render -> reconcile -> write, and the report of the changes.

mod branches;
mod conversions;
mod not_moved;
mod origins;
#[cfg(test)]
mod tests;

use std::{mem, str::FromStr, time::Instant};

use anyhow::{Error, Result, anyhow, ensure};

use self::not_moved::{not_copied, not_moved};
use super::{
    Mode,
    ask::{self, Offer},
    left_behind::left_behind,
    report::{self, Outcome, Story},
    way_out::RESTORE,
};
use crate::{
    engine::{
        Texts,
        files::{Edits, Files, Sources},
        reconcile::{OnConflict, Plan, Policy, Reason},
        worktree::{LAST_APPLIED, Record, Unmerged, WorkTree},
    },
    hint::OrHint,
    project::Project,
    render::{Rendered, render},
};

/// Whether no source file of `rendered` exists. Other files, such as a README, may be older than the project.
pub fn is_unwritten(tree: &WorkTree, rendered: &Rendered) -> Result<bool> {
    let paths = rendered.texts.keys().map(String::as_str);
    let sources = paths.filter(|path| path.starts_with("src/"));
    Ok(tree.ours(sources)?.is_empty())
}

/// Refuses a missing record, unless no source file of `rendered` exists: a user may start a project with only a `PROJECT`
/// file. Its other files are then conflicts, as for `init`.
pub fn ensure_known(record: &Record, tree: &WorkTree, rendered: &Rendered) -> Result<()> {
    if !record.texts.is_empty() || is_unwritten(tree, rendered)? {
        return Ok(());
    }
    Err(anyhow!(
        "`{LAST_APPLIED}` is missing or empty; without it, rscaffold cannot tell your lines from its own"
    ))
    .or_hint(RESTORE)
}

/// Refuses a work tree that has the `record` of a project, but no `PROJECT`: a new project would delete its APIs.
///
/// A record with exactly the files of `fresh` is accepted: it is from an `init` that was killed before it wrote
/// `PROJECT`.
pub fn ensure_not_lost(record: &Record, fresh: &Texts) -> Result<()> {
    if record.texts.is_empty() || record.texts == *fresh {
        return Ok(());
    }
    let file = Project::FILE;
    Err(anyhow!("`{file}` is missing, but `{LAST_APPLIED}` exists")).or_hint(format!(
        "restore it, for example with `git restore {file}`; to start over, delete `.rscaffold`"
    ))
}

/// One run of a command that changes the project: what brings the files in line with the new project.
#[derive(Debug)]
pub struct Turn<'a> {
    /// When the turn began.
    pub start: Instant,
    /// The project's folder.
    pub tree: &'a WorkTree,
    /// The project in `PROJECT` on disk; `None` if there is no such file, or if git left it unmerged.
    pub before: Option<Project>,
    /// The new project.
    pub after: Project,
    /// The files of the new project.
    pub rendered: Rendered,
    /// The record of what was written last.
    pub record: Record,
    /// The files that git left unmerged, for a command that resolves them.
    pub unmerged: Option<Unmerged>,
    /// Files and folders to leave unchanged in this turn.
    pub excluded: Vec<String>,
    /// Deleted files to write again.
    pub restored: Vec<String>,
    /// Texts that come with the command.
    pub edits: Edits,
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
            unmerged: None,
            excluded: Vec::new(),
            restored: Vec::new(),
            edits: Edits::default(),
        }
    }

    /// The turn from the project `before`, which `PROJECT` on disk describes, to `after`.
    pub fn between(tree: &'a WorkTree, before: &Project, after: Project) -> Result<Self> {
        let rendered = render(&after)?;
        Self::to_rendered(tree, before, after, rendered)
    }

    /// The same, with the files of `after`.
    pub fn to_rendered(
        tree: &'a WorkTree,
        before: &Project,
        after: Project,
        rendered: Rendered,
    ) -> Result<Self> {
        let record = tree.record()?;
        ensure_known(&record, tree, &rendered)?;
        Ok(Self {
            before: Some(before.clone()),
            ..Self::new(tree, record, after, rendered)
        })
    }

    /// Notes about what the turn leaves behind. The record has the project of the last turn, which the user may have
    /// edited since then. After a merge of branches, it has several projects.
    pub fn left_behind(&self) -> Vec<String> {
        let recorded = match self.record.projects.as_slice() {
            [text] => Project::parse(text).ok(),
            _ => None,
        };
        let before = recorded.as_ref().or(self.before.as_ref());
        before.map_or_else(Vec::new, |before| left_behind(before, &self.after))
    }

    /// A line that is the same only for turns with the same result.
    pub fn goal(&self) -> Result<String> {
        Ok(self.edits.goal(self.after.to_text()?))
    }

    /// The files, ready for a plan. Reads the disk, writes nothing.
    ///
    /// # Errors
    /// When a file cannot be read, or has conflict markers that stop the command.
    pub fn files(self, policy: &Policy) -> Result<Files> {
        self.files_and_sources(policy).map(|(files, _)| files)
    }

    /// The same, with the files that start as another file.
    fn files_and_sources(mut self, policy: &Policy) -> Result<(Files, Sources)> {
        env!("CARGO_PKG_VERSION").clone_into(&mut self.after.cli_version);
        let mut theirs = mem::take(&mut self.rendered.texts);
        theirs.insert(Project::FILE.to_owned(), self.after.to_text()?.into());
        self.repair_record()?;
        for path in &self.restored {
            self.record.texts.remove(path);
        }
        let unmerged = self.unmerged.iter();
        let others = unmerged.flat_map(|unmerged| unmerged.stages.keys());
        let others = others.chain(self.edits.texts.keys()).map(String::as_str);
        let record = mem::take(&mut self.record);
        let mut files = Files::new(self.tree, record, theirs, others.collect())?;
        if let Some(before) = &self.before {
            // `after` has the user's changes of PROJECT already. Only comments and order remain to be merged.
            files.set_description(before.to_text()?.into());
        }
        exclude(&mut files, &self.excluded)?;
        let sources = self.sources(&files)?;
        files.settle_markers(self.tree, policy, self.unmerged.as_ref(), &sources)?;
        files.carry(self.tree, &sources)?;
        files.take_edits(&self.edits);
        let conversions = Edits {
            texts: self.conversions(files.sides())?,
            ..self.edits
        };
        files.take_edits(&conversions);
        let is_file = |path: &str| files.sides().files().any(|(file, _)| file == path);
        if let Some(path) = policy.by_path.keys().find(|path| !is_file(path)) {
            return Err(anyhow!(
                "`--on-conflict` names `{path}`, which is not a file that rscaffold writes in this \
                 project"
            ))
            .or_hint("copy the path from the list of conflicts");
        }
        Ok((files, sources))
    }
}

/// Leaves the files at the `excluded` paths, or below them, unchanged.
fn exclude(files: &mut Files, excluded: &[String]) -> Result<()> {
    let description = Project::FILE;
    for excluded in excluded {
        let mut paths = Vec::new();
        for (path, _) in files.sides().files() {
            let rest = path.strip_prefix(excluded.as_str());
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                paths.push(path.to_owned());
            }
        }
        if paths.is_empty() {
            return Err(anyhow!(
                "`--exclude` names `{excluded}`, which is neither a file nor a folder that rscaffold \
                 writes in this project"
            ))
            .or_hint(format!(
                "give a path below the folder of `{description}`, such as `.github/workflows`"
            ));
        }
        for path in paths {
            ensure!(
                path != description,
                "`--exclude` names `{path}`, which describes the project and cannot be excluded"
            );
            files.exclude(&path);
        }
    }
    Ok(())
}

/// Carries out `turn` unless there is a conflict, and reports `story`.
pub fn carry_out(turn: Turn, mode: &Mode, mut story: Story) -> Result<Outcome> {
    let (mut start, tree) = (turn.start, turn.tree);
    story.notes.extend(turn.left_behind());
    story.notes.extend(turn.dropped_note()?);
    let policy = mode.on_conflict.policy()?;
    let goal = turn.goal()?;
    tree.ensure_complete(&goal)?;
    let (files, sources) = turn.files_and_sources(&policy)?;
    let mut plan = files.plan(&policy);
    story
        .notes
        .extend(not_copied(&sources, &plan, files.sides()));
    story.notes.extend(not_moved(&sources, tree, files.sides()));
    if !mode.dry_run && !mode.on_conflict.is_given() && can_ask(&plan) {
        let asked = Instant::now();
        let decided = decide(&plan)?;
        // The user's time does not count.
        start += asked.elapsed();
        plan = files.plan(&decided);
    }
    if plan.conflicts().next().is_some() {
        return Ok(Outcome {
            stderr: report::conflicts(&plan, mode.dry_run.then_some(&story)),
            code: Outcome::FAILURE,
            ..Outcome::default()
        });
    }
    let runtime = story.runtime.as_ref();
    let size = runtime.map(|runtime| report::size(&plan, files.sides(), runtime));
    if !mode.dry_run {
        tree.apply(&plan, &files.into_record(&plan), &goal)?;
    }
    Ok(Outcome {
        stderr: report::plan(
            &plan,
            mode.dry_run,
            &story,
            size.as_deref(),
            start.elapsed(),
        ),
        ..Outcome::default()
    })
}

/// Whether a user at a terminal can decide all conflicts of `plan`.
fn can_ask(plan: &Plan) -> bool {
    plan.conflicts().next().is_some()
        && plan.conflicts().all(|(_, conflict)| {
            matches!(
                conflict.reason,
                Reason::BothChanged | Reason::Untracked | Reason::Dropped
            )
        })
        && ask::is_possible()
}

/// An answer to the question what to do with a conflict.
enum Answer {
    Choice(OnConflict),
    /// What do the answers mean?
    Help,
}

impl FromStr for Answer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "?" => Ok(Self::Help),
            choice => Ok(Self::Choice(choice.parse()?)),
        }
    }
}

/// The question about lines that both have changed, and what the answers mean.
const QUESTION: &str =
    "ours (your lines), theirs (the lines of rscaffold), markers (both), abort, or ?";
const ANSWERS: &str = "  o, ours     keep your lines: the file on disk has them
  t, theirs   take the lines of rscaffold: this command makes them from `PROJECT` and its templates
  m, markers  write both between conflict markers, for an editor
  a, abort    write nothing, in no file
  An answer is about the lines that both have changed. All other changes of the file are merged.
";

/// The same for a file that the user has changed and rscaffold deletes.
const DROPPED_QUESTION: &str = "ours (keep your file), theirs (delete it with your edits), markers (keep its text between markers), abort, or ?";
const DROPPED_ANSWERS: &str = "  o, ours     keep your file
  t, theirs   delete the file with your edits
  m, markers  keep the text of the file between conflict markers, for an editor
  a, abort    write nothing, in no file
";

/// Asks for each conflict of `plan` what to do with the file.
fn decide(plan: &Plan) -> Result<Policy> {
    let mut policy = Policy::default();
    for (path, conflict) in plan.conflicts() {
        report::show_conflict(path, conflict);
        let (question, answers) = match conflict.reason {
            Reason::Dropped => (DROPPED_QUESTION, DROPPED_ANSWERS),
            _ => (QUESTION, ANSWERS),
        };
        let choice = loop {
            match ask::ask(question, Offer::Default("abort"))? {
                Answer::Choice(choice) => break choice,
                Answer::Help => report::say(answers),
            }
        };
        ensure!(choice != OnConflict::Abort, "nothing was written");
        policy.by_path.insert(path.clone(), choice);
    }
    Ok(policy)
}
