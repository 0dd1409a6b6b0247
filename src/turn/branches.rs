//! Resolves the conflicts that git left between two branches.

use anyhow::{Result, anyhow};

use super::{Sources, Turn};
use crate::{
    engine::Text,
    engine::reconcile::{
        Conflict, OnConflict, Policy, Sides,
        branches::{Side, differences, merge},
        line_ends::{LineEnds, with_line_ends_of},
        markers::Marked,
    },
    engine::worktree::{Commit, Commits, Record, Stages, Unmerged, WorkTree},
    hint::OrHint,
    project::Project,
    render::{CONVENTIONS, render},
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
        let file = Project::FILE;
        let (before, after) = if let Some(marked) = Marked::parse(text) {
            let line = marked.line;
            let Some(Stages {
                parent,
                ours: Some(_),
                theirs: Some(_),
                ..
            }) = unmerged.stages.get(file)
            else {
                return Err(anyhow!(
                    "`{file}` has conflict markers in line {line}, and git does not say which \
                     branches it merges"
                ))
                .or_hint("resolve the conflict markers, and run the command again");
            };
            let project = both(parent.as_deref(), &marked.ours, &marked.theirs).or_hint(format!(
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
            branches: Some(unmerged),
            ..Self::new(tree, record, after, rendered)
        })
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

/// Sets ours of each file that git left open to the merged text. If the branches conflict, the file is also open in
/// `sides`.
///
/// # Errors
/// When different versions of rscaffold wrote the branches, or `PROJECT` of a branch cannot be read.
pub(super) fn settle(unmerged: &Unmerged, sides: &mut Sides, sources: &Sources) -> Result<()> {
    let commits = unmerged.commits.as_ref();
    if let Some(Commits { ours, theirs, .. }) = commits {
        ensure_one_version(&version(ours)?, &version(theirs)?)?;
    }
    for (path, stages) in &unmerged.stages {
        let disk = sides.get(path).disk.clone().unwrap_or_default();
        let Some(is_as_git_left_it) = is_open(&disk, stages) else {
            continue;
        };
        let target = sources.target(path, sides).unwrap_or(path);
        let parent = commits.and_then(|commits| commits.parent.as_ref());
        let parent = parent.map(|parent| side(path, Some(parent), stages.parent.clone()));
        let ours = side(
            path,
            commits.map(|commits| &commits.ours),
            stages.ours.clone(),
        )?;
        let theirs = side(
            path,
            commits.map(|commits| &commits.theirs),
            stages.theirs.clone(),
        )?;
        let merged = if is_as_git_left_it {
            let render = sides.get(target).theirs.as_ref();
            merge(parent.transpose()?, ours, theirs, render)
        } else {
            let [ours, theirs] = [&stages.ours, &stages.theirs];
            Err(differences(ours.as_deref(), theirs.as_deref()))
        };
        let (base, ours) = match merged {
            Ok(text) => (sides.get(target).theirs.clone(), text),
            // `make manifests` will replace the text of either side.
            Err(_) if CONVENTIONS.is_derived(path) => (Some(Text::default()), stages.ours.clone()),
            Err(conflict) => {
                sides.at(path).open = Some(at(conflict, &disk));
                continue;
            }
        };
        let file = sides.at(path);
        file.base = base;
        file.set_ours(ours.map(|text| with_line_ends_of(&disk, &text).into()));
    }
    Ok(())
}

/// The version of rscaffold that wrote the project in a commit.
fn version(commit: &Commit) -> Result<String> {
    let project = commit
        .description
        .as_deref()
        .map(Project::parse)
        .transpose()?;
    Ok(project.map_or_else(String::new, |project| project.cli_version))
}

/// The file at `path` on a branch, where it has this `text`.
fn side(path: &str, commit: Option<&Commit>, text: Option<Text>) -> Result<Side> {
    let base = match (path, &text) {
        (Project::FILE, Some(text)) => Some(Project::parse(text)?.to_text()?.into()),
        _ => commit.and_then(|commit| {
            let recorded = commit.record.texts.get(path)?;
            Some(CONVENTIONS.resolve(path, recorded, text.as_deref()))
        }),
    };
    Ok(Side { base, ours: text })
}

/// Whether the text on `disk` is the one that git left; `false` if the user has begun to edit it. `None` if the user
/// has resolved the conflict. `stages` are the texts in the index.
fn is_open(disk: &str, stages: &Stages) -> Option<bool> {
    let is_same = |text: &Text| is_same(disk, text);
    match (&stages.ours, &stages.theirs) {
        (Some(_), Some(_)) => {
            Marked::parse(disk)?;
            Some(stages.written.as_ref().is_some_and(is_same))
        }
        // One branch deleted the file, and git kept the text of the other branch.
        (Some(text), None) | (None, Some(text)) => is_same(text).then_some(true),
        (None, None) => None,
    }
}

/// Whether two texts are equal except for line ends.
fn is_same(a: &str, b: &str) -> bool {
    LineEnds::strip(a).0 == LineEnds::strip(b).0
}

/// Moves the conflict to the line below git's marker, where the user sees it.
fn at(mut conflict: Conflict, disk: &str) -> Conflict {
    for hunk in &mut conflict.hunks {
        let first = [&hunk.ours, &hunk.theirs, &hunk.base];
        let first = first.into_iter().find_map(|lines| lines.first());
        let place = |line: &String| disk.lines().position(|other| other == line);
        hunk.line = first.and_then(place).map_or(1, |index| index + 1);
    }
    conflict
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{commit, guestbook},
        *,
    };
    use crate::{
        engine::{
            Texts,
            reconcile::{Hunk, Reason, reconcile},
        },
        project::Feature,
    };

    const OURS: &str = "a\nB\nc\n";
    const MARKED: &str = "a\n<<<<<<< HEAD\nB\n=======\nx\n>>>>>>> theirs\nc\n";

    /// Without `written`, git has not recorded the text that it wrote.
    fn open(disk: &str, [ours, theirs, written]: [&str; 3]) -> Option<bool> {
        let [ours, theirs, written] =
            [ours, theirs, written].map(|text| (!text.is_empty()).then(|| text.to_owned().into()));
        let stages = Stages {
            parent: Some("a\nb\nc\n".into()),
            ours,
            theirs,
            written,
        };
        is_open(disk, &stages)
    }

    #[test]
    fn a_file_is_open_as_git_left_it_until_the_user_decides() {
        let stages = [OURS, "a\nx\nc\n", MARKED];
        assert_eq!(open(MARKED, stages), Some(true));
        assert_eq!(open(&MARKED.replace('\n', "\r\n"), stages), Some(true));
        assert_eq!(open("a\nB\nc\n", stages), None, "decided");
    }

    #[test]
    fn a_file_that_the_user_has_edited_differs_from_gits_text() {
        for (text, by) in [("B\n", ""), ("x\n", ""), ("c\n", "d\n"), ("a\n", "")] {
            let disk = MARKED.replacen(text, by, 1);
            let stages = [OURS, "a\nx\nc\n", MARKED];
            assert_eq!(open(&disk, stages), Some(false), "{disk}");
        }
        assert_eq!(open(MARKED, [OURS, "a\nx\nc\n", ""]), Some(false));
    }

    #[test]
    fn a_file_that_one_branch_deleted_is_open_as_the_other_one_has_it() {
        for stages in [[OURS, "", ""], ["", OURS, ""]] {
            assert_eq!(open(OURS, stages), Some(true));
            assert_eq!(open("a\nb\nc\n", stages), None, "edited since");
            assert_eq!(open("", stages), None, "deleted since");
        }
        assert_eq!(open("", [""; 3]), None);
    }

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

    /// The sides of the file at `path`, which git left open. The texts are those in the common ancestor, on ours and on
    /// theirs; `commits` are these three commits, if they are known.
    fn settled(
        path: &str,
        texts: [&str; 3],
        commits: Option<[Commit; 3]>,
        [disk, render]: [&str; 2],
    ) -> Result<Sides> {
        let [parent, ours, theirs] = texts.map(|text| Some(text.to_owned().into()));
        let stages = Stages {
            parent,
            ours,
            theirs,
            written: Some(disk.to_owned().into()),
        };
        let unmerged = Unmerged {
            stages: [(path.to_owned(), stages)].into(),
            commits: commits.map(|[parent, ours, theirs]| Commits {
                parent: Some(parent),
                ours,
                theirs,
                merged: None,
            }),
        };
        let side = |text: &str| Texts::from([(path.to_owned(), text.to_owned().into())]);
        let mut sides = Sides::new(&CONVENTIONS, Texts::new(), side(disk), side(render));
        settle(&unmerged, &mut sides, &Sources::default())?;
        Ok(sides)
    }

    #[test]
    fn a_file_has_the_new_render_and_the_edits_of_both_branches() {
        let path = "src/lib.rs";
        // For each commit: the text that rscaffold wrote, and the text of the file.
        let [parent, ours, theirs] = [
            ("a\nb\n", "a\nb\n"),
            ("a\nours\nb\n", "mine\na\nours\nb\n"),
            ("a\ntheirs\nb\n", "a\ntheirs\nb\nyours\n"),
        ];
        let commits = [parent, ours, theirs].map(|(base, _)| {
            let texts = [(path.to_owned(), base.into())];
            commit(&guestbook(), texts.into())
        });
        let (texts, render) = ([parent.1, ours.1, theirs.1], "a\nours\ntheirs\nb\n");
        let sides = settled(path, texts, Some(commits), [MARKED, render]).unwrap();
        assert_eq!(sides.get(path).base.as_deref(), Some(render));
        let expected = format!("mine\n{render}yours\n");
        assert_eq!(sides.get(path).ours(), Some(&*expected));
    }

    #[test]
    fn comments_in_the_project_of_both_branches_are_kept() {
        let projects = [
            with(&[]),
            with(&[Feature::Agents]),
            with(&[Feature::Prometheus]),
        ];
        let commits = projects
            .each_ref()
            .map(|project| commit(project, Texts::new()));
        let commented = |text: &str, field: &str| {
            text.replace(field, &format!("# Do not change this.\n{field}"))
        };
        let [parent, ours, theirs] = projects.map(|project| project.to_text().unwrap());
        let (ours, theirs) = (commented(&ours, "domain:"), commented(&theirs, "repo:"));
        let render = with(&[Feature::Agents, Feature::Prometheus]);
        let render = render.to_text().unwrap();
        let (path, texts) = (Project::FILE, [&*parent, &*ours, &*theirs]);
        let sides = settled(path, texts, Some(commits), [MARKED, &render]).unwrap();
        let expected = commented(&commented(&render, "domain:"), "repo:");
        assert_eq!(sides.get(path).ours(), Some(&*expected));
    }

    #[test]
    fn edits_that_clash_are_for_the_user_to_decide_but_not_in_a_derived_file() {
        let texts = ["a\nb\nc\n", OURS, "a\nx\nc\n"];
        for (path, is_derived) in [("Makefile", false), ("config/rbac/role.yaml", true)] {
            let sides = settled(path, texts, None, [MARKED, "a\nb\nc\n"]).unwrap();
            assert_eq!(sides.get(path).open.is_some(), !is_derived, "{path}");
            let ours = if is_derived { OURS } else { MARKED };
            assert_eq!(sides.get(path).ours(), Some(ours));
            // Only the operator's code determines the text for both changes.
            let plan = reconcile(&sides, &Policy::default(), |_, _| true);
            assert_eq!(plan.is_stale, is_derived, "{path}");
        }
    }

    #[test]
    fn a_merged_text_has_the_line_ends_that_the_file_has_on_disk() {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let marked = "a\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\nb\n";
        let texts = ["a\nb\n", "a\n1\nb\n", "a\n2\nb\n"];
        let render = "a\n1\n2\nb\n";
        let sides = settled("a", texts, None, [&crlf(marked), render]).unwrap();
        assert_eq!(sides.get("a").ours(), Some(&*crlf(render)));
    }

    #[test]
    fn a_conflict_is_shown_where_the_user_finds_its_lines() {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let hunk = Hunk {
            line: 99,
            base: Vec::new(),
            ours: Vec::new(),
            theirs: lines(&["x"]),
        };
        let conflict = Conflict {
            reason: Reason::Branches,
            hunks: vec![hunk],
        };
        assert_eq!(at(conflict, MARKED).hunks[0].line, 5);
    }

    #[test]
    fn branches_are_of_one_version() {
        let older = Project {
            cli_version: "0.3.0-rc.1".to_owned(),
            ..guestbook()
        };
        let settled = |projects: [&Project; 3]| {
            let commits = projects.map(|project| commit(project, Texts::new()));
            settled("a", [""; 3], Some(commits), [MARKED, ""])
        };
        let current = &guestbook();
        for projects in [[current; 3], [&older, current, current]] {
            settled(projects).expect("branches of one version");
        }
        let error = settled([&older, &older, current]).unwrap_err().to_string();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            error,
            format!("rscaffold 0.3.0-rc.1 wrote one branch, rscaffold {version} the other")
        );
    }
}
