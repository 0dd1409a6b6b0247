//! Tests the objects that an object owns, on a real API server: the operator creates them, sends nothing while nothing
//! differs, corrects and removes them, and never takes over an object of another owner.

use std::collections::BTreeSet;

use cluster::{Request, wait_until};
use serde_json::{Value, json};

use crate::{
    operator::{
        Operator, PATIENCE, Project, apply_new_kind, cluster, get_until, kubectl, kubectl_waits,
    },
    scaffold::run,
};

/// The code of the controller of Vaults. The title of a Vault says what it owns, and with which value.
const VAULT: &str = r#"
use std::time::SystemTime;

use k8s_openapi::{
    ByteString,
    api::{
        apps::v1::{Deployment, StatefulSet},
        batch::v1::Job,
        core::v1::{Secret, Service},
        events,
    },
};
use kube::ResourceExt;
use kube_manager::{
    Action, Builder, Child, Children, Context, Reconciler, Recreate, children, condition, rbac::{Rule, Verb},
};
use serde_json::{Value, json};

use crate::api::owning::v1::vault::*;

pub struct Controller {
    secrets: Children<Secret, Vault>,
    deployments: Children<Deployment, Vault>,
    stateful_sets: Children<StatefulSet, Vault>,
    jobs: Children<Job, Vault>,
    services: Children<Service, Vault>,
}

impl Controller {
    pub fn new(builder: &mut Builder<Vault>) -> Self {
        Self {
            secrets: builder.owns(),
            deployments: builder.owns(),
            stateful_sets: builder.owns(),
            jobs: builder.owns(),
            services: builder.owns(),
        }
    }

    async fn bring(&self, vault: &Vault, what: &str, value: &str) -> Result<(), children::Error> {
        match what {
            "reuse" => {
                // The usual way: the password that is there, or a new one.
                let known = self.secrets.of(vault);
                let known = known.first().and_then(|secret| secret.data.as_ref()?.get("password"));
                let password = known.cloned().unwrap_or_else(password);
                self.secrets.apply(vault, [secret(vault, password, value)]).await?;
            }
            "keep" => {
                let child = Child::new(secret(vault, password(), value)).keep(["data", "password"]);
                self.secrets.apply(vault, [child]).await?;
            }
            "once" => {
                let child = Child::create_only(secret(vault, password(), value));
                self.secrets.apply(vault, [child]).await?;
            }
            "scaled" => {
                let labels = labels(vault);
                let spec = json!({
                    "selector": {"matchLabels": labels},
                    "template": template(vault, value, "Always"),
                });
                let deployment = self.deployments.apply_one(vault, object::<Deployment>(vault, spec)).await?;
                if deployment.spec.replicas != Some(3) {
                    self.deployments.patch_spec(&deployment, json!({"replicas": 3})).await?;
                }
            }
            "strategy" => {
                let (kind, label) = value.split_once('-').unwrap_or((value, ""));
                let spec = json!({
                    "selector": {"matchLabels": labels(vault)},
                    "strategy": {"type": kind},
                    "template": template(vault, "a", "Always"),
                });
                let mut deployment = object::<Deployment>(vault, spec);
                deployment.metadata.labels = Some([("label".to_owned(), label.to_owned())].into());
                let spec = deployment.spec.template.spec.as_mut();
                spec.expect("a spec").host_pid = (label == "in-host").then_some(true);
                self.deployments.apply(vault, [deployment]).await?;
            }
            "stateful" => {
                self.stateful_sets.apply(vault, [stateful_set(vault, value)]).await?;
            }
            "orphaning" => {
                let child = Child::new(stateful_set(vault, value)).recreate(Recreate::Orphan);
                self.stateful_sets.apply(vault, [child]).await?;
            }
            "job" => {
                self.jobs.apply(vault, [job(vault, value)]).await?;
            }
            "again" => {
                let child = Child::new(job(vault, value)).recreate(Recreate::Foreground);
                self.jobs.apply(vault, [child]).await?;
            }
            _ => {
                let spec = json!({"clusterIP": value, "ports": [{"port": 80}]});
                self.services.apply(vault, [object::<Service>(vault, spec)]).await?;
            }
        }
        Ok(())
    }
}

/// Another password each time.
fn password() -> ByteString {
    ByteString(format!("{:?}", SystemTime::now()).into_bytes())
}

fn secret(vault: &Vault, password: ByteString, title: &str) -> Secret {
    let title = ByteString(title.as_bytes().to_vec());
    let metadata = json!({"name": vault.name_any()});
    let secret = json!({"metadata": metadata, "data": {"password": password, "title": title}});
    serde_json::from_value(secret).expect("a Secret")
}

