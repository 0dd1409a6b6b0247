//! What templates see of a [`project::Project`]: each name in each form that some file needs.
#![expect(
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    reason = "templates ask one thing at a time, by its bare name"
)]

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use heck::ToUpperCamelCase;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    names::{self, Dependency, Header, Identifiers, ShortName},
    project::{
        self, Annotation, Deprecation, Feature, License, RelatedKind, Relation, Resource, Runtime,
        WebhookCertificates,
    },
    templates::{self, TEMPLATES},
};

/// What every template sees.
#[derive(Serialize)]
pub struct Project {
    project_name: String,
    crate_name: String,
    /// The crate in Rust code, such as `my_operator`.
    crate_ident: String,
    domain: String,
    /// The name of the Lease that replicas share.
    lease: String,
    /// The same, if it is not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusual_lease: Option<String>,
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// Its SPDX identifier.
    license: Option<&'static str>,
    /// The lines above each source file; without any, they name license and owner.
    license_header: Vec<String>,
    namespaced: bool,
    /// Where the cargo workspace is that the project is a member of.
    workspace: Option<String>,
    /// The folder of the runtime's crate; `None` if that is in the registry.
    runtime: Option<String>,
    /// The version of the runtime's crate.
    runtime_version: &'static str,
    /// Whether the runtime's crate is in the folder of the project.
    vendored: bool,
    /// Whether each feature is enabled, with `_` in its name.
    features: BTreeMap<String, bool>,
    /// [`project::Project::has_secure_metrics`]
    metrics_secure: bool,
    /// Whether cert-manager makes the certificate for that.
    metrics_certificate: bool,
    /// Whether cert-manager makes any certificate.
    certificates: bool,
    /// Whether a `NetworkPolicy` protects the operator: asked for, or because an operator of one
    /// namespace usually has no other way to protect its metrics.
    network_policy: bool,
    /// `Role`, or `ClusterRole` where the operator serves all namespaces.
    role_kind: &'static str,
    /// The rules of role.yaml.
    rules: BTreeSet<Rule>,
    /// What Cargo.toml gets for kinds that others define.
    dependencies: Vec<Value>,
    pub groups: Vec<Group>,
    pub apis: Vec<Api>,
    /// The kinds that others define, if their types are in `src/external`.
    pub externals: Vec<External>,
    pub crds: Vec<Crd>,
    pub controllers: Vec<Controller>,
    /// Those that are asked before an object is stored.
    pub webhooks: Vec<Webhook>,
    /// Whether any of them sets defaults.
    defaulting: bool,
    /// Whether anything is asked if an object is valid: a webhook of the user, or one that bounds the size of
    /// objects that are converted.
    validating: bool,
    /// Whether a webhook converts versions of any kind.
    converting: bool,
    /// Whether a controller runs an image.
    runs_images: bool,
    /// Whether the operator serves webhooks of any sort.
    serves_webhooks: bool,
    /// Who makes the certificates that they are served with.
    webhook_certificates: Option<WebhookCertificates>,
    /// Whether a controller has a test on an API server.
    tested: bool,
    /// Whether there are controllers of kinds that others define.
    needs_others: bool,
}

