//! Tests, on a real API server, what a controller may declare besides its own kind and its owned objects: objects that
//! its object refers to, objects that map to its object, events from outside, a selector, a cleanup that takes time.
//! Also tests what else a program may run: tasks, and its own metrics; and what must not happen when objects change in
//! unusual ways, or when a part of the controller panics for one object.

use cluster::wait_until;

use crate::{
    helm, http,
    operator::{Operator, PATIENCE, Project, apply_new_kind, get_until, kubectl, kubectl_waits},
    scaffold::run,
    serving,
};

/// A controller that logs what it sees of the Secret that an object refers to by its title.
const CONTROLLER: &str = r#"
use std::time::{Duration, Instant};

use k8s_openapi::api::{core::v1::{ConfigMap, Secret}, events};
use kube::{
    ResourceExt, api::ApiResource, core::{DynamicObject, GroupVersionKind}, discovery::Scope,
    runtime::{predicates, reflector::ObjectRef},
};
use kube_manager::{
    Action, Builder, Cleanup, Context, Objects, Reconciler, Trigger, Watched, condition,
    prometheus::IntCounter,
    rbac::{Rule, Verb},
};

use crate::api::doors::v1::door::*;

pub struct Controller {
    doors: Objects<Door>,
    secrets: Watched<Secret>,
    widgets: Watched<DynamicObject>,
    trigger: Trigger<Door>,
    start: Instant,
    opened: IntCounter,
}

/// The Secret that `door` refers to.
fn references(door: &Door) -> Vec<ObjectRef<Secret>> {
    assert_ne!(door.spec.title, "bad reference");
    vec![ObjectRef::new(&door.spec.title)]
}

/// The Widget that `door` refers to, of a kind that the cluster may not have.
fn widgets(door: &Door) -> Vec<ObjectRef<DynamicObject>> {
    vec![ObjectRef::new_with(&door.spec.title, widget())]
}

fn widget() -> ApiResource {
    let kind = GroupVersionKind::gvk("parts.example.com", "v1", "Widget");
    ApiResource::from_gvk_with_plural(&kind, "widgets")
}

impl Controller {
    pub fn new(builder: &mut Builder<Door>) -> Self {
        let opened = IntCounter::new("doors_seen_total", "Doors seen").expect("a name");
        let registered = builder.registry().register(Box::new(opened.clone()));
        registered.expect("the only one");
        let trigger = Trigger::default();
        builder.reconcile_on(&trigger);
        builder.labels("ignored!=yes");
        builder.predicate(|door: &Door| {
            assert_ne!(door.spec.title, "bad predicate");
            predicates::generation(door)
        });
        builder.concurrency(3);
        builder
            .watches::<ConfigMap>()
            .labels("door")
            .requeues(|map| {
                let door = &map.labels()["door"];
                assert_ne!(door, "bad-map");
                vec![ObjectRef::new(door)]
            });
        Self {
            doors: builder.objects(),
            secrets: builder.watches().fields("type=Opaque").referenced_by(references),
            widgets: builder
                .watches_with(widget(), Scope::Namespaced)
                .predicate(predicates::generation)
                .optional()
                .referenced_by(widgets),
            trigger,
            start: Instant::now(),
            opened,
        }
    }
}

impl Reconciler for Controller {
    type Object = Door;
    type Error = kube::Error;

