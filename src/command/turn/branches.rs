//! A turn after git has merged two branches: merges their projects, and repairs the record.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow};

use super::Turn;
use crate::{
    command::way_out::RESTORE,
    engine::{
        Text, Texts,
        reconcile::{
            OnConflict, Policy,
            branches::{merge_all, merge_texts},
            line_ends::is_same,
            markers::{Marked, is_as_git_left_it},
        },
        worktree::{Commit, Commits, LAST_APPLIED, Record, Stages, Unmerged, WorkTree},
    },
    hint::OrHint,
    names::in_backticks,
    project::{Project, Resource},
    render::{CONVENTIONS, render},
};

/// The way out if git moved the lines of one branch into the files of a kind that the other branch renamed.
const RENAMED: &str = "if one branch renamed a kind, undo the merge, rename it on the other branch too, run `rscaffold \
                       apply` there, commit, and merge again";

impl<'a> Turn<'a> {
    /// The turn that brings the files in `tree` in line with `PROJECT`, whose text is `text`. If `PROJECT` has conflict
    /// markers of git, both sides are merged.
    ///
    /// # Errors
    /// When the branches contradict each other, or git does not know which branches the markers in `PROJECT` come from.
    pub fn of_branches(
        tree: &'a WorkTree,
        text: &str,
        mut record: Record,
        policy: &Policy,
    ) -> Result<Self> {
        let mut unmerged = tree.unmerged(record.texts.keys().map(String::as_str))?;
        if let Some(commits) = &mut unmerged.commits {
            prepare(commits, &unmerged.moved, &mut record)?;
        }
        let (before, after) = match Marked::parse(text) {
            Some(marked) => (None, from_markers(text, &marked, &unmerged)?),
            None => from_lines(text, &mut unmerged, &record, policy)?,
        };
        let rendered = render(&after)?;
        Ok(Self {
            before,
            unmerged: Some(unmerged),
            ..Self::new(tree, record, after, rendered)
        })
    }

    /// A note about the kinds that a merge has dropped from `PROJECT`.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(super) fn dropped_note(&self) -> Result<Option<String>> {
        let ids: BTreeSet<_> = self.dropped()?.iter().map(Resource::id).collect();
        Ok((!ids.is_empty()).then(|| {
            format!(
                "a merged branch has {}, and `PROJECT` does not: if that is a mistake, add the entry again, and run \
                 `rscaffold apply`",
                in_backticks(ids)
            )
        }))
    }

    /// The resources that are not in `PROJECT`, although a merged branch has them and git kept their files: who takes one
    /// side of a conflict in `PROJECT` loses the entries of the other side.
    fn dropped(&self) -> Result<Vec<Resource>> {
        let mut files = BTreeMap::new();
        if self.record.projects.len() > 1 {
            for text in &self.record.projects {
                let branch = recorded_project(text)?;
                for resource in branch.apis() {
                    if self.after.find(&resource.id())?.is_none() {
                        files.insert(branch.types_file(resource), resource.clone());
                    }
                }
            }
        }
        let kept = self.tree.ours(files.keys().map(String::as_str))?;
        files.retain(|file, _| kept.contains_key(file));
        Ok(files.into_values().collect())
    }

    /// Repairs the record after git has merged it.
    ///
    /// Where branches changed neighbouring lines of the record, git keeps the lines of all of them, including lines that
    /// one branch has deleted. So a record with several projects is recomputed: the recorded files of the branches are
    /// merged in the same way as git merged the files on disk. While git still knows the commits, the files come from
    /// the records in these commits. Later, they are rendered.
    ///
    /// # Errors
    /// When the text that rscaffold wrote last is unknown for a file.
    pub(super) fn repair_record(&mut self) -> Result<()> {
        let is_merged = self.record.projects.len() > 1;
        if let Some(unmerged) = &self.unmerged
            && let Some(commits) = &unmerged.commits
            && let Some(sides) = unmerged.recorded()
        {
            if is_merged {
                merge_texts(&mut self.record.texts, &sides);
            }
            // Once a command has merged the files, each text on disk is the user's decision.
            if is_merged || is_of_branch(&self.record, commits) {
                self.record.texts.extend(self.taken(unmerged, &sides)?);
            }
            return Ok(());
        }
        if !is_merged {
            return Ok(());
        }
        // The files on disk are those of a merge that drops no entry.
        let mut project = self.before.as_ref().unwrap_or(&self.after).clone();
        project.resources.extend(self.dropped()?);
        let renders = Renders::new(&self.record.projects, &project)?;
        let disk = self.tree.ours(renders.paths(&self.record))?;
        let mut unknown = renders.repair(&mut self.record, Some(&disk));
        if let Some(unmerged) = &self.unmerged {
            // These files get another base.
            unknown.retain(|path| !unmerged.stages.contains_key(path));
        } else if !unknown.is_empty() {
            let unmerged = self.tree.unmerged(unknown.iter().map(String::as_str))?;
            ensure_settled(&unmerged)?;
        }
        ensure_none(&unknown)
    }

    /// What rscaffold wrote last into each file of which the user has taken the text of one branch, for example with `git
    /// checkout --ours`. With the merge of both branches as its base, the lines of the other branch would count as deleted by
    /// the user.
    fn taken(&self, unmerged: &Unmerged, [_, ours, theirs]: &[Texts; 3]) -> Result<Texts> {
        let disk = self.tree.ours(unmerged.stages.keys().map(String::as_str))?;
        let mut taken = Texts::new();
        for (path, text) in &disk {
            let stages = &unmerged.stages[path];
            let is_taken = |side: &Option<Text>| {
                (side.as_ref()).is_some_and(|side| is_same(side.content(), text.content()))
            };
            let recorded = if is_taken(&stages.ours) {
                ours.get(path)
            } else if is_taken(&stages.theirs) {
                theirs.get(path)
            } else {
                None
            };
            taken.extend(recorded.map(|recorded| (path.clone(), recorded.clone())));
        }
        Ok(taken)
    }
}

