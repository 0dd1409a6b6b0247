//! The `PROJECT` file: the desired state of a project. It has the fields and names of kubebuilder's version 3, and its
//! own layout.

pub mod builtin;
mod controllers;
mod conversion;
mod deployment;
mod error;
mod feature;
mod file;
mod find;
mod image;
mod merge;
mod owns;
mod removal;
mod resource;
mod resources;
mod rules;
mod runtime;
mod validate;
mod webhooks;

use std::{collections::BTreeSet, mem::discriminant, ops::Not};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub use self::{
    controllers::Controller,
    deployment::{Deployment, Labels},
    error::Error,
    feature::Feature,
    image::Image,
    owns::{RelatedKind, Relation},
    resource::{Conversion, Definition, Deprecation, External, Own, Resource, Stage, Types},
    resources::Resources,
    rules::{NeededRules, Purpose, Rule, Target, Verb},
    runtime::{Runtime, is_release},
    validate::is_line,
    webhooks::{Names as WebhookNames, Webhook, Webhooks},
};
use crate::names::{Domain, Header, LeaseName, NamespaceName, ProjectName, Repo, WorkspaceRoot};

/// An annotation of a CRD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Annotation {
    /// Its name, such as `api-approved.kubernetes.io`.
    pub name: &'static str,
    /// Its text.
    pub value: &'static str,
    /// Why the CRD has the annotation, in one line.
    pub reason: &'static str,
}

/// The desired state of a project.
// The fields are in alphabetical order, as in kubebuilder's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Project {
    /// The version of the rscaffold that last wrote the project: `0.3.0`.
    pub cli_version: String,
    /// The Deployment of the operator, as far as it differs from the default.
    #[serde(default, skip_serializing_if = "Deployment::is_usual")]
    pub deployment: Deployment,
    /// The domain of the project's API groups: `example.com`.
    pub domain: Domain,
    /// The optional parts of the project.
    #[serde(default = "Feature::usual", deserialize_with = "file::list")]
    pub features: BTreeSet<Feature>,
    /// Always [`Project::LAYOUT`].
    pub(crate) layout: Vec<String>,
    /// The name of the Lease that replicas share, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseName>,
    /// The license of the project's own code.
    pub license: License,
    /// The header of each source file, in place of the one made from license and owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license_header: Option<Header>,
    /// Always `true`: each group has its own folder.
    #[serde(deserialize_with = "file::multigroup")]
    pub(crate) multigroup: bool,
    /// The namespace that the operator is deployed to, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<NamespaceName>,
    /// Whether the operator watches only its own namespace, and needs no cluster-wide permissions.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub namespaced: bool,
    /// The copyright holder in the header of each source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The prefix of the names of the project's objects.
    pub project_name: ProjectName,
    /// The repository of the code; the last part of its path names the crate.
    pub repo: Repo,
    /// The kinds that the operator defines or has controllers for.
    #[serde(
        default,
        deserialize_with = "file::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resources: Resources,
    /// The source of the crate that runs the operator.
    #[serde(default)]
    pub runtime: Runtime,
    /// The version of the file format, always `3`.
    pub(crate) version: String,
    /// The root of the cargo workspace that the project is a member of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceRoot>,
}

/// The license of the project's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum License {
    /// Apache License 2.0
    Apache2,
    /// MIT License
    Mit,
    /// No license file, and no license in the sources
    None,
}

impl Project {
    /// A project of this version of rscaffold, with the default settings and no resources.
    pub fn new(domain: Domain, project_name: ProjectName, repo: Repo) -> Self {
        Self {
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
            deployment: Deployment::default(),
            domain,
            features: Feature::usual(),
            layout: vec![Self::LAYOUT.to_owned()],
            lease: None,
            license: License::Apache2,
            license_header: None,
            multigroup: true,
            namespace: None,
            namespaced: false,
            owner: None,
            project_name,
            repo,
            resources: Resources::default(),
            runtime: Runtime::of_version(env!("CARGO_PKG_VERSION")),
            version: file::VERSION.to_owned(),
            workspace: None,
        }
    }

