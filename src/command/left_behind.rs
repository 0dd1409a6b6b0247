//! What a change of the project leaves behind. Nothing in a cluster is deleted by `make deploy`, and no command edits the
//! user's own lines. So a note says what the user has to do.
//!
//! The notes follow from the two projects, so each command and each edit of `PROJECT` that makes a change has the same
//! notes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    names::{Version, in_backticks},
    project::{Feature, Project, Resource, WebhookCertificates},
};

/// Notes about everything that a change from `before` to `after` leaves behind.
pub fn left_behind(before: &Project, after: &Project) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(old_operator(before, after));
    notes.extend(permissions(before, after));
    notes.extend(user_roles(before, after));
    notes.extend(network_policies(before, after));
    let (old_crds, new_crds) = (crds(before), crds(after));
    let mut gone = OldCrds::default();
    for (name, versions) in &old_crds {
        if let Some(now) = new_crds.get(name) {
            let crd = CrdChange {
                name,
                versions,
                now,
                is_migrated: !before.namespaced,
            };
            notes.extend(crd.notes());
        } else if !is_in_use(name, after) {
            gone.add(name, versions[0], before, after, &old_crds);
        }
    }
    notes.extend(gone.notes());
    notes.extend(webhook_configurations(before, after));
    notes.extend(finalizers(before, after));
    notes.extend(controllers(before, after));
    let mut groups = gone.groups;
    groups.retain(|group| after.apis().all(|new| after.full_group(new) != *group));
    notes.extend(own_lines(before, after, groups));
    notes
}

/// The versions of each kind that the project defines, by the name of their CRD.
fn crds(project: &Project) -> BTreeMap<String, Vec<&Resource>> {
    let mut crds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for resource in project.apis() {
        let versions = crds.entry(crd_name(project, resource)).or_default();
        versions.push(resource);
    }
    crds
}

fn crd_name(project: &Project, resource: &Resource) -> String {
    format!("{}.{}", resource.plural, project.full_group(resource))
}

/// Whether the project uses the CRD `name`, which another project may define.
fn is_in_use(name: &str, project: &Project) -> bool {
    let mut resources = project.resources.iter();
    resources.any(|resource| crd_name(project, resource) == name)
}

/// A note about the Deployment and the webhook configurations, whose names begin with the name of the project.
fn old_operator(before: &Project, after: &Project) -> Option<String> {
    let (old, new) = (&before.project_name, &after.project_name);
    let (old_namespace, new_namespace) = (before.namespace_name(), after.namespace_name());
    if old != new {
        Some(format!(
            "`{old}` is now `{new}`: clusters keep the old operator; before you deploy the new one, \
             delete the Deployment and the webhook configurations whose names begin with `{old}-`"
        ))
    } else if old_namespace != new_namespace {
        Some(format!(
            "the operator moves from the namespace `{old_namespace}` to `{new_namespace}`: clusters \
             keep the old one; before you deploy the new one, delete its Deployment with `kubectl \
             delete deployment --namespace {old_namespace} {old}-controller-manager`"
        ))
    } else {
        None
    }
}

/// Whether the names of the project's objects in a cluster begin with another name now.
fn is_renamed(before: &Project, after: &Project) -> bool {
    before.project_name != after.project_name
}

/// Whether the project's objects are in another namespace now.
fn is_moved(before: &Project, after: &Project) -> bool {
    before.namespace_name() != after.namespace_name()
}

/// A note about permissions of the operator that the new manifests do not have.
fn permissions(before: &Project, after: &Project) -> Option<String> {
    let mut commands = BTreeMap::new();
    let new = permissions_of(after);
    for (resource, name) in permissions_of(before) {
        let is_replaced =
            is_renamed(before, after) || resource != IN_CLUSTER && is_moved(before, after);
        if !is_replaced && new.contains(&(resource, name)) {
            continue;
        }
        let command = commands.entry(resource).or_insert_with(|| {
            if resource == IN_CLUSTER {
                format!("kubectl delete {resource}")
            } else {
                format!(
                    "kubectl delete --namespace {} {resource}",
                    before.namespace_name()
                )
            }
        });
        *command += &format!(" {}-{name}", before.project_name);
    }
    let and_key = if commands.contains_key(SECRET) {
        ", and the key of its certificate authority"
    } else {
        ""
    };
    (!commands.is_empty()).then(|| {
        format!(
            "clusters keep permissions that the operator no longer needs{and_key}: after `make deploy`, delete them \
             there by {}",
            in_backticks(commands.into_values())
        )
    })
}

