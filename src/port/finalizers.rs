//! Finds the finalizers that the Go code sets on objects: in each file, by a function of controller-runtime, by an edit
//! of the list, by a function of the project, or by a call that the code here does not know.
//!
//! An object that has a finalizer is deleted only after an operator has removed the finalizer. So whatever looks like a
//! finalizer, and is not taken over, is reported with its place.

mod helpers;
mod lists;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use self::FinalizerObject::{AnyObject, Unresolved};
use super::{
    go::{Go, GoValue, written},
    go_file::{File, Place},
    go_tokens::Token,
    go_types::{GoTypes, last_bracket, path_start},
    group_kind::GroupKind,
    path::{file_name, folder},
    setups::Setups,
};
use crate::names::FinalizerName;

/// The largest number of places that are found. A project has a few.
const MAX_PLACES: usize = 1_000;

/// The most tokens of the expression for an object or for its list of finalizers.
const MAX_PATH: usize = 50;

/// How many expressions a list of finalizers may consist of, one in the other.
const MAX_LISTS: usize = 10;

/// The most expressions of lists that are read in all.
const MAX_READS: usize = 5_000;

/// What a call does with a finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    Add,
    Remove,
    Check,
}

/// The kind of an object that gets a finalizer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FinalizerObject {
    /// A kind that the project has.
    Kind(GroupKind),
    /// A kind that the project does not have.
    Other(String),
    /// A variable or the result of a call, whose type the code does not show.
    Unresolved,
    /// Any object: the code does not say more, as for the parameter of a function.
    AnyObject,
}

/// What gets a finalizer.
#[derive(Debug, Clone)]
struct FinalizerTarget {
    objects: BTreeSet<FinalizerObject>,
    /// The parameter of the function that has the object, if only its callers know what it is.
    parameter: Option<usize>,
}

impl From<FinalizerObject> for FinalizerTarget {
    fn from(object: FinalizerObject) -> Self {
        Self {
            objects: BTreeSet::from([object]),
            parameter: None,
        }
    }
}

/// A place where the code adds a finalizer to an object, removes it, or looks for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    pub place: Place,
    pub value: GoValue,
    /// The constant, variable or field that has the finalizer.
    pub name: Option<String>,
    pub object: FinalizerObject,
    pub action: Action,
    /// The controllers that the code may belong to.
    pub setups: BTreeSet<usize>,
}

impl Setting {
    /// Whether the finalizer is known.
    pub fn is_known(&self) -> bool {
        matches!(self.value, GoValue::Known(_))
    }
}

/// What was found in all files.
#[derive(Debug, Default)]
pub(super) struct Finalizers {
    pub settings: BTreeSet<Setting>,
    /// The arguments of unknown functions that add finalizers.
    pub given: BTreeSet<GoValue>,
    /// The lines about what looks like a finalizer, and is in none of the settings.
    pub lines: Vec<String>,
}

