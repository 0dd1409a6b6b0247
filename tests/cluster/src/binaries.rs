use std::{
    collections::VecDeque,
    env,
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

/// A Go module that pins and builds programs.
struct Module {
    folder: &'static str,
    go_mod: &'static str,
    /// The required module whose version is the version of the programs.
    versioned: &'static str,
}

/// The module whose version of Kubernetes is the version of the cluster.
static KUBERNETES: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/binaries"),
    go_mod: include_str!("../binaries/go.mod"),
    versioned: "k8s.io/kubernetes",
};
static SIMULATION: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/kwok"),
    go_mod: include_str!("../kwok/go.mod"),
    versioned: "sigs.k8s.io/kwok",
};

const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The interval at which a running build reports its progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// The programs that a cluster consists of.
pub(crate) struct Binaries {
    pub etcd: PathBuf,
    pub api_server: PathBuf,
    /// Without this program, no controller of Kubernetes runs.
    pub controller_manager: Option<PathBuf>,
    pub kubectl: PathBuf,
}

/// The programs that a simulated node needs.
pub(crate) struct SimulationBinaries {
    pub scheduler: PathBuf,
    pub kwok: PathBuf,
}

/// The programs of a node that runs Pods, except the programs that have to be installed.
pub(crate) struct NodeBinaries {
    pub scheduler: PathBuf,
    pub kubelet: PathBuf,
    pub proxy: PathBuf,
    pub pause: PathBuf,
}

struct Program {
    name: &'static str,
    package: &'static str,
    module: &'static Module,
}

const ETCD: Program = Program {
    name: "etcd",
    package: "go.etcd.io/etcd/server/v3",
    module: &KUBERNETES,
};
const API_SERVER: Program = Program {
    name: "kube-apiserver",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    module: &KUBERNETES,
};
const CONTROLLER_MANAGER: Program = Program {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    module: &KUBERNETES,
};
const KUBECTL: Program = Program {
    name: "kubectl",
    package: "k8s.io/kubernetes/cmd/kubectl",
    module: &KUBERNETES,
};

const SCHEDULER: Program = Program {
    name: "kube-scheduler",
    package: "k8s.io/kubernetes/cmd/kube-scheduler",
    module: &KUBERNETES,
};
const KUBELET: Program = Program {
    name: "kubelet",
    package: "k8s.io/kubernetes/cmd/kubelet",
    module: &KUBERNETES,
};
const PROXY: Program = Program {
    name: "kube-proxy",
    package: "k8s.io/kubernetes/cmd/kube-proxy",
    module: &KUBERNETES,
};
const PAUSE: Program = Program {
    name: "pause",
    package: "./pause",
    module: &KUBERNETES,
};
const KWOK: Program = Program {
    name: "kwok",
    package: "sigs.k8s.io/kwok/cmd/kwok",
    module: &SIMULATION,
};

impl Binaries {
    /// Finds the programs in `KUBEBUILDER_ASSETS`, and builds missing ones. If `KUBEBUILDER_ASSETS` is set, its folder
    /// must contain etcd and kube-apiserver.
    pub fn find(progress: &dyn Fn(&str)) -> Result<Binaries> {
        let mut binaries = Self::without_controllers(assets().as_deref(), progress)?;
        binaries.controller_manager = Some(find(&CONTROLLER_MANAGER, progress)?);
        Ok(binaries)
    }

    /// Finds the programs of a control plane without controllers in the folder `assets`. Without a folder, builds the
    /// programs.
    pub fn without_controllers(assets: Option<&Path>, progress: &dyn Fn(&str)) -> Result<Binaries> {
        let asset = |program: &Program| {
            let path = assets?.join(program.name);
            path.is_file().then_some(path)
        };
        let required = |program: &Program| match (asset(program), assets) {
            (Some(path), _) => Ok(path),
            (None, Some(folder)) => {
                bail!(
                    "{ASSETS} is `{}`, which has no {}",
                    folder.display(),
                    program.name
                )
            }
            (None, None) => build(program, progress),
        };
        Ok(Binaries {
            etcd: required(&ETCD)?,
            api_server: required(&API_SERVER)?,
            controller_manager: None,
            // A kubectl on `PATH` may be of another version.
            kubectl: asset(&KUBECTL).map_or_else(|| build(&KUBECTL, progress), Ok)?,
        })
    }
}

/// Whether etcd, kube-apiserver and kubectl are already built.
pub fn are_built() -> bool {
    let is_built = |program| built(program).is_ok_and(|path| path.is_file());
    is_built(&ETCD) && is_built(&API_SERVER) && is_built(&KUBECTL)
}

impl SimulationBinaries {
    /// Finds the programs in `KUBEBUILDER_ASSETS`, and builds missing ones.
    pub fn find(progress: &dyn Fn(&str)) -> Result<SimulationBinaries> {
        Ok(SimulationBinaries {
            scheduler: find(&SCHEDULER, progress)?,
            kwok: find(&KWOK, progress)?,
        })
    }
}

impl NodeBinaries {
    /// Finds the programs in `KUBEBUILDER_ASSETS`, and builds missing ones.
    pub fn find(progress: &dyn Fn(&str)) -> Result<NodeBinaries> {
        Ok(NodeBinaries {
            scheduler: find(&SCHEDULER, progress)?,
            kubelet: find(&KUBELET, progress)?,
            proxy: find(&PROXY, progress)?,
            pause: find(&PAUSE, progress)?,
        })
    }
}

