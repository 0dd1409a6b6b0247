//! The programs of a Go module: the operator, and others that are not ported.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    go_file::File,
    go_tokens::Token,
    path::{file_name, folder},
};

/// What belongs to programs other than the operator.
#[derive(Debug, Default)]
pub(super) struct OtherPrograms {
    /// The files that start these programs, and that make a manager.
    pub mains: Vec<String>,
    /// The folders that the operator does not use.
    folders: BTreeSet<String>,
}

impl OtherPrograms {
    /// `texts` has the text of each file of the project, and `module` is the path of its Go module.
    pub fn new(texts: &BTreeMap<String, String>, files: &[File], module: &str) -> Self {
        let mut mains: BTreeMap<&str, &str> = BTreeMap::new();
        for file in files.iter().filter(|file| !file.is_test) {
            if file.is_program() && file.mentions("NewManager") {
                mains.insert(folder(&file.path), &file.path);
            }
        }
        let Some(operator) = operator(&mains, texts) else {
            return Self::default();
        };
        let imports = imports(files, module);
        let used = reachable([operator], &imports);
        mains.remove(operator);
        let mut folders = BTreeSet::new();
        for folder in reachable(mains.keys().copied(), &imports) {
            if !used.contains(folder) {
                folders.insert(folder.to_owned());
            }
        }
        Self {
            mains: mains.into_values().map(str::to_owned).collect(),
            folders,
        }
    }

    /// Whether only other programs use a file.
    pub fn have(&self, path: &str) -> bool {
        self.folders.contains(folder(path))
    }
}

/// The folder of the operator's program among those of several programs: that which a file that builds the operator
/// names, or else one with a usual name.
fn operator<'a>(
    mains: &BTreeMap<&'a str, &str>,
    texts: &BTreeMap<String, String>,
) -> Option<&'a str> {
    const BUILDS: [&str; 3] = ["Dockerfile", "Makefile", "GNUmakefile"];
    const USUAL: [&str; 5] = ["", "cmd", "cmd/manager", "cmd/operator", "cmd/controller"];

    if mains.len() < 2 {
        return None;
    }
    let builds = BUILDS.iter().filter_map(|path| texts.get(*path));
    for line in builds.flat_map(|text| text.lines()) {
        if !line.contains("go build") && !line.contains("go run") {
            continue;
        }
        for word in line.split_whitespace() {
            let is_named =
                word.starts_with("./") || word.ends_with("main.go") || word.contains("cmd");
            if is_named && let Some((main, _)) = mains.get_key_value(folder_of_program(word)) {
                return Some(main);
            }
        }
    }
    for usual in USUAL {
        if let Some((main, _)) = mains.get_key_value(usual) {
            return Some(main);
        }
    }
    let mut folders = mains.keys().copied();
    folders.find(|main| file_name(main) == "controller-manager")
}

/// The folder of the program that a command builds: `cmd/manager` for `./cmd/manager/main.go`.
fn folder_of_program(word: &str) -> &str {
    let path = word.trim_start_matches("./").trim_end_matches('/');
    let without_end = path.trim_end_matches(".go");
    let without_file = without_end.strip_suffix("main").unwrap_or(without_end);
    without_file.trim_end_matches('/')
}

/// The folders that the files of each folder import.
fn imports<'a>(files: &'a [File], module: &str) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test) {
        let own = imports.entry(folder(&file.path)).or_default();
        for token in &file.tokens {
            if let Token::Text(text) = token
                && let Some(below) = text.strip_prefix(module)
                && let Some(folder) = below.strip_prefix('/')
            {
                own.insert(folder);
            }
        }
    }
    imports
}

/// The folders that the programs in `mains` use.
fn reachable<'a>(
    mains: impl IntoIterator<Item = &'a str>,
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<_> = mains.into_iter().collect();
    while let Some(folder) = next.pop() {
        if reached.insert(folder) {
            next.extend(imports.get(folder).into_iter().flatten());
        }
    }
    reached
}