impl Finalizers {
    /// `setups` knows the kinds of the project and their controllers.
    pub fn new(go: &Go, setups: &Setups) -> Self {
        let mut finder = Finder {
            go,
            setups,
            functions: BTreeSet::new(),
            types: GoTypes::new(go),
            helpers: Vec::new(),
            appends: BTreeSet::new(),
            own: Vec::new(),
            seen: BTreeSet::new(),
            reads: 0,
            registries: BTreeSet::new(),
            unclear: BTreeMap::new(),
            reported: BTreeSet::new(),
            found: Self::default(),
        };
        let files: Vec<_> = go.code().collect();
        let about: Vec<_> = files.iter().filter(|file| says_so(file)).copied().collect();
        for file in &about {
            for function in &file.functions {
                finder.functions.insert(function.name.clone());
            }
            finder.known_fields(file);
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
        finder.found.lines.extend(finder.unclear.into_values());
        finder.found
    }
}

fn says_finalizer(text: &str) -> bool {
    text.to_ascii_lowercase().contains("finalizer")
}

/// Whether a name is that of the key of a label or an annotation, or of a field manager.
fn says_other(name: &str) -> bool {
    const WORDS: [&str; 4] = ["annotation", "fieldmanager", "fieldowner", "label"];
    let lower = name.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
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

/// A function of the project that sets the finalizer in one of its parameters, or sets a finalizer of one of them.
struct Helper {
    folder: String,
    function: String,
    /// The type of the receiver.
    receiver: Option<String>,
    /// The parameter with the finalizer.
    parameter: Option<usize>,
    /// The parameter with the object.
    object: Option<usize>,
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
        let is_dotted = file.before_dot(at).is_some();
        match file.qualifier(at) {
            _ if self.receiver.is_some() => is_dotted,
            Some(package) => file.package(package) == file_name(&self.folder),
            None => !is_dotted && folder(&file.path) == self.folder,
        }
    }
}

/// The path that ends before the token at `end`, without `ObjectMeta`: `r.book` of `r.book.ObjectMeta.`.
fn owner(file: &File, end: usize) -> Option<Range<usize>> {
    let last = file.before_dot(end)?;
    if file.name(last) == Some("ObjectMeta") && file.before_dot(last).is_some() {
        return owner(file, last);
    }
    Some(path_start(file, last + 1)..last + 1)
}

/// Collects the settings.
struct Finder<'a> {
    go: &'a Go,
    setups: &'a Setups<'a>,
    /// The functions of the project, in files that say something about finalizers.
    functions: BTreeSet<String>,
    types: GoTypes<'a>,
    helpers: Vec<Helper>,
    /// The calls of `append` that were read with the list that they are in.
    appends: BTreeSet<(Arc<str>, usize)>,
    /// The object that gets the list that is read.
    own: Vec<Token>,
    /// The values of variables with this list.
    seen: BTreeSet<usize>,
    /// How many expressions of lists were read.
    reads: usize,
    /// The folders with code that registers a finalizer.
    registries: BTreeSet<String>,
    /// The lines about lists of finalizers that are not understood.
    unclear: BTreeMap<Place, String>,
    /// The finalizers that were reported, and texts that are no finalizers.
    reported: BTreeSet<String>,
    found: Finalizers,
}

impl<'a> Finder<'a> {
    /// Reads what the code sets the field with finalizers to.
    fn known_fields(&mut self, file: &'a File) {
        for at in 0..file.tokens.len() {
            // `object.Finalizers[0] = value`
            if file.name(at) == Some("Finalizers") && file.is_sign(at + 1, '[') {
                let close = file.end(at + 1);
                let is_set = file.is_sign(close + 1, '=') && !file.is_sign(close + 2, '=');
                if let Some(value) = file.expression(close + 2).filter(|_| is_set) {
                    let target = self.owner(file, at);
                    self.begin(file, at);
                    self.element(file, at, &value, &target, MAX_LISTS);
                }
            }
        }
        for (at, token) in file.tokens.iter().enumerate() {
            if is_key(std::slice::from_ref(token))
                && let Some(elements) = value_of_key(file, at)
            {
                self.begin(file, at);
                let target = Unresolved.into();
                if !self.list(file, elements.clone(), &target, MAX_LISTS) {
                    self.not_understood(file, at, &elements);
                }
            }
        }
        for (at, elements) in file.set_to("Finalizers") {
            self.begin(file, at);
            let open = file.around_brackets(at).next();
            let name = open.and_then(|open| file.name_before(open));
            let in_metadata = name == Some("ObjectMeta");
            let target = match (owner(file, at), file.literal_around(at)) {
                (None, Some((package, kind))) => self.kind(file, package, kind).into(),
                (None, None) => Unresolved.into(),
                _ => self.owner(file, at),
            };
            if self.list(file, elements.clone(), &target, MAX_LISTS) {
                continue;
            }
            if in_metadata || file.before_dot(at).is_some() {
                self.not_understood(file, at, &elements);
            }
        }
    }

