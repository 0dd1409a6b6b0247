//! Finds the finalizers that the Go code sets on objects: in each file, by a function of controller-runtime, by an edit
//! of the list, by a function of the project, or by a call that the code here does not know.
//!
//! An object that has a finalizer is deleted only after an operator has removed the finalizer. So whatever looks like a
//! finalizer, and is not taken over, is reported with its place.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    go::{Go, Value},
    go_file::{File, Place},
    go_tokens::Token,
    group_kind::GroupKind,
    path::{file_name, folder},
    setups::Setups,
};
use crate::names::FinalizerName;

/// The largest number of places that are found. A project has a few.
const MAX_PLACES: usize = 1_000;

/// The most tokens of a function in which the types of its variables are looked for.
const MAX_FUNCTION: usize = 20_000;

/// The most tokens of the expression for an object or for its list of finalizers.
const MAX_PATH: usize = 50;

/// What a call does with a finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    Add,
    Remove,
    Check,
}

/// The kind of an object that gets a finalizer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Object {
    /// A kind that the project has.
    Kind(GroupKind),
    /// A kind of Kubernetes that the project does not have.
    Other(String),
    Unknown,
}

/// A place where the code adds a finalizer to an object, removes it, or looks for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    pub place: Place,
    pub value: Value,
    /// The constant, variable or field that has the finalizer.
    pub name: Option<String>,
    pub object: Object,
    pub action: Action,
    /// The controllers that the code may belong to.
    pub setups: BTreeSet<usize>,
}

impl Setting {
    /// Whether the finalizer is known.
    pub fn is_known(&self) -> bool {
        matches!(self.value, Value::Known(_))
    }
}

/// What was found in all files.
#[derive(Debug, Default)]
pub(super) struct Finalizers {
    pub settings: BTreeSet<Setting>,
    /// What looks like a finalizer, and is in none of the settings.
    pub rest: Vec<String>,
}

impl Finalizers {
    /// `setups` knows the kinds of the project and their controllers.
    pub fn new(go: &Go, setups: &Setups) -> Self {
        let mut finder = Finder {
            go,
            setups,
            functions: BTreeSet::new(),
            helpers: Vec::new(),
            reported: BTreeSet::new(),
            found: Self::default(),
        };
        let files: Vec<_> = go.code().collect();
        let about: Vec<_> = files.iter().filter(|file| says_so(file)).copied().collect();
        for file in &about {
            for function in &file.functions {
                finder.functions.insert(function.name.clone());
            }
            finder.known_calls(file);
        }
        finder.helper_calls(&files);
        for file in &about {
            finder.other_calls(file);
        }
        finder.definitions();
        for file in &about {
            finder.literals(file);
        }
        finder.found
    }
}

fn says_finalizer(text: &str) -> bool {
    text.to_ascii_lowercase().contains("finalizer")
}

fn says_so(file: &File) -> bool {
    file.tokens.iter().any(|token| match token {
        Token::Name(text) | Token::Text(text) => says_finalizer(text),
        Token::Sign(_) => false,
    })
}

fn is_name(text: &str) -> bool {
    text.parse::<FinalizerName>().is_ok()
}

/// What a function does with a finalizer, by its name.
fn action(function: &str) -> Action {
    const REMOVE: [&str; 5] = ["remove", "delete", "drop", "clear", "strip"];
    const CHECK: [&str; 5] = ["contain", "check", "find", "equal", "index"];
    const START_OF_CHECK: [&str; 3] = ["has", "is", "get"];

    let lower = function.to_ascii_lowercase();
    if REMOVE.iter().any(|word| lower.contains(word)) {
        Action::Remove
    } else if CHECK.iter().any(|word| lower.contains(word))
        || START_OF_CHECK.iter().any(|word| lower.starts_with(word))
    {
        Action::Check
    } else {
        Action::Add
    }
}

/// A function of the project that sets the finalizer in one of its parameters.
struct Helper {
    folder: String,
    function: String,
    is_method: bool,
    parameter: usize,
    /// The setting in the function.
    setting: Setting,
    is_called: bool,
}

