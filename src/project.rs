//! The `PROJECT` file: what the project shall be. kubebuilder's version 3 fields and names, with a layout of its own.

mod file;

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::{
    builtin::{self, Builtin},
    names::{Domain, Group, Kind, Plural, ProjectName, Repo, ShortName, Version},
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// Of the format of the file: always [`Project::VERSION`].
    pub version: String,
}

/// The licence that the project's sources are under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum License {
    /// Apache License 2.0.
    Apache2,
    /// MIT License.
    Mit,
    /// No licence file and no headers.
    None,
}

/// One version of a kind, and what the project has of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "file::Entry")]
pub struct Resource {
    /// Its API, if the project defines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
    /// Whether it has a controller.
    #[serde(skip_serializing_if = "is_false")]
    pub controller: bool,
    /// Whether it is a kind that Kubernetes has built in.
    #[serde(skip_serializing_if = "is_false")]
    pub core: bool,
    /// What its group ends in, where that is not the project's domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<Domain>,
    /// Whether its controller cleans up behind an object before that is deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub finalizer: bool,
    /// Its group without the domain; `core` for the core group.
    pub group: Group,
    /// Its kind.
    pub kind: Kind,
    /// Its name in URLs.
    pub plural: Plural,
    /// Its abbreviations for kubectl.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

    /// Adds a resource, or puts it in the place of the one of the same group, version and kind. That one loses nothing
    /// and keeps its names, unless `force` says so.
    pub fn add(&mut self, resource: Resource, force: bool) -> Result<Added> {
        let mut project = self.clone();
        let there = self.resources.iter().position(|other| {
            self.full_group(other) == self.full_group(&resource)
                && (&other.version, &other.kind) == (&resource.version, &resource.kind)
        });
        let added = if let Some(index) = there {
            let before = &self.resources[index];
            let differences = before.differences(&resource);
            ensure!(
                force || differences.is_empty(),
                "{before} exists with {}: `--force` changes it",
                differences.join(" and ")
            );
            if *before == resource {
                return Ok(Added::Same);
            }
            project.resources[index] = resource;
            Added::Changed
        } else {
            project.resources.push(resource);
            Added::New
        };
        project.sort();
        project.validate()?;
        *self = project;
        Ok(added)
    }

    /// Resources have one order, so that a file does not depend on which was created first.
    fn sort(&mut self) {
        self.resources
            .sort_by(|a, b| (&a.group, &a.kind, &a.version).cmp(&(&b.group, &b.kind, &b.version)));
    }

    /// The API group as Kubernetes knows it: `webapp.com`; of built-in kinds `apps`, or empty for the core group.
    pub fn full_group(&self, resource: &Resource) -> String {
        if resource.core {
            return match resource.builtin() {
                Some(builtin) => builtin.group.to_owned(),
                None => resource.group.to_string(),
            };
        }
        let domain = resource.domain.as_ref().unwrap_or(&self.domain);
        format!("{}.{domain}", resource.group)
    }

    /// Whether the API server takes the CRD only with an annotation on who approved it, as in all groups that belong to
    /// the Kubernetes community.
    pub fn is_protected(&self, resource: &Resource) -> bool {
        let group = format!(".{}", self.full_group(resource));
        !resource.core
            && [".k8s.io", ".kubernetes.io"]
                .iter()
                .any(|end| group.ends_with(end))
    }

    /// Checks what no single name shows: that all parts of the project go together.
    pub fn validate(&self) -> Result<()> {
        ensure!(
            self.multigroup,
            "`multigroup` must be true: each group has a folder of its own"
        );
        ensure!(
            self.owner.as_ref().is_none_or(|owner| is_line(owner)),
            "`owner` must be one line of text, as in `The Guestbook Authors`"
        );
        for resource in &self.resources {
            resource.validate()?;
            self.validate_resource(resource)?;
        }
        self.validate_versions()?;
        self.validate_kubernetes_names()?;
        self.validate_rust_names()
    }

    fn validate_resource(&self, resource: &Resource) -> Result<()> {
        // The manifest is `<group>_<plural>.yaml`, and file systems take 255 bytes. That is also
        // within the 253 of Kubernetes for `<plural>.<group>`.
        const MAX: usize = 250;
        let group = self.full_group(resource);
        let name = format!("{}.{group}", resource.plural);
        ensure!(
            name.len() <= MAX,
            "the full name `{name}` of {resource} has {} characters, {MAX} are the most",
            name.len()
        );
        ensure!(
            resource.core || builtin::all().all(|builtin| builtin.group != group),
            "{resource} would be in the group `{group}`, which Kubernetes has built in"
        );
        ensure!(
            !self.namespaced || !resource.controller || resource.namespaced(),
            "{resource} is cluster-scoped, so it cannot have a controller: the project is \
             `namespaced`"
        );
        Ok(())
    }

