//! Render: a pure function from a [`Project`] to the files of that project. It uses no clock, environment or disk.
//!
//! The folders in `templates/` are scopes: `project/` is rendered once, `group/` once for each group, and so on. Below
//! its scope, a template has the path of the file that it renders to. The path is a template too. A template that
//! renders to an empty text makes no file.

mod conventions;
mod rules;
mod view;

pub use self::conventions::CONVENTIONS;

use std::{borrow::Cow, collections::BTreeMap, fmt};

use anyhow::{Context as _, Result, bail, ensure};
use include_dir::File as TemplateFile;
use serde::Serialize;
use serde_json::Value;
use tera::{Context, Delimiters, Kwargs, State, Tera, TeraResult};

use crate::{
    convert::{File, convert},
    engine::{Text, Texts},
    limits::Total,
    project::{Feature, Project, Runtime, yaml::scalar},
    templates::{TEMPLATES, files},
    visible::visible,
};

pub use view::ReplacedRules;

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
    pub conversions: Vec<Conversion>,
    /// The size of all texts together.
    total: Total,
}

/// A file that converts between two versions of a kind. Its code depends on the types of both versions.
#[derive(Debug)]
pub struct Conversion {
    /// The path of the file.
    pub path: String,
    /// The path of the file that lists the versions that are converted.
    pub list: String,
    /// The name of the module of the version that is converted to the hub.
    pub version: String,
    kind: String,
    /// The path of the types of this version, and of the types of the hub.
    types: [String; 2],
    /// The text of the file before the code.
    head: Text,
}

impl Conversion {
    /// Whether `path` is one of the two files with the types.
    pub fn is_of(&self, path: &str) -> bool {
        self.types.iter().any(|it| it == path)
    }

