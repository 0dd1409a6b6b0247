//! Tests a cleanup with work in it, on a real API server: the children that it needs stay until it has ended.

use cluster::wait_until;
use hyper::Method;

use crate::{
    operator::{Operator, PATIENCE, Project, cluster, get_until, kubectl},
    proxy::Proxy,
    scaffold::run,
};

/// Creates a project with a kind that has a Secret and a `ConfigMap`. Before an object is deleted, a Job runs.
fn project() -> Project {
    let project = Project::scaffold(
        "cleanup",
        &[
            "init --domain example.com",
            "create api --group records --version v1 --kind Ledger --finalizer \
             --owns v1/Secret,v1/ConfigMap,batch/v1/Job",
        ],
    );
    let controller = "src/controller/records/ledger.rs";
    for kept in ["secrets", "jobs"] {
        let (owned, kept) = (
            format!("{kept}: builder.owns(),"),
            format!("{kept}: builder.owns_until_cleanup(),"),
        );
        project.edit(controller, &owned, &kept);
    }
    project.edit(
        controller,
        "config_maps: builder.owns(),",
        "config_maps: builder.owns_named(NAMES.iter().copied()),",
    );
    project.edit(
        controller,
        "        Rule::of::<ConfigMap>(children::VERBS),\n",
        "        Rule::of::<ConfigMap>(&[Verb::Create]),\n        \
         Rule::of::<ConfigMap>(&[Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Watch])\n            \
         .named(NAMES),\n",
    );
    let names = "/// The objects that may have a ConfigMap.\n\
                 const NAMES: &[&str] = &[\"foreground\", \"background\", \"conflict\", \"killed\"];\n\n";
    let head = "/// Brings the cluster to";
    project.edit(controller, head, &format!("{names}{head}"));
    let applied = "        let all = [job(object)];\n        \
                   let all = self.jobs.apply(object, all).await?;\n        \
                   readiness.include(&all);\n";
    project.edit(controller, applied, "");
    let todo = "        // Remove here what `object` would leave behind";
    let work = "        let job = match self.jobs.apply_one(object, job(object)).await {\n            \
                Err(error) if error.is_namespace_terminating() => return Ok(kube_manager::Cleanup::Done),\n            \
                applied => applied?,\n        };\n        \
                if !kube_manager::Readiness::of(&*job).is_ready() {\n            \
                return Ok(kube_manager::Cleanup::AgainIn(std::time::Duration::from_secs(600)));\n        }\n";
    project.edit(controller, todo, &format!("{work}{todo}"));
    owns_other_secrets(&project);
    project.compile();
    project.make("install");
    project
}

/// Adds Secrets that the cleanup does not need.
fn owns_other_secrets(project: &Project) {
    let controller = "src/controller/records/ledger.rs";
    for (known, new) in [
        (
            "    secrets: Children<Secret, Ledger>,\n",
            "    others: Children<Secret, Ledger>,\n",
        ),
        (
            "            secrets: builder.owns_until_cleanup(),\n",
            "            others: builder.owns(),\n",
        ),
        (
            "        let all = [secret(object)];\n",
            "        let mut other = secret(object);\n        \
             other.metadata.name = Some(format!(\"{}-other\", object.name_any()));\n        \
             self.others.apply(object, [other]).await?;\n",
        ),
    ] {
        project.edit(controller, known, &format!("{known}{new}"));
    }
}

/// The query for the name of an object, which prints nothing if there is no such object.
fn query(kind: &str, name: &str) -> String {
    format!("{kind} {name} --ignore-not-found -o name")
}

/// Creates a Ledger, and waits for its children.
fn create(project: &Project, name: &str) {
    apply(project, name);
    for kind in ["secret", "configmap"] {
        get_until(&query(kind, name), |name| !name.is_empty());
    }
}

