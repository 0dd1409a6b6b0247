//! Render: a pure function from a [`Project`] to the files of that project. No clock, no environment,
//! no disk.
//!
//! `templates/` mirrors what it renders to, with one folder for each scope: `project/` is rendered
//! once, `group/` once for each group, and so on. The path of a template is a template too. A template
//! that renders to nothing stands for no file.

mod view;

use std::path::Path;

use anyhow::{Context as _, Result};
use include_dir::{Dir, File, include_dir};
use serde::Serialize;
use tera::{Context, Delimiters, Kwargs, State, Tera, TeraResult};

use crate::{project::Project, reconcile::Texts};

static TEMPLATES: Dir = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// The template of what stands above each Rust file.
const HEADER: &str = "header.tera";

/// Renders all files of `project`.
///
/// # Errors
///
/// Only for a defect in a template, such as an unknown name; the error says in which.
pub fn render(project: &Project) -> Result<Texts> {
    let view = view::Project::new(project)?;
    let mut renderer = Renderer::new(&view)?;
    renderer.scope("project", "project", &[()])?;
    renderer.scope("group", "group", &view.groups)?;
    for group in &view.groups {
        renderer.scope("version", "version", &group.versions)?;
    }
    renderer.scope("api", "api", &view.apis)?;
    renderer.scope("kind", "crd", &view.crds)?;
    renderer.scope("controller", "controller", &view.controllers)?;

    renderer
        .files
        .insert(Project::FILE.to_owned(), project.to_text()?);
    Ok(renderer.files)
}

struct Renderer {
    tera: Tera,
    header: String,
    files: Texts,
}

impl Renderer {
    fn new(view: &view::Project) -> Result<Self> {
        let mut tera = Tera::new();
        // None of these occurs in a rendered file, as `{{` does in Rust and `{#` in shells.
        tera.set_delimiters(Delimiters {
            block_start: "[%".into(),
            block_end: "%]".into(),
            variable_start: "[=".into(),
            variable_end: "=]".into(),
            comment_start: "[#".into(),
            comment_end: "#]".into(),
        })?;
        tera.autoescape_on([""; 0]);
        tera.register_filter("yaml", yaml);
        *tera.global_context() = Context::from_serialize(view)?;

        let files: Vec<_> = files(&TEMPLATES).collect();
        let mut templates = Vec::with_capacity(2 * files.len());
        for file in files {
            let (name, path) = (name(file)?, path(file)?);
            templates.push((
                name,
                file.contents_utf8().context("a template is not UTF-8")?,
            ));
            templates.push((path, path));
        }
        tera.add_raw_templates(templates)?;

        let mut renderer = Self {
            tera,
            header: String::new(),
            files: Texts::new(),
        };
        renderer.header = renderer.text(HEADER, &Context::new())?;
        Ok(renderer)
    }

    /// Renders the templates of the folder `scope` once for each of `items`, which they call `key`.
    fn scope<T: Serialize>(&mut self, scope: &str, key: &'static str, items: &[T]) -> Result<()> {
        let folder = TEMPLATES
            .get_dir(scope)
            .with_context(|| format!("no templates/{scope}"))?;
        for item in items {
            let mut context = Context::new();
            context.insert(key, item);
            for file in files(folder) {
                self.file(file, scope, &context)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, file: &File, scope: &str, context: &Context) -> Result<()> {
        let mut text = self.text(name(file)?, context)?;
        if text.is_empty() {
            return Ok(());
        }
        let path = self.text(path(file)?, context)?;
        let path = path
            .trim_start_matches(scope)
            .trim_matches(['/', '\n'])
            .to_owned();
        let is_rust = Path::new(&path).extension().is_some_and(|it| it == "rs");
        if is_rust && !self.header.is_empty() {
            text = format!("{}\n{text}", self.header);
        }
        self.files.insert(path, text);
        Ok(())
    }

    /// What the template `name` renders to: nothing, or a text that ends in one newline.
    fn text(&self, name: &str, context: &Context) -> Result<String> {
        let text = self
            .tera
            .render(name, context)
            .with_context(|| format!("failed to render the template `{name}`"))?;
        let text = text.trim_matches('\n');
        Ok(if text.is_empty() {
            String::new()
        } else {
            format!("{text}\n")
        })
    }
}

/// A text as a YAML scalar: in quotes where it would be read as something else, such as `on` or `1.5`.
/// By the library that writes the manifests of the rendered operator, so that both agree.
fn yaml(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    let scalar = serde_saphyr::to_string(&text).map_err(tera::Error::message)?;
    Ok(scalar.trim_end().to_owned())
}

/// All files of `folder` and of the folders below it.
fn files<'a>(folder: &'a Dir<'a>) -> Box<dyn Iterator<Item = &'a File<'a>> + 'a> {
    Box::new(folder.files().chain(folder.dirs().flat_map(files)))
}

/// The name of the template in `file`.
fn name<'a>(file: &File<'a>) -> Result<&'a str> {
    file.path()
        .to_str()
        .context("the path of a template is not UTF-8")
}

/// The template of the path that `file` is rendered to, which is its own name as well.
fn path<'a>(file: &File<'a>) -> Result<&'a str> {
    name(file)?
        .strip_suffix(".tera")
        .with_context(|| format!("`{}` must end in .tera", file.path().display()))
}