/// A group: the versions of its APIs, and the controllers of its kinds.
#[derive(Serialize)]
pub struct Group {
    #[serde(flatten)]
    pub names: GroupNames,
    pub versions: Vec<Version>,
    /// The versions of the kinds in `src/external`.
    pub external_versions: Vec<Version>,
    /// The kinds that have webhooks which are asked before an object is stored.
    webhooks: Vec<GroupWebhook>,
    /// The modules of the kinds that a webhook converts.
    conversions: BTreeSet<String>,
    /// The modules of its controllers.
    controllers: BTreeSet<String>,
    /// Those of them that have a test on an API server.
    tested: BTreeSet<String>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GroupNames {
    module: String,
    /// As people call it, such as `webapp`, or `example.com` if the group is the domain alone.
    pub name: String,
    /// As the API server knows it, such as `webapp.example.com`.
    full: String,
    /// As `PROJECT` has it, which may be empty: it does not change with the domain.
    #[serde(skip)]
    pub key: names::Group,
}

/// A version of a group. Its name is its module, too.
#[derive(Serialize)]
pub struct Version {
    pub name: String,
    group: GroupNames,
    /// The modules of the kinds that have it.
    kinds: BTreeSet<String>,
    /// The modules that convert it to the hub of such a kind and back.
    conversions: BTreeSet<String>,
}

/// What templates see of any kind.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Kind {
    pub kind: String,
    /// The singular: the kind in lower case.
    lower: String,
    plural: String,
    pub group: GroupNames,
    pub version: String,
    namespaced: bool,
    /// Whether the kind is not the project's own.
    foreign: bool,
    /// Whether nothing is known of its fields: it is not the project's own, or its types come from a CRD.
    opaque: bool,
    /// Whether Kubernetes itself has the kind.
    core: bool,
    /// The file of its sample, in `config/samples`.
    sample: String,
}

/// One version of a custom resource.
#[derive(Clone, Serialize)]
pub struct Api {
    #[serde(flatten)]
    pub kind: Kind,
    module: String,
    short_names: Vec<ShortName>,
    /// Served by the API server.
    served: bool,
    /// Stored by the API server.
    stored: bool,
    /// Whether the API server can convert between it and the other versions.
    converted: bool,
    /// The version to which a webhook converts this one and back, which is not this one.
    hub: Option<String>,
    /// The versions that a webhook converts to this one and back, oldest first.
    spokes: Vec<String>,
    /// The module about conversion, in each version that has a hub, and of the webhooks.
    conversion_module: String,
    deprecated: bool,
    deprecation_warning: Option<String>,
    /// The image that a controller of the kind runs: the spec has fields for it.
    image: Option<project::Image>,
    /// Whether a controller makes objects of the kind.
    owned: bool,
    /// Those of its CRD, sorted.
    annotations: Vec<Annotation>,
}

/// A version of a kind that others define, with types from a CRD.
#[derive(Serialize)]
pub struct External {
    #[serde(flatten)]
    pub kind: Kind,
    module: String,
}

/// A custom resource with all of its versions.
#[derive(Serialize)]
pub struct Crd {
    #[serde(flatten)]
    pub stored: Api,
    /// What the names of its files and roles begin with.
    file: String,
    role: String,
    /// Oldest first.
    versions: Vec<Api>,
    /// In the order in which kube's `merge_crds` leaves them: the stored one, then newest first.
    manifest_versions: Vec<Api>,
    /// Which version is converted to which, if a webhook does that.
    conversion: Option<Conversion>,
}

/// The versions that a webhook converts.
#[derive(Serialize)]
struct Conversion {
    hub: String,
    /// Oldest first.
    spokes: Vec<String>,
    /// The name of the webhook that bounds the size of the objects, and its path.
    bound: Bound,
}

#[derive(Serialize)]
struct Bound {
    name: String,
    path: String,
}

impl Bound {
    /// As the operator calls it. `is_first` says whether no group before has a kind of this name.
    fn new(kind: &Kind, is_first: bool) -> Self {
        let (lower, group) = (&kind.lower, &kind.group.full);
        Self {
            name: if is_first {
                format!("bound{lower}.kb.io")
            } else {
                format!("bound{lower}.{group}.kb.io")
            },
            path: format!("/bound-{}-{lower}", group.replace('.', "-")),
        }
    }
}

