use std::{collections::BTreeMap, fs, path::Path};

use proptest::prelude::*;

use super::{super::OF_TESTS, *};
use crate::{cases::cases, engine::Texts};

const POLICIES: [OnConflict; 4] = [
    OnConflict::Abort,
    OnConflict::Ours,
    OnConflict::Theirs,
    OnConflict::Markers,
];

const MERGED: &str = "Makefile";
const SOURCE: &str = "src/lib.rs";
const DERIVED: &str = "config/rbac/role.yaml";

const EDITED: FileChange = FileChange::Keep(Kept::Edited);
const REMOVED: FileChange = FileChange::Keep(Kept::Removed);
const OURS: FileChange = FileChange::Keep(Kept::Ours);
const STALE: FileChange = FileChange::Keep(Kept::Stale);

type State<'a> = Option<&'a str>;

/// The change of one file.
fn change(
    path: &str,
    base: State,
    ours: State,
    theirs: State,
    on_conflict: OnConflict,
) -> FileChange {
    let texts = |text: State| -> Texts {
        text.map(|text| (path.to_owned(), text.to_owned().into()))
            .into_iter()
            .collect()
    };
    let sides = Sides::new(&OF_TESTS, texts(base), texts(ours), texts(theirs));
    let mut plan = plan(&sides, on_conflict);
    plan.changes.remove(path).expect("every path has an entry")
}

fn plan(sides: &Sides, on_conflict: OnConflict) -> Plan {
    let policy = Policy {
        everywhere: on_conflict,
        ..Policy::default()
    };
    reconcile(sides, &policy)
}

/// The text on disk after `change` is applied.
fn applied(ours: State, change: &FileChange) -> Option<String> {
    match change {
        FileChange::Delete => None,
        change => change.text().or(ours).map(str::to_owned),
    }
}

fn conflict(change: FileChange) -> Conflict {
    match change {
        FileChange::Conflict(conflict) => conflict,
        change => panic!("expected a conflict, got {change:?}"),
    }
}

fn hunk(line: usize, base: &[&str], ours: &[&str], theirs: &[&str]) -> Hunk {
    let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
    Hunk {
        line,
        base: owned(base),
        ours: owned(ours),
        theirs: owned(theirs),
    }
}

/// One row of the table, with the same outcome under every policy.
fn row(path: &str, base: State, ours: State, theirs: State, expected: &FileChange) {
    for on_conflict in POLICIES {
        let actual = change(path, base, ours, theirs, on_conflict);
        assert_eq!(&actual, expected, "{on_conflict:?}");
    }
}

/// One row that ends in a conflict, with its outcome under each policy.
fn row_of_conflict(
    (base, ours, theirs): (State, State, State),
    (reason, hunks): (Reason, Vec<Hunk>),
    [by_ours, by_theirs, by_markers]: [FileChange; 3],
) {
    let change = |on_conflict| change(MERGED, base, ours, theirs, on_conflict);
    assert_eq!(
        change(OnConflict::Abort),
        FileChange::Conflict(Conflict { reason, hunks })
    );
    assert_eq!(change(OnConflict::Ours), by_ours);
    assert_eq!(change(OnConflict::Theirs), by_theirs);
    assert_eq!(change(OnConflict::Markers), by_markers);
}

fn create(text: &str) -> FileChange {
    FileChange::Create(text.to_owned().into())
}

fn update(text: &str) -> FileChange {
    FileChange::Update(text.to_owned().into())
}

fn merge(text: &str) -> FileChange {
    FileChange::Merge(text.to_owned().into())
}

fn mark(text: &str) -> FileChange {
    FileChange::Mark(text.to_owned().into())
}

/// The texts that docs/loop.md calls A, B and C. B and C change different lines of A.
fn text_of(name: &str) -> State<'static> {
    match name {
        "A" => Some("1\n2\n3\n"),
        "B" => Some("1 changed\n2\n3\n"),
        "C" => Some("1\n2\n3 changed\n"),
        "none" => None,
        _ => panic!("the page does not describe the text `{name}`"),
    }
}

/// Returns the rows of the table of a page that begins with `header`: the texts of the cells.
fn table(page: &str, header: &str) -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let page = fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once(header).unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with("| "));
    let rows: Vec<Vec<_>> = rows
        .map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert!(rows.len() > 3, "{rows:?}");
    rows
}

#[test]
fn each_row_of_the_table_of_texts_is_what_happens() {
    for row in table("docs/loop.md", "| the record has | you have |") {
        let [_, base, ours, theirs, _, result, _] = &row[..] else {
            panic!("{row:?}");
        };
        for theirs in theirs.split(" or ") {
            let [base, ours, theirs] = [base, ours, theirs].map(text_of);
            let change = change(MERGED, base, ours, theirs, OnConflict::Abort);
            let seen = match (&change, applied(ours, &change)) {
                (FileChange::Conflict(_), _) => "a conflict",
                (FileChange::Delete, _) => "the file is deleted",
                (FileChange::Merge(_), _) => "the file is merged",
                (_, None) => "the file stays deleted",
                (_, text) if text.as_deref() != ours => "the file becomes B",
                (_, text) if text.as_deref() == text_of("A") => "the file stays",
                _ => "the file stays B",
            };
            assert_eq!(seen, result, "{row:?}");
        }
    }
}

