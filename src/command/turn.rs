//! Carries out a turn of the loop, and reports the changes.

use anyhow::{Result, anyhow, ensure};

use super::{Mode, ask};
use crate::{
    command::report::{self, Outcome, Story},
    engine::Texts,
    engine::reconcile::{OnConflict, Plan, Policy, Reason},
    engine::worktree::{LAST_APPLIED, Record, WorkTree},
    hint::OrHint,
    project::Project,
    render::{Rendered, render},
    turn::Turn,
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

/// The turn that updates the work tree from the project `before`, which `PROJECT` on disk describes, to `after`.
pub fn turn<'a>(tree: &'a WorkTree, before: &Project, after: Project) -> Result<Turn<'a>> {
    let rendered = render(&after)?;
    turn_to(tree, before, after, rendered)
}

/// Like [`turn`], with the files of `after`.
pub fn turn_to<'a>(
    tree: &'a WorkTree,
    before: &Project,
    after: Project,
    rendered: Rendered,
) -> Result<Turn<'a>> {
    let record = tree.record()?;
    ensure_known(&record)?;
    Ok(Turn {
        before: Some(before.clone()),
        ..Turn::new(tree, record, after, rendered)
    })
}

/// Carries out `turn` unless there is a conflict, and reports `story`.
pub fn carry_out(turn: Turn, mode: &Mode, story: &Story) -> Result<Outcome> {
    let start = turn.start;
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
