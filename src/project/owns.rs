//! The kinds that a controller works with besides its own: those that it owns, and those that its objects
//! refer to. They are kinds of the project, of Kubernetes and of others.

use anyhow::{Result, anyhow, bail, ensure};

use super::{Controller, Project, Resource};
use crate::{
    builtin,
    names::{GroupVersionKind, Identifiers, Kind},
};

/// Names that a controller's file uses already: functions, and the parameter of the functions that are
/// named after owned kinds.
const TAKEN: [&str; 6] = [
    "labels",
    "object",
    "observe",
    "restricted_container",
    "restricted_pod",
    "sample",
];

/// What a kind is to a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The controller makes objects of it.
    Owned,
    /// The controller's objects refer to objects of it.
    Watched,
}

impl Relation {
    /// As in "cannot own".
    fn verb(self) -> &'static str {
        match self {
            Self::Owned => "own",
            Self::Watched => "watch",
        }
    }
}

/// A kind that a controller works with.
#[derive(Debug, PartialEq, Eq)]
pub struct RelatedKind {
    /// What it is to the controller.
    pub relation: Relation,
    /// The kind; only a resource of the project has its controllers.
    pub resource: Resource,
    /// What the controller calls it.
    pub identifiers: Identifiers,
}

impl RelatedKind {
    /// Whether both would have the same name in the controller's file.
    fn is_called_like(&self, other: &Self) -> bool {
        let (a, b) = (&self.identifiers, &other.identifiers);
        a.one == b.one || a.many == b.many
    }
}

impl Project {
    /// The path to import the type of `resource` with `use`, under the name `name`.
    pub fn import(&self, resource: &Resource, name: &str) -> String {
        let path = self.type_path(resource);
        if path.rsplit("::").next() == Some(name) {
            path
        } else {
            format!("{path} as {name}")
        }
    }

    /// What a controller of `owner` owns, and then what it watches.
    ///
    /// # Errors
    ///
    /// When it cannot own or watch one of these kinds.
    pub fn related(&self, owner: &Resource, controller: &Controller) -> Result<Vec<RelatedKind>> {
        let mut kinds = Vec::<RelatedKind>::new();
        let owns = controller.owns.iter().map(|id| (Relation::Owned, id));
        let watches = controller.watches.iter().map(|id| (Relation::Watched, id));
        let ids: Vec<_> = owns.chain(watches).collect();
        for &(relation, id) in &ids {
            let verb = relation.verb();
            let kind = self
                .related_kind(relation, id)
                .map_err(|reason| anyhow!("{owner} cannot {verb} `{id}`: {reason}"))?;
            ensure!(
                !self.is_same_kind(&kind.resource, owner),
                "{owner} cannot {verb} `{id}`, which is the same kind"
            );
            let same = |other: &RelatedKind| self.is_same_kind(&other.resource, &kind.resource);
            if let Some(other) = kinds.iter().position(same) {
                let (before, other) = ids[other];
                ensure!(
                    before == relation,
                    "{owner} cannot watch `{id}`, because it owns this kind, and changes of owned \
                     objects reconcile the owner already"
                );
                ensure!(other != id, "{owner} {verb}s `{id}` twice");
                bail!("{owner} cannot {verb} both `{other}` and `{id}`: they are the same objects");
            }
            if relation == Relation::Owned {
                ensure!(
                    kind.resource.namespaced || !owner.namespaced,
                    "{owner} cannot own `{id}`: a namespaced object cannot own a cluster-scoped \
                     object"
                );
            }
            ensure!(
                kind.resource.namespaced || !self.namespaced,
                "{owner} cannot {verb} `{id}`: the project is `namespaced`, and this kind is \
                 cluster-scoped"
            );
            kinds.push(kind);
        }
        self.tell_apart(owner, &mut kinds)?;
        Ok(kinds)
    }