/// Checks that the commits of a merge can be merged, and repairs their records and the `record` on disk.
fn prepare(
    commits: &mut Commits,
    moved: &BTreeMap<String, String>,
    record: &mut Record,
) -> Result<()> {
    if let (Some(ours), Some(theirs)) = (version(&commits.ours), version(&commits.theirs)) {
        ensure_one_version(&ours, &theirs)?;
    }
    ensure_not_moved(moved)?;
    if let Some(parent) = &commits.parent {
        add_other_projects(record, parent, [&commits.ours, &commits.theirs]);
    }
    let branches = [&mut commits.ours, &mut commits.theirs];
    let mut all = commits.parent.iter_mut().chain(branches);
    all.try_for_each(repair_commit)
}

/// The project after a merge that left conflict markers in the `text` of `PROJECT`.
fn from_markers(text: &str, marked: &Marked, unmerged: &Unmerged) -> Result<Project> {
    let (file, line) = (Project::FILE, marked.line);
    let stages = unmerged.stages.get(file);
    let Some(stages) = stages.filter(|all| all.ours.is_some() && all.theirs.is_some()) else {
        return Err(anyhow!(
            "`{file}` has conflict markers in line {line}, and git does not say which \
             branches it merges"
        ))
        .or_hint(
            "resolve the conflict markers, and run the command again; after a `git add` that came too early, \
             run `git checkout --merge .` and `rscaffold apply` instead",
        );
    };
    // git also merges the lines outside of the markers, which may form an entry that neither branch has. They count once
    // the user has begun to edit the file.
    let written = stages.written.as_ref().map(Text::content);
    let project = if written.is_some_and(|written| is_as_git_left_it(text, written)) {
        both_of(stages)
    } else {
        let parent = stages.parent.as_ref().map(Text::content);
        both(parent, &marked.ours, &marked.theirs)
    };
    project.or_hint(format!(
        "resolve the conflict markers in line {line} and below of `{file}`, and run the command again"
    ))
}

/// The projects before and after the turn, if the `text` of `PROJECT` has no conflict markers.
fn from_lines(
    text: &str,
    unmerged: &mut Unmerged,
    record: &Record,
    policy: &Policy,
) -> Result<(Option<Project>, Project)> {
    let file = Project::FILE;
    let parsed = Project::parse(text);
    // Lines that are no project cannot be kept.
    let is_kept = policy.of(file) == OnConflict::Ours && parsed.is_ok();
    let by_git = by_git(text, unmerged).filter(|_| !is_kept);
    let hint = format!(
        "edit `{file}` until it says what you want, and run `rscaffold apply \
         --on-conflict=ours:{file}`; {RENAMED}"
    );
    match (parsed, by_git) {
        (Ok(before), Some(stages)) => Ok((Some(before), both_of(&stages).or_hint(hint)?)),
        (Ok(before), None) => {
            if !is_kept {
                ensure_from_branches(&before, unmerged, record).or_hint(hint)?;
            }
            Ok((Some(before.clone()), before))
        }
        // The lines of both branches may not even be a project.
        (Err(_), Some(stages)) => {
            let after = both_of(&stages).or_hint(hint)?;
            unmerged.stages.insert(file.to_owned(), stages);
            Ok((None, after))
        }
        (Err(error), None) => Err(error),
    }
}

