//! The data that templates see of a [`project::Project`]: each name in every form that a file needs.
#![expect(
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    reason = "templates ask one thing at a time, by its bare name"
)]

mod api;
mod controller;
mod group;
mod kind;
mod webhook;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use kube_manager::source::Part;
use serde::Serialize;
use serde_json::{Value, json};

pub use self::kind::Kind;
use self::{
    api::{Api, Crd, apis, crds},
    controller::Controller,
    group::{Group, groups},
    webhook::{Webhook, webhooks},
};
use crate::{
    names::{ControllerName, GroupVersionKind, Header},
    project::{self, External, Feature, Labels, License, Rule, Runtime, WebhookCertificates},
    render::rules::{self, RoleRule, Types},
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
    /// Whether the project makes this namespace.
    makes_namespace: bool,
    /// Whether `config` has an object for it.
    names_namespace: bool,
    /// The Pod Security level of the namespace.
    pod_security: &'static str,
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
    pub externals: Vec<Kind>,
    pub crds: Vec<Crd>,
    pub controllers: Vec<Controller>,
    /// The resources of the cluster-scoped kinds that controllers reconcile or watch.
    cluster_scoped: BTreeSet<String>,
    /// The resources of the project's own kinds whose objects get a finalizer.
    finalized: BTreeSet<String>,
    /// The admission webhooks.
    pub webhooks: Vec<Webhook>,
    /// Whether there is a defaulting webhook.
    defaulting: bool,
    /// Whether there is a validating webhook: of the user, or one that refuses objects which cannot be converted.
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

/// The settings of the Deployment of the operator.
#[derive(Serialize)]
struct Deployment {
    labels: Vec<Value>,
    pod_labels: Vec<Value>,
    /// The labels that select the Pods; empty for the default.
    selector: Vec<Value>,
}

impl Project {
    /// # Errors
    ///
    /// When a built-in kind is unknown, because `project` was not validated.
    pub fn new(project: &project::Project, replaced: &ReplacedRules) -> Result<Self> {
        let (controllers, mut needed) = controllers(project, replaced)?;
        let apis = apis(project, &controllers);
        let resources = project.resources.iter();
        let externals = resources
            .filter(|resource| resource.external() == Some(&External::Given))
            .map(|resource| Kind::new(project, resource));
        let webhooks = webhooks(project);
        let crate_name = project.repo.crate_name();
        let mut dependencies = Vec::new();
        for dependency in project.dependencies() {
            dependencies.push(json!({ "name": dependency.name(), "source": dependency.toml() }));
        }
        let mut features = BTreeMap::new();
        for feature in Feature::all() {
            features.insert(feature.to_string().replace('-', "_"), project.has(*feature));
        }
        let metrics_secure = project.has_secure_metrics();
        let metrics_certificate = metrics_secure && project.has(Feature::Certmanager);
        let webhook_certificates = project.webhook_certificates();
        let crds = crds(&apis);
        // Only a ClusterRole can grant the permissions for a storage migration.
        for crd in &crds {
            if crd.versions.len() > 1 && !project.namespaced {
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
            makes_namespace: project.makes_namespace(),
            names_namespace: project.names_namespace(),
            pod_security: "restricted",
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
            features,
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
            network_policy: project.namespaced || project.has(Feature::NetworkPolicy),
            role_kind: if project.namespaced {
                "Role"
            } else {
                "ClusterRole"
            },
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
            dependencies,
            groups: groups(project, &controllers),
            crds,
            externals: externals.collect(),
            defaulting: webhooks.iter().any(|webhook| webhook.defaulting.is_some()),
            validating: converting || webhooks.iter().any(|webhook| webhook.validation.is_some()),
            apis,
            cluster_scoped: cluster_scoped(&controllers),
            finalized: finalized(&controllers),
            controllers,
            webhooks,
        })
    }
}

/// The resources of the cluster-scoped kinds that `controllers` reconcile or watch, such as `nodes`.
fn cluster_scoped(controllers: &[Controller]) -> BTreeSet<String> {
    let mut resources = BTreeSet::new();
    for controller in controllers {
        let watched = controller.watches.iter().map(|watched| &watched.kind);
        for kind in [&controller.kind].into_iter().chain(watched) {
            if !kind.namespaced && kind.group.full.is_empty() {
                resources.insert(kind.plural.clone());
            } else if !kind.namespaced {
                resources.insert(format!("{}.{}", kind.plural, kind.group.full));
            }
        }
    }
    resources
}

/// The resources of the project's own kinds whose objects get a finalizer, such as `guestbooks.webapp.com`.
fn finalized(controllers: &[Controller]) -> BTreeSet<String> {
    let of_own_kinds = controllers
        .iter()
        .filter(|controller| controller.finalizer && !controller.kind.foreign);
    of_own_kinds
        .map(|controller| format!("{}.{}", controller.kind.plural, controller.kind.group.full))
        .collect()
}

/// The controllers, and the rules that they need.
fn controllers(
    project: &project::Project,
    replaced: &ReplacedRules,
) -> Result<(Vec<Controller>, Vec<Rule>)> {
    let types = Types::of_project(project);
    let mut controllers = Vec::new();
    let mut needed = Vec::new();
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
    Ok((controllers, needed))
}

/// Labels in the order of their keys.
fn labels(labels: &Labels) -> Vec<Value> {
    labels
        .iter()
        .map(|(key, value)| json!({ "key": key, "value": value }))
        .collect()
}

/// The features of the runtime that a project enables, for tests only or for the operator.
fn features_of(project: &project::Project, for_tests: bool) -> Vec<&'static str> {
    let parts = project.used_parts().into_iter();
    let parts = parts.filter(|part| part.is_for_tests() == for_tests);
    parts.map(Part::feature).collect()
}
