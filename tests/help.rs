//! Reads the help of rscaffold.

use std::{collections::BTreeMap, process::Command};

use crate::scaffold::{program, run};

pub fn help(command: &str) -> String {
    let arguments = command.split_whitespace().chain(["--help"]);
    run(Command::new(program()).args(arguments))
}

/// Returns the commands below `command` that have no subcommands.
pub fn commands(command: &str) -> Vec<String> {
    let help = help(command);
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return vec![command.to_owned()];
    };
    let list = list.lines().take_while(|line| !line.is_empty());
    let names = list.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names
        .flat_map(|name| commands(format!("{command} {name}").trim()))
        .collect()
}

/// Returns the flags in the help of a command, each with its default if there is one.
pub fn flags(help: &str) -> BTreeMap<String, Option<String>> {
    let mut flags: Vec<(&str, String)> = Vec::new();
    let (_, options) = help.split_once("\nOptions:\n").expect("options");
    let options = options.split("\nExamples:").next().unwrap_or_default();
    for line in options.lines().map(str::trim) {
        if line.starts_with('-') && !line.starts_with("- ") {
            let (flag, text) = line.split_once("  ").unwrap_or((line, ""));
            flags.push((flag, text.trim().to_owned()));
        } else if let Some((_, text)) = flags.last_mut() {
            *text += " ";
            *text += line;
        }
    }
    let default = |text: &str| {
        let (_, rest) = text.split_once("[default: ")?;
        Some(rest.split_once(']')?.0.to_owned())
    };
    flags
        .into_iter()
        .filter(|(flag, _)| *flag != "-h, --help")
        .map(|(flag, text)| (flag.to_owned(), default(&text)))
        .collect()
}