/// The texts that rscaffold renders for branches, for their common ancestor, and for what git made of them.
struct Renders {
    branches: Vec<Texts>,
    /// `None` if the ancestor does not follow from the projects.
    parent: Option<Texts>,
    merged: Texts,
}

impl Renders {
    /// The renders of the `recorded` projects, which git merged to the project `merged`.
    ///
    /// # Errors
    /// When a project cannot be read, or another version of rscaffold rendered it.
    fn new(recorded: &[String], merged: &Project) -> Result<Self> {
        let projects = recorded.iter().map(|text| recorded_project(text));
        let projects = projects.collect::<Result<Vec<_>>>()?;
        let texts = |project: &Project| render(project).map(|rendered| rendered.texts);
        let (parent, branches) = ancestor(&projects, merged);
        Ok(Self {
            branches: branches.into_iter().map(texts).collect::<Result<_>>()?,
            // Values of several branches may contradict each other in the ancestor.
            parent: parent.and_then(|parent| texts(&parent).ok()),
            merged: texts(merged)?,
        })
    }

    /// The paths of all files, rendered or recorded.
    fn paths<'a>(&'a self, record: &'a Record) -> BTreeSet<&'a str> {
        let renders = self.branches.iter().chain(&self.parent);
        let all = renders.chain([&self.merged, &record.texts]);
        all.flat_map(|texts| texts.keys().map(String::as_str))
            .collect()
    }

    /// Sets the texts of `record`, and returns the paths of the files whose text is unknown. `disk` has the files as
    /// git merged them, if they are known.
    fn repair(&self, record: &mut Record, disk: Option<&Texts>) -> Vec<String> {
        let (mut texts, mut unknown) = (Texts::new(), Vec::new());
        for path in self.paths(record) {
            let base = match self.base(path, disk) {
                Base::Known(text) => text,
                Base::Unknown => {
                    // `make manifests` writes a derived file, whatever its text is now.
                    if !CONVENTIONS.is_derived(path) {
                        unknown.push(path.to_owned());
                    }
                    record.texts.get(path).cloned()
                }
            };
            texts.extend(base.map(|base| (path.to_owned(), base)));
        }
        record.texts = texts;
        unknown
    }

    fn base(&self, path: &str, disk: Option<&Texts>) -> Base {
        let is_on_disk = |text: Option<&Text>| {
            disk.is_some_and(|disk| match (disk.get(path), text) {
                (Some(disk), Some(text)) => is_same(disk.content(), text.content()),
                (disk, text) => disk.is_none() && text.is_none(),
            })
        };
        let merged = self.merged.get(path);
        let branches = || self.branches.iter().map(|texts| texts.get(path));
        if is_on_disk(merged) {
            return Base::Known(merged.cloned());
        }
        let first = branches().next().flatten();
        if branches().all(|text| text == first) {
            return Base::Known(first.cloned());
        }
        let parent = self.parent.as_ref();
        if let Some(Ok(all)) = parent.map(|parent| merge_all(parent.get(path), branches())) {
            return Base::Known(all);
        }
        // If the branches conflict, the user may have taken the file of one branch.
        let resolved = branches().find(|text| is_on_disk(*text));
        resolved.map_or(Base::Unknown, |text| Base::Known(text.cloned()))
    }
}

/// The text that rscaffold wrote last at a path.
enum Base {
    /// `None` if it wrote none.
    Known(Option<Text>),
    Unknown,
}

/// The common ancestor of the recorded `projects`, and the two projects that git merged to `merged`; all projects if no
/// pair fits.
///
/// After a rebase, the record also has projects in the middle of a branch. The two ends of the branches are enough.
fn ancestor<'a>(projects: &'a [Project], merged: &Project) -> (Option<Project>, Vec<&'a Project>) {
    let mut sorted = merged.clone();
    sorted.sort();
    for (index, ours) in projects.iter().enumerate() {
        for theirs in &projects[index + 1..] {
            if let Ok(parent) = Project::parent(ours, theirs, merged)
                && Project::merge(Some(&parent), ours, theirs).is_ok_and(|both| both == sorted)
            {
                return (Some(parent), vec![ours, theirs]);
            }
        }
    }
    let parents = projects.iter().cloned().map(Ok);
    let parent = parents.reduce(|parent, project| Project::parent(&parent?, &project?, merged));
    (parent.and_then(Result::ok), projects.iter().collect())
}

