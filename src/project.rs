//! The `PROJECT` file: what the project shall be. The fields and names are kubebuilder's version 3,
//! with a layout of our own.

mod controllers;
mod definition;
mod feature;
mod file;
mod owns;
mod removal;
mod validate;
mod workspace;
mod yaml;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub use self::{
    controllers::Controller,
    definition::{Definition, External},
    feature::Feature,
    owns::Owned,
    removal::Removed,
    workspace::WorkspaceRoot,
};
use crate::{
    builtin::{self, Builtin},
    names::{Domain, Group, GroupVersionKind, Kind, Plural, ProjectName, Repo, ShortName, Version},
};

/// The desired state of a project.
// The fields stand in the order of the file, which is alphabetical as in kubebuilder's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "the fields of a project"
)]
pub struct Project {
    /// The rscaffold that wrote the project last: `0.1.0`.
    pub cli_version: String,
    /// What every group ends in.
    pub domain: Domain,
    /// What the project has of all that it could do without.
    #[serde(default = "Feature::usual")]
    pub features: BTreeSet<Feature>,
    /// Always [`Project::LAYOUT`] alone.
    pub layout: Vec<String>,
    /// The licence of the project's own code.
    pub license: License,
    /// Always true: each group has a folder of its own.
    #[serde(default)]
    pub multigroup: bool,
    /// Whether the operator watches its own namespace only, and needs no cluster-wide permissions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub namespaced: bool,
    /// Who holds the copyright, for the header of each source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What the names of the project's objects begin with.
    pub project_name: ProjectName,
    /// Where the code lives; its last part names the crate.
    pub repo: Repo,
    /// The kinds that the operator defines or has controllers for.
    #[serde(default, skip_serializing)]
    pub resources: Vec<Resource>,
    /// Of the format of the file: always [`Project::VERSION`].
    pub version: String,
    /// Where the cargo workspace is that the project is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// One version of a kind, and what the project has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its API, if the project defines it.
    pub api: Option<Api>,
    /// Its controllers, its own one first.
    pub controllers: Vec<Controller>,
    /// Whether it is a kind that Kubernetes has built in.
    pub core: bool,
    /// What its group ends in, where that is not the project's domain. A kind that others define
    /// has that alone: without it, its group is the whole.
    pub domain: Option<Domain>,
    /// Where its type is, if others define it.
    pub external: Option<External>,
    /// Its group without the domain; `core` for the core group.
    pub group: Group,
    /// Its kind.
    pub kind: Kind,
    /// Its name in URLs.
    pub plural: Plural,
    /// Its abbreviations for kubectl.
    pub short_names: Vec<ShortName>,
    /// Its version.
    pub version: Version,
}

/// The API of a kind that the project defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "the fields of an API"
)]
pub struct Api {
    /// Of the manifest of the CRD: always `v1`.
    pub crd_version: String,
    /// Whether its objects live in namespaces.
    #[serde(default, skip_serializing_if = "is_false")]
    pub namespaced: bool,
    /// Whether the API server serves this version, and stores it. One version of each kind is: two
    /// would need a conversion between them.
    #[serde(default = "served", skip_serializing_if = "Clone::clone")]
    pub served: bool,
}

/// The first version of a kind is served.
fn served() -> bool {
    true
}

/// What [`Project::add`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The resource was not there before.
    New,
    /// All of it was there already.
    Same,
    /// It was there, but not all of it or not the same.
    Changed,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

impl Project {
    /// The name of the file.
    pub const FILE: &str = "PROJECT";
    /// The layout of the projects that this tool writes.
    pub const LAYOUT: &str = "rust.rscaffold/v1";
    /// The version of the file's format.
    pub const VERSION: &str = "3";

