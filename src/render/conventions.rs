//! What the engine knows of the files of a project.

use super::{templates, vendored};
use crate::{
    engine::{Attribute, Conventions},
    project::Project,
};

/// The files of a project.
pub static CONVENTIONS: Conventions = Conventions {
    description: Project::FILE,
    mark: Project::LAYOUT,
    normalized: |text| Project::parse(text)?.to_text(),
    has,
    vendored: vendored::file,
};

fn has(path: &str, attribute: Attribute) -> bool {
    let name = match attribute {
        Attribute::Code => "code",
        Attribute::Derived => "derived",
        Attribute::Patterns => "patterns",
        Attribute::Vendored => "vendored",
    };
    templates::has(path, name)
}
