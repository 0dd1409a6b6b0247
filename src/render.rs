//! Render: a pure function from a [`Project`] to the files of that project. It uses no clock, environment or disk.
//!
//! The folders in `templates/` are scopes: `project/` is rendered once, `group/` once for each group, and so on. Below
//! its scope, a template has the path of the file that it renders to. The path is a template too. A template that
//! renders to an empty text makes no file.

mod conventions;
pub mod convert;
mod document;
mod origin;
mod rules;
mod syntax;
mod templates;
mod vendored;
mod view;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;
use tera::Context;

pub use self::{
    conventions::CONVENTIONS, convert::ConversionFile, document::document, origin::Origin,
    view::ReplacedRules,
};
use self::{
    document::ONCE,
    origin::Item,
    templates::{Parsed, Template},
};
use crate::{
    engine::{Text, Texts},
    limits::Total,
    project::{Feature, Project, Runtime},
};

/// The template of the header of each Rust file.
const HEADER: &str = "header.tera";

/// The folder of the templates of features. A feature with its own files has a folder in it.
const FEATURE: &str = "feature";

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

impl Rendered {
    /// Renders the file at `path` again, from the same template and item. The template also gets the fields of
    /// `additions`, which do not follow from `PROJECT`. Returns `None` if the project does not have the file.
    ///
    /// # Errors
    /// When the template has a defect.
    pub fn file(
        &self,
        templates: &Templates,
        path: impl Into<String>,
        additions: &Value,
    ) -> Result<Option<(String, Text)>> {
        let (path, mut text) = (path.into(), None);
        if let Some(origin) = self.origins.get(&path) {
            templates.visit(Some(origin), &mut |file| {
                let mut context = file.context.clone();
                context.extend(Context::from_serialize(additions)?);
                text = Some(templates.text_of(file.template, &context)?.into());
                Ok(())
            })?;
        }
        Ok(text.map(|text| (path, text)))
    }

    /// Renders the files at these paths again, each with its additions, as [`Rendered::file`] does.
    ///
    /// # Errors
    /// When a template has a defect.
    pub fn files(
        &self,
        templates: &Templates,
        additions: &BTreeMap<String, Value>,
    ) -> Result<Texts> {
        let mut texts = Texts::new();
        for (path, additions) in additions {
            texts.extend(self.file(templates, path, additions)?);
        }
        Ok(texts)
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
    /// What every template sees.
    context: &'a Context,
    /// The only file to visit.
    only: Option<&'a Origin>,
    visit: &'a mut dyn FnMut(&Renderable) -> Result<()>,
}

impl Visitor<'_> {
    /// Visits the files of the templates in the folder `scope` for `data`, which the templates call `name`. `item`
    /// identifies the data. It has no domain, so the files keep their origin when the domain changes.
    fn scope(
        &mut self,
        scope: &str,
        name: &'static str,
        data: impl Serialize,
        item: &Item,
    ) -> Result<()> {
        let mut templates = self.templates.to_vec();
        templates.retain(|template| template.is_in(scope));
        if let Some(origin) = self.only {
            templates.retain(|template| template.name == origin.template && *item == origin.item);
        }
        if templates.is_empty() {
            return Ok(());
        }
        let mut context = self.context.clone();
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

/// The templates, and the data that they see.
pub struct Templates<'a> {
    project: &'a Project,
    view: view::Project,
    parsed: Arc<Parsed>,
    /// What every template sees.
    context: Context,
    header: String,
}

impl<'a> Templates<'a> {
    /// The templates for the files of `project`.
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
        let mut templates = Self {
            project,
            parsed: Parsed::without(unused(project, &view))?,
            context: Context::from_serialize(&view)?,
            view,
            header: String::new(),
        };
        templates.header = templates.text(HEADER, &templates.context)?;
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
            for (template, path, text) in vendored::files(self.project) {
                let item = Item::new("", "", Runtime::FOLDER);
                rendered.insert(path, text.into(), Origin { template, item })?;
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
            templates: &self.parsed.templates,
            context: &self.context,
            only,
            visit,
        };
        // The templates of a folder that the project does not need are not parsed, so the folder renders no file.
        let features = (Feature::all().iter()).map(|feature| format!("{FEATURE}/{feature}"));
        let folders = ["project", "vendored", "webhooks"].map(str::to_owned);
        for folder in folders.into_iter().chain(features) {
            visitor.scope(&folder, "project", (), &Item::default())?;
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
            let item = Item::of_version(external);
            visitor.scope("external", "external", external, &item)?;
        }
        for api in &view.apis {
            visitor.scope("api", "api", api, &Item::of_version(&api.kind))?;
        }
        for crd in &view.crds {
            visitor.scope("kind", "crd", crd, &Item::of_kind(&crd.stored.kind))?;
        }
        for controller in &view.controllers {
            // The item has no kind and version, because the name of a controller is unique in its group.
            let group = controller.kind.group.key.as_str();
            let item = Item::new(group, "", &controller.short_name);
            visitor.scope("controller", "controller", controller, &item)?;
        }
        for webhook in &view.webhooks {
            visitor.scope("webhook", "webhook", webhook, &Item::of_kind(&webhook.kind))?;
        }
        Ok(())
    }

    /// Renders the bodies of the functions that build the owned objects of each controller. The template of a
    /// controller gets them as `bodies`, because the name in an `include` cannot be computed.
    fn bodies(&mut self) -> Result<()> {
        let mut bodies = BTreeMap::new();
        for controller in &self.view.controllers {
            let mut context = self.context.clone();
            context.insert("controller", controller);
            let mut texts = Vec::new();
            for owned in &controller.owns {
                context.insert("owned", owned);
                let text = self.text(owned.template, &context)?;
                texts.push(text.trim_end().to_owned());
            }
            bodies.insert(&controller.name, texts);
        }
        self.context.insert("bodies", &bodies);
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
        let text = self.parsed.render(name, context)?;
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
        .filter(|feature| !project.has(**feature))
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
        (!view.vendored, &["vendored"]),
        (view.webhooks.is_empty(), &["webhook"]),
        (!view.serves_webhooks, &["webhooks", "part/webhook"]),
    ] {
        if is_unused {
            unused.extend(folders.iter().map(|folder| (*folder).to_owned()));
        }
    }
    unused
}

#[cfg(test)]
mod tests;