#[test]
fn each_row_of_the_table_of_choices_is_what_happens() {
    let rows = table("docs/commands.md", "| `--on-conflict` | lines that cannot");
    for (row, on_conflict) in rows.iter().zip(POLICIES) {
        let [_, choice, lines, whole, _] = &row[..] else {
            panic!("{row:?}");
        };
        assert_eq!(*choice, format!("`{on_conflict:?}`").to_lowercase());
        let [base, ours, theirs] = ["1\n", "2\n", "3\n"].map(Some);
        for (base, cell) in [(base, lines), (None, whole)] {
            let change = change(MERGED, base, ours, theirs, on_conflict);
            let text = applied(ours, &change).unwrap_or_default();
            let seen = match on_conflict {
                OnConflict::Abort => matches!(change, FileChange::Conflict(_)),
                OnConflict::Ours => Some(&*text) == ours,
                OnConflict::Theirs => Some(&*text) == theirs,
                OnConflict::Markers => text.contains("2\n=======\n") && text.contains("3\n>>>>>>>"),
            };
            assert!(seen, "{cell}: {change:?}");
        }
        let deleted = change(MERGED, base, ours, None, on_conflict);
        let is_deleted = on_conflict == OnConflict::Theirs;
        assert_eq!(
            deleted == FileChange::Delete,
            is_deleted,
            "{whole}: {deleted:?}"
        );
    }
    assert_eq!(rows.len(), POLICIES.len());
}

#[test]
fn new_file_is_created() {
    row(MERGED, None, None, Some("new\n"), &create("new\n"));
    row(DERIVED, None, None, Some("new\n"), &create("new\n"));
}

#[test]
fn file_that_equals_the_render_is_unchanged() {
    for base in [None, Some("old\n"), Some("new\n")] {
        for path in [MERGED, DERIVED] {
            row(
                path,
                base,
                Some("new\n"),
                Some("new\n"),
                &FileChange::Unchanged,
            );
        }
    }
}

#[test]
fn file_that_was_there_before_is_a_conflict() {
    row_of_conflict(
        (None, Some("same\nmine\n"), Some("same\nnew\n")),
        (Reason::Untracked, vec![hunk(2, &[], &["mine"], &["new"])]),
        [
            OURS,
            update("same\nnew\n"),
            mark("same\n<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> rscaffold\n"),
        ],
    );
}

#[test]
fn code_that_was_there_before_is_a_conflict_as_a_whole() {
    let (ours, theirs) = ("}\nmine\n", "}\nmine\nnew\n");
    let whole = hunk(1, &[], &["}", "mine"], &["}", "mine", "new"]);
    assert_eq!(
        change(SOURCE, None, Some(ours), Some(theirs), OnConflict::Abort),
        FileChange::Conflict(Conflict {
            reason: Reason::Untracked,
            hunks: vec![whole]
        })
    );
    let by_ours = change(SOURCE, None, Some(ours), Some(theirs), OnConflict::Ours);
    assert_eq!(by_ours, OURS);
    row(
        SOURCE,
        None,
        Some(theirs),
        Some(theirs),
        &FileChange::Unchanged,
    );
}

#[test]
fn existing_patterns_stay_with_the_tools_patterns() {
    let state = (Some("/target\n.idea\n"), Some("/target\n# why\n*.tmp\n"));
    for on_conflict in [OnConflict::Abort, OnConflict::Theirs, OnConflict::Markers] {
        assert_eq!(
            change(".gitignore", None, state.0, state.1, on_conflict),
            merge("/target\n.idea\n# why\n*.tmp\n")
        );
    }
}

#[test]
fn file_that_was_there_before_grows_to_the_render() {
    let theirs = Some("/target\n*.pem\n");
    row(
        MERGED,
        None,
        Some("/target\n"),
        theirs,
        &update("/target\n*.pem\n"),
    );
    row(MERGED, None, Some(""), theirs, &update("/target\n*.pem\n"));
}

#[test]
fn file_that_was_there_before_and_has_every_line_is_kept() {
    row(
        MERGED,
        None,
        Some("/target\n.env\n"),
        Some("/target\n"),
        &EDITED,
    );
}

#[test]
fn derived_file_that_was_there_before_is_stale() {
    row(DERIVED, None, Some("mine\n"), Some("new\n"), &STALE);
}

#[test]
fn untouched_file_is_updated() {
    for path in [MERGED, DERIVED] {
        row(
            path,
            Some("old\n"),
            Some("old\n"),
            Some("new\n"),
            &update("new\n"),
        );
    }
}

#[test]
fn edited_file_without_news_is_kept() {
    for path in [MERGED, DERIVED] {
        row(path, Some("old\n"), Some("mine\n"), Some("old\n"), &EDITED);
    }
}

#[test]
fn edited_derived_file_with_news_is_stale() {
    row(
        DERIVED,
        Some("old\n"),
        Some("mine\n"),
        Some("new\n"),
        &STALE,
    );
}

#[test]
fn removed_file_without_news_stays_removed() {
    for path in [MERGED, DERIVED] {
        row(path, Some("old\n"), None, Some("old\n"), &REMOVED);
    }
}

