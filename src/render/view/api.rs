//! The versions of the project's kinds, as templates see them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    controller::Controller,
    kind::{GroupNames, Kind},
};
use crate::{
    names::ShortName,
    project::{Annotation, Deprecation, Image, Project, Resource, bound_path},
};

/// One version of a custom resource.
#[derive(Clone, Serialize)]
pub struct Api {
    #[serde(flatten)]
    pub kind: Kind,
    short_names: Vec<ShortName>,
    /// Whether the API server serves this version.
    served: bool,
    /// Whether the API server stores objects in this version.
    stored: bool,
    /// Whether objects of the other versions can be converted to this version.
    converted: bool,
    /// The hub to which a webhook converts this version and back; `None` for the hub itself.
    hub: Option<String>,
    /// If this version is the hub: the versions that are converted to it and back, oldest first.
    spokes: Vec<String>,
    /// The name of the conversion module, which each spoke and the webhooks have.
    conversion_module: String,
    deprecated: bool,
    deprecation_warning: Option<String>,
    /// The image that a controller of the kind runs. If there is one, the spec has fields for it.
    image: Option<Image>,
    /// Whether a controller owns objects of the kind.
    owned: bool,
    /// The sorted annotations of the CRD.
    annotations: Vec<Annotation>,
}

impl Api {
    /// `owned` are the kinds that controllers own.
    fn new(
        project: &Project,
        resource: &Resource,
        owned: &BTreeSet<(&GroupNames, &String)>,
    ) -> Self {
        let kind = Kind::new(project, resource);
        let spokes = resource.spokes().into_iter().flatten();
        let deprecation = resource.own().map(|own| &own.deprecation);
        Self {
            short_names: resource.short_names.clone(),
            served: resource.is_served(),
            stored: resource.is_stored(),
            converted: project.is_converted(resource),
            hub: (project.hub_of_spoke(resource)).map(|hub| hub.version.to_string()),
            spokes: spokes.map(ToString::to_string).collect(),
            conversion_module: resource.conversion_module(),
            deprecated: deprecation.is_some_and(|deprecation| *deprecation != Deprecation::No),
            deprecation_warning: match deprecation {
                Some(Deprecation::Warning(warning)) => Some(warning.to_string()),
                Some(Deprecation::No | Deprecation::Yes) | None => None,
            },
            image: project.image(resource).cloned(),
            owned: owned.contains(&(&kind.group, &kind.kind)),
            annotations: project.annotations(resource),
            kind,
        }
    }
}

/// The versions of the kinds that the project defines. `controllers` own some of the kinds.
pub fn apis(project: &Project, controllers: &[Controller]) -> Vec<Api> {
    let owned = controllers.iter().flat_map(|controller| &controller.owns);
    let owned = owned
        .map(|owned| (&owned.kind.group, &owned.kind.kind))
        .collect();
    let apis = project.apis();
    apis.map(|resource| Api::new(project, resource, &owned))
        .collect()
}

/// A custom resource with all of its versions.
#[derive(Serialize)]
pub struct Crd {
    #[serde(flatten)]
    pub stored: Api,
    /// The prefix of the names of its files; `role` is the prefix of the names of its roles.
    file: String,
    role: String,
    /// All versions, oldest first.
    pub versions: Vec<Api>,
    /// All versions in the order of kube's `merge_crds`: the stored version, then the newest first.
    manifest_versions: Vec<Api>,
    /// The conversion by a webhook.
    conversion: Option<ConversionWebhook>,
}

/// The versions that a webhook converts.
#[derive(Serialize)]
struct ConversionWebhook {
    hub: String,
    /// The spokes, oldest first.
    spokes: Vec<String>,
    /// The webhook that limits the size of the objects.
    bound: Bound,
}

/// A webhook with the same name and path as in the operator.
#[derive(Serialize)]
struct Bound {
    name: String,
    path: String,
}

/// The CRDs: the kinds of `apis`, each with all of its versions.
pub fn crds(apis: &[Api]) -> Vec<Crd> {
    let mut kinds = BTreeMap::<_, Vec<Api>>::new();
    for api in apis {
        let kind = (&api.kind.group.full, &api.kind.kind);
        kinds.entry(kind).or_default().push(api.clone());
    }
    let mut converted = BTreeSet::new();
    let mut crds = Vec::new();
    for versions in kinds.into_values() {
        let Some(stored) = versions.iter().find(|api| api.stored).cloned() else {
            continue;
        };
        let (group, lower) = (&stored.kind.group, &stored.kind.lower);
        let mut manifest_versions: Vec<_> = versions.iter().rev().cloned().collect();
        manifest_versions.sort_by_key(|api| !api.stored);
        let hub = versions.iter().find(|api| !api.spokes.is_empty());
        crds.push(Crd {
            conversion: hub.map(|hub| ConversionWebhook {
                hub: hub.kind.version.clone(),
                spokes: hub.spokes.clone(),
                bound: Bound {
                    // An earlier group may have a kind with the same name.
                    name: if converted.insert(lower.clone()) {
                        format!("bound{lower}.kb.io")
                    } else {
                        format!("bound{lower}.{}.kb.io", group.full)
                    },
                    path: bound_path(&group.full, lower),
                },
            }),
            file: group.key.prefixed(lower, '_'),
            role: group.key.prefixed(lower, '-'),
            versions,
            manifest_versions,
            stored,
        });
    }
    crds
}
