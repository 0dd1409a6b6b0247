//! Helpers for tests: scaffolded projects, and operators compiled from them, on a control plane that all tests share.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use anyhow::ensure;
pub use cluster::PATIENCE;
use cluster::{Cluster, Request, assets, kubectl_limit, last_lines, requests_in, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    compile::{make, pin, scaffolded, target_folder},
    manifests::{self, text},
    project::{Tree, tree},
    proxy::Proxy,
    scaffold::{rscaffold, run},
};

/// The pause between two requests of a client that does not stop during a test: other tests need the processors, too.
pub const PACE: Duration = Duration::from_millis(50);

/// Returns the control plane that all tests share. Each test uses its own API groups.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(new_cluster_with_controllers)
}

/// Starts a control plane for one test, which may do anything with it. Controllers would use the processors, so none
/// runs: no garbage collection, no deletion of namespaces, no Pods of Deployments. The API server uses the processors even
/// when nobody sends a request, so compile the project before.
pub fn new_cluster() -> Cluster {
    let progress = |step: &str| eprintln!("{step}");
    let cluster = Cluster::start_without_controllers(assets().as_deref(), &progress);
    cluster.expect("a control plane")
}

/// Starts a control plane for one test, with all controllers.
pub fn new_cluster_with_controllers() -> Cluster {
    Cluster::start(&|step| eprintln!("{step}")).expect("a control plane")
}

/// Returns kubectl for the shared control plane, with arguments separated by spaces.
pub fn kubectl(arguments: &str) -> Command {
    kubectl_on(cluster(), arguments)
}

/// Returns kubectl for `cluster`, with arguments separated by spaces.
pub fn kubectl_on(cluster: &Cluster, arguments: &str) -> Command {
    let mut kubectl = cluster.kubectl();
    let mut words = arguments.split(' ').peekable();
    // Without a limit, `kubectl delete` waits for ever for an object that stays. A caller may add the value of `-f`.
    if words.next_if_eq(&"delete").is_some() {
        kubectl.args(["delete", &kubectl_limit(PATIENCE)]);
    }
    kubectl.args(words);
    kubectl
}

/// Waits until `kubectl get` with `arguments` succeeds and `good` accepts its output, and returns the output.
#[track_caller]
pub fn get_until(arguments: &str, good: impl Fn(&str) -> bool) -> String {
    let mut last = String::new();
    let found = wait_until(&format!("kubectl get {arguments}"), PATIENCE, || {
        let output = kubectl(&format!("get {arguments}")).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        last.clone_from(&text);
        // The output of a failed kubectl is empty, which could be the awaited output.
        ensure!(
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned()
        );
        Ok(good(&text).then_some(text))
    });
    match found {
        Ok(text) => text,
        Err(error) => panic!("{error:#}\n{}", excerpt(&last, SHOWN_OF_OBJECT)),
    }
}

/// Runs `apply`, a kubectl command, until kubectl finds the kinds of all objects: the API server lists a new kind a moment
/// after the CRD is created.
#[track_caller]
pub fn apply_new_kind(apply: &mut Command) {
    let applied = wait_until("kubectl to find the kind", PATIENCE, || {
        let output = apply.output()?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_unknown = [
            "no matches for kind",
            "could not find the requested resource",
        ];
        let waits = is_unknown.iter().any(|message| error.contains(message));
        ensure!(output.status.success() || !waits, error);
        Ok(Some(output))
    });
    match applied {
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{apply:?}: {error}");
        }
        Err(error) => panic!("{error:#}"),
    }
}

/// Waits with `kubectl wait`. `arguments` name the objects and the condition.
#[track_caller]
pub fn kubectl_waits(arguments: &str) {
    kubectl_waits_on(cluster(), arguments);
}

/// Waits with `kubectl wait` on `cluster`. Shows the objects if the condition does not become true.
#[track_caller]
pub fn kubectl_waits_on(cluster: &Cluster, arguments: &str) {
    kubectl_waits_within(cluster, arguments, PATIENCE);
}

/// Waits as [`kubectl_waits_on`] does, but for at most `patience`.
#[track_caller]
pub fn kubectl_waits_within(cluster: &Cluster, arguments: &str, patience: Duration) {
    let mut wait = kubectl_on(cluster, &format!("wait {arguments}"));
    let waited = wait
        .arg(kubectl_limit(patience))
        .output()
        .expect("kubectl runs");
    if waited.status.success() {
        return;
    }
    let objects = arguments
        .split(' ')
        .filter(|word| !word.starts_with("--for="));
    let mut get = kubectl_on(cluster, "get --output=yaml");
    let objects = get.args(objects).output().expect("kubectl runs");
    panic!(
        "kubectl wait {arguments}: {}{}",
        String::from_utf8_lossy(&waited.stderr),
        excerpt(&String::from_utf8_lossy(&objects.stdout), SHOWN_OF_OBJECT)
    );
}

