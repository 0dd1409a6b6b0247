//! The record of what was written last: a JSON object from path to lines, sorted, one line of a
//! file per line of JSON, so that git shows and merges it as it does the files themselves.

use std::{
    collections::BTreeMap,
    path::{Component, Path},
};

use anyhow::{Result, ensure};
use serde::{Serialize, Serializer};

use crate::{project::Project, reconcile::Texts};

/// The record of `theirs`, without `PROJECT`: see [`WorkTree::base`](super::WorkTree::base).
///
/// The text after the last newline, most often nothing, is a line too: so any text survives, and a
/// line that is added at the end of a file adds no comma to the line above.
pub(super) fn to_text(theirs: &Texts) -> Result<String> {
    struct Lines<'a>(&'a str);

    impl Serialize for Lines<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.split('\n'))
        }
    }

    let lines: BTreeMap<&str, Lines> = theirs
        .iter()
        .filter(|&(path, _)| path != Project::FILE)
        .map(|(path, text)| (path.as_str(), Lines(text)))
        .collect();
    let mut text = serde_json::to_string_pretty(&lines)?;
    text.push('\n');
    Ok(text)
}

/// The texts of a record.
pub(super) fn parse(record: &str) -> Result<Texts> {
    let lines: BTreeMap<String, Vec<String>> = serde_json::from_str(record)?;
    for path in lines.keys() {
        // The record comes from a repository: nothing in it may lead out of the folder.
        let mut parts = Path::new(path).components();
        ensure!(
            !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_))),
            "`{path}` is not a path within the project"
        );
    }
    let texts = lines
        .into_iter()
        .map(|(path, lines)| (path, lines.join("\n")));
    Ok(texts.collect())
}
