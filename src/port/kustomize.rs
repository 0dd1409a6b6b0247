//! Builds a kustomization as `kubectl kustomize` does. Nothing is fetched or run: the result names each field that this
//! code does not know, such as a generator, and each base that is not in the project.

mod fields;
mod patch;
mod references;
mod resource;
mod transform;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

pub(super) use self::transform::image_name;
use self::{
    fields::Pairs,
    patch::{Patch, PatchFile},
    references::Reference,
    resource::Resource,
    transform::{Image, LabelPairs, Replicas},
};
use super::{
    path::{folder, join},
    source::{Object, at},
};
use crate::yaml::documents;

/// The files of a project: the text of each path.
pub(super) type Files<'a> = BTreeMap<&'a str, &'a str>;

/// The names that the file of a kustomization can have.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The largest number of objects, and of kustomizations, since each kustomization can contain others twice.
const MAX_OBJECTS: usize = 10_000;
const MAX_FOLDERS: usize = 1_000;

/// What a kustomization deploys.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub objects: Vec<Object>,
    /// The prefix of the names of most objects.
    pub prefix: String,
    /// The namespace of all objects, if the kustomization sets one.
    pub namespace: Option<String>,
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
        references: references::usual(),
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

struct Builder<'a> {
    files: &'a Files<'a>,
    built: Built,
    references: Vec<Reference>,
    /// The folders that are being built, each inside of the one before.
    open: Vec<String>,
    /// How many folders were built.
    visited: usize,
}

