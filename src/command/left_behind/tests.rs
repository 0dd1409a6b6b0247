use proptest::prelude::*;

use super::*;
use crate::{
    cases::cases,
    names::GroupVersionKind,
    project::{Controller, Definition, Own, Webhook},
    render::render,
    yaml,
};

/// A version of a kind of which scope, plural, domain, finalizer and stored version are random.
fn resource() -> impl Strategy<Value = (&'static str, [bool; 4])> {
    let id = prop_oneof![
        Just("webapp/v1/Guestbook"),
        Just("webapp/v1/Page"),
        Just("crew/v1/Page"),
        Just("crew/v2/Page"),
    ];
    (id, any::<[bool; 4]>())
}

fn project(resources: &[(&str, [bool; 4])], is_renamed: bool) -> Project {
    let [domain, name] = if is_renamed {
        ["org", "library"]
    } else {
        ["com", "guestbook"]
    };
    let (domain, name) = (domain.parse().unwrap(), name.parse().unwrap());
    let mut project = Project::new(domain, name, "guestbook".parse().unwrap());
    for (id, [is_namespaced, has_plural, has_domain, has_finalizer]) in resources {
        let id: GroupVersionKind = id.parse().unwrap();
        let mut controller = Controller::new(id.kind().controller());
        controller.finalizer = *has_finalizer;
        let mut resource = Resource::new(id.group().clone(), &id, Definition::Own(Own::first()));
        resource.namespaced = *is_namespaced;
        resource.controllers.push(controller);
        if *has_plural {
            resource.plural = "things".parse().unwrap();
        }
        resource.domain = has_domain.then(|| "example.org".parse().unwrap());
        // A resource that contradicts the others is left out.
        let _ = project.add(resource, false);
    }
    project
}

fn projects() -> impl Strategy<Value = Project> {
    let resources = prop::collection::vec(resource(), 0..5);
    (resources, any::<bool>()).prop_map(|(resources, is_renamed)| {
        let all: Vec<_> = resources;
        project(&all, is_renamed)
    })
}

/// The names in commands that delete CRDs.
fn deleted(notes: &[String]) -> Vec<&str> {
    let commands = notes.iter().filter_map(|note| {
        let (_, command) = note.split_once("`kubectl delete crd ")?;
        command.split('`').next()
    });
    commands.flat_map(str::split_whitespace).collect()
}

/// The cluster roles in the manifests of the project: those that `admin`, `edit` and `view` include, and all.
fn cluster_roles(project: &Project) -> (Vec<String>, BTreeSet<String>) {
    let (mut included, mut all) = (Vec::new(), BTreeSet::new());
    for manifest in manifests(project) {
        if manifest["kind"] == "ClusterRole" {
            let name = format!("guestbook-{}", text(&manifest["metadata"]["name"]));
            let labels = manifest["metadata"]["labels"].to_string();
            if labels.contains("/aggregate-to-") {
                included.push(name.clone());
            }
            all.insert(name);
        }
    }
    (included, all)
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The manifests for kustomize.
fn manifests(project: &Project) -> Vec<serde_json::Value> {
    let rendered = render(project).unwrap();
    let texts = rendered.texts.iter();
    let manifests = texts.filter(|(path, _)| path.starts_with("config/"));
    let documents = manifests.flat_map(|(_, text)| yaml::documents(text.content()).unwrap());
    documents.collect()
}

#[test]
fn the_permissions_are_those_of_the_manifests() {
    use Feature::{
        Certmanager, LeaderElection, MetricsAuth, MetricsSecure, UserRoles, WebhookFiles,
    };
    let kinds = [
        ("webapp/v1/Guestbook", [true, false, false, false]),
        ("crew/v1/Page", [false; 4]),
    ];
    for features in [
        &[][..],
        &[MetricsSecure, LeaderElection, UserRoles],
        &[MetricsSecure, Certmanager],
        &[MetricsSecure, MetricsAuth, WebhookFiles, UserRoles],
    ] {
        for (is_namespaced, has_webhook) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut project = project(&kinds, false);
            project.namespaced = is_namespaced;
            project.features = features.iter().copied().collect();
            if has_webhook {
                let webhook = Webhook::default();
                for resource in project.resources.iter_mut() {
                    resource.webhooks.defaulting = Some(webhook.clone());
                }
            }
            let mut permissions = BTreeSet::new();
            for manifest in manifests(&project) {
                let kind = text(&manifest["kind"]);
                if matches!(kind, "ClusterRoleBinding" | "RoleBinding" | "Secret") {
                    let name = text(&manifest["metadata"]["name"]);
                    permissions.insert((kind.to_lowercase(), name.to_owned()));
                }
            }
            let known = permissions_of(&project).into_iter();
            let known: BTreeSet<_> = known
                .map(|(resource, name)| (resource.to_owned(), name.to_owned()))
                .collect();
            assert_eq!(known, permissions, "{features:?}");
            let [mut without, mut inside] = [project.clone(), project.clone()];
            without.features.clear();
            inside.namespaced = true;
            let (included, _) = cluster_roles(&project);
            for after in [without, inside] {
                let (_, kept) = cluster_roles(&after);
                let mut expected = included.clone();
                expected.retain(|role| !kept.contains(role));
                let note = user_roles(&project, &after).unwrap_or_default();
                let command = note.split_once("clusterrole ");
                let names = command.map_or("", |(_, names)| names.trim_end_matches('`'));
                let mut deleted: Vec<_> = names.split_whitespace().collect();
                deleted.sort_unstable();
                expected.sort_unstable();
                assert_eq!(deleted, expected, "{features:?}: {note}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_crd_is_deleted_if_and_only_if_the_change_needs_it(
        [before, after] in [projects(), projects()],
    ) {
        prop_assert!(left_behind(&before, &before).is_empty());
        let notes = left_behind(&before, &after);
        let (old_crds, new_crds) = (crds(&before), crds(&after));
        let mut deleted = deleted(&notes);
        deleted.sort_unstable();
        let mut expected = Vec::new();
        for (name, old) in &old_crds {
            let is_kept = new_crds.get(name).is_some_and(|new| {
                (&new[0].kind, new[0].namespaced) == (&old[0].kind, old[0].namespaced)
            });
            if !is_kept {
                expected.push(name.as_str());
            }
        }
        prop_assert_eq!(deleted, expected);
        for (group, kind, name) in finalizers_of(&before) {
            let is_removed = finalizers_of(&after).contains(&(group, kind, name.clone()));
            let is_told = notes.iter().any(|note| note.contains(&format!("`{name}`")));
            prop_assert!(is_removed || is_told, "{name} in {notes:?}");
        }
    }
}
