//! The permissions of the Go operator, as rules of controllers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::{Map, Value};

use super::{
    deployed::Deployed,
    deployment::Deployment,
    lost::Lost,
    source::{Manifest, Source, list, texts},
};
use crate::{
    names::{ControllerName, GroupVersionKind},
    project::{Controller, Project, Resource, Rule, Target, Verb},
    visible::is_hidden,
};

/// The verbs that `*` stands for on ordinary resources.
const ORDINARY: [Verb; 8] = [
    Verb::Create,
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Update,
    Verb::Watch,
];

/// The roles that each project has, because their permissions are those of the runtime: election of a leader, and checks
/// of who reads the metrics.
const OF_RUNTIME: [&str; 3] = ["leader-election-role", "metrics-auth-role", "proxy-role"];

/// What gives the manager its permissions.
#[derive(Debug)]
pub(super) struct Granted {
    /// The bindings of its `ServiceAccount`.
    bindings: Vec<Manifest>,
    /// The roles that these bind, with those that a bound role aggregates, or else those called `manager-role`.
    roles: Vec<Role>,
    /// Those of the bindings whose role is not among the deployed ones.
    without_role: Vec<Manifest>,
}

/// A role of the manager.
#[derive(Debug)]
struct Role {
    object: Manifest,
    /// The namespace in which it counts; `None` for the whole cluster.
    namespace: Option<String>,
}

impl Granted {
    pub fn new(source: &Source, deployed: &Deployed) -> Self {
        let mut all = deployed.of_kinds(source, &["Role", "ClusterRole"]);
        let bindings = bindings(deployed);
        let mut without_role = bindings.clone();
        without_role.retain(|binding| {
            let name = &binding.value["roleRef"]["name"];
            let binding = std::slice::from_ref(binding);
            let is_of_runtime = OF_RUNTIME.iter().any(|role| name == role);
            !is_of_runtime && all.iter().all(|role| namespaces(role, binding).is_empty())
        });
        all.retain(|role| !OF_RUNTIME.contains(&deployed.usual_name(role)));
        let mut roles = Vec::new();
        for object in &all {
            for namespace in namespaces(object, &bindings) {
                let parts = all.iter().filter(|part| is_aggregated(part, object));
                for object in std::iter::once(object).chain(parts) {
                    roles.push(Role {
                        object: object.clone(),
                        namespace: namespace.clone(),
                    });
                }
            }
        }
        if roles.is_empty() {
            all.retain(|role| deployed.usual_name(role) == "manager-role");
            for object in all {
                let is_in_namespace = object.is_a("Role");
                roles.push(Role {
                    namespace: is_in_namespace.then(|| object.namespace().to_owned()),
                    object,
                });
            }
        }
        for role in &mut roles {
            // A Role without a namespace is in the namespace of the operator.
            if matches!(role.namespace.as_deref(), Some("" | "system")) {
                role.namespace.clone_from(&deployed.namespace);
            }
        }
        Self {
            bindings,
            roles,
            without_role,
        }
    }

    /// Whether `object` is one of the roles or bindings.
    pub fn has(&self, object: &Manifest) -> bool {
        let roles = self.roles.iter().map(|role| &role.object);
        let mut all = roles.chain(&self.bindings);
        all.any(|other| {
            other.kind() == object.kind()
                && other.name() == object.name()
                && other.namespace() == object.namespace()
        })
    }

    /// Whether the manager has all its permissions only in its own namespace.
    pub fn are_of_own_namespace(&self, deployed: &Deployed) -> bool {
        let is_own = |role: &Role| role.namespace.is_some() && role.namespace == deployed.namespace;
        let mut others = self.without_role.iter();
        !self.roles.is_empty()
            && self.roles.iter().all(is_own)
            && others.all(|binding| {
                // The roles of Kubernetes itself are not about what an operator watches.
                let name = binding.text("/roleRef/name").unwrap_or("");
                binding.is_a("RoleBinding") || name.starts_with("system:")
            })
    }

