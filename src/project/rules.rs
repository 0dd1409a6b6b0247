//! The permissions of controllers, as RBAC has them.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use super::{
    controller::Controller,
    model::Project,
    related::{RelatedKind, Relation},
    resource::Resource,
};

/// A verb of RBAC, named as in the runtime. A role lists verbs in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are the verbs of Kubernetes")]
pub enum Verb {
    Bind,
    Create,
    Delete,
    DeleteCollection,
    Escalate,
    Get,
    Impersonate,
    List,
    Patch,
    Update,
    Use,
    Watch,
}

impl Verb {
    /// The verbs on a kind whose objects a controller owns.
    pub const OF_OWNER: [Self; 6] = [
        Self::Create,
        Self::Delete,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Watch,
    ];
}

/// Shown as in a role: `deletecollection`.
impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_ascii_lowercase())
    }
}

/// The target of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A resource or its subresource.
    Resource {
        /// The full name of the group; empty for the core group.
        group: String,
        /// The name of the resource, such as `pods`.
        plural: String,
        /// The subresource, such as `status`.
        subresource: Option<String>,
    },
    /// A path of the API server that is not a resource.
    Url(String),
}

/// A permission of a controller.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// What the verbs are allowed on.
    pub target: Target,
    /// The names of the objects that the rule is limited to; empty for all objects.
    pub names: BTreeSet<String>,
    /// The namespace that the rule is limited to.
    pub namespace: Option<String>,
    /// What is allowed.
    pub verbs: BTreeSet<Verb>,
}

impl Rule {
    /// Allows `verbs` on all objects of a resource.
    pub fn of(group: &str, plural: &str, verbs: &[Verb]) -> Self {
        Self {
            target: Target::Resource {
                group: group.to_owned(),
                plural: plural.to_owned(),
                subresource: None,
            },
            names: BTreeSet::new(),
            namespace: None,
            verbs: verbs.iter().copied().collect(),
        }
    }

    /// Allows `verbs` on a subresource of all objects of a resource.
    pub fn sub(group: &str, plural: &str, subresource: &str, verbs: &[Verb]) -> Self {
        Self {
            target: Target::Resource {
                group: group.to_owned(),
                plural: plural.to_owned(),
                subresource: Some(subresource.to_owned()),
            },
            ..Self::of(group, plural, verbs)
        }
    }
}

/// What a controller needs rules for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The work of an operator that this one replaces.
    Replaced,
    /// The watch of the controller's kind.
    Watch,
    /// The status of its objects.
    Status,
    /// The part of the status of a controller that is not the only one of its kind.
    SharedStatus,
    /// The finalizer.
    Finalizer,
    /// The objects that it owns.
    Owned,
    /// The objects that its objects refer to.
    Referred,
    /// The events that it writes.
    Events,
}

/// Rules that a controller needs for one purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededRules {
    /// What for.
    pub purpose: Purpose,
    /// The rules.
    pub rules: Vec<Rule>,
}

impl NeededRules {
    /// The rules for `purpose`.
    pub fn new(purpose: Purpose, rules: Vec<Rule>) -> Self {
        Self { purpose, rules }
    }
}

impl Resource {
    /// Whether the code of a controller may use the fields of the kind, because it was rendered with the example types.
    pub fn has_example(&self, controller: &Controller) -> bool {
        self.has_api() && !self.has_given_types() && controller.types.is_example()
    }
}

impl Project {
    /// The rules that the rendered code of a controller needs. `related` are the kinds that the controller works with.
    pub fn rules(
        &self,
        resource: &Resource,
        controller: &Controller,
        related: &[RelatedKind],
    ) -> Vec<NeededRules> {
        use Verb::{Create, List, Patch, Update, Watch};

        let (group, plural) = (self.full_group(resource), resource.plural.as_str());
        let has_example = resource.has_example(controller);
        let watch = Rule::of(&group, plural, &[List, Watch]);
        let mut needed = vec![NeededRules::new(Purpose::Watch, vec![watch])];
        if has_example {
            let rule = Rule::sub(&group, plural, "status", &[Update]);
            needed.push(NeededRules::new(Purpose::Status, vec![rule]));
        }
        if has_example && resource.controllers.len() > 1 {
            let rule = Rule::sub(&group, plural, "status", &[Patch]);
            needed.push(NeededRules::new(Purpose::SharedStatus, vec![rule]));
        }
        if controller.finalizer {
            let rule = Rule::of(&group, plural, &[Patch]);
            needed.push(NeededRules::new(Purpose::Finalizer, vec![rule]));
        }
        for (relation, purpose, verbs) in [
            (Relation::Owned, Purpose::Owned, &Verb::OF_OWNER[..]),
            (Relation::Watched, Purpose::Referred, &[List, Watch]),
        ] {
            let mut rules = Vec::new();
            for kind in related.iter().filter(|kind| kind.relation == relation) {
                let kind_group = self.full_group(&kind.resource);
                rules.push(Rule::of(&kind_group, kind.resource.plural.as_str(), verbs));
            }
            if !rules.is_empty() {
                needed.push(NeededRules::new(purpose, rules));
            }
        }
        if has_example {
            let rule = Rule::of("events.k8s.io", "events", &[Create, Patch]);
            needed.push(NeededRules::new(Purpose::Events, vec![rule]));
        }
        needed
    }
}
