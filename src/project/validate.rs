//! Checks that the parts of a project are consistent.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

use anyhow::{Result, bail, ensure};

use super::{
    builtin, definition::ConversionStrategy, error::Error, model::Project, resource::Resource,
    runtime::Runtime,
};
use crate::{limits::RESOURCES, visible::is_hidden};

impl Project {
    /// Checks that the parts of the project are consistent.
    pub fn validate(&self) -> Result<()> {
        ensure!(
            self.owner.as_ref().is_none_or(|owner| is_line(owner)),
            "`owner` must be one line of visible text of at most 200 characters, as in `The Guestbook Authors`"
        );
        self.ensure_few_resources()?;
        self.validate_lease()?;
        self.validate_deployment()?;
        // A shared runtime is outside of the project's folder. Only the image build of a workspace member includes the
        // folders of the workspace.
        ensure!(
            self.workspace.is_some() || !matches!(self.runtime, Runtime::Shared(_)),
            "the runtime is `{}`, outside of the project: only a member of a cargo workspace can \
             share a runtime",
            self.runtime
        );
        for resource in self.resources.iter() {
            self.validate_resource(resource)?;
        }
        self.validate_conversions()?;
        self.validate_versions()?;
        self.validate_kubernetes_names()?;
        self.validate_rust_names()?;
        self.validate_dependencies()?;
        self.validate_controllers()?;
        self.validate_images()?;
        self.validate_webhooks()?;
        for (resource, controller) in self.controllers() {
            self.related(resource, controller)?;
        }
        Ok(())
    }

    /// Checks the limit on the number of resources.
    pub(super) fn ensure_few_resources(&self) -> Result<()> {
        let resources = self.resources.len();
        ensure!(
            resources <= RESOURCES,
            "there are {resources} versions of kinds in `resources`, at most {RESOURCES} are allowed"
        );
        Ok(())
    }

    fn validate_resource(&self, resource: &Resource) -> Result<()> {
        // File names have at most 255 bytes. The longest ones are `<full group>_<plural>.yaml` of the CRD, and
        // `<group>_<kind>_viewer_role.yaml` among the samples and roles. With `MAX`, the name of the CRD is also within
        // the 253 characters that Kubernetes allows.
        const MAX: usize = 250;
        const MAX_ID: usize = 230;
        let (mut short_names, mut seen) = (resource.short_names.iter(), BTreeSet::new());
        if let Some(name) = short_names.find(|name| !seen.insert(*name)) {
            bail!("{resource} has the short name `{name}` twice");
        }
        ensure!(
            !resource.is_needless(),
            "{resource} has neither an API nor a controller nor a webhook in this project"
        );
        let group = self.full_group(resource);
        let name = format!("{}.{group}", resource.plural);
        ensure!(
            name.len() <= MAX,
            "the full name `{name}` of {resource} has {} characters, at most {MAX} are allowed",
            name.len()
        );
        let id = format!("{}{}{}", resource.group, resource.version, resource.kind);
        ensure!(
            id.len() <= MAX_ID,
            "group, version and kind of {resource} have {} characters, at most {MAX_ID} are allowed",
            id.len()
        );
        if resource.group.is_empty() {
            ensure!(
                resource.domain.is_none(),
                "{resource} has the `domain` `{group}` and no `group`: a kind without `group` must \
                 have the domain of the project, `{}`",
                self.domain
            );
            ensure!(
                group.contains('.'),
                "{resource} would be in the group `{group}`, but the API server refuses the CRD of \
                 a group without a dot: give the kind a group besides the domain"
            );
        }
        ensure!(
            !self.is_protected(resource) || builtin::all().all(|builtin| builtin.group != group),
            "{resource} would be in the group `{group}`, which Kubernetes has built in"
        );
        ensure!(
            !self.namespaced || resource.controllers.is_empty() || resource.namespaced,
            "{resource} is cluster-scoped, so it cannot have a controller in a namespaced project"
        );
        Ok(())
    }

