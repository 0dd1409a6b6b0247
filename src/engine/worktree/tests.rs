use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    mem,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use proptest::prelude::*;
use tempfile::TempDir;
use walkdir::WalkDir;

use super::*;
use crate::engine::{
    OF_TESTS, Text,
    reconcile::{Policy, Sides, reconcile},
};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn texts(files: &[(&str, &str)]) -> Texts {
    let owned = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned().into());
    files.iter().map(owned).collect()
}

/// The record of these files.
fn record(files: &Texts) -> Record {
    let mut texts = files.clone();
    texts.remove(OF_TESTS.description);
    Record {
        texts,
        ..Record::default()
    }
}

/// The text of `record`.
fn text_of(record: &Record) -> String {
    let mut text = Vec::new();
    record.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn plan(work_tree: &WorkTree, theirs: &Texts) -> Result<Plan> {
    let mut base = work_tree.record()?.texts;
    base.extend(
        work_tree
            .description()?
            .map(|text| (OF_TESTS.description.to_owned(), text.into())),
    );
    let ours = work_tree.ours(base.keys().chain(theirs.keys()).map(String::as_str))?;
    let sides = Sides::new(&OF_TESTS, base, ours, theirs.clone());
    Ok(reconcile(&sides, &Policy::default()))
}

/// One command.
fn run(root: &Path, theirs: &Texts) -> Result<()> {
    let work_tree = WorkTree::open(root, &OF_TESTS)?;
    work_tree.apply(&plan(&work_tree, theirs)?, &record(theirs), "")
}

fn run_error(root: &Path, theirs: &Texts) -> String {
    format!("{:#}", run(root, theirs).expect_err("an error"))
}

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().expect("a file below the root")).unwrap();
    fs::write(file, text).unwrap();
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

/// All entries below `root`: files with their bytes and inodes, folders without either.
fn listing(root: &Path) -> BTreeMap<PathBuf, Option<(Vec<u8>, u64)>> {
    let entries = WalkDir::new(root).min_depth(1).into_iter();
    let entries = entries.map(|entry| {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(root).unwrap().to_owned();
        let file = entry.file_type().is_file();
        let state = file.then(|| {
            (
                fs::read(entry.path()).unwrap(),
                entry.metadata().unwrap().ino(),
            )
        });
        (path, state)
    });
    entries.collect()
}

/// Like [`listing`], without the inodes, which differ between two runs.
fn contents(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let entries = listing(root).into_iter();
    entries
        .map(|(path, state)| (path, state.map(|(bytes, _)| bytes)))
        .collect()
}

#[test]
fn reading_leaves_an_empty_folder_empty() {
    let root = folder();
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    assert_eq!(work_tree.description().unwrap(), None);
    assert_eq!(work_tree.record().unwrap(), Record::default());
    assert_eq!(work_tree.ours(["a", "b/c"]).unwrap(), Texts::new());
    assert!(listing(root.path()).is_empty());
}

#[test]
fn files_are_created_with_their_folders_and_the_record() {
    let root = folder();
    let theirs = texts(&[("PROJECT", "p\n"), ("src/api/mod.rs", "mod a;\n")]);
    run(root.path(), &theirs).unwrap();
    assert_eq!(read(root.path(), "src/api/mod.rs"), "mod a;\n");
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    assert_eq!(work_tree.description().unwrap().as_deref(), Some("p\n"));
    let base = [("src/api/mod.rs".to_owned(), "mod a;\n".into())];
    assert_eq!(work_tree.record().unwrap().texts, Texts::from(base));
    assert_eq!(
        contents(root.path()).len(),
        6,
        "{:?}",
        contents(root.path())
    );
}

#[test]
fn second_run_writes_nothing() {
    let root = folder();
    let theirs = texts(&[("PROJECT", "p\n"), ("src/main.rs", "fn main() {}\n")]);
    run(root.path(), &theirs).unwrap();
    let before = listing(root.path());
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let plan = plan(&work_tree, &theirs).unwrap();
    let stage = work_tree.stage(&plan, &record(&theirs), "").unwrap();
    assert!(stage.steps.is_empty());
    stage.commit().unwrap();
    assert_eq!(listing(root.path()), before);
}

#[test]
fn conflict_writes_nothing() {
    let root = folder();
    write(root.path(), "b", "mine\n");
    let before = listing(root.path());
    let error = run_error(root.path(), &texts(&[("a", "new\n"), ("b", "new\n")]));
    assert_eq!(
        error,
        "`b` conflicts with the new text; nothing was written"
    );
    assert_eq!(listing(root.path()), before);
}

#[test]
fn nothing_is_written_if_a_folder_cannot_be_created() {
    let root = folder();
    run(root.path(), &texts(&[("a", "old\n"), ("gone/a", "old\n")])).unwrap();
    let before = listing(root.path());
    let theirs = texts(&[("a", "new\n"), ("new/folder/a", "new\n"), ("z/a", "new\n")]);
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let plan = plan(&work_tree, &theirs).unwrap();
    write(root.path(), "z", "in the way\n");
    let error = work_tree.apply(&plan, &record(&theirs), "").unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "failed to write `z/a`: `z` is a file where a folder is needed"
    );
    fs::remove_file(root.path().join("z")).unwrap();
    assert_eq!(listing(root.path()), before);
}

