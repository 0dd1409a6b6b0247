//! A node that runs Pods, in its own namespaces. No process outside sees the node's mounts, routes, filters and
//! processes. When the first process in the namespaces ends, the kernel ends everything in them.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    net::Ipv4Addr,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::{binaries::on_path, component::log_tail};

/// The node's own address, on the loopback interface of the node's network namespace. No other machine can reach this
/// address.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 245, 0, 1);
pub(crate) const NAME: &str = "node";
pub(crate) const POD_NETWORK: &str = "10.244.0.0/24";
pub(crate) const SERVICE_NETWORK: &str = "10.0.0.0/24";

// Files in the cluster's folder.
pub(crate) const API_SOCKET: &str = "api.sock";
pub(crate) const CONTAINERD_CONFIG: &str = "containerd.toml";
pub(crate) const CONTAINERD_SOCKET: &str = "containerd.sock";
pub(crate) const KUBELET_CONFIG: &str = "kubelet.json";
pub(crate) const PROXY_CONFIG: &str = "kube-proxy.json";
const CNI_CONFIGS: &str = "cni";
const RESOLV_CONF: &str = "resolv.conf";

/// The image that holds the namespaces of a Pod. The image has its usual name, so that manifests can use it as an image
/// that does nothing.
pub(crate) const PAUSE_IMAGE: &str = "registry.k8s.io/pause:3.10";

/// The programs that have to be installed, each with its Debian package.
const REQUIRED: [(&str, &str); 7] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("socat", "socat"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
];
const CNI_PACKAGE: &str = "containernetworking-plugins";
/// The folders in which distributions install the CNI plugins.
const CNI_FOLDERS: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// The script that starts the first process in the namespaces, prints its process ID, and cleans up after the process
/// has ended. Control groups do not end with the namespaces, so the script removes them.
const OUTER: &str = r#"
    exec 3<&0
    cd /sys/fs/cgroup
    if [ -e cgroup.controllers ]; then
        echo "+cpu +cpuset +memory +pids" > cgroup.subtree_control
        mkdir "${1##*/}"
    else
        for hierarchy in */; do mkdir "$hierarchy${1##*/}"; done
    fi
    cd /
    unshare --mount --net --pid --fork --mount-proc sh -ec "$2" <&3 &
    echo "$!"
    wait "$!"
    find /sys/fs/cgroup -depth -type d -path "*/${1##*/}*" -exec rmdir {} + 2>/dev/null
    # What is only in the network may write until it is killed, too.
    for try in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" && break; sleep 1; done
"#;
/// The script of the first process in the namespaces. The process ends when its standard input ends, a pipe that only
/// the program with the cluster writes to. Everything else in the namespaces ends with this process.
const INNER: &str = r"
    mount --make-rshared /
    # Where a container runtime and kubelet keep more than they can be told to keep elsewhere.
    for folder in /run /var/lib /var/log; do mount -t tmpfs node $folder; done
    # What kubelet sets, but is the whole machine's.
    for setting in vm/overcommit_memory kernel/panic kernel/panic_on_oops \
        kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
        copy=/run/${setting##*/}
        cat /proc/sys/$setting > $copy
        mount --bind $copy /proc/sys/$setting
    done
    ip link set lo up
    ip address add ADDRESS/32 dev lo
    # kube-proxy leads to a Pod only what has a route: the API server is here too, and calls webhooks.
    ip route add SERVICES dev lo src ADDRESS
    echo 1 > /proc/sys/net/ipv4/ip_forward
    echo ready
    exec > /dev/null
    read -r _
";

/// The namespaces of a node.
pub(crate) struct Namespaces {
    outer: Child,
    input: Option<ChildStdin>,
    /// The ID of the process that created the namespaces. This process itself is in the network and mount namespaces.
    id: u32,
    working_folder: PathBuf,
}

impl Namespaces {
    pub fn start(folder: &Path) -> Result<Namespaces> {
        let log = folder.join("node.log");
        let mut outer = Command::new("sh")
            .args(["-c", OUTER, "sh"])
            .arg(folder)
            .arg(
                INNER
                    .replace("ADDRESS", &ADDRESS.to_string())
                    .replace("SERVICES", SERVICE_NETWORK),
            )
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).context("failed to create `node.log`")?)
            // Ctrl-C must not reach this process.
            .process_group(0)
            .spawn()
            .context("failed to run `sh`")?;
        let output = outer.stdout.take().context("no stdout")?;
        let mut namespaces = Namespaces {
            input: outer.stdin.take(),
            outer,
            id: 0,
            working_folder: folder.to_owned(),
        };
        let mut lines = BufReader::new(output).lines();
        let mut line = || lines.next().transpose().map(Option::unwrap_or_default);
        namespaces.id = line()?.parse().context("no process ID")?;
        ensure!(
            line()? == "ready",
            "failed to make the namespaces of a node\n\n{}",
            log_tail(&log),
        );
        Ok(namespaces)
    }

    /// Returns a command that runs `program` in the node's network.
    pub fn in_network(&self, program: &Path) -> Command {
        let mut nsenter = Command::new("nsenter");
        nsenter.arg(format!("--net=/proc/{}/ns/net", self.id));
        nsenter.arg("--").arg(program);
        nsenter
    }

    /// Returns a command that runs `program` in all namespaces of the node. The program has another process ID than the
    /// command, and lives until the node ends.
    pub fn inside(&self, program: &Path) -> Command {
        let mut nsenter = Command::new("nsenter");
        let folder = format!("/proc/{}/ns", self.id);
        nsenter
            .arg(format!("--net={folder}/net"))
            .arg(format!("--mount={folder}/mnt"))
            .arg(format!("--pid={folder}/pid_for_children"))
            // Enters the working directory in the node's mount namespace. The inherited one is in another mount
            // namespace.
            .arg(format!("--wdns={}", self.working_folder.display()))
            .arg("--")
            .arg(program);
        nsenter
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.outer.wait();
    }
}

