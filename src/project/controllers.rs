//! The controllers of a kind: the kind's own controller, which has the name of the kind, and additional ones.

use std::{cell::LazyCell, collections::BTreeMap, ops::Not};

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Image, Project, Resource, Types, resource::change};
use crate::names::{ControllerName, FieldManager, FinalizerName, GroupVersionKind};

/// A controller of a kind.
// The fields are in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "the fields of a controller"
)]
pub struct Controller {
    /// The owner of the fields that the controller applies, if it is not the name of the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<FieldManager>,
    /// Whether the controller cleans up before an object is deleted.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub finalizer: bool,
    /// The name of the finalizer, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizer_name: Option<FinalizerName>,
    /// The image that the controller runs in a Deployment for each object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// The controller's name, unique in the group.
    pub name: ControllerName,
    /// The kinds of the objects that the controller creates, in the spelling of [`Project::parse`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<GroupVersionKind>,
    /// The types of the kind when the controller was created. If the user had replaced the example by then, the
    /// controller names none of their fields.
    #[serde(default, skip_serializing_if = "Types::is_example")]
    pub types: Types,
    /// The kinds that the controller's objects refer to, in the same spelling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<GroupVersionKind>,
}

impl Controller {
    /// A controller without a finalizer, which owns and watches nothing.
    pub fn new(name: ControllerName) -> Self {
        Self {
            field_manager: None,
            finalizer: false,
            finalizer_name: None,
            image: None,
            name,
            owns: Vec::new(),
            types: Types::Example,
            watches: Vec::new(),
        }
    }
}

impl Resource {
    /// The controller of this name.
    pub fn controller(&self, name: &ControllerName) -> Option<&Controller> {
        self.controllers.iter().find(|there| there.name == *name)
    }

    /// Adds a controller, or replaces the controller with the same name. The kind's own controller stays the first.
    pub fn set_controller(&mut self, controller: Controller) {
        self.remove_controller(&controller.name);
        self.controllers.push(controller);
        self.sort_controllers();
    }

    /// Removes the controller of this name.
    pub fn remove_controller(&mut self, name: &ControllerName) {
        self.controllers.retain(|there| there.name != *name);
    }

    pub(super) fn sort_controllers(&mut self) {
        let own = self.kind.controller();
        self.controllers
            .sort_by(|a, b| (a.name != own, &a.name).cmp(&(b.name != own, &b.name)));
    }

    /// Whether a controller is the kind's own controller: the one with the name of the kind.
    pub fn is_own(&self, controller: &Controller) -> bool {
        controller.name == self.kind.controller()
    }

    /// The Rust module of a controller, within the module of the group.
    pub fn controller_module(&self, controller: &Controller) -> String {
        if self.is_own(controller) {
            self.kind.module()
        } else {
            controller.name.module()
        }
    }

    /// Checks that a resource without a controller has no settings that need one. `controller` holds these settings.
    pub fn without_controller(&self, controller: &Controller) -> Result<()> {
        ensure!(
            !controller.finalizer && controller.finalizer_name.is_none(),
            "{self} has a finalizer, which needs a controller to remove it"
        );
        if let Some(name) = &controller.field_manager {
            bail!("{self} has the field manager `{name}`, which needs a controller");
        }
        if let Some(image) = &controller.image {
            bail!(
                "{self} has the image `{}`, which needs a controller to run it",
                image.name
            );
        }
        if let Some(owned) = controller.owns.first() {
            bail!("{self} owns `{owned}`, which needs a controller to make it");
        }
        if let Some(watched) = controller.watches.first() {
            bail!("{self} watches `{watched}`, which needs a controller");
        }
        Ok(())
    }

    /// The controllers and settings that would be lost or changed if the controllers of `after` replaced these.
    pub(super) fn changes_of_controllers(&self, after: &Self) -> Vec<String> {
        let changes = self.controllers.iter().flat_map(|before| {
            let name = before.name.as_str();
            let Some(after) = after.controller(&before.name) else {
                return change("controller", name, "none").into_iter().collect();
            };
            let what = format!("finalizer of the controller `{name}`");
            let [was, is] =
                [before, after].map(|controller| if controller.finalizer { "yes" } else { "no" });
            let mut changes: Vec<_> = change(&what, was, is).into_iter().collect();
            if let (Some(was), Some(is)) = (&before.image, &after.image) {
                let what = format!("image of the controller `{name}`");
                changes.extend(change(&what, &was.to_string(), &is.to_string()));
            }
            changes
        });
        changes.collect()
    }

    /// Adds the names, images, owned kinds and watched kinds that the controllers of `before` have.
    pub(super) fn keep_related(&mut self, before: &Self) {
        for controller in &mut self.controllers {
            if let Some(before) = before.controller(&controller.name) {
                controller.field_manager.clone_from(&before.field_manager);
                controller.finalizer_name.clone_from(&before.finalizer_name);
                controller.image = controller.image.take().or_else(|| before.image.clone());
                keep(&mut controller.owns, &before.owns);
                keep(&mut controller.watches, &before.watches);
            }
        }
    }
}