#[test]
fn command_that_is_killed_at_any_step_is_completed_by_the_same_command() {
    let old = texts(&[
        ("PROJECT", "old\n"),
        ("docs/gone.md", "gone\n"),
        ("src/merged.rs", "a\nb\nc\nd\n"),
        ("src/updated.rs", "old\n"),
    ]);
    let new = texts(&[
        ("PROJECT", "new\n"),
        ("src/created.rs", "new\n"),
        ("src/merged.rs", "a\nb\nc\nnew\nd\n"),
        ("src/updated.rs", "new\n"),
    ]);
    let start = || {
        let root = folder();
        run(root.path(), &old).unwrap();
        write(root.path(), "src/merged.rs", "mine\na\nb\nc\nd\n");
        root
    };
    let whole = start();
    run(whole.path(), &new).unwrap();
    for steps in 0..=6 {
        let root = start();
        let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
        let plan = plan(&work_tree, &new).unwrap();
        let mut stage = work_tree.stage(&plan, &record(&new), "").unwrap();
        assert_eq!(stage.steps.len(), 6);
        for _ in 0..steps {
            stage.advance().unwrap();
        }
        // This skips the cleanup, as a kill does.
        mem::forget(stage);
        drop(work_tree);
        run(root.path(), &new).unwrap();
        assert_eq!(
            contents(root.path()),
            contents(whole.path()),
            "killed after {steps} steps"
        );
    }
}

#[test]
fn a_file_is_at_its_new_path_before_it_leaves_the_old_one() {
    let root = folder();
    run(root.path(), &texts(&[("a", "text\n")])).unwrap();
    let theirs = texts(&[("b", "text\n")]);
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let plan = plan(&work_tree, &theirs).unwrap();
    let mut stage = work_tree.stage(&plan, &record(&theirs), "").unwrap();
    stage.steps.truncate(1);
    stage.commit().unwrap();
    for path in ["a", "b"] {
        assert_eq!(read(root.path(), path), "text\n");
    }
}

#[test]
fn folders_that_a_killed_command_left_empty_are_removed() {
    let root = folder();
    let old = texts(&[("a/b/c/1", "1\n"), ("a/b/2", "2\n"), ("d/3", "3\n")]);
    run(root.path(), &old).unwrap();
    // Killed after the first file and a part of its folders, and after the second file.
    fs::remove_dir_all(root.path().join("a/b")).unwrap();
    fs::remove_file(root.path().join("d/3")).unwrap();
    run(root.path(), &texts(&[])).unwrap();
    let left: Vec<_> = contents(root.path()).into_keys().collect();
    assert_eq!(left, [".rscaffold", LAST_APPLIED].map(PathBuf::from));
}

#[test]
fn leftovers_of_a_killed_command_are_removed_by_the_next() {
    let root = folder();
    write(root.path(), "elsewhere/real", "old\n");
    fs::create_dir(root.path().join("src")).unwrap();
    symlink("../elsewhere/real", root.path().join("src/link")).unwrap();
    let old = texts(&[("PROJECT", "p\n"), ("src/link", "old\n"), ("a/b", "b\n")]);
    run(root.path(), &old).unwrap();
    // `mem::forget` skips the cleanup, as a kill does.
    let new = texts(&[("PROJECT", "q\n"), ("src/link", "new\n"), ("c/d", "d\n")]);
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let plan = plan(&work_tree, &new).unwrap();
    let whole = contents(root.path());
    mem::forget(work_tree.stage(&plan, &record(&new), "").unwrap());
    drop(work_tree);
    assert_eq!(contents(&root.path().join("elsewhere")).len(), 2);

    run(root.path(), &old).unwrap();
    let mut left = contents(root.path());
    // The folder stays: the next command does not know that it was created for a file.
    assert_eq!(left.remove(Path::new("c")), Some(None));
    assert_eq!(left, whole);

    run(root.path(), &new).unwrap();
    let left: Vec<_> = contents(root.path()).into_keys().collect();
    let expected = [
        ".rscaffold",
        LAST_APPLIED,
        "PROJECT",
        "c",
        "c/d",
        "elsewhere",
        "elsewhere/real",
        "src",
        "src/link",
    ];
    assert_eq!(left, expected.map(PathBuf::from));
    assert_eq!(read(root.path(), "elsewhere/real"), "new\n");
}

#[test]
fn files_of_others_are_not_removed_as_leftovers() {
    let root = folder();
    for name in [".rscaffold-notes", ".rscaffold-0-a1b2c3"] {
        write(root.path(), name, "mine\n");
    }
    // A folder of this project contains another project, whose command still runs.
    let inner = root.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let (work_tree, theirs) = (
        WorkTree::open(&inner, &OF_TESTS).unwrap(),
        texts(&[("a", "a\n")]),
    );
    let plan = plan(&work_tree, &theirs).unwrap();
    let stage = work_tree.stage(&plan, &record(&theirs), "").unwrap();
    let before = contents(root.path());
    run(root.path(), &texts(&[("inner/b", "b\n")])).unwrap();
    let mut after = contents(root.path());
    after.retain(|path, _| !path.starts_with(".rscaffold") && !path.ends_with("b"));
    assert_eq!(after, before);
    stage.commit().unwrap();
    assert_eq!(read(&inner, "a"), "a\n");
}