    const NAME: &'static str = "door.doors.example.com";
    const RULES: &'static [Rule] = &[
        Rule::of::<Door>(&[Verb::List, Verb::Watch, Verb::Patch]),
        Rule::of::<ConfigMap>(&[Verb::List, Verb::Watch]),
        Rule::of::<Secret>(&[Verb::List, Verb::Watch]),
        Rule::resource("parts.example.com", "widgets", &[Verb::List, Verb::Watch]),
        Rule::sub::<Door>("status", &[Verb::Update]),
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];
    const FINALIZER: bool = true;

    async fn reconcile(&self, door: &Door, context: &Context) -> Result<Action, kube::Error> {
        self.opened.inc();
        let key = references(door).iter().find_map(|secret| self.secrets.get(secret));
        let key = key.map(|secret| secret.resource_version().unwrap_or_default());
        let doors = self.doors.all().len();
        let has_widgets = self.widgets.is_available();
        let widgets = self.widgets.get_all(&widgets(door)).len();
        tracing::info!(
            door = door.name_any(), uid = door.uid(), key, doors, has_widgets, widgets, "sees"
        );
        if door.spec.title == "two writes" {
            let mut status = door.status.clone().unwrap_or_default();
            for ready in [
                condition::new_false(door, "Ready", "First", "the first write"),
                condition::new_true(door, "Ready", "Second", "the second write"),
            ] {
                condition::set(&mut status.conditions, ready);
                let written = context.write_status(door, &status).await?;
                if let Some(written) = written {
                    let stored = written.status.as_ref().expect("a status");
                    assert_eq!(stored.conditions[0].reason, status.conditions[0].reason);
                    assert_ne!(written.resource_version(), door.resource_version());
                }
            }
        }
        if door.spec.title == "bell" {
            let (trigger, other) = (self.trigger.clone(), ObjectRef::new("rung").within("default"));
            tokio::spawn(async move { trigger.reconcile(&other) });
        }
        Ok(Action::await_change())
    }

    async fn cleanup(&self, door: &Door, _: &Context) -> Result<Cleanup, kube::Error> {
        // As if something outside took a while.
        if door.annotations().contains_key("free") {
            return Ok(Cleanup::Done);
        }
        tracing::info!(door = door.name_any(), after = ?self.start.elapsed(), "still there");
        Ok(Cleanup::AgainIn(Duration::from_millis(100)))
    }
}
"#;

fn project() -> Project {
    let project = Project::scaffold(
        "doors",
        &[
            "init --domain example.com --enable helm",
            "create api --group doors --version v1 --kind Door",
        ],
    );
    let controller = project.path().join("src/controller/doors/door.rs");
    std::fs::write(controller, CONTROLLER).expect("a writable file");
    // A task, with permissions that are limited to one object or to a namespace, and a permission for a URL.
    let task = r#"
    manager.add_rules(const { &[
        Rule::of::<Secret>(&[Verb::Get]).named(&["allowed"]),
        Rule::of::<Secret>(&[Verb::Get]).in_namespace("kube-system"),
        Rule::url("/doors", &[Verb::Get]),
    ] });
    manager.add_task("caretaker", Replicas::Leader, |task| async move {
        for (namespace, name) in [
            ("default", "allowed"),
            ("default", "forbidden"),
            ("kube-system", "other"),
            ("kube-public", "other"),
        ] {
            let secrets = Api::<Secret>::namespaced(task.client.clone(), namespace);
            let code = match secrets.get(name).await {
                Err(kube::Error::Api(status)) => status.code,
                answer => panic!("{answer:?}"),
            };
            tracing::info!(namespace, name, code, "asked for");
        }
        task.stopped().await;
        tracing::info!("went home");
        Ok(())
    });
"#;
    project.edit(
        "src/main.rs",
        "    controller::register(&mut manager);\n",
        &format!("    controller::register(&mut manager);{task}"),
    );
    let imports = "use k8s_openapi::api::core::v1::Secret;\nuse kube::Api;\n\
                   use kube_manager::{Manager, Operator, Replicas, rbac::{Rule, Verb}};\n";
    project.edit(
        "src/main.rs",
        "use kube_manager::{Manager, Operator};\n",
        imports,
    );
    project.compile();
    project.make("install");
    project
}

/// The kind that one watch of the controller needs, but the controller does not.
const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.parts.example.com}
spec:
  group: parts.example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
";

