//! Carries out a turn of the loop, and reports the changes.

use std::time::Instant;

use anyhow::{Result, anyhow, ensure};

use super::{Mode, ask};
use crate::{
    hint::OrHint,
    project::Project,
    reconcile::{OnConflict, Plan, Policy, Reason, Texts},
    render::{Rendered, render},
    report::{self, Outcome, Story},
    turn::{Edits, Turn},
    worktree::{LAST_APPLIED, Record, WorkTree},
};

/// Refuses a missing record.
pub fn ensure_known(record: &Record) -> Result<()> {
    if !record.texts.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "`{LAST_APPLIED}` is missing; without it, rscaffold cannot tell your lines from its own"
    ))
    .or_hint(
        "restore it, for example with `git restore .rscaffold`, or recreate it with `rscaffold \
         apply --rebuild-base`, which says what is lost",
    )
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

/// Updates the work tree to match the project `after`, and reports `story`.
///
/// `before` is the project that `PROJECT` on disk describes.
pub fn bring_in_line(
    tree: &WorkTree,
    before: &Project,
    after: Project,
    mode: &Mode,
    story: &Story,
) -> Result<Outcome> {
    bring_in_line_without(&[], tree, before, after, mode, story)
}

/// Like [`bring_in_line`], with the files of `after`, and with texts from an input of the command, such as a CRD.
pub fn bring_in_line_with(
    edits: Edits,
    tree: &WorkTree,
    before: &Project,
    after: (Project, Rendered),
    mode: &Mode,
    story: &Story,
) -> Result<Outcome> {
    let start = Instant::now();
    let turn = Turn {
        edits,
        ..turn(tree, before, after)?
    };
    carry_out(turn, mode, story, start)
}

/// Like [`bring_in_line`], but leaves the `excluded` files and folders unchanged.
pub fn bring_in_line_without(
    excluded: &[String],
    tree: &WorkTree,
    before: &Project,
    after: Project,
    mode: &Mode,
    story: &Story,
) -> Result<Outcome> {
    let start = Instant::now();
    let rendered = render(&after)?;
    let turn = Turn {
        excluded: excluded.to_vec(),
        ..turn(tree, before, (after, rendered))?
    };
    carry_out(turn, mode, story, start)
}

/// The turn from the project `before` to `after`, which comes with its files.
fn turn<'a>(
    tree: &'a WorkTree,
    before: &Project,
    (after, rendered): (Project, Rendered),
) -> Result<Turn<'a>> {
    let record = tree.record()?;
    ensure_known(&record)?;
    Ok(Turn {
        tree,
        before: Some(before.clone()),
        after,
        rendered,
        record,
        branches: None,
        excluded: Vec::new(),
        edits: Edits::default(),
    })
}

/// Carries out `turn` unless there is a conflict, and reports `story`.
pub fn carry_out(turn: Turn, mode: &Mode, story: &Story, start: Instant) -> Result<Outcome> {
    let tree = turn.tree;
    let policy = mode.on_conflict.policy()?;
    let files = turn.files(&policy)?;
    let mut plan = files.plan(&policy)?;
    if !mode.dry_run && can_ask(&plan, &policy) {
        plan = files.plan(&decide(&plan)?)?;
    }
    if plan.conflicts().next().is_some() {
        return Ok(Outcome {
            stderr: report::conflicts(&plan, mode.dry_run.then_some(story)),
            code: Outcome::FAILURE,
            ..Outcome::default()
        });
    }
    if !mode.dry_run {
        tree.apply(&plan, &files.into_record(&plan))?;
    }
    Ok(Outcome {
        stderr: report::plan(&plan, mode.dry_run, story, start.elapsed()),
        ..Outcome::default()
    })
}

/// Whether a user at a terminal can decide all conflicts of `plan`. A policy on the command line is a decision already.
fn can_ask(plan: &Plan, policy: &Policy) -> bool {
    *policy == Policy::default()
        && plan.conflicts().next().is_some()
        && plan.conflicts().all(|(_, conflict)| {
            matches!(
                conflict.reason,
                Reason::BothChanged | Reason::Untracked | Reason::Dropped
            )
        })
        && ask::is_possible()
}

/// Asks for each conflict of `plan` what to do with the file.
fn decide(plan: &Plan) -> Result<Policy> {
    let mut policy = Policy::default();
    for (path, conflict) in plan.conflicts() {
        report::show_conflict(path, conflict);
        let answer = ask::ask("ours, theirs, markers, or abort", Some(&OnConflict::Abort))?;
        ensure!(answer != OnConflict::Abort, "nothing was written");
        policy.by_path.insert(path.clone(), answer);
    }
    Ok(policy)
}