#[test]
fn a_temporary_file_of_another_command_is_not_overwritten() {
    let root = folder();
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let [one, other] = ["one\n", "other\n"].map(|text| texts(&[("a", text)]));
    let [plan, other_plan] = [&one, &other].map(|theirs| plan(&work_tree, theirs).unwrap());
    let stage = work_tree.stage(&plan, &record(&one), "").unwrap();
    let other_stage = work_tree.stage(&other_plan, &record(&other), "").unwrap();
    for (stage, text) in [(stage, "one\n"), (other_stage, "other\n")] {
        stage.commit().unwrap();
        assert_eq!(read(root.path(), "a"), text);
    }
}

#[test]
fn project_is_written_last() {
    let root = folder();
    let theirs = texts(&[("PROJECT", "p\n"), ("a", "a\n"), ("z", "z\n")]);
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let plan = plan(&work_tree, &theirs).unwrap();
    let stage = work_tree.stage(&plan, &record(&theirs), "").unwrap();
    // The rename fails because a folder has this name now.
    fs::create_dir(root.path().join("PROJECT")).unwrap();
    let error = format!("{:#}", stage.commit().unwrap_err());
    assert!(error.starts_with("failed to write `PROJECT`: "), "{error}");
    let left: Vec<_> = contents(root.path()).into_keys().collect();
    let begun = ".rscaffold/.rscaffold-begun";
    let expected = [".rscaffold", begun, LAST_APPLIED, "PROJECT", "a", "z"];
    assert_eq!(left, expected.map(PathBuf::from));
}

#[test]
fn record_is_written_after_the_files() {
    let root = folder();
    let theirs = texts(&[("PROJECT", "p\n"), ("a", "a\n"), ("z", "z\n")]);
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let plan = plan(&work_tree, &theirs).unwrap();
    let stage = work_tree.stage(&plan, &record(&theirs), "").unwrap();
    fs::create_dir(root.path().join("z")).unwrap();
    let error = format!("{:#}", stage.commit().unwrap_err());
    assert!(error.starts_with("failed to write `z`: "), "{error}");
    let left: Vec<_> = contents(root.path()).into_keys().collect();
    let begun = ".rscaffold/.rscaffold-begun";
    assert_eq!(left, [".rscaffold", begun, "a", "z"].map(PathBuf::from));
}

#[test]
fn after_an_interruption_only_a_command_with_the_same_goal_is_accepted() {
    let root = folder();
    let theirs = texts(&[("PROJECT", "p\n"), ("a", "a\n"), ("z", "z\n")]);
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let accepted = |goals: [&str; 2]| goals.map(|goal| work_tree.ensure_complete(goal).is_ok());
    assert_eq!(accepted(["same", "other"]), [true, true]);
    // In each place, a file cannot be written because a folder has its name: the first file, the second one, `PROJECT`.
    for (place, expected) in [
        ("a", [true, true]),
        ("z", [true, false]),
        // The next run cannot write even its first file.
        ("z", [true, false]),
        // The record is written, and does not fit the old `PROJECT`.
        ("PROJECT", [true, false]),
    ] {
        let plan = plan(&work_tree, &theirs).unwrap();
        let stage = work_tree.stage(&plan, &record(&theirs), "same").unwrap();
        let _ = fs::remove_file(root.path().join(place));
        fs::create_dir(root.path().join(place)).unwrap();
        stage.commit().unwrap_err();
        assert_eq!(accepted(["same", "other"]), expected, "{place}");
        fs::remove_dir(root.path().join(place)).unwrap();
    }
    let plan = plan(&work_tree, &theirs).unwrap();
    work_tree.apply(&plan, &record(&theirs), "same").unwrap();
    let left: Vec<_> = contents(root.path()).into_keys().collect();
    let expected = [".rscaffold", LAST_APPLIED, "PROJECT", "a", "z"];
    assert_eq!(left, expected.map(PathBuf::from));
}

#[test]
fn symbolic_link_is_written_through() {
    let root = folder();
    write(root.path(), "elsewhere/real", "old\n");
    symlink("elsewhere/real", root.path().join("link")).unwrap();
    run(root.path(), &texts(&[("link", "old\n")])).unwrap();
    run(root.path(), &texts(&[("link", "new\n")])).unwrap();
    assert!(root.path().join("link").is_symlink());
    assert_eq!(read(root.path(), "elsewhere/real"), "new\n");
}

#[test]
fn removed_symbolic_link_leaves_its_target() {
    let root = folder();
    write(root.path(), "real", "old\n");
    symlink("real", root.path().join("link")).unwrap();
    run(root.path(), &texts(&[("link", "old\n")])).unwrap();
    run(root.path(), &texts(&[])).unwrap();
    assert!(!root.path().join("link").is_symlink());
    assert_eq!(read(root.path(), "real"), "old\n");
}

const LEADS_OUT: &str = "`config/crd` is a symbolic link that leads out of the project";

