//! RBAC rules as values next to the code that needs them. A misspelled resource does not compile, and `make manifests`
//! writes the rules to config/rbac/role.yaml.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Resource;

/// The verbs of RBAC. `role.yaml` lists verbs in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verb {
    /// Binds a role whose permissions the operator does not have.
    Bind,
    /// Creates an object. A server-side apply of a new object needs it, too.
    Create,
    /// Deletes an object.
    Delete,
    /// Deletes all objects that a selector matches.
    DeleteCollection,
    /// Gives a role permissions that the operator does not have.
    Escalate,
    /// Reads one object.
    Get,
    /// Acts as a user, group or ServiceAccount.
    Impersonate,
    /// Reads all objects.
    List,
    /// Changes parts of an object. A server-side apply needs it.
    Patch,
    /// Replaces an object.
    Update,
    /// Uses an object, such as a PodSecurityPolicy of a distribution.
    Use,
    /// Follows all changes.
    Watch,
}

impl Verb {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Verbs on a resource, on one of its subresources, or on a URL.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    target: Target,
    subresource: Option<&'static str>,
    names: &'static [&'static str],
    namespace: Option<&'static str>,
    verbs: &'static [Verb],
}

/// The target of a rule.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A kind, by its type.
    Kind {
        group: fn(&()) -> Cow<'_, str>,
        plural: fn(&()) -> Cow<'_, str>,
        kind: fn(&()) -> Cow<'_, str>,
    },
    /// A kind without a type.
    Resource {
        group: &'static str,
        plural: &'static str,
    },
    /// A path of the API server that is not a resource.
    Url(&'static str),
}

impl Rule {
    /// Allows `verbs` on objects of kind `K`.
    pub const fn of<K: Resource<DynamicType = ()>>(verbs: &'static [Verb]) -> Self {
        Self::on(Self::kind::<K>(), verbs)
    }

    /// Allows `verbs` on a subresource of kind `K`, such as `status`, `scale` or `finalizers`.
    pub const fn sub<K: Resource<DynamicType = ()>>(
        subresource: &'static str,
        verbs: &'static [Verb],
    ) -> Self {
        Self {
            subresource: Some(subresource),
            ..Self::on(Self::kind::<K>(), verbs)
        }
    }

    /// Allows `verbs` on a resource without a Rust type. `group` is empty for the core group. `plural` is the plural,
    /// such as `certificates`, and may have a subresource after a slash: `certificates/status`.
    pub const fn resource(
        group: &'static str,
        plural: &'static str,
        verbs: &'static [Verb],
    ) -> Self {
        Self::on(Target::Resource { group, plural }, verbs)
    }

    /// Allows `verbs` on a path of the API server that is not a resource, such as `/metrics` or `/logs/*`. Only a
    /// ClusterRole can have such a rule.
    pub const fn url(path: &'static str, verbs: &'static [Verb]) -> Self {
        Self::on(Target::Url(path), verbs)
    }

    /// Limits the rule to objects with these names. Such a rule cannot allow the verb `create`, because the API server
    /// does not know the name of an object that is created. Lists and watches are allowed only with the field selector
    /// `metadata.name`.
    ///
    /// # Panics
    ///
    /// When `names` is empty, which would allow all objects. In a constant such as `RULES`, this is a compile error.
    #[must_use]
    pub const fn named(self, names: &'static [&'static str]) -> Self {
        assert!(!names.is_empty(), "a rule without names allows all objects");
        Self { names, ..self }
    }

    /// Limits the rule to objects in `namespace`, such as `kube-system`. `make manifests` writes a Role and a
    /// RoleBinding for that namespace, which must exist when the operator is deployed. Without this limit, the rule
    /// holds in all namespaces, or in the namespace of a namespaced operator.
    ///
    /// # Panics
    ///
    /// When the rule is about a URL, because a URL is in no namespace. In a constant such as `RULES`, this is a compile
    /// error.
    #[must_use]
    pub const fn in_namespace(self, namespace: &'static str) -> Self {
        assert!(!self.is_cluster_wide(), "a URL is in no namespace");
        Self {
            namespace: Some(namespace),
            ..self
        }
    }

    const fn on(target: Target, verbs: &'static [Verb]) -> Self {
        Self {
            target,
            subresource: None,
            names: &[],
            namespace: None,
            verbs,
        }
    }

    const fn kind<K: Resource<DynamicType = ()>>() -> Target {
        Target::Kind {
            group: K::group,
            plural: K::plural,
            kind: K::kind,
        }
    }

    /// The kind with this group and plural, if this rule is about it.
    pub(super) fn kind_of(&self, in_group: &str, of_plural: &str) -> Option<Cow<'static, str>> {
        let Target::Kind {
            group,
            plural,
            kind,
        } = self.target
        else {
            return None;
        };
        (group(&()) == in_group && plural(&()) == of_plural).then(|| kind(&()))
    }

    const fn is_cluster_wide(&self) -> bool {
        matches!(self.target, Target::Url(_))
    }
}

