//! The data that templates see of a [`project::Project`]: each name in every form that a file needs.
#![expect(
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    reason = "templates ask one thing at a time, by its bare name"
)]

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use heck::ToUpperCamelCase;
use kube_manager::source::Part;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    names::{self, ControllerName, Dependency, GroupVersionKind, Header, Identifiers, ShortName},
    project::{
        self, Annotation, Deprecation, Feature, Labels, License, NeededRules, Purpose, RelatedKind,
        Relation, Resource, Rule, Runtime, WebhookCertificates,
    },
    render::rules::{self, CodeRules, RoleRule, Types},
    render::templates::{self, TEMPLATES},
};

/// The rules of an operator that the project replaces, by kind and controller.
pub type ReplacedRules = BTreeMap<(GroupVersionKind, ControllerName), Vec<Rule>>;

/// The data that every template sees.
#[derive(Serialize)]
pub struct Project {
    project_name: String,
    crate_name: String,
    /// The crate in Rust code, such as `my_operator`.
    crate_ident: String,
    domain: String,
    /// The name of the Lease that the replicas share.
    lease: String,
    /// The same name, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusual_lease: Option<String>,
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// The SPDX identifier of the license.
    license: Option<&'static str>,
    /// The lines of the custom header of each source file. If there are none, the header names license and owner.
    license_header: Vec<String>,
    /// The namespace that the operator is deployed to.
    namespace: String,
    namespaced: bool,
    /// The root of the cargo workspace that the project is a member of.
    workspace: Option<String>,
    /// The folder of the runtime crate; `None` if the crate comes from the registry.
    runtime: Option<String>,
    /// The version of the runtime crate.
    runtime_version: &'static str,
    /// The features of the runtime crate that the operator uses.
    runtime_features: Vec<&'static str>,
    /// The features of the runtime that only tests enable.
    test_features: Vec<&'static str>,
    /// Whether the runtime crate is in the folder of the project.
    pub vendored: bool,
    /// Whether the runtime crate in the folder of the project has each part, by the name of its feature.
    runtime_parts: BTreeMap<&'static str, bool>,
    /// Whether each feature is enabled, by its name with `_`.
    features: BTreeMap<String, bool>,
    /// The result of [`project::Project::has_secure_metrics`].
    metrics_secure: bool,
    /// Whether cert-manager issues the certificate for secure metrics.
    metrics_certificate: bool,
    /// Whether cert-manager issues any certificate.
    certificates: bool,
    /// Whether a `NetworkPolicy` protects the operator: if the feature is on, and for an operator of one namespace,
    /// whose metrics usually have no other protection.
    network_policy: bool,
    /// `Role`, or `ClusterRole` if the operator watches all namespaces.
    role_kind: &'static str,
    /// The rules of role.yaml.
    rules: BTreeSet<RoleRule>,
    deployment: Deployment,
    /// The dependencies in Cargo.toml for kinds that other projects define.
    dependencies: Vec<Value>,
    pub groups: Vec<Group>,
    pub apis: Vec<Api>,
    /// The kinds that other projects define, if their types are in `src/external`.
    pub externals: Vec<External>,
    pub crds: Vec<Crd>,
    pub controllers: Vec<Controller>,
    /// The admission webhooks.
    pub webhooks: Vec<Webhook>,
    /// Whether there is a defaulting webhook.
    defaulting: bool,
    /// Whether there is a validating webhook: of the user, or one that limits the size of objects that are converted.
    validating: bool,
    /// Whether any kind has a conversion webhook.
    converting: bool,
    /// Whether a controller runs an image.
    runs_images: bool,
    /// Whether the operator serves webhooks of any sort.
    pub serves_webhooks: bool,
    /// The source of the certificates for webhooks.
    webhook_certificates: Option<WebhookCertificates>,
    /// Whether a controller has a test against an API server.
    tested: bool,
    /// Whether a controller reconciles a kind that another project defines.
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
    /// The kinds with admission webhooks.
    webhooks: Vec<GroupWebhook>,
    /// The modules of the kinds with a conversion webhook.
    conversions: BTreeSet<String>,
    /// The modules of the controllers.
    controllers: BTreeSet<String>,
    /// The modules of the controllers that have a test against an API server.
    tested: BTreeSet<String>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GroupNames {
    module: String,
    /// The short name, such as `webapp`, or `example.com` if the domain is the whole group.
    pub name: String,
    /// The name in Kubernetes, such as `webapp.example.com`.
    full: String,
    /// The name in `PROJECT`, which may be empty. It does not change with the domain.
    #[serde(skip)]
    pub key: names::Group,
}

/// A version of a group. The name of the version is also the name of its module.
#[derive(Serialize)]
pub struct Version {
    pub name: String,
    group: GroupNames,
    /// The modules of the kinds that have this version.
    kinds: BTreeSet<String>,
    /// The modules that convert this version of a kind to the kind's hub and back.
    conversions: BTreeSet<String>,
}

/// The data that templates see of any kind.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Kind {
    pub kind: String,
    /// The name of the Rust type in the code.
    #[serde(rename = "type")]
    type_name: String,
    /// The singular: the kind in lower case.
    lower: String,
    plural: String,
    pub group: GroupNames,
    pub version: String,
    namespaced: bool,
    /// Whether another project or Kubernetes defines the kind.
    foreign: bool,
    /// Whether the templates do not know the fields of the kind: another project or Kubernetes defines it, or its types
    /// come from a CRD.
    opaque: bool,
    /// Whether the kind is built into Kubernetes.
    core: bool,
    /// The file name of the sample, in `config/samples`.
    sample: String,
}

