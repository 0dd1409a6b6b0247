//! Tests that the throwaway control plane behaves like a real cluster, and leaves nothing behind.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    sync::LazyLock,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use cluster::{ADMINISTRATOR, Cluster, PATIENCE, Request, kubectl_limit, run, wait_until};

/// The longest time that the program may take to start a cluster. The first start on a machine builds Kubernetes, so
/// this is more than [`PATIENCE`], in which the program fails if a component does not start.
const START: Duration = Duration::from_secs(40 * 60);

fn start() -> Cluster {
    Cluster::start(&|line| eprintln!("{line}")).unwrap_or_else(|error| panic!("{error:#}"))
}

/// The cluster of the tests that only add objects.
static CLUSTER: LazyLock<Cluster> = LazyLock::new(start);

fn kubectl(cluster: &Cluster, arguments: &[&str]) -> Result<String> {
    run(cluster.kubectl().args(arguments))
}

fn apply(manifest: &str) -> Result<()> {
    let mut kubectl = CLUSTER
        .kubectl()
        .args(["apply", "--filename=-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut input = kubectl.stdin.take().context("no stdin")?;
    input.write_all(manifest.as_bytes())?;
    drop(input);
    ensure!(kubectl.wait()?.success(), "kubectl refused {manifest}");
    Ok(())
}

#[test]
fn has_the_namespaces_of_any_cluster() {
    let names = kubectl(&CLUSTER, &["get", "namespaces", "--output=name"]).unwrap();
    for name in ["default", "kube-system"] {
        assert!(names.contains(&format!("namespace/{name}\n")), "{names}");
    }
}

#[test]
fn refuses_a_service_account_without_a_role_and_records_it() {
    kubectl(&CLUSTER, &["create", "serviceaccount", "nobody"]).unwrap();
    let kubeconfig = CLUSTER
        .service_account_kubeconfig("default", "nobody")
        .unwrap();
    let user = "system:serviceaccount:default:nobody";

    let error = run(CLUSTER
        .kubectl()
        .env("KUBECONFIG", kubeconfig)
        .args(["get", "configmaps/missing"]))
    .unwrap_err();
    assert!(error.to_string().contains("Forbidden"), "{error:#}");
    assert!(error.to_string().contains(user), "{error:#}");

    let requests = CLUSTER.requests_by(user).unwrap();
    let refused: Vec<_> = requests
        .iter()
        .filter(|request| request.resource == "configmaps")
        .collect();
    let [refused] = refused[..] else {
        panic!("{refused:?}");
    };
    let expected = Request {
        time: refused.time.clone(),
        user: user.into(),
        verb: "get".into(),
        group: String::new(),
        resource: "configmaps".into(),
        subresource: String::new(),
        namespace: "default".into(),
        name: "missing".into(),
        code: 403,
        uri: "/api/v1/namespaces/default/configmaps/missing".into(),
        holder: None,
    };
    assert_eq!(*refused, expected);
}

#[test]
fn records_a_watch_while_it_runs() {
    let watch = CLUSTER
        .kubectl()
        .args(["get", "configmaps", "--watch", "--namespace=kube-public"])
        .stdout(Stdio::null())
        .spawn();
    let mut watch = Killed(watch.unwrap());
    let recorded = wait_until("the watch in the audit log", PATIENCE, || {
        let mut requests = CLUSTER.requests_by(ADMINISTRATOR)?.into_iter();
        Ok(requests.find(|it| it.verb == "watch" && it.namespace == "kube-public"))
    });
    assert_eq!(recorded.unwrap().code, 200);
    assert!(watch.0.try_wait().unwrap().is_none());
}

#[test]
fn deletes_an_object_whose_owner_is_gone() {
    kubectl(&CLUSTER, &["create", "configmap", "owner"]).unwrap();
    let uid = kubectl(
        &CLUSTER,
        &[
            "get",
            "configmap",
            "owner",
            "--output=jsonpath={.metadata.uid}",
        ],
    )
    .unwrap();
    apply(&format!(
        "
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  ownerReferences:
  - {{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}
"
    ))
    .unwrap();

    kubectl(&CLUSTER, &["delete", "configmap", "owner"]).unwrap();
    wait_until("the garbage collector", PATIENCE, || {
        let owned = kubectl(
            &CLUSTER,
            &[
                "get",
                "configmap",
                "owned",
                "--ignore-not-found",
                "--output=name",
            ],
        )?;
        Ok(owned.is_empty().then_some(()))
    })
    .unwrap();
}

#[test]
fn aggregates_cluster_roles() {
    apply(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: guestbook-viewer
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: 'true'
rules:
- {apiGroups: [webapp.com], resources: [guestbooks], verbs: [get]}
",
    )
    .unwrap();
    wait_until("the rule in the ClusterRole `view`", PATIENCE, || {
        let view = kubectl(&CLUSTER, &["get", "clusterrole", "view", "--output=json"])?;
        Ok(view.contains("guestbooks").then_some(()))
    })
    .unwrap();
}

#[test]
fn answers_again_after_a_restart_of_the_api_server() {
    let mut cluster = start();
    let server = cluster.server().to_owned();
    kubectl(&cluster, &["create", "namespace", "kept"]).unwrap();
    let before = cluster.requests_by(ADMINISTRATOR).unwrap();

    cluster.stop_api_server();
    let error = kubectl(&cluster, &["get", "namespace", "kept"]).unwrap_err();
    assert!(error.to_string().contains("refused"), "{error:#}");

    cluster.start_api_server().unwrap();
    assert_eq!(cluster.server(), server);
    kubectl(&cluster, &["get", "namespace", "kept"]).unwrap();
    let after = cluster.requests_by(ADMINISTRATOR).unwrap();
    assert!(before.iter().all(|request| after.contains(request)));

    // The controller manager has also reconnected.
    kubectl(&cluster, &["create", "namespace", "new"]).unwrap();
    wait_until(
        "a default ServiceAccount in a new namespace",
        PATIENCE,
        || {
            kubectl(
                &cluster,
                &["get", "serviceaccount", "default", "--namespace=new"],
            )
            .map(Some)
        },
    )
    .unwrap();
}

#[test]
fn leaves_nothing_when_dropped() {
    let cluster = start();
    let folder = cluster.kubeconfig().parent().unwrap().to_owned();
    let group = process_group(cluster.server()).unwrap();
    assert_runs(&group);

    drop(cluster);
    assert_eq!(processes(&group).unwrap(), [""; 0]);
    assert!(!folder.exists());
}

#[test]
fn leaves_nothing_when_its_parent_is_killed() {
    let link = tempfile::tempdir().unwrap();
    let link = link.path().join("kubeconfig");
    let program = program(&["--kubeconfig".as_ref(), &link]).spawn();
    let mut program = Killed(program.unwrap());
    wait_until("the link to the kubeconfig", START, || {
        ensure!(program.0.try_wait()?.is_none(), "it ended");
        Ok(link.exists().then_some(()))
    })
    .unwrap();
    let kubeconfig = fs::canonicalize(&link).unwrap();
    let server = kubeconfig_server(&kubeconfig).unwrap();
    let group = process_group(&server).unwrap();
    assert_runs(&group);

    drop(program);
    wait_until("the end of all processes", PATIENCE, || {
        let left = processes(&group)?;
        ensure!(left.is_empty(), "{left:#?}");
        Ok(Some(()))
    })
    .unwrap();
    assert!(!kubeconfig.parent().unwrap().exists());
}

/// Checks that Pods run and have addresses, and that Services lead to Pods. There is no DNS.
#[test]
#[ignore = "a node that runs Pods takes root and a container runtime: `make test-e2e`"]
fn a_node_runs_pods_and_leads_to_services() {
    let cluster = Cluster::start_with_node(&|line| eprintln!("{line}"));
    let cluster = cluster.unwrap_or_else(|error| panic!("{error:#}"));
    let kubectl = |arguments: &str| {
        let arguments: Vec<_> = arguments.split(' ').collect();
        kubectl(&cluster, &arguments)
    };
    let image = "example.com/kubectl:test";
    let program = fs::canonicalize(cluster.kubectl_path()).unwrap();
    cluster.load_program(image, &program).unwrap();
    let entry = program.file_name().unwrap().to_string_lossy().into_owned();

    // The Pod calls the API server by the address of a Service, with the token of its ServiceAccount. The CA
    // certificate in the Pod matches the certificate of the API server.
    kubectl(&format!(
        "run asks --image={image} --restart=Never --command -- /{entry} auth whoami -o jsonpath={{.status.userInfo.username}}"
    ))
    .unwrap();
    let limit = kubectl_limit(PATIENCE);
    let ended = "wait --for=jsonpath={.status.phase}=Succeeded";
    kubectl(&format!("{ended} pod/asks {limit}"))
        .unwrap_or_else(|error| panic!("{error:#}\n{:?}", kubectl("logs asks")));
    assert_eq!(
        kubectl("logs asks").unwrap(),
        "system:serviceaccount:default:default"
    );

    // A Pod calls another Pod through a Service. The other Pod also calls itself through the Service.
    kubectl(
        "run serves --image=example.com/kubectl:test --labels=app=serves --command -- \
             /PROGRAM proxy --address=0.0.0.0 --accept-hosts=.* --port=8001"
            .replace("PROGRAM", &entry)
            .as_str(),
    )
    .unwrap();
    kubectl("expose pod serves --port=80 --target-port=8001").unwrap();
    kubectl(&format!("wait --for=condition=Ready pod/serves {limit}")).unwrap();
    let address = kubectl("get service serves -o jsonpath={.spec.clusterIP}").unwrap();
    // The call is repeated if the node does not know the Service yet.
    kubectl(&format!(
        "run calls --image={image} --restart=OnFailure --command -- \
         /{entry} --server=http://{address} get --raw /version"
    ))
    .unwrap();
    kubectl(&format!("{ended} pod/calls {limit}"))
        .unwrap_or_else(|error| panic!("{error:#}\n{:?}", kubectl("logs calls")));
    assert!(kubectl("logs calls").unwrap().contains("gitVersion"));
    let version = kubectl(&format!(
        "exec serves -- /{entry} --server=http://{address} get --raw /version"
    ));
    assert!(version.unwrap().contains("gitVersion"));
}

#[test]
#[ignore = "a node that runs Pods takes root and a container runtime: `make test-e2e`"]
fn leaves_nothing_of_a_node_when_its_parent_is_killed() {
    let link = tempfile::tempdir().unwrap();
    let link = link.path().join("kubeconfig");
    let settings = settings_of_the_machine().unwrap();
    let program = program(&["--real-node".as_ref(), "--kubeconfig".as_ref(), &link]).spawn();
    let mut program = Killed(program.unwrap());
    wait_until("the link to the kubeconfig", START, || {
        ensure!(program.0.try_wait()?.is_none(), "it ended");
        Ok(link.exists().then_some(()))
    })
    .unwrap();
    let folder = fs::canonicalize(&link).unwrap();
    let folder = folder.parent().unwrap();
    let kubectl = |arguments: &[&str]| {
        let mut kubectl = Command::new("kubectl");
        run(kubectl.env("KUBECONFIG", &link).args(arguments)).unwrap();
    };
    kubectl(&["run", "pod", "--image=registry.k8s.io/pause:3.10"]);
    let limit = kubectl_limit(PATIENCE);
    kubectl(&["wait", "--for=condition=Ready", "pod/pod", &limit]);
    // A containerd shim is in no process group of the cluster. Only the control group of a container shows which
    // cluster the container belongs to.
    let name = folder.file_name().unwrap().to_str().unwrap();
    let left = || -> Result<Vec<String>> {
        let mut left = Vec::new();
        for process in fs::read_dir("/proc")? {
            let file = |file: &str| {
                let text = fs::read(process.as_ref().ok()?.path().join(file)).ok()?;
                Some(String::from_utf8_lossy(&text).replace('\0', " "))
            };
            let (command, groups) = (file("cmdline"), file("cgroup"));
            if format!("{command:?}{groups:?}").contains(name) {
                left.extend(command);
            }
        }
        for folder in ["/sys/fs/cgroup", "/tmp"] {
            left.push(run(Command::new("find").args([folder, "-name", name]))?);
        }
        left.retain(|line| !line.is_empty());
        Ok(left)
    };
    let running = left().unwrap();
    for what in ["kubelet ", "containerd-shim", "/pause", "/sys/fs/cgroup/"] {
        assert!(
            running.iter().any(|line| line.contains(what)),
            "no {what} in {running:#?}"
        );
    }

    drop(program);
    wait_until("the end of the node", PATIENCE, || {
        let left = left()?;
        ensure!(left.is_empty(), "{left:#?}");
        Ok(Some(()))
    })
    .unwrap();
    assert!(!folder.exists());
    assert_eq!(settings_of_the_machine().unwrap(), settings);
}

/// Returns kernel settings that the programs of a node would change for the whole machine.
fn settings_of_the_machine() -> Result<Vec<String>> {
    [
        "vm/overcommit_memory",
        "kernel/panic",
        "kernel/panic_on_oops",
        "net/ipv4/ip_forward",
    ]
    .into_iter()
    .map(|name| Ok(fs::read_to_string(Path::new("/proc/sys").join(name))?))
    .collect()
}

#[test]
fn names_what_a_node_needs_and_where_it_is_from() {
    let nothing = tempfile::tempdir().unwrap();
    let output = program(&["--real-node".as_ref()])
        .env("PATH", nothing.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    let hint =
        "hint: on Debian, `apt-get install --yes --no-install-recommends containerd runc iptables";
    assert!(error.contains(hint), "{error}");
}

#[test]
fn runs_a_command_and_exits_with_its_code() {
    let output = program(&[])
        .args([
            "--",
            "sh",
            "-c",
            "kubectl get namespaces --output=name; exit 7",
        ])
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7));
    let names = String::from_utf8(output.stdout).unwrap();
    assert!(names.contains("namespace/default\n"), "{names}");
}

#[test]
fn says_what_the_assets_folder_lacks() {
    let assets = tempfile::tempdir().unwrap();
    let error = failed_start(assets.path());
    assert!(
        error.starts_with("error: KUBEBUILDER_ASSETS is `"),
        "{error}"
    );
    assert!(error.ends_with("`, which has no etcd\n"), "{error}");
}

#[test]
fn shows_the_log_of_a_component_that_does_not_start() {
    let assets = tempfile::tempdir().unwrap();
    let script = r"
        printf '#!/bin/sh\necho the disk is full\nexit 3\n' >etcd
        chmod +x etcd
        for name in kube-apiserver kube-controller-manager kubectl; do ln etcd $name; done
    ";
    // Another process writes the file: a program that this process has open for writing cannot be run.
    run(Command::new("sh")
        .args(["-ec", script])
        .current_dir(&assets))
    .unwrap();
    let error = failed_start(assets.path());
    assert!(error.contains("etcd ended with exit status: 3"), "{error}");
    assert!(
        error.ends_with("the end of etcd's log:\nthe disk is full\n"),
        "{error}"
    );
}

/// Returns the error of a program that cannot start a cluster.
fn failed_start(assets: &Path) -> String {
    let output = program(&[])
        .env("KUBEBUILDER_ASSETS", assets)
        .arg("true")
        .output()
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A process that is killed on drop.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(arguments: &[&Path]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cluster"));
    program.args(arguments);
    program
}

fn kubeconfig_server(kubeconfig: &Path) -> Result<String> {
    let kubeconfig: serde_json::Value = serde_json::from_str(&fs::read_to_string(kubeconfig)?)?;
    let server = kubeconfig.pointer("/clusters/0/cluster/server");
    let server = server.and_then(serde_json::Value::as_str);
    Ok(server.context("no server")?.to_owned())
}

/// Returns the process group of the API server at a URL.
fn process_group(server: &str) -> Result<String> {
    let (_, port) = server.rsplit_once(':').context("no port")?;
    let flag = format!("--secure-port={port} ");
    ps()?
        .into_iter()
        .find(|(_, line)| line.contains(&flag))
        .map(|(group, _)| group)
        .with_context(|| format!("no process with {flag}"))
}

fn assert_runs(group: &str) {
    let lines = processes(group).unwrap_or_default();
    for program in ["etcd ", "kube-apiserver ", "kube-controller-manager "] {
        assert!(
            lines.iter().any(|line| line.contains(program)),
            "no {program}in {lines:#?}"
        );
    }
}

/// Returns the command lines of all processes in a group.
fn processes(group: &str) -> Result<Vec<String>> {
    Ok(ps()?
        .into_iter()
        .filter_map(|(id, line)| (id == group).then_some(line))
        .collect())
}

/// Returns the process group and the command line of each running process. Leaves out processes that have ended and
/// stay in the table until their parent reads their status.
fn ps() -> Result<Vec<(String, String)>> {
    let table = run(Command::new("ps").args(["-A", "-o", "pgid=", "-o", "stat=", "-o", "args="]))?;
    let row = |line: &str| {
        let (group, rest) = line.trim_start().split_once(' ')?;
        let (state, line) = rest.trim_start().split_once(' ')?;
        (!state.starts_with('Z')).then(|| (group.to_owned(), line.to_owned()))
    };
    Ok(table.lines().filter_map(row).collect())
}