/// Without the kind, objects are reconciled, and the operator is ready. Once the kind exists, the objects that refer to
/// it are reconciled again.
fn an_optional_kind_can_come_late_and_go(project: &Project, operator: &Operator) {
    let waits = ["cannot watch this optional kind", "widgets"];
    operator.repeats(&waits, 1);
    let line = sees_after(operator, "plain", || apply(project, "plain", "gadget", ""));
    assert!(line.contains("\"has_widgets\":false"), "{line}");
    serving::probe(operator, "/readyz", 200, &["\nready\n"]);

    let crd = project.manifest(WIDGETS);
    let line = sees_after(operator, "plain", || {
        run(kubectl("apply -f").arg(&crd));
    });
    assert!(
        line.contains("\"has_widgets\":true,\"widgets\":0"),
        "{line}"
    );
    let widget = "apiVersion: parts.example.com/v1\nkind: Widget\nmetadata: {name: gadget}\n";
    let widget = project.manifest(widget);
    let line = sees_after(operator, "plain", || {
        apply_new_kind(kubectl("apply -f").arg(&widget));
    });
    assert!(
        line.contains("\"has_widgets\":true,\"widgets\":1"),
        "{line}"
    );
    // The predicate excludes a change of a label.
    let before = sees(operator, "plain");
    kubectl_runs("label widgets.parts.example.com gadget painted=red");
    sees_after(operator, "other", || apply(project, "other", "none", ""));
    assert_eq!(sees(operator, "plain"), before);

    // The widget is deleted before its kind: a watch may end with the kind, before it has shown all deletions.
    let line = sees_after(operator, "plain", || {
        run(kubectl("delete -f").arg(&widget));
    });
    assert!(line.contains("\"widgets\":0"), "{line}");
    run(kubectl("delete -f").arg(&crd));
    operator.repeats(&waits, 2);
    let line = sees_after(operator, "plain", || apply(project, "plain", "other", ""));
    assert!(line.contains("\"has_widgets\":false"), "{line}");
}

/// Creates the Door of this name, or changes it.
fn apply(project: &Project, name: &str, title: &str, labels: &str) {
    let manifest = project.manifest(&format!(
        "apiVersion: doors.example.com/v1\nkind: Door\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n\
         spec: {{title: {title}}}\n"
    ));
    run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
}

/// Returns how often the operator has reconciled the Door.
fn sees(operator: &Operator, door: &str) -> usize {
    operator
        .lines(&["\"sees\"", &format!("\"door\":\"{door}\"")])
        .len()
}

/// Waits until the operator reconciles the Door once more after `change`, and returns the line that it logs then.
fn sees_after(operator: &Operator, door: &str, change: impl FnOnce()) -> String {
    let before = sees(operator, door);
    change();
    let parts = ["\"sees\"", &format!("\"door\":\"{door}\"")];
    let lines = operator.repeats(&parts, before + 1);
    lines.last().expect("a line").clone()
}

fn kubectl_runs(arguments: &str) {
    run(&mut kubectl(arguments));
}