/// The permissions that a rule grants.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    subject: Subject,
    /// The resource, or the path.
    resource: String,
    namespace: Option<&'static str>,
    verbs: &'static [Verb],
}

/// What a grant is about, besides its resource. Grants with the same subject and verbs can share a policy rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Resources {
        group: String,
        /// Empty for all objects.
        names: BTreeSet<String>,
    },
    Urls,
}

impl Grant {
    /// Allows `verbs` on a resource: its group, and its plural, with the subresource if there is one.
    pub fn new(group: &str, resource: &str, verbs: &'static [Verb]) -> Self {
        Self {
            subject: Subject::Resources {
                group: group.to_owned(),
                names: BTreeSet::new(),
            },
            resource: resource.to_owned(),
            namespace: None,
            verbs,
        }
    }

    /// Limits the permissions to objects with these names.
    pub fn named(mut self, wanted: impl IntoIterator<Item = String>) -> Self {
        if let Subject::Resources { names, .. } = &mut self.subject {
            names.extend(wanted);
        }
        self
    }

    /// Whether only a ClusterRole can have this permission.
    pub fn is_cluster_wide(&self) -> bool {
        self.subject == Subject::Urls
    }
}

impl From<&Rule> for Grant {
    fn from(rule: &Rule) -> Self {
        let (group, plural) = match rule.target {
            Target::Url(path) => {
                return Self {
                    subject: Subject::Urls,
                    ..Self::new("", path, rule.verbs)
                };
            }
            Target::Kind { group, plural, .. } => (group(&()), plural(&())),
            Target::Resource { group, plural } => (group.into(), plural.into()),
        };
        let resource = match rule.subresource {
            Some(subresource) => format!("{plural}/{subresource}"),
            None => plural.into_owned(),
        };
        let mut grant = Self::new(&group, &resource, rule.verbs);
        grant.namespace = rule.namespace;
        grant.named(rule.names.iter().map(|name| (*name).to_owned()))
    }
}

/// The policy rules by the namespace to which the `grants` are limited. `None` has the rules without such a limit.
pub(super) fn by_namespace(
    grants: impl IntoIterator<Item = Grant>,
) -> BTreeMap<Option<&'static str>, Vec<PolicyRule>> {
    let mut by_namespace = BTreeMap::from([(None, Vec::new())]);
    for grant in grants {
        let same: &mut Vec<_> = by_namespace.entry(grant.namespace).or_default();
        same.push(grant);
    }
    let merged = by_namespace.into_iter();
    merged
        .map(|(namespace, grants)| (namespace, merge(grants)))
        .collect()
}