fn keep(kinds: &mut Vec<GroupVersionKind>, before: &[GroupVersionKind]) {
    let kept = before.iter().filter(|kind| !kinds.contains(kind));
    kinds.extend(kept.cloned().collect::<Vec<_>>());
}

impl Project {
    /// All controllers, each with its resource.
    pub fn controllers(&self) -> impl Iterator<Item = (&Resource, &Controller)> {
        let resources = self.resources.iter();
        resources.flat_map(|resource| {
            resource
                .controllers
                .iter()
                .map(move |controller| (resource, controller))
        })
    }

    /// The name of a controller in the cluster: for its events, field manager and finalizer. Other projects may have
    /// controllers for the same built-in kind, so the name for such a kind contains the project's name.
    pub fn controller_name(&self, resource: &Resource, controller: &Controller) -> String {
        let name = &controller.name;
        if resource.has_api() {
            format!("{name}.{}", self.full_group(resource))
        } else {
            let (group, project, domain) = (&resource.group, &self.project_name, &self.domain);
            format!("{name}.{group}.{project}.{domain}")
        }
    }

    /// The name of the finalizer of a controller.
    pub fn finalizer_name(&self, resource: &Resource, controller: &Controller) -> String {
        match &controller.finalizer_name {
            Some(name) => name.to_string(),
            None => format!("{}/finalizer", self.controller_name(resource, controller)),
        }
    }

    /// The owner of the fields that a controller applies.
    pub fn field_manager(&self, resource: &Resource, controller: &Controller) -> String {
        match &controller.field_manager {
            Some(name) => name.to_string(),
            None => self.controller_name(resource, controller),
        }
    }

