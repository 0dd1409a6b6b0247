//! A version of a kind, and its definition: by the project, by Kubernetes, or by another project.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{Controller, Error, Project, Webhooks, file::Entry};
use crate::{
    names::{
        self, Dependency, Domain, Group, GroupVersionKind, Kind, Plural, ShortName, TypePath,
        Version, Warning,
    },
    project::builtin::Builtin,
};

/// A version of a kind, and its controllers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Entry", into = "Entry")]
pub struct Resource {
    /// The group without the domain; empty if the domain is the whole group; `core` for the core group.
    pub group: Group,
    /// The version.
    pub version: Version,
    /// The kind.
    pub kind: Kind,
    /// The domain of the group, if the group has a domain other than the project's.
    pub domain: Option<Domain>,
    /// Whether the objects are namespaced.
    pub namespaced: bool,
    /// The name in URLs.
    pub plural: Plural,
    /// The short names for kubectl, which only kinds of the project have.
    pub short_names: Vec<ShortName>,
    /// Who defines the kind.
    pub definition: Definition,
    /// The controllers; the kind's own controller is the first.
    pub controllers: Vec<Controller>,
    /// The admission webhooks.
    pub webhooks: Webhooks,
}

/// Who defines a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// By the project.
    Own(Own),
    /// By Kubernetes.
    Builtin(Builtin),
    /// By another project. Without a domain, [`Resource::group`] is the whole group.
    External(External),
}

/// A version of a kind that the project defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// What the API server does with this version.
    pub stage: Stage,
    /// What the API server tells clients that use this version.
    pub deprecation: Deprecation,
    /// How the API server converts other versions to this one without a webhook; the same for all versions of a kind.
    pub conversion: Conversion,
    /// The versions that a webhook converts to this one and back, if this one is the hub of its kind.
    pub spokes: Option<BTreeSet<Version>>,
    /// The initial content of the Rust types.
    pub types: Types,
}

/// The initial content of the Rust types of a version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Types {
    /// An example of a spec, and a status with conditions. Rendered controllers and webhooks use their fields.
    #[default]
    #[serde(skip)]
    Example,
    /// The schema of a CRD. The fields are not known to the templates.
    Given,
}

impl Types {
    /// Whether the types start from the example.
    pub fn is_example(&self) -> bool {
        *self == Self::Example
    }
}

/// What the API server does with a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The API server does not serve the version.
    Unserved,
    /// The API server serves the version, and stores objects in another version.
    Served,
    /// The API server serves the version, and stores all objects of the kind in it.
    Stored,
}

/// What the API server tells clients that use a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Deprecation {
    /// Nothing, because the version is not deprecated.
    #[default]
    No,
    /// The default warning that the version is deprecated.
    Yes,
    /// This warning.
    Warning(Warning),
}

impl FromStr for Deprecation {
    type Err = anyhow::Error;

    /// Reads the value of the command line option.
    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "false" => Self::No,
            "true" => Self::Yes,
            warning => Self::Warning(warning.parse()?),
        })
    }
}

/// How the API server converts between the versions of a kind by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Conversion {
    /// Not at all: one version is served
    #[default]
    #[serde(skip)]
    #[value(skip)]
    Missing,
    /// Only `apiVersion` changes, because the schemas are equal
    None,
    /// Only `apiVersion` changes, although the schemas differ: a write through one version loses the fields that only
    /// the others have
    Lossy,
}

impl Conversion {
    /// Whether the API server does not convert.
    pub fn is_missing(&self) -> bool {
        *self == Self::Missing
    }

    /// The value in `PROJECT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::None => "none",
            Self::Lossy => "lossy",
        }
    }
}

impl Own {
    /// The first version of a kind.
    pub fn first() -> Self {
        Self {
            stage: Stage::Stored,
            deprecation: Deprecation::No,
            conversion: Conversion::Missing,
            spokes: None,
            types: Types::Example,
        }
    }

    /// Another version of a kind with this `conversion`. Without a conversion, the version is not served: clients would
    /// get the same object in both versions, without the fields that only the other version has.
    pub fn further(conversion: Conversion) -> Self {
        let stage = match conversion {
            Conversion::Missing => Stage::Unserved,
            Conversion::None | Conversion::Lossy => Stage::Served,
        };
        Self {
            stage,
            deprecation: Deprecation::No,
            conversion,
            spokes: None,
            types: Types::Example,
        }
    }
}

