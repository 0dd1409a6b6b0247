//! The record of what was written last. For each line of a file it has a line, a JSON array of the path
//! and that line with its line end, such as `["src/lib.rs","pub mod api;\n"]`. Above them stand facts,
//! each a JSON object, such as `{"project":"..."}`.
//!
//! Each line of the record is complete by itself. So git can take the lines of both branches
//! (`merge=union` in `.gitattributes`), and the result is still a record.

use std::{borrow::Cow, collections::BTreeSet, mem};

use anyhow::{Error, Result, anyhow};
use serde::{Deserialize, Serialize};

use super::path::ProjectPath;
use crate::reconcile::Texts;

/// What was written last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The files, without `PROJECT`.
    pub texts: Texts,
    /// The text of `PROJECT` that they were rendered from. After a merge of branches it can be several,
    /// and in the record of an older rscaffold it is missing.
    pub projects: Vec<String>,
    /// Files that were written with conflict markers.
    pub marked: BTreeSet<String>,
}

/// A line of the record about a file: the path, and a line of the text.
#[derive(Deserialize)]
struct Line<'a>(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>);

/// Any other line of the record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fact<'a> {
    Project(Cow<'a, str>),
    Marked(Cow<'a, str>),
}

impl Record {
    /// The text of the record.
    pub(super) fn to_text(&self) -> Result<String> {
        // About twice as long as the texts are, for the paths.
        let texts = self.texts.values().map(String::len).sum::<usize>();
        let mut record = Vec::with_capacity(2 * texts);
        let projects = self.projects.iter().map(|text| Fact::Project(text.into()));
        let marked = self.marked.iter().map(|path| Fact::Marked(path.into()));
        for fact in projects.chain(marked) {
            serde_json::to_writer(&mut record, &fact)?;
            record.push(b'\n');
        }
        for (path, text) in &self.texts {
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

    /// Reads the record. The lines of a file need not follow each other: after a merge they may not.
    ///
    /// # Errors
    /// For the first line that is none of a record.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut record = Self::default();
        // Most often the lines of a file do follow each other.
        let mut file = (Cow::Borrowed(""), String::new());
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with('{') {
                match serde_json::from_str(line).map_err(|_| damage(number, line))? {
                    Fact::Project(text) if record.projects.iter().any(|it| *it == text) => {}
                    Fact::Project(text) => record.projects.push(text.into_owned()),
                    Fact::Marked(path) => _ = record.marked.insert(path.into_owned()),
                }
                continue;
            }
            let Line(path, more) = parse_line(number, line)?;
            if path != file.0 {
                record.append(mem::replace(&mut file, (path, String::new())));
            }
            file.1.push_str(&more);
        }
        record.append(file);
        Ok(record)
    }

    fn append(&mut self, (path, text): (Cow<str>, String)) {
        if !path.is_empty() {
            self.texts
                .entry(path.into_owned())
                .or_default()
                .push_str(&text);
        }
    }
}

/// Reads a line about a file of the project.
fn parse_line(number: usize, line: &str) -> Result<Line<'_>> {
    let line: Line = serde_json::from_str(line).map_err(|_| damage(number, line))?;
    ProjectPath::new(&line.0).map_err(|error| anyhow!("line {number}: {error}"))?;
    Ok(line)
}

/// What is wrong with a line that is none of a record.
fn damage(number: usize, line: &str) -> Error {
    let markers = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    if markers.iter().any(|marker| line.starts_with(marker)) {
        anyhow!("line {number} is a conflict marker of git")
    } else {
        anyhow!("line {number} is not a path and a line, such as `[\"src/lib.rs\",\"mod a;\\n\"]`")
    }
}
