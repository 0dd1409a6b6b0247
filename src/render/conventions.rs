//! What the engine knows of the files of a project.

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

fn has(path: &str, attribute: Attribute) -> bool {
    let name = match attribute {
        Attribute::Code => "code",
        Attribute::Derived => "derived",
        Attribute::Patterns => "patterns",
        Attribute::Vendored => "vendored",
    };
    templates::has(path, name)
}
