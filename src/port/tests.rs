use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use proptest::{collection::vec, prelude::*, sample::Index};

use super::*;
use crate::{
    crd::tests::is_formatted,
    project::{Controller, Resource, yaml},
    reconcile::Texts,
    render::render,
    visible::is_hidden,
    worktree::{Snapshot, snapshot},
};

fn go_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go")
}

/// The Go project of the tests.
fn go_project() -> Snapshot {
    snapshot(&go_folder(), &WITHOUT, is_wanted).unwrap()
}

/// Reads the Go project of the tests with changes. `None` removes a file.
fn read(changes: &[(&str, Option<&str>)]) -> Result<Port> {
    let mut files = go_project();
    for (path, text) in changes {
        match text {
            Some(text) => {
                let text = (*text).to_owned().into();
                files.texts.insert((*path).to_owned(), text);
            }
            None => _ = files.texts.remove(*path),
        }
    }
    Port::read(files, "../go")
}

/// A file of the Go project, with the only occurrence of `text` replaced by `by`.
fn with(path: &str, text: &str, by: &str) -> String {
    let file = fs::read_to_string(go_folder().join(path)).unwrap();
    assert_eq!(file.matches(text).count(), 1, "{text}");
    file.replace(text, by)
}

fn texts(port: &Port) -> Texts {
    port.texts(&port.project).unwrap().0
}

/// The section of PORTING.md about what could not be taken over.
fn lost(port: &Port) -> String {
    let report = texts(port).remove(REPORT).unwrap();
    let (_, lost) = report
        .split_once("## What could not be taken over\n")
        .unwrap_or_default();
    lost.split("\n## ").next().unwrap_or_default().to_owned()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn resource<'a>(port: &'a Port, kind: &str) -> &'a Resource {
    let mut resources = port.project.resources.iter();
    let is_it = |it: &&Resource| it.kind.as_str() == kind && (!it.has_api() || it.is_stored());
    resources.find(is_it).unwrap()
}

#[test]
fn the_project_has_the_settings_of_the_go_project() {
    let port = read(&[]).unwrap();
    let project = &port.project;

    assert_eq!(project.domain.as_str(), "example.com");
    assert_eq!(project.project_name.as_str(), "library");
    assert_eq!(project.repo.as_str(), "example.com/me/library");
    assert_eq!(project.license, License::Mit);
    assert_eq!(project.lease_name(), "library-lock.example.com");
    let mut features = Feature::usual();
    features.extend([Feature::Helm, Feature::Prometheus]);
    assert_eq!(project.features, features);

    let book = resource(&port, "Book");
    assert!(book.namespaced && book.is_stored() && book.has_given_types());
    assert_eq!(book.short_names[0].as_str(), "bk");
    let controller = Controller {
        finalizer: true,
        watches: vec!["v1/Secret".parse().unwrap()],
        ..Controller::new("book".parse().unwrap())
    };
    assert_eq!(book.controllers, [controller]);
    assert_eq!(book.webhooks.defaulting.as_ref().unwrap().path, None);
    let path = book.webhooks.validation.as_ref().unwrap().path.as_ref();
    assert_eq!(path.unwrap().as_str(), "/check/books");

    let room = resource(&port, "Room");
    assert!(!room.namespaced && room.controllers.is_empty() && room.webhooks.is_empty());
    assert_eq!(room.spokes().into_iter().flatten().count(), 1);
    assert!(resource(&port, "Namespace").is_builtin());
    let certificate = resource(&port, "Certificate");
    assert!(certificate.external().is_some() && certificate.has_given_types());
    assert_eq!(project.full_group(certificate), "cert-manager.io");
    assert_eq!(certificate.controllers.len(), 1);
    assert_eq!(project.resources.len(), 5);
}

/// A CRD of `Certificate`, for which the Go project has a controller.
const CERTIFICATES: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: certificates.cert-manager.io
spec:
  group: cert-manager.io
  names: {kind: Certificate, plural: certificates, singular: certificate}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              secretName: {type: string}
";

