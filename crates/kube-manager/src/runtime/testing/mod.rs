//! An API server for tests: etcd and kube-apiserver, and an operator that runs on them as it is deployed.
//!
//! A test program starts a control plane, which ends with the program, even if the program is killed:
//!
//! ```no_run
//! use std::sync::LazyLock;
//!
//! use kube_manager::testing::ControlPlane;
//!
//! static CONTROL_PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
//!     ControlPlane::start("target/tmp")
//!         .deploy("config/default", "guestbook-system")
//!         .run("target/debug/guestbook", "guestbook-controller-manager", &[])
//! });
//! ```

use std::{
    env,
    fmt::Debug,
    fs::{self, File},
    io::Read,
    net::{Ipv4Addr, TcpStream},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    pin::pin,
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use futures::StreamExt;
use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    api::{Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        WatchStreamExt,
        wait::{Condition, await_condition},
        watcher,
    },
};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

pub mod faults;

/// Time limit for each step.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// The most requests of the operator that a failed test shows.
const REQUESTS: usize = 20;

/// The requests that the API server logs: those of ServiceAccounts, such as the operator's.
const AUDIT_POLICY: &str = r#"{
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}]
}"#;

const CRD: &str = "CustomResourceDefinition";

/// The time between two looks at something that no watch tells.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs a program until its stdin is closed, then kills it and removes the folder. After SIGTERM, an API server would
/// wait for its etcd, which may have ended already.
const SCRIPT: &str = r#""$0" "$@" & read -r _; kill -9 $!; wait; rm -rf "$PWD""#;

/// etcd and kube-apiserver from the folder `KUBEBUILDER_ASSETS`, and an operator on them.
///
/// Each step panics if it fails, with the reason.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    programs: PathBuf,
    server: String,
    /// The namespace of the operator.
    namespace: String,
    /// The default namespace of clients.
    default_namespace: String,
    log: PathBuf,
    /// Keeps the port of the API server, which shares it.
    _port: tokio::net::TcpSocket,
    /// These processes end when this program ends, even if it is killed.
    children: Vec<Child>,
    /// The paths of the objects that runs of fault tests share, in the order of their creation.
    shared: Mutex<Vec<String>>,
}

impl ControlPlane {
    /// Starts etcd and kube-apiserver, in a new folder in `parent`.
    #[must_use]
    pub fn start(parent: impl AsRef<Path>) -> Self {
        let programs = env::var("KUBEBUILDER_ASSETS").unwrap_or_default();
        assert!(
            Path::new(&programs).join("kube-apiserver").exists(),
            "KUBEBUILDER_ASSETS must name a folder with etcd, kube-apiserver and kubectl"
        );
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = parent
            .as_ref()
            .join(format!("api_server-{}-{number}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        // The programs run in this folder, and a path in a kubeconfig begins at the folder of the kubeconfig.
        let folder = fs::canonicalize(folder).expect("a folder");
        let programs = fs::canonicalize(programs).expect("a folder");
        let socket = free_port();
        let port = socket.local_addr().expect("an address").port();
        let mut control_plane = Self {
            log: folder.join("operator.log"),
            folder,
            programs,
            server: format!("https://127.0.0.1:{port}"),
            namespace: "default".to_owned(),
            default_namespace: "default".to_owned(),
            _port: socket,
            children: Vec::new(),
            shared: Mutex::default(),
        };
        let token = random();
        let users = format!("{token},admin,admin,system:masters\n");
        control_plane.write("tokens.csv", &users);
        control_plane.write_kubeconfig("admin", &token);
        control_plane.start_api_server(port);
        control_plane
    }

    /// Sets the default namespace of [`ControlPlane::client`], which is `default` otherwise. An operator that watches one
    /// namespace needs this.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.default_namespace);
        self
    }

    /// Applies what `kubectl kustomize` makes from the folder `kustomization`, of an operator in `namespace`: without
    /// kinds of cert-manager and of the Prometheus operator, and without the configurations of webhooks.
    #[must_use]
    pub fn deploy(mut self, kustomization: impl AsRef<Path>, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        let kustomization = kustomization.as_ref().to_string_lossy();
        let built = self.kubectl(&["kustomize", &*kustomization]);
        let mut objects: Vec<Value> =
            serde_saphyr::from_multiple(&built.expect("manifests")).expect("YAML");
        objects.retain(is_deployable);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let manifests = self.write("manifests.json", &list.to_string());
        let manifests = manifests.to_string_lossy();
        self.kubectl(&["apply", "--server-side", "-f", &*manifests])
            .expect("an API server that takes the manifests");
        if objects.iter().any(|object| object["kind"] == CRD) {
            let limit = format!("--timeout={}s", PATIENCE.as_secs());
            self.kubectl(&["wait", "--for=condition=Established", CRD, "--all", &*limit])
                .expect("CustomResourceDefinitions that the API server takes");
        }
        self
    }

    /// Runs the operator `program` with these arguments, under its own ServiceAccount.
    #[must_use]
    pub fn run(mut self, program: impl AsRef<Path>, account: &str, arguments: &[&str]) -> Self {
        let token = self.kubectl(&["create", "token", account, "--namespace", &*self.namespace]);
        let kubeconfig = self.write_kubeconfig("operator", token.expect("a token").trim());
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let own = [kubeconfig.as_str(), "--health-probe-bind-address=0"];
        let program = fs::canonicalize(program).expect("the program of the operator");
        self.spawn(&program, &[&own, arguments].concat(), "operator");
        self
    }

    /// A client with all permissions.
    pub async fn client(&self) -> Client {
        self.client_in(&self.default_namespace).await
    }

    /// A client with all permissions, whose default namespace is `namespace`.
    pub(super) async fn client_in(&self, namespace: &str) -> Client {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig("admin")).expect("a file");
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let mut config = config.expect("a cluster");
        // kube takes the proxy of `HTTPS_PROXY`, also for a server on this machine.
        config.proxy_url = None;
        namespace.clone_into(&mut config.default_namespace);
        Client::try_from(config).expect("a client")
    }

