//! Scaffolded projects, and the operators that their code compiles to, on a control plane that all
//! tests share.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::OnceLock,
    time::Duration,
};

use cluster::{Cluster, Request, wait_until};
use tempfile::TempDir;

use crate::{
    compile::{building, make, pin, scaffolded, target},
    proxy::Proxy,
    scaffold::{rscaffold, run},
};

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One control plane for all tests; each has groups of its own.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(new_cluster)
}

/// A control plane for one test, to do with as it likes.
pub fn new_cluster() -> Cluster {
    Cluster::start(&|step| eprintln!("{step}")).expect("a control plane")
}

/// kubectl against the shared control plane, with arguments separated by spaces.
pub fn kubectl(arguments: &str) -> Command {
    kubectl_on(cluster(), arguments)
}

/// kubectl against `cluster`, with arguments separated by spaces.
pub fn kubectl_on(cluster: &Cluster, arguments: &str) -> Command {
    let mut kubectl = cluster.kubectl();
    kubectl.args(arguments.split(' '));
    kubectl
}

/// Waits until `kubectl get` with `arguments` prints what `good` accepts.
pub fn get_until(arguments: &str, good: impl Fn(&str) -> bool) -> String {
    wait_until(&format!("kubectl get {arguments}"), PATIENCE, || {
        let output = kubectl(&format!("get {arguments}")).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(good(&text).then_some(text))
    })
    .expect("the cluster gets there")
}

/// A scaffolded project, and the program that its code compiles to.
pub struct Project {
    path: PathBuf,
    name: &'static str,
    program: PathBuf,
    /// For the program, manifests and logs.
    beside: TempDir,
}

impl Project {
    /// Scaffolds as a user would, and compiles. All projects share one runtime, unless `commands` say
    /// otherwise.
    #[track_caller]
    pub fn new(name: &'static str, commands: &[&str]) -> Self {
        let project = Self::scaffold(name, commands);
        project.compile();
        project
    }

    /// Scaffolds alone.
    #[track_caller]
    pub fn scaffold(name: &'static str, commands: &[&str]) -> Self {
        let beside = TempDir::new().expect("a temporary folder");
        Self::scaffold_beside(beside, name, commands)
    }

    /// The same for a `static`, which is never dropped: in the folder of the control plane, which
    /// goes with this process.
    #[track_caller]
    pub fn scaffold_shared(name: &'static str, commands: &[&str]) -> Self {
        let folder = cluster().kubeconfig().parent().expect("a folder");
        let beside = TempDir::new_in(folder).expect("a temporary folder");
        Self::scaffold_beside(beside, name, commands)
    }

    #[track_caller]
    fn scaffold_beside(beside: TempDir, name: &'static str, commands: &[&str]) -> Self {
        let path = scaffolded(name).expect("a folder for the project");
        for (index, command) in commands.iter().enumerate() {
            let is_free = index == 0 && !command.contains(" --runtime ");
            let runtime = if is_free { " --runtime registry" } else { "" };
            rscaffold(&path, &format!("{command}{runtime}"));
        }
        pin(&path).expect("a copy of the lock file");
        Self {
            path,
            name,
            program: beside.path().join("operator"),
            beside,
        }
    }

    pub fn name(&self) -> &str {
        self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The namespace that `make deploy` deploys to.
    pub fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    /// A manifest in a file outside of the project.
    pub fn manifest(&self, text: &str) -> PathBuf {
        self.file("manifest-", ".yaml", text)
    }

    /// A new file outside of the project: tests may share the project.
    fn file(&self, prefix: &str, suffix: &str, text: &str) -> PathBuf {
        let file = tempfile::Builder::new()
            .prefix(prefix)
            .suffix(suffix)
            .tempfile_in(&self.beside);
        let (_, path) = file.and_then(|file| Ok(file.keep()?)).expect("a file");
        fs::write(&path, text).expect("a writable file");
        path
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path.join(file)).expect("a file of the project")
    }

