//! RBAC rules as values beside the code that needs them. A misspelt resource does not compile, and
//! `make manifests` writes the rules to config/rbac/role.yaml.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Resource;

/// What may be done with a resource. `role.yaml` lists verbs in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Creates an object; a server-side apply of a new object needs it, too.
    Create,
    /// Deletes an object.
    Delete,
    /// Deletes all objects that a selector matches.
    DeleteCollection,
    /// Reads one object.
    Get,
    /// Reads all objects.
    List,
    /// Changes parts of an object; a server-side apply needs it.
    Patch,
    /// Replaces an object.
    Update,
    /// Follows all changes.
    Watch,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

/// Verbs on a resource, or on one of its subresources.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    group: fn(&()) -> Cow<'_, str>,
    plural: fn(&()) -> Cow<'_, str>,
    kind: fn(&()) -> Cow<'_, str>,
    subresource: Option<&'static str>,
    verbs: &'static [Verb],
}

impl Rule {
    /// Allows `verbs` on objects of kind `K`.
    pub const fn of<K: Resource<DynamicType = ()>>(verbs: &'static [Verb]) -> Self {
        Self {
            group: K::group,
            plural: K::plural,
            kind: K::kind,
            subresource: None,
            verbs,
        }
    }

    /// Allows `verbs` on a subresource of kind `K`, such as `status`, `scale` or `finalizers`.
    pub const fn sub<K: Resource<DynamicType = ()>>(
        subresource: &'static str,
        verbs: &'static [Verb],
    ) -> Self {
        Self {
            group: K::group,
            plural: K::plural,
            kind: K::kind,
            subresource: Some(subresource),
            verbs,
        }
    }

    /// The kind behind a plural, if this rule is about it.
    pub(super) fn kind_of(&self, group: &str, plural: &str) -> Option<Cow<'static, str>> {
        let same = (self.group)(&()) == group && (self.plural)(&()) == plural;
        same.then(|| (self.kind)(&()))
    }
}

/// The fewest policy rules with the rights of `rules`: one for each set of verbs in an API group.
pub(super) fn merge<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Vec<PolicyRule> {
    let mut verbs_of = BTreeMap::<(String, String), BTreeSet<Verb>>::new();
    for rule in rules {
        let plural = (rule.plural)(&());
        let resource = match rule.subresource {
            Some(subresource) => format!("{plural}/{subresource}"),
            None => plural.into_owned(),
        };
        verbs_of
            .entry(((rule.group)(&()).into_owned(), resource))
            .or_default()
            .extend(rule.verbs);
    }

    let mut resources_with = BTreeMap::<(String, BTreeSet<Verb>), Vec<String>>::new();
    for ((group, resource), verbs) in verbs_of {
        resources_with
            .entry((group, verbs))
            .or_default()
            .push(resource);
    }

    let mut merged: Vec<_> = resources_with
        .into_iter()
        .map(|((group, verbs), resources)| PolicyRule {
            api_groups: Some(vec![group]),
            resources: Some(resources),
            verbs: verbs
                .into_iter()
                .map(|verb| verb.name().to_owned())
                .collect(),
            ..PolicyRule::default()
        })
        .collect();
    merged.sort_by(|a, b| (&a.api_groups, &a.resources).cmp(&(&b.api_groups, &b.resources)));
    merged
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};

    use super::*;

    #[test]
    fn resources_with_the_same_verbs_share_a_rule() {
        let rules = [
            Rule::of::<Secret>(&[Verb::Watch, Verb::List]),
            Rule::of::<ConfigMap>(&[Verb::List]),
            Rule::of::<ConfigMap>(&[Verb::Watch]),
            Rule::sub::<Pod>("status", &[Verb::Patch]),
            Rule::of::<Node>(&[Verb::Get]),
        ];
        let merged: Vec<_> = merge(&rules)
            .into_iter()
            .map(|rule| {
                (
                    rule.resources.unwrap_or_default().join(" "),
                    rule.verbs.join(" "),
                )
            })
            .collect();
        let expected = [
            ("configmaps secrets", "list watch"),
            ("nodes", "get"),
            ("pods/status", "patch"),
        ]
        .map(|(resources, verbs)| (resources.to_owned(), verbs.to_owned()));
        assert_eq!(merged, expected);
    }
}
