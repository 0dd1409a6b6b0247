//! Reads the source of a Go operator: constants, and the calls that set names such as finalizers.
//!
//! The reader knows tokens, but not types. A value that cannot be resolved, such as a name that is computed at run
//! time, is reported, and never guessed.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use super::source::{folder, is_file_of};
use crate::reconcile::Texts;

/// The largest number of names that are followed to resolve one name.
const MAX_STEPS: usize = 8;

/// The largest number of expressions that are resolved in all: a name may have many values, and each value more names.
const MAX_EXPRESSIONS: usize = 1_000_000;

/// The longest text that counts as a name, in bytes.
const MAX_TEXT: usize = 300;

/// A token of Go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Sign(char),
}

/// The tokens of a file, without comments.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
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
        rest = &rest[taken..];
    }
    tokens
}

/// Returns whether `tokens` end in `StringVar(&`.
fn is_flag(tokens: &[Token]) -> bool {
    matches!(
        tokens,
        [.., Token::Name(function), Token::Sign('('), Token::Sign('&')] if function == "StringVar"
    )
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
struct File {
    folder: String,
    tokens: Vec<Token>,
    /// Whether the file has only tests.
    is_test: bool,
}

/// The Go files of a project.
#[derive(Debug, Default)]
pub(super) struct Go {
    files: BTreeMap<String, File>,
    /// The values of each name, each with the folder of its file.
    values: BTreeMap<String, Vec<(String, Vec<Token>)>>,
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

impl Go {
    pub(super) fn new(texts: &Texts) -> Self {
        let mut go = Self {
            left: Cell::new(MAX_EXPRESSIONS),
            ..Self::default()
        };
        for (path, text) in texts.iter().filter(|(path, _)| is_file_of("go", path)) {
            let file = File {
                folder: folder(path).to_owned(),
                tokens: tokens(text),
                is_test: path.ends_with("_test.go"),
            };
            if !file.is_test {
                go.read_values(&file);
            }
            go.files.insert(path.clone(), file);
        }
        go
    }

    /// Records `name = value`, `name := value`, `name string = value` and `Name: value`.
    fn read_values(&mut self, file: &File) {
        let tokens = &file.tokens;
        for (at, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            let after = match &tokens[at + 1..] {
                // The default of a flag: `StringVar(&name, "flag", "default", …)`.
                [Token::Sign(','), Token::Text(_), Token::Sign(','), ..]
                    if is_flag(&tokens[..at]) =>
                {
                    at + 4
                }
                [Token::Sign(':'), Token::Sign('='), ..] => at + 3,
                [Token::Sign('=' | ':'), next, ..] if *next != Token::Sign('=') => at + 2,
                [Token::Name(kind), Token::Sign('='), ..] if kind == "string" => at + 3,
                _ => continue,
            };
            let value = expression(&tokens[after..]);
            if !value.is_empty() {
                let place = (file.folder.clone(), value.to_vec());
                self.values.entry(name.clone()).or_default().push(place);
            }
        }
    }

    /// Returns whether the file at `path` has the identifier `name`.
    pub(super) fn mentions(&self, path: &str, name: &str) -> bool {
        let is_it = |token: &Token| matches!(token, Token::Name(it) if it == name);
        self.files
            .get(path)
            .is_some_and(|file| file.tokens.iter().any(is_it))
    }

    /// The kinds in calls of `function` in the file at `path`, as in `For(&webappv1.Guestbook{})`: each with the name
    /// of its package.
    pub(super) fn kinds(&self, path: &str, function: &str) -> BTreeSet<(String, String)> {
        let calls = self.calls(path, function).into_iter();
        let kinds = calls.filter_map(|arguments| match arguments.first()?.as_slice() {
            [
                Token::Sign('&'),
                Token::Name(package),
                Token::Sign('.'),
                Token::Name(kind),
                Token::Sign('{'),
                ..,
            ] => Some((package.clone(), kind.clone())),
            [Token::Sign('&'), Token::Name(kind), Token::Sign('{'), ..] => {
                Some((String::new(), kind.clone()))
            }
            _ => None,
        });
        kinds.collect()
    }

    /// What the file at `path` imports as `package`, such as `k8s.io/api/core/v1`.
    pub(super) fn import(&self, path: &str, package: &str) -> Option<&str> {
        let tokens = &self.files.get(path)?.tokens;
        let named = tokens.windows(2).find_map(|pair| match pair {
            [Token::Name(name), Token::Text(import)] if name == package => Some(import),
            _ => None,
        });
        let unnamed = || {
            tokens.iter().find_map(|token| match token {
                Token::Text(import) if import.rsplit('/').next() == Some(package) => Some(import),
                _ => None,
            })
        };
        named.or_else(unnamed).map(String::as_str)
    }

    /// The arguments of each call of `function` in the file at `path`.
    fn calls(&self, path: &str, function: &str) -> Vec<Vec<Vec<Token>>> {
        let Some(file) = self.files.get(path) else {
            return Vec::new();
        };
        let tokens = &file.tokens;
        let starts = tokens.iter().enumerate().filter(|(at, token)| {
            matches!(token, Token::Name(it) if it == function)
                && tokens.get(at + 1) == Some(&Token::Sign('('))
                && at.checked_sub(1).and_then(|at| tokens.get(at))
                    != Some(&Token::Name("func".to_owned()))
        });
        starts.map(|(at, _)| arguments(&tokens[at + 2..])).collect()
    }

    /// The values of the argument at `index` in all calls of `function` in the file at `path`.
    pub(super) fn arguments(&self, path: &str, function: &str, index: usize) -> BTreeSet<Value> {
        let calls = self.calls(path, function).into_iter();
        let values = calls.filter_map(|mut arguments| {
            (index < arguments.len()).then(|| self.value(path, &arguments.swap_remove(index)))
        });
        values.collect()
    }

    /// The finalizers that the file at `path` adds to objects: with `AddFinalizer`, or with `append` to
    /// `GetFinalizers()`.
    pub(super) fn finalizers(&self, path: &str) -> BTreeSet<Value> {
        let mut found = self.arguments(path, "AddFinalizer", 1);
        for mut arguments in self.calls(path, "append") {
            let is_list = |token: &Token| matches!(token, Token::Name(it) if it == "GetFinalizers" || it == "Finalizers");
            if arguments.len() == 2 && arguments[0].iter().any(is_list) {
                found.insert(self.value(path, &arguments.swap_remove(1)));
            }
        }
        found
    }

    /// The values of the field or variable `name` in the file at `path`.
    pub(super) fn set(&self, path: &str, name: &str) -> BTreeSet<Value> {
        let Some(file) = self.files.get(path) else {
            return BTreeSet::new();
        };
        let mut only = Self::default();
        only.read_values(file);
        let values = only.values.remove(name).unwrap_or_default().into_iter();
        values.map(|(_, value)| self.value(path, &value)).collect()
    }

    /// The paths of all files except tests.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().filter(|(_, file)| !file.is_test);
        files.map(|(path, _)| path.as_str())
    }

    fn value(&self, path: &str, expression: &[Token]) -> Value {
        let folder = self.files.get(path).map_or("", |file| &file.folder);
        match self.text(folder, expression, MAX_STEPS) {
            Some(text) => Value::Known(text),
            None => Value::Unknown(written(expression)),
        }
    }

    /// Resolves an expression in `folder` to its text.
    fn text(&self, folder: &str, expression: &[Token], steps: usize) -> Option<String> {
        let steps = steps.checked_sub(1)?;
        self.left.set(self.left.get().checked_sub(1)?);
        match expression {
            [Token::Text(text)] => Some(text.clone()).filter(|it| it.len() <= MAX_TEXT),
            [Token::Name(name)] => self.named(folder, name, steps),
            // A constant of a package, or a field of the reconciler.
            [Token::Name(_), Token::Sign('.'), Token::Name(name)] => self.named("", name, steps),
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
                let at = expression.iter().position(|it| *it == Token::Sign('+'))?;
                let (before, after) = (&expression[..at], &expression[at + 1..]);
                Some(self.text(folder, before, steps)? + &self.text(folder, after, steps)?)
            }
        }
    }

    /// Resolves `name` to its text: the value in `folder`, or else the only value in all folders. Returns `None` if
    /// there are several texts.
    fn named(&self, folder: &str, name: &str, steps: usize) -> Option<String> {
        let values = self.values.get(name)?;
        let here = values.iter().filter(|(it, _)| it == folder);
        let here: Vec<_> = here.collect();
        let all = if here.is_empty() {
            values.iter().collect()
        } else {
            here
        };
        let texts = all
            .into_iter()
            .map(|(folder, value)| self.text(folder, value, steps));
        let texts: BTreeSet<_> = texts.flatten().collect();
        let mut texts = texts.into_iter();
        texts.next().filter(|_| texts.next().is_none())
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
    let mut end = 0;
    loop {
        end += match &tokens[end..] {
            [
                Token::Name(_),
                Token::Sign('.'),
                Token::Name(_),
                Token::Sign('('),
                rest @ ..,
            ] => {
                let mut depth = 1_usize;
                let inside = rest.iter().take_while(|token| {
                    match token {
                        Token::Sign('(') => depth += 1,
                        Token::Sign(')') => depth -= 1,
                        _ => {}
                    }
                    depth > 0
                });
                (4 + inside.count() + 1).min(tokens.len() - end)
            }
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

/// An expression as the report shows it.
fn written(tokens: &[Token]) -> String {
    let words = tokens.iter().map(|token| match token {
        Token::Name(name) => name.clone(),
        Token::Text(text) => format!("\"{text}\""),
        Token::Sign(',') => ", ".to_owned(),
        Token::Sign('+') => " + ".to_owned(),
        Token::Sign(sign) => sign.to_string(),
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(files: &[(&str, &str)]) -> Go {
        let texts = files
            .iter()
            .map(|(path, text)| (path.to_string(), text.to_string().into()));
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
        let words = tokens("a // b \"c\n/* d */ \"e//f\\\"\" `g\"` '\\'' h");
        let expected = [
            Token::Name("a".to_owned()),
            Token::Text("e//f\"".to_owned()),
            Token::Text("g\"".to_owned()),
            Token::Name("h".to_owned()),
        ];
        assert_eq!(words, expected);
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
        assert_eq!(go.finalizers(path), known("example.com/finalizer"));
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
        let unknown = BTreeSet::from(["name", "x.name"].map(|it| Value::Unknown(it.to_owned())));
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
    fn a_finalizer_in_a_list_is_found() {
        let go = go(&[(
            "f.go",
            "o.SetFinalizers(append(o.GetFinalizers(), \"finalizer.keda.sh\"))\nappend(all, one)",
        )]);
        assert_eq!(go.finalizers("f.go"), known("finalizer.keda.sh"));
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
