//! Reads the source of a Go operator: constants, and the calls that set names such as finalizers.
//!
//! The reader knows tokens, but not types. A value that cannot be resolved, such as a name that is computed at run
//! time, is reported, and never guessed.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    sync::Arc,
};

use super::path::{file_name, folder, is_file_of, is_in_test_folder};

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

/// A token of Go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Sign(char),
}

impl Token {
    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self, Self::Name(text) if text == name)
    }
}

/// The tokens of a file, without comments, each with its line.
fn tokens(text: &str) -> (Vec<Token>, Vec<u32>) {
    let (mut tokens, mut lines, mut line) = (Vec::new(), Vec::new(), 1_u32);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut taken = first.len_utf8();
        if rest.starts_with("//") {
            taken = rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            taken = rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if first == '"' || first == '`' {
            let (text, length) = literal(rest, first);
            tokens.push(Token::Text(text));
            taken = length;
        } else if first == '\'' {
            taken = rune(rest);
        } else if is_word(first) {
            taken = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..taken].to_owned()));
        } else if !first.is_whitespace() {
            tokens.push(Token::Sign(first));
        }
        lines.resize(tokens.len(), line);
        let ends = rest.as_bytes()[..taken]
            .iter()
            .filter(|byte| **byte == b'\n');
        line = line.saturating_add(u32::try_from(ends.count()).unwrap_or(u32::MAX));
        rest = &rest[taken..];
    }
    (tokens, lines)
}

/// The name of the flag function if `tokens` end in its first argument, as in `StringVar(&` or `StringVar(&options.`.
fn flag_function(tokens: &[Token]) -> Option<&str> {
    let mut before = tokens;
    while let [rest @ .., Token::Name(_), Token::Sign('.')] = before {
        before = rest;
    }
    match before {
        [
            ..,
            Token::Name(function),
            Token::Sign('('),
            Token::Sign('&'),
        ] => Some(function),
        _ => None,
    }
}

/// The number of arguments before the default in a call of a flag function: with `&variable` for those that end in
/// `Var`, and with a letter for those that end in `P`.
fn before_default(function: &str) -> usize {
    let (function, letter) = match function.strip_suffix('P') {
        Some(function) => (function, 1),
        None => (function, 0),
    };
    1 + letter + usize::from(function.ends_with("Var"))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text of the literal that `rest` begins with, and its length with quotes.
fn literal(rest: &str, quote: char) -> (String, usize) {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return (text, at + 1),
            '\\' if quote == '"' => text.extend(chars.next().map(|(_, c)| c)),
            c => text.push(c),
        }
    }
    (text, rest.len())
}

/// The length of the character literal that `rest` begins with.
fn rune(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' | '\n' => return at + 1,
            '\\' => _ = chars.next(),
            _ => {}
        }
    }
    rest.len()
}

/// A Go file.
#[derive(Debug)]
pub(super) struct File {
    path: Arc<str>,
    pub tokens: Vec<Token>,
    /// The line of each token.
    lines: Vec<u32>,
    /// Whether the file has only tests, or code for tests.
    is_test: bool,
    /// Whether a program wrote the file.
    is_generated: bool,
}

/// A place in a Go file.
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

/// The value of a name: of a constant, a variable or a field.
#[derive(Debug)]
pub(super) struct Definition {
    pub place: Place,
    value: Vec<Token>,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let (tokens, lines) = tokens(text);
        let mut start = text.lines().take(30);
        Self {
            path: path.into(),
            tokens,
            lines,
            is_test: path.ends_with("_test.go") || is_in_test_folder(path),
            is_generated: file_name(path).starts_with("zz_generated")
                || start.any(|line| line.starts_with("// Code generated ")),
        }
    }

    /// The place of a token.
    pub(super) fn place(&self, at: usize) -> Place {
        Place {
            path: Arc::clone(&self.path),
            line: self.lines.get(at).copied().unwrap_or(0),
        }
    }

    pub(super) fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Token::Sign(sign))
    }

    fn is_one_line(&self, tokens: Range<usize>) -> bool {
        self.lines.get(tokens.start) == self.lines.get(tokens.end - 1)
    }

    /// What the file imports as `package`, such as `k8s.io/api/core/v1`.
    pub(super) fn import(&self, package: &str) -> Option<&str> {
        for pair in self.tokens.windows(2) {
            match pair {
                [Token::Name(name), Token::Text(import)] if name == package => return Some(import),
                _ => {}
            }
        }
        for token in &self.tokens {
            match token {
                Token::Text(import) if file_name(import) == package => return Some(import),
                _ => {}
            }
        }
        None
    }
}

