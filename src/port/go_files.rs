//! Which kinds the files of the Go code belong to.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    crds::Crds,
    file::{GoProject, begins},
    go_file::File,
    group_kind::GroupKind,
    path::{file_name, folder, folder_of_import},
    source::Source,
};

/// Which kinds the files of the Go code belong to.
pub(super) struct GoFiles<'a> {
    /// For each file, the kinds whose name begins the file name.
    pub about: BTreeMap<&'a str, BTreeSet<GroupKind>>,
    /// All kinds, by their names in lower case, each with the places of its Go packages.
    kinds: BTreeMap<String, BTreeMap<GroupKind, BTreeSet<&'a str>>>,
    /// The path of the Go module; empty if it is unknown.
    module: &'a str,
}

impl<'a> GoFiles<'a> {
    pub fn new(source: &'a Source, go: &'a GoProject, crds: &Crds) -> Self {
        let mut files = Self {
            about: BTreeMap::new(),
            kinds: BTreeMap::new(),
            module: source.go.module.as_deref().unwrap_or(""),
        };
        for (entry, kind) in go.resources.iter().zip(&crds.entries) {
            let package = entry.path.as_deref().map(|path| files.place(path));
            files.places(kind.clone()).extend(package);
        }
        for (_, crd) in &crds.own {
            files.places(GroupKind::of(crd));
        }
        for file in source.go.files() {
            let about = files.called(file_name(&file.path), folder(&file.path));
            if !about.is_empty() {
                let kinds = about.into_iter().cloned().collect();
                files.about.insert(&file.path, kinds);
            }
        }
        files
    }

    /// The places of the Go packages of a kind, which is added.
    fn places(&mut self, kind: GroupKind) -> &mut BTreeSet<&'a str> {
        let namesakes = self
            .kinds
            .entry(kind.kind.to_ascii_lowercase())
            .or_default();
        namesakes.entry(kind).or_default()
    }

    /// The place of a Go package: its folder in the project, or else its import path.
    fn place<'p>(&self, import: &'p str) -> &'p str {
        folder_of_import(import, self.module).unwrap_or(import)
    }

    /// The place of the package that a file calls `package`; an empty name is that of its own package.
    pub fn place_of<'p>(&self, file: &'p File, package: &str) -> &'p str {
        match package {
            "" => folder(&file.path),
            package => self.place(file.import(package).unwrap_or("")),
        }
    }

    /// The kind that a file means by a type of a package. A kind that is not in the project, or may be in several groups,
    /// has no group.
    pub fn only(&self, file: &File, package: &str, kind: &str) -> GroupKind {
        match self.of_type(file, package, kind)[..] {
            [known] => known.clone(),
            _ => GroupKind {
                kind: kind.to_owned(),
                group: String::new(),
            },
        }
    }

    /// The kinds that a file may mean by a type of a package. Several if kinds of several groups have the name, and the
    /// import does not say which group it is.
    pub fn of_type(&self, file: &File, package: &str, kind: &str) -> Vec<&GroupKind> {
        if !self.kinds.contains_key(&kind.to_ascii_lowercase()) {
            return Vec::new();
        }
        let mut kinds = self.named(kind, self.place_of(file, package));
        kinds.retain(|found| found.kind == kind);
        kinds
    }

    /// The kinds whose name is the start of `name`, in a file of a folder: `Book` for `book_types.go`. If several names
    /// match, the longest: `Bookcase` for `bookcase_types.go`.
    pub fn called(&self, name: &str, folder: &str) -> Vec<&GroupKind> {
        let joined = name.replace('_', "").to_ascii_lowercase();
        // Of two names that begin the name, the longer one is sorted after the shorter one.
        let mut names = self.kinds.keys().rev();
        match names.find(|lower| joined.starts_with(*lower)) {
            Some(lower) => self.named(lower, folder),
            None => Vec::new(),
        }
    }

    /// The kinds with a name, in upper or lower case, that the code means by a package at this place, or in a file of
    /// this folder.
    pub fn named(&self, name: &str, place: &str) -> Vec<&GroupKind> {
        let Some(namesakes) = self.kinds.get(&name.to_ascii_lowercase()) else {
            return Vec::new();
        };
        let in_package = namesakes
            .iter()
            .filter(|(_, places)| places.contains(place));
        let mut found: Vec<_> = in_package.map(|(kind, _)| kind).collect();
        // The folders of a multigroup project have the names of groups, such as `api/<group>/<version>`.
        for part in place.rsplit('/').filter(|part| !part.is_empty()) {
            if found.is_empty() {
                found.extend(namesakes.keys().filter(|kind| begins(&kind.group, part)));
            }
        }
        if found.is_empty() && !place.starts_with("k8s.io/api/") {
            found.extend(namesakes.keys());
        }
        found
    }
}