/// One version of a custom resource.
#[derive(Clone, Serialize)]
pub struct Api {
    #[serde(flatten)]
    pub kind: Kind,
    module: String,
    short_names: Vec<ShortName>,
    /// Whether the API server serves this version.
    served: bool,
    /// Whether the API server stores objects in this version.
    stored: bool,
    /// Whether objects of the other versions can be converted to this version.
    converted: bool,
    /// The hub to which a webhook converts this version and back; `None` for the hub itself.
    hub: Option<String>,
    /// If this version is the hub: the versions that are converted to it and back, oldest first.
    spokes: Vec<String>,
    /// The name of the conversion module, which each spoke and the webhooks have.
    conversion_module: String,
    deprecated: bool,
    deprecation_warning: Option<String>,
    /// The image that a controller of the kind runs. If there is one, the spec has fields for it.
    image: Option<project::Image>,
    /// Whether a controller owns objects of the kind.
    owned: bool,
    /// The sorted annotations of the CRD.
    annotations: Vec<Annotation>,
}

/// A version of a kind that another project defines, with types from a CRD.
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
    /// The prefix of the names of its files; `role` is the prefix of the names of its roles.
    file: String,
    role: String,
    /// All versions, oldest first.
    versions: Vec<Api>,
    /// All versions in the order of kube's `merge_crds`: the stored version, then the newest first.
    manifest_versions: Vec<Api>,
    /// The conversion by a webhook.
    conversion: Option<Conversion>,
}

/// The versions that a webhook converts.
#[derive(Serialize)]
struct Conversion {
    hub: String,
    /// The spokes, oldest first.
    spokes: Vec<String>,
    /// The webhook that limits the size of the objects.
    bound: Bound,
}

#[derive(Serialize)]
struct Bound {
    name: String,
    path: String,
}

