//! A version of a kind, with its controllers and webhooks.

use std::{collections::BTreeSet, fmt};

use super::{
    builtin::Builtin,
    controller::Controller,
    definition::{ConversionStrategy, Definition, External, Own, Stage, Types},
    webhook::Webhooks,
};
use crate::names::{
    ControllerName, Domain, Group, GroupVersionKind, Kind, Plural, ShortName, Version,
};

/// A version of a kind, and its controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// How the API server converts other versions of the kind to this one by itself.
    pub fn conversion(&self) -> ConversionStrategy {
        match self.own() {
            Some(own) => own.conversion,
            None => ConversionStrategy::Missing,
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

    /// Whether the project has no use for the resource: a built-in kind without controllers and webhooks.
    pub(super) fn is_needless(&self) -> bool {
        self.is_builtin() && self.controllers.is_empty() && self.webhooks.is_empty()
    }

    /// Whether the project defines this version, and the API server serves it.
    pub fn is_served(&self) -> bool {
        self.own().is_some_and(|own| own.stage != Stage::Unserved)
    }

    /// Whether the project defines this version, and the API server stores objects in it.
    pub fn is_stored(&self) -> bool {
        self.own().is_some_and(|own| own.stage == Stage::Stored)
    }

    /// The controller of this name.
    pub fn controller(&self, name: &ControllerName) -> Option<&Controller> {
        self.controllers.iter().find(|there| there.name == *name)
    }

    /// Adds a controller, or replaces the controller with the same name. The kind's own controller stays the first.
    pub fn set_controller(&mut self, controller: Controller) {
        self.remove_controller(&controller.name);
        self.controllers.push(controller);
        self.sort_controllers();
    }

    /// Removes the controller of this name.
    pub fn remove_controller(&mut self, name: &ControllerName) {
        self.controllers.retain(|there| there.name != *name);
    }

    pub(super) fn sort_controllers(&mut self) {
        let own = self.kind.controller();
        self.controllers
            .sort_by(|a, b| (a.name != own, &a.name).cmp(&(b.name != own, &b.name)));
    }

    /// Whether a controller is the kind's own controller: the one with the name of the kind.
    pub fn is_own(&self, controller: &Controller) -> bool {
        controller.name == self.kind.controller()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            builtin,
            for_tests::{api, core, empty, with_controller},
        },
        *,
    };

    #[test]
    fn a_kind_of_the_projects_group_is_not_shown_as_a_builtin_kind() {
        assert_eq!(api("core", "v1", "Pod").to_string(), "`core/v1/Pod`");
        assert_eq!(core("core", "v1", "Pod").to_string(), "`v1/Pod`");
    }

    #[test]
    fn every_kind_of_kubernetes_is_a_resource() {
        for builtin in builtin::all() {
            let resource = Resource::builtin(builtin).unwrap();
            assert_eq!(builtin::named(&resource.id()), Some(builtin));
            assert_eq!(empty().full_group(&resource), builtin.group);
            assert_eq!(resource.plural.as_str(), builtin.plural);
            assert_eq!(resource.namespaced, builtin.namespaced);
        }
    }

    #[test]
    fn the_kinds_own_controller_is_the_first() {
        let resource = with_controller(
            with_controller(api("webapp", "v1", "Guestbook"), "backup"),
            "audit",
        );
        let names = resource
            .controllers
            .iter()
            .map(|controller| controller.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["guestbook", "audit", "backup"]);
    }
}
