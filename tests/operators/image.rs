//! Tests controllers that run Pods, on a control plane with a simulated node, in a namespace that admits only Pods of
//! the Pod Security level "restricted".

use cluster::{Cluster, wait_until};
use serde_json::{Value, json};

use crate::{
    operator::{PATIENCE, Project, kubectl_on, kubectl_waits_on, new_cluster_with_controllers},
    scaffold::run,
};

/// Waits until `kubectl get` with `arguments` prints `expected`.
#[track_caller]
fn becomes(cluster: &Cluster, arguments: &str, expected: &str) {
    let waited = wait_until(&format!("{expected} of {arguments}"), PATIENCE, || {
        let output = kubectl_on(cluster, &format!("get {arguments}")).output()?;
        anyhow::ensure!(output.stdout == expected.as_bytes(), "{output:?}");
        Ok(Some(()))
    });
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn a_pod_runs_the_image_of_its_object_and_the_environment() {
    let project = Project::new(
        "caching",
        &[
            "init --domain example.com",
            "create api --group caching --version v1 --kind Memcached --image=memcached:1.6 \
             --image-container-command=memcached,-v --image-container-port=11211 --run-as-user=1001",
            "create api --group caching --version v1 --kind Farm \
             --owns apps/v1/DaemonSet,apps/v1/StatefulSet,batch/v1/Job,v1/Pod",
        ],
    );
    let mut cluster = new_cluster_with_controllers();
    cluster.add_simulated_node(&|_| {}).expect("a node");
    let cluster = cluster;
    let kubectl = |arguments: &str| run(&mut kubectl_on(&cluster, arguments));
    project.make_on(&cluster, "install");
    kubectl("label namespace default pod-security.kubernetes.io/enforce=restricted");
    let mut operator = project.operator().on(&cluster).start();
    run(kubectl_on(&cluster, "apply -k").arg(project.path().join("config/samples")));

    kubectl_waits_on(&cluster, "memcached/memcached-sample --for=condition=Ready");
    let deployment = kubectl("get deployment memcached-sample -o json");
    let deployment: Value = serde_json::from_str(&deployment).expect("JSON");
    assert_eq!(deployment["spec"]["replicas"], 1);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "memcached:1.6");
    assert_eq!(container["command"], json!(["memcached", "-v"]));
    assert_eq!(container["ports"][0]["containerPort"], 11211);
    assert_eq!(container["securityContext"]["runAsUser"], 1001);

    // The spec has a size and a port, and the API server enforces their limits.
    let patch = |patch: &str| {
        let mut patch_command =
            kubectl_on(&cluster, "patch memcached memcached-sample --type=merge");
        patch_command.arg(format!("--patch={patch}")).output()
    };
    let refused = patch(r#"{"spec":{"size":-1,"containerPort":65536}}"#).expect("kubectl runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("spec.size") && said.contains("spec.containerPort"),
        "{said}"
    );
    let changed = patch(r#"{"spec":{"size":3,"containerPort":11212}}"#).expect("kubectl runs");
    assert!(changed.status.success(), "{changed:?}");
    let ready = "deployment memcached-sample -o \
                 jsonpath={.status.updatedReplicas}/{.status.readyReplicas}/{.spec.template.spec.containers[0].ports[0].containerPort}";
    becomes(&cluster, ready, "3/3/11212");

    // The namespace admits the Pods of all kinds: three of the Deployment, one of each other kind.
    let waited = wait_until("the Pods of all kinds", PATIENCE, || {
        let running = "get pods --field-selector=status.phase=Running -o name";
        let pods = run(&mut kubectl_on(&cluster, running));
        anyhow::ensure!(pods.lines().count() == 7, "only these run:\n{pods}");
        Ok(Some(()))
    });
    waited.unwrap_or_else(|error| panic!("{error:#}"));

    // An environment variable names another image.
    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
    let launch = project.operator().on(&cluster);
    let _operator = launch.env("MEMCACHED_IMAGE", "memcached:1.7").start();
    let image = "deployment memcached-sample -o jsonpath={.spec.template.spec.containers[0].image}";
    becomes(&cluster, image, "memcached:1.7");
}