    /// The permissions: each target, with the same limits, once.
    /// Reports what is not taken over.
    pub fn rules(&self, source: &Source, lost: &mut Lost) -> Vec<Rule> {
        let mut rules = Vec::new();
        for binding in &self.without_role {
            let [kind, name] = ["/roleRef/kind", "/roleRef/name"].map(|at| binding.text(at));
            let within = match binding.namespace() {
                _ if binding.is_a("ClusterRoleBinding") => String::new(),
                namespace => format!(" in the namespace `{namespace}`"),
            };
            lost.add(format!(
                "the permissions of the {} `{}` ({}), which the {} `{}` gives to the Go operator{within}: the deployed manifests \
                 do not have this role; write those that the new operator needs as `RULES` of its controllers",
                kind.unwrap_or("role"),
                name.unwrap_or(""),
                source.place(binding, &["roleRef"]),
                binding.kind(),
                binding.name(),
            ));
        }
        let mut lines: Vec<(String, Vec<String>)> = Vec::new();
        for Role { object, namespace } in &self.roles {
            for (number, rule) in list(&object.value["rules"]).enumerate() {
                let mut notes = Vec::new();
                let names: BTreeSet<_> = texts(&rule["resourceNames"]).map(str::to_owned).collect();
                let verbs = verbs(rule, &mut notes);
                for target in targets(rule, &mut notes) {
                    rules.push(Rule {
                        target,
                        names: names.clone(),
                        namespace: namespace.clone(),
                        verbs: verbs.clone(),
                    });
                }
                for (field, what) in notes {
                    let place = source.place(object, &["rules", &number.to_string(), field]);
                    match lines.iter_mut().find(|(line, _)| *line == what) {
                        Some((_, places)) => places.push(place),
                        None => lines.push((what, vec![place])),
                    }
                }
            }
        }
        for (what, places) in lines {
            lost.add(format!("{}: {what}", places.join(", ")));
        }
        joined(rules)
    }
}

/// The rules with each target, with the same limits, once.
fn joined(rules: impl IntoIterator<Item = Rule>) -> Vec<Rule> {
    let mut verbs_of: BTreeMap<Rule, BTreeSet<Verb>> = BTreeMap::new();
    for rule in rules {
        let verbs = BTreeSet::new();
        let without_verbs = Rule { verbs, ..rule };
        verbs_of
            .entry(without_verbs)
            .or_default()
            .extend(rule.verbs);
    }
    let rules = verbs_of.into_iter();
    rules.map(|(rule, verbs)| Rule { verbs, ..rule }).collect()
}

/// The bindings of the `ServiceAccount` of the manager.
fn bindings(deployed: &Deployed) -> Vec<Manifest> {
    let mut bindings = Vec::new();
    for object in &deployed.objects {
        let mut subjects = list(&object.value["subjects"]);
        if matches!(object.kind(), "ClusterRoleBinding" | "RoleBinding")
            && subjects.any(|subject| deployed.has_account(subject))
        {
            bindings.push(object.clone());
        }
    }
    bindings
}

/// The namespaces in which a role is bound; `None` for the whole cluster.
fn namespaces(role: &Manifest, bindings: &[Manifest]) -> BTreeSet<Option<String>> {
    let mut namespaces = BTreeSet::new();
    for binding in bindings {
        let (named, within) = (&binding.value["roleRef"], binding.namespace());
        let is_bound = named["kind"] == role.kind() && named["name"] == role.name();
        let is_role = role.is_a("Role");
        if is_bound && (!is_role || within == role.namespace()) {
            namespaces.insert((is_role || !within.is_empty()).then(|| within.to_owned()));
        }
    }
    if namespaces.contains(&None) {
        namespaces.retain(Option::is_none);
    }
    namespaces
}

/// Whether a cluster adds the rules of a role to those of the `ClusterRole` `whole`, which selects it by labels.
fn is_aggregated(part: &Manifest, whole: &Manifest) -> bool {
    let labels = &part.value["metadata"]["labels"];
    let mut selectors = list(&whole.value["aggregationRule"]["clusterRoleSelectors"]);
    part.is_a("ClusterRole")
        && whole.is_a("ClusterRole")
        && selectors.any(|selector| {
            let wanted = selector["matchLabels"].as_object();
            let has_all = |wanted: &Map<String, Value>| {
                !wanted.is_empty() && wanted.iter().all(|(key, value)| labels[key] == *value)
            };
            selector["matchExpressions"].is_null() && wanted.is_some_and(has_all)
        })
}

