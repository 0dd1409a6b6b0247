//! Tests random edits and commands on two branches. git merges the branches, then `rscaffold apply` runs. If `apply`
//! accepts the merge, the result has every edit of both branches.
//!
//! `make merges` tries ten thousand cases.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    env,
    num::NonZero,
    thread,
};

use kube_manager::source::{self, without_tests};
use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRunner},
};
use serde_json::Value;

use crate::{branches::commit, cases::is_thorough, project::Project, scaffold::run};

const INIT: &str = "init --domain com --repo guestbook --runtime registry --enable helm";

/// The commands that a branch may run, in addition to edits of files.
const COMMANDS: [&str; 18] = [
    "create api --group webapp --version v1 --kind Guestbook",
    "create api --group webapp --version v1 --kind Visitor",
    "create api --group webapp --version v2 --kind Guestbook",
    "create api --group crew --version v1 --kind Captain --owns v1/ConfigMap",
    "create api --group apps --version v1 --kind Deployment --resource=false",
    "create api --group webapp --version v1 --kind Guestbook --controller-name backup",
    "create api --group webapp --version v1 --kind Guestbook --deprecated=outdated --force",
    "create api --group webapp --version v1 --kind Visitor --short-name vi --force",
    "create webhook --group webapp --version v1 --kind Guestbook --defaulting",
    "create webhook --group webapp --version v1 --kind Guestbook --conversion",
    "delete api --group webapp --version v1 --kind Guestbook",
    "delete api --group crew --version v1 --kind Captain",
    "edit --enable prometheus",
    "edit --enable network-policy --disable metrics-secure",
    "edit --disable helm",
    "edit --owner Example",
    "edit --runtime registry",
    "edit --runtime vendored",
];

/// The beginning of the files that users do not edit by hand.
const DERIVED: &str = "# Written by `make manifests`";
const RECORD: &str = ".rscaffold/last-applied.jsonl";

/// The way in which one branch gets the changes of the other branch.
#[derive(Debug, Clone, Copy)]
enum Way {
    Merge,
    Rebase,
    CherryPick,
    Stash,
}

/// The effect of an edit on a line of a file, or on the whole file.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Delete,
    Change,
    Insert,
    DeleteFile,
}

#[derive(Debug, Clone)]
struct Edit {
    kind: Kind,
    /// The index of a file: `Ok` for a file of `BUSY`, `Err` for any file.
    file: Result<Index, Index>,
    line: Index,
}

#[derive(Debug, Clone)]
struct Branch {
    commands: Vec<&'static str>,
    edits: Vec<Edit>,
}

#[derive(Debug, Clone)]
struct Case {
    before: Branch,
    ours: Branch,
    theirs: Branch,
    way: Way,
    /// What the user does after `apply`.
    after: Edit,
    /// How the user records the merge before the next command.
    recorded: Recorded,
}

/// How far a user has recorded a merge in git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorded {
    Nowhere,
    InIndex,
    InCommit,
}

/// Files that both edits and commands often change.
const BUSY: [&str; 7] = [
    "PROJECT",
    "README.md",
    "config/manager/manager.yaml",
    "config/samples/kustomization.yaml",
    "src/api/mod.rs",
    "src/api/webapp/v1/guestbook.rs",
    "src/controller/mod.rs",
];

fn edit() -> impl Strategy<Value = Edit> {
    let kind = prop_oneof![
        10 => Just(Kind::Delete),
        10 => Just(Kind::Change),
        10 => Just(Kind::Insert),
        1 => Just(Kind::DeleteFile),
    ];
    let file = prop_oneof![
        2 => any::<Index>().prop_map(Ok),
        1 => any::<Index>().prop_map(Err),
    ];
    (kind, file, any::<Index>()).prop_map(|(kind, file, line)| Edit { kind, file, line })
}

fn branch(commands: usize, edits: usize) -> impl Strategy<Value = Branch> {
    let command = prop::sample::select(&COMMANDS[..]);
    (
        prop::collection::vec(command, 0..=commands),
        prop::collection::vec(edit(), 0..=edits),
    )
        .prop_map(|(commands, edits)| Branch { commands, edits })
}

