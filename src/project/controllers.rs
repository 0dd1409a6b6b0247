//! The controllers of a project: the own controller of a kind has the name of the kind; a kind can have more controllers.

use std::{cell::LazyCell, collections::BTreeMap};

use anyhow::{Result, bail, ensure};

use super::{controller::Controller, model::Project, resource::Resource};

impl Resource {
    /// Checks that a resource without a controller has no settings that need one. `controller` holds these settings.
    pub fn without_controller(&self, controller: &Controller) -> Result<()> {
        ensure!(
            !controller.finalizer && controller.finalizer_name.is_none(),
            "{self} has no controller, so it cannot have a finalizer"
        );
        if let Some(name) = &controller.field_manager {
            bail!("{self} has no controller, so it cannot have the field manager `{name}`");
        }
        if let Some(image) = &controller.image {
            bail!(
                "{self} has no controller, so it cannot run the image `{}`",
                image.name
            );
        }
        if let Some(owned) = controller.owns.first() {
            bail!("{self} has no controller, so it cannot own `{owned}`");
        }
        if let Some(watched) = controller.watches.first() {
            bail!("{self} has no controller, so it cannot watch `{watched}`");
        }
        Ok(())
    }
}

impl Project {
    /// All controllers, each with its resource.
    pub fn controllers(&self) -> impl Iterator<Item = (&Resource, &Controller)> {
        let resources = self.resources.iter();
        resources.flat_map(|resource| {
            let controllers = resource.controllers.iter();
            controllers.map(move |controller| (resource, controller))
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
            let others = resource.controllers.iter();
            ensure!(
                others.filter(|other| other.name == *name).count() == 1,
                "{resource} has the controller `{name}` twice"
            );
            if resource.is_own(controller) {
                continue;
            }
            let module = name.module();
            let mut like = of_kinds.get(&(group.clone(), name.to_string()));
            like = like.or_else(|| of_kinds.get(&(group.clone(), module.clone())));
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
        super::for_tests::{
            api, core, empty, error, unserved, with_controller, without_controller,
        },
        *,
    };

    fn guestbook() -> Resource {
        api("webapp", "v1", "Guestbook")
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
        assert_eq!(*project.resources, [both.clone()]);

        let mut without = both.clone();
        without.controllers[1].finalizer = false;
        assert_eq!(
            project.add(without, false).unwrap_err().to_string(),
            "`webapp/v1/Guestbook` exists with other settings: finalizer of the controller `backup`: \
             `yes` -> `no`"
        );
        assert_eq!(
            project.add(first.clone(), false).unwrap_err().to_string(),
            "`webapp/v1/Guestbook` exists with other settings: controller `backup` -> none"
        );
        project.add(first.clone(), true).unwrap();
        assert_eq!(*project.resources, [first]);
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
