//! How the Go operator is deployed: what the kustomization that `make deploy` builds has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    deployment::Deployment,
    file::GoProject,
    kustomize::{self, Built},
    lost::Lost,
    makefile::deployed_folder,
    path::{file_name, folder},
    source::{Manifest, Source, list},
};
use crate::{project::Feature, yaml::documents};

/// How the Go operator is deployed.
#[derive(Debug, Default)]
pub(super) struct Deployed {
    /// The prefix that kustomize adds to the name of the operator's Deployment. Empty if there is none.
    pub prefix: String,
    /// The namespace of the operator.
    pub namespace: Option<String>,
    /// The Deployment of the operator, or the `StatefulSet` or `DaemonSet` in its place.
    pub deployment: Option<Deployment>,
    /// The features that the config enables.
    pub features: BTreeSet<Feature>,
    /// All objects. Without a kustomization, those of the manifests in `config/`.
    pub objects: Vec<Manifest>,
    /// Whether the objects come from a kustomization.
    pub is_built: bool,
}

/// The kustomization that a Go project usually deploys.
const USUAL: &str = "config/default";

impl Deployed {
    pub fn new(source: &Source, go: &GoProject, lost: &mut Lost) -> Self {
        // `compare` compares only what a kustomization deploys.
        const INSTEAD: &str = "the manifests in `config` were read, and were not compared with those of the new project";

        let files = source.manifest_files("").collect();
        let folder = deployed_folder(source).unwrap_or_else(|| USUAL.to_owned());
        let mut built = Built::default();
        if source.has_below(&format!("{folder}/")) {
            built = kustomize::build(&files, &folder);
            if built.objects.is_empty() {
                lost.add(format!(
                    "`{folder}`: no object of this kustomization was found; {INSTEAD}"
                ));
            }
        } else if source.has_below("config/") {
            lost.add(format!("`{folder}`: there is no such folder; {INSTEAD}"));
            lost.add_all(undecided(&files));
        } else {
            lost.add(format!(
                "`{folder}`: there is no such folder, and no `config`, so the Deployment, the permissions and the webhooks \
                 of the Go operator are unknown: compare `config` here with what deploys the Go operator"
            ));
        }
        let is_built = !built.objects.is_empty();
        if !is_built {
            built.objects = source.objects("config/");
        } else if !built.folders.contains("config/crd")
            && files.contains_key("config/crd/kustomization.yaml")
        {
            // `make install` builds it, and `config/default` may leave it out.
            let crds = kustomize::build(&files, "config/crd");
            built.objects.extend(crds.objects);
            built.left.extend(crds.left);
        }
        lost.add_all(&built.left);
        let deployment = operator(&built, is_built, source, lost);
        let object = deployment.as_ref().map(|own| &own.object);
        // Also if the outermost kustomization adds none.
        let prefix = object.and_then(|own| own.name().strip_suffix(&own.name_in_file));
        let prefix = prefix.filter(|prefix| !prefix.is_empty());
        let prefix = prefix.unwrap_or(&built.prefix).to_owned();
        let namespace = match object.map_or("", Manifest::namespace) {
            own if built.namespace.is_empty() && own != "system" => own,
            _ => &built.namespace,
        };
        Self {
            features: features(source, go, &built),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            deployment,
            prefix,
            objects: built.objects,
            is_built,
        }
    }

    /// The objects of these kinds that are deployed. If there is none, those of the manifests in `config/`.
    pub fn of_kinds(&self, source: &Source, kinds: &[&str]) -> Vec<Manifest> {
        let deployed = self.objects.iter();
        let deployed = deployed.filter(|object| kinds.contains(&object.kind()));
        let mut found: Vec<_> = deployed.cloned().collect();
        if self.is_built && found.is_empty() {
            found = source.objects("config/");
            found.retain(|object| kinds.contains(&object.kind()));
        }
        found
    }

    /// The name that kubebuilder gives this object: its name in the file, without the prefix that the name of the
    /// Deployment has in its file.
    pub fn usual_name<'a>(&self, object: &'a Manifest) -> &'a str {
        let own = self.deployment.as_ref();
        let own = own.map_or("", |own| &own.object.name_in_file);
        let prefix = own.strip_suffix("controller-manager").unwrap_or("");
        let name = object.name_in_file.as_str();
        name.strip_prefix(prefix).unwrap_or(name)
    }

    /// Whether an object is the Deployment of the operator.
    pub fn is_operator(&self, object: &Manifest) -> bool {
        let own = self.deployment.as_ref();
        own.is_some_and(|own| object.is_a(own.object.kind()) && own.name() == object.name())
    }

    /// The labels of the operator's Pods.
    pub fn pod_labels(&self) -> &Value {
        let own = self.deployment.as_ref();
        own.map_or(&Value::Null, |own| {
            &own.object.value["spec"]["template"]["metadata"]["labels"]
        })
    }

    /// Whether a subject of a binding is the `ServiceAccount` of the operator.
    pub fn has_account(&self, subject: &Value) -> bool {
        let namespace = self.namespace.as_deref().unwrap_or("");
        let within = subject["namespace"].as_str().unwrap_or(namespace);
        self.deployment
            .as_ref()
            .is_some_and(|own| subject["name"] == own.service_account())
            && subject["kind"] == "ServiceAccount"
            && (within == namespace || within == "system")
    }

    /// Whether an object is the namespace of the operator. Before kustomize sets the namespace, it is called `system`.
    pub fn is_own_namespace(&self, object: &Manifest) -> bool {
        let name = object.name();
        object.is_a("Namespace") && (name == "system" || self.namespace.as_deref() == Some(name))
    }

    /// The CRDs that the kustomization has.
    pub fn crds(&self) -> impl Iterator<Item = &Manifest> {
        let objects = self.objects.iter().filter(|_| self.is_built);
        objects.filter(|object| object.is_a("CustomResourceDefinition"))
    }
}

