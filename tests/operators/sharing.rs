//! Controllers of one operator on a real API server: what they share, and what each has for itself.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    operator::{Operator, Project, cluster, get_until, kubectl},
    scaffold::run,
    serving,
};

/// The shortest time after which a watch ends and the next one begins.
const WATCH: Duration = Duration::from_secs(30);

/// Two kinds that own and refer to the same kinds.
fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| {
        let create = |kind: &str| {
            format!(
                "create api --group sharing --version v1 --kind {kind} \
                 --owns v1/ConfigMap --watches v1/ConfigMap --watches v1/Secret"
            )
        };
        let project = Project::scaffold_shared(
            "sharing",
            &["init --domain example.com", &create("Left"), &create("Right")],
        );
        project.compile();
        project.make("install");
        project.grant();
        project
    });
    &PROJECT
}

fn kubectl_runs(arguments: &str) {
    run(&mut kubectl(arguments));
}

/// Creates an object of `kind`, whose name is the kind's.
fn create(kind: &str, namespace: &str) {
    let name = kind.to_lowercase();
    let manifest = project().manifest(&format!(
        "apiVersion: sharing.example.com/v1\nkind: {kind}\n\
         metadata: {{name: {name}, namespace: {namespace}}}\nspec: {{title: one}}\n"
    ));
    run(kubectl("create -f").arg(manifest));
}

/// The lists and watches of `resource` that the operator has asked for: their verbs and selectors.
fn reads(operator: &Operator, resource: &str) -> Vec<(String, bool)> {
    let requests = cluster().requests().expect("an audit log");
    let own = requests.into_iter().filter(|request| {
        request.user == operator.user()
            && request.resource == resource
            && ["list", "watch"].contains(&request.verb.as_str())
    });
    own.map(|request| (request.verb, request.uri.contains("labelSelector=")))
        .collect()
}

/// Waits until the object has been reconciled once more after `change`.
fn reconciled_after(operator: &Operator, object: &str, change: impl FnOnce()) {
    let parts = ["\"reconciled\"", &format!("\"name\":\"{object}\"")];
    let before = operator.lines(&parts).len();
    change();
    operator.repeats(&parts, before + 1);
}

#[test]
fn controllers_share_a_watch_and_each_hears_of_it() {
    kubectl_runs("create namespace sharing");
    let project = project();
    let start = Instant::now();
    let operator = project.operator().args("--namespace sharing").start();
    for kind in ["Left", "Right"] {
        create(kind, "sharing");
        let name = kind.to_lowercase();
        let child = format!("configmap {name} --namespace sharing --ignore-not-found -o name");
        get_until(&child, |child| !child.is_empty());
        // What it owns, and what it refers to by its name.
        reconciled_after(&operator, &name, || {
            kubectl_runs(&format!("delete configmap {name} --namespace sharing"));
        });
        get_until(&child, |child| !child.is_empty());
        reconciled_after(&operator, &name, || {
            kubectl_runs(&format!("create secret generic {name} --namespace sharing"));
        });
        reconciled_after(&operator, &name, || {
            kubectl_runs(&format!("delete secret {name} --namespace sharing"));
        });
    }

    let checks = [
        "[+] left.sharing.example.com on secrets in sharing: in sync\n",
        "[+] right.sharing.example.com on secrets in sharing: in sync\n",
        // These are two watches.
        "[+] left.sharing.example.com on configmaps in sharing: in sync\n",
        "[+] left.sharing.example.com on configmaps with labels \
         app.kubernetes.io/managed-by=sharing in sharing: in sync\n",
    ];
    serving::probe(&operator, "/readyz", 200, &checks);
    let rounds = usize::try_from(start.elapsed().as_secs() / WATCH.as_secs()).expect("few") + 1;
    for (resource, selects) in [("secrets", false), ("configmaps", false), ("configmaps", true)] {
        let reads = reads(&operator, resource);
        let count = |verb: &str| {
            let same = |read: &&(String, bool)| (read.0.as_str(), read.1) == (verb, selects);
            reads.iter().filter(same).count()
        };
        assert_eq!(count("list"), 1, "{resource} {reads:?}");
        assert!((1..=rounds).contains(&count("watch")), "{resource} {reads:?}");
    }
    operator.stop();
}

#[test]
fn nothing_is_reconciled_before_each_watch_has_begun() {
    let project = project();
    kubectl_runs("create namespace blind");
    kubectl_runs("create serviceaccount blind --namespace sharing-system");
    let role = run(&mut kubectl("get clusterrole sharing-manager-role -o json"));
    let mut role: Value = serde_json::from_str(&role).expect("JSON");
    role["metadata"] = json!({"name": "blind"});
    for rule in role["rules"].as_array_mut().expect("rules") {
        let resources = rule["resources"].as_array_mut().expect("resources");
        // It may be in one rule with other resources.
        resources.retain(|resource| resource != "configmaps");
    }
    let rules = role["rules"].as_array_mut().expect("rules");
    rules.retain(|rule| rule["resources"] != json!([]));
    let verbs = ["create", "delete", "get", "list", "patch"];
    rules.push(json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}));
    let manifest = project.manifest(&role.to_string());
    run(kubectl("create -f").arg(manifest));
    kubectl_runs(
        "create clusterrolebinding blind --clusterrole=blind --serviceaccount=sharing-system:blind",
    );
    create("Left", "blind");

    let launch = project.operator().account("blind");
    let operator = launch.args("--namespace blind").start();
    let rule = "Rule::of::<ConfigMap>(&[Verb::Watch])";
    let checks = [
        "[-] left.sharing.example.com on configmaps in blind: ",
        "[-] left.sharing.example.com on configmaps with labels ",
        "[+] left.sharing.example.com on lefts.sharing.example.com in blind: in sync\n",
        rule,
        "not ready\n",
    ];
    serving::probe(&operator, "/readyz", 503, &checks);
    // Both have been tried by now, and more than once.
    operator.repeats(&["cannot watch", "configmaps"], 6);
    assert_eq!(operator.lines(&["\"reconciled\""]), [""; 0]);
    kubectl_runs("create clusterrole sees --verb=watch --resource=configmaps");
    kubectl_runs(
        "create clusterrolebinding sees --clusterrole=sees --serviceaccount=sharing-system:blind",
    );
    operator.says(&["\"reconciled\"", "\"left\""]);
    serving::probe(&operator, "/readyz", 200, &["\nready\n"]);
}