    /// Checks that the versions of a kind agree: they share one CRD, and only one of them has controllers.
    fn validate_versions(&self) -> Result<()> {
        for resource in self.resources.iter() {
            let called = self.resources.of_kind(&resource.kind);
            let before = called.take_while(|other| !ptr::eq(*other, resource));
            for other in before.filter(|earlier| self.is_same_group(earlier, resource)) {
                ensure!(
                    resource.version != other.version,
                    "{resource} is listed twice"
                );
                if let Some(change) = other.contradiction(resource) {
                    bail!(Error::OtherCrd {
                        id: resource.id(),
                        other: other.id(),
                        change,
                    });
                }
                let (refused, stored) = if other.is_stored() {
                    (resource, other)
                } else {
                    (other, resource)
                };
                ensure!(
                    refused.controllers.is_empty() || stored.controllers.is_empty(),
                    Error::SecondControllers {
                        id: refused.id(),
                        other: stored.version.clone(),
                    }
                );
            }
        }
        for resource in self.apis() {
            let (kind, group) = (&resource.kind, self.full_group(resource));
            let served = self.served_versions(resource).count();
            let versions = self.versions(resource);
            let stored = versions.filter(|version| version.is_stored()).count();
            ensure!(
                served > 0,
                "no version of `{kind}` in `{group}` is served: at least one must be"
            );
            ensure!(
                served == 1
                    || resource.conversion() != ConversionStrategy::Missing
                    || self.hub_of(resource).is_some(),
                Error::Unconverted {
                    count: served,
                    kind: kind.clone(),
                    group,
                }
            );
            ensure!(
                stored == 1,
                "{stored} versions of `{kind}` in `{group}` have `storage: true`: exactly one must \
                 have it"
            );
            ensure!(
                resource.controllers.is_empty() || resource.is_stored(),
                Error::UnstoredController { id: resource.id() }
            );
        }
        Ok(())
    }

    /// Checks that the names of a kind (in URLs, for kubectl and in manifests) are unique in the group.
    fn validate_kubernetes_names(&self) -> Result<()> {
        let mut owners = BTreeMap::new();
        let resources = self.resources.iter();
        for resource in resources.filter(|resource| !resource.is_builtin()) {
            let (kind, group) = (&resource.kind, self.full_group(resource));
            let names = [
                kind.to_string(),
                format!("{kind}List"),
                kind.lower(),
                resource.plural.to_string(),
            ];
            let short_names = resource.short_names.iter().map(ToString::to_string);
            for name in names.into_iter().chain(short_names) {
                let owner = *owners.entry((group.clone(), name.clone())).or_insert(kind);
                ensure!(
                    owner == kind,
                    Error::SameName {
                        one: owner.clone(),
                        other: kind.clone(),
                        group,
                        name,
                    }
                );
            }
        }
        Ok(())
    }

    /// Checks that Rust names do not collide. The modules of kinds differ, because the singulars of the kinds do.
    fn validate_rust_names(&self) -> Result<()> {
        let mut groups = BTreeMap::new();
        let mut types = BTreeMap::new();
        let mut modules = BTreeMap::new();
        for resource in self.resources.iter() {
            let module = self.group_module(resource);
            let group = self.full_group(resource);
            let other = groups.entry(module.clone()).or_insert(group.clone());
            if let ("", own) | (own, "") = (other.as_str(), group.as_str())
                && !own.is_empty()
            {
                bail!(
                    "the core group of Kubernetes and the group `{own}` would both be the Rust module `{module}`"
                );
            }
            ensure!(
                *other == group,
                "groups `{other}` and `{group}` would both be the Rust module `{module}`"
            );
            let (kind, type_name) = (&resource.kind, self.type_name(resource));
            types.insert((&resource.group, &resource.version, type_name), kind);
            let module = (&resource.group, resource.kind.module());
            modules.entry(module).or_insert(resource);
        }
        for resource in self.apis() {
            let module = (&resource.group, resource.conversion_module());
            if let Some(other) = modules.get(&module)
                && self.hub_of_spoke(resource).is_some()
            {
                bail!(
                    "{other} and the conversion of {resource} would both be the Rust module `{}`",
                    module.1
                );
            }
        }
        for resource in self.resources.iter() {
            let (group, version, kind) = (&resource.group, &resource.version, &resource.kind);
            let own = [
                self.type_name(resource),
                format!("{}Spec", kind.in_rust()),
                format!("{}Status", kind.in_rust()),
            ];
            for name in own {
                let other = types.get(&(group, version, name.clone()));
                if let Some(other) = other.filter(|other| **other != kind) {
                    bail!(
                        "kinds `{kind}` and `{other}` of `{}` would both have the Rust type `{name}`",
                        format!("{group}/{version}").trim_start_matches('/')
                    );
                }
            }
        }
        Ok(())
    }
}

