//! Follows names in the source of a Go operator to their texts, such as the names of finalizers.
//!
//! A value that cannot be resolved, such as a name that is computed at run time, is reported, and never guessed.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use super::{
    go_file::{File, Function, Place},
    go_literals::fields_without_keys,
    go_tokens::Token,
    path::{file_name, folder, folder_of_import, is_file_of},
    programs::OtherPrograms,
};

/// The largest number of names that are followed to resolve one name.
const MAX_STEPS: usize = 8;

/// The largest number of expressions that are resolved in all: a name may have many values, and each value more names.
const MAX_EXPRESSIONS: usize = 1_000_000;

/// The longest text that counts as a name, in bytes.
const MAX_TEXT: usize = 320;

/// The largest number of tokens of an expression that is resolved.
const MAX_TOKENS: usize = 100;

/// The longest expression that the report shows, in characters.
const MAX_SHOWN: usize = 80;

/// The index of the default among the arguments of a flag function: 1 in `String("flag", "x")`, 2 in
/// `StringVar(&v, "flag", "x")`, 3 in `StringVarP(&v, "flag", "f", "x")`.
fn before_default(function: &str) -> usize {
    let (function, letter) = match function.strip_suffix('P') {
        Some(function) => (function, 1),
        None => (function, 0),
    };
    1 + letter + usize::from(function.ends_with("Var"))
}

/// The name and the opening parenthesis of the flag function whose first argument ends at this token, as in
/// `StringVar(&name` or `StringVar(&options.name`.
fn flag_function(file: &File, at: usize) -> Option<(&str, usize)> {
    let mut start = at;
    while file.qualifier(start).is_some() {
        start -= 2;
    }
    let open = start.checked_sub(2)?;
    let is_pointer = file.is_sign(open, '(') && file.is_sign(open + 1, '&');
    let function = file.name_before(open).filter(|_| is_pointer)?;
    Some((function, open))
}

/// The path of the module in a go.mod file.
fn module(go_mod: &str) -> Option<&str> {
    let mut lines = go_mod.lines();
    let path = lines.find_map(|line| line.trim().strip_prefix("module "))?;
    Some(path.trim().trim_matches('"'))
}

/// What the code sets the name at this index to.
fn value_of(file: &File, at: usize) -> Option<Range<usize>> {
    match file.tokens.get(at + 1..)? {
        // The default of a flag: `StringVar(&name, "flag", "default", …)`.
        [Token::Sign(','), Token::Text(_), Token::Sign(','), ..] => {
            let (function, open) = flag_function(file, at)?;
            file.arguments(open).get(before_default(function)).cloned()
        }
        // `const name Type = value`
        [Token::Name(_), Token::Sign('='), ..] if file.is_one_line(at..at + 3) => {
            file.value(at + 1)
        }
        [
            Token::Name(_),
            Token::Sign('.'),
            Token::Name(_),
            Token::Sign('='),
            ..,
        ] if file.is_one_line(at..at + 5) => file.value(at + 3),
        _ => file.value(at),
    }
}

/// A value of a name: of a constant, a variable or a field.
#[derive(Debug)]
pub(super) struct Definition {
    pub place: Place,
    /// The index of the name.
    pub at: usize,
    /// The value; `None` for a variable that is only declared.
    value: Option<Range<usize>>,
    /// Whether the text of the value may be known.
    is_simple: bool,
    is_field: bool,
    /// Whether this declares a constant or a variable.
    declares: bool,
}

/// The Go files of a project.
#[derive(Debug)]
pub(super) struct Go {
    /// The path of the module.
    pub module: Option<String>,
    files: BTreeMap<String, File>,
    /// The values of each name.
    values: BTreeMap<String, Vec<Definition>>,
    /// The names of fields that a literal sets without keys, so that their values are unknown.
    without_keys: BTreeSet<String>,
    /// The programs beside the operator, whose files are left out.
    pub others: OtherPrograms,
    /// How many expressions may still be resolved.
    left: Cell<usize>,
    /// The texts of names that were resolved before. A name may stand in thousands of expressions.
    resolved: RefCell<BTreeMap<Reference, Option<String>>>,
}

/// A name in the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    name: String,
    scope: Scope,
    /// How many more names are followed.
    steps: usize,
}

/// Where a name has its values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// In the function that contains this token of the file.
    Function(Arc<str>, usize),
    /// In the files of this folder, outside of functions that have their own variable of this name.
    Folder(String),
    /// The same for a package with this import path.
    Import(String),
    /// The same for folders with this name.
    Named(String),
    /// In fields of this name.
    Field,
}