fn object<K: serde::de::DeserializeOwned>(vault: &Vault, spec: Value) -> K {
    let object = json!({"metadata": {"name": vault.name_any()}, "spec": spec});
    serde_json::from_value(object).expect("an object")
}

fn labels(vault: &Vault) -> Value {
    json!({"vault": vault.name_any()})
}

fn template(vault: &Vault, image: &str, restart: &str) -> Value {
    let container = json!({"name": "a", "image": image});
    let spec = json!({"containers": [container], "restartPolicy": restart});
    json!({"metadata": {"labels": labels(vault)}, "spec": spec})
}

fn stateful_set(vault: &Vault, size: &str) -> StatefulSet {
    let claim = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    });
    object(vault, json!({
        "serviceName": "",
        "selector": {"matchLabels": labels(vault)},
        "template": template(vault, "a", "Always"),
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }))
}

fn job(vault: &Vault, image: &str) -> Job {
    object(vault, json!({"template": template(vault, image, "Never")}))
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Children(#[from] children::Error),
    #[error("cannot write the status: {0}")]
    WriteStatus(#[from] kube::Error),
}

impl Reconciler for Controller {
    type Object = Vault;
    type Error = Error;

    const NAME: &'static str = "vault.owning.example.com";
    const RULES: &'static [Rule] = &[
        Rule::of::<Vault>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Vault>("status", &[Verb::Update]),
        Rule::of::<Secret>(children::VERBS),
        Rule::of::<Deployment>(children::VERBS),
        Rule::of::<StatefulSet>(children::VERBS),
        Rule::of::<Job>(children::VERBS),
        Rule::of::<Service>(children::VERBS),
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    async fn reconcile(&self, vault: &Vault, context: &Context) -> Result<Action, Error> {
        let (what, value) = vault.spec.title.split_once('-').unwrap_or_default();
        let done = self.bring(vault, what, value).await;
        let mut status = vault.status.clone().unwrap_or_default();
        status.observed_generation = vault.metadata.generation;
        let ready = match &done {
            Ok(()) => condition::new_true(vault, "Ready", "Reconciled", ""),
            Err(error) => condition::new_false(vault, "Ready", error.reason(), error.to_string()),
        };
        condition::set(&mut status.conditions, ready);
        context.write_status(vault, &status).await?;
        done?;
        Ok(Action::await_change())
    }
}
"#;

/// Creates a project with a kind that owns a Deployment, and, unless its title is `bare`, a `ConfigMap` and a Job. A
/// second kind has the controller [`VAULT`].
fn project() -> Project {
    let project = Project::scaffold(
        "owning",
        &[
            "init --domain example.com",
            "create api --group owning --version v1 --kind Site --owns v1/ConfigMap --owns apps/v1/Deployment \
             --owns batch/v1/Job",
            "create api --group owning --version v1 --kind Vault",
        ],
    );
    std::fs::write(project.path().join("src/controller/owning/vault.rs"), VAULT)
        .expect("a writable file");
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
    apply_object(project, "Site", name, title);
}

fn apply_object(project: &Project, kind: &str, name: &str, title: &str) {
    let manifest = project.manifest(&format!(
        "apiVersion: owning.example.com/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{title: {title}}}\n"
    ));
    run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
}

/// Creates the Vault of this name, or changes its title, and waits until it is reconciled. Returns the reason of its
/// condition.
fn apply_vault(project: &Project, name: &str, title: &str) -> String {
    apply_object(project, "Vault", name, title);
    in_step_as("vault", name);
    run(&mut kubectl(&format!(
        "get vault {name} -o jsonpath={{.status.conditions[0].reason}}"
    )))
}

/// Returns a field of an object, such as `.spec.replicas`.
fn field(object: &str, path: &str) -> String {
    run(&mut kubectl(&format!(
        "get {object} -o jsonpath={{{path}}}"
    )))
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
    run(&mut kubectl(
        "annotate site.owning.example.com one looked=at",
    ));
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
    in_step("one");
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
    run(&mut kubectl("delete site.owning.example.com one"));
    for kind in ["configmap", "deployment"] {
        get_until(
            &format!("{kind} one --ignore-not-found -o name"),
            str::is_empty,
        );
    }
    what_is_there_already(&project);
    let operator = what_an_earlier_owner_left(&project, operator);
    let operator = a_password_never_changes(&project, operator);
    let operator = restored_children_are_recognized(&project, operator);
    a_patched_value_stays(&project);
    a_list_is_replaced_if_the_apply_is_invalid(&project);
    a_default_does_not_keep_a_child_from_changing(&project);
    an_immutable_field_is_named(&project);
    a_child_is_created_again_if_it_is_declared_so(&project);
    operator.stop();
    project.make("uninstall");
}

/// Checks that the password of a Secret does not change when its labels change or the operator restarts, and that the
/// condition does not change either.
fn a_password_never_changes(project: &Project, operator: Operator) -> Operator {
    let names = ["reuse", "keep", "once"];
    for name in names {
        assert_eq!(
            apply_vault(project, name, &format!("{name}-one")),
            "Reconciled"
        );
    }
    let passwords = names.map(|name| field(&format!("secret {name}"), ".data.password"));
    let versions = names.map(|name| field(&format!("vault {name}"), ".metadata.resourceVersion"));
    let label = "app.kubernetes.io/managed-by";
    for edit in [
        format!("{label}-"),
        format!("{label}=Helm"),
        format!("{label}- vault.owning.example.com/applied-"),
    ] {
        for name in names {
            run(&mut kubectl(&format!(
                "label secret {name} {edit} --overwrite"
            )));
            get_until(&format!("secret {name} --show-labels"), |text| {
                text.contains(&format!("{label}=owning"))
            });
        }
    }
    operator.stop();
    run(&mut kubectl(&format!(
        "label secret reuse keep once {label}-"
    )));
    let operator = project.start();
    for (index, name) in names.iter().enumerate() {
        get_until(&format!("secret {name} --show-labels"), |text| {
            text.contains(&format!("{label}=owning"))
        });
        // No reconcile that knew too little has written a condition.
        let version = field(&format!("vault {name}"), ".metadata.resourceVersion");
        assert_eq!(version, versions[index]);
        assert_eq!(
            apply_vault(project, name, &format!("{name}-two")),
            "Reconciled"
        );
        assert_eq!(
            field(&format!("secret {name}"), ".data.password"),
            passwords[index]
        );
        let title = field(&format!("secret {name}"), ".data.title");
        let is_new = title == "dHdv";
        assert_eq!(is_new, *name != "once", "{title}");
    }
    run(&mut kubectl("delete vault reuse keep once"));
    operator
}

/// Checks that children that were loaded without their owners, as from a backup, are taken over: the Secret with its
/// password, and the `ConfigMap` so that a field disappears when it is no longer desired.
fn restored_children_are_recognized(project: &Project, operator: Operator) -> Operator {
    apply_vault(project, "backup", "reuse-one");
    apply(project, "backup", "more");
    in_step("backup");
    let list = run(&mut kubectl("get secret/backup configmap/backup -o json"));
    let mut list: Value = serde_json::from_str(&list).expect("JSON");
    for child in list["items"].as_array_mut().expect("a list") {
        let metadata = child["metadata"].as_object_mut().expect("metadata");
        for field in [
            "ownerReferences",
            "resourceVersion",
            "uid",
            "creationTimestamp",
        ] {
            metadata.remove(field);
        }
    }
    let manifest = project.manifest(&list.to_string());
    operator.stop();
    let owners = "site.owning.example.com/backup vault/backup";
    run(&mut kubectl(&format!("delete {owners}")));
    get_until(
        "secret/backup configmap/backup --ignore-not-found -o name",
        str::is_empty,
    );
    run(kubectl("create -f").arg(manifest));
    apply_object(project, "Vault", "backup", "reuse-one");
    apply(project, "backup", "more");
    let operator = project.start();
    in_step_as("vault", "backup");
    in_step("backup");
    for (child, owner) in [
        ("secret backup", "vault backup"),
        ("configmap backup", "site.owning.example.com backup"),
    ] {
        let by = field(child, ".metadata.ownerReferences[*].uid");
        assert_eq!(by, field(owner, ".metadata.uid"));
    }
    assert_eq!(
        list["items"][0]["data"]["password"],
        field("secret backup", ".data.password")
    );
    apply(project, "backup", "less");
    get_until("configmap backup -o jsonpath={.data.more}", str::is_empty);
    run(&mut kubectl(&format!("delete {owners}")));
    operator
}

/// Checks that an apply does not remove what `patch_spec` has set.
fn a_patched_value_stays(project: &Project) {
    apply_vault(project, "scaled", "scaled-one");
    let replicas = "deployment scaled -o jsonpath={.spec.replicas}";
    get_until(replicas, |replicas| replicas == "3");
    let image = ".spec.template.spec.containers[0].image";
    for image_and_value in ["two", "three"] {
        apply_vault(project, "scaled", &format!("scaled-{image_and_value}"));
        assert_eq!(field("deployment scaled", image), image_and_value);
        assert_eq!(field("deployment scaled", ".spec.replicas"), "3");
    }
    run(&mut kubectl("delete vault scaled"));
}

/// Checks that an edit after which an apply alone would be invalid is undone: of two ports, each needs a name.
fn a_list_is_replaced_if_the_apply_is_invalid(project: &Project) {
    let ports = ".spec.ports[*].port";
    assert_eq!(
        apply_vault(project, "edited", "service-10.0.0.12"),
        "Reconciled"
    );
    patch("service edited", r#"{"spec": {"ports": [{"port": 8081}]}}"#);
    get_until(
        &format!("service edited -o jsonpath={{{ports}}}"),
        |ports| ports == "80",
    );
    assert_eq!(
        apply_vault(project, "edited", "service-10.0.0.12"),
        "Reconciled"
    );
    run(&mut kubectl("delete vault edited"));
}

/// Checks that a change is possible although an apply keeps a default of the API server that does not fit it, and that a
/// refused change leaves nothing behind.
fn a_default_does_not_keep_a_child_from_changing(project: &Project) {
    let deployment = "deployment strategic";
    let (strategy, in_host) = (".spec.strategy", ".spec.template.spec.hostPID");
    for (title, reason, expected) in [
        ("RollingUpdate-one", "Reconciled", "RollingUpdate"),
        ("RollingUpdate-two", "Reconciled", "RollingUpdate"),
        ("Recreate-two", "Reconciled", "Recreate"),
        // Not a label.
        ("RollingUpdate-a b", "ChildFailed", "Recreate"),
        ("Recreate-in-host", "Reconciled", "Recreate"),
        ("Recreate-two", "Reconciled", "Recreate"),
    ] {
        let title = format!("strategy-{title}");
        assert_eq!(apply_vault(project, "strategic", &title), reason, "{title}");
        let strategy = field(deployment, strategy);
        assert!(strategy.contains(expected), "{title}: {strategy}");
        let is_in_host = field(deployment, in_host) == "true";
        assert_eq!(is_in_host, title.ends_with("in-host"), "{title}");
    }
    run(&mut kubectl("delete vault strategic"));
}

/// Checks that the condition names the field that cannot change, and the way out.
fn an_immutable_field_is_named(project: &Project) {
    for (name, title, other, kind, path, text) in [
        (
            "stateful",
            "stateful-1Gi",
            "stateful-2Gi",
            "statefulsets.apps",
            ".spec.volumeClaimTemplates",
            "updates to statefulset spec",
        ),
        (
            "job",
            "job-one",
            "job-two",
            "jobs.batch",
            ".spec.template",
            "field is immutable",
        ),
        // The API server gives addresses below 16 only to Services that ask for them.
        (
            "service",
            "service-10.0.0.13",
            "service-10.0.0.14",
            "services",
            ".spec.clusterIP",
            "may not change",
        ),
    ] {
        assert_eq!(apply_vault(project, name, title), "Reconciled");
        let uid = field(&format!("{kind} {name}"), ".metadata.uid");
        assert_eq!(apply_vault(project, name, other), "ImmutableField");
        let message = field(&format!("vault {name}"), ".status.conditions[0].message");
        eprintln!("{message}");
        let delete = format!("kubectl delete {kind} {name} --namespace default --cascade=orphan");
        for part in [path, text, &delete] {
            assert!(message.contains(part), "{message}");
        }
        for dump in ["Status {", "Api(", "Some(", "\\\""] {
            assert!(!message.contains(dump), "{message}");
        }
        assert_eq!(field(&format!("{kind} {name}"), ".metadata.uid"), uid);
        // The way out works.
        run(&mut kubectl(
            delete.strip_prefix("kubectl ").expect("a command"),
        ));
        get_until(
            &format!("vault {name} -o jsonpath={{.status.conditions[0].reason}}"),
            |reason| reason == "Reconciled",
        );
        get_until(
            &format!("{kind} {name} --ignore-not-found -o jsonpath={{.metadata.uid}}"),
            |new| !new.is_empty() && new != uid,
        );
        run(&mut kubectl(&format!("delete vault {name}")));
        // The Pods of the first child may have no owner.
        run(&mut kubectl(&format!(
            "delete pods --selector=vault={name} --wait=false"
        )));
    }
}

/// Checks that a child is deleted and created again if it is declared so, with or without its Pods.
fn a_child_is_created_again_if_it_is_declared_so(project: &Project) {
    let size = ".spec.volumeClaimTemplates[0].spec.resources.requests.storage";
    let image = ".spec.template.spec.containers[0].image";
    for (name, kind, values, path) in [
        ("orphaning", "statefulset", ["1Gi", "2Gi"], size),
        ("again", "job", ["one", "two"], image),
    ] {
        apply_vault(project, name, &format!("{name}-{}", values[0]));
        let pods = format!("pods --selector=vault={name} -o jsonpath={{.items[*].metadata.uid}}");
        let pod = get_until(&pods, |pods| !pods.is_empty());
        let uid = field(&format!("{kind} {name}"), ".metadata.uid");
        apply_object(project, "Vault", name, &format!("{name}-{}", values[1]));
        let child = format!("{kind} {name} --ignore-not-found -o jsonpath={{{path}}}");
        get_until(&child, |value| value.ends_with(values[1]));
        assert_ne!(field(&format!("{kind} {name}"), ".metadata.uid"), uid);
        let keeps_pods = name == "orphaning";
        get_until(&pods, |pods| {
            !pods.is_empty() && (pods == pod) == keeps_pods
        });
        run(&mut kubectl(&format!("delete vault {name}")));
        get_until(&pods, str::is_empty);
    }
}

/// A policy that keeps the garbage collector from deleting the `ConfigMap` `left`. Other tests may have a `ConfigMap` of
/// this name in other namespaces.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: collector-misses}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [DELETE]}
  validations:
  - expression: >-
      request.namespace != "default" || request.name != "left"
      || !request.userInfo.username.endsWith(":generic-garbage-collector")
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
    run(&mut kubectl("delete site.owning.example.com left"));
    apply(project, "left", "after");
    get_until(title, |title| title == "before");

    let operator = project.start();
    get_until(title, |title| title == "after");
    operator.says(&["ConfigMap left", "deleted, because its owner is deleted"]);
    let owner = get_until(
        "site.owning.example.com left -o jsonpath={.metadata.uid}",
        |uid| !uid.is_empty(),
    );
    let by = "configmap left -o jsonpath={.metadata.ownerReferences[*].uid}";
    assert_eq!(get_until(by, |by| !by.is_empty()), owner);
    in_step("left");
    run(&mut kubectl("delete site.owning.example.com left"));
    run(kubectl("delete -f").arg(policy));
    operator
}

/// Checks that the operator does not take over an object that another client created with the name of a child.
fn what_is_there_already(project: &Project) {
    run(&mut kubectl(
        "create configmap taken --from-literal=title=mine",
    ));
    apply(project, "taken", "theirs");
    let condition = "site.owning.example.com taken -o jsonpath={.status.conditions[*].reason}";
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
    run(&mut kubectl("delete site.owning.example.com taken"));
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
    kubectl_waits(&format!(
        "--for=condition=Ready site.owning.example.com/{name}"
    ));
}

/// Waits until the Site reports that it is not ready, with this message.
fn waits_for(name: &str, message: &str) {
    let parts = ["status", "reason", "message"];
    let parts = parts.map(|part| format!("{{.status.conditions[0].{part}}}"));
    let expected = format!("False/Progressing/{message}");
    get_until(
        &format!(
            "site.owning.example.com {name} -o jsonpath={}",
            parts.join("/")
        ),
        |seen| seen == expected,
    );
}

/// Waits until the status is for the current generation. The operator writes the status last.
fn in_step(name: &str) {
    in_step_as("site.owning.example.com", name);
}

fn in_step_as(kind: &str, name: &str) {
    let generations = "-o jsonpath={.metadata.generation}={.status.observedGeneration}";
    get_until(&format!("{kind} {name} {generations}"), |text| {
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
    apply_new_kind(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
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
        kubectl_waits(&format!("--for=condition={condition} twin/twin-sample"));
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

    run(&mut kubectl("delete twin twin-sample"));
    for controller in ["twin", "backup"] {
        let reporter = format!("reportingController=pairs.example.com/{controller}");
        get_until(
            &format!("events.events.k8s.io --field-selector {reporter}"),
            |events| events.contains("CleanedUp"),
        );
    }
    assert!(operator.lines(&["ERROR"]).is_empty());
    operator.stop();
    project.make("uninstall");
}
