//! The embedded templates, and their properties in `templates/attributes`.

use std::sync::LazyLock;

use include_dir::{Dir, File, include_dir};

/// The folder `templates`.
pub static TEMPLATES: Dir = include_dir!("$CARGO_MANIFEST_DIR/templates");

const ATTRIBUTES: &str = include_str!("../../templates/attributes");

/// Whether `templates/attributes` gives `attribute` to `path`, which is the path of a rendered file
/// or of a template.
pub fn has(path: &str, attribute: &str) -> bool {
    let mut lines = LINES.iter();
    lines.any(|(pattern, its)| *its == attribute && matches(pattern, path))
}

/// Each pattern, with the attribute that it gives.
static LINES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = ATTRIBUTES.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter_map(|line| {
        let (pattern, attribute) = line.split_once(' ')?;
        Some((pattern, attribute.trim_start()))
    });
    lines.collect()
});

fn matches(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (Some("**"), Some(_)) | (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(a), Some(b)) if a == b => {}
            _ => return false,
        }
    }
}

/// All files in `folder` and in the folders below it.
pub fn files<'a>(folder: &'a Dir<'a>) -> Box<dyn Iterator<Item = &'a File<'a>> + 'a> {
    Box::new(folder.files().chain(folder.dirs().flat_map(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_parts_of_a_path() {
        let cases = [
            ("config/role.yaml", "config/role.yaml", true),
            ("config/role.yaml", "config/role.yaml/x", false),
            ("config/role.yaml", "config", false),
            ("charts/*/files/**", "charts/shop/files/role.yaml", true),
            (
                "charts/*/files/**",
                "charts/shop/files/crds/book.yaml",
                true,
            ),
            ("charts/*/files/**", "charts/shop/templates/files/x", false),
            ("charts/*/files/**", "charts/files/role.yaml", false),
            ("src/**", "src", false),
            ("src/**", "tests/src/lib.rs", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn each_line_gives_a_known_attribute() {
        let known = [
            "claim", "code", "derived", "jobs", "labels", "nodes", "patterns", "pods", "vendored",
        ];
        for attribute in known {
            assert!(
                LINES.iter().any(|(_, its)| *its == attribute),
                "{attribute}"
            );
        }
        for (pattern, attribute) in LINES.iter() {
            assert!(known.contains(attribute), "{pattern} {attribute}");
        }
    }
}