    /// The versions of one kind are one CRD, and have one controller.
    fn validate_versions(&self) -> Result<()> {
        let mut kinds: BTreeMap<(String, &Kind), Vec<&Resource>> = BTreeMap::new();
        for resource in &self.resources {
            let versions = kinds
                .entry((self.full_group(resource), &resource.kind))
                .or_default();
            for other in &*versions {
                ensure!(
                    resource.version != other.version,
                    "{resource} is there twice"
                );
                if let Some(difference) = resource.differences_of_crd(other).first() {
                    bail!("{resource} has {difference}, which {} has", other.version);
                }
                ensure!(
                    !resource.controller || !other.controller,
                    "{resource} cannot have a controller: {} has the one of the kind, so use \
                     `--controller=false`",
                    other.version
                );
            }
            versions.push(resource);
        }
        Ok(())
    }

    /// All that the kinds of a group are called, in URLs, by kubectl and in manifests, is theirs alone.
    fn validate_kubernetes_names(&self) -> Result<()> {
        let mut owners = BTreeMap::new();
        for resource in self
            .resources
            .iter()
            .filter(|resource| resource.api.is_some())
        {
            let (kind, plural) = (&resource.kind, &resource.plural);
            let group = self.full_group(resource);
            let mut names = vec![
                kind.to_string(),
                format!("{kind}List"),
                kind.lower(),
                plural.to_string(),
            ];
            names.extend(resource.short_names.iter().map(ToString::to_string));
            for name in names {
                let owner = owners.entry((group.clone(), name.clone())).or_insert(kind);
                ensure!(
                    *owner == kind,
                    "kinds `{owner}` and `{kind}` of group `{group}` would both be called `{name}`"
                );
            }
        }
        Ok(())
    }

