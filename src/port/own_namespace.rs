//! The namespace of the Go operator: whether the new project makes it, too, and with which Pod Security level.

use serde::Serialize;

use super::{lost::Lost, operator::Operator};
use crate::project::Project;

/// What the template of the namespace takes from the Go project.
#[derive(Debug, Serialize)]
pub(super) struct OwnNamespace {
    makes_namespace: bool,
    names_namespace: bool,
    /// Empty if the namespace has none. A stricter level than in the Go project would refuse Pods of other programs that
    /// work in the namespace.
    pod_security: String,
}

/// The label of a namespace with its level.
const LABEL: &str = "pod-security.kubernetes.io/enforce";

impl OwnNamespace {
    /// Reports what is not as in other new projects.
    pub fn new(operator: &Operator, project: &Project, lost: &mut Lost) -> Self {
        const ADVICE: &str = "set `restricted` in `config/manager/manager.yaml` if no Pod of the namespace needs more";

        let (source, deployed) = (&operator.source, &operator.deployed);
        let name = project.namespace_name();
        let is_known = deployed.namespace.as_ref() == Some(&name);
        let mut objects = deployed.objects.iter();
        let object = objects.find(|object| deployed.is_own_namespace(object));
        let is_others = is_known && object.is_none() && project.makes_namespace();
        let makes_namespace = project.makes_namespace() && !is_others;
        let level = object.and_then(|own| own.value["metadata"]["labels"][LABEL].as_str());
        let level =
            level.filter(|level| matches!(*level, "baseline" | "privileged" | "restricted"));
        if makes_namespace && level != Some("restricted") {
            let level = level.map_or("no level".to_owned(), |level| {
                format!("the level `{level}`")
            });
            lost.add(match object {
                Some(own) => format!(
                    "{}: the namespace has {level} of Pod Security, as in the Go project: {ADVICE}",
                    source.place(own, &["metadata", "labels", LABEL])
                ),
                None => format!(
                    "the Pod Security level of the namespace, which is unknown: here, the namespace has {level}; {ADVICE}"
                ),
            });
        } else if is_others {
            let mut hooked = project.webhooks();
            let has_selector =
                hooked.any(|kind| project.namespaced || kind.is_builtin() && kind.namespaced);
            let of_webhooks = if has_selector {
                format!(
                    "; kustomize then keeps `system` in a `namespaceSelector` of `config/webhook/manifests.yaml`: replace it by \
                     `{name}` with a patch in `config/default/kustomization.yaml`"
                )
            } else {
                String::new()
            };
            lost.add(format!(
                "the namespace `{name}`: the Go project does not make it, so `make deploy` does not make it here; make it \
                 first{of_webhooks}"
            ));
        }
        Self {
            makes_namespace,
            names_namespace: project.names_namespace() && !is_others,
            pod_security: level.unwrap_or_default().to_owned(),
        }
    }
}