/// The project that a branch recorded.
fn recorded_project(text: &str) -> Result<Project> {
    let project = Project::parse(text)
        .with_context(|| format!("`{LAST_APPLIED}` has a project that is not valid"))
        .or_hint(RESTORE)?;
    if !project.is_older() {
        return Ok(project);
    }
    Err(anyhow!(
        "rscaffold {} wrote a branch that git has merged",
        project.cli_version
    ))
    .or_hint(
        "undo the merge; run `rscaffold update` on each branch of the older version, commit, and merge again",
    )
}

/// Refuses files that git left unmerged: only `apply` merges them.
fn ensure_settled(unmerged: &Unmerged) -> Result<()> {
    if unmerged.stages.is_empty() {
        return Ok(());
    }
    let paths: Vec<_> = unmerged.stages.keys().map(String::as_str).collect();
    Err(anyhow!("git left conflicts in\n  {}", paths.join("\n  "))).or_hint(
        "run `rscaffold apply`: it resolves conflicts in the lines of rscaffold, and shows those in your own lines",
    )
}

/// Refuses a record that git merged to texts that rscaffold did not write.
fn ensure_none(unknown: &[String]) -> Result<()> {
    if unknown.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "after a merge of branches, rscaffold cannot tell your lines from its own in\n  {}",
        unknown.join("\n  ")
    ))
    .or_hint(format!(
        "undo the merge or the rebase, use `git merge`, and run `rscaffold apply` before you commit; \
         or recreate the record with `rscaffold apply --rebuild-base`, which says what is lost; {RENAMED}"
    ))
}

/// Refuses files that git has at other paths: there the merged project has other files or none, so edits would be lost.
fn ensure_not_moved(moved: &BTreeMap<String, String>) -> Result<()> {
    if moved.is_empty() {
        return Ok(());
    }
    let places = moved.iter().map(|(from, to)| format!("{from} -> {to}"));
    Err(anyhow!(
        "one branch renamed or moved folders, and git has files of the other branch at other paths:\n  {}",
        places.collect::<Vec<_>>().join("\n  ")
    ))
    .or_hint(
        "undo the merge or the rebase, for example with `git merge --abort`; make the same change of the project's \
         folder, its name, the group or the version on the other branch, run `rscaffold apply` there, commit, and use \
         `git merge`",
    )
}

/// If the record on disk is the one of one branch, as the attribute `-merge` or `git checkout HEAD -- .rscaffold` leaves
/// it, adds the projects of the other branch, so that [`Turn::repair_record`] repairs it.
fn add_other_projects(record: &mut Record, parent: &Commit, [ours, theirs]: [&Commit; 2]) {
    let other = match &*record {
        record if *record == ours.record => theirs,
        record if *record == theirs.record => ours,
        _ => return,
    };
    for project in &other.record.projects {
        if !record.projects.contains(project) && !parent.record.projects.contains(project) {
            record.projects.push(project.clone());
        }
    }
}

/// Whether a branch has the same projects as `record`. If not, a command has written the record after the merge.
fn is_of_branch(record: &Record, commits: &Commits) -> bool {
    let branches = [&commits.ours, &commits.theirs];
    branches
        .iter()
        .any(|commit| commit.record.projects == record.projects)
}

/// Repairs the record of a commit in which git merged records.
fn repair_commit(commit: &mut Commit) -> Result<()> {
    let (Some(text), [_, _, ..]) = (&commit.description, commit.record.projects.as_slice()) else {
        return Ok(());
    };
    // Only the project on disk must be valid.
    let Ok(project) = Project::parse(text) else {
        return Ok(());
    };
    let renders = Renders::new(&commit.record.projects, &project)?;
    ensure_none(&renders.repair(&mut commit.record, None))
}

