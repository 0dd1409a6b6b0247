//! `rscaffold apply`, `rscaffold update` and `rscaffold diff`: the commands that take no new settings, and only
//! reconcile the files with `PROJECT`.

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::Args;

use super::{
    Mode,
    load::{ensure_current, load, or_edit, text},
    on_conflict::Choices,
    turn::{Turn, carry_out, ensure_known, is_unwritten},
};
use crate::{
    command::report::{self, Outcome, Story},
    engine::reconcile::{Kept, Policy},
    engine::worktree::{Record, WorkTree},
    hint::OrHint,
    project::{Project, Runtime},
    render::CONVENTIONS,
};

/// `apply`
#[derive(Debug, Args)]
#[command(after_help = APPLY_EXAMPLES)]
pub struct Apply {
    /// Recreate the record of what rscaffold wrote last, if the record is lost or damaged; afterwards, every difference
    /// from a new project counts as your edit
    #[arg(long)]
    rebuild_base: bool,

    /// Deleted file or folder to write again; repeat the flag or separate paths by commas
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    #[arg(conflicts_with = "rebuild_base")]
    restore: Vec<String>,

    #[command(flatten)]
    mode: Mode,
}

const APPLY_EXAMPLES: &str = "\
Examples:
  # After an edit of PROJECT
  rscaffold apply

  # After `git merge`, with or without conflicts
  rscaffold apply

  # Restore a file that you deleted by mistake
  rscaffold apply --restore config/manager/manager.yaml";

/// `update`
#[derive(Debug, Args)]
#[command(after_help = UPDATE_EXAMPLES)]
pub struct Update {
    /// File or folder to leave unchanged, such as `.github/workflows`; the next command that does not exclude it
    /// updates it. Repeat the flag or separate paths by commas
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    exclude: Vec<String>,

    #[command(flatten)]
    mode: Mode,
}

/// The path in the form that the record uses.
fn plain_path(text: &str) -> String {
    let path = text.strip_prefix("./").unwrap_or(text);
    path.trim_end_matches('/').to_owned()
}

const UPDATE_EXAMPLES: &str = "\
Examples:
  # See which files would change, and how
  rscaffold update --dry-run
  rscaffold diff

  # Change them
  rscaffold update";

/// `diff`
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct Diff {
    /// Exit with code 1 if a file would change, and with 2 after a conflict or another error
    #[arg(long)]
    exit_code: bool,

    #[command(flatten)]
    on_conflict: Choices,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  # After an edit of PROJECT
  rscaffold diff

  # In CI: fail unless PROJECT and the files agree
  rscaffold diff --exit-code";

impl Diff {
    /// The exit code after a conflict or an error; with `--exit-code`, 1 means a difference.
    pub fn failure(&self) -> u8 {
        Outcome::FAILURE + u8::from(self.exit_code)
    }
}

/// Reconciles the files with `PROJECT`, after an edit of `PROJECT` or a merge of branches.
pub fn apply(args: &Apply, root: &Path) -> Result<Outcome> {
    let tree = WorkTree::open(root, &CONVENTIONS)?;
    let policy = args.mode.on_conflict.policy()?;
    let (mut turn, story) = if args.rebuild_base {
        let turn = Turn::of_branches(&tree, &text(&tree)?, Record::default(), &policy);
        let mut turn = or_edit(turn)?;
        if is_unwritten(&tree, &turn.rendered)? {
            return Err(anyhow!(
                "no source file of this project exists, so each would count as deleted by you"
            ))
            .or_hint("to write all files, leave out `--rebuild-base`");
        }
        turn.record.texts = turn.rendered.texts.clone();
        let story = Story {
            done: Some("the record is recreated".to_owned()),
            kept: &[Kept::Edited, Kept::Removed],
            notes: rebuilt(&turn.after),
            ..Story::default()
        };
        (turn, story)
    } else {
        let turn = recorded(&tree, &policy)?;
        ensure_current(&turn.after)?;
        let story = Story {
            unchanged: "all files match `PROJECT`".to_owned(),
            kept: &[Kept::Removed],
            ..Story::default()
        };
        (turn, story)
    };
    for named in &args.restore {
        let named = plain_path(named);
        let mut paths: Vec<_> = turn.rendered.texts.keys().cloned().collect();
        paths.retain(|path| *path == named || path.starts_with(&format!("{named}/")));
        if paths.is_empty() {
            return Err(anyhow!(
                "`{named}` is neither a file nor a folder that rscaffold writes in this project"
            ))
            .or_hint(format!(
                "give the path as seen from the folder of `{}`, such as `src/main.rs`",
                Project::FILE
            ));
        }
        let existing = tree.ours(paths.iter().map(String::as_str))?;
        paths.retain(|path| !existing.contains_key(path));
        if paths.is_empty() {
            return Err(anyhow!("`{named}` exists, so it cannot be restored")).or_hint(
                "to replace it with the text that rscaffold writes, delete it first; git keeps the \
                 old text",
            );
        }
        turn.restored.extend(paths);
    }
    carry_out(turn, &args.mode, story)
}

/// The turn that reconciles the files with `PROJECT`. A git merge may have changed both `PROJECT` and the record.
fn recorded<'a>(tree: &'a WorkTree, policy: &Policy) -> Result<Turn<'a>> {
    let turn = Turn::of_branches(tree, &text(tree)?, tree.record()?, policy);
    let turn = or_edit(turn)?;
    ensure_known(&turn.record, tree, &turn.rendered)?;
    Ok(turn)
}

