//! What a kind is, wherever it is defined: by the project, by Kubernetes, or by others.

use anyhow::{Result, anyhow, ensure};

use super::{Project, Resource};
use crate::{
    builtin::Builtin,
    names::{self, DEPENDENCIES, Dependency, Group, Kind, TypePath, Version},
};

/// Where the type of a kind is that others define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// The crate that Cargo.toml gets for it; none if that has the crate already.
    pub dependency: Option<Dependency>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Its Rust type.
    pub path: TypePath,
}

/// What code and manifests that deal with the objects of a kind need to know of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its group as the API server knows it.
    pub group: String,
    /// Its group as `PROJECT` has that of a resource.
    pub short_group: Group,
    /// Its version.
    pub version: Version,
    /// Its kind.
    pub kind: Kind,
    /// The name of its resource.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it is a kind that Kubernetes has built in.
    pub core: bool,
    /// The path of its Rust type, as the project's code names it.
    pub path: String,
}

impl Definition {
    pub(super) fn builtin(builtin: Builtin) -> Result<Self, names::Error> {
        Ok(Self {
            group: builtin.group.to_owned(),
            short_group: builtin.short_group().parse()?,
            version: builtin.version.parse()?,
            kind: builtin.kind.parse()?,
            plural: builtin.plural.to_owned(),
            namespaced: builtin.namespaced,
            core: true,
            path: builtin.path.to_owned(),
        })
    }

    /// What `use` takes to bring its type in as `name`.
    pub fn import(&self, name: &str) -> String {
        if self.path.rsplit("::").next() == Some(name) {
            self.path.clone()
        } else {
            format!("{} as {name}", self.path)
        }
    }
}

impl Project {
    /// What the kind of a resource is.
    ///
    /// # Errors
    ///
    /// When it shall be built in and is not, of which [`validate`](Self::validate) tells.
    pub fn definition(&self, resource: &Resource) -> Result<Definition> {
        if resource.core {
            let builtin = resource.builtin();
            let builtin = builtin.ok_or_else(|| anyhow!("{resource} is not built in"))?;
            return Ok(Definition::builtin(builtin)?);
        }
        let (group, version) = (resource.group.module(), resource.version.module());
        Ok(Definition {
            group: self.full_group(resource),
            short_group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            plural: resource.plural.to_string(),
            namespaced: resource.namespaced(),
            core: false,
            path: match &resource.external {
                Some(external) => external.path.to_string(),
                None => format!("crate::api::{group}::{version}::{}", resource.kind),
            },
        })
    }

    /// The crates that Cargo.toml gets for the kinds that others define, in order.
    pub fn dependencies(&self) -> Vec<&Dependency> {
        let mut dependencies: Vec<_> = self.resources.iter().filter_map(dependency).collect();
        dependencies.sort_unstable();
        dependencies.dedup();
        dependencies
    }

    /// Checks that Cargo.toml can have the crates of the kinds that others define.
    pub(super) fn validate_dependencies(&self) -> Result<()> {
        let mut before = Vec::<(&Resource, &Dependency)>::new();
        for resource in &self.resources {
            let Some(dependency) = dependency(resource) else {
                continue;
            };
            let ident = dependency.ident();
            ensure!(
                ident != self.repo.crate_name().ident(),
                "{resource} cannot take the crate `{dependency}`: it has the name of this project's own"
            );
            let other = before.iter().find(|(_, there)| there.ident() == ident);
            if let Some((other, there)) = other {
                ensure!(
                    *there == dependency,
                    "{resource} cannot take the crate `{dependency}`: {other} has `{there}`, so use \
                     that, or change both with `--force`"
                );
            }
            before.push((resource, dependency));
        }
        Ok(())
    }
}

fn dependency(resource: &Resource) -> Option<&Dependency> {
    resource.external.as_ref()?.dependency.as_ref()
}

impl Resource {
    pub(super) fn validate_external(&self, external: &External) -> Result<()> {
        ensure!(
            self.api.is_none() && !self.core && self.short_names.is_empty(),
            "{self} is `external`: it takes no `api`, `core` or `shortNames`"
        );
        if let Some(dependency) = &external.dependency {
            let (path, ident) = (&external.path, dependency.ident());
            ensure!(
                !DEPENDENCIES.contains(&ident.as_str()),
                "{self} needs no crate `{dependency}`: each project has `{}` already, so leave \
                 `--external-api-crate` out",
                dependency.name()
            );
            ensure!(
                path.crate_ident() == ident,
                "the path `{path}` of {self} must begin with `{ident}`, the crate `{dependency}`"
            );
        }
        Ok(())
    }

    /// In what the types of two kinds that others define differ.
    pub(super) fn differences_of_types(&self, after: &Self) -> Vec<String> {
        let (Some(before), Some(after)) = (&self.external, &after.external) else {
            return Vec::new();
        };
        let mut differences = Vec::new();
        if before.path != after.path {
            differences.push(format!(
                "the type `{}` instead of `{}`",
                before.path, after.path
            ));
        }
        if before.dependency.is_some() && before.dependency != after.dependency {
            let text = |external: &External| match &external.dependency {
                Some(dependency) => format!("`{dependency}`"),
                None => "none".to_owned(),
            };
            differences.push(format!(
                "the crate {} instead of {}",
                text(before),
                text(after)
            ));
        }
        differences
    }

