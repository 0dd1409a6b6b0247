//! The commands: arguments -> edit of the project -> reconcile -> what to do next.

use std::{collections::BTreeSet, env, path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Context, Result, anyhow};

use crate::{
    cli::{Cli, Command, Create},
    project::Project,
    reconcile::{Change, OnConflict, Plan, Texts, reconcile},
    render::render,
    report::{self, OrHint, Story},
    worktree::{LAST_APPLIED, WorkTree},
};

mod ask;
mod completion;
pub mod create_api;
pub mod init;
mod version;

/// How a command that changes the project writes.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// Show the plan, write nothing.
    pub dry_run: bool,
    /// What becomes of lines that both sides changed.
    pub on_conflict: OnConflict,
}

/// Runs what the command line asks for.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Init(args) => {
            let (options, mode) = args.split();
            init::run(options, mode)
        }
        Command::Create(Create::Api(args)) => {
            let (options, mode) = args.split();
            create_api::run(options, mode)
        }
        Command::Version(args) => version::run(args.output),
        Command::Completion(args) => completion::run(args.shell),
    }
}

/// The exit code that stands for `error`: 2 like clap's for an incomplete command line, else 1.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<ask::Missing>() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

/// The folder that holds the project, or shall.
fn root() -> Result<PathBuf> {
    env::current_dir().context("failed to find the current folder")
}

/// The project of the work tree.
fn load(tree: &WorkTree) -> Result<Project> {
    let Some(text) = tree.project()? else {
        ensure_not_lost(&tree.base()?, &Texts::new())?;
        return Err(anyhow!(
            "there is no `{}` file in this folder",
            Project::FILE
        ))
        .or_hint("`rscaffold init` starts a project; in an existing one, go to its top folder");
    };
    Project::parse(&text)
}

/// Refuses a work tree without `PROJECT` whose record, `base`, is that of a project: to start anew
/// would delete its APIs.
///
/// A record of the files of `fresh` is no such project: it is from an `init` that was killed
/// before it wrote `PROJECT`.
fn ensure_not_lost(base: &Texts, fresh: &Texts) -> Result<()> {
    let file = Project::FILE;
    let recorded = fresh.iter().filter(|&(path, _)| path != file);
    if base.is_empty() || recorded.eq(base) {
        return Ok(());
    }
    Err(anyhow!("`{file}` is gone, but `{LAST_APPLIED}` is there")).or_hint(format!(
        "bring it back, for example with `git restore {file}`; to start over, delete `.rscaffold`"
    ))
}

/// Brings the work tree in line with the project `after`, and tells `story` about it.
///
/// `before` is the project of `PROJECT` as it stands on disk.
fn bring_in_line(
    tree: &WorkTree,
    before: Option<&Project>,
    mut after: Project,
    mode: Mode,
    story: &Story,
) -> Result<ExitCode> {
    let start = Instant::now();
    env!("CARGO_PKG_VERSION").clone_into(&mut after.cli_version);
    let theirs = render(&after)?;

    // What a user changed in PROJECT is in `after`. What is left to merge is how it is written
    // (comments, order), and that differs from what the tool would have written for the same
    // project, not from what it wrote last.
    let mut base = tree.base()?;
    match before {
        Some(before) => _ = base.insert(Project::FILE.to_owned(), before.to_text()?),
        None => ensure_not_lost(&base, &theirs)?,
    }
    let paths: BTreeSet<&str> = base
        .keys()
        .chain(theirs.keys())
        .map(String::as_str)
        .collect();
    let ours = tree.ours(paths)?;

    let mut plan = reconcile(&base, &ours, &theirs, mode.on_conflict);
    if plan.conflicts().next().is_some() {
        report::conflicts(&plan);
        return Ok(ExitCode::FAILURE);
    }
    settle_project(&mut plan, &ours, &theirs, mode.on_conflict)?;
    if !mode.dry_run {
        tree.apply(&plan, &theirs)?;
    }
    report::plan(&plan, mode.dry_run, story, start.elapsed());
    Ok(ExitCode::SUCCESS)
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
    let Some(wanted) = theirs.get(file) else {
        return Ok(());
    };
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