impl Scope {
    /// Whether the scope is the package in the folder of a file. `module` is the path of the Go module.
    fn is_folder_of(&self, file: &str, module: &str) -> bool {
        let folder = folder(file);
        match self {
            Self::Folder(path) => folder == path,
            Self::Named(name) => file_name(folder) == name,
            Self::Import(import) => match folder_of_import(import, module) {
                Some(below) => below == folder,
                // A module in a folder of the project has another path.
                None => !folder.is_empty() && import.ends_with(folder),
            },
            Self::Function(..) | Self::Field => false,
        }
    }
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GoValue {
    /// The text.
    Known(String),
    /// The expression, which cannot be resolved from the source.
    Unknown(String),
}

impl GoValue {
    /// The text, or else the expression.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Known(text) | Self::Unknown(text) => text,
        }
    }
}

impl Go {
    /// `texts` has the text of each file of the project.
    pub(super) fn new(texts: &BTreeMap<String, String>) -> Self {
        let mut files = Vec::new();
        for (path, text) in texts {
            if is_file_of("go", path) {
                files.push(File::new(path, text));
            }
        }
        let module = texts.get("go.mod").and_then(|text| module(text));
        let mut go = Self {
            others: OtherPrograms::new(texts, &files, module.unwrap_or("")),
            module: module.map(str::to_owned),
            files: BTreeMap::new(),
            values: BTreeMap::new(),
            without_keys: BTreeSet::new(),
            left: Cell::new(MAX_EXPRESSIONS),
            resolved: RefCell::default(),
        };
        for mut file in files {
            if go.others.have(&file.path) {
                continue;
            }
            file.is_test |= go.others.leave_out(&file.path);
            if !file.is_test {
                go.read_values(&file);
            }
            go.files.insert(file.path.to_string(), file);
        }
        go.without_keys = fields_without_keys(go.files());
        go
    }

    /// Records `name = value`, `name := value`, `name Type = value`, `Name: value` and declarations without a value.
    fn read_values(&mut self, file: &File) {
        let mut block = 0..0;
        for (at, token) in file.tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            if is_declaration(name) && file.is_sign(at + 1, '(') {
                block = at + 2..file.end(at + 1);
            }
            let is_first = file.name_before(at).is_some_and(is_declaration)
                || block.contains(&at) && !file.is_one_line(at - 1..at + 1);
            // One of several names that get values at the same time.
            let of_list = file.assigned_to_list(at);
            let value = of_list.clone().or_else(|| value_of(file, at));
            let is_name = is_first && !is_declaration(name);
            let is_new = (value.as_ref())
                .is_some_and(|value| value.start > at + 2 && file.is_sign(value.start - 2, ':'));
            if value.is_none() && !is_name {
                continue;
            }
            let is_simple = of_list.is_none()
                && value.as_ref().is_some_and(|value| {
                    value.len() <= MAX_TOKENS && file.is_simple(value.clone())
                });
            let definition = Definition {
                place: file.place(at),
                at,
                is_simple,
                is_field: file.before_dot(at).is_some()
                    || file.is_sign(at + 1, ':') && !file.is_sign(at + 2, '='),
                declares: is_name || is_new,
                value,
            };
            self.values
                .entry(name.clone())
                .or_default()
                .push(definition);
        }
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    pub(super) fn files_and_tests(&self) -> impl Iterator<Item = &File> + Clone {
        self.files.values()
    }

