//! Follows expressions in Go code to the types that the code gives them: variables, fields, items of lists, and results of
//! functions of the project. A list counts as its items.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ops::Range,
};

use super::{
    go::Go,
    go_file::{File, Function, MAX_NAMES},
    path::folder,
};

/// How many names are followed to find one type.
const MAX_STEPS: usize = 6;

/// The most variables that are looked up in all: each one reads its function.
const MAX_LOOKUPS: usize = 10_000;

/// The most tokens of a function in which the types and the values of its variables are looked for.
pub(super) const MAX_FUNCTION: usize = 20_000;

/// A type as a file calls it: `v1.Book` has the package `v1`. A type without a package is of the file's own package.
#[derive(Debug, Clone, Copy)]
pub(super) struct GoType<'a> {
    pub file: &'a File,
    pub package: &'a str,
    pub name: &'a str,
}

impl<'a> GoType<'a> {
    fn new(file: &'a File, package: &'a str, name: &'a str) -> Self {
        Self {
            file,
            package,
            name,
        }
    }

    /// Whether a function of `file` is a method of this type.
    fn has(&self, file: &File, function: &Function) -> bool {
        let folder_of_file = folder(&file.path);
        let is_beside = match self.package {
            "" => folder(&self.file.path) == folder_of_file,
            package => {
                let import = self.file.import(package);
                import.is_some_and(|import| import.ends_with(folder_of_file))
            }
        };
        is_beside && function.kind() == Some(self.name)
    }
}

/// Whether types have several names.
fn differ(types: &[GoType]) -> bool {
    types.iter().any(|other| other.name != types[0].name)
}

/// Where the code gives a type to a variable.
struct Origin<'a> {
    types: Vec<GoType<'a>>,
    /// Whether the variable begins here.
    declares: bool,
    is_parameter: bool,
    /// The token at which the variable ends.
    end: usize,
}

/// A variable.
#[derive(Debug, Default)]
pub(super) struct Variable<'a> {
    /// The types that it may have.
    pub types: Vec<GoType<'a>>,
    /// Whether the function declares it, and it is none of its parameters.
    pub is_local: bool,
}

/// The functions and the fields of the project.
pub(super) struct GoTypes<'a> {
    functions: BTreeMap<&'a str, Vec<(&'a File, &'a Function)>>,
    /// The fields of each name: the file, the name of the struct, and the index of the type.
    fields: BTreeMap<&'a str, Vec<(&'a File, &'a str, usize)>>,
    /// The types that an assignment gives to a variable, by the index of the variable. A loop may assign it to itself.
    assigned: RefCell<BTreeMap<(&'a str, usize), Vec<GoType<'a>>>>,
    left: Cell<usize>,
}

impl<'a> GoTypes<'a> {
    pub fn new(go: &'a Go) -> Self {
        let mut types = Self {
            functions: BTreeMap::new(),
            fields: BTreeMap::new(),
            assigned: RefCell::default(),
            left: Cell::new(MAX_LOOKUPS),
        };
        for file in go.files() {
            for function in &file.functions {
                let named = types.functions.entry(&function.name).or_default();
                named.push((file, function));
            }
            for (name, fields) in file.structs() {
                for at in fields {
                    // An embedded type has no other type behind it.
                    if let Some(field) = file.name(at)
                        && let Some(of_type) = shared_type(file, at)
                    {
                        let fields = types.fields.entry(field).or_default();
                        fields.push((file, name, of_type));
                    }
                }
            }
        }
        types
    }

    /// Whether the project has a method of this name of a type.
    pub fn has_method(&self, of_type: &str, name: &str) -> bool {
        let mut named = self.functions.get(name).into_iter().flatten();
        named.any(|(_, function)| function.kind() == Some(of_type))
    }

