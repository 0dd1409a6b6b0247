//! Render: a pure function from a [`Project`] to the files of that project. No clock, no environment,
//! no disk.
//!
//! `templates/` mirrors what it renders to, with one folder for each scope: `project/` is rendered
//! once, `group/` once for each group, and so on. The path of a template is a template too. A template
//! that renders to nothing stands for no file.

mod view;

use std::{collections::BTreeMap, fmt};

use anyhow::{Context as _, Result, bail, ensure};
use include_dir::File;
use serde::Serialize;
use tera::{Context, Delimiters, Kwargs, State, Tera, TeraResult};

use crate::{
    limits::Total,
    project::{Project, Runtime},
    reconcile::Texts,
    templates::{TEMPLATES, files},
};

/// The template of what stands above each Rust file.
const HEADER: &str = "header.tera";

/// The folder of the templates of features, each of which has a folder there if it has files of its
/// own.
const FEATURE: &str = "feature";

/// The files of a project, without `PROJECT`.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The text of each file.
    pub texts: Texts,
    /// The origin of each file.
    pub origins: BTreeMap<String, Origin>,
    /// How long the texts are together.
    total: Total,
}

/// The template and the item from which a file is rendered. An origin contains neither the name nor
/// the domain of the project: when they change, a file may get another path, but keeps its origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    template: &'static str,
    item: Item,
}

/// What a template is rendered for, such as `webapp/v1/Guestbook`. What does not belong to the name of
/// an item is empty, as everything is for the project itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Item {
    /// The group as `PROJECT` has it.
    group: String,
    version: String,
    /// The kind, or the controller.
    name: String,
}

impl Item {
    fn new(group: &str, version: &str, name: &str) -> Self {
        let [group, version, name] = [group, version, name].map(str::to_owned);
        Self {
            group,
            version,
            name,
        }
    }
}

impl Origin {
    /// The API group of its item; empty for the project itself, and where the domain alone is the group.
    pub fn group(&self) -> &str {
        &self.item.group
    }

    /// The kind of its item, if that is a version of a kind of the project.
    pub fn kind(&self) -> Option<&str> {
        let Item { version, name, .. } = &self.item;
        (!version.is_empty() && !name.is_empty()).then_some(name)
    }

    /// The origin of the same file for an item of another group.
    #[must_use]
    pub fn in_group(&self, group: &str) -> Self {
        let mut origin = self.clone();
        group.clone_into(&mut origin.item.group);
        origin
    }

    /// The origin of the same file for another version.
    #[must_use]
    pub fn in_version(&self, version: &str) -> Self {
        let mut origin = self.clone();
        version.clone_into(&mut origin.item.version);
        origin
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Item {
            group,
            version,
            name,
        } = &self.item;
        let parts = [group, version, name].map(String::as_str);
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        write!(f, "`{}`", self.template)?;
        if !parts.is_empty() {
            write!(f, " for `{}`", parts.join("/"))?;
        }
        Ok(())
    }
}

/// Renders all files of `project` but `PROJECT`.
///
/// # Errors
///
/// For a defect in a template, such as an unknown name, or two templates that render to one path;
/// the error names the template. And when all files together are too large.
pub fn render(project: &Project) -> Result<Rendered> {
    let view = view::Project::new(project)?;
    let mut renderer = Renderer::new(&view)?;
    renderer.bodies(&view.controllers)?;
    renderer.scope("project", "project", (), &Item::default())?;
    for feature in &project.features {
        let folder = format!("{FEATURE}/{feature}");
        renderer.scope(&folder, "project", (), &Item::default())?;
    }
    for group in &view.groups {
        let name = group.names.key.as_str();
        renderer.scope("group", "group", group, &Item::new(name, "", ""))?;
        for version in &group.versions {
            let item = Item::new(name, &version.name, "");
            renderer.scope("version", "version", version, &item)?;
        }
        for version in &group.external_versions {
            let item = Item::new(name, &version.name, "");
            renderer.scope("external-version", "version", version, &item)?;
        }
    }
    for external in &view.externals {
        let kind = &external.kind;
        let item = Item::new(kind.group.key.as_str(), &kind.version, &kind.kind);
        renderer.scope("external", "external", external, &item)?;
    }
    for api in &view.apis {
        let (group, kind) = (api.kind.group.key.as_str(), &api.kind.kind);
        let item = Item::new(group, &api.kind.version, kind);
        renderer.scope("api", "api", api, &item)?;
    }
    for crd in &view.crds {
        let kind = &crd.stored.kind;
        let item = Item::new(kind.group.key.as_str(), "", &kind.kind);
        renderer.scope("kind", "crd", crd, &item)?;
    }
    for controller in &view.controllers {
        // Without the kind and its version, because a group has no two controllers with one name.
        let group = controller.kind.group.key.as_str();
        let item = Item::new(group, "", &controller.short_name);
        renderer.scope("controller", "controller", controller, &item)?;
    }
    for webhook in &view.webhooks {
        let (group, kind) = (webhook.kind.group.key.as_str(), &webhook.kind.kind);
        renderer.scope("webhook", "webhook", webhook, &Item::new(group, "", kind))?;
    }

    let mut all = renderer.rendered;
    if project.runtime == Runtime::Vendored {
        for (template, text) in kube_manager::source::FILES {
            let folder = Runtime::FOLDER;
            let (item, path) = (Item::new("", "", folder), format!("{folder}/{template}"));
            all.insert(path, (*text).to_owned(), Origin { template, item })?;
        }
    }
    Ok(all)
}

