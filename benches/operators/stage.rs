//! The environment of a measured operator: its own control plane, and what the control plane records about the
//! operator.

use std::{
    collections::HashMap,
    fs, iter,
    ops::Range,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use base64::prelude::*;
use cluster::{ADMINISTRATOR, Cluster, PATIENCE, Request, kubectl_limit, run, wait_until};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    contender::{Contender, NAMESPACE, Project},
    process::{self, Operator, PREFIX},
    requests::{RESOURCES, Sent, Window},
};

/// A control plane for one operator, which has only the permissions of its role.
pub struct Stage<'a> {
    cluster: Cluster,
    contender: &'a Contender,
    folder: TempDir,
}

impl<'a> Stage<'a> {
    /// Starts a control plane, and installs the CRDs and the role.
    pub fn new(contender: &'a Contender, project: &Project) -> Result<Self> {
        Self::on(Cluster::start(&|_| {})?, contender, project)
    }

    /// Does the same as [`Stage::new`], but without the watch cache: the API server has to convert the objects for each
    /// read.
    pub fn without_watch_cache(contender: &'a Contender, project: &Project) -> Result<Self> {
        let cluster = Cluster::start_with(&["--watch-cache=false"], &|_| {})?;
        Self::on(cluster, contender, project)
    }

    fn on(cluster: Cluster, contender: &'a Contender, project: &Project) -> Result<Self> {
        let stage = Self {
            cluster,
            contender,
            folder: TempDir::new().context("failed to create a temporary folder")?,
        };
        let mut kustomize = stage.kubectl("kustomize");
        let manifests = run(kustomize.arg(project.path().join("config/default")))?;
        let documents: Vec<&str> = manifests
            .split("\n---\n")
            .filter(|document| {
                // The operator runs outside of the cluster, where no Service can reach it.
                let others = ["kind: Deployment\n", "WebhookConfiguration\n"];
                !others.iter().any(|kind| document.contains(kind))
            })
            .collect();
        let manifest = stage.folder.path().join("manifests.yaml");
        fs::write(&manifest, documents.join("\n---\n"))?;
        for manifest in iter::once(&manifest).chain(&contender.manifest) {
            run(stage.kubectl("apply --server-side -f").arg(manifest))?;
        }
        let crd = "wait --for=condition=Established crd/benches.bench.example.com";
        run(stage.kubectl(crd).arg(kubectl_limit(PATIENCE)))?;
        Ok(stage)
    }

    /// Starts the operator with the permissions of its ServiceAccount.
    pub fn start(&self) -> Result<Operator> {
        let kubeconfig = self
            .cluster
            .service_account_kubeconfig(NAMESPACE, self.contender.account)?;
        Operator::start(
            Command::new(&self.contender.program)
                .args(&self.contender.arguments)
                .env("KUBECONFIG", kubeconfig),
            &self.folder.path().join("log"),
        )
    }

    /// Waits until the operator watches its resources and the resources in `further`, and so has read the existing
    /// objects.
    pub fn wait_until_watching(&self, operator: &Operator, further: &[String]) -> Result<()> {
        wait_until("the operator to watch", PATIENCE, || {
            let sent = self.sent()?;
            let sent = sent.within(Window::since(operator.started));
            let further = further.iter().map(String::as_str);
            let mut resources = ["benches", "configmaps"].into_iter().chain(further);
            let watches = resources.all(|resource| sent.watches(resource));
            Ok(watches.then_some(()))
        })
    }

    /// Changes the specs of the objects with these numbers, one after the other.
    pub fn change(&self, numbers: Range<usize>) -> Result<()> {
        let changed = |number| {
            let mut object = object(number);
            object["spec"]["title"] = format!("Changed {number}").into();
            object
        };
        let objects: Vec<_> = numbers.map(changed).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let path = self.folder.path().join("changed.json");
        fs::write(&path, list.to_string())?;
        run(self.kubectl("replace --validate=false -f").arg(path))?;
        Ok(())
    }

    /// Returns the time and the name of each object that the administrator changed in `window`.
    pub fn changes(&self, window: Window) -> Result<Vec<(Timestamp, String)>> {
        let mut changes = Vec::new();
        for request in self.cluster.requests_by(ADMINISTRATOR)? {
            let time: Timestamp = request.time.parse()?;
            let is_change = request.resource == "benches"
                && request.verb == "update"
                && request.subresource.is_empty();
            if is_change && window.has(time) {
                changes.push((time, request.name));
            }
        }
        Ok(changes)
    }

    /// Makes the API server send conversions of the CRD to the server at `address`, whose certificate is `certificate`.
    pub fn convert_at(&self, crd: &str, address: &str, certificate: &[u8]) -> Result<()> {
        let url = format!("https://{address}/convert");
        let bundle = BASE64_STANDARD.encode(certificate);
        let client = json!({"service": null, "url": url, "caBundle": bundle});
        let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": client}}}});
        run(self
            .kubectl(&format!("patch crd {crd} --type=merge -p"))
            .arg(patch.to_string()))?;
        Ok(())
    }

    /// Returns the API server's URL, and a token of an administrator.
    pub fn server(&self) -> Result<(String, String)> {
        let kubeconfig = fs::read_to_string(self.cluster.kubeconfig())?;
        let kubeconfig: Value = serde_json::from_str(&kubeconfig)?;
        let token = kubeconfig["users"][0]["user"]["token"].as_str();
        let token = token.context("no token")?.to_owned();
        Ok((self.cluster.server().to_owned(), token))
    }