    /// Waits until `condition` holds for the object `name`. If it does not hold within [`PATIENCE`], panics with `what`
    /// should hold, the object with its conditions, the end of the operator's log, and its last requests.
    pub async fn wait<K>(
        &self,
        objects: &Api<K>,
        name: &str,
        what: &str,
        condition: impl Condition<K>,
    ) where
        K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + 'static,
    {
        let holds = async {
            let is_met = |object: Option<&K>| condition.matches_object(object);
            // An error ends the watch.
            while let Err(_error) = await_condition(objects.clone(), name, is_met).await {
                sleep(PAUSE).await;
            }
        };
        if timeout(PATIENCE, holds).await.is_ok() {
            return;
        }
        let object = match objects.get_opt(name).await {
            Ok(Some(mut object)) => {
                object.meta_mut().managed_fields = None;
                serde_json::to_string_pretty(&object).expect("JSON")
            }
            Ok(None) => "it does not exist".to_owned(),
            Err(error) => format!("it cannot be read: {error}"),
        };
        let operator = self.operator_trace();
        panic!("not within {PATIENCE:?}: {name} {what}\n{object}\n{operator}");
    }

    /// Waits until the operator's log says that `object` was reconciled. Panics if that takes longer than [`PATIENCE`],
    /// and if the API server has refused a request of the operator because of a missing permission.
    pub async fn wait_for_reconcile<K: Resource<DynamicType = ()>>(&self, object: &K) {
        let (kind, name) = (K::kind(&()), object.name_any());
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let forbidden = log.lines().find(|line| line.contains(" is forbidden: "));
            assert_eq!(forbidden, None, "the operator lacks a permission");
            let mut reconciled = log.lines().filter(|line| line.contains("reconciled"));
            if reconciled.any(|line| line.contains(&*kind) && line.contains(&name)) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{name} is not reconciled\n{}",
                self.operator_trace()
            );
            sleep(PAUSE).await;
        }
    }

    fn start_api_server(&mut self, port: u16) {
        self.write("audit.json", AUDIT_POLICY);
        self.spawn(
            &self.programs.join("etcd"),
            &[
                "--data-dir=etcd",
                "--unsafe-no-fsync",
                "--listen-client-urls=unix://etcd.sock",
                "--listen-peer-urls=unix://peer.sock",
                // etcd requires this URL, and nobody uses it.
                "--advertise-client-urls=http://localhost:2379",
            ],
            "etcd",
        );
        self.spawn(
            &self.programs.join("kube-apiserver"),
            &[
                "--etcd-servers=unix://etcd.sock",
                "--bind-address=127.0.0.1",
                &format!("--secure-port={port}"),
                "--permit-port-sharing=true",
                "--cert-dir=certs",
                "--authorization-mode=RBAC",
                "--token-auth-file=tokens.csv",
                "--audit-policy-file=audit.json",
                "--audit-log-path=audit.log",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-account-signing-key-file=certs/apiserver.key",
                "--service-account-key-file=certs/apiserver.key",
                "--service-cluster-ip-range=10.0.0.0/16",
                // The API server listens on loopback, an address that Endpoints cannot have.
                "--endpoint-reconciler-type=none",
            ],
            "kube-apiserver",
        );
        let deadline = Instant::now() + PATIENCE;
        let address = (Ipv4Addr::LOCALHOST, port);
        while TcpStream::connect(address).is_err()
            || self.kubectl(&["get", "--raw=/readyz"]).is_err()
        {
            let log = fs::read_to_string(self.folder.join("kube-apiserver.log"));
            assert!(Instant::now() < deadline, "it is not ready: {log:?}");
            thread::sleep(PAUSE);
        }
    }

    /// Runs `program` until this test program ends. Its log is in the file `<name>.log`.
    fn spawn(&mut self, program: &Path, arguments: &[&str], name: &str) {
        let log = File::create(self.folder.join(format!("{name}.log"))).expect("a file");
        let child = Command::new("sh")
            .args(["-c", SCRIPT])
            .arg(program)
            .args(arguments)
            .current_dir(&self.folder)
            // A Ctrl-C at the terminal would otherwise end the shell before it has cleaned up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn();
        self.children.push(child.expect("sh"));
    }

    /// The last lines of the operator's log, and its last requests.
    fn operator_trace(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        let lines = lines[lines.len().saturating_sub(50)..].join("\n");
        let audit = fs::read_to_string(self.folder.join("audit.log")).unwrap_or_default();
        let mut requests: Vec<_> = audit
            .lines()
            .rev()
            .filter_map(request)
            .take(REQUESTS)
            .collect();
        requests.reverse();
        let requests = requests.join("\n");
        format!("The operator's log:\n{lines}\nIts last requests:\n{requests}")
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(self.programs.join("kubectl"))
            .arg("--cache-dir")
            .arg(self.folder.join("kubectl-cache"))
            .arg("--kubeconfig")
            .arg(self.kubeconfig("admin"))
            // The settings of the user do not count.
            .env("KUBERC", "off")
            .args(arguments)
            .output()
            .expect("kubectl");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    fn kubeconfig(&self, user: &str) -> PathBuf {
        self.folder.join(format!("{user}.kubeconfig"))
    }

    fn write_kubeconfig(&self, user: &str, token: &str) -> PathBuf {
        let certificate = self.folder.join("certs/apiserver.crt");
        let cluster = json!({"server": self.server, "certificate-authority": certificate});
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "local", "context": {
                "cluster": "local", "user": user, "namespace": self.default_namespace,
            }}],
            "current-context": "local",
        });
        self.write(&format!("{user}.kubeconfig"), &kubeconfig.to_string())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("a file");
        path
    }
}

