//! The programs of a Go module: the operator, and others that are not ported.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    go_file::File,
    go_tokens::Token,
    path::{file_name, folder, without_major_version},
};

/// The most programs of a project that are told apart.
const MAX_PROGRAMS: usize = 100;

/// What does not belong to the program of the operator.
#[derive(Debug, Default)]
pub(super) struct OtherPrograms {
    /// The files that start these programs, and that make a manager. If the operator is unknown, those of all programs.
    pub mains: Vec<String>,
    /// Whether the operator is unknown among several programs.
    pub are_unclear: bool,
    /// The folders that only other programs use. If the operator is unknown, those that only one of the programs uses.
    folders: BTreeSet<String>,
    /// The folders that no program uses, but tests or other projects do. None if the operator is unknown.
    unused: BTreeSet<String>,
}

impl OtherPrograms {
    /// `texts` has the text of each file of the project, and `module` is the path of its Go module.
    pub fn new(texts: &BTreeMap<String, String>, files: &[File], module: &str) -> Self {
        let mut mains: BTreeMap<&str, &str> = BTreeMap::new();
        let mut managers = BTreeSet::new();
        for file in files.iter().filter(|file| !file.is_test) {
            let has_manager = file.mentions("NewManager") || makes_manager(file);
            if has_manager {
                managers.insert(folder(&file.path));
            }
            let mut functions = file.functions.iter();
            let is_main = has_manager || functions.any(|function| function.name == "main");
            if file.is_program() && is_main {
                let main = mains.entry(folder(&file.path)).or_insert(&file.path);
                if has_manager {
                    *main = &file.path;
                }
            }
        }
        let has_all = mains.len() <= MAX_PROGRAMS;
        while mains.len() > MAX_PROGRAMS {
            mains.pop_last();
        }
        let imports = imports(files, module);
        let used_by: BTreeMap<_, _> = (mains.keys())
            .map(|main| (*main, reachable([*main], &imports)))
            .collect();
        mains.retain(|main, _| !used_by[main].is_disjoint(&managers));
        let operator = operator(&mains, texts, module);
        let mut users: BTreeMap<&str, usize> = BTreeMap::new();
        for folder in mains.keys().flat_map(|main| &used_by[main]) {
            *users.entry(folder).or_default() += 1;
        }
        let mut unused = BTreeSet::new();
        if operator.is_some() && has_all {
            // The operator may get its manager from a library, so programs without one count, too.
            let used: BTreeSet<_> = used_by.values().flatten().collect();
            let folders = imports.keys().filter(|folder| !used.contains(folder));
            unused.extend(folders.map(|folder| (*folder).to_owned()));
        }
        users.retain(|folder, users| match operator {
            Some(operator) => !used_by[operator].contains(folder),
            None => *users == 1,
        });
        let folders = users.into_keys().map(str::to_owned).collect();
        mains.retain(|main, _| Some(*main) != operator);
        Self {
            are_unclear: operator.is_none() && !mains.is_empty(),
            mains: mains.into_values().map(str::to_owned).collect(),
            folders,
            unused,
        }
    }

    /// Whether only other programs use a file.
    pub fn have(&self, path: &str) -> bool {
        self.folders.contains(folder(path))
    }

    /// Whether no program uses a file.
    pub fn leave_out(&self, path: &str) -> bool {
        self.unused.contains(folder(path))
    }
}

/// Whether the file calls `New` of controller-runtime's package `manager`.
fn makes_manager(file: &File) -> bool {
    file.calls().any(|(at, function)| {
        let package = file.qualifier(at).filter(|_| function == "New");
        let import = package.and_then(|package| file.import(package));
        import.is_some_and(|import| import.ends_with("controller-runtime/pkg/manager"))
    })
}

/// The folder of the operator's program: the only one, that which a file that builds the operator names, or else one with
/// a usual name, that of the project, or the only one whose name ends like that of an operator.
fn operator<'a>(
    mains: &BTreeMap<&'a str, &str>,
    texts: &BTreeMap<String, String>,
    module: &str,
) -> Option<&'a str> {
    const BUILDS: [&str; 3] = ["Dockerfile", "Makefile", "GNUmakefile"];
    const USUAL: [&str; 5] = ["", "cmd", "cmd/manager", "cmd/operator", "cmd/controller"];

    if mains.len() == 1 {
        return mains.keys().next().copied();
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
    let mut lines = texts
        .get("PROJECT")
        .into_iter()
        .flat_map(|text| text.lines());
    let project = lines.find_map(|line| line.strip_prefix("projectName:"));
    for name in [
        "controller-manager",
        project.unwrap_or("").trim(),
        file_name(without_major_version(module)),
    ] {
        let mut folders = mains.keys().copied();
        if let Some(main) = folders.find(|main| !name.is_empty() && file_name(main) == name) {
            return Some(main);
        }
    }
    let mut folders = mains.keys().filter(|main| main.ends_with("-operator"));
    folders.next().copied().filter(|_| folders.next().is_none())
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
    for file in files {
        imports.entry(folder(&file.path)).or_default();
    }
    let folders: BTreeSet<_> = imports.keys().copied().collect();
    for file in files.iter().filter(|file| !file.is_test) {
        let own = imports.entry(folder(&file.path)).or_default();
        for token in &file.tokens {
            let Token::Text(text) = token else { continue };
            own.extend(Some("").filter(|_| text == module));
            // The folder of a package is the end of its path, whatever the path of its module is.
            let ends = text.match_indices('/').map(|(at, _)| &text[at + 1..]);
            own.extend(ends.filter(|end| folders.contains(end)));
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
