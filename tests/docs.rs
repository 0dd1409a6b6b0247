//! Tests that the documents are correct: transcripts, commands and flags, files, fields, names, links. The tests in
//! `from_go` check the rest of docs/from-go.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    process::Command,
    sync::LazyLock,
};

use glob::glob;
use rscaffold::{names::Kind, project::Feature, render::CONVENTIONS};
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    cli::play,
    document::{code, first_code, read, section, tables, without_indentation},
    golden_projects,
    help::{commands, flags, help},
    parallel::sample,
    project::shell,
    scaffold::{program, refused, root, rscaffold, run},
    wildcards::without_times,
};

const DOCUMENTS: [&str; 26] = [
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "crates/kube-manager/UPSTREAM.md",
    "docs/ARCHITECTURE.md",
    "docs/cleanup.md",
    "docs/coming-from-kubebuilder.md",
    "docs/commands.md",
    "docs/crds.md",
    "docs/deployment.md",
    "docs/faults.md",
    "docs/from-go.md",
    "docs/layout.md",
    "docs/loop.md",
    "docs/performance.md",
    "docs/practices.md",
    "docs/reconciler.md",
    "docs/reliability.md",
    "docs/runtime.md",
    "docs/troubleshooting.md",
    "docs/types.md",
    "docs/versions.md",
    "docs/watching.md",
    "docs/webhooks.md",
    "tests/cluster/README.md",
    "tests/invariants.md",
];

const TUTORIALS: &str = "docs/tutorials";

/// Returns the paths of all documents. Other tests follow the tutorials.
fn documents() -> impl Iterator<Item = String> {
    let tutorials = files(&root().join(TUTORIALS)).into_iter();
    let tutorials = tutorials.map(|name| format!("{TUTORIALS}/{name}"));
    DOCUMENTS.map(str::to_owned).into_iter().chain(tutorials)
}

/// The website has the pages of docs/SUMMARY.md. The tests read the pages of `documents`.
#[test]
fn every_page_is_listed() {
    let summary = read("docs/SUMMARY.md");
    let links = summary.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split(')').next());
    let listed: BTreeSet<_> = links
        .map(|link| match link.strip_prefix("../") {
            Some(path) => path.to_owned(),
            None => format!("docs/{link}"),
        })
        .collect();
    assert_eq!(listed, documents().collect());
    for page in files(&root().join("docs")) {
        let path = format!("docs/{page}");
        let is_page = Path::new(&page).extension().is_some_and(|end| end == "md");
        let is_page = is_page && page != "SUMMARY.md";
        assert!(!is_page || listed.contains(&path), "{path}");
    }
}

/// The most words of all pages in `docs`. With more words, readers search longer. The bound has room for the change that
/// CONTRIBUTING.md describes.
const MOST_WORDS: usize = 61_500;

#[test]
fn the_pages_stay_short() {
    let mut words = 0;
    for page in files(&root().join("docs")) {
        if has_end(&page, "md") {
            let text = read(&format!("docs/{page}"));
            words += text.split_whitespace().count();
        }
    }
    assert!(
        words <= MOST_WORDS,
        "`docs` has {words} words, more than {MOST_WORDS}: say each thing once, and link to it"
    );
}

/// Returns the first cell of each row, without its backticks.
fn first_cells(table: &[Vec<&str>]) -> BTreeSet<String> {
    let cells = table.iter().map(|row| first_code(row[0]).to_owned());
    cells.collect()
}

/// Returns the paths of all files below `folder`, relative to `folder`.
fn files(folder: &Path) -> BTreeSet<String> {
    WalkDir::new(folder)
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.is_file())
        .map(|path| path.strip_prefix(folder).unwrap().display().to_string())
        .collect()
}

/// Returns the transcripts of a document that need no cluster, with their fences.
fn transcripts(text: &str) -> Vec<&str> {
    const END: &str = "\n```\n";
    let starts = text.match_indices("```console\n").map(|(start, _)| start);
    let blocks = starts.map(|start| {
        let length = text[start..].find(END).expect("an end of the block") + END.len();
        &text[start..start + length]
    });
    blocks
        .filter(|block| !block.contains("$ kubectl"))
        .collect()
}

/// Runs the transcripts of each document, one after the other in one folder. The format is the same as in `tests/cli`.
/// `SNAPSHOTS=overwrite` writes the actual output into the documents.
#[test]
fn transcripts_of_the_documents() {
    for document in DOCUMENTS {
        let text = read(document);
        let shown = without_times(&transcripts(&text).concat());
        let played = play(&shown);
        if played == shown {
            continue;
        }
        if env::var_os("SNAPSHOTS").is_some_and(|action| action == "overwrite") {
            let seen = played.replace("([..] ms)", "(9 ms)");
            let pairs = transcripts(&text).into_iter().zip(transcripts(&seen));
            let text = pairs.fold(text.clone(), |text, (old, new)| text.replacen(old, new, 1));
            fs::write(root().join(document), text).unwrap();
            continue;
        }
        let difference = diffy::create_patch(&shown, &played);
        panic!("`make golden` writes the transcripts of {document} anew:\n{difference}");
    }
}