/// Returns a strategy for cases. Many edits of `theirs` get the file and the line of an edit of `ours`, so that edits
/// of both branches often meet.
fn case() -> impl Strategy<Value = Case> {
    let way = prop_oneof![
        4 => Just(Way::Merge),
        1 => Just(Way::Rebase),
        1 => Just(Way::CherryPick),
        1 => Just(Way::Stash),
    ];
    let branches = prop_oneof![
        4 => (branch(2, 4), branch(2, 4), branch(2, 4)),
        1 => (branch(2, 0), branch(2, 0), branch(2, 0)),
    ];
    let recorded = prop_oneof![
        Just(Recorded::Nowhere),
        Just(Recorded::InIndex),
        Just(Recorded::InCommit),
    ];
    let near = prop::collection::vec(any::<bool>(), 4);
    let next = (edit(), recorded);
    (branches, near, way, next).prop_map(|((before, ours, mut theirs), near, way, next)| {
        let (after, recorded) = next;
        for (edit, (other, near)) in theirs.edits.iter_mut().zip(ours.edits.iter().zip(near)) {
            if near {
                edit.file = other.file;
                edit.line = other.line;
            }
        }
        Case {
            before,
            ours,
            theirs,
            way,
            after,
            recorded,
        }
    })
}

type Files = BTreeMap<String, String>;

fn files(project: &Project) -> Files {
    let tree = project.tree().into_iter();
    tree.filter_map(|(path, text)| Some((path.to_str()?.to_owned(), text?)))
        .collect()
}

/// Returns the entries of the kinds in `PROJECT`.
fn entries(files: &Files) -> BTreeMap<String, Value> {
    let project: Value = serde_yaml::from_str(&files["PROJECT"]).expect("YAML");
    let mut entries = BTreeMap::new();
    for entry in project["resources"].as_array().into_iter().flatten() {
        let [group, version, kind] = ["group", "version", "kind"].map(|field| &entry[field]);
        entries.insert(format!("{group}/{version}/{kind}"), entry.clone());
    }
    entries
}

/// Returns the texts that rscaffold wrote last. For a file of the runtime, the record has only a digest, so the text
/// comes from the runtime.
fn record(files: &Files) -> Files {
    let mut texts = Files::new();
    let lines = files[RECORD].lines().filter(|line| line.starts_with('['));
    for line in lines {
        let [path, line]: [String; 2] = serde_json::from_str(line).expect("a line of the record");
        texts.entry(path).or_default().push_str(&line);
    }
    for (path, text) in source::files() {
        let path = format!("crates/kube-manager/{path}");
        let text = without_tests(text);
        texts.entry(path).and_modify(|it| text.clone_into(it));
    }
    texts
}

/// Runs the commands of `branch`, and makes its edits.
fn work(project: &Project, branch: &Branch, who: &str) {
    for command in &branch.commands {
        // A command that is not possible in this project changes nothing.
        let _ = project.outcome(command);
    }
    for (number, edit) in branch.edits.iter().enumerate() {
        let all = files(project);
        let paths: Vec<&String> = all
            .iter()
            .filter(|(path, text)| *path != RECORD && !text.starts_with(DERIVED))
            .map(|(path, _)| path)
            .collect();
        let busy: Vec<&str> = BUSY
            .into_iter()
            .filter(|path| all.contains_key(*path))
            .collect();
        let path = match &edit.file {
            Ok(index) => busy[index.index(busy.len())],
            Err(index) => paths[index.index(paths.len())].as_str(),
        };
        let mark = format!("{who} {number}");
        edit_file(project, path, &all[path], edit, &mark);
    }
}