    /// Puts `new` in the place of `old`, as a user's editor would.
    pub fn edit(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} has no {old:?}:\n{text}");
        fs::write(self.path.join(file), text.replacen(old, new, 1)).expect("a writable file");
    }

    /// `make manifests`, which compiles; the program is copied because another project may have one
    /// of the same name.
    pub fn compile(&self) {
        let _building = building();
        run(&mut make(&self.path, "manifests"));
        let manifest = self.read("Cargo.toml");
        let package = manifest.split('"').nth(1).expect("the name of the package");
        fs::copy(target().join("debug").join(package), &self.program).expect("the program");
    }

    /// Runs make against the cluster: a target, and variables after it, separated by spaces.
    pub fn make(&self, arguments: &str) -> String {
        self.make_on(cluster(), arguments)
    }

    /// The same against another cluster than the shared one.
    pub fn make_on(&self, cluster: &Cluster, arguments: &str) -> String {
        let _building = building();
        let mut make = make(&self.path, arguments);
        make.arg(format!("KUBECTL={}", cluster.kubectl_path().display()));
        run(make.env("KUBECONFIG", cluster.kubeconfig()))
    }

    /// Creates what config/default has besides the operator itself, its CRDs, what has it called, and what takes the
    /// CRDs of others.
    pub fn grant(&self) {
        self.grant_on(cluster());
    }

    fn grant_on(&self, cluster: &Cluster) {
        let manifests = run(kubectl_on(cluster, "kustomize").arg(self.path.join("config/default")));
        let documents: Vec<&str> = manifests
            .split("\n---\n")
            .filter(|document| {
                let others = [
                    "kind: CustomResourceDefinition\n",
                    "kind: Deployment\n",
                    "kind: ServiceMonitor\n",
                    "WebhookConfiguration\n",
                ];
                !others.iter().any(|kind| document.contains(kind))
            })
            .collect();
        let manifest = self.manifest(&documents.join("\n---\n"));
        run(kubectl_on(cluster, "apply --server-side --force-conflicts -f").arg(manifest));
    }

    /// Runs the operator as its ServiceAccount.
    pub fn start(&self) -> Operator {
        self.operator().start()
    }

    /// An operator to start on the shared control plane, as its ServiceAccount.
    pub fn operator(&self) -> Launch<'_> {
        let launch = Launch {
            project: self,
            cluster: cluster(),
            namespace: None,
            account: None,
            is_administrator: false,
            known: None,
            command: Command::new(&self.program),
        };
        // As variables, which a test may say otherwise by flags.
        launch
            .env("KUBE_MANAGER_LOG_FORMAT", "json")
            .env("KUBE_MANAGER_HEALTH_PROBE_BIND_ADDRESS", "127.0.0.1:0")
    }
}

/// How to start an operator.
#[must_use = "it has to be started"]
pub struct Launch<'a> {
    project: &'a Project,
    cluster: &'a Cluster,
    namespace: Option<&'a str>,
    account: Option<&'a str>,
    is_administrator: bool,
    /// The user of a kubeconfig that was made before.
    known: Option<(String, PathBuf)>,
    command: Command,
}

impl<'a> Launch<'a> {
    /// On another control plane than the shared one.
    pub fn on(self, cluster: &'a Cluster) -> Self {
        Self { cluster, ..self }
    }

    /// With its requests going through `proxy`.
    pub fn through(self, proxy: &Proxy) -> Self {
        self.args(&format!("--master {}", proxy.url()))
    }

    /// In another namespace than the usual one.
    pub fn within(self, namespace: &'a str) -> Self {
        Self {
            namespace: Some(namespace),
            ..self
        }
    }

    /// As a ServiceAccount of the operator's namespace that exists, with the roles that it has.
    pub fn account(self, name: &'a str) -> Self {
        Self {
            account: Some(name),
            ..self
        }
    }

    /// As the administrator of the cluster, as a developer does.
    pub fn administrator(self) -> Self {
        Self {
            is_administrator: true,
            ..self
        }
    }

    /// As the user of a kubeconfig that was made before. So it starts without a request of the test.
    pub fn known(self, user: &str, kubeconfig: &Path) -> Self {
        let known = Some((user.to_owned(), kubeconfig.to_owned()));
        Self { known, ..self }
    }

    /// With arguments separated by spaces.
    pub fn args(mut self, arguments: &str) -> Self {
        self.command.args(arguments.split(' '));
        self
    }