#[test]
fn a_controller_hears_of_what_it_declares() {
    let project = project();
    let open = "--metrics-secure=false --metrics-bind-address=127.0.0.1:0";
    let mut operator = project.operator().args(open).start();
    let has_key = |line: &str| line.contains("\"key\":");

    // A Secret is created after the object that refers to it, then changed, then deleted.
    let line = sees_after(&operator, "front", || apply(&project, "front", "key", ""));
    assert!(!has_key(&line), "{line}");
    let line = sees_after(&operator, "front", || {
        kubectl_runs("create secret generic key --from-literal=a=1");
    });
    assert!(has_key(&line), "{line}");
    let changed = sees_after(&operator, "front", || {
        kubectl_runs("label secret key changed=yes");
    });
    assert_ne!(line, changed);
    let line = sees_after(&operator, "front", || kubectl_runs("delete secret key"));
    assert!(!has_key(&line), "{line}");

    // Once the object refers to another Secret, a change of the first one causes no reconcile.
    sees_after(&operator, "front", || apply(&project, "front", "other", ""));
    let before = sees(&operator, "front");
    kubectl_runs("create secret generic key --from-literal=a=1");
    let line = sees_after(&operator, "front", || {
        kubectl_runs("create secret generic other --from-literal=a=1");
    });
    assert!(has_key(&line), "{line}");
    assert_eq!(sees(&operator, "front"), before + 1);

    // A ConfigMap names the object in a label. The field selector excludes Secrets of other types.
    sees_after(&operator, "front", || {
        kubectl_runs("create configmap plate");
        kubectl_runs("label configmap plate door=front");
    });
    sees_after(&operator, "front", || {
        kubectl_runs("delete configmap plate");
    });

    // The selector excludes an object of the controller's own kind, and the predicate excludes a change.
    apply(&project, "hidden", "key", "ignored: \"yes\"");
    let before = sees(&operator, "front");
    kubectl_runs("label door front painted=red");
    let line = sees_after(&operator, "back", || apply(&project, "back", "none", ""));
    assert!(line.contains("\"doors\":2"), "{line}");
    assert_eq!(sees(&operator, "hidden"), 0);
    assert_eq!(sees(&operator, "front"), before);

    // An event from outside of the cluster causes a reconcile.
    sees_after(&operator, "rung", || apply(&project, "rung", "none", ""));
    sees_after(&operator, "rung", || apply(&project, "bell", "bell", ""));

    // A cleanup that is not finished runs again, and the operator logs no error.
    kubectl_runs("delete door front --wait=false");
    operator.repeats(&["still there", "\"door\":\"front\""], 3);
    kubectl_runs("annotate door front free=yes");
    kubectl_waits("--for=delete door/front");
    assert_eq!(operator.lines(&["\"level\":\"ERROR\""]), [""; 0]);

    an_object_that_is_no_longer_named_is_requeued(&project, &operator);
    an_object_that_the_selector_no_longer_selects_is_cleaned_up(&project, &operator);
    an_object_that_is_made_again_is_reconciled(&project, &operator);
    a_status_can_be_written_twice(&project);
    an_optional_kind_can_come_late_and_go(&project, &operator);
    assert_eq!(operator.lines(&["\"level\":\"ERROR\""]), [""; 0]);
    a_panic_affects_one_object(&project, &operator);
    a_refused_finalizer_is_shown(&project, &operator);

    // The task has the permissions that were added for it, and no others.
    for (namespace, name, code) in [
        ("default", "allowed", 404),
        ("default", "forbidden", 403),
        ("kube-system", "other", 404),
        ("kube-public", "other", 403),
    ] {
        let asked = [("namespace", namespace), ("name", name)];
        let [namespace, name] = asked.map(|(key, value)| format!("\"{key}\":\"{value}\""));
        operator.says(&["asked for", &namespace, &name, &format!("\"code\":{code}")]);
    }
    helm::installs_what_kustomize_does(project.path(), "doors", "a role for another namespace");
    let metrics = http::get(&format!("http://{}/metrics", operator.address("metrics")));
    let metrics = metrics.expect("metrics").text;
    let seen = metrics
        .lines()
        .find_map(|line| line.strip_prefix("doors_seen_total "));
    assert!(
        seen.is_some_and(|count| count.parse::<u32>().is_ok_and(|count| count > 5)),
        "{metrics}"
    );

    kubectl_runs("annotate door --all free=yes");
    kubectl_runs("delete door --all");
    operator.signal("TERM");
    operator.says(&["went home"]);
    assert!(operator.ends_within(PATIENCE).success());
}

/// A `ConfigMap` that names another object than before requeues both.
fn an_object_that_is_no_longer_named_is_requeued(project: &Project, operator: &Operator) {
    for door in ["left", "right"] {
        sees_after(operator, door, || apply(project, door, "none", ""));
    }
    sees_after(operator, "left", || {
        kubectl_runs("create configmap sign");
        kubectl_runs("label configmap sign door=left");
    });
    let before = sees(operator, "right");
    sees_after(operator, "left", || {
        kubectl_runs("label configmap sign --overwrite door=right");
    });
    operator.repeats(&["\"sees\"", "\"door\":\"right\""], before + 1);
}

/// The finalizer of an object does not depend on its labels, so the deletion neither hangs nor skips the cleanup.
fn an_object_that_the_selector_no_longer_selects_is_cleaned_up(
    project: &Project,
    operator: &Operator,
) {
    sees_after(operator, "moving", || apply(project, "moving", "none", ""));
    kubectl_runs("label door moving ignored=yes");
    let before = sees(operator, "moving");
    apply(project, "moving", "changed", "ignored: \"yes\"");
    sees_after(operator, "left", || apply(project, "left", "changed", ""));
    assert_eq!(sees(operator, "moving"), before);
    kubectl_runs("delete door moving --wait=false");
    operator.repeats(&["still there", "\"door\":\"moving\""], 2);
    kubectl_runs("annotate door moving free=yes");
    kubectl_waits("--for=delete door/moving");
}

