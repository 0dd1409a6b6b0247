//! Which namespaces the Go operator watches: what its permissions, its environment and its code say.

use std::collections::{BTreeMap, BTreeSet};

use super::{go_tokens::Token, lost::Lost, manager::POD, operator::Operator, source::list};
use crate::project::{Project, Rule, Target};

/// The variable by which kubebuilder and the Operator SDK limit an operator to namespaces.
const VARIABLE: &str = "WATCH_NAMESPACE";

const ADVICE: &str = "add `--namespace=<NAMESPACE>` to the arguments in `config/manager/manager.yaml` for each namespace";

/// Reports what limits the Go operator to namespaces, and not the new one.
pub(super) fn report(operator: &Operator, project: &Project, lost: &mut Lost) {
    let own = operator.deployed.namespace.as_deref();
    let watched = if project.namespaced {
        "its own namespace"
    } else {
        "all namespaces"
    };
    for (kinds, namespaces) in limited(&operator.rules, project) {
        lost.add(format!(
            "the permissions for `{kinds}`, which the Go operator has only in `{namespaces}`: here, the controllers have \
             a ClusterRole and watch all namespaces; `rscaffold edit --namespaced` limits them to the namespace of the \
             operator, or {ADVICE}, and replace the ClusterRole by Roles"
        ));
    }
    if let Some(deployment) = &operator.deployed.deployment
        && let Some(container) = deployment.container()
        && let mut variables = list(&container["env"])
        && let Some(variable) = variables.find(|variable| variable["name"] == VARIABLE)
    {
        let value = variable["value"].as_str();
        let is_own = variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"
            || value.is_some() && value == own;
        if value != Some("") && !(project.namespaced && is_own) {
            let container = container["name"].as_str().unwrap_or("");
            let path = [&POD[..], &["containers", container, "env", VARIABLE]].concat();
            lost.add(format!(
                "{}: the variable `{VARIABLE}`, which the new operator does not read: here, it watches {watched}; to \
                 watch others, {ADVICE}",
                operator.source.place(&deployment.object, &path),
            ));
        }
    }
    for file in operator.source.go.code() {
        for (at, token) in file.tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            let is_limit = match name.as_str() {
                "DefaultNamespaces" | "MultiNamespacedCacheBuilder" => true,
                // `ctrl.Options{Namespace: …}` before controller-runtime 0.16.
                "Namespace" => {
                    let literal = file.literal_around(at);
                    file.is_sign(at + 1, ':')
                        && literal.is_some_and(|(_, kind)| kind == "Options")
                        && file.mentions("NewManager")
                }
                _ => false,
            };
            if is_limit && !project.namespaced {
                lost.add(format!(
                    "the namespaces that the Go code gives to the cache ({}): here, the operator watches {watched}; to \
                     watch others, {ADVICE}",
                    file.place(at)
                ));
                break;
            }
        }
    }
}

/// The kinds with controllers that the Go operator may use only in some namespaces, by these namespaces.
fn limited(rules: &[Rule], project: &Project) -> BTreeMap<String, String> {
    let mut limited: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (resource, _) in project.controllers().filter(|_| !project.namespaced) {
        let (own, wanted) = (project.full_group(resource), resource.plural.as_str());
        let of_kind = rules.iter().filter(|rule| {
            matches!(&rule.target, Target::Resource { group, plural, subresource: None }
                if [own.as_str(), "*"].contains(&group.as_str()) && [wanted, "*"].contains(&plural.as_str()))
        });
        let namespaces: BTreeSet<_> = of_kind.map(|rule| rule.namespace.as_deref()).collect();
        let known: Option<Vec<_>> = namespaces.into_iter().collect();
        if let Some(known) = known.filter(|known| !known.is_empty()) {
            let kinds = limited.entry(known.join("`, `")).or_default();
            kinds.push(wanted.to_owned());
        }
    }
    let lines = limited.into_iter();
    lines
        .map(|(namespaces, kinds)| (kinds.join("`, `"), namespaces))
        .collect()
}