/// The location of the Rust type of an external kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum External {
    /// In a crate, or in the user's own code.
    At {
        /// The crate to add to Cargo.toml; `None` if Cargo.toml already has the crate.
        dependency: Option<Dependency>,
        /// The path of the Rust type.
        path: TypePath,
    },
    /// In `src/external`, made from a CRD.
    Given,
}

impl External {
    /// The text for messages about changes.
    fn as_str(&self) -> &str {
        match self {
            Self::At { path, .. } => path.as_str(),
            Self::Given => "made from a CRD",
        }
    }
}

/// Shown as in `webapp/v1/Guestbook`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.definition {
            Definition::Builtin(builtin) if builtin.group.is_empty() => {
                write!(f, "`{}`", builtin.id())
            }
            _ => write!(f, "`{}`", self.id()),
        }
    }
}

impl Resource {
    /// A namespaced kind with this name in `group`, with its default plural and no controllers.
    pub fn new(group: Group, id: &GroupVersionKind, definition: Definition) -> Self {
        Self {
            group,
            version: id.version().clone(),
            kind: id.kind().clone(),
            domain: None,
            namespaced: true,
            plural: id.kind().plural(),
            short_names: Vec::new(),
            definition,
            controllers: Vec::new(),
            webhooks: Webhooks::default(),
        }
    }

    /// A built-in kind, with the short name of its group.
    pub fn builtin(builtin: Builtin) -> Option<Self> {
        let id: GroupVersionKind = builtin.id().parse().ok()?;
        let group = builtin.short_group().parse().ok()?;
        Some(Self {
            namespaced: builtin.namespaced,
            plural: builtin.plural.parse().ok()?,
            ..Self::new(group, &id, Definition::Builtin(builtin))
        })
    }

    /// The group, version and kind; the group is spelled as in `PROJECT`.
    pub fn id(&self) -> GroupVersionKind {
        self.id_in(self.group.clone())
    }

    /// The group, version and kind; the group is spelled as `group`.
    pub fn id_in(&self, group: Group) -> GroupVersionKind {
        GroupVersionKind::new(group, self.version.clone(), self.kind.clone())
    }

    /// The file name of the sample, in `config/samples`.
    pub fn sample_file(&self) -> String {
        let name = format!("{}_{}.yaml", self.version, self.kind.lower());
        self.group.prefixed(&name, '_')
    }

    /// Whether the project defines the kind.
    pub fn has_api(&self) -> bool {
        self.own().is_some()
    }

    /// The definition, if the project defines the kind.
    pub fn own(&self) -> Option<&Own> {
        match &self.definition {
            Definition::Own(own) => Some(own),
            _ => None,
        }
    }

    /// The mutable definition, if the project defines the kind.
    pub(super) fn own_mut(&mut self) -> Option<&mut Own> {
        match &mut self.definition {
            Definition::Own(own) => Some(own),
            _ => None,
        }
    }

    /// The versions that a webhook converts to this one and back, if this one is the hub of its kind.
    pub fn spokes(&self) -> Option<&BTreeSet<Version>> {
        self.own()?.spokes.as_ref()
    }

    /// Whether the Rust types come from a CRD, so that the templates do not know their fields.
    pub fn has_given_types(&self) -> bool {
        match &self.definition {
            Definition::Own(own) => own.types == Types::Given,
            Definition::External(external) => *external == External::Given,
            Definition::Builtin(_) => false,
        }
    }

    /// The definition, if another project defines the kind.
    pub fn external(&self) -> Option<&External> {
        match &self.definition {
            Definition::External(external) => Some(external),
            _ => None,
        }
    }

    /// Whether the kind is built into Kubernetes.
    pub fn is_builtin(&self) -> bool {
        matches!(self.definition, Definition::Builtin(_))
    }

    /// Whether the project defines this version, and the API server serves it.
    pub fn is_served(&self) -> bool {
        self.own().is_some_and(|own| own.stage != Stage::Unserved)
    }

    /// Whether the project defines this version, and the API server stores objects in it.
    pub fn is_stored(&self) -> bool {
        self.own().is_some_and(|own| own.stage == Stage::Stored)
    }

