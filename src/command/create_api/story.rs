//! What `create api` tells the user.

use std::collections::BTreeMap;

use anyhow::Result;

use super::arguments::ApiSettings;
use crate::{
    command::{
        external::external_note,
        report::{NextStep, Story},
    },
    engine::worktree::WorkTree,
    names::{ControllerName, GroupVersionKind, in_backticks},
    project::{
        APPROVAL, Controller, Project, Resource,
        builtin::{self, Builtin},
    },
};

/// How to reach fewer objects of an owned kind, and of a watched kind.
const NARROWER_OWNS: &str = "limit its rule with `Rule::in_namespace`, and the controller with \
                             `Builder::namespaces`, or use `Rule::named` and `Builder::owns_named`";
const NARROWER_WATCHES: &str = "limit its rule with `Rule::named`, and its watch with the field \
                                selector `metadata.name`";

impl ApiSettings {
    /// Notes about new kinds of the controller whose objects give more power than others, or do something once.
    pub fn consequences(&self, id: &GroupVersionKind, before: &Project) -> Result<Vec<String>> {
        let resource = before.find(id)?;
        let known = resource
            .and_then(|resource| resource.controller(&self.of_controller.controller_of(id)));
        let (known_owns, known_watches) = match known {
            Some(controller) => (controller.owns.as_slice(), controller.watches.as_slice()),
            None => (&[][..], &[][..]),
        };
        let (extent, narrower) = if before.namespaced {
            ("of its namespace", String::new())
        } else {
            ("of the cluster", format!(": {NARROWER_OWNS}"))
        };
        let [owns, watches] = self.of_controller.related(before)?;
        let mut notes = Vec::new();
        for kind in new_builtins(owns.as_deref(), known_owns) {
            match (kind.group, kind.kind) {
                ("", "Secret") => notes.push(format!(
                    "the role allows the operator to read, change and delete all Secrets \
                     {extent}{narrower}"
                )),
                ("rbac.authorization.k8s.io", kind) => notes.push(format!(
                    "a {kind} can only give permissions that the operator has itself: add them to \
                     `RULES`. To bind a role such as `view`, use `Verb::Bind`, and limit it with \
                     `Rule::named`. With `Escalate`, or with `Bind` without `named`, the operator \
                     could give itself all permissions"
                )),
                ("batch", "Job") => notes.push(
                    "the Job runs once for each object, right after its creation: for a Job that \
                     runs before the deletion of the object, use `Builder::owns_until_cleanup`"
                        .to_owned(),
                ),
                _ => {}
            }
        }
        let mut watches = new_builtins(watches.as_deref(), known_watches).into_iter();
        if watches.any(|kind| kind.id() == "v1/Secret") {
            notes.push(format!(
                "the role allows the operator to read all Secrets {extent}: {NARROWER_WATCHES}"
            ));
        }
        Ok(notes)
    }

    /// A note about the new finalizer of a controller, if this project does not define its kind `resource`.
    pub fn foreign_finalizer(
        &self,
        id: &GroupVersionKind,
        resource: &Resource,
        before: &Project,
    ) -> Option<String> {
        let name = self.of_controller.controller_of(id);
        let controller = resource.controller(&name)?;
        let known = before
            .there(resource)
            .and_then(|there| there.controller(&name));
        if resource.has_api() || !controller.finalizer || known.is_some_and(|known| known.finalizer)
        {
            return None;
        }
        Some(format!(
            "each {} that the operator watches gets the finalizer `{}`, and cannot be deleted while no operator runs: \
             limit the controller with `Builder::labels`, and after `make undeploy`, remove the finalizer from all \
             objects",
            resource.kind,
            before.finalizer_name(resource, controller)
        ))
    }

    /// A note about a new kind that may be a plural. The note is a question, because a singular such as `Kubernetes`
    /// looks the same.
    pub fn same_plural(&self, resource: &Resource, before: &Project) -> Option<String> {
        let (kind, plural) = (resource.kind.as_str(), resource.plural.as_str());
        let is_new = resource.has_api() && before.versions(resource).next().is_none();
        // Not of an abbreviation, such as `DNS`.
        let is_same = plural == resource.kind.lower() && kind.ends_with('s');
        (is_new && is_same && self.plural.is_none()).then(|| {
            format!(
                "the plural of `{kind}` is `{plural}`, the same word: if `{kind}` is a plural itself, \
                 name the kind in the singular, as in `Guestbook`"
            )
        })
    }
}

/// The built-in kinds among `wanted` that are not among `known`.
fn new_builtins(wanted: Option<&[GroupVersionKind]>, known: &[GroupVersionKind]) -> Vec<Builtin> {
    let known_builtins: Vec<_> = known.iter().filter_map(builtin::named).collect();
    let mut new = Vec::new();
    for kind in wanted.into_iter().flatten().filter_map(builtin::named) {
        if !known_builtins.contains(&kind) {
            new.push(kind);
        }
    }
    new
}

