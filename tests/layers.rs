//! Tests that imports have one direction: no file of rscaffold or of the runtime imports from a layer above its own, and
//! no files import each other in a circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use kube_manager::source;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use walkdir::WalkDir;

use crate::scaffold::root;

/// The modules of rscaffold at the top of `src`. A module imports only from those before it: the engine and the compiler
/// of CRDs know neither the model nor its templates.
const MODULES: [&str; 16] = [
    "cases", "visible", "hint", "limits", "rust", "yaml", "names", "engine", "crd", "project",
    "from_crd", "port", "render", "command", "cli", "lib",
];

/// The modules that take and return plain values, each with all modules that it imports. None of them reads a file or
/// knows a template.
const GUESTS: [(&str, &[&str]); 3] = [
    ("crd", &["cases", "crd", "names", "rust", "visible", "yaml"]),
    (
        "from_crd",
        &[
            "crd", "from_crd", "hint", "names", "project", "visible", "yaml",
        ],
    ),
    (
        "port",
        &[
            "crd", "from_crd", "names", "port", "project", "rust", "visible", "yaml",
        ],
    ),
];

/// The place of a file of rscaffold among the modules.
fn module_of(path: &str) -> usize {
    let name = path.trim_start_matches("src/").trim_end_matches(".rs");
    let top = name.split('/').next().unwrap_or(name);
    let top = if top == "main" { "lib" } else { top };
    let place = MODULES.iter().position(|module| *module == top);
    place.unwrap_or_else(|| panic!("{path} belongs to no module"))
}

/// A layer of the runtime. A file imports from its own layer and from those before it.
enum Layer {
    Core,
    /// What only some operators use: webhooks, and several versions of a kind.
    Extensions,
    Top,
    /// What tests of operators use.
    Testing,
}

impl Layer {
    fn of(path: &str) -> usize {
        let layer = match path {
            "src/lib.rs" | "src/runtime/mod.rs" | "src/runtime/options.rs" => Self::Top,
            _ if path.starts_with("src/runtime/manager") => Self::Top,
            _ if path.starts_with("src/runtime/testing/") => Self::Testing,
            "src/runtime/storage.rs" | "src/runtime/versions.rs" => Self::Extensions,
            _ if path.starts_with("src/runtime/webhook/") => Self::Extensions,
            _ => Self::Core,
        };
        layer as usize
    }
}

/// The path of a module, or of an item in it, such as `runtime::queue`.
type Path = Vec<String>;

/// What the code of a file names, without its tests.
#[derive(Default)]
struct Names {
    paths: Vec<Path>,
    /// The modules of the file that only tests have.
    test_modules: BTreeSet<String>,
    /// Whether the code calls `Text::content`.
    calls_content: bool,
}

impl Names {
    fn of(text: &str) -> Self {
        let mut names = Self::default();
        names.read(text.parse().expect("Rust"));
        names
    }

    fn read(&mut self, tokens: TokenStream) {
        let tokens = Vec::from_iter(tokens);
        let mut rest = tokens.as_slice();
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            match token {
                TokenTree::Group(group) if group.to_string().replace(' ', "") == "[cfg(test)]" => {
                    rest = self.skip_item(after);
                }
                TokenTree::Group(group) => self.read(group.stream()),
                // The module of `pub(in crate::runtime)` is no import.
                TokenTree::Ident(name) if name == "pub" => {
                    if let Some(TokenTree::Group(_)) = after.first() {
                        rest = &after[1..];
                    }
                }
                TokenTree::Ident(_) => rest = self.read_path(Path::new(), token, after),
                TokenTree::Punct(dot) if dot.as_char() == '.' => {
                    let call: TokenStream = after.iter().take(2).cloned().collect();
                    self.calls_content |= call.to_string().replace(' ', "") == "content()";
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Skips an item to its end: a block or a semicolon.
    fn skip_item<'a>(&mut self, tokens: &'a [TokenTree]) -> &'a [TokenTree] {
        if let [TokenTree::Ident(keyword), TokenTree::Ident(name), ..] = tokens
            && keyword == "mod"
        {
            self.test_modules.insert(name.to_string());
        }
        let end = tokens.iter().position(|token| match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        });
        &tokens[end.map_or(tokens.len(), |end| end + 1)..]
    }

    /// Reads the path that begins with `prefix` and `first`. Returns the tokens behind the path.
    fn read_path<'a>(
        &mut self,
        prefix: Path,
        first: &TokenTree,
        mut rest: &'a [TokenTree],
    ) -> &'a [TokenTree] {
        let mut path = prefix;
        path.push(first.to_string());
        let mut is_path = path.len() > 1;
        while let [
            TokenTree::Punct(first),
            TokenTree::Punct(second),
            next,
            after @ ..,
        ] = rest
            && first.as_char() == ':'
            && second.as_char() == ':'
        {
            rest = after;
            is_path = true;
            match next {
                TokenTree::Ident(name) => path.push(name.to_string()),
                TokenTree::Group(group) => {
                    self.read_branches(&path, group.stream());
                    return rest;
                }
                _ => break,
            }
        }
        if is_path {
            self.calls_content |= path.ends_with(&["Text".to_owned(), "content".to_owned()]);
            self.paths.push(path);
        }
        rest
    }

    /// Reads the braces of a `use`: the paths in them all begin with `prefix`.
    fn read_branches(&mut self, prefix: &Path, tokens: TokenStream) {
        let tokens = Vec::from_iter(tokens);
        for branch in
            tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','))
        {
            if let Some((first, rest)) = branch.split_first() {
                self.read_path(prefix.clone(), first, rest);
            }
        }
    }
}

