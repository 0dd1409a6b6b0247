//! Fuzzes the values in `PROJECT`. Each accepted value must appear unchanged in the files, and must change nothing else
//! there.
//!
//! The project is rendered twice: with the value, and with a harmless value. The parser of its language reads each file
//! that differs. If a file has no such parser, the value may only have harmless characters.

use std::{collections::BTreeMap, sync::LazyLock};

use proc_macro2::{TokenStream, TokenTree};
use rscaffold::{
    engine::{Text, Texts},
    project::Project,
    render::render,
};
use serde_json::{Value, json};

use super::texts::{check_paths, yaml};

/// A field of `PROJECT` with a free value.
#[derive(Debug)]
pub struct Field {
    /// The JSON pointer to the field.
    place: &'static str,
    /// A harmless value, which appears nowhere else.
    pub harmless: &'static str,
    /// Whether the value is text for people, which may have any visible character.
    is_text: bool,
}

const fn name(place: &'static str, harmless: &'static str) -> Field {
    Field {
        place,
        harmless,
        is_text: false,
    }
}

const fn text(place: &'static str, harmless: &'static str) -> Field {
    Field {
        place,
        harmless,
        is_text: true,
    }
}

/// All fields with a free value.
pub const FIELDS: [Field; 25] = [
    name("/domain", "zqdomain.example.org"),
    name("/lease", "zqlease.example.org"),
    text("/licenseHeader", "zq header"),
    name("/namespace", "zqnamespace"),
    text("/owner", "zq owner"),
    name("/projectName", "zqproject"),
    name("/repo", "github.com/zqhost/zqrepo"),
    name("/runtime", "../zqmember/crates/kube-manager"),
    name("/workspace", ".."),
    name("/resources/0/group", "zqgroup"),
    name("/resources/0/kind", "Zqkind"),
    name("/resources/0/plural", "zqkindz"),
    name("/resources/0/shortNames/0", "zqshort"),
    name("/resources/0/version", "v77alpha33"),
    name("/resources/0/controllers/0/name", "zqcontroller"),
    name("/resources/0/controllers/0/image/name", "zqimage:1.6"),
    text("/resources/0/controllers/0/image/command/0", "zqword"),
    name("/resources/0/webhooks/defaultingPath", "/zqdefault"),
    name("/resources/0/webhooks/validationPath", "/zqvalidate"),
    text("/resources/2/api/deprecationWarning", "zq warning"),
    name("/resources/3/domain", "zqio.example"),
    name("/resources/3/group", "zqtools"),
    name("/resources/3/kind", "Zqcert"),
    name("/resources/3/module", "zqcrate@0.1"),
    name("/resources/3/path", "zqcrate::v1::Zqcert"),
];

/// Texts with a special meaning in one of the languages.
pub const PAYLOADS: [&str; 44] = [
    "",
    " ",
    "~",
    "null",
    "true",
    "yes",
    "No",
    "on",
    "=",
    "<<",
    "-",
    "---",
    "...",
    "? a",
    ": a",
    "a: b",
    "a #b",
    "&a",
    "*a",
    "!a",
    "%YAML",
    "@a",
    "`a`",
    "[a]",
    "{a}",
    "{{ a }}",
    "[= domain =]",
    "[% raw %]",
    "12",
    "0x10",
    "1e3",
    ".inf",
    "2026-01-01",
    "12:30:45",
    "'",
    "\"",
    "\\",
    "*/",
    "$(touch a)",
    "${a}",
    "a\nb",
    "a\0b",
    "<a>",
    "](a)",
];

/// Characters that have a special meaning in one of the languages, or that look like other characters.
pub const CHARACTERS: [char; 60] = [
    'a',
    'z',
    'A',
    '0',
    '9',
    '-',
    '.',
    '_',
    '/',
    '\\',
    ' ',
    '\t',
    '\n',
    '\r',
    '\0',
    '\u{1b}',
    '\u{7f}',
    '\u{85}',
    '\u{a0}',
    '\u{200b}',
    '\u{2028}',
    '\u{202e}',
    '\u{feff}',
    '\u{fffd}',
    '\u{1f600}',
    'ä',
    '\'',
    '"',
    '`',
    '$',
    '(',
    ')',
    '{',
    '}',
    '[',
    ']',
    '<',
    '>',
    '|',
    '&',
    ';',
    ':',
    ',',
    '#',
    '!',
    '?',
    '*',
    '%',
    '@',
    '~',
    '^',
    '=',
    '+',
    'e',
    'x',
    'n',
    '\u{301}',
    '\u{d7ff}',
    '\u{e000}',
    '\u{10ffff}',
];

