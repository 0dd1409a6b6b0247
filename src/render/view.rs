//! What templates see of a [`project::Project`]: each name in each form that some file needs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use heck::ToUpperCamelCase;
use serde::Serialize;

use crate::{
    names::Identifiers,
    project::{self, Feature, License, Resource},
    templates::{self, TEMPLATES},
};

/// What a template is rendered for.
pub trait Item: Serialize {
    /// How templates call it.
    const NAME: &'static str;

    /// What tells it from the others, without the domain: `webapp/v1/Guestbook`.
    fn key(&self) -> String;
}

/// The project, of which every template sees all.
impl Item for () {
    const NAME: &'static str = "project";

    fn key(&self) -> String {
        String::new()
    }
}

impl Item for Group {
    const NAME: &'static str = "group";

    fn key(&self) -> String {
        self.names.name.clone()
    }
}

impl Item for Version {
    const NAME: &'static str = "version";

    fn key(&self) -> String {
        format!("{}/{}", self.group.name, self.names.name)
    }
}

impl Item for Api {
    const NAME: &'static str = "api";

    fn key(&self) -> String {
        format!(
            "{}/{}/{}",
            self.group.name, self.version.name, self.kind.kind
        )
    }
}

impl Item for Crd {
    const NAME: &'static str = "crd";

    fn key(&self) -> String {
        format!("{}/{}", self.stored.group.name, self.stored.kind.kind)
    }
}

impl Item for Controller {
    const NAME: &'static str = "controller";

    /// Without the kind and its version, because a group has no two controllers with one name.
    fn key(&self) -> String {
        format!("{}/{}", self.group.name, self.short_name)
    }
}

/// What every template sees.
#[derive(Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    reason = "templates ask one thing at a time, by its bare name"
)]
pub struct Project {
    project_name: String,
    crate_name: String,
    /// The crate in Rust code, such as `my_operator`.
    crate_ident: String,
    domain: String,
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    license: LicenseNames,
    namespaced: bool,
    /// Where the cargo workspace is that the project is a member of.
    workspace: Option<String>,
    /// Whether each feature is enabled, with `_` in its name.
    features: BTreeMap<String, bool>,
    /// [`project::Project::has_secure_metrics`]
    metrics_secure: bool,
    /// Whether cert-manager makes the certificate for that.
    metrics_certificate: bool,
    /// Whether a `NetworkPolicy` protects the operator: asked for, or because an operator of one
    /// namespace has no other way to protect its metrics.
    network_policy: bool,
    /// `Role`, or `ClusterRole` where the operator serves all namespaces.
    role_kind: &'static str,
    rules: Vec<Rule>,
    /// What Cargo.toml gets for kinds that others define.
    dependencies: Vec<Dependency>,
    pub groups: Vec<Group>,
    pub apis: Vec<Api>,
    pub crds: Vec<Crd>,
    pub controllers: Vec<Controller>,
    /// Whether a controller has a test on an API server.
    tested: bool,
    /// Whether there are controllers of kinds that others define.
    needs_others: bool,
}

#[derive(Serialize)]
struct LicenseNames {
    /// SPDX identifier.
    spdx: Option<&'static str>,
}

/// A crate that Cargo.toml gets.
#[derive(Serialize)]
struct Dependency {
    name: String,
    /// As TOML.
    source: String,
}

/// A group: the versions of its APIs, and the controllers of its kinds.
#[derive(Serialize)]
pub struct Group {
    #[serde(flatten)]
    names: GroupNames,
    pub versions: Vec<Version>,
    /// The modules of its controllers, in order.
    controllers: Vec<String>,
    /// Those of them that have a test on an API server.
    tested: Vec<String>,
}

#[derive(Clone, Serialize)]
struct GroupNames {
    /// As the user gave it, such as `webapp`.
    name: String,
    /// As the API server knows it, such as `webapp.example.com`.
    full: String,
    module: String,
}

/// A version of a group, and the kinds that have it.
#[derive(Serialize)]
pub struct Version {
    #[serde(flatten)]
    names: VersionNames,
    group: GroupNames,
    kinds: Vec<Kind>,
}

#[derive(Clone, Serialize)]
struct VersionNames {
    name: String,
    module: String,
}

#[derive(Clone, Serialize)]
#[expect(clippy::struct_field_names, reason = "`kind` is the field's own term")]
struct Kind {
    kind: String,
    /// The singular: the kind in lower case.
    lower: String,
    plural: String,
    module: String,
}