/// The fewest policy rules with the permissions of `grants`: one rule for each set of verbs, API group and set of
/// names.
fn merge(grants: impl IntoIterator<Item = Grant>) -> Vec<PolicyRule> {
    let mut verbs_of = BTreeMap::<_, BTreeSet<Verb>>::new();
    for grant in grants {
        let verbs = verbs_of.entry((grant.subject, grant.resource)).or_default();
        verbs.extend(grant.verbs);
    }
    let mut with = BTreeMap::<_, Vec<String>>::new();
    for ((subject, resource), verbs) in verbs_of {
        with.entry((subject, verbs)).or_default().push(resource);
    }
    let mut rules = Vec::new();
    for ((subject, verbs), resources) in with {
        let mut rule = PolicyRule {
            verbs: verbs.into_iter().map(Verb::name).collect(),
            ..PolicyRule::default()
        };
        match subject {
            Subject::Urls => rule.non_resource_urls = Some(resources),
            Subject::Resources { group, names } => {
                rule.api_groups = Some(vec![group]);
                rule.resources = Some(resources);
                if !names.is_empty() {
                    rule.resource_names = Some(names.into_iter().collect());
                }
            }
        }
        rules.push(rule);
    }
    rules.sort_by(|a, b| (&a.api_groups, &a.resources).cmp(&(&b.api_groups, &b.resources)));
    rules
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
        let merged: Vec<_> = merge(rules.iter().map(Grant::from))
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

    #[test]
    fn a_namespace_has_rules_of_its_own() {
        let rules = [
            Rule::of::<ConfigMap>(&[Verb::Get]).in_namespace("kube-system"),
            Rule::of::<ConfigMap>(&[Verb::List]).in_namespace("kube-system"),
            Rule::of::<ConfigMap>(&[Verb::Get]).in_namespace("shop"),
        ];
        let verbs =
            by_namespace(rules.iter().map(Grant::from))
                .into_iter()
                .map(|(namespace, rules)| {
                    let verbs = rules.into_iter().flat_map(|rule| rule.verbs);
                    (namespace, verbs.collect::<Vec<_>>().join(" "))
                });
        let expected = [
            (None, ""),
            (Some("kube-system"), "get list"),
            (Some("shop"), "get"),
        ];
        assert_eq!(
            verbs.collect::<Vec<_>>(),
            expected.map(|(namespace, verbs)| (namespace, verbs.to_owned()))
        );
    }

    /// The watch of an object by its name needs no permission for other objects.
    #[test]
    fn names_in_a_namespace_are_all_that_the_role_of_this_namespace_allows() {
        let rule = Rule::of::<Secret>(&[Verb::List, Verb::Watch])
            .named(&["smtp", "license"])
            .in_namespace("shop");
        let roles = serde_json::to_value(by_namespace([Grant::from(&rule)])[&Some("shop")].clone());
        let expected = serde_json::json!([{
            "apiGroups": [""], "resourceNames": ["license", "smtp"], "resources": ["secrets"],
            "verbs": ["list", "watch"],
        }]);
        assert_eq!(roles.expect("JSON"), expected);
        assert!(by_namespace([Grant::from(&rule)])[&None].is_empty());
    }

    #[test]
    #[should_panic(expected = "a URL is in no namespace")]
    fn a_url_is_in_no_namespace() {
        let _ = Rule::url("/metrics", &[Verb::Get]).in_namespace("shop");
    }

    #[test]
    fn names_and_urls_have_rules_of_their_own() {
        let rules = [
            Rule::of::<Secret>(&[Verb::Get]).named(&["b", "a"]),
            Rule::of::<ConfigMap>(&[Verb::Get]),
            Rule::resource("cert-manager.io", "certificates/status", &[Verb::Patch]),
            Rule::resource("", "users", &[Verb::Impersonate]),
            Rule::url("/metrics", &[Verb::Get]),
            Rule::url("/logs/*", &[Verb::Get]),
        ];
        let merged = serde_json::to_value(merge(rules.iter().map(Grant::from))).expect("JSON");
        let expected = serde_json::json!([
            {"nonResourceURLs": ["/logs/*", "/metrics"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
            {"apiGroups": [""], "resourceNames": ["a", "b"], "resources": ["secrets"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
            {"apiGroups": ["cert-manager.io"], "resources": ["certificates/status"], "verbs": ["patch"]},
        ]);
        assert_eq!(merged, expected);
    }
}