#[test]
fn removed_file_stays_removed_even_with_news() {
    row(
        MERGED,
        Some("old\nsame\n"),
        None,
        Some("new\nsame\n"),
        &FileChange::Keep(Kept::RemovedWithNews),
    );
}

#[test]
fn removed_derived_file_with_news_is_stale() {
    row(DERIVED, Some("old\n"), None, Some("new\n"), &STALE);
}

#[test]
fn untouched_file_without_render_is_deleted() {
    for path in [MERGED, DERIVED] {
        row(
            path,
            Some("old\n"),
            Some("old\n"),
            None,
            &FileChange::Delete,
        );
    }
}

#[test]
fn removed_file_without_render_is_unchanged() {
    for path in [MERGED, DERIVED] {
        row(path, Some("old\n"), None, None, &FileChange::Unchanged);
    }
}

#[test]
fn edited_file_without_render_is_a_conflict() {
    row_of_conflict(
        (Some("old\nsame\n"), Some("mine\nsame\n"), None),
        (Reason::Dropped, vec![hunk(1, &["old"], &["mine"], &[])]),
        [
            OURS,
            FileChange::Delete,
            mark("<<<<<<< yours\nmine\nsame\n=======\n>>>>>>> rscaffold\n"),
        ],
    );
}

#[test]
fn edited_derived_file_without_render_is_deleted() {
    row(
        DERIVED,
        Some("old\n"),
        Some("mine\n"),
        None,
        &FileChange::Delete,
    );
}

#[test]
fn changes_with_a_line_between_them_are_merged() {
    row(
        MERGED,
        Some("a\nb\nc\n"),
        Some("A\nb\nc\n"),
        Some("a\nb\nC\n"),
        &merge("A\nb\nC\n"),
    );
}

#[test]
fn changes_of_the_same_lines_are_a_conflict() {
    row_of_conflict(
        (
            Some("one\ntwo\nthree\nfour\nfive\n"),
            Some("mine\none\ntwo\nMINE\nfour\nfive\n"),
            Some("one\ntwo\nNEW\nfour\nFIVE\n"),
        ),
        (
            Reason::BothChanged,
            vec![hunk(4, &["three"], &["MINE"], &["NEW"])],
        ),
        [
            merge("mine\none\ntwo\nMINE\nfour\nFIVE\n"),
            merge("mine\none\ntwo\nNEW\nfour\nFIVE\n"),
            mark(
                "mine\none\ntwo\n<<<<<<< yours\nMINE\n=======\nNEW\n>>>>>>> rscaffold\n\
                 four\nFIVE\n",
            ),
        ],
    );
}

#[test]
fn every_conflict_of_a_file_is_reported_with_its_line_in_ours() {
    let conflict = conflict(change(
        MERGED,
        Some("a\nb\nc\nd\ne\n"),
        Some("a\nmine\nmine too\nc\nMINE\ne\n"),
        Some("new\nnew too\na\nB\nc\nD\ne\n"),
        OnConflict::Abort,
    ));
    assert_eq!(
        conflict.hunks,
        [
            hunk(2, &["b"], &["mine", "mine too"], &["B"]),
            hunk(5, &["d"], &["MINE"], &["D"]),
        ]
    );
}

#[test]
fn resolved_conflict_that_leaves_one_side_is_no_merge() {
    let states = (Some("old\n"), Some("mine\n"), Some("new\n"));
    row_of_conflict(
        states,
        (
            Reason::BothChanged,
            vec![hunk(1, &["old"], &["mine"], &["new"])],
        ),
        [
            OURS,
            update("new\n"),
            mark("<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> rscaffold\n"),
        ],
    );
}

#[test]
fn block_that_the_user_removed_and_the_tool_changed_is_a_conflict() {
    let conflict = conflict(change(
        MERGED,
        Some("a\nx\ny\nz\nb\n"),
        Some("a\nb\n"),
        Some("a\nx\nY\nz\nb\n"),
        OnConflict::Abort,
    ));
    assert_eq!(
        conflict.hunks,
        [hunk(2, &["x", "y", "z"], &[], &["x", "Y", "z"])]
    );
}

#[test]
fn insertions_at_one_place_are_a_conflict() {
    let conflict = conflict(change(
        MERGED,
        Some("mod a;\nmod z;\n"),
        Some("mod a;\nmod mine;\nmod z;\n"),
        Some("mod a;\nmod new;\nmod z;\n"),
        OnConflict::Abort,
    ));
    assert_eq!(
        conflict.hunks,
        [hunk(2, &[], &["mod mine;"], &["mod new;"])]
    );
}

#[test]
fn insertion_that_has_the_other_is_the_merge() {
    let base = Some("mod a;\nmod z;\n");
    let (some, more) = (
        "mod a;\nmod b;\nmod z;\n",
        "mod a;\nmod b;\nmod c;\nmod z;\n",
    );
    row(MERGED, base, Some(some), Some(more), &update(more));
    row(MERGED, base, Some(more), Some(some), &EDITED);
}

#[test]
fn clashing_insertions_share_the_lines_that_both_have() {
    let conflict = conflict(change(
        MERGED,
        Some("top\n"),
        Some("top\nmine\n\nboth\n"),
        Some("top\nnew\n\nboth\n"),
        OnConflict::Abort,
    ));
    assert_eq!(conflict.hunks, [hunk(2, &[], &["mine"], &["new"])]);
}

