//! Tests that the hint for a command of another tool is a command that works.

use std::{ffi::OsString, fs, path::Path, process::Command};

use rscaffold::{
    cli::Cli,
    command::other_tools::{Equivalent, OTHER_TOOLS},
};
use tempfile::TempDir;

use crate::{
    help::{commands, flags, help},
    parallel::{each, sample},
    project::shell,
    scaffold::{root, run},
};

/// What a user types instead of each word in `<>`.
const WORDS: [(&str, &str); 6] = [
    ("<FEATURE>", "helm"),
    ("<FILE>", "crd.yaml"),
    ("<FOLDER>", "other"),
    ("<GROUP>", "webapp"),
    ("<NAME>", "library"),
    ("<VERSION>", "v1"),
];

/// Creates a project in which each command of a row can be run: `Guestbook` has webhooks, `Page` has nothing, `Poem` has
/// two versions.
fn project(folder: &Path) {
    run(&mut shell(
        folder,
        "rscaffold init --domain com --runtime vendored --project-name guestbook && \
         rscaffold create api --group webapp --version v1 --kind Guestbook && \
         rscaffold create webhook --group webapp --version v1 --kind Guestbook --defaulting && \
         rscaffold create api --group webapp --version v1 --kind Page --controller=false && \
         rscaffold create api --group webapp --version v1 --kind Poem && \
         rscaffold create api --group webapp --version v2 --kind Poem",
    ));
    let crd = root().join("tests/crds/notes.yaml");
    fs::copy(crd, folder.join("crd.yaml")).unwrap();
}

/// Returns the kind that fits a command of a row.
fn kind(command: &str) -> &'static str {
    match command {
        command if command.contains("create controller") => "Page",
        command if command.contains("--conversion") => "Poem",
        command if command.contains("create api") => "Letter",
        _ => "Guestbook",
    }
}

/// Returns each command that users type, with its equivalent.
fn typed() -> Vec<(String, Equivalent)> {
    let mut typed = Vec::new();
    for (row, equivalent) in OTHER_TOOLS.iter().filter(|(row, _)| !row.starts_with('-')) {
        let mut all = vec![String::new()];
        for names in row.split(' ') {
            let longer = all.iter().flat_map(|start| {
                names
                    .split('|')
                    .map(move |name| format!("{start} {name}").trim_start().to_owned())
            });
            all = longer.collect();
        }
        typed.extend(all.into_iter().map(|words| (words, *equivalent)));
    }
    typed
}

#[test]
fn each_hint_for_a_command_of_another_tool_is_a_command_that_works() {
    let base = TempDir::new().unwrap();
    project(base.path());
    let go = root().join("tests/go");
    each(sample(&typed(), 4), |(words, equivalent)| {
        let Equivalent::Run(command, _) = equivalent else {
            return;
        };
        let top = TempDir::new().unwrap();
        let folder = top.path().join("guestbook");
        let is_new = command.contains("rscaffold init");
        if is_new {
            fs::create_dir(&folder).unwrap();
        } else {
            run(Command::new("cp").arg("-r").arg(base.path()).arg(&folder));
        }
        // What the row has a place for is typed as words after the command.
        let mut places: Vec<_> = command
            .split(' ')
            .filter(|word| word.starts_with('<'))
            .collect();
        places.retain(|place| *place != "<TYPED>");
        places.dedup();
        let mut given = words.clone();
        for place in places {
            let word = WORDS.iter().find(|(name, _)| *name == place);
            let word = word.map_or(kind(command), |(_, word)| word);
            let word = match (word, command.contains("--from")) {
                ("other", true) => go.to_str().unwrap(),
                ("v1", _) if command.contains("--conversion") => "v2",
                (word, _) => word,
            };
            given = format!("{given} {word}");
        }
        if is_new && !command.contains("--from") {
            given += " --domain com";
        }
        let output = shell(&folder, &format!("rscaffold {given}"))
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{given}: {printed}");
        let hint = printed
            .split_once("\nhint: run `")
            .and_then(|(_, rest)| rest.split_once('`'));
        let (hint, _) = hint.unwrap_or_else(|| panic!("{given}: {printed}"));
        assert!(!hint.contains('<'), "{given}: {hint}");
        let hint = hint.replace("make ", "make --dry-run ");
        run(&mut shell(&folder, &hint));
    });
}

/// What `command` does with this flag and its value.
fn parsed(command: &str, flag: &str, value: Option<&str>) -> String {
    let words = ["rscaffold"].into_iter().chain(command.split(' '));
    let words = words.chain([flag]).chain(value);
    format!("{:?}", Cli::read(words.map(OsString::from)).unwrap())
}

#[test]
fn each_flag_of_another_tool_is_the_flag_that_its_row_names() {
    const VALUES: [(&str, &str); 9] = [
        ("crd", "crd.yaml"),
        ("enable", "helm"),
        ("group", "webapp"),
        ("kind", "Page"),
        ("namespaced", "false"),
        ("project-name", "library"),
        ("repo", "library"),
        ("short-name", "pg"),
        ("version", "v1"),
    ];
    let commands: Vec<_> = (commands("").into_iter())
        .map(|command| (flags(&help(&command)), command))
        .collect();
    for (typed, equivalent) in OTHER_TOOLS {
        let Equivalent::Flag(name) = equivalent else {
            continue;
        };
        let value = VALUES.iter().find(|(of, _)| *of == name);
        let value = value.map(|(_, value)| *value);
        let flag = format!("--{name}");
        let mut count = 0;
        for (known, command) in &commands {
            let mut known = known.keys().flat_map(|known| known.split([' ', ',', '[']));
            if known.any(|known| known == flag) {
                count += 1;
                let expected = parsed(command, &flag, value);
                assert_eq!(parsed(command, typed, value), expected, "{command}");
            }
        }
        assert!(count > 0, "no command has {flag}");
    }
}

#[test]
fn each_flag_that_a_hint_names_exists() {
    let mut known = Vec::new();
    for command in commands("") {
        for flag in flags(&help(&command)).into_keys() {
            known.extend(flag.split([' ', ',', '[']).map(str::to_owned));
        }
    }
    for (typed, equivalent) in OTHER_TOOLS {
        let hint = match equivalent {
            Equivalent::Flag(flag) => format!("`--{flag}`"),
            Equivalent::Hint(hint) | Equivalent::Run(_, hint) | Equivalent::Image(hint) => {
                hint.to_owned()
            }
            _ => continue,
        };
        for code in hint.split('`').skip(1).step_by(2) {
            let words = code.split([' ', '=']).filter(|word| word.starts_with("--"));
            for flag in words {
                assert!(known.iter().any(|known| known == flag), "{typed}: {flag}");
            }
            if let Some(command) = code.strip_prefix("rscaffold ") {
                let words = command.split(' ').take_while(|word| !word.starts_with('-'));
                help(&words.collect::<Vec<_>>().join(" "));
            }
        }
    }
}
