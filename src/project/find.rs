//! Finds resources and groups by their names, and the versions of a kind.

use anyhow::{Result, anyhow, bail, ensure};

use super::{builtin, definition::Definition, model::Project, resource::Resource};
use crate::{
    hint::OrHint,
    names::{Domain, Group, GroupVersionKind, Kind, LISTED, Version, first_in_backticks},
};

impl Project {
    /// The resource that `id` names. Its group may be short, as in `PROJECT`, or in full.
    ///
    /// # Errors
    /// When `id` matches two resources.
    pub fn find(&self, id: &GroupVersionKind) -> Result<Option<&Resource>> {
        let of_kind = self.resources.of_kind(id.kind());
        let mut named =
            of_kind.filter(|there| there.version == *id.version() && self.is_in(there, id.group()));
        match (named.next(), named.next()) {
            (Some(one), Some(other)) => self.names_two(id, one, other),
            (found, _) => Ok(found),
        }
    }

    /// The version from which a new version of a kind is copied: the hub of the kind's conversion, or the stored
    /// version if there is no hub. `group` is spelled as in `PROJECT`.
    pub fn hub(&self, group: &str, kind: &str) -> Option<&Resource> {
        let mut called = self.resources.called(&kind.to_ascii_lowercase());
        let any = called.find(|resource| {
            let is_called_so = resource.group.as_str() == group && resource.kind.as_str() == kind;
            is_called_so && resource.has_api()
        })?;
        let stored = self.versions(any).find(|version| version.is_stored());
        self.hub_of(any).or(stored)
    }

    /// The kind that `id` names: a resource of the project, or a built-in kind of Kubernetes.
    ///
    /// # Errors
    /// When `id` matches two kinds.
    pub fn find_kind(&self, id: &GroupVersionKind) -> Result<Option<Resource>> {
        let builtin = builtin::named(id).and_then(Resource::builtin);
        match (self.find(id)?, builtin) {
            (Some(own), Some(builtin)) if !own.is_builtin() => self.names_two(id, own, &builtin),
            (Some(own), _) => Ok(Some(own.clone())),
            (None, builtin) => Ok(builtin),
        }
    }

    /// The kinds of this project and of Kubernetes with this name, which may be in the plural and in lower case; only those
    /// of `group`, if it is given.
    pub fn called(&self, name: &str, group: Option<&Group>) -> Vec<GroupVersionKind> {
        let name = name.to_ascii_lowercase();
        self.kinds(group, |id, plural| {
            id.kind().lower() == name || plural == name
        })
    }

    /// The kinds of this project and of Kubernetes with these parts of a name.
    pub fn kinds_with(
        &self,
        group: Option<&Group>,
        version: Option<&Version>,
        kind: Option<&Kind>,
    ) -> Vec<GroupVersionKind> {
        self.kinds(group, |id, _| {
            version.is_none_or(|version| id.version() == version)
                && kind.is_none_or(|kind| id.kind() == kind)
        })
    }

    /// The kinds of this project and of Kubernetes that are meant by their name and plural; only those of `group`, if it
    /// is given.
    fn kinds(
        &self,
        group: Option<&Group>,
        is_meant: impl Fn(&GroupVersionKind, &str) -> bool,
    ) -> Vec<GroupVersionKind> {
        let own = self.resources.iter().filter(|own| !own.is_builtin());
        let own = own.filter(|own| group.is_none_or(|group| self.is_in(own, group)));
        let own = own.map(|own| (own.id(), own.plural.as_str()));
        let of_kubernetes = builtin::all()
            .filter(|builtin| group.is_none_or(|group| builtin.is_in(group.as_str())))
            .filter_map(|builtin| Some((builtin.id().parse().ok()?, builtin.plural)));
        let all = own.chain(of_kubernetes);
        all.filter(|(id, plural)| is_meant(id, plural))
            .map(|(id, _)| id)
            .collect()
    }

    /// The error for a kind that does not exist. It names the groups and versions that have a kind of this name.
    pub fn missing(&self, id: &GroupVersionKind) -> anyhow::Error {
        let others = self.others(id.kind().as_str());
        anyhow!("neither this project nor Kubernetes has the kind `{id}`{others}")
    }