#[test]
fn folder_that_leads_out_of_the_project_is_not_read() {
    let (root, outside) = (folder(), folder());
    write(outside.path(), "bases/a", "secret\n");
    fs::create_dir(root.path().join("config")).unwrap();
    symlink(outside.path(), root.path().join("config/crd")).unwrap();
    let before = (listing(root.path()), listing(outside.path()));
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    for path in ["config/crd/a", "config/crd/bases/a", "config/crd/missing/a"] {
        let error = work_tree.ours([path]).unwrap_err();
        assert_eq!(error.to_string(), LEADS_OUT);
    }
    drop(work_tree);
    let theirs = texts(&[("a", "new\n"), ("config/crd/new/a", "new\n")]);
    assert_eq!(run_error(root.path(), &theirs), LEADS_OUT);
    assert_eq!((listing(root.path()), listing(outside.path())), before);
}

#[test]
fn record_that_leads_out_of_the_project_is_not_read() {
    let (root, outside) = (folder(), folder());
    write(outside.path(), "last-applied.jsonl", "");
    symlink(outside.path(), root.path().join(".rscaffold")).unwrap();
    let error = WorkTree::open(root.path(), &OF_TESTS)
        .unwrap()
        .record()
        .unwrap_err();
    let expected = "`.rscaffold` is a symbolic link that leads out of the project";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn nothing_is_changed_in_a_folder_that_leads_out_of_the_project() {
    let old = texts(&[("a", "old\n"), ("config/crd/bases/a", "old\n")]);
    let updated = texts(&[("a", "new\n"), ("config/crd/bases/a", "new\n")]);
    for theirs in [texts(&[("a", "new\n")]), updated] {
        let (root, outside) = (folder(), folder());
        run(root.path(), &old).unwrap();
        let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
        let plan = plan(&work_tree, &theirs).unwrap();
        let crd = root.path().join("config/crd");
        fs::remove_dir_all(&crd).unwrap();
        write(outside.path(), "bases/a", "old\n");
        symlink(outside.path(), &crd).unwrap();
        let before = (listing(root.path()), listing(outside.path()));
        let error = work_tree.apply(&plan, &record(&theirs), "").unwrap_err();
        assert_eq!(error.root_cause().to_string(), LEADS_OUT);
        drop(work_tree);
        assert_eq!(run_error(root.path(), &theirs), LEADS_OUT);
        assert_eq!((listing(root.path()), listing(outside.path())), before);
    }
}

#[test]
fn folder_that_links_to_another_one_of_the_project_works() {
    let root = folder();
    fs::create_dir(root.path().join("real")).unwrap();
    symlink("real", root.path().join("link")).unwrap();
    run(
        root.path(),
        // The last two paths are the same file.
        &texts(&[("link/a/1", "1\n"), ("link/2", "2\n"), ("real/2", "2\n")]),
    )
    .unwrap();
    assert_eq!(read(root.path(), "real/a/1"), "1\n");
    let twice = [("link/2", "new\n"), ("real/2", "new\n")];
    run(root.path(), &texts(&twice)).unwrap();
    assert_eq!(read(root.path(), "real/2"), "new\n");
    assert!(!root.path().join("real/a").exists());
    write(root.path(), "real/mine", "mine\n");
    run(root.path(), &texts(&[])).unwrap();
    assert!(root.path().join("link").is_symlink());
    let left: Vec<_> = contents(&root.path().join("real")).into_keys().collect();
    assert_eq!(left, [PathBuf::from("mine")]);
}

#[test]
fn folder_that_links_to_nothing_is_an_error() {
    let root = folder();
    symlink("nowhere", root.path().join("link")).unwrap();
    assert_eq!(
        run_error(root.path(), &texts(&[("link/a", "new\n")])),
        "the target of the symbolic link `link` does not exist"
    );
}

#[test]
fn file_that_leads_out_of_the_project_is_neither_read_nor_replaced_nor_removed() {
    let outside = folder();
    write(outside.path(), "real", "old\n");
    for path in ["link", "to/link", OF_TESTS.description, LAST_APPLIED] {
        let root = folder();
        let record = format!("[{path:?},\"old\\n\"]\n");
        write(root.path(), LAST_APPLIED, &record);
        write(root.path(), path, "");
        fs::remove_file(root.path().join(path)).unwrap();
        symlink(outside.path().join("real"), root.path().join(path)).unwrap();
        let before = (listing(root.path()), listing(outside.path()));
        for theirs in [texts(&[(path, "new\n")]), texts(&[])] {
            assert_eq!(
                run_error(root.path(), &theirs),
                format!("`{path}` is a symbolic link that leads out of the project")
            );
            assert_eq!((listing(root.path()), listing(outside.path())), before);
        }
    }
}

#[test]
fn files_of_git_are_neither_read_nor_written() {
    let root = folder();
    write(root.path(), ".git/HEAD", "ref: refs/heads/main\n");
    let before = listing(root.path());
    for path in [".git/HEAD", ".GIT/HEAD", "a/.git", "git~1/config"] {
        assert_eq!(
            run_error(root.path(), &texts(&[(path, "new\n")])),
            format!("`{path}` belongs to git, not to the project")
        );
        assert_eq!(listing(root.path()), before);
    }
}

/// Prepared changes go to the folder for which they were prepared, or nowhere.
#[test]
fn a_link_created_while_a_command_writes_is_not_followed() {
    let theirs = texts(&[("config/new", "new\n"), ("config/old", "new\n")]);
    let old = texts(&[("config/gone", "old\n"), ("config/old", "old\n")]);
    let (root, outside) = (folder(), folder());
    for path in ["gone", "old"] {
        write(outside.path(), path, "old\n");
    }
    run(root.path(), &old).unwrap();
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let plan = plan(&work_tree, &theirs).unwrap();
    let stage = work_tree.stage(&plan, &record(&theirs), "").unwrap();
    let before = listing(outside.path());
    let config = root.path().join("config");
    fs::rename(&config, root.path().join("moved")).unwrap();
    symlink(outside.path(), &config).unwrap();
    let error = stage.commit().unwrap_err().root_cause().to_string();
    let expected = "`config` is a symbolic link that leads out of the project";
    assert_eq!(error, expected);
    assert_eq!(listing(outside.path()), before);
}

/// A possible entry of a hostile repository in the place of a file.
#[derive(Debug, Clone)]
enum Entry {
    File,
    Folder,
    Link(&'static str),
    Pipe,
    Socket,
}

/// Puts `entry` at `path` in the folder `root`, unless the place is taken, contradicts an existing entry, or is outside
/// of `root`.
fn put(root: &Path, path: &str, entry: &Entry) {
    let path = root.join(path);
    let above = path.parent().unwrap();
    let is_inside = fs::create_dir_all(above).is_ok()
        && fs::canonicalize(above)
            .unwrap()
            .starts_with(fs::canonicalize(root).unwrap())
        && fs::symlink_metadata(&path).is_err();
    let _ = match entry {
        _ if !is_inside => Ok(()),
        Entry::File => fs::write(&path, "old\n"),
        Entry::Folder => fs::create_dir(&path),
        Entry::Link(to) => symlink(to, &path),
        Entry::Pipe => Command::new("mkfifo").arg(&path).status().map(drop),
        Entry::Socket => UnixListener::bind(&path).map(drop),
    };
}

/// Replaces the file or link at `path`.
fn swap(root: &Path, path: &str, entry: &Entry) {
    let above = fs::canonicalize(root.join(path).parent().unwrap());
    if above.is_ok_and(|above| above.starts_with(fs::canonicalize(root).unwrap())) {
        let _ = fs::remove_file(root.join(path));
    }
    put(root, path, entry);
}

fn entry() -> impl Strategy<Value = Entry> {
    let targets = [
        ".",
        "..",
        "../..",
        "../home",
        "../../home",
        "../home/a",
        "../home/a/b",
        "../project/a",
        "/",
        ".git",
        "../.git",
        ".git/HEAD",
        "../.git/HEAD",
        "a",
        "b/a",
        "../b",
        "a/../../home",
        "nothing",
    ];
    prop_oneof![
        2 => Just(Entry::File),
        2 => Just(Entry::Folder),
        8 => prop::sample::select(targets.to_vec()).prop_map(Entry::Link),
        1 => Just(Entry::Pipe),
        1 => Just(Entry::Socket),
    ]
}

/// Paths of one to three parts, few enough that they often collide.
fn any_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => "[ab]",
        1 => Just("HEAD".to_owned()),
        1 => Just(".rscaffold".to_owned()),
        1 => Just("last-applied.jsonl".to_owned()),
    ];
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

proptest! {
    #[test]
    fn no_file_outside_of_the_project_or_of_git_ever_changes(
        entries in prop::collection::vec((any_path(), entry()), 0..6),
        recorded in prop::collection::btree_set(any_path(), 0..5),
        bad in prop::option::weighted(0.1, prop::sample::select(
            [".git/HEAD", "../home/a", "a/../../home/b", ".GIT/HEAD", "a/.git/HEAD"].as_slice(),
        )),
        theirs in prop::collection::btree_map(any_path(), "new\n|old\n".prop_map(Text::from), 0..5),
        meanwhile in prop::collection::vec((any_path(), entry()), 0..3),
    ) {
        let top = folder();
        let root = top.path().join("project");
        let outside = ["home/a", "home/b", "home/HEAD", "home/last-applied.jsonl", "a", "b"];
        for path in outside.iter().chain(&["project/.git/HEAD", "project/.git/a"]) {
            write(top.path(), path, "old\n");
        }
        fs::create_dir_all(top.path().join("home/c")).unwrap();
        for (path, entry) in &entries {
            put(&root, path, entry);
        }
        let lines = recorded.iter().map(String::as_str).chain(bad);
        let lines: Vec<_> = lines.map(|path| format!("[{path:?},\"old\\n\"]\n")).collect();
        let state = root.join(".rscaffold");
        if fs::symlink_metadata(&state).is_err() {
            write(&root, LAST_APPLIED, &lines.concat());
        }
        let rest = || {
            let mut rest = listing(top.path());
            rest.retain(|path, _| !path.starts_with("project") || path.starts_with("project/.git"));
            rest
        };
        let mut before = rest();
        let _ = WorkTree::open(&root, &OF_TESTS).and_then(|work_tree| {
            let plan = plan(&work_tree, &theirs);
            assert_eq!(rest(), before);
            for (path, entry) in &meanwhile {
                swap(&root, path, entry);
            }
            before = rest();
            work_tree.apply(&plan?, &record(&theirs), "")
        });
        prop_assert_eq!(rest(), before);
    }
}

#[test]
fn file_whose_folder_another_program_removes_meanwhile_is_not_removed() {
    let root = folder();
    run(root.path(), &texts(&[("a", "old\n"), ("gone/b", "old\n")])).unwrap();
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let theirs = texts(&[("a", "new\n")]);
    let plan = plan(&work_tree, &theirs).unwrap();
    fs::remove_dir_all(root.path().join("gone")).unwrap();
    let before = listing(root.path());
    let error = work_tree.apply(&plan, &record(&theirs), "").unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "failed to remove `gone/b`: another program removed its folder at the same time"
    );
    assert_eq!(listing(root.path()), before);
}

