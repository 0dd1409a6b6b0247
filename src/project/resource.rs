//! A version of a kind, and by whom the kind is defined: by the project, by Kubernetes, or by others.

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
    builtin::Builtin,
    names::{
        self, Dependency, Domain, Group, GroupVersionKind, Kind, Plural, ShortName, TypePath,
        Version, Warning,
    },
};

/// A version of a kind, and its controllers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Entry", into = "Entry")]
pub struct Resource {
    /// Its group without the domain, or nothing where that is the group; `core` for the core group.
    pub group: Group,
    /// Its version.
    pub version: Version,
    /// Its kind.
    pub kind: Kind,
    /// The domain of its group, if it has one that is not the project's.
    pub domain: Option<Domain>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Its name in URLs.
    pub plural: Plural,
    /// Its abbreviations for kubectl, which only kinds of the project have.
    pub short_names: Vec<ShortName>,
    /// By whom the kind is defined.
    pub definition: Definition,
    /// Its controllers, its own one first.
    pub controllers: Vec<Controller>,
    /// Its webhooks.
    pub webhooks: Webhooks,
}

/// By whom a kind is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// By the project.
    Own(Own),
    /// By Kubernetes.
    Builtin(Builtin),
    /// By others. Without a domain, [`Resource::group`] is the whole group.
    External(External),
}

/// A version of a kind that the project defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// What the API server does with this version.
    pub stage: Stage,
    /// What the API server tells clients that use it.
    pub deprecation: Deprecation,
    /// How objects of another version become objects of this one without a webhook; the same for all
    /// versions of a kind.
    pub conversion: Conversion,
    /// The versions that a webhook converts to this one and back, if this one is the hub of its kind.
    pub spokes: Option<BTreeSet<Version>>,
    /// What its Rust types begin with.
    pub types: Types,
}

/// What the Rust types of a version begin with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Types {
    /// An example of a spec, and a status with conditions. Controllers and webhooks know both.
    #[default]
    #[serde(skip)]
    Example,
    /// The schema of a CRD that was given: nothing is known of its fields.
    Given,
}

impl Types {
    /// Whether they begin with the example.
    pub fn is_example(&self) -> bool {
        *self == Self::Example
    }
}

/// What the API server does with a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing: no client can use it.
    Unserved,
    /// It serves the version, and stores objects in another one.
    Served,
    /// It serves the version, and stores all objects of the kind in it.
    Stored,
}

/// What the API server tells clients that use a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Deprecation {
    /// Nothing: the version is not deprecated.
    #[default]
    No,
    /// That the version is deprecated.
    Yes,
    /// This warning.
    Warning(Warning),
}

impl FromStr for Deprecation {
    type Err = anyhow::Error;

    /// As the command line has it.
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
    /// Whether there is none.
    pub fn is_missing(&self) -> bool {
        *self == Self::Missing
    }

    /// As `PROJECT` has it.
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

    /// Another version of a kind with this `conversion`. Without one, the API server would hand out the
    /// same object in either version, but without what only the other one has.
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

/// Where the type of a kind is that others define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum External {
    /// In a crate, or in code that the user has written.
    At {
        /// The crate that Cargo.toml gets for it; none if that has the crate already.
        dependency: Option<Dependency>,
        /// Its Rust type.
        path: TypePath,
    },
    /// In `src/external`, made from a CRD that was given.
    Given,
}

impl External {
    /// As changes name it.
    fn as_str(&self) -> &str {
        match self {
            Self::At { path, .. } => path.as_str(),
            Self::Given => "made from a CRD",
        }
    }
}

