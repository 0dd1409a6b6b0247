//! Tests, on a real API server, what a controller may declare besides its own kind and its owned objects: objects that
//! its object refers to, objects that map to its object, events from outside, a selector, a cleanup that takes time.
//! Also tests what else a program may run: tasks, and its own metrics.

use crate::{
    helm, http,
    operator::{Operator, PATIENCE, Project, kubectl},
    scaffold::run,
};

/// A controller that logs what it sees of the Secret that an object refers to by its title.
const CONTROLLER: &str = r#"
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{ResourceExt, runtime::{controller::Action, predicates, reflector::ObjectRef}};
use kube_manager::{
    Builder, Objects, Reconciler, Trigger, Watched, prometheus::IntCounter,
    rbac::{Rule, Verb},
};

use crate::api::doors::v1::*;

pub struct Controller {
    doors: Objects<Door>,
    secrets: Watched<Secret>,
    trigger: Trigger<Door>,
    start: Instant,
    opened: IntCounter,
}

/// The Secret that `door` refers to.
fn references(door: &Door) -> Vec<ObjectRef<Secret>> {
    let namespace = door.namespace().unwrap_or_default();
    vec![ObjectRef::new(&door.spec.title).within(&namespace)]
}

impl Controller {
    pub fn new(builder: &mut Builder<Door>) -> Self {
        let opened = IntCounter::new("doors_seen_total", "Doors seen").expect("a name");
        let registered = builder.registry().register(Box::new(opened.clone()));
        registered.expect("the only one");
        let trigger = Trigger::default();
        builder.listens(&trigger);
        builder.labels("ignored!=yes");
        builder.predicate(predicates::generation);
        builder.concurrency(3);
        builder
            .watches::<ConfigMap>()
            .labels("door")
            .requeues(|map| vec![ObjectRef::new(&map.labels()["door"]).within("default")]);
        Self {
            doors: builder.objects(),
            secrets: builder.watches().fields("type=Opaque").referenced_by(references),
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
    ];
    const FINALIZER: bool = true;

    async fn reconcile(&self, door: &Door) -> Result<Action, kube::Error> {
        self.opened.inc();
        let key = references(door).iter().find_map(|secret| self.secrets.get(secret));
        let key = key.map(|secret| secret.resource_version().unwrap_or_default());
        let doors = self.doors.all().len();
        tracing::info!(door = door.name_any(), key, doors, "sees");
        if door.spec.title == "bell" {
            let (trigger, other) = (self.trigger.clone(), ObjectRef::new("rung").within("default"));
            tokio::spawn(async move { trigger.reconcile(&other) });
        }
        Ok(Action::await_change())
    }

    async fn cleanup(&self, door: &Door) -> Result<Action, kube::Error> {
        // As if something outside took a while.
        if door.annotations().contains_key("free") {
            return Ok(Action::await_change());
        }
        tracing::info!(door = door.name_any(), after = ?self.start.elapsed(), "still there");
        Ok(Action::requeue(Duration::from_millis(100)))
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

/// Creates the Door of this name, or changes it.
fn apply(project: &Project, name: &str, title: &str, labels: &str) {
    let manifest = project.manifest(&format!(
        "apiVersion: doors.example.com/v1\nkind: Door\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n\
         spec: {{title: {title}}}\n"
    ));
    run(kubectl("apply -f").arg(manifest));
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
    kubectl_runs("wait --for=delete door/front --timeout=30s");
    assert_eq!(operator.lines(&["\"level\":\"ERROR\""]), [""; 0]);

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

    for door in ["back", "bell", "rung"] {
        kubectl_runs(&format!("annotate door {door} free=yes"));
    }
    kubectl_runs("delete door --all --timeout=30s");
    operator.signal("TERM");
    operator.says(&["went home"]);
    assert!(operator.ends_within(PATIENCE).success());
}
