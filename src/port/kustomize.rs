//! Builds a kustomization as `kubectl kustomize` does, as far as the fields of the objects are read here. Nothing is
//! fetched or run: the result names each field that this code does not know, such as a generator, and each base that is
//! not in the project.

mod fields;
mod patch;
mod references;
mod resource;
mod transform;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

pub(super) use self::transform::image_name;
use self::{
    fields::Pairs,
    patch::{Patch, PatchFile},
    references::{Configuration, NameReference},
    resource::Resource,
    transform::{Image, LabelPairs, Replicas},
};
use super::{
    path::{folder, join},
    source::Manifest,
};
use crate::yaml::{Lines, documents, remove_nulls};

/// The files of a project: the text of each path.
pub(super) type Files<'a> = BTreeMap<&'a str, &'a str>;

/// The names that the file of a kustomization can have.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The largest number of objects, and of kustomizations, since each kustomization can contain others twice.
const MAX_OBJECTS: usize = 10_000;
const MAX_FOLDERS: usize = 1_000;

/// What a kustomization deploys.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub objects: Vec<Manifest>,
    /// The prefix of the names of most objects.
    pub prefix: String,
    /// The namespace of all objects. Empty if the kustomization does not set one.
    pub namespace: String,
    /// The folders of all kustomizations.
    pub folders: BTreeSet<String>,
    /// What was left out, with the file.
    pub left: BTreeSet<String>,
}

/// The file of a kustomization.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kustomization {
    resources: Vec<String>,
    bases: Vec<String>,
    components: Vec<String>,
    namespace: String,
    name_prefix: String,
    name_suffix: String,
    patches_strategic_merge: Vec<String>,
    patches: Vec<PatchFile>,
    patches_json6902: Vec<PatchFile>,
    labels: Vec<LabelPairs>,
    common_labels: Pairs,
    common_annotations: Pairs,
    replicas: Vec<Replicas>,
    images: Vec<Image>,
    configurations: Vec<String>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// The fields that change nothing in the objects.
const WITHOUT_EFFECT: [&str; 6] = [
    "apiVersion",
    "buildMetadata",
    "generatorOptions",
    "kind",
    "metadata",
    "sortOptions",
];

/// Builds the kustomization in `folder`, which has no slash at its end.
pub(super) fn build(files: &Files, folder: &str) -> Built {
    let mut builder = Builder {
        files,
        built: Built::default(),
        lines: BTreeMap::new(),
        references: Vec::new(),
        open: Vec::new(),
        visited: 0,
    };
    let mut resources = Vec::new();
    builder.add_folder(folder, &mut resources);
    references::resolve(&mut resources, &builder.references);
    let objects = resources.into_iter().map(|resource| resource.object);
    builder.built.objects = objects.collect();
    builder.built
}

/// The place of a value.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    /// The number of the document in the file.
    document: usize,
    path: &'a [&'a str],
}

impl<'a> Place<'a> {
    fn new(file: &'a str, document: usize, path: &'a [&'a str]) -> Self {
        Self {
            file,
            document,
            path,
        }
    }
}

struct Builder<'a> {
    files: &'a Files<'a>,
    built: Built,
    /// The lines of the files in which something was left out.
    lines: BTreeMap<String, Lines>,
    /// What all files of `configurations` declare.
    references: Vec<NameReference>,
    /// The folders that are being built, each inside of the one before.
    open: Vec<String>,
    /// How many folders were built.
    visited: usize,
}