/// The module of a file: `runtime::webhook` for `src/runtime/webhook/mod.rs`.
fn module(path: &str) -> Path {
    let name = path.trim_start_matches("src/").trim_end_matches(".rs");
    let parts = name.split('/').map(str::to_owned);
    parts
        .filter(|part| part != "mod" && part != "lib")
        .collect()
}

/// The files that each of `files` imports. Files that only tests have are left out.
fn imports<'a>(files: &[(&'a str, &str)]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let code = files.iter().filter(|(path, _)| path.starts_with("src/"));
    let modules: BTreeMap<_, _> = code
        .clone()
        .map(|(path, _)| (module(path), *path))
        .collect();
    let names: BTreeMap<_, _> = code
        .map(|(path, text)| (module(path), Names::of(text)))
        .collect();
    let is_test = |tested: &Path| {
        (1..=tested.len()).any(|end| {
            let parent = names.get(&tested[..end - 1]);
            parent.is_some_and(|parent| parent.test_modules.contains(&tested[end - 1]))
        })
    };
    let mut imports = BTreeMap::new();
    for (importing, names) in names.iter().filter(|(module, _)| !is_test(module)) {
        let paths = names.paths.iter();
        let imported: BTreeSet<_> = paths
            .filter_map(|path| resolve(importing, path, &modules))
            .filter(|imported| *imported != modules[importing])
            .collect();
        imports.insert(modules[importing], imported);
    }
    imports
}

/// The file of what `path` names in the module `importing`; `None` if it is not in these files.
fn resolve<'a>(
    importing: &Path,
    path: &Path,
    modules: &BTreeMap<Path, &'a str>,
) -> Option<&'a str> {
    let mut child = importing.clone();
    child.push(path[0].clone());
    let mut module = match path[0].as_str() {
        "crate" => Path::new(),
        "self" | "super" => importing.clone(),
        _ if modules.contains_key(&child) => importing.clone(),
        _ => return None,
    };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(module.pop()),
            _ => {
                module.push(name.clone());
                if !modules.contains_key(&module) {
                    module.pop();
                    break;
                }
            }
        }
    }
    modules.get(&module).copied()
}

/// The imports from a layer above the file's own. `layer` is the place of a file, from below.
fn upward(imports: &BTreeMap<&str, BTreeSet<&str>>, layer: fn(&str) -> usize) -> Vec<String> {
    let mut upward = Vec::new();
    for (file, imported) in imports {
        let above = imported.iter().filter(|path| layer(path) > layer(file));
        upward.extend(above.map(|path| format!("{file} imports {path}")));
    }
    upward
}

/// The files that are in a circle of imports, or between two circles.
fn circular<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut left: BTreeSet<_> = imports.keys().copied().collect();
    loop {
        let importing = left
            .iter()
            .filter(|file| !imports[*file].is_disjoint(&left));
        let imported = left.iter().flat_map(|file| &imports[file]).copied();
        let imported: BTreeSet<_> = imported.collect();
        let within: BTreeSet<_> = importing
            .filter(|file| imported.contains(*file))
            .copied()
            .collect();
        if within == left {
            return left;
        }
        left = within;
    }
}

#[test]
fn no_module_of_rscaffold_imports_from_one_below_it_in_the_list() {
    let files = sources();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let imports = imports(&files);
    assert!(
        imports["src/command/init.rs"].contains("src/port.rs"),
        "{imports:?}"
    );
    let upward = upward(&imports, module_of);
    assert!(upward.is_empty(), "{}", upward.join("\n"));

    for (guest, expected) in GUESTS {
        let mut used = BTreeSet::new();
        for (file, imported) in &imports {
            if MODULES[module_of(file)] == guest {
                used.extend(imported.iter().map(|path| MODULES[module_of(path)]));
            }
        }
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        assert_eq!(used, expected, "{guest}");
    }
}