impl Helper {
    /// Whether the call at `at` is of this function.
    fn is_called_by(&self, file: &File, at: usize) -> bool {
        if file.name(at) != Some(&self.function) {
            return false;
        }
        let is_dotted = at.checked_sub(1).is_some_and(|dot| file.is_sign(dot, '.'));
        match file.qualifier(at) {
            _ if self.is_method => is_dotted,
            Some(package) => file.package(package) == file_name(&self.folder),
            None => !is_dotted && folder(&file.path) == self.folder,
        }
    }
}

/// The elements of `[]string{…}` at this index.
fn list(file: &File, at: usize) -> Vec<Range<usize>> {
    let is_list = file.is_sign(at, '[')
        && file.is_sign(at + 1, ']')
        && file.name(at + 2) == Some("string")
        && file.is_sign(at + 3, '{');
    if is_list {
        file.arguments(at + 3)
    } else {
        Vec::new()
    }
}

/// The last name of the path that ends before the token at `end`, without `ObjectMeta`: `book` of
/// `r.book.ObjectMeta.`.
fn owner(file: &File, end: usize) -> Option<Range<usize>> {
    let at = file.before_dot(end)?;
    match file.name(at)? {
        "ObjectMeta" => owner(file, at),
        _ => Some(at..at + 1),
    }
}

/// The types that `variable` may have in `tokens`, each with its package.
fn types<'a>(file: &'a File, tokens: Range<usize>, variable: &str) -> Vec<(&'a str, &'a str)> {
    let end = tokens.end.min(tokens.start + MAX_FUNCTION);
    let mut types = Vec::new();
    for at in tokens.start..end {
        if file.name(at) == Some(variable) {
            types.extend(type_beside(file, at));
        }
    }
    types
}

/// The type that the code beside a variable gives to it.
fn type_beside(file: &File, at: usize) -> Option<(&str, &str)> {
    // `book, ok := object.(*v1.Book)`
    let is_pair = file.is_sign(at + 1, ',') && file.is_sign(at + 3, ':');
    let Some(value) = file.assigned(if is_pair { at + 2 } else { at }) else {
        // `book *v1.Book`, `var book v1.Book`
        return file.type_at(at + 1 + usize::from(file.is_sign(at + 1, '*')));
    };
    let mut dots = value..value + 8;
    let cast = dots.find(|dot| file.is_sign(*dot, '.') && file.is_sign(dot + 1, '('));
    match cast {
        _ if file.is_sign(value, '&') => file.type_at(value + 1),
        _ if file.name(value) == Some("new") && file.is_sign(value + 1, '(') => {
            file.type_at(value + 2)
        }
        Some(cast) if file.is_sign(cast + 2, '*') => file.type_at(cast + 3),
        _ => file.type_at(value),
    }
}

/// Collects the settings.
struct Finder<'a> {
    go: &'a Go,
    setups: &'a Setups<'a>,
    /// The functions of the project, in files that say something about finalizers.
    functions: BTreeSet<String>,
    helpers: Vec<Helper>,
    /// The finalizers that were reported.
    reported: BTreeSet<String>,
    found: Finalizers,
}