fn edit_file(project: &Project, path: &str, text: &str, edit: &Edit, mark: &str) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return;
    }
    let at = edit.line.index(lines.len());
    // The fields of PROJECT are the desired state, so an edit only adds or deletes a comment.
    let is_project = path == "PROJECT";
    let remark = format!("# user {mark}");
    match edit.kind {
        Kind::DeleteFile if !is_project => {
            std::fs::remove_file(project.folder().join(path)).expect("a file");
            return;
        }
        Kind::Delete if !is_project || lines[at].starts_with('#') => _ = lines.remove(at),
        Kind::Change if !is_project => lines[at] = format!("{} {remark}", lines[at]),
        _ => lines.insert(at, remark),
    }
    project.write(path, &(lines.join("\n") + "\n"));
}

fn lines(text: &str) -> BTreeMap<&str, usize> {
    let mut lines = BTreeMap::new();
    for line in text.lines() {
        *lines.entry(line).or_default() += 1;
    }
    lines
}

/// Returns the lines that users wrote in a file.
fn of_users(text: Option<&String>) -> BTreeSet<&str> {
    let lines = text.into_iter().flat_map(|text| text.lines());
    lines.filter(|line| line.contains("# user ")).collect()
}

/// Returns the lines of rscaffold's text `base` that a user deleted or changed. Counts only lines that are in `base`
/// once.
fn deleted<'a>(base: &'a str, text: &str) -> BTreeSet<&'a str> {
    let text = lines(text);
    let once = lines(base).into_iter().filter(|&(_, count)| count == 1);
    once.map(|(line, _)| line)
        .filter(|line| !text.contains_key(line))
        .collect()
}

