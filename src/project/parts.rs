//! The parts of the runtime that a project uses.

use std::collections::BTreeSet;

use kube_manager::source::Part;

use super::{feature::Feature, model::Project, runtime::Runtime};

impl Project {
    /// The parts of the runtime that the code of the project uses.
    pub fn used_parts(&self) -> BTreeSet<Part> {
        let mut parts = BTreeSet::new();
        if self.has(Feature::ApiDocs) {
            parts.insert(Part::ApiDocs);
        }
        if self.apis().next().is_some() {
            parts.insert(Part::SchemaTesting);
        }
        let mut controllers = self.controllers();
        let has_controller = controllers.any(|(resource, _)| resource.has_api());
        // The tests of conversions need arbitrary objects.
        if has_controller || self.hubs().next().is_some() {
            parts.insert(Part::Testing);
        }
        if self.apis().any(|kind| self.versions(kind).count() > 1) {
            parts.insert(Part::Versions);
        }
        if self.webhook_certificates().is_some() {
            parts.insert(Part::Webhook);
        }
        parts
    }

    /// The parts in the project's copy of the runtime. Other projects of a cargo workspace share the copy, so it has all
    /// parts there.
    pub fn copied_parts(&self) -> BTreeSet<Part> {
        match (&self.runtime, &self.workspace) {
            (Runtime::Vendored, None) => self.used_parts(),
            (Runtime::Vendored, Some(_)) => BTreeSet::from(Part::ALL),
            (Runtime::Registry | Runtime::Shared(_), _) => BTreeSet::new(),
        }
    }
}
