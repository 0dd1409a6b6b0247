//! A cluster with a deployed operator. Each of the two replicas sends its requests through a proxy and has its own
//! wall clock. The API server calls the webhooks through their Service.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use cluster::{Cluster, last_lines};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::clock::Clock;
use crate::{
    admission::Balancer,
    http,
    manifests::{kustomize, text},
    operator::{
        Operator, PATIENCE, Project, kubectl_on, kubectl_waits_on, new_cluster_with_controllers,
    },
    proxy::Proxy,
    scaffold::run,
    serving::value,
};

/// The namespace of the operator.
pub const SYSTEM: &str = "soak-system";

/// The flags of each replica. The lease and the certificates are shorter than by default. A new authority changes the
/// CRD, which restarts a storage migration, so authorities are replaced only every ten minutes.
const FLAGS: &str = "--leader-elect --leader-elect-lease-duration=12s --leader-elect-renew-deadline=8s \
                     --leader-elect-retry-period=2s --storage-migration-delay=2s \
                     --webhook-bind-address=127.0.0.1:0 --webhook-ca-lifetime=20m --webhook-ca-delay=8s \
                     --webhook-cert-lifetime=30s --webhook-shutdown-delay=1s \
                     --metrics-secure=false --metrics-bind-address=127.0.0.1:0";

pub const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/notes.soak.example.com";

/// The lease duration.
pub const LEASE: Duration = Duration::from_secs(12);

pub struct Site {
    pub cluster: Cluster,
    /// A client with all permissions.
    pub admin: http::Client,
    token: String,
    pub replicas: Vec<Replica>,
    project: &'static Project,
    balancer: Balancer,
    /// The CRD as it is installed.
    crd: Value,
    /// The number of processes that were started.
    pub processes: usize,
    folder: TempDir,
}

pub struct Replica {
    pub user: String,
    kubeconfig: PathBuf,
    pub proxy: Proxy,
    pub clock: Clock,
    pub operator: Operator,
    pub started: Instant,
    /// Whether the test has sent a signal that ends the process.
    pub is_signalled: bool,
    /// The peak memory of its processes, in KiB.
    pub most_memory: usize,
}

/// The resources of a process.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The memory in KiB.
    pub memory: usize,
    pub files: usize,
    pub threads: usize,
    /// Tasks of the runtime.
    pub tasks: usize,
}

impl Usage {
    pub fn of(operator: &Operator) -> Self {
        let metrics = http::get(&format!("http://{}/metrics", operator.address("metrics")));
        let tasks = value(&metrics.expect("metrics").text, "tokio_alive_tasks ");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small count"
        )]
        let tasks = tasks as usize;
        Self {
            memory: operator.memory(),
            files: operator.files(),
            threads: operator.threads(),
            tasks,
        }
    }
}

/// The number of log lines that a failure shows.
pub const SHOWN: usize = 40;

/// Installs config/default without the Deployment. The API server calls the webhooks at `address`. `change` can
/// change each manifest. Returns the CRD.
pub fn install(
    cluster: &Cluster,
    project: &Project,
    address: &str,
    change: impl Fn(&mut Value),
) -> Value {
    let mut manifests = kustomize(&project.path().join("config/default"));
    manifests.retain(|it| it["kind"] != "Deployment");
    let (host, port) = address.split_once(':').expect("an address");
    let port: u16 = port.parse().expect("a port");
    let mut crd = Value::Null;
    for manifest in &mut manifests {
        change(manifest);
        match text(&manifest["kind"]).as_str() {
            // The cluster has no network for Services, so this Service is a name for the host of `address`.
            "Service" if manifest["metadata"]["name"] == "soak-webhook-service" => {
                manifest["spec"] = json!({"type": "ExternalName", "externalName": host});
            }
            "CustomResourceDefinition" => {
                let client = &mut manifest["spec"]["conversion"]["webhook"]["clientConfig"];
                client["service"]["port"] = port.into();
                crd = manifest.clone();
            }
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                for webhook in manifest["webhooks"].as_array_mut().expect("webhooks") {
                    webhook["clientConfig"]["service"]["port"] = port.into();
                }
            }
            _ => {}
        }
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests});
    let manifest = project.manifest(&list.to_string());
    run(kubectl_on(cluster, "apply --server-side -f").arg(manifest));
    let established = "--for=condition=Established crd/notes.soak.example.com";
    kubectl_waits_on(cluster, established);
    crd
}

