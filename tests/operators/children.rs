//! What an object owns, on a real API server: made, left alone while nothing differs, corrected,
//! removed, and never taken from somebody else.

use std::collections::BTreeSet;

use cluster::{Request, wait_until};
use serde_json::{Value, json};

use crate::{
    operator::{Operator, PATIENCE, Project, cluster, get_until, kubectl},
    scaffold::run,
};

/// A kind that owns a Deployment, and a `ConfigMap` unless its title is `bare`.
fn project() -> Project {
    let project = Project::scaffold(
        "owning",
        &[
            "init --domain example.com",
            "create api --group owning --version v1 --kind Site --owns v1/ConfigMap --owns apps/v1/Deployment \
             --owns batch/v1/Job",
        ],
    );
    let controller = "src/controller/owning/site.rs";
    for child in ["config_map", "job"] {
        project.edit(
            controller,
            &format!("[{child}(object)]"),
            &format!("Some({child}(object)).filter(|_| object.spec.title != \"bare\")"),
        );
    }
    let text = project.read(controller);
    let start = text.find("    ConfigMap {\n").expect("the ConfigMap");
    let end = start
        + text[start..]
            .find("        ..ConfigMap::default()")
            .expect("its end");
    let (before, after) = (&text[..start], &text[end..]);
    let data = "    let mut data = std::collections::BTreeMap::new();\n    \
                data.insert(\"title\".to_owned(), object.spec.title.clone());\n    \
                if object.spec.title.starts_with(\"more\") {\n        \
                data.insert(\"more\".to_owned(), \"yes\".to_owned());\n    }\n";
    let body = format!("{}        data: Some(data),\n", &text[start..end]);
    std::fs::write(
        project.path().join(controller),
        format!("{before}{data}{body}{after}"),
    )
    .expect("a writable file");
    project.compile();
    project.make("install");
    project
}

/// Makes the Site of this name, or changes its title.
fn apply(project: &Project, name: &str, title: &str) {
    let manifest = project.manifest(&format!(
        "apiVersion: owning.example.com/v1\nkind: Site\nmetadata: {{name: {name}}}\nspec: {{title: {title}}}\n"
    ));
    run(kubectl("apply -f").arg(manifest));
}

/// What the operator has written so far, but for its lease and the events.
fn writes(operator: &Operator) -> Vec<Request> {
    let mut requests = operator.requests(cluster());
    requests.retain(|request| {
        !["get", "list", "watch"].contains(&request.verb.as_str())
            && !["leases", "events"].contains(&request.resource.as_str())
    });
    requests
}

fn patch(object: &str, patch: &str) {
    run(kubectl(&format!("patch {object} --type=merge -p")).arg(patch));
}