/// One version of a custom resource.
#[derive(Clone, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "templates ask one thing at a time"
)]
pub struct Api {
    #[serde(flatten)]
    kind: Kind,
    group: GroupNames,
    version: VersionNames,
    short_names: Vec<String>,
    namespaced: bool,
    /// Served by the API server, and stored.
    served: bool,
    /// Whether a controller makes objects of it.
    owned: bool,
    /// In a group that belongs to the Kubernetes project.
    unapproved: bool,
    /// The file of the sample, in `config/samples`.
    sample: String,
}

/// A custom resource with all of its versions.
#[derive(Serialize)]
pub struct Crd {
    #[serde(flatten)]
    stored: Api,
    /// What the names of its files and roles begin with.
    file: String,
    role: String,
    /// Oldest first.
    versions: Vec<Api>,
    /// In the order in which kube's `merge_crds` leaves them: the stored one, then newest first.
    manifest_versions: Vec<Api>,
}

#[derive(Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "templates ask one thing at a time"
)]
pub struct Controller {
    kind: String,
    plural: String,
    group: GroupNames,
    version: VersionNames,
    /// Unique in the group, such as `guestbook`.
    short_name: String,
    /// Unique in the cluster, such as `guestbook.webapp.example.com`.
    pub name: String,
    module: String,
    /// Whether it is the kind's own. Else others may work on the same objects, and it has names of
    /// its own for what it makes and says.
    own: bool,
    /// The condition that it sets in the status, such as `Ready`.
    condition: String,
    finalizer: bool,
    /// The sample of its kind, in `config/samples`.
    sample: String,
    /// Whether the API server takes what it makes as it is. Where it does not, somebody has to say
    /// what it shall be.
    is_complete: bool,
    /// Whether it has a test on an API server: not if that lacks the CRD of a kind that others
    /// define.
    tested: bool,
    /// Whether the kind is not the project's own.
    foreign: bool,
    /// Whether Kubernetes itself has the kind.
    core: bool,
    namespaced: bool,
    /// The kinds of objects that it makes.
    pub owns: Vec<Owned>,
    /// What `use` takes for the kinds that it works with, in the order of rustfmt.
    imports: Vec<String>,
    /// Whether something of what it owns selects Pods by their labels.
    labels: bool,
}

/// A kind that a controller owns.
#[derive(Serialize)]
pub struct Owned {
    kind: String,
    /// What the controller calls its type, one of its objects, and many.
    #[serde(rename = "type")]
    type_name: String,
    one: String,
    many: String,
    plural: String,
    /// As the API server knows it.
    group: String,
    namespaced: bool,
    /// Whether Kubernetes itself has the kind.
    core: bool,
    version: String,
    /// The template of the body of the function that makes one.
    #[serde(skip)]
    pub template: String,
}

/// A rule of role.yaml.
#[derive(Serialize)]
struct Rule {
    group: String,
    resources: Vec<String>,
    verbs: Vec<&'static str>,
}

impl Project {
    /// # Errors
    ///
    /// When a built-in kind is not in the table of those: `project` was not validated.
    pub fn new(project: &project::Project) -> Result<Self> {
        let mut apis: Vec<_> = project
            .resources
            .iter()
            .filter(|resource| resource.api().is_some())
            .map(|resource| Api::new(project, resource))
            .collect();
        let controllers = project
            .resources
            .iter()
            .flat_map(|resource| {
                let controllers = resource.controllers.iter();
                controllers.map(|controller| Controller::new(project, resource, controller))
            })
            .collect::<Result<Vec<_>>>()?;
        for api in &mut apis {
            let mut owned = controllers.iter().flat_map(|controller| &controller.owns);
            api.owned = owned.any(|owned| {
                (&owned.group, &owned.version, &owned.kind)
                    == (&api.group.full, &api.version.name, &api.kind.kind)
            });
        }
        let crate_name = project.repo.crate_name();
        let has = |feature| project.features.contains(&feature);
        let metrics_secure = project.has_secure_metrics();
        Ok(Self {
            project_name: project.project_name.to_string(),
            crate_name: crate_name.to_string(),
            crate_ident: crate_name.ident(),
            domain: project.domain.to_string(),
            repository: project.repo.url(),
            owner: project.owner.clone(),
            license: LicenseNames {
                spdx: match project.license {
                    License::Apache2 => Some("Apache-2.0"),
                    License::Mit => Some("MIT"),
                    License::None => None,
                },
            },
            namespaced: project.namespaced,
            workspace: project.workspace.as_ref().map(ToString::to_string),
            features: Feature::all()
                .iter()
                .map(|feature| (feature.to_string().replace('-', "_"), has(*feature)))
                .collect(),
            metrics_secure,
            metrics_certificate: metrics_secure && has(Feature::Certmanager),
            network_policy: project.namespaced || has(Feature::NetworkPolicy),
            role_kind: if project.namespaced {
                "Role"
            } else {
                "ClusterRole"
            },
            tested: controllers.iter().any(|controller| controller.tested),
            needs_others: controllers.iter().any(|it| it.foreign && !it.core),
            rules: rules(&controllers),
            dependencies: project
                .dependencies()
                .into_iter()
                .map(|dependency| Dependency {
                    name: dependency.name().to_owned(),
                    source: dependency.toml().to_owned(),
                })
                .collect(),
            groups: groups(project, &apis, &controllers),
            crds: crds(&apis),
            apis,
            controllers,
        })
    }
}