    /// Checks that the name of each controller is unique, in the cluster and as a Rust module.
    pub(super) fn validate_controllers(&self) -> Result<()> {
        // The maximum length of a prefix of a label or a finalizer in Kubernetes.
        const MAX: usize = 253;
        let mut named = BTreeMap::new();
        // The name of each kind's own controller, in the cluster and in Rust.
        let of_kinds = LazyCell::new(|| {
            let mut all = BTreeMap::new();
            for resource in self.resources.iter() {
                let (kind, group) = (&resource.kind, self.full_group(resource));
                for name in [kind.controller().to_string(), kind.module()] {
                    all.entry((group.clone(), name)).or_insert(kind);
                }
            }
            all
        });
        for (resource, controller) in self.controllers() {
            let (name, group) = (&controller.name, self.full_group(resource));
            let full = self.controller_name(resource, controller);
            ensure!(
                full.len() <= MAX,
                "the full name `{full}` of a controller of {resource} has {} characters, at most \
                 {MAX} are allowed",
                full.len()
            );
            ensure!(
                controller.finalizer || controller.finalizer_name.is_none(),
                "the controller `{name}` of {resource} has a `finalizerName`, but no finalizer: add `finalizer: true`"
            );
            let count = resource
                .controllers
                .iter()
                .filter(|controller| controller.name == *name);
            ensure!(
                count.count() == 1,
                "{resource} has the controller `{name}` twice"
            );
            if resource.is_own(controller) {
                continue;
            }
            let module = name.module();
            let of_kind = |name: &str| of_kinds.get(&(group.clone(), name.to_owned()));
            let like = of_kind(name.as_str()).or_else(|| of_kind(&module));
            let before = named.insert((group.clone(), module), (resource, name));
            let reason = if let Some(kind) = like {
                format!("the controller of `{kind}` has this name, so add a word")
            } else if let Some((other, there)) = before {
                format!("{other} has `{there}`, and each controller of a group needs its own name")
            } else {
                continue;
            };
            let near = format!("{}-{name}", resource.kind.lower());
            bail!("{resource} cannot have a controller `{name}`: {reason}, as in `{near}`");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{api, core, empty, error, unserved, with_controller, without_controller},
        *,
    };

    fn guestbook() -> Resource {
        api("webapp", "v1", "Guestbook")
    }

    #[test]
    fn the_kinds_own_controller_is_the_first() {
        let resource = with_controller(with_controller(guestbook(), "backup"), "audit");
        let names = resource
            .controllers
            .iter()
            .map(|controller| controller.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["guestbook", "audit", "backup"]);
    }

    #[test]
    fn a_controller_has_the_same_name_in_rust_and_in_the_cluster() {
        let mut project = empty();
        *project.resources = vec![
            with_controller(api("webapp", "v1", "HTTPRoute"), "nightly-backup"),
            with_controller(core("networking", "v1", "Ingress"), "type"),
        ];
        project.validate().unwrap();
        let mut names = Vec::new();
        for resource in project.resources.iter() {
            for controller in &resource.controllers {
                let name = project.controller_name(resource, controller);
                names.push((resource.controller_module(controller), name));
            }
        }
        let expected = [
            ("http_route", "httproute.webapp.com"),
            ("nightly_backup", "nightly-backup.webapp.com"),
            ("ingress", "ingress.networking.guestbook.com"),
            ("type_", "type.networking.guestbook.com"),
        ]
        .map(|(module, name)| (module.to_owned(), name.to_owned()));
        assert_eq!(names, expected);
    }

    #[test]
    fn a_name_that_another_controller_has() {
        let cannot = |kind: &str, name: &str, reason: &str| {
            format!("`webapp/v1/{kind}` cannot have a controller `{name}`: {reason}")
        };
        let mut twice = with_controller(guestbook(), "backup");
        twice.controllers.push(twice.controllers[1].clone());
        assert_eq!(
            error([twice]),
            "`webapp/v1/Guestbook` has the controller `backup` twice"
        );
        // The name is taken even if that kind has no controller: it may get one later.
        let page = without_controller(api("webapp", "v1", "HTTPPage"));
        for (kind, own, name) in [
            (guestbook(), "HTTPPage", "httppage"),
            (guestbook(), "HTTPPage", "http-page"),
        ] {
            let reason = format!(
                "the controller of `{own}` has this name, so add a word, as in `guestbook-{name}`"
            );
            assert_eq!(
                error([with_controller(kind, name), page.clone()]),
                cannot("Guestbook", name, &reason)
            );
        }
        assert_eq!(
            error([with_controller(
                api("webapp", "v1", "HTTPRoute"),
                "http-route"
            )]),
            cannot(
                "HTTPRoute",
                "http-route",
                "the controller of `HTTPRoute` has this name, so add a word, as in \
                 `httproute-http-route`"
            )
        );
        for (first, second) in [("backup", "backup"), ("a-b", "a--b")] {
            assert_eq!(
                error([
                    with_controller(api("webapp", "v1", "Book"), first),
                    with_controller(guestbook(), second)
                ]),
                cannot(
                    "Guestbook",
                    second,
                    &format!(
                        "`webapp/v1/Book` has `{first}`, and each controller of a group needs its \
                         own name, as in `guestbook-{second}`"
                    )
                )
            );
        }
        let mut project = empty();
        *project.resources = vec![
            with_controller(guestbook(), "backup"),
            with_controller(api("crew", "v1", "Captain"), "backup"),
            with_controller(core("apps", "v1", "Deployment"), "backup"),
        ];
        project.validate().unwrap();
    }

    #[test]
    fn a_name_that_is_too_long_in_full() {
        let named = |length| with_controller(guestbook(), &"b".repeat(length));
        let mut project = empty();
        let at_most = 250 - "guestbooks.webapp.".len();
        project.domain = "d".repeat(at_most).parse().unwrap();
        *project.resources = vec![named("guestbooks".len() + 3)];
        project.validate().unwrap();
        *project.resources = vec![named("guestbooks".len() + 4)];
        let error = project.validate().unwrap_err().to_string();
        assert!(
            error.ends_with(
                "of a controller of `webapp/v1/Guestbook` has 254 characters, at most 253 are allowed"
            ),
            "{error}"
        );
    }

    #[test]
    fn the_name_of_a_finalizer_needs_a_finalizer() {
        let mut resource = guestbook();
        resource.controllers[0].finalizer_name = Some("example.com/guard".parse().unwrap());
        assert_eq!(
            error([resource.clone()]),
            "the controller `guestbook` of `webapp/v1/Guestbook` has a `finalizerName`, but no finalizer: add \
             `finalizer: true`"
        );
        resource.controllers[0].finalizer = true;
        let mut project = empty();
        project.resources.push(resource.clone());
        project.validate().unwrap();
        let controller = &resource.controllers[0];
        assert_eq!(
            project.finalizer_name(&resource, controller),
            "example.com/guard"
        );
        assert_eq!(
            project.field_manager(&resource, controller),
            "guestbook.webapp.com"
        );
    }

    #[test]
    fn another_controller_takes_nothing_from_the_first() {
        let mut project = empty();
        let mut first = guestbook();
        first.controllers[0].owns = vec!["v1/ConfigMap".parse().unwrap()];
        project.add(first.clone(), false).unwrap();
        let mut both = with_controller(first.clone(), "backup");
        both.controllers[1].finalizer = true;
        project.add(both.clone(), false).unwrap();
        assert_eq!(project.resources, [both.clone()]);

        let mut without = both.clone();
        without.controllers[1].finalizer = false;
        assert_eq!(
            project.add(without, false).unwrap_err().to_string(),
            "`webapp/v1/Guestbook` exists with other settings: finalizer of the controller `backup` \
             `yes` -> `no`"
        );
        assert_eq!(
            project.add(first.clone(), false).unwrap_err().to_string(),
            "`webapp/v1/Guestbook` exists with other settings: controller `backup` -> `none`"
        );
        project.add(first.clone(), true).unwrap();
        assert_eq!(project.resources, [first]);
    }

    #[test]
    fn a_version_that_is_not_stored_has_no_controllers() {
        let v1 = without_controller(guestbook());
        let v2 = with_controller(unserved(api("webapp", "v2", "Guestbook")), "backup");
        assert_eq!(
            error([v1, v2]),
            "`webapp/v2/Guestbook` cannot have a controller: the API server does not store this \
             version"
        );
    }
}
