//! Controllers, as templates see them.

use heck::ToUpperCamelCase;
use serde::Serialize;

use super::kind::Kind;
use crate::{
    names::Identifiers,
    project::{self, Image, NeededRules, Project, Purpose, RelatedKind, Relation, Resource, Rule},
    render::{
        rules::{self, CodeRules, Types},
        templates::{self, TEMPLATES},
    },
};

#[derive(Serialize)]
pub struct Controller {
    #[serde(flatten)]
    pub kind: Kind,
    /// The module of the kind's types.
    types_module: String,
    /// The name in the group, such as `guestbook`.
    pub short_name: String,
    /// The name in the cluster, such as `guestbook.webapp.example.com`.
    pub name: String,
    /// The name of the object in its test on an API server. No other controller has it, because objects of several kinds
    /// may have children of the same kind.
    name_in_test: String,
    /// Whether it is the kind's own controller. The names of objects and conditions of other controllers contain the
    /// controller's name, because several controllers may work on the same objects.
    own: bool,
    /// The condition in the status, such as `Ready`.
    condition: String,
    pub finalizer: bool,
    /// The name of the finalizer, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizer_name: Option<String>,
    /// The owner of the fields that the controller applies, if it is not the name of the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    field_manager: Option<String>,
    rules: Vec<CodeRules>,
    /// The image that the controller runs.
    pub image: Option<Image>,
    /// The environment variable of the operator that sets the image.
    image_variable: String,
    /// Whether the API server accepts the rendered objects without changes. Otherwise the user must complete them.
    is_complete: bool,
    /// Whether the owned objects become ready only in a cluster with nodes.
    needs_nodes: bool,
    /// Whether the controller owns Jobs.
    pub owns_jobs: bool,
    /// Whether the controller owns a persistent volume claim.
    claims: bool,
    /// Whether the controller has a test against an API server. It has none for a kind whose fields are unknown, and
    /// none if it works with a kind that another project defines, because that API server lacks the CRD.
    pub tested: bool,
    /// The kinds of the objects that the controller creates.
    pub owns: Vec<Owned>,
    /// The kinds that the controller's objects refer to.
    pub watches: Vec<Watched>,
    /// The `use` paths of the kinds that the controller works with, in the order of rustfmt.
    imports: Vec<String>,
    /// Whether an owned object selects Pods by their labels.
    labels: bool,
    /// Whether an owned object runs Pods.
    runs_pods: bool,
}

/// A kind that a controller watches.
#[derive(Serialize)]
pub struct Watched {
    #[serde(flatten)]
    pub kind: Kind,
    #[serde(flatten)]
    identifiers: Identifiers,
}

/// A kind that a controller owns.
#[derive(Serialize)]
pub struct Owned {
    #[serde(flatten)]
    pub kind: Kind,
    /// The names for one object and for many objects in the controller's code.
    #[serde(flatten)]
    identifiers: Identifiers,
    /// Whether the Pods of the objects run the image of the controller.
    runs_image: bool,
    /// The template of the body of the function that builds an object.
    #[serde(skip)]
    pub template: &'static str,
}

impl Controller {
    pub fn new(
        project: &Project,
        resource: &Resource,
        controller: &project::Controller,
        related: Vec<RelatedKind>,
        needed: &[NeededRules],
    ) -> Self {
        let mut kind = Kind::new(project, resource);
        kind.module = resource.controller_module(controller);
        kind.opaque = !resource.has_example(controller);
        let types = Types::of_controller(project, resource, &kind.type_name, &related);
        let types_of_events = Types::of_events();
        let mut rules = Vec::new();
        for needed in needed {
            let types = match needed.purpose {
                Purpose::Events => &types_of_events,
                _ => &types,
            };
            rules.push(rules::of_code(needed, &[types]));
        }
        let mut imports = Vec::new();
        for kind in &related {
            imports.push(project.import(&kind.resource, &kind.type_name));
        }
        if kind.opaque {
            imports.push(project.import(resource, &kind.type_name));
        }
        sort_imports(&mut imports);
        let own = resource.is_own(controller);
        let prefix = if own { "" } else { controller.name.as_str() };
        let mut owns = Vec::new();
        let mut watches = Vec::new();
        let mut works_with_others = false;
        for kind in related {
            let view = Kind::related(project, &kind);
            works_with_others |= view.is_external();
            match kind.relation {
                Relation::Owned => owns.push(Owned::new(kind, view, controller.image.is_some())),
                Relation::Watched => watches.push(Watched {
                    kind: view,
                    identifiers: kind.identifiers,
                }),
            }
        }
        Self {
            types_module: resource.kind.module(),
            short_name: controller.name.to_string(),
            name_in_test: name_in_test(&kind.group.name, controller.name.as_str(), own),
            name: project.controller_name(resource, controller),
            own,
            condition: format!("{}Ready", prefix.to_upper_camel_case()),
            finalizer: controller.finalizer,
            finalizer_name: controller.finalizer_name.as_ref().map(ToString::to_string),
            field_manager: controller.field_manager.as_ref().map(ToString::to_string),
            rules,
            image: controller.image.clone(),
            image_variable: controller.image_variable(),
            is_complete: owns.iter().all(|owned| owned.template != Owned::OTHER),
            needs_nodes: Owned::have(&owns, "nodes"),
            owns_jobs: Owned::have(&owns, "jobs"),
            claims: Owned::have(&owns, "claim"),
            labels: Owned::have(&owns, "labels"),
            runs_pods: Owned::have(&owns, "pods"),
            tested: resource.has_api() && !works_with_others,
            kind,
            owns,
            watches,
            imports,
        }
    }

