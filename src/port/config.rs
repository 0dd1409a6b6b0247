//! How the Go operator is deployed, and its names in the cluster: what the kustomization that `make deploy` builds has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    file::GoProject,
    kustomize::{self, Built},
    lost::Lost,
    path::{file_name, join},
    source::{Object, Source, at, list, texts},
};
use crate::{
    names::LabelKey,
    project::{self, Feature, Labels, Project},
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
    /// All objects. Without a kustomization, those of the manifests in `config/`.
    pub objects: Vec<Object>,
    /// Whether the objects come from a kustomization.
    pub is_built: bool,
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
    pub object: Object,
}

/// A webhook of the Go operator, for one kind.
#[derive(Debug, Clone)]
pub(super) struct GoWebhook {
    /// Whether it sets defaults; otherwise it validates.
    pub is_defaulting: bool,
    pub path: Option<String>,
    pub group: String,
    pub plural: String,
    /// The configuration, and the number of the webhook in it.
    pub configuration: Object,
    pub index: usize,
    /// The number of the rule in the webhook.
    pub rule: usize,
}

/// The kustomization that a Go project usually deploys.
const USUAL: &str = "config/default";

impl Deployed {
    pub fn new(source: &Source, go: &GoProject, lost: &mut Lost) -> Self {
        let files = source.yaml();
        let folder = deployed_folder(source).unwrap_or_else(|| USUAL.to_owned());
        let mut built = kustomize::build(&files, &folder);
        let is_built = !built.objects.is_empty();
        if is_built {
            // `make install` builds it, and `config/default` may leave it out.
            if !built.folders.contains("config/crd")
                && files.contains_key("config/crd/kustomization.yaml")
            {
                let crds = kustomize::build(&files, "config/crd");
                built.objects.extend(crds.objects);
                built.left.extend(crds.left);
            }
        } else {
            built.objects = source.objects("config/");
        }
        for line in &built.left {
            lost.add(line.clone());
        }
        let object = operator(&built.objects, built.prefix.as_str());
        let own = object.and_then(|object| object.text("metadata.namespace"));
        let own = own.filter(|name| *name != "system").map(str::to_owned);
        Self {
            features: features(source, go, &built),
            arguments: object.map(arguments),
            deployment: object.map(Deployment::new),
            prefix: Some(built.prefix).filter(|prefix| !prefix.is_empty()),
            namespace: built.namespace.or(own),
            objects: built.objects,
            is_built,
        }
    }

    /// The objects of these kinds that are deployed. If there is none, those of the manifests in `config/`.
    pub fn of_kinds(&self, source: &Source, kinds: &[&str]) -> Vec<Object> {
        let deployed = self.objects.iter();
        let deployed = deployed.filter(|object| kinds.iter().any(|kind| object.is_a(kind)));
        let mut objects: Vec<_> = deployed.cloned().collect();
        if objects.is_empty() && self.is_built {
            objects = source.objects("config/");
            objects.retain(|object| kinds.iter().any(|kind| object.is_a(kind)));
        }
        objects
    }

    /// The CRDs that the kustomization has.
    pub fn crds(&self) -> impl Iterator<Item = &Object> {
        let objects = self.objects.iter().filter(|_| self.is_built);
        objects.filter(|object| object.is_a("CustomResourceDefinition"))
    }
}

/// The folder of the kustomization that the target `deploy` of the Makefile builds.
fn deployed_folder(source: &Source) -> Option<String> {
    let makefile = source
        .text("GNUmakefile")
        .or_else(|| source.text("Makefile"))?;
    let mut variables = BTreeMap::new();
    let mut is_recipe = false;
    for line in makefile.lines() {
        if let Some(target) = line.split(':').next()
            && !line.starts_with(['\t', '#', ' '])
            && !line.is_empty()
        {
            is_recipe = target.split_whitespace().any(|name| name == "deploy");
            if let Some((name, value)) = line.split_once('=') {
                let name = name.trim_end_matches([' ', '?', ':', '+']);
                variables.insert(name.to_owned(), value.trim().to_owned());
            }
        }
        if !is_recipe || !line.starts_with('\t') {
            continue;
        }
        // The folder that an earlier command of the line has entered.
        let mut entered = String::new();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let named = match word.trim_start_matches(['@', '-']) {
                "cd" => {
                    entered += words.next().unwrap_or(".");
                    entered.push('/');
                    None
                }
                "build" | "k" | "kustomize" => words.clone().find(|word| !word.starts_with('-')),
                flag => flag.strip_prefix("kustomize="),
            };
            let path = named.map(|path| format!("{entered}{path}"));
            if let Some(folder) = path.and_then(|path| resolve(&path, &variables))
                && source.has_below(&format!("{folder}/"))
            {
                return Some(folder);
            }
        }
    }
    None
}

