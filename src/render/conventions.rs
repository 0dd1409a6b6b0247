//! What the engine knows of the files of a project.

use std::{collections::BTreeMap, sync::LazyLock};

use kube_manager::source::FILES;

use super::templates;
use crate::{
    engine::{Attribute, Conventions, Vendored},
    project::{Project, Runtime},
};

/// The files of a project.
pub static CONVENTIONS: Conventions = Conventions {
    description: Project::FILE,
    mark: Project::LAYOUT,
    has,
    vendored: |path| VENDORED.get(path).copied(),
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

/// The digests of the vendored files of this version, from the build script.
const DIGESTS: [&str; FILES.len()] = include!(concat!(env!("OUT_DIR"), "/digests.rs"));

/// The vendored files of this version, by their path in the project.
static VENDORED: LazyLock<BTreeMap<String, Vendored>> = LazyLock::new(|| {
    let mut vendored = BTreeMap::new();
    for ((path, text), digest) in FILES.iter().zip(DIGESTS) {
        let path = format!("{}/{path}", Runtime::FOLDER);
        vendored.insert(path, Vendored { text, digest });
    }
    vendored
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_a_vendored_file_of_this_version_stands_for_its_text() {
        // Without the digests of the build script, each digest is computed from the text.
        let computing = Conventions {
            vendored: |_| None,
            ..CONVENTIONS
        };
        let texts = VENDORED
            .iter()
            .map(|(path, file)| (path.clone(), file.text.into()));
        let computed = computing.recorded(texts.clone().collect());
        for (path, recorded) in CONVENTIONS.recorded(texts.collect()) {
            let text = VENDORED[&path].text;
            assert_eq!(recorded, computed[&path], "{path}");
            let resolved = CONVENTIONS.resolve(&path, &recorded, Some("edited\n"));
            assert_eq!(resolved, text, "{path}");
        }
    }
}