/// Returns the edits on either branch that `merged` has lost.
///
/// If git did not leave a file `open`, the text that git `left` counts. Example: a command adds the same line on both
/// branches, and the user of one branch deletes the line. For git, the line is new on the other branch.
///
/// If one branch deletes a file and adds a similar file, git treats this as a rename, and applies the other branch's
/// changes of the first file to the second file. So a line is lost only if no file has it.
fn losses(
    before: &Files,
    sides: [&Files; 2],
    (left, open): (&Files, &BTreeSet<String>),
    merged: &Files,
) -> Vec<String> {
    let mut losses = Vec::new();
    let rendered = record(merged);
    let records = sides.map(record);
    let anywhere: BTreeSet<&str> = merged
        .values()
        .flat_map(|text| of_users(Some(text)))
        .collect();
    let paths: BTreeSet<&String> = sides.iter().flat_map(|side| side.keys()).collect();
    for path in paths.into_iter().filter(|path| *path != RECORD) {
        let is_open = open.contains(path);
        let had = |line: &str| {
            left.get(path)
                .is_some_and(|text| lines(text).contains_key(line))
        };
        let there = of_users(before.get(path));
        let result = of_users(merged.get(path));
        let of_sides = sides.map(|side| of_users(side.get(path)));
        for line in of_sides.iter().flatten().collect::<BTreeSet<_>>() {
            let is_deleted = of_sides.iter().any(|side| !side.contains(line));
            let is_gone = if is_open {
                there.contains(line) && is_deleted
            } else {
                !had(line)
            };
            if is_gone && result.contains(line) {
                losses.push(format!("{path}: `{line}` is back"));
            } else if !is_gone && !anywhere.contains(line) {
                losses.push(format!("{path}: `{line}` is lost"));
            }
        }
        let result = merged.get(path).map(|text| lines(text)).unwrap_or_default();
        for (side, base) in sides.iter().zip(&records) {
            match (base.get(path), side.get(path), rendered.get(path)) {
                (Some(_), None, _)
                    if merged.contains_key(path) && (is_open || !left.contains_key(path)) =>
                {
                    losses.push(format!("{path}: the file is back"));
                }
                (Some(base), Some(text), Some(rendered)) => {
                    let clean = lines(rendered);
                    for line in deleted(base, text) {
                        let is_back = result.contains_key(line) && clean.get(line) == Some(&1);
                        if is_back && (is_open || !had(line)) {
                            losses.push(format!("{path}: deleted line `{line}` is back"));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    losses
}

/// Whether git has treated a file of one branch as a renamed file of the other branch, and has applied changes to it.
/// Such a file is in only one of `states`, and git `left` another text.
fn is_renamed(states: [Option<&String>; 3], left: Option<&String>) -> bool {
    let mut there = states.into_iter().flatten();
    matches!((there.next(), there.next()), (Some(only), None) if left != Some(only))
}

/// The outcome of a case.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Settled,
    Refused,
    /// git does not start the merge.
    Impossible,
}

/// Runs the case on real branches.
fn merge(case: &Case) -> Result<Ended, TestCaseError> {
    let project = Project::new(&[INIT]);
    let git = |arguments: &[&str]| run(&mut project.git(arguments));
    git(&["init", "--quiet", "--initial-branch=main"]);
    work(&project, &case.before, "before");
    commit(&project);
    let before = files(&project);
    git(&["switch", "--quiet", "--create=theirs"]);
    work(&project, &case.theirs, "theirs");
    let theirs = files(&project);
    if let Way::Stash = case.way {
        git(&["add", "--all"]);
        git(&["stash", "--quiet"]);
    } else {
        commit(&project);
    }
    git(&["switch", "--quiet", "main"]);
    work(&project, &case.ours, "ours");
    commit(&project);
    let ours = files(&project);
    let arguments: &[&str] = match case.way {
        Way::Merge => &["merge", "theirs"],
        Way::Rebase => &["rebase", "theirs"],
        Way::CherryPick => &["cherry-pick", "theirs"],
        Way::Stash => &["stash", "pop"],
    };
    let output = project.git(arguments).output().expect("git");
    if String::from_utf8_lossy(&output.stderr).contains("fatal") {
        return Ok(Ended::Impossible);
    }
    let merged = project.tree();
    let left = files(&project);
    let open = git(&["diff", "--name-only", "--diff-filter=U"]);
    let open = open.lines().map(str::to_owned).collect();
    let outcome = project.outcome("apply");
    if outcome.code != 0 {
        prop_assert_eq!(
            project.tree(),
            merged,
            "nothing is written: {}",
            outcome.stderr
        );
        return Ok(Ended::Refused);
    }
    let settled = files(&project);
    let lost = |merged: &Files| losses(&before, [&ours, &theirs], (&left, &open), merged);
    let losses = lost(&settled);
    prop_assert!(losses.is_empty(), "{losses:#?}\n{}", outcome.stderr);
    for (path, text) in &settled {
        let has_marker = text.lines().any(|line| line.starts_with("<<<<<<< "));
        prop_assert!(!has_marker, "{path} has conflict markers");
    }
    let [entries_before, our_entries, their_entries] = [&before, &ours, &theirs].map(entries);
    for (kind, entry) in entries(&settled) {
        let [parent, our, their] =
            [&entries_before, &our_entries, &their_entries].map(|entries| entries.get(&kind));
        // If both branches changed the kind, its entry has the changes of both.
        let is_merged = our != parent && their != parent;
        let is_of_branch = [our, their].contains(&Some(&entry));
        prop_assert!(is_merged || is_of_branch, "{kind}: no branch has {entry}");
    }
    let branches = [&case.before, &case.ours, &case.theirs];
    if branches.iter().all(|branch| branch.edits.is_empty()) {
        let states = [&before, &ours, &theirs];
        let is_renamed =
            |path: &String| is_renamed(states.map(|files| files.get(path)), left.get(path));
        for (path, text) in record(&settled) {
            if is_renamed(&path) {
                continue;
            }
            prop_assert_eq!(
                settled.get(&path),
                Some(&text),
                "{} is not as it was rendered",
                path
            );
        }
    }
    go_on(&project, case, &settled, lost)?;
    Ok(Ended::Settled)
}

/// Goes on after `apply` has made the files `settled`: edits a file, records the merge in git, and runs another command.
/// Every edit stays. `lost` returns the edits of the branches that the files have lost.
fn go_on(
    project: &Project,
    case: &Case,
    settled: &Files,
    lost: impl Fn(&Files) -> Vec<String>,
) -> Result<(), TestCaseError> {
    ensure_unchanged(project, settled)?;
    let edit = Branch {
        commands: Vec::new(),
        edits: vec![case.after.clone()],
    };
    work(project, &edit, "after");
    let edited = files(project);
    ensure_unchanged(project, &edited)?;
    if case.recorded != Recorded::Nowhere {
        run(&mut project.git(&["add", "--all"]));
        ensure_unchanged(project, &edited)?;
    }
    if case.recorded == Recorded::InCommit {
        commit(project);
        ensure_unchanged(project, &edited)?;
    }
    let next = project.outcome("create api --group zoo --version v1 --kind Zebra");
    prop_assert!(!next.stderr.contains("PROJECT:"), "{}", next.stderr);
    let after = files(project);
    if next.code != 0 {
        let changes = differences(&edited, &after);
        prop_assert!(changes.is_empty(), "{changes:#?}\n{}", next.stderr);
        return Ok(());
    }
    // The user may have deleted what an earlier edit inserted.
    let known = lost(&edited);
    let losses: Vec<_> = lost(&after)
        .into_iter()
        .filter(|loss| !known.contains(loss))
        .collect();
    prop_assert!(losses.is_empty(), "after a command: {losses:#?}");
    for (path, text) in &edited {
        let there = of_users(after.get(path));
        let missing: Vec<_> = of_users(Some(text)).difference(&there).copied().collect();
        prop_assert!(
            missing.is_empty(),
            "{path}: {missing:?} is lost after a command"
        );
    }
    ensure_unchanged(project, &after)
}

/// Checks that `apply` leaves the files as they `are`.
fn ensure_unchanged(project: &Project, are: &Files) -> Result<(), TestCaseError> {
    let outcome = project.outcome("apply");
    prop_assert_eq!(outcome.code, 0, "another apply: {}", outcome.stderr);
    let changes = differences(are, &files(project));
    prop_assert!(changes.is_empty(), "another apply changes {changes:#?}");
    Ok(())
}

/// Returns the files that differ, with both texts.
fn differences(before: &Files, after: &Files) -> BTreeMap<String, [Option<String>; 2]> {
    let paths = before.keys().chain(after.keys());
    paths
        .map(|path| {
            let texts = [before, after].map(|files| files.get(path).cloned());
            (path.clone(), texts)
        })
        .filter(|(_, [before, after])| before != after)
        .collect()
}

/// Tries `cases` random cases, and counts the outcomes. Returns the smallest failing case, as text, as an error.
fn try_merges(cases: u32) -> Result<BTreeMap<String, u32>, String> {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    });
    let counts = RefCell::new(BTreeMap::<String, u32>::new());
    let result = runner.run(&case(), |case| {
        let ended = merge(&case)?;
        *counts.borrow_mut().entry(format!("{ended:?}")).or_default() += 1;
        Ok(())
    });
    result.map_err(|error| error.to_string())?;
    Ok(counts.into_inner())
}

#[test]
fn a_merge_that_apply_accepts_has_every_edit_of_both_branches() {
    let cases = match env::var("MERGES") {
        Ok(cases) => cases.parse().expect("MERGES is a number"),
        Err(_) if is_thorough() => 20_u32,
        Err(_) => 10,
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = u32::try_from(threads).expect("a number of processors");
    let counts: Vec<_> = thread::scope(|scope| {
        let share = cases.div_ceil(threads);
        let started: Vec<_> = (0..threads)
            .map(|_| scope.spawn(move || try_merges(share)))
            .collect();
        let counts = started
            .into_iter()
            .map(|thread| thread.join().expect("a thread that did not panic"));
        counts.collect::<Result<_, _>>()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    println!("{counts:?}");
    let settled = counts.iter().filter_map(|counts| counts.get("Settled"));
    // If `apply` accepts only a few merges, the test shows nothing.
    assert!(settled.copied().sum::<u32>() * 4 > cases, "{counts:?}");
}