/// A test of operators compiles and runs the controller, and the types are those of each new kind.
#[test]
fn the_code_in_the_readme_is_that_of_a_tested_operator() {
    let controller = read("tests/operators/reconciler/database.rs");
    let types = read("tests/golden/guestbook/src/api/webapp/v1/guestbook.rs");
    let types = types.replace("Guestbook", "Database");
    let sources = [types, controller].map(|text| without_indentation(&text));
    let readme = read("README.md");
    let blocks: Vec<_> = readme.split("```rust\n").skip(1).collect();
    assert_eq!(blocks.len(), sources.len(), "the types and the reconciler");
    for (block, source) in blocks.iter().zip(sources) {
        let block = block.split("```").next().unwrap_or_default();
        assert!(
            source.contains(&without_indentation(block)),
            "no operator has this code:\n{block}"
        );
    }
    assert!(blocks[1].starts_with("async fn reconcile("));
}

/// The end-to-end test checks that kubectl prints these columns.
#[test]
fn what_kubectl_prints_is_that_of_the_golden_project() {
    let yaml = |path: &str| -> serde_json::Value {
        serde_yaml::from_str(&read(&format!("tests/golden/guestbook/config/{path}"))).unwrap()
    };
    let crd = yaml("crd/bases/webapp.com_guestbooks.yaml");
    let sample = yaml("samples/webapp_v1_guestbook.yaml");
    let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array();
    let columns = columns.unwrap().iter().map(|column| &column["name"]);
    let columns = columns.map(|name| name.as_str().unwrap().to_uppercase());
    let header: Vec<_> = ["NAME".to_owned()].into_iter().chain(columns).collect();

    let readme = read("README.md");
    let (_, shown) = readme.split_once("$ kubectl get guestbooks\n").unwrap();
    let mut shown = shown.lines();
    let shown_header: Vec<_> = shown.next().unwrap().split_whitespace().collect();
    assert_eq!(shown_header, header);
    let shown_row = shown.next().unwrap();
    for cell in [&sample["metadata"]["name"], &sample["spec"]["title"]] {
        let cell = cell.as_str().unwrap();
        assert!(shown_row.contains(cell), "{shown_row}: {cell}");
    }
}

/// Returns the flags that a section names beside its table, because another table of the page describes them: those of
/// the paragraph that begins with `It has` or `It also has`. A flag is given without its value.
fn flags_of_other_tables(section: &str) -> BTreeSet<&str> {
    let paragraphs = section.split("\n\n").map(str::trim_start);
    let mut paragraphs =
        paragraphs.filter(|text| text.starts_with("It has ") || text.starts_with("It also has "));
    let sentence = paragraphs.next().and_then(|text| text.split('.').next());
    let named = code(sentence.unwrap_or_default());
    named.filter(|code| code.starts_with("--")).collect()
}

/// Returns the rows of the tables of flags in the section below `heading`.
fn rows_of_flags<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let rows = tables(section(page, heading)).concat().into_iter();
    rows.filter(|row| row.len() == 4).collect()
}

/// Returns the flag of a row, without its value.
fn name_of_flag<'a>(row: &[&'a str]) -> &'a str {
    first_code(row[0]).split(' ').next().unwrap_or_default()
}

/// Each flag of a command is in the table of the command, or its section names the flag, which is in the table of common
/// flags or of another command. A default is the one that the command prints.
#[test]
fn commands_flags_and_defaults() {
    let document = read("docs/commands.md");
    let printed = commands("");
    let headings = document
        .lines()
        .filter_map(|line| line.strip_prefix("## `rscaffold ")?.strip_suffix('`'));
    let documented: BTreeSet<_> = headings.map(str::to_owned).collect();
    assert_eq!(documented, printed.iter().cloned().collect());

    let common = rows_of_flags(&document, "## Common flags");
    for command in printed {
        let heading = format!("## `rscaffold {command}`");
        let printed = flags(&help(&command));
        let own = rows_of_flags(&document, &heading);
        let section = section(&document, &heading);
        let elsewhere = flags_of_other_tables(section);
        let (_, linked) = section.split_once("` of\n[`").unwrap_or_default();
        let linked = linked.split('`').next().unwrap_or_default();
        let others = match linked {
            "init" | "create api" => rows_of_flags(&document, &format!("## `rscaffold {linked}`")),
            _ => Vec::new(),
        };
        let others = common.iter().chain(&others);
        let others: Vec<_> = others
            .filter(|row| elsewhere.contains(name_of_flag(row)))
            .collect();
        let names: BTreeSet<_> = others.iter().map(|row| name_of_flag(row)).collect();
        assert_eq!(names, elsewhere, "{command} has flags that no table has");
        let described = own.iter().chain(others.iter().copied());
        let described = described.map(|row| first_code(row[0]).to_owned());
        let described: BTreeSet<_> = described.collect();
        let flags: BTreeSet<_> = printed.keys().cloned().collect();
        assert_eq!(described, flags, "{command}");
        for row in own.iter().chain(others) {
            if let Some(default) = &printed[first_code(row[0])] {
                let [told, default] = [row[1], default].map(|text| text.replace('`', ""));
                assert_eq!(told, default, "{command} {}", row[0]);
            }
        }
    }
}