#[test]
fn permissions_of_a_file_are_kept() {
    let root = folder();
    let mode = |path: &str| root.path().join(path).metadata().unwrap().mode();
    run(root.path(), &texts(&[("script", "old\n")])).unwrap();
    fs::set_permissions(root.path().join("script"), Permissions::from_mode(0o750)).unwrap();
    run(root.path(), &texts(&[("script", "new\n")])).unwrap();
    assert_eq!(read(root.path(), "script"), "new\n");
    assert_eq!(mode("script") & 0o777, 0o750);
}

#[test]
fn permissions_of_a_new_file_are_those_of_any_new_file() {
    let root = folder();
    run(root.path(), &texts(&[("new", "new\n")])).unwrap();
    write(root.path(), "any", "any\n");
    let mode = |path: &str| root.path().join(path).metadata().unwrap().mode();
    assert_eq!(mode("new"), mode("any"));
}

#[test]
fn folders_that_become_empty_are_removed() {
    let root = folder();
    run(
        root.path(),
        &texts(&[("a/b/c/1", "1\n"), ("a/b/c/2", "2\n"), ("a/d/3", "3\n")]),
    )
    .unwrap();
    fs::create_dir(root.path().join("a/empty")).unwrap();
    write(root.path(), "a/d/mine", "mine\n");
    run(root.path(), &texts(&[])).unwrap();
    let left: Vec<_> = contents(&root.path().join("a")).into_keys().collect();
    assert_eq!(left, ["d", "d/mine", "empty"].map(PathBuf::from));
}

