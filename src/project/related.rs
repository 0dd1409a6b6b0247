//! The kinds that a controller works with besides its own: kinds that it owns, and kinds that its objects refer to. The
//! project, Kubernetes or another project defines them.

use anyhow::{Result, anyhow, bail, ensure};

use super::{builtin, controller::Controller, error::Error, model::Project, resource::Resource};
use crate::{
    hint::{OrHint, hint},
    names::{GroupVersionKind, Identifiers},
};

/// Names of functions and variables that a controller's file already uses. A function for an owned kind cannot have
/// them.
const TAKEN: [&str; 10] = [
    "all",
    "labels",
    "name",
    "object",
    "observe",
    "owned",
    "readiness",
    "restricted_container",
    "restricted_pod",
    "sample",
];
/// A variable in a controller's file, next to a variable for an object of a watched kind.
const NAMESPACE: &str = "namespace";

/// The relation of a controller to a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The controller creates objects of the kind.
    Owned,
    /// The controller's objects refer to objects of the kind.
    Watched,
}

impl Relation {
    /// The verb for messages, as in "cannot own".
    fn verb(self) -> &'static str {
        match self {
            Self::Owned => "own",
            Self::Watched => "watch",
        }
    }
}

/// A kind that a controller owns or watches.
#[derive(Debug, PartialEq, Eq)]
pub struct RelatedKind {
    /// The relation of the controller to the kind.
    pub relation: Relation,
    /// The kind. Only a resource of the project has controllers here.
    pub resource: Resource,
    /// The names for the objects of the kind in the controller's file.
    pub identifiers: Identifiers,
    /// The name of the type in the controller's file.
    pub type_name: String,
}

impl RelatedKind {
    /// Whether both would have the same name in the controller's file.
    fn is_called_like(&self, other: &Self) -> bool {
        let (a, b) = (&self.identifiers, &other.identifiers);
        a.one == b.one
            || a.many == b.many
            || self.type_name == other.type_name
            || self.function() == other.function()
    }

    /// The function for the kind in the controller's file.
    fn function(&self) -> String {
        match self.relation {
            Relation::Owned => self.identifiers.one.clone(),
            Relation::Watched => format!("referenced_{}", self.identifiers.many),
        }
    }

    /// Whether the name for the objects of the kind collides with another function or variable, or the name of the type
    /// is one of `types`.
    fn is_taken(&self, types: &[String]) -> bool {
        let name = self.identifiers.one.as_str();
        let is_taken = match self.relation {
            Relation::Owned => TAKEN.contains(&name),
            Relation::Watched => name == "object" || name == NAMESPACE && self.resource.namespaced,
        };
        is_taken || types.contains(&self.type_name)
    }

    /// Takes names with the module of the kind's group as a prefix, and with a `suffix` such as `_2`.
    fn name_in(&mut self, group: &str, suffix: &str) {
        let kind = &self.resource.kind;
        self.identifiers = kind.identifiers_in(group, suffix);
        self.type_name = kind.type_in(group, suffix.trim_start_matches('_'));
    }
}

