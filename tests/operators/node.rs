//! Tests the way from source to a working Pod: builds the image of a project, and runs it on a cluster with a node.

mod images;

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::Command,
    thread,
    time::SystemTime,
};

use cluster::{Cluster, kubectl_limit, wait_until};
use tempfile::TempDir;

use self::images::{BASE, Images};
use crate::{
    compile::{build_environment, target_folder},
    operator::{PATIENCE, Project, kubectl_on},
    scaffold::{refused, root, run},
};

const IMAGE: &str = "example.com/guestbook:e2e";
const NAMESPACE: &str = "guestbook-system";
const DEPLOYMENT: &str = "deployment/guestbook-controller-manager";
const SERVICE: &str = "guestbook-metrics";
const LABEL: &str = "control-plane=controller-manager";
/// An image that contains only kubectl.
const KUBECTL: &str = "example.com/kubectl:e2e";

/// The limit for the bytes that the image adds to the base image of the Dockerfile's last stage.
const TOO_BIG: u64 = 20_000_000;

#[test]
#[ignore = "takes root, podman and a container runtime, and minutes: `make test-e2e`"]
fn make_deploy_makes_a_pod_that_works() {
    let project = Project::scaffold(
        "guestbook",
        &[
            "init --domain com --repo guestbook --runtime vendored",
            "create api --group webapp --version v1 --kind Guestbook --owns apps/v1/Deployment",
            "create webhook --group webapp --version v1 --kind Guestbook --defaulting \
             --programmatic-validation",
        ],
    );
    let webhook = "src/webhook/webapp/guestbook.rs";
    project.trim_title(webhook, "Guestbook");
    project.refuse_title(webhook, "Guestbook");
    project.compile();
    let images = Images::new();
    images_of_all_platforms_are_pushed(&images, &project);
    a_change_compiles_no_dependency(&images, &project);
    the_image_holds_the_program_alone(&images);

    let cluster = Cluster::start_with_node(&|step| eprintln!("{step}"));
    let node = Node(cluster.unwrap_or_else(|error| panic!("{error:#}")));
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("image.tar");
    images.podman(&format!("save --output={} {IMAGE}", archive.display()));
    node.0.load_images(&archive).unwrap();
    let kubectl = fs::canonicalize(node.0.kubectl_path()).unwrap();
    node.0.load_program(KUBECTL, &kubectl).unwrap();

    project.make_on(&node.0, &format!("deploy IMG={IMAGE}"));
    node.waits(&format!(
        "condition=Available --namespace={NAMESPACE} {DEPLOYMENT}"
    ));
    let refusal = refused(&mut node.kubectl(&format!(
        "run privileged --image={KUBECTL} --namespace={NAMESPACE}"
    )));
    assert!(
        refusal.contains(r#"violates PodSecurity "restricted:"#),
        "{refusal}"
    );

    // The operator reconciles the sample, and the Deployment that the sample owns becomes available.
    let samples = project.path().join("config/samples");
    // The Service of the webhooks finds a new Pod only after a moment, so the command is repeated.
    node.shows_with(&format!("apply -k {}", samples.display()), |_| true);
    node.waits("condition=Ready guestbook/guestbook-sample");
    node.waits("condition=Available deployment/guestbook-sample");

    webhooks_are_called_by_their_service(&node);
    metrics_are_for_pods_that_may_read_them(&node);

    // The kubelet restarts a killed container, and the operator continues to reconcile.
    let pod = node.prints(&format!(
        "get pods --namespace={NAMESPACE} --selector={LABEL} -o \
         jsonpath={{.items[0].status.containerStatuses[0].containerID}}"
    ));
    let (_, container) = pod.split_once("//").unwrap();
    kill(container);
    node.shows(
        &format!(
            "pods --namespace={NAMESPACE} --selector={LABEL} -o \
             jsonpath={{.items[0].status.containerStatuses[0].restartCount}}"
        ),
        |restarts| restarts == "1",
    );
    node.follows_a_change("2");

    another_one_leads_when_the_leader_is_gone(&node);

    // The API server has forbidden none of the operator's requests.
    let user = format!("system:serviceaccount:{NAMESPACE}:guestbook-controller-manager");
    let requests = node.0.requests_by(&user).unwrap().into_iter();
    let (refused, answered): (Vec<_>, Vec<_>) = requests.partition(|request| request.code == 403);
    assert!(!answered.is_empty(), "{user} asked for nothing");
    assert!(refused.is_empty(), "{refused:#?}");

    // `make undeploy` deletes the operator, its CRD and the objects that the operator owned.
    project.make_on(&node.0, "undeploy");
    node.has_nothing_of_the_operator();

    // The end-to-end test of the project succeeds, too.
    let mut make = images.make(project.path(), &format!("test-e2e KIND= IMG={IMAGE}"));
    let said = run(make
        .arg(format!("KUBECTL={}", node.0.kubectl_path().display()))
        .env("KUBECONFIG", node.0.kubeconfig())
        .env("CARGO_TARGET_DIR", target_folder(project.path()))
        .envs(build_environment(project.path())));
    assert!(said.contains("==> Remove everything"), "{said}");
    node.has_nothing_of_the_operator();
}

/// Checks that the end-to-end test of a project deletes the cluster that it created, even if the test fails.
#[test]
fn make_test_e2e_leaves_no_cluster_of_kind() {
    let folder = TempDir::new().unwrap();
    let kind = folder.path().join("kind");
    fs::write(
        &kind,
        "#!/bin/sh\necho \"$@\" >> calls\n[ \"$1\" != get ] || echo \"$THERE\"\ntest \"$1\" != load\n",
    )
    .unwrap();
    fs::set_permissions(&kind, Permissions::from_mode(0o755)).unwrap();
    let script = root().join("tests/golden/guestbook/tests/e2e.sh");
    let calls = |image: &str, there: &str| {
        let output = Command::new("sh")
            .arg(&script)
            .current_dir(folder.path())
            .env("IMG", image)
            .env("KIND", &kind)
            .env("THERE", there)
            .env("KUBECTL", "true")
            .env("CONTAINER_TOOL", &kind)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let calls = folder.path().join("calls");
        let text = fs::read_to_string(&calls).unwrap();
        fs::remove_file(calls).unwrap();
        text
    };
    assert_eq!(
        calls(IMAGE, ""),
        "get clusters\n\
         create cluster --name guestbook-e2e --wait 3m\n\
         tag example.com/guestbook:e2e example.com/guestbook:e2e\n\
         save --output target/e2e/image.tar example.com/guestbook:e2e\n\
         load image-archive --name guestbook-e2e target/e2e/image.tar\n\
         delete cluster --name guestbook-e2e\n"
    );
    // A cluster that existed before the test is kept. The image gets the name that Kubernetes looks for.
    assert_eq!(
        calls("guestbook:latest", "guestbook-e2e"),
        "get clusters\n\
         export kubeconfig --name guestbook-e2e\n\
         tag guestbook:latest docker.io/library/guestbook:latest\n\
         save --output target/e2e/image.tar docker.io/library/guestbook:latest\n\
         load image-archive --name guestbook-e2e target/e2e/image.tar\n"
    );
}

/// Checks that images for all platforms are pushed. The build cross-compiles for the other platform, because programs
/// of that platform do not run here.
fn images_of_all_platforms_are_pushed(images: &Images, project: &Project) {
    let (one, all) = (
        images.in_registry("guestbook:one"),
        images.in_registry("guestbook:all"),
    );
    for arguments in [
        format!("docker-buildx IMG={all}"),
        format!("docker-build docker-push IMG={one}"),
    ] {
        run(&mut images.make(project.path(), &arguments));
    }
    for (image, platform, machine) in [
        (&one, images::PLATFORM, images::MACHINE),
        (&all, "linux/amd64", "X86-64"),
        (&all, "linux/arm64", "AArch64"),
    ] {
        let said = images.pulled_elf_header(image, platform);
        assert!(said.contains(machine), "{platform}: {said}");
    }
}

/// Checks that a build after a change of the source takes the layer with the dependencies from the cache.
fn a_change_compiles_no_dependency(images: &Images, project: &Project) {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    let controller = "src/controller/webapp/guestbook.rs";
    let text = format!("{}\n// Changed at {now:?}.\n", project.read(controller));
    fs::write(project.path().join(controller), text).unwrap();
    let said = run(&mut images.make(project.path(), &format!("docker-build IMG={IMAGE}")));
    assert!(said.contains("Compiling guestbook"), "{said}");
    assert_eq!(said.matches("Compiling").count(), 1, "{said}");
}

/// Checks that the image runs without root, and contains only the program and the base image of the Dockerfile's last
/// stage.
fn the_image_holds_the_program_alone(images: &Images) {
    let added = images.size(IMAGE) - images.size(BASE);
    assert!(added < TOO_BIG, "the image adds {added} bytes");
    let user = images.podman(&format!("image inspect --format={{{{.User}}}} {IMAGE}"));
    assert_eq!(user.trim(), "65532:65532");
    let difference = images.podman(&format!("diff {IMAGE} {BASE}"));
    assert_eq!(difference.trim(), "A /manager");
    assert_eq!(images.shells(IMAGE), "");
    let sections = images.sections(IMAGE);
    assert!(sections.contains(" .text"), "{sections}");
    assert!(
        !sections.contains(" .symtab") && !sections.contains(" .debug_"),
        "{sections}"
    );
}

/// Checks that the API server calls the webhooks through their Service. The Pod has created the certificate, and has
/// written its authority to the webhook configurations.
fn webhooks_are_called_by_their_service(node: &Node) {
    let patch = |title: &str| {
        let patch = format!(r#"{{"spec":{{"title":"{title}"}}}}"#);
        let mut kubectl = node.kubectl(
            "patch guestbook guestbook-sample --dry-run=server --type=merge \
             -o jsonpath={.spec.title}",
        );
        kubectl.arg(format!("--patch={patch}"));
        kubectl
    };
    assert_eq!(run(&mut patch(" a title ")), "a title");
    let refusal = refused(&mut patch("forbidden"));
    let why = r#"spec.title: Invalid value: "forbidden": is taken"#;
    assert!(refusal.contains(why), "{refusal}");
}

/// Checks that a Pod reads the metrics from the Service over HTTPS, with the token of a `ServiceAccount` that has the
/// role for metrics, and that other Pods cannot.
fn metrics_are_for_pods_that_may_read_them(node: &Node) {
    let address = node.prints(&format!(
        "get service --namespace={NAMESPACE} {SERVICE} \
         -o jsonpath={{.spec.clusterIP}}"
    ));
    run(&mut node.kubectl("create namespace monitoring"));
    for account in ["reader", "stranger"] {
        run(&mut node.kubectl(&format!(
            "create serviceaccount {account} --namespace=monitoring"
        )));
    }
    run(&mut node.kubectl(
        "create clusterrolebinding monitoring --clusterrole=guestbook-metrics-reader \
         --serviceaccount=monitoring:reader",
    ));
    let program = fs::canonicalize(node.0.kubectl_path()).unwrap();
    let program = program.file_name().unwrap().display();
    let scrape = |account: &str| {
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "metrics", "cluster": {
                "server": format!("https://{address}:8443"),
                // The operator creates its certificate itself.
                "insecure-skip-tls-verify": true,
            }}],
            "users": [{"name": "account", "user": {
                "tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
            }}],
            "contexts": [{"name": "metrics", "context": {"cluster": "metrics", "user": "account"}}],
            "current-context": "metrics",
        });
        run(node
            .kubectl(&format!(
                "create configmap {account} --namespace=monitoring"
            ))
            .arg(format!("--from-literal=kubeconfig={kubeconfig}")));
        let pod = serde_json::json!({"spec": {
            "serviceAccountName": account,
            "volumes": [{"name": "kubeconfig", "configMap": {"name": account}}],
            "containers": [{
                "name": account,
                "image": KUBECTL,
                "command": [format!("/{program}"), "get", "--raw=/metrics"],
                "env": [{"name": "KUBECONFIG", "value": "/config/kubeconfig"}],
                "volumeMounts": [{"name": "kubeconfig", "mountPath": "/config"}],
            }],
        }});
        run(node
            .kubectl(&format!(
                "run {account} --namespace=monitoring --restart=Never --image={KUBECTL}"
            ))
            .arg(format!("--overrides={pod}")));
        let phase = node.shows(
            &format!("pod {account} --namespace=monitoring -o jsonpath={{.status.phase}}"),
            |phase| ["Succeeded", "Failed"].contains(&phase),
        );
        (
            phase,
            node.prints(&format!("logs {account} --namespace=monitoring")),
        )
    };
    let (phase, metrics) = scrape("reader");
    assert_eq!(phase, "Succeeded", "{metrics}");
    let counted =
        r#"controller_runtime_reconcile_total{controller="guestbook.webapp.com",result="success"}"#;
    assert!(metrics.contains(counted), "{metrics}");
    let (phase, said) = scrape("stranger");
    assert_eq!(phase, "Failed", "{said}");
    assert!(said.contains("Forbidden"), "{said}");
    // The proxy of the API server does not forward the client's token.
    let said = refused(&mut node.kubectl(&format!(
        "get --raw=/api/v1/namespaces/{NAMESPACE}/services/https:{SERVICE}:https/proxy/metrics"
    )));
    assert!(said.contains("provide credentials"), "{said}");
}