const IN_CLUSTER: &str = "clusterrolebinding";
const IN_NAMESPACE: &str = "rolebinding";
const SECRET: &str = "secret";

/// The bindings that give the operator its permissions, and the Secret with the key of its certificate authority: the
/// resource of each, and its name without the name of the project. Bindings in other namespaces are missing, because
/// they follow from the operator's code.
fn permissions_of(project: &Project) -> BTreeSet<(&'static str, &'static str)> {
    let of_manager = if project.namespaced {
        IN_NAMESPACE
    } else {
        IN_CLUSTER
    };
    let mut all = BTreeSet::from([(of_manager, "manager-rolebinding")]);
    if project.has_secure_metrics() {
        all.insert((IN_CLUSTER, "metrics-auth-rolebinding"));
    }
    if project.has(Feature::LeaderElection) {
        all.insert((IN_NAMESPACE, "leader-election-rolebinding"));
    }
    match project.webhook_certificates() {
        Some(WebhookCertificates::Operator) => all.extend([
            (IN_CLUSTER, "webhook-ca-rolebinding"),
            (IN_NAMESPACE, "webhook-ca-rolebinding"),
            (SECRET, "webhook-ca"),
        ]),
        Some(WebhookCertificates::Certmanager) => {
            all.insert((IN_NAMESPACE, "webhook-certs-rolebinding"));
        }
        Some(WebhookCertificates::Files) => {
            all.insert((IN_CLUSTER, "webhook-ca-rolebinding"));
        }
        None => {}
    }
    all
}

/// A note about the roles of users, which the roles `admin`, `edit` and `view` of a cluster include by their labels.
fn user_roles(before: &Project, after: &Project) -> Option<String> {
    let [had, has] =
        [before, after].map(|project| project.has(Feature::UserRoles) && !project.namespaced);
    let mut delete = "kubectl delete clusterrole".to_owned();
    let without_names = delete.len();
    for (name, versions) in crds(before) {
        let kind = versions[0];
        // A namespaced project has the ClusterRoles of a cluster-scoped kind, without the labels.
        let is_kept =
            after.has(Feature::UserRoles) && !kind.namespaced && !is_renamed(before, after);
        // Without its kind, a role allows nothing.
        if is_kept || !is_in_use(&name, after) {
            continue;
        }
        let role = kind.group.prefixed(&kind.kind.lower(), '-');
        for user in ["admin", "editor", "viewer"] {
            delete += &format!(" {}-{role}-{user}-role", before.project_name);
        }
    }
    let is_left = had && (!has || is_renamed(before, after)) && delete.len() > without_names;
    is_left.then(|| {
        format!(
            "clusters keep the roles of users, which `admin`, `edit` and `view` include: delete them there by \
             `{delete}`"
        )
    })
}

/// A note about network policies, which go on blocking after the feature is gone.
fn network_policies(before: &Project, after: &Project) -> Option<String> {
    let [had, has] =
        [before, after].map(|project| project.namespaced || project.has(Feature::NetworkPolicy));
    let is_left = had && (!has || is_renamed(before, after) || is_moved(before, after));
    is_left.then(|| {
        format!(
            "clusters keep the network policies: delete them there by `kubectl delete networkpolicy --namespace {} \
             --selector app.kubernetes.io/name={},app.kubernetes.io/managed-by=kustomize`",
            before.namespace_name(),
            before.project_name
        )
    })
}