#[derive(Serialize)]
pub struct Controller {
    #[serde(flatten)]
    pub kind: Kind,
    /// Unique in the group, such as `guestbook`.
    pub short_name: String,
    /// Unique in the cluster, such as `guestbook.webapp.example.com`.
    pub name: String,
    module: String,
    /// Whether it is the kind's own. Else others may work on the same objects, and it has names of
    /// its own for what it makes and says.
    own: bool,
    /// Whether other controllers of the kind write the status, too.
    shares_status: bool,
    /// The condition that it sets in the status, such as `Ready`.
    condition: String,
    finalizer: bool,
    /// The image that it runs.
    image: Option<project::Image>,
    /// The variable of the operator's environment that names the image.
    image_variable: String,
    /// Whether the API server takes what it makes as it is. Where it does not, somebody has to say
    /// what it shall be.
    is_complete: bool,
    /// Whether what it makes becomes ready only in a cluster with nodes.
    needs_nodes: bool,
    /// Whether it makes a claim of a volume.
    claims: bool,
    /// Whether it has a test on an API server: not if that lacks the CRD of a kind that others
    /// define.
    tested: bool,
    /// The kinds of objects that it makes.
    pub owns: Vec<Owned>,
    /// The kinds of objects that its objects refer to.
    watches: Vec<Watched>,
    /// What `use` takes for the kinds that it works with, in the order of rustfmt.
    imports: Vec<String>,
    /// Whether something of what it owns selects Pods by their labels.
    labels: bool,
    /// Whether something of what it owns runs Pods.
    runs_pods: bool,
}

/// The webhooks of a kind.
#[derive(Serialize)]
pub struct Webhook {
    #[serde(flatten)]
    pub kind: Kind,
    module: String,
    /// What `use` takes for the type of the kind.
    import: String,
    defaulting: Option<Hook>,
    validation: Option<Hook>,
    /// Whether the spec has the example that every kind begins with, but for those that run an image.
    has_title: bool,
}

/// What the module of a group says of the webhooks of a kind.
#[derive(Serialize)]
struct GroupWebhook {
    module: String,
    defaulting: bool,
    validation: bool,
}

/// A webhook.
#[derive(Serialize)]
struct Hook {
    name: String,
    /// Whether every project gives it that name.
    usual_name: bool,
    path: String,
    /// Whether the path follows from the kind.
    usual_path: bool,
}

/// A kind that a controller watches.
#[derive(Serialize)]
struct Watched {
    #[serde(flatten)]
    kind: Kind,
    #[serde(flatten)]
    identifiers: Identifiers,
}

/// A kind that a controller owns.
#[derive(Serialize)]
pub struct Owned {
    #[serde(flatten)]
    kind: Kind,
    /// What the controller calls its type, one of its objects, and many.
    #[serde(flatten)]
    identifiers: Identifiers,
    /// Whether its Pods run the image of the controller.
    runs_image: bool,
    /// The template of the body of the function that makes one.
    #[serde(skip)]
    pub template: &'static str,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Rule {
    group: String,
    resources: Vec<String>,
    /// The names of the objects; all of them if there is none.
    names: Vec<String>,
    verbs: BTreeSet<&'static str>,
}

