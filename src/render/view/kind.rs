//! A kind and its group, as templates see them.

use serde::Serialize;

use crate::{
    names,
    project::{Project, RelatedKind, Resource},
};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GroupNames {
    pub module: String,
    /// The short name, such as `webapp`, or `example.com` if the domain is the whole group.
    pub name: String,
    /// The name in Kubernetes, such as `webapp.example.com`.
    pub full: String,
    /// The name in `PROJECT`, which may be empty. It does not change with the domain.
    #[serde(skip)]
    pub key: names::Group,
}

impl GroupNames {
    pub fn new(project: &Project, resource: &Resource) -> Self {
        Self {
            name: project.group_name(resource).to_owned(),
            full: project.full_group(resource),
            key: resource.group.clone(),
            module: project.group_module(resource),
        }
    }
}

/// The data that templates see of any kind.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Kind {
    pub kind: String,
    /// The name of the Rust type in the code.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The start of the names of the other types of the kind, such as `GuestbookSpec`.
    start: String,
    /// The Rust module of the kind, or of a controller of the kind.
    pub module: String,
    /// The singular: the kind in lower case.
    pub lower: String,
    pub plural: String,
    pub group: GroupNames,
    pub version: String,
    pub namespaced: bool,
    /// Whether another project or Kubernetes defines the kind.
    pub foreign: bool,
    /// Whether the templates do not know the fields of the kind: another project or Kubernetes defines it, or its types
    /// come from a CRD.
    pub opaque: bool,
    /// Whether the kind is built into Kubernetes.
    pub core: bool,
    /// The file name of the sample, in `config/samples`.
    sample: String,
}

impl Kind {
    pub fn new(project: &Project, resource: &Resource) -> Self {
        Self {
            kind: resource.kind.to_string(),
            type_name: project.type_name(resource),
            start: resource.kind.in_rust(),
            module: resource.kind.module(),
            lower: resource.kind.lower(),
            plural: resource.plural.to_string(),
            group: GroupNames::new(project, resource),
            version: resource.version.to_string(),
            namespaced: resource.namespaced,
            foreign: !resource.has_api(),
            opaque: !resource.has_api() || resource.has_given_types(),
            core: resource.is_builtin(),
            sample: resource.sample_file(),
        }
    }

    /// A kind that a controller works with. The type has the name that the controller's file uses.
    pub fn related(project: &Project, related: &RelatedKind) -> Self {
        Self {
            type_name: related.type_name.clone(),
            ..Self::new(project, &related.resource)
        }
    }

    /// Whether another project defines the kind.
    pub fn is_external(&self) -> bool {
        self.foreign && !self.core
    }
}