impl Site {
    pub fn new(project: &'static Project) -> Self {
        let (cluster, folder) = (
            new_cluster_with_controllers(),
            TempDir::new().expect("a temporary folder"),
        );
        let kubeconfig = std::fs::read_to_string(cluster.kubeconfig()).expect("a kubeconfig");
        let kubeconfig: Value = serde_json::from_str(&kubeconfig).expect("JSON");
        let token = text(&kubeconfig["users"][0]["user"]["token"]);
        let mut site = Self {
            admin: http::Client::new().token(&token),
            token,
            replicas: Vec::new(),
            balancer: Balancer::start(&[]),
            crd: Value::Null,
            processes: 0,
            project,
            cluster,
            folder,
        };
        site.crd = install(&site.cluster, project, &site.balancer.address, |manifest| {
            // Each replica has its own ServiceAccount, so that the audit log tells the replicas apart.
            if text(&manifest["kind"]).ends_with("RoleBinding") {
                let group = format!("system:serviceaccounts:{SYSTEM}");
                let api = "rbac.authorization.k8s.io";
                manifest["subjects"] = json!([{"kind": "Group", "name": group, "apiGroup": api}]);
            }
        });
        for index in 0..2 {
            site.add(index);
        }
        site
    }

    /// Adds a replica.
    fn add(&mut self, index: usize) {
        let account = format!("replica-{index}");
        let create = format!("create serviceaccount {account} --namespace {SYSTEM}");
        run(&mut kubectl_on(&self.cluster, &create));
        let kubeconfig = self.cluster.service_account_kubeconfig(SYSTEM, &account);
        let kubeconfig = kubeconfig.expect("a token");
        let user = format!("system:serviceaccount:{SYSTEM}:{account}");
        let proxy = Proxy::start(&self.cluster);
        let clock = Clock::new(self.folder.path(), &account);
        let operator = self.start(&user, &kubeconfig, &proxy, &clock);
        self.balancer.add(&operator);
        self.replicas.push(Replica {
            user,
            kubeconfig,
            proxy,
            clock,
            operator,
            started: Instant::now(),
            is_signalled: false,
            most_memory: 0,
        });
    }

    fn start(
        &mut self,
        user: &str,
        kubeconfig: &std::path::Path,
        proxy: &Proxy,
        clock: &Clock,
    ) -> Operator {
        self.processes += 1;
        let launch = self.project.operator().on(&self.cluster);
        let launch = launch.known(user, kubeconfig).through(proxy).args(FLAGS);
        let operator = clock.of(launch).start();
        operator.address("webhooks");
        assert!(clock.is_of(operator.id()), "the clock has no effect");
        operator
    }

    /// Restarts each replica that has ended, as a kubelet does. Fails if a replica ended without a reason.
    pub fn supervise(&mut self) {
        for index in 0..self.replicas.len() {
            let replica = &mut self.replicas[index];
            if replica.operator.runs() {
                replica.most_memory = replica.most_memory.max(replica.operator.memory());
                continue;
            }
            let status = replica.operator.ends_within(PATIENCE);
            let log = replica.operator.log();
            let reasons = ["lost the lease", "another process has the lease"];
            let has_reason = replica.is_signalled || reasons.iter().any(|it| log.contains(it));
            assert!(has_reason && !log.contains("panicked"), "{status}\n{log}");
            self.balancer.leave_out(&replica.operator);
            let mut replica = self.replicas.remove(index);
            replica.operator = self.start(
                &replica.user,
                &replica.kubeconfig,
                &replica.proxy,
                &replica.clock,
            );
            self.balancer.add(&replica.operator);
            replica.started = Instant::now();
            replica.is_signalled = false;
            self.replicas.insert(index, replica);
        }
    }