/// The location of the installed programs that the node needs. If a program is missing, the error lists the packages to
/// install.
pub(crate) struct Tools {
    cni: &'static str,
}

impl Tools {
    pub fn find() -> Result<Tools> {
        let cni = CNI_FOLDERS
            .into_iter()
            .find(|folder| Path::new(folder).join("ptp").is_file());
        let mut missing: Vec<_> = REQUIRED
            .iter()
            .filter(|(program, _)| on_path(program).is_none())
            .map(|(_, package)| *package)
            .chain(cni.is_none().then_some(CNI_PACKAGE))
            .collect();
        missing.dedup();
        ensure!(
            cfg!(target_os = "linux"),
            "a node that runs Pods needs Linux"
        );
        ensure!(
            missing.is_empty(),
            "a node that runs Pods needs {}\n\
             hint: on Debian, `apt-get install --yes --no-install-recommends {}`",
            missing.join(", "),
            missing.join(" "),
        );
        let status = fs::read_to_string("/proc/self/status").context("failed to read `/proc`")?;
        let user = status
            .lines()
            .find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1));
        ensure!(
            user == Some("0"),
            "a node that runs Pods needs root, to make namespaces and to mount"
        );
        let Some(cni) = cni else {
            bail!("no CNI plugins");
        };
        Ok(Tools { cni })
    }
}

/// Returns the files that the node's programs read, with their names in `folder`.
pub(crate) fn configuration(folder: &Path, tools: &Tools) -> Result<Vec<(&'static str, String)>> {
    fs::create_dir(folder.join(CNI_CONFIGS)).context("failed to create a folder")?;
    let path = |name: &str| folder.join(name).display().to_string();
    Ok(vec![
        (CONTAINERD_CONFIG, containerd(path, tools)),
        ("cni/pods.conflist", network(path)),
        (KUBELET_CONFIG, kubelet(folder, path)),
        (PROXY_CONFIG, proxy(path)),
        (RESOLV_CONF, String::new()),
    ])
}

fn containerd(path: impl Fn(&str) -> String, tools: &Tools) -> String {
    format!(
        r#"
version = 2
root = {root:?}
# In the node's own /run: it is gone with the node.
state = "/run/containerd-node"
# They look for file systems and folders that are not the node's business.
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt",
]

[grpc]
address = {socket:?}

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = {PAUSE_IMAGE:?}
# Where root may not do everything, it may not lower the score.
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = {cni_programs:?}
conf_dir = {cni_configs:?}

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"#,
        root = path("containerd"),
        socket = path(CONTAINERD_SOCKET),
        cni_programs = tools.cni,
        cni_configs = path(CNI_CONFIGS),
    )
}

fn network(path: impl Fn(&str) -> String) -> String {
    // Each Pod has a pair of interfaces and a route. Unlike with a bridge, all packets pass the rules of kube-proxy,
    // and no kernel module is needed for this.
    let network = json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": POD_NETWORK}]],
                "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": path("addresses"),
            },
        }],
    });
    format!("{network:#}\n")
}

fn kubelet(folder: &Path, path: impl Fn(&str) -> String) -> String {
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": format!("unix://{}", path(CONTAINERD_SOCKET)),
        // Only the node's own network can reach kubelet, and the cluster is a throwaway cluster.
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        "readOnlyPort": 0,
        // Both versions of control groups work. The root is a control group of this cluster.
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup(folder),
        "cgroupsPerQOS": true,
        "enforceNodeAllocatable": [],
        "failSwapOn": false,
        // There is no DNS: Pods find Services by their addresses.
        "clusterDomain": "cluster.local",
        "resolvConf": path(RESOLV_CONF),
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": path("volume-plugins"),
        // Other data may fill the disk of this machine. The node must not evict Pods because of it.
        "evictionHard": {
            "memory.available": "0%",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
    });
    format!("{config:#}\n")
}

fn proxy(path: impl Fn(&str) -> String) -> String {
    let config = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": path(crate::PROXY_KUBECONFIG)},
        "clusterCIDR": POD_NETWORK,
        "mode": "iptables",
        // The connection limits belong to the whole machine. 0 leaves them unchanged.
        "conntrack": {"maxPerCore": 0, "min": 0},
        "hostnameOverride": NAME,
        "healthzBindAddress": "127.0.0.1:10256",
    });
    format!("{config:#}\n")
}

/// Returns the control group of all containers, named after the cluster's folder.
fn cgroup(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    format!("/{}", name.display())
}