#[test]
fn owned_objects_reach_their_desired_state() {
    let project = project();
    let operator = project.start();
    let title = "configmap one -o jsonpath={.data.title}";

    // Made, with their owner.
    apply(&project, "one", "first");
    becomes_ready_with_its_pods("one");
    assert_eq!(get_until(title, |title| !title.is_empty()), "first");
    for kind in ["configmap", "deployment"] {
        let owner = run(&mut kubectl(&format!(
            "get {kind} one -o jsonpath={{.metadata.ownerReferences[*].kind}}/{{.metadata.ownerReferences[*].name}}"
        )));
        assert_eq!(owner, "Site/one");
    }

    // Where nothing differs nothing is sent. That a change was looked at, the log tells.
    in_step("one");
    let before = writes(&operator);
    let looked_at = operator.lines(&["reconciled", "\"one\""]).len();
    run(&mut kubectl("annotate site one looked=at"));
    operator.repeats(&["reconciled", "\"one\""], looked_at + 1);
    assert_eq!(writes(&operator), before);

    // What others add stays, what they change is corrected, what they delete is made anew.
    patch("configmap one", r#"{"data":{"others":"stay"}}"#);
    patch("configmap one", r#"{"data":{"title":"changed"}}"#);
    get_until(title, |title| title == "first");
    let others = run(&mut kubectl("get configmap one -o jsonpath={.data.others}"));
    assert_eq!(others, "stay");
    let replicas = "deployment one -o jsonpath={.spec.replicas}";
    let asked = get_until(replicas, |replicas| !replicas.is_empty());
    run(&mut kubectl(
        "label configmap one app.kubernetes.io/managed-by-",
    ));
    get_until("configmap one --show-labels", |text| {
        text.contains("app.kubernetes.io/managed-by=owning")
    });
    run(&mut kubectl("delete configmap one"));
    get_until(title, |title| title == "first");
    assert_eq!(run(&mut kubectl(&format!("get {replicas}"))), asked);

    // A field that is no longer asked for goes, although nobody changed it.
    let more = "configmap one -o jsonpath={.data.more}";
    apply(&project, "one", "more");
    get_until(more, |more| more == "yes");
    // Another value takes one request.
    let of_config_maps = || {
        let mut writes = writes(&operator);
        writes.retain(|request| request.resource == "configmaps");
        writes.len()
    };
    let before = of_config_maps();
    apply(&project, "one", "more-of-it");
    get_until(title, |title| title == "more-of-it");
    in_step("one");
    assert_eq!(of_config_maps(), before + 1);
    apply(&project, "one", "less");
    get_until(title, |title| title == "less");
    get_until(more, str::is_empty);

    // A child that is no longer asked for goes, and with a Job its Pods.
    let pods = "pods --selector=batch.kubernetes.io/job-name=one -o name";
    get_until(pods, |pods| !pods.is_empty());
    apply(&project, "one", "bare");
    get_until("configmap one --ignore-not-found -o name", str::is_empty);
    get_until(pods, str::is_empty);

    // A start with all as it should be sends nothing but what reads.
    apply(&project, "one", "last");
    get_until(title, |title| title == "last");
    in_step("one");
    waits_for("one", "Job one is not complete");
    operator.stop();
    let operator = project.start();
    let before = writes(&operator);
    operator.says(&["reconciled", "\"one\""]);
    assert_eq!(writes(&operator), before);

    // With its owner goes what it owns.
    run(&mut kubectl("delete site one"));
    for kind in ["configmap", "deployment"] {
        get_until(
            &format!("{kind} one --ignore-not-found -o name"),
            str::is_empty,
        );
    }
    what_is_there_already(&project);
    let operator = what_an_earlier_owner_left(&project, operator);
    operator.stop();
    project.make("uninstall");
}

/// Keeps the garbage collector from the `ConfigMap` `left`.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: collector-misses}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [DELETE]}
  validations:
  - expression: request.name != "left" || !request.userInfo.username.endsWith(":generic-garbage-collector")
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: collector-misses}
spec: {policyName: collector-misses, validationActions: [Deny]}
"#;

/// A child that the garbage collector misses does not keep the next owner of its name from having one.
fn what_an_earlier_owner_left(project: &Project, operator: Operator) -> Operator {
    apply(project, "left", "before");
    let title = "configmap left --ignore-not-found -o jsonpath={.data.title}";
    get_until(title, |title| title == "before");
    operator.stop();

    let policy = project.manifest(POLICY);
    run(kubectl("apply -f").arg(&policy));
    let collector = "system:serviceaccount:kube-system:generic-garbage-collector";
    let delete = format!("delete configmap left --dry-run=server --as={collector}");
    wait_until("the policy is in force", PATIENCE, || {
        Ok((!kubectl(&delete).output()?.status.success()).then_some(()))
    })
    .expect("a refusal");
    run(&mut kubectl("delete site left"));
    apply(project, "left", "after");
    get_until(title, |title| title == "before");

    let operator = project.start();
    get_until(title, |title| title == "after");
    operator.says(&["ConfigMap left", "deleted, because its owner is deleted"]);
    let owner = get_until("site left -o jsonpath={.metadata.uid}", |uid| {
        !uid.is_empty()
    });
    let by = "configmap left -o jsonpath={.metadata.ownerReferences[*].uid}";
    assert_eq!(get_until(by, |by| !by.is_empty()), owner);
    in_step("left");
    run(&mut kubectl("delete site left"));
    run(kubectl("delete -f").arg(policy));
    operator
}

/// An object of the name that a child would have, and that somebody else made.
fn what_is_there_already(project: &Project) {
    run(&mut kubectl(
        "create configmap taken --from-literal=title=mine",
    ));
    apply(project, "taken", "theirs");
    let condition = "site taken -o jsonpath={.status.conditions[*].reason}";
    assert_eq!(
        get_until(condition, |reason| !reason.is_empty()),
        "NotOwned"
    );
    get_until("events --field-selector=reason=NotOwned", |events| {
        events.contains("ConfigMap taken exists already")
    });
    let title = "configmap taken -o jsonpath={.data.title}";
    assert_eq!(get_until(title, |title| !title.is_empty()), "mine");

    // Once it is gone, the name is free.
    run(&mut kubectl("delete configmap taken"));
    get_until(condition, |reason| reason == "Progressing");
    assert_eq!(get_until(title, |title| !title.is_empty()), "theirs");
    run(&mut kubectl("delete site taken"));
}

/// An owner is ready when what it owns is: the Pods of its Deployment run, and that of its Job has ended.
/// There is no kubelet, so the test says what one would.
fn becomes_ready_with_its_pods(name: &str) {
    let pod_of = |selector: &str| {
        let pods = format!("pods --selector={selector}={name} -o name");
        get_until(&pods, |pods| pods.lines().count() == 1)
    };
    let patch_status = |pod: &str, status: &str| {
        let command = format!("patch {} --subresource=status --type=merge -p", pod.trim());
        run(kubectl(&command).arg(format!("{{\"status\":{status}}}")));
    };
    waits_for(
        name,
        &format!("Deployment {name} has 0 of 1 Pods available"),
    );
    let pod = pod_of("app.kubernetes.io/instance");
    let ready = r#""conditions":[{"type":"Ready","status":"True"}]"#;
    patch_status(&pod, &format!(r#"{{"phase":"Running",{ready}}}"#));

    waits_for(name, &format!("Job {name} is not complete"));
    let pod = pod_of("batch.kubernetes.io/job-name");
    patch_status(&pod, r#"{"phase":"Succeeded"}"#);
    run(&mut kubectl(&format!(
        "wait --for=condition=Ready site/{name} --timeout=60s"
    )));
}

/// Waits until it says that it is not ready, and why.
fn waits_for(name: &str, message: &str) {
    let parts = ["status", "reason", "message"];
    let parts = parts.map(|part| format!("{{.status.conditions[0].{part}}}"));
    let expected = format!("False/Progressing/{message}");
    get_until(
        &format!("site {name} -o jsonpath={}", parts.join("/")),
        |seen| seen == expected,
    );
}

/// Waits until the status is about what is asked for now: it is written last.
fn in_step(name: &str) {
    let generations = "-o jsonpath={.metadata.generation}={.status.observedGeneration}";
    get_until(&format!("site {name} {generations}"), |text| {
        let generations = text.split_once('=');
        generations.is_some_and(|(asked, observed)| asked == observed)
    });
}

/// Creates these objects, or changes their title.
fn apply_peers<S: AsRef<str>>(project: &Project, names: impl IntoIterator<Item = S>, title: &str) {
    let peers = names.into_iter().map(|name| {
        format!(
            "apiVersion: pairs.example.com/v1\nkind: Peer\nmetadata: {{name: {}}}\n\
             spec: {{title: {title}}}\n",
            name.as_ref()
        )
    });
    let manifest = project.manifest(&peers.collect::<Vec<_>>().join("---\n"));
    run(kubectl("apply -f").arg(manifest));
}

/// The field managers of the status of a Peer, and by which operation.
fn writers(name: &str) -> BTreeSet<(String, String)> {
    let get = format!("get peer {name} --show-managed-fields -o json");
    let peer: Value = serde_json::from_str(&run(&mut kubectl(&get))).expect("JSON");
    let fields = peer["metadata"]["managedFields"]
        .as_array()
        .expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let of_status = fields
        .iter()
        .filter(|entry| entry["subresource"] == "status");
    of_status
        .map(|entry| (text(&entry["manager"]), text(&entry["operation"])))
        .collect()
}

/// Whether both controllers have written their condition since the last change.
fn is_ready_for_both(peer: &Value) -> bool {
    let generation = &peer["metadata"]["generation"];
    ["Ready", "SecondReady"].iter().all(|type_| {
        let conditions = peer["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            condition["type"] == *type_
                && condition["status"] == "True"
                && condition["observedGeneration"] == *generation
        })
    })
}

/// Each controller writes its condition of 50 objects at the same time as the other.
fn they_share_its_status(project: &Project, operator: &Operator) {
    let mut names: Vec<_> = (0..50).map(|number| format!("peer-{number}")).collect();
    names.push("old".to_owned());
    for title in ["one", "two"] {
        apply_peers(project, &names, title);
        get_until("peers -o json", |peers| {
            let peers: Value = serde_json::from_str(peers).unwrap_or_default();
            let peers = peers["items"].as_array();
            peers.is_some_and(|peers| peers.iter().all(is_ready_for_both))
        });
    }
    // To take back what was not applied, a status is written as a whole: that may conflict, once.
    let mut conflicts = operator.lines(&["was changed meanwhile", "\"Peer\""]);
    conflicts.retain(|line| !line.contains("\"name\":\"old\""));
    assert!(conflicts.is_empty(), "{conflicts:?}");
    let requests = operator.requests(cluster());
    let refused = requests.iter().filter(|request| {
        request.resource == "peers" && request.name != "old" && request.code >= 400
    });
    assert_eq!(refused.collect::<Vec<_>>(), Vec::<&Request>::new());
    // Each applies its own, also where it wrote before it shared the status.
    for name in ["old", "peer-0"] {
        let writers = writers(name);
        for controller in ["peer", "second"] {
            let manager = format!("{controller}.pairs.example.com");
            assert!(
                writers.contains(&(manager, "Apply".to_owned())),
                "{name} {writers:?}"
            );
        }
    }
    let types = "peer old -o jsonpath={.status.conditions[*].type}";
    let types = get_until(types, |types| !types.contains("Legacy"));
    let types: BTreeSet<_> = types.split(' ').collect();
    assert_eq!(types, BTreeSet::from(["Ready", "SecondReady"]));
}

/// Both make objects of one kind for the same owner, write its status and hold it back.
#[test]
fn two_controllers_of_one_kind_do_not_interfere() {
    let project = Project::scaffold(
        "pair",
        &[
            "init --domain example.com",
            "create api --group pairs --version v1 --kind Twin --finalizer --owns v1/ConfigMap",
            "create api --group pairs --version v1 --kind Twin --controller-name backup --finalizer \
             --owns v1/ConfigMap",
            "create api --group pairs --version v1 --kind Peer",
            "create api --group pairs --version v1 --kind Peer --controller-name second",
        ],
    );
    // A condition that the controller once set, and later does without.
    project.edit(
        "src/controller/pairs/second.rs",
        "    condition::set(&mut status.conditions, ready);\n",
        "    condition::set(&mut status.conditions, ready);\n    \
         if object.spec.title == \"two\" {\n        \
         status.conditions.retain(|condition| condition.type_ != \"Legacy\");\n    }\n",
    );
    project.compile();
    project.make("install");
    // As a version wrote it that did not share the status.
    apply_peers(&project, ["old"], "first");
    let condition = |type_: &str| {
        json!({"type": type_, "status": "False", "reason": "Old", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let conditions = json!([condition("SecondReady"), condition("Legacy")]);
    let status = json!({"status": {"conditions": conditions}}).to_string();
    let manager = "second.pairs.example.com";
    let patch = "patch peer old --subresource=status --type=merge --field-manager";
    run(kubectl(patch).arg(manager).arg("-p").arg(status));
    assert!(writers("old").contains(&(manager.to_owned(), "Update".to_owned())));

    let operator = project.start();
    they_share_its_status(&project, &operator);
    run(kubectl("apply -k").arg(project.path().join("config/samples")));
    for condition in ["Ready", "BackupReady"] {
        run(&mut kubectl(&format!(
            "wait --for=condition={condition} twin/twin-sample --timeout=60s"
        )));
    }
    let finalizers = "twin twin-sample -o jsonpath={.metadata.finalizers}";
    get_until(finalizers, |finalizers| {
        ["twin", "backup"]
            .iter()
            .all(|name| finalizers.contains(&format!("\"{name}.pairs.example.com/finalizer\"")))
    });

    // Each brings back its own, and takes that of the other for none that is too many.
    let uid =
        |name: &str| format!("configmap {name} --ignore-not-found -o jsonpath={{.metadata.uid}}");
    let uids = ["twin-sample", "twin-sample-backup"].map(|name| {
        let uid = uid(name);
        get_until(&uid, |uid| !uid.is_empty())
    });
    run(&mut kubectl("delete configmap twin-sample-backup"));
    get_until(&uid("twin-sample-backup"), |uid| {
        !uid.is_empty() && *uid != uids[1]
    });
    assert_eq!(get_until(&uid("twin-sample"), |_| true), uids[0]);

    run(&mut kubectl("delete twin twin-sample --timeout=60s"));
    for controller in ["twin", "backup"] {
        let reporter = format!("reportingController=pairs.example.com/{controller}");
        get_until(
            &format!("events.events.k8s.io --field-selector {reporter}"),
            |events| events.contains("CleanedUp"),
        );
    }
    assert!(operator.lines(&["ERROR"]).is_empty(), "{}", operator.log());
    operator.stop();
    project.make("uninstall");
}
