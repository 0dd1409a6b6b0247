//! The API groups of a project's kinds.

use super::{definition::Definition, model::Project, resource::Resource};
use crate::names::Domain;

impl Resource {
    /// The parts of the API group, in a project with this domain: their concatenation is the group.
    fn group_parts<'a>(&'a self, domain: &'a Domain) -> [&'a str; 3] {
        let usual = match &self.definition {
            Definition::Own(_) => Some(domain),
            Definition::Builtin(builtin) => return [builtin.group, "", ""],
            Definition::External(_) => None,
        };
        let group = self.group.as_str();
        match self.domain.as_ref().or(usual) {
            Some(domain) if group.is_empty() => [domain.as_str(), "", ""],
            Some(domain) => [group, ".", domain.as_str()],
            None => [group, "", ""],
        }
    }

    /// Whether both are in the same API group, in a project with this domain.
    pub(super) fn is_in_group_of(&self, other: &Self, domain: &Domain) -> bool {
        // Compared without the whole names, because a large project compares many.
        let [one, other] = [self, other].map(|resource| {
            let parts = resource.group_parts(domain).into_iter();
            parts.flat_map(str::bytes)
        });
        one.eq(other)
    }
}

impl Project {
    /// The API group as Kubernetes names it: `webapp.com`, or `apps` for a built-in kind. The core group is empty.
    pub fn full_group(&self, resource: &Resource) -> String {
        resource.group_parts(&self.domain).concat()
    }

    /// Whether both resources are in the same API group.
    pub(super) fn is_same_group(&self, a: &Resource, b: &Resource) -> bool {
        a.is_in_group_of(b, &self.domain)
    }

    /// The short name of the group: `webapp`, or `example.com` if the domain is the whole group.
    pub fn group_name<'a>(&'a self, resource: &'a Resource) -> &'a str {
        if resource.group.is_empty() {
            self.domain.as_str()
        } else {
            resource.group.as_str()
        }
    }

    /// The Rust module of the group: `webapp`, or `example_com` if the domain is the whole group.
    pub fn group_module(&self, resource: &Resource) -> String {
        resource.group.module(&self.domain)
    }

    /// Whether the group belongs to the Kubernetes community. The API server then accepts a CRD only with an annotation
    /// that says who approved it.
    pub fn is_protected(&self, resource: &Resource) -> bool {
        let group = format!(".{}", self.full_group(resource));
        resource.has_api() && (group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io"))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{api, core, empty, with_domain},
        *,
    };

    #[test]
    fn groups_in_full() {
        let project = empty();
        let other = api("webapp", "v1", "Guestbook");
        assert_eq!(project.full_group(&other), "webapp.com");
        let other = with_domain(other, "example.org");
        assert_eq!(project.full_group(&other), "webapp.example.org");
        assert_eq!(project.full_group(&core("core", "v1", "Pod")), "");
        assert_eq!(
            project.full_group(&core("apps", "v1", "Deployment")),
            "apps"
        );
        let ingress = core("networking", "v1", "Ingress");
        assert_eq!(project.full_group(&ingress), "networking.k8s.io");
    }

    #[test]
    fn groups_of_the_community_are_protected() {
        let cases = [
            ("x.k8s.io", true),
            ("k8s.io", true),
            ("sigs.kubernetes.io", true),
            ("x-k8s.io", false),
            ("com", false),
        ];
        for (domain, protected) in cases {
            let project = Project {
                domain: domain.parse().unwrap(),
                ..empty()
            };
            let guestbook = api("webapp", "v1", "Guestbook");
            assert_eq!(project.is_protected(&guestbook), protected, "{domain}");
        }
        let project = Project {
            domain: "io".parse().unwrap(),
            ..empty()
        };
        assert!(project.is_protected(&api("k8s", "v1", "Guestbook")));
        assert!(!project.is_protected(&core("networking", "v1", "Ingress")));
    }
}
