//! What the engine knows of the files of a project.

use std::{collections::BTreeMap, ops::Range};

use super::{templates, vendored};
use crate::{
    engine::{Attribute, Conventions, Entry, List},
    project::Project,
};

/// The files of a project.
pub static CONVENTIONS: Conventions = Conventions {
    description: Project::FILE,
    mark: Project::LAYOUT,
    normalized: |text| Project::parse(text)?.to_text(),
    list,
    growing,
    has,
    vendored: vendored::file,
};

fn list(text: &str) -> Option<List> {
    let list = Project::entries(text)?;
    let entries = list.entries.into_iter().map(|(id, range)| Entry {
        name: id.to_string(),
        range,
    });
    Some(List {
        title: list.title,
        indent: list.indent,
        entries: entries.collect(),
    })
}

/// The lines from a comment to the next comment with the same indentation, if that one begins with `End of`; and the
/// modules at the end of `src/lib.rs`, below which users add their own.
fn growing(text: &str) -> Vec<Range<usize>> {
    let mut lists = Vec::new();
    // The ends of the last comments, by their indentation.
    let mut starts = BTreeMap::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let comment = ["// ", "# "]
            .iter()
            .find_map(|mark| trimmed.strip_prefix(mark));
        match comment {
            Some(comment) if comment.starts_with("End of ") => {
                lists.extend(starts.remove(&indent).map(|start| start..at));
            }
            Some(_) => _ = starts.insert(indent, end),
            None => {}
        }
        at = end;
    }
    let modules = text.rsplit_once("\n\n").map_or(text, |(_, end)| end);
    let is_module = |line: &str| line.starts_with("pub mod ") || line.starts_with("#[");
    if !modules.is_empty() && modules.lines().all(is_module) {
        lists.push(text.len() - modules.len()..text.len());
    }
    lists
}

fn has(path: &str, attribute: Attribute) -> bool {
    let name = match attribute {
        Attribute::Code => "code",
        Attribute::Derived => "derived",
        Attribute::Patterns => "patterns",
        Attribute::Vendored => "vendored",
    };
    templates::has(path, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_grows_between_its_comments() {
        let text = "// A\na\n    // One b.\n    b\n      // Inside.\n    b\n    // End of b.\nc\n# d\n# End of d.\n\
                    // End of e.\n";
        let lists = growing(text).into_iter().map(|place| &text[place]);
        let expected = ["    b\n      // Inside.\n    b\n", ""];
        assert_eq!(lists.collect::<Vec<_>>(), expected);
        assert!(growing("").is_empty() && growing("a\n\n").is_empty());
        let modules = "pub mod a;\n#[cfg(test)]\npub mod b;\n";
        let text = format!("//! A\n\n{modules}");
        assert_eq!(growing(&text)[0], 7..text.len());
    }
}