    /// Adds a resource, or replaces the resource with the same group, version and kind. Without `force`, the settings
    /// of the existing resource must not change.
    ///
    /// # Errors
    /// [`Error`], or a contradiction between parts of the project with the new resource.
    pub fn add(&mut self, mut resource: Resource, force: bool) -> Result<()> {
        let mut project = self.clone();
        self.sort_controllers(&mut resource);
        if let Some(index) = self.position(&resource) {
            let before = &self.resources[index];
            ensure!(
                discriminant(&before.definition) == discriminant(&resource.definition),
                "{before} exists already, defined by {}",
                before.definer()
            );
            if !force {
                let changes = before.changes(&resource);
                let id = before.id();
                ensure!(changes.is_empty(), Error::Changes { id, changes });
                resource.keep_related(before);
            }
            for other in project.resources.iter_mut() {
                if self.is_one_kind(other, &resource) {
                    other.share_crd(&resource);
                }
            }
            project.resources[index] = resource.clone();
        } else {
            project.resources.push(resource.clone());
        }
        project.follow(&resource, force)?;
        if force {
            for other in project.resources.iter_mut() {
                other.share_dependency(&resource);
            }
        }
        project.sort();
        project.validate()?;
        *self = project;
        Ok(())
    }

    /// Updates the other versions of the kind after a change of `resource`. All versions get its conversion. If
    /// `resource` is the stored version, no other version stays stored, and the other versions lose their controllers
    /// and admission webhooks.
    fn follow(&mut self, resource: &Resource, force: bool) -> Result<()> {
        let Some(&Own {
            stage, conversion, ..
        }) = resource.own()
        else {
            return Ok(());
        };
        let project = self.clone();
        for other in self.resources.iter_mut() {
            if other.version == resource.version || !project.is_one_kind(other, resource) {
                continue;
            }
            let is_stored = other.is_stored() && stage == Stage::Stored;
            let is_converted = project.converts(resource, other);
            if is_stored && !force {
                let mut changes = other.changes_of_controllers(resource);
                changes.extend(other.webhooks.changes(&resource.webhooks));
                let id = other.id();
                ensure!(changes.is_empty(), Error::Changes { id, changes });
                let id = other.id();
                ensure!(is_converted, Error::StoredObjects { id });
            }
            if let Some(own) = other.own_mut() {
                own.conversion = conversion;
                if is_stored {
                    own.stage = if is_converted {
                        Stage::Served
                    } else {
                        Stage::Unserved
                    };
                }
            }
            if is_stored {
                other.controllers.clear();
                other.webhooks = Webhooks::default();
            }
        }
        Ok(())
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
            let versions = || project.versions(resource);
            let is_only = versions().filter(|version| version.is_served()).count() == 1;
            let is_stored = versions().any(Resource::is_stored);
            if resource.is_served()
                && is_only
                && !is_stored
                && let Some(own) = resource.own_mut()
            {
                own.stage = Stage::Stored;
            }
        }
    }

    /// Whether both are versions of one kind that the project defines.
    pub fn is_one_kind(&self, a: &Resource, b: &Resource) -> bool {
        a.has_api() && b.has_api() && self.is_same_kind(a, b)
    }

    /// The versions that the project defines of the kind of `resource`, including `resource`.
    pub fn versions(&self, resource: &Resource) -> impl Iterator<Item = &Resource> {
        let called = self.resources.of_kind(&resource.kind);
        called.filter(move |other| self.is_one_kind(other, resource))
    }

    /// Whether both are versions of one kind, which the project, Kubernetes or another project defines.
    pub fn is_same_kind(&self, a: &Resource, b: &Resource) -> bool {
        a.kind == b.kind && self.is_same_group(a, b)
    }

    /// Sorts resources, their controllers and the owned kinds, so that files do not depend on the order of creation.
    pub fn sort(&mut self) {
        let project = self.clone();
        for resource in self.resources.iter_mut() {
            project.sort_controllers(resource);
        }
        self.resources
            .sort_by(|a, b| (&a.group, &a.kind, &a.version).cmp(&(&b.group, &b.kind, &b.version)));
    }

    fn sort_controllers(&self, resource: &mut Resource) {
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

    /// Whether the group belongs to the Kubernetes community. The API server then accepts a CRD only with an annotation
    /// that says who approved it.
    pub fn is_protected(&self, resource: &Resource) -> bool {
        let group = format!(".{}", self.full_group(resource));
        resource.has_api() && (group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io"))
    }

    /// The annotations of a kind's CRD.
    pub fn annotations(&self, resource: &Resource) -> Vec<Annotation> {
        let conversion = resource.own().map(|own| own.conversion);
        let annotations = [
            (
                self.is_protected(resource),
                Annotation {
                    name: "api-approved.kubernetes.io",
                    value: "unapproved, experimental-only",
                    reason: "Kubernetes requires this annotation for groups below k8s.io and \
                        kubernetes.io.",
                },
            ),
            (
                conversion == Some(Conversion::Lossy),
                Annotation {
                    name: "kube-manager/conversion",
                    value: "lossy",
                    reason: "No webhook converts between the versions: a write through one version \
                        loses the fields that only other versions have.",
                },
            ),
        ];
        let annotations = annotations.into_iter().filter(|(is_there, _)| *is_there);
        annotations.map(|(_, annotation)| annotation).collect()
    }

    /// The name of the Lease that replicas share.
    pub fn lease_name(&self) -> String {
        match &self.lease {
            Some(lease) => lease.to_string(),
            None => format!("{}.{}", self.project_name, self.domain),
        }
    }

    /// The namespace that the operator is deployed to.
    pub fn namespace_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => namespace.to_string(),
            None => self.default_namespace(),
        }
    }

    /// Leaves the namespace out if it is the default.
    pub fn leave_out_default_namespace(&mut self) {
        let default = self.default_namespace();
        self.namespace
            .take_if(|namespace| namespace.as_str() == default);
    }

    fn default_namespace(&self) -> String {
        format!("{}-system", self.project_name)
    }

    /// Whether metrics are served over HTTPS, to authorized clients only. The operator asks the API server who is
    /// authorized, which needs cluster-wide permissions. An operator of one namespace gets them only by the feature
    /// [`Feature::MetricsAuth`].
    pub fn has_secure_metrics(&self) -> bool {
        let has = |feature| self.features.contains(&feature);
        has(Feature::MetricsSecure) && (!self.namespaced || has(Feature::MetricsAuth))
    }

    /// The source of the certificates for webhooks; `None` if the operator serves no webhooks.
    pub fn webhook_certificates(&self) -> Option<WebhookCertificates> {
        let has = |feature| self.features.contains(&feature);
        let is_served = self.webhooks().next().is_some() || self.hubs().next().is_some();
        is_served.then(|| {
            if has(Feature::WebhookFiles) {
                WebhookCertificates::Files
            } else if has(Feature::Certmanager) {
                WebhookCertificates::Certmanager
            } else {
                WebhookCertificates::Operator
            }
        })
    }
}