impl Bound {
    /// The same name and path as in the operator. `is_first` is false if an earlier group has a kind with the same
    /// name.
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
    /// The name in the group, such as `guestbook`.
    pub short_name: String,
    /// The name in the cluster, such as `guestbook.webapp.example.com`.
    pub name: String,
    module: String,
    /// Whether it is the kind's own controller. The names of objects and conditions of other controllers contain the
    /// controller's name, because several controllers may work on the same objects.
    own: bool,
    /// The condition in the status, such as `Ready`.
    condition: String,
    finalizer: bool,
    /// The name of the finalizer, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizer_name: Option<String>,
    /// The owner of the fields that the controller applies, if it is not the name of the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    field_manager: Option<String>,
    rules: Vec<CodeRules>,
    /// The image that the controller runs.
    image: Option<project::Image>,
    /// The environment variable of the operator that sets the image.
    image_variable: String,
    /// Whether the API server accepts the rendered objects without changes. Otherwise the user must complete them.
    is_complete: bool,
    /// Whether the owned objects become ready only in a cluster with nodes.
    needs_nodes: bool,
    /// Whether the controller owns Jobs.
    owns_jobs: bool,
    /// Whether the controller owns a persistent volume claim.
    claims: bool,
    /// Whether the controller has a test against an API server. It has none for a kind whose fields are unknown, and
    /// none if it works with a kind that another project defines, because that API server lacks the CRD.
    tested: bool,
    /// The kinds of the objects that the controller creates.
    pub owns: Vec<Owned>,
    /// The kinds that the controller's objects refer to.
    watches: Vec<Watched>,
    /// The `use` paths of the kinds that the controller works with, in the order of rustfmt.
    imports: Vec<String>,
    /// Whether an owned object selects Pods by their labels.
    labels: bool,
    /// Whether an owned object runs Pods.
    runs_pods: bool,
}

/// The admission webhooks of a kind.
#[derive(Serialize)]
pub struct Webhook {
    #[serde(flatten)]
    pub kind: Kind,
    module: String,
    /// The `use` path of the type of the kind.
    import: String,
    defaulting: Option<Hook>,
    validation: Option<Hook>,
}

/// The admission webhooks of a kind in the module of its group.
#[derive(Serialize)]
struct GroupWebhook {
    module: String,
    defaulting: bool,
    validation: bool,
}

/// An admission webhook.
#[derive(Serialize)]
struct Hook {
    name: String,
    /// Whether the name is the default.
    usual_name: bool,
    path: String,
    /// Whether the path is the default.
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
    /// The names for one object and for many objects in the controller's code.
    #[serde(flatten)]
    identifiers: Identifiers,
    /// Whether the Pods of the objects run the image of the controller.
    runs_image: bool,
    /// The template of the body of the function that builds an object.
    #[serde(skip)]
    pub template: &'static str,
}

/// The settings of the Deployment of the operator.
#[derive(Serialize)]
struct Deployment {
    labels: Vec<Label>,
    pod_labels: Vec<Label>,
    /// The labels that select the Pods; empty for the default.
    selector: Vec<Label>,
}

#[derive(Serialize)]
struct Label {
    key: String,
    value: String,
}

