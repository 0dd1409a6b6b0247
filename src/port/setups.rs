//! The controllers that the Go code builds, and which code belongs to which of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use heck::ToKebabCase as _;

use super::{
    go::{Go, GoValue},
    go_file::{File, Place},
    go_files::GoFiles,
    group_kind::GroupKind,
    path::{file_name, folder},
};
use crate::names::Kind;

/// The largest number of controllers that are found in a file.
const MAX_SETUPS: usize = 200;

/// A controller that the code builds for a kind.
#[derive(Debug)]
pub(super) struct Setup {
    pub place: Place,
    /// A kind that is not in the project, or may be in several groups, has no group.
    pub kind: GroupKind,
    /// The names that PROJECT may have for it, the best first.
    pub names: Vec<String>,
    /// The code that builds it: from the call that begins it to the next one in the same function.
    tokens: Range<usize>,
    /// The function that builds it.
    function: Range<usize>,
}

/// Where the file begins to build a controller: the indices of `NewControllerManagedBy` and of the functions of the
/// package `builder` for which it stands.
pub(super) fn builders(file: &File) -> impl Iterator<Item = usize> {
    const FUNCTIONS: [&str; 3] = [
        "NewControllerManagedBy",
        "ControllerManagedBy",
        "TypedControllerManagedBy",
    ];
    (0..file.tokens.len()).filter(|at| {
        let is_builder = file.name(*at).is_some_and(|name| FUNCTIONS.contains(&name));
        is_builder && (file.is_sign(at + 1, '(') || file.is_sign(at + 1, '['))
    })
}

/// All controllers that the code builds.
pub(super) struct Setups<'a> {
    pub files: GoFiles<'a>,
    /// In the order of their files.
    pub all: Vec<Setup>,
    /// By the type of the reconciler, with its folder.
    by_type: BTreeMap<(String, String), BTreeSet<usize>>,
}

impl<'a> Setups<'a> {
    pub fn new(go: &Go, files: GoFiles<'a>) -> Self {
        let mut setups = Self {
            files,
            all: Vec::new(),
            by_type: BTreeMap::new(),
        };
        for file in go.files().filter(|file| builders(file).next().is_some()) {
            let first = setups.all.len();
            let calls: Vec<_> = file.calls().collect();
            for (number, (at, function)) in calls.iter().enumerate() {
                if *function == "For"
                    && setups.all.len() < first + MAX_SETUPS
                    && let Some(argument) = file.arguments(at + 1).first()
                    && let Some((package, kind)) = file.object_at(argument.start)
                {
                    let kind = setups.files.only(file, package, kind);
                    setups.add(go, file, &calls, number, kind);
                }
            }
        }
        setups
    }

    /// Adds the controller whose kind is in the call of this number.
    fn add(
        &mut self,
        go: &Go,
        file: &File,
        calls: &[(usize, &str)],
        number: usize,
        kind: GroupKind,
    ) {
        let (at, _) = calls[number];
        let around = file.around(at);
        let function = around.map_or(0..file.tokens.len(), |around| around.tokens.clone());
        let starts = || builders(file).filter(|start| function.contains(start));
        let start = starts().take_while(|start| *start < at).last();
        let end = starts().find(|start| *start > at);
        let tokens = start.unwrap_or(function.start)..end.unwrap_or(function.end);
        let mut types = BTreeSet::new();
        let receiver = around.and_then(|around| around.receiver.as_ref());
        types.extend(receiver.map(|(_, kind)| (folder(&file.path).to_owned(), kind.clone())));
        let mut names = Vec::new();
        let after = calls[..].iter().skip_while(|(at, _)| *at < tokens.start);
        for (at, name) in after.take_while(|(at, _)| *at < tokens.end) {
            let arguments = file.arguments(at + 1);
            let Some(argument) = arguments.first() else {
                continue;
            };
            match *name {
                "Named" => {
                    if let GoValue::Known(name) = go.value(file, argument) {
                        names.push(name);
                    }
                }
                "Build" | "Complete" => {
                    if let Some((package, kind)) = file.object_at(argument.start) {
                        types.insert((
                            self.files.place_of(file, package).to_owned(),
                            kind.to_owned(),
                        ));
                    }
                }
                _ => {}
            }
        }
        if names.is_empty() {
            names.push(kind.kind.to_ascii_lowercase());
        }
        let file_stem = file_name(&file.path)
            .trim_end_matches(".go")
            .trim_end_matches("_controller");
        for (_, name) in &types {
            let stem = name
                .trim_end_matches("Reconciler")
                .trim_end_matches("Controller");
            names.push(stem.to_kebab_case());
        }
        names.push(file_stem.replace('_', "-"));
        if let Ok(own) = kind.kind.parse::<Kind>() {
            for name in &mut names {
                if name.parse().is_ok_and(|name| own.is_of_controller(&name)) {
                    *name = own.controller().to_string();
                }
            }
        }
        for of_type in types {
            self.by_type
                .entry(of_type)
                .or_default()
                .insert(self.all.len());
        }
        self.all.push(Setup {
            place: file.place(at),
            kind,
            names,
            tokens,
            function,
        });
    }

    /// The controllers of a kind, each with its number.
    pub fn of_kind(&self, kind: &GroupKind) -> impl Iterator<Item = (usize, &Setup)> {
        let all = self.all.iter().enumerate();
        all.filter(move |(_, setup)| setup.kind == *kind)
    }

    /// The numbers of the controllers that a file builds.
    pub fn in_file(&self, path: &str) -> Range<usize> {
        let start = (self.all).partition_point(|setup| *setup.place.path < *path);
        let end = (self.all).partition_point(|setup| *setup.place.path <= *path);
        start..end
    }

    /// The numbers of the controllers that the code at this token may belong to. The first rule that finds any counts:
    ///
    /// 1. the controller that this code builds
    /// 2. the controllers that this function builds
    /// 3. the controllers whose reconciler has the type of this method
    /// 4. the controllers that this file builds
    pub fn at(&self, file: &File, at: usize) -> BTreeSet<usize> {
        let in_file = self.in_file(&file.path);
        let around = file.around(at);
        for is_near in [
            |setup: &Setup, at: usize| setup.tokens.contains(&at),
            |setup: &Setup, at: usize| setup.function.contains(&at),
        ] {
            let near = in_file
                .clone()
                .filter(|number| is_near(&self.all[*number], at));
            let near: BTreeSet<_> = near.collect();
            if !near.is_empty() {
                return near;
            }
        }
        if let Some((_, kind)) = around.and_then(|around| around.receiver.as_ref())
            && let Some(found) = self
                .by_type
                .get(&(folder(&file.path).to_owned(), kind.clone()))
        {
            return found.clone();
        }
        in_file.collect()
    }

    /// Whether the file at `path` is beside a controller of `kind`, and not about another kind.
    pub fn is_beside(&self, path: &str, kind: &GroupKind) -> bool {
        let about = self.files.about.get(path);
        let is_of_other = about.is_some_and(|kinds| !kinds.contains(kind));
        let mut setups = self.of_kind(kind);
        !is_of_other && setups.any(|(_, setup)| folder(&setup.place.path) == folder(path))
    }

    /// Whether a controller is built by the code at this token.
    pub fn is_in_setup(&self, path: &str, at: usize) -> bool {
        self.all[self.in_file(path)]
            .iter()
            .any(|setup| setup.tokens.contains(&at))
    }
}