    /// The end of an error about a kind that does not exist: the kinds of that `name`, or those of this project.
    pub fn others(&self, name: &str) -> String {
        let own: Vec<_> = self.resources.iter().map(Resource::id).collect();
        match (self.called(name, None).as_slice(), own.as_slice()) {
            ([], []) => String::new(),
            ([], own) => format!("; this project has {}", first_in_backticks(own, LISTED)),
            (called, _) => format!("; there is {}", first_in_backticks(called, LISTED)),
        }
    }

    /// The version of a kind that is meant if the user gives none: the stored version of a kind of this project, which
    /// has its controllers and webhooks, or the only version. `None` if there are several.
    ///
    /// # Errors
    /// When neither this project nor Kubernetes has such a kind.
    pub fn usual_version(&self, group: &Group, kind: &Kind) -> Result<Option<Version>> {
        let ids = self.kinds_with(Some(group), None, Some(kind));
        ensure!(
            !ids.is_empty(),
            "neither this project nor Kubernetes has a kind `{kind}` in the group `{}`{}",
            group.as_argument(),
            self.others(kind.as_str())
        );
        let mut own = self.resources.of_kind(kind);
        let stored = own.find(|own| own.is_stored() && self.is_in(own, group));
        let version = match (stored, ids.as_slice()) {
            (Some(own), _) => Some(&own.version),
            (None, [only]) => Some(only.version()),
            (None, _) => None,
        };
        Ok(version.cloned())
    }

    /// The group of a new kind of the project, and the domain of the group if it is not the project's domain. `group`
    /// may be short, as in `PROJECT`, or in full.
    ///
    /// # Errors
    /// When `group` matches two groups.
    pub fn group(&self, group: &Group) -> Result<(Group, Option<Domain>)> {
        let mut named = self.apis().filter(|resource| self.is_in(resource, group));
        let Some(there) = named.next() else {
            return Ok((group.without(&self.domain), None));
        };
        if let Some(other) = named.find(|other| !self.is_same_group(other, there)) {
            let (full, other) = (self.full_group(there), self.full_group(other));
            bail!("`{group}` names two groups, `{full}` and `{other}`");
        }
        Ok((there.group.clone(), there.domain.clone()))
    }

    /// The resources whose kinds the project defines.
    pub fn apis(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(|resource| resource.has_api())
    }

    /// The versions that the project defines of the kind of `resource`, including `resource`.
    pub fn versions(&self, resource: &Resource) -> impl Iterator<Item = &Resource> {
        let called = self.resources.of_kind(&resource.kind);
        called.filter(move |other| self.is_one_kind(other, resource))
    }

    /// The same versions, to change them.
    pub(super) fn versions_mut(&mut self, of: &Resource) -> impl Iterator<Item = &mut Resource> {
        let domain = &self.domain;
        self.resources.iter_mut().filter(move |other| {
            let is_defined = other.has_api() && of.has_api();
            is_defined && other.kind == of.kind && other.is_in_group_of(of, domain)
        })
    }

    /// Those of the versions that the API server serves.
    pub fn served_versions(&self, resource: &Resource) -> impl Iterator<Item = &Resource> {
        self.versions(resource)
            .filter(|version| version.is_served())
    }

    /// Whether both are versions of one kind that the project defines.
    pub fn is_one_kind(&self, a: &Resource, b: &Resource) -> bool {
        a.has_api() && b.has_api() && self.is_same_kind(a, b)
    }

    /// Whether both are versions of one kind, which the project, Kubernetes or another project defines.
    pub fn is_same_kind(&self, a: &Resource, b: &Resource) -> bool {
        a.kind == b.kind && self.is_same_group(a, b)
    }

    /// The index of the resource with the group, version and kind of this resource.
    pub fn position(&self, resource: &Resource) -> Option<usize> {
        let called = self.resources.positions(&resource.kind.lower());
        called.iter().copied().find(|at| {
            let other = &self.resources[*at];
            other.version == resource.version && self.is_same_kind(other, resource)
        })
    }

    /// The resource with the group, version and kind of this resource.
    pub fn there(&self, resource: &Resource) -> Option<&Resource> {
        self.position(resource).map(|at| &self.resources[at])
    }

