//! The folder of the kustomization that `make deploy` builds.

use std::collections::BTreeMap;

use super::{path::join, source::Source};

/// The folder of the kustomization that the target `deploy` of the Makefile builds.
pub(super) fn deployed_folder(source: &Source) -> Option<String> {
    let makefile = source
        .text("GNUmakefile")
        .or_else(|| source.text("Makefile"))?;
    let mut variables = BTreeMap::new();
    let mut is_recipe = false;
    for line in makefile.lines() {
        if !line.is_empty() && !line.starts_with(['\t', '#', ' ']) {
            let targets = line.split(':').next().unwrap_or("");
            is_recipe = targets.split_whitespace().any(|name| name == "deploy");
            if let Some((name, value)) = line.split_once('=') {
                variables.insert(name.trim_end_matches([' ', '?', ':', '+']), value.trim());
            }
        }
        if !is_recipe || !line.starts_with('\t') {
            continue;
        }
        for path in built(line) {
            if let Some(folder) = resolve(&path, &variables)
                && source.has_below(&format!("{folder}/"))
            {
                return Some(folder);
            }
        }
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
            "build" | "k" | "kustomize" => words.clone().find(|word| !word.starts_with('-')),
            flag => flag.strip_prefix("kustomize="),
        };
        paths.extend(named.map(|path| format!("{entered}{path}")));
    }
    paths
}

/// The path of a folder in which variables of make may occur.
fn resolve(path: &str, variables: &BTreeMap<&str, &str>) -> Option<String> {
    const MAX_VARIABLES: usize = 5;
    let mut resolved = path.replace(['"', '\''], "");
    for _ in 0..MAX_VARIABLES {
        let Some(start) = resolved.find("$(").or_else(|| resolved.find("${")) else {
            return join("", &resolved);
        };
        let end = start + resolved[start..].find([')', '}'])?;
        // Without a value, the variable is the folder of the Makefile.
        let value = variables.get(&resolved[start + 2..end]).unwrap_or(&"");
        resolved.replace_range(start..=end, value);
    }
    None
}
