//! Render: a pure function from a [`Project`] to the files of that project. It uses no clock, environment or disk.
//!
//! The folders in `templates/` are scopes: `project/` is rendered once, `group/` once for each group, and so on. Below
//! its scope, a template has the path of the file that it renders to. The path is a template too. A template that
//! renders to an empty text makes no file.

mod conventions;
pub mod convert;
mod rules;
mod templates;
mod view;

pub use self::{conventions::CONVENTIONS, view::ReplacedRules};

use std::{borrow::Cow, collections::BTreeMap, fmt};

use anyhow::{Context as _, Result, bail, ensure};
use include_dir::File as TemplateFile;
use serde::Serialize;
use serde_json::Value;
use tera::{Context, Delimiters, Kwargs, State, Tera, TeraResult};

use crate::{
    engine::{Text, Texts},
    limits::Total,
    project::{Feature, Project, Runtime},
    render::convert::{File, convert},
    render::templates::{TEMPLATES, files},
    visible::visible,
    yaml::scalar,
};

/// The template of the header of each Rust file.
const HEADER: &str = "header.tera";

/// The folder of the templates of features. A feature with its own files has a folder in it.
const FEATURE: &str = "feature";

/// The folder of templates that are no part of a project's desired state: what a command writes once.
const ONCE: &str = "once";

/// The files of a project, except `PROJECT`.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The text of each file.
    pub texts: Texts,
    /// The origin of each file.
    pub origins: BTreeMap<String, Origin>,
    /// The files that convert between two versions of a kind.
    pub conversions: Vec<ConversionFile>,
    /// The size of all texts together.
    total: Total,
}

/// A file that converts between two versions of a kind. Its code depends on the types of both versions.
#[derive(Debug)]
pub struct ConversionFile {
    /// The path of the file.
    pub path: String,
    /// The path of the file that lists the versions that are converted.
    pub list: String,
    /// The name of the version that is converted to the hub.
    pub version: String,
    kind: String,
    /// The path of the types of this version.
    spoke: String,
    /// The path of the types of the hub.
    hub: String,
    /// The text of the file before the code.
    head: Text,
}

impl ConversionFile {
    /// Whether `path` is one of the two files with the types.
    pub fn is_of(&self, path: &str) -> bool {
        path == self.spoke || path == self.hub
    }

    /// The text of the file, and whether both versions have a status. `types` returns the text of a file.
    pub fn text(&self, types: impl Fn(&str) -> Option<Text>) -> (Text, bool) {
        let (spoke, hub) = (types(&self.spoke), types(&self.hub));
        let code = convert(
            &self.kind,
            File {
                path: &self.spoke,
                text: spoke.as_deref(),
            },
            File {
                path: &self.hub,
                text: hub.as_deref(),
            },
        );
        let text = format!("{}\n{}", self.head, code.text);
        (text.into(), code.has_status)
    }
}

/// The template and the item from which a file is rendered. An origin contains neither the name nor the domain of the
/// project: when these change, a file may get another path, but keeps its origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    template: &'static str,
    item: Item,
}

/// The item for which a template is rendered, such as `webapp/v1/Guestbook`. Parts that do not apply are empty; for the
/// project itself, all of them are.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Item {
    /// The group, spelled as in `PROJECT`.
    group: String,
    version: String,
    /// The kind or the controller.
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
    /// The API group of the item; empty for the project itself, and if the domain is the whole group.
    pub fn group(&self) -> &str {
        &self.item.group
    }

    /// The kind of the item, if the item is a version of a kind of the project.
    pub fn kind(&self) -> Option<&str> {
        let Item { version, name, .. } = &self.item;
        (!version.is_empty() && !name.is_empty()).then_some(name)
    }

    /// The origin of the same template for an item of another group.
    #[must_use]
    pub fn in_group(&self, group: &str) -> Self {
        let mut origin = self.clone();
        group.clone_into(&mut origin.item.group);
        origin
    }

    /// The origin of the same template for another version.
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

/// Renders all files of `project`, except `PROJECT`.
///
/// # Errors
///
/// When a template has a defect, such as an unknown name; when two templates render to the same path; and when all
/// files together are too large. The error names the template.
pub fn render(project: &Project) -> Result<Rendered> {
    Templates::new(project)?.render()
}

/// The path of each file of `project`, by its origin, without rendering the texts. Includes the files whose template
/// would render to an empty text.
///
/// # Errors
///
/// See [`render`].
pub fn places(project: &Project) -> Result<BTreeMap<Origin, String>> {
    let templates = Templates::new(project)?;
    let mut places = BTreeMap::new();
    templates.visit(None, &mut |file| {
        places.insert(file.origin(), templates.path(file)?);
        Ok(())
    })?;
    Ok(places)
}