    fn is_in(&self, resource: &Resource, group: &Group) -> bool {
        match &resource.definition {
            Definition::Builtin(builtin) => builtin.is_in(group.as_str()),
            _ => resource.group == *group || self.full_group(resource) == group.as_str(),
        }
    }

    fn names_two<T>(&self, id: &GroupVersionKind, one: &Resource, other: &Resource) -> Result<T> {
        let both = [one, other];
        let [first, second] = both.map(|resource| match &resource.definition {
            Definition::Builtin(builtin) => format!("Kubernetes' `{}`", builtin.id()),
            _ => format!("{resource} of the group `{}`", self.full_group(resource)),
        });
        let error = anyhow!("`{id}` names two kinds: {first}, and {second}");
        let own = both.into_iter().find(|resource| !resource.is_builtin());
        let Some(own) = own.filter(|_| both.iter().any(|resource| resource.is_builtin())) else {
            return Err(error);
        };
        let other = if own.group.is_empty() {
            "name Kubernetes' kind by the group `core`".to_owned()
        } else {
            let group = &own.group;
            format!(
                "the project cannot use Kubernetes' kind, because it has its own group `{group}`"
            )
        };
        Err(error).or_hint(format!(
            "name the project's kind by its full group, `{}`; {other}",
            self.full_group(own)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{
            api, core, empty, external, in_domain, with_domain, without_controller,
        },
        *,
    };

    fn id(text: &str) -> GroupVersionKind {
        text.parse().unwrap()
    }

    #[test]
    fn a_resource_is_found_by_its_group_in_short_and_in_full() {
        let mut project = empty();
        *project.resources = vec![
            api("webapp", "v1", "Guestbook"),
            with_domain(api("library", "v1", "Guestbook"), "example.org"),
            core("networking", "v1", "Ingress"),
            core("core", "v1", "Pod"),
            core("batch", "v1", "Job"),
            core("storage.k8s.io", "v1", "StorageClass"),
            with_domain(external("gateway", "v1", "Route", "a::Route"), "io"),
        ];
        let cases = [
            ("webapp/v1/Guestbook", Some(0)),
            ("webapp.com/v1/Guestbook", Some(0)),
            ("webapp/v2/Guestbook", None),
            ("webapp/v1/Book", None),
            ("library/v1/Guestbook", Some(1)),
            ("library.example.org/v1/Guestbook", Some(1)),
            ("library.com/v1/Guestbook", None),
            ("networking/v1/Ingress", Some(2)),
            ("networking.k8s.io/v1/Ingress", Some(2)),
            ("v1/Pod", Some(3)),
            ("batch/v1/Job", Some(4)),
            ("batch.k8s.io/v1/Job", None),
            ("storage/v1/StorageClass", Some(5)),
            ("storage.k8s.io/v1/StorageClass", Some(5)),
            ("gateway.io/v1/Route", Some(6)),
            ("gateway.com/v1/Route", None),
            ("apps/v1/Deployment", None),
        ];
        for (name, expected) in cases {
            let found = project.find(&id(name)).unwrap();
            assert_eq!(found, expected.map(|at| &project.resources[at]), "{name}");
            if let Some(found) = found {
                assert_eq!(project.position(found), expected);
                let kind = project.find_kind(&id(name)).unwrap();
                assert_eq!(kind.as_ref(), Some(found), "{name}");
            }
        }
        // The project does not have this kind, but Kubernetes has it.
        let deployment = project.find_kind(&id("apps/v1/Deployment")).unwrap();
        let expected = without_controller(core("apps", "v1", "Deployment"));
        assert_eq!(deployment.as_ref(), Some(&expected));
        assert_eq!(project.find_kind(&id("apps/v9/Deployment")).unwrap(), None);
    }

    /// A project whose domain has the kinds `Guestbook` and `Pod`.
    fn with_bare_kinds() -> Project {
        let mut project = Project {
            domain: "example.com".parse().unwrap(),
            ..empty()
        };
        *project.resources = vec![
            in_domain(api("webapp", "v1", "Guestbook")),
            in_domain(api("webapp", "v1", "Pod")),
            api("webapp", "v1", "Guestbook"),
            core("core", "v1", "Node"),
        ];
        project.validate().unwrap();
        project
    }

    #[test]
    fn a_kind_of_the_domain_is_found_without_a_group() {
        let project = with_bare_kinds();
        for (name, expected, spelled) in [
            ("v1/Guestbook", 0, "v1/Guestbook"),
            ("example.com/v1/Guestbook", 0, "v1/Guestbook"),
            ("webapp/v1/Guestbook", 2, "webapp/v1/Guestbook"),
            ("v1/Node", 3, "v1/Node"),
            ("core/v1/Node", 3, "v1/Node"),
            // `v1/Pod` would also match the Pod of Kubernetes.
            ("example.com/v1/Pod", 1, "example.com/v1/Pod"),
        ] {
            let found = project.find_kind(&id(name)).unwrap();
            assert_eq!(found.as_ref(), Some(&project.resources[expected]), "{name}");
            assert_eq!(project.canonical_name(&id(name)).as_str(), spelled);
        }
        for (name, spelled) in [
            ("v1/ConfigMap", "v1/ConfigMap"),
            ("core/v1/ConfigMap", "v1/ConfigMap"),
            ("core/v1/Pod", "core/v1/Pod"),
        ] {
            assert!(project.find_kind(&id(name)).unwrap().unwrap().is_builtin());
            assert_eq!(project.canonical_name(&id(name)).as_str(), spelled);
        }
        assert_eq!(project.find(&id("core/v1/Guestbook")).unwrap(), None);
        assert_eq!(
            project.find_kind(&id("v1/Pod")).unwrap_err().to_string(),
            "`v1/Pod` names two kinds: `v1/Pod` of the group `example.com`, and Kubernetes' `v1/Pod`"
        );
    }

    #[test]
    fn a_name_that_fits_two_is_refused() {
        let mut project = empty();
        *project.resources = vec![
            api("webapp", "v1", "Guestbook"),
            api("webapp.com", "v1", "Guestbook"),
        ];
        let error = project.find(&id("webapp.com/v1/Guestbook")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`webapp.com/v1/Guestbook` names two kinds: `webapp/v1/Guestbook` of the group \
             `webapp.com`, and `webapp.com/v1/Guestbook` of the group `webapp.com.com`"
        );
        let error = project.group(&"webapp.com".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`webapp.com` names two groups, `webapp.com` and `webapp.com.com`"
        );
    }

    #[test]
    fn a_new_kind_joins_a_group() {
        let mut project = empty();
        *project.resources = vec![
            api("webapp", "v1", "Guestbook"),
            api("webapp", "v1", "Page"),
            with_domain(api("library", "v1", "Shelf"), "example.org"),
            external("gateway", "v1", "Route", "a::Route"),
        ];
        let cases = [
            ("webapp", ("webapp", None)),
            ("webapp.com", ("webapp", None)),
            ("library", ("library", Some("example.org"))),
            ("library.example.org", ("library", Some("example.org"))),
            ("press.com", ("press", None)),
            // A new kind belongs to the project, in a group of its domain.
            ("gateway", ("gateway", None)),
        ];
        for (name, (short, domain)) in cases {
            let (group, there) = project.group(&name.parse().unwrap()).unwrap();
            assert_eq!(group.as_str(), short);
            assert_eq!(there.as_ref().map(Domain::as_str), domain);
        }
        let none = Group::none();
        assert_eq!(project.group(&none).unwrap(), (none.clone(), None));
        // The full name of the domain's own group means the same, whether the group exists or not.
        let full = "example.com".parse().unwrap();
        for project in [with_bare_kinds(), without_kinds(with_bare_kinds())] {
            assert_eq!(project.group(&full).unwrap(), (none.clone(), None));
        }
    }

    fn without_kinds(mut project: Project) -> Project {
        project.resources.clear();
        project
    }

    #[test]
    fn a_new_group_has_the_full_name_that_was_given() {
        let project = without_kinds(with_bare_kinds());
        for full in ["example.com", "webapp.example.com", "a.b.example.com"] {
            let (group, domain) = project.group(&full.parse().unwrap()).unwrap();
            let kind = Resource {
                group,
                domain,
                ..api("webapp", "v1", "Guestbook")
            };
            assert_eq!(project.full_group(&kind), full);
        }
    }
}
