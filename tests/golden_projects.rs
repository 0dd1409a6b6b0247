//! The golden projects as tests read them: whole, in `target/golden`. CONTRIBUTING.md describes what tests/golden has.

#![allow(
    clippy::expect_used,
    reason = "tests and the programs of `make demo` and `make bench` end where something fails"
)]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use diffy::patch_set::{FileOperation, ParseOptions, PatchSet};
use kube_manager::source::{self, without_tests};
use walkdir::WalkDir;

/// Texts by their paths, which begin with the name of the project: `guestbook/src/main.rs`.
pub type Texts = BTreeMap<String, String>;

/// The project whose files each other project has, unless its `project.diff` says otherwise.
pub const BASE: &str = "guestbook";

/// The file with the differences of a project, in the format of `git diff --no-prefix`.
pub const DIFFERENCES: &str = "project.diff";

/// The folder of the runtime in the project that vendors it. The project uses all parts of it.
pub const RUNTIME: &str = "fleet/crates/kube-manager";

/// What helps if a file in tests/golden is wrong.
const HINT: &str = "`make golden` writes tests/golden anew";

/// Returns the top folder of this repository.
pub fn top() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let top = folders.find(|folder| folder.join("tests/golden").is_dir());
    top.expect("a folder above has the golden projects")
}

/// Returns tests/golden, the folder with the golden projects as git has them.
pub fn stored_folder() -> PathBuf {
    top().join("tests/golden")
}

/// Returns the folder with the whole golden projects, which are a cargo workspace. The first call in a process writes
/// the files that have changed.
pub fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = top().join("target/golden");
        let texts = expected(&texts(&stored_folder()));
        fs::create_dir_all(top().join("target")).expect("a writable folder");
        // Other test programs may write to the folder at the same time.
        let lock = File::create(folder.with_extension("lock")).expect("a writable file");
        lock.lock().expect("a file that can be locked");
        write(&folder, &texts);
        folder
    });
    &FOLDER
}

/// Returns the texts of all files below `folder`.
pub fn texts(folder: &Path) -> Texts {
    let paths = paths(folder).into_iter();
    let texts = paths.map(|path| {
        let text = fs::read_to_string(folder.join(&path)).expect("a text");
        (path, text)
    });
    texts.collect()
}

/// Returns the paths of all files below `folder`.
pub fn paths(folder: &Path) -> Vec<String> {
    let entries = WalkDir::new(folder).into_iter();
    let entries = entries.map(|entry| entry.expect("a readable folder"));
    let files = entries.filter(|entry| !entry.file_type().is_dir());
    let paths = files.map(|entry| {
        let path = entry.path().strip_prefix(folder).expect("a path below");
        path.to_str().expect("a path in UTF-8").to_owned()
    });
    paths.collect()
}

/// Makes `texts` the only files below `folder`. A file that has its text already keeps its time, so that cargo does not
/// compile it again.
pub fn write(folder: &Path, texts: &Texts) {
    fs::create_dir_all(folder).expect("a writable folder");
    for path in paths(folder) {
        if !texts.contains_key(&path) {
            fs::remove_file(folder.join(path)).expect("a writable folder");
        }
    }
    for (path, text) in texts {
        let file = folder.join(path);
        if fs::read(&file).is_ok_and(|bytes| bytes == text.as_bytes()) {
            continue;
        }
        fs::create_dir_all(file.parent().expect("a folder")).expect("a writable folder");
        fs::write(file, text).expect("a writable file");
    }
    for entry in WalkDir::new(folder).contents_first(true) {
        let entry = entry.expect("a readable folder");
        if entry.file_type().is_dir() {
            // Fails if the folder has files.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the texts in `all` of the project `name`.
pub fn of_project<'a>(
    all: &'a Texts,
    name: &str,
) -> impl DoubleEndedIterator<Item = (&'a String, &'a String)> {
    // `0` is the character after `/`.
    all.range(format!("{name}/")..format!("{name}0"))
}

/// Splits a path into the name of the project and the rest.
fn split(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or((path, ""))
}

/// Returns the path in the project `name` that corresponds to a path in another project: `cache/charts/cache/NOTES.txt`
/// for `fleet/charts/fleet/NOTES.txt`.
pub fn path_in(name: &str, path: &str) -> String {
    let (other, _) = split(path);
    let parts = path
        .split('/')
        .map(|part| if part == other { name } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns the text of the file at `path`, with `name` in place of the name of the file's project.
pub fn text_for(name: &str, all: &Texts, path: &str) -> String {
    let (other, _) = split(path);
    let text = all.get(path);
    text.unwrap_or_else(|| panic!("tests/golden has no {path}: {HINT}"))
        .replace(other, name)
}

/// Returns the texts of the whole golden projects, and of what stands beside them. `stored` is what tests/golden has.
pub fn expected(stored: &Texts) -> Texts {
    let mut all = stored.clone();
    for (path, differences) in stored {
        let (name, file) = split(path);
        if file == DIFFERENCES {
            all.remove(path);
            for (path, _) in of_project(stored, BASE) {
                let own = all.entry(path_in(name, path));
                own.or_insert_with(|| text_for(name, stored, path));
            }
            apply(name, differences, &mut all);
        }
    }
    for (path, text) in source::files() {
        all.insert(format!("{RUNTIME}/{path}"), without_tests(text).to_owned());
    }
    all
}

/// Applies the `differences` of the project `name` to its files in `all`.
fn apply(name: &str, differences: &str, all: &mut Texts) {
    // Their originals may come later in the file.
    let mut copies = Vec::new();
    for patch in PatchSet::parse(differences, ParseOptions::gitdiff()) {
        let patch = patch.unwrap_or_else(|error| panic!("{name}/{DIFFERENCES}: {error}: {HINT}"));
        match patch.operation() {
            FileOperation::Modify { original, modified } => {
                let hunks = patch.patch().as_text().expect("a text");
                let text = diffy::apply(&text_for(name, all, original), hunks);
                let text = text.unwrap_or_else(|error| {
                    panic!("{name}/{DIFFERENCES}: {modified}: {error}: {HINT}")
                });
                all.insert(modified.to_string(), text);
            }
            FileOperation::Copy { from, to } => copies.push((from.to_string(), to.to_string())),
            FileOperation::Delete(original) => {
                all.remove(&path_in(name, original));
            }
            operation => panic!("{name}/{DIFFERENCES}: {operation:?}: {HINT}"),
        }
    }
    for (from, to) in copies {
        let text = text_for(name, all, &from);
        all.insert(to, text);
    }
}