impl Project {
    /// # Errors
    ///
    /// When a built-in kind is unknown, because `project` was not validated.
    pub fn new(project: &project::Project, replaced: &ReplacedRules) -> Result<Self> {
        let types = Types::of_project(project);
        let mut needed = Vec::new();
        let mut controllers = Vec::new();
        for (resource, controller) in project.controllers() {
            let related = project.related(resource, controller)?;
            let rules = project.rules(resource, controller, &related);
            let mut view = Controller::new(project, resource, controller, related, &rules);
            let key = (resource.id(), controller.name.clone());
            if let Some(rules) = replaced.get(&key) {
                view.replace(project, resource, rules, &types);
            }
            needed.extend(rules.into_iter().flat_map(|rules| rules.rules));
            controllers.push(view);
        }
        let apis = apis(project, &controllers);
        let externals = externals(project);
        let webhooks = webhooks(project);
        let crate_name = project.repo.crate_name();
        let has = |feature| project.features.contains(&feature);
        let dependency = |dependency: &Dependency| json!({ "name": dependency.name(), "source": dependency.toml() });
        let switch = |feature: &Feature| (feature.to_string().replace('-', "_"), has(*feature));
        let metrics_secure = project.has_secure_metrics();
        let metrics_certificate = metrics_secure && has(Feature::Certmanager);
        let webhook_certificates = project.webhook_certificates();
        let crds = crds(&apis);
        // Only a ClusterRole can grant the permissions for a storage migration.
        for crd in crds.iter().filter(|_| !project.namespaced) {
            if crd.versions.len() > 1 {
                let Kind { group, plural, .. } = &crd.stored.kind;
                needed.extend(rules::of_migration(&group.full, plural));
            }
        }
        let converting = project.hubs().next().is_some();
        let copied_parts = project.copied_parts();
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
            namespace: project.namespace_name(),
            namespaced: project.namespaced,
            workspace: project.workspace.as_ref().map(ToString::to_string),
            runtime: project.runtime.folder().map(str::to_owned),
            runtime_version: kube_manager::source::VERSION,
            runtime_features: features_of(project, false),
            test_features: features_of(project, true),
            vendored: project.runtime == Runtime::Vendored,
            runtime_parts: Part::ALL
                .map(|part| (part.feature(), copied_parts.contains(&part)))
                .into(),
            features: Feature::all().iter().map(switch).collect(),
            metrics_secure,
            metrics_certificate,
            certificates: metrics_certificate
                || webhook_certificates == Some(WebhookCertificates::Certmanager),
            converting,
            serves_webhooks: webhook_certificates.is_some(),
            runs_images: controllers
                .iter()
                .any(|controller| controller.image.is_some()),
            webhook_certificates,
            network_policy: project.namespaced || has(Feature::NetworkPolicy),
            role_kind: role_kind(project),
            tested: controllers.iter().any(|controller| controller.tested),
            needs_others: controllers
                .iter()
                .any(|controller| controller.kind.is_external()),
            rules: rules::of_role(needed.iter()),
            deployment: Deployment {
                labels: labels(&project.deployment.labels),
                pod_labels: labels(&project.deployment.pod_labels),
                selector: labels(&project.deployment.selector),
            },
            dependencies: project.dependencies().into_iter().map(dependency).collect(),
            groups: groups(project, &apis, &externals, &controllers, &webhooks),
            crds,
            externals,
            defaulting: webhooks.iter().any(|webhook| webhook.defaulting.is_some()),
            validating: converting || webhooks.iter().any(|webhook| webhook.validation.is_some()),
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
            type_name: project.type_name(resource),
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

    /// A kind that a controller works with. The type has the name that the controller's file uses.
    fn related(project: &project::Project, related: &RelatedKind) -> Self {
        Self {
            type_name: related.type_name.clone(),
            ..Self::new(project, &related.resource)
        }
    }

    /// Whether another project defines the kind.
    fn is_external(&self) -> bool {
        self.foreign && !self.core
    }
}

impl Api {
    /// `owned` are the kinds that controllers own.
    fn new(
        project: &project::Project,
        resource: &Resource,
        owned: &BTreeSet<(&GroupNames, &String)>,
    ) -> Self {
        let kind = Kind::new(project, resource);
        let hub = project.hub_of(resource);
        let is_spoke = |hub: &&Resource| {
            hub.spokes()
                .is_some_and(|spokes| spokes.contains(&resource.version))
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
            hub: hub.filter(is_spoke).map(|hub| hub.version.to_string()),
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
        related: Vec<RelatedKind>,
        needed: &[NeededRules],
    ) -> Self {
        let mut kind = Kind::new(project, resource);
        kind.opaque = !resource.has_example(controller);
        let types = Types::of_controller(project, resource, &kind.type_name, &related);
        let types_of_events = Types::of_events();
        let mut rules = Vec::new();
        for needed in needed {
            rules.push(match needed.purpose {
                Purpose::Events => rules::of_code(needed, &[&types_of_events]),
                _ => rules::of_code(needed, &[&types]),
            });
        }
        let import = |related: &RelatedKind| project.import(&related.resource, &related.type_name);
        let mut imports: Vec<_> = related.iter().map(import).collect();
        if kind.opaque {
            imports.push(project.import(resource, &kind.type_name));
        } else {
            // A `*` import already contains these types.
            let types = format!("crate::api::{}::{}::", kind.group.module, kind.version);
            imports.retain(|path| !path.starts_with(&types) || path.contains(" as "));
        }
        sort_imports(&mut imports);
        let own = resource.is_own(controller);
        let prefix = if own { "" } else { controller.name.as_str() };
        let (owns, watches): (Vec<_>, Vec<_>) =
            (related.into_iter()).partition(|related| related.relation == Relation::Owned);
        let owns = owns
            .into_iter()
            .map(|owned| Owned::new(project, owned, controller.image.is_some()));
        let owns: Vec<_> = owns.collect();
        let watches = watches.into_iter().map(|watched| Watched {
            kind: Kind::related(project, &watched),
            identifiers: watched.identifiers,
        });
        let watches: Vec<_> = watches.collect();
        let others = owns
            .iter()
            .map(|related| &related.kind)
            .chain(watches.iter().map(|related| &related.kind));
        let has = |attribute| {
            owns.iter()
                .any(|owned| templates::has(owned.template, attribute))
        };
        let tested = !kind.opaque && !others.into_iter().any(Kind::is_external);
        Self {
            short_name: controller.name.to_string(),
            name: project.controller_name(resource, controller),
            module: resource.controller_module(controller),
            own,
            condition: format!("{}Ready", prefix.to_upper_camel_case()),
            finalizer: controller.finalizer,
            finalizer_name: controller.finalizer_name.as_ref().map(ToString::to_string),
            field_manager: controller.field_manager.as_ref().map(ToString::to_string),
            rules,
            image: controller.image.clone(),
            image_variable: controller.image_variable(),
            is_complete: owns.iter().all(|owned| owned.template != Owned::OTHER),
            needs_nodes: has("nodes"),
            owns_jobs: has("jobs"),
            claims: has("claim"),
            labels: has("labels"),
            runs_pods: has("pods"),
            tested,
            kind,
            owns,
            watches,
            imports,
        }
    }

    /// Adds the rules of an operator that this one replaces. They are the first, because commands add rules at the end:
    /// then both changes merge.
    fn replace(
        &mut self,
        project: &project::Project,
        resource: &Resource,
        rules: &[Rule],
        types: &Types,
    ) {
        let own = Types::of_controller(project, resource, &self.kind.type_name, &[]);
        let needed = NeededRules {
            purpose: Purpose::Replaced,
            rules: rules.to_vec(),
        };
        self.rules
            .insert(0, rules::of_code(&needed, &[&own, types]));
    }
}

/// Labels in the order of their keys.
fn labels(labels: &Labels) -> Vec<Label> {
    let mut listed = Vec::new();
    for (key, value) in labels {
        listed.push(Label {
            key: key.to_string(),
            value: value.to_string(),
        });
    }
    listed
}

impl Webhook {
    fn new(project: &project::Project, resource: &Resource) -> Self {
        let mut kind = Kind::new(project, resource);
        if resource.kind.is_taken_by_webhooks() {
            kind.type_name = resource.kind.type_in(&kind.group.module);
        }
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
        let defaulting = defaulting.map(|webhook| hook(webhook, 'm', "mutate"));
        let validation = webhooks.validation.as_ref();
        let validation = validation.map(|webhook| hook(webhook, 'v', "validate"));
        Self {
            module: resource.kind.module(),
            import: project.import(resource, &kind.type_name),
            defaulting,
            validation,
            kind,
        }
    }
}

/// The versions of the kinds that the project defines. `controllers` own some of the kinds.
fn apis(project: &project::Project, controllers: &[Controller]) -> Vec<Api> {
    let mut owned = BTreeSet::new();
    for kind in controllers.iter().flat_map(|controller| &controller.owns) {
        owned.insert((&kind.kind.group, &kind.kind.kind));
    }
    let mut apis = Vec::new();
    for resource in project.resources.iter().filter(|kind| kind.has_api()) {
        apis.push(Api::new(project, resource, &owned));
    }
    apis
}

/// The kinds of other projects whose types are in `src/external`.
fn externals(project: &project::Project) -> Vec<External> {
    let mut externals = Vec::new();
    for resource in project.resources.iter() {
        if resource.external().is_some() && resource.has_given_types() {
            externals.push(External {
                kind: Kind::new(project, resource),
                module: resource.kind.module(),
            });
        }
    }
    externals
}

/// The kinds with webhooks, sorted by group: the modules of the groups pass the webhooks to the manager in this order,
/// in which the operator writes them to the manifests.
fn webhooks(project: &project::Project) -> Vec<Webhook> {
    let mut webhooks = Vec::new();
    for resource in project.webhooks() {
        webhooks.push(Webhook::new(project, resource));
    }
    webhooks.sort_by_key(|webhook| webhook.kind.group.module.clone());
    webhooks
}

/// The kind of the role of the operator.
fn role_kind(project: &project::Project) -> &'static str {
    if project.namespaced {
        "Role"
    } else {
        "ClusterRole"
    }
}

/// Sorts imports as rustfmt does: the project's own paths first, and paths part by part.
fn sort_imports(paths: &mut [String]) {
    paths.sort_by_cached_key(|path| {
        let parts: Vec<_> = path.split("::").map(str::to_owned).collect();
        (!path.starts_with("crate::"), parts)
    });
}

impl Owned {
    /// The template for kinds without a template of their own.
    const OTHER: &str = "owned/other.rs.tera";