    /// Adds a resource, or replaces the one with its group, version and kind. Without `force` that
    /// one loses nothing and keeps its names.
    pub fn add(&mut self, mut resource: Resource, force: bool) -> Result<Added> {
        let mut project = self.clone();
        self.sort_controllers(&mut resource);
        let added = if let Some(index) = self.position(&resource) {
            let before = &self.resources[index];
            ensure!(
                before.external.is_some() == resource.external.is_some(),
                "{before} is there already, and not as one that others define"
            );
            let differences = before.differences(&resource);
            ensure!(
                force || differences.is_empty(),
                "{before} exists with {}: `--force` changes it",
                differences.join(" and ")
            );
            if !force {
                resource.keep_owned(before);
            }
            if *before == resource {
                return Ok(Added::Same);
            }
            for other in &mut project.resources {
                if self.is_one_kind(other, &resource) {
                    other.share_crd(&resource);
                }
            }
            project.resources[index] = resource.clone();
            Added::Changed
        } else {
            project.resources.push(resource.clone());
            Added::New
        };
        if force {
            for other in &mut project.resources {
                other.share_dependency(&resource);
            }
        }
        project.sort();
        project.validate()?;
        *self = project;
        Ok(added)
    }

    /// Where the resource is that has the group, version and kind of this one.
    pub fn position(&self, resource: &Resource) -> Option<usize> {
        self.resources.iter().position(|other| {
            self.full_group(other) == self.full_group(resource)
                && (&other.version, &other.kind) == (&resource.version, &resource.kind)
        })
    }

    /// Whether both are versions of one kind that the project defines.
    fn is_one_kind(&self, a: &Resource, b: &Resource) -> bool {
        a.api.is_some()
            && b.api.is_some()
            && a.kind == b.kind
            && self.full_group(a) == self.full_group(b)
    }

    /// Resources have one order, and so have their controllers and what each of them owns: a file
    /// does not depend on what was created first.
    pub fn sort(&mut self) {
        let mut resources = self.resources.clone();
        for resource in &mut resources {
            self.sort_controllers(resource);
        }
        self.resources = resources;
        self.resources
            .sort_by(|a, b| (&a.group, &a.kind, &a.version).cmp(&(&b.group, &b.kind, &b.version)));
    }

    fn sort_controllers(&self, resource: &mut Resource) {
        for controller in &mut resource.controllers {
            controller.owns = self.canonical(&controller.owns);
        }
        resource.sort_controllers();
    }

    /// The API group as Kubernetes knows it: `webapp.com`, or `apps` of a built-in kind. The core
    /// group is empty.
    pub fn full_group(&self, resource: &Resource) -> String {
        if resource.core {
            return match resource.builtin() {
                Some(builtin) => builtin.group.to_owned(),
                None => resource.group.to_string(),
            };
        }
        let own = (resource.external.is_none()).then_some(&self.domain);
        match resource.domain.as_ref().or(own) {
            Some(domain) => format!("{}.{domain}", resource.group),
            None => resource.group.to_string(),
        }
    }

    /// Whether the group belongs to the Kubernetes community: the API server then takes a CRD only
    /// with an annotation that says who approved it.
    pub fn is_protected(&self, resource: &Resource) -> bool {
        let group = format!(".{}", self.full_group(resource));
        resource.api.is_some() && (group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io"))
    }

    /// Whether metrics are served over HTTPS, to those alone who may read them. To ask who that is
    /// takes rights in the whole cluster.
    pub fn has_secure_metrics(&self) -> bool {
        self.features.contains(&Feature::MetricsSecure) && !self.namespaced
    }

    /// The Rust module that has the type of a resource.
    fn path(&self, resource: &Resource) -> String {
        if let Some(builtin) = resource.builtin() {
            let module = builtin.path.rsplit_once("::").map(|(module, _)| module);
            return module.unwrap_or(builtin.path).to_owned();
        }
        let (group, version) = (resource.group.module(), resource.version.module());
        format!(
            "{}::api::{group}::{version}",
            self.repo.crate_name().ident()
        )
    }
}

/// As errors speak of it: `webapp/v1/Guestbook`.
impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (group, version, kind) = (&self.group, &self.version, &self.kind);
        let id = GroupVersionKind::new(group.clone(), version.clone(), kind.clone());
        write!(f, "`{id}`")
    }
}