    /// The types that an expression may have.
    pub fn of(&self, file: &'a File, expression: Range<usize>) -> Vec<GoType<'a>> {
        self.follow(file, expression, MAX_STEPS)
    }

    fn follow(&self, file: &'a File, expression: Range<usize>, steps: usize) -> Vec<GoType<'a>> {
        let mut start = expression.start;
        while file.is_sign(start, '&') || file.is_sign(start, '*') {
            start += 1;
        }
        let Some(steps) = steps.checked_sub(1) else {
            return Vec::new();
        };
        if start >= expression.end {
            return Vec::new();
        }
        let open = last_bracket(file, start..expression.end);
        match open {
            // `v1.Book{…}`, or `[]client.Object{&v1.Book{}}`.
            Some(open) if file.is_sign(open, '{') => {
                let mut types: Vec<_> = type_at(file, start).into_iter().collect();
                if file.is_sign(start, '[') {
                    for item in file.arguments(open) {
                        types.extend(self.follow(file, item, steps));
                    }
                }
                types
            }
            // `books[i]`
            Some(open) if file.is_sign(open, '[') => self.follow(file, start..open, steps),
            Some(open) => self.called(file, start..open, open, steps),
            None => self.named(file, start..expression.end, steps),
        }
    }

    /// The types of the call whose arguments begin at `open`.
    fn called(
        &self,
        file: &'a File,
        function: Range<usize>,
        open: usize,
        steps: usize,
    ) -> Vec<GoType<'a>> {
        let Some(at) = function.end.checked_sub(1) else {
            return Vec::new();
        };
        match file.name(at) {
            // `object.(*v1.Book)`
            None if file.is_sign(at, '.') => type_at(file, open + 1).into_iter().collect(),
            None => Vec::new(),
            Some("make" | "new") => type_at(file, open + 1).into_iter().collect(),
            Some("DeepCopy" | "DeepCopyObject") if at > function.start + 1 => {
                self.follow(file, function.start..at - 1, steps)
            }
            Some(_) => self.results(file, at, 0, steps),
        }
    }

    /// The types of the result at `index` of the function that is called at `at`. If the project does not have the
    /// function, it may have the name of the type.
    fn results(&self, file: &'a File, at: usize, index: usize, steps: usize) -> Vec<GoType<'a>> {
        let name = file.name(at).unwrap_or("");
        // `meta.Accessor(object)` is the object.
        if name == "Accessor"
            && let Some(object) = file.arguments(at + 1).first()
        {
            return self.follow(file, object.clone(), steps);
        }
        let before = file.before_dot(at);
        let import = file.qualifier(at).and_then(|package| file.import(package));
        let mut called: Vec<(&'a File, &'a Function)> = Vec::new();
        for (other, function) in self.functions.get(name).into_iter().flatten() {
            let of_other = folder(&other.path);
            let is_called = match import {
                Some(import) => function.receiver.is_none() && import.ends_with(of_other),
                None if before.is_some() => function.receiver.is_some(),
                None => function.receiver.is_none() && of_other == folder(&file.path),
            };
            if is_called {
                called.push((other, function));
            }
        }
        let mut is_clear = true;
        if import.is_none()
            && called.len() > 1
            && let Some(last) = before
        {
            let owners = self.follow(file, path_start(file, last + 1)..last + 1, steps);
            let mut of_owners = called.clone();
            of_owners
                .retain(|(other, function)| owners.iter().any(|owner| owner.has(other, function)));
            is_clear = !of_owners.is_empty();
            if is_clear {
                called = of_owners;
            }
        }
        let results = called.iter();
        let mut types: Vec<_> = results
            .filter_map(|(other, function)| result(other, function, index))
            .collect();
        if types.is_empty() {
            types.push(GoType::new(file, "", name));
        }
        if !is_clear && differ(&types) {
            types.clear();
        }
        types
    }

    /// The types of a variable, or of the field at the end of a path.
    fn named(&self, file: &'a File, path: Range<usize>, steps: usize) -> Vec<GoType<'a>> {
        let at = path.end - 1;
        let Some(name) = file.name(at) else {
            return Vec::new();
        };
        if at == path.start {
            return self.look_up(file, at, name, steps).types;
        }
        let owners = self.follow(file, path.start..at - 1, steps);
        if name == "Items" {
            let items = owners.iter().filter_map(|owner| {
                let name = owner.name.strip_suffix("List")?;
                Some(GoType { name, ..*owner })
            });
            return items.collect();
        }
        // Of an unknown struct, the field has a type if all fields of this name have it.
        let fields = self.fields.get(name).into_iter().flatten();
        let of_owner = |of: &str| owners.is_empty() || owners.iter().any(|owner| owner.name == of);
        let fields = fields.filter(|(_, of, _)| of_owner(of));
        let mut types: Vec<_> = fields
            .filter_map(|(file, _, at)| type_at(file, *at))
            .collect();
        if owners.is_empty() && differ(&types) {
            types.clear();
        }
        types
    }

    /// The variable `name` as the code at `at` sees it.
    pub fn variable(&self, file: &'a File, at: usize, name: &str) -> Variable<'a> {
        self.look_up(file, at, name, MAX_STEPS)
    }

    fn look_up(&self, file: &'a File, at: usize, name: &str, steps: usize) -> Variable<'a> {
        let Some(function) = file.around(at) else {
            return Variable::default();
        };
        let Some(left) = self.left.get().checked_sub(1) else {
            // Nothing is guessed about it.
            return Variable {
                types: Vec::new(),
                is_local: true,
            };
        };
        self.left.set(left);
        if let Some((variable, kind)) = &function.receiver
            && variable == name
        {
            return Variable {
                types: vec![GoType::new(file, "", kind)],
                is_local: false,
            };
        }
        let mut origins = self.origins(file, function, at, name, steps);
        origins.retain(|origin| origin.end > at);
        let first = origins.iter().rposition(|origin| origin.declares);
        let seen = origins.get(first.unwrap_or(0)..).unwrap_or_default();
        let types = seen.iter().flat_map(|origin| origin.types.iter().copied());
        Variable {
            types: types.collect(),
            is_local: first.is_some_and(|first| !origins[first].is_parameter),
        }
    }

    /// Where a function gives a type to a variable, before `at`.
    fn origins(
        &self,
        file: &'a File,
        function: &Function,
        at: usize,
        name: &str,
        steps: usize,
    ) -> Vec<Origin<'a>> {
        let parameters = function.tokens.start;
        let mut origins = Vec::new();
        // The ends of the blocks and brackets around a token, each with its start.
        let mut around = vec![(parameters, function.tokens.end)];
        for here in parameters..at.min(parameters + MAX_FUNCTION) {
            while around.last().is_some_and(|(_, end)| *end <= here) {
                around.pop();
            }
            if file.is_open(here) {
                around.push((here, file.end(here)));
            }
            if file.name(here) != Some(name) || file.before_dot(here).is_some() {
                continue;
            }
            let (open, _) = around.last().copied().unwrap_or((parameters, 0));
            let mut blocks = around.iter().rev();
            let block = blocks.find(|(open, _)| file.is_sign(*open, '{'));
            let end = block.map_or(function.tokens.end, |(_, end)| *end);
            if let Some(origin) = self.origin(file, here, end, steps) {
                origins.push(origin);
                continue;
            }
            let is_function = file.name_before(open) == Some("func");
            let is_declared = file.name_before(here) == Some("var");
            let is_parameter = open == parameters && file.end(parameters) > here;
            if is_parameter || is_function || is_declared {
                let of_type = shared_type(file, here).and_then(|of_type| type_at(file, of_type));
                if of_type.is_some() {
                    origins.push(Origin {
                        types: of_type.into_iter().collect(),
                        declares: true,
                        is_parameter,
                        end,
                    });
                }
            }
        }
        origins
    }

    /// What is assigned to the variable at `at`, in a block that ends at `end`.
    fn origin(&self, file: &'a File, at: usize, end: usize, steps: usize) -> Option<Origin<'a>> {
        let (mut first, mut index) = (at, 0);
        while index < MAX_NAMES && first > 1 && file.is_sign(first - 1, ',') {
            file.name(first - 2)?;
            first -= 2;
            index += 1;
        }
        let last = file.last_name(at);
        let value = file.assigned(last)?;
        let declares = file.is_sign(last + 1, ':');
        let (end, expression) = if file.name(value) == Some("range") {
            let body = range_body(file, value + 1)?;
            (file.end(body), value + 1..body)
        } else {
            // An assignment also counts after its block.
            let end = if declares { end } else { usize::MAX };
            (end, file.expression(value)?)
        };
        let key = (&*file.path, at);
        let known = self.assigned.borrow().get(&key).cloned();
        let types = known.unwrap_or_else(|| {
            self.assigned.borrow_mut().insert(key, Vec::new());
            let call = last_bracket(file, expression.clone())
                .filter(|open| last > first && file.is_sign(*open, '('))
                .and_then(|open| open.checked_sub(1))
                .filter(|function| file.name(*function).is_some());
            let types = match call {
                _ if file.name(value) == Some("range") => match index {
                    0 => Vec::new(),
                    _ => self.follow(file, expression, steps),
                },
                Some(function) => self.results(file, function, index, steps),
                // `book, ok := object.(*v1.Book)`
                None if index == 0 => self.follow(file, expression, steps),
                None => Vec::new(),
            };
            self.assigned.borrow_mut().insert(key, types.clone());
            types
        });
        Some(Origin {
            types,
            declares,
            is_parameter: false,
            end,
        })
    }
}

/// The bracket that ends with an expression.
pub(super) fn last_bracket(file: &File, expression: Range<usize>) -> Option<usize> {
    const MAX_PARTS: usize = 200;
    let (mut at, mut last) = (expression.start, None);
    for _ in 0..MAX_PARTS {
        if at >= expression.end {
            return last;
        }
        last = file.is_open(at).then_some(at);
        at = file.after(at);
    }
    None
}

/// Where the path begins that ends before the dot at `dot`: `s.books(a)[0]` before `.name`.
pub(super) fn path_start(file: &File, dot: usize) -> usize {
    let mut start = dot;
    while let Some(last) = start.checked_sub(1) {
        let is_end = file.is_sign(start, '.') || file.is_open(start);
        start = if is_end && (file.is_sign(last, ')') || file.is_sign(last, ']')) {
            match file.start(last) {
                Some(open) => open,
                None => return start,
            }
        } else if is_end && file.name(last).is_some()
            || file.is_sign(last, '.') && file.name(start).is_some()
        {
            last
        } else {
            return start;
        };
    }
    start
}

/// The body of the loop over the expression at `start`.
fn range_body(file: &File, start: usize) -> Option<usize> {
    const MAX_TOKENS: usize = 200;
    let mut at = start;
    // The elements of a list are in brackets of the same form.
    let mut is_literal = file.is_sign(start, '[') || file.name(start) == Some("map");
    for _ in 0..MAX_TOKENS {
        if file.is_sign(at, '{') && !std::mem::take(&mut is_literal) {
            return Some(at);
        }
        file.tokens.get(at)?;
        at = file.after(at);
    }
    None
}

/// The index of the type of the variable or field at `at`, which others may share: `a, b *v1.Book`.
fn shared_type(file: &File, at: usize) -> Option<usize> {
    let last = file.last_name(at);
    let of_type = last + 1;
    let is_type = file.name(of_type).is_some()
        || file.is_sign(of_type, '*')
        || file.is_sign(of_type, '[')
        || file.is_sign(of_type, '.') && file.is_sign(of_type + 1, '.');
    (is_type && file.tokens.len() > of_type && file.is_one_line(last..of_type + 1))
        .then_some(of_type)
}

/// The type at this index, or the type of the items of a list, a map or a pointer.
fn type_at(file: &File, at: usize) -> Option<GoType<'_>> {
    const MAX_SIGNS: usize = 10;
    let mut at = at;
    for _ in 0..MAX_SIGNS {
        if file.is_sign(at, '[') {
            at = file.end(at) + 1;
        } else if file.is_sign(at, '*') || file.is_sign(at, '.') || file.name(at) == Some("map") {
            at += 1;
        } else {
            break;
        }
    }
    let (package, name) = file.type_at(at)?;
    Some(GoType::new(file, package, name))
}

/// The type of the result at `index` of a function.
fn result<'a>(file: &'a File, function: &Function, index: usize) -> Option<GoType<'a>> {
    let start = file.end(function.tokens.start) + 1;
    if !file.is_sign(start, '(') {
        return type_at(file, start).filter(|_| index == 0);
    }
    let results = file.arguments(start);
    let result = results.get(index)?;
    match shared_type(file, result.start) {
        // `(book *v1.Book, err error)`
        Some(named)
            if file.name(result.start).is_some() && !file.is_sign(result.start + 1, '.') =>
        {
            type_at(file, named)
        }
        _ => type_at(file, result.start),
    }
}
