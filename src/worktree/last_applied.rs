//! The record of what was written last: for each line of a file one line, a JSON array of the
//! file's path and that line with its line end, such as `["src/lib.rs","pub mod api;\n"]`.
//!
//! Each line is complete in itself. So git can take the lines of both branches (`merge=union` in
//! `.gitattributes`), and the result is still a record.

use std::borrow::Cow;

use anyhow::{Error, Result, anyhow};
use serde::Deserialize;

use super::path::ProjectPath;
use crate::{project::Project, reconcile::Texts};

/// The record of `theirs`, without `PROJECT`: see [`WorkTree::base`](super::WorkTree::base).
pub(super) fn to_text(theirs: &Texts) -> Result<String> {
    // With the paths, a record is about twice as long as its texts.
    let mut record = Vec::with_capacity(2 * theirs.values().map(String::len).sum::<usize>());
    for (path, text) in theirs.iter().filter(|&(path, _)| path != Project::FILE) {
        let path = serde_json::to_vec(path)?;
        // An empty text has no line, but is a file.
        let empty = text.is_empty().then_some("");
        for line in text.split_inclusive('\n').chain(empty) {
            record.push(b'[');
            record.extend_from_slice(&path);
            record.push(b',');
            serde_json::to_writer(&mut record, line)?;
            record.extend_from_slice(b"]\n");
        }
    }
    Ok(String::from_utf8(record)?)
}

/// A line of the record: a path, and a line of the file there.
#[derive(Deserialize)]
struct Line<'a>(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>);

/// The texts of a record. After a merge, the lines of one file may stand apart.
pub(super) fn parse(record: &str) -> Result<Texts> {
    let mut texts = Texts::new();
    let mut lines = serde_json::Deserializer::from_str(record).into_iter::<Line>();
    let mut next = || lines.next().transpose().map_err(|_| damage(record));
    let mut line = next()?;
    while let Some(first) = line {
        let Line(path, first) = first;
        ProjectPath::new(&path).map_err(|_| damage(record))?;
        let text = texts.entry(path.to_string()).or_default();
        text.push_str(&first);
        // Most often the lines of a file do follow each other.
        line = loop {
            match next()? {
                Some(Line(same, more)) if same == path => text.push_str(&more),
                other => break other,
            }
        };
    }
    Ok(texts)
}

/// What is wrong with a record that is damaged.
fn damage(record: &str) -> Error {
    let mut lines = (1..).zip(record.lines());
    let damaged = lines.find_map(|(number, line)| Some((number, reason(line)?)));
    let (number, reason) = damaged.unwrap_or_default();
    anyhow!("line {number}{reason}")
}

/// What is wrong with a line, if anything is.
fn reason(line: &str) -> Option<String> {
    let markers = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    match serde_json::from_str(line) {
        Ok(Line(path, _)) => {
            let error = ProjectPath::new(&path).err()?;
            Some(format!(": {error}"))
        }
        Err(_) if markers.iter().any(|marker| line.starts_with(marker)) => {
            Some(" is a conflict marker of git".to_owned())
        }
        Err(_) => {
            let line = r#"["src/lib.rs","mod a;\n"]"#;
            Some(format!(" is not a path and a line, such as `{line}`"))
        }
    }
}
