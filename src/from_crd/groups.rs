//! Splits the full group of a CRD, such as `webapp.example.com`, into the group as in `PROJECT` and its domain.

use anyhow::{Result, anyhow};

use crate::{
    hint::OrHint,
    names::{Domain, Group, GroupVersionKind, Kind, Version},
    project::{Definition, External, Project, Resource},
};

/// Splits the full group `full` into the group as in `PROJECT`, and its domain if it differs from the project's domain.
///
/// # Errors
/// When `full` has no domain.
pub fn group(project: &Project, full: &Group) -> Result<(Group, Option<Domain>)> {
    // A group whose short name in `PROJECT` equals `full` is another group.
    let mut known = project.apis();
    if let Some(known) = known.find(|known| project.full_group(known) == full.as_str()) {
        return Ok((known.group.clone(), known.domain.clone()));
    }
    let short = full.without(&project.domain);
    if short != *full {
        return Ok((short, None));
    }
    let (group, domain) = split(project, full)?;
    Ok((group, Some(domain)))
}

/// Returns the resource for a kind that another project defines in the group `full`. Its types have no fields until the
/// user gives its CRD.
///
/// # Errors
/// When the group has no domain.
pub fn resource_of_others(
    project: &Project,
    full: &Group,
    version: Version,
    kind: Kind,
) -> Result<Resource> {
    let (group, domain) = group_of_others(project, full)?;
    let id = GroupVersionKind::new(group.clone(), version, kind);
    let definition = Definition::External(External::Given);
    Ok(Resource {
        domain,
        ..Resource::new(group, &id, definition)
    })
}

/// Like [`group`], for a kind that another project defines. If the domain is `None`, the group is the full group.
pub(super) fn group_of_others(project: &Project, full: &Group) -> Result<(Group, Option<Domain>)> {
    let mut resources = project.resources.iter();
    let known = resources
        .find(|resource| !resource.is_builtin() && project.full_group(resource) == full.as_str());
    if let Some(resource) = known {
        if resource.group.is_empty() {
            return Ok((full.clone(), None));
        }
        let own = resource.has_api().then_some(&project.domain);
        let domain = resource.domain.as_ref().or(own);
        return Ok((resource.group.clone(), domain.cloned()));
    }
    let short = full.without(&project.domain);
    // A group that is the domain of the project is named in full.
    if short.is_empty() {
        return Ok((full.clone(), None));
    }
    let (group, domain) = if short == *full || has_module(project, &short) {
        split(project, full)?
    } else {
        (short, project.domain.clone())
    };
    Ok((group, Some(domain)))
}

/// Splits `full` at a dot into a group and a domain.
fn split(project: &Project, full: &Group) -> Result<(Group, Domain)> {
    let mut splits: Vec<(Group, Domain)> = Vec::new();
    for (dot, _) in full.as_str().match_indices('.') {
        let (group, domain) = (&full.as_str()[..dot], &full.as_str()[dot + 1..]);
        splits.push((group.parse()?, domain.parse()?));
    }
    if splits.is_empty() {
        return Err(anyhow!("the group `{full}` has no domain")).or_hint(
            "the group of a CustomResourceDefinition ends in a domain, as in `webapp.example.com`",
        );
    }
    // Take the shortest group whose Rust module no other group of the project uses.
    let free = splits
        .iter()
        .position(|(group, _)| !has_module(project, group));
    Ok(splits.swap_remove(free.unwrap_or(0)))
}

/// Returns whether a group of the project has the same Rust module as `group`.
fn has_module(project: &Project, group: &Group) -> bool {
    let module = group.module(&project.domain);
    let mut resources = project.resources.iter();
    resources.any(|resource| project.group_module(resource) == module)
}
