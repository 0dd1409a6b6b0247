//! What the Go project gives to files: types and manifests from its CRDs, and its samples.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::{
    lost::Lost,
    operator::{GoKind, Operator},
    path::is_file_of,
};
use crate::{
    crd::fit::misfits,
    from_crd::KindFromCrd,
    project::{Project, Resource},
    visible::is_hidden,
    yaml::{Lines, documents},
};

/// The values for the types, samples and manifests of kinds with a CRD in the Go project, by path, and the differences
/// between the types and the CRDs.
pub(super) fn of_crds(
    kinds: &[GoKind],
    project: &Project,
) -> Result<(BTreeMap<String, Value>, Vec<String>)> {
    let (mut additions, mut differences) = (BTreeMap::new(), Vec::new());
    for kind in kinds {
        let Some(crd) = &kind.crd else { continue };
        let from_crd = match kind.resource(project) {
            Some(resource) if !resource.has_api() => {
                KindFromCrd::of_others(crd, Some(kind.id.version()), project)?
            }
            _ => KindFromCrd::of_project(crd, None, project)?,
        };
        let files = from_crd.files(project)?;
        additions.extend(files.additions);
        for loss in files.losses {
            differences.push(format!("`{}`: {loss}", kind.id.kind()));
        }
    }
    Ok((additions, differences))
}

/// The samples of the Go project that fit the types, by path.
pub(super) fn samples(
    operator: &Operator,
    project: &Project,
    lost: &mut Lost,
) -> BTreeMap<String, String> {
    let (mut texts, mut taken) = (BTreeMap::new(), BTreeMap::new());
    let others = operator.source.files.others.keys();
    for file in
        others.filter(|file| file.starts_with("config/samples/") && is_file_of("json", file))
    {
        lost.add(format!(
            "`{file}`: a sample in JSON, which is not read: copy it to `config/samples` as YAML"
        ));
    }
    for (file, text) in operator.source.manifest_files("config/samples/") {
        let text = &text.replace("\r\n", "\n");
        let documents = match documents(text) {
            Ok(documents) => documents,
            Err(error) => {
                lost.add(format!("`{file}`: the sample: {error:#}"));
                continue;
            }
        };
        let mut own = Vec::new();
        for (number, object) in documents.iter().enumerate() {
            own.extend(resource_of(object, project).map(|resource| (number, object, resource)));
        }
        let mut field = "kind".to_owned();
        let (number, why) = if let [(number, sample, resource)] = own.as_slice() {
            let path = format!("config/samples/{}", resource.sample_file());
            let why = if let Some(before) = taken.get(&path) {
                format!(
                    "is not in `{path}`, which has the text of `{before}`: copy the file, and add a line for it to \
                     `config/samples/kustomization.yaml`"
                )
            } else if text.contains(|c| is_hidden(c) && c != '\n' && c != '\t') {
                "has invisible characters".to_owned()
            } else if let Some((place, why)) = misfit(sample, resource, &operator.kinds, project) {
                field = place;
                why
            } else {
                texts.insert(path.clone(), text.to_owned());
                taken.insert(path, file);
                continue;
            };
            (*number, why)
        } else if let [_, (second, ..), ..] = own.as_slice() {
            let why =
                "has several objects of this project: copy each to its file in `config/samples`";
            (*second, why.to_owned())
        } else {
            let mut objects = documents.iter();
            let is_list = |object: &Value| object["items"].is_array();
            let first = objects
                .position(|object| object["metadata"]["name"].is_string() || is_list(object));
            let Some(first) = first else { continue };
            let why = if is_list(&documents[first]) {
                "is a list: copy each item to its own file in `config/samples`"
            } else {
                "has no object of a kind of this project: copy it to `config/samples`"
            };
            (first, why.to_owned())
        };
        let fields: Vec<_> = field.split('.').collect();
        let place = Lines::of(text).line(number, &fields);
        let line = place.map_or(1, |(line, _)| line);
        lost.add(format!("`{file}:{line}`: the sample {why}"));
    }
    texts
}

/// The version of a kind that the sample is an object of.
fn resource_of<'a>(sample: &Value, project: &'a Project) -> Option<&'a Resource> {
    let (group_version, kind) = (sample["apiVersion"].as_str()?, sample["kind"].as_str()?);
    let (group, version) = group_version.split_once('/')?;
    project.resources.iter().find(|resource| {
        resource.has_api()
            && resource.kind.as_str() == kind
            && resource.version.as_str() == version
            && project.full_group(resource) == group
    })
}

/// Where a sample does not fit the types of its kind, and the reason; `None` if it fits.
fn misfit(
    sample: &Value,
    resource: &Resource,
    kinds: &[GoKind],
    project: &Project,
) -> Option<(String, String)> {
    let group = project.full_group(resource);
    let mut crds = kinds.iter().filter_map(|kind| kind.crd.as_ref());
    let crd = crds.find(|crd| crd.kind == resource.kind.as_str() && crd.group == group);
    let Some(crd) = crd else {
        let why = "is of a kind whose fields are unknown";
        return Some(("kind".to_owned(), why.to_owned()));
    };
    let mut versions = crd.versions.iter();
    let version = versions.find(|version| version.name == resource.version.as_str())?;
    // If the schema has a `spec`, the Rust type requires it, even if the schema does not.
    let needs_spec = !version.schema["properties"]["spec"].is_null();
    let place = if needs_spec && sample["spec"].is_null() {
        "spec".to_owned()
    } else {
        misfits(sample, &version.schema).into_iter().next()?.place
    };
    let why = format!("does not fit the schema at `{place}`");
    Some((place, why))
}