    /// No two names become one in Rust.
    fn validate_rust_names(&self) -> Result<()> {
        let mut groups = BTreeMap::new();
        let mut types = BTreeMap::new();
        for resource in &self.resources {
            let module = resource.group.module();
            let group = self.full_group(resource);
            let owner = groups
                .entry(module.clone())
                .or_insert_with(|| group.clone());
            ensure!(
                *owner == group,
                "groups `{owner}` and `{group}` would both be the Rust module `{module}`"
            );
            let (kind, version) = (&resource.kind, &resource.version);
            for suffix in ["", "Spec", "Status"] {
                let name = format!("{kind}{suffix}");
                let owner = types
                    .entry((module.clone(), version, name.clone()))
                    .or_insert(kind);
                ensure!(
                    *owner == kind,
                    "kinds `{owner}` and `{kind}` of `{}/{version}` would both have the Rust type \
                     `{name}`",
                    resource.group
                );
            }
        }
        Ok(())
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

/// As errors speak of it: `webapp/v1 Guestbook`.
impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}/{} {}`", self.group, self.version, self.kind)
    }
}

impl Resource {
    fn builtin(&self) -> Option<Builtin> {
        let find = || {
            builtin::find(
                self.group.as_str(),
                self.version.as_str(),
                self.kind.as_str(),
            )
        };
        self.core.then(find)?
    }

    fn namespaced(&self) -> bool {
        match &self.api {
            Some(api) => api.namespaced,
            None => self.builtin().is_some_and(|builtin| builtin.namespaced),
        }
    }

    fn validate(&self) -> Result<()> {
        if self.core {
            self.validate_builtin()?;
        } else if let Some(api) = &self.api {
            ensure!(
                api.crd_version == "v1",
                "`crdVersion` of {self} must be `v1`, not `{}`",
                api.crd_version
            );
        } else {
            bail!("{self} has no `api`, and it is no kind that Kubernetes has built in");
        }
        ensure!(
            self.controller || !self.finalizer,
            "{self} has a finalizer but no controller, which alone could remove it"
        );
        Ok(())
    }

    fn validate_builtin(&self) -> Result<()> {
        let Some(builtin) = self.builtin() else {
            bail!("{self} is not a kind that Kubernetes has built in: leave `core` out");
        };
        ensure!(
            self.api.is_none() && self.domain.is_none() && self.short_names.is_empty(),
            "{self} is built into Kubernetes: it takes no `api`, `domain` or `shortNames`"
        );
        ensure!(
            self.plural.as_str() == builtin.plural,
            "the plural of {self} is `{}`, not `{}`",
            builtin.plural,
            self.plural
        );
        ensure!(
            self.controller,
            "{self} has neither an API nor a controller in this project"
        );
        Ok(())
    }

    /// What would get lost or another name with `after` in place of this resource.
    fn differences(&self, after: &Self) -> Vec<String> {
        let mut differences = self.differences_of_crd(after);
        if self.controller && !after.controller {
            differences.push("a controller instead of none".to_owned());
        } else if self.controller && self.finalizer != after.finalizer {
            let (this, other) = if self.finalizer {
                ("a", "none")
            } else {
                ("no", "one")
            };
            differences.push(format!("{this} finalizer instead of {other}"));
        }
        differences
    }

    /// In what the CRDs of two versions differ, though they are one.
    fn differences_of_crd(&self, other: &Self) -> Vec<String> {
        let scope = |this: &Self| {
            if this.namespaced() {
                "Namespaced"
            } else {
                "Cluster"
            }
        };
        let names = |this: &Self| match this.short_names.iter().map(ShortName::as_str) {
            names if names.len() == 0 => "none".to_owned(),
            names => format!("`{}`", names.collect::<Vec<_>>().join(",")),
        };
        let mut differences = Vec::new();
        let mut compare = |what: &str, this: String, other: String| {
            if this != other {
                differences.push(format!("the {what} {this} instead of {other}"));
            }
        };
        compare(
            "plural",
            format!("`{}`", self.plural),
            format!("`{}`", other.plural),
        );
        compare("scope", scope(self).to_owned(), scope(other).to_owned());
        compare("short names", names(self), names(other));
        differences
    }
}

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `init` makes.
    pub(super) fn empty() -> Project {
        Project {
            cli_version: "0.1.0".to_owned(),
            domain: "com".parse().unwrap(),
            layout: vec![Project::LAYOUT.to_owned()],
            license: License::Apache2,
            multigroup: true,
            namespaced: false,
            owner: None,
            project_name: "guestbook".parse().unwrap(),
            repo: "guestbook".parse().unwrap(),
            resources: Vec::new(),
            version: Project::VERSION.to_owned(),
        }
    }

    /// A namespaced kind with a controller.
    pub(super) fn api(group: &str, version: &str, kind: &str) -> Resource {
        let kind: Kind = kind.parse().unwrap();
        Resource {
            api: Some(Api {
                crd_version: "v1".to_owned(),
                namespaced: true,
            }),
            controller: true,
            core: false,
            domain: None,
            finalizer: false,
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

    fn without_controller(resource: Resource) -> Resource {
        Resource {
            controller: false,
            ..resource
        }
    }

    fn cluster(mut resource: Resource) -> Resource {
        resource.api.as_mut().unwrap().namespaced = false;
        resource
    }

    fn with_short_name(mut resource: Resource, name: &str) -> Resource {
        resource.short_names.push(name.parse().unwrap());
        resource
    }

    fn with_plural(resource: Resource, plural: &str) -> Resource {
        Resource {
            plural: plural.parse().unwrap(),
            ..resource
        }
    }

    fn error(resources: impl IntoIterator<Item = Resource>) -> String {
        error_in(empty(), resources)
    }

    fn error_in(mut project: Project, resources: impl IntoIterator<Item = Resource>) -> String {
        project.resources.extend(resources);
        project.validate().unwrap_err().to_string()
    }

    #[track_caller]
    fn assert_valid(resources: impl IntoIterator<Item = Resource>) {
        let mut project = empty();
        project.resources.extend(resources);
        project.validate().unwrap();
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
            without_controller(api("webapp", "v1beta1", "Guestbook")),
            api("webapp", "v1", "Guestbook"),
        ];
        for resource in resources.iter().rev() {
            project.add(resource.clone(), false).unwrap();
        }
        assert_eq!(project.resources, resources);
    }

    #[test]
    fn a_controller_is_added_without_force_and_removed_with_it() {
        let mut project = empty();
        let with = api("webapp", "v1", "Guestbook");
        let without = without_controller(with.clone());
        project.add(without.clone(), false).unwrap();
        assert_eq!(project.add(with.clone(), false).unwrap(), Added::Changed);
        let error = project.add(without.clone(), false).unwrap_err();
        let expected = "`webapp/v1 Guestbook` exists with a controller instead of none: `--force` \
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
        changed.finalizer = true;
        let error = project.add(changed.clone(), false).unwrap_err();
        let expected = "`webapp/v1 Guestbook` exists with the plural `guestbooks` instead of \
                        `books` and the scope Namespaced instead of Cluster and the short names \
                        none instead of `gb` and no finalizer instead of one: `--force` changes it";
        assert_eq!(error.to_string(), expected);
        assert_eq!(project.add(changed.clone(), true).unwrap(), Added::Changed);
        assert_eq!(project.resources, [changed]);
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

    #[test]
    fn what_goes_together_is_valid() {
        assert_valid([
            api("webapp", "v1", "Guestbook"),
            without_controller(api("webapp", "v1alpha1", "Guestbook")),
            cluster(api("webapp", "v1", "Shelf")),
            api("crew", "v1", "Guestbook"),
            api("crew", "v1", "Captain"),
            core("apps", "v1", "Deployment"),
            core("core", "v1", "Node"),
        ]);
    }

    #[test]
    fn the_fields_of_the_project() {
        let project = Project {
            multigroup: false,
            ..empty()
        };
        assert_eq!(
            error_in(project, []),
            "`multigroup` must be true: each group has a folder of its own"
        );
        for owner in ["", " ", "a\nb"] {
            let project = Project {
                owner: Some(owner.to_owned()),
                ..empty()
            };
            let expected = "`owner` must be one line of text, as in `The Guestbook Authors`";
            assert_eq!(error_in(project, []), expected);
        }
    }

    #[test]
    fn an_api_or_a_built_in_kind() {
        let mut none = api("webapp", "v1", "Guestbook");
        none.api = None;
        assert_eq!(
            error([none]),
            "`webapp/v1 Guestbook` has no `api`, and it is no kind that Kubernetes has built in"
        );
        let mut old = api("webapp", "v1", "Guestbook");
        old.api.as_mut().unwrap().crd_version = "v1beta1".to_owned();
        assert_eq!(
            error([old]),
            "`crdVersion` of `webapp/v1 Guestbook` must be `v1`, not `v1beta1`"
        );
        let mut finalizer = without_controller(api("webapp", "v1", "Guestbook"));
        finalizer.finalizer = true;
        assert_eq!(
            error([finalizer]),
            "`webapp/v1 Guestbook` has a finalizer but no controller, which alone could remove it"
        );
    }

    #[test]
    fn built_in_kinds_are_as_kubernetes_has_them() {
        assert_eq!(
            error([core("apps", "v1", "Guestbook")]),
            "`apps/v1 Guestbook` is not a kind that Kubernetes has built in: leave `core` out"
        );
        assert_eq!(
            error([with_plural(core("apps", "v1", "Deployment"), "deploys")]),
            "the plural of `apps/v1 Deployment` is `deployments`, not `deploys`"
        );
        assert_eq!(
            error([without_controller(core("apps", "v1", "Deployment"))]),
            "`apps/v1 Deployment` has neither an API nor a controller in this project"
        );
        assert_eq!(
            error([with_short_name(core("apps", "v1", "Deployment"), "dep")]),
            "`apps/v1 Deployment` is built into Kubernetes: it takes no `api`, `domain` or \
             `shortNames`"
        );
        let project = Project {
            domain: "k8s.io".parse().unwrap(),
            ..empty()
        };
        assert_eq!(
            error_in(project, [api("networking", "v1", "Ingress")]),
            "`networking/v1 Ingress` would be in the group `networking.k8s.io`, which Kubernetes \
             has built in"
        );
    }

    #[test]
    fn an_operator_of_one_namespace_sees_no_cluster_scoped_objects() {
        let project = Project {
            namespaced: true,
            ..empty()
        };
        assert_eq!(
            error_in(project.clone(), [cluster(api("webapp", "v1", "Shelf"))]),
            "`webapp/v1 Shelf` is cluster-scoped, so it cannot have a controller: the project is \
             `namespaced`"
        );
        let node = "`core/v1 Node` is cluster-scoped, so it cannot have a controller: the project \
                    is `namespaced`";
        assert_eq!(
            error_in(project.clone(), [core("core", "v1", "Node")]),
            node
        );
        let mut project = project;
        project
            .resources
            .push(without_controller(cluster(api("webapp", "v1", "Shelf"))));
        project.resources.push(core("core", "v1", "Pod"));
        project.validate().unwrap();
    }

    #[test]
    fn a_full_name_that_is_too_long_for_a_file() {
        // `.` + `.com`, and 10 of `guestbooks`.
        let at_most = "g".repeat(250 - 10 - 5);
        assert_valid([api(&at_most, "v1", "Guestbook")]);
        let error = error([api(&format!("{at_most}g"), "v1", "Guestbook")]);
        assert!(
            error.ends_with("has 251 characters, 250 are the most"),
            "{error}"
        );
    }

    #[test]
    fn versions_of_one_kind_agree() {
        let v1 = || api("webapp", "v1", "Guestbook");
        let v2 = || without_controller(api("webapp", "v2", "Guestbook"));
        assert_eq!(error([v1(), v1()]), "`webapp/v1 Guestbook` is there twice");
        assert_eq!(
            error([v1(), api("webapp", "v2", "Guestbook")]),
            "`webapp/v2 Guestbook` cannot have a controller: v1 has the one of the kind, so use \
             `--controller=false`"
        );
        assert_eq!(
            error([v1(), with_plural(v2(), "books")]),
            "`webapp/v2 Guestbook` has the plural `books` instead of `guestbooks`, which v1 has"
        );
        assert_eq!(
            error([v1(), cluster(v2())]),
            "`webapp/v2 Guestbook` has the scope Cluster instead of Namespaced, which v1 has"
        );
        assert_eq!(
            error([v1(), with_short_name(v2(), "gb")]),
            "`webapp/v2 Guestbook` has the short names `gb` instead of none, which v1 has"
        );
    }

    #[test]
    fn the_names_of_a_group_are_given_once() {
        let clash = |a: &str, b: &str, group: &str, name: &str| {
            format!("kinds `{a}` and `{b}` of group `{group}` would both be called `{name}`")
        };
        assert_eq!(
            error([
                api("webapp", "v1", "Person"),
                with_plural(api("webapp", "v2", "Human"), "people")
            ]),
            clash("Person", "Human", "webapp.com", "people")
        );
        assert_eq!(
            error([
                with_short_name(api("webapp", "v1", "Guestbook"), "gb"),
                with_short_name(api("webapp", "v1", "Gable"), "gb"),
            ]),
            clash("Guestbook", "Gable", "webapp.com", "gb")
        );
        assert_eq!(
            error([
                api("webapp", "v1", "Guestbook"),
                with_short_name(api("webapp", "v1", "Book"), "guestbook")
            ]),
            clash("Guestbook", "Book", "webapp.com", "guestbook")
        );
        assert_eq!(
            error([
                api("webapp", "v1", "HTTPRoute"),
                api("webapp", "v2", "HttpRoute")
            ]),
            clash("HTTPRoute", "HttpRoute", "webapp.com", "httproute")
        );
        assert_eq!(
            error([
                api("webapp", "v1", "Guestbook"),
                api("webapp", "v1", "GuestbookList")
            ]),
            clash("Guestbook", "GuestbookList", "webapp.com", "GuestbookList")
        );
        assert_valid([
            with_short_name(api("webapp", "v1", "Guestbook"), "gb"),
            with_short_name(api("crew", "v1", "Gable"), "gb"),
        ]);
    }

    #[test]
    fn two_names_do_not_become_one_in_rust() {
        assert_eq!(
            error([api("a-b", "v1", "Guestbook"), api("a.b", "v1", "Shelf")]),
            "groups `a-b.com` and `a.b.com` would both be the Rust module `a_b`"
        );
        assert_eq!(
            error([
                core("apps", "v1", "Deployment"),
                api("apps", "v1", "Guestbook")
            ]),
            "groups `apps` and `apps.com` would both be the Rust module `apps`"
        );
        for kind in ["GuestbookSpec", "GuestbookStatus"] {
            assert_eq!(
                error([api("webapp", "v1", "Guestbook"), api("webapp", "v1", kind)]),
                format!(
                    "kinds `Guestbook` and `{kind}` of `webapp/v1` would both have the Rust type \
                     `{kind}`"
                )
            );
            assert_valid([api("webapp", "v1", "Guestbook"), api("webapp", "v2", kind)]);
        }
    }
}
