//! The permissions of the Go operator, as rules of controllers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;

use super::{
    config::Deployed,
    lost::Lost,
    source::{Object, Source, list, texts},
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

/// A controller of the project.
pub(super) type Key = (GroupVersionKind, ControllerName);

/// The permissions of the manager: each target, with the same limits, once. A Role without a namespace is in the namespace
/// of the operator.
pub(super) fn of_manager(source: &Source, deployed: &Deployed, lost: &mut Lost) -> Vec<Rule> {
    let namespace = deployed.namespace.as_deref();
    let mut verbs_of: BTreeMap<_, BTreeSet<Verb>> = BTreeMap::new();
    let mut notes = BTreeSet::new();
    for (role, within) in roles(source, deployed) {
        let limit = match within {
            Some(within) if within.is_empty() || within == "system" => namespace.map(str::to_owned),
            within => within,
        };
        for rule in list(role.value.get("rules")) {
            let names: BTreeSet<_> = texts(rule.get("resourceNames")).into_iter().collect();
            let verbs = verbs(rule, role.file(), &mut notes);
            for target in targets(rule, role.file(), &mut notes) {
                let key = (target, names.clone(), limit.clone());
                verbs_of.entry(key).or_default().extend(&verbs);
            }
        }
    }
    for note in notes {
        lost.add(note);
    }
    let mut rules = Vec::new();
    for ((target, names, namespace), verbs) in verbs_of {
        rules.push(Rule {
            target,
            names,
            namespace,
            verbs,
        });
    }
    rules
}

/// The roles that each project has, because their permissions are those of the runtime: election of a leader, and checks
/// of who reads the metrics.
const OF_RUNTIME: [&str; 3] = ["leader-election-role", "metrics-auth-role", "proxy-role"];

/// The roles of the manager, each with the namespace in which it counts: those that are bound to its `ServiceAccount`, or
/// else those in `role.yaml`, or else those whose names end in `manager-role`.
pub(super) fn roles(source: &Source, deployed: &Deployed) -> Vec<(Object, Option<String>)> {
    let mut all = deployed.of_kinds(source, &["Role", "ClusterRole"]);
    all.retain(|role| !OF_RUNTIME.iter().any(|name| role.name().ends_with(name)));
    let bound = bound(deployed);
    let mut roles = Vec::new();
    for role in &all {
        for within in namespaces(role, &bound) {
            roles.push((role.clone(), within));
        }
    }
    if !roles.is_empty() {
        return roles;
    }
    if all.iter().any(is_in_main_file) {
        all.retain(is_in_main_file);
    } else {
        all.retain(|role| role.name().ends_with("manager-role"));
    }
    for role in all {
        let own = role.text("metadata.namespace").unwrap_or("").to_owned();
        let within = role.is_a("Role").then_some(own);
        roles.push((role, within));
    }
    roles
}

/// A role that is bound to the `ServiceAccount` of the manager.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bound {
    pub kind: String,
    pub name: String,
    /// The namespace of the binding; empty for the whole cluster.
    pub within: String,
    pub binding: String,
}

/// The roles that are bound to the `ServiceAccount` of the manager.
pub(super) fn bound(deployed: &Deployed) -> BTreeSet<Bound> {
    let mut bound = BTreeSet::new();
    let Some(deployment) = &deployed.deployment else {
        return bound;
    };
    let namespace = deployed.namespace.as_deref().unwrap_or("");
    for binding in &deployed.objects {
        if !binding.is_a("ClusterRoleBinding") && !binding.is_a("RoleBinding") {
            continue;
        }
        let mut subjects = list(binding.value.get("subjects"));
        let is_bound = subjects.any(|subject| {
            let within = subject["namespace"].as_str().unwrap_or(namespace);
            subject["kind"] == "ServiceAccount"
                && subject["name"] == *deployment.service_account
                && (within == namespace || within == "system")
        });
        let role = &binding.value["roleRef"];
        if is_bound && let (Some(kind), Some(name)) = (role["kind"].as_str(), role["name"].as_str())
        {
            bound.insert(Bound {
                kind: kind.to_owned(),
                name: name.to_owned(),
                within: binding.text("metadata.namespace").unwrap_or("").to_owned(),
                binding: binding.name().to_owned(),
            });
        }
    }
    bound
}

