//! Tests a cleanup with work in it, on a real API server: the children that it needs stay until it has ended.

use crate::{
    operator::{Project, get_until, kubectl},
    scaffold::run,
};

/// Creates a project with a kind that has a Secret and a `ConfigMap`. Before an object is deleted, a Job runs.
fn project() -> Project {
    let project = Project::scaffold(
        "cleanup",
        &[
            "init --domain example.com",
            "create api --group shop --version v1 --kind Database --finalizer \
             --owns v1/Secret,v1/ConfigMap,batch/v1/Job",
        ],
    );
    let controller = "src/controller/shop/database.rs";
    for kept in ["secrets", "jobs"] {
        let (owned, kept) = (
            format!("{kept}: builder.owns(),"),
            format!("{kept}: builder.owns_until_cleanup(),"),
        );
        project.edit(controller, &owned, &kept);
    }
    let applied = "        let all = [job(object)];\n        \
                   let all = self.jobs.apply(object, all).await?;\n        \
                   readiness.include(&all);\n";
    project.edit(controller, applied, "");
    let todo = "        // Remove here what `object` would leave behind";
    let work = "        let job = self.jobs.apply_one(object, job(object)).await?;\n        \
                if !kube_manager::Readiness::of(&*job).is_ready() {\n            \
                return Ok(Action::requeue(std::time::Duration::from_secs(600)));\n        }\n";
    project.edit(controller, todo, &format!("{work}{todo}"));
    project.compile();
    project.make("install");
    project
}

#[test]
fn what_a_cleanup_needs_stays_until_it_has_ended() {
    let project = project();
    let _operator = project.start();
    for cascade in ["foreground", "background"] {
        let manifest = project.manifest(&format!(
            "apiVersion: shop.example.com/v1\nkind: Database\nmetadata: {{name: {cascade}}}\nspec: {{title: a}}\n"
        ));
        run(kubectl("apply -f").arg(manifest));
        let names = |kind: &str| format!("{kind} {cascade} --ignore-not-found -o name");
        for kind in ["secret", "configmap"] {
            get_until(&names(kind), |name| !name.is_empty());
        }
        let delete = format!("delete database {cascade} --cascade={cascade} --wait=false");
        run(&mut kubectl(&delete));

        let pods = format!("pods --selector=batch.kubernetes.io/job-name={cascade} -o name");
        let pod = get_until(&pods, |pods| pods.lines().count() == 1);
        if cascade == "foreground" {
            // The garbage collector has begun.
            get_until(&names("configmap"), str::is_empty);
        }
        for kind in ["secret", "job", "database"] {
            let name = run(kubectl("get").args(names(kind).split(' ')));
            assert!(!name.is_empty(), "the {kind} stays");
        }

        // There is no kubelet, so the test completes the Pod.
        let complete = format!("patch {} --subresource=status --type=merge -p", pod.trim());
        run(kubectl(&complete).arg(r#"{"status":{"phase":"Succeeded"}}"#));
        for kind in ["database", "secret", "job", "configmap"] {
            get_until(&names(kind), str::is_empty);
        }
    }
}