impl Project {
    /// The kinds that a controller of `owner` owns, followed by the kinds that it watches.
    ///
    /// # Errors
    ///
    /// When the controller cannot own or watch one of these kinds.
    pub fn related(&self, owner: &Resource, controller: &Controller) -> Result<Vec<RelatedKind>> {
        let mut kinds = Vec::<RelatedKind>::new();
        let owns = controller.owns.iter().map(|id| (Relation::Owned, id));
        let watches = controller.watches.iter().map(|id| (Relation::Watched, id));
        let ids: Vec<_> = owns.chain(watches).collect();
        for &(relation, id) in &ids {
            let verb = relation.verb();
            let kind = self.related_kind(relation, id).or_else(|reason| {
                let refused = Err(anyhow!("{owner} cannot {verb} `{id}`: {reason}"));
                match hint(&reason) {
                    Some(way_out) => refused.or_hint(way_out),
                    None => refused,
                }
            })?;
            ensure!(
                !self.is_same_kind(&kind.resource, owner),
                "{owner} cannot {verb} `{id}`, which is the same kind"
            );
            let mut before = kinds.iter();
            if let Some(other) =
                before.position(|other| self.is_same_kind(&other.resource, &kind.resource))
            {
                let (before, other) = ids[other];
                if before != relation {
                    return Err(anyhow!(
                        "{owner} cannot watch `{id}`, because it owns this kind, and changes of \
                         owned objects reconcile the owner already"
                    ))
                    .or_hint(
                        "for objects that it does not own, call `builder.refers_to` in \
                         `Controller::new`",
                    );
                }
                ensure!(other != id, "{owner} cannot {verb} `{id}` twice");
                bail!("{owner} cannot {verb} both `{other}` and `{id}`: they are the same objects");
            }
            if relation == Relation::Owned {
                ensure!(
                    kind.resource.namespaced || !owner.namespaced,
                    Error::ClusterScoped {
                        owner: owner.to_string(),
                        id: id.clone(),
                        has_api: owner.has_api(),
                    }
                );
            }
            ensure!(
                kind.resource.namespaced || !self.namespaced,
                "{owner} cannot {verb} `{id}`: the project is namespaced, and this kind is \
                 cluster-scoped"
            );
            kinds.push(kind);
        }
        self.tell_apart(owner, &mut kinds);
        Ok(kinds)
    }

    /// The kind that `id` names, or the reason why the controller cannot own or watch it.
    fn related_kind(&self, relation: Relation, id: &GroupVersionKind) -> Result<RelatedKind> {
        let Some(kind) = self.find_kind(id)? else {
            let others = self.others(id.kind().as_str());
            return Err(anyhow!(
                "neither this project nor Kubernetes has this kind{others}"
            ))
            .or_hint("name a kind as in `apps/v1/Deployment` or `v1/ConfigMap`");
        };
        let served: Vec<_> = (self.served_versions(&kind))
            .map(|version| version.version.as_str())
            .collect();
        ensure!(
            served.is_empty() || served.contains(&kind.version.as_str()),
            "the API server does not serve this version, but {}",
            served.join(" and ")
        );
        Ok(RelatedKind {
            relation,
            identifiers: kind.kind.identifiers(),
            type_name: self.type_name(&kind),
            // A built-in kind has the short name of its group, whichever spelling `PROJECT` uses.
            resource: builtin::named(id)
                .filter(|_| kind.is_builtin())
                .and_then(Resource::builtin)
                .unwrap_or(kind),
        })
    }

    /// Adds the group to the names of those `kinds` whose names would collide in the controller's file, and a number to
    /// those that still would.
    fn tell_apart(&self, owner: &Resource, kinds: &mut [RelatedKind]) {
        // The types of the controller's own kind, which are in scope.
        let types = [
            self.type_name(owner),
            format!("{}Spec", owner.kind.in_rust()),
            format!("{}Status", owner.kind.in_rust()),
        ];
        let all = 0..kinds.len();
        let ambiguous: Vec<_> = all
            .filter(|index| is_ambiguous(kinds, *index, &types))
            .collect();
        for index in ambiguous {
            let group = self.group_module(&kinds[index].resource);
            let mut number = 1;
            kinds[index].name_in(&group, "");
            while is_ambiguous(kinds, index, &types) {
                number += 1;
                kinds[index].name_in(&group, &format!("_{number}"));
            }
        }
    }
}

