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

use crate::golden_projects;

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

/// Returns the texts of the files below `folder` that `is_wanted` accepts, by their paths in `folder`.
fn files(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut paths = golden_projects::paths(folder);
    paths.retain(|path| is_wanted(path));
    paths.sort();
    let texts = paths.into_iter().map(|path| {
        let text = fs::read_to_string(folder.join(&path)).expect("a text");
        (path, text)
    });
    texts.collect()
}

/// Returns the path of a folder of the tests.
fn tests(folder: &str) -> PathBuf {
    golden_projects::top().join("tests").join(folder)
}
