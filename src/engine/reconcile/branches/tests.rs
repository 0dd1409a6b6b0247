use proptest::prelude::*;

use super::{super::Hunk, *};
use crate::cases::cases;

/// A file with the text `ours` that the tool wrote as `base`. An empty text stands for a missing file.
fn side(base: &str, ours: &str) -> Side {
    Side {
        base: text(base),
        ours: text(ours),
    }
}

/// The merged text, or the conflicting lines.
fn merge(
    parent: Option<Side>,
    ours: Side,
    theirs: Side,
    render: &str,
) -> Result<Option<Text>, Vec<Hunk>> {
    super::merge(parent, ours, theirs, text(render).as_ref(), &[])
        .map_err(|conflict| conflict.hunks)
}

fn text(text: &str) -> Option<Text> {
    (!text.is_empty()).then(|| text.to_owned().into())
}

const LIST: &str = "top\nbottom\n";
const ONE: &str = "top\na\nbottom\n";
const OTHER: &str = "top\nb\nbottom\n";
const BOTH: &str = "top\na\nb\nbottom\n";

#[test]
fn lines_of_the_tool_come_from_the_render() {
    let parent = || side(LIST, LIST);
    for parent in [Some(parent()), None] {
        let merged = merge(parent, side(ONE, ONE), side(OTHER, OTHER), BOTH);
        assert_eq!(merged, Ok(text(BOTH)));
    }
    assert_eq!(
        merge(None, side(ONE, ONE), side("", ""), BOTH),
        Ok(text(BOTH))
    );
}

#[test]
fn edits_of_both_branches_are_kept() {
    let merged = merge(
        Some(side(LIST, LIST)),
        side(ONE, "mine\ntop\na\nbottom\n"),
        side(OTHER, "top\nb\nbottom\nyours\n"),
        BOTH,
    );
    assert_eq!(merged, Ok(text("mine\ntop\na\nb\nbottom\nyours\n")));
}

#[test]
fn an_edit_that_one_branch_takes_back_is_gone() {
    let edited = "mine\ntop\nbottom\n";
    let merged = merge(
        Some(side(LIST, edited)),
        side(ONE, "mine\ntop\na\nbottom\n"),
        side(OTHER, OTHER),
        BOTH,
    );
    assert_eq!(merged, Ok(text(BOTH)));
}

/// The line that the user inserted at the top of a file.
fn mine() -> Hunk {
    Hunk {
        line: 1,
        base: Vec::new(),
        ours: vec!["mine".to_owned()],
        theirs: Vec::new(),
    }
}

#[test]
fn an_edit_of_one_branch_is_open_if_it_is_not_known_where_they_parted() {
    let merged = merge(
        None,
        side(ONE, "mine\ntop\na\nbottom\n"),
        side(OTHER, OTHER),
        BOTH,
    );
    assert_eq!(merged, Err(vec![mine()]));
    let edited = "mine\ntop\nb\nbottom\n";
    let merged = merge(
        None,
        side(ONE, "mine\ntop\na\nbottom\n"),
        side(OTHER, edited),
        BOTH,
    );
    assert_eq!(
        merged,
        Ok(text("mine\ntop\na\nb\nbottom\n")),
        "both have it"
    );
}

#[test]
fn lines_that_one_branch_deletes_and_the_other_changes_are_open() {
    let (field, bare) = ("a\n// why\n#[attribute]\ntitle\nz\n", "a\ntitle\nz\n");
    let merged = merge(
        Some(side(field, field)),
        side(field, bare),
        side(field, "a\nz\n"),
        field,
    );
    assert!(merged.is_err(), "{merged:?}");
}

#[test]
fn a_file_that_one_branch_deletes() {
    let parent = || Some(side(LIST, LIST));
    // The user deletes it, while the tool changes it on the other branch.
    assert_eq!(
        merge(parent(), side(LIST, ""), side(ONE, ONE), ONE),
        Ok(text(""))
    );
    // The user deletes it, while the other branch edits it.
    let edited = side(LIST, "mine\ntop\nbottom\n");
    assert!(merge(parent(), side(LIST, ""), edited, LIST).is_err());
    // The tool deletes it, while the tool changes it on the other branch.
    assert_eq!(
        merge(parent(), side("", ""), side(ONE, ONE), ""),
        Ok(text(""))
    );
    // The tool deletes it, while the other branch edits it.
    let edited = side(LIST, "mine\ntop\nbottom\n");
    assert_eq!(merge(parent(), side("", ""), edited, ""), Err(vec![mine()]));
    // The tool deletes it, while the other branch has a user's file in its place.
    let others = side("", "mine\n");
    let nothing = Some(side("", ""));
    assert_eq!(
        merge(nothing, side(LIST, LIST), others, ""),
        Err(vec![mine()])
    );
}