/// The files of a project with all features except `without`: after `init`, and after the other commands. Files of the
/// second version and of the kind in the CRD count as files of the first API. The feature `webhook-files` is never
/// enabled: it adds no file, and removes files of `certmanager`.
fn files_without(without: Option<Feature>) -> [BTreeSet<String>; 2] {
    let project = TempDir::new().unwrap();
    let mut init = "init --domain com --project-name guestbook --runtime vendored".to_owned();
    for feature in Feature::all() {
        let is_without = without == Some(*feature) || *feature == Feature::WebhookFiles;
        let flag = if is_without { "disable" } else { "enable" };
        init.extend([" --", flag, " ", &feature.to_string()]);
    }
    [vec![init], commands_after_init().into()].map(|commands| {
        for command in commands {
            rscaffold(project.path(), &command);
        }
        let files = files(project.path()).into_iter();
        files
            .filter(|file| !file.starts_with("crates/kube-manager/src/"))
            .map(|file| file.replace("v2", "v1").replace("lights", "webapp"))
            .map(|file| file.replace("lamp", "guestbook"))
            .collect()
    })
}

/// Commands that together write each file which `init` does not write.
fn commands_after_init() -> [String; 5] {
    let kind = "--group webapp --version v1 --kind Guestbook";
    let second = kind.replace("v1", "v2");
    let crd = root().join("tests/crds/lamps.yaml");
    let crd = crd.display();
    [
        format!("create api {kind}"),
        format!("create webhook {kind} --defaulting --programmatic-validation"),
        format!("create api {second}"),
        format!("create webhook {second} --conversion"),
        format!("create api --crd {crd} --kind Lamp --resource=false"),
    ]
}

/// docs/runtime.md lists the files of a vendored runtime: see `parts_that_the_architecture_names`.
#[test]
fn files_of_a_project() {
    let layout = read("docs/layout.md");
    let rows = tables(section(&layout, "## Files")).concat();
    let mut documented = BTreeMap::new();
    for row in rows.iter().filter(|row| row.len() == 4) {
        for path in code(row[0]) {
            let path = path
                .replace("<group>", "webapp")
                .replace("<version>", "v1")
                .replace("<kind>", "guestbook")
                .replace("<plural>", "guestbooks")
                .replace("<domain>", "com")
                .replace("<project name>", "guestbook");
            let derived = CONVENTIONS.is_derived(&path);
            assert_eq!(row[1] == "derived", derived, "{path}");
            let with: BTreeSet<_> = code(row[2]).collect();
            documented.insert(path, with);
        }
    }
    let [by_init, with_features] = files_without(None);
    let [_, mut all] = files_without(Some(Feature::Certmanager));
    // With cert-manager, a project has no files for certificates that the operator creates itself.
    all.extend(with_features.clone());
    // It comes with a project of another license.
    all.insert("crates/kube-manager/LICENSE".to_owned());
    assert_eq!(documented.keys().cloned().collect::<BTreeSet<_>>(), all);

    let commands = ["create api", "create webhook", "init --license"];
    for (file, with) in &documented {
        let is_by_init = !commands.iter().any(|command| with.contains(command));
        assert_eq!(is_by_init, by_init.contains(file), "{file}");
    }
    for feature in sample(Feature::all(), 4) {
        // Webhooks need some files of features that `init` leaves out.
        let [rest_of_init, rest] = files_without(Some(*feature));
        let other = with_features.difference(&by_init);
        let gone = other.filter(|file| !rest.contains(*file));
        let gone: BTreeSet<_> = by_init.difference(&rest_of_init).chain(gone).collect();
        let name = feature.to_string();
        for (file, with) in &documented {
            assert_eq!(
                with.contains(&*name),
                gone.contains(file),
                "{file} with `{name}`"
            );
        }
    }
}

#[test]
fn settings_of_a_webhook() {
    let layout = read("docs/layout.md");
    let rows = tables(section(&layout, "## When a webhook is called")).concat();
    let rows = rows.iter().flat_map(|row| code(row[0]));
    let documented: BTreeSet<_> = rows.map(|name| name.split(':').next().unwrap()).collect();
    let source = read("crates/kube-manager/src/runtime/webhook/hook.rs");
    let setters = source.split("    pub const fn ").skip(1);
    let setters = setters.map(|text| text.split(['(', '<']).next().unwrap());
    let setters: BTreeSet<_> = setters.filter(|name| *name != "new").collect();
    assert_eq!(documented, setters);
}

#[test]
fn features_of_a_project() {
    let layout = read("docs/layout.md");
    let rows = tables(section(&layout, "## Features")).concat();
    let documented: Vec<_> = rows
        .iter()
        .map(|row| (first_code(row[0]).to_owned(), row[1]))
        .collect();
    let usual = Feature::usual();
    let known = Feature::all().iter().map(|feature| {
        let usual = usual.contains(feature);
        (feature.to_string(), if usual { "yes" } else { "no" })
    });
    assert_eq!(documented, known.collect::<Vec<_>>());
}

