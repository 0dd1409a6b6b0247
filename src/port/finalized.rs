//! Which kinds have the finalizers of the Go code. An object that has a finalizer is deleted only after an operator has
//! removed the finalizer, so each finalizer that no controller gets is reported.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finalizers::{Action, Finalizers, Object, Setting, without_kind},
    go::{Go, Value},
    go_file::Place,
    go_files::GoFiles,
    lost::Lost,
};
use crate::project::Project;

/// The finalizers of the Go code.
pub(super) struct Finalized {
    found: Finalizers,
    /// The settings that add a finalizer, each with the kinds that get it.
    added: Vec<(Setting, BTreeSet<String>)>,
}

impl Finalized {
    pub fn new(go: &Go, files: &GoFiles) -> Self {
        let kinds = files.kinds.values().cloned().collect();
        let found = Finalizers::new(go, &kinds);
        let mut added = Vec::new();
        for setting in &found.settings {
            if setting.action == Action::Add {
                added.push((setting.clone(), kinds_with(setting, &found, files)));
            }
        }
        Self { found, added }
    }

    /// The finalizers that the code adds to objects of a kind, each with the first place.
    pub fn of_kind(&self, kind: &str) -> BTreeMap<Value, Place> {
        let mut finalizers = BTreeMap::new();
        for (setting, kinds) in &self.added {
            if kinds.contains(kind) {
                let places = finalizers.entry(setting.value.clone());
                places.or_insert(setting.place.clone());
            }
        }
        finalizers
    }

    /// Reports the finalizers that are of no kind, or of a kind without a controller.
    pub fn report(&self, project: &Project, lost: &mut Lost) {
        let mut controlled = BTreeSet::new();
        for (resource, _) in project.controllers() {
            controlled.insert(resource.kind.as_str());
        }
        for (setting, kinds) in &self.added {
            let (text, place) = (setting.value.text(), &setting.place);
            for kind in kinds {
                if !controlled.contains(kind.as_str()) {
                    lost.add(format!(
                        "the finalizer of {kind}, which is `{text}` in Go ({place}): there is no controller of {kind}; \
                         until one removes the finalizer, objects with it cannot be deleted"
                    ));
                }
            }
            match &setting.object {
                Object::Other(kind) => lost.add(format!(
                    "the finalizer `{text}` that the Go code adds to a {kind} ({place}): add it and remove it in the \
                     controller that works with the {kind}; until then, objects with it cannot be deleted"
                )),
                _ if !kinds.is_empty() => {}
                _ if setting.is_known() => lost.add(without_kind(text, place)),
                _ => lost.add(format!(
                    "a finalizer that the Go code computes by `{text}` ({place}): set `FINALIZER_NAME` in the \
                     controller of its kind; until then, objects with the finalizer cannot be deleted"
                )),
            }
        }
        // What is only removed was added by an earlier version, or by other code.
        let mut removed: BTreeMap<&Value, &Place> = BTreeMap::new();
        for setting in &self.found.settings {
            let mut added = self.added.iter();
            if setting.action == Action::Remove
                && !added.any(|(other, _)| other.value == setting.value)
            {
                removed.entry(&setting.value).or_insert(&setting.place);
            }
        }
        for (value, place) in removed {
            lost.add(format!(
                "the finalizer `{}`, which the Go code removes ({place}) but does not add: if objects have it, remove \
                 it in `reconcile` and in `cleanup`",
                value.text()
            ));
        }
        lost.add_all(&self.found.rest);
    }
}

/// The kinds that get the finalizer of a setting. If the setting does not say it, those from which the code removes the
/// finalizer.
fn kinds_with(setting: &Setting, found: &Finalizers, files: &GoFiles) -> BTreeSet<String> {
    let mut kinds = kinds_of(setting, files);
    if kinds.is_empty() && setting.object == Object::Unknown && setting.is_known() {
        for other in &found.settings {
            if other.value == setting.value && other != setting {
                kinds.extend(kinds_of(other, files));
            }
        }
    }
    kinds
}

/// The kinds of a setting: what the code says about the object, or else the kind of the controller in the file, the kind
/// that the name of the file or of the constant begins with, and at last the kinds of the controllers in the folder.
fn kinds_of(setting: &Setting, files: &GoFiles) -> BTreeSet<String> {
    let path = &*setting.place.path;
    match &setting.object {
        Object::Kind(kind) => return BTreeSet::from([kind.clone()]),
        Object::Other(_) => return BTreeSet::new(),
        Object::Unknown => {}
    }
    if let Some(kinds) = files.setups.get(path)
        && !kinds.is_empty()
    {
        return kinds.clone();
    }
    let by_file = files.about.get(path).map(String::as_str);
    let by_constant = setting.name.as_deref().and_then(|name| files.called(name));
    if let Some(kind) = by_file.or(by_constant) {
        return BTreeSet::from([kind.to_owned()]);
    }
    let all = files.setups.values().flatten();
    let beside = all.filter(|kind| files.is_beside(path, kind));
    beside.cloned().collect()
}