/// The Go files of a project.
#[derive(Debug, Default)]
pub(super) struct Go {
    files: BTreeMap<String, File>,
    /// The values of each name.
    values: BTreeMap<String, Vec<Definition>>,
    /// How many expressions may still be resolved.
    left: Cell<usize>,
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// The text.
    Known(String),
    /// The expression, which cannot be resolved from the source.
    Unknown(String),
}

impl Value {
    /// The text, or else the expression.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Known(text) | Self::Unknown(text) => text,
        }
    }
}

impl Go {
    pub(super) fn new(texts: &BTreeMap<String, String>) -> Self {
        let mut go = Self {
            left: Cell::new(MAX_EXPRESSIONS),
            ..Self::default()
        };
        for (path, text) in texts.iter().filter(|(path, _)| is_file_of("go", path)) {
            let file = File::new(path, text);
            if !file.is_test {
                go.read_values(&file);
            }
            go.files.insert(path.clone(), file);
        }
        go
    }

    /// Records `name = value`, `name := value`, `name Type = value` and `Name: value`.
    fn read_values(&mut self, file: &File) {
        let tokens = &file.tokens;
        for (at, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            let after = match &tokens[at + 1..] {
                // The default of a flag: `StringVar(&name, "flag", "default", …)`.
                [Token::Sign(','), Token::Text(_), Token::Sign(','), ..] => {
                    let Some(function) = flag_function(&tokens[..at]) else {
                        continue;
                    };
                    at + 2 * before_default(function)
                }
                [Token::Sign(':'), Token::Sign('='), ..] => at + 3,
                [Token::Sign('=' | ':'), next, ..] if *next != Token::Sign('=') => at + 2,
                [Token::Name(_), Token::Sign('='), ..] if file.is_one_line(at..at + 3) => at + 3,
                [
                    Token::Name(_),
                    Token::Sign('.'),
                    Token::Name(_),
                    Token::Sign('='),
                    ..,
                ] if file.is_one_line(at..at + 5) => at + 5,
                _ => continue,
            };
            let end = tokens.len().min(after + MAX_TOKENS);
            // The file may end before the value.
            let Some(rest) = tokens.get(after..end) else {
                continue;
            };
            let value = expression(rest);
            if !value.is_empty() {
                let definition = Definition {
                    place: file.place(at),
                    value: value.to_vec(),
                };
                self.values
                    .entry(name.clone())
                    .or_default()
                    .push(definition);
            }
        }
    }

    /// Returns whether the file at `path` has the identifier `name`.
    pub(super) fn mentions(&self, path: &str, name: &str) -> bool {
        let file = self.files.get(path);
        file.is_some_and(|file| file.tokens.iter().any(|token| token.is_name(name)))
    }

    /// The kinds in calls of `function` in the file at `path`, as in `For(&webappv1.Guestbook{})`: each with the name
    /// of its package.
    pub(super) fn kinds(&self, path: &str, function: &str) -> BTreeSet<(String, String)> {
        let mut kinds = BTreeSet::new();
        for arguments in self.calls(path, function) {
            match arguments.first().map(Vec::as_slice) {
                Some(
                    [
                        Token::Sign('&'),
                        Token::Name(package),
                        Token::Sign('.'),
                        Token::Name(kind),
                        Token::Sign('{'),
                        ..,
                    ],
                ) => {
                    kinds.insert((package.clone(), kind.clone()));
                }
                Some([Token::Sign('&'), Token::Name(kind), Token::Sign('{'), ..]) => {
                    kinds.insert((String::new(), kind.clone()));
                }
                _ => {}
            }
        }
        kinds
    }

    /// What the file at `path` imports as `package`, such as `k8s.io/api/core/v1`.
    pub(super) fn import(&self, path: &str, package: &str) -> Option<&str> {
        self.files.get(path)?.import(package)
    }