#[test]
fn an_insertion_of_one_side_is_merged_where_others_clash() {
    row_of_conflict(
        (
            Some("top\n"),
            Some("top\nmine\nboth\n"),
            Some("top\nnew\nboth\nnew too\n"),
        ),
        (Reason::BothChanged, vec![hunk(2, &[], &["mine"], &["new"])]),
        [
            OURS,
            update("top\nnew\nboth\nnew too\n"),
            mark("top\n<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> rscaffold\nboth\nnew too\n"),
        ],
    );
    // If nothing else conflicts, the user must decide these insertions.
    let conflict = conflict(change(
        MERGED,
        Some("top\n"),
        Some("top\nmine\nboth\n"),
        Some("top\nboth\nnew\n"),
        OnConflict::Abort,
    ));
    let hunks = [hunk(2, &[], &["mine"], &[]), hunk(4, &[], &[], &["new"])];
    assert_eq!(conflict.hunks, hunks);
}

#[test]
fn crlf_is_no_change_and_survives() {
    row(
        MERGED,
        Some("a\nb\n"),
        Some("a\r\nb\r\n"),
        Some("a\nb\n"),
        &FileChange::Unchanged,
    );
    row(
        MERGED,
        Some("a\nb\n"),
        Some("a\r\nb\r\n"),
        Some("a\nB\n"),
        &update("a\r\nB\r\n"),
    );
    row(
        MERGED,
        Some("a\nb\nc\n"),
        Some("A\r\nb\r\nc\r\n"),
        Some("a\nb\nC\n"),
        &merge("A\r\nb\r\nC\r\n"),
    );
    row(
        MERGED,
        Some("a\nb\n"),
        Some("a\r\nb\r\n"),
        None,
        &FileChange::Delete,
    );
    assert_eq!(
        change(
            MERGED,
            Some("a\n"),
            Some("mine\r\n"),
            Some("new\n"),
            OnConflict::Markers
        ),
        mark("<<<<<<< yours\r\nmine\r\n=======\r\nnew\r\n>>>>>>> rscaffold\r\n")
    );
}

#[test]
fn lines_with_other_ends_than_the_rest_of_the_file_are_lines_of_the_user() {
    let base = Some("a\nb\nc\nd\n");
    let theirs = Some("a\nb\nC\nd\n");
    for (ours, expected) in [
        ("a\r\nb\r\nc\r\nd\r\nmine\n", "a\r\nb\r\nC\r\nd\r\nmine\n"),
        ("a\nb\r\nc\r\nd\r\n", "a\nb\r\nC\r\nd\r\n"),
        ("a\nb\nc\nd\nmine\r\n", "a\nb\nC\nd\nmine\r\n"),
    ] {
        row(MERGED, base, Some(ours), theirs, &merge(expected));
        row(MERGED, base, Some(ours), base, &EDITED);
    }
}

#[test]
fn missing_final_newline_is_no_change_and_survives() {
    row(
        MERGED,
        Some("a\n"),
        Some("a"),
        Some("a\n"),
        &FileChange::Unchanged,
    );
    row(
        MERGED,
        Some("a\n"),
        Some("a"),
        Some("a\nb\n"),
        &update("a\nb"),
    );
    row(
        MERGED,
        Some("a\nb\nc\n"),
        Some("A\nb\nc"),
        Some("a\nb\nC\n"),
        &merge("A\nb\nC"),
    );
}

#[test]
fn emptied_file_is_an_edit() {
    row(MERGED, Some("old\n"), Some(""), Some("old\n"), &EDITED);
    row_of_conflict(
        (Some("old\n"), Some(""), Some("new\n")),
        (Reason::BothChanged, vec![hunk(1, &["old"], &[], &["new"])]),
        [
            OURS,
            update("new\n"),
            mark("<<<<<<< yours\n=======\nnew\n>>>>>>> rscaffold\n"),
        ],
    );
}

#[test]
fn markers_in_the_users_text_are_text() {
    row(
        MERGED,
        Some("a\nb\nc\n"),
        Some("<<<<<<< ours\n=======\n>>>>>>> theirs\na\nb\nc\n"),
        Some("a\nb\nC\n"),
        &merge("<<<<<<< ours\n=======\n>>>>>>> theirs\na\nb\nC\n"),
    );
}

#[test]
fn plan_has_every_path_of_the_sides() {
    let texts = |paths: &[&str]| -> Texts {
        let text = |&path: &&str| (path.to_owned(), format!("{path}\n").into());
        paths.iter().map(text).collect()
    };
    let plan = plan(
        &Sides::new(
            &OF_TESTS,
            texts(&["old", "same"]),
            texts(&["old", "same"]),
            texts(&["new", "same"]),
        ),
        OnConflict::Abort,
    );
    let expected = [
        ("new", create("new\n")),
        ("old", FileChange::Delete),
        ("same", FileChange::Unchanged),
    ];
    let expected = expected.map(|(path, change)| (path.to_owned(), change));
    assert_eq!(plan.changes, BTreeMap::from(expected));
    assert!(!plan.is_noop());
}