#[test]
fn an_external_kind_has_types_if_the_go_project_has_its_crd() {
    const TYPES: &str = "src/external/cert_manager/v1/certificate.rs";
    for file in [
        "config/crd/bases/certificates.yaml",
        "config/crd/external/certificates.yaml",
        "test/crds/certificates.yaml",
    ] {
        assert!(is_wanted(file), "{file}");
        let port = read(&[(file, Some(CERTIFICATES))]).unwrap();
        assert!(
            resource(&port, "Certificate").external().is_some(),
            "{file}"
        );
        let text = &texts(&port)[TYPES];
        assert!(text.contains("pub secret_name: Option<String>"), "{text}");
        assert!(!lost(&port).contains("Certificate"), "{}", lost(&port));
    }
    assert!(!texts(&read(&[]).unwrap()).contains_key(TYPES));
}

#[test]
fn a_conversion_webhook_is_taken_over_with_generated_code() {
    let port = read(&[]).unwrap();
    let texts = texts(&port);
    let rendered = render(&port.project).unwrap();
    let [conversion] = rendered.conversions.as_slice() else {
        panic!("{:?}", rendered.conversions);
    };
    assert_eq!(conversion.path, "src/api/shelf/v1beta1/room_conversion.rs");
    let (text, has_status) = conversion.text(|types| texts.get(types).cloned());
    assert!(!has_status);
    is_formatted(&text);
    for expected in [
        // A field of both versions that only one version requires.
        "            opens: Some(opens.into()),\n",
        "                None => spoke::RoomOpens {\n                    at: String::new(),\n",
        // A list of types, a field of only one version, and a value.
        "            tables: list(tables),\n            // Without a value in the spoke.\n            seats: None,\n",
        "            hub::RoomDay::Sunday => Self::Weekday,\n",
        "            round: false,\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    let crd = &texts["config/crd/bases/shelf.example.com_rooms.yaml"];
    assert!(crd.contains("strategy: Webhook"), "{crd}");
    let report = &texts[REPORT];
    assert!(
        report.contains("`api/v1beta1/room_conversion.go`: conversions: `src/api/shelf/v1beta1/room_conversion.rs`"),
        "{report}"
    );
    assert!(report.contains("hub of `v1beta1`"), "{report}");
}

#[test]
fn the_hub_is_found_without_a_list_of_spokes() {
    let project = with("PROJECT", "    spoke:\n    - v1beta1\n", "");
    let port = read(&[("PROJECT", Some(&project))]).unwrap();
    let mut hubs = port.project.hubs();
    assert_eq!(hubs.next().unwrap().version.as_str(), "v1");
    // Without PROJECT, the CRD says that a webhook converts.
    let crd = with(
        "config/crd/bases/shelf.example.com_rooms.yaml",
        "  scope: Cluster\n",
        "  scope: Cluster\n  conversion: {strategy: Webhook}\n",
    );
    let port = read(&[
        ("PROJECT", None),
        ("config/crd/bases/shelf.example.com_rooms.yaml", Some(&crd)),
    ]);
    assert_eq!(port.unwrap().project.hubs().count(), 1);
}

#[test]
fn the_report_lists_what_could_not_be_taken_over() {
    let lost = lost(&read(&[]).unwrap());
    for expected in [
        "`kubectl get crd certificates.cert-manager.io -o yaml > crd.yaml`, and run `rscaffold create api --crd \
         crd.yaml --version v1 --resource=false`",
        "the verb `approve`, which `Verb` does not have",
        "the verb `*` became create, delete,",
        "the sample `config/samples/shelf_v1_room.yaml`",
    ] {
        assert!(lost.contains(expected), "{expected}: {lost}");
    }
}

#[test]
fn a_controller_has_the_permissions_and_names_of_the_go_controller() {
    let texts = texts(&read(&[]).unwrap());
    let text = &texts["src/controller/shelf/book.rs"];
    for expected in [
        "    const FINALIZER_NAME: Option<&'static str> = Some(\"shelf.example.com/return\");\n",
        "    const FIELD_MANAGER: &'static str = \"library-books\";\n",
        "        Rule::sub::<Book>(\"finalizers\", &[Verb::Update]),\n",
        "        Rule::url(\"/healthz\", &[Verb::Get]),\n",
        ".in_namespace(\"archive\")",
        "\"library-card\",",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // The render has the permissions for the controller's own watch already.
    let own = text.split("Rule::of::<Book>").nth(1).unwrap_or_default();
    assert!(
        !own.split(']').next().unwrap().contains("Verb::Watch"),
        "{own}"
    );
    // The controller of a kind has the permissions for that kind.
    let certificate = &texts["src/controller/cert_manager/certificate.rs"];
    assert!(
        certificate.contains("Rule::of::<Certificate>(&[Verb::Get])"),
        "{certificate}"
    );
    let other = &texts["src/controller/core/namespace.rs"];
    assert!(
        other.contains("Rule::of::<Namespace>(&[Verb::Create, Verb::Patch])"),
        "{other}"
    );
    assert!(!other.contains("Secret"), "{other}");
}

#[test]
fn the_deployment_has_the_labels_and_namespace_of_the_go_deployment() {
    let texts = texts(&read(&[]).unwrap());
    let manager = &texts["config/manager/manager.yaml"];
    assert_eq!(manager.matches("team: readers").count(), 2, "{manager}");
    let (_, selector) = manager.split_once("matchLabels:\n").unwrap();
    let expected = "      control-plane: controller-manager\n  template:";
    assert!(selector.starts_with(expected), "{manager}");
}

#[test]
fn the_namespace_of_the_go_project_is_a_setting_of_the_project() {
    let port = read(&[]).unwrap();
    assert_eq!(port.project.namespace_name(), "books");
    for (namespace, taken) in [
        ("3scale", "3scale"),
        ("library-system", "library-system"),
        ("Bad_Name", "library-system"),
    ] {
        let default = format!("namespace: {namespace}");
        let default = with(
            "config/default/kustomization.yaml",
            "namespace: books",
            &default,
        );
        let port = read(&[("config/default/kustomization.yaml", Some(&default))]).unwrap();
        assert_eq!(port.project.namespace_name(), taken);
        let is_lost = lost(&port).contains("is not the name of a namespace");
        assert_eq!(is_lost, namespace != taken, "{namespace}");
    }
}

#[test]
fn samples_that_fit_are_taken_over() {
    let texts = texts(&read(&[]).unwrap());
    let book = &texts["config/samples/shelf_v1_book.yaml"];
    assert!(book.contains("# A book that everybody reads."));
    // The sample of Room has no value for `spec`, so it is not taken over.
    assert!(!texts["config/samples/shelf_v1_room.yaml"].contains("TODO"));
}

#[test]
fn the_report_says_where_to_port_each_go_file() {
    let report = texts(&read(&[]).unwrap()).remove(REPORT).unwrap();
    for expected in [
        "| Lease | `library-lock.example.com` | `library-lock.example.com` |",
        "| namespace | `books` | `books` |",
        "| finalizer of Book | `shelf.example.com/return` | `shelf.example.com/return` |",
        "| field manager of Book | `library-books` | `library-books` |",
        "`internal/controller/book_controller.go`: the reconciler of Book: write `reconcile` and `cleanup` in \
         `src/controller/shelf/book.rs`. It owns `corev1.ConfigMap`: `rscaffold create api --group shelf --version v1 \
         --kind Book --owns v1/ConfigMap` adds code",
        "controller `book`, watches `v1/Secret`,",
        "`internal/webhook/v1/book_webhook.go`: webhooks: write the defaults and the rules in \
         `src/webhook/shelf/book.rs`",
        "`api/v1/book_types.go`: types: the fields are in `src/api/shelf/v1/book.rs`",
        "`cmd/main.go`: starts the operator",
        "`internal/controller/`: 1 file; port the functions that the controllers call",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn watched_kinds_with_a_name_in_the_project_are_taken_over() {
    const FILE: &str = "internal/controller/book_controller.go";
    let watched = |calls: &str| {
        let watches = "Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.booksOf)).";
        let code = with(FILE, watches, calls).replace(
            "\tcorev1 ",
            "\t\"k8s.io/api/apps/v1beta9\"\n\trbac \"k8s.io/api/rbac/v1\"\n\tcorev1 ",
        );
        let port = read(&[(FILE, Some(&code))]).unwrap();
        let watches = resource(&port, "Book").controllers[0].watches.iter();
        let watches: Vec<_> = watches.map(ToString::to_string).collect();
        let report = texts(&port).remove(REPORT).unwrap();
        let (_, rest) = report.split_once("It also watches ").unwrap_or_default();
        let rest = rest
            .split(": `--watches")
            .next()
            .unwrap_or_default()
            .to_owned();
        (watches.join(" "), rest)
    };
    for (calls, taken, left) in [
        (
            "Watches(&rbac.Role{}, h).",
            "rbac.authorization.k8s.io/v1/Role",
            "",
        ),
        ("Watches(&shelfv1.Room{}, h).", "shelf/v1/Room", ""),
        // The controller's own kind, a kind that it owns, and unknown kinds.
        ("Watches(&shelfv1.Book{}, h).", "", "`shelfv1.Book`"),
        ("Watches(&corev1.ConfigMap{}, h).", "", "`corev1.ConfigMap`"),
        (
            "Watches(&v1beta9.Deployment{}, h).",
            "",
            "`v1beta9.Deployment`",
        ),
        ("Watches(&other.Thing{}, h).", "", "`other.Thing`"),
        (
            "Watches(&corev1.Secret{}, h).Watches(&corev1.Secret{}, i).",
            "v1/Secret",
            "",
        ),
    ] {
        assert_eq!(
            watched(calls),
            (taken.to_owned(), left.to_owned()),
            "{calls}"
        );
    }
}

#[test]
fn versions_without_a_conversion_are_a_warning() {
    let project =
        with("PROJECT", "    spoke:\n    - v1beta1\n", "").replace("    conversion: true\n", "");
    let port = read(&[("PROJECT", Some(&project))]).unwrap();
    let (mut texts, notes) = port.texts(&port.project).unwrap();
    let report = texts.remove(REPORT).unwrap();
    let (_, warnings) = report.split_once("## Warnings\n\n").unwrap();
    assert!(
        warnings.starts_with("- [ ] `Room`: the schemas of `v1`, `v1beta1` differ"),
        "{warnings}"
    );
    assert!(!lost(&port).contains("differ"), "{report}");
    assert!(
        notes[2].contains("1 warning: `PORTING.md` has it"),
        "{notes:?}"
    );
}

#[test]
fn config_alone_is_enough() {
    let port = read(&[("PROJECT", None)]).unwrap();
    assert_eq!(port.project.domain.as_str(), "example.com");
    assert_eq!(port.project.project_name.as_str(), "library");
    let book = resource(&port, "Book");
    assert_eq!(book.controllers.len(), 1);
    assert!(book.webhooks.defaulting.is_some());
    assert!(resource(&port, "Room").controllers.is_empty());
}

#[test]
fn version_2_of_project_is_completed_by_code_and_crds() {
    let text = "domain: example.com\nrepo: example.com/me/library\nresources:\n\
                - {group: shelf, kind: Book, version: v1}\n- {group: shelf, kind: Room, version: v1}\n\
                version: \"2\"\n";
    let port = read(&[("PROJECT", Some(text))]).unwrap();
    assert_eq!(resource(&port, "Book").controllers.len(), 1);
    assert!(resource(&port, "Room").controllers.is_empty());
}

#[test]
fn a_kind_may_have_the_domain_as_its_group() {
    let crd = with(
        "config/crd/bases/shelf.example.com_rooms.yaml",
        "group: shelf.example.com",
        "group: example.com",
    );
    let crd = crd.replace("rooms.shelf.example.com", "rooms.example.com");
    let port = read(&[("config/crd/bases/shelf.example.com_rooms.yaml", Some(&crd))]).unwrap();
    let room = resource(&port, "Room");
    assert_eq!(port.project.full_group(room), "example.com");
}

#[test]
fn a_bad_name_drops_only_its_kind() {
    for bad in ["Ro om", "../../x", "Room\u{1b}[2J"] {
        let crd = with(
            "config/crd/bases/shelf.example.com_rooms.yaml",
            "    kind: Room\n",
            &format!("    kind: {}\n", json(bad)),
        );
        let project = fs::read_to_string(go_folder().join("PROJECT")).unwrap();
        let project = project.replace("  kind: Room\n", &format!("  kind: {}\n", json(bad)));
        let port = read(&[
            ("config/crd/bases/shelf.example.com_rooms.yaml", Some(&crd)),
            ("PROJECT", Some(&project)),
        ]);
        let port = port.unwrap();
        assert_eq!(port.project.resources.len(), 3, "{bad}");
        let report = texts(&port).remove(REPORT).unwrap();
        assert!(!report.contains('\u{1b}'));
    }
}

#[test]
fn a_folder_without_an_operator_is_refused() {
    let nothing = Snapshot::default();
    let error = Port::read(nothing, "../none").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`../none` is not the folder of an operator in Go: it has neither kubebuilder's PROJECT \
         file with a `domain`, nor CRDs in `config/crd`"
    );
    let ansible = "layout:\n- ansible.sdk.operatorframework.io/v1\nversion: \"3\"\n";
    let error = read(&[("PROJECT", Some(ansible))]).unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.starts_with("`../go/PROJECT` is not the PROJECT file of an operator in Go: "),
        "{error}"
    );
}

#[test]
fn a_computed_name_of_the_lease_is_reported() {
    let main = with(
        "cmd/main.go",
        "operatorName + \"-lock.\" + controller.Domain",
        "os.Getenv(\"LEASE\")",
    );
    let port = read(&[("cmd/main.go", Some(&main))]).unwrap();
    assert_eq!(port.project.lease, None);
    let lost = lost(&port);
    assert!(
        lost.contains("the name of the Lease: the Go code computes it by `os.Getenv(\"LEASE\")`"),
        "{lost}"
    );
}

#[test]
fn hidden_characters_of_names_are_escaped_in_the_report() {
    let code = "internal/controller/book_controller.go";
    let odd = "\u{1b}[2J\u{202e}";
    for (path, before, after) in [
        (code, "\"shelf.\"", "\"shelfODD.\""),
        (code, "Named(\"book\")", "Named(\"bookODD\")"),
        (
            code,
            "client.FieldOwner(r.Owner)",
            "client.FieldOwner(\"booksODD\")",
        ),
        (
            code,
            "client.FieldOwner(r.Owner)",
            "client.FieldOwner(owner(\"ODD\"))",
        ),
        ("cmd/main.go", "\"-lock.\"", "\"-lockODD.\""),
        (
            "config/crd/bases/shelf.example.com_books.yaml",
            "kind: Book\n",
            "kind: \"BookODD\"\n",
        ),
    ] {
        let text = with(path, before, &after.replace("ODD", odd));
        let report = texts(&read(&[(path, Some(&text))]).unwrap())
            .remove(REPORT)
            .unwrap();
        assert_eq!(report.find(|c| is_hidden(c) && c != '\n'), None, "{report}");
    }
}

#[test]
fn only_rendered_files_and_the_report_get_texts() {
    let port = read(&[]).unwrap();
    let rendered = render(&port.project).unwrap().texts;
    let others: Vec<_> = texts(&port)
        .into_keys()
        .filter(|it| !rendered.contains_key(it))
        .collect();
    assert_eq!(others, [REPORT]);
}

/// Texts that a hostile file may have in any place.
const ODD: [&str; 24] = [
    "\u{1b}[2J",
    "\u{202e}",
    "\0",
    "\"",
    "`",
    "'",
    "{",
    "}",
    "]",
    "(",
    "\n",
    "\n- ",
    "\n  ",
    ": ",
    "#",
    "//",
    "*/",
    "%s",
    "../../",
    "&a [*a, *a]",
    "| |",
    "é",
    "Default",
    "-----------------------------------------------------------------",
];

/// A change of one of the files.
#[derive(Debug, Clone)]
enum Change {
    Cut(Index, Index, Index),
    Repeat(Index, Index, Index),
    Insert(Index, Index, &'static str),
    Replace(Index, Index, Index),
}

fn changes() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    prop_oneof![
        (place(), place(), place()).prop_map(|(file, a, b)| Change::Cut(file, a, b)),
        (place(), place(), place()).prop_map(|(file, a, b)| Change::Repeat(file, a, b)),
        (place(), place(), proptest::sample::select(ODD.to_vec()))
            .prop_map(|(file, at, text)| Change::Insert(file, at, text)),
        (place(), place(), place()).prop_map(|(file, a, b)| Change::Replace(file, a, b)),
    ]
}

impl Change {
    fn make(&self, files: &mut Texts) {
        let paths: Vec<_> = files.keys().cloned().collect();
        let (Self::Cut(file, ..)
        | Self::Repeat(file, ..)
        | Self::Insert(file, ..)
        | Self::Replace(file, ..)) = self;
        let text = files.get_mut(file.get(&paths)).unwrap().to_mut();
        match self {
            Self::Cut(_, a, b) => text.replace_range(range(text, *a, *b), ""),
            Self::Repeat(_, a, b) => {
                let range = range(text, *a, *b);
                let again = text[range.clone()].to_owned();
                text.insert_str(range.end, &again);
            }
            Self::Insert(_, at, odd) => text.insert_str(range(text, *at, *at).start, odd),
            // Replaces a word by another word of the file.
            Self::Replace(_, a, b) => {
                let word = |at: Index| {
                    let words: Vec<_> = text.split_whitespace().collect();
                    (!words.is_empty()).then(|| at.get(&words).to_string())
                };
                if let (Some(from), Some(to)) = (word(*a), word(*b)) {
                    *text = text.replacen(&from, &to, 1);
                }
            }
        }
    }
}

/// At most forty characters between two places of `text`.
fn range(text: &str, a: Index, b: Index) -> Range<usize> {
    let places: Vec<_> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let start = a.index(places.len());
    let length = b.index(40).min(places.len() - 1 - start);
    places[start]..places[start + length]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn text_of_a_go_project_is_data_and_never_code(changes in vec(changes(), 1..8)) {
        let mut files = go_project();
        for change in &changes {
            change.make(&mut files.texts);
        }
        let Ok(port) = Port::read(files, "../go") else { return Ok(()) };
        let text = port.project.to_text().unwrap();
        prop_assert_eq!(&Project::parse(&text).unwrap(), &port.project);

        let rendered = render(&port.project).unwrap().texts;
        let (texts, _) = port.texts(&port.project).unwrap();
        for (path, text) in &texts {
            // The texts of a CRD are data, and stay unchanged.
            let is_crd = path.contains("/bases/") || path.contains("/crds/");
            let is_odd = |c: &char| is_hidden(*c) && *c != '\n' && *c != '\t';
            let hidden = text.chars().find(is_odd).filter(|_| !is_crd);
            prop_assert_eq!(hidden, None, "{}", path);
            prop_assert!(path == REPORT || rendered.contains_key(path), "{}", path);
            if source::is_file_of("yaml", path) && !path.starts_with("charts/") {
                prop_assert!(yaml::documents(text).is_ok(), "{}: {}", path, text);
            }
            if path.starts_with("src/") && rendered[path] != *text {
                is_formatted(text);
            }
        }
    }
}

/// A name that is part of many words, or a random one.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "a",
            "be",
            "e",
            "on",
            "system",
            "kube",
            "kube-system",
            "namespace",
            "webhook",
            "s-s",
        ])
        .prop_map(str::to_owned),
        "[a-z]([a-z0-9-]{0,8}[a-z0-9])?",
    ]
}

