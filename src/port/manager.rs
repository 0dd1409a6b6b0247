//! The Deployment of the Go operator, for config/manager/manager.yaml: what is taken over, and what is not.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    config::Deployment,
    election,
    kustomize::image_name,
    source::{Source, at, list, texts},
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
const OF_DEPLOYMENT: [&str; 4] = ["replicas", "selector", "strategy", "template"];
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

/// The ports of metrics, probes and webhooks.
const PORTS: [u64; 4] = [8080, 8081, 8443, 9443];

/// Where the Pods are described.
const POD: [&str; 3] = ["spec", "template", "spec"];

/// Reads a Deployment.
pub(super) struct Reader<'a> {
    pub source: &'a Source,
    pub deployment: &'a Deployment,
    pub project: &'a Project,
    /// What is not taken over.
    pub lines: Vec<String>,
}

impl Reader<'_> {
    /// What is taken over. `None` if this is nothing.
    pub fn read(&mut self) -> Result<Option<Taken>> {
        let object = &self.deployment.object.value;
        let spec = &object["spec"];
        let pod = &spec["template"]["spec"];
        let (container, others) = self.containers(pod);
        let strategy = &spec["strategy"];
        let mut of_deployment = without(spec, &OF_DEPLOYMENT);
        if self.project.features.contains(&Feature::LeaderElection) && !strategy.is_null() {
            of_deployment.insert("strategy".to_owned(), strategy.clone());
        }
        let annotations = at(object, "spec.template.metadata.annotations");
        let of_pods =
            annotations.map(|own| without(own, &["kubectl.kubernetes.io/default-container"]));
        let volumes = volumes(pod);
        let names: Vec<_> = volumes
            .iter()
            .map(|volume| volume["name"].clone())
            .collect();
        let mut mounts = Vec::new();
        for mount in list(container.get("volumeMounts")) {
            if names.contains(&mount["name"]) {
                mounts.push(mount.clone());
            }
        }
        let mut ports: Vec<_> = list(container.get("ports")).cloned().collect();
        ports.retain(|port| !PORTS.iter().any(|own| port["containerPort"] == *own));
        let mut fields = without(&container, &OF_CONTAINER);
        fields.retain(|name, _| !name.starts_with("terminationMessage"));
        let taken = Taken {
            image: self.image(&container),
            replicas: spec["replicas"].as_u64().filter(|count| *count != 1),
            deployment: self.block(&of_deployment.into())?,
            annotations: self.block(&of_pods.unwrap_or_default().into())?,
            pod: self.block(&without(pod, &OF_POD).into())?,
            volumes: self.block(&volumes.into())?,
            containers: self.block(&others.into())?,
            env: self.block(&container["env"])?,
            ports: self.block(&ports.into())?,
            mounts: self.block(&mounts.into())?,
            container: self.block(&fields.into())?,
            resources: self.block(&container["resources"])?,
        };
        self.leave(pod, &container);
        Ok((taken != Taken::default()).then_some(taken))
    }

    /// The container of the operator, and the others.
    fn containers(&mut self, pod: &Value) -> (Value, Vec<Value>) {
        let mut all: Vec<_> = list(pod.get("containers")).cloned().collect();
        let index = all
            .iter()
            .position(|container| container["name"] == "manager")
            .unwrap_or_default();
        if all.is_empty() {
            return (Value::Null, all);
        }
        let manager = all.remove(index);
        let proxy = all
            .iter()
            .position(|container| container["name"] == "kube-rbac-proxy");
        if let Some(proxy) = proxy {
            all.remove(proxy);
            self.line(
                &["containers", "kube-rbac-proxy"],
                "the container `kube-rbac-proxy`: here, the operator itself checks who reads its metrics",
            );
        }
        (manager, all)
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

    /// A value as YAML; empty for an empty one.
    fn block(&mut self, value: &Value) -> Result<String> {
        let is_empty = match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if is_empty {
            return Ok(String::new());
        }
        let text = yaml::write_manifest(value)?;
        if text.contains(|c| is_hidden(c) && c != '\n') {
            self.line(&[], "settings of the Deployment with invisible characters");
            return Ok(String::new());
        }
        Ok(text.trim_end().to_owned())
    }

    /// Adds a line about a field of the Pods.
    fn line(&mut self, path: &[&str], what: &str) {
        let mut full = POD.to_vec();
        full.extend(path);
        let place = self.source.place(&self.deployment.object, &full);
        self.lines.push(format!("{place}: {what}"));
    }

    /// Adds a line for each setting that is not taken over.
    fn leave(&mut self, pod: &Value, container: &Value) {
        let name = container["name"].as_str().unwrap_or("").to_owned();
        let arguments = texts(container.get("args"));
        for (number, argument) in arguments.iter().enumerate() {
            if let Some(what) = self.argument(argument) {
                let number = number.to_string();
                self.line(&["containers", &name, "args", &number], &what);
            }
        }
        if let Some(seconds) = pod["terminationGracePeriodSeconds"].as_u64()
            && seconds != 10
        {
            self.line(
                &["terminationGracePeriodSeconds"],
                &format!(
                    "`terminationGracePeriodSeconds: {seconds}`: here, it is 10, because running reconciles have 8 \
                     s to finish; `--graceful-shutdown-timeout` gives them more"
                ),
            );
        }
        // What each project has, and what kubebuilder writes.
        let of_pod = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
        let of_container = json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
            "seccompProfile": {"type": "RuntimeDefault"},
        });
        let live = json!({
            "httpGet": {"path": "/healthz", "port": 8081},
            "initialDelaySeconds": 15, "periodSeconds": 20,
        });
        let ready = json!({
            "httpGet": {"path": "/readyz", "port": 8081},
            "initialDelaySeconds": 5, "periodSeconds": 10,
        });
        for (fields, usual, path) in [
            (pod, &of_pod, vec!["securityContext"]),
            (
                container,
                &of_container,
                vec!["containers", &name, "securityContext"],
            ),
            (container, &live, vec!["containers", &name, "livenessProbe"]),
            (
                container,
                &ready,
                vec!["containers", &name, "readinessProbe"],
            ),
        ] {
            let field = path.last().copied().unwrap_or_default();
            let own = fields[field].as_object().into_iter().flatten();
            for (setting, value) in own {
                if usual.get(setting) != Some(value) {
                    let mut full = path.clone();
                    full.push(setting);
                    self.line(
                        &full,
                        &format!(
                            "`{field}.{setting}: {value}` of the Deployment: change `config/manager/manager.yaml` \
                             if the new operator needs it"
                        ),
                    );
                }
            }
        }
    }

    /// Why an argument is not taken over; `None` if it is, or if another line says it.
    fn argument(&self, argument: &str) -> Option<String> {
        let (flag, value) = argument.split_once('=').unwrap_or((argument, ""));
        if !flag.starts_with('-') || election::is_about(flag) {
            return None;
        }
        let is_secure = self.project.features.contains(&Feature::MetricsSecure);
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
                    "the argument `{argument}`: add the flag to `src/cli.rs`, then the argument to \
                     `config/manager/manager.yaml`"
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
fn volumes(pod: &Value) -> Vec<Value> {
    let mut volumes: Vec<_> = list(pod.get("volumes")).cloned().collect();
    volumes.retain(|volume| {
        let secret = volume["secret"]["secretName"].as_str().unwrap_or("");
        !CERTIFICATES.iter().any(|name| secret.ends_with(name))
            && !["metrics-certs", "webhook-certs"]
                .iter()
                .any(|name| volume["name"] == *name)
    });
    volumes
}
