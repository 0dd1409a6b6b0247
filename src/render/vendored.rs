//! The files of the runtime in a project that has a copy of it. A file has the same text in each project, except for
//! Cargo.toml, which is a template.

use std::{collections::BTreeMap, sync::LazyLock};

use kube_manager::source::{self, CORE, LICENSE, Part};

use crate::{
    engine::Vendored,
    project::{License, Project, Runtime},
};

/// The length and the digest of the text of each file, from the build script.
const MEASURED: &[(usize, &str)] = include!(concat!(env!("OUT_DIR"), "/vendored.rs"));

/// The vendored files of this version, by their path in the project.
static FILES: LazyLock<BTreeMap<String, Vendored>> = LazyLock::new(|| {
    let files = source::files().zip(MEASURED);
    let files = files.map(|((path, text), (length, digest))| {
        let text = &text[..*length];
        (in_project(path), Vendored { text, digest })
    });
    files.collect()
});

fn in_project(path: &str) -> String {
    format!("{}/{path}", Runtime::FOLDER)
}

/// The vendored file at `path` in a project.
pub fn file(path: &str) -> Option<Vendored> {
    FILES.get(path).copied()
}

/// The files in the copy of `project`, each as its path in the crate, its path in the project, and its text.
pub fn files(project: &Project) -> impl Iterator<Item = (&'static str, String, &'static str)> {
    let parts = project.copied_parts().into_iter().flat_map(Part::files);
    // The project's own license is the same one, unless the user has chosen another.
    let license = (project.license != License::Apache2).then_some(&LICENSE);
    let files = CORE.iter().chain(parts).chain(license);
    files.filter_map(|(path, _)| {
        let in_project = in_project(path);
        let text = FILES.get(&in_project)?.text;
        Some((*path, in_project, text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::Conventions, render::CONVENTIONS};

    #[test]
    fn the_digest_of_a_vendored_file_of_this_version_stands_for_its_text() {
        // Without the digests of the build script, each digest is computed from the text.
        let computing = Conventions {
            vendored: |_| None,
            ..CONVENTIONS
        };
        let texts = FILES
            .iter()
            .map(|(path, file)| (path.clone(), file.text.into()));
        let computed = computing.recorded(texts.clone().collect());
        for (path, recorded) in CONVENTIONS.recorded(texts.collect()) {
            let text = FILES[&path].text;
            assert_eq!(recorded, computed[&path], "{path}");
            let resolved = CONVENTIONS.resolve(&path, &recorded, Some("edited\n"));
            assert_eq!(resolved, text, "{path}");
        }
    }
}
