//! What the engine knows of the files of a project.

use super::{templates, vendored};
use crate::{
    engine::{Attribute, Conventions, Entry},
    project::Project,
};

/// The files of a project.
pub static CONVENTIONS: Conventions = Conventions {
    description: Project::FILE,
    mark: Project::LAYOUT,
    normalized: |text| Project::parse(text)?.to_text(),
    entries,
    has,
    vendored: vendored::file,
};

fn entries(text: &str) -> Option<Vec<Entry>> {
    let entries = Project::entries(text)?.into_iter();
    let entries = entries.map(|(id, indent, range)| Entry {
        name: id.to_string(),
        range,
        indent,
    });
    Some(entries.collect())
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