    /// The arguments of each call of `function` in the file at `path`.
    fn calls(&self, path: &str, function: &str) -> Vec<Vec<Vec<Token>>> {
        let Some(file) = self.files.get(path) else {
            return Vec::new();
        };
        let mut calls = Vec::new();
        for (at, token) in file.tokens.iter().enumerate() {
            let is_definition = at > 0 && file.tokens[at - 1].is_name("func");
            if token.is_name(function) && !is_definition && file.is_sign(at + 1, '(') {
                calls.push(arguments(&file.tokens[at + 2..]));
            }
        }
        calls
    }

    /// The values of the argument at `index` in all calls of `function` in the file at `path`.
    pub(super) fn arguments(&self, path: &str, function: &str, index: usize) -> BTreeSet<Value> {
        let mut values = BTreeSet::new();
        for arguments in self.calls(path, function) {
            if let Some(argument) = arguments.get(index) {
                values.insert(self.value(path, argument));
            }
        }
        values
    }

    /// The values of the field or variable `name` in the file at `path`.
    pub(super) fn set(&self, path: &str, name: &str) -> BTreeSet<Value> {
        let in_file = self
            .definitions(name)
            .filter(|definition| &*definition.place.path == path);
        in_file.map(|definition| self.defined(definition)).collect()
    }

    /// The definitions of `name` in files without tests.
    pub(super) fn definitions(&self, name: &str) -> impl Iterator<Item = &Definition> {
        self.values.get(name).into_iter().flatten()
    }

    /// The definitions of all names for which `is_wanted` returns true, in code that people wrote.
    pub(super) fn all_definitions(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (&str, &Definition)> {
        self.values
            .iter()
            .filter(move |(name, _)| is_wanted(name))
            .flat_map(|(name, definitions)| {
                definitions
                    .iter()
                    .map(move |definition| (name.as_str(), definition))
            })
            .filter(|(_, definition)| {
                let file = self.files.get(&*definition.place.path);
                file.is_some_and(|file| !file.is_generated)
            })
    }

    /// The value of a definition.
    pub(super) fn defined(&self, definition: &Definition) -> Value {
        self.value(&definition.place.path, &definition.value)
    }

    /// The paths of all files except tests.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().filter(|(_, file)| !file.is_test);
        files.map(|(path, _)| path.as_str())
    }

    /// The files that people wrote, except tests.
    pub(super) fn code(&self) -> impl Iterator<Item = &File> {
        let files = self.files.values();
        files.filter(|file| !file.is_test && !file.is_generated)
    }

    /// The value of an expression in the file at `path`.
    pub(super) fn value(&self, path: &str, expression: &[Token]) -> Value {
        if expression.len() <= MAX_TOKENS
            && let Some(text) = self.text(folder(path), expression, MAX_STEPS)
        {
            return Value::Known(text);
        }
        Value::Unknown(written(expression))
    }

    /// Resolves an expression in `folder` to its text.
    fn text(&self, folder: &str, expression: &[Token], most: usize) -> Option<String> {
        let steps = most.checked_sub(1)?;
        self.left.set(self.left.get().checked_sub(1)?);
        match expression {
            [Token::Text(text)] => (text.len() <= MAX_TEXT).then(|| text.clone()),
            [Token::Name(name)] if matches!(name.as_str(), "true" | "false") => Some(name.clone()),
            [Token::Name(name)] => self.named(folder, None, name, steps),
            // The variable that a pointer points to, and the pointer.
            [Token::Sign('*' | '&'), rest @ ..] => self.text(folder, rest, steps),
            // A conversion.
            [
                Token::Name(kind),
                Token::Sign('('),
                inside @ ..,
                Token::Sign(')'),
            ] if kind == "string" => self.text(folder, inside, steps),
            // A constant of a package, or a field of the reconciler.
            [Token::Name(package), Token::Sign('.'), Token::Name(name)] => {
                self.named("", Some(package), name, steps)
            }
            // The default of a flag: `flag.String("flag", "default", …)`.
            [
                Token::Name(_),
                Token::Sign('.'),
                Token::Name(function),
                Token::Sign('('),
                rest @ ..,
            ] if matches!(function.as_str(), "Bool" | "BoolP" | "String" | "StringP") => {
                let arguments = arguments(rest);
                self.text(folder, arguments.get(before_default(function))?, steps)
            }
            [
                Token::Name(_),
                Token::Sign('.'),
                Token::Name(function),
                Token::Sign('('),
                rest @ ..,
            ] if function == "Sprintf" => {
                let arguments = arguments(rest);
                let (format, arguments) = arguments.split_first()?;
                let mut texts = arguments.iter();
                let format = self.text(folder, format, steps)?;
                let mut parts = format.replace("%v", "%s");
                while parts.contains("%s") {
                    let text = self.text(folder, texts.next()?, steps)?;
                    parts = parts.replacen("%s", &text, 1);
                }
                (!parts.contains('%')).then_some(parts)
            }
            _ => {
                let at = expression
                    .iter()
                    .position(|token| *token == Token::Sign('+'))?;
                let (before, after) = (&expression[..at], &expression[at + 1..]);
                Some(self.text(folder, before, steps)? + &self.text(folder, after, steps)?)
            }
        }
    }