/// When rscaffold reads an unknown field, the error lists the known fields.
#[test]
fn fields_of_the_project_file() {
    let layout = read("docs/layout.md");
    let documented = tables(section(&layout, "## PROJECT"));
    let additions = [
        ("guestbook", "projectName: guestbook\n", "unknown: 1\n"),
        ("guestbook", "  controller: true\n", "  unknown: 1\n"),
        ("tenant", "    name: backup\n", "    unknown: 1\n"),
        ("guestbook", "domain: com\n", "deployment: {unknown: 1}\n"),
        ("cache", "    name: busybox:1.36.1\n", "    unknown: 1\n"),
        ("warden", "    webhookVersion: v1\n", "    unknown: 1\n"),
        ("guestbook", "    crdVersion: v1\n", "    unknown: 1\n"),
    ];
    let mut fields = BTreeSet::new();
    for (table, (project, line, unknown)) in documented.iter().zip(additions) {
        let project = golden_projects::folder().join(project).join("PROJECT");
        let project = fs::read_to_string(project).unwrap();
        assert!(project.contains(line), "{line}");
        let folder = TempDir::new().unwrap();
        fs::write(
            folder.path().join("PROJECT"),
            project.replace(line, &format!("{line}{unknown}")),
        )
        .unwrap();
        let arguments = "create api --group webapp --version v1 --kind Guestbook";
        let error = refused(
            Command::new(program())
                .args(arguments.split(' '))
                .current_dir(&folder),
        );
        let (_, known) = error
            .split_once("expected")
            .unwrap_or_else(|| panic!("{error}"));
        let known: BTreeSet<_> = code(known).map(str::to_owned).collect();
        let documented: BTreeSet<_> = table.iter().flat_map(|row| code(row[0])).collect();
        assert_eq!(documented, known.iter().map(String::as_str).collect());
        fields.extend(known);
    }
    assert_eq!(documented.len(), additions.len());

    // The table of each command names the fields that the flags set.
    let commands = read("docs/commands.md");
    let rows = tables(&commands).concat();
    let rows = rows.iter().filter(|row| row.len() == 4);
    let of_flags: BTreeSet<_> = rows.flat_map(|row| code(row[3])).collect();
    for field in &of_flags {
        assert!(fields.contains(*field), "there is no field `{field}`");
    }
    for row in documented.concat() {
        let has_flag = code(row[0]).any(|field| of_flags.contains(field));
        assert!(!(has_flag && row[1].starts_with("(hand)")), "{row:?}");
    }
}

/// The options that controller-runtime exports: of the manager, of its parts, and of a controller. `Typed` variants and
/// the methods of interfaces are left out.
const OPTIONS: [(&str, &str); 14] = [
    (
        "manager.Options",
        "Scheme MapperProvider Cache NewCache Client NewClient Logger LeaderElection \
         LeaderElectionResourceLock LeaderElectionNamespace LeaderElectionID LeaderElectionConfig \
         LeaderElectionReleaseOnCancel LeaderElectionLabels LeaderElectionResourceLockInterface \
         LeaseDuration RenewDeadline RetryPeriod Metrics HealthProbeBindAddress ReadinessEndpointName \
         LivenessEndpointName PprofBindAddress WebhookServer BaseContext EventBroadcaster \
         GracefulShutdownTimeout Controller",
    ),
    (
        "manager.Manager",
        "Add Elected AddMetricsServerExtraHandler AddHealthzCheck AddReadyzCheck Start",
    ),
    ("cluster.Options", "HTTPClient"),
    (
        "metricsserver.Options",
        "SecureServing BindAddress ExtraHandlers FilterProvider CertDir CertName KeyName TLSOpts ListenConfig",
    ),
    (
        "client.Options",
        "HTTPClient Scheme Mapper DryRun FieldOwner FieldValidation",
    ),
    ("client.CacheOptions", "Reader DisableFor Unstructured"),
    (
        "cache.Options",
        "HTTPClient Scheme Mapper SyncPeriod ReaderFailOnMissingInformer DefaultNamespaces \
         DefaultLabelSelector DefaultFieldSelector DefaultTransform DefaultWatchErrorHandler \
         DefaultUnsafeDisableDeepCopy DefaultEnableWatchBookmarks NewInformer",
    ),
    (
        "cache.ByObject",
        "Namespaces Label Field Transform UnsafeDisableDeepCopy EnableWatchBookmarks SyncPeriod",
    ),
    (
        "builder",
        "ControllerManagedBy For Owns Watches WatchesMetadata WatchesRawSource WithEventFilter WithOptions \
         WithLogConstructor Named Complete Build ForOption OwnsOption WatchesOption WithPredicates \
         MatchEveryOwner OnlyMetadata WebhookManagedBy",
    ),
    (
        "controller.Options",
        "SkipNameValidation MaxConcurrentReconciles CacheSyncTimeout RecoverPanic NeedLeaderElection \
         Reconciler RateLimiter NewQueue Logger LogConstructor UsePriorityQueue EnableWarmup \
        ReconciliationTimeout",
    ),
    ("config.Controller", "GroupKindConcurrency"),
    (
        "predicate",
        "Funcs NewPredicateFuncs ResourceVersionChangedPredicate GenerationChangedPredicate \
         AnnotationChangedPredicate LabelChangedPredicate And Or Not LabelSelectorPredicate",
    ),
    (
        "handler",
        "EnqueueRequestForObject EnqueueRequestsFromMapFunc EnqueueRequestForOwner OnlyControllerOwner \
         Funcs WithLowPriorityWhenUnchanged",
    ),
    (
        "source",
        "Kind Channel WithPredicates WithBufferSize Informer Func",
    ),
];