/// As errors name it: `webapp/v1/Guestbook`.
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
    /// A namespaced kind of this name in `group`, with its usual plural and no controllers.
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

    /// A kind of Kubernetes, in the short spelling of its group.
    pub fn builtin(builtin: Builtin) -> Option<Self> {
        let id: GroupVersionKind = builtin.id().parse().ok()?;
        let group = builtin.short_group().parse().ok()?;
        Some(Self {
            namespaced: builtin.namespaced,
            plural: builtin.plural.parse().ok()?,
            ..Self::new(group, &id, Definition::Builtin(builtin))
        })
    }

    /// Its name, with its group as in `PROJECT`.
    pub fn id(&self) -> GroupVersionKind {
        self.id_in(self.group.clone())
    }

    /// Its name, with its group in this spelling.
    pub fn id_in(&self, group: Group) -> GroupVersionKind {
        GroupVersionKind::new(group, self.version.clone(), self.kind.clone())
    }

    /// The file of its sample, in `config/samples`.
    pub fn sample_file(&self) -> String {
        let name = format!("{}_{}.yaml", self.version, self.kind.lower());
        self.group.prefixed(&name, '_')
    }

    /// Whether the project defines the kind.
    pub fn has_api(&self) -> bool {
        self.own().is_some()
    }

    /// What is known of the version if the project defines it.
    pub fn own(&self) -> Option<&Own> {
        match &self.definition {
            Definition::Own(own) => Some(own),
            _ => None,
        }
    }

    /// The same, to change it.
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

    /// Whether its Rust types come from a CRD that was given, so that nothing is known of their fields.
    pub fn has_given_types(&self) -> bool {
        match &self.definition {
            Definition::Own(own) => own.types == Types::Given,
            Definition::External(external) => *external == External::Given,
            Definition::Builtin(_) => false,
        }
    }

    /// What is known of the kind if others define it.
    pub fn external(&self) -> Option<&External> {
        match &self.definition {
            Definition::External(external) => Some(external),
            _ => None,
        }
    }

    /// Whether Kubernetes has the kind.
    pub fn is_builtin(&self) -> bool {
        matches!(self.definition, Definition::Builtin(_))
    }

    /// Whether the API server serves a version that the project defines.
    pub fn is_served(&self) -> bool {
        self.own().is_some_and(|own| own.stage != Stage::Unserved)
    }

    /// Whether the API server stores objects in this version, which the project defines.
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

    /// What would be lost or changed with `after` in place of this resource.
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
            let served = |it: &Self| ["no", "yes"][usize::from(it.is_served())];
            changes.extend(change("served", served(self), served(after)));
        }
        changes.extend(self.changes_of_controllers(after));
        changes.extend(self.webhooks.changes(&after.webhooks));
        changes
    }

    /// In what the CRDs of two versions differ. All versions of a kind are one CRD.
    pub(super) fn changes_of_crd(&self, after: &Self) -> Vec<String> {
        let scope = |it: &Self| ["Cluster", "Namespaced"][usize::from(it.namespaced)];
        let short_names = |it: &Self| match it.short_names.as_slice() {
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

    /// In what this version contradicts another one of the same kind.
    pub(super) fn contradiction(&self, other: &Self) -> Option<String> {
        let conversion = |it: &Self| {
            it.own()
                .map(|own| own.conversion)
                .unwrap_or_default()
                .name()
        };
        let changes = self.changes_of_crd(other).into_iter();
        let conversion = change("conversion", conversion(self), conversion(other));
        changes.chain(conversion).next()
    }

    /// Takes over what all versions of a kind have in common, because they are one CRD.
    pub(super) fn share_crd(&mut self, version: &Self) {
        self.plural.clone_from(&version.plural);
        self.namespaced = version.namespaced;
        self.short_names.clone_from(&version.short_names);
    }

    /// Takes over the source of a crate that `other` has, too.
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

/// A setting that would change: "plural `guestbooks` -> `books`".
pub(super) fn change(what: &str, before: &str, after: &str) -> Option<String> {
    (before != after).then(|| format!("{what} `{before}` -> `{after}`"))
}

impl Project {
    /// The API group as Kubernetes knows it: `webapp.com`, or `apps` of a built-in kind. The core
    /// group is empty.
    pub fn full_group(&self, resource: &Resource) -> String {
        let usual = match &resource.definition {
            Definition::Own(_) => Some(&self.domain),
            Definition::Builtin(builtin) => return builtin.group.to_owned(),
            Definition::External(_) => None,
        };
        match resource.domain.as_ref().or(usual) {
            Some(domain) if resource.group.is_empty() => domain.to_string(),
            Some(domain) => format!("{}.{domain}", resource.group),
            None => resource.group.to_string(),
        }
    }

    /// The group as people call it: `webapp`, or `example.com` if the group is the domain alone.
    pub fn group_name<'a>(&'a self, resource: &'a Resource) -> &'a str {
        if resource.group.is_empty() {
            self.domain.as_str()
        } else {
            resource.group.as_str()
        }
    }

    /// The Rust module of the group: `webapp`, or `example_com` if the group is the domain alone.
    pub fn group_module(&self, resource: &Resource) -> String {
        resource.group.module(&self.domain)
    }

    /// The path of the Rust type of a resource, as the project's code names it.
    pub fn type_path(&self, resource: &Resource) -> String {
        let module = |parent: &str| {
            let (group, version) = (self.group_module(resource), &resource.version);
            format!("crate::{parent}::{group}::{version}::{}", resource.kind)
        };
        match &resource.definition {
            Definition::Own(_) => module("api"),
            Definition::Builtin(builtin) => builtin.path.to_owned(),
            Definition::External(External::At { path, .. }) => path.to_string(),
            Definition::External(External::Given) => module("external"),
        }
    }

    /// The file of the types of a kind of the project, or of a kind of others with types from a CRD.
    pub fn types_file(&self, resource: &Resource) -> String {
        let parent = ["external", "api"][usize::from(resource.has_api())];
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

    /// The file of the webhooks of a kind that are asked before an object is stored.
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

    /// The crates that Cargo.toml gets for the kinds that others define, in order.
    pub fn dependencies(&self) -> BTreeSet<&Dependency> {
        let dependencies = self.resources.iter().filter_map(Resource::dependency);
        dependencies.collect()
    }

    /// Checks that Cargo.toml can have the crates of the kinds that others define, and that the types
    /// are in them.
    pub(super) fn validate_dependencies(&self) -> Result<()> {
        let mut crates = BTreeMap::new();
        for resource in &self.resources {
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
                Error::NeedlessCrate(format!(
                    "{resource} needs no crate `{}`: every project has it",
                    dependency.name()
                ))
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
                Error::Crate(format!(
                    "{resource} cannot take the crate `{dependency}`: {other} has `{there}`"
                ))
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
    fn a_kind_of_a_group_of_ones_own_is_not_shown_as_that_of_kubernetes() {
        assert_eq!(api("core", "v1", "Pod").to_string(), "`core/v1/Pod`");
        assert_eq!(core("core", "v1", "Pod").to_string(), "`v1/Pod`");
    }

    #[test]
    fn the_same_is_known_of_a_kind_wherever_it_is_defined() {
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
            // Without a domain the group is the whole.
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
        for builtin in crate::builtin::all() {
            let resource = Resource::builtin(builtin).unwrap();
            assert_eq!(crate::builtin::named(&resource.id()), Some(builtin));
            assert_eq!(empty().full_group(&resource), builtin.group);
            assert_eq!(resource.plural.as_str(), builtin.plural);
            assert_eq!(resource.namespaced, builtin.namespaced);
        }
    }

    #[test]
    fn crates_that_cargo_takes() {
        let mut project = empty();
        let issuer = external("cert-manager", "v1", "Issuer", "cert_manager::v1::Issuer");
        project.resources = vec![
            with_dependency(certificate(), "cert-manager@0.1"),
            // Known without a controller, to be owned.
            without_controller(with_dependency(issuer.clone(), "cert-manager@0.1")),
            external("a", "v1", "A", "crate::a::A"),
        ];
        project.validate().unwrap();
        let names: Vec<_> = project
            .dependencies()
            .iter()
            .map(|it| it.as_str())
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