/// The CRDs that the project does not define any more.
#[derive(Default)]
struct OldCrds {
    /// CRDs of kinds that the project does not have any more.
    removed: Vec<String>,
    /// CRDs of kinds that have another group now, with the names of their new CRDs.
    moved: Vec<[String; 2]>,
    /// CRDs of kinds that have another plural in the same group now, with the names of their new CRDs.
    replaced: Vec<[String; 2]>,
    /// The old groups of the kinds that have another group now.
    groups: BTreeSet<String>,
}

impl OldCrds {
    /// Adds the CRD `name` of the kind `old`.
    fn add(
        &mut self,
        name: &str,
        old: &Resource,
        before: &Project,
        after: &Project,
        old_crds: &BTreeMap<String, Vec<&Resource>>,
    ) {
        let group = before.full_group(old);
        let mut successors = Vec::new();
        for new in after.apis().filter(|new| new.kind == old.kind) {
            let new_name = crd_name(after, new);
            if !old_crds.contains_key(&new_name) {
                let is_in_place = after.full_group(new) == group;
                successors.push((is_in_place, new.group == old.group, new_name));
            }
        }
        match successors.into_iter().max() {
            Some((true, _, new_name)) => self.replaced.push([name.to_owned(), new_name]),
            Some((false, _, new_name)) => {
                self.moved.push([name.to_owned(), new_name]);
                self.groups.insert(group);
            }
            None => self.removed.push(name.to_owned()),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.removed.is_empty() {
            let (crds, them, their) = match self.removed.len() {
                1 => ("CRD", "it", "its"),
                _ => ("CRDs", "them", "their"),
            };
            notes.push(format!(
                "clusters keep the {crds}: before you deploy, delete {them} there, with all of {their} objects, by \
                 `kubectl delete crd {}`",
                self.removed.join(" ")
            ));
        }
        if let Some((renames, delete)) = renamed(&self.moved) {
            let which = if self.moved.len() == 1 { "the" } else { "each" };
            notes.push(format!(
                "{renames}: clusters keep {which} old CRD with its objects, which do not move to the new one; \
                 before you deploy, save the objects, and delete {which} old CRD there, with its objects and \
                 all that they own, by `{delete}`"
            ));
        }
        if let Some((renames, delete)) = renamed(&self.replaced) {
            notes.push(format!(
                "{renames}: clusters do not serve the new CRD until you delete the old one, with all \
                 of its objects, by `{delete}`"
            ));
        }
        notes
    }
}

/// The old and the new names of CRDs as a note lists them, and the command that deletes the old ones.
fn renamed(pairs: &[[String; 2]]) -> Option<(String, String)> {
    let [_, ..] = pairs else { return None };
    let mut renames = Vec::new();
    let mut delete = "kubectl delete crd".to_owned();
    for [old, new] in pairs {
        renames.push(format!("`{old}` is now `{new}`"));
        delete += &format!(" {old}");
    }
    Some((renames.join(", "), delete))
}

/// A CRD that both projects define, before and after the change.
struct CrdChange<'a> {
    name: &'a str,
    /// The versions before.
    versions: &'a [&'a Resource],
    /// The versions after.
    now: &'a [&'a Resource],
    /// Whether the operator migrates stored objects.
    is_migrated: bool,
}