impl GroupNames {
    fn new(project: &project::Project, resource: &Resource) -> Self {
        Self {
            name: resource.group.to_string(),
            full: project.full_group(resource),
            module: resource.group.module(),
        }
    }
}

impl VersionNames {
    fn new(resource: &Resource) -> Self {
        Self {
            name: resource.version.to_string(),
            module: resource.version.module(),
        }
    }
}

impl Kind {
    fn new(resource: &Resource) -> Self {
        Self {
            kind: resource.kind.to_string(),
            lower: resource.kind.lower(),
            plural: resource.plural().to_owned(),
            module: resource.kind.module(),
        }
    }
}

/// The file of a kind's sample, in `config/samples`.
fn sample(resource: &Resource) -> String {
    format!(
        "{}_{}_{}.yaml",
        resource.group,
        resource.version,
        resource.kind.lower()
    )
}

impl Api {
    fn new(project: &project::Project, resource: &Resource) -> Self {
        let group = GroupNames::new(project, resource);
        let api = resource.api();
        Self {
            kind: Kind::new(resource),
            version: VersionNames::new(resource),
            short_names: api.map_or_else(Vec::new, |api| {
                api.short_names.iter().map(ToString::to_string).collect()
            }),
            namespaced: resource.namespaced(),
            served: resource.is_served(),
            owned: false,
            unapproved: project.is_protected(resource),
            sample: sample(resource),
            group,
        }
    }
}

impl Controller {
    fn new(
        project: &project::Project,
        resource: &Resource,
        controller: &project::Controller,
    ) -> Result<Self> {
        let group = GroupNames::new(project, resource);
        let version = VersionNames::new(resource);
        let owns = project.owned(resource, controller)?;
        let mut imports: Vec<_> = owns.iter().map(project::OwnedKind::import).collect();
        if resource.api().is_some() {
            // A `*` imports these already.
            let types = format!("crate::api::{}::{}::", group.module, version.module);
            imports.retain(|path| !path.starts_with(&types) || path.contains(" as "));
        } else {
            let path = project.type_path(resource);
            imports.push(project::import(&path, resource.kind.as_str()));
        }
        sort_imports(&mut imports);
        let own = resource.is_own(controller);
        let tested =
            resource.api().is_some() && owns.iter().all(|it| it.resource.external().is_none());
        let owns: Vec<_> = owns.into_iter().map(Owned::new).collect();
        Ok(Self {
            kind: resource.kind.to_string(),
            plural: resource.plural().to_owned(),
            short_name: controller.name.to_string(),
            name: project.controller_name(resource, controller),
            module: resource.controller_module(controller),
            own,
            condition: if own {
                "Ready".to_owned()
            } else {
                format!("{}Ready", controller.name.as_str().to_upper_camel_case())
            },
            version,
            finalizer: controller.finalizer,
            foreign: resource.api().is_none(),
            sample: sample(resource),
            is_complete: owns.iter().all(Owned::is_complete),
            labels: owns
                .iter()
                .any(|owned| templates::has(&owned.template, "labels")),
            tested,
            core: resource.is_builtin(),
            namespaced: resource.namespaced(),
            owns,
            imports,
            group,
        })
    }
}

/// Sorts imports as rustfmt does: part by part, those of the project first.
fn sort_imports(paths: &mut [String]) {
    paths.sort_by_cached_key(|path| {
        let parts: Vec<_> = path.split("::").map(str::to_owned).collect();
        (!path.starts_with("crate::"), parts)
    });
}

impl Owned {
    /// The template of the kinds that have none of their own.
    const OTHER: &str = "owned/other.rs.tera";

    /// Whether the API server takes what its template makes.
    fn is_complete(&self) -> bool {
        self.template != Self::OTHER
    }

    fn new(owned: project::OwnedKind) -> Self {
        let Identifiers {
            one,
            many,
            type_name,
        } = owned.identifiers;
        let resource = owned.resource;
        let (group, version) = (&resource.group, &resource.version);
        let own = format!("owned/{group}/{version}/{}.rs.tera", resource.kind.lower());
        let core = resource.is_builtin();
        Self {
            template: if core && TEMPLATES.contains(&own) {
                own
            } else {
                Self::OTHER.to_owned()
            },
            version: version.to_string(),
            kind: resource.kind.to_string(),
            type_name,
            one,
            many,
            plural: resource.plural().to_owned(),
            group: owned.group,
            namespaced: resource.namespaced(),
            core,
        }
    }
}

