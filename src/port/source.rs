//! The files of a Go project, and the objects in its manifests.

use serde_json::Value;

use super::go::Go;
use crate::{engine::worktree::Snapshot, project::yaml::documents};

/// Folders without source code of the project, which are not read.
pub const WITHOUT: [&str; 4] = ["bin", "node_modules", "testdata", "vendor"];

/// The files of a Go project.
#[derive(Debug)]
pub(super) struct Source {
    pub files: Snapshot,
    pub go: Go,
}

/// An object of a manifest, and the path of its file.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub file: String,
    pub value: Value,
}

impl Object {
    /// The string at this place, such as `metadata.name`.
    pub fn text(&self, place: &str) -> Option<&str> {
        at(&self.value, place)?.as_str()
    }

    pub fn kind(&self) -> &str {
        self.text("kind").unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.text("metadata.name").unwrap_or_default()
    }
}

/// The value at this place, such as `metadata.name`.
pub(super) fn at<'a>(value: &'a Value, place: &str) -> Option<&'a Value> {
    place
        .split('.')
        .try_fold(value, |value, field| value.get(field))
}

/// The strings in a list.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

/// Returns whether a file has the extension of a language, such as `go`.
pub(super) fn is_file_of(language: &str, path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, end)| end == language)
}

/// The folder of a file; empty for a file at the top.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The name of a file in its folder.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a file of a Go project is read. Of the other files, only the paths are known.
pub fn is_wanted(path: &str) -> bool {
    let name = file_name(path);
    let is_manifest = || {
        let is_yaml = is_file_of("yaml", name) || is_file_of("yml", name);
        let folder = path.split('/').next().unwrap_or_default();
        // CRDs of external kinds are often beside the tests.
        let is_crd = || path.to_ascii_lowercase().contains("crd");
        // The settings of the operator, such as `leaderElection`, may be in another folder.
        let is_settings = || name.to_ascii_lowercase().contains("config");
        let is_usual = matches!(folder, "config" | "dist" | "chart" | "charts");
        is_yaml && (is_usual || is_crd() || is_settings())
    };
    matches!(path, "PROJECT" | "go.mod" | "LICENSE") || is_file_of("go", name) || is_manifest()
}

impl Source {
    pub fn new(files: Snapshot) -> Self {
        let go = Go::new(&files.texts);
        Self { files, go }
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.texts.get(path).map(AsRef::as_ref)
    }

    /// Returns whether there is a file below `folder`, which ends in `/`, even if the file was not
    /// read.
    pub fn has_below(&self, folder: &str) -> bool {
        let mut paths = self.files.texts.keys().chain(self.files.others.keys());
        paths.any(|path| path.starts_with(folder))
    }

    /// The paths and texts of the manifests below `folder`, which ends in `/`.
    pub fn manifests(&self, folder: &str) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.files.texts.iter();
        texts
            .filter(move |(path, _)| path.starts_with(folder) && !is_file_of("go", path))
            .map(|(path, text)| (path.as_str(), text.as_ref()))
    }

    /// The objects in the manifests below `folder`. A file that is not valid YAML has no objects.
    pub fn objects(&self, folder: &str) -> Vec<Object> {
        let objects = self.manifests(folder).flat_map(|(file, text)| {
            let values = documents(text).unwrap_or_default().into_iter();
            values.map(|value| Object {
                file: file.to_owned(),
                value,
            })
        });
        objects.collect()
    }
}