/// The change of a file whose text in ours is not the text on disk: it comes from another path, or git left the file
/// open.
fn change_on_disk(
    [base, ours, theirs]: [State; 3],
    disk: State,
    is_moved: bool,
    on_conflict: OnConflict,
) -> FileChange {
    let texts = |text: State| -> Texts {
        let text = text.map(|text| (MERGED.to_owned(), text.to_owned().into()));
        text.into_iter().collect()
    };
    let mut sides = Sides::new(&OF_TESTS, texts(base), texts(disk), texts(theirs));
    let file = sides.at(MERGED);
    file.set_ours(ours.map(|text| text.to_owned().into()));
    if is_moved {
        file.start = Start::Carried;
    }
    let mut plan = plan(&sides, on_conflict);
    plan.changes
        .remove(MERGED)
        .expect("every path has an entry")
}

#[test]
fn lines_that_both_sides_deleted_are_no_conflict() {
    let base = "version\n# why\n# so\nserved\nkind\n";
    let merged = |ours, theirs| {
        change(
            MERGED,
            Some(base),
            Some(ours),
            Some(theirs),
            OnConflict::Abort,
        )
    };
    let cases = [
        (
            "version\nserved\nkind\n",
            "version\nkind\n",
            "version\nkind\n",
        ),
        (
            "version\n# why\nkind\n",
            "version\nserved\nkind\n",
            "version\nkind\n",
        ),
        (
            "# why\n# so\nserved\nkind\n",
            "version\nserved\n",
            "served\n",
        ),
    ];
    for (ours, theirs, expected) in cases {
        let change = merged(ours, theirs);
        assert_eq!(
            change.after(Some(ours)),
            Some(expected),
            "{ours:?} {theirs:?}"
        );
    }
    let replaced = merged("version\nserved\nkind\n", "version\nunserved\nkind\n");
    assert_eq!(conflict(replaced).reason, Reason::BothChanged);
}

#[test]
fn a_file_that_moves_is_written_at_its_new_path() {
    let moved = |sides, disk| change_on_disk(sides, disk, true, OnConflict::Abort);
    let untouched = [Some("a\n"), Some("a\n"), Some("b\n")];
    let edited = [Some("a\n"), Some("mine\n"), Some("a\n")];
    assert_eq!(moved(untouched, None), create("b\n"));
    assert_eq!(moved(edited, None), FileChange::Copy("mine\n".into()));
    // A killed command has written the file already.
    assert_eq!(moved(untouched, Some("b\n")), FileChange::Unchanged);
    assert_eq!(moved(edited, Some("mine\n")), EDITED);
    for sides in [untouched, edited] {
        let change = moved(sides, Some("other\n"));
        assert_eq!(conflict(change).reason, Reason::Occupied);
    }
}

#[test]
fn a_file_that_moves_takes_its_conflict_along() {
    let sides = [Some("a\n"), Some("mine\n"), Some("b\n")];
    let moved = |disk, on_conflict| change_on_disk(sides, disk, true, on_conflict);
    let marked = "<<<<<<< yours\nmine\n=======\nb\n>>>>>>> rscaffold\n";
    assert_eq!(
        conflict(moved(None, OnConflict::Abort)).reason,
        Reason::BothChanged
    );
    assert_eq!(moved(None, OnConflict::Markers), mark(marked));
    assert_eq!(
        moved(Some(marked), OnConflict::Markers),
        FileChange::Keep(Kept::Marked)
    );
}

#[test]
fn a_file_that_git_left_open_gets_the_merged_text() {
    let open = |sides, disk| change_on_disk(sides, disk, false, OnConflict::Abort);
    let markers = Some("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n");
    assert_eq!(
        open([Some("b\n"), Some("b\n"), Some("b\n")], markers),
        update("b\n")
    );
    assert_eq!(
        open([Some("b\n"), Some("b\r\n"), Some("b\n")], markers),
        update("b\r\n")
    );
    assert_eq!(
        open([Some("b\n"), Some("mine\n"), Some("b\n")], markers),
        merge("mine\n")
    );
    // One branch deleted the file.
    assert_eq!(
        open([Some("b\n"), None, Some("b\n")], markers),
        FileChange::Delete
    );
    assert_eq!(open([None, None, None], markers), FileChange::Delete);
}

#[test]
fn markers_that_a_killed_command_wrote_are_not_marked_once_more() {
    let (base, theirs) = (Some("a\n"), Some("b\n"));
    let marked = "<<<<<<< yours\nmine\n=======\nb\n>>>>>>> rscaffold\n";
    let change = |ours, on_conflict| change(MERGED, base, Some(ours), theirs, on_conflict);
    assert_eq!(
        change(marked, OnConflict::Markers),
        FileChange::Keep(Kept::Marked)
    );
    assert_eq!(change(marked, OnConflict::Ours), OURS);
    // These markers are the user's text, or belong to another text.
    let texts =
        [("rscaffold", "theirs"), ("b\n", "c\n")].map(|(from, to)| marked.replace(from, to));
    for text in &texts {
        let change = change(text, OnConflict::Markers);
        assert!(matches!(change, FileChange::Mark(_)), "{change:?}");
    }
}

