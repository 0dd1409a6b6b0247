//! The embedded templates, and their properties in `templates/attributes`.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use anyhow::{Context as _, Result};
use include_dir::{Dir, File, include_dir};
use tera::{Context, Tera};

use super::syntax::tera;

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
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(pattern, attribute)| (pattern, attribute.trim_start()))
        .collect()
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

/// A template, without its text.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// The path in the folder `templates`.
    pub name: &'static str,
    /// The template of the path of the rendered file. Its name is the same text.
    pub path: &'static str,
}

impl Template {
    pub fn new(file: &File<'static>) -> Result<Self> {
        let name = (file.path().to_str()).context("the path of a template is not UTF-8")?;
        let path = name
            .strip_suffix(".tera")
            .with_context(|| format!("`{name}` must end in .tera"))?;
        Ok(Self { name, path })
    }

    /// Whether the template is below `folder`.
    pub fn is_in(self, folder: &str) -> bool {
        Path::new(self.name).starts_with(folder)
    }

    /// Whether the template renders Rust code.
    pub fn is_rust(self) -> bool {
        Path::new(self.path)
            .extension()
            .is_some_and(|end| end == "rs")
    }

    /// Whether the path has a variable or a block. Most paths have none, and need not be parsed.
    pub fn has_variable_path(self) -> bool {
        self.path.contains('[')
    }
}

/// Templates, parsed.
pub struct Parsed {
    tera: Tera,
    pub templates: Vec<Template>,
}

/// What was parsed, by the folders that were left out. A command that changes a project renders it before and after the
/// change, mostly from the same templates.
static PARSED: Mutex<BTreeMap<Vec<String>, Arc<Parsed>>> = Mutex::new(BTreeMap::new());

/// The most entries of [`PARSED`]. A command needs two; tests render projects with many sets of features.
const MOST_PARSED: usize = 8;

impl Parsed {
    /// The templates that are in none of the folders `unused`.
    ///
    /// # Errors
    /// When a template has a defect.
    pub fn without(unused: Vec<String>) -> Result<Arc<Self>> {
        let mut all = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parsed) = all.get(&unused) {
            return Ok(parsed.clone());
        }
        let parsed = Arc::new(Self::parse(&unused)?);
        if all.len() >= MOST_PARSED {
            all.clear();
        }
        all.insert(unused, parsed.clone());
        Ok(parsed)
    }

    fn parse(unused: &[String]) -> Result<Self> {
        let (mut templates, mut texts) = (Vec::new(), Vec::new());
        for file in files(&TEMPLATES).filter(|file| file.path().extension().is_some()) {
            let template = Template::new(file)?;
            if unused.iter().any(|folder| template.is_in(folder)) {
                continue;
            }
            let text = file.contents_utf8().context("a template is not UTF-8")?;
            // Without the last newline, a template can be included in the middle of a line.
            texts.push((template.name, text.trim_end()));
            if template.has_variable_path() {
                texts.push((template.path, template.path));
            }
            templates.push(template);
        }
        let mut tera = tera()?;
        tera.add_raw_templates(texts)?;
        Ok(Self { tera, templates })
    }

    /// Renders the template `name`, which sees the fields of `context`.
    ///
    /// # Errors
    /// When the template has a defect, such as an unknown name.
    pub fn render(&self, name: &str, context: &Context) -> Result<String> {
        (self.tera.render(name, context))
            .with_context(|| format!("failed to render the template `{name}`"))
    }
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