#[test]
fn only_the_commands_have_hints_with_a_flag_or_a_command() {
    let mut lines = Vec::new();
    for (path, text) in sources() {
        let may_name_flags = path.starts_with("src/command/")
            || path.starts_with("src/cli")
            // It has no hints. The lines of its report name flags.
            || path.starts_with("src/port")
            // The comment in `PROJECT` about edits.
            || path == "src/project/text.rs";
        if may_name_flags || path.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("\n#[cfg(test)]\nmod tests {").next();
        for line in code.unwrap_or_default().lines().map(str::trim) {
            let names_one = ["`--", "`rscaffold "]
                .iter()
                .any(|start| line.contains(start));
            if names_one && !line.starts_with("//") {
                lines.push(format!("{path}: {line}"));
            }
        }
    }
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn only_the_merge_and_the_writer_look_into_a_rendered_text() {
    let mut readers = BTreeSet::new();
    for (path, text) in sources() {
        let is_test =
            path.ends_with("/tests.rs") || path.contains("/tests/") || path == "src/engine/text.rs";
        if !is_test && Names::of(&text).calls_content {
            readers.insert(path);
        }
    }
    let expected = [
        // The types of two versions, of which a conversion is made.
        "src/render/convert.rs",
        // The user's texts: `PROJECT` on a branch, the files on disk in a patch, and the number of their lines.
        "src/command/turn/branches.rs",
        "src/command/report/plan.rs",
        "src/command/report/diff.rs",
        // What the new project deploys, which a port compares with what the Go project deploys.
        "src/command/init.rs",
        // The merge.
        "src/engine/digest.rs",
        "src/engine/files.rs",
        "src/engine/files/branches.rs",
        "src/engine/files/edits.rs",
        "src/engine/files/moves.rs",
        "src/engine/reconcile.rs",
        "src/engine/reconcile/plan.rs",
        "src/engine/reconcile/sides.rs",
        "src/engine/reconcile/branches.rs",
        // The record.
        "src/engine/worktree/last_applied.rs",
    ];
    assert_eq!(readers, expected.map(str::to_owned).into());
}

#[test]
fn no_files_of_rscaffold_import_each_other() {
    let files = sources();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let imports = imports(&files);
    assert!(imports.len() > 100, "{imports:?}");
    assert_no_circle(&imports);
}

/// The path and the text of each file of rscaffold.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in WalkDir::new(root().join("src")) {
        let path = entry.expect("a readable folder").into_path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a readable file");
            let below = path.strip_prefix(root()).expect("a path below");
            files.push((below.to_str().expect("UTF-8").to_owned(), text));
        }
    }
    files
}

#[test]
fn no_file_of_the_runtime_imports_from_a_layer_above() {
    let files: Vec<_> = source::files().collect();
    let upward = upward(&imports(&files), Layer::of);
    assert!(upward.is_empty(), "{}", upward.join("\n"));
}

#[test]
fn no_files_of_the_runtime_import_each_other() {
    let files: Vec<_> = source::files().collect();
    let imports = imports(&files);
    assert!(imports.len() > 50, "{imports:?}");
    assert_no_circle(&imports);
}

#[track_caller]
fn assert_no_circle(imports: &BTreeMap<&str, BTreeSet<&str>>) {
    let circular = circular(imports);
    let shown: Vec<_> = circular
        .iter()
        .map(|file| format!("{file} imports {:?}", &imports[file] & &circular))
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

#[test]
fn each_form_of_an_import_is_seen() {
    let files = [
        ("src/lib.rs", "mod runtime;\npub use runtime::*;"),
        (
            "src/runtime/mod.rs",
            "//! See [`queue`](super::queue).\nmod leader;\npub use leader::Leader;",
        ),
        (
            "src/runtime/leader.rs",
            "use std::{fmt, mem};\npub(in crate::runtime) use super::{queue::{self, Queue}, watch::Key};\n\
             #[cfg(test)]\nmod tests { use crate::runtime::storage::Migration; }",
        ),
        (
            "src/runtime/queue.rs",
            "fn queue() -> super::options::Options { crate::runtime::webhook::serve() }\n\
             mod delays;\n#[cfg(test)]\nmod races;",
        ),
        ("src/runtime/queue/delays.rs", "use super::*;"),
        ("src/runtime/queue/races.rs", "use super::super::options;"),
        ("src/runtime/options.rs", ""),
        ("src/runtime/storage.rs", ""),
        (
            "src/runtime/watch.rs",
            "use crate::runtime::leader::Leader as Lead;",
        ),
        ("src/runtime/webhook/mod.rs", ""),
    ];
    let imports = imports(&files);
    let expected = [
        "src/runtime/queue.rs imports src/runtime/options.rs",
        "src/runtime/queue.rs imports src/runtime/webhook/mod.rs",
    ];
    assert_eq!(upward(&imports, Layer::of), expected);
    let expected = ["src/runtime/leader.rs", "src/runtime/watch.rs"];
    assert_eq!(circular(&imports), BTreeSet::from(expected));
    assert!(imports["src/runtime/leader.rs"].contains("src/runtime/queue.rs"));
    assert!(imports["src/runtime/queue/delays.rs"].contains("src/runtime/queue.rs"));
    assert!(imports["src/lib.rs"].contains("src/runtime/mod.rs"));
    assert!(!imports.contains_key("src/runtime/queue/races.rs"));
}
