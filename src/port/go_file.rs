//! A Go file as tokens, with its functions. The reader knows tokens, but not types.

use std::{fmt, ops::Range, sync::Arc};

use super::{
    go_tokens::{Token, ends, tokens},
    path::{file_name, is_in_test_folder},
};

/// The most names of a list, as in `a, b *v1.Book`, on each side of one of them.
pub(super) const MAX_NAMES: usize = 10;

/// A place in a Go file, as messages name it: `cmd/main.go:12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub path: Arc<str>,
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}:{}`", self.path, self.line)
    }
}

/// A function of the Go code.
#[derive(Debug)]
pub(super) struct Function {
    pub name: String,
    /// The index of its name.
    at: usize,
    /// The variable and the type of a method's receiver.
    pub receiver: Option<(String, String)>,
    pub parameters: Vec<String>,
    /// The tokens of parameters and body.
    pub tokens: Range<usize>,
}

impl Function {
    /// The type of the receiver.
    pub fn kind(&self) -> Option<&str> {
        self.receiver.as_ref().map(|(_, kind)| kind.as_str())
    }

    /// Whether a parameter or the receiver has this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        let receiver = self.receiver.iter().map(|(variable, _)| variable);
        self.parameters
            .iter()
            .chain(receiver)
            .any(|own| own == name)
    }
}

/// A Go file. Methods take and return indices of tokens. There is no token at an index behind the last one.
#[derive(Debug)]
pub(super) struct File {
    pub path: Arc<str>,
    pub tokens: Vec<Token>,
    /// The line of each token.
    lines: Vec<u32>,
    /// The other ends of brackets.
    ends: Vec<usize>,
    /// Where the imports end.
    head: usize,
    /// The functions at the top of the file, and methods.
    pub functions: Vec<Function>,
    /// Whether the file has only tests, or code that only tests or other projects use.
    pub is_test: bool,
    /// Whether a program wrote the file.
    pub is_generated: bool,
}

impl File {
    pub fn new(path: &str, text: &str) -> Self {
        const MAX_HEAD: usize = 10_000;
        const AFTER_IMPORTS: [&str; 4] = ["const", "func", "type", "var"];
        let (tokens, lines) = tokens(text);
        let mut head = tokens.iter().take(MAX_HEAD);
        let head = head.position(|token| AFTER_IMPORTS.iter().any(|word| token.is_name(word)));
        let mut start = text.lines().take(30);
        let mut file = Self {
            path: path.into(),
            ends: ends(&tokens),
            head: head.unwrap_or(tokens.len().min(MAX_HEAD)),
            tokens,
            lines,
            functions: Vec::new(),
            is_test: path.ends_with("_test.go") || is_in_test_folder(path),
            is_generated: file_name(path).starts_with("zz_generated")
                || start.any(|line| line.starts_with("// Code generated ")),
        };
        let mut at = 0;
        while let Some(token) = file.tokens.get(at) {
            at += 1;
            if token.is_name("func")
                && let Some(function) = file.function(at)
            {
                at = function.tokens.end;
                file.functions.push(function);
            }
        }
        file
    }

    /// The place of a token.
    pub fn place(&self, at: usize) -> Place {
        Place {
            path: Arc::clone(&self.path),
            line: self.lines.get(at).copied().unwrap_or(0),
        }
    }

    pub fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Token::Sign(sign))
    }

    pub fn name(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at)? {
            Token::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Whether the name at this index is the key of a field in a literal, as in `Options{LeaseDuration: …}`.
    pub fn is_key(&self, at: usize) -> bool {
        self.is_sign(at + 1, ':') && !self.is_sign(at + 2, '=')
    }

    /// Returns whether a name in the file is `name`.
    pub fn mentions(&self, name: &str) -> bool {
        self.tokens.iter().any(|token| token.is_name(name))
    }

    /// Returns whether the file is a part of a program: `package main`.
    pub fn is_program(&self) -> bool {
        self.name(0) == Some("package") && self.name(1) == Some("main")
    }

    /// What the file imports as `package`, such as `k8s.io/api/core/v1`.
    pub fn import(&self, package: &str) -> Option<&str> {
        let head = &self.tokens[..self.head];
        for pair in head.windows(2) {
            match pair {
                [Token::Name(name), Token::Text(import)] if name == package => return Some(import),
                _ => {}
            }
        }
        for token in head {
            match token {
                Token::Text(import) if file_name(import) == package => return Some(import),
                _ => {}
            }
        }
        None
    }

    /// The name of the package that the file calls `name`: `controllerutil` for an alias of it.
    pub fn package<'a>(&'a self, name: &'a str) -> &'a str {
        file_name(self.import(name).unwrap_or(name))
    }

    /// The function whose keyword `func` is before this index.
    fn function(&self, start: usize) -> Option<Function> {
        let receiver = self.is_sign(start, '(').then(|| self.receiver(start));
        let at = match receiver {
            Some(_) => self.ends[start] + 1,
            None => start,
        };
        let name = self.name(at)?.to_owned();
        let mut open = at + 1;
        if self.is_sign(open, '[') {
            open = self.ends[open] + 1;
        }
        if !self.is_sign(open, '(') {
            return None;
        }
        let mut parameters = Vec::new();
        for parameter in self.arguments(open) {
            parameters.push(self.name(parameter.start).unwrap_or("").to_owned());
        }
        // The result types are between the parameters and the body.
        let mut body = self.ends[open] + 1;
        while !self.is_sign(body, '{') {
            if self.tokens.get(body)?.is_name("func") {
                return None;
            }
            let is_type = matches!(self.name(body), Some("interface" | "struct"));
            body = if is_type && self.is_sign(body + 1, '{') {
                self.ends[body + 1] + 1
            } else if self.is_sign(body, '(') || self.is_sign(body, '[') {
                self.ends[body] + 1
            } else {
                body + 1
            };
        }
        Some(Function {
            name,
            at,
            receiver,
            parameters,
            tokens: open..self.ends[body],
        })
    }

    /// The variable and the type of the receiver in the brackets at `open`; the variable may be missing.
    fn receiver(&self, open: usize) -> (String, String) {
        let names = (open..self.ends[open]).take_while(|at| !self.is_sign(*at, '['));
        let mut names = names.filter_map(|at| self.name(at)).map(str::to_owned);
        let first = names.next().unwrap_or_default();
        match names.next() {
            Some(kind) => (first, kind),
            None => (String::new(), first),
        }
    }

    /// The function that contains this token.
    pub fn around(&self, at: usize) -> Option<&Function> {
        let after = (self.functions).partition_point(|function| function.tokens.start <= at);
        let function = self.functions.get(after.checked_sub(1)?)?;
        function.tokens.contains(&at).then_some(function)
    }

    /// The calls in the file: the index of the name of each function.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &str)> {
        (0..self.tokens.len()).filter_map(|at| {
            let name = self.name(at).filter(|_| self.is_sign(at + 1, '('))?;
            let definition = self
                .functions
                .binary_search_by_key(&at, |function| function.at);
            (definition.is_err() && name != "func").then_some((at, name))
        })
    }

    /// The arguments of the call, or the elements of the list, that begins with the bracket at `open`.
    pub fn arguments(&self, open: usize) -> Vec<Range<usize>> {
        let end = self.ends[open];
        let (mut all, mut start, mut at) = (Vec::new(), open + 1, open + 1);
        while at < end {
            if self.is_sign(at, ',') {
                all.push(start..at);
                start = at + 1;
            }
            at = self.after(at);
        }
        if start < end {
            all.push(start..end);
        }
        all
    }

    /// The index after this token, or after the bracket that closes it.
    pub fn after(&self, at: usize) -> usize {
        match self.tokens[at] {
            Token::Sign('(' | '[' | '{') => self.ends[at] + 1,
            _ => at + 1,
        }
    }

    /// Whether a bracket opens at this token.
    pub fn is_open(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), Some(Token::Sign('(' | '[' | '{')))
    }

    /// Where the bracket at `open` ends.
    pub fn end(&self, open: usize) -> usize {
        self.ends[open]
    }

    /// Where the bracket begins that ends at `close`.
    pub fn start(&self, close: usize) -> Option<usize> {
        Some(self.ends[close]).filter(|open| *open < close)
    }

    /// The open brackets around this token, the inner first.
    pub fn around_brackets(&self, at: usize) -> impl Iterator<Item = usize> {
        const MAX_BACK: usize = 400;
        let before = (at.saturating_sub(MAX_BACK)..at).rev();
        before.filter(move |open| self.is_open(*open) && self.ends[*open] > at)
    }

    /// The structs with a name, each with the places of its fields. An embedded type counts as a field.
    pub fn structs(&self) -> impl Iterator<Item = (&str, Vec<usize>)> {
        (1..self.tokens.len()).filter_map(|at| {
            let name = self.name(at - 1)?;
            let is_struct = self.name(at) == Some("struct") && self.is_sign(at + 1, '{');
            is_struct.then(|| (name, self.fields(at + 1)))
        })
    }

    /// The places of the fields of the struct whose bracket is at `open`.
    fn fields(&self, open: usize) -> Vec<usize> {
        let mut fields = Vec::new();
        let mut at = open + 1;
        while at < self.ends[open] {
            let is_first = at == open + 1 || !self.is_one_line(at - 1..at + 1);
            if is_first || self.is_sign(at - 1, ';') || self.is_sign(at - 1, ',') {
                fields.push(at);
            }
            at = self.after(at);
        }
        fields
    }

    /// The index of the `+` in an expression, outside of brackets.
    pub fn plus(&self, expression: &Range<usize>) -> Option<usize> {
        let mut at = expression.start;
        while at < expression.end && !self.is_sign(at, '+') {
            at = self.after(at);
        }
        (at < expression.end).then_some(at)
    }

    /// The name before the dot before this token: the package or the variable of a function.
    pub fn qualifier(&self, at: usize) -> Option<&str> {
        self.name(self.before_dot(at)?)
    }

    /// The name directly before this token.
    pub fn name_before(&self, at: usize) -> Option<&str> {
        self.name(at.checked_sub(1)?)
    }

    /// The index before the dot before this token.
    pub fn before_dot(&self, at: usize) -> Option<usize> {
        let dot = at.checked_sub(1).filter(|dot| self.is_sign(*dot, '.'))?;
        dot.checked_sub(1)
    }

    /// The type at this index, with its package: `v1.Book` or `Book`.
    pub fn type_at(&self, at: usize) -> Option<(&str, &str)> {
        let first = self.name(at)?;
        match self.name(at + 2).filter(|_| self.is_sign(at + 1, '.')) {
            Some(kind) => Some((first, kind)),
            None => Some(("", first)),
        }
    }

    /// The type of the composite literal around this token, without `ObjectMeta`.
    pub fn literal_around(&self, at: usize) -> Option<(&str, &str)> {
        let mut brackets = self.around_brackets(at);
        brackets.find_map(|open| {
            let kind = self
                .name_before(open)
                .filter(|kind| *kind != "ObjectMeta")?;
            let is_literal = self.is_sign(open, '{');
            is_literal.then(|| (self.qualifier(open - 1).unwrap_or(""), kind))
        })
    }

    /// The last name of the list `a, b, c`, which begins at `at`.
    pub fn last_name(&self, at: usize) -> usize {
        let mut last = at;
        while last < at + 2 * MAX_NAMES
            && self.is_sign(last + 1, ',')
            && self.name(last + 2).is_some()
        {
            last += 2;
        }
        last
    }

    /// The start of what is assigned to the name at this index, by `=` or `:=`.
    pub fn assigned(&self, at: usize) -> Option<usize> {
        if self.is_sign(at + 2, '=') {
            return self.is_sign(at + 1, ':').then_some(at + 3);
        }
        self.is_sign(at + 1, '=').then_some(at + 2)
    }

    /// The value that the name at this index gets together with other names, as in `name, err := read()`, or by `+=`.
    pub fn assigned_to_list(&self, at: usize) -> Option<Range<usize>> {
        if self.is_sign(at + 1, '+') && self.is_sign(at + 2, '=') {
            return self.expression(at + 3);
        }
        let last = self.last_name(at);
        let is_list = last > at
            || at
                .checked_sub(1)
                .is_some_and(|comma| self.is_sign(comma, ','));
        self.expression(self.assigned(last).filter(|_| is_list)?)
    }

    /// The value of the name at this index, after `=`, `:=` or `:`.
    pub fn value(&self, at: usize) -> Option<Range<usize>> {
        let of_field = self.is_sign(at + 1, ':').then_some(at + 2);
        self.expression(self.assigned(at).or(of_field)?)
    }

    /// What the file sets names to: the index of each name that is equal to `name`, and its value.
    pub fn set_to(&self, name: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
        let tokens = self.tokens.iter().enumerate();
        let names = tokens.filter(move |(_, token)| token.is_name(name));
        names.filter_map(|(at, _)| Some((at, self.value(at)?)))
    }

    /// The expression at this index. It ends at a comma, at a closing bracket, with the line, or at a limit.
    pub fn expression(&self, start: usize) -> Option<Range<usize>> {
        const MAX_PARTS: usize = 100;
        let mut end = start;
        for _ in 0..MAX_PARTS {
            let Some(token) = self.tokens.get(end) else {
                break;
            };
            let is_end = matches!(token, Token::Sign(')' | ']' | '}' | ',' | ';'));
            let is_next_line = end > start && self.lines[end] != self.lines[end - 1];
            if is_end || is_next_line && !self.is_sign(end - 1, '+') {
                break;
            }
            end = self.after(end);
        }
        let last = end.min(self.tokens.len());
        (start < last).then_some(start..last)
    }

    pub fn is_one_line(&self, tokens: Range<usize>) -> bool {
        self.lines.get(tokens.start) == self.lines.get(tokens.end - 1)
    }

    /// Returns whether an expression has only texts, names, and calls in a package or of `string`, joined by `+`.
    pub fn is_simple(&self, expression: Range<usize>) -> bool {
        let mut at = expression.start;
        while at < expression.end {
            let is_simple = match &self.tokens[at] {
                Token::Name(_) | Token::Text(_) | Token::Sign('.' | '+') => true,
                Token::Sign('*' | '&') => at == expression.start,
                Token::Sign('(') if at > expression.start => {
                    self.name(at - 1) == Some("string") || self.qualifier(at - 1).is_some()
                }
                Token::Sign(_) => false,
            };
            if !is_simple {
                return false;
            }
            at = self.after(at);
        }
        true
    }

    /// The type of the object that begins at this index: `&v1.Book{}` or `new(v1.Book)`.
    fn pointer_at(&self, start: usize) -> Option<(&str, &str)> {
        if self.name(start) == Some("new") && self.is_sign(start + 1, '(') {
            return self.type_at(start + 2);
        }
        let (package, kind) = self
            .type_at(start + 1)
            .filter(|_| self.is_sign(start, '&'))?;
        let brace = start + if package.is_empty() { 2 } else { 4 };
        self.is_sign(brace, '{').then_some((package, kind))
    }

    /// The type of the object at this index, which may be in a source: `&source.Kind{Type: &v1.Book{}}` or
    /// `source.Kind(cache, &v1.Book{})`.
    pub fn object_at(&self, start: usize) -> Option<(&str, &str)> {
        let is_pointer = self.is_sign(start, '&');
        let first = start + usize::from(is_pointer);
        match self.type_at(first) {
            Some((package, "Kind")) if self.package(package) == "source" => {}
            _ => return self.pointer_at(start),
        }
        let mut open = first + 3;
        if self.is_sign(open, '[') {
            open = self.ends[open] + 1;
        }
        if !self.is_sign(open, if is_pointer { '{' } else { '(' }) {
            return None;
        }
        let arguments = self.arguments(open);
        let mut fields = arguments.iter();
        let object = match fields.find(|field| self.name(field.start) == Some("Type")) {
            Some(field) => field.start + 2,
            None => arguments.get(1)?.start,
        };
        self.pointer_at(object)
    }
}
