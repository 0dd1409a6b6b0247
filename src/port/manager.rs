//! The Deployment of the Go operator, for config/manager/manager.yaml: what is taken over, and what is not.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    compare::Comparison,
    deployed::Deployed,
    deployment::{Deployment, METRICS_PROXY, runs},
    election,
    kustomize::image_name,
    lost::Lost,
    makefile::variable,
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
    /// Empty for one replica.
    replicas: String,
    has_several: bool,
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
    /// The values of the chart with their names.
    chart: BTreeMap<&'static str, String>,
}

/// The fields of Pods for which the chart has a value of this name.
const IN_CHART: [&str; 6] = [
    "affinity",
    "imagePullSecrets",
    "nodeSelector",
    "priorityClassName",
    "tolerations",
    "topologySpreadConstraints",
];

/// The fields that a template sets, or whose value has no meaning here.
const OF_DEPLOYMENT: [&str; 3] = ["replicas", "selector", "template"];
/// The other fields that a Deployment has.
const MORE_OF_DEPLOYMENT: [&str; 5] = [
    "minReadySeconds",
    "paused",
    "progressDeadlineSeconds",
    "revisionHistoryLimit",
    "strategy",
];
const OF_POD: [&str; 7] = [
    "containers",
    "restartPolicy",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "volumes",
];
const OF_CONTAINER: [&str; 14] = [
    "args",
    "command",
    "env",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "startupProbe",
    "volumeMounts",
];

/// The Secrets with certificates that the operator here gets in another way, and the Certificates that make them, which may
/// name another Secret.
const SECRETS: [&str; 2] = ["metrics-server-cert", "webhook-server-cert"];
const CERTIFICATES: [&str; 2] = ["metrics-certs", "serving-cert"];

/// The ports that kubebuilder's projects have for metrics, probes and webhooks, and names for them.
const USUAL_PORTS: [(u64, &[&str]); 4] = [
    (8080, &["http-metrics", "metrics"]),
    (8081, &["health", "healthz", "probes"]),
    (8443, &["https", "metrics"]),
    (9443, &["webhook-server", "webhooks"]),
];

/// Where the Pods are described.
pub(super) const POD: [&str; 3] = ["spec", "template", "spec"];

/// Reads a Deployment.
pub(super) struct Reader<'a> {
    pub source: &'a Source,
    pub deployed: &'a Deployed,
    pub deployment: &'a Deployment,
    pub project: &'a Project,
    pub lost: &'a mut Lost,
}