/// Objects that are deleted and created at once are reconciled, each time.
fn an_object_that_is_made_again_is_reconciled(project: &Project, operator: &Operator) {
    let doors: Vec<_> = (0..10)
        .map(|number| {
            format!(
                "---\napiVersion: doors.example.com/v1\nkind: Door\n\
                 metadata: {{name: again-{number}, annotations: {{free: \"yes\"}}}}\nspec: {{title: none}}\n"
            )
        })
        .collect();
    let manifest = project.manifest(&doors.concat());
    run(kubectl("create -f").arg(&manifest));
    for _ in 0..3 {
        run(kubectl("replace --force -f").arg(&manifest));
    }
    for number in 0..10 {
        let uid = run(&mut kubectl(&format!(
            "get door again-{number} -o jsonpath={{.metadata.uid}}"
        )));
        operator.says(&["\"sees\"", &uid]);
    }
}

fn a_status_can_be_written_twice(project: &Project) {
    apply(project, "twice", "two writes", "");
    kubectl_waits("door/twice --for=condition=Ready");
}

/// A predicate, a function that names references, and a map function may panic for one object. The object is left
/// alone; the others, and the process, go on.
fn a_panic_affects_one_object(project: &Project, operator: &Operator) {
    apply(project, "odd", "bad predicate", "");
    operator.says(&[
        "\"level\":\"ERROR\"",
        "`predicate` panicked",
        "\"name\":\"odd\"",
    ]);
    assert_eq!(sees(operator, "odd"), 0);
    apply(project, "odd", "bad reference", "");
    operator.says(&[
        "\"level\":\"ERROR\"",
        "`references` panicked",
        "\"name\":\"odd\"",
    ]);
    kubectl_runs("create configmap wrong");
    kubectl_runs("label configmap wrong door=bad-map");
    operator.says(&[
        "\"level\":\"ERROR\"",
        "`map` panicked",
        "\"name\":\"wrong\"",
    ]);
    sees_after(operator, "odd", || apply(project, "odd", "fine", ""));
    kubectl_runs("delete configmap wrong");
}

/// A policy refuses to remove the finalizer: its text is in the log, in an event, and in the condition `Ready`.
fn a_refused_finalizer_is_shown(project: &Project, operator: &Operator) {
    apply(project, "guarded", "two writes", "");
    kubectl_runs("annotate door guarded free=yes");
    kubectl_waits("door/guarded --for=condition=Ready");
    let policy = project.manifest(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n\
         metadata: {name: guarded-doors}\nspec:\n  matchConstraints:\n    resourceRules:\n    \
         - {apiGroups: [doors.example.com], apiVersions: [v1], operations: [UPDATE], resources: [doors]}\n  \
         validations:\n  - {expression: \"object.metadata.name != 'guarded'\", message: guarded doors stay}\n\
         ---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n\
         metadata: {name: guarded-doors}\nspec: {policyName: guarded-doors, validationActions: [Deny]}\n",
    );
    run(kubectl("create -f").arg(&policy));
    // The API server takes a moment to know the policy.
    let denied = wait_until("the policy", PATIENCE, || {
        let change = "label door guarded --dry-run=server --overwrite checked=yes";
        Ok((!kubectl(change).output()?.status.success()).then_some(()))
    });
    denied.expect("a policy that holds");
    kubectl_runs("delete door guarded --wait=false");
    operator.says(&["\"level\":\"ERROR\"", "\"guarded\"", "guarded doors stay"]);
    get_until(
        "events --field-selector=reason=FinalizerFailed -o jsonpath={.items[*].message}",
        |notes| notes.contains("guarded doors stay"),
    );
    get_until(
        "door guarded -o jsonpath={.status.conditions[?(@.type==\"Ready\")]}",
        |ready| ready.contains("\"False\"") && ready.contains("guarded doors stay"),
    );
    run(kubectl("delete -f").arg(&policy));
    kubectl_waits("--for=delete door/guarded");
}
