//! The images of a project: each belongs to a kind whose types have fields for it.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};

use super::{builtin, image::Image, model::Project, resource::Resource};

impl Project {
    /// The image that a controller of the kind of `resource` runs. If there is one, the types of the kind have fields
    /// for it.
    pub fn image(&self, resource: &Resource) -> Option<&Image> {
        let mut controllers = self
            .versions(resource)
            .flat_map(|version| &version.controllers);
        controllers.find_map(|controller| controller.image.as_ref())
    }

    /// Checks that each image has a kind whose types have fields for it, a Deployment that runs it, and a unique
    /// environment variable.
    pub(super) fn validate_images(&self) -> Result<()> {
        let mut variables = BTreeMap::new();
        for (resource, controller) in self.controllers() {
            ensure!(
                controller.image.is_none() || !resource.has_given_types(),
                "{resource} cannot have an image: its types come from a CRD, which has no fields for it"
            );
            let Some(image) = &controller.image else {
                continue;
            };
            let name = &image.name;
            ensure!(
                resource.has_api(),
                "{resource} cannot have the image `{name}`: this project does not define its \
                 types, so they have no field for the number of Pods"
            );
            let mut owned = controller.owns.iter().filter_map(builtin::named);
            ensure!(
                owned.any(|builtin| builtin.id() == Image::KIND),
                "{resource} has the image `{name}`, so its controller must own `{}`",
                Image::KIND
            );
            let mut others = resource.controllers.iter();
            let other = others.find(|other| other.image.is_some() && other.name != controller.name);
            if let Some(other) = other {
                bail!(
                    "the controllers `{}` and `{}` of {resource} have an image each, but its types \
                     have fields for only one image",
                    other.name,
                    controller.name
                );
            }
            let variable = controller.image_variable();
            if let Some(other) = variables.insert(variable.clone(), resource) {
                bail!(
                    "the environment variable `{variable}` would set the images of both {other} \
                     and {resource}: give one of the controllers another name"
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            controller::Controller,
            for_tests::{api, core, empty, error, with_controller},
        },
        *,
    };

    fn image() -> Image {
        Image {
            command: vec!["memcached".parse().unwrap(), "-v".parse().unwrap()],
            name: "memcached:1.6".parse().unwrap(),
            port: Some("11211".parse().unwrap()),
            run_as_user: Some("1001".parse().unwrap()),
        }
    }

    fn with_image(mut resource: Resource) -> Resource {
        let controller = resource.controllers.last_mut().unwrap();
        controller.image = Some(image());
        controller.owns = vec![Image::KIND.parse().unwrap()];
        resource
    }

    #[test]
    fn the_variable_is_named_after_the_controller() {
        for (name, variable) in [
            ("memcached", "MEMCACHED_IMAGE"),
            ("nightly-backup", "NIGHTLY_BACKUP_IMAGE"),
        ] {
            let controller = Controller::new(name.parse().unwrap());
            assert_eq!(controller.image_variable(), variable);
        }
    }

    #[test]
    fn an_image_is_that_of_the_whole_kind() {
        let mut project = empty();
        let resource = with_image(api("cache", "v1", "Memcached"));
        project.add(resource.clone(), false).unwrap();
        project.add(api("cache", "v1", "Book"), false).unwrap();
        assert_eq!(project.image(&resource), Some(&image()));
        assert_eq!(
            project.image(&api("cache", "v2", "Memcached")),
            Some(&image())
        );
        assert_eq!(project.image(&api("cache", "v1", "Book")), None);
    }

    #[test]
    fn an_image_needs_types_a_deployment_and_a_variable_of_its_own() {
        assert_eq!(
            error([with_image(core("core", "v1", "ConfigMap"))]),
            "`v1/ConfigMap` cannot have the image `memcached:1.6`: this project does not define \
             its types, so they have no field for the number of Pods"
        );
        let mut without = with_image(api("cache", "v1", "Memcached"));
        without.controllers[0].owns.clear();
        assert_eq!(
            error([without]),
            "`cache/v1/Memcached` has the image `memcached:1.6`, so its controller must own \
             `apps/v1/Deployment`"
        );
        let two = with_image(api("cache", "v1", "Memcached"));
        let two = with_image(with_controller(two, "proxy"));
        assert_eq!(
            error([two]),
            "the controllers `proxy` and `memcached` of `cache/v1/Memcached` have an image each, \
             but its types have fields for only one image"
        );
        assert_eq!(
            error([
                with_image(api("cache", "v1", "Memcached")),
                with_image(api("store", "v1", "Memcached")),
            ]),
            "the environment variable `MEMCACHED_IMAGE` would set the images of both \
             `cache/v1/Memcached` and `store/v1/Memcached`: give one of the controllers another \
             name"
        );
    }
}