    /// Creates objects with these numbers.
    pub fn create(&self, numbers: Range<usize>) -> Result<()> {
        self.create_all(&numbers.map(object).collect::<Vec<_>>())
    }

    /// Creates these objects.
    pub fn create_all(&self, objects: &[Value]) -> Result<()> {
        const AT_ONCE: usize = 4;
        let chunks = objects.chunks(objects.len().div_ceil(AT_ONCE));
        let mut kubectls = Vec::new();
        for (index, objects) in chunks.enumerate() {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
            let path = self.folder.path().join(format!("objects-{index}.json"));
            fs::write(&path, list.to_string())?;
            let mut kubectl = self.kubectl("create --validate=false -f");
            kubectl.arg(path).stdout(Stdio::null());
            kubectls.push(kubectl.spawn().context("failed to run kubectl")?);
        }
        for mut kubectl in kubectls {
            let status = kubectl.wait()?;
            ensure!(status.success(), "`kubectl create` ended with {status}");
        }
        Ok(())
    }

    /// Waits until the control plane has processed the created objects. This includes the garbage collector, which must
    /// watch the kind before the operator starts: otherwise, it would read the owner of each `ConfigMap`.
    pub fn settle(&self) -> Result<()> {
        const CONTROLLERS: &str = "system:kube-controller-manager";
        wait_until("the garbage collector to watch", PATIENCE, || {
            let watches =
                |request: &Request| request.verb == "watch" && request.resource == "benches";
            let requests = self.cluster.requests_by(CONTROLLERS)?;
            Ok(requests.iter().any(watches).then_some(()))
        })?;
        process::settle(self.api_server()?, 0.15)
    }

    /// Returns the CPU time that the API server has used so far, in seconds.
    pub fn api_server_cpu(&self) -> Result<f64> {
        process::cpu(self.api_server()?)
    }

    fn api_server(&self) -> Result<u32> {
        self.cluster.api_server_id().context("no API server")
    }

    /// Returns the number of requests for [`RESOURCES`], without watches, that the API server has answered so far,
    /// according to its metrics.
    pub fn answered(&self) -> Result<usize> {
        let metrics = run(&mut self.kubectl("get --raw=/metrics"))?;
        let mut total = 0;
        for line in metrics.lines() {
            let Some(sample) = line.strip_prefix("apiserver_request_total{") else {
                continue;
            };
            let (labels, value) = sample.split_once("} ").context("no value")?;
            let label = |name: &str| {
                let (_, rest) = labels.split_once(&format!(",{name}=\""))?;
                Some(rest.split_once('"')?.0)
            };
            let counts = label("resource").is_some_and(|resource| RESOURCES.contains(&resource));
            if counts && label("verb") != Some("WATCH") {
                let value: usize = value.parse().context("no whole number of requests")?;
                total += value;
            }
        }
        Ok(total)
    }

    /// Returns the requests of the operator so far, according to the audit log.
    pub fn sent(&self) -> Result<Sent> {
        let user = format!(
            "system:serviceaccount:{NAMESPACE}:{}",
            self.contender.account
        );
        Sent::new(self.cluster.requests_by(&user)?)
    }

    /// Checks that there are `count` objects, and that each has the expected status and `ConfigMap`.
    pub fn check(&self, count: usize) -> Result<()> {
        let items = |resource: &str| -> Result<Vec<Value>> {
            let list = run(&mut self.kubectl(&format!("get {resource} -o json")))?;
            let mut list: Value = serde_json::from_str(&list)?;
            Ok(serde_json::from_value(list["items"].take())?)
        };
        let config_maps: HashMap<_, _> = items("configmaps")?
            .into_iter()
            .map(|config_map| (config_map["metadata"]["name"].to_string(), config_map))
            .collect();
        let objects = items("benches")?;
        ensure!(
            objects.len() == count,
            "there are {} objects",
            objects.len()
        );
        for object in objects {
            let name = object["metadata"]["name"].to_string();
            let config_map = config_maps.get(&name);
            let config_map = config_map.with_context(|| format!("{name} has no ConfigMap"))?;
            let owner = &config_map["metadata"]["ownerReferences"][0];
            let status = &object["status"];
            let is_right = status["conditions"][0]["type"] == "Ready"
                && status["conditions"][0]["status"] == "True"
                && status["observedGeneration"] == object["metadata"]["generation"]
                && config_map["data"]["title"] == object["spec"]["title"]
                && owner["uid"] == object["metadata"]["uid"];
            ensure!(is_right, "{object} has {config_map}");
        }
        Ok(())
    }

    /// Returns a kubectl command with arguments separated by spaces.
    fn kubectl(&self, arguments: &str) -> Command {
        let mut kubectl = self.cluster.kubectl();
        kubectl.args(arguments.split(' '));
        kubectl
    }
}

fn object(number: usize) -> Value {
    json!({
        "apiVersion": "bench.example.com/v1",
        "kind": "Bench",
        "metadata": {"name": format!("{PREFIX}{number:05}")},
        "spec": {"title": format!("Number {number}")},
    })
}
