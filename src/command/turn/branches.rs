//! A turn after git has merged two branches: merges their projects, and repairs the record.

use anyhow::{Result, anyhow};

use super::Turn;
use crate::{
    engine::{
        Text, Texts,
        reconcile::{
            OnConflict, Policy, branches::merge_texts, line_ends::is_same, markers::Marked,
        },
        worktree::{Commit, Commits, Record, Unmerged, WorkTree},
    },
    hint::OrHint,
    project::Project,
    render::render,
};

impl<'a> Turn<'a> {
    /// The turn that brings the files in `tree` in line with `PROJECT`, whose text is `text`. If `PROJECT` has conflict
    /// markers of git, both sides are merged.
    ///
    /// # Errors
    /// When the branches contradict each other, or git does not know which branches the markers in `PROJECT` come from.
    pub fn of_branches(
        tree: &'a WorkTree,
        text: &str,
        record: Record,
        policy: &Policy,
    ) -> Result<Self> {
        let unmerged = tree.unmerged(record.texts.keys().map(String::as_str))?;
        if let Some(Commits { ours, theirs, .. }) = &unmerged.commits {
            ensure_one_version(&version(ours)?, &version(theirs)?)?;
        }
        let file = Project::FILE;
        let (before, after) = if let Some(marked) = Marked::parse(text) {
            let line = marked.line;
            let stages = unmerged.stages.get(file);
            let Some(stages) = stages.filter(|all| all.ours.is_some() && all.theirs.is_some())
            else {
                return Err(anyhow!(
                    "`{file}` has conflict markers in line {line}, and git does not say which \
                     branches it merges"
                ))
                .or_hint("resolve the conflict markers, and run the command again");
            };
            let parent = stages.parent.as_ref().map(Text::content);
            let project = both(parent, &marked.ours, &marked.theirs).or_hint(format!(
                "resolve the conflict markers in line {line} and below of `{file}`, and run the \
                 command again"
            ))?;
            (None, project)
        } else {
            let before = Project::parse(text)?;
            let merged = match policy.of(file) {
                OnConflict::Ours => None,
                _ => merged(text, &before, &unmerged, &record).or_hint(format!(
                    "edit `{file}` until it says what you want, and run `rscaffold apply \
                     --on-conflict=ours:{file}`"
                ))?,
            };
            (Some(before.clone()), merged.unwrap_or(before))
        };
        let rendered = render(&after)?;
        Ok(Self {
            before,
            unmerged: Some(unmerged),
            ..Self::new(tree, record, after, rendered)
        })
    }

    /// Repairs the record after git has merged it.
    ///
    /// Where two branches changed neighbouring lines of the record, git keeps the lines of both, including lines that
    /// one branch has deleted. So a record with two projects is recomputed: the recorded files of both branches are
    /// merged in the same way as git merged the files on disk. While git still knows the commits, the files come from
    /// the records in these commits. Later, they are rendered.
    pub(super) fn repair_record(&mut self) {
        let [ours, theirs] = self.record.projects.as_slice() else {
            return;
        };
        let recorded = self.unmerged.as_ref().and_then(Unmerged::recorded);
        if let Some(sides) = recorded.or_else(|| self.renders(ours, theirs)) {
            merge_texts(&mut self.record.texts, &sides);
        }
    }

    /// The rendered files of the projects in the common ancestor and on the branches; `None` if another version of
    /// rscaffold wrote them.
    fn renders(&self, ours: &str, theirs: &str) -> Option<[Texts; 3]> {
        let merged = self.before.as_ref().unwrap_or(&self.after);
        let (ours, theirs) = (Project::parse(ours).ok()?, Project::parse(theirs).ok()?);
        if ours.is_older() || theirs.is_older() {
            return None;
        }
        let parent = Project::parent(&ours, &theirs, merged).ok()?;
        let [parent, ours, theirs] = [parent, ours, theirs].map(|project| render(&project).ok());
        Some([parent?.texts, ours?.texts, theirs?.texts])
    }
}

/// The merge of the two branches' projects, if git merged `PROJECT` to `text` without a conflict. git merges lines, so
/// its text may describe a project that follows from neither branch.
///
/// After the merge is committed, git no longer knows the branches. Then the record has the projects of both branches,
/// and `project` must be a merge of them.
fn merged(
    text: &str,
    project: &Project,
    unmerged: &Unmerged,
    record: &Record,
) -> Result<Option<Project>> {
    let Some(commits) = &unmerged.commits else {
        if let (true, [ours, theirs]) = (unmerged.stages.is_empty(), &*record.projects)
            && let (Ok(ours), Ok(theirs)) = (Project::parse(ours), Project::parse(theirs))
        {
            Project::parent(&ours, &theirs, project)?;
        }
        return Ok(None);
    };
    let [ours, theirs] =
        [&commits.ours, &commits.theirs].map(|commit| commit.description.as_deref());
    let parent = commits
        .parent
        .as_ref()
        .and_then(|commit| commit.description.as_deref());
    match (parent, ours, theirs, &commits.merged) {
        (Some(_), Some(ours), Some(theirs), Some(merged)) if is_same(text, merged) => {
            both(parent, ours, theirs).map(Some)
        }
        _ => Ok(None),
    }
}

/// The three-way merge of the projects `ours` and `theirs` with the base `parent`.
fn both(parent: Option<&str>, ours: &str, theirs: &str) -> Result<Project> {
    let parent = parent.map(Project::parse).transpose()?;
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

/// The version of rscaffold that wrote the project in a commit.
fn version(commit: &Commit) -> Result<String> {
    match &commit.description {
        Some(text) => Ok(Project::parse(text)?.cli_version),
        None => Ok(String::new()),
    }
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
            merged(text, &with(&[]), &unmerged, &Record::default()).unwrap()
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
            ensure_one_version(&version(&ours)?, &version(&theirs)?)
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
