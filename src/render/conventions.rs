//! What the engine knows of the files of a project.

use std::ops::Range;

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

/// The lines from a comment to the next comment, if that one begins with `End of`; and the modules at the end of
/// `src/lib.rs`, below which users add their own.
fn growing(text: &str) -> Vec<Range<usize>> {
    let mut lists = Vec::new();
    let (mut start, mut at) = (None, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let comment = ["// ", "# "]
            .iter()
            .find_map(|mark| line.trim_start().strip_prefix(mark));
        if let Some(comment) = comment {
            let is_end = comment.starts_with("End of ");
            lists.extend(start.filter(|_| is_end).map(|start| start..at));
            start = (!is_end).then_some(end);
        }
        at = end;
    }
    let modules = text.rsplit_once("\n\n").map_or(text, |(_, end)| end);
    let is_module = |line: &str| line.starts_with("pub mod ") || line.starts_with("#[");
    if modules.lines().all(is_module) {
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
        let text = "// A\na\n    // One b.\n    b\n    b\n    // End of b.\nc\n# d\n# End of d.\n// End of e.\n";
        let lists = growing(text).into_iter().map(|place| &text[place]);
        assert_eq!(lists.collect::<Vec<_>>(), ["    b\n    b\n", ""]);
        let modules = "pub mod a;\n#[cfg(test)]\npub mod b;\n";
        let text = format!("//! A\n\n{modules}");
        assert_eq!(growing(&text)[0], 7..text.len());
    }
}