    /// Resolves `name` to its text: the value in `folder` or in a folder with the name `package`, or else the only value
    /// in all folders. Returns `None` if there are several texts.
    fn named(
        &self,
        in_folder: &str,
        package: Option<&str>,
        name: &str,
        steps: usize,
    ) -> Option<String> {
        let values = self.values.get(name)?;
        let mut near = Vec::new();
        for definition in values {
            let place = folder(&definition.place.path);
            let is_near = match package {
                Some(package) => file_name(place) == package,
                None => place == in_folder,
            };
            if is_near {
                near.push(definition);
            }
        }
        if near.is_empty() {
            near.extend(values);
        }
        let mut texts = BTreeSet::new();
        for definition in near {
            texts.extend(self.text(folder(&definition.place.path), &definition.value, steps));
        }
        if texts.len() > 1 {
            return None;
        }
        texts.pop_first()
    }
}

/// The arguments of a call. `tokens` begin after the opening parenthesis.
fn arguments(tokens: &[Token]) -> Vec<Vec<Token>> {
    let (mut depth, mut all, mut one) = (0_usize, Vec::new(), Vec::new());
    for token in tokens {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') if depth == 0 => break,
            Token::Sign(')' | ']' | '}') => depth -= 1,
            Token::Sign(',') if depth == 0 => {
                all.push(std::mem::take(&mut one));
                continue;
            }
            _ => {}
        }
        one.push(token.clone());
    }
    if !one.is_empty() {
        all.push(one);
    }
    all
}

/// The expression at the start of `tokens`: strings, names, and calls in a package, joined by `+`. Empty for other
/// expressions.
fn expression(tokens: &[Token]) -> &[Token] {
    let mut end = usize::from(matches!(tokens.first(), Some(Token::Sign('*' | '&'))));
    loop {
        end += match &tokens[end..] {
            [Token::Name(kind), Token::Sign('('), rest @ ..] if kind == "string" => {
                (2 + inside(rest) + 1).min(tokens.len() - end)
            }
            [
                Token::Name(_),
                Token::Sign('.'),
                Token::Name(_),
                Token::Sign('('),
                rest @ ..,
            ] => (4 + inside(rest) + 1).min(tokens.len() - end),
            [Token::Name(_), Token::Sign('.'), Token::Name(_), ..] => 3,
            [Token::Text(_) | Token::Name(_), ..] => 1,
            _ => return &[],
        };
        match tokens.get(end) {
            Some(Token::Sign('+')) => end += 1,
            // Other calls, indices and struct literals are not supported.
            Some(Token::Sign('(' | '[' | '{')) => return &[],
            _ => return &tokens[..end],
        }
    }
}

/// The number of tokens before the parenthesis that closes a call.
fn inside(tokens: &[Token]) -> usize {
    let mut depth = 1_usize;
    let inside = tokens.iter().take_while(|token| {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
        depth > 0
    });
    inside.count()
}