    /// Adds the rules of an operator that this one replaces. They are the first, because commands add rules at the end:
    /// then both changes merge.
    pub fn replace(
        &mut self,
        project: &Project,
        resource: &Resource,
        rules: &[Rule],
        types: &Types,
    ) {
        let own = Types::of_controller(project, resource, &self.kind.type_name, &[]);
        let needed = NeededRules::new(Purpose::Replaced, rules.to_vec());
        self.rules
            .insert(0, rules::of_code(&needed, &[&own, types]));
    }
}

/// The name of an object for tests. Names of its children have at most 63 characters, with 11 that Kubernetes adds for
/// Pods, and with the name of a controller that is not the kind's own.
fn name_in_test(group: &str, controller: &str, is_own: bool) -> String {
    const LONGEST: usize = 52;
    let suffix = if is_own { 0 } else { controller.len() + 1 };
    let longest = LONGEST.saturating_sub(suffix).max("test-a".len());
    let room = longest.saturating_sub("test--".len() + controller.len());
    let group: String = group.replace('.', "-").chars().take(room).collect();
    let mut name = match group.trim_end_matches('-') {
        "" => format!("test-{controller}"),
        group => format!("test-{group}-{controller}"),
    };
    name.truncate(longest);
    name.trim_end_matches('-').to_owned()
}

/// Sorts imports as rustfmt does: the project's own paths first, and paths part by part.
fn sort_imports(paths: &mut [String]) {
    paths.sort_by_cached_key(|path| {
        let parts: Vec<_> = path.split("::").map(str::to_owned).collect();
        (!path.starts_with("crate::"), parts)
    });
}

impl Owned {
    /// The template for kinds without a template of their own.
    const OTHER: &str = "owned/other.rs.tera";

    fn new(owned: RelatedKind, kind: Kind, has_image: bool) -> Self {
        let folder = format!("owned/{}/{}", kind.group.name, kind.version);
        let template = TEMPLATES.get_file(format!("{folder}/{}.rs.tera", kind.lower));
        let path = template.and_then(|template| template.path().to_str());
        Self {
            template: path.filter(|_| kind.core).unwrap_or(Self::OTHER),
            runs_image: has_image && kind.core && owned.resource.id().to_string() == Image::KIND,
            identifiers: owned.identifiers,
            kind,
        }
    }

    /// Whether the template of one of `owns` has this attribute.
    fn have(owns: &[Self], attribute: &str) -> bool {
        owns.iter()
            .any(|owned| templates::has(owned.template, attribute))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stand_in_the_order_of_rustfmt() {
        let sorted = [
            "crate::api::press::v1::Page",
            "crate::zoo::Animal",
            "gears::v1::Gear as Wheel",
            "k8s_openapi::api::core::v1::Pod",
            "kube::Thing",
            "kube2::Thing",
        ];
        let mut paths = sorted.map(str::to_owned);
        paths.reverse();
        sort_imports(&mut paths);
        assert_eq!(paths, sorted);
    }

    #[test]
    fn an_object_in_a_test_has_room_for_the_names_of_its_children() {
        let long = &"k".repeat(63);
        for (group, controller, is_own, expected) in [
            ("shop", "book", true, "test-shop-book"),
            (
                "cert-manager.io",
                "issuer",
                false,
                "test-cert-manager-io-issuer",
            ),
            (
                &"g".repeat(60),
                "book",
                true,
                &format!("test-{}-book", "g".repeat(42)),
            ),
            ("shop", long, true, &format!("test-{}", "k".repeat(47))),
            ("shop", long, false, "test-k"),
        ] {
            assert_eq!(name_in_test(group, controller, is_own), expected);
        }
    }
}