/// Renders a document that a command writes once, from the template `once/<name>.tera`. The texts in `context` may come
/// from files that nobody checked: each stays on one line, and hidden characters are shown as escapes.
///
/// # Errors
///
/// When the template has a defect.
pub fn document(name: &str, context: &impl Serialize) -> Result<Text> {
    let template = format!("{ONCE}/{name}.tera");
    let file = TEMPLATES.get_file(&template);
    let text = file.and_then(TemplateFile::contents_utf8);
    let text = text.with_context(|| format!("there is no template `{template}`"))?;
    let mut values = serde_json::to_value(context)?;
    show(&mut values);
    let mut tera = tera()?;
    tera.add_raw_template(&template, text)?;
    let rendered = tera.render(&template, &Context::from_serialize(&values)?);
    let rendered =
        rendered.with_context(|| format!("failed to render the template `{template}`"))?;
    Ok(format!("{}\n", rendered.trim_matches('\n')).into())
}

/// Escapes the hidden characters in all texts of `value`.
fn show(value: &mut Value) {
    match value {
        Value::String(text) => *text = visible(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(show),
        Value::Object(fields) => fields.values_mut().for_each(show),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The template engine, without templates.
fn tera() -> Result<Tera> {
    let mut tera = Tera::new();
    // None of these delimiters occurs in a rendered file, unlike `{{` in Rust and `{#` in shells.
    tera.set_delimiters(Delimiters {
        block_start: "[%".into(),
        block_end: "%]".into(),
        variable_start: "[=".into(),
        variable_end: "=]".into(),
        comment_start: "[#".into(),
        comment_end: "#]".into(),
    })?;
    tera.autoescape_on([""; 0]);
    tera.register_filter("cell", cell);
    tera.register_filter("rust", rust);
    tera.register_filter("yaml", yaml);
    Ok(tera)
}

impl Rendered {
    /// Renders the file at `path` again, from the same template and item. The template also gets `addition`, which does
    /// not follow from `PROJECT`, under `name`. Returns `None` if the project does not have the file.
    ///
    /// # Errors
    /// When the template has a defect.
    pub fn file_with(
        &self,
        templates: &Templates,
        path: &str,
        name: &'static str,
        addition: &impl Serialize,
    ) -> Result<Option<Text>> {
        let mut additions = Context::new();
        additions.insert(name, addition);
        self.again(templates, path, &additions)
    }

    /// Renders the file at `path` again, with `templates`. Returns `None` if the project does not have the file.
    ///
    /// # Errors
    /// When the template has a defect.
    pub fn file(&self, templates: &Templates, path: &str) -> Result<Option<Text>> {
        self.again(templates, path, &Context::new())
    }

    fn again(
        &self,
        templates: &Templates,
        path: &str,
        additions: &Context,
    ) -> Result<Option<Text>> {
        let mut text = None;
        if let Some(origin) = self.origins.get(path) {
            templates.visit(Some(origin), &mut |file| {
                let mut context = file.context.clone();
                context.extend(additions.clone());
                text = Some(templates.text_of(file.template, &context)?.into());
                Ok(())
            })?;
        }
        Ok(text)
    }

    /// Adds the code to the files that convert between two versions, of which the templates have the head.
    fn convert(&mut self, project: &Project) -> Result<()> {
        for spoke in project.resources.iter() {
            let Some(hub) = project.hub_of_spoke(spoke) else {
                continue;
            };
            let path = project.conversion_file(hub, &spoke.version);
            let Some(head) = self.texts.get(&path).cloned() else {
                continue;
            };
            let conversion = ConversionFile {
                list: project.hub_file(hub),
                version: spoke.version.to_string(),
                kind: hub.kind.to_string(),
                spoke: project.types_file(spoke),
                hub: project.types_file(hub),
                head,
                path,
            };
            let (text, _) = conversion.text(|types| self.texts.get(types).cloned());
            self.total.add(text.len())?;
            self.texts.insert(conversion.path.clone(), text);
            self.conversions.push(conversion);
        }
        Ok(())
    }

    fn insert(&mut self, path: String, text: Text, origin: Origin) -> Result<()> {
        if let Some(other) = self.origins.get(&path) {
            bail!("{other} and {origin} both render to `{path}`");
        }
        self.total.add(text.len())?;
        self.origins.insert(path.clone(), origin);
        self.texts.insert(path, text);
        Ok(())
    }
}

/// A file that can be rendered: a template and one of its items.
struct Renderable<'a> {
    template: Template,
    /// The folder of templates.
    scope: &'a str,
    item: &'a Item,
    context: &'a Context,
}

impl Renderable<'_> {
    fn origin(&self) -> Origin {
        Origin {
            template: self.template.name,
            item: self.item.clone(),
        }
    }
}

/// Visits files that can be rendered.
struct Visitor<'a> {
    templates: &'a [Template],
    /// The only file to visit.
    only: Option<&'a Origin>,
    visit: &'a mut dyn FnMut(&Renderable) -> Result<()>,
}

