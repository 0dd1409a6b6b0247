//! The main job, on a real API server: scaffold, compile, install the CRDs, run the operator under a
//! ServiceAccount that may do what the scaffolded role says and nothing else.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use cluster::{Cluster, wait_until};
use tempfile::TempDir;

use crate::scaffold::{building, make, refused, release, root, rscaffold, run, target};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// One control plane for all tests; each has groups of its own.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        Cluster::start(&|step| eprintln!("{step}")).expect("a control plane")
    })
}

/// kubectl against the shared control plane, with arguments separated by spaces.
fn kubectl(arguments: &str) -> Command {
    let mut kubectl = cluster().kubectl();
    kubectl.args(arguments.split(' '));
    kubectl
}

/// Waits until `kubectl get` with `arguments` prints what `good` accepts.
fn get_until(arguments: &str, good: impl Fn(&str) -> bool) -> String {
    wait_until(&format!("kubectl get {arguments}"), PATIENCE, || {
        let output = kubectl(&format!("get {arguments}")).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(good(&text).then_some(text))
    })
    .expect("the cluster gets there")
}

/// A scaffolded project, and the program that its code compiles to.
struct Project {
    folder: TempDir,
    name: &'static str,
    program: PathBuf,
}

impl Project {
    /// Scaffolds with the release binary, as a user would, and compiles.
    fn new(name: &'static str, commands: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let project = Self { program: folder.path().join("operator"), folder, name };
        fs::create_dir(project.path()).expect("a folder for the project");
        let rscaffold_ = release();
        for command in commands {
            rscaffold(&rscaffold_, &project.path(), command);
        }
        // The versions of dependencies that the golden projects were tested with.
        let lock = root().join("tests/golden/Cargo.lock");
        fs::copy(lock, project.path().join("Cargo.lock")).expect("a copy of the lock file");
        project.compile();
        project
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    /// `make manifests`, which compiles; the program is copied because another project may have one
    /// of the same name.
    fn compile(&self) {
        let _building = building();
        run(&mut make(&self.path(), "manifests"));
        fs::copy(target().join("debug").join(self.name), &self.program).expect("the program");
    }

    /// Runs a make target against the cluster.
    fn make(&self, target: &str) -> String {
        let _building = building();
        let mut make = make(&self.path(), target);
        make.arg(format!("KUBECTL={}", cluster().kubectl_path().display()));
        run(make.env("KUBECONFIG", cluster().kubeconfig()))
    }

    /// Creates the namespace, the ServiceAccount and the roles of config/default, without the
    /// Deployment, and runs the operator as that ServiceAccount.
    fn start(&self) -> Operator {
        let namespace = format!("{}-system", self.name);
        let manifests = run(kubectl("kustomize").arg(self.path().join("config/default")));
        let documents: Vec<&str> = manifests
            .split("\n---\n")
            .filter(|document| !document.contains("kind: Deployment\n"))
            .collect();
        let path = self.folder.path().join("roles.yaml");
        fs::write(&path, documents.join("\n---\n")).expect("a writable folder");
        run(kubectl("apply --server-side -f").arg(&path));

        let account = format!("{}-controller-manager", self.name);
        let kubeconfig = cluster()
            .service_account_kubeconfig(&namespace, &account)
            .expect("a token for the ServiceAccount");
        let log = self.folder.path().join("operator.log");
        let file = File::create(&log).expect("a log file");
        let child = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--log-format", "json"])
            .stdin(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("the operator starts");
        Operator { child, log, user: format!("system:serviceaccount:{namespace}:{account}") }
    }
}

/// A running operator; killed if a test fails.
struct Operator {
    child: Child,
    log: PathBuf,
    user: String,
}

impl Operator {
    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log file")
    }

    /// Waits until the log has a line with all of `parts`.
    fn says(&self, parts: &[&str]) {
        let said = wait_until(&format!("{parts:?} in the operator's log"), PATIENCE, || {
            let has = |line: &str| parts.iter().all(|part| line.contains(part));
            Ok(self.log().lines().any(has).then_some(()))
        });
        assert!(said.is_ok(), "{said:?}\n{}", self.log());
    }

    /// Stops it as Kubernetes does; nothing that it asked for may have been forbidden, and nothing
    /// may have failed.
    fn stop(mut self) {
        run(Command::new("kill").arg(self.child.id().to_string()));
        let status = wait_until("the operator to stop", PATIENCE, || Ok(self.child.try_wait()?));
        let log = self.log();
        assert!(status.expect("the operator stops").success(), "{log}");
        let requests = cluster().requests().expect("an audit log");
        let own: Vec<_> = requests.iter().filter(|request| request.user == self.user).collect();
        assert!(!own.is_empty(), "the operator sent no request as {}", self.user);
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

/// A manifest of an object, in a file.
fn manifest(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("object.yaml");
    fs::write(&path, text).expect("a writable folder");
    path
}

#[test]
fn two_commands_make_an_operator_that_reconciles() {
    let project = Project::new(
        "guestbook",
        &[
            "init --domain com --repo guestbook",
            "create api --group webapp --version v1 --kind Guestbook --short-name gb",
        ],
    );
    project.make("install");
    run(&mut kubectl("wait --for=condition=Established crd/guestbooks.webapp.com --timeout=30s"));
    let operator = project.start();

    // The CRD's rules are the API server's.
    let bad = manifest(
        project.folder.path(),
        "{apiVersion: webapp.com/v1, kind: Guestbook, metadata: {name: bad}, spec: {title: ' x'}}",
    );
    let refusal = refused(kubectl("apply -f").arg(&bad));
    assert!(refusal.contains("title must not begin or end with a space"), "{refusal}");

    // Created: status, printer columns, event.
    run(kubectl("apply -k").arg(project.path().join("config/samples")));
    run(&mut kubectl("wait --for=condition=Ready guestbook/guestbook-sample --timeout=30s"));
    let table = run(&mut kubectl("get gb"));
    let columns: Vec<_> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(columns, ["NAME", "TITLE", "READY", "AGE"]);
    assert!(table.contains("A first Guestbook"), "{table}");
    assert!(table.contains("True"), "{table}");
    get_until("events --field-selector=reason=Reconciled", |events| {
        events.contains("guestbook/guestbook-sample")
    });

    // Changed: the status follows the generation.
    let patch = r#"{"spec":{"title":"Another"}}"#;
    run(kubectl("patch guestbook guestbook-sample --type=merge -p").arg(patch));
    get_until("gb guestbook-sample -o jsonpath={.status.observedGeneration}", |text| text == "2");

    // Deleted: heard without a finalizer.
    run(&mut kubectl("delete guestbook guestbook-sample"));
    operator.says(&["is gone", "guestbook-sample"]);
    operator.stop();
    project.make("uninstall");
    get_until("crd -o name", |crds| !crds.contains("guestbooks.webapp.com"));
}

#[test]
fn two_groups_one_of_them_cluster_scoped_with_a_finalizer() {
    let project = Project::new(
        "fleet",
        &[
            "init --domain example.com",
            "create api --group sea --version v1 --kind Ship",
            "create api --group crew --version v1beta1 --kind Captain --namespaced=false --finalizer",
        ],
    );
    project.make("install");
    let operator = project.start();
    run(kubectl("apply -k").arg(project.path().join("config/samples")));
    run(&mut kubectl("wait --for=condition=Ready ship/ship-sample --timeout=30s"));
    run(&mut kubectl("wait --for=condition=Ready captain/captain-sample --timeout=30s"));
    let finalizers = run(&mut kubectl("get captain captain-sample -o jsonpath={.metadata.finalizers}"));
    assert_eq!(finalizers, r#"["captain.crew.example.com/finalizer"]"#);

    // The cleanup runs before the object goes.
    run(&mut kubectl("delete captain captain-sample --timeout=30s"));
    get_until("events --field-selector=reason=CleanedUp", |events| {
        events.contains("captain/captain-sample")
    });
    run(&mut kubectl("delete ship ship-sample"));
    operator.says(&["is gone", "ship-sample"]);
    operator.stop();
    project.make("uninstall");
}