impl Project {
    /// # Errors
    ///
    /// When a built-in kind is not in the table of those: `project` was not validated.
    pub fn new(project: &project::Project) -> Result<Self> {
        let controllers = project
            .controllers()
            .map(|(resource, controller)| Controller::new(project, resource, controller))
            .collect::<Result<Vec<_>>>()?;
        let owned = controllers.iter().flat_map(|it| &it.owns);
        let owned: BTreeSet<_> = owned.map(|it| (&it.kind.group, &it.kind.kind)).collect();
        let apis = project.resources.iter().filter(|it| it.has_api());
        let apis = apis.map(|it| Api::new(project, it, &owned));
        let apis: Vec<_> = apis.collect();
        let is_external = |it: &&Resource| it.external().is_some() && it.has_given_types();
        let externals = project.resources.iter().filter(is_external);
        let externals = externals.map(|it| External {
            kind: Kind::new(project, it),
            module: it.kind.module(),
        });
        let externals: Vec<_> = externals.collect();
        let webhooks = project.webhooks().map(|it| Webhook::new(project, it));
        let mut webhooks: Vec<_> = webhooks.collect();
        // The order in which the modules of the groups hand them to the manager, which writes them so.
        webhooks.sort_by_key(|it| it.kind.group.module.clone());
        let crate_name = project.repo.crate_name();
        let has = |feature| project.features.contains(&feature);
        let dependency = |it: &Dependency| json!({ "name": it.name(), "source": it.toml() });
        let switch = |it: &Feature| (it.to_string().replace('-', "_"), has(*it));
        let metrics_secure = project.has_secure_metrics();
        let metrics_certificate = metrics_secure && has(Feature::Certmanager);
        let webhook_certificates = project.webhook_certificates();
        let crds = crds(&apis);
        // Only a ClusterRole can have the rights of a storage migration.
        let migrated = crds.iter().filter(|_| !project.namespaced);
        let rules = rules(&controllers, migrated);
        let converting = project.hubs().next().is_some();
        Ok(Self {
            project_name: project.project_name.to_string(),
            crate_name: crate_name.to_string(),
            crate_ident: crate_name.ident(),
            domain: project.domain.to_string(),
            lease: project.lease_name(),
            unusual_lease: project.lease.as_ref().map(ToString::to_string),
            repository: project.repo.url(),
            owner: project.owner.clone(),
            license: match project.license {
                License::Apache2 => Some("Apache-2.0"),
                License::Mit => Some("MIT"),
                License::None => None,
            },
            license_header: (project.license_header.iter())
                .flat_map(Header::lines)
                .map(str::to_owned)
                .collect(),
            namespaced: project.namespaced,
            workspace: project.workspace.as_ref().map(ToString::to_string),
            runtime: project.runtime.folder().map(str::to_owned),
            runtime_version: kube_manager::source::VERSION,
            vendored: project.runtime == Runtime::Vendored,
            features: Feature::all().iter().map(switch).collect(),
            metrics_secure,
            metrics_certificate,
            certificates: metrics_certificate
                || webhook_certificates == Some(WebhookCertificates::Certmanager),
            converting,
            serves_webhooks: webhook_certificates.is_some(),
            runs_images: controllers.iter().any(|it| it.image.is_some()),
            webhook_certificates,
            network_policy: project.namespaced || has(Feature::NetworkPolicy),
            role_kind: ["ClusterRole", "Role"][usize::from(project.namespaced)],
            tested: controllers.iter().any(|controller| controller.tested),
            needs_others: controllers.iter().any(|it| it.kind.is_external()),
            rules,
            dependencies: project.dependencies().into_iter().map(dependency).collect(),
            groups: groups(project, &apis, &externals, &controllers, &webhooks),
            crds,
            externals,
            defaulting: webhooks.iter().any(|it| it.defaulting.is_some()),
            validating: converting || webhooks.iter().any(|it| it.validation.is_some()),
            apis,
            controllers,
            webhooks,
        })
    }
}

impl GroupNames {
    fn new(project: &project::Project, resource: &Resource) -> Self {
        Self {
            name: project.group_name(resource).to_owned(),
            full: project.full_group(resource),
            key: resource.group.clone(),
            module: project.group_module(resource),
        }
    }
}

impl Kind {
    fn new(project: &project::Project, resource: &Resource) -> Self {
        let (version, lower) = (&resource.version, resource.kind.lower());
        let group = GroupNames::new(project, resource);
        Self {
            kind: resource.kind.to_string(),
            plural: resource.plural.to_string(),
            sample: resource.sample_file(),
            group,
            version: version.to_string(),
            namespaced: resource.namespaced,
            foreign: !resource.has_api(),
            opaque: !resource.has_api() || resource.has_given_types(),
            core: resource.is_builtin(),
            lower,
        }
    }

    /// Whether others than the project and Kubernetes define it.
    fn is_external(&self) -> bool {
        self.foreign && !self.core
    }
}