impl Resource {
    fn builtin(&self) -> Option<Builtin> {
        if !self.core {
            return None;
        }
        let (group, version) = (self.group.as_str(), self.version.as_str());
        builtin::find(group, version, self.kind.as_str())
    }

    /// Whether its objects live in namespaces.
    pub fn namespaced(&self) -> bool {
        match (&self.api, &self.external) {
            (Some(api), _) => api.namespaced,
            (None, Some(external)) => external.namespaced,
            (None, None) => self.builtin().is_some_and(|builtin| builtin.namespaced),
        }
    }

    /// What would get lost or another name with `after` in place of this resource.
    fn differences(&self, after: &Self) -> Vec<String> {
        let mut differences = self.differences_of_crd(after);
        differences.extend(self.differences_of_types(after));
        differences.extend(self.differences_of_controllers(after));
        differences
    }

    /// Takes over what all versions of a kind have in common, because they are one CRD.
    fn share_crd(&mut self, version: &Self) {
        self.plural.clone_from(&version.plural);
        self.short_names.clone_from(&version.short_names);
        if let Some(api) = &mut self.api {
            api.namespaced = version.namespaced();
        }
    }

    /// In what the CRDs of two versions differ, though they are one.
    fn differences_of_crd(&self, other: &Self) -> Vec<String> {
        let plural = |this: &Self| format!("`{}`", this.plural);
        let scope = |this: &Self| {
            let scope = if this.namespaced() {
                "Namespaced"
            } else {
                "Cluster"
            };
            format!("`{scope}`")
        };
        let short_names = |this: &Self| match this.short_names.as_slice() {
            [] => "none".to_owned(),
            names => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                names.join(", ")
            }
        };
        let mut differences = Vec::new();
        let mut compare = |what: &str, this: String, other: String| {
            if this != other {
                differences.push(format!("the {what} {this} instead of {other}"));
            }
        };
        compare("plural", plural(self), plural(other));
        compare("scope", scope(self), scope(other));
        compare("short names", short_names(self), short_names(other));
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `init` makes.
    pub(super) fn empty() -> Project {
        Project {
            cli_version: "0.1.0".to_owned(),
            domain: "com".parse().unwrap(),
            features: Feature::usual(),
            layout: vec![Project::LAYOUT.to_owned()],
            license: License::Apache2,
            multigroup: true,
            namespaced: false,
            owner: None,
            project_name: "guestbook".parse().unwrap(),
            repo: "guestbook".parse().unwrap(),
            resources: Vec::new(),
            version: Project::VERSION.to_owned(),
            workspace: None,
        }
    }