    /// Returns another client with all permissions.
    pub fn client(&self) -> http::Client {
        http::Client::new().token(&self.token)
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.cluster.server())
    }

    /// Returns an object; `None` if it is missing.
    pub fn get(&self, path: &str) -> Option<Value> {
        let answer = self.admin.get(&self.url(path)).expect("an answer");
        assert!([200, 404].contains(&answer.code), "{path}: {}", answer.text);
        let is_there = answer.code == 200;
        is_there.then(|| serde_json::from_str(&answer.text).expect("JSON"))
    }

    /// Returns all objects of a list.
    pub fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let (mut all, mut next) = (Vec::new(), String::new());
        loop {
            let answer = self
                .admin
                .get(&self.url(&format!("{path}limit=500{next}")))?;
            anyhow::ensure!(answer.code == 200, "{path}: {}", answer.text);
            let mut list: Value = serde_json::from_str(&answer.text)?;
            if let Some(items) = list["items"].as_array_mut() {
                all.append(items);
            }
            match list["metadata"]["continue"].as_str() {
                Some(token) if !token.is_empty() => next = format!("&continue={token}"),
                _ => return Ok(all),
            }
        }
    }

    /// Changes an object. Returns false if the object is missing.
    pub fn patch(&self, path: &str, change: &Value) -> bool {
        let answer = self.admin.patch(&self.url(path), &change.to_string());
        let answer = answer.expect("an answer");
        assert!([200, 404].contains(&answer.code), "{path}: {}", answer.text);
        answer.code == 200
    }

    pub fn delete(&self, path: &str) -> bool {
        let answer = self.admin.delete(&self.url(path)).expect("an answer");
        assert!([200, 404].contains(&answer.code), "{path}: {}", answer.text);
        answer.code == 200
    }

    /// Installs the CRD again.
    pub fn install_crd(&self) {
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let answer = self.admin.post(&self.url(crds), &self.crd.to_string());
        let answer = answer.expect("an answer");
        assert_eq!(answer.code, 201, "{}", answer.text);
    }

    /// Returns whether all objects are stored in one version.
    pub fn is_migrated(&self) -> bool {
        let crd = self.get(CRD);
        let stored = crd.map(|crd| crd["status"]["storedVersions"].clone());
        stored.is_some_and(|it| it.as_array().is_some_and(|it| it.len() == 1))
    }

    /// Returns what a storage migration reads and writes of the CRD.
    pub fn state_of_crd(&self) -> Value {
        let crd = self.get(CRD).unwrap_or_default();
        json!({
            "metadata.generation": crd["metadata"]["generation"],
            "spec.versions": crd["spec"]["versions"].as_array().map(|versions| {
                let storage = versions.iter().map(|version| json!([version["name"], version["storage"]]));
                storage.collect::<Vec<_>>()
            }),
            "status.storedVersions": crd["status"]["storedVersions"],
            "status.conditions": crd["status"]["conditions"],
        })
    }

    /// Returns the last lines of the logs of both replicas.
    pub fn logs(&self) -> String {
        let logs = self.replicas.iter().map(|it| it.operator.log());
        logs.map(|log| last_lines(&log, SHOWN) + "\n").collect()
    }

    /// Returns the replica that leads; `None` if no replica leads at this moment.
    pub fn leader(&self) -> Option<&Replica> {
        let leads = |replica: &&Replica| {
            let url = format!("http://{}/metrics", replica.operator.address("metrics"));
            let metrics = http::get(&url).map_or(String::new(), |answer| answer.text);
            metrics.contains("leader_election_master_status{name=\"soak.example.com\"} 1\n")
        };
        self.replicas.iter().find(leads)
    }
}
