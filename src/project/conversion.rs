//! Conversion webhooks: one version of a kind is the hub, and the operator converts each spoke to the hub and back.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};

use super::{
    definition::{ConversionStrategy, Stage},
    error::Error,
    model::Project,
    resource::Resource,
};
use crate::names::{GroupVersionKind, Version, in_backticks};

impl Project {
    /// The hub of each kind that a webhook converts.
    pub fn hubs(&self) -> impl Iterator<Item = &Resource> {
        self.resources
            .iter()
            .filter(|version| version.spokes().is_some())
    }

    /// The hub of the kind of `resource`, if a webhook converts its versions.
    pub fn hub_of(&self, resource: &Resource) -> Option<&Resource> {
        self.versions(resource)
            .find(|version| version.spokes().is_some())
    }

    /// The hub to which a webhook converts `resource` and back, if `resource` is a spoke.
    pub fn hub_of_spoke(&self, resource: &Resource) -> Option<&Resource> {
        let hub = self.hub_of(resource)?;
        let is_spoke = hub.spokes()?.contains(&resource.version);
        is_spoke.then_some(hub)
    }

    /// Whether objects of the other versions can be converted to this version.
    pub fn is_converted(&self, resource: &Resource) -> bool {
        self.converts(resource, resource)
    }

    /// Whether objects of `resource` can be converted to `other`, another version of the kind, and back.
    pub(super) fn converts(&self, resource: &Resource, other: &Resource) -> bool {
        resource.conversion() == ConversionStrategy::None
            || self.takes_part(resource) && self.takes_part(other)
    }

    /// Whether this version is the hub or a spoke of its kind.
    fn takes_part(&self, resource: &Resource) -> bool {
        resource.spokes().is_some() || self.hub_of_spoke(resource).is_some()
    }

    /// Makes `hub` the hub of its kind, and adds `spokes`, or all other versions of the kind if `spokes` is empty.
    /// Every version that joins the conversion is served from then on. Returns those that were not served before.
    ///
    /// # Errors
    /// If there is no such hub or spoke, another version is the hub, or the versions contradict each other.
    pub fn convert(
        &mut self,
        hub: &Resource,
        spokes: &BTreeSet<Version>,
    ) -> Result<Vec<GroupVersionKind>> {
        let mut project = self.clone();
        ensure!(
            hub.has_api(),
            "{hub} is a kind of {}, but only versions of this project's kinds can be converted",
            hub.definition.definer()
        );
        let versions = self.versions(hub).map(|version| version.version.clone());
        let mut others: BTreeSet<_> = versions.collect();
        others.remove(&hub.version);
        if others.is_empty() {
            bail!(Error::OnlyVersion { id: hub.id() });
        }
        if let Some(there) = self
            .hub_of(hub)
            .filter(|there| there.version != hub.version)
        {
            bail!(Error::OtherHub {
                hub: there.id(),
                wanted: hub.version.clone(),
            });
        }
        for spoke in spokes {
            ensure!(
                *spoke != hub.version,
                "{hub} is the hub, so it cannot be a spoke"
            );
            ensure!(
                others.contains(spoke),
                "`{spoke}` is not a version of {hub}, which has {}",
                in_backticks(&others)
            );
        }
        let added = if spokes.is_empty() { &others } else { spokes };
        let mut served = Vec::new();
        for version in project.versions_mut(hub) {
            let is_hub = version.version == hub.version;
            let is_new = !self.takes_part(version) && (is_hub || added.contains(&version.version));
            let id = version.id();
            let Some(own) = version.own_mut() else {
                continue;
            };
            own.conversion = ConversionStrategy::Missing;
            if is_hub {
                own.spokes
                    .get_or_insert_default()
                    .extend(added.iter().cloned());
            }
            if is_new && own.stage == Stage::Unserved {
                own.stage = Stage::Served;
                served.push(id);
            }
        }
        project.validate()?;
        *self = project;
        Ok(served)
    }

    /// Removes the conversion webhook whose hub is the version `id`. Returns the hub as it was.
    ///
    /// # Errors
    /// If the version is not the hub, or several versions are served.
    pub fn remove_conversion(&mut self, id: &GroupVersionKind) -> Result<Resource> {
        let before = &self.resources[self.index(id)?];
        if before.spokes().is_none() {
            let other = match self.hub_of(before) {
                Some(hub) => format!(": {hub} is the hub, which has it"),
                None => String::new(),
            };
            bail!("{before} has no webhook that converts{other}");
        }
        let (stored, served): (Vec<_>, Vec<_>) =
            (self.served_versions(before)).partition(|version| version.is_stored());
        if let (Some(stored), Some(other)) = (stored.first(), served.first()) {
            bail!(Error::ServedVersions {
                other: other.id(),
                stored: stored.id(),
            });
        }
        self.reduce(id, |resource| {
            if let Some(own) = resource.own_mut() {
                own.spokes = None;
            }
            Ok(())
        })
    }

