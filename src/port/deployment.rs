//! The Deployment of the Go operator: its names and labels, and which of its labels the new Deployment has.

use serde_json::Value;

use super::{
    kustomize::image_name,
    lost::Lost,
    path::file_name,
    source::{Manifest, Source, list, texts},
};
use crate::{
    names::LabelKey,
    project::{self, Labels, Project},
};

/// The proxy in front of the metrics. Here, the operator itself checks who reads them.
pub(super) const METRICS_PROXY: &str = "kube-rbac-proxy";

/// The programs that run beside an operator, and pass connections on.
const PROXIES: [&str; 4] = [METRICS_PROXY, "oauth-proxy", "oauth2-proxy", "istio-proxy"];

/// The Deployment of the Go operator, or the `StatefulSet` or `DaemonSet` in its place.
#[derive(Debug)]
pub(super) struct Deployment {
    pub object: Manifest,
    /// Whether no other object may be the operator.
    pub is_certain: bool,
}

impl Deployment {
    /// The name in the cluster, with the prefix.
    pub fn name(&self) -> &str {
        self.object.name()
    }

    /// Whether it is a Deployment, which the new one replaces if both have one name.
    pub fn is_deployment(&self) -> bool {
        self.object.is_a("Deployment")
    }

    /// The command that deletes it. The namespace is unknown if a file has the one of kubebuilder, which kustomize replaces.
    pub fn deletion(&self) -> String {
        let namespace = match self.object.namespace() {
            "" | "system" => "<NAMESPACE>",
            known => known,
        };
        let (kind, name) = (self.object.kind().to_lowercase(), self.name());
        format!("kubectl --namespace {namespace} delete {kind} {name}")
    }

    pub fn service_account(&self) -> &str {
        let account = self.object.text("/spec/template/spec/serviceAccountName");
        account.unwrap_or("default")
    }

    /// The container that runs the operator: the one with kubebuilder's name, the one that kubectl shows by default, or
    /// the only one that is not a proxy. `None` if none of these is clear.
    pub fn container(&self) -> Option<&Value> {
        let template = &self.object.value["spec"]["template"];
        let shown = &template["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"];
        let containers: Vec<_> = list(&template["spec"]["containers"]).collect();
        for name in [&Value::from("manager"), shown] {
            let mut named = containers.iter();
            if let Some(container) = named.find(|container| container["name"] == *name) {
                return Some(container);
            }
        }
        let mut others =
            (containers.into_iter()).filter(|own| !PROXIES.iter().any(|proxy| runs(own, proxy)));
        others.next().filter(|_| others.next().is_none())
    }

    /// The program that the container runs. Requests without a field manager get the name of the program. Empty if the
    /// manifest does not say.
    pub fn program(&self) -> &str {
        let command = self.container().and_then(|own| own["command"][0].as_str());
        command.map_or("", file_name)
    }

    /// The command and the arguments of the operator.
    pub fn arguments(&self) -> Vec<&str> {
        let fields = self.container().map(|own| [&own["command"], &own["args"]]);
        fields.into_iter().flatten().flat_map(texts).collect()
    }

    /// The labels at this path, without those that an API server refuses: a cluster cannot have them.
    fn labels(&self, path: &[&str]) -> Labels {
        let mut labels = Labels::new();
        let fields = path
            .iter()
            .fold(&self.object.value, |value, field| &value[field]);
        for (key, value) in fields.as_object().into_iter().flatten() {
            if let (Ok(key), Some(Ok(value))) = (key.parse(), value.as_str().map(str::parse)) {
                labels.insert(key, value);
            }
        }
        labels
    }

    /// The settings of the new Deployment. Reports labels that cannot be taken over.
    pub fn settings(
        &self,
        project: &Project,
        source: &Source,
        lost: &mut Lost,
    ) -> project::Deployment {
        let mut taken = project.clone();
        let settings = &mut taken.deployment;
        let (kind, name) = (self.object.kind(), self.name());
        if !self.is_deployment() {
            lost.add(format!(
                "{}: the {kind} `{name}`, which runs the Go operator: here, a Deployment does; do not copy the {kind}, and \
                 delete it before `make deploy`{}",
                source.place(&self.object, &["kind"]),
                if self.is_certain {
                    format!(" by `{}`", self.deletion())
                } else {
                    String::new()
                },
            ));
        }
        let of_pods = ["spec", "template", "metadata", "labels"];
        for (path, here) in [
            (&of_pods[2..], &mut settings.labels),
            (&of_pods, &mut settings.pod_labels),
        ] {
            here.clear();
            for (key, value) in self.labels(path) {
                match project.usual_label(key.as_str()) {
                    None => _ = here.insert(key, value),
                    // It says which tool applies the manifests.
                    Some(_) if key.as_str() == "app.kubernetes.io/managed-by" => {}
                    Some(usual) if usual == value.as_str() => {}
                    Some(usual) => lost.add(format!(
                        "{}: the label `{key}: {value}` of the Deployment: here, it is `{usual}`, because Services and \
                         policies select by it",
                        source.place(&self.object, &[path, &[key.as_str()]].concat()),
                    )),
                }
            }
        }
        let selector = self.labels(&["spec", "selector", "matchLabels"]);
        if !self.is_deployment() || self.name() != project.deployment_name() {
            // The Deployment here is another one.
        } else if !(selector.iter()).all(|(key, value)| taken.has_pod_label(key, value)) {
            lost.add(format!(
                "{}: the selector of the Deployment `{}`, which cannot be changed: delete the Deployment before `make \
                 deploy`",
                source.place(&self.object, &["spec", "selector"]),
                self.name()
            ));
        } else if !is_usual(&selector) {
            taken.deployment.selector = selector;
        }
        taken.deployment
    }
}

/// Whether the name or the image of a container is that of this program.
pub(super) fn runs(container: &Value, program: &str) -> bool {
    let image = image_name(container["image"].as_str().unwrap_or(""));
    let names = [container["name"].as_str().unwrap_or(""), file_name(image)];
    names.iter().any(|name| name.ends_with(program))
}

/// Whether a selector has the labels of the default one.
fn is_usual(selector: &Labels) -> bool {
    let keys = selector.keys().map(LabelKey::as_str);
    keys.eq(["app.kubernetes.io/name", "control-plane"])
}