impl CrdChange<'_> {
    fn notes(&self) -> Vec<String> {
        let name = self.name;
        let (old, new) = (self.versions[0], self.now[0]);
        for (is_changed, what) in [
            (old.namespaced != new.namespaced, "scope"),
            (old.kind != new.kind, "kind"),
        ] {
            if is_changed {
                return vec![format!(
                    "the {what} of a CRD cannot change: a cluster refuses the new `{name}` until you \
                     delete the old one, with all of its objects, by `kubectl delete crd {name}`"
                )];
            }
        }
        let mut notes = Vec::new();
        let removed: Vec<_> = (self.versions.iter())
            .map(|version| &version.version)
            .filter(|version| self.now.iter().all(|now| now.version != **version))
            .collect();
        let (old_stored, new_stored) = (stored(self.versions), stored(self.now));
        if !removed.is_empty() {
            let first = if !self.is_migrated {
                "migrate the objects first"
            } else if old_stored.is_some_and(|stored| removed.contains(&stored)) {
                "first release an operator that stores another version and migrates the objects"
            } else {
                "let the operator migrate the objects first"
            };
            notes.push(format!(
                "a cluster refuses the new CRD while the old one lists {} in \
                 `status.storedVersions`: check with `kubectl get crd {name} -o \
                 jsonpath='{{.status.storedVersions}}'`, and {first}",
                in_backticks(removed)
            ));
        } else if let (Some(old), Some(new)) = (old_stored, new_stored)
            && old != new
        {
            notes.push(if self.is_migrated {
                format!(
                    "with the new CRD, objects are stored as `{new}`, and the operator migrates the \
                     objects that are stored as `{old}`: wait for the end with `kubectl wait crd/{name} \
                     --timeout=1h --for=jsonpath='{{.status.conditions[?(@.type==\"StorageMigrated\")].message}}'='all \
                     objects are stored in version {new}'`"
                )
            } else {
                format!(
                    "with the new CRD, an object is stored as `{new}` once it is written again; until \
                     then it stays stored as `{old}`, because a namespaced operator cannot migrate \
                     objects"
                )
            });
        }
        if is_converted(self.versions) && !is_converted(self.now) {
            notes.push(format!(
                "clusters keep the conversion webhook, and refuse the new CRD until you run `kubectl \
                 patch crd {name} --type=merge --patch \
                 '{{\"spec\":{{\"conversion\":{{\"strategy\":\"None\",\"webhook\":null}}}}}}'`"
            ));
        }
        notes
    }
}

fn stored<'a>(versions: &[&'a Resource]) -> Option<&'a Version> {
    let stored = versions.iter().find(|version| version.is_stored())?;
    Some(&stored.version)
}

/// Whether a webhook converts between the versions of a kind.
fn is_converted(versions: &[&Resource]) -> bool {
    versions.iter().any(|version| version.spokes().is_some())
}

/// Notes about webhook configurations of which the project has no webhook any more.
fn webhook_configurations(before: &Project, after: &Project) -> Vec<String> {
    let is_mutating_gone = has_defaulting(before) && !has_defaulting(after);
    let is_validating_gone = is_validated(before) && !is_validated(after);
    // The failure policy for a kind of Kubernetes is `Ignore`, unless the code sets another one.
    let mut strict = before.clone();
    strict.resources.retain(|resource| !resource.is_builtin());
    let mut notes = Vec::new();
    let webhooks = [
        (
            "mutating",
            is_mutating_gone,
            has_defaulting as fn(&Project) -> bool,
        ),
        ("validating", is_validating_gone, has_validation),
    ];
    for (kind, is_gone, has_webhook) in webhooks {
        let consequence = if has_webhook(&strict) {
            "refuse requests, because the webhooks do not answer"
        } else if has_webhook(before) {
            "wait for an answer in each write, or refuse it if the failure policy is `Fail`"
        } else {
            "wait for an answer in each write"
        };
        if is_gone {
            notes.push(format!(
                "clusters keep the {kind} webhooks, and {consequence}: before you deploy, delete them there by `kubectl \
                 delete {kind}webhookconfiguration {}-{kind}-webhook-configuration`",
                before.project_name
            ));
        }
    }
    notes
}

fn has_defaulting(project: &Project) -> bool {
    let mut resources = project.webhooks();
    resources.any(|resource| resource.webhooks.defaulting.is_some())
}

fn has_validation(project: &Project) -> bool {
    let mut resources = project.webhooks();
    resources.any(|resource| resource.webhooks.validation.is_some())
}

/// Whether there is a validating webhook. A conversion also has one; requests succeed when it does not answer.
fn is_validated(project: &Project) -> bool {
    has_validation(project) || project.hubs().next().is_some()
}

