//! The record of what was written last. It has one line for each line of a file: a JSON array of the path and the line
//! with its line ending, such as `["src/lib.rs","pub mod api;\n"]`. Above these lines are facts, each a JSON object,
//! such as `{"project":"..."}`.
//!
//! Each line of the record is valid alone. So git can take the lines of both branches (`merge=union` in
//! `.gitattributes`), and the result is still a record.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    io::Write,
};

use anyhow::{Error, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path::ProjectPath;
use crate::{
    engine::text::{Text, Texts},
    limits::{RECORDED_FILES, RECORDED_PROJECTS, Total},
};

/// The record of what was written last, which is the base of the next command's merge.
pub const LAST_APPLIED: &str = ".rscaffold/last-applied.jsonl";

/// What was written last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The text of each file, except `PROJECT`.
    pub texts: Texts,
    /// The text of `PROJECT` that the files were rendered from. After a merge of branches there can be several; a
    /// record that is missing has none.
    pub projects: Vec<String>,
    /// Files that were written with conflict markers.
    pub marked: BTreeSet<String>,
    /// Texts that came from the user with a command and replace the rendered file, such as types from a CRD.
    pub given: Texts,
}

/// A line of the record for a file: the path, and a line of the text.
#[derive(Deserialize)]
struct Line<'a>(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>);

/// Every other line of the record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fact<'a> {
    Project(Cow<'a, str>),
    Marked(Cow<'a, str>),
    /// A path and the whole text, in one record line: a union merge must not mix the lines of two texts.
    Given(Cow<'a, str>, Cow<'a, str>),
}

impl Record {
    /// Writes the record line by line.
    pub fn write(&self, mut record: impl Write) -> Result<()> {
        let projects = self.projects.iter().map(|text| Fact::Project(text.into()));
        let marked = self.marked.iter().map(|path| Fact::Marked(path.into()));
        let given = self.given.iter();
        let given = given.map(|(path, text)| Fact::Given(path.into(), text.content().into()));
        for fact in projects.chain(marked).chain(given) {
            writeln!(record, "{}", serde_json::to_value(&fact)?)?;
        }
        for (path, text) in &self.texts {
            let start = beginning(path)?;
            // An empty file has no lines, but still needs a line in the record.
            let empty = text.is_empty().then_some("");
            for line in text.content().split_inclusive('\n').chain(empty) {
                writeln!(record, "{start}{}]", Value::from(line))?;
            }
        }
        record.flush()?;
        Ok(())
    }

    /// Reads the record. The lines of a file need not be consecutive, because a merge by git may separate them. If git
    /// writes conflict markers, because the repository lacks the attribute `merge=union`, the lines of both sides count, as
    /// with this attribute.
    ///
    /// # Errors
    /// For the first line that is not a line of a record, or exceeds the limits.
    pub fn parse(text: &str) -> Result<Self> {
        let mut record = Self::default();
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        let mut several = BTreeSet::new();
        let mut all = Total::default();
        // The prefix of a further line for the same file as the line above, and the text of that file.
        let mut last: Option<(String, &mut String)> = None;
        let mut is_in_parent = false;
        for (number, line) in (1..).zip(text.lines()) {
            // Nearly all lines are further lines of the same file.
            if !is_in_parent
                && let Some((start, text)) = &mut last
                && let Some(more) = line.strip_prefix(start.as_str())
                && let Some(more) = more.strip_suffix(']')
            {
                let Ok(Value::String(more)) = more.parse() else {
                    return Err(damage(number));
                };
                all.add(more.len())?;
                text.push_str(&more);
                continue;
            }
            let markers = ["<<<<<<<", PARENT, "=======", ">>>>>>>"];
            if let Some(marker) = markers.iter().find(|marker| line.starts_with(**marker)) {
                is_in_parent = *marker == PARENT;
                continue;
            }
            if is_in_parent {
                continue;
            }
            if line.starts_with('{') {
                match serde_json::from_str(line).map_err(|_| damage(number))? {
                    Fact::Project(text)
                        if record.projects.iter().any(|recorded| *recorded == text) => {}
                    Fact::Project(text) => record.projects.push(text.into_owned()),
                    Fact::Marked(path) => _ = record.marked.insert(path.into_owned()),
                    Fact::Given(path, text) => {
                        check(number, &path)?;
                        all.add(text.len())?;
                        let before = record
                            .given
                            .insert(path.to_string(), text.clone().into_owned().into());
                        if before.is_some_and(|before| before != *text) {
                            several.insert(path.into_owned());
                        }
                    }
                }
                let facts = record.marked.len().max(record.given.len());
                ensure_limits(record.projects.len(), facts)?;
                continue;
            }
            let Line(path, more) = serde_json::from_str(line).map_err(|_| damage(number))?;
            all.add(more.len())?;
            ensure_limits(0, texts.len())?;
            let start = beginning(&path)?;
            let text = match texts.entry(path.into_owned()) {
                Entry::Occupied(text) => text.into_mut(),
                Entry::Vacant(text) => {
                    check(number, text.key())?;
                    text.insert(String::new())
                }
            };
            text.push_str(&more);
            last = Some((start, text));
        }
        ensure_limits(0, texts.len())?;
        let texts = texts
            .into_iter()
            .map(|(path, text)| (path, Text::from(text)));
        record.texts = texts.collect();
        // If the merged branches gave a file different texts, neither text is its base.
        record.given.retain(|path, _| !several.contains(path));
        Ok(record)
    }
}

/// Checks that the record does not have more entries than a project can have.
fn ensure_limits(projects: usize, files: usize) -> Result<()> {
    ensure!(
        projects <= RECORDED_PROJECTS,
        "there are more than {RECORDED_PROJECTS} projects, and a merge of git leaves two"
    );
    ensure!(
        files <= RECORDED_FILES,
        "there are more than {RECORDED_FILES} files, the most that rscaffold takes"
    );
    Ok(())
}

/// The prefix of each line for the file at `path`.
fn beginning(path: &str) -> Result<String> {
    Ok(format!("[{},", serde_json::to_string(path)?))
}

/// Checks that a path of the record can be a path of a project.
fn check(number: usize, path: &str) -> Result<()> {
    let path = ProjectPath::new(path);
    path.map_err(|error| anyhow!("line {number}: {error}"))?;
    Ok(())
}

/// The marker above the lines of the common ancestor, which git writes in the styles `diff3` and `zdiff3`.
const PARENT: &str = "|||||||";

/// The error for a line that is not a line of a record.
fn damage(number: usize) -> Error {
    anyhow!("line {number} is not a path and a line, such as `[\"src/lib.rs\",\"mod a;\\n\"]`")
}