/// What is not taken over of a rule: the field, and what it is.
type Notes = Vec<(&'static str, String)>;

/// The verbs of a rule.
fn verbs(rule: &Value, notes: &mut Notes) -> BTreeSet<Verb> {
    let mut verbs = BTreeSet::new();
    for name in texts(&rule["verbs"]) {
        if name == "*" {
            verbs.extend(ORDINARY);
            let names = ORDINARY.map(|verb| verb.to_string()).join(", ");
            let what = format!(
                "the verb `*` became {names}, which are all verbs of most resources; add verbs that other resources \
                 need"
            );
            notes.push(("verbs", what));
        } else if let Ok(verb) = serde_json::from_value(name.into()) {
            verbs.insert(verb);
        } else {
            let what = format!("the verb `{name}`, which `Verb` does not have");
            notes.push(("verbs", what));
        }
    }
    verbs
}

/// The targets of a rule.
fn targets(rule: &Value, notes: &mut Notes) -> Vec<Target> {
    let mut targets = Vec::new();
    for url in shown(rule, "nonResourceURLs", notes) {
        targets.push(Target::Url(url.to_owned()));
    }
    let groups = shown(rule, "apiGroups", notes);
    for resource in shown(rule, "resources", notes) {
        let (plural, subresource) = match resource.split_once('/') {
            Some((plural, subresource)) => (plural, Some(subresource.to_owned())),
            None => (resource, None),
        };
        for group in &groups {
            targets.push(Target::Resource {
                group: (*group).to_owned(),
                plural: plural.to_owned(),
                subresource: subresource.clone(),
            });
        }
    }
    targets
}

/// The names in a field of a rule, without those that have invisible characters.
fn shown<'a>(rule: &'a Value, field: &'static str, notes: &mut Notes) -> Vec<&'a str> {
    let mut shown: Vec<_> = texts(&rule[field]).collect();
    let all = shown.len();
    shown.retain(|name| !name.contains(is_hidden) && name.len() <= 253);
    if shown.len() < all {
        let what = "a resource whose name has invisible characters";
        notes.push((field, what.to_owned()));
    }
    shown
}

/// A controller of the project.
pub(super) type Key = (GroupVersionKind, ControllerName);

/// The rules of each controller, without what its own rules allow. A controller has the rules for its kind, and the
/// first controller has all others. In a namespaced project, all rules without a namespace are for the namespace of the
/// operator. A rule about the account of the Go operator is about the new one.
///
/// # Errors
/// When the project was not validated.
pub(super) fn by_controller(
    rules: &[Rule],
    deployed: &Deployed,
    project: &Project,
) -> Result<BTreeMap<Key, Vec<Rule>>> {
    let own = deployed.namespace.as_deref();
    let account = deployed
        .deployment
        .as_ref()
        .map(Deployment::service_account);
    let mut of_kinds = BTreeMap::new();
    let mut controllers = Vec::new();
    for (resource, controller) in project.controllers() {
        let key = (resource.id(), controller.name.clone());
        let kind = (project.full_group(resource), resource.plural.to_string());
        controllers.push((resource.has_api(), key.clone()));
        of_kinds.entry(kind).or_insert(key);
    }
    // The first controller of a kind that the project defines, or else the first one.
    let of_own_kind = controllers.iter().find(|(has_api, _)| *has_api);
    let first = of_own_kind.or(controllers.first()).map(|(_, key)| key);
    let mut of_controllers: BTreeMap<Key, Vec<Rule>> = BTreeMap::new();
    let rules = rules.iter().cloned().map(|mut rule| {
        let is_of_accounts = matches!(&rule.target, Target::Resource { group, plural, .. }
            if group.is_empty() && plural == "serviceaccounts");
        if is_of_accounts
            && let Some(account) = account
            && rule.names.remove(account)
        {
            rule.names.insert(project.deployment_name());
        }
        rule.namespace =
            (rule.namespace).filter(|within| !project.namespaced || own != Some(within));
        rule
    });
    for rule in joined(rules) {
        let of_kind = match &rule.target {
            Target::Resource { group, plural, .. } => {
                of_kinds.get(&(group.clone(), plural.clone()))
            }
            Target::Url(_) => None,
        };
        if let Some(key) = of_kind.or(first) {
            let rules = of_controllers.entry(key.clone()).or_default();
            rules.push(rule);
        }
    }
    for (resource, controller) in project.controllers() {
        let key = (resource.id(), controller.name.clone());
        if let Some(rules) = of_controllers.get_mut(&key) {
            leave_out_needed(rules, project, resource, controller)?;
        }
    }
    Ok(of_controllers)
}

/// Removes the verbs that the controller has anyway.
fn leave_out_needed(
    rules: &mut Vec<Rule>,
    project: &Project,
    resource: &Resource,
    controller: &Controller,
) -> Result<()> {
    let related = project.related(resource, controller)?;
    for needed in project.rules(resource, controller, &related) {
        for own in needed.rules {
            for rule in rules.iter_mut() {
                let has_no_limit = rule.names.is_empty() && rule.namespace.is_none();
                if has_no_limit && rule.target == own.target {
                    rule.verbs.retain(|verb| !own.verbs.contains(verb));
                }
            }
        }
    }
    rules.retain(|rule| !rule.verbs.is_empty());
    Ok(())
}