/// The files of the project that replaces the Go project with these names. The Go project has webhooks for a kind of
/// Kubernetes: its files name `kube-system`.
fn ported(name: &str, namespace: &str) -> Texts {
    let project = with(
        "PROJECT",
        "projectName: library",
        &format!("projectName: {}", json(name)),
    );
    let pod =
        "- core: true\n  group: core\n  kind: Pod\n  version: v1\n  webhooks: {defaulting: true}\n";
    let project = project.replace("resources:\n", &format!("resources:\n{pod}"));
    let default = format!("namespace: {}\nnamePrefix: {name}-\n", json(namespace));
    let changes = [
        ("PROJECT", Some(project.as_str())),
        ("config/default/kustomization.yaml", Some(&default)),
    ];
    let port = read(&changes).unwrap();
    assert_eq!(port.project.project_name.as_str(), name);
    let mut files = render(&port.project).unwrap().texts;
    files.extend(texts(&port));
    files
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn only_what_means_the_namespace_has_it(name in names(), namespace in names()) {
        const MARK: &str = "zq-namespace-zq";
        let marked = ported(&name, MARK);
        let found = ported(&name, &namespace);
        prop_assert!(marked["src/webhook/core/pod.rs"].contains("\"kube-system\""));
        prop_assert!(marked["config/default/kustomization.yaml"].contains(MARK));
        prop_assert!(marked.keys().eq(found.keys()));
        let scalar = yaml::scalar(&namespace).unwrap();
        for (path, marked) in &marked {
            // A namespace such as `on` has quotes in YAML.
            let marked = marked.replace(&format!("\nnamespace: {MARK}\n"), &format!("\nnamespace: {scalar}\n"));
            prop_assert_eq!(&found[path], &marked.replace(MARK, &namespace), "{}", path);
        }
    }
}

/// How many random projects are tried: 48, or as many as `$PROPTEST_CASES` says.
fn cases() -> u32 {
    let usual = ProptestConfig::default().cases;
    if std::env::var_os("PROPTEST_CASES").is_some() {
        usual
    } else {
        48
    }
}