    /// Reads the calls of functions that set finalizers, and edits of the list.
    fn known_calls(&mut self, file: &'a File) {
        let has_registry = has_registry(file);
        for (at, function) in file.calls() {
            self.begin(file, at);
            let arguments = file.arguments(at + 1);
            match (function, arguments.as_slice()) {
                ("AddFinalizer" | "RemoveFinalizer" | "ContainsFinalizer", [object, value])
                    if is_of_library(file, at) =>
                {
                    let target = self.target(file, object);
                    self.setting(file, at, value, &target, action(function));
                }
                ("SetFinalizers", [elements]) => {
                    let target = self.owner(file, at);
                    if !self.list(file, elements.clone(), &target, MAX_LISTS) {
                        self.not_understood(file, at, elements);
                    }
                }
                // A configuration for server-side apply: `v1ac.Book("name", "namespace").WithFinalizers(…)`.
                ("WithFinalizers", values) => {
                    let Some(path) = owner(file, at) else {
                        continue;
                    };
                    let target = match file.type_at(path.start) {
                        Some((package, kind)) if file.import(package).is_some() => {
                            match self.kind(file, package, kind) {
                                AnyObject => Unresolved.into(),
                                object => object.into(),
                            }
                        }
                        _ => self.target(file, &path),
                    };
                    for value in values {
                        if !self.element(file, at, value, &target, MAX_LISTS) {
                            self.not_understood(file, at, value);
                        }
                    }
                }
                // `unstructured.SetNestedStringSlice(object.Object, …, "metadata", "finalizers")`
                (function, [object, elements, .., last])
                    if function.starts_with("SetNested") && is_key(&file.tokens[last.clone()]) =>
                {
                    let is_content = file.name(object.end - 1) == Some("Object");
                    let target = if is_content {
                        self.owner(file, object.end - 1)
                    } else {
                        Unresolved.into()
                    };
                    if !self.list(file, elements.clone(), &target, MAX_LISTS) {
                        self.not_understood(file, at, elements);
                    }
                }
                // The registry of controller-runtime: `finalizers.Register("name", …)`.
                ("Register", [value, rest @ ..])
                    if file.qualifier(at).is_some_and(says_finalizer)
                        || has_registry && rest.len() == 1 =>
                {
                    self.registries.insert(folder(&file.path).to_owned());
                    self.setting(file, at, value, &AnyObject.into(), Action::Add);
                }
                _ => {}
            }
        }
        for (at, function) in file.calls() {
            let arguments = file.arguments(at + 1);
            if function == "append"
                && !self.appends.contains(&(Arc::clone(&file.path), at))
                && let [list, values @ ..] = arguments.as_slice()
                && let Some(list) = list_of_finalizers(file, list)
            {
                // A variable with a list has no owner.
                let target = self.owner(file, list);
                self.begin(file, list);
                for value in values {
                    let is_known = self.element(file, at, value, &target, MAX_LISTS);
                    if !is_known && file.before_dot(list).is_some() {
                        self.not_understood(file, at, value);
                    }
                }
            }
        }
    }

    /// The object at the end of the path before the token at `end`.
    fn owner(&self, file: &'a File, end: usize) -> FinalizerTarget {
        match owner(file, end) {
            Some(owner) => self.target(file, &owner),
            None => AnyObject.into(),
        }
    }

