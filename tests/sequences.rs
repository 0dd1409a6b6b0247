//! Tests random sequences of commands. After each accepted command, the files have the layout of rustfmt, `apply` has
//! nothing to do, and `apply` with only `PROJECT` creates the same files. A refused command changes nothing.
//!
//! `SEQUENCES=2000` runs more sequences, and `SEED=7` begins with another seed.

mod draw;
mod names;
mod play;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use self::{
    draw::{of_seed, variable},
    play::Played,
};
use crate::{
    help::{commands, flags, help},
    project::Project,
    scaffold::{root, run},
};

/// Flags that no sequence has. `init --from` reads a project in Go, whose code becomes edits of the user: the tests of
/// this flag are in `operators/port.rs`.
const LEFT_OUT: [(&str, &str); 1] = [("init", "from")];

#[test]
fn after_accepted_commands_all_files_follow_from_project() {
    let (seed, count) = (variable("SEED", 0), variable("SEQUENCES", 6));
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

/// The names in the table on long names have the documented maximum length.
#[test]
fn names_of_the_documented_length_have_the_layout_of_rustfmt() {
    let page = fs::read_to_string(root().join("docs/layout.md")).expect("a readable page");
    let length = |name: &str| -> usize {
        let row = format!("| {name} | ");
        let length = page.lines().find_map(|line| line.strip_prefix(&row));
        let length = length.unwrap_or_else(|| panic!("no row for {name}"));
        length.trim_end_matches(" |").parse().expect("a number")
    };
    // Four words: the page gives the length for names of up to four words.
    let kind = |first: char, name: &str| {
        let last = format!("D{}", "d".repeat(length(name) - 7));
        format!("{first}aBbCc{last}")
    };
    let own = kind('K', "a kind of the project");
    let owned = kind('O', "a kind that a controller owns");
    let watched = kind('W', "a kind that a controller watches");
    let other = "a kind of Kubernetes or of another project with a controller";
    let other = kind('E', other);
    let controller = "c".repeat(length("a controller"));
    let full = length("`<name>.<group>.<domain>` of a controller");
    let domain = "d".repeat(full - controller.len() - ".shop.".len());
    let shop = "--group shop --version v1 --kind";
    let uses = format!("--owns shop/v1/{owned} --watches shop/v1/{watched} --finalizer");

    let projects = [
        vec![
            format!("init --domain {domain} --repo guestbook --runtime registry"),
            format!("create api {shop} Book --controller-name {controller}"),
        ],
        vec![
            "init --domain com --repo guestbook --runtime registry".to_owned(),
            format!("create api {shop} {owned} --controller=false"),
            format!("create api {shop} {watched} --controller=false"),
            format!("create api {shop} {own} {uses}"),
            format!("create webhook {shop} {own} --defaulting --programmatic-validation"),
            format!(
                "create api --group toys --version v1 --kind {other} --resource=false {uses} \
                 --external-api-path widgets::v1::{other} --external-api-domain example.org \
                 --external-api-crate widgets@1"
            ),
        ],
    ];
    let projects = projects.map(|commands| {
        let commands: Vec<_> = commands.iter().map(String::as_str).collect();
        Project::new(&commands)
    });
    let files = projects.iter().flat_map(Project::tree);
    let rust = files.filter(|(path, _)| path.extension().is_some_and(|it| it == "rs"));
    are_formatted(&rust.filter_map(|(_, text)| Some((text?, 0))).collect());
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
    for seed in 0..300 {
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
