//! The crates that Cargo.toml gets for the kinds of other projects.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};

use super::{
    definition::{Definition, External},
    error::Error,
    model::Project,
    resource::Resource,
};
use crate::names::{self, Dependency};

impl Resource {
    /// The crate of the type, if Cargo.toml gets one.
    pub(super) fn dependency(&self) -> Option<&Dependency> {
        match self.external()? {
            External::At { dependency, .. } => dependency.as_ref(),
            External::Given => None,
        }
    }

    /// Copies the source of a crate that `other` has, too.
    pub(super) fn share_dependency(&mut self, other: &Self) {
        if let Definition::External(External::At {
            dependency: Some(own),
            ..
        }) = &mut self.definition
            && let Some(other) = other.dependency()
            && own.ident() == other.ident()
        {
            own.clone_from(other);
        }
    }
}

impl Project {
    /// The sorted crates that Cargo.toml gets for external kinds.
    pub fn dependencies(&self) -> BTreeSet<&Dependency> {
        let dependencies = self.resources.iter().filter_map(Resource::dependency);
        dependencies.collect()
    }

    /// Checks that Cargo.toml can have the crates of the external kinds, and that the types are in these crates.
    pub(super) fn validate_dependencies(&self) -> Result<()> {
        let mut crates = BTreeMap::new();
        for resource in self.resources.iter() {
            let Definition::External(External::At {
                path,
                dependency: Some(dependency),
            }) = &resource.definition
            else {
                continue;
            };
            let ident = dependency.ident();
            ensure!(
                !names::is_dependency(&ident),
                Error::NeedlessCrate {
                    id: resource.id(),
                    name: dependency.name().to_owned(),
                }
            );
            ensure!(
                path.crate_ident() == ident,
                "the path `{path}` of {resource} must begin with `{ident}`, the crate `{dependency}`"
            );
            ensure!(
                ident != self.repo.crate_name().ident(),
                "{resource} cannot take the crate `{dependency}`: this project's crate has the \
                 same name"
            );
            let (other, there) = *crates.entry(ident).or_insert((resource, dependency));
            ensure!(
                there == dependency,
                Error::Crate {
                    id: resource.id(),
                    wanted: dependency.clone(),
                    other: other.id(),
                    there: there.clone(),
                }
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{empty, error, external, with_dependency, without_controller},
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

    #[test]
    fn valid_crates_are_accepted() {
        let mut project = empty();
        let issuer = external("cert-manager", "v1", "Issuer", "cert_manager::v1::Issuer");
        *project.resources = vec![
            with_dependency(certificate(), "cert-manager@0.1"),
            // A resource without a controller, which other controllers can own.
            without_controller(with_dependency(issuer.clone(), "cert-manager@0.1")),
            external("a", "v1", "A", "crate::a::A"),
        ];
        project.validate().unwrap();
        let names: Vec<_> = project
            .dependencies()
            .iter()
            .map(|name| name.as_str())
            .collect();
        assert_eq!(names, ["cert-manager@0.1"]);

        assert_eq!(
            error([
                with_dependency(certificate(), "cert-manager@0.1"),
                with_dependency(issuer, "cert-manager@0.2")
            ]),
            "`cert-manager/v1/Issuer` cannot take the crate `cert-manager@0.2`: \
             `cert-manager/v1/Certificate` has `cert-manager@0.1`"
        );
        assert_eq!(
            error([with_dependency(certificate(), "certs@0.1")]),
            "the path `cert_manager::v1::Certificate` of `cert-manager/v1/Certificate` must begin \
             with `certs`, the crate `certs@0.1`"
        );
        let list = external("k", "v1", "K", "kube::K");
        assert_eq!(
            error([with_dependency(list, "kube@5")]),
            "`k/v1/K` needs no crate `kube`: every project has it"
        );
        let own = external("k", "v1", "K", "guestbook::K");
        assert_eq!(
            error([with_dependency(own, "guestbook@1")]),
            "`k/v1/K` cannot take the crate `guestbook@1`: this project's crate has the same name"
        );
    }

    #[test]
    fn a_crate_changes_in_all_kinds_with_force() {
        let mut project = empty();
        let issuer = external("cert-manager", "v1", "Issuer", "cert_manager::v1::Issuer");
        let (old, new) = ("cert-manager@0.1", "cert-manager@0.2");
        for resource in [certificate(), issuer.clone()] {
            project.add(with_dependency(resource, old), false).unwrap();
        }
        let changed = with_dependency(issuer, new);
        assert_eq!(
            project.add(changed.clone(), false).unwrap_err().to_string(),
            "`cert-manager/v1/Issuer` exists with other settings: crate `cert-manager@0.1` -> \
             `cert-manager@0.2`"
        );
        project.add(changed.clone(), true).unwrap();
        assert_eq!(
            *project.resources,
            [with_dependency(certificate(), new), changed]
        );
    }
}
