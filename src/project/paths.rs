//! Where the code and the manifests of a kind are in a project: modules, types and files.

use super::{
    controller::Controller,
    definition::{Definition, External},
    model::Project,
    resource::Resource,
};
use crate::names::Version;

impl Resource {
    /// The file name of the sample, in `config/samples`.
    pub fn sample_file(&self) -> String {
        let name = format!("{}_{}.yaml", self.version, self.kind.lower());
        self.group.prefixed(&name, '_')
    }

    /// The Rust module that converts this version to the hub and back.
    pub fn conversion_module(&self) -> String {
        format!("{}_conversion", self.kind.module().trim_end_matches('_'))
    }

    /// The Rust module of a controller, within the module of the group.
    pub fn controller_module(&self, controller: &Controller) -> String {
        if self.is_own(controller) {
            self.kind.module()
        } else {
            controller.name.module()
        }
    }
}

impl Project {
    /// The name of the Rust type of a resource in the project's code. It is the kind, or contains the group if the code
    /// needs the name of the kind for another type.
    pub fn type_name(&self, resource: &Resource) -> String {
        let kind = &resource.kind;
        let mut versions = [resource].into_iter().chain(self.versions(resource));
        if kind.is_taken(false) || kind.is_taken(true) && versions.any(Resource::has_given_types) {
            kind.type_in(&self.group_module(resource), "")
        } else {
            kind.in_rust()
        }
    }

    /// The path of the Rust type of a resource, as the project's code names it.
    pub fn type_path(&self, resource: &Resource) -> String {
        let parent = match &resource.definition {
            Definition::Own(_) => "api",
            Definition::Builtin(builtin) => return builtin.path.to_owned(),
            Definition::External(External::At { path, .. }) => return path.to_string(),
            Definition::External(External::Given) => "external",
        };
        let (group, version) = (self.group_module(resource), &resource.version);
        let name = self.type_name(resource);
        format!("crate::{parent}::{group}::{version}::{name}")
    }

    /// The path after `use` that imports the type of `resource` under the name `name`.
    pub fn import(&self, resource: &Resource, name: &str) -> String {
        let path = self.type_path(resource);
        if path.rsplit("::").next() == Some(name) {
            path
        } else {
            format!("{path} as {name}")
        }
    }

    /// The file of the types, for a kind of the project or an external kind with types from a CRD.
    pub fn types_file(&self, resource: &Resource) -> String {
        let parent = if resource.has_api() {
            "api"
        } else {
            "external"
        };
        let (group, version) = (self.group_module(resource), &resource.version);
        format!(
            "src/{parent}/{group}/{version}/{}.rs",
            resource.kind.module()
        )
    }

    /// The file of a controller of a kind.
    pub fn controller_file(&self, resource: &Resource, controller: &Controller) -> String {
        let group = self.group_module(resource);
        format!(
            "src/controller/{group}/{}.rs",
            resource.controller_module(controller)
        )
    }

    /// The file of the admission webhooks of a kind.
    pub fn webhook_file(&self, resource: &Resource) -> String {
        let group = self.group_module(resource);
        format!("src/webhook/{group}/{}.rs", resource.kind.module())
    }

    /// The file that converts the version `spoke` to `hub` and back.
    pub fn conversion_file(&self, hub: &Resource, spoke: &Version) -> String {
        let (group, module) = (self.group_module(hub), hub.conversion_module());
        format!("src/api/{group}/{spoke}/{module}.rs")
    }

    /// The file that lists which versions are converted to `hub`.
    pub fn hub_file(&self, hub: &Resource) -> String {
        let (group, module) = (self.group_module(hub), hub.conversion_module());
        format!("src/webhook/{group}/{module}.rs")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{api, core, empty, external, in_domain, with_domain},
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
    fn names_of_a_kind_are_known_wherever_it_is_defined() {
        let project = empty();
        let cases = [
            (
                api("webapp", "v1", "Guestbook"),
                "webapp.com guestbooks crate::api::webapp::v1::Guestbook",
            ),
            (
                in_domain(api("webapp", "v1", "Guestbook")),
                "com guestbooks crate::api::com::v1::Guestbook",
            ),
            (
                core("networking", "v1", "Ingress"),
                "networking.k8s.io ingresses k8s_openapi::api::networking::v1::Ingress",
            ),
            (
                with_domain(certificate(), "io"),
                "cert-manager.io certificates cert_manager::v1::Certificate",
            ),
            // Without a domain, the group is the whole group.
            (
                certificate(),
                "cert-manager certificates cert_manager::v1::Certificate",
            ),
        ];
        for (resource, expected) in cases {
            let (group, path) = (project.full_group(&resource), project.type_path(&resource));
            assert_eq!(format!("{group} {} {path}", resource.plural), expected);
            assert!(resource.namespaced);
        }
    }
}
