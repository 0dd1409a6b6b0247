//! What `init` and `edit` say about a project as a whole.

use anyhow::{Result, bail};
use clap::Args;

use crate::{
    names::{Domain, ProjectName, Repo},
    project::{Feature, License, Project},
    report::UsageError,
};

/// What a project is as a whole. What is `None` stays as it is.
#[derive(Debug, Default, Args)]
pub struct Settings {
    /// Domain of the API groups: group `webapp` becomes `webapp.<DOMAIN>`
    #[arg(long)]
    pub domain: Option<Domain>,

    /// Where the project lives: its last part names the crate
    #[arg(long)]
    pub repo: Option<Repo>,

    /// Name of the project, the prefix of what it deploys
    #[arg(long, value_name = "NAME")]
    pub project_name: Option<ProjectName>,

    /// License of the project, named at the top of every source file
    #[arg(long, value_enum)]
    pub license: Option<License>,

    /// Who holds the copyright, as named in the license; `--owner=` names nobody in particular
    #[arg(long)]
    pub owner: Option<String>,

    /// Whether the operator watches its own namespace instead of the whole cluster
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    pub namespaced: Option<bool>,

    /// Feature to add to the project; may be repeated, or hold several between commas
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', value_enum)]
    pub enable: Vec<Feature>,

    /// Feature to remove from the project; may be repeated, or hold several between commas
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', value_enum)]
    #[arg(hide_possible_values = true)]
    pub disable: Vec<Feature>,
}

impl Settings {
    /// Changes `project` to what they say.
    ///
    /// # Errors
    /// When they contradict themselves, or the project does not go together with them.
    pub fn apply(self, project: &mut Project) -> Result<()> {
        let mut after = project.clone();
        if let Some(both) = self.enable.iter().find(|it| self.disable.contains(it)) {
            let message = format!("`{both}` cannot be both enabled and disabled");
            bail!(UsageError(message));
        }
        after.features.extend(self.enable);
        after.features.retain(|it| !self.disable.contains(it));
        if let Some(domain) = self.domain {
            after.domain = domain;
        }
        if let Some(repo) = self.repo {
            after.repo = repo;
        }
        if let Some(project_name) = self.project_name {
            after.project_name = project_name;
        }
        if let Some(owner) = self.owner {
            after.owner = Some(owner).filter(|owner| !owner.is_empty());
        }
        after.license = self.license.unwrap_or(after.license);
        after.namespaced = self.namespaced.unwrap_or(after.namespaced);
        after.validate()?;
        *project = after;
        Ok(())
    }
}

/// What the user may not expect of features that go together, or do not, and of those that were asked
/// for in vain.
pub fn notes(project: &Project, enabled: &[Feature]) -> Vec<String> {
    let mut notes = Vec::new();
    for feature in enabled {
        let reason = match feature {
            Feature::Devcontainer | Feature::Github if project.workspace.is_some() => {
                "its files are the repository's, and the project is a member of a workspace"
            }
            Feature::MetricsSecure if project.namespaced => {
                "a namespaced project serves plain HTTP, because to ask who it is takes rights in \
                 the whole cluster"
            }
            Feature::NetworkPolicy if project.namespaced => {
                "a namespaced project has a NetworkPolicy anyway"
            }
            _ => continue,
        };
        notes.push(format!("`{feature}` makes no difference: {reason}"));
    }
    let has_certmanager = project.features.contains(&Feature::Certmanager);
    if has_certmanager && !project.has_secure_metrics() {
        notes.push(format!(
            "`{}` has nothing to certify: metrics are not served over HTTPS",
            Feature::Certmanager
        ));
    }
    notes
}