/// The line about the kustomizations that set a namespace. `files` has the text of each path.
fn undecided(files: &BTreeMap<&str, &str>) -> Option<String> {
    let mut folders = Vec::new();
    for (path, text) in files {
        let name = file_name(path);
        let is_kustomization = name == "Kustomization" || name.starts_with("kustomization.");
        let document = documents(text).ok().filter(|_| is_kustomization);
        if document.is_some_and(|all| all.iter().any(|fields| fields["namespace"].is_string())) {
            folders.push(format!("`{}`", folder(path)));
        }
    }
    let (have, one) = match folders.len() {
        0 => return None,
        1 => ("has", "it"),
        _ => ("have", "one"),
    };
    Some(format!(
        "the namespace and the names of the deployed objects: the Makefile does not say what `make deploy` builds; {} {have} \
         a kustomization with a namespace; to take {one} over, let the target `deploy` of the Makefile run `kustomize build \
         <FOLDER>`, and repeat `init --from`",
        folders.join(" and "),
    ))
}

/// The rank of a Deployment about which nothing says that it is the operator.
const UNKNOWN: u8 = 9;

/// The Deployment of the operator: that of the folder for it, or that with its usual name, or the first one that a
/// kustomization has. A `StatefulSet` or a `DaemonSet` in its place counts before a Deployment about which nothing says that
/// it is the operator. Of several in the folder for it, one with the name or the program of an operator counts first.
/// Reports a guess.
fn operator(built: &Built, is_built: bool, source: &Source, lost: &mut Lost) -> Option<Deployment> {
    let mut found = Vec::new();
    for object in &built.objects {
        let name = object.name();
        let name = name.strip_prefix(&built.prefix).unwrap_or(name);
        let is_called = name.contains("manager") || name.contains("operator");
        let mut containers = list(&object.value["spec"]["template"]["spec"]["containers"]);
        let runs_manager = containers.any(|container| {
            let program = container["command"][0].as_str().map_or("", file_name);
            container["name"] == "manager" || program == "manager"
        });
        let rank = match name {
            "controller-manager" => 0,
            _ if object.file().contains("/manager/") => 2,
            _ if is_called => 3,
            _ if runs_manager => 4,
            // Manifests that no kustomization deploys may be about any other program.
            _ if is_built => UNKNOWN,
            _ => continue,
        };
        let rank = match (object.kind(), rank) {
            ("Deployment", rank) => rank,
            ("StatefulSet" | "DaemonSet", 0) => 1,
            ("StatefulSet" | "DaemonSet", 2..=4) => rank + 3,
            _ => continue,
        };
        found.push(((rank, !is_called && !runs_manager), object));
    }
    let best = found.iter().map(|(rank, _)| *rank).min()?;
    found.retain(|(rank, _)| *rank == best);
    let (_, object) = found.first()?;
    let (kind, name, place) = (
        object.kind(),
        object.name(),
        source.place(object, &["kind"]),
    );
    let doubt = if found.len() > 1 {
        Some(format!(
            "several {kind}s may be the operator: `{name}` ({place}) was taken; if it is another one, repeat `init --from` \
             with the others left out of the kustomization"
        ))
    } else if best.0 == UNKNOWN {
        Some(format!(
            "the {kind} `{name}` ({place}) was taken for the operator, because the kustomization has no other one; if it \
             is another program, repeat `init --from` without it in the kustomization"
        ))
    } else {
        None
    };
    let is_certain = doubt.is_none();
    lost.add_all(doubt);
    Some(Deployment {
        object: (*object).clone(),
        is_certain,
    })
}

/// The features that the deployed objects show, and those that plugins and other folders show.
fn features(source: &Source, go: &GoProject, built: &Built) -> BTreeSet<Feature> {
    let folders: BTreeSet<_> = (built.folders.iter())
        .map(|folder| file_name(folder))
        .collect();
    let has_chart = source.files.texts.keys().any(|path| {
        let chart = path.strip_suffix("/Chart.yaml").unwrap_or("");
        matches!(chart, "chart" | "dist/chart") || folder(chart) == "charts"
    });
    let has_grafana = go.has_plugin("grafana") || source.has_below("grafana/");
    let has_roles = !folders.is_empty() && built.objects.iter().any(is_user_role);
    let mut features = BTreeSet::new();
    for (feature, is_there) in [
        (Feature::Autoupdate, go.has_plugin("autoupdate")),
        (Feature::Certmanager, folders.contains("certmanager")),
        (Feature::Grafana, has_grafana),
        (Feature::Helm, has_chart || go.has_plugin("helm")),
        (Feature::NetworkPolicy, folders.contains("network-policy")),
        (Feature::Prometheus, folders.contains("prometheus")),
        (Feature::UserRoles, has_roles),
    ] {
        if is_there {
            features.insert(feature);
        }
    }
    features
}

/// Whether an object is a role for users of a kind, which the feature `user-roles` adds here.
pub(super) fn is_user_role(object: &Manifest) -> bool {
    let ends = ["-admin-role", "-editor-role", "-viewer-role"];
    (object.is_a("ClusterRole") || object.is_a("Role"))
        && ends.iter().any(|end| object.name().ends_with(end))
}