/// A request in a line of the audit log: its verb, its path and the code of its answer.
fn request(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let [verb, path] = ["verb", "requestURI"].map(|field| event[field].as_str());
    let code = event["responseStatus"]["code"].as_u64();
    Some(format!("{} {} {}", verb?, path?, code?))
}

/// Whether a control plane can take `object`: it does not know kinds of other projects, such as ServiceMonitor, and its
/// API server cannot reach the Service of a webhook.
fn is_deployable(object: &Value) -> bool {
    let group_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let group = group_version.split('/').next();
    !matches!(group, Some("cert-manager.io" | "monitoring.coreos.com"))
        && !kind.ends_with("WebhookConfiguration")
}

/// Completes each Job, because an API server alone has no Job controller and runs no Pods. Never returns.
pub async fn complete_jobs(client: Client) {
    let all: Api<Job> = Api::all(client.clone());
    let watched = watcher(all, watcher::Config::default()).default_backoff();
    let mut watched = pin!(watched.applied_objects());
    while let Some(job) = watched.next().await {
        // After an error, the watch goes on.
        let Ok(job) = job else { continue };
        let ended = job.status.as_ref().map(|status| &status.completion_time);
        if ended.is_some_and(Option::is_some) {
            continue;
        }
        let now = Time(Timestamp::now());
        let conditions = ["SuccessCriteriaMet", "Complete"]
            .map(|type_| json!({"type": type_, "status": "True", "lastTransitionTime": now}));
        let status = json!({
            "startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions,
        });
        let (namespace, name) = (job.namespace().unwrap_or_default(), job.name_any());
        let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
        let unchanged = json!({"resourceVersion": job.resource_version()});
        let patch = Patch::Merge(json!({"metadata": unchanged, "status": status}));
        let params = PatchParams::default();
        while let Err(error) = jobs.patch_status(&name, &params, &patch).await {
            match error {
                // It was deleted or changed meanwhile. Another test may complete it, too.
                kube::Error::Api(answer) if answer.is_not_found() || answer.is_conflict() => break,
                _ => sleep(PAUSE).await,
            }
        }
    }
}

/// A free port, which no other process can take: it can be shared, and nobody listens on it yet.
fn free_port() -> tokio::net::TcpSocket {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_reuseport(true).expect("a port to share");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    socket
}

/// A secret that other users of this machine cannot guess.
fn random() -> String {
    let mut bytes = [0; 16];
    let mut source = File::open("/dev/urandom").expect("a source of random numbers");
    source.read_exact(&mut bytes).expect("random numbers");
    bytes.map(|byte| format!("{byte:02x}")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_audit_log_is_a_request() {
        let path = "/apis/shop.com/v1/carts?limit=500";
        let event = json!({"verb": "list", "requestURI": path, "responseStatus": {"code": 403}});
        let expected = format!("list {path} 403");
        assert_eq!(request(&event.to_string()), Some(expected));
        assert_eq!(request("{\"verb\": \"li"), None);
    }

    #[test]
    fn a_control_plane_takes_all_but_kinds_of_other_projects_and_webhooks() {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": CRD,
            "metadata": {"annotations": {"cert-manager.io/inject-ca-from": "shop/certificate"}},
        });
        assert!(is_deployable(&crd));
        for (group_version, kind) in [
            ("cert-manager.io/v1", "Certificate"),
            ("monitoring.coreos.com/v1", "ServiceMonitor"),
            (
                "admissionregistration.k8s.io/v1",
                "MutatingWebhookConfiguration",
            ),
        ] {
            assert!(!is_deployable(
                &json!({"apiVersion": group_version, "kind": kind})
            ));
        }
    }
}
