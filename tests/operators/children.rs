//! Tests the objects that an object owns, on a real API server: the operator creates them, sends nothing while nothing
//! differs, corrects and removes them, and never takes over an object of another owner.

use std::collections::BTreeSet;

use cluster::{Request, wait_until};
use serde_json::{Value, json};

use crate::{
    operator::{Operator, PATIENCE, Project, cluster, get_until, kubectl},
    scaffold::run,
};

/// Creates a project with a kind that owns a Deployment, and, unless its title is `bare`, a `ConfigMap` and a Job.
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

/// Creates the Site of this name, or changes its title.
fn apply(project: &Project, name: &str, title: &str) {
    let manifest = project.manifest(&format!(
        "apiVersion: owning.example.com/v1\nkind: Site\nmetadata: {{name: {name}}}\nspec: {{title: {title}}}\n"
    ));
    run(kubectl("apply -f").arg(manifest));
}

/// Returns the writes of the operator so far, except for its lease and its events.
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

    // The operator creates the owned objects with an owner reference.
    apply(&project, "one", "first");
    becomes_ready_with_its_pods("one");
    assert_eq!(get_until(title, |title| !title.is_empty()), "first");
    for kind in ["configmap", "deployment"] {
        let owner = run(&mut kubectl(&format!(
            "get {kind} one -o jsonpath={{.metadata.ownerReferences[*].kind}}/{{.metadata.ownerReferences[*].name}}"
        )));
        assert_eq!(owner, "Site/one");
    }

    // The operator sends nothing if nothing differs. The log shows that it has reconciled the object after the change.
    in_step("one");
    let before = writes(&operator);
    let looked_at = operator.lines(&["reconciled", "\"one\""]).len();
    run(&mut kubectl("annotate site one looked=at"));
    operator.repeats(&["reconciled", "\"one\""], looked_at + 1);
    assert_eq!(writes(&operator), before);

    // The operator keeps fields that other clients add, corrects fields that they change, and creates deleted objects
    // again.
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

    // The operator removes a field that is no longer in the desired state, although no other client changed it.
    let more = "configmap one -o jsonpath={.data.more}";
    apply(&project, "one", "more");
    get_until(more, |more| more == "yes");
    // A new value needs only one request.
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

    // The operator deletes a child that is no longer in the desired state. The Pods of a Job are deleted with the Job.
    let pods = "pods --selector=batch.kubernetes.io/job-name=one -o name";
    get_until(pods, |pods| !pods.is_empty());
    apply(&project, "one", "bare");
    get_until("configmap one --ignore-not-found -o name", str::is_empty);
    get_until(pods, str::is_empty);

    // An operator that starts when the desired state is reached only reads.
    apply(&project, "one", "last");
    get_until(title, |title| title == "last");
    in_step("one");
    waits_for("one", "Job one is not complete");
    operator.stop();
    let operator = project.start();
    let before = writes(&operator);
    operator.says(&["reconciled", "\"one\""]);
    assert_eq!(writes(&operator), before);

    // The owned objects are deleted with their owner.
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

/// A policy that keeps the garbage collector from deleting the `ConfigMap` `left`.
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

/// Checks that a child that the garbage collector missed does not keep the next owner of the same name from getting its
/// own child.
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

/// Checks that the operator does not take over an object that another client created with the name of a child.
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

    // Once the object is deleted, the name is free.
    run(&mut kubectl("delete configmap taken"));
    get_until(condition, |reason| reason == "Progressing");
    assert_eq!(get_until(title, |title| !title.is_empty()), "theirs");
    run(&mut kubectl("delete site taken"));
}

/// Checks that an owner is ready once its owned objects are: the Pod of its Deployment is ready, and the Pod of its Job
/// has succeeded. There is no kubelet, so the test writes the status of the Pods.
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

/// Waits until the Site reports that it is not ready, with this message.
fn waits_for(name: &str, message: &str) {
    let parts = ["status", "reason", "message"];
    let parts = parts.map(|part| format!("{{.status.conditions[0].{part}}}"));
    let expected = format!("False/Progressing/{message}");
    get_until(
        &format!("site {name} -o jsonpath={}", parts.join("/")),
        |seen| seen == expected,
    );
}

/// Waits until the status is for the current generation. The operator writes the status last.
fn in_step(name: &str) {
    let generations = "-o jsonpath={.metadata.generation}={.status.observedGeneration}";
    get_until(&format!("site {name} {generations}"), |text| {
        let generations = text.split_once('=');
        generations.is_some_and(|(asked, observed)| asked == observed)
    });
}

/// Creates the Peers with these names, or changes their titles.
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

/// Returns the field managers of a Peer's status, each with its operation.
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

/// Returns whether both controllers have written their condition since the last change.
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

/// Checks that two controllers can write their conditions of 50 objects at the same time.
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
    // To remove conditions that it did not write with server-side apply, a controller writes the whole status of `old`.
    // That write may conflict once.
    let mut conflicts = operator.lines(&["was changed meanwhile", "\"Peer\""]);
    conflicts.retain(|line| !line.contains("\"name\":\"old\""));
    assert!(conflicts.is_empty(), "{conflicts:?}");
    let requests = operator.requests(cluster());
    let refused = requests.iter().filter(|request| {
        request.resource == "peers" && request.name != "old" && request.code >= 400
    });
    assert_eq!(refused.collect::<Vec<_>>(), Vec::<&Request>::new());
    // Each controller applies its own condition, also to `old`, whose status was written before the controllers shared
    // it.
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

/// Checks two controllers that create objects of one kind for the same owner, write the owner's status and set a
/// finalizer on the owner.
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
    // The controller once set a condition, and later removes it.
    project.edit(
        "src/controller/pairs/second.rs",
        "    condition::set(&mut status.conditions, ready);\n",
        "    condition::set(&mut status.conditions, ready);\n    \
         if object.spec.title == \"two\" {\n        \
         status.conditions.retain(|condition| condition.type_ != \"Legacy\");\n    }\n",
    );
    project.compile();
    project.make("install");
    // A version of the controller that did not share the status wrote this status.
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

    // Each controller creates its own ConfigMap again, and does not delete the ConfigMap of the other controller as
    // superfluous.
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
