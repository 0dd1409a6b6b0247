//! Reads `config/`: how the operator is deployed, and its names in the cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    file::GoProject,
    lost::Lost,
    path::file_name,
    source::{Object, Source, at, list, texts},
};
use crate::{
    names::LabelKey,
    project::{self, Feature, Labels, Project},
    yaml::documents,
};

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
    labels: Labels,
    selector: Labels,
    pod_labels: Labels,
    pub service_account: String,
    /// The program that the container runs. Requests without a field manager get the name of the
    /// program. Empty if the manifest does not say.
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

impl Deployed {
    pub fn new(source: &Source, go: &GoProject, lost: &mut Lost) -> Self {
        let kustomization = kustomization(source, lost);
        let prefix = setting(&kustomization, "namePrefix");
        let mut namespace = setting(&kustomization, "namespace");
        let in_manager = source.objects("config/manager/").into_iter();
        let mut objects = in_manager.chain(source.objects("config/"));
        let object = objects.find(|object| object.is_a("Deployment"));
        if let Some(object) = &object
            && namespace.is_none()
        {
            let own = object.text("metadata.namespace");
            namespace = own.filter(|name| *name != "system").map(str::to_owned);
        }
        Self {
            features: features(source, go, &kustomization),
            arguments: object.as_ref().map(|object| arguments(source, object)),
            deployment: object
                .map(|object| Deployment::new(&object, prefix.as_deref().unwrap_or(""))),
            prefix,
            namespace,
        }
    }
}

impl Deployment {
    fn new(object: &Object, prefix: &str) -> Self {
        let spec = at(&object.value, "spec.template.spec");
        let command = spec.and_then(|spec| spec["containers"][0]["command"][0].as_str());
        let account = spec.and_then(|spec| spec["serviceAccountName"].as_str());
        Self {
            name: format!("{prefix}{}", object.name()),
            labels: labels(object, "metadata.labels"),
            selector: labels(object, "spec.selector.matchLabels"),
            pod_labels: labels(object, "spec.template.metadata.labels"),
            program: command.map_or("", file_name).to_owned(),
            service_account: match account {
                Some(account) => format!("{prefix}{account}"),
                None => "default".to_owned(),
            },
        }
    }

    /// The settings of the Deployment here, and what cannot be taken over.
    pub fn settings(&self, project: &Project) -> (project::Deployment, BTreeSet<String>) {
        let mut lost = BTreeSet::new();
        let mut taken = project.clone();
        let settings = &mut taken.deployment;
        for (there, here) in [
            (&self.labels, &mut settings.labels),
            (&self.pod_labels, &mut settings.pod_labels),
        ] {
            here.clear();
            for (key, value) in there {
                match project.usual_label(key.as_str()) {
                    None => _ = here.insert(key.clone(), value.clone()),
                    // It says which tool applies the manifests.
                    Some(_) if key.as_str() == "app.kubernetes.io/managed-by" => {}
                    Some(usual) if usual == value.as_str() => {}
                    Some(usual) => {
                        lost.insert(format!(
                            "the label `{key}: {value}` of the Deployment: here, it is `{usual}`, because \
                             Services and policies select by it"
                        ));
                    }
                }
            }
        }
        let mut selector = self.selector.iter();
        if self.name != project.deployment_name() {
            // The Deployment here is another one.
        } else if !selector.all(|(key, value)| taken.has_pod_label(key, value)) {
            lost.insert(format!(
                "the selector of the Deployment `{}`, which cannot be changed: delete the \
                 Deployment before `make deploy`",
                self.name
            ));
        } else if !is_usual(&self.selector) {
            taken.deployment.selector = self.selector.clone();
        }
        (taken.deployment, lost)
    }
}

/// Whether a selector has the labels of the default one.
fn is_usual(selector: &Labels) -> bool {
    let keys: Vec<_> = selector.keys().map(LabelKey::as_str).collect();
    keys == ["app.kubernetes.io/name", "control-plane"]
}