    /// The kind that `id` names, or why it cannot be owned or watched.
    fn related_kind(&self, relation: Relation, id: &GroupVersionKind) -> Result<RelatedKind> {
        let Some(kind) = self.find_kind(id)? else {
            bail!(
                "neither this project nor Kubernetes has this kind; {}",
                self.instead(id.kind())
            );
        };
        let served = self.versions(&kind).filter(|it| it.is_served());
        let served: Vec<_> = served.map(|it| it.version.as_str()).collect();
        ensure!(
            served.is_empty() || served.contains(&kind.version.as_str()),
            "the API server does not serve this version, but {}",
            served.join(" and ")
        );
        Ok(RelatedKind {
            relation,
            identifiers: kind.kind.identifiers(None),
            // A built-in kind with the short name of its group, however `PROJECT` spells that.
            resource: builtin::named(id)
                .filter(|_| kind.is_builtin())
                .and_then(Resource::builtin)
                .unwrap_or(kind),
        })
    }

    /// The advice for a name of a kind that does not exist.
    fn instead(&self, kind: &Kind) -> String {
        let own = self.resources.iter();
        let own = own.map(|own| (own.id().to_string(), own.kind.as_str()));
        let builtin = builtin::all().map(|builtin| (builtin.id(), builtin.kind));
        let is_meant = |(_, there): &(_, &str)| there.eq_ignore_ascii_case(kind.as_str());
        match own.chain(builtin).find(is_meant) {
            Some((id, _)) => format!("did you mean `{id}`?"),
            None => "kinds are named as in `apps/v1/Deployment` or `v1/ConfigMap`".to_owned(),
        }
    }

