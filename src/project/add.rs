//! Adds a resource to a project, or replaces it.

use std::mem::discriminant;

use anyhow::{Result, bail, ensure};

use super::{
    definition::{Own, Stage},
    error::Error,
    model::Project,
    resource::Resource,
    webhook::Webhooks,
};
use crate::names::GroupVersionKind;

impl Project {
    /// Adds a resource, or replaces the resource with the same group, version and kind. Without `force`, the settings
    /// of the existing resource must not change.
    ///
    /// # Errors
    /// [`Error`], or a contradiction between parts of the project with the new resource.
    pub fn add(&mut self, mut resource: Resource, force: bool) -> Result<()> {
        let mut project = self.clone();
        self.sort_controllers(&mut resource);
        self.ensure_one_definer(&resource)?;
        if let Some(index) = self.position(&resource) {
            let before = &self.resources[index];
            if !force {
                let changes = before.changes(&resource);
                let id = before.id();
                ensure!(changes.is_empty(), Error::Changes { id, changes });
                resource.add_related_of(before);
            }
            for other in project.versions_mut(&resource) {
                other.share_crd(&resource);
            }
            project.resources[index] = resource.clone();
        } else {
            project.resources.push(resource.clone());
        }
        project.follow(&resource, force)?;
        if force {
            for other in project.resources.iter_mut() {
                other.share_dependency(&resource);
            }
        }
        project.sort();
        project.validate()?;
        *self = project;
        Ok(())
    }

    /// Refuses `resource`, if someone else defines a version of its kind.
    fn ensure_one_definer(&self, resource: &Resource) -> Result<()> {
        let of_kind = self.resources.of_kind(&resource.kind);
        let mut versions = of_kind.filter(|other| self.is_same_kind(other, resource));
        let other = versions
            .find(|other| discriminant(&other.definition) != discriminant(&resource.definition));
        let Some(other) = other else { return Ok(()) };
        bail!(Error::OtherDefiner {
            existing: other.to_string(),
            definer: other.definition.definer(),
        })
    }

    /// Updates the other versions of the kind after a change of `resource`. All versions get its conversion. If
    /// `resource` is the stored version, no other version stays stored, and the other versions lose their controllers
    /// and admission webhooks.
    fn follow(&mut self, resource: &Resource, force: bool) -> Result<()> {
        let Some(&Own {
            stage, conversion, ..
        }) = resource.own()
        else {
            return Ok(());
        };
        let project = self.clone();
        for other in self.versions_mut(resource) {
            if other.version == resource.version {
                continue;
            }
            let is_stored = other.is_stored() && stage == Stage::Stored;
            let is_converted = project.converts(resource, other);
            if is_stored && !force {
                let mut changes = other.changes_of_controllers(resource);
                changes.extend(other.webhooks.changes(&resource.webhooks));
                let id = other.id();
                ensure!(changes.is_empty(), Error::Changes { id, changes });
                let id = other.id();
                let hub = project.hub_of(resource).unwrap_or(resource).id();
                ensure!(is_converted, Error::StoredObjects { id, hub });
            }
            if let Some(own) = other.own_mut() {
                own.conversion = conversion;
                if is_stored {
                    own.stage = if is_converted {
                        Stage::Served
                    } else {
                        Stage::Unserved
                    };
                }
            }
            if is_stored {
                other.controllers.clear();
                other.webhooks = Webhooks::default();
            }
        }
        Ok(())
    }
}

impl Resource {
    /// Copies the settings that all versions of a kind share, because they have one CRD.
    fn share_crd(&mut self, version: &Self) {
        self.plural.clone_from(&version.plural);
        self.namespaced = version.namespaced;
        self.short_names.clone_from(&version.short_names);
    }

    /// Adds the names, images, owned kinds and watched kinds that the controllers of `before` have.
    fn add_related_of(&mut self, before: &Self) {
        for controller in &mut self.controllers {
            if let Some(before) = before.controller(&controller.name) {
                controller.field_manager.clone_from(&before.field_manager);
                controller.finalizer_name.clone_from(&before.finalizer_name);
                controller.image = controller.image.take().or_else(|| before.image.clone());
                add_missing(&mut controller.owns, &before.owns);
                add_missing(&mut controller.watches, &before.watches);
            }
        }
    }
}

