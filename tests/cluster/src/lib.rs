//! A throwaway Kubernetes control plane for tests and demos: etcd, kube-apiserver and kube-controller-manager in a
//! temporary folder. Everything is removed when the [`Cluster`] is dropped.
//!
//! The control plane authorizes by RBAC and runs all controllers, so roles, custom resources, owner references and
//! namespaces work as in any cluster. There is no node, so Pods stay `Pending`. On a simulated node, Pods get the
//! status `Running`, but no container runs. [`Cluster::start_with_node`] starts a node that runs the containers.

mod audit;
mod binaries;
mod component;
mod image;
mod node;
mod wait;

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    iter,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use socket2::{Domain, Socket, Type};
use tempfile::{NamedTempFile, TempDir};

use crate::{
    binaries::{Binaries, NodeBinaries, SimulationBinaries},
    component::{Component, Group},
    node::{Namespaces, Tools},
};

pub use crate::{
    audit::{Request, requests_in},
    binaries::{are_built, assets},
    component::{GARBAGE, last_lines},
    wait::{PATIENCE, kubectl_limit, wait_until},
};

/// The longest time for one request that asks whether a component has started. Such a request is repeated.
const REQUEST: Duration = Duration::from_secs(30);

// Files in the cluster's folder. All components run in this folder.
const ETCD_SOCKET: &str = "etcd.sock";
const PEER_SOCKET: &str = "peer.sock";
const TOKENS: &str = "tokens.csv";
const KUBECONFIG: &str = "kubeconfig";
/// The user of [`Cluster::kubectl`].
pub const ADMINISTRATOR: &str = "admin";
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";
const CONTROLLER_MANAGER_KUBECONFIG: &str = "controller-manager.kubeconfig";
const SCHEDULER: &str = "system:kube-scheduler";
const SCHEDULER_KUBECONFIG: &str = "scheduler.kubeconfig";
const KUBELET: &str = "system:node:node";
const KUBELET_KUBECONFIG: &str = "kubelet.kubeconfig";
const PROXY: &str = "system:kube-proxy";
pub(crate) const PROXY_KUBECONFIG: &str = "kube-proxy.kubeconfig";
const STAGES: &str = "stages.yaml";
const AUDIT_POLICY: &str = "audit-policy.json";
const AUDIT_LOG: &str = "audit.log";
// kube-apiserver creates both files. The certificate file also contains the certificate of the CA. The key also signs
// the tokens of ServiceAccounts; the key is only needed as long as the cluster exists.
const CERTIFICATES: &str = "certs";
const CERTIFICATE: &str = "certs/apiserver.crt";
const KEY: &str = "certs/apiserver.key";

/// The certificate and the key of the first cluster of this process. To create them takes the API server a large part of
/// the processor time of its start.
static KEPT: OnceLock<[String; 2]> = OnceLock::new();

/// A running control plane. The control plane stops on drop, and also when this process ends in any other way.
///
/// So a cluster can be in a `static` that all tests of a program share.
pub struct Cluster {
    // The fields are dropped in this order.
    api_server: Option<Component>,
    others: Vec<Component>,
    group: Group,
    /// The namespaces of a node that runs Pods, if the cluster has such a node. All components of the cluster are then
    /// in the node's network.
    node: Option<Namespaces>,
    folder: TempDir,
    binaries: Binaries,
    /// The URL of etcd.
    etcd: String,
    /// Flags of the API server, in addition to the usual flags.
    flags: Vec<&'static str>,
    port: Port,
    server: String,
    kubeconfig: PathBuf,
}

impl Cluster {
    /// Starts a new control plane and waits until it is ready, which takes a few seconds.
    ///
    /// `progress` receives a line of text for each step. On a machine's first run, a build takes several minutes,
    /// unless `KUBEBUILDER_ASSETS` names a folder with the programs.
    pub fn start(progress: &dyn Fn(&str)) -> Result<Cluster> {
        Self::start_with(&[], progress)
    }