impl Finder<'_> {
    /// Reads the calls of functions that set finalizers, and edits of the list.
    fn known_calls(&mut self, file: &File) {
        for (at, function) in file.calls() {
            let arguments = file.arguments(at + 1);
            match (function, arguments.as_slice()) {
                ("AddFinalizer" | "RemoveFinalizer" | "ContainsFinalizer", [object, value])
                    if is_of_library(file, at) =>
                {
                    let object = self.object(file, object);
                    self.setting(file, at, value, object, action(function));
                }
                ("append", [list, values @ ..]) => {
                    let Some(list) = list_of_finalizers(file, list) else {
                        continue;
                    };
                    // A variable with a list has no owner.
                    let object = self.owner(file, list);
                    for value in values {
                        // `list[i:]...` is a part of the list itself.
                        if !file.is_sign(value.end - 1, '.') {
                            self.setting(file, at, value, object.clone(), Action::Add);
                        }
                    }
                }
                ("SetFinalizers", [elements]) => {
                    let object = self.owner(file, at);
                    for value in list(file, elements.start) {
                        self.setting(file, at, &value, object.clone(), Action::Add);
                    }
                }
                // The registry of controller-runtime: `finalizers.Register("name", …)`.
                ("Register", [value, ..]) if file.qualifier(at).is_some_and(says_finalizer) => {
                    self.setting(file, at, value, Object::Unknown, Action::Add);
                }
                _ => {}
            }
        }
        for (at, elements) in file.set_to("Finalizers") {
            let object = match (owner(file, at), file.literal_around(at)) {
                (None, Some((package, kind))) => self.kind(file, package, kind),
                _ => self.owner(file, at),
            };
            for value in list(file, elements.start) {
                self.setting(file, at, &value, object.clone(), Action::Add);
            }
        }
    }

    /// The object at the end of the path before the token at `end`.
    fn owner(&self, file: &File, end: usize) -> Object {
        owner(file, end).map_or(Object::Unknown, |owner| self.object(file, &owner))
    }

    /// Follows the functions of the project that set a finalizer in one of their parameters, to their calls.
    fn helper_calls(&mut self, files: &[&File]) {
        let mut calls: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for file in files {
            for (at, function) in file.calls() {
                calls.entry(function).or_default().push((file, at));
            }
        }
        let mut index = 0;
        // A call may add another function.
        while let Some(helper) = self.helpers.get(index) {
            for (file, at) in calls.get(&*helper.function).into_iter().flatten() {
                self.helper_call(file, *at, index);
            }
            index += 1;
        }
        // What is in the parameter of a function that nothing calls is not known.
        for helper in &self.helpers {
            if !helper.is_called {
                self.found.settings.insert(helper.setting.clone());
            }
        }
    }

    /// Reads the call at `at`, if it calls the helper at `index`.
    fn helper_call(&mut self, file: &File, at: usize, index: usize) {
        let helper = &self.helpers[index];
        let arguments = file.arguments(at + 1);
        if helper.is_called_by(file, at)
            && let Some(value) = arguments.get(helper.parameter)
        {
            let action = helper.setting.action;
            let beside = self.object_beside(file, &arguments, value);
            let object = beside.unwrap_or_else(|| helper.setting.object.clone());
            self.helpers[index].is_called = true;
            self.setting(file, at, value, object, action);
        }
    }

    /// Reads the other calls that say something about a finalizer: of functions outside of the project, and of
    /// functions of the project that the code here does not understand.
    fn other_calls(&mut self, file: &File) {
        for (at, function) in file.calls() {
            let is_known = is_of_library(file, at)
                || matches!(
                    function,
                    "append" | "SetFinalizers" | "GetFinalizers" | "Register"
                )
                || self
                    .helpers
                    .iter()
                    .any(|helper| helper.is_called_by(file, at));
            if is_known || is_about_text(file, at, function) || self.is_full() {
                continue;
            }
            let arguments = file.arguments(at + 1);
            let is_about =
                says_finalizer(function) || file.qualifier(at).is_some_and(says_finalizer);
            let mut values = arguments.iter();
            let value = values.find(|argument| {
                (is_about || is_named_finalizer(file, argument))
                    && self.is_known_finalizer(file, argument)
            });
            let object = value.and_then(|value| self.object_beside(file, &arguments, value));
            match value {
                Some(value) if is_about || object.is_some() => {
                    let known = object.unwrap_or(Object::Unknown);
                    self.setting(file, at, value, known, action(function));
                }
                // What a function of the project does is in the function itself.
                None if says_finalizer(function)
                    && !self.functions.contains(function)
                    && action(function) == Action::Add
                    && arguments.len() > 1 =>
                {
                    let place = file.place(at);
                    self.rest(format!("what `{function}` does with finalizers ({place})"));
                }
                _ => {}
            }
        }
    }

    /// Whether the value of these tokens is known, and looks like a finalizer.
    fn is_known_finalizer(&self, file: &File, tokens: &Range<usize>) -> bool {
        matches!(self.go.value(file, tokens), Value::Known(text) if is_finalizer(&text))
    }

    /// Records that the code at `at` sets the finalizer `value`.
    fn setting(
        &mut self,
        file: &File,
        at: usize,
        value: &Range<usize>,
        object: Object,
        action: Action,
    ) {
        if self.is_full() {
            return;
        }
        let tokens = &file.tokens[value.clone()];
        let place = file.place(at);
        let name = tokens.iter().rev().find_map(|token| match token {
            Token::Name(name) => Some(name.clone()),
            _ => None,
        });
        let setting = Setting {
            value: self.go.value(file, value),
            place,
            name,
            object,
            action,
            setups: self.setups.at(file, at),
        };
        if let [Token::Name(name)] = tokens
            && let Some(function) = file.around(at)
            && let Some(parameter) = function.parameters.iter().position(|own| own == name)
        {
            let folder = folder(&setting.place.path).to_owned();
            let is_known = self.helpers.iter().any(|helper| {
                helper.function == function.name
                    && helper.folder == folder
                    && helper.parameter == parameter
                    && helper.setting.action == action
            });
            if !is_known {
                self.helpers.push(Helper {
                    folder,
                    function: function.name.clone(),
                    is_method: function.receiver.is_some(),
                    parameter,
                    setting,
                    is_called: false,
                });
            }
        } else {
            self.found.settings.insert(setting);
        }
    }

    fn is_full(&self) -> bool {
        self.found.settings.len() + self.helpers.len() >= MAX_PLACES
    }

    /// The kind of the object among the arguments of a call, of which `value` is the finalizer.
    fn object_beside(
        &self,
        file: &File,
        arguments: &[Range<usize>],
        value: &Range<usize>,
    ) -> Option<Object> {
        let others = arguments.iter().filter(|argument| *argument != value);
        let objects = others.map(|argument| self.object(file, argument));
        objects.filter(|object| *object != Object::Unknown).min()
    }

    /// The kind of the object in these tokens.
    fn object(&self, file: &File, tokens: &Range<usize>) -> Object {
        let start = (tokens.clone())
            .find(|at| !file.is_sign(*at, '&') && !file.is_sign(*at, '*'))
            .unwrap_or(tokens.end);
        let object = start..tokens.end;
        let Some(name) = object.clone().rev().find_map(|at| file.name(at)) else {
            return Object::Unknown;
        };
        if object.len() == 1 {
            let scope = match file.around(start) {
                Some(function) => function.tokens.clone(),
                None => 0..file.tokens.len(),
            };
            let types = types(file, scope, name).into_iter();
            let kinds = types.map(|(package, kind)| self.kind(file, package, kind));
            if let Some(kind) = kinds.filter(|kind| *kind != Object::Unknown).min() {
                return kind;
            }
        } else if let Some((package, kind)) = file.type_at(start)
            && object
                .clone()
                .take(MAX_PATH)
                .any(|at| file.is_sign(at, '{'))
        {
            return self.kind(file, package, kind);
        }
        // A variable or a field often has the name of the kind.
        match self.setups.files.named(name, folder(&file.path))[..] {
            [kind] => Object::Kind(kind.clone()),
            _ => Object::Unknown,
        }
    }

    fn kind(&self, file: &File, package: &str, kind: &str) -> Object {
        match self.setups.files.of_type(file, package, kind)[..] {
            [known] => return Object::Kind(known.clone()),
            [] => {}
            _ => return Object::Unknown,
        }
        match file.import(package) {
            Some(import) if import.starts_with("k8s.io/api/") => Object::Other(kind.to_owned()),
            _ => Object::Unknown,
        }
    }

    /// Finds literals that look like a finalizer, or like a patch of finalizers.
    fn literals(&mut self, file: &File) {
        let mut is_patched = false;
        let mut is_import = false;
        for (at, token) in file.tokens.iter().enumerate() {
            match token {
                Token::Name(name) if name == "import" => is_import = true,
                Token::Name(name) if ["const", "func", "type", "var"].contains(&name.as_str()) => {
                    is_import = false;
                }
                Token::Text(text) if !is_import && says_finalizer(text) => {
                    let is_patch = text.contains("\"finalizers\"") && !text.contains("json:")
                        || text.contains("/metadata/finalizers");
                    let is_resource = text.ends_with("/finalizers");
                    if is_patch && !is_patched {
                        is_patched = true;
                        let place = file.place(at);
                        self.rest(format!(
                            "the finalizers that the Go code sets by a patch ({place}): set \
                             `FINALIZER_NAME` in the controller"
                        ));
                    } else if is_finalizer(text) && !is_patch && !is_resource {
                        self.text(text, &file.place(at));
                    }
                }
                _ => {}
            }
        }
    }

    /// Finds constants, variables and fields whose name says that they have a finalizer.
    fn definitions(&mut self) {
        let mut found = BTreeSet::new();
        for (name, definition) in self.go.all_definitions(says_finalizer) {
            let lower = name.to_ascii_lowercase();
            let is_one = lower.ends_with("finalizer") || lower.ends_with("finalizername");
            if let Value::Known(text) = self.go.defined(definition)
                && is_name(&text)
                && (is_one || is_finalizer(&text))
                && !matches!(text.as_str(), "true" | "false")
            {
                found.insert((text, &definition.place));
            }
        }
        for (text, place) in found {
            self.text(&text, place);
        }
    }

    /// Reports a finalizer that no setting has.
    fn text(&mut self, text: &str, place: &Place) {
        let value = Value::Known(text.to_owned());
        let mut settings = self.found.settings.iter();
        if !settings.any(|setting| setting.action != Action::Check && setting.value == value)
            && self.reported.insert(text.to_owned())
        {
            self.rest(without_kind(text, place));
        }
    }

    fn rest(&mut self, line: String) {
        if self.found.rest.len() < MAX_PLACES {
            self.found.rest.push(line);
        }
    }
}

