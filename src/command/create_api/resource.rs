//! The entry in `PROJECT` that `create api` adds or changes.

use anyhow::{Result, anyhow, ensure};

use super::{super::id::NO_KIND, arguments::ApiSettings};
use crate::{
    command::report::UsageError,
    hint::OrHint,
    names::{GroupVersionKind, Kind},
    project::{Controller, Definition, Image, Own, Project, Resource, Stage, Webhooks},
};

impl ApiSettings {
    /// The entry in `PROJECT` with these settings.
    pub fn resource(&self, id: &GroupVersionKind, project: &Project) -> Result<Resource> {
        let mut resource = match (&self.external, self.resource) {
            (Some(external), resource) => {
                ensure!(
                    resource != Some(true),
                    UsageError(
                        "`--external-api-path` is for a kind that another project defines: leave \
                         out `--resource`"
                            .to_owned()
                    )
                );
                external.resource(id, project)?
            }
            (None, Some(true)) => usual(own(id, project)?, project)?,
            (None, Some(false)) => existing(id, project)?,
            (None, None) => match project.find(id)? {
                Some(there) => there.clone(),
                None => usual(own(id, project)?, project)?,
            },
        };
        if self.resource == Some(false) || !resource.has_api() {
            self.not_described(id, &resource)?;
        }
        self.version(&mut resource, project)?;
        let only_version =
            project.position(&resource).is_none() && project.versions(&resource).next().is_none();
        let usual = self.resource == Some(false)
            || self.of_controller.controller_name.is_some()
            || resource
                .controller(&self.of_controller.controller_of(id))
                .is_some()
            || only_version;
        self.control(id, &mut resource, usual, project)?;
        resource.namespaced = self.namespaced.unwrap_or(resource.namespaced);
        if let Some(plural) = &self.plural {
            resource.plural.clone_from(plural);
        }
        if let Some(short_names) = &self.short_names {
            resource.short_names.clone_from(short_names);
        }
        Ok(resource)
    }

    /// Sets whether `resource`, a version of one of the project's kinds, is served, stored, deprecated and converted.
    fn version(&self, resource: &mut Resource, project: &Project) -> Result<()> {
        let is_new = project.position(resource).is_none();
        let stored = project
            .versions(resource)
            .find(|other| other.is_stored() && other.version != resource.version);
        let id = resource.to_string();
        let Definition::Own(own) = &mut resource.definition else {
            return Ok(());
        };
        if let Some(conversion) = self.conversion {
            own.conversion = conversion;
            if is_new && stored.is_some() {
                own.stage = Own::further(conversion).stage;
            }
        }
        if let Some(deprecation) = &self.deprecated {
            own.deprecation.clone_from(deprecation);
        }
        if self.storage {
            own.stage = Stage::Stored;
        }
        match self.served {
            Some(true) => own.stage = own.stage.max(Stage::Served),
            Some(false) if own.stage == Stage::Stored => {
                let hint = if is_new || self.storage {
                    "leave out `--served=false`"
                } else {
                    "store another version first, with `--storage`"
                };
                return Err(anyhow!("{id} is the stored version, so it must be served"))
                    .or_hint(hint);
            }
            Some(false) => own.stage = Stage::Unserved,
            None => {}
        }
        if let Some(stored) = stored.filter(|_| self.storage) {
            resource.controllers.clone_from(&stored.controllers);
            resource.webhooks.clone_from(&stored.webhooks);
        }
        Ok(())
    }

