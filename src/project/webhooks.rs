//! The admission webhooks of a project: the API server calls them before it stores an object. Conversion webhooks are in
//! `conversion.rs`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use super::{error::Error, model::Project, resource::Resource, webhook::Admission};

/// The API server calls no webhooks for the objects of this group, because they configure the webhooks.
const NEVER_ASKED: &str = "admissionregistration.k8s.io";

/// The paths of the webhooks that the runtime has itself.
const OF_RUNTIME: [&str; 2] = ["/convert", "/kube-manager/reachable"];

/// The path of the webhook that refuses objects which cannot be converted. `lower` is the kind in lower case.
pub fn bound_path(full_group: &str, lower: &str) -> String {
    format!("/bound-{}-{lower}", full_group.replace('.', "-"))
}

/// The name and path of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookNames {
    /// The name in the configuration, unique in the cluster: `mguestbook-v1.kb.io`.
    pub name: String,
    /// Whether the name is kubebuilder's default, which does not contain the group.
    pub usual_name: bool,
    /// The path on the server: `/mutate-webapp-example-com-v1-guestbook`.
    pub path: String,
    /// Whether the path is the default.
    pub usual_path: bool,
}

impl Project {
    /// All resources that have webhooks.
    pub fn webhooks(&self) -> impl Iterator<Item = &Resource> {
        self.resources
            .iter()
            .filter(|resource| !resource.webhooks.is_empty())
    }

    /// The name and path of a webhook of `resource`; the usual ones if `resource` does not have this webhook.
    pub fn webhook_names(&self, resource: &Resource, admission: Admission) -> WebhookNames {
        let (letter, verb) = match admission {
            Admission::Defaulting => ('m', "mutate"),
            Admission::Validation => ('v', "validate"),
        };
        let (lower, version) = (resource.kind.lower(), &resource.version);
        let group = self.full_group(resource);
        let mut called = self.resources.called(&lower);
        // If several kinds would have the default name, only the first one gets it.
        let first = called.find(|other| !other.webhooks.is_empty() && other.version == *version);
        let usual_name = first == Some(resource);
        let name = if usual_name {
            format!("{letter}{lower}-{version}.kb.io")
        } else {
            format!("{letter}{lower}-{version}.{group}.kb.io")
        };
        let own_path = resource.webhooks.path(admission);
        WebhookNames {
            name,
            usual_name,
            usual_path: own_path.is_none(),
            path: match own_path {
                Some(path) => path.to_string(),
                None => format!("/{verb}-{}-{version}-{lower}", group.replace('.', "-")),
            },
        }
    }

    /// The paths of all admission webhooks, each with its kind.
    fn webhook_paths(&self) -> Vec<(String, &Resource)> {
        let mut paths = Vec::new();
        for resource in self.webhooks() {
            for admission in [Admission::Defaulting, Admission::Validation] {
                if resource.webhooks.get(admission).is_some() {
                    paths.push((self.webhook_names(resource, admission).path, resource));
                }
            }
        }
        paths
    }

    /// The paths of the webhooks that the operator has itself. Any kind may get a conversion later, so the paths of all
    /// conversions are taken.
    fn paths_of_operator(&self) -> BTreeSet<String> {
        let mut taken = BTreeSet::from(OF_RUNTIME.map(str::to_owned));
        for api in self.apis() {
            taken.insert(bound_path(&self.full_group(api), &api.kind.lower()));
        }
        taken
    }

    /// Whether a webhook has this path.
    pub fn has_webhook_path(&self, path: &str) -> bool {
        let paths = self.webhook_paths();
        self.paths_of_operator().contains(path) || paths.iter().any(|(taken, _)| taken == path)
    }