    /// Adds the group to the names of the `kinds` that would clash with another name in the controller's
    /// file.
    fn tell_apart(&self, owner: &Resource, kinds: &mut [RelatedKind]) -> Result<()> {
        // The controller has these of its own kind in scope.
        let types = ["", "Spec", "Status"].map(|suffix| format!("{}{suffix}", owner.kind));
        let is_ambiguous = |kind: &RelatedKind| {
            let names = &kind.identifiers;
            let alike = kinds.iter().filter(|other| kind.is_called_like(other));
            TAKEN.contains(&names.one.as_str())
                || types.contains(&names.type_name)
                || alike.count() > 1
        };
        let ambiguous: Vec<_> = kinds.iter().map(is_ambiguous).collect();
        for (owned, ambiguous) in kinds.iter_mut().zip(ambiguous) {
            if ambiguous {
                let group = self.group_module(&owned.resource);
                owned.identifiers = owned.resource.kind.identifiers(Some(&group));
            }
        }
        for (index, a) in kinds.iter().enumerate() {
            if let Some(b) = kinds[..index].iter().find(|b| a.is_called_like(b)) {
                let name = &a.identifiers.many;
                let [a, b] = [a, b].map(|RelatedKind { resource, .. }| {
                    format!("`{}` of `{}`", resource.kind, self.group_name(resource))
                });
                bail!(
                    "{owner} cannot own both {b} and {a}: they would have the same name in Rust, `{name}`"
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{
            api, cluster, core, empty, external, unserved, with_domain, without_controller,
        },
        *,
    };

    /// `owner` in a project that has `others`, too.
    fn project(
        mut owner: Resource,
        owns: &[&str],
        others: impl IntoIterator<Item = Resource>,
    ) -> (Project, Resource) {
        owner.controllers[0].owns = owns.iter().map(|id| id.parse().unwrap()).collect();
        let mut project = empty();
        project.resources.push(owner.clone());
        project.resources.extend(others);
        (project, owner)
    }

    #[track_caller]
    fn error(owner: Resource, owns: &[&str], others: impl IntoIterator<Item = Resource>) -> String {
        let (project, _) = project(owner, owns, others);
        project.validate().unwrap_err().to_string()
    }

    /// The names in the file of the controller.
    #[track_caller]
    fn names(
        owner: Resource,
        owns: &[&str],
        others: impl IntoIterator<Item = Resource>,
    ) -> Vec<String> {
        let (project, owner) = project(owner, owns, others);
        project.validate().unwrap();
        let kinds = project.related(&owner, &owner.controllers[0]).unwrap();
        kinds
            .into_iter()
            .map(|kind| kind.identifiers)
            .map(|names| format!("{} {} {}", names.one, names.many, names.type_name))
            .collect()
    }

    fn guestbook() -> Resource {
        api("webapp", "v1", "Guestbook")
    }

    #[test]
    fn a_kind_of_others_is_owned_under_either_name_of_its_group() {
        let route = external("gateway", "v1", "HTTPRoute", "gateway_api::HttpRoute");
        let route = with_domain(route, "io");
        for group in ["gateway", "gateway.io"] {
            let id = format!("{group}/v1/HTTPRoute");
            let (mut project, _) = project(guestbook(), &[&id], [route.clone()]);
            project.sort();
            project.validate().unwrap();
            let owner = project.find(&guestbook().id()).unwrap().unwrap();
            let controller = &owner.controllers[0];
            assert_eq!(controller.owns[0].as_str(), "gateway/v1/HTTPRoute");
            let kinds = project.related(owner, controller).unwrap();
            let RelatedKind {
                resource,
                identifiers,
                ..
            } = &kinds[0];
            assert_eq!(project.full_group(resource), "gateway.io");
            let import = project.import(resource, &identifiers.type_name);
            assert_eq!(import, "gateway_api::HttpRoute as HTTPRoute");
        }
    }

    #[test]
    fn a_kind_of_kubernetes_and_one_of_the_project() {
        let page = with_domain(
            without_controller(api("press", "v1", "Page")),
            "example.org",
        );
        let (project, owner) = project(
            guestbook(),
            &["networking.k8s.io/v1/Ingress", "press/v1/Page"],
            [page.clone()],
        );
        project.validate().unwrap();
        let kinds = project.related(&owner, &owner.controllers[0]).unwrap();
        let [ingress, own] = kinds.as_slice() else {
            panic!("{kinds:?}");
        };
        let group = |owned: &RelatedKind| project.full_group(&owned.resource);
        let import =
            |owned: &RelatedKind| project.import(&owned.resource, &owned.identifiers.type_name);
        assert_eq!(group(ingress), "networking.k8s.io");
        assert_eq!(import(ingress), "k8s_openapi::api::networking::v1::Ingress");
        assert!(ingress.resource.is_builtin());
        assert_eq!(group(own), "press.example.org");
        assert_eq!(import(own), "crate::api::press::v1::Page");
        assert_eq!(own.resource, page);
    }

    #[test]
    fn a_kind_of_kubernetes_is_the_same_however_project_spells_its_group() {
        let ingress = core("networking.k8s.io", "v1", "Ingress");
        let (project, owner) = project(guestbook(), &["networking/v1/Ingress"], [ingress]);
        let kinds = project.related(&owner, &owner.controllers[0]).unwrap();
        let expected = without_controller(core("networking", "v1", "Ingress"));
        assert_eq!(kinds[0].resource, expected);
    }

    #[test]
    fn each_kind_has_one_spelling_and_place() {
        let (mut project, _) = project(
            guestbook(),
            &[
                "webapp.com/v1/Page",
                "networking/v1/Ingress",
                "core/v1/Pod",
                "networking/v1/Page",
            ],
            [
                without_controller(api("webapp", "v1", "Page")),
                without_controller(api("networking", "v1", "Page")),
            ],
        );
        project.sort();
        let owner = project.find(&guestbook().id()).unwrap().unwrap();
        let owns = &owner.controllers[0].owns;
        let texts: Vec<_> = owns.iter().map(GroupVersionKind::as_str).collect();
        let expected = [
            "networking.k8s.io/v1/Ingress",
            "networking/v1/Page",
            "v1/Pod",
            "webapp/v1/Page",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_kind_that_is_not_there() {
        let cannot =
            |id: &str, reason: &str| format!("`webapp/v1/Guestbook` cannot own `{id}`: {reason}");
        let nowhere = "neither this project nor Kubernetes has this kind";
        let cases = [
            ("apps/v2/Deployment", "did you mean `apps/v1/Deployment`?"),
            ("v1/Configmap", "did you mean `v1/ConfigMap`?"),
            ("press/v1/Page", "did you mean `webapp/v1/Page`?"),
            (
                "press/v1/Poem",
                "kinds are named as in `apps/v1/Deployment` or `v1/ConfigMap`",
            ),
        ];
        for (id, instead) in cases {
            let page = without_controller(api("webapp", "v1", "Page"));
            let expected = cannot(id, &format!("{nowhere}; {instead}"));
            assert_eq!(error(guestbook(), &[id], [page]), expected);
        }
        let pages = ["v1", "v2"].map(|version| api("webapp", version, "Page"));
        let [v1, v2] = pages.map(without_controller);
        assert_eq!(
            error(guestbook(), &["webapp/v2/Page"], [v1, unserved(v2)]),
            cannot(
                "webapp/v2/Page",
                "the API server does not serve this version, but v1"
            )
        );
        let own = without_controller(api("apps", "v1", "Deployment"));
        assert_eq!(
            error(guestbook(), &["apps/v1/Deployment"], [own]),
            cannot(
                "apps/v1/Deployment",
                "`apps/v1/Deployment` names two kinds: `apps/v1/Deployment` of the group \
                 `apps.com`, and Kubernetes' `apps/v1/Deployment`"
            )
        );
    }

    #[test]
    fn a_kind_that_cannot_be_owned() {
        assert_eq!(
            error(guestbook(), &["webapp/v1/Guestbook"], []),
            "`webapp/v1/Guestbook` cannot own `webapp/v1/Guestbook`, which is the same kind"
        );
        assert_eq!(
            error(
                core("apps", "v1", "Deployment"),
                &["apps/v1/Deployment"],
                []
            ),
            "`apps/v1/Deployment` cannot own `apps/v1/Deployment`, which is the same kind"
        );
        assert_eq!(
            error(guestbook(), &["v1/Node"], []),
            "`webapp/v1/Guestbook` cannot own `v1/Node`: a namespaced object cannot own a \
             cluster-scoped object"
        );
        names(cluster(guestbook()), &["v1/Node", "v1/Pod"], []);
        assert_eq!(
            error(guestbook(), &["v1/Pod", "v1/Pod"], []),
            "`webapp/v1/Guestbook` owns `v1/Pod` twice"
        );
        let autoscalers = ["v1", "v2"].map(|v| format!("autoscaling/{v}/HorizontalPodAutoscaler"));
        assert_eq!(
            error(guestbook(), &[&autoscalers[0], &autoscalers[1]], []),
            format!(
                "`webapp/v1/Guestbook` cannot own both `{}` and `{}`: they are the same objects",
                autoscalers[0], autoscalers[1]
            )
        );
    }

    #[test]
    fn what_would_have_one_name_in_rust_gets_that_of_its_group() {
        let own = |group, kind| without_controller(api(group, "v1", kind));
        assert_eq!(
            names(
                guestbook(),
                &["v1/Event", "v1/Pod", "events.k8s.io/v1/Event"],
                []
            ),
            [
                "core_event core_events CoreEvent",
                "pod pods Pod",
                "events_event events_events EventsEvent"
            ]
        );
        assert_eq!(
            names(
                guestbook(),
                &["v1/Endpoints", "press/v1/Endpoint"],
                [own("press", "Endpoint")]
            ),
            [
                "core_endpoints core_endpoints CoreEndpoints",
                "press_endpoint press_endpoints PressEndpoint"
            ]
        );
        // What the file of the controller has already: its own types, and functions.
        assert_eq!(
            names(
                api("webapp", "v1", "Deployment"),
                &["apps/v1/Deployment"],
                []
            ),
            ["apps_deployment apps_deployments AppsDeployment"]
        );
        for kind in ["GuestbookStatus", "Object"] {
            let owned = names(
                guestbook(),
                &[&format!("press/v1/{kind}")],
                [own("press", kind)],
            );
            assert!(owned[0].ends_with(&format!(" Press{kind}")), "{owned:?}");
        }
        assert_eq!(
            error(
                guestbook(),
                &["v1/Event", "events.k8s.io/v1/Event", "press/v1/CoreEvent"],
                [own("press", "CoreEvent")]
            ),
            "`webapp/v1/Guestbook` cannot own both `Event` of `core` and `CoreEvent` of `press`: \
             they would have the same name in Rust, `core_events`"
        );
    }
}