    /// Adds the controller with these settings to `resource`, or removes it. `usual` is the default of `--controller`.
    pub fn control(
        &self,
        id: &GroupVersionKind,
        resource: &mut Resource,
        usual: bool,
        project: &Project,
    ) -> Result<()> {
        let name = self.of_controller.controller_of(id);
        let is_wanted = self.controller.unwrap_or(usual);
        let before = resource.controller(&name).filter(|_| is_wanted).cloned();
        let mut controller = before.unwrap_or_else(|| Controller::new(name.clone()));
        let settings = &self.of_controller;
        controller.finalizer = settings.finalizer.unwrap_or(controller.finalizer);
        controller.finalizer_name.take_if(|_| !controller.finalizer);
        let [owns, watches] = settings.related(project)?;
        controller.owns = owns.unwrap_or(controller.owns);
        controller.watches = watches.unwrap_or(controller.watches);
        if let Some(image) = &settings.image {
            controller.image = Some(image.image(controller.image.as_ref()));
            let deployment: GroupVersionKind = Image::KIND.parse()?;
            if !controller.owns.contains(&deployment) {
                controller.owns.push(deployment);
            }
        }
        if is_wanted {
            resource.set_controller(controller);
        } else {
            resource.without_controller(&controller)?;
            if self.controller == Some(false) && settings.controller_name.is_some() {
                resource.ensure_controller(&name)?;
            }
            resource.remove_controller(&name);
        }
        Ok(())
    }

    /// Refuses flags that describe a new kind, because this kind exists. Plural and scope are allowed for a kind that
    /// another project defines, because they are only in the CRD of that kind.
    fn not_described(&self, id: &GroupVersionKind, resource: &Resource) -> Result<()> {
        let unknown = resource.external().is_some();
        let about_the_kind = [
            ("--plural", self.plural.is_some() && !unknown),
            ("--short-name", self.short_names.is_some()),
            ("--namespaced", self.namespaced.is_some() && !unknown),
            ("--storage", self.storage),
            ("--served", self.served.is_some()),
            ("--deprecated", self.deprecated.is_some()),
            ("--conversion", self.conversion.is_some()),
        ];
        for (flag, is_set) in about_the_kind {
            ensure!(
                !is_set || !unknown,
                "`{flag}` is for a kind of this project, but another project defines `{id}`"
            );
            ensure!(
                !is_set,
                "`{flag}` is for a new kind, but `{id}` exists already"
            );
        }
        Ok(())
    }
}

/// How to name a kind that exists under a similar name, and how to get the named one.
const OTHER_KIND: &str = "name one of these with `--group` (`core` for a kind such as `v1/Pod`), `--version` and \
                          `--kind`, or create the kind with `rscaffold create api`";

/// An existing kind of the project or of Kubernetes.
pub fn existing(id: &GroupVersionKind, project: &Project) -> Result<Resource> {
    let there = project.find_kind(id)?.ok_or_else(|| project.missing(id));
    or_create(there, id.kind(), project)
}

/// Adds to the error about a kind that does not exist how to get it.
pub fn or_create<T>(found: Result<T>, kind: &Kind, project: &Project) -> Result<T> {
    let is_new = project.called(kind.as_str(), None).is_empty();
    found.or_hint(if is_new { NO_KIND } else { OTHER_KIND })
}

/// Refuses a new kind that is not in upper camel case, and a new version without a priority in Kubernetes. A CRD may have
/// both.
fn usual(resource: Resource, project: &Project) -> Result<Resource> {
    if project.there(&resource).is_none() {
        let usual = resource.version.ensure_usual();
        usual.map_err(|error| UsageError(format!("invalid value for `--version`: {error}")))?;
    }
    if project.versions(&resource).next().is_none() {
        let usual = resource.kind.ensure_usual();
        usual.map_err(|error| UsageError(format!("invalid value for `--kind`: {error}")))?;
    }
    Ok(resource)
}

/// A kind that this project defines; another version of the kind gives the defaults.
pub(super) fn own(id: &GroupVersionKind, project: &Project) -> Result<Resource> {
    let (group, domain) = project.group(id.group())?;
    let new = Resource {
        domain,
        ..Resource::new(group, id, Definition::Own(Own::first()))
    };
    let there = project
        .versions(&new)
        .find(|other| other.version == new.version);
    if let Some(there) = there {
        return Ok(there.clone());
    }
    let sibling = project.versions(&new).next();
    let Some((sibling, own)) = sibling.and_then(|sibling| Some((sibling, sibling.own()?))) else {
        return Ok(new);
    };
    let further = Own {
        types: own.types,
        ..Own::further(own.conversion)
    };
    Ok(Resource {
        version: new.version,
        definition: Definition::Own(further),
        controllers: Vec::new(),
        webhooks: Webhooks::default(),
        ..sibling.clone()
    })
}