/// The source of the certificates for webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WebhookCertificates {
    /// The operator itself.
    Operator,
    /// cert-manager.
    Certmanager,
    /// The user, who has them in files.
    Files,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        names::{Group, GroupVersionKind},
        project::builtin,
    };

    /// A new project, as `init --enable devcontainer` creates it.
    pub(super) fn empty() -> Project {
        let [domain, name, repo] = ["com", "guestbook", "guestbook"];
        let (domain, name, repo) = (domain.parse(), name.parse(), repo.parse());
        Project {
            cli_version: "0.3.0-rc.1".to_owned(),
            features: Feature::usual()
                .into_iter()
                .chain([Feature::Devcontainer])
                .collect(),
            runtime: Runtime::Vendored,
            ..Project::new(domain.unwrap(), name.unwrap(), repo.unwrap())
        }
    }

    /// The error of a project that has these resources.
    #[track_caller]
    pub(super) fn error(resources: impl IntoIterator<Item = Resource>) -> String {
        error_in(empty(), resources)
    }

    #[track_caller]
    pub(super) fn error_in(
        mut project: Project,
        resources: impl IntoIterator<Item = Resource>,
    ) -> String {
        project.resources.extend(resources);
        project.validate().unwrap_err().to_string()
    }

    /// A namespaced kind with a controller.
    pub(super) fn api(group: &str, version: &str, kind: &str) -> Resource {
        let id: GroupVersionKind = format!("{group}/{version}/{kind}").parse().unwrap();
        Resource {
            controllers: vec![Controller::new(id.kind().controller())],
            ..Resource::new(id.group().clone(), &id, Definition::Own(Own::first()))
        }
    }

    /// A built-in kind with a controller.
    pub(super) fn core(group: &str, version: &str, kind: &str) -> Resource {
        let builtin = builtin::find(group, version, kind).unwrap();
        Resource {
            group: group.parse().unwrap(),
            controllers: api(group, version, kind).controllers,
            ..Resource::builtin(builtin).unwrap()
        }
    }

    /// A kind of another project with a controller, in a group without a domain.
    pub(super) fn external(group: &str, version: &str, kind: &str, path: &str) -> Resource {
        Resource {
            definition: Definition::External(External::At {
                dependency: None,
                path: path.parse().unwrap(),
            }),
            ..api(group, version, kind)
        }
    }

    /// The same kind without a group: its group is the project's domain.
    pub(super) fn in_domain(resource: Resource) -> Resource {
        Resource {
            group: Group::none(),
            ..resource
        }
    }

    pub(super) fn with_domain(mut resource: Resource, domain: &str) -> Resource {
        assert!(!resource.is_builtin(), "{resource} has no domain");
        resource.domain = Some(domain.parse().unwrap());
        resource
    }

    pub(super) fn without_controller(resource: Resource) -> Resource {
        Resource {
            controllers: Vec::new(),
            ..resource
        }
    }

    pub(super) fn with_controller(mut resource: Resource, name: &str) -> Resource {
        resource.set_controller(Controller::new(name.parse().unwrap()));
        resource
    }

    /// A further version of a kind. It is not served, so it has no controller.
    pub(super) fn unserved(resource: Resource) -> Resource {
        assert!(resource.has_api());
        Resource {
            definition: Definition::Own(Own::further(Conversion::Missing)),
            ..without_controller(resource)
        }
    }

    /// A version of a kind at this stage, with this conversion.
    pub(super) fn at_stage(resource: Resource, stage: Stage, conversion: Conversion) -> Resource {
        assert!(resource.has_api());
        let deprecation = Deprecation::No;
        let own = Own {
            stage,
            deprecation,
            conversion,
            spokes: None,
            types: Types::Example,
        };
        Resource {
            definition: Definition::Own(own),
            ..resource
        }
    }

    pub(super) fn cluster(mut resource: Resource) -> Resource {
        resource.namespaced = false;
        resource
    }

    pub(super) fn with_short_name(mut resource: Resource, name: &str) -> Resource {
        resource.short_names.push(name.parse().unwrap());
        resource
    }

    pub(super) fn with_plural(mut resource: Resource, plural: &str) -> Resource {
        resource.plural = plural.parse().unwrap();
        resource
    }

    pub(super) fn with_dependency(mut resource: Resource, dependency: &str) -> Resource {
        let Definition::External(External::At {
            dependency: there, ..
        }) = &mut resource.definition
        else {
            panic!("{resource} is not of others");
        };
        *there = Some(dependency.parse().unwrap());
        resource
    }

    #[test]
    fn a_resource_is_added_once() {
        let mut project = empty();
        let guestbook = api("webapp", "v1", "Guestbook");
        for _ in 0..2 {
            project.add(guestbook.clone(), false).unwrap();
            assert_eq!(project.resources, std::slice::from_ref(&guestbook));
        }
    }

    #[test]
    fn a_kind_is_defined_in_one_place() {
        let mut project = empty();
        project.domain = "io".parse().unwrap();
        let own = api("cert-manager", "v1", "Certificate");
        project.add(own.clone(), false).unwrap();
        let path = "cert_manager::v1::Certificate";
        let external = external("cert-manager", "v1", "Certificate", path);
        assert_eq!(
            project
                .add(with_domain(external.clone(), "io"), true)
                .unwrap_err()
                .to_string(),
            "`cert-manager/v1/Certificate` exists already, defined by this project"
        );
        assert_eq!(project.resources, [own]);
    }

    #[test]
    fn resources_have_one_order() {
        let mut project = empty();
        let resources = [
            api("crew", "v1", "Captain"),
            unserved(api("webapp", "v1beta1", "Guestbook")),
            api("webapp", "v1", "Guestbook"),
        ];
        for resource in resources.iter().rev() {
            project.add(resource.clone(), false).unwrap();
        }
        assert_eq!(project.resources, resources);
    }

    #[test]
    fn shared_settings_change_in_all_versions() {
        let mut project = empty();
        let v1 = api("webapp", "v1", "Guestbook");
        let v2 = unserved(api("webapp", "v2", "Guestbook"));
        let elsewhere = api("crew", "v1", "Guestbook");
        for resource in [&v1, &v2, &elsewhere] {
            project.add(resource.clone(), false).unwrap();
        }
        let changed = |resource| with_short_name(with_plural(cluster(resource), "books"), "gb");
        project.add(changed(v1.clone()), true).unwrap();
        assert_eq!(project.resources, [elsewhere, changed(v1), changed(v2)]);
    }

    #[test]
    fn controllers_and_webhooks_belong_to_the_stored_version() {
        let v1 = |stage, conversion| at_stage(api("webapp", "v1", "Guestbook"), stage, conversion);
        let v2 = |stage, conversion| Resource {
            version: "v2".parse().unwrap(),
            ..v1(stage, conversion)
        };
        let missing = Conversion::Missing;
        let before = Project {
            resources: vec![v1(Stage::Stored, missing)].into(),
            ..empty()
        };
        let add = |resource: &Resource, force| {
            let mut project = before.clone();
            let added = project.add(resource.clone(), force);
            added
                .map(|()| project.resources)
                .map_err(|error| error.to_string())
        };
        // With a conversion, the version that was stored before is still served.
        let stored = v2(Stage::Stored, Conversion::None);
        let served = without_controller(v1(Stage::Served, Conversion::None));
        assert_eq!(add(&stored, false).unwrap(), [served, stored.clone()]);
        // A controller of that version is not removed without `force`.
        let without = without_controller(stored);
        assert_eq!(
            add(&without, false).unwrap_err(),
            "`webapp/v1/Guestbook` exists with other settings: controller `guestbook` -> `none`"
        );
        assert!(add(&without, true).is_ok());
        // Without a conversion, clients would lose the fields that only the old version has.
        let stored = v2(Stage::Stored, missing);
        assert_eq!(
            add(&stored, false).unwrap_err(),
            "`webapp/v1/Guestbook` would no longer be served, and nothing would convert the \
             objects that are stored in this version"
        );
        let unserved = without_controller(v1(Stage::Unserved, missing));
        assert_eq!(add(&stored, true).unwrap(), [unserved, stored]);
    }

    #[test]
    fn a_version_is_served_without_force_and_no_longer_served_with_it() {
        let v1 = at_stage(
            api("webapp", "v1", "Guestbook"),
            Stage::Stored,
            Conversion::None,
        );
        let v2 = without_controller(api("webapp", "v2", "Guestbook"));
        let [served, unserved] = [Stage::Served, Stage::Unserved]
            .map(|stage| at_stage(v2.clone(), stage, Conversion::None));
        let mut project = Project {
            resources: vec![v1, unserved.clone()].into(),
            ..empty()
        };
        project.add(served.clone(), false).unwrap();
        assert_eq!(project.resources[1], served);
        assert_eq!(
            project
                .add(unserved.clone(), false)
                .unwrap_err()
                .to_string(),
            "`webapp/v2/Guestbook` exists with other settings: served `yes` -> `no`"
        );
        project.add(unserved.clone(), true).unwrap();
        assert_eq!(project.resources[1], unserved);
    }

    #[test]
    fn a_controller_is_added_without_force_and_removed_with_it() {
        let mut project = empty();
        let with = api("webapp", "v1", "Guestbook");
        let without = without_controller(with.clone());
        project.add(without.clone(), false).unwrap();
        project.add(with.clone(), false).unwrap();
        let error = project.add(without.clone(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`webapp/v1/Guestbook` exists with other settings: controller `guestbook` -> `none`"
        );
        assert_eq!(project.resources, [with]);
        project.add(without.clone(), true).unwrap();
        assert_eq!(project.resources, [without]);
    }

    #[test]
    fn a_different_resource_needs_force() {
        let mut project = empty();
        project
            .add(api("webapp", "v1", "Guestbook"), false)
            .unwrap();
        let changed = cluster(api("webapp", "v1", "Guestbook"));
        let mut changed = with_short_name(with_plural(changed, "books"), "gb");
        changed.controllers[0].finalizer = true;
        let error = project.add(changed.clone(), false).unwrap_err();
        let expected = "`webapp/v1/Guestbook` exists with other settings: plural `guestbooks` -> \
                        `books`; scope `Namespaced` -> `Cluster`; short names `none` -> `gb`; \
                        finalizer of the controller `guestbook` `no` -> `yes`";
        assert_eq!(error.to_string(), expected);
        project.add(changed.clone(), true).unwrap();
        assert_eq!(project.resources, [changed]);
    }

    #[test]
    fn owned_kinds_are_added_without_force_and_replaced_with_it() {
        let mut project = empty();
        let owning = |owned: &[&str]| {
            let mut owner = api("webapp", "v1", "Guestbook");
            owner.controllers[0].owns = owned.iter().map(|kind| kind.parse().unwrap()).collect();
            owner
        };
        project.add(owning(&["v1/Pod"]), false).unwrap();
        let deployment = owning(&["apps/v1/Deployment"]);
        let both = owning(&["apps/v1/Deployment", "v1/Pod"]);
        for same in [&deployment, &owning(&["core/v1/Pod"]), &owning(&[])] {
            project.add(same.clone(), false).unwrap();
            assert_eq!(project.resources, std::slice::from_ref(&both));
        }
        project.add(deployment.clone(), true).unwrap();
        assert_eq!(project.resources, [deployment]);
    }

    #[test]
    fn a_resource_that_does_not_fit_leaves_the_project_as_it_is() {
        let mut project = empty();
        project
            .add(api("webapp", "v1", "Guestbook"), false)
            .unwrap();
        let before = project.clone();
        let served = at_stage(
            api("webapp", "v2", "Guestbook"),
            Stage::Served,
            Conversion::Missing,
        );
        project.add(served, true).unwrap_err();
        assert_eq!(project, before);
    }

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
    fn secure_metrics_need_a_feature_and_cluster_wide_permissions() {
        let (secure, auth) = (Feature::MetricsSecure, Feature::MetricsAuth);
        for (features, namespaced, expected) in [
            ([].as_slice(), false, false),
            (&[secure], false, true),
            (&[auth], false, false),
            (&[secure, auth], false, true),
            (&[], true, false),
            (&[secure], true, false),
            (&[auth], true, false),
            (&[secure, auth], true, true),
        ] {
            let project = Project {
                features: features.iter().copied().collect(),
                namespaced,
                ..empty()
            };
            assert_eq!(
                project.has_secure_metrics(),
                expected,
                "{features:?} {namespaced}"
            );
        }
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
