//! The files of a Go project, and the objects in its manifests.

use std::{cell::RefCell, collections::BTreeMap};

use serde_json::Value;

use super::{
    go::Go,
    path::{file_name, is_file_of, is_in_test_folder},
};
use crate::yaml::{Lines, documents};

/// Folders without source code of the project, which are not read.
pub const WITHOUT: [&str; 4] = ["bin", "node_modules", "testdata", "vendor"];

/// The files that say the license, the best first.
pub(super) const LICENSES: [&str; 4] = [
    "LICENSE",
    "LICENSE.md",
    "LICENSE.txt",
    "hack/boilerplate.go.txt",
];

/// The files in the folder of a Go project.
#[derive(Debug, Default)]
pub struct GoFolder {
    /// The text of each file that [`is_wanted`], by its path in the folder.
    pub texts: BTreeMap<String, String>,
    /// Every other file, with its size in bytes.
    pub others: BTreeMap<String, u64>,
    /// The paths that could not be read, with the reason.
    pub unread: BTreeMap<String, String>,
}

/// A Go project.
#[derive(Debug)]
pub(super) struct Source {
    pub files: GoFolder,
    pub go: Go,
    /// The lines of the manifests that were asked for, by path.
    lines: RefCell<BTreeMap<String, Lines>>,
}

/// An object in the manifests of the project, and where it is.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    /// The file and the number of the document in it, from 0. More of them are patches, in their order.
    pub sources: Vec<(String, usize)>,
    pub value: Value,
    /// The name in the file, which a kustomization may change.
    pub name_in_file: String,
}

impl Manifest {
    /// The object in a document of a file.
    pub fn new(file: &str, document: usize, value: Value) -> Self {
        let mut object = Self {
            sources: vec![(file.to_owned(), document)],
            value,
            name_in_file: String::new(),
        };
        object.name_in_file = object.name().to_owned();
        object
    }

    /// The path of its file.
    pub fn file(&self) -> &str {
        self.sources.first().map_or("", |(file, _)| file)
    }

    /// The string at this place, such as `/metadata/name`.
    pub fn text(&self, place: &str) -> Option<&str> {
        self.value.pointer(place)?.as_str()
    }

    /// The kind; empty if there is none.
    pub fn kind(&self) -> &str {
        self.text("/kind").unwrap_or("")
    }

    /// Whether the object is of this kind.
    pub fn is_a(&self, kind: &str) -> bool {
        self.kind() == kind
    }

    /// The name; empty if there is none.
    pub fn name(&self) -> &str {
        self.text("/metadata/name").unwrap_or("")
    }

    /// The namespace; empty if there is none.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace").unwrap_or("")
    }
}

/// The items of a list. Any other value has none.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The strings in a list.
pub(super) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

/// Returns whether a file of a Go project is read. Of the other files, only the paths are known.
pub fn is_wanted(path: &str) -> bool {
    let is_yaml = is_file_of("yaml", path) || is_file_of("yml", path);
    if is_yaml {
        // CRDs of external kinds are often beside the tests.
        return !is_in_test_folder(path)
            || path.starts_with("config/")
            || path.to_ascii_lowercase().contains("crd");
    }
    matches!(
        path,
        "Dockerfile" | "GNUmakefile" | "Makefile" | "PROJECT" | "go.mod"
    ) || LICENSES.contains(&path)
        // A Makefile may include them.
        || is_file_of("mk", path)
        || file_name(path).starts_with("Makefile.")
        || is_file_of("go", path)
        || file_name(path) == "Kustomization"
}

impl Source {
    pub fn new(files: GoFolder) -> Self {
        let go = Go::new(&files.texts);
        Self {
            files,
            go,
            lines: RefCell::default(),
        }
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.texts.get(path).map(String::as_str)
    }

    /// Where the value at `path` of an object is, as `file:line` in backticks.
    pub fn place(&self, object: &Manifest, path: &[&str]) -> String {
        let (mut place, mut deepest) = (format!("`{}`", object.file()), 0);
        for (file, document) in &object.sources {
            let mut lines = self.lines.borrow_mut();
            let lines = lines
                .entry(file.clone())
                .or_insert_with(|| Lines::of(self.text(file).unwrap_or("")));
            if let Some((line, depth)) = lines.line(*document, path)
                && depth >= deepest
            {
                (place, deepest) = (format!("`{file}:{line}`"), depth);
            }
        }
        place
    }

    /// Returns whether there is a file below `folder`, which ends in `/`, even if the file was not
    /// read.
    pub fn has_below(&self, folder: &str) -> bool {
        let mut paths = self.files.texts.keys().chain(self.files.others.keys());
        paths.any(|path| path.starts_with(folder))
    }

    /// The paths and texts of the files with manifests below `folder`, which ends in `/`.
    pub fn manifest_files(&self, folder: &str) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.files.texts.iter();
        texts
            .filter(move |(path, _)| path.starts_with(folder) && !is_file_of("go", path))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The objects in the manifests below `folder`. A file that is not valid YAML, such as the template of a chart, has
    /// no objects.
    pub fn objects(&self, folder: &str) -> Vec<Manifest> {
        let mut objects = Vec::new();
        for (file, text) in self.manifest_files(folder) {
            for (document, value) in documents(text).into_iter().flatten().enumerate() {
                objects.push(Manifest::new(file, document, value));
            }
        }
        objects
    }
}
