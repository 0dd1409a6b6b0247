//! Compares the verbs in the roles of an operator with the requests in the audit log: the roles grant every verb that
//! the operator uses, and no other verb.

use std::{collections::BTreeSet, env, fmt, time::Duration};

use cluster::wait_until;
use serde_json::{Value, json};

use crate::{
    admission::Balancer,
    faults::soak::{project, site},
    http,
    manifests::{items, kustomize, text},
    operator::{Operator, PATIENCE, cluster, kubectl},
    scaffold::run,
    serving::probe,
};

/// The namespace of the operator.
const SYSTEM: &str = "soak-system";

/// The verbs that the test removes from the roles, each for one operator. `VERBS=all` tries all verbs.
const SOME: [&str; 5] = [
    "patch notes.soak.example.com",
    "update notes/status.soak.example.com",
    "delete configmaps",
    "create events.events.k8s.io",
    "update leases.coordination.k8s.io",
];

/// The time for which the test waits for an operator that may lack the permission to reconcile a change.
const SHORT: Duration = Duration::from_secs(3);

/// A verb for a resource. A subresource follows the resource after a slash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    group: String,
    resource: String,
    verb: String,
}

impl fmt::Display for Right {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(to, "{} {}{dot}{}", self.verb, self.resource, self.group)
    }
}

/// Returns all rules that config/default grants to the operator's `ServiceAccount`.
fn rules() -> Vec<Value> {
    let manifests = kustomize(&project().path().join("config/default"));
    let bindings = manifests.iter().filter(|it| {
        let subjects = it["subjects"].as_array().into_iter().flatten();
        let mut names = subjects.map(|subject| &subject["name"]);
        names.any(|name| name == "soak-controller-manager")
    });
    let roles = bindings.flat_map(|binding| {
        let role = &binding["roleRef"];
        manifests
            .iter()
            .filter(|it| it["kind"] == role["kind"] && it["metadata"]["name"] == role["name"])
    });
    roles
        .flat_map(|role| items(&role["rules"]).to_vec())
        .collect()
}

/// Returns the verbs that rules grant.
fn granted(rules: &[Value]) -> BTreeSet<Right> {
    let mut granted = BTreeSet::new();
    for rule in rules {
        for (group, resource) in items(&rule["apiGroups"])
            .iter()
            .flat_map(|group| items(&rule["resources"]).iter().map(move |it| (group, it)))
        {
            granted.extend(items(&rule["verbs"]).iter().map(|verb| Right {
                group: text(group),
                resource: text(resource),
                verb: text(verb),
            }));
        }
    }
    granted
}

/// Returns the verbs of an operator's requests: either of the forbidden requests, or of all others.
fn asked(operator: &Operator, is_forbidden: bool) -> BTreeSet<Right> {
    let requests = operator.requests(cluster()).into_iter();
    let requests =
        requests.filter(|it| !it.resource.is_empty() && (it.code == 403) == is_forbidden);
    requests
        .map(|it| Right {
            resource: match it.subresource.as_str() {
                "" => it.resource,
                sub => format!("{}/{sub}", it.resource),
            },
            group: it.group,
            verb: it.verb,
        })
        .collect()
}

/// Starts an operator that works in its own namespace and has only the permissions in `rules`.
fn start(name: &str, rules: &[Value], arguments: &str) -> Operator {
    let (metadata, api) = (json!({"name": name}), "rbac.authorization.k8s.io");
    let account = json!({"name": name, "namespace": SYSTEM});
    let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": SYSTEM});
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {"apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules},
        {"apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
            "subjects": [subject], "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name}},
    ]});
    let manifest = project().manifest(&objects.to_string());
    run(kubectl("apply --server-side -f").arg(manifest));
    project().wait_for_roles(cluster(), items(&objects["items"]));
    let launch = project().operator().account(name).args(&format!(
        "--namespace={name} --leader-elect --leader-elect-resource-namespace={name} \
         --storage-migration-delay=1s --webhook-cert-lifetime=5m --webhook-ca-delay=4s \
         --metrics-bind-address=127.0.0.1:0 --webhook-bind-address=127.0.0.1:0"
    ));
    launch.args(arguments).start()
}

/// Creates or changes an object.
fn apply(namespace: &str, name: &str, title: &str) {
    let note = json!({
        "apiVersion": "soak.example.com/v1",
        "kind": "Note",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"title": title},
    });
    run(kubectl("apply -f").arg(project().manifest(&note.to_string())));
}

/// Changes which version is stored.
fn store_another_version() {
    let crd = run(&mut kubectl("get crd notes.soak.example.com -o json"));
    let mut crd: Value = serde_json::from_str(&crd).expect("JSON");
    for version in crd["spec"]["versions"].as_array_mut().expect("versions") {
        version["storage"] = (version["storage"] == false).into();
    }
    let patch = json!({"spec": {"versions": crd["spec"]["versions"]}}).to_string();
    run(kubectl("patch crd notes.soak.example.com --type=merge -p").arg(patch));
}

