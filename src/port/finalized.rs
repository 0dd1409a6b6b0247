//! Which kinds have the finalizers of the Go code. An object that has a finalizer is deleted only after an operator has
//! removed the finalizer, so each finalizer that no controller gets is reported.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finalizers::{Action, FinalizerObject, Finalizers, Setting, without_kind},
    go::{Go, GoValue},
    go_file::Place,
    group_kind::GroupKind,
    lost::Lost,
    operator::GoKind,
    path::folder,
    setups::Setups,
};
use crate::project::Project;

/// The finalizers of the Go code.
pub(super) struct Finalized {
    found: Finalizers,
    /// The settings that add a finalizer, each with the kinds that get it.
    added: Vec<(Setting, BTreeSet<GroupKind>)>,
}

impl Finalized {
    pub fn new(go: &Go, setups: &Setups) -> Self {
        let found = Finalizers::new(go, setups);
        let mut added = Vec::new();
        for setting in &found.settings {
            if setting.action == Action::Add {
                added.push((setting.clone(), kinds_with(setting, &found, setups)));
            }
        }
        Self { found, added }
    }

    /// The settings that add a finalizer to objects of a kind.
    pub fn of_kind(&self, kind: &GroupKind) -> impl Iterator<Item = &Setting> {
        let added = self.added.iter();
        let of_kind = added.filter(move |(_, kinds)| kinds.contains(kind));
        of_kind.map(|(setting, _)| setting)
    }

    /// Reports the finalizers that are of no kind, or of a kind without a controller.
    pub fn report(&self, kinds: &[GoKind], project: &Project, lost: &mut Lost) {
        let mut controlled = BTreeSet::new();
        for kind in kinds {
            let resource = kind.resource(project);
            if resource.is_some_and(|resource| !resource.controllers.is_empty()) {
                controlled.insert(&kind.name);
            }
        }
        for (setting, kinds) in &self.added {
            let (text, place) = (setting.value.text(), &setting.place);
            for kind in kinds {
                let name = &kind.kind;
                if controlled.contains(kind) {
                    continue;
                }
                // The code that sets the controller up may mean kinds of several groups.
                let is_unclear = kind.group.is_empty();
                lost.add(if is_unclear && controlled.iter().any(|other| other.kind == *name) {
                    without_kind(text, place)
                } else {
                    format!(
                        "the finalizer of {name}, which is `{text}` in Go ({place}): there is no controller of {name}; \
                         until one removes the finalizer, objects with it cannot be deleted"
                    )
                });
            }
            match &setting.object {
                FinalizerObject::Other(kind) if !setting.is_known() => lost.add(format!(
                    "a finalizer that the Go code computes by `{text}` and adds to a {kind} ({place}): add it and remove it \
                     in the controller that works with the {kind}; until then, objects with it cannot be deleted"
                )),
                FinalizerObject::Other(kind) => lost.add(format!(
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
        let mut removed: BTreeMap<&GoValue, &Place> = BTreeMap::new();
        for setting in &self.found.settings {
            let mut added = self.added.iter();
            if setting.action == Action::Remove
                // An unknown function may add it.
                && !self.found.given.contains(&setting.value)
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
        lost.add_all(&self.found.lines);
    }
}

/// The kinds that get the finalizer of a setting. If the setting does not say it, those from which the code removes the
/// finalizer, and to which no other code adds it.
fn kinds_with(setting: &Setting, found: &Finalizers, setups: &Setups) -> BTreeSet<GroupKind> {
    let kinds = kinds_of(setting, setups);
    let is_of_other = matches!(setting.object, FinalizerObject::Other(_));
    if !kinds.is_empty() || is_of_other || !setting.is_known() {
        return kinds;
    }
    let (mut added, mut removed) = (BTreeSet::new(), BTreeSet::new());
    for other in &found.settings {
        if other.value == setting.value {
            match other.action {
                Action::Add => added.extend(kinds_of(other, setups)),
                Action::Remove => removed.extend(kinds_of(other, setups)),
                Action::Check => {}
            }
        }
    }
    &removed - &added
}

/// The kinds of a setting. The first rule that finds any counts:
///
/// 1. the type of the object
/// 2. the kind of the controller around the code
/// 3. the kind whose name begins the name of the file or of the constant
/// 4. the kinds of the controllers in the folder
///
/// None if kinds of several groups have the name, or if the code may belong to controllers of several kinds.
fn kinds_of(setting: &Setting, setups: &Setups) -> BTreeSet<GroupKind> {
    let path = &*setting.place.path;
    match &setting.object {
        FinalizerObject::Kind(kind) => return BTreeSet::from([kind.clone()]),
        FinalizerObject::Other(_) | FinalizerObject::Unresolved => return BTreeSet::new(),
        FinalizerObject::AnyObject => {}
    }
    let built = (setting.setups.iter()).map(|number| &setups.all[*number]);
    let of_code: BTreeSet<_> = built.map(|setup| setup.kind.clone()).collect();
    if of_code.len() == 1 {
        return of_code;
    }
    let named: Vec<_> = match (setups.files.about.get(path), &setting.name) {
        (Some(kinds), _) => kinds.iter().collect(),
        (None, Some(constant)) => setups.files.called(constant, folder(path)),
        (None, None) => Vec::new(),
    };
    match named[..] {
        [] if of_code.is_empty() => {}
        [kind] => return BTreeSet::from([kind.clone()]),
        _ => return BTreeSet::new(),
    }
    let kinds: BTreeSet<_> = setups.all.iter().map(|setup| &setup.kind).collect();
    let beside = kinds
        .into_iter()
        .filter(|kind| setups.is_beside(path, kind));
    beside.cloned().collect()
}
