//! The folder of the kustomization that `make deploy` builds.

use std::collections::BTreeMap;

use super::{kustomize::NAMES, path::join, source::Source};

/// How many files a Makefile may include.
const MAX_INCLUDES: usize = 20;

/// The longest text of a Makefile with the files that it includes, in bytes.
const MAX_TEXT: usize = 1_000_000;

/// The Makefile of the Go project with the files that it includes. Each command is on a line of its own.
fn makefile(source: &Source) -> Option<String> {
    let mut names = ["GNUmakefile", "Makefile"].into_iter();
    let name = names.find(|name| source.text(name).is_some())?;
    let (mut text, mut includes) = (String::new(), MAX_INCLUDES);
    add(source, name, &mut text, &mut includes);
    Some(text)
}

/// Adds the lines of a Makefile to `text`, with at most so many included files.
fn add(source: &Source, path: &str, text: &mut String, includes: &mut usize) {
    let file = source.text(path).unwrap_or("").replace('\r', "");
    for line in file.replace("\\\n", " ").lines() {
        let mut words = line.split_whitespace();
        if text.len() + line.len() > MAX_TEXT {
            return;
        }
        if matches!(words.next(), Some("include" | "-include" | "sinclude")) && *includes > 0 {
            let variables: BTreeMap<_, _> = text.lines().filter_map(assignment).collect();
            let paths = words.filter_map(|word| join("", &expanded(word, &variables, Some(""))?));
            for path in paths.collect::<Vec<_>>() {
                if let Some(left) = includes.checked_sub(1) {
                    *includes = left;
                    add(source, &path, text, includes);
                }
            }
            continue;
        }
        // `target: ; command`
        match line.split_once(';') {
            Some((target, command)) if target.contains(':') && assignment(target).is_none() => {
                text.extend([target, "\n\t", command.trim_start(), "\n"]);
            }
            _ => text.extend([line, "\n"]),
        }
    }
}

/// The variable that a line sets, and its value.
fn assignment(line: &str) -> Option<(&str, &str)> {
    if line.starts_with(['\t', '#', ' ']) {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    Some((name.trim_end_matches([' ', '?', ':', '+']), value.trim()))
}

/// The value of a variable, with the values of all variables in it if these are known.
pub(super) fn variable(source: &Source, name: &str) -> Option<String> {
    let text = makefile(source)?;
    let variables: BTreeMap<_, _> = text.lines().filter_map(assignment).collect();
    let value = variables.get(name)?;
    Some(expanded(value, &variables, None).unwrap_or_else(|| (*value).to_owned()))
}

/// The folder of the kustomization that the target `deploy` of the Makefile builds.
pub(super) fn deployed_folder(source: &Source) -> Option<String> {
    let mut variables = BTreeMap::new();
    let mut is_recipe = false;
    let text = makefile(source)?;
    for line in text.lines() {
        if !line.is_empty() && !line.starts_with(['\t', '#', ' ']) {
            let targets = line.split(':').next().unwrap_or("");
            is_recipe = targets.split_whitespace().any(|name| name == "deploy");
            variables.extend(assignment(line));
        }
        if !is_recipe || !line.starts_with('\t') {
            continue;
        }
        // Without a value, a variable is the folder of the Makefile.
        let line = expanded(line, &variables, Some(""));
        if let Some(folder) = line.and_then(|line| built(source, &line)) {
            return Some(folder);
        }
    }
    None
}

/// The folder that a line of a recipe builds: the last word that is the folder of a kustomization.
fn built(source: &Source, line: &str) -> Option<String> {
    let mut found = None;
    // The folder that an earlier command of the line has entered.
    let mut entered = String::new();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        match word.trim_start_matches(['@', '-']) {
            "cd" => {
                entered += words.next().unwrap_or(".");
                entered.push('/');
            }
            // `kustomize edit add resource <FOLDER>` builds nothing.
            "edit" => _ = words.find(|word| *word == "&&"),
            _ => {
                let path = word.trim_start_matches("--kustomize=");
                let folder = join("", &format!("{entered}{path}"));
                found = folder
                    .filter(|folder| is_kustomization(source, folder))
                    .or(found);
            }
        }
    }
    found
}

/// Whether a folder has a kustomization.
fn is_kustomization(source: &Source, folder: &str) -> bool {
    let mut paths = NAMES.iter().filter_map(|name| join(folder, name));
    paths.any(|path| source.text(&path).is_some())
}

/// A text with the values of variables of make. `default` is the value of an unknown variable.
fn expanded(text: &str, variables: &BTreeMap<&str, &str>, default: Option<&str>) -> Option<String> {
    const MAX_VARIABLES: usize = 20;
    let mut expanded = text.replace(['"', '\''], "");
    for _ in 0..MAX_VARIABLES {
        let Some(start) = expanded.find("$(").or_else(|| expanded.find("${")) else {
            return Some(expanded);
        };
        let end = start + expanded[start..].find([')', '}'])?;
        let value = variables
            .get(&expanded[start + 2..end])
            .copied()
            .or(default)?;
        expanded.replace_range(start..=end, value);
    }
    None
}