#[test]
fn options_of_controller_runtime() {
    // Another version of controller-runtime may have other options.
    assert!(read("benches/go/go.mod").contains("sigs.k8s.io/controller-runtime v0.25."));
    let page = read("docs/from-go.md");
    let rows = tables(&page).concat();
    let told: BTreeSet<_> = rows.iter().flat_map(|row| code(row[0])).collect();
    let has = |of: &str, name: &str| {
        let full = format!("{of}.{name}");
        told.iter().any(|told| {
            let told = told.split([':', '{', ' ']).next().unwrap_or_default();
            told == name || full.ends_with(&format!(".{told}")) || full == told
        })
    };
    for (of, names) in OPTIONS {
        for name in names.split_whitespace() {
            assert!(has(of, name), "docs/from-go.md has no row for {of}.{name}");
        }
    }
}

#[test]
fn kinds_with_another_name_in_rust() {
    let layout = read("docs/layout.md");
    let rows = tables(section(&layout, "### Kinds with another name in Rust")).concat();
    let documented: BTreeSet<_> = rows.iter().flat_map(|row| code(row[0])).collect();
    // This file lists the kinds with another name. No other word in the file is such a kind.
    let source = read("src/names/kind.rs");
    let words = source.split(|c: char| !c.is_ascii_alphanumeric());
    // A kind in lower case is one of these in Rust.
    let words = words.filter(|word| word.starts_with(char::is_uppercase));
    let taken: BTreeSet<_> = words
        .filter(|word| {
            let kind = word.parse::<Kind>();
            kind.is_ok_and(|kind| kind.is_taken(true) || kind.is_taken_by_webhooks())
        })
        .collect();
    assert_eq!(documented, taken);
}

#[test]
fn parts_that_the_architecture_names() {
    let architecture = read("docs/ARCHITECTURE.md");
    let table = |heading: &str| tables(section(&architecture, heading)).concat();
    let names = |folder: &str, keep: fn(&Path) -> bool| -> BTreeSet<String> {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| keep(path))
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect()
    };

    let mut modules: BTreeSet<_> = names("src", |path| path.is_file() || path.ends_with("command"))
        .iter()
        .map(|name| name.trim_end_matches(".rs").to_owned())
        .collect();
    modules.remove("lib");
    assert_eq!(first_cells(&table("## Modules")), modules);

    let scopes = names("templates", Path::is_dir);
    let documented = first_cells(&table("## Templates"));
    let documented: BTreeSet<_> = documented
        .iter()
        .map(|name| name.trim_end_matches('/').to_owned())
        .collect();
    assert_eq!(documented, scopes);

    let library = root().join("crates/kube-manager/src");
    let schema = files(&library.join("schema")).into_iter();
    let schema = schema.map(|name| format!("schema/{name}"));
    let manager = files(&library.join("runtime")).into_iter().chain(schema);
    let documented = first_cells(&tables(&read("docs/runtime.md")).concat());
    assert_eq!(documented, manager.collect::<BTreeSet<_>>());
}

#[test]
fn items_that_an_author_calls() {
    let page = read("docs/reconciler.md");
    let table = section(&page, "## What you call");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    let items = rows
        .skip(1)
        .flat_map(|row| code(row.split('|').nth(1).unwrap_or_default()));
    let items: Vec<_> = items.collect();
    assert!(items.len() > 15, "{items:?}");
    let exports = read("crates/kube-manager/src/runtime/mod.rs");
    let exports = exports.split(|c: char| !c.is_alphanumeric());
    let exports: BTreeSet<_> = exports.collect();
    for item in items {
        let first = item.split("::").next().unwrap_or_default();
        assert!(exports.contains(first), "`{first}` is not exported");
        assert!(REPOSITORY.has_item(item), "`{item}` does not exist");
    }
}

/// What a page can name.
struct Repository {
    /// The text of each Rust file, except those of golden projects.
    rust: BTreeMap<String, String>,
    /// The items of these files: a keyword and a name, such as `fn` and `main`.
    items: BTreeSet<(String, String)>,
    /// The functions of these files with their modules, such as `src::main::run`.
    functions: Vec<String>,
    /// The words of all files, except golden projects and pages.
    words: BTreeSet<String>,
    make_targets: BTreeSet<String>,
}

static REPOSITORY: LazyLock<Repository> = LazyLock::new(Repository::new);

/// The keywords before the names of items.
const KEYWORDS: [&str; 8] = [
    "const", "enum", "fn", "mod", "static", "struct", "trait", "type",
];

