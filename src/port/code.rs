//! What the Go code says about each of its controllers.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    finalized::Finalized,
    go::{Go, GoValue, written},
    go_file::{File, Place},
    group_kind::GroupKind,
    lost::Lost,
    operator::ControllerFacts,
    setups::Setups,
};
use crate::{names::ControllerName, visible::visible};

/// What the code says about a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MentionKind {
    FieldManager(GoValue),
    EventReporter(GoValue),
    /// A kind, with the name of its package.
    Owns((String, String)),
    Watches((String, String)),
    /// What the code watches by a variable, which may be an object or a source.
    Source(String),
}

/// What the code says, and where.
#[derive(Debug)]
struct Mention {
    kind: MentionKind,
    place: Place,
    /// The controllers that the code may belong to. Empty if the file builds no controller.
    setups: BTreeSet<usize>,
    /// Whether a controller has it, or a line says that the controller is unclear.
    is_told: Cell<bool>,
}

/// What all files say about controllers.
#[derive(Debug)]
pub(super) struct Mentions {
    all: Vec<Mention>,
}

impl Mentions {
    pub fn new(go: &Go, setups: &Setups) -> Self {
        let mut all = Vec::new();
        for file in go.files() {
            let mut said = Vec::new();
            for (at, function) in file.calls() {
                let what = match function {
                    "FieldOwner" | "WithFieldOwner" => MentionKind::FieldManager,
                    "GetEventRecorder" | "GetEventRecorderFor" => MentionKind::EventReporter,
                    _ => continue,
                };
                let arguments = file.arguments(at + 1);
                let name = arguments.first().map(|name| go.value(file, name));
                // A method may have the same name as the function.
                let name = name.filter(|name| !name.text().is_empty());
                said.extend(name.map(|name| (at, what(name))));
            }
            // `FieldOwner` is the type of a constant: `const owner client.FieldOwner = "books"`.
            for name in ["FieldManager", "FieldOwner"] {
                for (at, value) in file.set_to(name) {
                    said.push((at, MentionKind::FieldManager(go.value(file, &value))));
                }
            }
            if !setups.in_file(&file.path).is_empty() {
                said.extend(related(file, setups));
            }
            for (at, what) in said {
                all.push(Mention {
                    kind: what,
                    place: file.place(at),
                    setups: setups.at(file, at),
                    is_told: Cell::new(false),
                });
            }
        }
        Self { all }
    }

    /// What the code says about each controller of a kind. Reports what may be about several controllers, and the
    /// controllers that have no name here.
    pub fn of_kind(
        &self,
        kind: &GroupKind,
        names: &[ControllerName],
        setups: &Setups,
        finalized: &Finalized,
        lost: &mut Lost,
    ) -> Vec<ControllerFacts> {
        let mut controllers: Vec<_> = names.iter().map(ControllerFacts::new).collect();
        let owners = Owners::new(kind, names, setups, &mut controllers, lost);
        for setting in finalized.of_kind(kind) {
            let text = setting.value.text();
            let of_kind = setting.setups.iter().filter(|number| owners.has(**number));
            let why = match owners.only(&of_kind.copied().collect()) {
                Owner::One(number) => {
                    let finalizers = &mut controllers[number].finalizers;
                    finalizers
                        .entry(setting.value.clone())
                        .or_insert(setting.place.clone());
                    continue;
                }
                Owner::Unclear => "the code does not say which of its controllers adds it",
                Owner::None if names.is_empty() => continue,
                Owner::None => "PROJECT does not name the controller that adds it",
            };
            lost.add(format!(
                "the finalizer `{text}` of {} ({}): {why}; set `FINALIZER_NAME` in this controller; until then, objects \
                 with this finalizer cannot be deleted",
                kind.kind, setting.place,
            ));
        }
        for mention in &self.all {
            let is_beside =
                mention.setups.is_empty() && setups.is_beside(&mention.place.path, kind);
            let is_of_kind = mention.setups.iter().any(|number| owners.has(*number));
            if !is_beside && !is_of_kind {
                continue;
            }
            match owners.only(&mention.setups) {
                Owner::One(number) => controllers[number].add(&mention.kind),
                Owner::Unclear => lost.add_all(mention.unclear()),
                Owner::None => continue,
            }
            mention.is_told.set(true);
        }
        controllers
    }

    /// Reports the field managers that no controller has. Begins anew afterwards: the kinds may be taken over once more.
    pub fn report(&self, lost: &mut Lost) {
        // A controller may have the value from another place, such as a constant.
        let (told, others): (Vec<_>, Vec<_>) =
            self.all.iter().partition(|mention| mention.is_told.take());
        let mut seen: BTreeSet<_> = told
            .into_iter()
            .filter_map(Mention::field_manager)
            .collect();
        for mention in others {
            if mention
                .field_manager()
                .is_some_and(|value| seen.insert(value))
            {
                lost.add_all(mention.unclear());
            }
        }
    }
}

impl Mention {
    /// The field manager that the code names here, if it names one.
    fn field_manager(&self) -> Option<&GoValue> {
        match &self.kind {
            MentionKind::FieldManager(value) => Some(value),
            _ => None,
        }
    }

