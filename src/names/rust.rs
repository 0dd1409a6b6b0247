//! Names for Rust and cargo: modules, crates, and the repository and workspace of a crate.

use anyhow::{Result, anyhow, bail, ensure};

use super::check::{allow_only, limit, names, read_or, traits};
use crate::visible::is_hidden;

/// Keywords of Rust 2024, including those that are reserved for later.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Names that Windows reserves: no file or folder can have them, with any extension.
const WINDOWS: [&str; 22] = [
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "lpt1",
    "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
];

/// The crates that the code of a generated project uses, by their names in code.
const DEPENDENCIES: [&str; 12] = [
    "anyhow",
    "clap",
    "k8s_openapi",
    "kube",
    "kube_manager",
    "schemars",
    "serde",
    "serde_json",
    "thiserror",
    "tokio",
    "tracing",
    "tracing_subscriber",
];

/// Whether the code of a generated project uses a crate with the name `ident`.
pub fn is_dependency(ident: &str) -> bool {
    DEPENDENCIES.contains(&ident)
}

pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name) || name == "Self"
}

/// The module for a name: `batch_jobs_infra` for `batch-jobs.infra`.
pub(super) fn module(name: &str) -> String {
    // For rustc, a name with two underscores in a row is not in snake case.
    let words = name.split(['-', '.', '_']).filter(|word| !word.is_empty());
    let mut module = words.collect::<Vec<_>>().join("_");
    // The code has `use kube::…`, so a module cannot be called `kube` itself.
    let taken = [&KEYWORDS[..], &WINDOWS, &DEPENDENCIES];
    if module.starts_with(|c: char| c.is_ascii_digit()) {
        module.insert(0, '_');
    } else if taken.concat().contains(&module.as_str()) {
        module.push('_');
    }
    module
}

/// Names that cargo or rustc refuses, or that have another meaning in the project's code.
const TAKEN: [(&str, &[&str]); 6] = [
    ("is a keyword of Rust", &KEYWORDS),
    ("is reserved by Windows", &WINDOWS),
    (
        "is a crate of Rust itself",
        &["alloc", "core", "proc_macro", "std", "test"],
    ),
    (
        "is a folder that cargo builds in",
        &["build", "deps", "examples", "incremental"],
    ),
    ("is a dependency of the generated project", &DEPENDENCIES),
    (
        "is a module that the generated `main.rs` uses",
        &["api", "controller", "manifests"],
    ),
];

names! {
    /// The name of the generated project's package, library and program: `guestbook`.
    CrateName: "a crate name", "guestbook-operator", near_crate, check_crate;
}

impl CrateName {
    /// The crate in Rust code: `my_operator`.
    pub fn ident(&self) -> String {
        self.0.replace('-', "_")
    }
}

fn near_crate(text: &str) -> String {
    text.to_ascii_lowercase().replace([' ', '.'], "-")
}

fn check_crate(text: &str) -> Result<()> {
    // The limit of crates.io.
    const MAX: usize = 64;
    let ident = text.replace('-', "_");
    ensure!(!text.is_empty(), "it must not be empty");
    let hint = ", only lower-case letters, digits, `-` and `_`";
    allow_only(
        text,
        |c| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_'),
        hint,
    )?;
    ensure!(
        text.starts_with(|c: char| c.is_ascii_lowercase()),
        "it must begin with a letter"
    );
    ensure!(
        !ident.contains("__"),
        "it must not have two of `-` and `_` in a row"
    );
    limit(text, MAX)?;
    if let Some((owner, _)) = TAKEN
        .iter()
        .find(|(_, names)| names.contains(&ident.as_str()))
    {
        bail!("it {owner}");
    }
    Ok(())
}

/// The repository of the code: `guestbook`, `github.com/me/guestbook`, or an argument of
/// `git clone`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repo {
    text: String,
    url: Option<String>,
    crate_name: CrateName,
}

impl Repo {
    /// The crate, named by the last part: `guestbook` for `https://github.com/me/Guestbook.git` or
    /// `github.com/me/guestbook/v2`.
    pub fn crate_name(&self) -> &CrateName {
        &self.crate_name
    }

    /// The URL for a browser, if the repository names a host: `https://github.com/me/guestbook`.
    pub fn url(&self) -> Option<String> {
        self.url.clone()
    }

    fn read(text: &str) -> Result<Self> {
        let words = ("a repository", "github.com/me/guestbook");
        let (host, path) = read_or(text, words, text, host_and_path)?;
        // The path may be that of a Go module. A repository may be called `v2`.
        let is_address = text.contains("://") || text.contains('@');
        let path = match without_major_version(path) {
            module if module.contains('/') && !is_address => module,
            _ => path,
        };
        let last = path.rsplit('/').next().unwrap_or(path);
        let name = last.to_ascii_lowercase().replace('.', "-");
        check_crate(&name).map_err(|reason| {
            let which = if name == text {
                format!("`{text}`")
            } else {
                format!("`{text}` ends in `{name}`, which")
            };
            anyhow!("{which} cannot be the name of the crate: {reason}")
        })?;
        Ok(Self {
            url: host.map(|host| format!("https://{host}/{path}")),
            crate_name: CrateName(name),
            text: text.to_owned(),
        })
    }
}