/// Returns the folder that `KUBEBUILDER_ASSETS` names.
pub fn assets() -> Option<PathBuf> {
    let folder = env::var_os(ASSETS).filter(|folder| !folder.is_empty())?;
    Some(folder.into())
}

fn asset(program: &Program) -> Option<PathBuf> {
    let path = assets()?.join(program.name);
    path.is_file().then_some(path)
}

fn find(program: &Program, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    asset(program).map_or_else(|| build(program, progress), Ok)
}

/// Returns the path of a program on `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

impl Module {
    fn version(&self) -> Result<&'static str> {
        let lines = self.go_mod.lines().map(str::trim);
        lines
            .filter_map(|line| {
                line.strip_prefix("require ")
                    .unwrap_or(line)
                    .split_once(' ')
            })
            .find(|(module, _)| *module == self.versioned)
            .and_then(|(_, rest)| rest.split_whitespace().next())
            .with_context(|| format!("`{}/go.mod` requires no {}", self.folder, self.versioned))
    }
}

/// Returns the path that a program has after its build.
fn built(program: &Program) -> Result<PathBuf> {
    let mut folders = Path::new(program.module.folder).ancestors();
    let root = folders.nth(3).context("no root")?;
    let folder = root.join("target/cluster/bin");
    Ok(folder.join(program.module.version()?).join(program.name))
}

/// Builds a program unless it is already built, and returns its path.
fn build(program: &Program, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    let version = program.module.version()?;
    let path = built(program)?;
    if path.is_file() {
        return Ok(path);
    }
    let folder = path.parent().context("no folder")?.to_owned();
    fs::create_dir_all(&folder)
        .with_context(|| format!("failed to create `{}`", folder.display()))?;
    let _lock = lock(&folder.join(".lock"), progress)?;
    if path.is_file() {
        return Ok(path);
    }

    // The program is renamed into place when it is complete, so a killed build leaves no file that looks like a
    // program.
    let unfinished = tempfile::tempdir_in(&folder)
        .with_context(|| format!("failed to create a folder in `{}`", folder.display()))?;
    let output = unfinished.path().join(program.name);
    go_build(program, version, &output, progress)
        .with_context(|| format!("failed to build {} {version}", program.name))?;
    fs::rename(&output, &path).with_context(|| format!("failed to create `{}`", path.display()))?;
    Ok(path)
}

fn lock(path: &Path, progress: &dyn Fn(&str)) -> Result<File> {
    let file =
        File::create(path).with_context(|| format!("failed to create `{}`", path.display()))?;
    let locked = match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            progress("waiting for another process that builds");
            file.lock()
        }
        result => result.map_err(io::Error::from),
    };
    locked.with_context(|| format!("failed to lock `{}`", path.display()))?;
    Ok(file)
}

fn go_build(
    program: &Program,
    version: &str,
    output: &Path,
    progress: &dyn Fn(&str),
) -> Result<()> {
    ensure!(
        on_path("go").is_some(),
        "`go` is not on PATH\n\
         hint: install Go from https://go.dev/dl, or set {ASSETS} to a folder that holds etcd, \
         kube-apiserver and kubectl",
    );
    let what = format!("building {} {version}", program.name);
    progress(&format!("{what}: takes minutes, once"));

    let mut go = Command::new("go")
        .args([
            "build",
            "-v",
            "-mod=readonly",
            "-trimpath",
            "-buildvcs=false",
        ])
        .arg(format!("-ldflags={}", ldflags(version)))
        .arg("-o")
        .args([output.as_os_str(), program.package.as_ref()])
        .current_dir(program.module.folder)
        .env("CGO_ENABLED", "0")
        // A fifth of the time to compile is garbage collection.
        .env("GOGC", "800")
        .env("GOMEMLIMIT", "2GiB")
        .env("GOWORK", "off")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("failed to run `go`")?;

    // With `-v`, `go build` prints each module that it downloads and each package that it compiles.
    let mut last_lines = VecDeque::new();
    let mut compiled = 0;
    let mut reported = Instant::now();
    for line in BufReader::new(go.stderr.take().context("no stderr")?).lines() {
        let line = line.context("failed to read the output of `go`")?;
        let step = if let Some(step) = line.strip_prefix("go: ") {
            step.to_owned()
        } else {
            compiled += 1;
            format!("{compiled} packages compiled")
        };
        if reported.elapsed() >= REPORT_INTERVAL {
            progress(&format!("{what}: {step}"));
            reported = Instant::now();
        }
        if last_lines.len() == 20 {
            last_lines.pop_front();
        }
        last_lines.push_back(line);
    }
    let status = go.wait().context("failed to wait for `go`")?;
    ensure!(
        status.success(),
        "`go build` ended with {status}\n{}",
        Vec::from(last_lines).join("\n"),
    );
    Ok(())
}

/// Returns the linker flags that set the version. Clients parse the version that the API server and kubectl report;
/// without these flags, the reported version is not valid.
fn ldflags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let major = numbers.next().unwrap_or_default();
    let minor = numbers.next().unwrap_or_default();
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} \
         -X {package}.gitMinor={minor}"
    )
}
