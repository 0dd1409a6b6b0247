//! One turn of the loop: what becomes of the work tree when the project shall be another one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, anyhow};

use super::Mode;
use crate::{
    project::Project,
    reconcile::{
        Change, Class, Kept, OnConflict, Path, Plan, Texts,
        markers::{Marked, Take},
        reconcile, settle,
    },
    render::render,
    report::{self, OrHint, Story},
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
    if base.is_empty() {
        return Err(anyhow!(
            "`{LAST_APPLIED}` is gone: it tells your lines from rscaffold's"
        ))
        .or_hint(
            "bring it back, for example with `git restore .rscaffold`; or `rscaffold apply \
             --rebuild-base` makes it anew, and says what that means",
        );
    }
    Ok(base)
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
    pub fn plan(mut self, on_conflict: OnConflict) -> Result<Planned> {
        env!("CARGO_PKG_VERSION").clone_into(&mut self.after.cli_version);
        let theirs = render(&self.after)?;

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
        let (ours, marked) = self.without_markers(&disk, on_conflict)?;

        let mut plan = reconcile(&self.base, &ours, &theirs, on_conflict);
        let marked_as_it_is = reconcile(&self.base, &disk, &theirs, on_conflict);
        for (path, own) in marked {
            let text = |texts: &Texts| texts.get(&path).cloned().unwrap_or_default();
            let as_it_is = marked_as_it_is.changes.get(&path);
            let change = match (plan.changes.get(&path), as_it_is) {
                // A command that was killed is run again.
                (Some(Change::Mark(text)), _) if disk.get(&path) == Some(text) => {
                    Change::Keep(Kept::Marked)
                }
                // What is new goes around what is undecided, if it can.
                (Some(change), Some(Change::Mark(_))) if own => change.clone(),
                (_, Some(Change::Keep(_))) if own => Change::Keep(Kept::Marked),
                (_, Some(change)) if own => change.clone(),
                // One that is stale is for `make manifests` to write, and until then as new.
                (Some(Change::Unchanged | Change::Keep(Kept::Stale)), _) => {
                    Change::Update(text(&theirs))
                }
                (Some(Change::Keep(_)), _) => Change::Merge(text(&ours)),
                _ => continue,
            };
            plan.changes.insert(path, change);
        }
        if plan.conflicts().next().is_none() {
            settle_project(&mut plan, &ours, &theirs, on_conflict)?;
        }
        Ok(Planned {
            plan,
            ours: disk,
            theirs,
        })
    }

    /// The files on disk as they were before conflict markers came into some of them, and which
    /// ones these are, with whether the markers are the tool's own.
    ///
    /// A file that the tool marked is the user's side of it, undecided: so a command that was killed
    /// can be run again. One that git marked is settled if the tool's lines alone are in question.
    fn without_markers(
        &mut self,
        disk: &Texts,
        on_conflict: OnConflict,
    ) -> Result<(Texts, BTreeMap<Path, bool>)> {
        let mut ours = disk.clone();
        let mut settled = BTreeMap::new();
        let mut open = Vec::new();
        for (path, text) in disk {
            let Some(marked) = Marked::parse(text) else {
                continue;
            };
            let base = self.base.get(path).map_or("", String::as_str);
            let text = if path == Project::FILE || marked.own && on_conflict == OnConflict::Markers
            {
                Some(marked.take(Take::Ours))
            } else if marked.own || !self.settles {
                None
            } else if Class::of(path) == Class::Derived {
                Some(marked.take(Take::Both))
            } else if let Some(settled) = settle(base, &marked) {
                self.base.insert(path.clone(), settled.base);
                Some(settled.ours)
            } else {
                None
            };
            if let Some(text) = text {
                ours.insert(path.clone(), text);
                settled.insert(path.clone(), marked.own);
            } else {
                open.push((path, marked));
            }
        }
        let mut list = String::new();
        for (path, marked) in &open {
            let _ = write!(list, "\n  {path}:{}", marked.line);
        }
        let hint = match open.first() {
            None => return Ok((ours, settled)),
            Some((_, marked)) if marked.own || self.settles => {
                "decide between the lines, and run the command again"
            }
            Some(_) => {
                "`rscaffold apply` settles the lines that are rscaffold's; those that are yours are \
                 for you to decide"
            }
        };
        Err(anyhow!("there are conflict markers in{list}")).or_hint(hint)
    }
}

impl Planned {
    /// Does what is planned, unless there is a conflict, and tells `story` about it.
    pub fn carry_out(
        &self,
        tree: &WorkTree,
        dry_run: bool,
        story: &Story,
        start: Instant,
    ) -> Result<ExitCode> {
        if self.plan.conflicts().next().is_some() {
            report::conflicts(&self.plan, dry_run.then_some(story));
            return Ok(ExitCode::FAILURE);
        }
        if !dry_run {
            tree.apply(&self.plan, &self.theirs)?;
        }
        report::plan(&self.plan, dry_run, story, start.elapsed());
        Ok(ExitCode::SUCCESS)
    }
}

/// Brings the work tree in line with the project `after`, and tells `story` about it.
///
/// `before` is the project of `PROJECT` as it stands on disk.
pub fn bring_in_line(
    tree: &WorkTree,
    before: &Project,
    after: Project,
    mode: Mode,
    story: &Story,
) -> Result<ExitCode> {
    let start = Instant::now();
    let turn = Turn {
        tree,
        before: Some(before),
        after,
        base: base(tree)?,
        settles: false,
    };
    let planned = turn.plan(mode.on_conflict)?;
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
