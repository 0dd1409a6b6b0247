//! `rscaffold apply`, `rscaffold update` and `rscaffold diff`: turns of the loop in which the command
//! line says nothing of the project.

use std::{process::ExitCode, time::Instant};

use anyhow::{Result, anyhow, ensure};

use super::{
    Mode, ensure_current, load,
    merged::Merged,
    root,
    turn::{Turn, bring_in_line},
};
use crate::{
    hint::OrHint,
    project::Project,
    reconcile::{Kept, OnConflict, Path},
    render::render,
    report::{self, Story},
    worktree::WorkTree,
};

/// The arguments of `apply`.
#[derive(Debug)]
pub struct Options {
    /// Take what `PROJECT` describes for what was written last.
    pub rebuild_base: bool,
    /// Files that the user deleted, to be written anew.
    pub restore: Vec<Path>,
}

/// Brings the files in line with `PROJECT`, after an edit of it or a merge of branches.
pub fn apply(options: &Options, mode: Mode) -> Result<ExitCode> {
    let start = Instant::now();
    let tree = WorkTree::open(root()?)?;
    let merged = Merged::load(&tree)?;
    let before = &merged.before;
    let (mut base, story) = if options.rebuild_base {
        let story = Story {
            done: Some("the record is made anew".to_owned()),
            kept: &[Kept::Edited, Kept::Removed],
            notes: rebuilt(before),
            ..Story::default()
        };
        (render(&merged.after)?.texts, story)
    } else {
        ensure_current(before)?;
        let story = Story {
            unchanged: "all files are what `PROJECT` says".to_owned(),
            kept: &[Kept::Removed],
            ..Story::default()
        };
        (merged.base(&tree)?, story)
    };
    for path in &options.restore {
        let path = path.strip_prefix("./").unwrap_or(path);
        ensure!(
            base.remove(path).is_some(),
            "`{path}` is not a file that rscaffold writes in this project"
        );
        if tree.ours([path])?.contains_key(path) {
            return Err(anyhow!("`{path}` is there, so it cannot be restored")).or_hint(
                "to have it as rscaffold writes it, delete it before; git keeps what it was",
            );
        }
    }
    let turn = Turn {
        tree: &tree,
        before: Some(before),
        after: merged.after.clone(),
        base,
        settles: true,
    };
    let planned = turn.plan(mode.on_conflict)?;
    planned.carry_out(&tree, mode.dry_run, &story, start)
}

/// What it means to take the new render for what was written last.
fn rebuilt(before: &Project) -> Vec<String> {
    let mut notes = vec![
        "from here on, what differs from a new project counts as your edit, and what is missing as \
         deleted by you: rscaffold leaves both as they are"
            .to_owned(),
    ];
    if before.is_older() {
        notes.push(format!(
            "that goes for what rscaffold {} wrote differently, too: {} does not know it",
            before.cli_version,
            env!("CARGO_PKG_VERSION")
        ));
    }
    notes
}

/// Brings a project of an older rscaffold up to date.
pub fn update(mode: Mode) -> Result<ExitCode> {
    let tree = WorkTree::open(root()?)?;
    let before = load(&tree)?;
    let now = env!("CARGO_PKG_VERSION");
    let story = Story {
        unchanged: format!("the project is what rscaffold {now} makes of it"),
        notes: (before.is_older())
            .then(|| format!("from rscaffold {} to {now}", before.cli_version))
            .into_iter()
            .collect(),
        ..Story::default()
    };
    bring_in_line(&tree, &before, before.clone(), mode, &story)
}

/// Prints what `apply`, or in a project of an older rscaffold `update`, would change now. With
/// `exit_code`, fails if that is something.
pub fn diff(exit_code: bool, on_conflict: OnConflict) -> Result<ExitCode> {
    let tree = WorkTree::open(root()?)?;
    let merged = Merged::load(&tree)?;
    let turn = Turn {
        tree: &tree,
        before: Some(&merged.before),
        after: merged.after.clone(),
        base: merged.base(&tree)?,
        settles: true,
    };
    let planned = turn.plan(on_conflict)?;
    let differs = report::diff(&planned.plan, &planned.ours)?;
    if planned.plan.conflicts().next().is_some() {
        report::conflicts(&planned.plan, None);
        return Ok(ExitCode::FAILURE);
    }
    Ok(if exit_code && differs {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
