//! Objects while they are built.

use crate::{port::source::Manifest, project::builtin};

/// An object, and what it was called before the kustomizations changed it.
#[derive(Debug)]
pub(super) struct Resource {
    pub object: Manifest,
    /// All names and namespaces, the first ones first.
    pub called: Vec<(String, String)>,
    /// The prefix and the suffix that its kustomizations gave it.
    pub affixes: (String, String),
}

impl Resource {
    pub fn new(object: Manifest) -> Self {
        let mut resource = Self {
            object,
            called: Vec::new(),
            affixes: <_>::default(),
        };
        resource.remember();
        resource
    }

    /// The group and the version.
    pub fn group_version(&self) -> (&str, &str) {
        let api_version = self.object.text("/apiVersion").unwrap_or("");
        api_version.split_once('/').unwrap_or(("", api_version))
    }

    /// Remembers the name and the namespace, by which others may refer to the object.
    pub fn remember(&mut self) {
        let (name, namespace) = (self.object.name(), self.object.namespace());
        if !self.was_called_in(name, namespace) {
            self.called.push((name.to_owned(), namespace.to_owned()));
        }
    }

    /// Whether the object has or had this name.
    pub fn was_called(&self, name: &str) -> bool {
        self.called.iter().any(|(called, _)| called == name)
    }

    /// Whether the object has or had this name in this namespace.
    pub fn was_called_in(&self, name: &str, namespace: &str) -> bool {
        let mut called = self.called.iter();
        called.any(|(called, within)| called == name && within == namespace)
    }

    /// Whether objects of this kind are in namespaces. As for kustomize, those of an unknown kind are.
    pub fn is_namespaced(&self) -> bool {
        let (kind, (group, _)) = (self.object.kind(), self.group_version());
        let known = builtin::all().find(|known| known.kind == kind && known.group == group);
        known.is_none_or(|known| known.namespaced)
    }
}
