//! The CRDs of the Go project: those of its own kinds, and those of kinds that another project defines.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    deployed::Deployed,
    file::{GoProject, GoResource},
    group_kind::GroupKind,
    lost::Lost,
    path::{folder, folder_of_import, is_file_of, is_in_test_folder},
    source::Source,
};
use crate::crd::{self, Crd};

/// The CRDs of the Go project.
pub(super) struct Crds {
    /// Those of its own kinds, each with the path of its file: as they are deployed, if they are deployed.
    pub own: Vec<(String, Crd)>,
    /// Those of the other kinds of PROJECT, which other projects define, from any manifest of the Go project.
    pub others: BTreeMap<GroupKind, Crd>,
    /// The kind of each entry of PROJECT.
    pub entries: Vec<GroupKind>,
}

impl Crds {
    pub fn new(source: &Source, go: &GoProject, deployed: &Deployed, lost: &mut Lost) -> Self {
        let mut external = BTreeSet::new();
        for resource in go.resources.iter().filter(|resource| resource.external) {
            external.insert(GroupKind::of_entry(resource, None));
        }
        let mut others = BTreeMap::new();
        let mut own = Vec::new();
        for (file, crd) in in_config(source, deployed, lost) {
            if external.contains(&GroupKind::of(&crd)) {
                others.insert(GroupKind::of(&crd), crd);
            } else {
                own.push((file, crd));
            }
        }
        own.extend(in_charts(source, go, &own, lost));
        own.sort_by(|(_, a), (_, b)| (&a.group, &a.plural).cmp(&(&b.group, &b.plural)));
        let of_others: Vec<_> = (go.resources.iter())
            .filter(|entry| !entry.has_api())
            .collect();
        for (file, text) in source.manifest_files("") {
            let mut entries = of_others.iter();
            let is_named =
                entries.any(|entry| text.contains(&entry.group) && text.contains(&entry.kind));
            if !is_named || !has_crd(text) {
                continue;
            }
            // CRDs of `config` that cannot be read are reported above.
            for crd in crd::parse(file, text).into_iter().flatten() {
                let mut entries = of_others.iter();
                let is_wanted = external.contains(&GroupKind::of(&crd))
                    || entries.any(|entry| entry.is_of(&crd.group, &crd.kind));
                let is_other =
                    |(_, known): &(String, Crd)| GroupKind::of(known) != GroupKind::of(&crd);
                if is_wanted && own.iter().all(is_other) {
                    others.entry(GroupKind::of(&crd)).or_insert(crd);
                }
            }
        }
        Self {
            entries: kinds_of_entries(source, go, &own, &others),
            own,
            others,
        }
    }
}

/// The CRDs of kinds of PROJECT that `config` does not have, from the folders in which charts have their CRDs. Tests have
/// CRDs of other projects in such folders.
fn in_charts(
    source: &Source,
    go: &GoProject,
    known: &[(String, Crd)],
    lost: &mut Lost,
) -> Vec<(String, Crd)> {
    let mut found: Vec<(String, Crd)> = Vec::new();
    for (file, text) in source.manifest_files("") {
        let is_in_chart = folder(file).split('/').any(|name| name == "crds");
        if !is_in_chart || is_in_test_folder(file) || !has_crd(text) {
            continue;
        }
        let crds = crd::parse(file, text).unwrap_or_else(|error| {
            lost.add(format!("{error:#}"));
            Vec::new()
        });
        for crd in crds {
            let mut entries = go.resources.iter().filter(|entry| entry.has_api());
            let is_own =
                entries.any(|entry| entry.is_of(&crd.group, &crd.kind) && entry.is_in(&crd.group));
            let is_new = |(_, other): &(String, Crd)| GroupKind::of(other) != GroupKind::of(&crd);
            if is_own && known.iter().all(is_new) && found.iter().all(is_new) {
                found.push((file.to_owned(), crd));
            }
        }
    }
    found
}

/// The kind of each entry of PROJECT. An entry may have another group than its CRD, such as one without the domain, if no
/// other entry and no other CRD is meant. The code of the API says the group, too.
fn kinds_of_entries(
    source: &Source,
    go: &GoProject,
    own: &[(String, Crd)],
    others: &BTreeMap<GroupKind, Crd>,
) -> Vec<GroupKind> {
    let mut by_kind: BTreeMap<&str, Vec<&Crd>> = BTreeMap::new();
    for (_, crd) in own {
        by_kind.entry(&crd.kind).or_default().push(crd);
    }
    let mut kinds = Vec::new();
    for entry in &go.resources {
        let mut kind = GroupKind::of_entry(entry, go.domain.as_deref());
        if entry.has_api()
            && let Some(group) = group_in_code(source, entry)
        {
            group.clone_into(&mut kind.group);
        }
        kinds.push(kind);
    }
    let written: BTreeSet<_> = kinds.iter().cloned().collect();
    for (entry, kind) in go.resources.iter().zip(&mut kinds) {
        let mut crds = by_kind.get(&*entry.kind).cloned().unwrap_or_default();
        if !entry.has_api() {
            crds.extend(others.values());
        }
        crds.retain(|crd| entry.is_of(&crd.group, &crd.kind));
        if crds.len() > 1 {
            crds.retain(|crd| entry.is_in(&crd.group));
        }
        if let [only] = crds[..]
            && !written.contains(&GroupKind::of(only))
        {
            *kind = GroupKind::of(only);
        }
    }
    kinds
}

/// The group in the marker of the Go package of an entry. controller-gen gives this group to the CRD.
fn group_in_code<'a>(source: &'a Source, entry: &GoResource) -> Option<&'a str> {
    let module = source.go.module.as_deref().unwrap_or("");
    let package = folder_of_import(entry.path.as_deref()?, module)?;
    let files = source.files.texts.iter();
    let mut lines = files
        .filter(|(path, _)| folder(path) == package && is_file_of("go", path))
        .flat_map(|(_, text)| text.lines());
    let group = lines.find_map(|line| {
        let comment = line.trim_start().strip_prefix("//")?;
        comment.trim_start().strip_prefix("+groupName=")
    });
    group.map(str::trim).filter(|group| !group.is_empty())
}

/// The CRDs in the folder `config`, in the order of their names in a cluster.
fn in_config(source: &Source, deployed: &Deployed, lost: &mut Lost) -> Vec<(String, Crd)> {
    let mut found: BTreeMap<(String, String), (String, Crd)> = BTreeMap::new();
    for folder in ["config/crd/bases/", "config/crd/", "config/"] {
        for (file, text) in source.manifest_files(folder) {
            // A patch is not a complete CRD.
            let is_patch = file.contains("/patches/") || file.contains("kustomiz");
            if is_patch || !has_crd(text) || !text.contains("versions:") {
                continue;
            }
            let crds = crd::parse(file, text).unwrap_or_else(|error| {
                lost.add(format!("{error:#}"));
                Vec::new()
            });
            for crd in crds {
                let name = (crd.group.clone(), crd.plural.clone());
                found.entry(name).or_insert_with(|| (file.to_owned(), crd));
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    for object in deployed.crds() {
        match crd::of_object(object.file(), object.value.clone()) {
            Ok(crd) => {
                let name = (crd.group.clone(), crd.plural.clone());
                let before = found.remove(&name);
                let file = before.map_or_else(|| object.file().to_owned(), |(file, _)| file);
                found.insert(name, (file, crd));
            }
            Err(error) => lost.add(format!("{error:#}")),
        }
    }
    found.into_values().collect()
}

fn has_crd(text: &str) -> bool {
    text.contains("CustomResourceDefinition")
}