/// The path of a folder in which variables of make may occur.
fn resolve(path: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    const MAX_VARIABLES: usize = 5;
    let mut resolved = path.replace(['"', '\''], "");
    for _ in 0..MAX_VARIABLES {
        let Some(start) = resolved.find("$(").or_else(|| resolved.find("${")) else {
            return join("", &resolved);
        };
        let end = start + resolved[start..].find([')', '}'])?;
        let name = &resolved[start + 2..end];
        let value = match variables.get(name) {
            Some(value) => value.clone(),
            // The folder of the Makefile.
            None => String::new(),
        };
        resolved.replace_range(start..=end, &value);
    }
    None
}

/// The Deployment of the operator: that of the folder for it, or that with its usual name, or the first one.
fn operator<'a>(objects: &'a [Object], prefix: &str) -> Option<&'a Object> {
    let usual = format!("{prefix}controller-manager");
    let mut found: Option<(u8, &Object)> = None;
    for object in objects.iter().filter(|object| object.is_a("Deployment")) {
        let rank = match object.name() {
            name if name == usual => 0,
            _ if object.file().contains("/manager/") => 1,
            name if name.contains("manager") || name.contains("operator") => 2,
            _ => 3,
        };
        if found.is_none_or(|(best, _)| rank < best) {
            found = Some((rank, object));
        }
    }
    found.map(|(_, object)| object)
}

impl Deployment {
    fn new(object: &Object) -> Self {
        let spec = at(&object.value, "spec.template.spec");
        let command = spec.and_then(|spec| spec["containers"][0]["command"][0].as_str());
        let account = spec.and_then(|spec| spec["serviceAccountName"].as_str());
        Self {
            name: object.name().to_owned(),
            labels: labels(object, "metadata.labels"),
            selector: labels(object, "spec.selector.matchLabels"),
            pod_labels: labels(object, "spec.template.metadata.labels"),
            program: command.map_or("", file_name).to_owned(),
            service_account: account.unwrap_or("default").to_owned(),
            object: object.clone(),
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

/// The arguments of all containers of the Deployment.
fn arguments(deployment: &Object) -> Vec<String> {
    let mut arguments = Vec::new();
    for container in list(at(&deployment.value, "spec.template.spec.containers")) {
        arguments.extend(texts(container.get("command")));
        arguments.extend(texts(container.get("args")));
    }
    arguments
}

/// The features that the deployed objects show, and those that plugins and other folders show.
fn features(source: &Source, go: &GoProject, built: &Built) -> BTreeSet<Feature> {
    let folders: BTreeSet<_> = built
        .folders
        .iter()
        .map(|folder| file_name(folder))
        .collect();
    let has_chart = source.files.texts.keys().any(|path| is_chart(path));
    let mut features = BTreeSet::new();
    for (feature, is_there) in [
        (Feature::Autoupdate, go.has_plugin("autoupdate")),
        (Feature::Certmanager, folders.contains("certmanager")),
        (
            Feature::Grafana,
            go.has_plugin("grafana") || source.has_below("grafana/"),
        ),
        (Feature::Helm, has_chart || go.has_plugin("helm")),
        (Feature::NetworkPolicy, folders.contains("network-policy")),
        (Feature::Prometheus, folders.contains("prometheus")),
        (
            Feature::UserRoles,
            !folders.is_empty() && built.objects.iter().any(is_user_role),
        ),
    ] {
        features.extend(is_there.then_some(feature));
    }
    features
}

/// Whether an object is a role for users of a kind, which the feature `user-roles` adds here.
pub(super) fn is_user_role(object: &Object) -> bool {
    let ends = ["-admin-role", "-editor-role", "-viewer-role"];
    (object.is_a("ClusterRole") || object.is_a("Role"))
        && ends.iter().any(|end| object.name().ends_with(end))
}

fn is_chart(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["dist", "chart", "Chart.yaml"] | ["chart", "Chart.yaml"] | ["charts", _, "Chart.yaml"]
    )
}

/// The webhooks of the Go operator.
pub(super) fn webhooks(source: &Source, deployed: &Deployed) -> Vec<GoWebhook> {
    let mut found = Vec::new();
    let kinds = [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ];
    for configuration in deployed.of_kinds(source, &kinds) {
        for (index, webhook) in list(configuration.value.get("webhooks")).enumerate() {
            let path = at(webhook, "clientConfig.service.path").and_then(Value::as_str);
            for (number, rule) in list(webhook.get("rules")).enumerate() {
                for group in texts(rule.get("apiGroups")) {
                    for resource in texts(rule.get("resources")) {
                        let plural = resource.split('/').next().unwrap_or_default();
                        found.push(GoWebhook {
                            is_defaulting: configuration.is_a("MutatingWebhookConfiguration"),
                            path: path.map(str::to_owned),
                            group: group.clone(),
                            plural: plural.to_owned(),
                            configuration: configuration.clone(),
                            index,
                            rule: number,
                        });
                    }
                }
            }
        }
    }
    found
}