    /// Reads the other calls that say something about a finalizer: of functions outside of the project, and of
    /// functions of the project that the code here does not understand.
    fn other_calls(&mut self, file: &'a File) {
        for (at, function) in file.calls() {
            let is_known = is_of_library(file, at)
                || matches!(
                    function,
                    "append" | "SetFinalizers" | "WithFinalizers" | "GetFinalizers" | "Register"
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
            let object = value.and_then(|value| self.object_in_call(file, &arguments, value));
            match value {
                Some(value)
                    if is_about || object.as_ref().is_some_and(|object| *object != Unresolved) =>
                {
                    let known = object.unwrap_or(AnyObject);
                    self.unclear.remove(&file.place(at));
                    self.setting(file, at, value, &known.into(), action(function));
                }
                None if function == "NewFinalizers"
                    && !self.registries.contains(folder(&file.path)) =>
                {
                    let place = file.place(at);
                    self.add_line(sets("NewFinalizers", &place));
                }
                // What a function of the project does is in the function itself.
                None if says_finalizer(function)
                    && !self.functions.contains(function)
                    && action(function) == Action::Add
                    && arguments.len() > 1 =>
                {
                    let place = file.place(at);
                    let named = (arguments.iter()).find(|own| is_named_finalizer(file, own));
                    let shown = named.map(|own| written(&file.tokens[own.clone()]));
                    let what = match shown {
                        Some(name) => format!("the finalizer `{name}`"),
                        None => "finalizers".to_owned(),
                    };
                    self.add_line(format!("what `{function}` does with {what} ({place})"));
                    let values = arguments.iter().map(|own| self.go.value(file, own));
                    self.found.given.extend(values);
                }
                _ => {}
            }
        }
    }

    /// Whether the value of these tokens is known, and looks like a finalizer.
    fn is_known_finalizer(&self, file: &File, tokens: &Range<usize>) -> bool {
        matches!(self.go.value(file, tokens), GoValue::Known(text) if is_finalizer(&text))
    }

    /// Records that the code at `at` sets the finalizer `value`.
    fn setting(
        &mut self,
        file: &File,
        at: usize,
        value: &Range<usize>,
        target: &FinalizerTarget,
        action: Action,
    ) {
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
            object: AnyObject,
            action,
            setups: self.setups.at(file, at),
        };
        self.record(file, at, parameter(file, value), target, setting);
    }

    /// Records a setting for a target, or the function whose parameters have the finalizer or the object.
    fn record(
        &mut self,
        file: &File,
        at: usize,
        parameter: Option<usize>,
        target: &FinalizerTarget,
        setting: Setting,
    ) {
        if self.is_full() {
            return;
        }
        let object = target.objects.first().unwrap_or(&setting.object).clone();
        if (parameter.is_some() || target.parameter.is_some())
            && let Some(function) = file.around(at)
        {
            let folder = folder(&file.path).to_owned();
            let is_known = self.helpers.iter().any(|helper| {
                helper.function == function.name
                    && helper.folder == folder
                    && helper.receiver.as_deref() == function.kind()
                    && helper.parameter == parameter
                    && helper.object == target.parameter
                    && helper.setting.action == setting.action
                    && (parameter.is_some() || helper.setting.value == setting.value)
            });
            if !is_known {
                self.helpers.push(Helper {
                    folder,
                    function: function.name.clone(),
                    receiver: function.kind().map(str::to_owned),
                    parameter,
                    object: target.parameter,
                    setting: Setting { object, ..setting },
                    is_called: false,
                });
            }
        } else {
            for object in &target.objects {
                let object = object.clone();
                self.found.settings.insert(Setting {
                    object,
                    ..setting.clone()
                });
            }
        }
    }

    fn is_full(&self) -> bool {
        self.found.settings.len() + self.helpers.len() >= MAX_PLACES
    }

    /// The kind of the object among the arguments of a call, of which `value` is the finalizer.
    fn object_in_call(
        &self,
        file: &'a File,
        arguments: &[Range<usize>],
        value: &Range<usize>,
    ) -> Option<FinalizerObject> {
        let others = arguments.iter().filter(|argument| *argument != value);
        let objects = others.flat_map(|argument| {
            let is_variable = argument.len() <= 2;
            let objects = self.target(file, argument).objects.into_iter();
            objects.filter(move |object| is_variable || *object != Unresolved)
        });
        objects.filter(|object| *object != AnyObject).min()
    }