impl Builder<'_> {
    fn leave(&mut self, file: &str, what: &str) {
        self.built.left.insert(format!("`{file}`: {what}"));
    }

    /// The path of the kustomization in `folder`.
    fn file(&self, folder: &str) -> Option<String> {
        let mut paths = NAMES
            .iter()
            .map(|name| join(folder, name).unwrap_or_default());
        paths.find(|path| self.files.contains_key(path.as_str()))
    }

    /// The kustomization in `folder`, if there is one that can be read.
    fn kustomization(&mut self, folder: &str) -> Option<Kustomization> {
        let file = self.file(folder)?;
        let value = self.documents(&file).pop()?;
        let set = without_nulls(value);
        match serde_json::from_value(set) {
            Ok(kustomization) => Some(kustomization),
            Err(error) => {
                self.leave(&file, &error.to_string());
                None
            }
        }
    }

    fn documents(&mut self, file: &str) -> Vec<Value> {
        let text = self.files.get(file).copied().unwrap_or_default();
        match documents(text) {
            Ok(documents) => documents,
            Err(error) => {
                self.leave(file, &error.to_string());
                Vec::new()
            }
        }
    }

    /// Adds the objects of the kustomization in `folder` to `resources`, and changes all of them.
    fn add_folder(&mut self, folder: &str, resources: &mut Vec<Resource>) {
        self.visited += 1;
        if self.visited > MAX_FOLDERS || resources.len() > MAX_OBJECTS {
            self.leave(
                folder,
                "the kustomizations have too many folders or objects",
            );
            return;
        }
        if self.open.iter().any(|open| open == folder) {
            self.leave(folder, "a kustomization that contains itself");
            return;
        }
        let Some(file) = self.file(folder) else {
            self.leave(
                &format!("{folder}/"),
                "there is no kustomization in this folder; its manifests were read",
            );
            self.built.folders.insert(folder.to_owned());
            let below = format!("{folder}/");
            let files: Vec<_> = self.files.keys().copied().collect();
            for path in files.into_iter().filter(|path| path.starts_with(&below)) {
                self.add_file(path, resources);
            }
            return;
        };
        let Some(kustomization) = self.kustomization(folder) else {
            return;
        };
        self.built.folders.insert(folder.to_owned());
        self.open.push(folder.to_owned());
        for entry in kustomization.resources.iter().chain(&kustomization.bases) {
            let mut added = Vec::new();
            self.entry(&file, entry, &mut added);
            resources.append(&mut added);
        }
        for component in &kustomization.components {
            match self.path(&file, component) {
                Some(path) => self.add_folder(&path, resources),
                None => self.leave_outside(&file, component),
            }
        }
        for name in kustomization.others.keys() {
            if !WITHOUT_EFFECT.contains(&name.as_str()) {
                self.leave(
                    &file,
                    &format!("`{name}`, which `init --from` does not apply"),
                );
            }
        }
        for configuration in &kustomization.configurations {
            self.configure(&file, configuration);
        }
        self.change(&file, &kustomization, resources);
        self.open.pop();
        if self.open.is_empty() {
            self.built.prefix = kustomization.name_prefix;
            self.built.namespace =
                Some(kustomization.namespace).filter(|namespace| !namespace.is_empty());
        }
    }

    /// Adds the objects of a file or a folder that the kustomization in `file` names.
    fn entry(&mut self, file: &str, entry: &str, resources: &mut Vec<Resource>) {
        let Some(path) = self.path(file, entry) else {
            self.leave_outside(file, entry);
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
            let items = match at(&value, "items").and_then(Value::as_array) {
                Some(items)
                    if value["kind"]
                        .as_str()
                        .is_some_and(|kind| kind.ends_with("List")) =>
                {
                    items.clone()
                }
                _ => vec![value],
            };
            for value in items {
                if value["kind"].is_string() {
                    resources.push(Resource::new(Object {
                        sources: vec![(path.to_owned(), document)],
                        value,
                    }));
                }
            }
        }
    }

    /// The path of an entry of the kustomization in `file`, if it is in the project.
    fn path(&self, file: &str, entry: &str) -> Option<String> {
        let path = join(folder(file), entry)?;
        let below = format!("{path}/");
        let is_folder = self.files.keys().any(|known| known.starts_with(&below));
        (is_folder || self.files.contains_key(path.as_str())).then_some(path)
    }

    fn leave_outside(&mut self, file: &str, entry: &str) {
        let is_remote = entry.contains("://")
            || entry.contains("?ref=")
            || entry.starts_with("git@")
            || entry.starts_with("github.com/");
        let what = if is_remote {
            format!("the remote base `{entry}`, which `init --from` does not fetch")
        } else {
            format!("`{entry}`, which was not found")
        };
        self.leave(file, &what);
    }

    /// Adds the references that a file of `configurations` declares.
    fn configure(&mut self, file: &str, configuration: &str) {
        let Some(path) = self.path(file, configuration) else {
            self.leave_outside(file, configuration);
            return;
        };
        for value in self.documents(&path) {
            let unknown = references::configured(&value, &mut self.references);
            for name in unknown {
                self.leave(
                    &path,
                    &format!("`{name}`, which `init --from` does not apply"),
                );
            }
        }
    }

    /// Changes the objects, in the order of kustomize.
    fn change(&mut self, file: &str, kustomization: &Kustomization, resources: &mut Vec<Resource>) {
        for entry in &kustomization.patches_strategic_merge {
            let patch = PatchFile::strategic(entry, self.path(file, entry).is_some());
            self.patch(file, &patch, resources);
        }
        for patch in &kustomization.patches {
            self.patch(file, patch, resources);
        }
        if !kustomization.namespace.is_empty() {
            transform::namespace(resources, &kustomization.namespace, &self.references);
        }
        transform::rename(
            resources,
            &kustomization.name_prefix,
            &kustomization.name_suffix,
        );
        for labels in &kustomization.labels {
            transform::label(resources, labels);
        }
        if !kustomization.common_labels.is_empty() {
            let labels = LabelPairs::common(kustomization.common_labels.clone());
            transform::label(resources, &labels);
        }
        transform::annotate(resources, &kustomization.common_annotations);
        for patch in &kustomization.patches_json6902 {
            self.patch(file, patch, resources);
        }
        for replicas in &kustomization.replicas {
            transform::replicate(resources, replicas);
        }
        for image in &kustomization.images {
            transform::set_image(resources, image);
        }
    }

    /// Applies a patch that the kustomization in `file` names or contains.
    fn patch(&mut self, file: &str, patch: &PatchFile, resources: &mut Vec<Resource>) {
        let source = match &patch.path {
            None => Some(file.to_owned()),
            Some(entry) => self.path(file, entry),
        };
        let Some(source) = source else {
            self.leave_outside(file, patch.path.as_deref().unwrap_or(""));
            return;
        };
        let read = match &patch.path {
            None => documents(&patch.patch),
            Some(_) => Ok(self.documents(&source)),
        };
        let changes = read.unwrap_or_else(|error| {
            self.leave(file, &format!("a patch: {error}"));
            Vec::new()
        });
        for (number, change) in changes.into_iter().enumerate() {
            let place = (source.clone(), number);
            let applied = Patch::new(change)
                .and_then(|content| content.apply(&place, patch.target.as_ref(), resources));
            if let Err(error) = applied {
                self.leave(&source, &format!("a patch: {error:#}"));
            }
        }
    }
}

/// An object without the fields that are null: kustomize reads `resources:` without a value as an empty list.
fn without_nulls(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| !field.is_null());
    }
    value
}