/// The kustomization of `config/default`; null if there is none, or none that can be read.
fn kustomization(source: &Source, lost: &mut Lost) -> Value {
    const FILES: [&str; 2] = [
        "config/default/kustomization.yaml",
        "config/default/kustomization.yml",
    ];
    for path in FILES {
        match source.text(path).map(documents) {
            Some(Ok(mut documents)) => return documents.pop().unwrap_or(Value::Null),
            Some(Err(error)) => lost.add(format!("the settings in `{path}`: {error}")),
            None => {}
        }
    }
    Value::Null
}

/// A field of the kustomization, unless it is empty.
fn setting(kustomization: &Value, field: &str) -> Option<String> {
    let text = kustomization.get(field).and_then(Value::as_str)?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// The labels at this place, without those that an API server refuses: a cluster cannot have them.
fn labels(object: &Object, place: &str) -> Labels {
    let fields = at(&object.value, place).and_then(Value::as_object);
    let mut labels = Labels::new();
    for (key, value) in fields.into_iter().flatten() {
        if let (Ok(key), Some(Ok(value))) = (key.parse(), value.as_str().map(str::parse)) {
            labels.insert(key, value);
        }
    }
    labels
}

/// The arguments of all containers of the Deployment, including patches of the Deployment.
fn arguments(source: &Source, deployment: &Object) -> Vec<String> {
    let files = source.objects("config/default/");
    let patches = files
        .iter()
        .filter(|object| object.name() == deployment.name());
    let mut arguments = Vec::new();
    for object in [deployment].into_iter().chain(patches) {
        for container in list(at(&object.value, "spec.template.spec.containers")) {
            arguments.extend(texts(container.get("command")));
            arguments.extend(texts(container.get("args")));
        }
    }
    // A patch may also be a list of operations: `{op: add, path: /spec/…/args/-, value: --leader-elect}`.
    for operation in files.iter().flat_map(|object| list(Some(&object.value))) {
        let path = operation["path"].as_str().unwrap_or("");
        if path.contains("/args") && operation["op"] != "remove" {
            arguments.extend(operation["value"].as_str().map(str::to_owned));
            arguments.extend(texts(operation.get("value")));
        }
    }
    arguments
}

/// The features that `config/` enables, and those that plugins and other folders show.
fn features(source: &Source, go: &GoProject, kustomization: &Value) -> BTreeSet<Feature> {
    let mut parts = BTreeSet::new();
    for field in ["resources", "bases", "components"] {
        for part in texts(kustomization.get(field)) {
            parts.insert(part.trim_end_matches('/').to_owned());
        }
    }
    let has_chart = source.files.texts.keys().any(|path| is_chart(path));
    let mut features = BTreeSet::new();
    for (feature, is_there) in [
        (Feature::Autoupdate, go.has_plugin("autoupdate")),
        (Feature::Certmanager, parts.contains("../certmanager")),
        (
            Feature::Grafana,
            go.has_plugin("grafana") || source.has_below("grafana/"),
        ),
        (Feature::Helm, has_chart || go.has_plugin("helm")),
        (Feature::NetworkPolicy, parts.contains("../network-policy")),
        (Feature::Prometheus, parts.contains("../prometheus")),
    ] {
        features.extend(is_there.then_some(feature));
    }
    features
}

fn is_chart(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["dist", "chart", "Chart.yaml"] | ["chart", "Chart.yaml"] | ["charts", _, "Chart.yaml"]
    )
}

/// The webhooks in the manifests of the Go project.
pub(super) fn webhooks(source: &Source) -> Vec<GoWebhook> {
    let mut found = Vec::new();
    for object in source.objects("config/") {
        let is_defaulting = object.is_a("MutatingWebhookConfiguration");
        if !is_defaulting && !object.is_a("ValidatingWebhookConfiguration") {
            continue;
        }
        for webhook in list(object.value.get("webhooks")) {
            let path = at(webhook, "clientConfig.service.path").and_then(Value::as_str);
            for rule in list(webhook.get("rules")) {
                for group in texts(rule.get("apiGroups")) {
                    for version in texts(rule.get("apiVersions")) {
                        for plural in texts(rule.get("resources")) {
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
