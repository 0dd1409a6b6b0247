//! The settings of a project that both `init` and `edit` take.

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use crate::{
    command::{other_tools::namespaced, report::UsageError},
    engine::worktree::read_input,
    names::{Domain, Header, ProjectName, Repo},
    project::{Feature, License, Project, Runtime, WebhookCertificates, is_line},
};

/// The settings that the command line gives. `None` leaves a setting as it is.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Settings {
    /// Domain of the API groups: group `webapp` becomes `webapp.<DOMAIN>`
    #[arg(long)]
    pub domain: Option<Domain>,

    /// Repository of the project; its last part is the name of the crate
    #[arg(long)]
    pub repo: Option<Repo>,

    /// Name of the project, and prefix of the names of deployed objects
    #[arg(long, value_name = "NAME")]
    pub project_name: Option<ProjectName>,

    /// License of the project, named in the header of every source file
    #[arg(long, value_enum)]
    pub license: Option<License>,

    /// Copyright holder, named in the license and in the header of every source file; `--owner=` removes the name
    #[arg(long, value_parser = owner)]
    owner: Option<String>,

    /// File whose text becomes the header of every source file, instead of license and copyright holder;
    /// `--license-file=` removes the text
    #[arg(long, value_name = "FILE", value_parser = license_header)]
    license_file: Option<LicenseHeader>,

    /// Whether the operator watches its own namespace instead of the whole cluster
    #[arg(long, value_name = "BOOL", num_args = 0..=1, value_parser = namespaced())]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,

    /// Source of the crate `kube-manager`, which runs the operator: `vendored` is a folder of this project, `registry`
    /// is crates.io, and a path leads to the crate in another project of the workspace
    #[arg(long, value_name = "SOURCE")]
    pub runtime: Option<Runtime>,

    /// Feature to add to the project; repeat the flag or separate features by commas
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', value_enum)]
    pub enable: Vec<Feature>,

    /// Feature to remove from the project; repeat the flag or separate features by commas
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', value_enum)]
    #[arg(hide_possible_values = true)]
    disable: Vec<Feature>,
}

/// Parses the value of `--owner`, which may be empty.
fn owner(text: &str) -> Result<String> {
    ensure!(
        text.is_empty() || is_line(text),
        "`{text}` is not one line of visible text of at most 200 characters, as in `The Guestbook Authors`"
    );
    Ok(text.to_owned())
}

/// The new header of a project; `None` removes the header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LicenseHeader(Option<Header>);

/// Reads the file that is the value of `--license-file`, which may be empty.
fn license_header(path: &str) -> Result<LicenseHeader> {
    const MAX_BYTES: u64 = 1 << 16;
    if path.is_empty() {
        return Ok(LicenseHeader(None));
    }
    let text = read_input(Path::new(path), Path::new(""), MAX_BYTES);
    let read = text.and_then(|text| Header::of_file(&text));
    let header = read.map_err(|error| anyhow!("failed to read `{path}`: {error:#}"))?;
    Ok(LicenseHeader(Some(header)))
}

impl Settings {
    /// The project with these settings.
    ///
    /// # Errors
    /// When the settings contradict each other, or do not fit the rest of the project.
    pub fn apply(self, mut project: Project) -> Result<Project> {
        for feature in &self.enable {
            ensure!(
                !self.disable.contains(feature),
                UsageError(format!("`{feature}` cannot be both enabled and disabled"))
            );
        }
        project.features.extend(self.enable);
        project
            .features
            .retain(|feature| !self.disable.contains(feature));
        if let Some(owner) = self.owner {
            project.owner = Some(owner).filter(|owner| !owner.is_empty());
        }
        project.domain = self.domain.unwrap_or(project.domain);
        project.repo = self.repo.unwrap_or(project.repo);
        if let Some(name) = self.project_name
            && name != project.project_name
        {
            project.project_name = name;
            // The Deployment gets another name, so no existing Deployment has a selector that cannot be changed.
            project.deployment.selector.clear();
        }
        project.license = self.license.unwrap_or(project.license);
        if let Some(LicenseHeader(header)) = self.license_file {
            project.license_header = header;
        }
        project.namespaced = self.namespaced.unwrap_or(project.namespaced);
        project.runtime = self.runtime.unwrap_or(project.runtime);
        project.validate()?;
        Ok(project)
    }
}

