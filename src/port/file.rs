//! kubebuilder's `PROJECT`, in version 2 or 3.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::source::list;
use crate::{
    project::{Admission, Project},
    visible::quoted,
    yaml::{Lines, documents, remove_nulls},
};

/// The contents of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GoProject {
    version: Value,
    layout: Value,
    pub domain: Option<String>,
    pub repo: Option<String>,
    pub project_name: Option<String>,
    pub namespaced: bool,
    pub plugins: BTreeMap<String, Value>,
    pub resources: Vec<GoResource>,
}

/// A version of a kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GoResource {
    api: Option<GoApi>,
    controller: bool,
    pub controllers: Vec<GoController>,
    pub core: bool,
    pub external: bool,
    pub domain: Option<String>,
    pub group: String,
    pub version: String,
    pub kind: String,
    /// The import path of its Go package.
    pub path: Option<String>,
    pub plural: Option<String>,
    pub webhooks: Option<GoWebhooks>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GoApi {
    namespaced: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct GoController {
    pub name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GoWebhooks {
    pub conversion: bool,
    pub spoke: Vec<String>,
    defaulting: bool,
    defaulting_path: Option<String>,
    validation: bool,
    validation_path: Option<String>,
}

impl GoWebhooks {
    /// If there is such a webhook: its path, empty for the usual one.
    pub fn path(&self, admission: Admission) -> Option<&str> {
        let (is_there, path) = match admission {
            Admission::Defaulting => (self.defaulting, &self.defaulting_path),
            Admission::Validation => (self.validation, &self.validation_path),
        };
        is_there.then_some(path.as_deref().unwrap_or(""))
    }
}

impl GoResource {
    /// Whether the project defines the kind.
    pub fn has_api(&self) -> bool {
        self.api.is_some()
    }

    /// Whether the entry is about a kind that the project defines, with this group and kind. Some tools leave out the
    /// domain, or what the entry says about the API.
    pub fn is_of(&self, group: &str, kind: &str) -> bool {
        let is_own = self.kind == kind && !self.external && !self.core;
        is_own && (self.has_api() || self.is_in(group))
    }

    /// Whether the group can be the full one of the entry.
    pub fn is_in(&self, group: &str) -> bool {
        self.group.is_empty() || begins(group, &self.group)
    }

    pub fn is_namespaced(&self) -> bool {
        self.api.as_ref().is_some_and(|api| api.namespaced)
    }

    /// The full group. `domain` is that of the project.
    pub fn full_group(&self, domain: Option<&str>) -> String {
        let group = self.group.as_str();
        match self.domain.as_deref().or(domain) {
            _ if self.external || self.core => self.group_of_others(),
            // Some projects have the full group in both fields.
            Some(domain) if is_within(group, domain) => group.to_owned(),
            Some(domain) if !group.is_empty() => format!("{group}.{domain}"),
            Some(domain) => domain.to_owned(),
            None => group.to_owned(),
        }
    }

    /// The full group of a kind that another project defines.
    pub fn group_of_others(&self) -> String {
        let group = self.group.as_str();
        // The domain is often the full group already.
        match self.domain.as_deref() {
            Some(domain) if group.is_empty() || domain.split('.').next() == Some(group) => {
                domain.to_owned()
            }
            Some(domain) => format!("{group}.{domain}"),
            None => group.to_owned(),
        }
    }

    /// Whether the file says that there is a controller.
    pub fn has_controller(&self) -> bool {
        self.controller || !self.controllers.is_empty()
    }
}

/// Whether `group` begins with this part, as `shelf.example.com` with `shelf`.
pub(super) fn begins(group: &str, start: &str) -> bool {
    let rest = group.strip_prefix(start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether `group` is the domain, or ends in it, as `shelf.example.com` in `example.com`. A domain without a dot cannot be
/// a group.
fn is_within(group: &str, domain: &str) -> bool {
    let rest = group.strip_suffix(domain);
    rest.is_some_and(|rest| rest.ends_with('.') || rest.is_empty() && domain.contains('.'))
}

/// A line about a kind whose controller runs an image, with the command that makes the same here, if one does.
fn deployed_image(resource: &Value, project: &Project) -> String {
    let [group, version, kind] =
        ["group", "version", "kind"].map(|field| resource[field].as_str().unwrap_or("?"));
    let options = &resource["options"];
    let image = options["image"].as_str().unwrap_or("<IMAGE>");
    let mut kinds = project.resources.iter();
    if kinds.any(|own| {
        own.kind.as_str() == kind && own.group.as_str() == group && own.has_given_types()
    }) {
        return format!(
            "the controller of {kind} that the plugin deploy-image wrote: write the Deployment with the image `{image}` \
             in `reconcile`; `--image` is not for types from a CRD"
        );
    }
    let mut words = Vec::new();
    for (flag, value) in [
        ("--group", Some(group)),
        ("--version", Some(version)),
        ("--kind", Some(kind)),
        ("--image", Some(image)),
        ("--image-container-port", options["containerPort"].as_str()),
        ("--run-as-user", options["runAsUser"].as_str()),
        (
            "--image-container-command",
            options["containerCommand"].as_str(),
        ),
    ] {
        words.extend(value.map(|value| format!("{flag} {}", quoted(value))));
    }
    format!(
        "the controller of {kind} that the plugin deploy-image wrote: `rscaffold create api {} --force` makes one that \
         runs the same image",
        words.join(" "),
    )
}

impl GoProject {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// When the text is not YAML, or not the file of a project in Go.
    pub fn parse(text: &str) -> Result<Self> {
        let mut document = documents(text)?.pop().context("it is empty")?;
        remove_nulls(&mut document);
        let mut project: Self = serde_json::from_value(document)?;
        project.check()?;
        if project.implies_controllers() {
            for resource in &mut project.resources {
                resource.api = Some(GoApi { namespaced: true });
            }
        }
        Ok(project)
    }

    /// Whether the file has version 2, which has only group, version and kind: an API and a controller are implied.
    pub fn implies_controllers(&self) -> bool {
        self.version() == "2"
    }

    fn version(&self) -> String {
        match &self.version {
            Value::String(version) => version.clone(),
            Value::Null => String::new(),
            version => version.to_string(),
        }
    }

    /// The plugins that wrote the project.
    fn layouts(&self) -> Vec<&str> {
        match &self.layout {
            Value::String(layout) => layout.split(',').collect(),
            Value::Array(layouts) => layouts.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    fn check(&self) -> Result<()> {
        let version = self.version();
        ensure!(
            version == "2" || version.starts_with('3'),
            "it has the version `{version}`, but only 2 and 3 can be read: migrate the project \
             with kubebuilder first"
        );
        for layout in self.layouts() {
            let plugin = layout.split_once('.').map_or(layout, |(plugin, _)| plugin);
            // kubebuilder's own plugin `helm` only adds a chart.
            let is_charts = layout.starts_with("helm.kubebuilder.io/");
            if matches!(plugin, "ansible" | "helm" | "quarkus" | "java") && !is_charts {
                bail!(
                    "it has the layout `{layout}`: its operator is not written in Go, so there is no code to \
                     port"
                );
            }
            ensure!(
                !layout.starts_with("rust."),
                "it has the layout `{layout}`: this is a project in Rust already"
            );
        }
        Ok(())
    }

    /// What the plugins in use say that `project` does not have. `text` is that of the file.
    pub fn plugins_left(&self, text: &str, project: &Project) -> Vec<String> {
        let mut lines = Vec::new();
        let of_file = Lines::of(text);
        for (plugin, settings) in &self.plugins {
            let place = of_file.line(0, &["plugins", plugin]);
            let line = place.map_or(1, |(line, _)| line);
            let name = plugin.split(['.', '/']).next().unwrap_or("");
            match name {
                "autoupdate" | "grafana" | "helm" => {}
                "deploy-image" => {
                    for resource in list(&settings["resources"]) {
                        lines.push(format!(
                            "`PROJECT:{line}`: {}",
                            deployed_image(resource, project)
                        ));
                    }
                }
                _ => lines.push(format!("`PROJECT:{line}`: the plugin `{plugin}`")),
            }
        }
        lines
    }

    /// Whether a plugin of this name, such as `helm`, is in use.
    pub fn has_plugin(&self, name: &str) -> bool {
        let plugins = self.plugins.keys().map(String::as_str);
        plugins
            .chain(self.layouts())
            .any(|plugin| plugin.split(['.', '/']).next() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_implies_api_and_controller() {
        let text = "domain: example.com\nrepo: github.com/me/books\nresources:\n- group: webapp\n  kind: \
                    Book\n  version: v1\nversion: \"2\"\n";
        let project = GoProject::parse(text).unwrap();
        let book = &project.resources[0];
        assert!(book.has_api() && book.is_namespaced());
        assert!(project.implies_controllers() && !book.has_controller());
        assert!(GoProject::parse(&text.replace("\"2\"", "2")).is_ok());
    }

    #[test]
    fn version_3_lists_apis_and_controllers() {
        let text = "\
domain: example.com
layout: [go.kubebuilder.io/v4, helm.kubebuilder.io/v2-alpha]
plugins:
  grafana.kubebuilder.io/v1-alpha: {}
  deploy-image.go.kubebuilder.io/v1-alpha: {resources: [{options: {containerPort: '80'}}]}
resources:
- {api: {crdVersion: v1, namespaced: true}, controller: true, group: webapp, kind: Book, version: v1}
- {api: {crdVersion: v1}, group: webapp, kind: Page, version: v1, webhooks: {validation: true}}
- {controller: true, core: true, group: core, kind: Pod, version: v1}
version: '3'
";
        let project = GoProject::parse(text).unwrap();
        let has: Vec<_> = project
            .resources
            .iter()
            .map(|entry| {
                (
                    entry.has_api(),
                    entry.is_namespaced(),
                    entry.has_controller(),
                )
            })
            .collect();
        assert_eq!(
            has,
            [
                (true, true, true),
                (true, false, false),
                (false, false, true)
            ]
        );
        let plugins = ["helm", "grafana", "autoupdate"].map(|name| project.has_plugin(name));
        assert_eq!(plugins, [true, true, false]);
    }

    #[test]
    fn files_of_other_projects_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "it is empty"),
            (
                "version: '1'",
                "it has the version `1`, but only 2 and 3 can be read",
            ),
            (
                "layout: [ansible.sdk.operatorframework.io/v1]\nversion: '3'",
                "it has the layout `ansible.sdk.operatorframework.io/v1`: its operator is not written in Go",
            ),
            (
                "layout: [helm.sdk.operatorframework.io/v1]\nversion: '3'",
                "it has the layout `helm.sdk.operatorframework.io/v1`: its operator is not",
            ),
            (
                "layout: [rust.rscaffold/v1]\nversion: '3'",
                "it has the layout `rust.rscaffold/v1`: this is a project in Rust already",
            ),
        ] {
            let error = GoProject::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