/// Notes about finalizers that the new operator does not remove: of objects that no controller of the new project has, and
/// of objects in other namespaces.
fn finalizers(before: &Project, after: &Project) -> Vec<String> {
    let known = finalizers_of(after);
    let (removed, unknown): (Vec<_>, Vec<_>) =
        (finalizers_of(before).into_iter()).partition(|finalizer| known.contains(finalizer));
    let is_narrowed = after.namespaced && (!before.namespaced || is_moved(before, after));
    let left_elsewhere = if is_narrowed { removed } else { Vec::new() };
    let elsewhere = format!(" in other namespaces than `{}`", after.namespace_name());
    let mut notes = Vec::new();
    for (finalizers, place) in [(unknown, ""), (left_elsewhere, &elsewhere)] {
        let names: BTreeSet<_> = finalizers.into_iter().map(|(_, _, name)| name).collect();
        let (finalizers, it) = match names.len() {
            0 => continue,
            1 => ("finalizer", "it"),
            _ => ("finalizers", "one of them"),
        };
        notes.push(format!(
            "the new operator does not remove the {finalizers} {}{place}, so objects{place} that have {it} are never \
             deleted: delete these objects before you deploy, or remove the finalizer from them afterwards",
            in_backticks(names)
        ));
    }
    notes
}

/// The finalizers of the controllers, each with the group and the kind of its objects.
fn finalizers_of(project: &Project) -> BTreeSet<(String, String, String)> {
    let with_finalizer = project.controllers().filter(|(_, of)| of.finalizer);
    with_finalizer
        .map(|(resource, controller)| {
            let (group, kind) = (project.full_group(resource), resource.kind.to_string());
            (group, kind, project.finalizer_name(resource, controller))
        })
        .collect()
}

/// Notes about objects that a controller created, and that the new project does not correct or delete.
fn controllers(before: &Project, after: &Project) -> Vec<String> {
    let mut notes = Vec::new();
    for (resource, controller) in before.controllers() {
        let kind = (before.full_group(resource), &resource.kind);
        let mut apis = after.apis();
        // The children of a deleted kind go with its objects.
        if resource.has_api() && !apis.any(|api| (after.full_group(api), &api.kind) == kind) {
            continue;
        }
        let name = &controller.name;
        let manager = before.field_manager(resource, controller);
        let mut owned = BTreeSet::new();
        let (mut is_there, mut is_renamed) = (false, false);
        for (other, there) in after.controllers() {
            if (after.full_group(other), &other.kind) == kind {
                owned.extend(there.owns.iter().map(|id| (id.group(), id.kind())));
                is_there |= after.field_manager(other, there) == manager;
                is_renamed |= there.name == *name;
            }
        }
        let dropped: Vec<_> = (controller.owns.iter())
            .filter(|id| !owned.contains(&(id.group(), id.kind())))
            .collect();
        if !dropped.is_empty() {
            notes.push(format!(
                "clusters keep the objects of {} that the controller `{name}` of {resource} created: those of `owns` go with \
                 their owner; for those of `owns_until_cleanup`, first release an operator that declares them with `owns`",
                in_backticks(dropped)
            ));
        }
        if is_there || controller.owns.is_empty() && !controller.finalizer {
            continue;
        }
        let (finalizer_name, the_finalizer) = if controller.finalizer {
            let finalizer = before.finalizer_name(resource, controller);
            (
                format!(" and `finalizerName: {finalizer}`"),
                "the finalizer and ",
            )
        } else {
            (String::new(), "")
        };
        let settings = format!(
            "set `fieldManager: {manager}`{finalizer_name} for it in `PROJECT`: then it removes {the_finalizer}fields that \
             are no longer desired"
        );
        notes.push(if is_renamed {
            format!(
                "the controller `{name}` of {resource} has another name in clusters: {settings}"
            )
        } else {
            format!("if another controller of {resource} replaces `{name}`, {settings}")
        });
    }
    notes
}

/// A note about the user's lines that have an old name: that of the project, or one of the `groups`.
fn own_lines(before: &Project, after: &Project, groups: BTreeSet<String>) -> Option<String> {
    let (old, new) = (&before.project_name, &after.project_name);
    let mut names: Vec<_> = groups.into_iter().collect();
    if old != new {
        names.insert(0, old.to_string());
    }
    (!names.is_empty()).then(|| {
        format!(
            "find your own lines with an old name: `git grep -F -e {}`",
            names.join(" -e ")
        )
    })
}

#[cfg(test)]
mod tests;