/// Returns a project with settings of every kind, as JSON, which is also YAML.
fn base() -> Value {
    json!({
        "cliVersion": env!("CARGO_PKG_VERSION"),
        "domain": "zqdomain.example.org",
        "features": [
            "agents", "autoupdate", "certmanager", "devcontainer", "github", "grafana", "helm",
            "leader-election", "metrics-secure", "network-policy", "prometheus",
        ],
        "layout": ["rust.rscaffold/v1"],
        "license": "mit",
        "multigroup": true,
        "projectName": "zqproject",
        "repo": "github.com/zqhost/zqrepo",
        "resources": [
            {
                "api": {"crdVersion": "v1", "namespaced": true},
                "controllers": [{
                    "finalizer": true,
                    "image": {"command": ["zqword", "-v"], "name": "zqimage:1.6", "port": 11211},
                    "name": "zqcontroller",
                    "owns": ["apps/v1/Deployment", "v1/ConfigMap"],
                    "watches": ["v1/Secret"],
                }],
                "group": "zqgroup",
                "kind": "Zqkind",
                "plural": "zqkindz",
                "shortNames": ["zqshort"],
                "version": "v77alpha33",
                "webhooks": {
                    "defaulting": true,
                    "defaultingPath": "/zqdefault",
                    "validation": true,
                    "validationPath": "/zqvalidate",
                    "webhookVersion": "v1",
                },
            },
            {
                "api": {"conversion": "none", "crdVersion": "v1", "storage": true},
                "group": "library",
                "kind": "Book",
                "version": "v1",
            },
            {
                "api": {
                    "conversion": "none", "crdVersion": "v1",
                    "deprecated": true, "deprecationWarning": "zq warning",
                },
                "group": "library",
                "kind": "Book",
                "version": "v1beta1",
            },
            {
                "controller": true,
                "domain": "zqio.example",
                "external": true,
                "group": "zqtools",
                "kind": "Zqcert",
                "module": "zqcrate@0.1",
                "namespaced": true,
                "path": "zqcrate::v1::Zqcert",
                "version": "v1",
            },
        ],
        "runtime": "registry",
        "version": "3",
    })
}

/// Returns the text of `PROJECT` with this value of the field.
fn text_with(field: &Field, value: &str) -> String {
    let mut project = base();
    if ["/runtime", "/workspace"].contains(&field.place) {
        project["workspace"] = "..".into();
    }
    if let Some(place) = project.pointer_mut(field.place) {
        *place = value.into();
    } else {
        project[&field.place[1..]] = value.into();
    }
    project.to_string()
}

/// For each field, the files of the project with the harmless value.
static HARMLESS: LazyLock<Vec<Texts>> = LazyLock::new(|| {
    let texts = FIELDS.iter().map(|field| {
        let project = Project::parse(&text_with(field, field.harmless)).unwrap();
        render(&project).unwrap().texts
    });
    texts.collect()
});

