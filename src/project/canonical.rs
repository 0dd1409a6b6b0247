//! The one form of a project: its order, the spelling of its names, and no field that has its default.

use super::{
    definition::{Definition, Stage},
    model::Project,
    resource::Resource,
};
use crate::names::{Group, GroupVersionKind};

impl Project {
    /// Sorts resources, their controllers and the owned kinds, so that files do not depend on the order of creation.
    pub fn sort(&mut self) {
        let project = self.clone();
        for resource in self.resources.iter_mut() {
            project.sort_controllers(resource);
        }
        self.resources
            .sort_by(|a, b| (&a.group, &a.kind, &a.version).cmp(&(&b.group, &b.kind, &b.version)));
    }

    pub(super) fn sort_controllers(&self, resource: &mut Resource) {
        for controller in &mut resource.controllers {
            for kinds in [&mut controller.owns, &mut controller.watches] {
                for kind in &mut *kinds {
                    *kind = self.canonical_name(kind);
                }
                kinds.sort_unstable();
            }
        }
        resource.sort_controllers();
    }

    /// Removes the domain of a kind without a group: its group is the project's domain, which kubebuilder writes
    /// explicitly.
    pub(super) fn leave_out_own_domain(&mut self) {
        for resource in self.resources.iter_mut() {
            if resource.group.is_empty() && resource.domain.as_ref() == Some(&self.domain) {
                resource.domain = None;
            }
        }
    }

    /// If a kind has exactly one served version and no stored one, makes the served version the stored one.
    pub(super) fn store_what_is_served(&mut self) {
        let project = self.clone();
        for resource in self.resources.iter_mut() {
            if resource.is_served()
                && project.served_versions(resource).count() == 1
                && !project.versions(resource).any(Resource::is_stored)
                && let Some(own) = resource.own_mut()
            {
                own.stage = Stage::Stored;
            }
        }
    }

    /// `id` in the spelling of `PROJECT`. Groups of Kubernetes have their full names.
    pub(super) fn canonical_name(&self, id: &GroupVersionKind) -> GroupVersionKind {
        let Ok(Some(kind)) = self.find_kind(id) else {
            return id.clone();
        };
        let names = if let Definition::Builtin(builtin) = &kind.definition {
            let (version, name) = (id.version().clone(), id.kind().clone());
            let in_core = GroupVersionKind::new(Group::core(), version, name);
            [builtin.id().parse().ok(), Some(in_core)]
        } else {
            let full = self.full_group(&kind).parse();
            [Some(kind.id()), full.ok().map(|group| kind.id_in(group))]
        };
        for name in names.into_iter().flatten() {
            if matches!(self.find_kind(&name), Ok(Some(found)) if found == kind) {
                return name;
            }
        }
        id.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{api, empty},
        *,
    };

    fn id(text: &str) -> GroupVersionKind {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_in_project_has_the_shortest_group() {
        let mut project = empty();
        *project.resources = vec![
            api("webapp", "v1", "Guestbook"),
            api("apps", "v1", "Deployment"),
        ];
        let cases = [
            ("webapp.com/v1/Guestbook", "webapp/v1/Guestbook"),
            ("networking/v1/Ingress", "networking.k8s.io/v1/Ingress"),
            ("core/v1/Pod", "v1/Pod"),
            ("nowhere/v1/Guestbook", "nowhere/v1/Guestbook"),
            // Without the domain, the name would also match a kind of Kubernetes.
            ("apps.com/v1/Deployment", "apps.com/v1/Deployment"),
            ("apps/v1/Deployment", "apps/v1/Deployment"),
        ];
        for (name, expected) in cases {
            assert_eq!(project.canonical_name(&id(name)).as_str(), expected);
        }
        assert_eq!(
            project
                .find_kind(&id("apps/v1/Deployment"))
                .unwrap_err()
                .to_string(),
            "`apps/v1/Deployment` names two kinds: `apps/v1/Deployment` of the group `apps.com`, \
             and Kubernetes' `apps/v1/Deployment`"
        );
    }
}
