//! Objects while they are built.

use crate::{port::source::Object, project::builtin};

/// The cluster-scoped kinds that are newer than the kinds in kustomize.
const UNKNOWN: [&str; 11] = [
    "ClusterTrustBundle",
    "DeviceClass",
    "IPAddress",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ResourceSlice",
    "ServiceCIDR",
    "StorageVersionMigration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "VolumeAttributesClass",
];

/// An object, and what it was called before the kustomizations changed it.
#[derive(Debug)]
pub(super) struct Resource {
    pub object: Object,
    /// All names and namespaces, the first ones first.
    pub called: Vec<(String, String)>,
    /// The prefix and the suffix that its kustomizations gave it.
    pub affixes: (String, String),
}

impl Resource {
    pub fn new(object: Object) -> Self {
        let mut resource = Self {
            object,
            called: Vec::new(),
            affixes: <_>::default(),
        };
        resource.remember();
        resource
    }

    pub fn kind(&self) -> &str {
        self.object.text("kind").unwrap_or("")
    }

    pub fn group(&self) -> &str {
        let api_version = self.object.text("apiVersion").unwrap_or("");
        api_version.split_once('/').map_or("", |(group, _)| group)
    }

    pub fn version(&self) -> &str {
        let api_version = self.object.text("apiVersion").unwrap_or("");
        api_version.rsplit('/').next().unwrap_or("")
    }

    pub fn namespace(&self) -> &str {
        self.object.text("metadata.namespace").unwrap_or("")
    }

    /// Remembers the name and the namespace, by which others may refer to the object.
    pub fn remember(&mut self) {
        let name = (self.object.name().to_owned(), self.namespace().to_owned());
        if !self.called.contains(&name) {
            self.called.push(name);
        }
    }

    /// Whether kustomize takes objects of this kind for objects in namespaces. It does so if it does not know the kind.
    pub fn is_namespaced(&self) -> bool {
        let mut all = builtin::all();
        let known = all.find(|known| known.kind == self.kind() && known.group == self.group());
        UNKNOWN.contains(&self.kind()) || known.is_none_or(|known| known.namespaced)
    }
}