    /// The objects that these tokens may be.
    fn target(&self, file: &'a File, tokens: &Range<usize>) -> FinalizerTarget {
        let start = (tokens.clone())
            .find(|at| !file.is_sign(*at, '&') && !file.is_sign(*at, '*'))
            .unwrap_or(tokens.end);
        let object = start..tokens.end;
        let Some(name) = object.clone().rev().find_map(|at| file.name(at)) else {
            return AnyObject.into();
        };
        let first = file.name(start).unwrap_or("");
        let variable = self.types.variable(file, start, first);
        let types = if object.len() == 1 {
            variable.types
        } else {
            self.types.of(file, object.clone())
        };
        let kinds = types
            .iter()
            .map(|of_object| self.kind(of_object.file, of_object.package, of_object.name));
        let objects: BTreeSet<_> = kinds.filter(|kind| *kind != AnyObject).collect();
        if !objects.is_empty() {
            let parameter = None;
            return FinalizerTarget { objects, parameter };
        }
        // A variable or a field often has the name of the kind.
        if let [kind] = self.setups.files.named(name, folder(&file.path))[..] {
            return FinalizerObject::Kind(kind.clone()).into();
        }
        if variable.is_local || last_bracket(file, object.clone()).is_some() {
            return Unresolved.into();
        }
        FinalizerTarget {
            objects: BTreeSet::from([AnyObject]),
            parameter: parameter(file, &object),
        }
    }

    fn kind(&self, file: &File, package: &str, kind: &str) -> FinalizerObject {
        match self.setups.files.of_type(file, package, kind)[..] {
            [known] => return FinalizerObject::Kind(known.clone()),
            [] => {}
            _ => return AnyObject,
        }
        match file.import(package) {
            // A type of the project itself, which is none of its kinds, may be an interface.
            Some(import) if has_kinds(import) && !self.go.has_package(import) => {
                FinalizerObject::Other(kind.to_owned())
            }
            _ => AnyObject,
        }
    }

    /// Finds literals that look like a finalizer, or like a patch of finalizers.
    fn literals(&mut self, file: &File) {
        let mut is_import = false;
        for (at, token) in file.tokens.iter().enumerate() {
            match token {
                Token::Name(name) if name == "import" => is_import = true,
                Token::Name(name) if ["const", "func", "type", "var"].contains(&name.as_str()) => {
                    is_import = false;
                }
                Token::Text(text)
                    if is_key(std::slice::from_ref(token)) && is_set_by_call(file, at) =>
                {
                    let place = file.place(at);
                    self.add_line(sets(&format!("\"{text}\""), &place));
                }
                Token::Text(_) if is_key(std::slice::from_ref(token)) => {}
                Token::Text(text) if !is_import => {
                    let map = map_with_key(file, at).unwrap_or("");
                    if says_other(map) || !says_finalizer(text) && !says_finalizer(map) {
                        continue;
                    }
                    let is_patch = text.contains("\"finalizers\"") && !text.contains("json:")
                        || text.contains("/metadata/finalizers");
                    let is_resource = text.ends_with("/finalizers");
                    if is_patch {
                        if empties(text) {
                            continue;
                        }
                        let place = file.place(at);
                        self.add_line(format!(
                            "the finalizers that the Go code sets by a patch ({place}): set \
                             `FINALIZER_NAME` in the controller"
                        ));
                    } else if is_finalizer(text) && !is_resource {
                        self.text(text, &file.place(at));
                    }
                }
                _ => {}
            }
        }
    }