impl Repository {
    fn new() -> Self {
        let (mut rust, mut words) = (BTreeMap::new(), BTreeSet::new());
        let (mut items, mut functions) = (BTreeSet::new(), Vec::new());
        for top in [
            ".github",
            "Cargo.toml",
            "Makefile",
            "benches",
            "crates",
            "release",
            "src",
            "templates",
            "tests",
        ] {
            for path in files(&root().join(top)) {
                let path = if path.is_empty() {
                    top.to_owned()
                } else {
                    format!("{top}/{path}")
                };
                if path.starts_with("tests/golden/") || has_end(&path, "md") {
                    continue;
                }
                let Ok(text) = fs::read_to_string(root().join(&path)) else {
                    continue;
                };
                let module = path.trim_end_matches(".rs").replace('/', "::");
                let is_rust = has_end(&path, "rs");
                let mut before = "";
                for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
                    if !words.contains(word) {
                        words.insert(word.to_owned());
                    }
                    if is_rust && KEYWORDS.contains(&before) {
                        items.insert((before.to_owned(), word.to_owned()));
                        if before == "fn" {
                            functions.push(format!("{module}::{word}"));
                        }
                    }
                    before = word;
                }
                if is_rust {
                    rust.insert(path, text);
                }
            }
        }
        let makefiles = ["Makefile", "tests/golden/fleet/Makefile"]
            .map(read)
            .concat();
        let targets = makefiles
            .lines()
            .filter_map(|line| line.strip_prefix(".PHONY: "));
        Self {
            rust,
            items,
            functions,
            words,
            make_targets: targets.map(str::to_owned).collect(),
        }
    }

    /// Whether a file or folder has this path. `<name>` in a path stands for any name.
    fn has_path(&self, path: &str, page: &str) -> bool {
        let parts = path.split('/').map(|part| match part.split_once('>') {
            Some((_, end)) => format!("*{end}"),
            None => part.to_owned(),
        });
        let pattern = parts.collect::<Vec<_>>().join("/");
        let own = Path::new(page).parent().unwrap();
        let own = own.to_str().unwrap();
        let is_here = FOLDERS.iter().chain([&own]).any(|folder| {
            let pattern = root().join(folder).join(&pattern);
            glob(pattern.to_str().unwrap()).unwrap().next().is_some()
        });
        // The code of rscaffold has the names of files that only a project has.
        let quoted = format!("\"{path}\"");
        let is_of_a_project = || {
            let mut code = self.rust.iter();
            code.any(|(file, text)| file.starts_with("src/") && text.contains(&quoted))
        };
        is_here || is_of_a_project()
    }

    /// Whether the code defines `name`, which is an item or `Type::function`.
    fn has_item(&self, name: &str) -> bool {
        let (parent, item) = name.rsplit_once("::").unwrap_or(("", name));
        let parent = parent.rsplit("::").next().unwrap();
        if parent.starts_with(char::is_uppercase) {
            let mut texts = self.rust.values();
            return texts.any(|text| has_method(text, parent, item));
        }
        KEYWORDS.iter().any(|keyword| self.defines(keyword, item))
    }

    fn has_function(&self, name: &str) -> bool {
        self.defines("fn", name)
    }

    fn defines(&self, keyword: &str, name: &str) -> bool {
        let item = (keyword.to_owned(), name.to_owned());
        self.items.contains(&item)
    }

    /// Whether `cargo test` finds a test by `filter`, which is a part of the path of the test.
    fn has_test(&self, filter: &str) -> bool {
        let mut functions = self.functions.iter();
        functions.any(|function| function.contains(filter))
    }

    /// Returns what `code`, a text between backticks of `page`, names and this repository does not have.
    fn lacks<'a>(&self, code: &'a str, page: &str) -> Vec<&'a str> {
        if let Some((_, arguments)) = code.split_once("cargo test") {
            let filters = filters_of_tests(arguments).into_iter();
            return filters.filter(|filter| !self.has_test(filter)).collect();
        }
        if let Some(filter) = code.strip_prefix("make test-one TEST=") {
            let is_known = filter == PLACEHOLDER || self.has_test(filter);
            return if is_known { Vec::new() } else { vec![filter] };
        }
        if let Some(command) = code.strip_prefix("make ") {
            let lacks = targets_of(command).find(|target| !self.make_targets.contains(*target));
            if let Some(target) = lacks {
                return vec![target];
            }
        }
        let words = code.split(|c: char| c.is_whitespace() || "'\"()[],;=".contains(c));
        // `target/` has what the tests build, and an absolute path is one in a cluster or of an operator.
        let is_elsewhere = |word: &&str| {
            ["-", "/", "target/"]
                .iter()
                .any(|start| word.starts_with(start))
        };
        words
            .filter(|word| !is_elsewhere(word) && !self.has(word, page))
            .collect()
    }

    /// Whether this repository has what `word` names: a path, an item, a module of tests, or any other name.
    fn has(&self, word: &str, page: &str) -> bool {
        let ends = ["jsonl", "md", "rs", "sh", "tera", "toml", "yaml", "yml"];
        let is_file = !word.starts_with('.') && ends.iter().any(|end| has_end(word, end));
        if is_file || word.contains('/') {
            return self.has_path(word, page);
        }
        if word.ends_with("::") {
            return self.has_test(word);
        }
        if word.contains("::") {
            return self.has_item(word);
        }
        let mut parts = word.split(|c: char| !c.is_alphanumeric() && c != '_');
        parts.all(|part| {
            let is_name = part.len() > 2 && part.starts_with(|c: char| c.is_alphabetic());
            !is_name || self.words.contains(part)
        })
    }
}

fn has_end(path: &str, end: &str) -> bool {
    Path::new(path).extension().is_some_and(|own| own == end)
}