fn apply(project: &Project, name: &str) {
    let manifest = project.manifest(&format!(
        "apiVersion: records.example.com/v1\nkind: Ledger\nmetadata: {{name: {name}}}\nspec: {{title: a}}\n"
    ));
    run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
}

/// Waits for the Pod of the Job of a Ledger, and returns its name.
fn pod(name: &str) -> String {
    let pods = format!("pods --selector=batch.kubernetes.io/job-name={name} -o name");
    let pod = get_until(&pods, |pods| pods.lines().count() == 1);
    pod.trim().to_owned()
}

/// Completes a Pod: there is no kubelet that would.
fn complete(pod: &str) {
    let patch = format!("patch {pod} --subresource=status --type=merge -p");
    run(kubectl(&patch).arg(r#"{"status":{"phase":"Succeeded"}}"#));
}

#[test]
fn what_a_cleanup_needs_stays_until_it_has_ended() {
    let project = project();
    let proxy = Proxy::start(cluster());
    let operator = project.operator().through(&proxy).start();
    a_controller_owns_the_names_of_its_role(&project);
    children_of_one_kind_may_refer_to_their_owner_in_both_ways();
    for cascade in ["foreground", "background"] {
        create(&project, cascade);
        let names = |kind: &str| query(kind, cascade);
        keep_in_deletion(&project, cascade);
        let delete = format!("delete ledger {cascade} --cascade={cascade} --wait=false");
        run(&mut kubectl(&delete));

        let pod = pod(cascade);
        if cascade == "foreground" {
            get_until(&names("configmap"), str::is_empty);
        }
        for kind in ["secret", "job", "ledger"] {
            let name = run(kubectl("get").args(names(kind).split(' ')));
            assert!(!name.is_empty(), "the {kind} stays");
        }

        complete(&pod);
        for kind in ["secret", "job"] {
            get_until(&names(kind), str::is_empty);
        }
        let patch = format!("patch configmap {cascade}-blocking --type=merge -p");
        run(kubectl(&patch).arg(r#"{"metadata":{"finalizers":null}}"#));
        for kind in ["ledger", "configmap"] {
            get_until(&names(kind), str::is_empty);
        }
    }
    a_namespace_is_deleted_although_no_job_can_run(&project);
    a_conflict_with_a_child_keeps_the_finalizer(&project, &proxy);
    a_cleanup_that_has_ended_is_not_repeated_after_a_kill(&project, operator);
}

/// Creates a `ConfigMap` that blocks the end of a foreground deletion of a Ledger. Until then, the garbage collector
/// deletes each object whose owner reference names the Ledger.
fn keep_in_deletion(project: &Project, ledger: &str) {
    let uid = run(&mut kubectl(&format!(
        "get ledger {ledger} -o jsonpath={{.metadata.uid}}"
    )));
    let manifest = project.manifest(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {ledger}-blocking\n  \
         finalizers: [example.com/stays]\n  ownerReferences:\n  - {{apiVersion: records.example.com/v1, kind: Ledger, \
         name: {ledger}, uid: {uid}, blockOwnerDeletion: true}}\n"
    ));
    run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
}

/// The role allows no other names. A child with another name is refused, and the condition says why.
fn a_controller_owns_the_names_of_its_role(project: &Project) {
    create(project, "background");
    run(&mut kubectl("delete configmap background"));
    get_until(&query("configmap", "background"), |name| !name.is_empty());
    apply(project, "other");
    get_until(
        "ledger other -o jsonpath={.status.conditions[?(@.type==\"Ready\")]}",
        |ready| ready.contains("OtherName") && ready.contains("ConfigMap other"),
    );
}

/// Neither of the two deletes the Secret of the other.
fn children_of_one_kind_may_refer_to_their_owner_in_both_ways() {
    let uids = || {
        let uids = "-o jsonpath={.items[*].metadata.uid}";
        run(&mut kubectl(&format!(
            "get secrets --selector=app.kubernetes.io/managed-by=cleanup {uids}"
        )))
    };
    let secret = query("secret", "background-other");
    get_until(&secret, |name| !name.is_empty());
    let before = uids();
    for title in ["b", "c"] {
        let patch = format!(
            "patch ledger background --type=merge -p {{\"spec\":{{\"title\":\"{title}\"}}}}"
        );
        let generation = run(kubectl(&patch).args(["-o", "jsonpath={.metadata.generation}"]));
        let observed = "ledger background -o jsonpath={.status.observedGeneration}";
        get_until(observed, |observed| observed == generation);
        assert_eq!(uids(), before);
    }
}

fn a_namespace_is_deleted_although_no_job_can_run(project: &Project) {
    run(&mut kubectl("create namespace left"));
    let manifest = project.manifest(
        "apiVersion: records.example.com/v1\nkind: Ledger\n\
         metadata: {name: background, namespace: left}\nspec: {title: a}\n",
    );
    run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
    get_until(
        &format!("--namespace left {}", query("secret", "background")),
        |name| !name.is_empty(),
    );
    // kubectl waits until the namespace is gone.
    run(&mut kubectl("delete namespace left"));
}

/// The API server refuses to delete a child once. The operator deletes it again before it removes the finalizer.
fn a_conflict_with_a_child_keeps_the_finalizer(project: &Project, proxy: &Proxy) {
    create(project, "conflict");
    let deletes_secret = |method: &Method, path: &str| {
        *method == Method::DELETE && path.contains("/secrets/conflict")
    };
    let _refusal = proxy.answer(deletes_secret, 409, 1);
    run(&mut kubectl("delete ledger conflict --wait=false"));
    complete(&pod("conflict"));
    get_until(&query("ledger", "conflict"), str::is_empty);

    let deletions = proxy.exchanges().into_iter();
    let deletions = deletions.filter(|exchange| deletes_secret(&exchange.method, &exchange.path));
    let answers: Vec<_> = deletions.map(|exchange| exchange.code).collect();
    assert_eq!(answers, [409, 200]);
}

/// The children that the cleanup needed are deleted, and the finalizer is not removed yet, when the operator is killed.
fn a_cleanup_that_has_ended_is_not_repeated_after_a_kill(project: &Project, operator: Operator) {
    let policy = project.manifest(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n\
         metadata: {name: finalizers-stay}\nspec:\n  matchConstraints:\n    resourceRules:\n    \
         - {apiGroups: [records.example.com], apiVersions: [v1], operations: [UPDATE], resources: [ledgers]}\n  \
         validations:\n  - {expression: \"object.metadata.name != 'killed' || has(object.metadata.finalizers)\"}\n\
         ---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n\
         metadata: {name: finalizers-stay}\nspec: {policyName: finalizers-stay, validationActions: [Deny]}\n",
    );
    run(kubectl("create -f").arg(&policy));
    create(project, "killed");
    let denied = wait_until("the policy", PATIENCE, || {
        let change = "patch ledger killed --dry-run=server --type=merge -p";
        let patch = r#"{"metadata":{"finalizers":null}}"#;
        let output = kubectl(change).arg(patch).output()?;
        Ok((!output.status.success()).then_some(()))
    });
    denied.expect("a policy that holds");
    run(&mut kubectl("delete ledger killed --wait=false"));
    complete(&pod("killed"));
    operator.says(&[
        "\"level\":\"ERROR\"",
        "\"killed\"",
        "cannot remove the finalizer",
    ]);
    for kind in ["secret", "job"] {
        get_until(&query(kind, "killed"), str::is_empty);
    }
    operator.signal("KILL");
    drop(operator);
    run(kubectl("delete -f").arg(&policy));

    // A second cleanup would create the Job again, and wait for it.
    let _operator = project.start();
    get_until(&query("ledger", "killed"), str::is_empty);
    let job = run(kubectl("get").args(query("job", "killed").split(' ')));
    assert_eq!(job, "");
}