impl Visitor<'_> {
    /// Visits the files of the templates in the folder `scope` for `data`, which the templates call `name`. `item`
    /// identifies the data without the domain.
    fn scope(
        &mut self,
        scope: &str,
        name: &'static str,
        data: impl Serialize,
        item: &Item,
    ) -> Result<()> {
        let mut templates: Vec<_> = (self.templates.iter().copied())
            .filter(|template| template.is_in(scope))
            .collect();
        // A feature need not have files of its own.
        ensure!(
            !templates.is_empty() || scope.starts_with(FEATURE),
            "no templates/{scope}"
        );
        if let Some(origin) = self.only {
            templates.retain(|template| template.name == origin.template && *item == origin.item);
        }
        if templates.is_empty() {
            return Ok(());
        }
        let mut context = Context::new();
        context.insert(name, &data);
        for template in templates {
            (self.visit)(&Renderable {
                template,
                scope,
                item,
                context: &context,
            })?;
        }
        Ok(())
    }
}

/// The templates, and the data that they see. They need more memory than the rendered files.
pub struct Templates<'a> {
    project: &'a Project,
    view: view::Project,
    tera: Tera,
    parsed: Vec<Template>,
    header: String,
}

impl<'a> Templates<'a> {
    /// Parses the templates, except those that only items use that the project does not have.
    ///
    /// # Errors
    /// When a template has a defect.
    pub fn new(project: &'a Project) -> Result<Self> {
        Self::of(project, &ReplacedRules::new())
    }

    /// The templates for single files with `replaced`, the rules of an operator that the project replaces.
    ///
    /// # Errors
    /// When a template has a defect.
    pub fn replacing(project: &'a Project, replaced: &ReplacedRules) -> Result<Self> {
        let mut templates = Self::of(project, replaced)?;
        templates.bodies()?;
        Ok(templates)
    }

    fn of(project: &'a Project, replaced: &ReplacedRules) -> Result<Self> {
        let view = view::Project::new(project, replaced)?;
        let unused = unused(project, &view);
        let mut tera = tera()?;
        *tera.global_context() = Context::from_serialize(&view)?;

        let (mut parsed, mut texts) = (Vec::new(), Vec::new());
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
            parsed.push(template);
        }
        tera.add_raw_templates(texts)?;