/// Whether `text` has an `impl` of `type_` with this function. rustfmt aligns the end of a block with its start.
fn has_method(text: &str, type_: &str, function: &str) -> bool {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.next() != Some("impl") || !words.any(|word| word == type_) {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let start = format!("fn {function}");
        let mut body = lines.by_ref().take_while(|line| *line != end);
        let is_defined = body.any(|line| {
            let rest = line.split_once(&start).map(|(_, rest)| rest);
            rest.is_some_and(|rest| rest.starts_with(['(', '<']))
        });
        if is_defined {
            return true;
        }
    }
    false
}

/// The name of a test in a command that is an example.
const PLACEHOLDER: &str = "NAME";

/// Returns the parts of the names of tests in the `arguments` of `cargo test`.
fn filters_of_tests(arguments: &str) -> Vec<&str> {
    let mut filters = Vec::new();
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        if word == "--package" || word == "--test" {
            words.next();
        } else if !word.starts_with('-') && word != PLACEHOLDER {
            filters.push(word);
        }
    }
    filters
}

/// Returns the targets of a `make` command without `make`.
fn targets_of(command: &str) -> impl Iterator<Item = &str> {
    let is_target = |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    command.split_whitespace().take_while(is_target)
}

/// The pages for contributors.
const FOR_CONTRIBUTORS: [&str; 4] = [
    "CONTRIBUTING.md",
    "docs/ARCHITECTURE.md",
    "tests/invariants.md",
    "tests/mutants.md",
];

/// The folders in which the paths of these pages begin, apart from the folder of the page.
const FOLDERS: [&str; 6] = [
    "",
    "src",
    "src/command",
    "templates",
    "tests/golden/guestbook",
    "tests/operators",
];

/// Returns each name in `text`, the text of `page`, that this repository lacks, with its line. Other tests follow the
/// code blocks.
fn outdated(page: &str, text: &str, repository: &Repository) -> Vec<String> {
    let mut outdated = Vec::new();
    let mut is_block = false;
    for (number, line) in (1..).zip(text.lines()) {
        is_block ^= line.starts_with("```");
        if is_block {
            continue;
        }
        let mut lacks: Vec<_> = code(line)
            .flat_map(|code| repository.lacks(code, page))
            .collect();
        let row = line.strip_prefix("| `");
        // The names of tests follow an invariant, or the first cell begins with a function.
        let functions: Vec<_> = match page {
            "tests/invariants.md" if line.starts_with("- ") => {
                let tests = line.rsplit_once(". ").map_or(line, |(_, tests)| tests);
                code(tests).collect()
            }
            "tests/mutants.md" if row.is_some() => vec![first_code(line)],
            _ => Vec::new(),
        };
        for name in functions {
            let is_known = name.contains("::") || repository.has_function(name);
            if !is_known && !lacks.contains(&name) {
                lacks.push(name);
            }
        }
        outdated.extend(
            lacks
                .iter()
                .map(|name| format!("{page}:{number}: `{name}`")),
        );
    }
    outdated
}

#[test]
fn everything_that_the_pages_for_contributors_name_exists() {
    let repository = &REPOSITORY;
    let pages = FOR_CONTRIBUTORS.iter();
    let outdated: Vec<_> = pages
        .flat_map(|page| outdated(page, &read(page), repository))
        .collect();
    assert!(
        outdated.is_empty(),
        "this does not exist:\n{}",
        outdated.join("\n")
    );
}

#[test]
fn a_name_that_is_gone_is_reported_with_its_line() {
    let repository = &REPOSITORY;
    // The name must not be a word of this file.
    let variable = ["NO_SUCH", "VARIABLE"].join("_");
    let text = format!(
        "\
`Project::parse` in `src/project/text.rs`, found by `cargo test --lib the_order_of_resources`
`Project::parse_all` in `src/project/all.rs` and `src/project/<name>.rs`, `names::Gone`
```sh
`gone.rs` in a block
```
`cargo test --package rscaffold no_such_test`, `make test-one TEST=no_test`, `leader:: gone::`
`make check golden`, `make check gone`, `{variable}=1`, `-f 'src/gone*'`
"
    );
    let variable = format!("CONTRIBUTING.md:7: `{variable}`");
    assert_eq!(
        outdated("CONTRIBUTING.md", &text, repository),
        [
            "CONTRIBUTING.md:2: `Project::parse_all`",
            "CONTRIBUTING.md:2: `src/project/all.rs`",
            "CONTRIBUTING.md:2: `names::Gone`",
            "CONTRIBUTING.md:6: `no_such_test`",
            "CONTRIBUTING.md:6: `no_test`",
            "CONTRIBUTING.md:6: `gone::`",
            "CONTRIBUTING.md:7: `gone`",
            &variable,
            "CONTRIBUTING.md:7: `src/gone*`",
        ]
    );
    let text = "- It holds. `second_run_changes_nothing`, `first_run_changes_nothing`\n";
    assert_eq!(
        outdated("tests/invariants.md", text, repository),
        ["tests/invariants.md:1: `first_run_changes_nothing`"]
    );
    let text = "| `settle`, replaced | |\n| `outlive`, replaced | |\n";
    assert_eq!(
        outdated("tests/mutants.md", text, repository),
        ["tests/mutants.md:2: `outlive`"]
    );
}

