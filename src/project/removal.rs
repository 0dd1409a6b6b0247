//! Removes resources, controllers and webhooks from a project.

use anyhow::{Result, anyhow, bail, ensure};

use super::{
    definition::{ConversionStrategy, Stage},
    error::Error,
    model::Project,
    resource::Resource,
    webhook::Webhooks,
};
use crate::names::{ControllerName, GroupVersionKind};

impl Project {
    /// Removes the resource called `id` with its controllers. Returns the resource as it was. Without `force`, a version
    /// must no longer be served if another version is.
    ///
    /// If the removed version was the stored one, another version becomes the stored one: a served version if there is
    /// one, and the newest of these. It takes over the controllers and webhooks. A hub that loses its last spoke is no
    /// longer a hub.
    ///
    /// # Errors
    /// If the resource does not exist, is the hub of its kind, is still served, or is owned or watched by a controller;
    /// or if the remaining resources contradict each other.
    pub fn remove(&mut self, id: &GroupVersionKind, force: bool) -> Result<Resource> {
        let mut project = self.clone();
        let index = project.index(id)?;
        let resource = project.resources.remove(index);
        for (other, controller) in project.controllers() {
            for (verb, kinds) in [("owns", &controller.owns), ("watches", &controller.watches)] {
                ensure!(
                    (kinds.iter())
                        .all(|id| !matches!(self.find(id), Ok(Some(kind)) if *kind == resource)),
                    Error::Related {
                        id: resource.id(),
                        controller: controller.name.clone(),
                        of: other.id(),
                        verb,
                    }
                );
            }
        }
        project.remove_spoke(&resource)?;
        let newest = project.versions_mut(&resource).max_by_key(|other| {
            let is_converted = self.is_converted(other);
            (other.is_served(), is_converted, other.version.clone())
        });
        if let Some(newest) = &newest
            && newest.is_served()
            && resource.is_served()
            && !force
        {
            bail!(Error::StillServed {
                id: resource.id(),
                successor: resource.is_stored().then(|| newest.id()),
            });
        }
        if let Some(newest) = newest.filter(|_| resource.is_stored()) {
            if let Some(own) = newest.own_mut() {
                own.stage = Stage::Stored;
            }
            newest.controllers.clone_from(&resource.controllers);
            newest.webhooks.clone_from(&resource.webhooks);
        }
        let versions: Vec<_> = project.versions_mut(&resource).collect();
        // A single version needs no conversion.
        if let Ok([last]) = <[_; 1]>::try_from(versions)
            && let Some(own) = last.own_mut()
        {
            own.conversion = ConversionStrategy::default();
        }
        project.validate()?;
        *self = project;
        Ok(resource)
    }

    /// Removes the controller `name` of the resource `id`. A built-in kind without any controllers and webhooks is
    /// removed too. Returns the resource as it was.
    ///
    /// # Errors
    /// If there is no such controller, or the remaining resources contradict each other.
    pub fn remove_controller(
        &mut self,
        id: &GroupVersionKind,
        name: &ControllerName,
    ) -> Result<Resource> {
        self.reduce(id, |resource| {
            resource.ensure_controller(name)?;
            resource.remove_controller(name);
            Ok(())
        })
    }

    /// Removes the webhooks of the resource `id` that are in `which`. A built-in kind without any controllers and
    /// webhooks is removed too. Returns the resource as it was.
    ///
    /// # Errors
    /// If there is no such webhook, or the remaining resources contradict each other.
    pub fn remove_webhooks(&mut self, id: &GroupVersionKind, which: &Webhooks) -> Result<Resource> {
        self.reduce(id, |resource| {
            let (shown, webhooks) = (resource.to_string(), &mut resource.webhooks);
            for (there, asked, name) in [
                (&mut webhooks.defaulting, &which.defaulting, "defaulting"),
                (&mut webhooks.validation, &which.validation, "validating"),
            ] {
                ensure!(
                    asked.is_none() || there.take().is_some(),
                    "{shown} has no {name} webhook"
                );
            }
            Ok(())
        })
    }

    /// Changes the resource `id`, and removes it if the project has no use for it any more. Returns the resource as it
    /// was.
    pub(super) fn reduce(
        &mut self,
        id: &GroupVersionKind,
        change: impl FnOnce(&mut Resource) -> Result<()>,
    ) -> Result<Resource> {
        let mut project = self.clone();
        let index = project.index(id)?;
        let resource = &mut project.resources[index];
        let before = resource.clone();
        change(resource)?;
        if resource.is_needless() {
            project.resources.remove(index);
        }
        project.validate()?;
        *self = project;
        Ok(before)
    }

