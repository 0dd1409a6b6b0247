//! The Deployment of the Go operator, for config/manager/manager.yaml: what is taken over, and what is not.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    compare::Comparison,
    deployment::{Deployment, METRICS_PROXY, runs},
    election,
    kustomize::image_name,
    lost::Lost,
    source::{Source, list, texts},
};
use crate::{
    project::{Feature, Project},
    visible::is_hidden,
    yaml,
};

/// What the templates of the Deployment and the Makefile take from the Go operator. Texts are YAML without indentation,
/// empty if there is nothing to take.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Taken {
    /// The name of the image, without a tag.
    image: String,
    replicas: Option<u64>,
    /// Fields of the spec of the Deployment.
    deployment: String,
    /// Annotations of the Pods.
    annotations: String,
    /// Fields of the Pods.
    pod: String,
    volumes: String,
    /// Other containers.
    containers: String,
    env: String,
    ports: String,
    mounts: String,
    /// Fields of the container.
    container: String,
    resources: String,
}

/// The fields that a template sets, or whose value has no meaning here.
const OF_DEPLOYMENT: [&str; 3] = ["replicas", "selector", "template"];
const OF_POD: [&str; 7] = [
    "containers",
    "restartPolicy",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "volumes",
];
const OF_CONTAINER: [&str; 12] = [
    "args",
    "command",
    "env",
    "image",
    "imagePullPolicy",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "volumeMounts",
];

/// The Secrets with certificates that the operator here gets in another way.
const CERTIFICATES: [&str; 2] = ["metrics-server-cert", "webhook-server-cert"];

/// The ports of metrics, probes and webhooks, and the names that they have here.
const PORTS: [u64; 4] = [8080, 8081, 8443, 9443];
const PORT_NAMES: [&str; 3] = ["metrics", "probes", "webhooks"];

/// Where the Pods are described.
const POD: [&str; 3] = ["spec", "template", "spec"];

/// Reads a Deployment.
pub(super) struct Reader<'a> {
    pub source: &'a Source,
    pub deployment: &'a Deployment,
    pub project: &'a Project,
    pub lost: &'a mut Lost,
}