/// Waits until kubectl succeeds on the shared control plane. kubectl finds a new kind only when the discovery lists the
/// kind, and the API server follows a new role a moment after it has stored the role.
#[track_caller]
pub fn kubectl_succeeds(arguments: &str) {
    kubectl_succeeds_on(cluster(), arguments);
}

/// Waits until kubectl succeeds on `cluster`.
#[track_caller]
pub fn kubectl_succeeds_on(cluster: &Cluster, arguments: &str) {
    let waited = wait_until(&format!("kubectl {arguments}"), PATIENCE, || {
        let output = kubectl_on(cluster, arguments).output()?;
        ensure!(output.status.success(), "{output:?}");
        Ok(Some(()))
    });
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

/// Returns questions to the API server: for each role in `manifests` that is bound to a `ServiceAccount`, whether the
/// `ServiceAccount` has what the first rule of the role grants.
fn access_reviews(manifests: &[Value]) -> Vec<Value> {
    let mut reviews = Vec::new();
    for binding in manifests {
        let (kind, name) = (&binding["roleRef"]["kind"], &binding["roleRef"]["name"]);
        let mut roles = manifests.iter();
        let role = roles.find(|it| it["kind"] == *kind && it["metadata"]["name"] == *name);
        let Some(granted) = role.and_then(|role| role["rules"].get(0)) else {
            continue;
        };
        let path = granted["resources"][0].as_str().unwrap_or_default();
        let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        for subject in subjects.filter(|subject| subject["kind"] == "ServiceAccount") {
            let [namespace, account] = ["namespace", "name"].map(|field| text(&subject[field]));
            let mut spec = json!({"user": format!("system:serviceaccount:{namespace}:{account}")});
            if resource.is_empty() {
                spec["nonResourceAttributes"] =
                    json!({"path": granted["nonResourceURLs"][0], "verb": granted["verbs"][0]});
            } else {
                spec["resourceAttributes"] = json!({
                    "namespace": binding["metadata"]["namespace"], "verb": granted["verbs"][0],
                    "group": granted["apiGroups"][0], "resource": resource,
                    "subresource": subresource, "name": granted["resourceNames"][0],
                });
            }
            reviews.push(json!({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec,
            }));
        }
    }
    reviews
}

/// The lines that a failed test shows: of an object, of an operator's log, and of its requests. Together with the message
/// and the names of the places, they fit on one screen.
const SHOWN_OF_OBJECT: usize = 15;
const SHOWN_OF_LOG: usize = 12;
const SHOWN_REQUESTS: usize = 8;

/// The characters that a failed test shows of a line.
const SHOWN_OF_LINE: usize = 400;

/// Returns the last `count` lines of `text`, without the ends of long lines.
fn excerpt(text: &str, count: usize) -> String {
    let lines = last_lines(text, count);
    let lines = lines
        .lines()
        .map(|line| match line.char_indices().nth(SHOWN_OF_LINE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the path of the program of the project in `folder`, which cargo compiled into the target folder `target`.
pub fn compiled(folder: &Path, target: &Path) -> PathBuf {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("Cargo.toml");
    let package = manifest.split('"').nth(1).expect("the name of the package");
    target.join("debug").join(package)
}

/// A scaffolded project, and the program compiled from it.
pub struct Project {
    path: PathBuf,
    name: &'static str,
    /// A folder outside of the project, for manifests and logs.
    beside: TempDir,
    /// Locked while make writes files of the project, because tests may share the project.
    making: Mutex<()>,
    /// The files in config/ that were applied last, by the URL of the cluster.
    granted: Mutex<HashMap<String, Tree>>,
}

impl Project {
    /// Scaffolds a project as a user would, and compiles it. All projects share one runtime, unless `commands` choose
    /// another one.
    #[track_caller]
    pub fn new(name: &'static str, commands: &[&str]) -> Self {
        let project = Self::scaffold(name, commands);
        project.compile();
        project
    }

    /// Scaffolds a project without compiling it.
    #[track_caller]
    pub fn scaffold(name: &'static str, commands: &[&str]) -> Self {
        let beside = TempDir::new().expect("a temporary folder");
        Self::scaffold_beside(beside, name, commands)
    }

    /// Scaffolds a project for a `static`, which is never dropped. So manifests and logs are in the folder of the control
    /// plane, which is deleted when this process ends.
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
            beside,
            making: Mutex::default(),
            granted: Mutex::default(),
        }
    }

    pub fn name(&self) -> &str {
        self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the namespace that `make deploy` deploys to.
    pub fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    /// Writes a manifest to a file outside of the project, and returns its path.
    pub fn manifest(&self, text: &str) -> PathBuf {
        self.file("manifest-", ".yaml", text)
    }

    /// Creates a file outside of the project, because tests may share the project.
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

    /// Replaces the first `old` in a file with `new`, as a user does in an editor.
    pub fn edit(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} has no {old:?}:\n{text}");
        fs::write(self.path.join(file), text.replacen(old, new, 1)).expect("a writable file");
    }

    /// Makes the defaulting webhook of `kind` in `file` remove the spaces around a title.
    pub fn trim_title(&self, file: &str, kind: &str) {
        self.edit(
            file,
            &format!("fn set_defaults(_: &mut {kind}) {{\n"),
            &format!(
                "fn set_defaults(object: &mut {kind}) {{\n    \
                 object.spec.title = object.spec.title.trim().to_owned();\n"
            ),
        );
    }

    /// Makes the validating webhook of `kind` in `file` refuse the title `forbidden`.
    pub fn refuse_title(&self, file: &str, kind: &str) {
        self.edit(
            file,
            &format!("fn check(_: &{kind}) -> webhook::Verdict {{\n"),
            &format!(
                "fn check(object: &{kind}) -> webhook::Verdict {{\n    \
                 let mut verdict = webhook::Verdict::allowed();\n    \
                 let title = object.spec.title.as_str();\n    \
                 if title == \"forbidden\" {{\n        \
                 let error = webhook::FieldError::invalid(\"spec.title\", title, \"is taken\");\n        \
                 verdict.error(error);\n        return verdict;\n    }}\n"
            ),
        );
    }

    /// Runs `make manifests`, which compiles the project.
    pub fn compile(&self) {
        let _making = self.making();
        run(&mut make(&self.path, "manifests"));
    }

    /// Returns a lock to hold while make writes files of the project.
    pub fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs make against the shared cluster. The arguments are a target and variables, separated by spaces.
    pub fn make(&self, arguments: &str) -> String {
        self.make_on(cluster(), arguments)
    }

    /// Runs make as [`make`](Self::make) does, but against `cluster`.
    pub fn make_on(&self, cluster: &Cluster, arguments: &str) -> String {
        // The target may delete what was granted.
        self.granted().remove(cluster.server());
        // `undeploy` and `uninstall` write no files, and wait until everything is deleted.
        let writes = !matches!(arguments, "undeploy" | "uninstall");
        let _making = writes.then(|| self.making());
        let mut make = make(&self.path, arguments);
        // Without a limit, `kubectl delete` waits for ever for an object that stays.
        make.arg(format!(
            "KUBECTL=timeout {} {}",
            PATIENCE.as_secs(),
            cluster.kubectl_path().display()
        ));
        run(make.env("KUBECONFIG", cluster.kubeconfig()))
    }

    /// Applies config/default, except the CRDs, the Deployment of the operator, the webhook configurations, and objects
    /// that need CRDs of other projects.
    pub fn grant(&self) {
        self.grant_on(cluster());
    }

    /// Does the same as [`grant`](Self::grant) on `cluster`, unless it was done there since config/ and the cluster's
    /// manifests last changed.
    fn ensure_granted_on(&self, cluster: &Cluster) {
        let config = tree(&self.path.join("config"));
        let is_granted = self.granted().get(cluster.server()) == Some(&config);
        if !is_granted {
            self.grant_on(cluster);
        }
    }

    fn grant_on(&self, cluster: &Cluster) {
        let config = tree(&self.path.join("config"));
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
        let applied = documents.join("\n---\n");
        let manifest = self.manifest(&applied);
        // kubectl would read the schemas of all groups to learn that the API server validates.
        let apply = "apply --server-side --force-conflicts --validate=ignore -f";
        run(kubectl_on(cluster, apply).arg(manifest));
        self.wait_for_roles(cluster, &manifests::documents(&applied));
        self.granted().insert(cluster.server().to_owned(), config);
    }

    /// Waits until the API server of `cluster` allows what the roles in `manifests` grant to each `ServiceAccount`. It
    /// refuses an operator that starts earlier.
    pub fn wait_for_roles(&self, cluster: &Cluster, manifests: &[Value]) {
        let reviews = access_reviews(manifests);
        if reviews.is_empty() {
            return;
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": reviews});
        let file = self.manifest(&list.to_string());
        let ask = "create -o jsonpath={.status.allowed}{\"\\n\"} -f";
        let expected = "true\n".repeat(reviews.len());
        let allowed = wait_until("the API server to follow the roles", PATIENCE, || {
            let answers = cluster::run(kubectl_on(cluster, ask).arg(&file))?;
            ensure!(answers == expected, "{reviews:?} are {answers:?}");
            Ok(Some(()))
        });
        allowed.unwrap_or_else(|error| panic!("{error:#}"));
    }

    fn granted(&self) -> MutexGuard<'_, HashMap<String, Tree>> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the operator as its ServiceAccount.
    pub fn start(&self) -> Operator {
        self.operator().start()
    }

    /// Prepares an operator that will run on the shared control plane, as its ServiceAccount.
    pub fn operator(&self) -> Launch<'_> {
        let launch = Launch {
            project: self,
            cluster: cluster(),
            namespace: None,
            account: None,
            is_administrator: false,
            known: None,
            command: Command::new(compiled(&self.path, &target_folder(&self.path))),
        };
        // These settings are environment variables, because a test can override variables with flags.
        launch
            .env("KUBE_MANAGER_LOG_FORMAT", "json")
            .env("KUBE_MANAGER_HEALTH_PROBE_BIND_ADDRESS", "127.0.0.1:0")
    }
}

/// The settings for the start of an operator.
#[must_use = "it has to be started"]
pub struct Launch<'a> {
    project: &'a Project,
    cluster: &'a Cluster,
    namespace: Option<&'a str>,
    account: Option<&'a str>,
    is_administrator: bool,
    /// The user and the path of an existing kubeconfig.
    known: Option<(String, PathBuf)>,
    command: Command,
}

impl<'a> Launch<'a> {
    /// Uses another control plane than the shared one.
    pub fn on(self, cluster: &'a Cluster) -> Self {
        Self { cluster, ..self }
    }

    /// Sends the operator's requests through `proxy`.
    pub fn through(self, proxy: &Proxy) -> Self {
        self.args(&format!("--master {}", proxy.url()))
    }

    /// Runs the operator in another namespace than the usual one.
    pub fn within(self, namespace: &'a str) -> Self {
        Self {
            namespace: Some(namespace),
            ..self
        }
    }

    /// Runs the operator as an existing ServiceAccount of its namespace, with the roles of this account.
    pub fn account(self, name: &'a str) -> Self {
        Self {
            account: Some(name),
            ..self
        }
    }

    /// Runs the operator as the administrator of the cluster, as a developer does.
    pub fn administrator(self) -> Self {
        Self {
            is_administrator: true,
            ..self
        }
    }

    /// Runs the operator as the user of an existing kubeconfig. So the test sends no request before the start.
    pub fn known(self, user: &str, kubeconfig: &Path) -> Self {
        let known = Some((user.to_owned(), kubeconfig.to_owned()));
        Self { known, ..self }
    }

    /// Adds arguments separated by spaces.
    pub fn args(mut self, arguments: &str) -> Self {
        self.command.args(arguments.split(' '));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the operator, with a new log file.
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
            // A test that fails shows the end of the log, which is no place for the backtrace of a panic.
            .env_remove("RUST_BACKTRACE")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("the operator starts");
        Operator {
            child,
            log,
            user,
            audit_log: self.cluster.audit_log(),
        }
    }

    /// Returns the user name of the ServiceAccount, and a kubeconfig with its token.
    fn as_account(&self) -> (String, PathBuf) {
        let usual = || self.project.namespace();
        let namespace = self.namespace.map_or_else(usual, str::to_owned);
        let own = format!("{}-controller-manager", self.project.name);
        let account = self.account.unwrap_or_else(|| {
            self.project.ensure_granted_on(self.cluster);
            &own
        });
        let kubeconfig = self.cluster.service_account_kubeconfig(&namespace, account);
        (
            format!("system:serviceaccount:{namespace}:{account}"),
            kubeconfig.expect("a token for the ServiceAccount"),
        )
    }
}

/// A running operator. The process is killed on drop. If the test fails, the end of its log and its last requests are
/// printed then.
pub struct Operator {
    child: Child,
    log: PathBuf,
    user: String,
    audit_log: PathBuf,
}

impl Operator {
    /// Returns the requests of the operator that the API server of `cluster` has answered so far.
    pub fn requests(&self, cluster: &Cluster) -> Vec<Request> {
        let requests = cluster.requests_by(&self.user);
        requests.expect("an audit log")
    }

    /// Returns the ID of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the memory of the process in KiB, or 0 if the process has ended.
    pub fn memory(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("what Linux knows of the process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number.map_or(0, |number| number.parse().expect("a number"))
    }

    /// Returns the number of open files and connections of the process.
    pub fn files(&self) -> usize {
        self.count("fd")
    }

    /// Returns the number of threads of the process.
    pub fn threads(&self) -> usize {
        self.count("task")
    }

    /// Returns the number of entries in a folder of the process in /proc.
    fn count(&self, folder: &str) -> usize {
        let entries = fs::read_dir(format!("/proc/{}/{folder}", self.id()));
        entries.expect("what Linux knows of the process").count()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log file")
    }

    /// Returns the log lines that contain all of `parts`.
    pub fn lines(&self, parts: &[&str]) -> Vec<String> {
        let has = |line: &&str| parts.iter().all(|part| line.contains(part));
        self.log().lines().filter(has).map(str::to_owned).collect()
    }

    /// Waits until the log has a line with all of `parts`.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) {
        self.repeats(parts, 1);
    }

    /// Waits until the log has at least `times` lines with all of `parts`, and returns the lines.
    #[track_caller]
    pub fn repeats(&self, parts: &[&str], times: usize) -> Vec<String> {
        let what = format!("{times} times {parts:?} in the operator's log");
        let said = wait_until(&what, PATIENCE, || {
            Ok(Some(self.lines(parts)).filter(|lines| lines.len() >= times))
        });
        match said {
            Ok(lines) => lines,
            Err(error) => panic!("{error:#}"),
        }
    }

    /// Waits until the operator serves `what`, and returns the address: a host and a port.
    #[track_caller]
    pub fn address(&self, what: &str) -> String {
        let line = &self.repeats(&[&format!(r#""serves {what}""#)], 1)[0];
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        line["address"].as_str().expect("an address").to_owned()
    }

    /// Sends a signal such as `TERM`, `KILL`, `STOP` or `CONT`.
    pub fn signal(&self, name: &str) {
        let id = self.id().to_string();
        run(Command::new("kill").args(["-s", name, &id]));
    }

    /// Waits until the operator ends, and returns its exit status.
    #[track_caller]
    pub fn ends_within(&mut self, timeout: Duration) -> ExitStatus {
        let ended = wait_until("the operator to end", timeout, || {
            Ok(self.child.try_wait()?)
        });
        match ended {
            Ok(status) => status,
            Err(error) => panic!("{error:#}"),
        }
    }

    /// Sends signals until the operator ends, and returns its exit status. Signals within a second count as one.
    #[track_caller]
    pub fn ends_after_more_signals(&mut self) -> ExitStatus {
        let ended = wait_until("a signal to end the operator", PATIENCE, || {
            let status = self.child.try_wait()?;
            if status.is_none() {
                self.signal("TERM");
            }
            Ok(status)
        });
        ended.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Checks whether the operator still runs.
    pub fn runs(&mut self) -> bool {
        let status = self.child.try_wait().expect("a child process");
        status.is_none()
    }

    /// Stops the operator as Kubernetes does, and checks that the operator succeeds and that the API server has
    /// forbidden none of its requests.
    pub fn stop(mut self) {
        self.signal("TERM");
        let status = self.ends_within(PATIENCE);
        assert!(status.success(), "{status}");
        let own = self.requests(cluster());
        assert!(
            !own.is_empty(),
            "the operator sent no request as {}",
            self.user
        );
        let forbidden: Vec<_> = own.iter().filter(|request| request.code == 403).collect();
        assert!(forbidden.is_empty(), "{forbidden:?}");
    }

    /// Returns the end of the log and the last requests.
    fn report(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let requests = requests_in(&self.audit_log, &self.user).unwrap_or_default();
        let first = requests.len().saturating_sub(SHOWN_REQUESTS);
        let requests: Vec<_> = requests[first..]
            .iter()
            .map(|request| {
                format!(
                    "{} {} {} {}",
                    request.time, request.code, request.verb, request.uri
                )
            })
            .collect();
        format!(
            "the end of the operator's log:\n{}\nthe last requests of {}:\n{}",
            excerpt(&log, SHOWN_OF_LOG),
            self.user,
            excerpt(&requests.join("\n"), SHOWN_REQUESTS)
        )
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("{}", self.report());
        }
    }
}