    pub(super) fn index(&self, id: &GroupVersionKind) -> Result<usize> {
        let index = self.find(id)?.and_then(|found| self.position(found));
        index.ok_or_else(|| {
            let others = self.resources.iter().map(ToString::to_string);
            anyhow!("`{id}` is not in this project{}", one_of(others))
        })
    }
}

impl Resource {
    /// Refuses the name of a controller that the resource does not have.
    pub fn ensure_controller(&self, name: &ControllerName) -> Result<()> {
        ensure!(
            self.controller(name).is_some(),
            "{self} has no controller `{name}`{}",
            one_of((self.controllers.iter()).map(|there| format!("`{}`", there.name)))
        );
        Ok(())
    }
}

/// The end of an error: the names that exist.
fn one_of(names: impl Iterator<Item = String>) -> String {
    let list = names.collect::<Vec<_>>().join(", ");
    if list.is_empty() {
        list
    } else {
        format!(": it has {list}")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            definition::{Definition, Own},
            for_tests::{api, core, empty, unserved, with_controller, without_controller},
        },
        *,
    };

    fn project(resources: impl IntoIterator<Item = Resource>) -> Project {
        let mut project = empty();
        project.resources.extend(resources);
        project.sort();
        project
    }

    fn id(text: &str) -> GroupVersionKind {
        text.parse().unwrap()
    }

    #[test]
    fn removing_undoes_adding() {
        let before = project([api("webapp", "v1", "Guestbook")]);
        for resource in [
            api("crew", "v1", "Captain"),
            core("apps", "v1", "Deployment"),
            unserved(api("webapp", "v1alpha1", "Guestbook")),
        ] {
            let mut after = before.clone();
            let name = resource.to_string();
            after.add(resource, false).unwrap();
            after.remove(&id(name.trim_matches('`')), false).unwrap();
            assert_eq!(after, before);
        }
    }

    #[test]
    fn a_single_version_has_no_conversion() {
        let before = project([api("webapp", "v1", "Guestbook")]);
        let mut after = before.clone();
        let equal = Resource {
            definition: Definition::Own(Own::further(ConversionStrategy::None)),
            ..without_controller(api("webapp", "v2", "Guestbook"))
        };
        after.add(equal, false).unwrap();
        assert!(after.to_text().unwrap().contains("conversion: none"));
        after.remove(&id("webapp/v2/Guestbook"), true).unwrap();
        assert_eq!(after, before);
    }

    #[test]
    fn the_newest_version_replaces_a_removed_served_version() {
        let v1 = with_controller(api("webapp", "v1", "Guestbook"), "backup");
        let mut project = project([
            v1.clone(),
            unserved(api("webapp", "v2beta1", "Guestbook")),
            unserved(api("webapp", "v2", "Guestbook")),
        ]);
        let removed = project.remove(&id("webapp/v1/Guestbook"), false).unwrap();
        assert_eq!(removed, v1);
        let v2 = project.find(&id("webapp.com/v2/Guestbook"));
        let v2 = v2.unwrap().unwrap();
        assert!(v2.is_served());
        assert_eq!(v2.controllers, v1.controllers);
    }

    #[test]
    fn an_owned_kind_cannot_be_removed() {
        let mut owner = api("webapp", "v1", "Guestbook");
        owner.controllers[0].owns = vec![id("press/v1/Page")];
        let mut project = project([owner, without_controller(api("press", "v1", "Page"))]);
        let before = project.clone();
        let error = project.remove(&id("press/v1/Page"), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the controller `guestbook` of `webapp/v1/Guestbook` owns `press/v1/Page`"
        );
        assert_eq!(project, before);
    }

    #[test]
    fn an_error_about_a_missing_name_lists_the_existing_ones() {
        let mut project = project([api("webapp", "v1", "Guestbook")]);
        assert_eq!(
            project
                .remove(&id("webapp/v1/Guest"), false)
                .unwrap_err()
                .to_string(),
            "`webapp/v1/Guest` is not in this project: it has `webapp/v1/Guestbook`"
        );
        let name = "backup".parse().unwrap();
        assert_eq!(
            project
                .remove_controller(&id("webapp/v1/Guestbook"), &name)
                .unwrap_err()
                .to_string(),
            "`webapp/v1/Guestbook` has no controller `backup`: it has `guestbook`"
        );
    }

    #[test]
    fn a_builtin_kind_is_removed_with_its_last_controller() {
        let pod = with_controller(core("core", "v1", "Pod"), "audit");
        let mut project = project([pod]);
        let name = "audit".parse().unwrap();
        project.remove_controller(&id("v1/Pod"), &name).unwrap();
        assert_eq!(project.resources.len(), 1);
        project
            .remove_controller(&id("v1/Pod"), &"pod".parse().unwrap())
            .unwrap();
        assert!(project.resources.is_empty());
    }
}