#[test]
fn a_plan_is_stale_if_make_manifests_must_be_run() {
    let is_stale = |path: &str, [base, ours, theirs]: [State; 3], on_conflict| {
        let texts = |path: &str, text: State| {
            let text = text.map(|text| (path.to_owned(), text.to_owned().into()));
            text.into_iter()
                .chain([("zoo".to_owned(), "same\n".into())])
        };
        let [base, ours, theirs] =
            [base, ours, theirs].map(|text| texts(path, text).collect::<Texts>());
        plan(&Sides::new(&OF_TESTS, base, ours, theirs), on_conflict).is_stale
    };
    let (old, new, other) = (Some("old\n"), Some("new\n"), Some("other\n"));
    assert!(is_stale(DERIVED, [old, other, new], OnConflict::Abort));
    assert!(is_stale(DERIVED, [old, other, None], OnConflict::Abort));
    assert!(!is_stale(DERIVED, [old, old, None], OnConflict::Abort));
    assert!(!is_stale(DERIVED, [old, old, new], OnConflict::Abort));
    assert!(!is_stale(MERGED, [old, other, None], OnConflict::Theirs));
}

#[test]
fn a_file_is_marked_until_its_markers_are_resolved() {
    let marked = |[base, ours, theirs]: [State; 3], is_marked| {
        let texts = |text: State| -> Texts {
            let text = text.map(|text| (MERGED.to_owned(), text.to_owned().into()));
            text.into_iter().collect()
        };
        let mut sides = Sides::new(&OF_TESTS, texts(base), texts(ours), texts(theirs));
        sides.at(MERGED).is_marked = is_marked;
        plan(&sides, OnConflict::Markers).marked.contains(MERGED)
    };
    let (old, new, other) = (Some("old\n"), Some("new\n"), Some("other\n"));
    assert!(marked([old, other, new], false));
    assert!(marked([old, other, old], true));
    assert!(!marked([old, other, old], false));
    assert!(!marked([old, old, new], false));
    assert!(!marked([old, old, None], true));
}

#[test]
fn outside_of_a_list_a_line_beside_a_changed_line_is_a_conflict() {
    let merge = |base: &str, ours: &str, theirs: &str| {
        let [base, ours, theirs] = [base, ours, theirs].map(Some);
        change(SOURCE, base, ours, theirs, OnConflict::Abort)
    };
    for (text, is_conflict) in [
        ("list:\na\nend\n", false),
        ("list:\na\n", true),
        ("a\n", true),
    ] {
        let [ours, theirs] = ["A\n", "a\nb\n"].map(|lines| text.replace("a\n", lines));
        let change = merge(text, &ours, &theirs);
        assert_eq!(
            matches!(change, FileChange::Conflict(_)),
            is_conflict,
            "{text}: {change:?}"
        );
    }
    // Both added lines at the same place. A line that both added may be a part of what the tool adds.
    let text = "list:\n#[a]\na\nend\n";
    for (mine, merged) in [
        ("#[a]\nc\n", Some("#[a]\nb\nd\n#[a]\nc\n")),
        ("#[a]\nc\nd\n", None),
    ] {
        let [ours, theirs] =
            [mine, "#[a]\nb\nd\n"].map(|new| text.replace("end", &format!("{new}end")));
        let change = merge(text, &ours, &theirs);
        let merged = merged.map(|new| text.replace("end", &format!("{new}end")));
        assert_eq!(change.text(), merged.as_deref(), "{change:?}");
    }
}

/// Lines of a small alphabet, so that they often collide. Some look like conflict markers.
fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a",
        "b",
        "c",
        "d",
        "e",
        "",
        "}",
        "=======",
        "<<<<<<< yours",
        ">>>>>>> rscaffold",
    ]);
    prop::collection::vec(line, 0..12)
        .prop_map(|lines| lines.iter().flat_map(|line| [line, "\n"]).collect())
}

/// An edit of a text that keeps most lines.
fn edited(text: &str) -> impl Strategy<Value = String> + use<> {
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let edits = prop::collection::vec((0..=lines.len(), 0..3_usize, self::lines()), 0..3);
    edits.prop_map(move |edits| {
        let mut lines = lines.clone();
        for (at, removed, inserted) in edits {
            let at = at.min(lines.len());
            let end = (at + removed).min(lines.len());
            lines.splice(at..end, [inserted]);
        }
        lines.concat()
    })
}

/// Base, ours and theirs: edits of one text, or unrelated texts.
fn texts() -> impl Strategy<Value = [String; 3]> {
    let related = lines().prop_flat_map(|base| {
        let (ours, theirs) = (edited(&base), edited(&base));
        (Just(base), ours, theirs)
    });
    prop_oneof![
        4 => related,
        1 => (lines(), lines(), lines()),
    ]
    .prop_map(|(base, ours, theirs)| [base, ours, theirs])
}

/// The lines of `text` with the line ends that an editor or git may write.
fn any_line_ends(text: &str, crlf: bool, open: bool) -> String {
    let text = if open {
        text.strip_suffix('\n').unwrap_or(text)
    } else {
        text
    };
    if crlf {
        text.replace('\n', "\r\n")
    } else {
        text.to_owned()
    }
}

fn state(text: String) -> impl Strategy<Value = Option<String>> {
    prop::option::weighted(0.85, Just(text))
}