    /// The line for what may be about several controllers.
    fn unclear(&self) -> Option<String> {
        let (what, advice) = match &self.kind {
            MentionKind::FieldManager(value) => (
                format!("the field manager `{}`", visible(value.text())),
                "set `FIELD_MANAGER` in this controller",
            ),
            MentionKind::EventReporter(_) => return None,
            MentionKind::Owns(kind) => (
                format!("the owned kind `{}`", shown(kind)),
                "`rscaffold create api --owns` adds it",
            ),
            MentionKind::Watches(kind) => (
                format!("the watched kind `{}`", shown(kind)),
                "`rscaffold create api --watches` adds it",
            ),
            MentionKind::Source(source) => {
                return Some(format!(
                    "the watch of {source}: the code does not say which controller has it; add it to that controller"
                ));
            }
        };
        let place = &self.place;
        Some(format!(
            "{what} ({place}): the code does not say which controller has it; {advice}"
        ))
    }
}

/// A kind as Go code names it: `corev1.Secret`.
pub(super) fn shown((package, kind): &(String, String)) -> String {
    match package.as_str() {
        "" => kind.clone(),
        package => format!("{package}.{kind}"),
    }
}

/// The kinds that the controllers in a file own and watch. An object whose type the code does not show is named by its
/// expression.
fn related(file: &File, setups: &Setups) -> Vec<(usize, MentionKind)> {
    let mut related = Vec::new();
    for (at, function) in file.calls() {
        let is_owned = function == "Owns";
        if !is_owned && !matches!(function, "Watches" | "WatchesMetadata" | "WatchesRawSource") {
            continue;
        }
        let arguments = file.arguments(at + 1);
        let Some(argument) = arguments.first() else {
            continue;
        };
        let is_in_setup = setups.is_in_setup(&file.path, at);
        let kind = match file.object_at(argument.start) {
            Some((package, kind)) => (package.to_owned(), kind.to_owned()),
            None if is_in_setup => {
                let variable = file.name(argument.start).filter(|_| argument.len() == 1);
                if let (false, Some(variable)) = (is_owned, variable) {
                    let place = file.place(at);
                    let source = format!("the variable `{}` ({place})", visible(variable));
                    related.push((at, MentionKind::Source(source)));
                    continue;
                }
                (String::new(), written(&file.tokens[argument.clone()]))
            }
            None => continue,
        };
        let what = if is_owned {
            MentionKind::Owns(kind)
        } else {
            MentionKind::Watches(kind)
        };
        related.push((at, what));
    }
    related
}

impl ControllerFacts {
    fn add(&mut self, what: &MentionKind) {
        match what.clone() {
            MentionKind::FieldManager(value) => _ = self.field_managers.insert(value),
            MentionKind::EventReporter(value) => _ = self.event_reporters.insert(value),
            MentionKind::Owns(kind) => _ = self.owns.insert(kind),
            MentionKind::Watches(kind) => _ = self.watches.insert(kind),
            MentionKind::Source(source) => _ = self.sources.insert(source),
        }
    }
}

/// Which controller the code is about.
enum Owner {
    One(usize),
    Unclear,
    /// A controller that has no name here.
    None,
}

/// What a controller that the code builds is among the controllers of a kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Counterpart {
    OfOtherKind,
    /// A controller of the kind that has no name here.
    Unnamed,
    /// The controller with the name of this number.
    Named(usize),
}

/// The controllers of a kind.
struct Owners {
    /// The controllers that the code builds for the kind, by their numbers in the code.
    built: BTreeMap<usize, Counterpart>,
    names: usize,
}

impl Owners {
    /// Finds the name of each controller that the code builds for the kind, and records its file.
    fn new(
        kind: &GroupKind,
        names: &[ControllerName],
        setups: &Setups,
        controllers: &mut [ControllerFacts],
        lost: &mut Lost,
    ) -> Self {
        let built: Vec<_> = setups.of_kind(kind).collect();
        let called: BTreeSet<_> = built.iter().map(|(_, setup)| &setup.names[0]).collect();
        let are_same = called.len() == 1;
        let mut matches = BTreeMap::new();
        for (number, setup) in &built {
            let mut called = setup.names.iter();
            let found = if names.len() == 1 && are_same {
                Some(0)
            } else {
                called.find_map(|called| names.iter().position(|name| name.as_str() == called))
            };
            match found {
                Some(found) => _ = controllers[found].files.insert(setup.place.path.to_string()),
                None if names.is_empty() => {}
                None => lost.add(format!(
                    "a controller of {} ({}), which PROJECT does not name: `rscaffold create controller --group <GROUP> \
                     --version <VERSION> --kind {} --controller-name <NAME>` adds it",
                    kind.kind, setup.place, kind.kind,
                )),
            }
            matches.insert(
                *number,
                found.map_or(Counterpart::Unnamed, Counterpart::Named),
            );
        }
        Self {
            built: matches,
            names: names.len(),
        }
    }

    /// Whether the controller of this number is one of the kind.
    fn has(&self, number: usize) -> bool {
        self.built.contains_key(&number)
    }

    /// The controller that the code is about, if it belongs to these controllers.
    fn only(&self, setups: &BTreeSet<usize>) -> Owner {
        if setups.is_empty() {
            return match self.names {
                0 => Owner::None,
                1 => Owner::One(0),
                _ => Owner::Unclear,
            };
        }
        let found = setups.iter().map(|number| self.built.get(number).copied());
        let found: BTreeSet<_> = found
            .map(|own| own.unwrap_or(Counterpart::OfOtherKind))
            .collect();
        match Vec::from_iter(found)[..] {
            [Counterpart::Named(number)] => Owner::One(number),
            [Counterpart::OfOtherKind | Counterpart::Unnamed] => Owner::None,
            _ => Owner::Unclear,
        }
    }
}
