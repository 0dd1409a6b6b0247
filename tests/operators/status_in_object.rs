//! Tests a kind whose CRD has no subresource `status`, on a real API server: two controllers write the status with the
//! object, and each write raises the generation that they observe.

use std::fs;

use serde_json::{Value, json};

use crate::{
    operator::{Operator, Project, cluster, get_until, kubectl},
    scaffold::{root, run},
};

/// The kind's own controller, with a finalizer. It writes the status twice for a new title.
const OWN: &str = r#"
use kube_manager::{Action, Builder, Cleanup, Context, Reconciler, rbac::{Rule, Verb}};

use crate::api::work::v1::Task;

pub struct Controller;

impl Controller {
    pub fn new(_: &mut Builder<Task>) -> Self {
        Self
    }
}

impl Reconciler for Controller {
    type Object = Task;
    type Error = kube::Error;

    const NAME: &'static str = "task.work.example.com";
    const RULES: &'static [Rule] = &[Rule::of::<Task>(&[Verb::List, Verb::Patch, Verb::Watch])];
    const FINALIZER: bool = true;

    async fn reconcile(&self, task: &Task, context: &Context) -> kube::Result<Action> {
        let mut status = task.status.clone().unwrap_or_default();
        if status.title.as_ref() != Some(&task.spec.title) {
            status.phase = Some("Working".to_owned());
            context.write_status(task, &status).await?;
        }
        status.phase = Some("Done".to_owned());
        status.title = Some(task.spec.title.clone());
        status.observed_generation = task.metadata.generation;
        context.write_status(task, &status).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, _: &Task, _: &Context) -> kube::Result<Cleanup> {
        Ok(Cleanup::Done)
    }
}
"#;

/// Another controller of the kind, which writes a part of the status.
const AUDIT: &str = r#"
use kube_manager::{Action, Builder, Context, Reconciler, rbac::{Rule, Verb}};

use crate::api::work::v1::{Task, task::TaskStatusAudit};

pub struct Controller;

impl Controller {
    pub fn new(_: &mut Builder<Task>) -> Self {
        Self
    }
}

impl Reconciler for Controller {
    type Object = Task;
    type Error = kube::Error;

    const NAME: &'static str = "audit.work.example.com";
    const RULES: &'static [Rule] = &[Rule::of::<Task>(&[Verb::List, Verb::Patch, Verb::Watch])];

    async fn reconcile(&self, task: &Task, context: &Context) -> kube::Result<Action> {
        let mut status = task.status.clone().unwrap_or_default();
        status.audit = Some(TaskStatusAudit {
            observed_generation: task.metadata.generation,
        });
        context.write_status(task, &status).await?;
        Ok(Action::await_change())
    }
}
"#;

fn project() -> Project {
    let crd = root().join("tests/crds/tasks.yaml");
    let project = Project::scaffold(
        "in-object",
        &[
            "init --domain example.com",
            &format!("create api --crd {}", crd.display()),
            "create api --group work --version v1 --kind Task --resource=false --controller-name audit",
        ],
    );
    for (controller, text) in [("task", OWN), ("audit", AUDIT)] {
        let path = format!("src/controller/work/{controller}.rs");
        fs::write(project.path().join(path), text).expect("a writable file");
    }
    project.compile();
    project.make("install");
    project
}

/// With the group, because another test has a kind with this name.
const TASKS: &str = "tasks.work.example.com";

fn create(project: &Project, name: &str, title: &str) {
    let task = json!({
        "apiVersion": "work.example.com/v1",
        "kind": "Task",
        "metadata": {"name": name},
        "spec": {"title": title},
    });
    let manifest = project.manifest(&task.to_string());
    run(kubectl("create -f").arg(manifest));
}

/// Waits until both controllers have observed the generation that their writes have made.
fn settles(name: &str, title: &str) -> Value {
    let text = get_until(&format!("{TASKS} {name} -o json"), |text| {
        let task: Value = serde_json::from_str(text).unwrap_or_default();
        let (generation, status) = (&task["metadata"]["generation"], &task["status"]);
        status["title"] == title
            && status["phase"] == "Done"
            && status["observedGeneration"] == *generation
            && status["audit"]["observedGeneration"] == *generation
    });
    serde_json::from_str(&text).expect("JSON")
}

/// The number of writes of an object that the API server has taken from the operator.
fn writes(operator: &Operator, name: &str) -> usize {
    let requests = operator.requests(cluster());
    let writes = requests.iter().filter(|request| {
        let is_task = request.resource == "tasks" && request.subresource.is_empty();
        is_task && request.name == name && request.verb == "patch" && request.code == 200
    });
    writes.count()
}

/// The most writes of one object after a change.
const FEW: usize = 10;

#[test]
fn a_status_without_a_subresource_settles_after_each_change() {
    let project = project();
    let crd = project.read("config/crd/bases/work.example.com_tasks.yaml");
    assert!(!crd.contains("subresources"), "{crd}");
    let role = project.read("config/rbac/role.yaml");
    assert!(!role.contains("tasks/"), "{role}");
    let operator = project.start();

    create(&project, "one", "first");
    settles("one", "first");
    // The finalizer; two writes of one controller, and one of the other. Each may have to write again, because a write of
    // the other one raises the generation.
    let first = writes(&operator, "one");
    assert!((4..=FEW).contains(&first), "{first}");
    // Another program writes the status with the object, as before the takeover.
    let note = r#"{"status":{"note":"by hand"}}"#;
    run(kubectl(&format!("patch {TASKS} one --type=merge -p")).arg(note));
    let title = r#"{"spec":{"title":"second"}}"#;
    run(kubectl(&format!("patch {TASKS} one --type=merge -p")).arg(title));
    let settled = settles("one", "second");
    assert_eq!(settled["status"]["note"], "by hand");
    let both = writes(&operator, "one");
    assert!((first + 3..=first + FEW).contains(&both), "{first} {both}");

    // The changes of another object show that the operator has seen its own last write, and what it has done then.
    create(&project, "two", "other");
    settles("two", "other");
    assert_eq!(writes(&operator, "one"), both);
    assert_eq!(settles("one", "second"), settled);

    // The API server refuses a write that is based on an older version.
    let patch = json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"},
        {"op": "add", "path": "/status", "value": {}},
    ]);
    let mut outdated = kubectl(&format!("patch {TASKS} one --type=json -p"));
    let refused = outdated.arg(patch.to_string()).output().expect("kubectl");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("has been modified"), "{error}");

    run(&mut kubectl(&format!("delete {TASKS} one two")));
    operator.stop();
}