impl Api {
    /// `owned` are the kinds that controllers make objects of.
    fn new(
        project: &project::Project,
        resource: &Resource,
        owned: &BTreeSet<(&GroupNames, &String)>,
    ) -> Self {
        let kind = Kind::new(project, resource);
        let hub = project.hub_of(resource);
        let is_spoke = |hub: &&Resource| {
            hub.spokes()
                .is_some_and(|it| it.contains(&resource.version))
        };
        let spokes = resource.spokes().into_iter().flatten();
        let deprecation = resource.own().map(|own| &own.deprecation);
        let deprecation = deprecation.unwrap_or(&Deprecation::No);
        Self {
            module: resource.kind.module(),
            short_names: resource.short_names.clone(),
            served: resource.is_served(),
            stored: resource.is_stored(),
            converted: project.is_converted(resource),
            hub: hub.filter(is_spoke).map(|it| it.version.to_string()),
            spokes: spokes.map(ToString::to_string).collect(),
            conversion_module: resource.conversion_module(),
            deprecated: *deprecation != Deprecation::No,
            deprecation_warning: match deprecation {
                Deprecation::Warning(warning) => Some(warning.to_string()),
                Deprecation::No | Deprecation::Yes => None,
            },
            image: project.image(resource).cloned(),
            owned: owned.contains(&(&kind.group, &kind.kind)),
            annotations: project.annotations(resource),
            kind,
        }
    }
}

impl Controller {
    fn new(
        project: &project::Project,
        resource: &Resource,
        controller: &project::Controller,
    ) -> Result<Self> {
        let kind = Kind::new(project, resource);
        let related = project.related(resource, controller)?;
        let import = |it: &RelatedKind| project.import(&it.resource, &it.identifiers.type_name);
        let mut imports: Vec<_> = related.iter().map(import).collect();
        if kind.opaque {
            imports.push(project.import(resource, &kind.kind));
        } else {
            // A `*` imports these already.
            let types = format!("crate::api::{}::{}::", kind.group.module, kind.version);
            imports.retain(|path| !path.starts_with(&types) || path.contains(" as "));
        }
        sort_imports(&mut imports);
        let own = resource.is_own(controller);
        let prefix = if own { "" } else { controller.name.as_str() };
        let (owns, watches): (Vec<_>, Vec<_>) =
            (related.into_iter()).partition(|it| it.relation == Relation::Owned);
        let owns = owns
            .into_iter()
            .map(|owned| Owned::new(project, owned, controller.image.is_some()));
        let owns: Vec<_> = owns.collect();
        let watches = watches.into_iter().map(|watched| Watched {
            kind: Kind::new(project, &watched.resource),
            identifiers: watched.identifiers,
        });
        let watches: Vec<_> = watches.collect();
        let others = owns
            .iter()
            .map(|it| &it.kind)
            .chain(watches.iter().map(|it| &it.kind));
        let has = |attribute| owns.iter().any(|it| templates::has(it.template, attribute));
        let tested = !kind.opaque && !others.into_iter().any(Kind::is_external);
        Ok(Self {
            short_name: controller.name.to_string(),
            name: project.controller_name(resource, controller),
            module: resource.controller_module(controller),
            own,
            shares_status: resource.controllers.len() > 1,
            condition: format!("{}Ready", prefix.to_upper_camel_case()),
            finalizer: controller.finalizer,
            image: controller.image.clone(),
            image_variable: controller.image_variable(),
            is_complete: owns.iter().all(|it| it.template != Owned::OTHER),
            needs_nodes: has("nodes"),
            claims: has("claim"),
            labels: has("labels"),
            runs_pods: has("pods"),
            tested,
            kind,
            owns,
            watches,
            imports,
        })
    }
}

