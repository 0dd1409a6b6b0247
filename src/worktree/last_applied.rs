//! The record of what was written last. For each line of a file it has a line, a JSON array of the path
//! and that line with its line end, such as `["src/lib.rs","pub mod api;\n"]`. Above them stand facts,
//! each a JSON object, such as `{"project":"..."}`.
//!
//! Each line of the record is complete by itself. So git can take the lines of both branches
//! (`merge=union` in `.gitattributes`), and the result is still a record.

use std::{borrow::Cow, collections::BTreeSet};

use anyhow::{Error, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use super::path::ProjectPath;
use crate::{
    limits::{RECORDED_FILES, RECORDED_PROJECTS, Total},
    reconcile::Texts,
};

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
    /// What the user gave with a command instead of the render of a file, such as types from a CRD.
    pub given: Texts,
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
    /// A path, and all of its text: lines of two texts must not mix.
    Given(Cow<'a, str>, Cow<'a, str>),
}

impl Record {
    /// The text of the record.
    ///
    /// # Errors
    /// None, as far as is known.
    pub fn to_text(&self) -> Result<String> {
        // About twice as long as the texts are, for the paths.
        let texts = self.texts.values().map(String::len).sum::<usize>();
        let mut record = Vec::with_capacity(2 * texts);
        let projects = self.projects.iter().map(|text| Fact::Project(text.into()));
        let marked = self.marked.iter().map(|path| Fact::Marked(path.into()));
        let given = self.given.iter();
        let given = given.map(|(path, text)| Fact::Given(path.into(), text.into()));
        for fact in projects.chain(marked).chain(given) {
            serde_json::to_writer(&mut record, &fact)?;
            record.push(b'\n');
        }
        for (path, text) in &self.texts {
            // An empty text has no line, but is a file.
            let empty = text.is_empty().then_some("");
            for line in text.split_inclusive('\n').chain(empty) {
                serde_json::to_writer(&mut record, &(path, line))?;
                record.push(b'\n');
            }
        }
        Ok(String::from_utf8(record)?)
    }

    /// Reads the record. The lines of a file need not follow each other: after a merge they may not.
    ///
    /// # Errors
    /// For the first line that is none of a record, or is beyond its limits.
    pub fn parse(text: &str) -> Result<Self> {
        let mut record = Self::default();
        let mut several = BTreeSet::new();
        let mut all = Total::default();
        for (number, line) in (1..).zip(text.lines()) {
            record.ensure_limits()?;
            let damage = |_| damage(number, line);
            if line.starts_with('{') {
                match serde_json::from_str(line).map_err(damage)? {
                    Fact::Project(text) if record.projects.iter().any(|it| *it == text) => {}
                    Fact::Project(text) => record.projects.push(text.into_owned()),
                    Fact::Marked(path) => _ = record.marked.insert(path.into_owned()),
                    Fact::Given(path, text) => {
                        check(number, &path)?;
                        all.add(text.len())?;
                        let before = record.given.insert(path.to_string(), text.to_string());
                        if before.is_some_and(|before| before != text) {
                            several.insert(path.into_owned());
                        }
                    }
                }
                continue;
            }
            let Line(path, more) = serde_json::from_str(line).map_err(damage)?;
            all.add(more.len())?;
            if let Some(text) = record.texts.get_mut(&*path) {
                text.push_str(&more);
            } else {
                check(number, &path)?;
                record.texts.insert(path.into_owned(), more.into_owned());
            }
        }
        // After a merge of branches that gave two texts, neither of them is what the file begins with.
        record.given.retain(|path, _| !several.contains(path));
        record.ensure_limits()?;
        Ok(record)
    }

    /// Refuses more than a project can have.
    fn ensure_limits(&self) -> Result<()> {
        ensure!(
            self.projects.len() <= RECORDED_PROJECTS,
            "there are more than {RECORDED_PROJECTS} projects, and a merge of git leaves two"
        );
        ensure!(
            self.texts
                .len()
                .max(self.marked.len())
                .max(self.given.len())
                <= RECORDED_FILES,
            "there are more than {RECORDED_FILES} files, the most that rscaffold takes"
        );
        Ok(())
    }
}

/// Refuses a path that is none of a project.
fn check(number: usize, path: &str) -> Result<()> {
    let path = ProjectPath::new(path);
    path.map_err(|error| anyhow!("line {number}: {error}"))?;
    Ok(())
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
