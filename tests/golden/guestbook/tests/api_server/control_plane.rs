// SPDX-FileCopyrightText: The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Starts etcd and kube-apiserver from the folder KUBEBUILDER_ASSETS, and the operator on them.

use std::{
    env,
    fmt::Debug,
    fs::{self, File},
    io::Read,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use kube::{
    Api, Client, Config, Resource,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::wait::{Condition, await_condition},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio::time::timeout;

/// Time limit for each step.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// The namespace of the deployed operator.
const NAMESPACE: &str = "guestbook-system";

/// Runs a program until its stdin is closed, then kills it and removes the folder. After SIGTERM,
/// an API server would wait for its etcd, which may have ended already.
const SCRIPT: &str = r#""$0" "$@" & read -r _; kill -9 $!; wait; rm -rf "$PWD""#;

/// Started by the first test, and shared by all.
static CONTROL_PLANE: LazyLock<ControlPlane> = LazyLock::new(ControlPlane::start);

struct ControlPlane {
    folder: PathBuf,
    programs: PathBuf,
    server: String,
    /// These processes end when this program ends, even if it is killed.
    children: Vec<Child>,
}

/// A client with all permissions. Its default namespace is one that the operator serves.
pub async fn client() -> Client {
    let kubeconfig = Kubeconfig::read_from(CONTROL_PLANE.kubeconfig("admin")).expect("a file");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.expect("a cluster")).expect("a client")
}

/// Waits until `condition` holds for the object `name`. If it does not hold in time, panics with
/// `what` should hold, the object with its conditions, and the end of the operator's log.
pub async fn wait<K>(objects: &Api<K>, name: &str, what: &str, condition: impl Condition<K>)
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + 'static,
{
    let holds = await_condition(objects.clone(), name, condition);
    if let Ok(watched) = timeout(PATIENCE, holds).await {
        watched.expect("a watch");
        return;
    }
    let mut object = objects.get_opt(name).await.expect("an answer");
    if let Some(object) = &mut object {
        object.meta_mut().managed_fields = None;
    }
    let object = serde_json::to_string_pretty(&object).expect("JSON");
    let log = CONTROL_PLANE.operator_log();
    panic!("not within {PATIENCE:?}: {name} {what}\n{object}\nThe operator's log:\n{log}");
}

impl ControlPlane {
    fn start() -> Self {
        let programs = env::var("KUBEBUILDER_ASSETS").unwrap_or_default();
        assert!(
            Path::new(&programs).join("kube-apiserver").exists(),
            "KUBEBUILDER_ASSETS must name a folder with etcd, kube-apiserver and kubectl"
        );
        let name = format!("api_server-{}", process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let port = free_port();
        let mut control_plane = Self {
            folder,
            programs: programs.into(),
            server: format!("https://127.0.0.1:{port}"),
            children: Vec::new(),
        };
        let token = random();
        let users = format!("{token},admin,admin,system:masters\n");
        control_plane.write("tokens.csv", &users);
        control_plane.write_kubeconfig("admin", &token);
        control_plane.start_api_server(port);
        control_plane.start_operator();
        control_plane
    }

    fn start_api_server(&mut self, port: u16) {
        let etcd = format!("http://127.0.0.1:{}", free_port());
        self.spawn(
            &self.programs.join("etcd"),
            &[
                "--data-dir=etcd",
                "--unsafe-no-fsync",
                &format!("--listen-client-urls={etcd}"),
                &format!("--advertise-client-urls={etcd}"),
                "--listen-peer-urls=http://127.0.0.1:0",
            ],
        );
        self.spawn(
            &self.programs.join("kube-apiserver"),
            &[
                &format!("--etcd-servers={etcd}"),
                "--bind-address=127.0.0.1",
                &format!("--secure-port={port}"),
                "--cert-dir=certs",
                "--authorization-mode=RBAC",
                "--token-auth-file=tokens.csv",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-account-signing-key-file=certs/apiserver.key",
                "--service-account-key-file=certs/apiserver.key",
                "--service-cluster-ip-range=10.0.0.0/24",
                // The API server listens on loopback, an address that Endpoints cannot have.
                "--endpoint-reconciler-type=none",
            ],
        );
        let deadline = Instant::now() + PATIENCE;
        while self.kubectl(&["get", "--raw=/readyz"]).is_err() {
            let log = fs::read_to_string(self.folder.join("kube-apiserver.log"));
            assert!(Instant::now() < deadline, "it is not ready: {log:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Starts the operator as its Deployment would: under its own ServiceAccount.
    fn start_operator(&mut self) {
        let config = concat!(env!("CARGO_MANIFEST_DIR"), "/config/default");
        let built = self.kubectl(&["kustomize", config]).expect("manifests");
        // This API server does not know kinds of other projects, such as ServiceMonitor.
        let known = built.split("---\n").filter(|manifest| {
            let others = ["cert-manager.io/", "monitoring.coreos.com/"];
            !others.iter().any(|other| manifest.contains(other))
        });
        let manifests = self.write("manifests.yaml", &known.collect::<Vec<_>>().join("---\n"));
        let manifests = manifests.to_string_lossy();
        self.kubectl(&["apply", "--server-side", "-f", &*manifests])
            .expect("an API server that takes the manifests");
        let account = "guestbook-controller-manager";
        let token = self.kubectl(&["create", "token", account, "--namespace", NAMESPACE]);
        let kubeconfig = self.write_kubeconfig("operator", token.expect("a token").trim());
        self.spawn(
            Path::new(env!("CARGO_BIN_EXE_guestbook")),
            &[
                &format!("--kubeconfig={}", kubeconfig.display()),
                "--health-probe-bind-address=0",
            ],
        );
    }

    /// Runs `program` until this test program ends, and writes its log beside the kubeconfig.
    fn spawn(&mut self, program: &Path, arguments: &[&str]) {
        let name = program.file_name().expect("a program").to_string_lossy();
        let log = File::create(self.folder.join(format!("{name}.log"))).expect("a file");
        let child = Command::new("sh")
            .args(["-c", SCRIPT])
            .arg(program)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn();
        self.children.push(child.expect("sh"));
    }

    /// The last lines of the operator's log.
    fn operator_log(&self) -> String {
        let log = self.folder.join("guestbook.log");
        let log = fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(50)..].join("\n")
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(self.programs.join("kubectl"))
            .arg("--kubeconfig")
            .arg(self.kubeconfig("admin"))
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
        let context = json!({"cluster": "local", "user": user, "namespace": "default"});
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "local", "context": context}],
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

/// A free port.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// A secret that other users of this machine cannot guess.
fn random() -> String {
    let mut bytes = [0; 16];
    let mut source = File::open("/dev/urandom").expect("a source of random numbers");
    source.read_exact(&mut bytes).expect("random numbers");
    bytes.map(|byte| format!("{byte:02x}")).concat()
}