/// The kinds of `apis`, each with all of its versions.
fn crds(apis: &[Api]) -> Vec<Crd> {
    let versions_of = apis
        .iter()
        .fold(BTreeMap::<_, Vec<&Api>>::new(), |mut kinds, api| {
            kinds
                .entry((&api.group.full, &api.kind.kind))
                .or_default()
                .push(api);
            kinds
        });
    let crd = |versions: Vec<&Api>| {
        let (stored, others): (Vec<&Api>, Vec<_>) = versions.iter().partition(|api| api.served);
        let stored = stored.first().copied()?.clone();
        Some(Crd {
            file: format!("{}_{}", stored.group.name, stored.kind.lower),
            role: format!("{}-{}", stored.group.name, stored.kind.lower),
            versions: versions.into_iter().cloned().collect(),
            manifest_versions: [&stored]
                .into_iter()
                .chain(others.into_iter().rev())
                .cloned()
                .collect(),
            stored,
        })
    };
    versions_of.into_values().filter_map(crd).collect()
}

/// The rules of `controllers` as the operator merges them: `rbac::merge` in the rendered project.
fn rules(controllers: &[Controller]) -> Vec<Rule> {
    let mut verbs_of = BTreeMap::<(&str, String), BTreeSet<&'static str>>::new();
    let mut allow = |group, resource, verbs: &[&'static str]| {
        verbs_of.entry((group, resource)).or_default().extend(verbs);
    };
    for controller in controllers {
        let (group, plural) = (controller.group.full.as_str(), &controller.plural);
        allow(group, plural.clone(), &["list", "watch"]);
        if !controller.foreign {
            allow(group, format!("{plural}/status"), &["update"]);
            allow("events.k8s.io", "events".to_owned(), &["create", "patch"]);
        }
        if controller.finalizer {
            allow(group, plural.clone(), &["patch"]);
        }
        for owned in &controller.owns {
            let verbs = ["create", "delete", "get", "list", "patch", "watch"];
            allow(&owned.group, owned.plural.clone(), &verbs);
        }
    }

    let mut resources_with = BTreeMap::<_, Vec<String>>::new();
    for ((group, resource), verbs) in verbs_of {
        resources_with
            .entry((group, verbs))
            .or_default()
            .push(resource);
    }
    let mut rules: Vec<_> = resources_with
        .into_iter()
        .map(|((group, verbs), resources)| Rule {
            group: group.to_owned(),
            resources,
            verbs: verbs.into_iter().collect(),
        })
        .collect();
    rules.sort_by(|a, b| (&a.group, &a.resources).cmp(&(&b.group, &b.resources)));
    rules
}

fn groups(project: &project::Project, apis: &[Api], controllers: &[Controller]) -> Vec<Group> {
    let mut groups = BTreeMap::<String, Group>::new();
    for resource in &project.resources {
        let names = GroupNames::new(project, resource);
        groups.entry(names.module.clone()).or_insert_with(|| Group {
            versions: Vec::new(),
            controllers: Vec::new(),
            tested: Vec::new(),
            names,
        });
    }
    for (module, group) in &mut groups {
        let mut versions = BTreeMap::<_, Version>::new();
        for api in apis.iter().filter(|api| api.group.module == *module) {
            let version = versions.entry(&api.version.module);
            let version = version.or_insert_with(|| Version {
                names: api.version.clone(),
                group: api.group.clone(),
                kinds: Vec::new(),
            });
            version.kinds.push(api.kind.clone());
        }
        group.versions = versions.into_values().collect();
        for version in &mut group.versions {
            version.kinds.sort_by(|a, b| a.module.cmp(&b.module));
        }
        let mut controllers: Vec<_> = controllers
            .iter()
            .filter(|controller| controller.group.module == *module)
            .collect();
        controllers.sort_unstable_by_key(|controller| &controller.module);
        let module = |controller: &&Controller| controller.module.clone();
        group.controllers = controllers.iter().map(module).collect();
        controllers.retain(|controller| controller.tested);
        group.tested = controllers.iter().map(module).collect();
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stand_in_the_order_of_rustfmt() {
        let sorted = [
            "crate::api::press::v1::Page",
            "crate::zoo::Animal",
            "gears::v1::Gear as Wheel",
            "k8s_openapi::api::core::v1::Pod",
            "kube::Thing",
            "kube2::Thing",
        ];
        let mut paths = sorted.map(str::to_owned);
        paths.reverse();
        sort_imports(&mut paths);
        assert_eq!(paths, sorted);
    }
}
