//! Projects of branches that are merged.

use anyhow::{Result, bail};

use super::{Project, Resource};

impl Project {
    /// What `ours` and `theirs` make of `parent`, from which both branches come: all that each of them
    /// has changed. Without a parent, only equal projects can be merged.
    ///
    /// # Errors
    /// When the branches changed the same thing in two ways, or the project contradicts itself with the
    /// changes of both.
    pub fn merge(parent: Option<&Self>, ours: &Self, theirs: &Self) -> Result<Self> {
        let merged = Third::Parent(parent).of(ours, theirs)?;
        merged.validate()?;
        Ok(merged)
    }

    /// The project from which `ours` and `theirs` come, if they make `merged` together.
    ///
    /// # Errors
    /// Never: of two sides that differ, one has not changed.
    pub fn parent(ours: &Self, theirs: &Self, merged: &Self) -> Result<Self> {
        Third::Merged(merged).of(ours, theirs)
    }
}

/// The project that is known besides those of two branches.
#[derive(Clone, Copy)]
enum Third<'a> {
    /// The one from which the branches come. The result is what they make of it.
    Parent(Option<&'a Project>),
    /// The one that the branches make. The result is the one from which they come.
    Merged(&'a Project),
}

impl Third<'_> {
    /// The one of two values that the result has: the one that is changed or, for the parent, the one
    /// that is not. `None` if both are changed.
    fn pick<T: PartialEq>(
        self,
        ours: &Project,
        theirs: &Project,
        of: impl Fn(&Project) -> T,
    ) -> Option<T> {
        let parent = match self {
            Self::Parent(parent) => parent.map(&of),
            Self::Merged(merged) => Some(of(merged)),
        };
        let takes_changed = matches!(self, Self::Parent(_));
        let (ours, theirs) = (of(ours), of(theirs));
        if ours == theirs || parent.as_ref() == Some(&theirs) {
            Some(ours)
        } else if parent.as_ref() == Some(&ours) || !takes_changed {
            Some(theirs)
        } else {
            None
        }
    }

    fn of(self, ours: &Project, theirs: &Project) -> Result<Project> {
        macro_rules! field {
            ($field:ident, $name:literal) => {
                match self.pick(ours, theirs, |project| project.$field.clone()) {
                    Some(value) => value,
                    None => bail!("the branches disagree on `{}`", $name),
                }
            };
        }
        let mut result = Project {
            cli_version: field!(cli_version, "cliVersion"),
            domain: field!(domain, "domain"),
            features: ours.features.clone(),
            license: field!(license, "license"),
            namespaced: field!(namespaced, "namespaced"),
            owner: field!(owner, "owner"),
            project_name: field!(project_name, "projectName"),
            repo: field!(repo, "repo"),
            resources: Vec::new(),
            workspace: field!(workspace, "workspace"),
        };
        for feature in &ours.features ^ &theirs.features {
            let has = |project: &Project| project.features.contains(&feature);
            match self.pick(ours, theirs, has) {
                Some(true) => _ = result.features.insert(feature),
                Some(false) => _ = result.features.remove(&feature),
                None => bail!("the branches disagree on the feature `{feature}`"),
            }
        }
        let others = theirs.resources.iter();
        let others = others.filter(|resource| ours.position(resource).is_none());
        for resource in ours.resources.iter().chain(others) {
            let of = |project: &Project| -> Option<Resource> {
                Some(project.resources[project.position(resource)?].clone())
            };
            match self.pick(ours, theirs, of) {
                Some(resource) => result.resources.extend(resource),
                None => bail!("the branches disagree on {resource}"),
            }
        }
        result.sort();
        Ok(result)
    }
}