impl Webhook {
    fn new(project: &project::Project, resource: &Resource) -> Self {
        let kind = Kind::new(project, resource);
        let hook = |webhook: &project::Webhook, letter, verb| {
            let names = project.webhook_names(resource, webhook, letter, verb);
            Hook {
                name: names.name,
                usual_name: names.usual,
                path: names.path,
                usual_path: webhook.path.is_none(),
            }
        };
        let webhooks = &resource.webhooks;
        let defaulting = webhooks.defaulting.as_ref();
        let defaulting = defaulting.map(|it| hook(it, 'm', "mutate"));
        let validation = webhooks.validation.as_ref();
        let validation = validation.map(|it| hook(it, 'v', "validate"));
        Self {
            module: resource.kind.module(),
            import: project.import(resource, &kind.kind),
            has_title: !kind.opaque && project.image(resource).is_none(),
            defaulting,
            validation,
            kind,
        }
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

    fn new(project: &project::Project, owned: RelatedKind, has_image: bool) -> Self {
        let kind = Kind::new(project, &owned.resource);
        let folder = format!("owned/{}/{}", kind.group.name, kind.version);
        let own = TEMPLATES.get_file(format!("{folder}/{}.rs.tera", kind.lower));
        let own = own.filter(|_| kind.core).and_then(|it| it.path().to_str());
        Self {
            template: own.unwrap_or(Self::OTHER),
            runs_image: has_image
                && kind.core
                && owned.resource.id().to_string() == project::Image::KIND,
            identifiers: owned.identifiers,
            kind,
        }
    }
}

/// The kinds of `apis`, each with all of its versions.
fn crds(apis: &[Api]) -> Vec<Crd> {
    let mut kinds = BTreeMap::<_, Vec<Api>>::new();
    for api in apis {
        let kind = (&api.kind.group.full, &api.kind.kind);
        kinds.entry(kind).or_default().push(api.clone());
    }
    let mut converted = BTreeSet::new();
    let crd = |versions: Vec<Api>| {
        let stored = versions.iter().find(|api| api.stored)?.clone();
        let (group, lower) = (stored.kind.group.clone(), stored.kind.lower.clone());
        let mut manifest_versions: Vec<_> = versions.iter().rev().cloned().collect();
        manifest_versions.sort_by_key(|api| !api.stored);
        let hub = versions.iter().find(|api| !api.spokes.is_empty());
        Some(Crd {
            conversion: hub.map(|hub| Conversion {
                hub: hub.kind.version.clone(),
                spokes: hub.spokes.clone(),
                bound: Bound::new(&hub.kind, converted.insert(lower.clone())),
            }),
            file: group.key.prefixed(&lower, '_'),
            role: group.key.prefixed(&lower, '-'),
            versions,
            manifest_versions,
            stored,
        })
    };
    kinds.into_values().filter_map(crd).collect()
}

/// The rules of `controllers`, and of the storage migration of `crds`, as the operator merges them: `rbac::merge` in
/// the rendered project.
fn rules<'a>(controllers: &'a [Controller], crds: impl Iterator<Item = &'a Crd>) -> BTreeSet<Rule> {
    let mut verbs_of = BTreeMap::<(&str, Vec<String>, String), BTreeSet<&'static str>>::new();
    let mut allow = |group, names: Vec<String>, resource, verbs: &[&'static str]| {
        let of = verbs_of.entry((group, names, resource));
        of.or_default().extend(verbs);
    };
    for crd in crds.filter(|crd| crd.versions.len() > 1) {
        let Kind { group, plural, .. } = &crd.stored.kind;
        let names = vec![format!("{plural}.{}", group.full)];
        let definitions = "customresourcedefinitions";
        for (resource, verb) in [
            (definitions.to_owned(), "get"),
            (format!("{definitions}/status"), "patch"),
        ] {
            allow("apiextensions.k8s.io", names.clone(), resource, &[verb]);
        }
        let verbs = ["list", "patch"];
        allow(&group.full, Vec::new(), plural.clone(), &verbs);
    }
    let mut allow = |group, resource, verbs: &[&'static str]| {
        allow(group, Vec::new(), resource, verbs);
    };
    for controller in controllers {
        let Kind { group, plural, .. } = &controller.kind;
        allow(&group.full, plural.clone(), &["list", "watch"]);
        if !controller.kind.opaque {
            let status = format!("{plural}/status");
            if controller.shares_status {
                allow(&group.full, status.clone(), &["patch"]);
            }
            allow(&group.full, status, &["update"]);
            allow("events.k8s.io", "events".to_owned(), &["create", "patch"]);
        }
        if controller.finalizer {
            allow(&group.full, plural.clone(), &["patch"]);
        }
        for Watched { kind, .. } in &controller.watches {
            allow(&kind.group.full, kind.plural.clone(), &["list", "watch"]);
        }
        for Owned { kind, .. } in &controller.owns {
            let verbs = ["create", "delete", "get", "list", "patch", "watch"];
            allow(&kind.group.full, kind.plural.clone(), &verbs);
        }
    }