    /// What is wrong with a project that has these resources.
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
        let kind: Kind = kind.parse().unwrap();
        Resource {
            api: Some(Api {
                crd_version: "v1".to_owned(),
                namespaced: true,
                served: true,
            }),
            controllers: vec![Controller::new(kind.controller())],
            core: false,
            domain: None,
            external: None,
            group: group.parse().unwrap(),
            plural: kind.plural(),
            kind,
            short_names: Vec::new(),
            version: version.parse().unwrap(),
        }
    }

    /// A controller of a built-in kind.
    pub(super) fn core(group: &str, version: &str, kind: &str) -> Resource {
        Resource {
            api: None,
            core: true,
            ..api(group, version, kind)
        }
    }

    /// A controller of a kind that others define, in a group without a domain.
    pub(super) fn external(group: &str, version: &str, kind: &str, path: &str) -> Resource {
        Resource {
            api: None,
            external: Some(External {
                dependency: None,
                namespaced: true,
                path: path.parse().unwrap(),
            }),
            ..api(group, version, kind)
        }
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

    /// A further version of a kind, which is not served and so has no controller.
    pub(super) fn unserved(resource: Resource) -> Resource {
        let mut resource = without_controller(resource);
        resource.api.as_mut().unwrap().served = false;
        resource
    }

    pub(super) fn cluster(mut resource: Resource) -> Resource {
        resource.api.as_mut().unwrap().namespaced = false;
        resource
    }

    pub(super) fn with_short_name(mut resource: Resource, name: &str) -> Resource {
        resource.short_names.push(name.parse().unwrap());
        resource
    }

    pub(super) fn with_plural(resource: Resource, plural: &str) -> Resource {
        Resource {
            plural: plural.parse().unwrap(),
            ..resource
        }
    }

    #[test]
    fn a_resource_is_added_once() {
        let mut project = empty();
        let guestbook = api("webapp", "v1", "Guestbook");
        assert_eq!(project.add(guestbook.clone(), false).unwrap(), Added::New);
        assert_eq!(project.add(guestbook.clone(), false).unwrap(), Added::Same);
        assert_eq!(project.resources, [guestbook]);
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
    fn what_versions_share_changes_in_all_of_them() {
        let mut project = empty();
        let v1 = api("webapp", "v1", "Guestbook");
        let v2 = unserved(api("webapp", "v2", "Guestbook"));
        let elsewhere = api("crew", "v1", "Guestbook");
        for resource in [&v1, &v2, &elsewhere] {
            project.add(resource.clone(), false).unwrap();
        }
        let changed = |resource| with_short_name(with_plural(cluster(resource), "books"), "gb");
        assert_eq!(
            project.add(changed(v1.clone()), true).unwrap(),
            Added::Changed
        );
        assert_eq!(project.resources, [elsewhere, changed(v1), changed(v2)]);
    }

    #[test]
    fn a_controller_is_added_without_force_and_removed_with_it() {
        let mut project = empty();
        let with = api("webapp", "v1", "Guestbook");
        let without = without_controller(with.clone());
        project.add(without.clone(), false).unwrap();
        assert_eq!(project.add(with.clone(), false).unwrap(), Added::Changed);
        let error = project.add(without.clone(), false).unwrap_err();
        let expected = "`webapp/v1/Guestbook` exists with a controller instead of none: `--force` \
                        changes it";
        assert_eq!(error.to_string(), expected);
        assert_eq!(project.resources, [with]);
        assert_eq!(project.add(without.clone(), true).unwrap(), Added::Changed);
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
        let expected = "`webapp/v1/Guestbook` exists with the plural `guestbooks` instead of \
                        `books` and the scope `Namespaced` instead of `Cluster` and the short \
                        names none instead of `gb` and no finalizer instead of one: `--force` \
                        changes it";
        assert_eq!(error.to_string(), expected);
        assert_eq!(project.add(changed.clone(), true).unwrap(), Added::Changed);
        assert_eq!(project.resources, [changed]);
    }

    #[test]
    fn what_is_owned_is_added_to_without_force_and_replaced_with_it() {
        let mut project = empty();
        let owning = |owned: &[&str]| {
            let mut owner = api("webapp", "v1", "Guestbook");
            owner.controllers[0].owns = owned.iter().map(|kind| kind.parse().unwrap()).collect();
            owner
        };
        project.add(owning(&["v1/Pod"]), false).unwrap();
        let deployment = owning(&["apps/v1/Deployment"]);
        let both = owning(&["apps/v1/Deployment", "v1/Pod"]);
        assert_eq!(
            project.add(deployment.clone(), false).unwrap(),
            Added::Changed
        );
        assert_eq!(project.resources, std::slice::from_ref(&both));
        for same in [&deployment, &owning(&["core/v1/Pod"]), &owning(&[])] {
            assert_eq!(project.add(same.clone(), false).unwrap(), Added::Same);
        }
        assert_eq!(
            project.add(deployment.clone(), true).unwrap(),
            Added::Changed
        );
        assert_eq!(project.resources, [deployment]);
    }

    #[test]
    fn a_resource_that_does_not_fit_leaves_the_project_as_it_is() {
        let mut project = empty();
        project
            .add(api("webapp", "v1", "Guestbook"), false)
            .unwrap();
        let before = project.clone();
        project
            .add(api("webapp", "v2", "Guestbook"), true)
            .unwrap_err();
        assert_eq!(project, before);
    }

    #[test]
    fn groups_in_full() {
        let project = empty();
        let mut other = api("webapp", "v1", "Guestbook");
        assert_eq!(project.full_group(&other), "webapp.com");
        other.domain = Some("example.org".parse().unwrap());
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
