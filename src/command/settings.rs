//! What `init` and `edit` say about a project as a whole.

use anyhow::{Result, bail};

use crate::{
    names::{Domain, ProjectName, Repo},
    project::{Feature, License, Project},
};

/// What a project shall be. What is `None` stays as it is.
#[derive(Debug, Default)]
pub struct Settings {
    /// What every group ends in.
    pub domain: Option<Domain>,
    /// Where the code lives.
    pub repo: Option<Repo>,
    /// What the names of deployed objects begin with.
    pub project_name: Option<ProjectName>,
    /// Of the source files.
    pub license: Option<License>,
    /// Who holds the copyright; nothing for nobody in particular.
    pub owner: Option<String>,
    /// Whether the operator watches its own namespace only.
    pub namespaced: Option<bool>,
    /// What the project gets.
    pub enable: Vec<Feature>,
    /// What it loses.
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
            bail!("`{both}` cannot be both enabled and disabled");
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