    let mut resources_with = BTreeMap::<_, Vec<String>>::new();
    for ((group, names, resource), verbs) in verbs_of {
        let same = resources_with.entry((group, names, verbs));
        same.or_default().push(resource);
    }
    let rules = resources_with.into_iter();
    let rules = rules.map(|((group, names, verbs), resources)| Rule {
        group: group.to_owned(),
        resources,
        names,
        verbs,
    });
    rules.collect()
}

/// The versions that `kinds` of one group have, each with its module and that of its conversion.
fn versions<'a>(
    kinds: impl Iterator<Item = (&'a Kind, &'a String, Option<&'a String>)>,
) -> Vec<Version> {
    let mut versions = BTreeMap::new();
    for (kind, module, conversion) in kinds {
        let version = versions.entry(&kind.version).or_insert_with(|| Version {
            name: kind.version.clone(),
            group: kind.group.clone(),
            kinds: BTreeSet::new(),
            conversions: BTreeSet::new(),
        });
        version.kinds.insert(module.clone());
        version.conversions.extend(conversion.cloned());
    }
    versions.into_values().collect()
}

/// What there is about the kinds of each group.
fn by_group<T>(all: &[T], kind: impl Fn(&T) -> &Kind) -> BTreeMap<&GroupNames, Vec<&T>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for one in all {
        groups.entry(&kind(one).group).or_default().push(one);
    }
    groups
}

/// The groups of all kinds, in the order of their modules.
fn groups(
    project: &project::Project,
    apis: &[Api],
    externals: &[External],
    controllers: &[Controller],
    webhooks: &[Webhook],
) -> Vec<Group> {
    let apis = by_group(apis, |it| &it.kind);
    let externals = by_group(externals, |it| &it.kind);
    let controllers = by_group(controllers, |it| &it.kind);
    let webhooks = by_group(webhooks, |it| &it.kind);
    let group = |names: GroupNames| {
        let apis = apis.get(&names).into_iter().flatten();
        let versions_of_apis = versions(apis.clone().map(|api| {
            let conversion = api.hub.as_ref().map(|_| &api.conversion_module);
            (&api.kind, &api.module, conversion)
        }));
        let externals = externals.get(&names).into_iter().flatten();
        let hubs = apis.filter(|api| !api.spokes.is_empty());
        let conversions = hubs.map(|api| api.conversion_module.clone());
        let controllers = controllers.get(&names).into_iter().flatten();
        let tested = controllers.clone().filter(|it| it.tested);
        let webhooks = webhooks.get(&names).into_iter().flatten();
        let webhooks = webhooks.map(|it| GroupWebhook {
            module: it.module.clone(),
            defaulting: it.defaulting.is_some(),
            validation: it.validation.is_some(),
        });
        Group {
            versions: versions_of_apis,
            external_versions: versions(externals.map(|it| (&it.kind, &it.module, None))),
            webhooks: webhooks.collect(),
            conversions: conversions.collect(),
            controllers: controllers.map(|it| it.module.clone()).collect(),
            tested: tested.map(|it| it.module.clone()).collect(),
            names,
        }
    };
    let names = project.resources.iter();
    let names: BTreeSet<_> = names.map(|it| GroupNames::new(project, it)).collect();
    names.into_iter().map(group).collect()
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