impl Reader<'_> {
    /// What is taken over. `None` if this is nothing.
    pub fn read(&mut self) -> Result<Option<Taken>> {
        let spec = &self.deployment.object.value["spec"];
        let pod = &spec["template"]["spec"];
        let container = self.deployment.container().unwrap_or(&Value::Null);
        let others = self.sidecars(pod);
        let of_deployment = self.of_deployment(spec);
        let annotations = without(
            &spec["template"]["metadata"]["annotations"],
            &["kubectl.kubernetes.io/default-container"],
        );
        let volumes = self.volumes(pod);
        let mut mounts: Vec<_> = list(&container["volumeMounts"]).collect();
        mounts.retain(|mount| volumes.iter().any(|volume| volume["name"] == mount["name"]));
        let ports = self.ports(container);
        let of_pod = without(pod, &OF_POD);
        let of_container = without(container, &OF_CONTAINER);
        let replicas = (spec["replicas"].as_u64())
            .filter(|count| *count == 0 || *count > 1 && self.elects_leader());
        let mut in_chart = vec![
            ("extraVolumeMounts", json!(mounts)),
            ("extraVolumes", json!(volumes)),
            ("podAnnotations", json!(annotations)),
        ];
        let strategy = of_deployment.get("strategy");
        in_chart.extend(strategy.map(|strategy| ("strategy", strategy.clone())));
        for name in IN_CHART {
            in_chart.extend(of_pod.get(name).map(|value| (name, value.clone())));
        }
        let chart = self.chart(in_chart)?;
        self.report_chart(&[&of_deployment, &of_pod, &of_container], &others, &ports);
        let taken = Taken {
            image: self.image(container),
            replicas: replicas.map(|count| count.to_string()).unwrap_or_default(),
            has_several: replicas.is_some_and(|count| count > 1),
            deployment: self.block(of_deployment)?,
            annotations: self.block(annotations)?,
            pod: self.block(of_pod)?,
            volumes: self.block(volumes)?,
            containers: self.block(others)?,
            env: self.block(&container["env"])?,
            ports: self.block(ports)?,
            mounts: self.block(mounts)?,
            container: self.block(of_container)?,
            resources: self.block(&container["resources"])?,
            chart,
        };
        self.report(spec, container);
        Ok((taken != Taken::default()).then_some(taken))
    }

    /// The containers beside that of the operator.
    fn sidecars<'v>(&mut self, pod: &'v Value) -> Vec<&'v Value> {
        let own = self.deployment.container();
        if own.is_none() && !pod["containers"].is_null() {
            let what = "the containers: the Deployment does not say which one runs the operator; copy its settings to \
                        `manager` in `config/manager/manager.yaml`, and copy the other containers";
            self.line(&["containers"], what);
        }
        let mut sidecars = Vec::new();
        for container in list(&pod["containers"]).filter(|other| Some(*other) != own) {
            if runs(container, METRICS_PROXY) {
                let name = container["name"].as_str().unwrap_or("");
                let what = format!(
                    "the container `{name}`: here, the operator itself checks who reads its metrics"
                );
                self.line(&["containers", name], &what);
            } else if own.is_some() {
                sidecars.push(container);
            }
        }
        sidecars
    }

    /// The volumes, without those of certificates.
    fn volumes<'v>(&self, pod: &'v Value) -> Vec<&'v Value> {
        let mut volumes: Vec<_> = list(&pod["volumes"]).collect();
        volumes.retain(|volume| {
            let secret = volume["secret"]["secretName"].as_str().unwrap_or("");
            let name = volume["name"].as_str().unwrap_or("");
            !SECRETS.iter().any(|own| secret.ends_with(own))
                && !self.is_of_certificate(secret)
                && !matches!(name, "metrics-certs" | "webhook-certs")
        });
        volumes
    }

    /// Whether a usual Certificate makes the Secret with this name.
    fn is_of_certificate(&self, secret: &str) -> bool {
        let mut objects = self.deployed.objects.iter();
        objects.any(|object| {
            let name = self.deployed.usual_name(object);
            object.is_a("Certificate")
                && object.value["spec"]["secretName"] == *secret
                && CERTIFICATES.iter().any(|own| name.ends_with(own))
        })
    }

    /// The fields of the spec that the new Deployment gets.
    fn of_deployment(&mut self, spec: &Value) -> Map<String, Value> {
        let mut fields = without(spec, &OF_DEPLOYMENT);
        if !self.elects_leader() {
            fields.remove("strategy");
        }
        let kind = self.deployment.object.kind();
        if !self.deployment.is_deployment() {
            for (field, value) in without(&fields.clone().into(), &MORE_OF_DEPLOYMENT) {
                fields.remove(&field);
                let what = format!(
                    "`{field}: {value}` of the {kind}: a Deployment does not have this field"
                );
                self.line_at(&["spec", &field], &what);
            }
        }
        fields
    }

    /// The values of the chart as YAML, each with its name. An empty value is left out.
    fn chart(
        &mut self,
        values: Vec<(&'static str, Value)>,
    ) -> Result<BTreeMap<&'static str, String>> {
        let mut chart = BTreeMap::new();
        for (name, value) in values {
            if !self.block(&value)?.is_empty() {
                chart.insert(name, self.block(json!({ name: value }))?);
            }
        }
        Ok(chart)
    }

    /// Reports the settings that the chart does not have.
    fn report_chart(
        &mut self,
        fields: &[&Map<String, Value>],
        others: &[&Value],
        ports: &[&Value],
    ) {
        if !self.project.has(Feature::Helm) {
            return;
        }
        let mut left = Vec::new();
        for name in fields.iter().flat_map(|fields| fields.keys()) {
            if name != "strategy" && !IN_CHART.contains(&name.as_str()) {
                left.push(format!("`{name}`"));
            }
        }
        for other in others {
            left.push(format!(
                "the container `{}`",
                other["name"].as_str().unwrap_or("")
            ));
        }
        for port in ports {
            left.push(format!("the port {}", port["containerPort"]));
        }
        if !left.is_empty() {
            let what = format!(
                "the chart has no value for {} of the Deployment: if the new operator needs it, add it to \
                 `charts/{}/templates/deployment.yaml`",
                left.join(", "),
                self.project.project_name,
            );
            self.line(&[], &what);
        }
    }

    /// Whether only one Pod of the new operator works at a time.
    fn elects_leader(&self) -> bool {
        self.project.has(Feature::LeaderElection)
    }

    /// The name of the image. Empty for kubebuilder's `controller`, unless `IMG` in the Makefile names another one.
    fn image(&mut self, container: &Value) -> String {
        let written = container["image"].as_str().unwrap_or("");
        let in_makefile = match image_name(written) {
            "" | "controller" => variable(self.source, "IMG"),
            name if is_image(name) => None,
            _ => variable(self.source, "IMG").filter(|image| is_image(image_name(image))),
        };
        let name = image_name(in_makefile.as_deref().unwrap_or(written));
        if is_image(name) {
            return if name == "controller" { "" } else { name }.to_owned();
        }
        if !name.is_empty() {
            let what = format!("the image `{name}`: set `IMG` in the Makefile");
            self.line(&["containers"], &what);
        }
        String::new()
    }

    /// The ports that the new Deployment does not have. The API server refuses two ports with one name, so a port with
    /// the name or the number of one here is reported.
    fn ports<'v>(&mut self, container: &'v Value) -> Vec<&'v Value> {
        let is_secure = self.project.has_secure_metrics();
        let metrics = if is_secure { 8443 } else { 8080 };
        let here = [(metrics, "metrics"), (8081, "probes"), (9443, "webhooks")];
        let mut ports: Vec<_> = list(&container["ports"]).collect();
        ports.retain(|port| {
            let (number, name) = (&port["containerPort"], port["name"].as_str().unwrap_or(""));
            let is_usual = |(usual, names): &(u64, &[&str])| {
                *number == *usual && (name.is_empty() || names.contains(&name))
            };
            let in_container = container["name"].as_str().unwrap_or("");
            let path = ["containers", in_container, "ports", name];
            if USUAL_PORTS.iter().any(is_usual) {
                if *number == 8080 && is_secure {
                    let what = "the port 8080 of metrics: here, the port is 8443, with HTTPS and for authorized clients \
                                only; change what reads the metrics, or `--metrics-bind-address` and `--metrics-secure` in \
                                `config/manager/manager.yaml`";
                    self.line(&path, what);
                }
                return false;
            }
            let taken = here.iter().find(|(own, own_name)| *number == *own || name == *own_name);
            if taken.is_some() {
                let what = format!(
                    "the port {number} with the name `{name}`: another port has this name or this number here; if the \
                     new operator needs it, add it to `config/manager/manager.yaml` with another one"
                );
                self.line(&path, &what);
            }
            taken.is_none()
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
        self.line_at(&[&POD, path].concat(), what);
    }

    /// Reports what happens to a field of the object.
    fn line_at(&mut self, path: &[&str], what: &str) {
        let place = self.source.place(&self.deployment.object, path);
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
        for field in ["lifecycle", "startupProbe"] {
            let value = &container[field];
            if !value.is_null() {
                let what = format!(
                    "`{field}: {value}` of the Deployment: it is about the program and the ports of the Go operator; here, \
                     the port is `probes`, and the image has no shell; add what is needed to \
                     `config/manager/manager.yaml`"
                );
                self.line(&[&in_container[..], &[field]].concat(), &what);
            }
        }
        if !self.elects_leader()
            && let Some(replicas @ 2..) = spec["replicas"].as_u64()
        {
            let what = format!(
                "`replicas: {replicas}`: here, it is 1, because without leader election, all replicas would work at the \
                 same time"
            );
            self.line_at(&["spec", "replicas"], &what);
        }
        let strategy = &spec["strategy"];
        if !self.elects_leader() && !strategy.is_null() && strategy["type"] != "Recreate" {
            let what = format!(
                "`strategy: {strategy}`: here, it is `Recreate`, because without leader election, two Pods would work at \
                 the same time"
            );
            self.line_at(&["spec", "strategy"], &what);
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
        let is_secure = self.project.has_secure_metrics();
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

/// Whether a text is the name of an image, without characters that make would interpret.
fn is_image(name: &str) -> bool {
    let mut chars = name.chars();
    !name.is_empty()
        && chars.all(|c| c.is_ascii_alphanumeric() || "._-/:".contains(c))
        && !name.contains("//")
}

/// The fields of an object without some of them.
fn without(value: &Value, names: &[&str]) -> Map<String, Value> {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !names.contains(&name.as_str()));
    fields
}