    /// Does the same as [`Cluster::start`]. The API server gets `flags` in addition to its usual flags.
    pub fn start_with(flags: &[&'static str], progress: &dyn Fn(&str)) -> Result<Cluster> {
        let binaries = Binaries::find(progress)?;
        progress("starting the control plane");
        let folder = folder()?;
        Self::start_in(folder, None, binaries, None, flags)
    }

    /// Starts etcd and an API server without any controller, which is enough for a custom resource and its operator.
    /// The programs come from the folder `assets`, or are built.
    pub fn start_without_controllers(
        assets: Option<&Path>,
        progress: &dyn Fn(&str),
    ) -> Result<Cluster> {
        let binaries = Binaries::without_controllers(assets, progress)?;
        progress("starting the control plane");
        Self::start_in(folder()?, None, binaries, None, &[])
    }

    /// Starts a second API server of this cluster, which reaches etcd at the URL `etcd`. It takes the same tokens of
    /// `ServiceAccounts` as the first API server. `flags` are added to its usual flags.
    pub fn start_beside(&self, etcd: &str, flags: &[&'static str]) -> Result<Cluster> {
        let folder_of_programs = self.assets()?;
        let binaries = Binaries::without_controllers(Some(&folder_of_programs), &|_| {})?;
        Self::start_in(folder()?, None, binaries, Some(etcd), flags)
    }

    /// Returns the path of the socket of etcd.
    pub fn etcd_socket(&self) -> PathBuf {
        self.folder.path().join(ETCD_SOCKET)
    }

    /// Starts a control plane and a node that runs Pods. Each Pod and each Service has an address. There is no DNS.
    ///
    /// This needs Linux, root, and several installed programs; the error lists the missing ones. Everything runs in its
    /// own namespaces, and ends with this process. Only the API server's port can be reached from outside, on the
    /// loopback interface.
    pub fn start_with_node(progress: &dyn Fn(&str)) -> Result<Cluster> {
        let tools = Tools::find()?;
        let binaries = Binaries::find(progress)?;
        let node_binaries = NodeBinaries::find(progress)?;
        progress("starting the control plane");
        let folder = folder()?;
        let node = Namespaces::start(folder.path())?;
        let mut cluster = Self::start_in(folder, Some(node), binaries, None, &[])?;
        progress("starting the node");
        cluster.start_node(&tools, &node_binaries)?;
        Ok(cluster)
    }

    fn start_in(
        folder: TempDir,
        node: Option<Namespaces>,
        binaries: Binaries,
        etcd: Option<&str>,
        flags: &[&'static str],
    ) -> Result<Cluster> {
        let port = Port::reserve()?;
        let mut cluster = Cluster {
            api_server: None,
            others: Vec::new(),
            group: Group::start(folder.path())?,
            node,
            binaries,
            etcd: etcd.map_or_else(|| format!("unix://{ETCD_SOCKET}"), str::to_owned),
            flags: flags.to_vec(),
            server: format!("https://127.0.0.1:{}", port.number),
            port,
            kubeconfig: folder.path().join(KUBECONFIG),
            folder,
        };
        cluster.write_configuration()?;
        if etcd.is_none() {
            cluster.start_etcd()?;
        }
        cluster.start_forwarders()?;
        cluster.write_certificate()?;
        cluster.start_api_server()?;
        cluster.keep_certificate()?;
        cluster.start_controller_manager()?;
        Ok(cluster)
    }

    /// Writes the certificate that an earlier cluster of this process has kept. Otherwise the API server creates one.
    fn write_certificate(&self) -> Result<()> {
        let folder = self.folder.path().join(CERTIFICATES);
        fs::create_dir(folder).context("failed to create the folder of the certificate")?;
        if let Some(pair) = KEPT.get().filter(|_| self.node.is_none()) {
            for (file, text) in [CERTIFICATE, KEY].into_iter().zip(pair) {
                self.write(file, text)?;
            }
        }
        Ok(())
    }

    /// Keeps the certificate for the next cluster of this process. In the network of a node, the API server has another
    /// address and needs another certificate.
    fn keep_certificate(&self) -> Result<()> {
        if self.node.is_none() && KEPT.get().is_none() {
            let read = |file| fs::read_to_string(self.folder.path().join(file));
            let pair = || io::Result::Ok([read(CERTIFICATE)?, read(KEY)?]);
            let _ = KEPT.set(pair().context("failed to read the certificate of the API server")?);
        }
        Ok(())
    }

    /// Returns the path of the kubeconfig of a cluster administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns the URL of the API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns a kubectl for this cluster. kubectl runs as the administrator, and keeps its files in the cluster's
    /// folder.
    pub fn kubectl(&self) -> Command {
        let mut kubectl = Command::new(self.kubectl_path());
        kubectl
            .arg("--cache-dir")
            .arg(self.folder.path().join("kubectl-cache"))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBERC", "off")
            // kubectl ends too soon to benefit from garbage collection, or from several threads.
            .env("GOGC", "off")
            .env("GOMAXPROCS", "1");
        kubectl
    }

    /// Returns a folder with etcd, kube-apiserver and kubectl, for tests that start their own control plane. By
    /// convention, `KUBEBUILDER_ASSETS` names such a folder.
    pub fn assets(&self) -> Result<PathBuf> {
        let folder = self.folder.path().join("assets");
        let programs = [
            ("etcd", &self.binaries.etcd),
            ("kube-apiserver", &self.binaries.api_server),
            ("kubectl", &self.binaries.kubectl),
        ];
        fs::create_dir_all(&folder).context("failed to create the folder of the programs")?;
        for (name, program) in programs {
            let link = folder.join(name);
            if !link.exists() {
                symlink(program, link).with_context(|| format!("failed to link {name}"))?;
            }
        }
        Ok(folder)
    }

    /// Returns the path of the kubectl that [`Cluster::kubectl`] runs.
    pub fn kubectl_path(&self) -> &Path {
        &self.binaries.kubectl
    }

    /// Creates a token of an existing `ServiceAccount`, valid for a day, and returns the path of a kubeconfig with the
    /// token.
    ///
    /// The kubeconfig has the namespace of the `ServiceAccount`.
    pub fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let token = run(self
            .kubectl()
            .args(["create", "token", name, "--duration=24h"])
            .args(["--namespace", namespace]))?;
        let file = format!("{namespace}.{name}.kubeconfig");
        self.write(&file, &self.kubeconfig_of(token.trim(), namespace))
    }

    /// Returns every request of `user` that the API server has answered so far, from its audit log.
    pub fn requests_by(&self, user: &str) -> Result<Vec<Request>> {
        requests_in(&self.audit_log(), user)
    }

    /// Returns the path of the API server's audit log.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.path().join(AUDIT_LOG)
    }

    /// Returns the process ID of the API server, unless the API server was stopped.
    pub fn api_server_id(&self) -> Option<u32> {
        self.api_server.as_ref().map(Component::id)
    }

    /// Kills the API server, as in a crash: clients see reset connections, then refused connections.
    ///
    /// No other process can get the port while the API server is down.
    pub fn stop_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the API server again, on the same port, and waits until it is ready.
    pub fn start_api_server(&mut self) -> Result<()> {
        self.stop_api_server();
        let listening = if self.node.is_some() {
            // The API server is in the node's network. Pods have to reach it.
            vec![
                "--bind-address=0.0.0.0".to_owned(),
                format!("--advertise-address={}", node::ADDRESS),
                "--authorization-mode=Node,RBAC".to_owned(),
                "--kubelet-preferred-address-types=InternalIP".to_owned(),
            ]
        } else {
            vec![
                "--bind-address=127.0.0.1".to_owned(),
                "--advertise-address=127.0.0.1".to_owned(),
                // The address of the API server is loopback, which Endpoints may not contain.
                "--endpoint-reconciler-type=none".to_owned(),
                "--authorization-mode=RBAC".to_owned(),
            ]
        };
        let listening: Vec<_> = listening.iter().map(String::as_str).collect();
        let mut api_server = self.component(
            "kube-apiserver",
            &self.binaries.api_server,
            &[
                &format!("--etcd-servers={}", self.etcd),
                &format!("--secure-port={}", self.port.number),
                "--permit-port-sharing=true",
                &format!("--cert-dir={CERTIFICATES}"),
                &format!("--token-auth-file={TOKENS}"),
                "--service-account-issuer=https://kubernetes.default.svc",
                &format!("--service-account-signing-key-file={KEY}"),
                &format!("--service-account-key-file={KEY}"),
                &format!("--service-cluster-ip-range={}", node::SERVICE_NETWORK),
                "--allow-privileged=true",
                &format!("--audit-policy-file={AUDIT_POLICY}"),
                &format!("--audit-log-path={AUDIT_LOG}"),
                "--audit-log-mode=blocking",
                // The unit is MB. With the default of 100, the API server would start a new file from time to time.
                "--audit-log-maxsize=100000",
            ]
            .into_iter()
            .chain(listening)
            .chain(self.flags.iter().copied())
            .collect::<Vec<_>>(),
        )?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.number));
        api_server.wait_until("the API server to listen", PATIENCE, || {
            Ok(TcpStream::connect(address).is_ok())
        })?;
        api_server.wait_until("the API server to be ready", PATIENCE, || {
            self.answers(&["get", "--raw=/readyz"])
        })?;
        self.api_server = Some(api_server);
        Ok(())
    }

    /// Adds a scheduler and a simulated node. No container runs on this node: its Pods become `Running` and ready at
    /// once, and end when they are deleted.
    ///
    /// `progress` receives a line of text for each step, as in [`Cluster::start`].
    pub fn add_simulated_node(&mut self, progress: &dyn Fn(&str)) -> Result<()> {
        let binaries = SimulationBinaries::find(progress)?;
        progress("starting the node");
        self.start_scheduler(&binaries.scheduler)?;
        self.write(STAGES, include_str!("../kwok/stages.yaml"))?;
        let mut kwok = self.component(
            "kwok",
            &binaries.kwok,
            &[
                &format!("--kubeconfig={KUBECONFIG}"),
                &format!("--config={STAGES}"),
                "--manage-all-nodes",
                "--node-lease-duration-seconds=40",
            ],
        )?;
        let node = self.write(
            "node.json",
            &json!({
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": "node"},
                "status": {
                    "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "100"},
                    "capacity": {"cpu": "16", "memory": "64Gi", "pods": "100"},
                },
            })
            .to_string(),
        )?;
        run(self.kubectl().args(["create", "-f"]).arg(node))?;
        kwok.wait_until("the node to be ready", PATIENCE, || self.has_ready_node())?;
        self.others.push(kwok);
        Ok(())
    }

    /// Loads an image onto the node. The only file in the image is `program`, which must be statically linked.
    pub fn load_program(&self, image: &str, program: &Path) -> Result<()> {
        let archive = image::of_program(image, program, self.folder.path())?;
        self.load_images(archive.path())
    }

    /// Loads the images of an archive onto the node. The archive has the format of `docker save`.
    ///
    /// There is no registry to pull from, so a Pod can use these images only if its `imagePullPolicy` is not `Always`.
    /// `Always` is the default for an image with the tag `latest`.
    pub fn load_images(&self, archive: &Path) -> Result<()> {
        let node = self.node.as_ref().context("the cluster has no node")?;
        run(node
            .in_network(Path::new("ctr"))
            .arg("--address")
            .arg(self.folder.path().join(node::CONTAINERD_SOCKET))
            .args(["--namespace", "k8s.io", "images", "import"])
            .arg(archive))?;
        Ok(())
    }

    fn start_node(&mut self, tools: &Tools, binaries: &NodeBinaries) -> Result<()> {
        for (file, text) in node::configuration(self.folder.path(), tools)? {
            self.write(file, &text)?;
        }
        let mut containerd = self.inside(
            "containerd",
            Path::new("containerd"),
            &["--config", node::CONTAINERD_CONFIG],
        )?;
        let socket = self.folder.path().join(node::CONTAINERD_SOCKET);
        containerd.wait_until("containerd to listen", PATIENCE, || Ok(socket.exists()))?;
        containerd.wait_until("containerd to take an image", PATIENCE, || {
            self.load_program(node::PAUSE_IMAGE, &binaries.pause)?;
            Ok(true)
        })?;
        self.others.push(containerd);

        self.start_scheduler(&binaries.scheduler)?;
        let proxy = self.inside(
            "kube-proxy",
            &binaries.proxy,
            &[&format!("--config={}", node::PROXY_CONFIG)],
        )?;
        self.others.push(proxy);
        let mut kubelet = self.inside(
            "kubelet",
            &binaries.kubelet,
            &[
                &format!("--config={}", node::KUBELET_CONFIG),
                &format!("--kubeconfig={KUBELET_KUBECONFIG}"),
                &format!("--hostname-override={}", node::NAME),
                &format!("--node-ip={}", node::ADDRESS),
                &format!(
                    "--root-dir={}",
                    self.folder.path().join("kubelet").display()
                ),
                "--cert-dir=kubelet-certs",
            ],
        )?;
        kubelet.wait_until("the node to be ready", PATIENCE, || self.has_ready_node())?;
        self.others.push(kubelet);
        Ok(())
    }

    fn has_ready_node(&self) -> Result<bool> {
        let nodes = run(self.kubectl().args(["get", "nodes", "--no-headers"]))?;
        Ok(nodes.contains(" Ready "))
    }

    fn start_scheduler(&mut self, program: &Path) -> Result<()> {
        let scheduler = self.component(
            "kube-scheduler",
            program,
            &[
                &format!("--kubeconfig={SCHEDULER_KUBECONFIG}"),
                "--leader-elect=false",
                // Disables the HTTPS server.
                "--secure-port=0",
            ],
        )?;
        self.others.push(scheduler);
        Ok(())
    }

    /// Forwards the API server's port on this machine to the same port in the node's network, through a socket in the
    /// cluster's folder.
    fn start_forwarders(&mut self) -> Result<()> {
        if self.node.is_none() {
            return Ok(());
        }
        let socat = Path::new("socat");
        let port = self.port.number;
        let to_server = format!("TCP:127.0.0.1:{port},nodelay");
        let socket = format!("{},fork,backlog=100", node::API_SOCKET);
        let inner = self.component(
            "inner-forwarder",
            socat,
            &[&format!("UNIX-LISTEN:{socket}"), &to_server],
        )?;
        self.others.push(inner);
        let mut command = Command::new(socat);
        command
            .arg(format!(
                "TCP-LISTEN:{port},bind=127.0.0.1,reuseport,fork,backlog=100,nodelay"
            ))
            .arg(format!("UNIX-CONNECT:{}", node::API_SOCKET));
        let outer = Component::start("outer-forwarder", command, self.folder.path(), &self.group)?;
        self.others.push(outer);
        Ok(())
    }

    fn start_etcd(&mut self) -> Result<()> {
        let mut etcd = self.component(
            "etcd",
            &self.binaries.etcd,
            &[
                "--name=default",
                "--data-dir=etcd",
                "--unsafe-no-fsync",
                &format!("--listen-client-urls=unix://{ETCD_SOCKET}"),
                &format!("--listen-peer-urls=unix://{PEER_SOCKET}"),
                // etcd requires this flag and a URL of this form. No client asks a single member for the URL.
                "--advertise-client-urls=http://localhost:2379",
            ],
        )?;
        let socket = self.etcd_socket();
        etcd.wait_until("etcd to listen", PATIENCE, || Ok(socket.exists()))?;
        self.others.push(etcd);
        Ok(())
    }

    fn start_controller_manager(&mut self) -> Result<()> {
        let Some(program) = &self.binaries.controller_manager else {
            // The API server creates the namespace after it is ready.
            return wait_until("the default namespace", PATIENCE, || {
                let is_there = self.answers(&["get", "namespace", "default"])?;
                Ok(is_there.then_some(()))
            });
        };
        let mut controller_manager = self.component(
            "kube-controller-manager",
            program,
            &[
                &format!("--kubeconfig={CONTROLLER_MANAGER_KUBECONFIG}"),
                "--use-service-account-credentials=true",
                &format!("--service-account-private-key-file={KEY}"),
                &format!("--root-ca-file={CERTIFICATE}"),
                "--leader-elect=false",
                // With its default rate limit, the client delays the start by four seconds.
                "--kube-api-qps=1000",
                "--kube-api-burst=1000",
                // Disables the HTTPS server.
                "--secure-port=0",
            ],
        )?;
        controller_manager.wait_until("the default ServiceAccount", PATIENCE, || {
            self.answers(&["get", "serviceaccount", "default", "--namespace=default"])
        })?;
        self.others.push(controller_manager);
        Ok(())
    }

    fn component(
        &self,
        name: &'static str,
        program: &Path,
        arguments: &[&str],
    ) -> Result<Component> {
        let mut command = self
            .node
            .as_ref()
            .map_or_else(|| Command::new(program), |node| node.in_network(program));
        command.args(arguments);
        Component::start(name, command, self.folder.path(), &self.group)
    }

    /// Starts a program in all namespaces of the node, not only in its network.
    fn inside(&self, name: &'static str, program: &Path, arguments: &[&str]) -> Result<Component> {
        let node = self.node.as_ref().context("the cluster has no node")?;
        let mut command = node.inside(program);
        command.args(arguments);
        Component::start(name, command, self.folder.path(), &self.group)
    }

    fn answers(&self, request: &[&str]) -> Result<bool> {
        let limit = format!("--request-timeout={}s", REQUEST.as_secs());
        run(self.kubectl().args(request).arg(limit))?;
        Ok(true)
    }

    fn write_configuration(&self) -> Result<()> {
        let administrator = random_token()?;
        let controller_manager = random_token()?;
        let scheduler = random_token()?;
        let kubelet = random_token()?;
        let proxy = random_token()?;
        self.write(
            TOKENS,
            &format!(
                "{administrator},{ADMINISTRATOR},admin,\"system:masters\"\n\
                 {controller_manager},{CONTROLLER_MANAGER},{CONTROLLER_MANAGER}\n\
                 {scheduler},{SCHEDULER},{SCHEDULER}\n\
                 {kubelet},{KUBELET},{KUBELET},\"system:nodes\"\n\
                 {proxy},{PROXY},{PROXY}\n",
            ),
        )?;
        for (file, token) in [
            (KUBECONFIG, administrator),
            (CONTROLLER_MANAGER_KUBECONFIG, controller_manager),
            (SCHEDULER_KUBECONFIG, scheduler),
            (KUBELET_KUBECONFIG, kubelet),
            (PROXY_KUBECONFIG, proxy),
        ] {
            self.write(file, &self.kubeconfig_of(&token, "default"))?;
        }
        self.write(AUDIT_POLICY, audit::POLICY)?;
        Ok(())
    }

    fn kubeconfig_of(&self, token: &str, namespace: &str) -> String {
        let mut kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": {
                "server": self.server,
                "certificate-authority": self.folder.path().join(CERTIFICATE),
            }}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "cluster", "context": {
                "cluster": "cluster",
                "user": "user",
                "namespace": namespace,
            }}],
            "current-context": "cluster",
        });
        if self.node.is_some() {
            // If the API server listens on all addresses, its certificate is valid only for `localhost` and the
            // advertised address.
            kubeconfig["clusters"][0]["cluster"]["tls-server-name"] = json!("localhost");
        }
        format!("{kubeconfig:#}\n")
    }

    fn write(&self, file: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(file);
        // The file is renamed into place, because a process may be reading an older version. Only the owner can read a
        // temporary file. helm prints a warning if other users can read a kubeconfig.
        let write = || {
            let mut file = NamedTempFile::new_in(&self.folder)?;
            file.write_all(text.as_bytes())?;
            io::Result::Ok(file.persist(&path)?)
        };
        write().with_context(|| format!("failed to write `{}`", path.display()))?;
        Ok(path)
    }
}

