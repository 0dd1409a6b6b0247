//! What the objects of a kind own: objects of other kinds, of the project, of Kubernetes and of
//! others.

use anyhow::{Result, anyhow, bail, ensure};

use super::{Controller, Definition, Project, Resource};
use crate::{
    builtin,
    names::{GroupVersionKind, Identifiers, Kind},
};

/// What a controller's code calls something else: the functions and the parameter in the scope of
/// the functions that are named after what it owns.
const TAKEN: [&str; 4] = ["labels", "object", "observe", "sample"];

/// A kind whose objects a controller makes.
#[derive(Debug, PartialEq, Eq)]
pub struct Owned {
    /// What it is.
    pub definition: Definition,
    /// What the controller calls it.
    pub identifiers: Identifiers,
}

impl Owned {
    fn new(definition: Definition) -> Self {
        Self {
            identifiers: definition.kind.identifiers(None),
            definition,
        }
    }

    /// Whether one name would stand for both in the file of a controller.
    fn is_called_like(&self, other: &Self) -> bool {
        let (a, b) = (&self.identifiers, &other.identifiers);
        a.one == b.one || a.many == b.many
    }
}

impl Project {
    /// What a controller of `owner` owns.
    ///
    /// # Errors
    ///
    /// When it cannot own one of these kinds.
    pub fn owned(&self, owner: &Resource, controller: &Controller) -> Result<Vec<Owned>> {
        let mut kinds = Vec::<Owned>::new();
        for id in &controller.owns {
            let kind = self
                .owned_kind(id)
                .map_err(|reason| anyhow!("{owner} cannot own `{id}`: {reason}"))?;
            let name = |kind: &Definition| (kind.group.clone(), kind.kind.clone());
            if name(&kind) == (self.full_group(owner), owner.kind.clone()) {
                bail!("{owner} cannot own `{id}`, which it is itself");
            }
            let same = kinds
                .iter()
                .position(|other| name(&other.definition) == name(&kind));
            if let Some(other) = same.map(|index| &controller.owns[index]) {
                ensure!(other != id, "{owner} owns `{id}` twice");
                bail!("{owner} cannot own both `{other}` and `{id}`: they are the same objects");
            }
            ensure!(
                kind.namespaced || !owner.namespaced(),
                "{owner} cannot own `{id}`: an owner in a namespace owns nothing outside of it, \
                 and this kind is cluster-scoped"
            );
            kinds.push(Owned::new(kind));
        }
        tell_apart(owner, &mut kinds)?;
        Ok(kinds)
    }

    /// Kinds that are owned, in order and in one spelling each: groups of the project as `PROJECT`
    /// has them, and those of Kubernetes in full.
    pub(super) fn canonical(&self, owns: &[GroupVersionKind]) -> Vec<GroupVersionKind> {
        let canonical = |id: &GroupVersionKind| {
            let group = match (self.defined(id), builtin::named(id)) {
                (Some(own), _) => Some(own.group.clone()),
                (None, Some(builtin)) => builtin.named_group().parse().ok(),
                (None, None) => None,
            };
            let group = group.unwrap_or_else(|| id.group().clone());
            GroupVersionKind::new(group, id.version().clone(), id.kind().clone())
        };
        let mut owns: Vec<_> = owns.iter().map(canonical).collect();
        owns.sort_unstable();
        owns
    }

    /// The resource of the project that `id` names, with or without the domain.
    fn defined(&self, id: &GroupVersionKind) -> Option<&Resource> {
        self.resources.iter().find(|own| {
            (own.api.is_some() || own.external.is_some())
                && (&own.version, &own.kind) == (id.version(), id.kind())
                && (own.group == *id.group() || self.full_group(own) == id.group().as_str())
        })
    }

    /// The kind that `id` names, or why there is none.
    fn owned_kind(&self, id: &GroupVersionKind) -> Result<Definition, String> {
        match (self.defined(id), builtin::named(id)) {
            (Some(own), Some(builtin)) if own.group.as_str() == builtin.named_group() => {
                Err("both this project and Kubernetes have a kind of this name".to_owned())
            }
            (Some(own), _) => match self.served(own) {
                Some(served) if served.version != own.version => Err(format!(
                    "the API server does not serve this version, but {}",
                    served.version
                )),
                _ => self.definition(own).map_err(|error| error.to_string()),
            },
            (None, Some(builtin)) => {
                Definition::builtin(builtin).map_err(|error| error.to_string())
            }
            (None, None) => Err(format!(
                "neither this project nor Kubernetes has this kind; {}",
                self.instead(id.kind())
            )),
        }
    }

    /// The version of a kind that the API server serves.
    fn served(&self, resource: &Resource) -> Option<&Resource> {
        self.resources.iter().find(|other| {
            self.is_one_kind(other, resource) && other.api.as_ref().is_some_and(|api| api.served)
        })
    }

