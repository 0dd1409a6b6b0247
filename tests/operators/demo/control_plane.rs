//! Finds and starts the API server of the demo.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use cluster::{Cluster, PATIENCE, kubectl_limit};

use crate::{
    scaffold::{plain_make, root},
    screen::{Screen, say},
};

/// The environment variable with the path of the kubeconfig of an existing cluster.
const KUBECONFIG: &str = "DEMO_KUBECONFIG";

/// The CRD that the demo installs into a cluster.
const CRD: &str = "guestbooks.webapp.com";

/// The source of the API server.
pub enum Source {
    /// A running cluster of the user, by its kubeconfig.
    Given(PathBuf),
    /// The programs in this folder.
    Assets(PathBuf),
    /// Programs that Go builds, or has built before.
    Built,
}

impl Source {
    /// Finds the fastest source, and prints the source and how long it takes.
    pub fn find(screen: &Screen, project: &Path) -> Result<Self> {
        if let Some(path) = env::var_os(KUBECONFIG).filter(|path| !path.is_empty()) {
            let path = fs::canonicalize(&path)
                .with_context(|| format!("{KUBECONFIG} is `{}`", path.display()))?;
            say(&format!("the cluster of {KUBECONFIG}, which runs already"));
            return Ok(Self::Given(path));
        }
        if let Some(folder) = cluster::assets() {
            say("the programs of KUBEBUILDER_ASSETS: they start in a few seconds");
            return Ok(Self::Assets(folder));
        }
        if cluster::are_built() {
            say("the programs in target/cluster: they start in a few seconds");
            return Ok(Self::Built);
        }
        match fetch(screen, project) {
            Ok(folder) => return Ok(Self::Assets(folder)),
            Err(_) if screen.is_interrupted() => bail!("interrupted"),
            Err(error) => say(&format!("not available here: {}", reason(&error))),
        }
        say("Go builds etcd and kube-apiserver instead: five minutes on two cores, once");
        Ok(Self::Built)
    }

    /// Starts the API server, or connects to it.
    pub fn start(self, screen: &Screen) -> Result<ControlPlane> {
        let assets = match self {
            Self::Given(kubeconfig) => {
                return Ok(ControlPlane::Given(Given::new(kubeconfig)?));
            }
            Self::Assets(folder) => Some(folder),
            Self::Built => None,
        };
        say("etcd and kube-apiserver, on this machine only");
        let cluster = screen.work(move |progress| {
            Cluster::start_without_controllers(assets.as_deref(), progress)
        })?;
        Ok(ControlPlane::Own(Box::new(cluster)))
    }
}

/// Downloads the programs as the project does for its own tests, and returns their folder. The folder is kept for the
/// next demo.
fn fetch(screen: &Screen, project: &Path) -> Result<PathBuf> {
    let path = project.join("Makefile");
    let makefile = fs::read_to_string(&path)
        .with_context(|| format!("failed to read `{}`", path.display()))?;
    let version = makefile
        .lines()
        .find_map(|line| line.strip_prefix("ENVTEST_K8S_VERSION ?= "))
        .context("the project's Makefile names no version of the API server")?;
    let folder = root().join("target/cluster/envtest").join(version);
    if !folder.join("kube-apiserver").is_file() {
        say("an archive of etcd and kube-apiserver, some 70 MB: a minute at most, once");
    }
    let mut make = plain_make();
    make.arg("setup-envtest")
        .arg(format!("ENVTEST={}", folder.display()))
        .current_dir(project);
    screen.run("make setup-envtest", &mut make)?;
    Ok(folder)
}

/// Returns the line of an error that states the cause: a line of curl, or of the script that runs curl.
fn reason(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let said = text.lines().rev().find_map(|line| {
        line.strip_prefix("error: ")
            .or_else(|| line.strip_prefix("curl: "))
    });
    said.or_else(|| text.lines().next())
        .unwrap_or_default()
        .to_owned()
}

/// An API server.
pub enum ControlPlane {
    Own(Box<Cluster>),
    Given(Given),
}

impl ControlPlane {
    pub fn kubeconfig(&self) -> &Path {
        match self {
            Self::Own(cluster) => cluster.kubeconfig(),
            Self::Given(given) => &given.kubeconfig,
        }
    }

    /// Returns the path of kubectl for the demo's own API server. For a cluster of the user, kubectl on `PATH` is used.
    pub fn kubectl_path(&self) -> Option<&Path> {
        match self {
            Self::Own(cluster) => Some(cluster.kubectl_path()),
            Self::Given(_) => None,
        }
    }

    pub fn kubectl(&self) -> Command {
        match self {
            Self::Own(cluster) => cluster.kubectl(),
            Self::Given(given) => given.kubectl(),
        }
    }
}

/// A cluster of the user. On drop, the CRD and the objects of the demo are deleted from the cluster.
pub struct Given {
    kubeconfig: PathBuf,
}

impl Given {
    fn new(kubeconfig: PathBuf) -> Result<Self> {
        let crd = cluster::run(
            Self::kubectl_of(&kubeconfig)
                .args(["get", "crd", CRD, "--ignore-not-found", "--output=name"])
                .arg("--request-timeout=10s"),
        )?;
        ensure!(
            crd.trim().is_empty(),
            "the cluster of {KUBECONFIG} has the CustomResourceDefinition `{CRD}`, which the demo would \
             replace and delete"
        );
        Ok(Self { kubeconfig })
    }

    fn kubectl(&self) -> Command {
        Self::kubectl_of(&self.kubeconfig)
    }

    fn kubectl_of(kubeconfig: &Path) -> Command {
        let mut kubectl = Command::new("kubectl");
        kubectl.env("KUBECONFIG", kubeconfig);
        kubectl
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        let mut delete = self.kubectl();
        delete.args(["delete", "crd", CRD, "--ignore-not-found"]);
        if let Err(error) = cluster::run(delete.arg(kubectl_limit(PATIENCE))) {
            eprintln!("   failed to delete `{CRD}` from the cluster of {KUBECONFIG}: {error:#}");
        }
    }
}