fn folder() -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("cluster-")
        .tempdir()
        .context("failed to create a temporary folder")
}

/// Runs a command to its end and returns its standard output.
///
/// The error contains the command, its exit status and its standard error.
pub fn run(command: &mut Command) -> Result<String> {
    let line = iter::once(command.get_program())
        .chain(command.get_args())
        .collect::<Vec<_>>()
        .join(" ".as_ref());
    let line = line.display();
    let output = command
        .output()
        .with_context(|| format!("failed to run `{line}`"))?;
    ensure!(
        output.status.success(),
        "`{line}` ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim(),
    );
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` wrote no UTF-8"))
}

/// A port of the loopback interface that no other process can get while this value exists.
///
/// The port is bound, but this process never listens on it. The port is shared (`SO_REUSEPORT`) with the server that
/// uses it. So there is no race between the choice of the port and its use, and none during a restart.
pub struct Port {
    number: u16,
    _socket: Socket,
}

impl Port {
    /// Reserves a free port.
    pub fn reserve() -> Result<Port> {
        let reserve = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_reuse_port(true)?;
            socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
            let address = socket.local_addr()?;
            io::Result::Ok((address, socket))
        };
        let (address, socket) = reserve().context("failed to reserve a port")?;
        let address = address.as_socket_ipv4().context("no IPv4 address")?;
        Ok(Port {
            number: address.port(),
            _socket: socket,
        })
    }

    /// Returns the number of the port.
    pub fn number(&self) -> u16 {
        self.number
    }
}

fn random_token() -> Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("failed to read `/dev/urandom`")?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
