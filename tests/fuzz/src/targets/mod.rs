//! The fuzz targets, which read arbitrary bytes. Each target panics if it finds an error. `make fuzz` runs the targets
//! with libFuzzer, and the tests of rscaffold run them with fewer inputs.

pub mod arguments;
pub mod crd;
pub mod go;
pub mod merge;
pub mod project;
pub mod record;
pub mod texts;
pub mod values;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A part of rscaffold that reads bytes.
pub struct Target {
    /// The name of the target in `TARGET`.
    pub name: &'static str,
    /// The inputs to start with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// The check of one input, which panics if rscaffold handles the input incorrectly.
    pub run: fn(&[u8]),
}

pub static TARGETS: [Target; 7] = [
    Target {
        name: "arguments",
        seeds: arguments::seeds,
        run: arguments::run,
    },
    Target {
        name: "project",
        seeds: project::seeds,
        run: project::run,
    },
    Target {
        name: "record",
        seeds: record::seeds,
        run: record::run,
    },
    Target {
        name: "merge",
        seeds: merge::seeds,
        run: merge::run,
    },
    Target {
        name: "crd",
        seeds: crd::seeds,
        run: crd::run,
    },
    Target {
        name: "go",
        seeds: go::seeds,
        run: go::run,
    },
    Target {
        name: "values",
        seeds: values::seeds,
        run: values::run,
    },
];

/// Returns the texts of the files below `folder` that `is_wanted` accepts, by their paths in `folder`. `folder` is in
/// the folder of the tests.
fn files(folder: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let tests = tests
        .map(|it| it.join("tests"))
        .find(|it| it.join("golden").is_dir());
    let top = tests.expect("the tests of rscaffold").join(folder);
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(top.join(&below)).expect("a readable folder") {
            let entry = entry.expect("a readable folder");
            let path = below.join(entry.file_name());
            if entry.file_type().expect("a type").is_dir() {
                folders.push(path);
            } else if path.to_str().is_some_and(&is_wanted) {
                let text = fs::read_to_string(entry.path()).expect("a text");
                files.push((path.display().to_string(), text));
            }
        }
    }
    files.sort();
    files
}