/// Checks that another Pod becomes the leader when the leader is deleted: the second replica, or the Pod that the
/// Deployment creates as a replacement.
fn another_one_leads_when_the_leader_is_gone(node: &Node) {
    run(&mut node.kubectl(&format!(
        "scale --namespace={NAMESPACE} --replicas=2 {DEPLOYMENT}"
    )));
    run(&mut node.kubectl(&format!(
        "rollout status --namespace={NAMESPACE} {} {DEPLOYMENT}",
        kubectl_limit(PATIENCE)
    )));
    let leader =
        format!("leases --namespace={NAMESPACE} -o jsonpath={{.items[0].spec.holderIdentity}}");
    let first = node.shows(&leader, |holder| !holder.is_empty());
    let (pod, _) = first.split_once('_').unwrap();
    run(&mut node.kubectl(&format!("delete pod --namespace={NAMESPACE} {pod}")));
    node.shows(&leader, |holder| {
        !holder.is_empty() && !holder.starts_with(pod)
    });
    node.follows_a_change("3");
}

/// Kills all processes of a container. The names of their control groups contain the ID of the container.
fn kill(container: &str) {
    let mut killed = 0;
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let groups = fs::read_to_string(process.path().join("cgroup")).unwrap_or_default();
        if groups.contains(container) {
            run(Command::new("kill").arg("-KILL").arg(process.file_name()));
            killed += 1;
        }
    }
    assert!(killed > 0, "no process is in {container}");
}