#[test]
fn folder_in_the_place_of_a_file_is_an_error() {
    let root = folder();
    fs::create_dir_all(root.path().join("src/main.rs")).unwrap();
    assert_eq!(
        run_error(root.path(), &texts(&[("src/main.rs", "new\n")])),
        "`src/main.rs` is not a regular file"
    );
}

#[test]
fn socket_in_the_place_of_a_file_is_an_error() {
    let root = folder();
    let _listener = UnixListener::bind(root.path().join("a")).unwrap();
    assert_eq!(
        run_error(root.path(), &texts(&[("a", "new\n")])),
        "`a` is not a regular file"
    );
}

#[test]
fn file_in_the_place_of_a_folder_is_an_error() {
    let root = folder();
    write(root.path(), "src/api", "in the way\n");
    assert_eq!(
        run_error(root.path(), &texts(&[("src/api/v1/mod.rs", "new\n")])),
        "`src/api` is a file where a folder is needed"
    );
}

#[test]
fn file_that_is_not_text_stays_as_it_is() {
    let (root, latin) = (folder(), b"J\xfcrgen\n");
    let theirs = |other, text| texts(&[("other", other), ("text", text)]);
    run(root.path(), &theirs("1\n", "a\nb\nc\n")).unwrap();
    let file = root.path().join("text");
    let ours = [b"a\nb\nc\n", &latin[..]].concat();
    fs::write(&file, &ours).unwrap();

    run(root.path(), &theirs("2\n", "a\nb\nc\n")).unwrap();
    assert_eq!(read(root.path(), "other"), "2\n");
    assert_eq!(fs::read(&file).unwrap(), ours);

    let before = listing(root.path());
    assert_eq!(
        run_error(root.path(), &theirs("3\n", "new\na\nb\nc\n")),
        "`text` is not UTF-8 text: convert the file or move it away, and run the command again"
    );
    assert_eq!(listing(root.path()), before);
}

#[test]
fn file_that_another_program_changes_meanwhile_is_not_overwritten() {
    type Edit = fn(&Path, &str);

    let old = texts(&[
        ("changed", "old\n"),
        ("gone", "old\n"),
        ("removed", "old\n"),
    ]);
    let new = texts(&[
        ("changed", "new\n"),
        ("created", "new\n"),
        ("gone", "new\n"),
    ]);
    let save: Edit = |root, path| write(root, path, "now\n");
    let rename: Edit = |root, path| {
        write(root, "saved", "old\n");
        fs::rename(root.join("saved"), root.join(path)).unwrap();
    };
    let remove: Edit = |root, path| fs::remove_file(root.join(path)).unwrap();
    let meanwhile: [(&str, Edit); 5] = [
        ("changed", save),
        ("changed", rename),
        ("created", save),
        ("gone", remove),
        ("removed", save),
    ];
    for (path, change) in meanwhile {
        let root = folder();
        run(root.path(), &old).unwrap();
        let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
        let plan = plan(&work_tree, &new).unwrap();
        change(root.path(), path);
        let before = listing(root.path());
        assert_eq!(
            work_tree
                .apply(&plan, &record(&new), "")
                .unwrap_err()
                .to_string(),
            format!(
                "`{path}` was changed by another program at the same time; nothing was written"
            )
        );
        assert_eq!(listing(root.path()), before);
    }
}