        let mut templates = Self {
            project,
            view,
            tera,
            parsed,
            header: String::new(),
        };
        templates.header = templates.text(HEADER, &Context::new())?;
        Ok(templates)
    }

    /// Renders all files of the project, except `PROJECT`.
    ///
    /// # Errors
    /// See [`render`].
    pub fn render(&mut self) -> Result<Rendered> {
        self.bodies()?;
        let mut rendered = Rendered::default();
        self.visit(None, &mut |file| {
            let text = self.text_of(file.template, file.context)?;
            if text.is_empty() {
                return Ok(());
            }
            rendered.insert(self.path(file)?, text.into(), file.origin())
        })?;
        rendered.convert(self.project)?;
        if self.project.runtime == Runtime::Vendored {
            for (template, text) in kube_manager::source::FILES {
                let folder = Runtime::FOLDER;
                let (item, path) = (Item::new("", "", folder), format!("{folder}/{template}"));
                rendered.insert(path, Text::from(*text), Origin { template, item })?;
            }
        }
        Ok(rendered)
    }

    /// Calls `visit` for each file that can be rendered, or for the one of `only`: for the templates of each scope, and
    /// all items of the scope.
    fn visit(
        &self,
        only: Option<&Origin>,
        visit: &mut dyn FnMut(&Renderable) -> Result<()>,
    ) -> Result<()> {
        let view = &self.view;
        let mut visitor = Visitor {
            templates: &self.parsed,
            only,
            visit,
        };
        visitor.scope("project", "project", (), &Item::default())?;
        // The templates of features that the project does not have are not parsed.
        for feature in Feature::all() {
            let folder = format!("{FEATURE}/{feature}");
            visitor.scope(&folder, "project", (), &Item::default())?;
        }
        if view.serves_webhooks {
            visitor.scope("webhooks", "project", (), &Item::default())?;
        }
        for group in &view.groups {
            let name = group.names.key.as_str();
            visitor.scope("group", "group", group, &Item::new(name, "", ""))?;
            for version in group.versions.values() {
                let item = Item::new(name, &version.name, "");
                visitor.scope("version", "version", version, &item)?;
            }
            for version in group.external_versions.values() {
                let item = Item::new(name, &version.name, "");
                visitor.scope("external-version", "version", version, &item)?;
            }
        }
        for external in &view.externals {
            let kind = &external.kind;
            let item = Item::new(kind.group.key.as_str(), &kind.version, &kind.kind);
            visitor.scope("external", "external", external, &item)?;
        }
        for api in &view.apis {
            let (group, kind) = (api.kind.group.key.as_str(), &api.kind.kind);
            let item = Item::new(group, &api.kind.version, kind);
            visitor.scope("api", "api", api, &item)?;
        }
        for crd in &view.crds {
            let kind = &crd.stored.kind;
            let item = Item::new(kind.group.key.as_str(), "", &kind.kind);
            visitor.scope("kind", "crd", crd, &item)?;
        }
        for controller in &view.controllers {
            // The item has no kind and version, because the name of a controller is unique in its group.
            let group = controller.kind.group.key.as_str();
            let item = Item::new(group, "", &controller.short_name);
            visitor.scope("controller", "controller", controller, &item)?;
        }
        for webhook in &view.webhooks {
            let (group, kind) = (webhook.kind.group.key.as_str(), &webhook.kind.kind);
            let item = Item::new(group, "", kind);
            visitor.scope("webhook", "webhook", webhook, &item)?;
        }
        Ok(())
    }

    /// Renders the bodies of the functions that build the owned objects of each controller. The template of a
    /// controller gets them as `bodies`, because the name in an `include` cannot be computed.
    fn bodies(&mut self) -> Result<()> {
        let mut bodies = BTreeMap::new();
        for controller in &self.view.controllers {
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

    fn path(&self, file: &Renderable) -> Result<String> {
        let path = if file.template.has_variable_path() {
            Cow::from(self.text(file.template.path, file.context)?)
        } else {
            Cow::from(file.template.path)
        };
        let below = path.strip_prefix(file.scope).unwrap_or(&path);
        Ok(below.trim_matches(['/', '\n']).to_owned())
    }

    /// The text of a file. A Rust file gets the header.
    fn text_of(&self, template: Template, context: &Context) -> Result<String> {
        let text = self.text(template.name, context)?;
        let has_header = !text.is_empty() && !self.header.is_empty() && template.is_rust();
        Ok(if has_header {
            format!("{}\n{text}", self.header)
        } else {
            text
        })
    }

    /// The text that the template `name` renders to: empty, or with exactly one newline at the end.
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

/// The folders of the templates that `project` does not need: those of the features and items that it does not have.
/// To parse them too would make `init` a quarter slower.
fn unused(project: &Project, view: &view::Project) -> Vec<String> {
    let mut unused: Vec<_> = (Feature::all().iter())
        .filter(|feature| !project.features.contains(feature))
        .map(|feature| format!("{FEATURE}/{feature}"))
        .collect();
    unused.push(ONCE.to_owned());
    for (is_unused, folders) in [
        (view.apis.is_empty(), &["api", "kind", "version"][..]),
        (
            view.controllers.is_empty(),
            &["controller", "part/controller", "owned"],
        ),
        (view.externals.is_empty(), &["external", "external-version"]),
        (view.webhooks.is_empty(), &["webhook"]),
        (!view.serves_webhooks, &["webhooks", "part/webhook"]),
    ] {
        if is_unused {
            unused.extend(folders.iter().map(|folder| (*folder).to_owned()));
        }
    }
    unused
}

/// A filter: a text as a YAML scalar.
fn yaml(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    scalar(text).map_err(tera::Error::message)
}

/// A filter: a text as a Rust literal.
#[expect(clippy::unnecessary_wraps, reason = "what a filter is")]
fn rust(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    Ok(format!("{text:?}"))
}

/// A filter: a text as code in a cell of a Markdown table, or `-` for an empty text.
#[expect(clippy::unnecessary_wraps, reason = "what a filter is")]
fn cell(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    Ok(match text {
        "" => "-".to_owned(),
        text => format!("`{}`", text.replace('|', "\\|").replace('`', "'")),
    })
}

/// A template, without its text.
#[derive(Debug, Clone, Copy)]
struct Template {
    /// The path in the folder `templates`.
    name: &'static str,
    /// The template of the path of the rendered file. Its name is the same text.
    path: &'static str,
}

impl Template {
    fn new(file: &TemplateFile<'static>) -> Result<Self> {
        let name = (file.path().to_str()).context("the path of a template is not UTF-8")?;
        let path = name
            .strip_suffix(".tera")
            .with_context(|| format!("`{name}` must end in .tera"))?;
        Ok(Self { name, path })
    }

    /// Whether the template is below `folder`.
    fn is_in(self, folder: &str) -> bool {
        let rest = self.name.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether the template renders Rust code.
    fn is_rust(self) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, end)| end == "rs")
    }

    /// Whether the path has a variable or a block. Most paths have none, and need not be parsed.
    fn has_variable_path(self) -> bool {
        self.path.contains('[')
    }
}

#[cfg(test)]
mod tests;