/// Notes about `enabled` features that have no effect in `project`.
pub fn notes(project: &Project, enabled: &[Feature]) -> Vec<String> {
    let mut notes = Vec::new();
    for feature in enabled {
        let reason = match feature {
            Feature::Autoupdate | Feature::Github | Feature::Release
                if project.workspace.is_some() =>
            {
                "its files belong at the top of a repository, but the project is a member of a \
                 workspace"
            }
            Feature::MetricsAuth if !project.namespaced => {
                "only namespaced projects need it; in others, `metrics-secure` grants these permissions"
            }
            Feature::MetricsAuth if !project.has_secure_metrics() => {
                "without `metrics-secure`, every client can read the metrics over plain HTTP"
            }
            Feature::MetricsSecure if project.namespaced && !project.has_secure_metrics() => {
                "a namespaced project serves metrics over plain HTTP, because the check of a \
                 client needs permissions in the whole cluster: add them with `--enable \
                 metrics-auth`"
            }
            Feature::NetworkPolicy if project.namespaced => {
                "a namespaced project always has a NetworkPolicy"
            }
            Feature::WebhookFiles if project.webhook_certificates().is_none() => {
                "there are no webhooks yet"
            }
            _ => continue,
        };
        notes.push(format!("`{feature}` has no effect: {reason}"));
    }
    let webhooks = match project.webhook_certificates() {
        None => Some("there are no webhooks"),
        Some(WebhookCertificates::Files) => Some("you provide the certificate of the webhooks"),
        Some(WebhookCertificates::Certmanager | WebhookCertificates::Operator) => None,
    };
    if let Some(webhooks) = webhooks
        && project.has(Feature::Certmanager)
        && !project.has_secure_metrics()
    {
        notes.push(format!(
            "`{}` has no certificate to issue: {webhooks}, and metrics are not served over HTTPS",
            Feature::Certmanager
        ));
    }
    notes
}