    /// With an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it, with a log of its own.
    pub fn start(mut self) -> Operator {
        let (user, kubeconfig) = match self.known.take() {
            Some(known) => known,
            None if self.is_administrator => {
                ("admin".to_owned(), self.cluster.kubeconfig().to_owned())
            }
            None => self.as_account(),
        };
        let log = self.project.file("operator-", ".log", "");
        let file = fs::File::create(&log).expect("a log file");
        let child = self
            .command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("the operator starts");
        Operator { child, log, user }
    }

    /// The name of the ServiceAccount, and a kubeconfig with its token.
    fn as_account(&self) -> (String, PathBuf) {
        let usual = || self.project.namespace();
        let namespace = self.namespace.map_or_else(usual, str::to_owned);
        let own = format!("{}-controller-manager", self.project.name);
        let account = self.account.unwrap_or_else(|| {
            self.project.grant_on(self.cluster);
            &own
        });
        let kubeconfig = self.cluster.service_account_kubeconfig(&namespace, account);
        (
            format!("system:serviceaccount:{namespace}:{account}"),
            kubeconfig.expect("a token for the ServiceAccount"),
        )
    }
}

/// A running operator; killed if a test fails.
pub struct Operator {
    child: Child,
    log: PathBuf,
    user: String,
}

impl Operator {
    /// What it has asked the API server of `cluster`, as far as that has answered.
    pub fn requests(&self, cluster: &Cluster) -> Vec<Request> {
        let requests = cluster.requests_by(&self.user);
        requests.expect("an audit log")
    }

    /// Of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The memory that it takes, in KiB; none once it has ended.
    pub fn memory(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("what Linux knows of the process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number.map_or(0, |number| number.parse().expect("a number"))
    }

    /// How many files and connections it has open.
    pub fn files(&self) -> usize {
        self.count("fd")
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.count("task")
    }

    /// How many entries a folder of the process has in /proc.
    fn count(&self, folder: &str) -> usize {
        let entries = fs::read_dir(format!("/proc/{}/{folder}", self.id()));
        entries.expect("what Linux knows of the process").count()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log file")
    }

    /// The lines of its log that have all of `parts`.
    pub fn lines(&self, parts: &[&str]) -> Vec<String> {
        let has = |line: &&str| parts.iter().all(|part| line.contains(part));
        self.log().lines().filter(has).map(str::to_owned).collect()
    }

    /// Waits until the log has a line with all of `parts`.
    pub fn says(&self, parts: &[&str]) {
        self.repeats(parts, 1);
    }

    /// Waits until the log has so many lines with all of `parts`, and gives them.
    pub fn repeats(&self, parts: &[&str], times: usize) -> Vec<String> {
        let what = format!("{times} times {parts:?} in the operator's log");
        let said = wait_until(&what, PATIENCE, || {
            Ok(Some(self.lines(parts)).filter(|lines| lines.len() >= times))
        });
        said.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()))
    }

    /// Waits until it serves `what`, and says where: at a host and a port.
    pub fn address(&self, what: &str) -> String {
        let line = &self.repeats(&[&format!(r#""serves {what}""#)], 1)[0];
        let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        line["address"].as_str().expect("an address").to_owned()
    }

    /// Sends a signal such as `TERM`, `KILL`, `STOP` or `CONT`.
    pub fn signal(&self, name: &str) {
        let id = self.id().to_string();
        run(Command::new("kill").args(["-s", name, &id]));
    }

    /// Waits for its end.
    pub fn ends_within(&mut self, timeout: Duration) -> ExitStatus {
        let ended = wait_until("the operator to end", timeout, || {
            Ok(self.child.try_wait()?)
        });
        ended.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()))
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        let status = self.child.try_wait().expect("a child process");
        status.is_none()
    }

    /// Stops it as Kubernetes does; nothing that it asked for may have been forbidden, and nothing
    /// may have failed.
    pub fn stop(mut self) {
        self.signal("TERM");
        let status = self.ends_within(PATIENCE);
        let log = self.log();
        assert!(status.success(), "{status}\n{log}");
        let own = self.requests(cluster());
        assert!(
            !own.is_empty(),
            "the operator sent no request as {}",
            self.user
        );
        let forbidden: Vec<_> = own.iter().filter(|request| request.code == 403).collect();
        assert!(forbidden.is_empty(), "{forbidden:?}\n{log}");
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