    /// What to say to somebody who named a kind that does not exist.
    fn instead(&self, kind: &Kind) -> String {
        let own = self
            .resources
            .iter()
            .filter(|resource| resource.api.is_some() || resource.external.is_some());
        let own = own.map(|own| (own.group.as_str(), own.version.as_str(), own.kind.as_str()));
        let builtin = builtin::all().map(|builtin| (builtin.group, builtin.version, builtin.kind));
        match own
            .chain(builtin)
            .find(|(_, _, there)| there.eq_ignore_ascii_case(kind.as_str()))
        {
            Some(("", version, kind)) => format!("did you mean `{version}/{kind}`?"),
            Some((group, version, kind)) => format!("did you mean `{group}/{version}/{kind}`?"),
            None => "kinds are named as in `apps/v1/Deployment` or `v1/ConfigMap`".to_owned(),
        }
    }
}

/// Gives those of `kinds` that would be called like something else in the file of the controller
/// names with their group.
fn tell_apart(owner: &Resource, kinds: &mut [Owned]) -> Result<()> {
    // The controller has these of its own kind in scope.
    let types = ["", "Spec", "Status"].map(|suffix| format!("{}{suffix}", owner.kind));
    let is_ambiguous = |kind: &Owned| {
        let names = &kind.identifiers;
        TAKEN.contains(&names.one.as_str())
            || types.contains(&names.type_name)
            || kinds
                .iter()
                .filter(|other| kind.is_called_like(other))
                .count()
                > 1
    };
    let ambiguous: Vec<_> = kinds.iter().map(is_ambiguous).collect();
    for (kind, ambiguous) in kinds.iter_mut().zip(ambiguous) {
        if ambiguous {
            let definition = &kind.definition;
            kind.identifiers = definition.kind.identifiers(Some(&definition.short_group));
        }
    }
    for (index, a) in kinds.iter().enumerate() {
        if let Some(b) = kinds[..index].iter().find(|b| a.is_called_like(b)) {
            bail!(
                "{owner} cannot own both `{}` of `{}` and `{}` of `{}`: they would have the same \
                 name in Rust, `{}`",
                b.definition.kind,
                b.definition.short_group,
                a.definition.kind,
                a.definition.short_group,
                a.identifiers.many
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{api, cluster, core, empty, external, unserved, without_controller},
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
        let kinds = project.owned(&owner, &owner.controllers[0]).unwrap();
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
        let mut route = external("gateway", "v1", "HTTPRoute", "gateway_api::HttpRoute");
        route.domain = Some("io".parse().unwrap());
        for group in ["gateway", "gateway.io"] {
            let id = format!("{group}/v1/HTTPRoute");
            let (project, owner) = project(guestbook(), &[&id], [route.clone()]);
            project.validate().unwrap();
            let owns = project.canonical(&owner.controllers[0].owns);
            assert_eq!(owns[0].as_str(), "gateway/v1/HTTPRoute");
            let kinds = project.owned(&owner, &owner.controllers[0]).unwrap();
            assert_eq!(kinds[0].definition.group, "gateway.io");
            assert_eq!(kinds[0].definition.path, "gateway_api::HttpRoute");
            assert_eq!(kinds[0].identifiers.type_name, "HTTPRoute");
        }
    }

    #[test]
    fn a_kind_of_kubernetes_and_one_of_the_project() {
        let mut page = without_controller(api("press", "v1", "Page"));
        page.domain = Some("example.org".parse().unwrap());
        let (project, owner) = project(
            guestbook(),
            &["networking.k8s.io/v1/Ingress", "press/v1/Page"],
            [page],
        );
        project.validate().unwrap();
        let kinds = project.owned(&owner, &owner.controllers[0]).unwrap();
        let [ingress, page] = kinds.as_slice() else {
            panic!("{kinds:?}");
        };
        let [ingress, page] = [&ingress.definition, &page.definition];
        assert_eq!(
            (ingress.group.as_str(), ingress.plural.as_str()),
            ("networking.k8s.io", "ingresses")
        );
        assert_eq!(ingress.path, "k8s_openapi::api::networking::v1::Ingress");
        assert!(ingress.core && ingress.namespaced);
        assert_eq!(
            (page.group.as_str(), page.plural.as_str()),
            ("press.example.org", "pages")
        );
        assert_eq!(page.path, "crate::api::press::v1::Page");
        assert!(!page.core && page.namespaced);
    }

    #[test]
    fn each_kind_has_one_spelling_and_place() {
        let (project, owner) = project(
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
        let canonical: Vec<_> = project.canonical(&owner.controllers[0].owns);
        let texts: Vec<_> = canonical.iter().map(GroupVersionKind::as_str).collect();
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
                "both this project and Kubernetes have a kind of this name"
            )
        );
    }

    #[test]
    fn a_kind_that_cannot_be_owned() {
        assert_eq!(
            error(guestbook(), &["webapp/v1/Guestbook"], []),
            "`webapp/v1/Guestbook` cannot own `webapp/v1/Guestbook`, which it is itself"
        );
        assert_eq!(
            error(
                core("apps", "v1", "Deployment"),
                &["apps/v1/Deployment"],
                []
            ),
            "`apps/v1/Deployment` cannot own `apps/v1/Deployment`, which it is itself"
        );
        assert_eq!(
            error(guestbook(), &["v1/Node"], []),
            "`webapp/v1/Guestbook` cannot own `v1/Node`: an owner in a namespace owns nothing \
             outside of it, and this kind is cluster-scoped"
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