/// Makes an operator do everything that it can do in its namespace. Returns whether it has reconciled every change
/// within `patience`.
fn exercise(namespace: &str, operator: &Operator, patience: Duration) -> bool {
    // A child with a name that is taken, and a child that is created, changed and deleted.
    run(&mut kubectl(&format!(
        "create configmap taken --namespace={namespace}"
    )));
    let changes = [
        ("taken", "a"),
        ("one", "a"),
        ("one", "b"),
        ("one", "c"),
        ("one", "bare"),
    ];
    let mut is_done = true;
    for (name, title) in changes {
        let seen = || operator.lines(&["reconcile", &format!("\"{name}\"")]).len();
        let before = seen();
        apply(namespace, name, title);
        let done = wait_until("a reconcile", patience, || {
            Ok((seen() > before).then_some(()))
        });
        is_done &= done.is_ok();
    }
    // A client without permission to read the metrics.
    run(&mut kubectl(&format!(
        "create serviceaccount stranger --namespace={namespace}"
    )));
    let token = run(&mut kubectl(&format!(
        "create token stranger --namespace={namespace}"
    )));
    let metrics = format!("https://{}/metrics", operator.address("metrics"));
    let answer = http::get_as(&metrics, token.trim()).expect("an answer");
    assert!(answer.code >= 400, "{answer:?}");
    is_done
}

/// Returns `rules` without one verb.
fn without(rules: &[Value], right: &Right) -> Vec<Value> {
    let mut rules = rules.to_vec();
    for rule in &mut rules {
        let has = |list: &str, name: &str| items(&rule[list]).iter().any(|it| it == name);
        if has("apiGroups", &right.group) && has("resources", &right.resource) {
            let verbs = rule["verbs"].as_array_mut().expect("verbs");
            verbs.retain(|verb| *verb != right.verb);
        }
    }
    // The API server accepts no rule without a verb.
    rules.retain(|rule| !items(&rule["verbs"]).is_empty());
    rules
}

/// A guard that makes the API server convert nothing on drop. Nothing serves the conversion webhook after the test, and
/// the controllers of the shared cluster read all kinds.
struct ConversionReset;

impl Drop for ConversionReset {
    fn drop(&mut self) {
        let patch = r#"{"spec":{"conversion":{"strategy":"None","webhook":null}}}"#;
        let mut kubectl = kubectl("patch crd notes.soak.example.com --type=merge -p");
        let _ = kubectl.arg(patch).output();
    }
}

#[test]
fn the_roles_have_every_verb_in_use_and_no_other() {
    let _reset = ConversionReset;
    let balancer = Balancer::start(&[]);
    site::install(cluster(), project(), &balancer.address, |_| ());
    let rules = rules();
    let granted = granted(&rules);
    let full = start("rights-all", &rules, "--storage-migration=true");
    balancer.add(&full);
    // No other operator runs yet, so this one creates the certificates.
    probe(&full, "/readyz", 200, &["[+] webhooks: served"]);
    full.says(&["\"leads\""]);

    let is_all = env::var("VERBS").is_ok_and(|it| it == "all");
    let removed = granted
        .iter()
        .filter(|right| is_all || SOME.contains(&right.to_string().as_str()));
    let less = removed.enumerate().map(|(number, right)| {
        // Only the operator with all permissions, and operators that lack a verb for CRDs, migrate stored objects.
        let migrates = right.resource.starts_with("customresourcedefinitions");
        let name = format!("rights-less-{number}");
        let flag = format!("--storage-migration={migrates}");
        let operator = start(&name, &without(&rules, right), &flag);
        (name, operator, right)
    });
    let less: Vec<_> = less.collect();
    assert!(is_all || less.len() == SOME.len(), "{granted:?}");

    let is_done = exercise("rights-all", &full, PATIENCE);
    assert!(is_done);
    for (name, operator, right) in &less {
        // An operator that cannot renew its lease ends.
        if right.resource != "leases" {
            exercise(name, operator, SHORT);
        }
    }
    store_another_version();
    let used = wait_until("each verb of the roles to be used", PATIENCE, || {
        let used = asked(&full, false);
        let unused: Vec<_> = granted.difference(&used).map(Right::to_string).collect();
        anyhow::ensure!(unused.is_empty(), "not used: {unused:?}");
        Ok(Some(used))
    });
    let used = used.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(used, granted);
    assert_eq!(asked(&full, true), BTreeSet::new());

    // All operators write the same certificates, and the fastest operator does the work. So operators that have all
    // verbs for certificates end first.
    let (certificates, others): (Vec<_>, Vec<_>) = less
        .into_iter()
        .partition(|(_, _, right)| is_of_certificates(right));
    for (_, operator, right) in others {
        misses(&operator, right, || ());
    }
    full.stop();
    for (_, operator, right) in &certificates {
        misses(operator, right, || {
            let patch = "secret soak-webhook-ca --type=merge --patch={\"data\":null}";
            run(&mut kubectl(&format!("patch --namespace={SYSTEM} {patch}")));
        });
    }
}

/// Checks whether a verb is for the certificates of the webhooks.
fn is_of_certificates(right: &Right) -> bool {
    let groups = ["admissionregistration.k8s.io", "apiextensions.k8s.io"];
    right.resource == "secrets" || groups.contains(&right.group.as_str())
}

/// Waits until the API server forbids a request for which the operator lacks `right`. `provoke` causes such a request.
fn misses(operator: &Operator, right: &Right, provoke: impl Fn()) {
    let forbidden = wait_until(&format!("{right} to be missed"), PATIENCE, || {
        provoke();
        Ok(Some(asked(operator, true)).filter(|it| !it.is_empty()))
    });
    let forbidden = forbidden.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(forbidden, BTreeSet::from([right.clone()]));
}
