//! Tests random sequences of commands. After each accepted command, the files have the layout of rustfmt, `apply` has
//! nothing to do, and `apply` with only `PROJECT` creates the same files. A refused command changes nothing.
//!
//! `SEQUENCES=2000` runs more sequences, and `SEED=7` begins with another seed.

mod draw;
mod long;
mod names;
mod play;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use tempfile::TempDir;

use self::{
    draw::{of_seed, variable},
    play::Played,
};
use crate::{
    cases::cases,
    help::{commands, flags, help},
    project::Project,
    scaffold::run,
};

/// Flags that no sequence has. `init --from` reads a project in Go, whose code becomes edits of the user: the tests of
/// this flag are in `operators/port.rs`.
const LEFT_OUT: [(&str, &str); 1] = [("init", "from")];

#[test]
fn after_accepted_commands_all_files_follow_from_project() {
    let (seed, count) = (
        variable("SEED", 0),
        variable("SEQUENCES", cases(10).cases.into()),
    );
    let texts = RefCell::new(BTreeMap::new());
    let [mut accepted, mut refused] = [0, 0];
    for seed in seed..seed + count {
        let counts = RefCell::new([0; 2]);
        let mut runner = TestRunner::new(draw::config(seed));
        let ended = runner.run(&draw::sequence(), |steps| {
            let played = Played::new(&steps);
            *counts.borrow_mut() = [played.accepted.len(), played.refused];
            let mut texts = texts.borrow_mut();
            for text in played.rust {
                texts.entry(text).or_insert(seed);
            }
            Ok(())
        });
        if let Err(error) = ended {
            panic!("SEED={seed} SEQUENCES=1: {error}");
        }
        let [yes, no] = counts.into_inner();
        accepted += yes;
        refused += no;
    }
    println!(
        "{count} sequences from SEED={seed}: {accepted} commands are accepted, {refused} refused"
    );
    // In a few sequences, most kinds may be in conflict with each other, so most commands may be refused.
    assert!(
        count < 5 || accepted * 3 > refused,
        "{accepted} commands are accepted, {refused} refused"
    );
    are_formatted(&texts.into_inner());
}

/// Checks the layout of Rust files, many with each process of rustfmt. The number is the seed of the file's sequence.
fn are_formatted(texts: &BTreeMap<String, u64>) {
    let folder = TempDir::new().expect("a temporary folder");
    let files = texts.iter().enumerate().map(|(index, (text, seed))| {
        // rustfmt would read the file of each module.
        let alone: Vec<_> = text.lines().map(without_file).collect();
        let file = folder.path().join(format!("seed_{seed}_{index}.rs"));
        fs::write(&file, alone.join("\n") + "\n").expect("a writable file");
        file
    });
    let files: Vec<_> = files.collect();
    for files in files.chunks(5000) {
        run(Command::new("rustfmt")
            .args(["--edition=2024", "--check"])
            .args(files));
    }
}

#[test]
fn names_of_each_length_have_the_layout_of_rustfmt() {
    let (seed, count) = (
        variable("SEED", 0),
        variable("SEQUENCES", cases(10).cases.into()),
    );
    let mut texts = BTreeMap::new();
    for seed in seed..seed + count {
        let mut runner = TestRunner::new(draw::config(seed));
        let steps = long::project().new_tree(&mut runner);
        let steps = steps.expect("a project, because nothing is left out");
        let project = Project::new(&[]);
        for step in steps.current() {
            let outcome = step.run(&project.folder());
            let command = step.arguments.join(" ");
            assert_eq!(outcome.code, 0, "SEED={seed} {command}: {}", outcome.stderr);
        }
        let files = project.tree().into_iter();
        let rust = files.filter(|(path, _)| path.extension().is_some_and(|it| it == "rs"));
        texts.extend(rust.filter_map(|(_, text)| Some((text?, seed))));
    }
    are_formatted(&texts);
}

/// Returns `line`, where an empty module replaces a module in another file: `mod a {}` instead of `mod a;`.
fn without_file(line: &str) -> String {
    let declares = line
        .trim_start()
        .trim_start_matches("pub(super) ")
        .trim_start_matches("pub ")
        .starts_with("mod ");
    match line.strip_suffix(';') {
        Some(module) if declares => format!("{module} {{}}"),
        _ => line.to_owned(),
    }
}

#[test]
fn sequences_have_each_flag_of_each_command() {
    let mut drawn = BTreeSet::new();
    for seed in 0..400 {
        for step in of_seed(seed) {
            let (words, flags): (Vec<_>, Vec<_>) =
                step.arguments.iter().partition(|it| !it.starts_with("--"));
            let mut command = words
                .into_iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" ");
            if command.starts_with("completion") {
                command.truncate("completion".len());
            }
            drawn.insert((command.clone(), String::new()));
            for flag in flags {
                let name = flag
                    .trim_start_matches("--")
                    .split('=')
                    .next()
                    .unwrap_or_default();
                drawn.insert((command.clone(), name.to_owned()));
            }
        }
    }
    let mut missing = Vec::new();
    for command in commands("") {
        let all = flags(&help(&command));
        let names = all.keys().filter_map(|flag| {
            let name = flag.split("--").nth(1)?;
            name.split(|c: char| !c.is_ascii_lowercase() && c != '-')
                .next()
        });
        for name in names.chain([""]) {
            let is_drawn = drawn.contains(&(command.clone(), name.to_owned()));
            if !is_drawn && !LEFT_OUT.contains(&(command.as_str(), name)) {
                missing.push(format!("{command} --{name}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "no sequence has these flags: {missing:?}"
    );
}
