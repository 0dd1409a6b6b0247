//! Reads the documents.

use std::fs;

use crate::scaffold::root;

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the text below `heading`, up to the next heading of the same or a higher level.
pub fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("there is no `{heading}`"));
    let level = heading.bytes().take_while(|byte| *byte == b'#').count();
    let ends = (1..=level).filter_map(|level| rest.find(&format!("\n{} ", "#".repeat(level))));
    &rest[..ends.min().unwrap_or(rest.len())]
}

/// Returns the tables of a text: for each table, the cells of the rows that begin with code.
pub fn tables(text: &str) -> Vec<Vec<Vec<&str>>> {
    let tables = text.split("\n\n").map(|block| {
        let rows = block.lines().filter_map(|line| {
            let row = line.strip_prefix("| ")?.strip_suffix(" |")?;
            row.starts_with('`')
                .then(|| row.split('|').map(str::trim).collect())
        });
        rows.collect::<Vec<_>>()
    });
    tables.filter(|rows| !rows.is_empty()).collect()
}

/// Returns the texts between backticks.
pub fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

pub fn first_code(text: &str) -> &str {
    code(text).next().unwrap_or_default()
}

/// Returns a text with its lines moved to the left, to compare code.
pub fn without_indentation(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    lines.join("\n")
}