/// A note about workflows that GitHub does not read.
pub fn unread_workflows(root: &Path, project: &Project) -> Option<String> {
    let mut above = root.ancestors().skip(1);
    let is_below_top = above.any(|folder| folder.join(".git").exists());
    let is_unread = is_below_top && !root.join(".git").exists();
    let has_workflows = project.workspace.is_none() && project.has(Feature::Github);
    (is_unread && has_workflows).then(|| {
        "GitHub runs workflows only at the top of a repository: move `.github` there, and set this folder as \
         `defaults.run.working-directory` in each workflow; or remove it by `rscaffold edit --disable github`"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::{Command, FromArgMatches};

    use super::*;

    /// A change of settings, and its inverse.
    const CHANGES: [(&str, &str); 22] = [
        ("--disable=agents", "--enable=agents"),
        ("--enable=autoupdate", "--disable=autoupdate"),
        ("--enable=certmanager", "--disable=certmanager"),
        ("--enable=devcontainer", "--disable=devcontainer"),
        ("--disable=github", "--enable=github"),
        ("--enable=grafana", "--disable=grafana"),
        ("--enable=helm", "--disable=helm"),
        ("--disable=leader-election", "--enable=leader-election"),
        ("--enable=metrics-auth", "--disable=metrics-auth"),
        ("--disable=metrics-secure", "--enable=metrics-secure"),
        ("--enable=network-policy", "--disable=network-policy"),
        ("--enable=prometheus", "--disable=prometheus"),
        ("--enable=release", "--disable=release"),
        ("--enable=user-roles", "--disable=user-roles"),
        ("--enable=webhook-files", "--disable=webhook-files"),
        ("--namespaced", "--namespaced=false"),
        ("--license=mit", "--license=apache2"),
        ("--owner=Example", "--owner="),
        ("--runtime=registry", "--runtime=vendored"),
        ("--domain=example.org", "--domain=com"),
        ("--project-name=library", "--project-name=guestbook"),
        ("--repo=github.com/me/books", "--repo=guestbook"),
    ];

    const PROJECT: &str = "\
cliVersion: 0.3.0-rc.1
domain: com
layout: [rust.rscaffold/v1]
license: apache2
multigroup: true
projectName: guestbook
repo: guestbook
resources:
- {api: {crdVersion: v1, namespaced: true}, controller: true, group: webapp, kind: Page, version: v1}
version: '3'
";

    fn project() -> Project {
        Project::parse(PROJECT).unwrap()
    }

    #[test]
    fn a_new_name_of_the_project_ends_the_old_selector() {
        let selector = "deployment: {selector: {app.kubernetes.io/name: guestbook}}";
        let text = PROJECT.replace("domain: com\n", &format!("{selector}\ndomain: com\n"));
        for (edit, count) in [
            ("--project-name=library", 0),
            ("--project-name=guestbook", 1),
        ] {
            let project = edited_from(Project::parse(&text).unwrap(), &[edit]).unwrap();
            assert_eq!(project.deployment.selector.len(), count, "{edit}");
        }
    }

    /// The project after each of these edits, which are arguments separated by spaces.
    fn edited(edits: &[&str]) -> Result<Project> {
        edited_from(project(), edits)
    }

    fn edited_from(mut project: Project, edits: &[&str]) -> Result<Project> {
        for edit in edits {
            let edit = Settings::augment_args(Command::new("edit").no_binary_name(true))
                .try_get_matches_from(edit.split(' '))?;
            project = Settings::from_arg_matches(&edit)?.apply(project)?;
        }
        Ok(project)
    }

    #[test]
    fn every_pair_of_changes_can_be_made_in_any_order_and_undone() {
        for (index, (one, undo_one)) in CHANGES.iter().enumerate() {
            assert_ne!(edited(&[one]).unwrap(), project(), "{one}");
            for (other, undo_other) in &CHANGES[..index] {
                let both = format!("{one} {other}");
                let expected = edited(&[&both]).unwrap();
                assert_eq!(edited(&[one, other]).unwrap(), expected, "{both}");
                assert_eq!(edited(&[other, one]).unwrap(), expected, "{both}");
                let undone = edited(&[&both, undo_one, undo_other]).unwrap();
                assert_eq!(undone, project(), "{both}");
            }
        }
    }

    #[test]
    fn every_feature_can_be_switched() {
        for feature in Feature::all() {
            let has = |flag: String| edited(&[&flag]).unwrap().features.contains(feature);
            assert!(has(format!("--enable={feature}")));
            assert!(!has(format!("--disable={feature}")));
        }
    }

    #[test]
    fn settings_that_contradict_each_other_are_a_usage_error() {
        let error = edited(&["--enable=helm,grafana --disable=grafana"]).unwrap_err();

        assert!(error.is::<UsageError>());
        assert_eq!(
            error.to_string(),
            "`grafana` cannot be both enabled and disabled"
        );
    }

    #[test]
    fn settings_that_do_not_fit_the_project_are_refused() {
        let cluster_scoped = PROJECT.replace("namespaced: true", "namespaced: false");
        let project = Project::parse(&cluster_scoped).unwrap();
        let settings = Settings {
            license: Some(License::Mit),
            namespaced: Some(true),
            ..Settings::default()
        };

        assert_eq!(
            settings.apply(project).unwrap_err().to_string(),
            "`webapp/v1/Page` is cluster-scoped, so it cannot have a controller in a namespaced project"
        );
    }

    #[test]
    fn an_owner_is_one_line_of_text() {
        assert_eq!(owner("").unwrap(), "");
        assert_eq!(owner("Example").unwrap(), "Example");
        for text in [" ", "two\nlines"] {
            let expected = format!(
                "`{text}` is not one line of visible text of at most 200 characters, as in `The Guestbook Authors`"
            );
            assert_eq!(owner(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn the_text_of_a_license_file_becomes_the_header_of_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.into_os_string().into_string().unwrap()
        };
        let header = file("header", "/*\nCopyright 2026 Example.\n*/\n");
        let hidden = file("hidden", "a\u{202e}b");
        let large = file("large", &"a\n".repeat(1 << 16));
        let folder_path = folder.path().display().to_string();

        let edit = format!("--license-file={header}");
        let with_header = edited(&[&edit]).unwrap();
        let text = with_header.license_header.as_ref().map(Header::as_str);
        assert_eq!(text, Some("Copyright 2026 Example."));
        assert_eq!(edited(&[&edit, "--license-file="]).unwrap(), project());
        for (path, reason) in [
            (
                &hidden,
                "line 1 of the license header has the invisible character `\\u{202e}`",
            ),
            (&large, "it has more than 64 KB"),
            (&folder_path, "it is not a file"),
            (
                &"missing".to_owned(),
                "No such file or directory (os error 2)",
            ),
        ] {
            let error = license_header(path).unwrap_err().to_string();
            assert_eq!(error, format!("failed to read `{path}`: {reason}"));
        }
    }

    #[test]
    fn a_feature_that_makes_no_difference_is_noted() {
        let noted = |settings: &str, feature: Feature| {
            let notes = notes(&edited(&[settings]).unwrap(), &[feature]);
            notes.join("\n")
        };
        let webhooks = "`webhook-files` has no effect: there are no webhooks yet";
        let auth = "`metrics-auth` has no effect: only namespaced projects need it; in others, \
            `metrics-secure` grants these permissions";
        for feature in Feature::all() {
            let expected = match feature {
                Feature::WebhookFiles => webhooks,
                Feature::MetricsAuth => auth,
                _ => "",
            };
            assert_eq!(noted("--license=mit", *feature), expected, "{feature}");
        }
        for feature in [Feature::MetricsSecure, Feature::NetworkPolicy] {
            let expected = format!("`{feature}` has no effect: a namespaced project ");
            let noted = noted("--namespaced", feature);
            assert!(noted.starts_with(&expected), "{noted}");
        }
        let both = "--namespaced --enable=metrics-auth,certmanager";
        for feature in [
            Feature::MetricsAuth,
            Feature::MetricsSecure,
            Feature::Certmanager,
        ] {
            assert_eq!(noted(both, feature), "");
        }
        assert_eq!(
            noted(
                "--namespaced --disable=metrics-secure",
                Feature::MetricsAuth
            ),
            "`metrics-auth` has no effect: without `metrics-secure`, every client can read \
             the metrics over plain HTTP"
        );
        assert_eq!(
            noted(
                "--enable=certmanager --disable=metrics-secure",
                Feature::Certmanager
            ),
            "`certmanager` has no certificate to issue: there are no webhooks, and metrics are not \
             served over HTTPS"
        );

        let member = Project {
            workspace: Some("..".parse().unwrap()),
            ..project()
        };
        let enabled = [Feature::Devcontainer, Feature::Github, Feature::Helm];
        let noted = notes(&member, &enabled);
        assert_eq!(noted.len(), 1);
        assert!(noted[0].starts_with("`github` has no effect: "));
    }

    #[test]
    fn workflows_below_the_top_of_a_repository_are_unread_if_there_are_any() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join(".git")).unwrap();
        let below = top.path().join("operator");
        let with_github = edited(&["--enable=github"]).unwrap();
        let member = Project {
            workspace: Some("..".parse().unwrap()),
            ..with_github.clone()
        };
        let without = edited(&["--disable=github"]).unwrap();
        assert!(unread_workflows(&below, &with_github).is_some());
        assert!(unread_workflows(top.path(), &with_github).is_none());
        // Neither has workflows.
        assert!(unread_workflows(&below, &member).is_none());
        assert!(unread_workflows(&below, &without).is_none());
    }
}