/// Whether a name of the kind at `index` is that of another kind, of one of `types`, or of something else in the
/// controller's file.
fn is_ambiguous(kinds: &[RelatedKind], index: usize, types: &[String]) -> bool {
    let kind = &kinds[index];
    let alike = kinds.iter().filter(|other| kind.is_called_like(other));
    kind.is_taken(types) || alike.count() > 1
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{
            api, cluster, core, empty, external, unserved, with_domain, without_controller,
        },
        *,
    };

    /// A project with the resources `owner` and `others`.
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

    /// The names in the controller's file.
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
            .map(|kind| (kind.identifiers, kind.type_name))
            .map(|(names, type_name)| format!("{} {} {type_name}", names.one, names.many))
            .collect()
    }

    fn own(group: &str, kind: &str) -> Resource {
        without_controller(api(group, "v1", kind))
    }

    fn guestbook() -> Resource {
        api("webapp", "v1", "Guestbook")
    }

    #[test]
    fn an_external_kind_is_owned_by_its_short_or_full_group() {
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
                type_name,
                ..
            } = &kinds[0];
            assert_eq!(project.full_group(resource), "gateway.io");
            let import = project.import(resource, type_name);
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
        let places = [ingress, own].map(|kind| {
            let import = project.import(&kind.resource, &kind.type_name);
            format!("{} {import}", project.full_group(&kind.resource))
        });
        let expected = [
            "networking.k8s.io k8s_openapi::api::networking::v1::Ingress",
            "press.example.org crate::api::press::v1::Page",
        ];
        assert_eq!(places, expected);
        assert!(ingress.resource.is_builtin());
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
    fn an_unknown_kind_cannot_be_owned() {
        let cannot =
            |id: &str, reason: &str| format!("`webapp/v1/Guestbook` cannot own `{id}`: {reason}");
        let nowhere = "neither this project nor Kubernetes has this kind";
        let cases = [
            ("apps/v2/Deployment", "; there is `apps/v1/Deployment`"),
            ("v1/Configmap", "; there is `v1/ConfigMap`"),
            ("press/v1/Page", "; there is `webapp/v1/Page`"),
            (
                "press/v1/Poem",
                "; this project has `webapp/v1/Guestbook`, `webapp/v1/Page`",
            ),
        ];
        for (id, instead) in cases {
            let page = without_controller(api("webapp", "v1", "Page"));
            let expected = cannot(id, &format!("{nowhere}{instead}"));
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
            "`webapp/v1/Guestbook` cannot own `v1/Pod` twice"
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
    fn colliding_rust_names_get_the_name_of_the_group() {
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
        // Names that the controller's file already has: its own types and functions.
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
            names(
                guestbook(),
                &["press/v1/Error", "press/v1/All"],
                ["Error", "All"].map(|kind| own("press", kind)),
            ),
            ["error errors PressError", "press_all press_alls PressAll",]
        );
        let mut owner = guestbook();
        owner.controllers[0].watches = vec!["v1/Secret".parse().unwrap()];
        assert_eq!(
            names(
                owner,
                &["press/v1/ReferencedSecrets"],
                [own("press", "ReferencedSecrets")],
            ),
            [
                "press_referenced_secrets press_referenced_secrets PressReferencedSecrets",
                "core_secret core_secrets CoreSecret",
            ]
        );
    }

    #[test]
    fn rust_names_that_collide_with_a_group_too_get_a_number() {
        let alike = own("restricted", "Pod");
        assert_eq!(
            names(guestbook(), &["restricted/v1/Pod", "v1/Pod"], [alike]),
            [
                "restricted_pod_2 restricted_pods_2 RestrictedPod2",
                "core_pod core_pods CorePod",
            ]
        );
        let owner = api("crew", "v1", "PressError");
        assert_eq!(
            names(owner, &["press/v1/Error"], [own("press", "Error")]),
            ["press_error_2 press_errors_2 PressError2"]
        );
        assert_eq!(
            names(
                guestbook(),
                &["v1/Event", "events.k8s.io/v1/Event", "press/v1/CoreEvent"],
                [own("press", "CoreEvent")]
            ),
            [
                "core_event_2 core_events_2 CoreEvent2",
                "events_event events_events EventsEvent",
                "core_event core_events CoreEvent",
            ]
        );
        let groups = ["east", "west"].map(|side| format!("{side}-of-the-railway-station"));
        let groups = groups.each_ref().map(String::as_str);
        let ids = groups.map(|group| format!("{group}/v1/Pod"));
        assert_eq!(
            names(
                guestbook(),
                &ids.each_ref().map(String::as_str),
                groups.map(|group| own(group, "Pod"))
            ),
            [
                "of_the_railway_station_pod of_the_railway_station_pods EastOfTheRailwayStationPod",
                "the_railway_station_pod_2 the_railway_station_pods_2 WestOfTheRailwayStationPod2",
            ]
        );
    }
}