#[test]
fn symbolic_link_to_nothing_is_an_error() {
    let root = folder();
    symlink("nowhere", root.path().join("link")).unwrap();
    assert_eq!(
        run_error(root.path(), &texts(&[("link", "new\n")])),
        "the target of the symbolic link `link` does not exist"
    );
}

#[test]
fn missing_folder_is_an_error() {
    let root = folder();
    let missing = root.path().join("missing");
    let error = format!("{:#}", WorkTree::open(&missing, &OF_TESTS).unwrap_err());
    let expected = format!("failed to open the folder `{}`: ", missing.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn damaged_record_is_an_error() {
    let shape = "not a path and a line, such as `[\"src/lib.rs\",\"mod a;\\n\"]`";
    for (line, says) in [
        ("{\"a\": [\"b\"]}", shape),
        ("[\"a\"]", shape),
        ("[\"a\",\"b\",\"c\"]", shape),
        ("[\"a\",\"b\"", shape),
    ] {
        assert_damaged(line, &format!("line 2 is {says}"));
    }
    for path in [".git/HEAD", "a/.GIT/config"] {
        let says = format!("line 2: `{path}` belongs to git, not to the project");
        assert_damaged(&format!("[\"{path}\",\"a\\n\"]"), &says);
    }
    for path in ["../a", "/a", "", "a/../../b", "."] {
        assert_damaged(
            &format!("[\"{path}\",\"a\\n\"]"),
            &format!("line 2: `{path}` is not a path within the project"),
        );
    }
}

/// A record whose second line is `line` is refused with a message that contains `says`, and stays unchanged.
fn assert_damaged(line: &str, says: &str) {
    let root = folder();
    let record = format!("[\"b\",\"b\\n\"]\n{line}\n");
    write(root.path(), LAST_APPLIED, &record);
    let error = run_error(root.path(), &texts(&[]));
    assert_eq!(error, format!("`{LAST_APPLIED}` is damaged: {says}"));
    assert_eq!(read(root.path(), LAST_APPLIED), record);
}

#[test]
fn record_has_one_line_for_each_line_of_a_file() {
    let files = [
        ("b", ""),
        ("a/c", "one\r\n\"two\"\nend"),
        ("PROJECT", "p\n"),
    ];
    let record = Record {
        projects: vec!["version: '3'\n".to_owned()],
        marked: ["a/c".to_owned()].into(),
        given: texts(&[("b", "two\nlines\n")]),
        ..record(&texts(&files))
    };
    assert_eq!(
        text_of(&record),
        r#"{"project":"version: '3'\n"}
{"marked":"a/c"}
{"given":["b","two\nlines\n"]}
["a/c","one\r\n"]
["a/c","\"two\"\n"]
["a/c","end"]
["b",""]
"#
    );
}

#[test]
fn lines_of_two_branches_make_one_record() {
    let record = r#"{"project":"1\n"}
{"project":"2\n"}
{"project":"1\n"}
["b","1\n"]
["a","1\n"]
{"marked":"a"}
{"given":["a","1\n"]}
{"given":["b","ours\n"]}
{"given":["b","theirs\n"]}
{"given":["a","1\n"]}
["b","ours\n"]
["b","theirs\n"]
["a","2\n"]
"#;
    let expected = Record {
        texts: texts(&[("a", "1\n2\n"), ("b", "1\nours\ntheirs\n")]),
        projects: vec!["1\n".to_owned(), "2\n".to_owned()],
        marked: ["a".to_owned()].into(),
        // `b` is missing: each branch gave it another text.
        given: texts(&[("a", "1\n")]),
    };
    assert_eq!(Record::parse(record).unwrap(), expected);
    let with_crlf = record.replace('\n', "\r\n");
    assert_eq!(Record::parse(&with_crlf).unwrap(), expected);
    // Without the attribute `merge=union`, git marks the conflicts.
    let mut with_markers = String::new();
    for (number, line) in record.lines().enumerate() {
        with_markers += &match number % 3 {
            0 => format!("<<<<<<< HEAD\n{line}\n||||||| 0123456\n[\"a\",\"gone\\n\"]\n"),
            1 => format!("=======\n{line}\n>>>>>>> theirs\n"),
            _ => format!("{line}\n"),
        };
    }
    assert_eq!(Record::parse(&with_markers).unwrap(), expected);
}

const ANY_TEXT: &str = "(\\PC|[\\r\\n\\t\\\\\"\u{0}\u{2028}]){0,20}";

proptest! {
    #[test]
    fn any_text_survives_the_record(
        texts in prop::collection::btree_map("[a-z]{1,3}", ANY_TEXT.prop_map(Text::from), 0..4),
        projects in prop::collection::vec(ANY_TEXT, 0..2),
        marked in prop::collection::btree_set("[a-z]{1,3}", 0..2),
        given in prop::collection::btree_map("[a-z]{1,3}", ANY_TEXT.prop_map(Text::from), 0..2),
    ) {
        let record = Record { texts, projects, marked, given };
        prop_assert_eq!(Record::parse(&text_of(&record)).unwrap(), record);
    }
}

#[test]
fn second_command_is_refused_while_the_first_one_runs() {
    let root = folder();
    let first = lock(root.path(), Duration::ZERO).unwrap();
    let error = lock(root.path(), Duration::ZERO).unwrap_err().to_string();
    assert_eq!(error, "another rscaffold process is working in this folder");
    drop(first);
    lock(root.path(), Duration::ZERO).unwrap();
}

#[test]
fn second_command_waits_before_it_gives_up() {
    let root = folder();
    let _first = lock(root.path(), Duration::ZERO).unwrap();
    let (start, patience) = (Instant::now(), Duration::from_millis(50));
    lock(root.path(), patience).unwrap_err();
    assert!(start.elapsed() >= patience);
}

#[test]
fn the_top_folder_has_a_project_or_its_record() {
    let root = TempDir::new().unwrap();
    let below = root.path().join("a/b");
    fs::create_dir_all(&below).unwrap();
    assert_eq!(top(&below, &OF_TESTS), None);

    fs::write(root.path().join("PROJECT"), OF_TESTS.mark).unwrap();
    for folder in [root.path(), &root.path().join("a"), &below] {
        assert_eq!(top(folder, &OF_TESTS), Some(root.path()));
    }
    // Another tool's project is in between.
    fs::write(root.path().join("a/PROJECT"), "another tool's\n").unwrap();
    assert_eq!(top(&below, &OF_TESTS), Some(root.path()));
    // A nearer project has lost its `PROJECT`.
    fs::create_dir(below.join(".rscaffold")).unwrap();
    fs::write(below.join(LAST_APPLIED), "").unwrap();
    assert_eq!(top(&below, &OF_TESTS), Some(below.as_path()));
}

/// Reading a named pipe blocks until there is a writer.
#[cfg(unix)]
#[test]
fn a_named_pipe_above_the_project_blocks_no_command() {
    let outer = tempfile::tempdir().unwrap();
    for name in [OF_TESTS.description, "Cargo.toml"] {
        let pipe = outer.path().join(name);
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
    }
    let folder = outer.path().join("project");
    fs::create_dir(&folder).unwrap();
    assert_eq!(top(&folder, &OF_TESTS), None);
}

#[test]
fn a_file_that_is_too_large_is_named() {
    let root = folder();
    for (path, bytes, shown) in [
        ("src/lib.rs", limits::FILE, "4 MB"),
        (LAST_APPLIED, limits::RECORD, "128 MB"),
    ] {
        write(root.path(), path, "");
        let file = fs::File::create(root.path().join(path)).unwrap();
        file.set_len(bytes + 1).unwrap();
        let error = WorkTree::open(root.path(), &OF_TESTS)
            .unwrap()
            .ours([path])
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("`{path}` has more than {shown}, the most that rscaffold reads")
        );
    }
}

#[test]
fn files_that_are_too_large_together_are_refused() {
    let root = folder();
    let paths: Vec<_> = (0..=16).map(|number| format!("file{number}")).collect();
    for path in &paths {
        write(root.path(), path, "");
        let file = fs::File::create(root.path().join(path)).unwrap();
        file.set_len(limits::FILE).unwrap();
    }
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    let ours = |paths: &[String]| work_tree.ours(paths.iter().map(String::as_str));
    assert_eq!(ours(&paths[1..]).unwrap().len(), 16);
    assert!(
        ours(&paths)
            .unwrap_err()
            .to_string()
            .contains("more than 64 MB")
    );
}

#[test]
fn a_record_that_is_too_large_to_read_is_not_written() {
    let root = folder();
    let work_tree = WorkTree::open(root.path(), &OF_TESTS).unwrap();
    // The record needs six bytes for each of these bytes.
    let record = record(&texts(&[("a", &"\u{1}".repeat(22 << 20))]));
    let error = work_tree.apply(&Plan::default(), &record, "").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("would have more than 128 MB"), "{error}");
    assert_eq!(contents(root.path()), BTreeMap::new());
}

#[test]
fn a_write_without_permission_names_the_folder() {
    let root = Path::new("/srv/guestbook");
    let denied = |kind| {
        let written = Err(io::Error::from(kind)).context("failed to write `PROJECT`");
        let error = or_permission(written, root).unwrap_err();
        hint(&error).map(str::to_owned)
    };
    let expected = "you need the permission to write in the folder `/srv/guestbook` and in those \
                    below: `ls -ld` shows who has it";
    assert_eq!(
        denied(ErrorKind::PermissionDenied).as_deref(),
        Some(expected)
    );
    assert_eq!(denied(ErrorKind::StorageFull), None);
    assert!(or_permission(Ok(()), root).is_ok());
}