    /// Takes over where the crate is from that `other` has, too.
    pub(super) fn share_dependency(&mut self, other: &Self) {
        let own = self.external.as_mut();
        let (Some(own), Some(other)) = (
            own.and_then(|own| own.dependency.as_mut()),
            dependency(other),
        ) else {
            return;
        };
        if own.ident() == other.ident() {
            own.clone_from(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{api, core, empty, error, external, without_controller},
        *,
    };

    fn certificate() -> Resource {
        external(
            "cert-manager",
            "v1",
            "Certificate",
            "cert_manager::v1::Certificate",
        )
    }

    fn with_dependency(mut resource: Resource, dependency: &str) -> Resource {
        resource.external.as_mut().unwrap().dependency = Some(dependency.parse().unwrap());
        resource
    }

    #[test]
    fn the_same_is_known_of_a_kind_wherever_it_is_defined() {
        let project = empty();
        let mut foreign = certificate();
        foreign.domain = Some("io".parse().unwrap());
        let cases = [
            (
                api("webapp", "v1", "Guestbook"),
                "webapp.com guestbooks crate::api::webapp::v1::Guestbook",
            ),
            (
                core("networking", "v1", "Ingress"),
                "networking.k8s.io ingresses k8s_openapi::api::networking::v1::Ingress",
            ),
            (
                foreign,
                "cert-manager.io certificates cert_manager::v1::Certificate",
            ),
            // Without a domain the group is the whole.
            (
                certificate(),
                "cert-manager certificates cert_manager::v1::Certificate",
            ),
        ];
        for (resource, expected) in cases {
            let kind = project.definition(&resource).unwrap();
            let text = format!("{} {} {}", kind.group, kind.plural, kind.path);
            assert_eq!(text, expected);
            assert!(kind.namespaced);
        }
    }

    #[test]
    fn a_type_may_be_called_otherwise_than_its_kind() {
        let route = external("gateway", "v1", "HTTPRoute", "gateway_api::HttpRoute");
        let route = empty().definition(&route).unwrap();
        assert_eq!(
            route.import("HTTPRoute"),
            "gateway_api::HttpRoute as HTTPRoute"
        );
        assert_eq!(route.import("HttpRoute"), "gateway_api::HttpRoute");
    }

    #[test]
    fn crates_that_cargo_takes() {
        let mut project = empty();
        let issuer = external("cert-manager", "v1", "Issuer", "cert_manager::v1::Issuer");
        project.resources = vec![
            with_dependency(certificate(), "cert-manager@0.1"),
            // Known without a controller, to be owned.
            without_controller(with_dependency(issuer.clone(), "cert-manager@0.1")),
            external("a", "v1", "A", "crate::a::A"),
        ];
        project.validate().unwrap();
        let names: Vec<_> = project
            .dependencies()
            .iter()
            .map(|it| it.as_str())
            .collect();
        assert_eq!(names, ["cert-manager@0.1"]);

        assert_eq!(
            error([
                with_dependency(certificate(), "cert-manager@0.1"),
                with_dependency(issuer, "cert-manager@0.2")
            ]),
            "`cert-manager/v1/Issuer` cannot take the crate `cert-manager@0.2`: \
             `cert-manager/v1/Certificate` has `cert-manager@0.1`, so use that, or change both with \
             `--force`"
        );
        assert_eq!(
            error([with_dependency(certificate(), "certs@0.1")]),
            "the path `cert_manager::v1::Certificate` of `cert-manager/v1/Certificate` must begin \
             with `certs`, the crate `certs@0.1`"
        );
        let list = external("k", "v1", "K", "kube::K");
        assert_eq!(
            error([with_dependency(list, "kube@5")]),
            "`k/v1/K` needs no crate `kube@5`: each project has `kube` already, so leave \
             `--external-api-crate` out"
        );
        let own = external("k", "v1", "K", "guestbook::K");
        assert_eq!(
            error([with_dependency(own, "guestbook@1")]),
            "`k/v1/K` cannot take the crate `guestbook@1`: it has the name of this project's own"
        );
    }

    #[test]
    fn a_kind_is_defined_in_one_place() {
        let external = certificate().external;
        for mut other in [
            api("webapp", "v1", "Guestbook"),
            core("apps", "v1", "Deployment"),
        ] {
            other.external.clone_from(&external);
            let error = error([other]);
            assert!(error.ends_with("is `external`: it takes no `api`, `core` or `shortNames`"));
        }
    }

    #[test]
    fn a_crate_changes_in_all_kinds_with_force() {
        let mut project = empty();
        let issuer = external("cert-manager", "v1", "Issuer", "cert_manager::v1::Issuer");
        let old = |resource| with_dependency(resource, "cert-manager@0.1");
        let new = |resource| with_dependency(resource, "cert-manager@0.2");
        project.add(old(certificate()), false).unwrap();
        project.add(old(issuer.clone()), false).unwrap();
        assert_eq!(
            project
                .add(new(issuer.clone()), false)
                .unwrap_err()
                .to_string(),
            "`cert-manager/v1/Issuer` exists with the crate `cert-manager@0.1` instead of \
             `cert-manager@0.2`: `--force` changes it"
        );
        project.add(new(issuer.clone()), true).unwrap();
        assert_eq!(project.resources, [new(certificate()), new(issuer)]);
    }
}
