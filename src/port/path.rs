//! The parts of the path of a file.

use crate::names;

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
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The path of `entry` as seen from `folder`, unless it leaves the project.
pub(super) fn join(folder: &str, entry: &str) -> Option<String> {
    let mut parts: Vec<_> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in entry.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folder of the package with this import path, which is below the path of a Go module.
pub(super) fn folder_of_import<'a>(import: &'a str, module: &str) -> Option<&'a str> {
    let below = import.strip_prefix(module).filter(|_| !module.is_empty())?;
    below.strip_prefix('/')
}

/// Returns whether a file is in a folder that usually has tests.
pub(super) fn is_in_test_folder(path: &str) -> bool {
    let mut folders = folder(path).split('/');
    folders.any(|name| matches!(name, "test" | "tests" | "e2e"))
}

/// The path of a Go module without its major version: `example.com/books` for `example.com/books/v2`.
pub(super) fn without_major_version(module: &str) -> &str {
    names::without_major_version(module.trim().trim_matches('"'))
}