impl Reader<'_> {
    /// What is taken over. `None` if this is nothing.
    pub fn read(&mut self) -> Result<Option<Taken>> {
        let spec = &self.deployment.0.value["spec"];
        let pod = &spec["template"]["spec"];
        let found = self.deployment.container();
        let container = found.unwrap_or(&Value::Null);
        if found.is_none() && !pod["containers"].is_null() {
            let what = "the containers: the Deployment does not say which one runs the operator; copy its settings to \
                        `manager` in `config/manager/manager.yaml`, and copy the other containers";
            self.line(&["containers"], what);
        }
        let mut others = Vec::new();
        for other in list(&pod["containers"]).filter(|other| *other != container) {
            if runs(other, METRICS_PROXY) {
                let name = other["name"].as_str().unwrap_or("");
                let what = format!(
                    "the container `{name}`: here, the operator itself checks who reads its metrics"
                );
                self.line(&["containers", name], &what);
            } else if found.is_some() {
                others.push(other);
            }
        }
        let mut of_deployment = without(spec, &OF_DEPLOYMENT);
        if !self.elects_leader() {
            of_deployment.remove("strategy");
        }
        let annotations = without(
            &spec["template"]["metadata"]["annotations"],
            &["kubectl.kubernetes.io/default-container"],
        );
        let volumes = volumes(pod);
        let mut mounts: Vec<_> = list(&container["volumeMounts"]).collect();
        mounts.retain(|mount| volumes.iter().any(|volume| volume["name"] == mount["name"]));
        let ports = self.ports(container);
        let replicas = spec["replicas"].as_u64();
        let taken = Taken {
            image: self.image(container),
            replicas: replicas.filter(|count| *count != 1 && self.elects_leader()),
            deployment: self.block(of_deployment)?,
            annotations: self.block(annotations)?,
            pod: self.block(without(pod, &OF_POD))?,
            volumes: self.block(volumes)?,
            containers: self.block(others)?,
            env: self.block(&container["env"])?,
            ports: self.block(ports)?,
            mounts: self.block(mounts)?,
            container: self.block(without(container, &OF_CONTAINER))?,
            resources: self.block(&container["resources"])?,
        };
        self.report(spec, container);
        Ok((taken != Taken::default()).then_some(taken))
    }

    /// Whether only one Pod of the new operator works at a time.
    fn elects_leader(&self) -> bool {
        self.project.has(Feature::LeaderElection)
    }

    /// The name of the operator's image, unless it is the one that kubebuilder writes.
    fn image(&mut self, container: &Value) -> String {
        let name = image_name(container["image"].as_str().unwrap_or(""));
        if name.chars().all(is_of_image) {
            return if name == "controller" { "" } else { name }.to_owned();
        }
        let what = format!("the image `{name}`: set `IMG` in the Makefile");
        self.line(&["containers"], &what);
        String::new()
    }

    /// The ports that the new Deployment does not have. The API server refuses two ports with one name, so a port with
    /// the name of one here is reported.
    fn ports<'v>(&mut self, container: &'v Value) -> Vec<&'v Value> {
        let mut ports: Vec<_> = list(&container["ports"]).collect();
        ports.retain(|port| !PORTS.iter().any(|own| port["containerPort"] == *own));
        ports.retain(|port| {
            let name = port["name"].as_str().unwrap_or("");
            let is_taken = PORT_NAMES.contains(&name);
            if is_taken {
                let what = format!(
                    "the port {} with the name `{name}`, which another port has here: if the new operator needs it, add \
                     it to `config/manager/manager.yaml` with another name",
                    port["containerPort"],
                );
                self.line(&["containers", container["name"].as_str().unwrap_or(""), "ports", name], &what);
            }
            !is_taken
        });
        ports
    }

    /// A value as YAML; empty for an empty one.
    fn block(&mut self, value: impl Serialize) -> Result<String> {
        let text = yaml::write_manifest(value)?;
        if text.contains(|c| is_hidden(c) && c != '\n') {
            self.line(&[], "settings of the Deployment with invisible characters");
            return Ok(String::new());
        }
        Ok(match text.trim_end() {
            "[]" | "null" | "{}" => String::new(),
            block => block.to_owned(),
        })
    }

    /// Reports what happens to a field of the Pods.
    fn line(&mut self, path: &[&str], what: &str) {
        let full = [&POD, path].concat();
        let place = self.source.place(&self.deployment.0, &full);
        self.lost.add(format!("{place}: {what}"));
    }

    /// Reports each setting that is not taken over.
    fn report(&mut self, spec: &Value, container: &Value) {
        let pod = &spec["template"]["spec"];
        let in_container = ["containers", container["name"].as_str().unwrap_or("")];
        let mut before = "";
        for (field, first) in [("command", 1), ("args", 0)] {
            for argument in texts(&container[field]).skip(first) {
                let is_value = !argument.starts_with('-') && election::is_about(before);
                if let Some(what) = self.argument(argument)
                    && !is_value
                {
                    self.line(&[&in_container[..], &[field, argument]].concat(), &what);
                }
                before = argument;
            }
        }
        if !self.elects_leader()
            && let Some(replicas @ 2..) = spec["replicas"].as_u64()
        {
            let place = self.source.place(&self.deployment.0, &["spec", "replicas"]);
            self.lost.add(format!(
                "{place}: `replicas: {replicas}`: here, it is 1, because without leader election, all replicas would work \
                 at the same time"
            ));
        }
        let strategy = &spec["strategy"];
        if !self.elects_leader() && !strategy.is_null() && strategy["type"] != "Recreate" {
            let place = self.source.place(&self.deployment.0, &["spec", "strategy"]);
            self.lost.add(format!(
                "{place}: `strategy: {strategy}`: here, it is `Recreate`, because without leader election, two Pods \
                 would work at the same time"
            ));
        }
        if let Some(seconds) = pod["terminationGracePeriodSeconds"].as_u64()
            && seconds != 10
        {
            let what = format!(
                "`terminationGracePeriodSeconds: {seconds}`: here, it is 10, because running reconciles have 8 s to \
                 finish; `--graceful-shutdown-timeout` gives them more"
            );
            self.line(&["terminationGracePeriodSeconds"], &what);
        }
        // What each project has, and what kubebuilder writes.
        let of_pod = json!({
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        });
        let of_container = json!({
            "imagePullPolicy": "IfNotPresent",
            "livenessProbe": {
                "httpGet": {"path": "/healthz", "port": 8081},
                "initialDelaySeconds": 15, "periodSeconds": 20,
            },
            "readinessProbe": {
                "httpGet": {"path": "/readyz", "port": 8081},
                "initialDelaySeconds": 5, "periodSeconds": 10,
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
                "runAsNonRoot": true,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        });
        self.report_unusual(pod, &of_pod, &[]);
        self.report_unusual(container, &of_container, &in_container);
    }

    /// Reports the settings of the object at `path` that are not the usual ones.
    fn report_unusual(&mut self, object: &Value, usual: &Value, path: &[&str]) {
        let mut comparison = Comparison::default();
        for (field, usual) in usual.as_object().into_iter().flatten() {
            if let Some(value) = object.get(field) {
                comparison.compare(field, value, &[usual]);
            }
        }
        for (below, value) in comparison.fields {
            let below: Vec<_> = below.iter().map(String::as_str).collect();
            let what = format!(
                "`{}: {value}` of the Deployment: change `config/manager/manager.yaml` if the new operator needs it",
                below.join("."),
            );
            self.line(&[path, &below].concat(), &what);
        }
    }

    /// Why an argument is not taken over; `None` if it is, or if another line says it.
    fn argument(&self, argument: &str) -> Option<String> {
        let (flag, value) = argument.split_once('=').unwrap_or((argument, ""));
        if flag.starts_with('-') && election::is_about(flag) {
            return election::is_left(flag).then(|| {
                format!(
                    "the argument `{argument}`, about leader election: add it to `config/manager/manager.yaml`"
                )
            });
        }
        let is_secure = self.project.has(Feature::MetricsSecure);
        let here = match flag.trim_start_matches('-') {
            "metrics-bind-address" if is_secure => ":8443",
            "metrics-bind-address" => ":8080",
            "health-probe-bind-address" => ":8081",
            "webhook-port" if value == "9443" => return None,
            "metrics-secure" if is_secure => "true",
            "metrics-secure" => "false",
            "metrics-cert-path" | "webhook-cert-path" => return None,
            name if name.starts_with("zap-") || name.starts_with("log-") => {
                return Some(format!(
                    "the argument `{argument}`: here, `--log-level` and `--log-format` say what is logged"
                ));
            }
            _ => {
                return Some(format!(
                    "the argument `{argument}`: add it to `src/cli.rs`, then to `config/manager/manager.yaml`"
                ));
            }
        };
        (value != here).then(|| {
            format!(
                "the argument `{argument}`: here, it is `{flag}={here}`; change it in \
                 `config/manager/manager.yaml`"
            )
        })
    }
}

/// Whether the name of an image can have this character, none of which means something to make.
fn is_of_image(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-/:".contains(c)
}

/// The fields of an object without some of them.
fn without(value: &Value, names: &[&str]) -> Map<String, Value> {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !names.contains(&name.as_str()));
    fields
}

/// The volumes, without those of certificates.
fn volumes(pod: &Value) -> Vec<&Value> {
    let mut volumes: Vec<_> = list(&pod["volumes"]).collect();
    volumes.retain(|volume| {
        let secret = volume["secret"]["secretName"].as_str().unwrap_or("");
        let name = volume["name"].as_str().unwrap_or("");
        !CERTIFICATES.iter().any(|own| secret.ends_with(own))
            && !matches!(name, "metrics-certs" | "webhook-certs")
    });
    volumes
}