/// For each opening bracket, the index of the bracket that closes it, or else the number of tokens.
pub(super) fn ends(tokens: &[Token]) -> Vec<usize> {
    let mut ends = vec![tokens.len(); tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => open.push(at),
            Token::Sign(')' | ']' | '}') => {
                if let Some(opening) = open.pop() {
                    ends[opening] = at;
                }
            }
            _ => {}
        }
    }
    ends
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

    fn known(text: &str) -> BTreeSet<Value> {
        BTreeSet::from([Value::Known(text.to_owned())])
    }

    fn unknown(text: &str) -> BTreeSet<Value> {
        BTreeSet::from([Value::Unknown(text.to_owned())])
    }

    #[test]
    fn comments_and_strings_are_distinguished() {
        let (words, lines) = tokens("a // b \"c\n/* d */ \"e//f\\\"\" `g\"` '\\'' h");
        let expected = [
            Token::Name("a".to_owned()),
            Token::Text("e//f\"".to_owned()),
            Token::Text("g\"".to_owned()),
            Token::Name("h".to_owned()),
        ];
        assert_eq!(words, expected);
        assert_eq!(lines, [1, 2, 2, 2]);
    }

    #[test]
    fn unterminated_literals_and_calls_are_read() {
        for text in ["\"a", "`a", "'", "/* a", "// a", "f(a", "x = a(", "\\"] {
            go(&[("main.go", text)]).arguments("main.go", "f", 0);
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
                "const finalizer string = api.Group + \"/finalizer\"\n\
                 controllerutil.AddFinalizer(book, finalizer)\n\
                 client.FieldOwner(r.Name)\n",
            ),
            ("api/v1/groupversion.go", "var Group = \"example.com\"\n"),
        ]);
        let lease = go.set("main.go", "LeaderElectionID");
        assert_eq!(lease, known("source-controller-leader-election"));
        let path = "internal/controller/book.go";
        let finalizers = go.arguments(path, "AddFinalizer", 1);
        assert_eq!(finalizers, known("example.com/finalizer"));
        assert_eq!(go.arguments(path, "FieldOwner", 0), unknown("r.Name"));
    }

    #[test]
    fn a_flag_resolves_to_its_default() {
        let go = go(&[(
            "main.go",
            "var id string\npflag.StringVar(&id, \"lease\", \"operator.keda.sh\", \"the Lease\")\nf(id)",
        )]);
        assert_eq!(go.arguments("main.go", "f", 0), known("operator.keda.sh"));
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
            BTreeSet::from(["name", "x.name"].map(|name| Value::Unknown(name.to_owned())));
        assert_eq!(go.arguments("c/c.go", "f", 0), unknown);
        assert_eq!(go.arguments("a/d.go", "f", 0), known("a"));
    }

    #[test]
    fn a_cycle_of_names_ends() {
        let go = go(&[("main.go", "a := b\nb := a\nf(a)")]);
        assert_eq!(go.arguments("main.go", "f", 0), unknown("a"));
    }

    #[test]
    fn names_with_many_values_are_fast() {
        let lines = (0..2_000).map(|_| "a := a + a\n");
        let go = go(&[("main.go", &(lines.collect::<String>() + "f(a)"))]);
        assert_eq!(go.arguments("main.go", "f", 0), unknown("a"));
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
        assert_eq!(go.arguments("c/c.go", "f", 0), expected);
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
            assert_eq!(go.arguments("main.go", function, 0), known(text));
        }
    }

    #[test]
    fn kinds_are_read_from_calls() {
        let go = go(&[(
            "c.go",
            "ctrl.NewControllerManagedBy(mgr).\n\tFor(&webappv1.Guestbook{}, builder.WithPredicates(p)).\n\
             \tOwns(&appsv1.Deployment{}).\n\tOwns(&Local{})",
        )]);
        let kind = |package: &str, kind: &str| (package.to_owned(), kind.to_owned());
        assert_eq!(
            go.kinds("c.go", "For"),
            BTreeSet::from([kind("webappv1", "Guestbook")])
        );
        assert_eq!(
            go.kinds("c.go", "Owns"),
            BTreeSet::from([kind("", "Local"), kind("appsv1", "Deployment")])
        );
        assert!(go.mentions("c.go", "NewControllerManagedBy"));
    }
}