impl Builder<'_> {
    /// Names what was left out, with the file and the line of the value.
    fn leave(&mut self, at: Place, what: &str) {
        let text = self.files.get(at.file).copied().unwrap_or_default();
        let lines = self.lines.entry(at.file.to_owned());
        let lines = lines.or_insert_with(|| Lines::of(text));
        let place = match lines.line(at.document, at.path) {
            Some((line, _)) => format!("{}:{line}", at.file),
            None => at.file.to_owned(),
        };
        self.built.left.insert(format!("`{place}`: {what}"));
    }

    fn leave_field(&mut self, file: &str, document: usize, name: &str) {
        let what = format!("`{name}`, which `init --from` does not apply");
        self.leave(Place::new(file, document, &[name]), &what);
    }

    /// The path of the kustomization in `folder`.
    fn file(&self, folder: &str) -> Option<String> {
        let mut paths = NAMES.iter().filter_map(|name| join(folder, name));
        paths.find(|path| self.files.contains_key(path.as_str()))
    }

    /// Reads a document of a file. A field without a value, such as `resources:` alone, counts as missing.
    fn read<T: DeserializeOwned>(&mut self, file: &str, mut document: Value) -> Option<T> {
        remove_nulls(&mut document);
        match serde_json::from_value(document) {
            Ok(read) => Some(read),
            Err(error) => {
                self.leave(Place::new(file, 0, &[]), &error.to_string());
                None
            }
        }
    }

    fn documents(&mut self, file: &str) -> Vec<Value> {
        let text = self.files.get(file).copied().unwrap_or_default();
        match documents(text) {
            Ok(documents) => documents,
            Err(error) => {
                self.leave(Place::new(file, 0, &[]), &error.to_string());
                Vec::new()
            }
        }
    }

    /// Adds the objects of the kustomization in `folder` to `resources`, and changes all of them.
    fn add_folder(&mut self, folder: &str, resources: &mut Vec<Resource>) {
        self.visited += 1;
        if self.visited > MAX_FOLDERS || resources.len() > MAX_OBJECTS {
            let what = "the kustomizations have too many folders or objects";
            return self.leave(Place::new(folder, 0, &[]), what);
        }
        if self.open.iter().any(|open| open == folder) {
            let what = "a kustomization that contains itself";
            return self.leave(Place::new(folder, 0, &[]), what);
        }
        let Some(file) = self.file(folder) else {
            let below = format!("{folder}/");
            let what = "there is no kustomization in this folder; its manifests were read";
            self.leave(Place::new(&below, 0, &[]), what);
            self.built.folders.insert(folder.to_owned());
            let files = self.files;
            for path in files.keys().filter(|path| path.starts_with(&below)) {
                self.add_file(path, resources);
            }
            return;
        };
        // kustomize ignores further documents.
        let first = self.documents(&file).into_iter().next();
        let Some(kustomization) = first.and_then(|first| self.read::<Kustomization>(&file, first))
        else {
            return;
        };
        self.built.folders.insert(folder.to_owned());
        self.open.push(folder.to_owned());
        for (field, entries) in [
            ("resources", &kustomization.resources),
            ("bases", &kustomization.bases),
        ] {
            for entry in entries {
                let mut added = Vec::new();
                self.entry(Place::new(&file, 0, &[field, entry]), entry, &mut added);
                resources.append(&mut added);
            }
        }
        for component in &kustomization.components {
            let path = ["components", component];
            if let Some(path) = self.path(Place::new(&file, 0, &path), component) {
                self.add_folder(&path, resources);
            }
        }
        for name in kustomization.others.keys() {
            if !WITHOUT_EFFECT.contains(&name.as_str()) {
                self.leave_field(&file, 0, name);
            }
        }
        for configuration in &kustomization.configurations {
            self.configure(&file, configuration);
        }
        self.change(&file, &kustomization, resources);
        self.open.pop();
        // The outermost kustomization is finished last, so its values remain.
        self.built.prefix = kustomization.name_prefix;
        self.built.namespace = kustomization.namespace;
    }

    /// Adds the objects of a file or a folder that a kustomization names at `place`.
    fn entry(&mut self, place: Place, entry: &str, resources: &mut Vec<Resource>) {
        let Some(path) = self.path(place, entry) else {
            return;
        };
        if self.files.contains_key(path.as_str()) {
            self.add_file(&path, resources);
        } else {
            self.add_folder(&path, resources);
        }
    }

    /// Adds the objects of a file.
    fn add_file(&mut self, path: &str, resources: &mut Vec<Resource>) {
        for (document, value) in self.documents(path).into_iter().enumerate() {
            let kind = value["kind"].as_str().unwrap_or("");
            let items = match &value["items"] {
                Value::Array(items) if kind.ends_with("List") => items.clone(),
                _ => vec![value],
            };
            for value in items {
                if value["kind"].is_string() {
                    resources.push(Resource::new(Manifest::new(path, document, value)));
                }
            }
        }
    }

    /// Whether the project has this file or folder.
    fn has(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&below))
    }

    /// The path of an entry that a kustomization has at `place`. An entry that is not in the project is left out.
    fn path(&mut self, place: Place, entry: &str) -> Option<String> {
        let path = join(folder(place.file), entry).filter(|path| self.has(path));
        if path.is_none() {
            let is_remote = entry.contains("://")
                || entry.contains("?ref=")
                || entry.starts_with("git@")
                || entry.starts_with("github.com/");
            let what = if is_remote {
                format!("the remote base `{entry}`, which `init --from` does not fetch")
            } else {
                format!("`{entry}`, which was not found")
            };
            self.leave(place, &what);
        }
        path
    }

    /// Adds what a file of `configurations` declares.
    fn configure(&mut self, file: &str, entry: &str) {
        let place = ["configurations", entry];
        let Some(path) = self.path(Place::new(file, 0, &place), entry) else {
            return;
        };
        for (number, document) in self.documents(&path).into_iter().enumerate() {
            let Some(configuration) = self.read::<Configuration>(&path, document) else {
                continue;
            };
            for name in configuration.others.keys() {
                // `namespace` is for fields that are not read here, and `varReference` is where `vars` are replaced.
                if !matches!(name.as_str(), "namespace" | "varReference") {
                    self.leave_field(&path, number, name);
                }
            }
            self.references.extend(configuration.name_reference);
        }
    }

    /// Changes the objects, in the order of kustomize.
    fn change(&mut self, file: &str, kustomization: &Kustomization, resources: &mut Vec<Resource>) {
        for (number, entry) in kustomization.patches_strategic_merge.iter().enumerate() {
            // A path, or the patch itself.
            let is_path = join(folder(file), entry).is_some_and(|path| self.has(&path));
            let patch = PatchFile {
                path: is_path.then(|| entry.clone()),
                patch: entry.clone(),
                target: None,
            };
            let at = ["patchesStrategicMerge", &number.to_string()];
            self.patch(Place::new(file, 0, &at), &patch, resources);
        }
        for (number, patch) in kustomization.patches.iter().enumerate() {
            let at = ["patches", &number.to_string()];
            self.patch(Place::new(file, 0, &at), patch, resources);
        }
        if !kustomization.namespace.is_empty() {
            transform::namespace(resources, &kustomization.namespace);
        }
        let (prefix, suffix) = (&kustomization.name_prefix, &kustomization.name_suffix);
        transform::rename(resources, prefix, suffix);
        for labels in &kustomization.labels {
            transform::label(resources, labels);
        }
        if !kustomization.common_labels.is_empty() {
            let labels = LabelPairs::common(kustomization.common_labels.clone());
            transform::label(resources, &labels);
        }
        transform::annotate(resources, &kustomization.common_annotations);
        for (number, patch) in kustomization.patches_json6902.iter().enumerate() {
            let at = ["patchesJson6902", &number.to_string()];
            self.patch(Place::new(file, 0, &at), patch, resources);
        }
        for replicas in &kustomization.replicas {
            transform::replicate(resources, replicas);
        }
        for image in &kustomization.images {
            transform::set_image(resources, image);
        }
    }

    /// Applies the patch that a kustomization names or contains at `place`.
    fn patch(&mut self, place: Place, patch: &PatchFile, resources: &mut Vec<Resource>) {
        let (source, changes) = if let Some(entry) = &patch.path {
            let at = [place.path, &["path"]].concat();
            let Some(source) = self.path(Place::new(place.file, 0, &at), entry) else {
                return;
            };
            let changes = self.documents(&source);
            (source, changes)
        } else {
            match documents(&patch.patch) {
                Ok(changes) => (place.file.to_owned(), changes),
                Err(error) => return self.leave(place, &format!("a patch: {error}")),
            }
        };
        for (document, change) in changes.into_iter().enumerate() {
            let start = if change.is_array() { "0" } else { "kind" };
            let document_in_file = (source.clone(), document);
            let applied = Patch::new(change).and_then(|content| {
                content.apply(&document_in_file, patch.target.as_ref(), resources)
            });
            if let Err(error) = applied {
                let what = format!("a patch: {error:#}");
                match patch.path {
                    Some(_) => self.leave(Place::new(&source, document, &[start]), &what),
                    None => self.leave(place, &what),
                }
            }
        }
    }
}
