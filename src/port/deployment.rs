//! The Deployment of the Go operator: its names and labels, and which of its labels the new Deployment has.

use super::{
    lost::Lost,
    path::file_name,
    source::{Object, Source, list, texts},
};
use crate::{
    names::LabelKey,
    project::{self, Labels, Project},
};

/// The Deployment of the Go operator.
#[derive(Debug)]
pub(super) struct Deployment(pub Object);

impl Deployment {
    /// The name in the cluster, with the prefix.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    pub fn service_account(&self) -> &str {
        let account = self.0.text("/spec/template/spec/serviceAccountName");
        account.unwrap_or("default")
    }

    /// The program that the container runs. Requests without a field manager get the name of the program. Empty if the
    /// manifest does not say.
    pub fn program(&self) -> &str {
        let command = self.0.text("/spec/template/spec/containers/0/command/0");
        command.map_or("", file_name)
    }

    /// The commands and arguments of all containers.
    pub fn arguments(&self) -> Vec<&str> {
        let mut arguments = Vec::new();
        for container in list(&self.0.value["spec"]["template"]["spec"]["containers"]) {
            arguments.extend(texts(&container["command"]));
            arguments.extend(texts(&container["args"]));
        }
        arguments
    }

    /// The labels at this path, without those that an API server refuses: a cluster cannot have them.
    fn labels(&self, path: &[&str]) -> Labels {
        let mut labels = Labels::new();
        let fields = path
            .iter()
            .fold(&self.0.value, |value, field| &value[field]);
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
                        source.place(&self.0, &[path, &[key.as_str()]].concat()),
                    )),
                }
            }
        }
        let selector = self.labels(&["spec", "selector", "matchLabels"]);
        if self.name() != project.deployment_name() {
            // The Deployment here is another one.
        } else if !(selector.iter()).all(|(key, value)| taken.has_pod_label(key, value)) {
            lost.add(format!(
                "{}: the selector of the Deployment `{}`, which cannot be changed: delete the Deployment before `make \
                 deploy`",
                source.place(&self.0, &["spec", "selector"]),
                self.name()
            ));
        } else if !is_usual(&selector) {
            taken.deployment.selector = selector;
        }
        taken.deployment
    }
}

/// Whether a selector has the labels of the default one.
fn is_usual(selector: &Labels) -> bool {
    let keys = selector.keys().map(LabelKey::as_str);
    keys.eq(["app.kubernetes.io/name", "control-plane"])
}