    /// Removes a version from the conversion of its kind. Without any spokes left, the kind has no conversion webhook.
    ///
    /// # Errors
    /// If the version is the hub.
    pub(super) fn remove_spoke(&mut self, removed: &Resource) -> Result<()> {
        if let Some(spokes) = removed.spokes() {
            bail!(Error::Hub {
                id: removed.id(),
                spokes: in_backticks(spokes),
            });
        }
        for version in self.versions_mut(removed) {
            if let Some(own) = version.own_mut()
                && let Some(spokes) = &mut own.spokes
            {
                spokes.remove(&removed.version);
                own.spokes = own.spokes.take().filter(|spokes| !spokes.is_empty());
            }
        }
        Ok(())
    }

    /// Checks that a kind has one hub, that its spokes exist, and that no other version is served.
    pub(super) fn validate_conversions(&self) -> Result<()> {
        for hub in self.hubs() {
            let (kind, group) = (&hub.kind, self.full_group(hub));
            let spokes = hub.spokes().into_iter().flatten();
            if let Some(other) = self.hub_of(hub).filter(|other| *other != hub) {
                bail!(
                    "`{}` and `{}` of `{kind}` in `{group}` have `conversion: true`: only one \
                     version can be the hub",
                    other.version,
                    hub.version
                );
            }
            let is_given = hub.has_given_types();
            let mut versions = self.versions(hub);
            if let Some(other) = versions.find(|version| version.has_given_types() != is_given) {
                let (given, example) = if is_given { (hub, other) } else { (other, hub) };
                bail!(
                    "the types of {given} come from a CRD, but those of {example} do not: a \
                     webhook cannot convert between them"
                );
            }
            for spoke in spokes {
                ensure!(
                    *spoke != hub.version,
                    "{hub} is the hub of its kind, so `spoke` cannot list `{spoke}`"
                );
                ensure!(
                    self.versions(hub).any(|version| version.version == *spoke),
                    "{hub} has the spoke `{spoke}`, which is not a version of `{kind}` in `{group}`"
                );
            }
            let conversion = hub.conversion();
            ensure!(
                conversion.is_missing(),
                Error::TwoConversions {
                    hub: hub.id(),
                    other: conversion.name(),
                }
            );
            for version in self.versions(hub) {
                ensure!(
                    !version.is_served() || self.is_converted(version),
                    Error::NoSpoke {
                        id: version.id(),
                        hub: hub.id(),
                    }
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{api, at_stage, core, empty, error, unserved, without_controller},
        *,
    };

    fn project(resources: impl IntoIterator<Item = Resource>) -> Project {
        let mut project = empty();
        project.resources.extend(resources);
        project.sort();
        project
    }

    fn versions(texts: &[&str]) -> BTreeSet<Version> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn hub(mut resource: Resource, spokes: &[&str]) -> Resource {
        resource.own_mut().unwrap().spokes = Some(versions(spokes));
        resource
    }

    /// A kind whose version `v2` is stored and has the controller; `v1` and `v1beta1` are not served.
    fn ships() -> Project {
        project([
            unserved(api("sea", "v1beta1", "Ship")),
            unserved(api("sea", "v1", "Ship")),
            api("sea", "v2", "Ship"),
        ])
    }

    fn id(text: &str) -> GroupVersionKind {
        text.parse().unwrap()
    }

    /// Makes `version` the hub, and adds `spokes`. Returns the versions that are served only since then.
    fn convert(project: &mut Project, version: &str, spokes: &[&str]) -> Result<Vec<String>> {
        let id = id(&format!("sea/{version}/Ship"));
        let hub = project.find(&id).unwrap().unwrap().clone();
        let served = project.convert(&hub, &versions(spokes))?;
        Ok(served.iter().map(ToString::to_string).collect())
    }

    fn served(project: &Project) -> Vec<&str> {
        let served = project
            .resources
            .iter()
            .filter(|version| version.is_served());
        served.map(|version| version.version.as_str()).collect()
    }

    #[test]
    fn every_converted_version_is_served() {
        let mut ships = ships();
        let new = convert(&mut ships, "v2", &["v1"]).unwrap();
        assert_eq!(new, ["sea/v1/Ship"]);
        assert_eq!(served(&ships), ["v1", "v2"]);
        // Adding a spoke does not serve a version again that was taken out of service.
        let v1 = ships.resources[1].clone();
        assert_eq!(v1.version.as_str(), "v1");
        let v1 = at_stage(v1, Stage::Unserved, ConversionStrategy::Missing);
        ships.add(v1, true).unwrap();
        let new = convert(&mut ships, "v2", &[]).unwrap();
        assert_eq!(new, ["sea/v1beta1/Ship"]);
        assert_eq!(served(&ships), ["v1beta1", "v2"]);
        let before = ships.clone();
        assert!(convert(&mut ships, "v2", &[]).unwrap().is_empty());
        assert!(convert(&mut ships, "v2", &["v1"]).unwrap().is_empty());
        assert_eq!(ships, before);
    }

    #[test]
    fn spokes_stand_at_their_hub_in_the_file() {
        let mut ships = ships();
        convert(&mut ships, "v1", &[]).unwrap();
        let text = ships.to_text().unwrap();
        let fields = "  version: v1\n  webhooks:\n    conversion: true\n    spoke:\n    - v1beta1\n    - v2\n    \
                      webhookVersion: v1\n";
        assert!(text.contains(fields), "{text}");
        assert_eq!(Project::parse(&text).unwrap(), ships);
    }

    #[test]
    fn the_hub_stays_when_the_stored_version_changes() {
        let mut ships = ships();
        convert(&mut ships, "v2", &[]).unwrap();
        let v2 = ships.resources[2].clone();
        let v1 = Resource {
            controllers: v2.controllers,
            ..at_stage(
                ships.resources[1].clone(),
                Stage::Stored,
                ConversionStrategy::Missing,
            )
        };
        ships.add(v1, false).unwrap();
        assert!(ships.resources[1].is_stored());
        let [v1, v2] = [&ships.resources[1], &ships.resources[2]];
        assert_eq!(ships.hub_of(v1), Some(v2));
        assert!(v2.is_served() && v2.controllers.is_empty());
        assert_eq!(ships.hub("sea", "Ship"), Some(v2));
    }

    #[test]
    fn a_webhook_takes_the_place_of_a_conversion_between_equal_schemas() {
        let at = |version, stage| {
            let ship = without_controller(api("sea", version, "Ship"));
            at_stage(ship, stage, ConversionStrategy::None)
        };
        let mut ships = project([at("v1", Stage::Served), at("v2", Stage::Stored)]);
        convert(&mut ships, "v2", &[]).unwrap();
        let conversions = ships
            .resources
            .iter()
            .map(|version| version.own().unwrap().conversion);
        assert!(conversions.eq([ConversionStrategy::Missing; 2]));
        // The conversion cannot be changed back: the schemas may differ now.
        let refused = ships.add(at("v1", Stage::Served), true).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`sea/v2/Ship` has a webhook that converts, so its kind cannot also have the conversion `none`"
        );
    }

    #[test]
    fn impossible_conversions_are_refused() {
        let refused = |version: &str, spokes: &[&str]| {
            let mut ships = ships();
            convert(&mut ships, "v2", &["v1"]).unwrap();
            let before = ships.clone();
            let error = convert(&mut ships, version, spokes).unwrap_err();
            assert_eq!(ships, before);
            error.to_string()
        };
        assert_eq!(
            refused("v1", &[]),
            "`sea/v2/Ship` is the hub of the kind: with `v1` as the hub, you would have to rewrite \
             the code of each conversion"
        );
        assert_eq!(
            refused("v2", &["v2"]),
            "`sea/v2/Ship` is the hub, so it cannot be a spoke"
        );
        assert_eq!(
            refused("v2", &["v1", "v9"]),
            "`v9` is not a version of `sea/v2/Ship`, which has `v1beta1`, `v1`"
        );
        let mut only = project([api("sea", "v2", "Ship"), core("core", "v1", "Pod")]);
        assert_eq!(
            convert(&mut only, "v2", &[]).unwrap_err().to_string(),
            "`sea/v2/Ship` is the only version of its kind, so there is nothing to convert"
        );
        let pod = only.find(&id("v1/Pod")).unwrap().unwrap().clone();
        assert_eq!(
            only.convert(&pod, &versions(&[])).unwrap_err().to_string(),
            "`v1/Pod` is a kind of Kubernetes, but only versions of this project's kinds can be \
             converted"
        );
    }

    #[test]
    fn contradicting_hubs_and_spokes_are_refused() {
        let v1 = || unserved(api("sea", "v1", "Ship"));
        let v2 = || api("sea", "v2", "Ship");
        assert_eq!(
            error([hub(v1(), &["v2"]), hub(v2(), &["v1"])]),
            "`v1` and `v2` of `Ship` in `sea.com` have `conversion: true`: only one version can be \
             the hub"
        );
        assert_eq!(
            error([v1(), hub(v2(), &["v2"])]),
            "`sea/v2/Ship` is the hub of its kind, so `spoke` cannot list `v2`"
        );
        assert_eq!(
            error([v1(), hub(v2(), &["v1", "v3"])]),
            "`sea/v2/Ship` has the spoke `v3`, which is not a version of `Ship` in `sea.com`"
        );
        let at = |resource, stage| {
            at_stage(
                without_controller(resource),
                stage,
                ConversionStrategy::None,
            )
        };
        assert_eq!(
            error([
                at(v1(), Stage::Served),
                hub(at(v2(), Stage::Stored), &["v1"])
            ]),
            "`sea/v2/Ship` has a webhook that converts, so its kind cannot also have the conversion `none`"
        );
        let beside = at_stage(
            without_controller(api("sea", "v3", "Ship")),
            Stage::Served,
            ConversionStrategy::Missing,
        );
        assert_eq!(
            error([v1(), hub(v2(), &["v1"]), beside]),
            "`sea/v3/Ship` cannot be served: it is not a spoke of `sea/v2/Ship`, the hub of the \
             kind"
        );
    }

    #[test]
    fn deleting_the_last_spoke_ends_the_conversion() {
        let mut ships = ships();
        convert(&mut ships, "v2", &[]).unwrap();
        let hub = ships.remove(&id("sea/v2/Ship"), true).unwrap_err();
        assert_eq!(
            hub.to_string(),
            "`sea/v2/Ship` is the hub of `v1beta1`, `v1`"
        );
        ships.remove(&id("sea/v1beta1/Ship"), true).unwrap();
        assert_eq!(ships.resources[1].spokes(), Some(&versions(&["v1"])));
        ships.remove(&id("sea/v1/Ship"), true).unwrap();
        assert_eq!(ships, project([api("sea", "v2", "Ship")]));
    }

    #[test]
    fn a_version_is_not_removed_while_it_and_another_one_are_served() {
        let mut ships = ships();
        convert(&mut ships, "v2", &[]).unwrap();
        for version in ["v1beta1", "v1"] {
            let id = id(&format!("sea/{version}/Ship"));
            let error = ships.remove(&id, false).unwrap_err();
            let expected = format!("`{id}` is still served, so clients may use it");
            assert_eq!(error.to_string(), expected);
        }
        let v1beta1 = unserved(without_controller(api("sea", "v1beta1", "Ship")));
        ships.add(v1beta1, true).unwrap();
        ships.remove(&id("sea/v1beta1/Ship"), false).unwrap();
    }

    #[test]
    fn a_conversion_ends_when_one_version_is_served() {
        let mut ships = ships();
        convert(&mut ships, "v2", &["v1"]).unwrap();
        assert_eq!(
            ships
                .remove_conversion(&id("sea/v1/Ship"))
                .unwrap_err()
                .to_string(),
            "`sea/v1/Ship` has no webhook that converts: `sea/v2/Ship` is the hub, which has it"
        );
        let refused = ships.remove_conversion(&id("sea/v2/Ship")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`sea/v1/Ship` and `sea/v2/Ship` are served, and nothing would convert between them"
        );
        let v1 = unserved(ships.resources[1].clone());
        ships.add(v1, true).unwrap();
        ships.remove_conversion(&id("sea/v2/Ship")).unwrap();
        assert_eq!(ships, self::ships());
    }

    #[test]
    fn branches_add_spokes_to_one_hub() {
        let ships = |spokes: &[&str]| {
            let mut ships = ships();
            convert(&mut ships, "v2", spokes).unwrap();
            ships
        };
        let (beta, v1, both) = (
            ships(&["v1beta1"]),
            ships(&["v1"]),
            ships(&["v1beta1", "v1"]),
        );
        let none = self::ships();
        let merge = |parent, ours, theirs| Project::merge(Some(parent), ours, theirs);
        assert_eq!(merge(&none, &beta, &v1).unwrap(), both);
        assert_eq!(merge(&beta, &both, &beta).unwrap(), both);
        assert_eq!(merge(&both, &beta, &v1).unwrap(), none);
        assert_eq!(merge(&beta, &beta, &none).unwrap(), none);
        assert_eq!(Project::parent(&beta, &v1, &both).unwrap(), none);
        // One branch ends the conversion that existed before.
        assert_eq!(merge(&beta, &both, &none).unwrap(), v1);
        // Each branch has its own hub.
        let mut other = none.clone();
        convert(&mut other, "v1", &[]).unwrap();
        assert_eq!(
            merge(&none, &other, &beta).unwrap_err().to_string(),
            "`v1` and `v2` of `Ship` in `sea.com` have `conversion: true`: only one version can be \
             the hub"
        );
    }
}