/// The warnings of `--rebuild-base`, which makes a new render the base of all later merges.
fn rebuilt(before: &Project) -> Vec<String> {
    let mut notes = vec![
        "from now on, every difference from a new project counts as your edit, and every missing \
         file as deleted by you: rscaffold changes neither"
            .to_owned(),
    ];
    if before.is_older() {
        notes.push(format!(
            "this includes the text that rscaffold {} wrote and {} would write differently",
            before.cli_version,
            env!("CARGO_PKG_VERSION")
        ));
    }
    notes
}

/// Updates a project that an older rscaffold wrote.
pub fn update(args: &Update, root: &Path) -> Result<Outcome> {
    let tree = WorkTree::open(root, &CONVENTIONS)?;
    let before = load(&tree)?;
    let now = env!("CARGO_PKG_VERSION");
    let from = &before.cli_version;
    let mut notes = Vec::new();
    if before.is_older() {
        notes.push(format!("from rscaffold {from} to {now}"));
        notes.push(
            "your own code may use the API of the older runtime: `cargo check` shows the places, \
             and `CHANGELOG.md` of rscaffold lists the changes"
                .to_owned(),
        );
        notes.extend(of_runtime(&before.runtime, now).map(str::to_owned));
    }
    let story = Story {
        unchanged: format!("the project is up to date with rscaffold {now}"),
        notes,
        ..Story::default()
    };
    let turn = Turn {
        excluded: args.exclude.iter().map(|path| plain_path(path)).collect(),
        ..Turn::between(&tree, &before, before.clone())?
    };
    carry_out(turn, &args.mode, story)
}

/// A note if a new project of rscaffold `version` would take its runtime from another source.
fn of_runtime(runtime: &Runtime, version: &str) -> Option<&'static str> {
    match (runtime, Runtime::of_version(version)) {
        (Runtime::Vendored, Runtime::Registry) => Some(
            "the runtime stays in `crates/kube-manager`; to take it from crates.io, as new projects \
             do, run `rscaffold edit --runtime registry`",
        ),
        (Runtime::Registry, Runtime::Vendored) => Some(
            "crates.io has no runtime of this version, because this rscaffold is not a release; to \
             build the project, run `rscaffold edit --runtime vendored`",
        ),
        _ => None,
    }
}

/// Returns the changes that `apply` would make now, as a unified diff. In a project of an older rscaffold, returns the
/// changes of `update`.
pub fn diff(args: &Diff, root: &Path) -> Result<Outcome> {
    let tree = WorkTree::open(root, &CONVENTIONS)?;
    let policy = args.on_conflict.policy()?;
    let turn = recorded(&tree, &policy)?;
    tree.ensure_complete(&turn.goal()?)?;
    let notes = turn.left_behind();
    let files = turn.files(&policy)?;
    let plan = files.plan(&policy);
    let mut outcome = Outcome::data(report::diff(&plan, files.sides()));
    outcome.stderr = report::notes(&notes);
    if plan.conflicts().next().is_some() {
        outcome.stderr = report::conflicts(&plan, None);
        outcome.code = args.failure();
    } else if args.exit_code && !outcome.stdout.is_empty() {
        outcome.code = 1;
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_keeps_the_runtime_where_it_is_and_says_how_to_change_that() {
        let (development, release) = ("0.4.0-dev", "0.4.0");
        let shared = Runtime::Shared("../books/crates/kube-manager".to_owned());
        let to_registry = of_runtime(&Runtime::Vendored, release).unwrap();
        assert!(to_registry.ends_with("`rscaffold edit --runtime registry`"));
        let to_vendored = of_runtime(&Runtime::Registry, development).unwrap();
        assert!(to_vendored.ends_with("`rscaffold edit --runtime vendored`"));
        for (runtime, version) in [
            (Runtime::Registry, release),
            (Runtime::Vendored, development),
            (shared.clone(), release),
            (shared, development),
        ] {
            assert_eq!(of_runtime(&runtime, version), None);
        }
    }
}