/// Whether `text` can be the owner of a project, which appears in comments: one line of at most 200 characters.
pub fn is_line(text: &str) -> bool {
    const MAX: usize = 200;
    !text.trim().is_empty() && !text.contains(is_hidden) && text.chars().count() <= MAX
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{
            api, at_stage, cluster, core, empty, error, error_in, in_domain, unserved,
            with_controller, with_domain, with_plural, with_short_name, without_controller,
        },
        *,
    };

    use crate::project::definition::Stage;

    #[track_caller]
    fn assert_valid(resources: impl IntoIterator<Item = Resource>) {
        let mut project = empty();
        project.resources.extend(resources);
        project.validate().unwrap();
    }

    #[test]
    fn consistent_resources_are_valid() {
        assert_valid([
            api("webapp", "v1", "Guestbook"),
            unserved(api("webapp", "v1alpha1", "Guestbook")),
            cluster(api("webapp", "v1", "Shelf")),
            api("crew", "v1", "Guestbook"),
            api("crew", "v1", "Captain"),
            core("apps", "v1", "Deployment"),
            core("core", "v1", "Node"),
        ]);
    }

    #[test]
    fn the_fields_of_the_project() {
        for owner in ["", " ", "a\nb", "a\u{202e}b", "a\u{2028}b", "\x1b[2J"] {
            let project = Project {
                owner: Some(owner.to_owned()),
                ..empty()
            };
            let expected = "`owner` must be one line of visible text of at most 200 characters, as in `The Guestbook Authors`";
            assert_eq!(error_in(project, []), expected);
        }
    }

    #[test]
    fn the_name_of_the_lease_is_not_too_long() {
        // Three labels of 63 characters with their dots, and one of the rest.
        let domain = |length: usize| {
            format!(
                "{}{}",
                "d".repeat(63) + &(".".to_owned() + &"d".repeat(63)).repeat(2),
                ".".to_owned() + &"d".repeat(length - 192)
            )
        };
        let project = |length: usize| Project {
            domain: domain(length).parse().unwrap(),
            project_name: "p".repeat(47).parse().unwrap(),
            ..empty()
        };
        project(253 - 48).validate().unwrap();
        let expected = "of the Lease has 254 characters, at most 253 are allowed: ";
        let error = error_in(project(253 - 47), []);
        assert!(error.contains(expected), "{error}");
        let named = Project {
            lease: Some("short".parse().unwrap()),
            ..project(232)
        };
        named.validate().unwrap();
    }

    #[test]
    fn built_in_kinds_are_as_kubernetes_has_them() {
        assert_eq!(
            error([without_controller(core("apps", "v1", "Deployment"))]),
            "`apps/v1/Deployment` has neither an API nor a controller nor a webhook in this project"
        );
        let project = Project {
            domain: "k8s.io".parse().unwrap(),
            ..empty()
        };
        assert_eq!(
            error_in(project, [api("networking", "v1", "Ingress")]),
            "`networking/v1/Ingress` would be in the group `networking.k8s.io`, which Kubernetes \
             has built in"
        );
    }

    #[test]
    fn a_kind_without_a_group_needs_a_domain_with_a_dot() {
        let guestbook = in_domain(api("webapp", "v1", "Guestbook"));
        assert_eq!(
            error([guestbook.clone()]),
            "`v1/Guestbook` would be in the group `com`, but the API server refuses the CRD of a \
             group without a dot: give the kind a group besides the domain"
        );
        let project = Project {
            domain: "example.com".parse().unwrap(),
            ..empty()
        };
        assert_eq!(
            error_in(
                project.clone(),
                [with_domain(guestbook.clone(), "example.org")]
            ),
            "`v1/Guestbook` has the `domain` `example.org` and no `group`: a kind without `group` \
             must have the domain of the project, `example.com`"
        );
        assert_eq!(
            error_in(
                project.clone(),
                [guestbook.clone(), api("example-com", "v1", "Shelf")]
            ),
            "groups `example.com` and `example-com.example.com` would both be the Rust module `example_com`"
        );
        assert_eq!(
            error_in(
                project,
                [guestbook, in_domain(api("webapp", "v1", "GuestbookSpec"))]
            ),
            "kinds `Guestbook` and `GuestbookSpec` of `v1` would both have the Rust type `GuestbookSpec`"
        );
    }

    #[test]
    fn an_operator_of_one_namespace_sees_no_cluster_scoped_objects() {
        let project = Project {
            namespaced: true,
            ..empty()
        };
        assert_eq!(
            error_in(project.clone(), [cluster(api("webapp", "v1", "Shelf"))]),
            "`webapp/v1/Shelf` is cluster-scoped, so it cannot have a controller in a namespaced project"
        );
        let node =
            "`v1/Node` is cluster-scoped, so it cannot have a controller in a namespaced project";
        assert_eq!(
            error_in(project.clone(), [core("core", "v1", "Node")]),
            node
        );
        let mut project = project;
        project
            .resources
            .push(without_controller(cluster(api("webapp", "v1", "Shelf"))));
        project.resources.push(core("core", "v1", "Pod"));
        project.validate().unwrap();
    }

    #[test]
    fn a_full_name_that_is_too_long_for_a_file() {
        let guestbook =
            |domain: usize| with_domain(api("webapp", "v1", "Guestbook"), &"d".repeat(domain));
        let at_most = 250 - "guestbooks.webapp.".len();
        assert_valid([guestbook(at_most)]);
        let error = error([guestbook(at_most + 1)]);
        assert!(
            error.ends_with("has 251 characters, at most 250 are allowed"),
            "{error}"
        );
    }

    #[test]
    fn a_group_that_is_too_long_for_a_file() {
        let at_most = 230 - "v1Guestbook".len();
        assert_valid([api(&"g".repeat(at_most), "v1", "Guestbook")]);
        let error = error([api(&"g".repeat(at_most + 1), "v1", "Guestbook")]);
        assert!(
            error.ends_with("have 231 characters, at most 230 are allowed"),
            "{error}"
        );
    }

    #[test]
    fn versions_of_one_kind_agree() {
        let v1 = || api("webapp", "v1", "Guestbook");
        let v2 = || unserved(api("webapp", "v2", "Guestbook"));
        assert_eq!(error([v1(), v1()]), "`webapp/v1/Guestbook` is listed twice");
        assert_eq!(
            error([v1(), api("webapp", "v2", "Guestbook")]),
            "`webapp/v2/Guestbook` cannot have a controller: `v1` has the controllers of the kind"
        );
        assert_eq!(
            error([v1(), with_plural(v2(), "books")]),
            "`webapp/v2/Guestbook` must share the CRD of v1, but differs: plural `guestbooks` -> \
             `books`"
        );
        assert_eq!(
            error([v1(), cluster(v2())]),
            "`webapp/v2/Guestbook` must share the CRD of v1, but differs: scope `Namespaced` -> \
             `Cluster`"
        );
        assert_eq!(
            error([v1(), with_short_name(v2(), "gb")]),
            "`webapp/v2/Guestbook` must share the CRD of v1, but differs: short names none -> `gb`"
        );
    }

    #[test]
    fn one_version_of_a_kind_is_stored_and_served() {
        let v1 = || api("webapp", "v1", "Guestbook");
        let v2 = || api("webapp", "v2", "Guestbook");
        let of_guestbook = "of `Guestbook` in `webapp.com`";
        assert_eq!(
            error([v1(), without_controller(v2())]),
            format!("2 versions {of_guestbook} are served, and nothing converts between them")
        );
        assert_eq!(
            error([unserved(v1()), unserved(v2())]),
            format!("no version {of_guestbook} is served: at least one must be")
        );
        let controlled = with_controller(unserved(v2()), "guestbook");
        assert_eq!(
            error([without_controller(v1()), controlled]),
            "`webapp/v2/Guestbook` cannot have a controller: the API server does not store this version"
        );
        let at = |resource, stage| at_stage(resource, stage, ConversionStrategy::None);
        let [one, other] = [v1(), without_controller(v2())];
        assert_valid([
            at(one.clone(), Stage::Stored),
            at(other.clone(), Stage::Served),
        ]);
        assert_valid([
            at(one.clone(), Stage::Stored),
            at(other.clone(), Stage::Unserved),
        ]);
        for (stages, count) in [([Stage::Stored; 2], 2), ([Stage::Served; 2], 0)] {
            assert_eq!(
                error([at(one.clone(), stages[0]), at(other.clone(), stages[1])]),
                format!(
                    "{count} versions {of_guestbook} have `storage: true`: exactly one must \
                    have it"
                )
            );
        }
        assert_eq!(
            error([
                at(one, Stage::Stored),
                at_stage(other, Stage::Unserved, ConversionStrategy::Missing)
            ]),
            "`webapp/v2/Guestbook` must share the CRD of v1, but differs: conversion `none` -> `missing`"
        );
    }

    #[test]
    fn a_short_name_is_given_once() {
        let guestbook = with_short_name(api("webapp", "v1", "Guestbook"), "gb");
        assert_eq!(
            error([with_short_name(guestbook, "gb")]),
            "`webapp/v1/Guestbook` has the short name `gb` twice"
        );
    }

    #[test]
    fn the_names_of_a_group_are_given_once() {
        let clash = |a: &str, b: &str, group: &str, name: &str| {
            format!("kinds `{a}` and `{b}` of group `{group}` would both be called `{name}`")
        };
        assert_eq!(
            error([
                api("webapp", "v1", "Person"),
                with_plural(api("webapp", "v2", "Human"), "people")
            ]),
            clash("Person", "Human", "webapp.com", "people")
        );
        assert_eq!(
            error([
                with_short_name(api("webapp", "v1", "Guestbook"), "gb"),
                with_short_name(api("webapp", "v1", "Gable"), "gb"),
            ]),
            clash("Guestbook", "Gable", "webapp.com", "gb")
        );
        assert_eq!(
            error([
                api("webapp", "v1", "Guestbook"),
                with_short_name(api("webapp", "v1", "Book"), "guestbook")
            ]),
            clash("Guestbook", "Book", "webapp.com", "guestbook")
        );
        assert_eq!(
            error([
                api("webapp", "v1", "HTTPRoute"),
                api("webapp", "v2", "HttpRoute")
            ]),
            clash("HTTPRoute", "HttpRoute", "webapp.com", "httproute")
        );
        assert_eq!(
            error([
                api("webapp", "v1", "Guestbook"),
                api("webapp", "v1", "GuestbookList")
            ]),
            clash("Guestbook", "GuestbookList", "webapp.com", "GuestbookList")
        );
        assert_valid([
            with_short_name(api("webapp", "v1", "Guestbook"), "gb"),
            with_short_name(api("crew", "v1", "Gable"), "gb"),
        ]);
    }

    #[test]
    fn two_names_do_not_become_one_in_rust() {
        assert_eq!(
            error([api("a-b", "v1", "Guestbook"), api("a.b", "v1", "Shelf")]),
            "groups `a-b.com` and `a.b.com` would both be the Rust module `a_b`"
        );
        assert_eq!(
            error([
                core("apps", "v1", "Deployment"),
                api("apps", "v1", "Guestbook")
            ]),
            "groups `apps` and `apps.com` would both be the Rust module `apps`"
        );
        for kind in ["GuestbookSpec", "GuestbookStatus"] {
            assert_eq!(
                error([api("webapp", "v1", "Guestbook"), api("webapp", "v1", kind)]),
                format!(
                    "kinds `Guestbook` and `{kind}` of `webapp/v1` would both have the Rust type \
                     `{kind}`"
                )
            );
            assert_valid([api("webapp", "v1", "Guestbook"), api("webapp", "v2", kind)]);
        }
        assert_eq!(
            error([api("shop", "v1", "Error"), api("shop", "v1", "ShopError")]),
            "kinds `Error` and `ShopError` of `shop/v1` would both have the Rust type `ShopError`"
        );
        assert_valid([api("shop", "v1", "Error"), api("shop", "v2", "ShopError")]);
    }
}