/// The namespaces in which a role is bound; `None` for the whole cluster.
fn namespaces(role: &Object, bound: &BTreeSet<Bound>) -> BTreeSet<Option<String>> {
    let own = role.text("metadata.namespace").unwrap_or("");
    let mut namespaces = BTreeSet::new();
    for Bound {
        kind, name, within, ..
    } in bound
    {
        let is_bound = role.is_a(kind) && role.name() == name;
        if !is_bound || kind == "Role" && within != own {
            continue;
        }
        let is_limited = kind == "Role" || !within.is_empty();
        namespaces.insert(is_limited.then(|| within.clone()));
    }
    if namespaces.contains(&None) {
        namespaces.retain(Option::is_none);
    }
    namespaces
}

fn is_in_main_file(role: &Object) -> bool {
    role.file().ends_with("/role.yaml") || role.file().ends_with("/role.yml")
}

/// The verbs of a rule in `file`.
fn verbs(rule: &Value, file: &str, notes: &mut BTreeSet<String>) -> BTreeSet<Verb> {
    let mut verbs = BTreeSet::new();
    for name in texts(rule.get("verbs")) {
        if name == "*" {
            verbs.extend(ORDINARY);
            let names = ORDINARY.map(|verb| verb.to_string()).join(", ");
            notes.insert(format!(
                "`{file}`: the verb `*` became {names}, which are all verbs of most resources; add verbs that other \
                 resources need"
            ));
        } else if let Some(verb) = Verb::ALL.iter().find(|verb| verb.to_string() == name) {
            verbs.insert(*verb);
        } else {
            notes.insert(format!(
                "`{file}`: the verb `{name}`, which `Verb` does not have"
            ));
        }
    }
    verbs
}

/// The targets of a rule in `file`.
fn targets(rule: &Value, file: &str, notes: &mut BTreeSet<String>) -> Vec<Target> {
    let mut targets = Vec::new();
    for url in texts(rule.get("nonResourceURLs")) {
        if is_shown(&url) {
            targets.push(Target::Url(url));
        } else {
            notes.insert(hidden(file));
        }
    }
    for group in texts(rule.get("apiGroups")) {
        for resource in texts(rule.get("resources")) {
            if !is_shown(&group) || !is_shown(&resource) {
                notes.insert(hidden(file));
                continue;
            }
            let (plural, subresource) = match resource.split_once('/') {
                Some((plural, subresource)) => (plural, Some(subresource.to_owned())),
                None => (resource.as_str(), None),
            };
            targets.push(Target::Resource {
                group: group.clone(),
                plural: plural.to_owned(),
                subresource,
            });
        }
    }
    targets
}

fn is_shown(name: &str) -> bool {
    !name.contains(is_hidden) && name.len() <= 253
}

fn hidden(file: &str) -> String {
    format!("`{file}`: a resource whose name has invisible characters")
}

/// The rules of each controller, without what its own rules allow. A controller has the rules for its kind, and the
/// first controller has all others.
///
/// # Errors
/// When the project was not validated.
pub(super) fn by_controller(rules: &[Rule], project: &Project) -> Result<BTreeMap<Key, Vec<Rule>>> {
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
    for rule in rules {
        let of_kind = match &rule.target {
            Target::Resource { group, plural, .. } => {
                of_kinds.get(&(group.clone(), plural.clone()))
            }
            Target::Url(_) => None,
        };
        if let Some(key) = of_kind.or(first) {
            let rules = of_controllers.entry(key.clone()).or_default();
            rules.push(rule.clone());
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
