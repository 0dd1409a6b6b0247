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
    go::{File, Go, Place, Token, Value, ends},
    path::{file_name, folder},
};
use crate::names::FinalizerName;

/// The largest number of places that are found. A project has a few.
const MAX_PLACES: usize = 1_000;

/// How many functions may pass a finalizer on to the function that sets it.
const MAX_ROUNDS: usize = 5;

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
    Kind(String),
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
}

/// What was found in all files.
#[derive(Debug, Default)]
pub(super) struct Finalizers {
    pub settings: BTreeSet<Setting>,
    /// What looks like a finalizer, and is in none of the settings.
    pub rest: Vec<String>,
}

impl Finalizers {
    /// `kinds` are the kinds of the project.
    pub fn new(go: &Go, kinds: &BTreeSet<String>) -> Self {
        let mut finder = Finder {
            go,
            kinds,
            functions: BTreeSet::new(),
            helpers: Vec::new(),
            reported: BTreeSet::new(),
            found: Self::default(),
        };
        let files: Vec<_> = go.code().collect();
        let about: Vec<_> = files.iter().filter(|file| says_so(file)).copied().collect();
        for file in &about {
            let reader = Reader::new(file);
            for function in &reader.functions {
                finder.functions.insert(function.name.clone());
            }
            finder.known_calls(&reader);
        }
        finder.helper_calls(&files);
        for file in &about {
            finder.other_calls(&Reader::new(file));
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

/// A function of the Go code.
struct Function {
    name: String,
    /// The index of its name.
    at: usize,
    is_method: bool,
    parameters: Vec<String>,
    /// The tokens of parameters and body.
    tokens: Range<usize>,
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

/// A file with its brackets and functions.
struct Reader<'a> {
    file: &'a File,
    ends: Vec<usize>,
    functions: Vec<Function>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a File) -> Self {
        let mut reader = Self {
            file,
            ends: ends(&file.tokens),
            functions: Vec::new(),
        };
        let mut at = 0;
        while let Some(token) = file.tokens.get(at) {
            let function = token.is_name("func").then(|| reader.function(at)).flatten();
            at = function
                .as_ref()
                .map_or(at + 1, |function| function.tokens.end);
            reader.functions.extend(function);
        }
        reader
    }

    fn sign(&self, at: usize, sign: char) -> bool {
        self.file.is_sign(at, sign)
    }

    fn name(&self, at: usize) -> Option<&'a str> {
        match self.file.tokens.get(at)? {
            Token::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The function that begins with `func` at this index.
    fn function(&self, func: usize) -> Option<Function> {
        let is_method = self.sign(func + 1, '(');
        let at = if is_method {
            self.ends[func + 1] + 1
        } else {
            func + 1
        };
        let name = self.name(at)?.to_owned();
        let mut open = at + 1;
        if self.sign(open, '[') {
            open = self.ends[open] + 1;
        }
        if !self.sign(open, '(') {
            return None;
        }
        let mut parameters = Vec::new();
        for parameter in self.arguments(open) {
            parameters.push(self.name(parameter.start).unwrap_or("").to_owned());
        }
        // The result types are between the parameters and the body.
        let mut body = self.ends[open] + 1;
        while !self.sign(body, '{') {
            let is_end = self.file.tokens.get(body)?.is_name("func");
            if is_end {
                return None;
            }
            let is_type = matches!(self.name(body), Some("interface" | "struct"));
            body = if is_type && self.sign(body + 1, '{') {
                self.ends[body + 1] + 1
            } else if self.sign(body, '(') || self.sign(body, '[') {
                self.ends[body] + 1
            } else {
                body + 1
            };
        }
        Some(Function {
            name,
            at,
            is_method,
            parameters,
            tokens: open..self.ends[body],
        })
    }

    /// The arguments of the call, or the elements of the list, that begins with the bracket at `open`.
    fn arguments(&self, open: usize) -> Vec<Range<usize>> {
        let end = self.ends[open];
        let (mut all, mut start, mut at) = (Vec::new(), open + 1, open + 1);
        while at < end {
            match &self.file.tokens[at] {
                Token::Sign('(' | '[' | '{') => at = self.ends[at],
                Token::Sign(',') => {
                    all.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        if start < end {
            all.push(start..end);
        }
        all
    }

    /// The function that contains the token at `at`.
    fn around(&self, at: usize) -> Option<&Function> {
        let after = self
            .functions
            .partition_point(|function| function.tokens.start <= at);
        let function = self.functions.get(after.checked_sub(1)?)?;
        function.tokens.contains(&at).then_some(function)
    }

    /// The calls in the file: the index of the name of each function.
    fn calls(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (0..self.file.tokens.len()).filter_map(|at| {
            let name = self.name(at).filter(|_| self.sign(at + 1, '('))?;
            let definition = self
                .functions
                .binary_search_by_key(&at, |function| function.at);
            (definition.is_err() && name != "func").then_some((at, name))
        })
    }

    /// The name before the dot before the token at `at`: the package or the variable of a function.
    fn qualifier(&self, at: usize) -> Option<&'a str> {
        let dot = at.checked_sub(1).filter(|dot| self.sign(*dot, '.'))?;
        self.name(dot.checked_sub(1)?)
    }

    /// The elements of `[]string{…}` at this index.
    fn list(&self, at: usize) -> Option<Vec<Range<usize>>> {
        let is_list = self.sign(at, '[')
            && self.sign(at + 1, ']')
            && self.name(at + 2) == Some("string")
            && self.sign(at + 3, '{');
        is_list.then(|| self.arguments(at + 3))
    }

    /// The last name of the path that ends before the token at `end`, without `ObjectMeta`: `book` of
    /// `r.book.ObjectMeta.`.
    fn owner(&self, end: usize) -> Option<Range<usize>> {
        let dot = end.checked_sub(1).filter(|dot| self.sign(*dot, '.'))?;
        let at = dot.checked_sub(1)?;
        match self.name(at)? {
            "ObjectMeta" => self.owner(at),
            _ => Some(at..at + 1),
        }
    }

    /// The type of the composite literal around the token at `at`, without `ObjectMeta`.
    fn literal_around(&self, at: usize) -> Option<(&'a str, &'a str)> {
        const MAX_BACK: usize = 400;
        for brace in (at.saturating_sub(MAX_BACK)..at).rev() {
            if !self.sign(brace, '{') || self.ends[brace] <= at {
                continue;
            }
            let before = brace.checked_sub(1)?;
            if let Some(kind) = self.name(before)
                && kind != "ObjectMeta"
            {
                return Some((self.qualifier(before).unwrap_or(""), kind));
            }
        }
        None
    }

    /// The types that `variable` may have in `tokens`, each with its package.
    fn types(&self, tokens: Range<usize>, variable: &str) -> Vec<(&'a str, &'a str)> {
        let end = tokens.end.min(tokens.start + MAX_FUNCTION);
        let uses = (tokens.start..end).filter(|at| self.name(*at) == Some(variable));
        uses.filter_map(|at| {
            let mut after = at + 1;
            // `book, ok := object.(*v1.Book)`
            let is_pair = self.sign(after, ',') && self.sign(after + 2, ':');
            after += 2 * usize::from(is_pair);
            let is_set =
                self.sign(after, '=') || self.sign(after, ':') && self.sign(after + 1, '=');
            if !is_set {
                // `book *v1.Book`, `var book v1.Book`
                return self.type_at(after + usize::from(self.sign(after, '*')));
            }
            let value = after + 1 + usize::from(self.sign(after, ':'));
            let cast =
                (value..value + 8).find(|dot| self.sign(*dot, '.') && self.sign(dot + 1, '('));
            match cast {
                _ if self.sign(value, '&') => self.type_at(value + 1),
                _ if self.name(value) == Some("new") && self.sign(value + 1, '(') => {
                    self.type_at(value + 2)
                }
                Some(cast) if self.sign(cast + 2, '*') => self.type_at(cast + 3),
                _ => self.type_at(value),
            }
        })
        .collect()
    }

    /// The type at this index, with its package: `v1.Book` or `Book`.
    fn type_at(&self, at: usize) -> Option<(&'a str, &'a str)> {
        let first = self.name(at)?;
        match self.name(at + 2).filter(|_| self.sign(at + 1, '.')) {
            Some(kind) => Some((first, kind)),
            None => Some(("", first)),
        }
    }
}

/// Collects the settings.
struct Finder<'a> {
    go: &'a Go,
    kinds: &'a BTreeSet<String>,
    /// The functions of the project, in files that say something about finalizers.
    functions: BTreeSet<String>,
    helpers: Vec<Helper>,
    /// The finalizers that were reported.
    reported: BTreeSet<String>,
    found: Finalizers,
}

impl Finder<'_> {
    /// Reads the calls of functions that set finalizers, and edits of the list.
    fn known_calls(&mut self, reader: &Reader) {
        for (at, function) in reader.calls() {
            let arguments = reader.arguments(at + 1);
            match (function, arguments.as_slice()) {
                ("AddFinalizer" | "RemoveFinalizer" | "ContainsFinalizer", [object, value])
                    if is_of_library(reader, at) =>
                {
                    let object = self.object(reader, object);
                    self.setting(reader, at, value, object, action(function));
                }
                ("append", [list, values @ ..]) => {
                    let Some(list) = list_of_finalizers(reader, list) else {
                        continue;
                    };
                    // A variable with a list has no owner.
                    let object = self.owner(reader, list);
                    for value in values {
                        // `list[i:]...` is a part of the list itself.
                        if !reader.sign(value.end - 1, '.') {
                            self.setting(reader, at, value, object.clone(), Action::Add);
                        }
                    }
                }
                ("SetFinalizers", [list]) => {
                    let object = self.owner(reader, at);
                    for value in reader.list(list.start).into_iter().flatten() {
                        self.setting(reader, at, &value, object.clone(), Action::Add);
                    }
                }
                // The registry of controller-runtime: `finalizers.Register("name", …)`.
                ("Register", [value, ..]) if reader.qualifier(at).is_some_and(says_finalizer) => {
                    self.setting(reader, at, value, Object::Unknown, Action::Add);
                }
                _ => {}
            }
        }
        let lists = (0..reader.file.tokens.len()).filter(|at| {
            reader.name(*at) == Some("Finalizers")
                && (reader.sign(at + 1, ':') || reader.sign(at + 1, '='))
        });
        for at in lists {
            let object = match (reader.owner(at), reader.literal_around(at)) {
                (Some(owner), _) => self.object(reader, &owner),
                (None, Some((package, kind))) => self.kind(reader, package, kind),
                (None, None) => Object::Unknown,
            };
            for value in reader.list(at + 2).into_iter().flatten() {
                self.setting(reader, at, &value, object.clone(), Action::Add);
            }
        }
    }

    /// The object at the end of the path before the token at `end`.
    fn owner(&self, reader: &Reader, end: usize) -> Object {
        match reader.owner(end) {
            Some(owner) => self.object(reader, &owner),
            None => Object::Unknown,
        }
    }

    /// Follows the functions of the project that set a finalizer in one of their parameters, to their calls.
    fn helper_calls(&mut self, files: &[&File]) {
        let mut done = 0;
        for _ in 0..MAX_ROUNDS {
            let new = done..self.helpers.len();
            done = new.end;
            let mut names = BTreeSet::new();
            for helper in &self.helpers[new.clone()] {
                names.insert(helper.function.clone());
            }
            if names.is_empty() {
                break;
            }
            for file in files {
                let mut tokens = file.tokens.iter();
                if !tokens.any(|token| matches!(token, Token::Name(name) if names.contains(name))) {
                    continue;
                }
                let reader = Reader::new(file);
                for (at, function) in reader.calls() {
                    if names.contains(function) {
                        for index in new.clone() {
                            self.helper_call(&reader, at, function, index);
                        }
                    }
                }
            }
        }
        // What is in the parameter of a function that nothing calls is not known.
        for helper in &self.helpers {
            if !helper.is_called {
                self.found.settings.insert(helper.setting.clone());
            }
        }
    }

    /// Reads the call at `at`, if it calls the helper at `index`.
    fn helper_call(&mut self, reader: &Reader, at: usize, function: &str, index: usize) {
        let helper = &self.helpers[index];
        if helper.function != function || !is_call_of(reader, at, helper) {
            return;
        }
        let arguments = reader.arguments(at + 1);
        let Some(value) = arguments.get(helper.parameter) else {
            return;
        };
        let action = helper.setting.action;
        let beside = self.object_beside(reader, &arguments, value);
        let object = beside.unwrap_or_else(|| helper.setting.object.clone());
        self.helpers[index].is_called = true;
        self.setting(reader, at, value, object, action);
    }

    /// Reads the other calls that say something about a finalizer: of functions outside of the project, and of
    /// functions of the project that the code here does not understand.
    fn other_calls(&mut self, reader: &Reader) {
        for (at, function) in reader.calls() {
            let is_known = is_of_library(reader, at)
                || matches!(
                    function,
                    "append" | "SetFinalizers" | "GetFinalizers" | "Register"
                )
                || self.is_helper(reader, at, function);
            if is_known || is_about_text(reader, at, function) || self.is_full() {
                continue;
            }
            let arguments = reader.arguments(at + 1);
            let is_about =
                says_finalizer(function) || reader.qualifier(at).is_some_and(says_finalizer);
            let mut values = arguments.iter();
            let value = values.find(|argument| {
                (is_about || is_named_finalizer(reader, argument))
                    && self.is_known_finalizer(reader, argument)
            });
            let object = value.and_then(|value| self.object_beside(reader, &arguments, value));
            match value {
                Some(value) if is_about || object.is_some() => {
                    let known = object.unwrap_or(Object::Unknown);
                    self.setting(reader, at, value, known, action(function));
                }
                // What a function of the project does is in the function itself.
                None if says_finalizer(function)
                    && !self.functions.contains(function)
                    && action(function) == Action::Add
                    && arguments.len() > 1 =>
                {
                    let place = reader.file.place(at);
                    self.rest(format!("what `{function}` does with finalizers ({place})"));
                }
                _ => {}
            }
        }
    }

    /// Whether the value of these tokens is known, and looks like a finalizer.
    fn is_known_finalizer(&self, reader: &Reader, tokens: &Range<usize>) -> bool {
        let path = &reader.file.place(tokens.start).path;
        let value = self.go.value(path, &reader.file.tokens[tokens.clone()]);
        matches!(value, Value::Known(text) if is_finalizer(&text))
    }

    /// Whether the call at `at` is of a function that sets the finalizer in one of its parameters.
    fn is_helper(&self, reader: &Reader, at: usize, function: &str) -> bool {
        let mut helpers = self.helpers.iter();
        helpers.any(|helper| helper.function == function && is_call_of(reader, at, helper))
    }

    /// Records that the code at `at` sets the finalizer `value`.
    fn setting(
        &mut self,
        reader: &Reader,
        at: usize,
        value: &Range<usize>,
        object: Object,
        action: Action,
    ) {
        if self.is_full() {
            return;
        }
        let tokens = &reader.file.tokens[value.clone()];
        let place = reader.file.place(at);
        let name = tokens.iter().rev().find_map(|token| match token {
            Token::Name(name) => Some(name.clone()),
            _ => None,
        });
        let setting = Setting {
            value: self.go.value(&place.path, tokens),
            place,
            name,
            object,
            action,
        };
        let function = reader.around(at);
        let parameter = match (tokens, function) {
            ([Token::Name(name)], Some(function)) => {
                let mut parameters = function.parameters.iter();
                parameters.position(|parameter| parameter == name)
            }
            _ => None,
        };
        let (Some(function), Some(parameter)) = (function, parameter) else {
            self.found.settings.insert(setting);
            return;
        };
        let folder = folder(&setting.place.path).to_owned();
        let is_there = self.helpers.iter().any(|helper| {
            helper.function == function.name
                && helper.folder == folder
                && helper.parameter == parameter
                && helper.setting.action == action
        });
        if !is_there {
            self.helpers.push(Helper {
                folder,
                function: function.name.clone(),
                is_method: function.is_method,
                parameter,
                setting,
                is_called: false,
            });
        }
    }

    fn is_full(&self) -> bool {
        self.found.settings.len() + self.helpers.len() >= MAX_PLACES
    }

    /// The kind of the object among the arguments of a call, of which `value` is the finalizer.
    fn object_beside(
        &self,
        reader: &Reader,
        arguments: &[Range<usize>],
        value: &Range<usize>,
    ) -> Option<Object> {
        let mut objects = BTreeSet::new();
        for argument in arguments.iter().filter(|argument| *argument != value) {
            objects.insert(self.object(reader, argument));
        }
        objects.remove(&Object::Unknown);
        objects.pop_first()
    }

    /// The kind of the object in these tokens.
    fn object(&self, reader: &Reader, tokens: &Range<usize>) -> Object {
        let start = (tokens.clone())
            .find(|at| !reader.sign(*at, '&') && !reader.sign(*at, '*'))
            .unwrap_or(tokens.end);
        let object = start..tokens.end;
        let Some(name) = object.clone().rev().find_map(|at| reader.name(at)) else {
            return Object::Unknown;
        };
        if object.len() == 1 {
            let scope = match reader.around(start) {
                Some(function) => function.tokens.clone(),
                None => 0..reader.file.tokens.len(),
            };
            let mut kinds = BTreeSet::new();
            for (package, kind) in reader.types(scope, name) {
                kinds.insert(self.kind(reader, package, kind));
            }
            kinds.remove(&Object::Unknown);
            if let Some(kind) = kinds.pop_first() {
                return kind;
            }
        } else if let Some((package, kind)) = reader.type_at(start)
            && object.clone().take(MAX_PATH).any(|at| reader.sign(at, '{'))
        {
            return self.kind(reader, package, kind);
        }
        // A variable or a field often has the name of the kind.
        let mut kinds = self.kinds.iter();
        match kinds.find(|kind| kind.eq_ignore_ascii_case(name)) {
            Some(kind) => Object::Kind(kind.clone()),
            None => Object::Unknown,
        }
    }

    fn kind(&self, reader: &Reader, package: &str, kind: &str) -> Object {
        if self.kinds.contains(kind) {
            return Object::Kind(kind.to_owned());
        }
        match reader.file.import(package) {
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
        let mut all: BTreeMap<String, Place> = BTreeMap::new();
        for (name, definition) in self.go.all_definitions(says_finalizer) {
            let lower = name.to_ascii_lowercase();
            let is_one = lower.ends_with("finalizer") || lower.ends_with("finalizername");
            if let Value::Known(text) = self.go.defined(definition)
                && is_name(&text)
                && (is_one || is_finalizer(&text))
                && !matches!(text.as_str(), "true" | "false")
            {
                let place = all.entry(text).or_insert(definition.place.clone());
                *place = definition.place.clone().min(place.clone());
            }
        }
        for (text, place) in all {
            self.text(&text, &place);
        }
    }

    /// Reports a finalizer that no setting has.
    fn text(&mut self, text: &str, place: &Place) {
        let value = Value::Known(text.to_owned());
        let mut settings = self.found.settings.iter();
        let is_set =
            settings.any(|setting| setting.action != Action::Check && setting.value == value);
        if !is_set && self.reported.insert(text.to_owned()) {
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
fn is_of_library(reader: &Reader, at: usize) -> bool {
    let is_named = matches!(
        reader.name(at),
        Some("AddFinalizer" | "RemoveFinalizer" | "ContainsFinalizer")
    );
    let Some(package) = reader.qualifier(at).filter(|_| is_named) else {
        return false;
    };
    let import = reader.file.import(package).unwrap_or(package);
    file_name(import) == "controllerutil"
}

/// Whether the call at `at` is of this function of the project.
fn is_call_of(reader: &Reader, at: usize, helper: &Helper) -> bool {
    let is_dotted = at.checked_sub(1).is_some_and(|dot| reader.sign(dot, '.'));
    match reader.qualifier(at) {
        _ if helper.is_method => is_dotted,
        Some(package) => {
            let import = reader.file.import(package).unwrap_or(package);
            file_name(import) == file_name(&helper.folder)
        }
        None => !is_dotted && folder(&reader.file.place(at).path) == helper.folder,
    }
}

/// Whether the call at `at` only writes or compares text.
fn is_about_text(reader: &Reader, at: usize, function: &str) -> bool {
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
    let package = reader.qualifier(at);
    FUNCTIONS.contains(&function) || package.is_some_and(|name| PACKAGES.contains(&name))
}

/// Whether these are few tokens with a name that says finalizer.
fn is_named_finalizer(reader: &Reader, tokens: &Range<usize>) -> bool {
    let mut names = tokens.clone().filter_map(|at| reader.name(at));
    tokens.len() <= 3 && names.any(says_finalizer)
}

/// The index of the name of a list of finalizers in these tokens.
fn list_of_finalizers(reader: &Reader, tokens: &Range<usize>) -> Option<usize> {
    tokens.clone().take(MAX_PATH).find(|at| {
        let name = reader.name(*at);
        name.is_some_and(|name| name == "GetFinalizers" || name.eq_ignore_ascii_case("finalizers"))
    })
}
