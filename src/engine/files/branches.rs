//! Resolves the conflicts that git left between two branches.

use anyhow::Result;

use super::moves::Sources;
use crate::engine::{
    conventions::Conventions,
    reconcile::{
        Conflict, Reason, Sides,
        branches::{Side, differences, merge},
        line_ends::{is_same, with_line_ends_of},
        markers::{Marked, is_as_git_left_it},
    },
    text::Text,
    worktree::{Commit, Stages, Unmerged},
};

/// Sets ours of each file that git left unmerged to the merged text. If the branches conflict, the conflict is also in
/// `sides`.
///
/// # Errors
/// When the description on a branch cannot be read.
pub(super) fn settle(
    conventions: &Conventions,
    unmerged: &Unmerged,
    sides: &mut Sides,
    sources: &Sources,
) -> Result<()> {
    let commits = unmerged.commits.as_ref();
    for (path, stages) in &unmerged.stages {
        let file = sides.get(path);
        if file.is_marked {
            continue;
        }
        let disk = file.disk.clone().unwrap_or_default();
        let disk = disk.content();
        let Some(is_as_git_left_it) = is_unmerged(disk, stages) else {
            continue;
        };
        let target = sources.target(path, sides).unwrap_or(path);
        let (our_commit, their_commit) = commits.map(|all| (&all.ours, &all.theirs)).unzip();
        let merged = if is_as_git_left_it {
            let parent = match commits.and_then(|commits| commits.parent.as_ref()) {
                Some(commit) => Some(side(
                    conventions,
                    path,
                    Some(commit),
                    stages.parent.as_ref(),
                )?),
                None => None,
            };
            let ours = side(conventions, path, our_commit, stages.ours.as_ref())?;
            let theirs = side(conventions, path, their_commit, stages.theirs.as_ref())?;
            let render = sides.get(target).theirs.as_ref();
            let lists = render.map(|text| (conventions.growing)(text.content()));
            merge(parent, ours, theirs, render, &lists.unwrap_or_default())
        } else {
            let [ours, theirs] = [&stages.ours, &stages.theirs];
            Err(differences(ours.as_ref(), theirs.as_ref()))
        };
        let (base, ours) = match merged {
            Ok(text) => (sides.get(target).theirs.clone(), text),
            // `make manifests` will replace the text of either side.
            Err(_) if conventions.is_derived(path) => (Some(Text::default()), stages.ours.clone()),
            // The tool deletes the file that one branch deleted and the other one edited.
            Err(conflict) if conflict.reason == Reason::Dropped && stages.is_one_sided() => {
                let commit = if stages.ours.is_some() {
                    our_commit
                } else {
                    their_commit
                };
                let recorded = commit.and_then(|commit| commit.record.texts.get(path));
                (
                    Some(recorded.cloned().unwrap_or_default()),
                    Some(disk.to_owned().into()),
                )
            }
            Err(conflict) => {
                sides.at(path).clash = Some(at(conflict, disk));
                continue;
            }
        };
        let file = sides.at(path);
        file.base = base;
        file.set_ours(ours.map(|text| with_line_ends_of(disk, text.content()).into()));
    }
    Ok(())
}

/// The file at `path` on a branch, where it has this `text`.
fn side(
    conventions: &Conventions,
    path: &str,
    commit: Option<&Commit>,
    ours: Option<&Text>,
) -> Result<Side> {
    let base = match (ours, commit) {
        (Some(text), _) if path == conventions.description => {
            Some((conventions.normalized)(text.content())?.into())
        }
        (_, Some(commit)) => {
            let recorded = commit.record.texts.get(path);
            recorded.map(|recorded| conventions.resolve(path, recorded, ours.map(Text::content)))
        }
        (_, None) => None,
    };
    let ours = ours.cloned();
    Ok(Side { base, ours })
}

/// Whether the text on `disk` is the one that git left; `false` if the user has begun to edit it. `None` if the user
/// has resolved the conflict. `stages` are the texts in the index.
fn is_unmerged(disk: &str, stages: &Stages) -> Option<bool> {
    if stages.is_binary {
        return Marked::parse(disk).map(|_| false);
    }
    match (&stages.ours, &stages.theirs) {
        (Some(_), Some(_)) => {
            // Attributes of the file can make git write other markers, or none.
            let written = stages.written.as_ref();
            let is_as_written = written.is_some_and(|text| is_as_git_left_it(disk, text.content()));
            if !is_as_written {
                Marked::parse(disk)?;
            }
            Some(is_as_written)
        }
        // One branch deleted the file, and git kept the text of the other branch. A killed command may have written
        // it between markers already.
        (Some(text), None) | (None, Some(text)) => {
            let marked = Marked::parse(disk).filter(|marked| marked.own);
            let kept = marked.as_ref().map_or(disk, |marked| &marked.ours);
            is_same(kept, text.content()).then_some(true)
        }
        (None, None) => None,
    }
}