    /// The files except tests.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> + Clone {
        self.files_and_tests().filter(|file| !file.is_test)
    }

    /// The files that people wrote, except tests.
    pub(super) fn code(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| !file.is_generated)
    }

    /// The definitions of `name` in files without tests, in the order of the files and tokens.
    fn of_name(&self, name: &str) -> &[Definition] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The definitions of `name` in files without tests whose value may be known.
    pub(super) fn definitions(&self, name: &str) -> impl Iterator<Item = &Definition> {
        let all = self.of_name(name).iter();
        all.filter(|definition| definition.is_simple)
    }

    /// The definitions of all names for which `is_wanted` returns true, in code that people wrote.
    pub(super) fn all_definitions(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Vec<(&str, &Definition)> {
        let mut all = Vec::new();
        for name in self.values.keys().filter(|name| is_wanted(name)) {
            for definition in self.definitions(name) {
                let file = self.file(&definition.place.path);
                if file.is_some_and(|file| !file.is_generated) {
                    all.push((name.as_str(), definition));
                }
            }
        }
        all
    }

    /// The value of a definition.
    pub(super) fn defined(&self, definition: &Definition) -> GoValue {
        match (self.file(&definition.place.path), &definition.value) {
            (Some(file), Some(value)) => self.value(file, value),
            _ => GoValue::Unknown(String::new()),
        }
    }

    /// The value of an expression in a file.
    pub(super) fn value(&self, file: &File, expression: &Range<usize>) -> GoValue {
        let text = self.text(file, expression.clone(), MAX_STEPS);
        match text.filter(|_| expression.len() <= MAX_TOKENS) {
            Some(text) => GoValue::Known(text),
            None => GoValue::Unknown(written(&file.tokens[expression.clone()])),
        }
    }

    /// Resolves an expression in a file to its text.
    fn text(&self, file: &File, expression: Range<usize>, most: usize) -> Option<String> {
        let steps = most.checked_sub(1)?;
        self.left.set(self.left.get().checked_sub(1)?);
        let Range { start, end } = expression;
        if let Some(plus) = file.plus(&expression) {
            let before = self.text(file, start..plus, steps)?;
            return short(before + &self.text(file, plus + 1..end, steps)?);
        }
        match &file.tokens[start..end] {
            [Token::Text(text)] => short(text.clone()),
            [Token::Name(name)] if matches!(name.as_str(), "true" | "false") => Some(name.clone()),
            [Token::Name(name)] => self.named(name, self.scope(file, start, name)?, steps),
            // The variable that a pointer points to, and the pointer.
            [Token::Sign('*' | '&'), ..] => self.text(file, start + 1..end, steps),
            // A conversion.
            [Token::Name(kind), Token::Sign('('), ..] if kind == "string" => {
                self.text(file, start + 2..end - 1, steps)
            }
            // A constant of a package, or a field of the reconciler.
            [Token::Name(package), Token::Sign('.'), Token::Name(name)] => {
                let is_own = file
                    .around(start)
                    .is_some_and(|own| own.has_parameter(package));
                let scope = match file.import(package) {
                    Some(import) => Scope::Import(import.to_owned()),
                    None if !is_own && self.has_folder(package) => Scope::Named(package.clone()),
                    None => Scope::Field,
                };
                self.named(name, scope, steps)
            }
            [
                Token::Name(_),
                Token::Sign('.'),
                Token::Name(function),
                Token::Sign('('),
                ..,
            ] => self.returned(file, function, &file.arguments(start + 3), steps),
            _ => None,
        }
    }

    /// Resolves a call of a function to the text that it returns.
    fn returned(
        &self,
        file: &File,
        function: &str,
        arguments: &[Range<usize>],
        steps: usize,
    ) -> Option<String> {
        match function {
            // The default of a flag: `flag.String("flag", "default", …)`.
            "Bool" | "BoolP" | "String" | "StringP" => {
                let default = arguments.get(before_default(function))?;
                self.text(file, default.clone(), steps)
            }
            "Sprintf" => {
                let (format, values) = arguments.split_first()?;
                let mut parts = self.text(file, format.clone(), steps)?.replace("%v", "%s");
                let mut rest = values.iter();
                while parts.contains("%s") {
                    let text = self.text(file, rest.next()?.clone(), steps)?;
                    parts = short(parts.replacen("%s", &text, 1))?;
                }
                (!parts.contains('%')).then_some(parts)
            }
            _ => None,
        }
    }

    /// Whether the project has the package with this import path, or a module in one of its folders has it.
    pub(super) fn has_package(&self, import: &str) -> bool {
        let module = self.module.as_deref().unwrap_or("");
        let scope = Scope::Import(import.to_owned());
        folder_of_import(import, module).is_some()
            || (self.files.keys()).any(|path| scope.is_folder_of(path, module))
    }

    /// Whether a folder has this name.
    fn has_folder(&self, name: &str) -> bool {
        let mut paths = self.files.keys();
        paths.any(|path| file_name(folder(path)) == name)
    }

    /// The scope of a name at this token; `None` for a parameter, whose values are those of the calls.
    fn scope(&self, file: &File, at: usize, name: &str) -> Option<Scope> {
        if let Some(function) = file.around(at) {
            let definitions = self.in_function(file, function, name).iter();
            let mut declared = definitions.filter(|own| own.declares);
            // The value of `name := name` is another variable.
            let mut values = declared.clone().filter_map(|own| own.value.as_ref());
            let is_value = values.any(|value| value.contains(&at));
            if declared.next().is_some() && !is_value {
                let start = function.tokens.start;
                return Some(Scope::Function(Arc::clone(&file.path), start));
            }
            if function.has_parameter(name) {
                return None;
            }
        }
        Some(Scope::Folder(folder(&file.path).to_owned()))
    }

    /// The definitions of a name in a function.
    fn in_function(&self, file: &File, function: &Function, name: &str) -> &[Definition] {
        let all = self.of_name(name);
        let [start, end] = [function.tokens.start, function.tokens.end]
            .map(|at| all.partition_point(|own| (&own.place.path, own.at) < (&file.path, at)));
        &all[start..end]
    }

    /// Whether a function has its own variable of this name.
    fn declares(&self, file: &File, function: &Function, name: &str) -> bool {
        let mut definitions = self.in_function(file, function, name).iter();
        definitions.any(|definition| definition.declares)
    }

    /// The definitions of a name in its scope.
    fn in_scope(&self, name: &str, scope: &Scope) -> Vec<&Definition> {
        if let Scope::Function(path, start) = scope {
            let file = self.file(path);
            let found = file.and_then(|file| Some((file, file.around(*start)?)));
            let found = found.map(|(file, function)| self.in_function(file, function, name));
            return found
                .into_iter()
                .flatten()
                .filter(|own| !own.is_field)
                .collect();
        }
        let module = self.module.as_deref().unwrap_or("");
        let mut found: Vec<_> = self.of_name(name).iter().collect();
        found.retain(|definition| {
            let path = &definition.place.path;
            if *scope == Scope::Field || definition.is_field {
                return *scope == Scope::Field && definition.is_field;
            }
            scope.is_folder_of(path, module)
                && self.file(path).is_some_and(|file| {
                    file.around(definition.at).is_none_or(|function| {
                        !function.has_parameter(name) && !self.declares(file, function, name)
                    })
                })
        });
        found
    }

    /// Resolves a name to its text in a scope. Returns `None` if there are several texts, or if one of them is unknown.
    fn named(&self, name: &str, scope: Scope, steps: usize) -> Option<String> {
        if scope == Scope::Field && self.without_keys.contains(name) {
            return None;
        }
        let reference = Reference {
            name: name.to_owned(),
            scope,
            steps,
        };
        if let Some(known) = self.resolved.borrow().get(&reference) {
            return known.clone();
        }
        let mut found: Option<String> = None;
        for definition in self.in_scope(name, &reference.scope) {
            let Some(value) = definition.value.clone() else {
                continue;
            };
            let file = self
                .file(&definition.place.path)
                .filter(|_| definition.is_simple);
            let text = file.and_then(|file| self.text(file, value, steps));
            if text.is_none() || found.is_some() && text != found {
                found = None;
                break;
            }
            found = text;
        }
        self.resolved.borrow_mut().insert(reference, found.clone());
        found
    }
}