fn add_missing(kinds: &mut Vec<GroupVersionKind>, before: &[GroupVersionKind]) {
    for kind in before {
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            definition::ConversionStrategy,
            for_tests::{
                api, at_stage, cluster, empty, external, unserved, with_domain, with_plural,
                with_short_name, without_controller,
            },
        },
        *,
    };

    #[test]
    fn a_resource_is_added_once() {
        let mut project = empty();
        let guestbook = api("webapp", "v1", "Guestbook");
        for _ in 0..2 {
            project.add(guestbook.clone(), false).unwrap();
            assert_eq!(*project.resources, std::slice::from_ref(&guestbook));
        }
    }

    #[test]
    fn a_kind_is_defined_in_one_place() {
        let mut project = empty();
        project.domain = "io".parse().unwrap();
        let own = api("cert-manager", "v1", "Certificate");
        project.add(own.clone(), false).unwrap();
        let path = "cert_manager::v1::Certificate";
        let external = external("cert-manager", "v1", "Certificate", path);
        assert_eq!(
            project
                .add(with_domain(external.clone(), "io"), true)
                .unwrap_err()
                .to_string(),
            "`cert-manager/v1/Certificate` exists already, defined by this project"
        );
        assert_eq!(*project.resources, [own]);
    }

    #[test]
    fn all_versions_of_a_kind_have_one_definer() {
        let mut project = empty();
        project.domain = "io".parse().unwrap();
        let path = "cert_manager::v1::Certificate";
        let external = with_domain(external("cert-manager", "v1", "Certificate", path), "io");
        project.add(external, false).unwrap();
        let own = api("cert-manager", "v2", "Certificate");
        let error = project.add(own, true).unwrap_err().to_string();
        let expected = "`cert-manager/v1/Certificate` exists already, defined by another project";
        assert_eq!(error, expected);
    }

    #[test]
    fn resources_have_one_order() {
        let mut project = empty();
        let resources = [
            api("crew", "v1", "Captain"),
            unserved(api("webapp", "v1beta1", "Guestbook")),
            api("webapp", "v1", "Guestbook"),
        ];
        for resource in resources.iter().rev() {
            project.add(resource.clone(), false).unwrap();
        }
        assert_eq!(*project.resources, resources);
    }

    #[test]
    fn shared_settings_change_in_all_versions() {
        let mut project = empty();
        let v1 = api("webapp", "v1", "Guestbook");
        let v2 = unserved(api("webapp", "v2", "Guestbook"));
        let elsewhere = api("crew", "v1", "Guestbook");
        for resource in [&v1, &v2, &elsewhere] {
            project.add(resource.clone(), false).unwrap();
        }
        let changed = |resource| with_short_name(with_plural(cluster(resource), "books"), "gb");
        project.add(changed(v1.clone()), true).unwrap();
        assert_eq!(*project.resources, [elsewhere, changed(v1), changed(v2)]);
    }

    #[test]
    fn controllers_and_webhooks_belong_to_the_stored_version() {
        let v1 = |stage, conversion| at_stage(api("webapp", "v1", "Guestbook"), stage, conversion);
        let v2 = |stage, conversion| Resource {
            version: "v2".parse().unwrap(),
            ..v1(stage, conversion)
        };
        let missing = ConversionStrategy::Missing;
        let before = Project {
            resources: vec![v1(Stage::Stored, missing)].into(),
            ..empty()
        };
        let add = |resource: &Resource, force| {
            let mut project = before.clone();
            let added = project.add(resource.clone(), force);
            added
                .map(|()| project.resources)
                .map_err(|error| error.to_string())
        };
        // With a conversion, the version that was stored before is still served.
        let stored = v2(Stage::Stored, ConversionStrategy::None);
        let served = without_controller(v1(Stage::Served, ConversionStrategy::None));
        assert_eq!(*add(&stored, false).unwrap(), [served, stored.clone()]);
        // A controller of that version is not removed without `force`.
        let without = without_controller(stored);
        assert_eq!(
            add(&without, false).unwrap_err(),
            "`webapp/v1/Guestbook` exists with other settings: controller `guestbook` -> none"
        );
        assert!(add(&without, true).is_ok());
        // Without a conversion, clients would lose the fields that only the old version has.
        let stored = v2(Stage::Stored, missing);
        assert_eq!(
            add(&stored, false).unwrap_err(),
            "`webapp/v1/Guestbook` would no longer be served, and nothing would convert the \
             objects that are stored in this version"
        );
        let unserved = without_controller(v1(Stage::Unserved, missing));
        assert_eq!(*add(&stored, true).unwrap(), [unserved, stored]);
    }

    #[test]
    fn a_version_is_served_without_force_and_no_longer_served_with_it() {
        let v1 = at_stage(
            api("webapp", "v1", "Guestbook"),
            Stage::Stored,
            ConversionStrategy::None,
        );
        let v2 = without_controller(api("webapp", "v2", "Guestbook"));
        let [served, unserved] = [Stage::Served, Stage::Unserved]
            .map(|stage| at_stage(v2.clone(), stage, ConversionStrategy::None));
        let mut project = Project {
            resources: vec![v1, unserved.clone()].into(),
            ..empty()
        };
        project.add(served.clone(), false).unwrap();
        assert_eq!(project.resources[1], served);
        assert_eq!(
            project
                .add(unserved.clone(), false)
                .unwrap_err()
                .to_string(),
            "`webapp/v2/Guestbook` exists with other settings: served `yes` -> `no`"
        );
        project.add(unserved.clone(), true).unwrap();
        assert_eq!(project.resources[1], unserved);
    }

    #[test]
    fn a_controller_is_added_without_force_and_removed_with_it() {
        let mut project = empty();
        let with = api("webapp", "v1", "Guestbook");
        let without = without_controller(with.clone());
        project.add(without.clone(), false).unwrap();
        project.add(with.clone(), false).unwrap();
        let error = project.add(without.clone(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`webapp/v1/Guestbook` exists with other settings: controller `guestbook` -> none"
        );
        assert_eq!(*project.resources, [with]);
        project.add(without.clone(), true).unwrap();
        assert_eq!(*project.resources, [without]);
    }

    #[test]
    fn a_different_resource_needs_force() {
        let mut project = empty();
        project
            .add(api("webapp", "v1", "Guestbook"), false)
            .unwrap();
        let changed = cluster(api("webapp", "v1", "Guestbook"));
        let mut changed = with_short_name(with_plural(changed, "books"), "gb");
        changed.controllers[0].finalizer = true;
        let error = project.add(changed.clone(), false).unwrap_err();
        let expected = "`webapp/v1/Guestbook` exists with other settings: plural `guestbooks` -> \
                        `books`; scope `Namespaced` -> `Cluster`; short names none -> `gb`; \
                        finalizer of the controller `guestbook`: `no` -> `yes`";
        assert_eq!(error.to_string(), expected);
        project.add(changed.clone(), true).unwrap();
        assert_eq!(*project.resources, [changed]);
    }

    #[test]
    fn owned_kinds_are_added_without_force_and_replaced_with_it() {
        let mut project = empty();
        let owning = |owned: &[&str]| {
            let mut owner = api("webapp", "v1", "Guestbook");
            owner.controllers[0].owns = owned.iter().map(|kind| kind.parse().unwrap()).collect();
            owner
        };
        project.add(owning(&["v1/Pod"]), false).unwrap();
        let deployment = owning(&["apps/v1/Deployment"]);
        let both = owning(&["apps/v1/Deployment", "v1/Pod"]);
        for same in [&deployment, &owning(&["core/v1/Pod"]), &owning(&[])] {
            project.add(same.clone(), false).unwrap();
            assert_eq!(*project.resources, std::slice::from_ref(&both));
        }
        project.add(deployment.clone(), true).unwrap();
        assert_eq!(*project.resources, [deployment]);
    }

    #[test]
    fn a_resource_that_does_not_fit_leaves_the_project_as_it_is() {
        let mut project = empty();
        project
            .add(api("webapp", "v1", "Guestbook"), false)
            .unwrap();
        let before = project.clone();
        let served = at_stage(
            api("webapp", "v2", "Guestbook"),
            Stage::Served,
            ConversionStrategy::Missing,
        );
        project.add(served, true).unwrap_err();
        assert_eq!(project, before);
    }
}