/// The text of a vendored file, whether the project has it or not.
pub fn vendored(path: &str) -> Option<&'static str> {
    let path = path.strip_prefix(Runtime::FOLDER)?.strip_prefix('/')?;
    let file = kube_manager::source::FILES
        .iter()
        .find(|file| file.0 == path);
    file.map(|(_, text)| *text)
}

impl Rendered {
    fn insert(&mut self, path: String, text: String, origin: Origin) -> Result<()> {
        if let Some(other) = self.origins.get(&path) {
            bail!("{other} and {origin} both render to `{path}`");
        }
        self.total.add(text.len())?;
        self.origins.insert(path.clone(), origin);
        self.texts.insert(path, text);
        Ok(())
    }
}

struct Renderer {
    tera: Tera,
    header: String,
    rendered: Rendered,
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
        tera.register_filter("rust", rust);
        *tera.global_context() = Context::from_serialize(view)?;

        let mut templates = Vec::new();
        for file in files(&TEMPLATES).filter(|file| file.path().extension().is_some()) {
            let (name, path) = (template(file)?, path(file)?);
            let text = file.contents_utf8().context("a template is not UTF-8")?;
            // Without the last line end, a part can stand in the middle of a line.
            templates.push((name, text.trim_end()));
            templates.push((path, path));
        }
        tera.add_raw_templates(templates)?;

        let mut renderer = Self {
            tera,
            header: String::new(),
            rendered: Rendered::default(),
        };
        renderer.header = renderer.text(HEADER, &Context::new())?;
        Ok(renderer)
    }

    /// Renders the templates in the folder `scope` for `item`, which they call `name`. `key` tells the
    /// item from the others, without the domain.
    fn scope(&mut self, scope: &str, name: &str, item: impl Serialize, key: &Item) -> Result<()> {
        let Some(folder) = TEMPLATES.get_dir(scope) else {
            ensure!(scope.starts_with(FEATURE), "no templates/{scope}");
            return Ok(());
        };
        let mut context = Context::new();
        context.insert(name.to_owned(), &item);
        for file in files(folder) {
            let origin = Origin {
                template: template(file)?,
                item: key.clone(),
            };
            self.file(file, scope, &context, origin)?;
        }
        Ok(())
    }

    /// Renders the bodies of the functions that say what each controller makes. The template of a
    /// controller gets them as `bodies`, because an `include` cannot have a computed name.
    fn bodies(&mut self, controllers: &[view::Controller]) -> Result<()> {
        let mut bodies = BTreeMap::new();
        for controller in controllers {
            let mut context = Context::new();
            context.insert("controller", controller);
            let mut texts = Vec::new();
            for owned in &controller.owns {
                context.insert("owned", owned);
                let text = self.text(owned.template, &context)?;
                texts.push(text.trim_end().to_owned());
            }
            bodies.insert(&controller.name, texts);
        }
        self.tera.global_context().insert("bodies", &bodies);
        Ok(())
    }

    fn file(&mut self, file: &File, scope: &str, context: &Context, origin: Origin) -> Result<()> {
        let text = self.text(origin.template, context)?;
        if text.is_empty() {
            return Ok(());
        }
        let path = self.text(path(file)?, context)?;
        let path = path.strip_prefix(scope).unwrap_or(&path);
        self.insert(path.trim_matches(['/', '\n']), &text, origin)
    }

    /// Adds a file, with the header above it if it is one of Rust.
    fn insert(&mut self, path: &str, text: &str, origin: Origin) -> Result<()> {
        let is_rust = path.rsplit_once('.').is_some_and(|(_, end)| end == "rs");
        let text = match self.header.as_str() {
            header if is_rust && !header.is_empty() => format!("{header}\n{text}"),
            _ => text.to_owned(),
        };
        self.rendered.insert(path.to_owned(), text, origin)
    }

    /// What the template `name` renders to: nothing, or a text that ends in one newline.
    fn text(&self, name: &str, context: &Context) -> Result<String> {
        let text = self
            .tera
            .render(name, context)
            .with_context(|| format!("failed to render the template `{name}`"))?;
        Ok(match text.trim_matches('\n') {
            "" => String::new(),
            text => format!("{text}\n"),
        })
    }
}

/// A text as a YAML scalar: in quotes where it would be read as something else, such as `on` or `1.5`.
/// By the library that writes the manifests of the rendered operator, so that both agree.
fn yaml(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    let mut options = serde_yaml::SerializerOptions::default();
    // On one line, whatever its length.
    options.folded_wrap_chars = usize::MAX;
    let mut scalar = String::new();
    serde_yaml::to_fmt_writer_with_options(&mut scalar, &text, options)
        .map_err(tera::Error::message)?;
    Ok(scalar.trim_end().to_owned())
}

/// A text as a literal of Rust.
#[expect(clippy::unnecessary_wraps, reason = "what a filter is")]
fn rust(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    Ok(format!("{text:?}"))
}

/// The name of the template in `file`.
fn template<'a>(file: &File<'a>) -> Result<&'a str> {
    file.path()
        .to_str()
        .context("the path of a template is not UTF-8")
}

/// The template of the path that `file` is rendered to, which is its own name as well.
fn path<'a>(file: &File<'a>) -> Result<&'a str> {
    template(file)?
        .strip_suffix(".tera")
        .with_context(|| format!("`{}` must end in .tera", file.path().display()))
}

#[cfg(test)]
mod tests;
