//! Reads `config/`: how the operator is deployed, and its names in the cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    file::GoProject,
    source::{Object, Source, at, texts},
};
use crate::project::{Feature, yaml::documents};

/// How the Go operator is deployed.
#[derive(Debug, Default)]
pub(super) struct Deployed {
    /// The prefix that kustomize adds to the name of each object.
    pub prefix: Option<String>,
    /// The namespace of the operator.
    pub namespace: Option<String>,
    /// The Deployment of the operator.
    pub deployment: Option<Deployment>,
    /// The features that the config enables.
    pub features: BTreeSet<Feature>,
    /// The arguments of the operator, if there is a Deployment.
    pub arguments: Option<Vec<String>>,
}

/// A Deployment.
#[derive(Debug)]
pub(super) struct Deployment {
    /// The name in the cluster, with the prefix.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub selector: BTreeMap<String, String>,
    pub pod_labels: BTreeMap<String, String>,
    pub service_account: String,
    /// The program that the container runs. Requests without a field manager get the name of the
    /// program.
    pub program: String,
}

/// A webhook of the Go operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoWebhook {
    pub file: String,
    /// Whether it sets defaults; otherwise it validates.
    pub is_defaulting: bool,
    pub path: Option<String>,
    pub group: String,
    pub version: String,
    pub plural: String,
}

const DEFAULT: &str = "config/default/kustomization";

impl Deployed {
    pub fn new(source: &Source, go: &GoProject) -> Self {
        let kustomization = kustomization(source);
        let text = |field: &str| {
            let text = kustomization.get(field).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let (prefix, mut namespace) = (text("namePrefix"), text("namespace"));
        let found = source.objects("config/manager/").into_iter();
        let mut found = found.chain(source.objects("config/"));
        let object = found.find(|it| it.kind() == "Deployment");
        if let Some(object) = &object {
            let own = object
                .text("metadata.namespace")
                .filter(|it| *it != "system");
            namespace = namespace.or(own.map(str::to_owned));
        }
        let arguments = object.as_ref().map(|it| all_arguments(source, it));
        Self {
            deployment: object.map(|it| Deployment::new(&it, prefix.as_deref())),
            features: features(source, go, &kustomization),
            arguments,
            prefix,
            namespace,
        }
    }
}

impl Deployment {
    fn new(object: &Object, prefix: Option<&str>) -> Self {
        let labels = |place| labels(at(&object.value, place));
        let spec = at(&object.value, "spec.template.spec");
        let command = spec.and_then(|it| it["containers"][0]["command"][0].as_str());
        let program = command.and_then(|it| it.rsplit('/').next());
        let account = spec.and_then(|it| it["serviceAccountName"].as_str());
        let prefixed = |name: &str| format!("{}{name}", prefix.unwrap_or_default());
        Self {
            name: prefixed(object.name()),
            labels: labels("metadata.labels"),
            selector: labels("spec.selector.matchLabels"),
            pod_labels: labels("spec.template.metadata.labels"),
            program: program.unwrap_or_default().to_owned(),
            service_account: account.map_or_else(|| "default".to_owned(), prefixed),
        }
    }
}

/// The kustomization of `config/default`.
fn kustomization(source: &Source) -> Value {
    let texts = [".yaml", ".yml"].map(|end| source.text(&format!("{DEFAULT}{end}")));
    let text = texts.into_iter().flatten().next().unwrap_or_default();
    let document = documents(text).ok().and_then(|mut all| all.pop());
    document.unwrap_or_default()
}

/// The labels in `value`, without those that an API server refuses: a cluster cannot have them.
fn labels(value: Option<&Value>) -> BTreeMap<String, String> {
    let labels = value.and_then(Value::as_object).into_iter().flatten();
    let texts = labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let is_label = |text: &str| {
        text.bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"-_./".contains(&it))
    };
    texts
        .filter(|(name, value)| is_label(name) && is_label(value))
        .collect()
}

/// The arguments of all containers of the Deployment, including patches of the Deployment.
fn all_arguments(source: &Source, deployment: &Object) -> Vec<String> {
    let files = source.objects("config/default/");
    let patches = files.iter().filter(|it| it.name() == deployment.name());
    let mut arguments = Vec::new();
    for object in [deployment].into_iter().chain(patches) {
        let containers = at(&object.value, "spec.template.spec.containers");
        for container in containers.and_then(Value::as_array).into_iter().flatten() {
            arguments.extend(texts(container.get("command")));
            arguments.extend(texts(container.get("args")));
        }
    }
    // A patch may also be a list of operations: `{op: add, path: /spec/…/args/-, value: --leader-elect}`.
    for operation in files.iter().filter_map(|it| it.value.as_array()).flatten() {
        let path = operation["path"].as_str().unwrap_or_default();
        if path.contains("/args") && operation["op"] != "remove" {
            arguments.extend(operation["value"].as_str().map(str::to_owned));
            arguments.extend(texts(operation.get("value")));
        }
    }
    arguments
}

/// The features that `config/` enables, and those that plugins and other folders show.
fn features(source: &Source, go: &GoProject, kustomization: &Value) -> BTreeSet<Feature> {
    let parts = [
        texts(kustomization.get("resources")),
        texts(kustomization.get("bases")),
        texts(kustomization.get("components")),
    ];
    let parts = parts.concat();
    let enabled = |folder: &str| parts.iter().any(|it| it.trim_end_matches('/') == folder);
    let chart = |path: &String| {
        let folders: Vec<_> = path.split('/').collect();
        matches!(
            folders.as_slice(),
            ["dist", "chart", "Chart.yaml"] | ["chart", "Chart.yaml"] | ["charts", _, "Chart.yaml"]
        )
    };
    let has_chart = source.files.texts.keys().any(chart);
    let found = [
        (Feature::Autoupdate, go.has_plugin("autoupdate")),
        (Feature::Certmanager, enabled("../certmanager")),
        (
            Feature::Grafana,
            go.has_plugin("grafana") || source.has_below("grafana/"),
        ),
        (Feature::Helm, has_chart || go.has_plugin("helm")),
        (Feature::NetworkPolicy, enabled("../network-policy")),
        (Feature::Prometheus, enabled("../prometheus")),
    ];
    let found = found.into_iter().filter(|(_, is_there)| *is_there);
    found.map(|(feature, _)| feature).collect()
}

/// The webhooks in the manifests of the Go project.
pub(super) fn webhooks(source: &Source) -> Vec<GoWebhook> {
    let mut found = Vec::new();
    for object in source.objects("config/") {
        let is_defaulting = match object.kind() {
            "MutatingWebhookConfiguration" => true,
            "ValidatingWebhookConfiguration" => false,
            _ => continue,
        };
        let webhooks = object.value["webhooks"].as_array();
        for webhook in webhooks.into_iter().flatten() {
            let path = at(webhook, "clientConfig.service.path").and_then(Value::as_str);
            for rule in webhook["rules"].as_array().into_iter().flatten() {
                let list = |field: &str| texts(rule.get(field));
                for group in list("apiGroups") {
                    for version in list("apiVersions") {
                        for plural in list("resources") {
                            found.push(GoWebhook {
                                file: object.file.clone(),
                                is_defaulting,
                                path: path.map(str::to_owned),
                                group: group.clone(),
                                version: version.clone(),
                                plural,
                            });
                        }
                    }
                }
            }
        }
    }
    found
}