#[test]
fn line_ends_are_no_edit() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let merged = merge(
        Some(side(LIST, LIST)),
        side(ONE, &crlf(ONE)),
        side(OTHER, &crlf(OTHER)),
        BOTH,
    );
    assert_eq!(merged, Ok(text(BOTH)));
}

#[test]
fn branches_with_other_line_ends_have_the_same_text() {
    let merged = merge(
        None,
        side(ONE, &ONE.replace('\n', "\r\n")),
        side(ONE, ONE),
        BOTH,
    );
    assert_eq!(merged, Ok(text(BOTH)));
}

const LINES: usize = 12;

/// For each line: whether the line is deleted, changed, or gets another line above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    Nothing,
    Delete,
    FileChange,
    Insert,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        6 => Just(Edit::Nothing),
        1 => Just(Edit::Delete),
        1 => Just(Edit::FileChange),
        1 => Just(Edit::Insert),
    ];
    prop::collection::vec(edit, LINES)
}

/// The text after the edits. All lines differ and name their author.
fn edited(text: &str, who: &str, edits: &[Edit]) -> String {
    let lines = text.split_inclusive('\n').zip(edits).enumerate();
    let lines = lines.map(|(number, (line, edit))| match edit {
        Edit::Nothing => line.to_owned(),
        Edit::Delete => String::new(),
        Edit::FileChange => format!("{who} changes {line}"),
        Edit::Insert => format!("{who} inserts {number}\n{line}"),
    });
    lines.collect()
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Users and the tool edit the text before the branches split, and on each branch.
    #[test]
    fn a_clean_merge_has_every_edit_of_both_branches(
        [before, ours, theirs] in [edits(), edits(), edits()],
        [one, other] in [any::<prop::sample::Index>(), any::<prop::sample::Index>()],
        knows_parent: bool,
    ) {
        let lines: Vec<String> = (0..LINES).map(|number| format!("line {number}\n")).collect();
        let base = lines.concat();
        let with = |entries: &[(usize, &str)]| {
            let mut lines = lines.clone();
            for (at, entry) in entries {
                lines[*at] = format!("entry {entry}\n{}", lines[*at]);
            }
            lines.concat()
        };
        let (one, other) = (one.index(LINES), other.index(LINES));
        let (render_ours, render_theirs) = (with(&[(one, "a")]), with(&[(other, "b")]));
        let render = with(&[(other, "b"), (one, "a")]);
        let parent = edited(&base, "before", &before);
        let [on_ours, on_theirs] = [("ours", &ours, one, "a"), ("theirs", &theirs, other, "b")].map(
            |(who, edits, at, entry)| {
                let mut text = edited(&parent, who, edits);
                let place = parent.lines().position(|line| line.ends_with(&format!("line {at}")));
                if let Some(place) = place {
                    let line = parent.lines().nth(place).unwrap();
                    let entry = format!("entry {entry}\n");
                    text = text.replace(&format!("{line}\n"), &format!("{entry}{line}\n"));
                }
                text
            },
        );
        let merged = merge(
            knows_parent.then(|| side(&base, &parent)),
            side(&render_ours, &on_ours),
            side(&render_theirs, &on_theirs),
            &render,
        );
        if let Ok(Some(merged)) = merged {
            let has = |text: &str, line: &str| text.lines().any(|other| other == line);
            for side in [&on_ours, &on_theirs] {
                for line in side.lines().filter(|line| !has(&parent, line)) {
                    prop_assert!(has(&merged, line), "{line} is lost in\n{merged}");
                }
                for line in parent.lines().filter(|line| !has(side, line)) {
                    prop_assert!(!has(&merged, line), "{line} is back in\n{merged}");
                }
            }
        }
    }
}