fn states() -> impl Strategy<Value = [Option<String>; 3]> {
    (texts(), any::<bool>(), any::<bool>()).prop_flat_map(|([base, ours, theirs], crlf, open)| {
        let ours = any_line_ends(&ours, crlf, open);
        (state(base), state(ours), state(theirs))
            .prop_map(|(base, ours, theirs)| [base, ours, theirs])
    })
}

fn policy() -> impl Strategy<Value = OnConflict> {
    prop::sample::select(&POLICIES[..])
}

fn path() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(MERGED), 1 => Just(DERIVED)]
}

fn count(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

const EDITED_LINES: usize = 10;

/// For each line of a text: whether it is removed, and how many lines are inserted above it.
type Edit = Vec<(bool, usize)>;

fn edit() -> impl Strategy<Value = Edit> {
    let removed = prop::bool::weighted(0.1);
    let inserted = prop_oneof![8 => Just(0), 1 => 1..3_usize];
    prop::collection::vec((removed, inserted), EDITED_LINES)
}

/// What happens to the entry of a list.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Stays,
    /// The user changes its line, and adds lines above and below.
    Edited,
    /// The user adds an entry above.
    Mine,
    /// The user removes it.
    Removed,
    /// The tool adds an entry above.
    After,
    /// The tool removes it.
    Dropped,
    /// The user changes its line, and the tool removes it.
    Both,
}

/// The list with the `entries`, as the tool wrote it, as the user edited it, and as the tool renders it.
fn growing(entries: &[Entry]) -> [String; 3] {
    let (mut base, mut ours, mut theirs) = (String::new(), String::new(), String::new());
    for (n, entry) in entries.iter().enumerate() {
        let line = format!("entry {n};\n");
        let edited = format!("// entry {n}\nentry {n}(client);\nmine {n}.1;\n");
        let mine = format!("mine {n};\n{line}");
        let added = format!("new {n};\n{line}");
        let [edit, new] = match entry {
            Entry::Stays => [&*line, &*line],
            Entry::Edited => [&*edited, &*line],
            Entry::Mine => [&*mine, &*line],
            Entry::Removed => ["", &*line],
            Entry::After => [&*line, &*added],
            Entry::Dropped => [&*line, ""],
            Entry::Both => [&*edited, ""],
        };
        base += &line;
        ours += edit;
        theirs += new;
    }
    [base, ours, theirs + "last;\n"].map(|list| format!("fn register() {{\nlist:\n{list}end\n}}\n"))
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = prop::sample::select(vec![
        Entry::Stays,
        Entry::Edited,
        Entry::Mine,
        Entry::Removed,
        Entry::After,
        Entry::Dropped,
        Entry::Both,
    ]);
    prop::collection::vec(entry, 0..8)
}

/// The edited text. Every line in it is unique: with repeated lines, it is ambiguous which line moved.
fn apply(side: &str, edit: &Edit) -> String {
    let lines = edit
        .iter()
        .enumerate()
        .flat_map(|(n, &(removed, inserted))| {
            let inserted = (0..inserted).map(move |i| format!("{side} {n}.{i}\n"));
            inserted.chain((!removed).then(|| format!("line {n}\n")))
        });
    lines.collect()
}

/// Whether `result` contains each line that `side` added to `base`, as often as `side` added it.
fn has_what_was_added(result: &str, base: &str, side: &str) -> bool {
    let (result, base) = (count(result), count(base));
    let of = |counts: &BTreeMap<&str, usize>, line: &str| counts.get(line).copied().unwrap_or(0);
    count(side)
        .into_iter()
        .all(|(line, n)| of(&result, line) >= n.saturating_sub(of(&base, line)))
}