    /// Checks that the API server can call the webhooks, and that each webhook has a unique path.
    pub(super) fn validate_webhooks(&self) -> Result<()> {
        for resource in self.webhooks() {
            ensure!(
                !resource.has_api() || resource.is_stored(),
                Error::UnstoredWebhook { id: resource.id() }
            );
            if let "Defaulter" | "Validator" = resource.kind.as_str() {
                bail!("{resource} cannot have webhooks: their code has a type with this name");
            }
            ensure!(
                self.full_group(resource) != NEVER_ASKED,
                "{resource} cannot have webhooks: the API server calls no webhooks for the group \
                 `{NEVER_ASKED}`"
            );
        }
        let taken = self.paths_of_operator();
        let mut paths = BTreeMap::new();
        for (path, resource) in self.webhook_paths() {
            ensure!(
                !taken.contains(&path),
                "{resource} cannot have a webhook with the path `{path}`: it is for a \
                 webhook that the operator has itself"
            );
            if let Some(other) = paths.insert(path.clone(), resource) {
                let whose = if other == resource {
                    format!("both webhooks of {resource}")
                } else {
                    format!("webhooks of {other} and {resource}")
                };
                bail!("{whose} would have the path `{path}`");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            for_tests::{api, core, empty, error, in_domain, unserved, without_controller},
            webhook::{Webhook, Webhooks},
        },
        *,
    };

    fn webhook(path: &str) -> Webhook {
        let path = Some(path).filter(|path| !path.is_empty());
        Webhook {
            path: path.map(|path| path.parse().unwrap()),
        }
    }

    fn with_webhooks(mut resource: Resource, defaulting: &[&str], validation: &[&str]) -> Resource {
        resource.webhooks = Webhooks {
            defaulting: defaulting.first().map(|path| webhook(path)),
            validation: validation.first().map(|path| webhook(path)),
        };
        resource
    }

    fn captain() -> Resource {
        api("crew", "v1", "Captain")
    }

    fn pod() -> Resource {
        without_controller(core("core", "v1", "Pod"))
    }

    fn project(resources: impl IntoIterator<Item = Resource>) -> Project {
        let mut project = empty();
        project.resources.extend(resources);
        project.sort();
        project
    }

    #[test]
    fn a_kind_without_a_group_has_the_domain_in_the_path() {
        let guestbook = in_domain(api("webapp", "v1", "Guestbook"));
        assert_eq!(
            names(&project([with_webhooks(guestbook, &[], &[""])])),
            ["vguestbook-v1.kb.io /validate-com-v1-guestbook"]
        );
    }

    fn names(project: &Project) -> Vec<String> {
        let names = project.webhooks().map(|resource| {
            let names = project.webhook_names(resource, Admission::Validation);
            format!("{} {}", names.name, names.path)
        });
        names.collect()
    }

    #[test]
    fn webhook_names_are_unique_and_those_of_kubebuilder() {
        let project = project([
            with_webhooks(api("ship", "v1", "Bar"), &[], &[""]),
            with_webhooks(api("foo.policy", "v1", "Bar"), &[], &["/custom"]),
            with_webhooks(without_controller(core("core", "v1", "Pod")), &[], &[""]),
        ]);
        project.validate().unwrap();
        assert_eq!(
            names(&project),
            [
                "vpod-v1.kb.io /validate--v1-pod",
                "vbar-v1.kb.io /custom",
                "vbar-v1.ship.com.kb.io /validate-ship-com-v1-bar",
            ]
        );
    }

    #[test]
    fn the_file_has_the_fields_of_kubebuilder() {
        let project = project([with_webhooks(api("crew", "v1", "Captain"), &["/a"], &[""])]);
        let text = project.to_text().unwrap();
        let fields = "  webhooks:\n    defaulting: true\n    defaultingPath: /a\n    validation: true\n    \
                      webhookVersion: v1\n";
        assert!(text.contains(fields), "{text}");
        let again = Project::parse(&text).unwrap();
        assert_eq!(again.resources, project.resources);
    }

    #[test]
    fn invalid_webhooks_are_refused() {
        let two = [
            api("crew", "v1", "Captain"),
            with_webhooks(unserved(api("crew", "v2", "Captain")), &[""], &[]),
        ];
        assert_eq!(
            error(two),
            "`crew/v2/Captain` cannot have webhooks: the API server does not store this version"
        );
        assert_eq!(
            error([
                with_webhooks(api("crew", "v1", "Captain"), &["/a"], &[]),
                with_webhooks(api("crew", "v1", "Mate"), &[], &["/a"]),
            ]),
            "webhooks of `crew/v1/Captain` and `crew/v1/Mate` would have the path `/a`"
        );
        assert_eq!(
            error([with_webhooks(
                api("crew", "v1", "Captain"),
                &["/a"],
                &["/a"]
            )]),
            "both webhooks of `crew/v1/Captain` would have the path `/a`"
        );
        let configuration = core(
            "admissionregistration",
            "v1",
            "ValidatingWebhookConfiguration",
        );
        assert_eq!(
            error([with_webhooks(without_controller(configuration), &[], &[""])]),
            "`admissionregistration/v1/ValidatingWebhookConfiguration` cannot have webhooks: the \
             API server calls no webhooks for the group `admissionregistration.k8s.io`"
        );
    }

    #[test]
    fn no_webhook_has_a_path_of_the_runtime() {
        let sources = kube_manager::source::files().map(|(_, text)| text);
        let constants = sources.flat_map(|text| text.split("PATH: &str = \"").skip(1));
        let paths = constants.filter_map(|rest| rest.split('"').next());
        let paths: BTreeSet<_> = paths.filter(|path| path.starts_with('/')).collect();
        assert_eq!(paths, BTreeSet::from(OF_RUNTIME));

        let bound = bound_path("crew.com", "captain");
        for path in paths.into_iter().chain([bound.as_str()]) {
            for resource in [
                with_webhooks(captain(), &[path], &[]),
                with_webhooks(captain(), &[], &[path]),
            ] {
                assert_eq!(
                    error([resource]),
                    format!(
                        "`crew/v1/Captain` cannot have a webhook with the path `{path}`: it is for a \
                         webhook that the operator has itself"
                    )
                );
            }
        }
    }

    #[test]
    fn removing_the_last_webhook_removes_a_kind_of_kubernetes() {
        let id = "v1/Pod".parse().unwrap();
        let mut both = project([with_webhooks(pod(), &[""], &[""])]);
        let defaulting = with_webhooks(pod(), &[""], &[]).webhooks;
        both.remove_webhooks(&id, &defaulting).unwrap();
        assert_eq!(both, project([with_webhooks(pod(), &[], &[""])]));
        let error = both.remove_webhooks(&id, &defaulting).unwrap_err();
        assert_eq!(error.to_string(), "`v1/Pod` has no defaulting webhook");
        let rest = both.resources[0].webhooks.clone();
        both.remove_webhooks(&id, &rest).unwrap();
        assert_eq!(both, empty());
    }

    #[test]
    fn webhooks_move_with_the_stored_version() {
        let mut project = project([
            with_webhooks(api("crew", "v1", "Captain"), &[""], &[]),
            unserved(api("crew", "v2", "Captain")),
        ]);
        project
            .remove(&"crew/v1/Captain".parse().unwrap(), false)
            .unwrap();
        assert!(project.resources[0].webhooks.defaulting.is_some());
    }

    #[test]
    fn branches_add_webhooks_to_one_kind() {
        let [parent, ours, theirs, both, other] = [
            captain(),
            with_webhooks(captain(), &[""], &[]),
            with_webhooks(captain(), &[], &["/a"]),
            with_webhooks(captain(), &[""], &["/a"]),
            with_webhooks(captain(), &["/b"], &[]),
        ]
        .map(|captain| project([captain]));
        assert_eq!(Project::merge(Some(&parent), &ours, &theirs).unwrap(), both);
        let error = Project::merge(Some(&parent), &ours, &other).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the branches disagree on `defaulting` of `crew/v1/Captain`"
        );
    }
}
