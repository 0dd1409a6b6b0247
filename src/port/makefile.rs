//! The folder of the kustomization that `make deploy` builds.

use std::collections::BTreeMap;

use super::{path::join, source::Source};

/// The Makefile of the Go project.
fn makefile(source: &Source) -> Option<&str> {
    source
        .text("GNUmakefile")
        .or_else(|| source.text("Makefile"))
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
    let variables: BTreeMap<_, _> = makefile(source)?.lines().filter_map(assignment).collect();
    let value = variables.get(name)?;
    Some(expanded(value, &variables, None).unwrap_or_else(|| (*value).to_owned()))
}

/// The folder of the kustomization that the target `deploy` of the Makefile builds.
pub(super) fn deployed_folder(source: &Source) -> Option<String> {
    let mut variables = BTreeMap::new();
    let mut is_recipe = false;
    for line in makefile(source)?.lines() {
        if !line.is_empty() && !line.starts_with(['\t', '#', ' ']) {
            let targets = line.split(':').next().unwrap_or("");
            is_recipe = targets.split_whitespace().any(|name| name == "deploy");
            variables.extend(assignment(line));
        }
        if !is_recipe || !line.starts_with('\t') {
            continue;
        }
        for path in built(line) {
            // Without a value, a variable is the folder of the Makefile.
            if let Some(folder) = expanded(&path, &variables, Some(""))
                && let Some(folder) = join("", &folder)
                && source.has_below(&format!("{folder}/"))
            {
                return Some(folder);
            }
        }
    }
    None
}

/// The flags of kustomize with a value in the next word.
const WITH_VALUE: [&str; 11] = [
    "--as-user-id",
    "--env",
    "--helm-command",
    "--helm-kube-version",
    "--load-restrictor",
    "--mount",
    "--network-name",
    "--output",
    "--reorder",
    "-e",
    "-o",
];

/// The first word that is neither a flag nor its value.
fn first_argument<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut before = "";
    for word in words {
        if !word.starts_with('-') && !WITH_VALUE.contains(&before) {
            return Some(word);
        }
        before = word;
    }
    None
}

/// What may be the folder that a line of a recipe gives to kustomize.
fn built(line: &str) -> Vec<String> {
    let mut paths = Vec::new();
    // The folder that an earlier command of the line has entered.
    let mut entered = String::new();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let named = match word.trim_start_matches(['@', '-']) {
            "cd" => {
                entered += words.next().unwrap_or(".");
                entered.push('/');
                None
            }
            "build" | "k" | "kustomize" => first_argument(words.clone()),
            flag => flag.strip_prefix("kustomize="),
        };
        paths.extend(named.map(|path| format!("{entered}{path}")));
    }
    paths
}

/// A text with the values of variables of make. `default` is the value of an unknown variable.
fn expanded(text: &str, variables: &BTreeMap<&str, &str>, default: Option<&str>) -> Option<String> {
    const MAX_VARIABLES: usize = 5;
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