/// The texts of `PROJECT` in the three commits, if git merged them to `text` without a conflict. git merges lines, so its
/// text may describe a project that follows from neither branch, or none at all.
fn by_git(text: &str, unmerged: &Unmerged) -> Option<Stages> {
    let commits = unmerged.commits.as_ref()?;
    let merged = commits.merged.as_ref()?;
    if !is_same(text, merged) {
        return None;
    }
    let project = |commit: &Commit| commit.description.clone().map(Text::from);
    Some(Stages {
        parent: Some(project(commits.parent.as_ref()?)?),
        ours: Some(project(&commits.ours)?),
        theirs: Some(project(&commits.theirs)?),
        written: Some(merged.clone().into()),
        is_binary: false,
    })
}

/// Checks that `project` is a merge of the projects in the record, if git no longer knows the branches.
fn ensure_from_branches(project: &Project, unmerged: &Unmerged, record: &Record) -> Result<()> {
    if let (None, true, [ours, theirs]) = (
        &unmerged.commits,
        unmerged.stages.is_empty(),
        &*record.projects,
    ) && let (Ok(ours), Ok(theirs)) = (Project::parse(ours), Project::parse(theirs))
    {
        Project::parent(&ours, &theirs, project)?;
    }
    Ok(())
}

/// The three-way merge of the projects in `stages`.
fn both_of(stages: &Stages) -> Result<Project> {
    let [ours, theirs] =
        [&stages.ours, &stages.theirs].map(|side| side.as_ref().map_or("", Text::content));
    both(stages.parent.as_ref().map(Text::content), ours, theirs)
}

/// The three-way merge of the projects `ours` and `theirs` with the base `parent`.
fn both(parent: Option<&str>, ours: &str, theirs: &str) -> Result<Project> {
    // If git merged several ancestors, their text may have conflict markers.
    let parent = parent.and_then(|text| Project::parse(text).ok());
    let (ours, theirs) = (Project::parse(ours)?, Project::parse(theirs)?);
    ensure_one_version(&ours.cli_version, &theirs.cli_version)?;
    Project::merge(parent.as_ref(), &ours, &theirs)
}

/// Checks that the same version of rscaffold wrote both branches.
fn ensure_one_version(ours: &str, theirs: &str) -> Result<()> {
    if ours == theirs {
        return Ok(());
    }
    Err(anyhow!(
        "rscaffold {ours} wrote one branch, rscaffold {theirs} the other"
    ))
    .or_hint(
        "undo the merge, for example with `git merge --abort`; run `rscaffold update` on the branch of \
         the older version, commit, and merge again",
    )
}

/// The version of rscaffold that wrote the project in a commit; `None` without a project that can be read.
fn version(commit: &Commit) -> Option<String> {
    let project = Project::parse(commit.description.as_deref()?).ok()?;
    Some(project.cli_version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        command::turn::tests::{commit, guestbook},
        project::Feature,
    };

    fn with(features: &[Feature]) -> Project {
        Project {
            features: features.iter().copied().collect(),
            ..guestbook()
        }
    }

    #[test]
    fn a_project_that_git_merged_is_merged_as_a_model_until_the_user_edits_it() {
        let (agents, helm) = (Feature::Agents, Feature::Helm);
        let git = "as git merged the lines\n";
        let made = |text: &str| {
            let of = |features: &[Feature]| commit(&with(features), Texts::new());
            let commits = Commits {
                parent: Some(of(&[])),
                ours: of(&[agents]),
                theirs: of(&[helm]),
                merged: Some(git.to_owned()),
            };
            let unmerged = Unmerged {
                commits: Some(commits),
                ..Unmerged::default()
            };
            by_git(text, &unmerged).map(|stages| both_of(&stages).unwrap())
        };
        let both = Some(with(&[agents, helm]));
        assert_eq!(made(git), both);
        assert_eq!(made(&git.replace('\n', "\r\n")), both);
        assert_eq!(made("as the user wants it\n"), None);
    }

    #[test]
    fn branches_are_of_one_version() {
        let older = Project {
            cli_version: "0.3.0-rc.1".to_owned(),
            ..guestbook()
        };
        let ensure = |ours: &Project, theirs: &Project| {
            let [ours, theirs] = [ours, theirs].map(|project| commit(project, Texts::new()));
            ensure_one_version(&version(&ours).unwrap(), &version(&theirs).unwrap())
        };
        let current = &guestbook();
        ensure(current, current).expect("branches of one version");
        let error = ensure(&older, current).unwrap_err().to_string();
        let current = env!("CARGO_PKG_VERSION");
        assert_eq!(
            error,
            format!("rscaffold 0.3.0-rc.1 wrote one branch, rscaffold {current} the other")
        );
    }
}