/// The line about a finalizer whose kind is unknown.
pub(super) fn without_kind(text: &str, place: &Place) -> String {
    format!(
        "the finalizer `{text}` ({place}): the code does not say which kind has it; set `FINALIZER_NAME` in the \
         controller of this kind; until then, objects with this finalizer cannot be deleted"
    )
}

/// Returns whether `text` looks like a finalizer, also without a word about it: it has a domain.
fn is_finalizer(text: &str) -> bool {
    is_name(text) && text.contains(['.', '/']) && !text.starts_with('/') && !text.ends_with('/')
}

/// Whether the function at `at` is one of controller-runtime's package `controllerutil`.
fn is_of_library(file: &File, at: usize) -> bool {
    let is_named = matches!(
        file.name(at),
        Some("AddFinalizer" | "RemoveFinalizer" | "ContainsFinalizer")
    );
    let package = file.qualifier(at).map(|package| file.package(package));
    is_named && package == Some("controllerutil")
}

/// Whether the call at `at` only writes or compares text.
fn is_about_text(file: &File, at: usize, function: &str) -> bool {
    const PACKAGES: [&str; 8] = [
        "errors", "fmt", "json", "log", "os", "runtime", "slices", "strings",
    ];
    const FUNCTIONS: [&str; 14] = [
        "Debug",
        "Debugf",
        "Error",
        "Errorf",
        "Event",
        "Eventf",
        "Info",
        "Infof",
        "Log",
        "Warn",
        "WithName",
        "WithValues",
        "len",
        "string",
    ];
    let package = file.qualifier(at);
    FUNCTIONS.contains(&function) || package.is_some_and(|name| PACKAGES.contains(&name))
}

/// Whether these are few tokens with a name that says finalizer.
fn is_named_finalizer(file: &File, tokens: &Range<usize>) -> bool {
    let mut names = tokens.clone().filter_map(|at| file.name(at));
    tokens.len() <= 3 && names.any(says_finalizer)
}

/// The index of the name of a list of finalizers in these tokens.
fn list_of_finalizers(file: &File, tokens: &Range<usize>) -> Option<usize> {
    tokens.clone().take(MAX_PATH).find(|at| {
        let name = file.name(*at);
        name.is_some_and(|name| name == "GetFinalizers" || name.eq_ignore_ascii_case("finalizers"))
    })
}