/// The path from a project's folder up to the folder of its workspace: `..`, `../..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRoot(String);

impl WorkspaceRoot {
    /// The folder `up` levels above the project's.
    ///
    /// # Errors
    /// When `up` is 0.
    pub fn above(up: usize) -> Result<Self> {
        vec![".."; up].join("/").parse()
    }

    fn read(text: &str) -> Result<Self> {
        ensure!(
            text.split('/').all(|part| part == ".."),
            "`{text}` is not the path from a project to its workspace: it must look like `..` or \
             `../..`"
        );
        Ok(Self(text.to_owned()))
    }
}

traits!(Repo.text, WorkspaceRoot.0);

/// The path of a Go module without its major version: `example.com/books` for `example.com/books/v2`.
pub fn without_major_version(path: &str) -> &str {
    match path.rsplit_once("/v") {
        Some((short, number)) if number.parse::<u64>().is_ok() => short,
        _ => path,
    }
}

/// The host of a repository, if it names one, and the path without `.git`.
fn host_and_path(text: &str) -> Result<(Option<&str>, &str)> {
    // The checks below skip the user and the port, so check the whole text for hidden characters.
    if let Some(bad) = text.chars().find(|c| is_hidden(*c)) {
        bail!("`{}` is not allowed", bad.escape_unicode());
    }
    let (host, mut path) = split(text)?;
    path = path.strip_suffix('/').unwrap_or(path);
    path = path.strip_suffix(".git").unwrap_or(path);
    allow_only(
        path,
        |c| c.is_ascii_alphanumeric() || "-._~+/".contains(c),
        "",
    )?;
    ensure!(
        path.split('/').all(|part| !matches!(part, "" | "." | "..")),
        "each part between slashes must be a name"
    );
    Ok((host, path))
}

/// Splits a repository into its host, if there is one, and its path.
fn split(text: &str) -> Result<(Option<&str>, &str)> {
    let (authority, path) = if let Some((scheme, rest)) = text.split_once("://") {
        ensure!(
            ["https", "http", "ssh", "git"].contains(&scheme),
            "`{scheme}://` is not the URL of a repository that others can read"
        );
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        ensure!(
            !scheme.starts_with("http") || !authority.contains('@'),
            "it contains credentials, which must not be in a file"
        );
        let host = authority.rsplit('@').next().unwrap_or(authority);
        // Only the port of an https URL is also the port of its web pages.
        match host.split_once(':') {
            Some((host, _)) if scheme != "https" => (host, path),
            _ => (host, path),
        }
    } else if let Some((authority, path)) = text.split_once(':').filter(|(a, _)| !a.contains('/')) {
        (authority.rsplit('@').next().unwrap_or(authority), path)
    } else {
        // A URL without scheme, if the first part looks like a host.
        return Ok(match text.split_once('/') {
            Some((host, path)) if host.contains('.') && is_host(host) => (Some(host), path),
            _ => (None, text),
        });
    };
    ensure!(is_host(authority), "it has no host");
    Ok((Some(authority), path.trim_start_matches('/')))
}