/// Returns whether Go declares constants or variables by this word.
fn is_declaration(word: &str) -> bool {
    matches!(word, "const" | "var")
}

/// A text that is short enough for a name.
fn short(text: String) -> Option<String> {
    (text.len() <= MAX_TEXT).then_some(text)
}

/// An expression as the report shows it.
pub(super) fn written(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens.iter().take(MAX_TOKENS) {
        match token {
            Token::Name(name) => text += name,
            Token::Text(literal) => text.extend(["\"", literal, "\""]),
            Token::Sign(',') => text += ", ",
            Token::Sign('+') => text += " + ",
            Token::Sign(sign) => text.push(*sign),
        }
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
        text.replace_range(end.., "…");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(files: &[(&str, &str)]) -> Go {
        let texts = files
            .iter()
            .map(|(path, text)| (path.to_string(), text.to_string()));
        Go::new(&texts.collect())
    }

    fn known(text: &str) -> BTreeSet<GoValue> {
        BTreeSet::from([GoValue::Known(text.to_owned())])
    }

    fn unknown(text: &str) -> BTreeSet<GoValue> {
        BTreeSet::from([GoValue::Unknown(text.to_owned())])
    }

    /// The values of the argument at `index` in all calls of `function` in the file at `path`.
    fn arguments(go: &Go, path: &str, function: &str, index: usize) -> BTreeSet<GoValue> {
        let file = go.file(path).expect("a file");
        let calls = file.calls().filter(|(_, name)| *name == function);
        let arguments = calls.map(|(at, _)| file.arguments(at + 1));
        arguments
            .filter_map(|all| Some(go.value(file, all.get(index)?)))
            .collect()
    }

    fn first(go: &Go, path: &str, function: &str) -> BTreeSet<GoValue> {
        arguments(go, path, function, 0)
    }

    #[test]
    fn unterminated_literals_and_calls_are_read() {
        for text in ["\"a", "`a", "'", "/* a", "// a", "f(a", "x = a(", "\\"] {
            first(&go(&[("main.go", text)]), "main.go", "f");
        }
    }

    #[test]
    fn a_name_resolves_to_its_text() {
        let go = go(&[
            (
                "main.go",
                "const controllerName = \"source-controller\"\n\
                 id := fmt.Sprintf(\"%s-%s\", controllerName, \"leader-election\")\n\
                 mgr := ctrl.Options{LeaderElectionID: id}\n",
            ),
            (
                "internal/controller/book.go",
                "import api \"example.com/books/api/v1\"\n\
                 const finalizer string = api.Group + \"/finalizer\"\n\
                 controllerutil.AddFinalizer(book, finalizer)\n\
                 client.FieldOwner(r.Name)\n",
            ),
            ("api/v1/groupversion.go", "var Group = \"example.com\"\n"),
        ]);
        let main = go.file("main.go").unwrap();
        let (_, lease) = main.set_to("LeaderElectionID").next().unwrap();
        let known_lease = GoValue::Known("source-controller-leader-election".to_owned());
        assert_eq!(go.value(main, &lease), known_lease);
        let path = "internal/controller/book.go";
        let finalizers = arguments(&go, path, "AddFinalizer", 1);
        assert_eq!(finalizers, known("example.com/finalizer"));
        assert_eq!(first(&go, path, "FieldOwner"), unknown("r.Name"));
    }

    #[test]
    fn a_flag_resolves_to_its_default() {
        let go = go(&[(
            "main.go",
            "var id string\npflag.StringVar(&id, \"lease\", \"operator.keda.sh\", \"the Lease\")\nf(id)",
        )]);
        assert_eq!(first(&go, "main.go", "f"), known("operator.keda.sh"));
    }

    #[test]
    fn a_name_is_resolved_after_names_with_many_values() {
        let mut text = String::from("const name = \"a\"\n");
        for level in 0..10 {
            text += &format!("x{level} = x{}\n", level + 1).repeat(50);
        }
        let go = go(&[("main.go", &(text + "f(x0)\ng(name)"))]);
        assert_eq!(first(&go, "main.go", "f"), unknown("x0"));
        assert_eq!(first(&go, "main.go", "g"), known("a"));
    }

    #[test]
    fn a_name_with_two_texts_is_not_guessed() {
        let go = go(&[
            ("a/a.go", "const name = \"a\"\n"),
            ("b/b.go", "const name = \"b\"\n"),
            ("c/c.go", "f(name)\nf(x.name)"),
            ("a/d.go", "f(name)"),
        ]);
        let unknown =
            BTreeSet::from(["name", "x.name"].map(|name| GoValue::Unknown(name.to_owned())));
        assert_eq!(first(&go, "c/c.go", "f"), unknown);
        assert_eq!(first(&go, "a/d.go", "f"), known("a"));
    }

    #[test]
    fn a_variable_may_have_the_value_of_the_constant_that_it_hides() {
        let text = "const name = \"a\"\nfunc g() {\nname := name\nf(name)\n}\n";
        assert_eq!(first(&go(&[("a.go", text)]), "a.go", "f"), known("a"));
    }

    #[test]
    fn the_nearest_definition_of_a_name_counts() {
        let go = go(&[
            (
                "a/a.go",
                "const name = \"a\"\nvar changed = \"a\"\nfunc init() { changed = compute() }\n",
            ),
            (
                "a/b.go",
                "func b(o Object) { name := o.name()\nf(name) }\n\
                 func c() { const name = \"c\"\ng(name) }\n\
                 func d() { const (\n\tname = \"d\"\n)\nh(name) }\n\
                 func e(name string) { i(name) }\n\
                 func l() { name, err := load()\nj(name) }\n\
                 func m() { k(changed)\nl(name) }\n\
                 func n() { var name string\nname = load(o)\nm(name) }\n",
            ),
        ]);
        for (function, expected) in [
            ("f", unknown("name")),
            ("g", known("c")),
            ("h", known("d")),
            ("i", unknown("name")),
            ("j", unknown("name")),
            ("k", unknown("changed")),
            ("l", known("a")),
            ("m", unknown("name")),
        ] {
            assert_eq!(first(&go, "a/b.go", function), expected, "{function}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_for_a_name_is_unknown() {
        let format = "%s".repeat(100);
        let text = format!(
            "const a = \"{0}\"\nconst b = fmt.Sprintf(\"{format}\"{1})\n",
            "x".repeat(100),
            ", a".repeat(100)
        );
        let go = go(&[("main.go", &(text + "f(b)\ng(a + a + a + a)"))]);
        assert_eq!(first(&go, "main.go", "f"), unknown("b"));
        assert_eq!(first(&go, "main.go", "g"), unknown("a + a + a + a"));
    }

    #[test]
    fn a_cycle_of_names_ends() {
        let go = go(&[("main.go", "a := b\nb := a\nf(a)")]);
        assert_eq!(first(&go, "main.go", "f"), unknown("a"));
    }

    #[test]
    fn names_with_many_values_are_fast() {
        let lines = (0..2_000).map(|_| "a := a + a\n");
        let go = go(&[("main.go", &(lines.collect::<String>() + "f(a)"))]);
        assert_eq!(first(&go, "main.go", "f"), unknown("a"));
    }

    #[test]
    fn a_long_line_of_assignments_is_fast() {
        let line = "a = ".repeat(200_000);
        let go = go(&[("main.go", &(line + "b\nf(a)"))]);
        assert_eq!(first(&go, "main.go", "f"), unknown("a"));
    }

    #[test]
    fn a_constant_of_a_package_is_the_one_in_its_folder() {
        let go = go(&[
            (
                "a/names/names.go",
                "const Guard string = \"a\"\nconst Lock names.Text = \"lock\"",
            ),
            ("b/other/names.go", "const Guard = \"b\"\n"),
            (
                "c/c.go",
                "f(names.Guard)\nf(string(names.Lock))\nf(*all.Guard)",
            ),
        ]);
        let mut expected = known("a");
        expected.extend(known("lock"));
        expected.extend(unknown("*all.Guard"));
        assert_eq!(first(&go, "c/c.go", "f"), expected);
    }

    #[test]
    fn a_field_is_unknown_if_a_literal_sets_it_without_its_name() {
        const KEYED: &str =
            "type guard struct{ name, other string }\nvar first = guard{name: \"a\"}\nf(g.name)\n";
        for literal in [
            "var all = []guard{{name: \"a\"}, guard{\"b\", \"\"}}",
            "var all = []guard{\n\t{\"b\", \"\"},\n}",
            "var all = []*guard{&guard{\"b\", \"\"}}",
            "var all = map[string]guard{\"x\": {\"b\", \"\"}}",
            "var all = map[string][]guard{\"x\": {{\"b\", \"\"}}}",
            "var all = [...]guards.guard{{b(), \"\"}}",
            "func x() guard { return guard{\"b\", \"\"} }",
        ] {
            let go = go(&[("a.go", &format!("{KEYED}{literal}\n"))]);
            assert_eq!(first(&go, "a.go", "f"), unknown("g.name"), "{literal}");
        }
        for other in [
            "var all = []guard{{name: \"a\"}, {other: \"b\"}, {}}",
            "var all = map[string][]guard{\"x\": {{name: \"a\"}}}",
            "func x() guard { return first }",
            "func x() []*guard { return all }",
            "func x() map[string]a.guard { return all }",
            "func x() chan guard { return all }",
            "type other struct{ text string }\nvar all = []other{{\"b\"}}",
        ] {
            let go = go(&[("a.go", &format!("{KEYED}{other}\n"))]);
            assert_eq!(first(&go, "a.go", "f"), known("a"), "{other}");
        }
    }

    #[test]
    fn a_flag_that_is_read_by_a_pointer_resolves_to_its_default() {
        let go = go(&[(
            "main.go",
            "id := flag.String(\"leader-election-id\", \"mini\", \"\")\n\
             fs.StringVarP(&options.Name, \"name\", \"n\", \"short\", \"\")\n\
             fs.BoolVar(&options.Elects, \"leader-elect\", true, \"\")\n\
             f(*id)\ng(options.Name)\nh(options.Elects)",
        )]);
        for (function, text) in [("f", "mini"), ("g", "short"), ("h", "true")] {
            assert_eq!(first(&go, "main.go", function), known(text));
        }
    }
}