    /// The text of the file, and whether both versions have a status. `types` returns the text of a file.
    pub fn text<'a>(&'a self, types: impl Fn(&'a str) -> Option<Text>) -> (Text, bool) {
        let texts = self.types.each_ref().map(|path| types(path));
        let file = |side: usize| File {
            path: &self.types[side],
            text: texts[side].as_deref(),
        };
        let code = convert(&self.kind, file(0), file(1));
        (
            format!("{}\n{}", self.head, code.text).into(),
            code.has_status,
        )
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
    render_replacing(project, &ReplacedRules::new())
}

/// Like [`render`]. The controllers also have the rules of an operator that the project replaces.
///
/// # Errors
///
/// See [`render`].
pub fn render_replacing(project: &Project, replaced: &ReplacedRules) -> Result<Rendered> {
    let view = view::Project::new(project, replaced)?;
    let mut renderer = Renderer::new(project, &view)?;
    renderer.bodies(&view.controllers)?;
    renderer.scopes(project, &view)?;

    let mut all = renderer.rendered;
    all.convert(project)?;
    if project.runtime == Runtime::Vendored {
        for (template, text) in kube_manager::source::FILES {
            let folder = Runtime::FOLDER;
            let (item, path) = (Item::new("", "", folder), format!("{folder}/{template}"));
            all.insert(path, Text::from(*text), Origin { template, item })?;
        }
    }
    Ok(all)
}

/// The path of each file of `project`, by its origin, without rendering the texts. Includes the files whose template
/// would render to an empty text.
///
/// # Errors
///
/// See [`render`].
pub fn places(project: &Project) -> Result<BTreeMap<Origin, String>> {
    let view = view::Project::new(project, &ReplacedRules::new())?;
    let mut renderer = Renderer::new(project, &view)?;
    renderer.places = Some(BTreeMap::new());
    renderer.scopes(project, &view)?;
    Ok(renderer.places.unwrap_or_default())
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
    /// Adds the code to the files that convert between two versions, of which the templates have the head.
    fn convert(&mut self, project: &Project) -> Result<()> {
        for hub in project.hubs() {
            let spokes = hub.spokes().into_iter().flatten();
            let spokes = spokes.filter_map(|spoke| {
                let mut versions = project.versions(hub);
                versions.find(|it| it.version == *spoke)
            });
            for spoke in spokes {
                let path = project.conversion_file(hub, &spoke.version);
                let conversion = Conversion {
                    list: project.hub_file(hub),
                    version: spoke.version.to_string(),
                    kind: hub.kind.to_string(),
                    types: [spoke, hub].map(|it| project.types_file(it)),
                    head: self.texts.get(&path).cloned().unwrap_or_default(),
                    path,
                };
                let (text, _) = conversion.text(|types| self.texts.get(types).cloned());
                self.total.add(text.len())?;
                self.texts.insert(conversion.path.clone(), text);
                self.conversions.push(conversion);
            }
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

struct Renderer {
    tera: Tera,
    /// The templates that are parsed.
    templates: Vec<Template>,
    header: String,
    rendered: Rendered,
    /// Paths to collect instead of texts, for [`places`].
    places: Option<BTreeMap<Origin, String>>,
}

impl Renderer {
    /// Parses the templates, except those that only items use that the project does not have.
    fn new(project: &Project, view: &view::Project) -> Result<Self> {
        let unused = unused(project, view);
        let mut tera = tera()?;
        *tera.global_context() = Context::from_serialize(view)?;

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
        tera.add_raw_templates(texts)?;

        let mut renderer = Self {
            tera,
            templates,
            header: String::new(),
            rendered: Rendered::default(),
            places: None,
        };
        renderer.header = renderer.text(HEADER, &Context::new())?;
        Ok(renderer)
    }

    /// Renders the templates of each scope for all items of the scope.
    fn scopes(&mut self, project: &Project, view: &view::Project) -> Result<()> {
        self.scope("project", "project", (), &Item::default())?;
        for feature in &project.features {
            let folder = format!("{FEATURE}/{feature}");
            self.scope(&folder, "project", (), &Item::default())?;
        }
        if view.serves_webhooks {
            self.scope("webhooks", "project", (), &Item::default())?;
        }
        for group in &view.groups {
            let name = group.names.key.as_str();
            self.scope("group", "group", group, &Item::new(name, "", ""))?;
            for version in &group.versions {
                let item = Item::new(name, &version.name, "");
                self.scope("version", "version", version, &item)?;
            }
            for version in &group.external_versions {
                let item = Item::new(name, &version.name, "");
                self.scope("external-version", "version", version, &item)?;
            }
        }
        for external in &view.externals {
            let kind = &external.kind;
            let item = Item::new(kind.group.key.as_str(), &kind.version, &kind.kind);
            self.scope("external", "external", external, &item)?;
        }
        for api in &view.apis {
            let (group, kind) = (api.kind.group.key.as_str(), &api.kind.kind);
            let item = Item::new(group, &api.kind.version, kind);
            self.scope("api", "api", api, &item)?;
        }
        for crd in &view.crds {
            let kind = &crd.stored.kind;
            let item = Item::new(kind.group.key.as_str(), "", &kind.kind);
            self.scope("kind", "crd", crd, &item)?;
        }
        for controller in &view.controllers {
            // The item has no kind and version, because the name of a controller is unique in its group.
            let group = controller.kind.group.key.as_str();
            let item = Item::new(group, "", &controller.short_name);
            self.scope("controller", "controller", controller, &item)?;
        }
        for webhook in &view.webhooks {
            let (group, kind) = (webhook.kind.group.key.as_str(), &webhook.kind.kind);
            self.scope("webhook", "webhook", webhook, &Item::new(group, "", kind))?;
        }
        Ok(())
    }

    /// Renders the templates in the folder `scope` for `item`, which the templates call `name`. `key` identifies the
    /// item without the domain.
    fn scope(&mut self, scope: &str, name: &str, item: impl Serialize, key: &Item) -> Result<()> {
        let templates = self.templates.iter().filter(|it| it.is_in(scope));
        let templates: Vec<_> = templates.copied().collect();
        // A feature need not have files of its own.
        ensure!(
            !templates.is_empty() || scope.starts_with(FEATURE),
            "no templates/{scope}"
        );
        let mut context = Context::new();
        context.insert(name.to_owned(), &item);
        for template in templates {
            self.file(template, scope, &context, key)?;
        }
        Ok(())
    }

    /// Renders the bodies of the functions that build the owned objects of each controller. The template of a
    /// controller gets them as `bodies`, because the name in an `include` cannot be computed.
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

    fn file(
        &mut self,
        template: Template,
        scope: &str,
        context: &Context,
        item: &Item,
    ) -> Result<()> {
        let origin = Origin {
            template: template.name,
            item: item.clone(),
        };
        let place = |renderer: &Self| -> Result<String> {
            let path = if template.has_variable_path() {
                Cow::from(renderer.text(template.path, context)?)
            } else {
                Cow::from(template.path)
            };
            let path = path.strip_prefix(scope).unwrap_or(&path);
            Ok(path.trim_matches(['/', '\n']).to_owned())
        };
        if self.places.is_some() {
            let path = place(self)?;
            self.places.get_or_insert_default().insert(origin, path);
            return Ok(());
        }
        let text = self.text(template.name, context)?;
        if text.is_empty() {
            return Ok(());
        }
        self.insert(place(self)?, text, origin)
    }

    /// Adds a file. A Rust file gets the header.
    fn insert(&mut self, path: String, mut text: String, origin: Origin) -> Result<()> {
        let is_rust = path.rsplit_once('.').is_some_and(|(_, end)| end == "rs");
        if is_rust && !self.header.is_empty() {
            text = format!("{}\n{text}", self.header);
        }
        self.rendered.insert(path, text.into(), origin)
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
    let features = Feature::all().iter();
    let features = features.filter(|feature| !project.features.contains(feature));
    let mut unused: Vec<_> = features
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
        let name = file.path().to_str();
        let name = name.context("the path of a template is not UTF-8")?;
        let path = name.strip_suffix(".tera");
        let path = path.with_context(|| format!("`{name}` must end in .tera"))?;
        Ok(Self { name, path })
    }

    /// Whether the template is below `folder`.
    fn is_in(self, folder: &str) -> bool {
        let rest = self.name.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether the path has a variable or a block. Most paths have none, and need not be parsed.
    fn has_variable_path(self) -> bool {
        self.path.contains('[')
    }
}

#[cfg(test)]
mod tests;