/// Moves the conflict to the line below git's marker, where the user sees it.
fn at(mut conflict: Conflict, disk: &str) -> Conflict {
    for hunk in &mut conflict.hunks {
        let mut lines = hunk.ours.iter().chain(&hunk.theirs).chain(&hunk.base);
        let first = lines.next().map(String::as_str);
        let index = disk.lines().position(|line| Some(line) == first);
        hunk.line = index.map_or(1, |index| index + 1);
    }
    conflict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        OF_TESTS, Texts,
        reconcile::{Hunk, Policy, Reason, reconcile},
        worktree::{Commits, Record},
    };

    const OURS: &str = "a\nB\nc\n";
    const MARKED: &str = "a\n<<<<<<< HEAD\nB\n=======\nx\n>>>>>>> theirs\nc\n";

    /// Without `written`, git has not recorded the text that it wrote.
    fn unmerged(disk: &str, [ours, theirs, written]: [&str; 3]) -> Option<bool> {
        let [ours, theirs, written] =
            [ours, theirs, written].map(|text| (!text.is_empty()).then(|| text.to_owned().into()));
        let stages = Stages {
            parent: Some("a\nb\nc\n".into()),
            ours,
            theirs,
            written,
            is_binary: false,
        };
        is_unmerged(disk, &stages)
    }

    #[test]
    fn a_file_is_open_as_git_left_it_until_the_user_decides() {
        let stages = [OURS, "a\nx\nc\n", MARKED];
        assert_eq!(unmerged(MARKED, stages), Some(true));
        assert_eq!(unmerged(&MARKED.replace('\n', "\r\n"), stages), Some(true));
        assert_eq!(unmerged("a\nB\nc\n", stages), None, "decided");
        // With the attribute `-merge`, git writes no markers.
        assert_eq!(unmerged(OURS, [OURS, "a\nx\nc\n", OURS]), Some(true));
    }

    #[test]
    fn a_file_that_is_not_utf8_is_open_until_its_markers_are_gone() {
        let stages = Stages {
            ours: Some(OURS.into()),
            written: Some(MARKED.into()),
            is_binary: true,
            ..Stages::default()
        };
        assert_eq!(is_unmerged(MARKED, &stages), Some(false));
        assert_eq!(is_unmerged(OURS, &stages), None);
    }

    #[test]
    fn a_file_that_the_user_has_edited_differs_from_gits_text() {
        for (text, by) in [("B\n", ""), ("x\n", ""), ("c\n", "d\n"), ("a\n", "")] {
            let disk = MARKED.replacen(text, by, 1);
            let stages = [OURS, "a\nx\nc\n", MARKED];
            assert_eq!(unmerged(&disk, stages), Some(false), "{disk}");
        }
        assert_eq!(unmerged(MARKED, [OURS, "a\nx\nc\n", ""]), Some(false));
    }

    #[test]
    fn a_file_that_one_branch_deleted_is_open_as_the_other_one_has_it() {
        for stages in [[OURS, "", ""], ["", OURS, ""]] {
            assert_eq!(unmerged(OURS, stages), Some(true));
            let marked = format!("<<<<<<< yours\n{OURS}=======\n>>>>>>> rscaffold\n");
            assert_eq!(unmerged(&marked, stages), Some(true), "marked");
            assert_eq!(unmerged("a\nb\nc\n", stages), None, "edited since");
            assert_eq!(unmerged("", stages), None, "deleted since");
        }
        assert_eq!(unmerged("", [""; 3]), None);
    }

    fn commit(texts: Texts) -> Commit {
        Commit {
            description: None,
            record: Record {
                texts,
                ..Record::default()
            },
        }
    }

    /// The sides of the file at `path`, which git left unmerged. The texts are those in the common ancestor, on ours and on
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
            is_binary: false,
        };
        let unmerged = Unmerged {
            stages: [(path.to_owned(), stages)].into(),
            commits: commits.map(|[parent, ours, theirs]| Commits {
                parent: Some(parent),
                ours,
                theirs,
                merged: None,
            }),
            ..Unmerged::default()
        };
        let side = |text: &str| Texts::from([(path.to_owned(), text.to_owned().into())]);
        let mut sides = Sides::new(&OF_TESTS, Texts::new(), side(disk), side(render));
        settle(&OF_TESTS, &unmerged, &mut sides, &Sources::default())?;
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
        let commits =
            [parent, ours, theirs].map(|(base, _)| commit([(path.to_owned(), base.into())].into()));
        let (texts, render) = ([parent.1, ours.1, theirs.1], "a\nours\ntheirs\nb\n");
        let sides = settled(path, texts, Some(commits), [MARKED, render]).unwrap();
        assert_eq!(sides.get(path).base.as_deref(), Some(render));
        let expected = format!("mine\n{render}yours\n");
        assert_eq!(sides.get(path).ours(), Some(&*expected));
    }

    #[test]
    fn comments_in_the_description_of_both_branches_are_kept() {
        let path = OF_TESTS.description;
        let parent = "a: 0\nb: 0\nc: 0\nd: 0\ne: 0\n";
        let ours = "# mine\na: 0\nb: 1\nc: 0\nd: 0\ne: 0\n";
        let theirs = "a: 0\nb: 0\nc: 0\nd: 1\n# yours\ne: 0\n";
        let render = "a: 0\nb: 1\nc: 0\nd: 1\ne: 0\n";
        let commits = [(); 3].map(|()| commit(Texts::new()));
        let texts = [parent, ours, theirs];
        let sides = settled(path, texts, Some(commits), [MARKED, render]).unwrap();
        let expected = "# mine\na: 0\nb: 1\nc: 0\nd: 1\n# yours\ne: 0\n";
        assert_eq!(sides.get(path).ours(), Some(expected));
    }

    #[test]
    fn edits_that_clash_are_for_the_user_to_decide_but_not_in_a_derived_file() {
        let texts = ["a\nb\nc\n", OURS, "a\nx\nc\n"];
        for (path, is_derived) in [("Makefile", false), ("config/rbac/role.yaml", true)] {
            let sides = settled(path, texts, None, [MARKED, "a\nb\nc\n"]).unwrap();
            assert_eq!(sides.get(path).clash.is_some(), !is_derived, "{path}");
            let ours = if is_derived { OURS } else { MARKED };
            assert_eq!(sides.get(path).ours(), Some(ours));
            // Only the operator's code determines the text for both changes.
            let plan = reconcile(&sides, &Policy::default());
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
}