/// Short texts that mix all kinds of line ends.
const SMALL: &str = "[ab\r\n=]{0,30}";

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn no_line_of_the_user_is_lost_without_a_conflict(
        [base, ours, theirs] in texts(),
        crlf: bool,
        open: bool,
        is_list: bool,
    ) {
        let [base, ours, theirs] = [base, ours, theirs].map(|text| {
            if is_list { format!("list:\n{text}end\n") } else { text }
        });
        let ours = any_line_ends(&ours, crlf, open);
        for base in [None, Some(base.as_str())] {
            for on_conflict in [OnConflict::Abort, OnConflict::Ours, OnConflict::Markers] {
                let change = change(MERGED, base, Some(&ours), Some(&theirs), on_conflict);
                let result = applied(Some(&ours), &change).expect("nothing was deleted");
                prop_assert!(
                    has_what_was_added(&result, base.unwrap_or_default(), &ours),
                    "{change:?} lost a line"
                );
            }
        }
    }

    #[test]
    fn a_list_grows_beside_lines_that_the_user_changed(entries in entries()) {
        let [base, ours, theirs] = growing(&entries);
        let change = change(SOURCE, Some(&base), Some(&ours), Some(&theirs), OnConflict::Abort);
        if entries.iter().any(|entry| matches!(entry, Entry::Both)) {
            prop_assert!(matches!(change, FileChange::Conflict(_)), "{change:?}");
            return Ok(());
        }
        let result = applied(Some(&ours), &change).expect("nothing was deleted");
        let has = |line: &str, times: usize| {
            prop_assert_eq!(count(&result).get(line).copied().unwrap_or_default(), times, "{}", result);
            Ok(())
        };
        has("last;", 1)?;
        for (n, entry) in entries.iter().enumerate() {
            has(&format!("new {n};"), matches!(entry, Entry::After).into())?;
            has(&format!("entry {n}(client);"), matches!(entry, Entry::Edited).into())?;
            has(&format!("entry {n};"), matches!(entry, Entry::Stays | Entry::After | Entry::Mine).into())?;
            has(&format!("mine {n};"), matches!(entry, Entry::Mine).into())?;
            has(&format!("mine {n}.1;"), matches!(entry, Entry::Edited).into())?;
        }
        // A killed command is completed, unless its deletion looks like a change by the user.
        let again = self::change(SOURCE, Some(&base), Some(&result), Some(&theirs), OnConflict::Abort);
        prop_assert_eq!(again.text(), None);
        let is_dropped = entries.iter().any(|entry| matches!(entry, Entry::Dropped));
        prop_assert!(is_dropped || !matches!(again, FileChange::Conflict(_)), "{:?}", again);
    }

    #[test]
    fn nothing_that_the_tool_added_is_lost_by_a_merge([base, ours, theirs] in texts()) {
        let merge = Merge::of(&base, &ours, &theirs);
        if merge.is_clean() {
            prop_assert!(has_what_was_added(&merge.ours(), &base, &theirs));
        }
        prop_assert!(has_what_was_added(&merge.marked(), &base, &theirs));
    }

    #[test]
    fn texts_that_diffy_merges_are_merged_to_the_same_text(ours in edit(), theirs in edit()) {
        let base = apply("base", &vec![(false, 0); EDITED_LINES]);
        let (ours, theirs) = (apply("ours", &ours), apply("theirs", &theirs));
        let merge = Merge::of(&base, &ours, &theirs);
        if let Ok(merged) = diffy::merge(&base, &ours, &theirs) {
            prop_assert!(merge.is_clean());
            prop_assert_eq!(merge.ours(), merged);
        }
    }

    #[test]
    fn untouched_file_becomes_theirs(
        [base, _, theirs] in texts(),
        crlf: bool,
        path in path(),
        on_conflict in policy(),
    ) {
        let ours = any_line_ends(&base, crlf, false);
        let change = change(path, Some(&base), Some(&ours), Some(&theirs), on_conflict);
        prop_assert_eq!(
            applied(Some(&ours), &change),
            Some(any_line_ends(&theirs, ours.contains("\r\n"), false))
        );
    }

    #[test]
    fn edited_file_stays_when_the_tool_has_nothing_new(
        [base, ours, _] in texts(),
        crlf: bool,
        open: bool,
        path in path(),
        on_conflict in policy(),
    ) {
        let ours = any_line_ends(&ours, crlf, open);
        let change = change(path, Some(&base), Some(&ours), Some(&base), on_conflict);
        prop_assert_eq!(change.text(), None);
        prop_assert_eq!(applied(Some(&ours), &change), Some(ours));
    }

    #[test]
    fn second_run_changes_nothing(
        [base, ours, theirs] in states(),
        path in path(),
        on_conflict in policy(),
    ) {
        let first = change_or_nothing(path, [&base, &ours, &theirs], on_conflict);
        if !matches!(first, FileChange::Conflict(_)) {
            let ours = applied(ours.as_deref(), &first);
            let second = change_or_nothing(path, [&theirs, &ours, &theirs], on_conflict);
            prop_assert!(
                matches!(second, FileChange::Keep(_) | FileChange::Unchanged),
                "{first:?}, then {second:?}"
            );
        }
    }

    #[test]
    fn file_that_is_written_changes(
        [base, ours, theirs] in states(),
        path in path(),
        on_conflict in policy(),
    ) {
        let change = change_or_nothing(path, [&base, &ours, &theirs], on_conflict);
        if let Some(text) = change.text() {
            prop_assert_ne!(Some(text), ours.as_deref());
        }
    }

    #[test]
    fn killed_command_is_completed_by_the_next(ours in edit(), theirs in edit()) {
        let base = apply("base", &vec![(false, 0); EDITED_LINES]);
        let (ours, theirs) = (apply("ours", &ours), apply("theirs", &theirs));
        let merge = Merge::of(&base, &ours, &theirs);
        if merge.is_clean() {
            let merged = merge.ours();
            let again = Merge::of(&base, &merged, &theirs);
            prop_assert!(again.is_clean());
            prop_assert_eq!(again.ours(), merged);
        }
    }

    #[test]
    fn no_text_causes_a_panic(
        base in SMALL,
        ours in SMALL,
        theirs in SMALL,
        on_conflict in policy(),
    ) {
        for base in [None, Some(base.as_str())] {
            let change = change(MERGED, base, Some(&ours), Some(&theirs), on_conflict);
            if let FileChange::Conflict(conflict) = &change {
                prop_assert!(!conflict.hunks.is_empty());
            }
        }
    }
}

/// Like [`change`], also for a file that neither base nor theirs has.
fn change_or_nothing(
    path: &str,
    [base, ours, theirs]: [&Option<String>; 3],
    on_conflict: OnConflict,
) -> FileChange {
    if base.is_none() && theirs.is_none() {
        return FileChange::Unchanged;
    }
    change(
        path,
        base.as_deref(),
        ours.as_deref(),
        theirs.as_deref(),
        on_conflict,
    )
}