    pub(super) fn definer(&self) -> &'static str {
        match self.definition {
            Definition::Own(_) => "this project",
            Definition::Builtin(_) => "Kubernetes",
            Definition::External(_) => "others",
        }
    }

    /// The Rust module that converts this version to the hub and back.
    pub fn conversion_module(&self) -> String {
        format!("{}_conversion", self.kind.module().trim_end_matches('_'))
    }

    fn dependency(&self) -> Option<&Dependency> {
        match self.external()? {
            External::At { dependency, .. } => dependency.as_ref(),
            External::Given => None,
        }
    }

    /// The settings that would be lost or changed if `after` replaced this resource.
    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
        let mut changes = self.changes_of_crd(after);
        if let (Some(before), Some(after)) = (self.external(), after.external()) {
            changes.extend(change("type", before.as_str(), after.as_str()));
        }
        if let Some(before) = self.dependency() {
            let after = after.dependency().map_or("none", Dependency::as_str);
            changes.extend(change("crate", before.as_str(), after));
        }
        if self.is_served() && after.has_api() {
            let served = |side: &Self| if side.is_served() { "yes" } else { "no" };
            changes.extend(change("served", served(self), served(after)));
        }
        changes.extend(self.changes_of_controllers(after));
        changes.extend(self.webhooks.changes(&after.webhooks));
        changes
    }

    /// The differences between the CRDs of two versions. All versions of a kind share one CRD.
    pub(super) fn changes_of_crd(&self, after: &Self) -> Vec<String> {
        let scope = |side: &Self| {
            if side.namespaced {
                "Namespaced"
            } else {
                "Cluster"
            }
        };
        let short_names = |side: &Self| match side.short_names.as_slice() {
            [] => "none".to_owned(),
            names => (names.iter().map(ShortName::as_str).collect::<Vec<_>>()).join(", "),
        };
        let changes = [
            change("plural", self.plural.as_str(), after.plural.as_str()),
            change("scope", scope(self), scope(after)),
            change("short names", &short_names(self), &short_names(after)),
        ];
        changes.into_iter().flatten().collect()
    }

    /// The first difference between this version and another one that must not exist within a kind.
    pub(super) fn contradiction(&self, other: &Self) -> Option<String> {
        let conversion = |side: &Self| {
            side.own()
                .map(|own| own.conversion)
                .unwrap_or_default()
                .name()
        };
        let changes = self.changes_of_crd(other).into_iter();
        let conversion = change("conversion", conversion(self), conversion(other));
        changes.chain(conversion).next()
    }

    /// Copies the settings that all versions of a kind share, because they have one CRD.
    pub(super) fn share_crd(&mut self, version: &Self) {
        self.plural.clone_from(&version.plural);
        self.namespaced = version.namespaced;
        self.short_names.clone_from(&version.short_names);
    }

    /// Copies the source of a crate that `other` has, too.
    pub(super) fn share_dependency(&mut self, other: &Self) {
        if let Definition::External(External::At {
            dependency: Some(own),
            ..
        }) = &mut self.definition
            && let Some(other) = other.dependency()
            && own.ident() == other.ident()
        {
            own.clone_from(other);
        }
    }
}

/// The message about a setting that would change: "plural `guestbooks` -> `books`".
pub(super) fn change(what: &str, before: &str, after: &str) -> Option<String> {
    (before != after).then(|| format!("{what} `{before}` -> `{after}`"))
}

impl Project {
    /// The API group as Kubernetes names it: `webapp.com`, or `apps` for a built-in kind. The core group is empty.
    pub fn full_group(&self, resource: &Resource) -> String {
        self.group_parts(resource).concat()
    }

    /// Whether both resources are in the same API group.
    pub(super) fn is_same_group(&self, a: &Resource, b: &Resource) -> bool {
        let bytes = |of| self.group_parts(of).into_iter().flat_map(str::bytes);
        bytes(a).eq(bytes(b))
    }