    /// Finds constants, variables and fields whose name says that they have a finalizer.
    fn definitions(&mut self) {
        for (_, definition) in self.go.all_definitions(says_other) {
            if let GoValue::Known(text) = self.go.defined(definition) {
                self.reported.insert(text);
            }
        }
        let mut found = BTreeSet::new();
        for (name, definition) in self.go.all_definitions(says_finalizer) {
            let lower = name.to_ascii_lowercase();
            let is_one = lower.ends_with("finalizer") || lower.ends_with("finalizername");
            // A text with capital letters is the reason of an event.
            if let GoValue::Known(text) = self.go.defined(definition)
                && is_name(&text)
                && (is_finalizer(&text) || is_one && !text.contains(char::is_uppercase))
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
        let value = GoValue::Known(text.to_owned());
        let mut settings = self.found.settings.iter();
        if !settings.any(|setting| setting.action != Action::Check && setting.value == value)
            && self.reported.insert(text.to_owned())
        {
            self.add_line(without_kind(text, place));
        }
    }

    fn add_line(&mut self, line: String) {
        if self.found.lines.len() < MAX_PLACES {
            self.found.lines.push(line);
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

/// The line about finalizers that the code sets in a way that is not understood.
fn sets(how: &str, place: &Place) -> String {
    format!(
        "the finalizers that the Go code sets by `{how}` ({place}): set `FINALIZER_NAME` in the controller of their kind; \
         until then, objects with them cannot be deleted"
    )
}

/// The parameter of the function around these tokens that they are.
fn parameter(file: &File, tokens: &Range<usize>) -> Option<usize> {
    let name = file.name(tokens.start).filter(|_| tokens.len() == 1)?;
    let mut parameters = file.around(tokens.start)?.parameters.iter();
    parameters.position(|own| own == name)
}

/// Whether the package with this import path has kinds: its name is a version, such as `v1beta1`.
fn has_kinds(import: &str) -> bool {
    let version = file_name(import).strip_prefix('v').unwrap_or("");
    version.starts_with(|c: char| c.is_ascii_digit())
        && import.contains('/')
        && !import.ends_with("/apis/meta/v1")
}

/// Whether the file has a registry of controller-runtime's package `finalizer`.
fn has_registry(file: &File) -> bool {
    let import = file.import("finalizer").unwrap_or("");
    import.ends_with("controller-runtime/pkg/finalizer") || file.mentions("NewFinalizers")
}

/// Whether these tokens are the field of objects with finalizers, as a text.
fn is_key(tokens: &[Token]) -> bool {
    match tokens {
        [Token::Text(text)] => text == "finalizers" || text == "metadata.finalizers",
        _ => false,
    }
}

/// What the code sets the field to whose name is the text at `at`.
fn value_of_key(file: &File, at: usize) -> Option<Range<usize>> {
    let before = at.checked_sub(1)?;
    if file.is_sign(at + 1, ':') && file.name(before) != Some("case") {
        // `"finalizers": list`
        file.expression(at + 2)
    } else if file.is_sign(before, '[') && file.is_sign(at + 1, ']') {
        // `metadata["finalizers"] = list`
        let is_set = file.is_sign(at + 2, '=') && !file.is_sign(at + 3, '=');
        file.expression(at + 3).filter(|_| is_set)
    } else {
        None
    }
}

/// Whether the text at `at` is the field that a call sets, as in `sjson.Set(text, "metadata.finalizers", list)`. The
/// functions `SetNested…` are read with the other calls.
fn is_set_by_call(file: &File, at: usize) -> bool {
    let open = file.around_brackets(at).next();
    let call = open.filter(|open| at - open <= MAX_PATH && file.is_sign(*open, '('));
    let function = call.and_then(|open| file.name_before(open));
    function.is_some_and(|name| name.starts_with("Set") && !name.starts_with("SetNested"))
}

/// The name of the map of which the text at `at` is a key: `finalizers` in `finalizers["x.io/a"]`.
fn map_with_key(file: &File, at: usize) -> Option<&str> {
    let open = at.checked_sub(1).filter(|open| file.is_sign(*open, '['))?;
    file.name_before(open)
}

/// Whether a patch only removes finalizers.
fn empties(patch: &str) -> bool {
    let text: String = patch.split_whitespace().collect();
    ["\"finalizers\":null", "\"finalizers\":[]"]
        .iter()
        .any(|empty| text.contains(empty))
        || text.contains("\"remove\"") && !text.contains("\"add\"") && !text.contains("\"replace\"")
}