fn is_host(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-.:".contains(c))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path, str::FromStr};

    use super::*;

    fn error<T: FromStr<Err = anyhow::Error>>(text: &str) -> String {
        text.parse::<T>().err().unwrap().to_string()
    }

    #[test]
    fn modules_are_snake_case_that_compiles() {
        let cases = [
            ("webapp", "webapp"),
            ("batch-jobs.infra", "batch_jobs_infra"),
            ("a--b", "a_b"),
            ("3scale", "_3scale"),
            ("type", "type_"),
            ("gen", "gen_"),
            ("con", "con_"),
            ("k8s-openapi", "k8s_openapi_"),
        ];
        for (name, expected) in cases {
            assert_eq!(module(name), expected);
        }
    }

    #[test]
    fn the_list_of_dependencies_is_complete() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = fs::read_to_string(root.join("tests/golden/guestbook/Cargo.toml")).unwrap();
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        let tables = ["dependencies", "dev-dependencies"].map(|name| &manifest[name]);
        let names = tables
            .into_iter()
            .flat_map(|table| table.as_table().unwrap().keys());
        let names: BTreeSet<_> = names.map(|name| name.replace('-', "_")).collect();
        assert_eq!(names, DEPENDENCIES.map(str::to_owned).into());
    }

    #[test]
    fn crate_names() {
        for (text, ident) in [
            ("guestbook", "guestbook"),
            ("my-op_2", "my_op_2"),
            ("lib", "lib"),
        ] {
            assert_eq!(text.parse::<CrateName>().unwrap().ident(), ident);
        }
        let rule = "is not a crate name:";
        let example = "as in `guestbook-operator`";
        let cases = [
            ("", format!("`` {rule} it must not be empty, {example}")),
            (
                "My.Op",
                format!(
                    "`My.Op` {rule} `M` is not allowed, only lower-case letters, digits, `-` and \
                     `_`, as in `my-op`"
                ),
            ),
            (
                "2op",
                format!("`2op` {rule} it must begin with a letter, {example}"),
            ),
            (
                "_op",
                format!("`_op` {rule} it must begin with a letter, {example}"),
            ),
            (
                "a-_b",
                format!("`a-_b` {rule} it must not have two of `-` and `_` in a row, {example}"),
            ),
            (
                "match",
                format!("`match` {rule} it is a keyword of Rust, {example}"),
            ),
            (
                "con",
                format!("`con` {rule} it is reserved by Windows, {example}"),
            ),
            (
                "proc-macro",
                format!("`proc-macro` {rule} it is a crate of Rust itself, {example}"),
            ),
            (
                "deps",
                format!("`deps` {rule} it is a folder that cargo builds in, {example}"),
            ),
            (
                "k8s-openapi",
                format!(
                    "`k8s-openapi` {rule} it is a dependency of the generated project, {example}"
                ),
            ),
            (
                "api",
                format!("`api` {rule} it is a module that the generated `main.rs` uses, {example}"),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(error::<CrateName>(text), expected);
        }
        let long = format!("it has 65 characters, at most 64 are allowed, {example}");
        assert!(error::<CrateName>(&"a".repeat(65)).ends_with(&long));
    }

    #[test]
    fn a_repository_gives_the_crate_name_and_the_url() {
        let page = Some("https://github.com/me/guestbook");
        let cases = [
            ("guestbook", "guestbook", None),
            ("com/guestbook", "guestbook", None),
            ("example.com", "example-com", None),
            ("github.com/me/guestbook", "guestbook", page),
            ("https://github.com/me/guestbook", "guestbook", page),
            ("https://github.com/me/guestbook.git", "guestbook", page),
            ("http://github.com/me/guestbook/", "guestbook", page),
            ("git://github.com/me/guestbook.git", "guestbook", page),
            (
                "ssh://git@github.com:22/me/guestbook.git",
                "guestbook",
                page,
            ),
            ("git@github.com:me/guestbook.git", "guestbook", page),
            ("github.com:me/guestbook", "guestbook", page),
            ("github.com/me/guestbook/v2", "guestbook", page),
            ("v2", "v2", None),
            ("github.com/me/v2", "v2", Some("https://github.com/me/v2")),
            (
                "https://git.example.com/me/them/v2",
                "v2",
                Some("https://git.example.com/me/them/v2"),
            ),
            (
                "https://git.example.com:8443/My.Op",
                "my-op",
                Some("https://git.example.com:8443/My.Op"),
            ),
        ];
        for (text, crate_name, url) in cases {
            let repo: Repo = text.parse().unwrap();
            assert_eq!(repo.as_str(), text);
            assert_eq!(repo.crate_name().as_str(), crate_name, "{text}");
            assert_eq!(repo.url().as_deref(), url, "{text}");
        }
    }

    #[test]
    fn bad_repositories() {
        let rule = "is not a repository:";
        let example = "as in `github.com/me/guestbook`";
        let cases = [
            (
                "",
                format!("`` {rule} each part between slashes must be a name, {example}"),
            ),
            (
                "com//guestbook",
                format!(
                    "`com//guestbook` {rule} each part between slashes must be a name, {example}"
                ),
            ),
            (
                "../guestbook",
                format!(
                    "`../guestbook` {rule} each part between slashes must be a name, {example}"
                ),
            ),
            (
                "my guestbook",
                format!("`my guestbook` {rule} a space is not allowed, {example}"),
            ),
            (
                "file:///srv/guestbook",
                format!(
                    "`file:///srv/guestbook` {rule} `file://` is not the URL of a repository that \
                     others can read, {example}"
                ),
            ),
            (
                "https:///guestbook",
                format!("`https:///guestbook` {rule} it has no host, {example}"),
            ),
            (
                "git\u{202e}@github.com:me/guestbook",
                format!("`git\u{202e}@github.com:me/guestbook` {rule} `\\u{{202e}}` is not allowed, {example}"),
            ),
            (
                "ssh://git@github.com:\u{1b}22/me/guestbook",
                format!("`ssh://git@github.com:\u{1b}22/me/guestbook` {rule} `\\u{{1b}}` is not allowed, {example}"),
            ),
            (
                "https://me:secret@github.com/me/guestbook",
                format!(
                    "`https://me:secret@github.com/me/guestbook` {rule} it contains credentials, \
                     which must not be in a file, {example}"
                ),
            ),
            (
                "github.com/me/type",
                "`github.com/me/type` ends in `type`, which cannot be the name of the crate: it is \
                 a keyword of Rust"
                    .to_owned(),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(error::<Repo>(text), expected);
        }
    }

    #[test]
    fn a_workspace_root_is_a_parent_folder() {
        for good in ["..", "../.."] {
            let root: WorkspaceRoot = good.parse().unwrap();
            assert_eq!(root.to_string(), good);
            assert_eq!(root, WorkspaceRoot::above(good.split('/').count()).unwrap());
        }
        for bad in ["", ".", "../", "/work", "../a"] {
            assert!(bad.parse::<WorkspaceRoot>().is_err(), "{bad}");
        }
        assert!(WorkspaceRoot::above(0).is_err());
    }
}