    fn new(project: &project::Project, owned: RelatedKind, has_image: bool) -> Self {
        let kind = Kind::related(project, &owned);
        let folder = format!("owned/{}/{}", kind.group.name, kind.version);
        let own = TEMPLATES.get_file(format!("{folder}/{}.rs.tera", kind.lower));
        let own = own
            .filter(|_| kind.core)
            .and_then(|own| own.path().to_str());
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

/// The features of the runtime that a project enables, for tests only or for the operator.
fn features_of(project: &project::Project, for_tests: bool) -> Vec<&'static str> {
    let parts = project.used_parts().into_iter();
    let parts = parts.filter(|part| part.is_for_tests() == for_tests);
    parts.map(Part::feature).collect()
}

/// The CRDs: the kinds of `apis`, each with all of its versions.
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

/// The versions of `kinds`, which are in one group. Each kind comes with its module and its conversion module.
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

/// The items of `all` by the group of their kind.
fn by_group<T>(all: &[T], kind: impl Fn(&T) -> &Kind) -> BTreeMap<&GroupNames, Vec<&T>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for one in all {
        groups.entry(&kind(one).group).or_default().push(one);
    }
    groups
}

/// The groups of all kinds, sorted.
fn groups(
    project: &project::Project,
    apis: &[Api],
    externals: &[External],
    controllers: &[Controller],
    webhooks: &[Webhook],
) -> Vec<Group> {
    let apis = by_group(apis, |api| &api.kind);
    let externals = by_group(externals, |external| &external.kind);
    let controllers = by_group(controllers, |controller| &controller.kind);
    let webhooks = by_group(webhooks, |webhook| &webhook.kind);
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
        let tested = controllers.clone().filter(|controller| controller.tested);
        let webhooks = webhooks.get(&names).into_iter().flatten();
        let webhooks = webhooks.map(|webhook| GroupWebhook {
            module: webhook.module.clone(),
            defaulting: webhook.defaulting.is_some(),
            validation: webhook.validation.is_some(),
        });
        Group {
            versions: versions_of_apis,
            external_versions: versions(
                externals.map(|external| (&external.kind, &external.module, None)),
            ),
            webhooks: webhooks.collect(),
            conversions: conversions.collect(),
            controllers: controllers
                .map(|controller| controller.module.clone())
                .collect(),
            tested: tested.map(|controller| controller.module.clone()).collect(),
            names,
        }
    };
    let names = project.resources.iter();
    let names: BTreeSet<_> = names
        .map(|resource| GroupNames::new(project, resource))
        .collect();
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