    /// The parts of a resource's API group: their concatenation is the group.
    fn group_parts<'a>(&'a self, resource: &'a Resource) -> [&'a str; 3] {
        let usual = match &resource.definition {
            Definition::Own(_) => Some(&self.domain),
            Definition::Builtin(builtin) => return [builtin.group, "", ""],
            Definition::External(_) => None,
        };
        let group = resource.group.as_str();
        match resource.domain.as_ref().or(usual) {
            Some(domain) if group.is_empty() => [domain.as_str(), "", ""],
            Some(domain) => [group, ".", domain.as_str()],
            None => [group, "", ""],
        }
    }

    /// The short name of the group: `webapp`, or `example.com` if the domain is the whole group.
    pub fn group_name<'a>(&'a self, resource: &'a Resource) -> &'a str {
        if resource.group.is_empty() {
            self.domain.as_str()
        } else {
            resource.group.as_str()
        }
    }

    /// The Rust module of the group: `webapp`, or `example_com` if the domain is the whole group.
    pub fn group_module(&self, resource: &Resource) -> String {
        resource.group.module(&self.domain)
    }

    /// The name of the Rust type of a resource in the project's code. It is the kind, or contains the group if the code
    /// needs the name of the kind for another type.
    pub fn type_name(&self, resource: &Resource) -> String {
        let kind = &resource.kind;
        let is_given = |resource: &Resource| resource.has_given_types();
        if kind.is_taken(false)
            || kind.is_taken(true) && (is_given(resource) || self.versions(resource).any(is_given))
        {
            kind.type_in(&self.group_module(resource))
        } else {
            kind.to_string()
        }
    }

    /// The path of the Rust type of a resource, as the project's code names it.
    pub fn type_path(&self, resource: &Resource) -> String {
        let module = |parent: &str| {
            let (group, version) = (self.group_module(resource), &resource.version);
            let name = self.type_name(resource);
            format!("crate::{parent}::{group}::{version}::{name}")
        };
        match &resource.definition {
            Definition::Own(_) => module("api"),
            Definition::Builtin(builtin) => builtin.path.to_owned(),
            Definition::External(External::At { path, .. }) => path.to_string(),
            Definition::External(External::Given) => module("external"),
        }
    }

    /// The file of the types, for a kind of the project or an external kind with types from a CRD.
    pub fn types_file(&self, resource: &Resource) -> String {
        let parent = if resource.has_api() {
            "api"
        } else {
            "external"
        };
        let (group, version) = (self.group_module(resource), &resource.version);
        format!(
            "src/{parent}/{group}/{version}/{}.rs",
            resource.kind.module()
        )
    }

    /// The file of a controller of a kind.
    pub fn controller_file(&self, resource: &Resource, controller: &Controller) -> String {
        let group = self.group_module(resource);
        format!(
            "src/controller/{group}/{}.rs",
            resource.controller_module(controller)
        )
    }

    /// The file of the admission webhooks of a kind.
    pub fn webhook_file(&self, resource: &Resource) -> String {
        let group = self.group_module(resource);
        format!("src/webhook/{group}/{}.rs", resource.kind.module())
    }

    /// The manifest of the CRD of a kind.
    pub fn crd_file(&self, resource: &Resource) -> String {
        let group = self.full_group(resource);
        format!("config/crd/bases/{group}_{}.yaml", resource.plural)
    }

    /// The file that converts the version `spoke` to `hub` and back.
    pub fn conversion_file(&self, hub: &Resource, spoke: &Version) -> String {
        let (group, module) = (self.group_module(hub), hub.conversion_module());
        format!("src/api/{group}/{spoke}/{module}.rs")
    }

    /// The file that lists which versions are converted to `hub`.
    pub fn hub_file(&self, hub: &Resource) -> String {
        let (group, module) = (self.group_module(hub), hub.conversion_module());
        format!("src/webhook/{group}/{module}.rs")
    }

    /// The sorted crates that Cargo.toml gets for external kinds.
    pub fn dependencies(&self) -> BTreeSet<&Dependency> {
        let dependencies = self.resources.iter().filter_map(Resource::dependency);
        dependencies.collect()
    }

    /// Checks that Cargo.toml can have the crates of the external kinds, and that the types are in these crates.
    pub(super) fn validate_dependencies(&self) -> Result<()> {
        let mut crates = BTreeMap::new();
        for resource in self.resources.iter() {
            let Definition::External(External::At {
                path,
                dependency: Some(dependency),
            }) = &resource.definition
            else {
                continue;
            };
            let ident = dependency.ident();
            ensure!(
                !names::is_dependency(&ident),
                Error::NeedlessCrate {
                    id: resource.id(),
                    name: dependency.name().to_owned(),
                }
            );
            ensure!(
                path.crate_ident() == ident,
                "the path `{path}` of {resource} must begin with `{ident}`, the crate `{dependency}`"
            );
            ensure!(
                ident != self.repo.crate_name().ident(),
                "{resource} cannot take the crate `{dependency}`: this project's crate has the \
                 same name"
            );
            let (other, there) = *crates.entry(ident).or_insert((resource, dependency));
            ensure!(
                there == dependency,
                Error::Crate {
                    id: resource.id(),
                    wanted: dependency.clone(),
                    other: other.id(),
                    there: there.clone(),
                }
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{
            api, core, empty, error, external, in_domain, with_dependency, with_domain,
            without_controller,
        },
        *,
    };

    fn certificate() -> Resource {
        external(
            "cert-manager",
            "v1",
            "Certificate",
            "cert_manager::v1::Certificate",
        )
    }

    #[test]
    fn a_kind_of_the_projects_group_is_not_shown_as_a_builtin_kind() {
        assert_eq!(api("core", "v1", "Pod").to_string(), "`core/v1/Pod`");
        assert_eq!(core("core", "v1", "Pod").to_string(), "`v1/Pod`");
    }

    #[test]
    fn names_of_a_kind_are_known_wherever_it_is_defined() {
        let project = empty();
        let cases = [
            (
                api("webapp", "v1", "Guestbook"),
                "webapp.com guestbooks crate::api::webapp::v1::Guestbook",
            ),
            (
                in_domain(api("webapp", "v1", "Guestbook")),
                "com guestbooks crate::api::com::v1::Guestbook",
            ),
            (
                core("networking", "v1", "Ingress"),
                "networking.k8s.io ingresses k8s_openapi::api::networking::v1::Ingress",
            ),
            (
                with_domain(certificate(), "io"),
                "cert-manager.io certificates cert_manager::v1::Certificate",
            ),
            // Without a domain, the group is the whole group.
            (
                certificate(),
                "cert-manager certificates cert_manager::v1::Certificate",
            ),
        ];
        for (resource, expected) in cases {
            let (group, path) = (project.full_group(&resource), project.type_path(&resource));
            assert_eq!(format!("{group} {} {path}", resource.plural), expected);
            assert!(resource.namespaced);
        }
    }

    #[test]
    fn every_kind_of_kubernetes_is_a_resource() {
        for builtin in crate::project::builtin::all() {
            let resource = Resource::builtin(builtin).unwrap();
            assert_eq!(
                crate::project::builtin::named(&resource.id()),
                Some(builtin)
            );
            assert_eq!(empty().full_group(&resource), builtin.group);
            assert_eq!(resource.plural.as_str(), builtin.plural);
            assert_eq!(resource.namespaced, builtin.namespaced);
        }
    }

    #[test]
    fn valid_crates_are_accepted() {
        let mut project = empty();
        let issuer = external("cert-manager", "v1", "Issuer", "cert_manager::v1::Issuer");
        *project.resources = vec![
            with_dependency(certificate(), "cert-manager@0.1"),
            // A resource without a controller, which other controllers can own.
            without_controller(with_dependency(issuer.clone(), "cert-manager@0.1")),
            external("a", "v1", "A", "crate::a::A"),
        ];
        project.validate().unwrap();
        let names: Vec<_> = project
            .dependencies()
            .iter()
            .map(|name| name.as_str())
            .collect();
        assert_eq!(names, ["cert-manager@0.1"]);

        assert_eq!(
            error([
                with_dependency(certificate(), "cert-manager@0.1"),
                with_dependency(issuer, "cert-manager@0.2")
            ]),
            "`cert-manager/v1/Issuer` cannot take the crate `cert-manager@0.2`: \
             `cert-manager/v1/Certificate` has `cert-manager@0.1`"
        );
        assert_eq!(
            error([with_dependency(certificate(), "certs@0.1")]),
            "the path `cert_manager::v1::Certificate` of `cert-manager/v1/Certificate` must begin \
             with `certs`, the crate `certs@0.1`"
        );
        let list = external("k", "v1", "K", "kube::K");
        assert_eq!(
            error([with_dependency(list, "kube@5")]),
            "`k/v1/K` needs no crate `kube`: every project has it"
        );
        let own = external("k", "v1", "K", "guestbook::K");
        assert_eq!(
            error([with_dependency(own, "guestbook@1")]),
            "`k/v1/K` cannot take the crate `guestbook@1`: this project's crate has the same name"
        );
    }

    #[test]
    fn a_crate_changes_in_all_kinds_with_force() {
        let mut project = empty();
        let issuer = external("cert-manager", "v1", "Issuer", "cert_manager::v1::Issuer");
        let old = |resource| with_dependency(resource, "cert-manager@0.1");
        let new = |resource| with_dependency(resource, "cert-manager@0.2");
        project.add(old(certificate()), false).unwrap();
        project.add(old(issuer.clone()), false).unwrap();
        assert_eq!(
            project
                .add(new(issuer.clone()), false)
                .unwrap_err()
                .to_string(),
            "`cert-manager/v1/Issuer` exists with other settings: crate `cert-manager@0.1` -> \
             `cert-manager@0.2`"
        );
        project.add(new(issuer.clone()), true).unwrap();
        assert_eq!(project.resources, [new(certificate()), new(issuer)]);
    }
}
