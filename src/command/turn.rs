//! One turn of the loop: what becomes of the work tree when the project shall be another one.

use std::{collections::BTreeSet, time::Instant};

use anyhow::{Context, Result, anyhow};

use super::{Mode, undecided::Undecided};
use crate::{
    hint::OrHint,
    project::Project,
    reconcile::{Change, OnConflict, Plan, Policy, Texts, reconcile},
    render::render,
    report::{self, Outcome, Story},
    worktree::{LAST_APPLIED, WorkTree},
};

/// What a turn starts from, and where it shall lead.
pub struct Turn<'a> {
    /// The folder.
    pub tree: &'a WorkTree,
    /// The project of `PROJECT` as it stands on disk.
    pub before: Option<&'a Project>,
    /// What the project shall be.
    pub after: Project,
    /// What was written last; see [`base`].
    pub base: Texts,
    /// What git left open in `PROJECT` is settled in `after`, and in other files shall be, too.
    pub settles: bool,
}

/// A turn as it would be carried out.
pub struct Planned {
    /// What happens to each file.
    pub plan: Plan,
    /// The files on disk.
    pub ours: Texts,
    theirs: Texts,
}

/// What was written last into the folder of a project.
///
/// # Errors
/// When nothing is known of that.
pub fn base(tree: &WorkTree) -> Result<Texts> {
    let base = tree.base()?;
    ensure_known(&base)?;
    Ok(base)
}

/// Refuses a record that is not there.
pub fn ensure_known(base: &Texts) -> Result<()> {
    if !base.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "`{LAST_APPLIED}` is gone: it tells your lines from rscaffold's"
    ))
    .or_hint(
        "bring it back, for example with `git restore .rscaffold`; or `rscaffold apply \
         --rebuild-base` makes it anew, and says what that means",
    )
}

/// Refuses a work tree without `PROJECT` whose record, `base`, is that of a project: to start anew
/// would delete its APIs.
///
/// A record of the files of `fresh` is no such project: it is from an `init` that was killed
/// before it wrote `PROJECT`.
pub fn ensure_not_lost(base: &Texts, fresh: &Texts) -> Result<()> {
    let file = Project::FILE;
    let recorded = fresh.iter().filter(|&(path, _)| path != file);
    if base.is_empty() || recorded.eq(base) {
        return Ok(());
    }
    Err(anyhow!("`{file}` is gone, but `{LAST_APPLIED}` is there")).or_hint(format!(
        "bring it back, for example with `git restore {file}`; to start over, delete `.rscaffold`"
    ))
}

impl Turn<'_> {
    /// Plans the turn; writes nothing.
    pub fn plan(mut self, policy: &Policy) -> Result<Planned> {
        let on_conflict = policy.everywhere;
        env!("CARGO_PKG_VERSION").clone_into(&mut self.after.cli_version);
        let theirs = render(&self.after)?.texts;

        // What a user changed in PROJECT is in `after`. What is left to merge is how it is written
        // (comments, order), and that differs from what the tool would have written for the same
        // project, not from what it wrote last.
        let paths: BTreeSet<&str> = (self.base.keys())
            .chain(theirs.keys())
            .map(String::as_str)
            .collect();
        let disk = self.tree.ours(paths)?;
        if let Some(before) = self.before {
            let ours = disk.get(Project::FILE).map_or("", String::as_str);
            let text = before.written(ours)?;
            self.base.insert(Project::FILE.to_owned(), text);
        }
        let undecided = Undecided::new(&disk, &mut self.base, self.settles, on_conflict)?;
        let mut plan = reconcile(&self.base, &undecided.ours, &theirs, on_conflict);
        undecided.settle(&mut plan, &self.base, &theirs, on_conflict);
        if plan.conflicts().next().is_none() {
            settle_project(&mut plan, &undecided.ours, &theirs, on_conflict)?;
        }
        Ok(Planned {
            plan,
            ours: disk,
            theirs,
        })
    }
}

impl Planned {
    /// Does what is planned, unless there is a conflict; gives `story` to report.
    pub fn carry_out(
        &self,
        tree: &WorkTree,
        dry_run: bool,
        story: &Story,
        start: Instant,
    ) -> Result<Outcome> {
        if self.plan.conflicts().next().is_some() {
            return Ok(Outcome {
                stderr: report::conflicts(&self.plan, dry_run.then_some(story)),
                code: Outcome::FAILURE,
                ..Outcome::default()
            });
        }
        if !dry_run {
            tree.apply(&self.plan, &self.theirs)?;
        }
        Ok(Outcome {
            stderr: report::plan(&self.plan, dry_run, story, start.elapsed()),
            ..Outcome::default()
        })
    }
}

/// Brings the work tree in line with the project `after`, and gives `story` to report.
///
/// `before` is the project of `PROJECT` as it stands on disk.
pub fn bring_in_line(
    tree: &WorkTree,
    before: &Project,
    after: Project,
    mode: &Mode,
    story: &Story,
) -> Result<Outcome> {
    let start = Instant::now();
    let turn = Turn {
        tree,
        before: Some(before),
        after,
        base: base(tree)?,
        settles: false,
    };
    let planned = turn.plan(&mode.on_conflict)?;
    planned.carry_out(tree, mode.dry_run, story, start)
}

/// Refuses a merge of `PROJECT` that no longer says what is being written; to take the new text
/// always works.
fn settle_project(
    plan: &mut Plan,
    ours: &Texts,
    theirs: &Texts,
    on_conflict: OnConflict,
) -> Result<()> {
    let file = Project::FILE;
    let wanted = theirs.get(file).context("`PROJECT` was not rendered")?;
    let written = plan.changes.get(file).and_then(Change::text);
    let written = written.or_else(|| ours.get(file).map(String::as_str));
    let says = |text| Project::parse(text)?.to_text().map(|text| text == *wanted);
    if written.is_some_and(|text| text == wanted || says(text).unwrap_or(false)) {
        return Ok(());
    }
    if on_conflict != OnConflict::Theirs {
        return Err(anyhow!(
            "your lines in `{file}` cannot be kept: it would not say what was asked for"
        ))
        .or_hint("`--on-conflict=theirs` takes rscaffold's lines");
    }
    plan.changes
        .insert(file.to_owned(), Change::Update(wanted.clone()));
    Ok(())
}