/// A cluster with a node. If a test fails, the state of the cluster is printed.
struct Node(Cluster);

impl Node {
    fn kubectl(&self, arguments: &str) -> Command {
        kubectl_on(&self.0, arguments)
    }

    fn prints(&self, arguments: &str) -> String {
        run(&mut self.kubectl(arguments))
    }

    /// Waits with `kubectl wait`.
    fn waits(&self, what: &str) {
        // The limit is that of `shows_with`, which also repeats the command if the API server refuses it.
        self.shows_with(&format!("wait --timeout=1s --for={what}"), |_| true);
    }

    /// Waits until `good` accepts the output of `kubectl get`, and returns the output.
    fn shows(&self, arguments: &str, good: impl Fn(&str) -> bool) -> String {
        self.shows_with(&format!("get {arguments}"), good)
    }

    fn shows_with(&self, arguments: &str, good: impl Fn(&str) -> bool) -> String {
        let shown = wait_until(&format!("kubectl {arguments}"), PATIENCE, || {
            let text = cluster::run(&mut self.kubectl(arguments))?;
            Ok(good(&text).then_some(text))
        });
        shown.unwrap_or_else(|error| panic!("{error:#}"))
    }

    fn has_nothing_of_the_operator(&self) {
        let kinds = "all,crd,namespaces,clusterroles,clusterrolebindings,\
                     mutatingwebhookconfigurations,validatingwebhookconfigurations";
        self.shows(&format!("{kinds} --all-namespaces -o name"), |names| {
            !names.contains("guestbook")
        });
    }

    /// Changes the sample, and waits until the operator writes the new generation to the sample's status.
    fn follows_a_change(&self, generation: &str) {
        // The same Pod serves the webhooks and may have just started, so the patch is repeated.
        let patch = format!(r#"{{"spec":{{"title":"Generation-{generation}"}}}}"#);
        let patch = format!("patch guestbook guestbook-sample --type=merge -p {patch}");
        self.shows_with(&patch, |_| true);
        self.shows(
            "guestbook guestbook-sample -o jsonpath={.status.observedGeneration}",
            |observed| observed == generation,
        );
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        for arguments in [
            "get pods --all-namespaces -o wide",
            "get events --all-namespaces --sort-by=.lastTimestamp",
            "get guestbooks,deployments -o yaml",
            "logs --namespace=guestbook-system --selector=control-plane=controller-manager --tail=50",
        ] {
            let output = self.kubectl(arguments).output();
            let text = output.map(|output| [output.stdout, output.stderr].concat());
            eprintln!("kubectl {arguments}:");
            eprintln!("{}", String::from_utf8_lossy(&text.unwrap_or_default()));
        }
    }
}