/// Checks one input. The first byte selects the field. If the second byte is 0, the rest of the input replaces the
/// harmless value. Otherwise, the rest is inserted into the harmless value, at the place that the second byte selects.
pub fn run(data: &[u8]) {
    let [field, form, rest @ ..] = data else {
        return;
    };
    let (index, rest) = (
        usize::from(*field) % FIELDS.len(),
        String::from_utf8_lossy(rest),
    );
    let mut value = FIELDS[index].harmless.to_owned();
    if *form == 0 {
        value = rest.into_owned();
    } else {
        value.insert_str(usize::from(*form) % (value.len() + 1), &rest);
    }
    if let Err(error) = check(index, &value) {
        panic!("{:?} with {value:?}: {error}", FIELDS[index]);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let inputs = (0_u8..).zip(&FIELDS).flat_map(|(index, _)| {
        let payloads = PAYLOADS.iter().map(|payload| payload.as_bytes());
        payloads.flat_map(move |payload| [0, 3].map(|form| [&[index, form], payload].concat()))
    });
    inputs.collect()
}

/// Returns whether `PROJECT` accepts the value of the field at this index.
///
/// # Errors
///
/// When `PROJECT` accepts the value, and a file is wrong.
pub fn check(index: usize, value: &str) -> Result<bool, String> {
    let field = &FIELDS[index];
    let Ok(project) = Project::parse(&text_with(field, value)) else {
        return Ok(false);
    };
    let text = project.to_text().map_err(|error| format!("{error:#}"))?;
    let again = Project::parse(&text).map_err(|error| format!("{error:#}\n{text}"))?;
    if again != project {
        return Err(format!("another project is read than was written:\n{text}"));
    }
    let texts = render(&project)
        .map_err(|error| format!("{error:#}"))?
        .texts;
    check_paths(&texts)?;
    let harmless = &HARMLESS[index];
    let is_new = |(path, text): &(&String, &Text)| harmless.get(*path) != Some(*text);
    let (mut now, mut then) = (Facts::default(), Facts::default());
    for (path, text) in texts.iter().filter(is_new) {
        now.read(field, value, path, text.content())
            .map_err(|error| format!("{path}: {error}\n{}", text.content()))?;
    }
    for (path, text) in harmless
        .iter()
        .filter(|(path, text)| texts.get(*path) != Some(*text))
    {
        then.read(field, field.harmless, path, text.content())?;
    }
    now.compare(&then, field, value)?;
    Ok(true)
}

/// The contents of files.
#[derive(Default)]
struct Facts {
    /// Each string in YAML, JSON, TOML and Rust, with its count.
    strings: BTreeMap<String, usize>,
    /// The other values, which a string may become by mistake: numbers, booleans and null, with their counts.
    others: BTreeMap<String, usize>,
    /// The tokens of Rust except strings, with their counts.
    tokens: BTreeMap<String, usize>,
}

impl Facts {
    fn read(&mut self, field: &Field, value: &str, path: &str, text: &str) -> Result<(), String> {
        let is_template = path.starts_with("charts/") && path.contains("/templates/");
        let language = path.rsplit('.').next().unwrap_or_default();
        match language {
            "yaml" | "yml" if !is_template => {
                yaml(text)?.iter().for_each(|it| self.value(it));
            }
            "json" => {
                let read = serde_json::from_str(text).map_err(|error| error.to_string())?;
                self.value(&read);
            }
            "toml" => {
                let read: toml::Table =
                    text.parse().map_err(|it: toml::de::Error| it.to_string())?;
                self.value(&serde_json::to_value(read).map_err(|error| error.to_string())?);
            }
            "rs" => {
                syn::parse_file(text).map_err(|error| error.to_string())?;
                let tokens = text.parse::<TokenStream>();
                self.rust(tokens.map_err(|error| error.to_string())?);
            }
            // No program interprets the license.
            _ if path == "LICENSE" && field.place == "/owner" => {}
            _ => {
                // The README has the repository in a code block, where `~` has no special meaning.
                let more = if path == "README.md" { "~" } else { "" };
                let is_safe =
                    |c: char| c.is_ascii_alphanumeric() || "-._/:@".contains(c) || more.contains(c);
                if !value.chars().all(is_safe) || value.starts_with('-') {
                    return Err(format!("`{value}` may mean something here"));
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => add(&mut self.strings, text.clone()),
            Value::Array(items) => items.iter().for_each(|it| self.value(it)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    add(&mut self.strings, key.clone());
                    // The title of a schema is the name of the Rust type, which has no hyphens.
                    if key != "title" {
                        self.value(value);
                    }
                }
            }
            other => add(&mut self.others, other.to_string()),
        }
    }

    fn rust(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    add(&mut self.tokens, format!("{:?}", group.delimiter()));
                    self.rust(group.stream());
                }
                TokenTree::Literal(literal) => match syn::Lit::new(literal.clone()) {
                    syn::Lit::Str(text) => add(&mut self.strings, text.value()),
                    _ => add(&mut self.tokens, literal.to_string()),
                },
                TokenTree::Punct(punct) => add(&mut self.tokens, punct.to_string()),
                TokenTree::Ident(_) => add(&mut self.tokens, "a name".to_owned()),
            }
        }
    }

    /// Compares these facts with `then`, the facts of the harmless value.
    fn compare(&self, then: &Self, field: &Field, value: &str) -> Result<(), String> {
        if self.others != then.others {
            let (now, then) = (&self.others, &then.others);
            return Err(format!(
                "a text became something else: {now:?}, was {then:?}"
            ));
        }
        let count = |strings: &BTreeMap<_, _>, text: &str| strings.get(text).copied().unwrap_or(0);
        if count(&self.strings, value) < count(&then.strings, field.harmless) {
            return Err(format!("`{value}` does not stand where it should"));
        }
        if !field.is_text {
            return Ok(());
        }
        if self.tokens != then.tokens {
            return Err(format!(
                "Rust differs: {:?}, was {:?}",
                self.tokens, then.tokens
            ));
        }
        let mut expected = BTreeMap::new();
        for (text, times) in &then.strings {
            *expected
                .entry(text.replace(field.harmless, value))
                .or_default() += times;
        }
        if self.strings != expected {
            let (now, then) = (&self.strings, expected);
            return Err(format!("texts differ: {now:?}, not {then:?}"));
        }
        Ok(())
    }
}

fn add(counts: &mut BTreeMap<String, usize>, text: String) {
    *counts.entry(text).or_default() += 1;
}