/// A note about owned kinds whose types come from a CRD and have no `Default`, because the controller's code creates
/// objects by `default()`.
fn without_default(
    controller: Option<&Controller>,
    project: &Project,
    tree: &WorkTree,
) -> Result<Option<String>> {
    let owns = controller.map_or(&[][..], |controller| &controller.owns);
    let mut found = Vec::new();
    for id in owns {
        let kind = project.find(id)?;
        let Some(kind) = kind.filter(|kind| kind.has_given_types()) else {
            continue;
        };
        let types = tree.read_text(&project.types_file(kind))?;
        let implementation = format!("impl Default for {} ", kind.kind);
        let has_default = types.is_some_and(|types| {
            types.contains("derive = \"Default\"") || types.contains(&implementation)
        });
        if !has_default {
            found.push(id);
        }
    }
    Ok((!found.is_empty()).then(|| {
        format!(
            "the types of {} come from a CRD and have no `Default`: implement it, or set each \
             field where the controller creates the object",
            in_backticks(&found)
        )
    }))
}

/// A note about the annotation of a CRD in a group of Kubernetes.
pub fn unapproved(resource: &Resource, project: &Project) -> Option<String> {
    project.is_protected(resource).then(|| {
        format!(
            "`{}` belongs to the Kubernetes project, so the CRD has the annotation `{APPROVAL}: unapproved, \
             experimental-only`",
            project.full_group(resource)
        )
    })
}

/// The messages for the user about the step from the first to the second of two projects.
pub fn story(
    id: &GroupVersionKind,
    resource: &Resource,
    controller: &ControllerName,
    [before, project]: [&Project; 2],
    tree: &WorkTree,
) -> Result<Story> {
    let types = project.types_file(resource);
    let there = resource.controller(controller);
    let usual = Controller::new(resource.kind.controller());
    let reconciler = project.controller_file(resource, there.unwrap_or(&usual));
    let full_group = project.full_group(resource);

    let mut notes = Vec::new();
    if resource.has_api() && !resource.is_served() && !project.is_converted(resource) {
        // The newest version usually has the most information, so it is the better hub.
        let hub = match project.hub_of(resource) {
            Some(_) => id.kind_flags(),
            None => id.as_flags(),
        };
        notes.push(format!(
            "{resource} is not served yet, because the API server cannot convert it to the served \
             version: add a webhook that converts with `rscaffold create webhook {hub} --conversion`"
        ));
    }
    notes.extend(external_note(resource));
    let group = id.group().as_str();
    let in_full = resource.id_in(full_group.parse()?);
    let undo = format!(
        "undo this command with `rscaffold delete api {}`",
        in_full.as_flags()
    );
    let other = if builtin::named(id).is_some() {
        Some(format!(
            "for a controller of the built-in `{id}`, use `--resource=false` instead, and {undo}"
        ))
    } else if group.contains('.') && full_group != group && !resource.has_given_types() {
        Some(format!(
            "for a kind of `{group}` that another project defines, use `--crd <FILE> --resource=false` instead, and {undo}"
        ))
    } else {
        None
    };
    let is_new = resource.has_api() && before.versions(resource).next().is_none();
    if let Some(other) = other.filter(|_| is_new) {
        notes.push(format!("this creates the new kind `{in_full}`; {other}"));
    }

    let [of_types, of_reconciler] = if resource.has_api() {
        ["the types: edit them", "the reconciler: edit it, too"]
    } else {
        ["the types, from the CRD", "the reconciler: edit it"]
    };
    let mut next = Vec::new();
    if resource.has_api() || !resource.controllers.is_empty() {
        let edited = if resource.has_api() {
            &types
        } else {
            &reconciler
        };
        let why = format!("after an edit of {edited}");
        next.push(NextStep::new("make manifests", why));
    }
    let has_crds = project.resources.iter().any(Resource::has_api);
    let (command, what) = match (has_crds, project.controllers().next()) {
        (true, Some(_)) => ("make install run", "CRDs and operator"),
        (true, None) => ("make install", "CRDs"),
        (false, _) => ("make run", "operator"),
    };
    next.push(NextStep::new(
        command,
        format!("{what}, on your current cluster"),
    ));
    if resource.has_api() {
        next.push(NextStep::new(
            "kubectl apply -k config/samples",
            "an object to reconcile",
        ));
    }

    notes.extend(without_default(there, project, tree)?);

    Ok(Story {
        unchanged: format!("{resource} exists and is up to date"),
        remarks: BTreeMap::from([(types, of_types), (reconciler, of_reconciler)]),
        runtime: Some(project.runtime.clone()),
        notes,
        next,
        ..Story::default()
    })
}
