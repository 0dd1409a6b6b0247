//! The programs of a Go module: the operator, and others that are not ported.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    go_file::{File, Token},
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
    /// `module` is the name of the Go module; `builds` are the files that build the operator, such as its Dockerfile.
    pub fn new(
        texts: &BTreeMap<String, String>,
        files: &[File],
        module: &str,
        builds: &[&str],
    ) -> Self {
        let mut mains: BTreeMap<&str, &str> = BTreeMap::new();
        for file in files.iter().filter(|file| !file.is_test) {
            let is_program = texts[&*file.path]
                .lines()
                .any(|line| line.trim_end() == "package main");
            if is_program && file.mentions("NewManager") {
                mains.insert(folder(&file.path), &file.path);
            }
        }
        let Some(operator) = operator(&mains, builds) else {
            return Self::default();
        };
        let imports = imports(files, module);
        let used = reachable(&[operator], &imports);
        let others: Vec<_> = mains
            .keys()
            .copied()
            .filter(|main| *main != operator)
            .collect();
        let mut folders = reachable(&others, &imports);
        folders.retain(|folder| !used.contains(folder));
        mains.remove(operator);
        Self {
            mains: mains.into_values().map(str::to_owned).collect(),
            folders: folders.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Whether only other programs use a file.
    pub fn have(&self, path: &str) -> bool {
        self.folders.contains(folder(path))
    }
}

/// The folder of the operator's program among those of several programs: that which a build file names, or else one with
/// a usual name.
fn operator<'a>(mains: &BTreeMap<&'a str, &str>, builds: &[&str]) -> Option<&'a str> {
    if mains.len() < 2 {
        return None;
    }
    for build in builds {
        for line in build
            .lines()
            .filter(|line| line.contains("go build") || line.contains("go run"))
        {
            for word in line.split_whitespace() {
                let path = word.trim_start_matches("./").trim_end_matches('/');
                let path = path.trim_end_matches(".go");
                let path = path
                    .strip_suffix("main")
                    .map_or(path, |path| path.trim_end_matches('/'));
                let is_named =
                    word.starts_with("./") || word.ends_with("main.go") || word.contains("cmd");
                if is_named && let Some((main, _)) = mains.get_key_value(path) {
                    return Some(main);
                }
            }
        }
    }
    let mut usual = ["", "cmd", "cmd/manager", "cmd/operator", "cmd/controller"].into_iter();
    let usual = usual.find_map(|name| mains.get_key_value(name));
    let (main, _) = usual.or_else(|| {
        mains
            .iter()
            .find(|(main, _)| file_name(main) == "controller-manager")
    })?;
    Some(main)
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
    mains: &[&'a str],
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = mains.to_vec();
    while let Some(folder) = next.pop() {
        if reached.insert(folder) {
            next.extend(imports.get(folder).into_iter().flatten());
        }
    }
    reached
}
