//! What the new project is called: its domain, its name and its crate, from PROJECT, the CRDs, the Go module, the deployed
//! objects, or the folder.

use anyhow::Result;

use super::{
    crds::Crds,
    deployed::Deployed,
    error::Error,
    file::GoProject,
    lost::Lost,
    path::{file_name, without_major_version},
    source::Source,
};
use crate::{
    crd::Crd,
    names::{Domain, ProjectName, Repo},
    project::Project,
    visible::visible,
};

/// A new project without kinds. `shown` is the folder of the Go project.
///
/// # Errors
/// When the Go project has no domain, or no name that the new project can have.
pub(super) fn project(
    source: &Source,
    go: &GoProject,
    deployed: &Deployed,
    crds: &Crds,
    shown: &str,
    lost: &mut Lost,
) -> Result<Project> {
    let domain = domain(go, &crds.own, shown, lost)?;
    let path = go.repo.as_deref().or(source.go.module.as_deref());
    let module = path.map(without_major_version);
    let name = name(go, deployed, module, shown)?;
    let of_module = module.and_then(|module| lost.name::<Repo>("the Go module", module));
    let repo = match of_module {
        Some(repo) => repo,
        None => name.as_str().parse().map_err(Error::CrateName)?,
    };
    Ok(Project::new(domain, name, repo))
}

/// The domain of the API groups: from PROJECT, or the common end of the groups of the CRDs.
fn domain(go: &GoProject, crds: &[(String, Crd)], shown: &str, lost: &mut Lost) -> Result<Domain> {
    let of_project = go.domain.as_deref().filter(|domain| !domain.is_empty());
    if let Some(domain) = of_project
        && let Some(valid) = lost.name("the domain of PROJECT", domain)
    {
        return Ok(valid);
    }
    let common = common_domain(crds).and_then(|domain| domain.parse().ok());
    Ok(common.ok_or_else(|| Error::NoOperator(visible(shown).into_owned()))?)
}

/// The longest domain in which all groups of the CRDs are, or else that of the first group.
fn common_domain(crds: &[(String, Crd)]) -> Option<&str> {
    let (_, first) = crds.first()?;
    let (_, of_first) = first.group.split_once('.')?;
    for (dot, _) in first.group.match_indices('.') {
        let end = &first.group[dot..];
        if crds.iter().all(|(_, crd)| crd.group.ends_with(end)) {
            return end.strip_prefix('.');
        }
    }
    Some(of_first)
}

/// The name of the project: the prefix of the deployed objects, so that they keep their names, or else a name from PROJECT,
/// the Go module or the folder.
fn name(
    go: &GoProject,
    deployed: &Deployed,
    module: Option<&str>,
    shown: &str,
) -> Result<ProjectName> {
    let names = [
        deployed.prefix.strip_suffix('-'),
        go.project_name.as_deref(),
        module.map(file_name),
        Some(file_name(shown.trim_end_matches('/'))),
    ];
    let mut known = names.into_iter().flatten();
    let valid = known.find_map(|name| ProjectName::from_folder(name).ok());
    Ok(valid.ok_or(Error::NoName)?)
}