#[test]
fn each_threat_has_a_test() {
    let policy = read("SECURITY.md");
    for part in ["rscaffold", "an operator"] {
        let part = section(&policy, &format!("## Threat model of {part}"));
        // The first row has the names of the columns.
        let rows: Vec<_> = part
            .lines()
            .filter(|line| line.starts_with("| "))
            .skip(1)
            .collect();
        assert!(rows.len() > 5, "{part}");
        for row in rows {
            let tests: Vec<_> = row.rsplit('|').nth(1).into_iter().flat_map(code).collect();
            assert!(!tests.is_empty(), "{row}");
            for test in tests {
                assert!(REPOSITORY.has_function(test), "{test}");
            }
        }
    }
}

#[test]
fn make_targets() {
    let targets = &REPOSITORY.make_targets;
    for document in documents() {
        let text = read(&document);
        let shown = text.lines().filter_map(|line| line.strip_prefix("$ make "));
        let named = code(&text).filter_map(|code| code.strip_prefix("make "));
        for target in shown.chain(named).flat_map(targets_of) {
            assert!(targets.contains(target), "{document}: make {target}");
        }
    }
}

/// Checks that the flags, metrics and messages that the guides quote exist in the operator or in rscaffold.
#[test]
fn what_the_guides_quote() {
    let described = ["docs/commands.md", "docs/layout.md"].map(read).concat();
    let folders = ["src", "crates/kube-manager/src"].map(|folder| root().join(folder));
    let sources = folders.iter().flat_map(WalkDir::new);
    let sources = sources.map(|entry| entry.unwrap().into_path());
    let sources: String = sources
        .filter(|path| path.is_file())
        .map(|path| fs::read_to_string(path).unwrap().replace("\\\n", ""))
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let is_metric = |code: &str| {
        ["_seconds", "_total", "_depth", "_bytes"]
            .iter()
            .any(|end| code.ends_with(end))
    };
    for (document, has_flags) in [
        ("docs/deployment.md", false),
        ("docs/practices.md", true),
        ("docs/troubleshooting.md", true),
        ("docs/versions.md", false),
        ("docs/watching.md", false),
        ("docs/webhooks.md", true),
    ] {
        let text = read(document);
        for code in code(&text).flat_map(str::split_whitespace) {
            if has_flags && code.starts_with("--") || is_metric(code) {
                let name = code.split('=').next().unwrap_or_default();
                assert!(described.contains(name), "{document}: {code}");
            }
        }
    }
    // Quotes that start with these words are messages of the API server or of Helm, or are not messages.
    let of_others = [
        "invalid ownership",
        "no endpoints",
        "x509",
        "context deadline",
        "unable to return a response",
        "guestbook",
        "make",
        "/readyz",
    ];
    let text = read("docs/troubleshooting.md");
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let seen = line.split(" | ").next().unwrap();
        for message in code(seen).filter(|it| !of_others.iter().any(|other| it.starts_with(other)))
        {
            count += 1;
            let message = message.trim_end_matches(" ...");
            assert!(sources.contains(message), "{message}");
        }
    }
    assert!(count > 4);
}

/// Checks that the commands in docs/coming-from-kubebuilder.md create the project that the kubebuilder `PROJECT` on
/// that page describes.
#[test]
fn the_moved_project_matches_the_kubebuilder_project() {
    let page = read("docs/coming-from-kubebuilder.md");
    let (_, shown) = page.split_once("```yaml\n").expect("a PROJECT");
    let yaml = |text: &str| -> serde_json::Value { serde_yaml::from_str(text).unwrap() };
    let theirs = yaml(shown.split("```").next().unwrap());
    let top = TempDir::new().unwrap();
    // The name of the folder becomes the name of the project.
    let folder = top.path().join("guestbook");
    fs::create_dir(&folder).unwrap();
    for command in page.lines().filter(|line| line.starts_with("$ rscaffold ")) {
        let command = command.trim_start_matches("$ ");
        run(&mut shell(&folder, command));
    }
    let ours = yaml(&fs::read_to_string(folder.join("PROJECT")).unwrap());

    for field in ["domain", "multigroup", "repo"] {
        assert_eq!(ours[field], theirs[field], "{field}");
    }
    let resources = |project: &serde_json::Value| {
        let resources = project["resources"].as_array().unwrap().iter();
        let resources = resources.map(|it| {
            let fields = ["group", "version", "kind", "core", "controller", "webhooks"];
            let fields = fields.map(|field| it[field].to_string());
            (fields, it["api"]["namespaced"].to_string())
        });
        resources.collect::<BTreeSet<_>>()
    };
    assert_eq!(resources(&ours), resources(&theirs));
}

/// Returns the anchor that GitHub generates for a heading.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut count = 0;
    for document in documents() {
        let text = read(&document);
        let folder = Path::new(&document).parent().unwrap();
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            count += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => root().join(&document),
                path => root().join(folder).join(path),
            };
            assert!(target.exists(), "{document}: {link}");
            if !heading.is_empty() {
                let text = fs::read_to_string(target).unwrap();
                let mut headings = text
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .map(anchor);
                assert!(headings.any(|there| there == heading), "{document}: {link}");
            }
        }
    }
    assert!(count > 0);
}
